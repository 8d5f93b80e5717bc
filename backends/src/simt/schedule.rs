//! Loops to kernels: which part of a function very many items run at the same time, and which one of them alone.
//!
//! A nest of parallel loops becomes a kernel in which every item runs some of the rounds. What stands before, between
//! and after such nests is run by one item; what it leaves in variables lies in `kept` from then on. If the function is a
//! loop over time, the parts of a round are run in each of its rounds. All parts are
//! LoopIR functions. Together, for every number of items, they do what the whole does: a test runs them to see that.

use super::loops::{OverTime, has_parallel, over_time, parallel};
use super::statements::{
    assigned, for_each_expr, for_each_store, loads, mentions_any, move_loads, reads, subtract,
};
use crate::Unsupported;
use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{
    self, Expr, Function, Len, Loop, LoopMode, Overflow, Param, Stmt, Visited,
};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

use ScalarType::{F32, F64, I1, I32, I64};

/// How many values can be kept between kernels.
pub(super) const KEPT: usize = 64;
/// Where among them the number of rounds stands, if kernels are run in rounds; before it, from the end, how many elements
/// each room has. The host reads these.
pub(super) const TRIP: usize = KEPT - 1;

/// A function as a sequence of kernels.
pub(super) struct Schedule {
    /// In the order in which they run, each after the one before has ended.
    pub parts: Vec<Part>,
    /// The names that the parts have for what is not the original's.
    pub names: Hidden,
}

/// One kernel.
pub(super) struct Part {
    /// What an item does.
    pub function: Function,
    /// Whether it is run again in each round of the loop over time.
    pub repeats: bool,
    work: Work,
}

/// What a kernel is for.
enum Work {
    Rounds(Nest),
    Alone(Alone),
}

/// Statements that are run once.
pub(super) struct Alone {
    /// What stands before them.
    pub before: Vec<Stmt>,
    /// What has to hold for anything to be done at all.
    pub guards: Vec<Expr>,
    /// The statements.
    pub body: Vec<Stmt>,
    /// Arrays that the original doesn't have.
    pub outputs: BTreeSet<Sym>,
}

impl Part {
    /// The nest, if the kernel is for one.
    pub(super) fn nest(&self) -> Option<&Nest> {
        match &self.work {
            Work::Rounds(nest) => Some(nest),
            Work::Alone(_) => None,
        }
    }

    /// The statements that are run once, if it is for such.
    pub(super) fn alone(&self) -> Option<&Alone> {
        match &self.work {
            Work::Rounds(_) => None,
            Work::Alone(alone) => Some(alone),
        }
    }
}

/// A nest of parallel loops: for every position in it, the body once.
#[derive(Clone)]
pub(super) struct Nest {
    /// From the outermost to the innermost: the counter, and how many rounds.
    pub loops: Vec<(Sym, Expr)>,
    /// What a round does.
    pub body: Vec<Stmt>,
    /// What stands before the loops.
    pub before: Vec<Stmt>,
    /// What has to hold for anything to be done at all.
    pub guards: Vec<Expr>,
}

/// Parameters that the original doesn't have.
#[derive(Clone)]
pub(super) struct Hidden {
    /// This item's number.
    pub first: Sym,
    /// How many items there are.
    pub step: Sym,
    /// Values of variables, as 64-bit integers.
    pub kept: Sym,
    /// Where the returned value goes.
    pub result: Sym,
    /// The number of the round, if kernels are run in rounds.
    pub round: Option<Sym>,
    /// For each array: the number of the element that lies at its start.
    pub origins: BTreeMap<Sym, Sym>,
    /// Arrays of the function's own, for which the device has room.
    pub rooms: Vec<(Sym, ScalarType)>,
    /// Arrays for which that is always 0.
    pub at_zero: BTreeSet<Sym>,
}

/// Cuts a function. The arrays of which `at_zero` is true always start with their element 0.
pub(super) fn schedule(
    function: &Function,
    at_zero: &dyn Fn(&Sym) -> bool,
) -> Result<Schedule, Unsupported> {
    let mut names = Names::default();
    for p in &function.params {
        names.reserve(p.name());
    }
    let (mut rooms, mut sizes) = (Vec::new(), Vec::new());
    for a in &function.arrays {
        let Len::Of(len) = &a.len else {
            return Err(Unsupported::new(format!(
                "{} is an array on the stack",
                a.name
            )));
        };
        names.reserve(&a.name);
        rooms.push((a.name.clone(), a.elem));
        sizes.push(len.clone());
    }
    let mut assignments: BTreeMap<Sym, usize> = BTreeMap::new();
    loopir::visit(&function.body, &mut |part| {
        if let Visited::Stmt(Stmt::Assign { var, .. }) = part {
            names.reserve(var);
            *assignments.entry(var.clone()).or_default() += 1;
        }
    });
    let mut fresh = |stem: &str| -> Sym { names.fresh(stem).into() };
    let hidden = Hidden {
        first: fresh("item"),
        step: fresh("items"),
        kept: fresh("kept"),
        result: fresh("result"),
        round: None,
        rooms,
        origins: (function.params.iter())
            .filter(|p| matches!(p, Param::Array { .. }))
            .map(|p| (p.name().clone(), fresh(&format!("{}_origin", p.name()))))
            .collect(),
        at_zero: (function.params.iter().map(Param::name))
            .filter(|name| at_zero(name))
            .cloned()
            .collect(),
    };
    let mut cutter = Cutter {
        function,
        hidden,
        names,
        assignments,
        setup: Vec::new(),
        slots: BTreeMap::new(),
        pending: Vec::new(),
        parts: Vec::new(),
    };
    let rounds = over_time(&function.body);
    cutter.sizes(&sizes, rounds.as_ref().map(|r| r.trip))?;
    match rounds {
        Some(rounds) => cutter.over_time(&rounds)?,
        None => cutter.block(&function.body, &[])?,
    }
    cutter.flush(&[])?;
    Ok(Schedule {
        parts: cutter.parts,
        names: cutter.hidden,
    })
}

struct Cutter<'a> {
    function: &'a Function,
    hidden: Hidden,
    names: Names,
    /// How often each variable is assigned in the text.
    assignments: BTreeMap<Sym, usize>,
    /// Assignments that depend on nothing but scalar parameters: every kernel repeats those that it needs.
    setup: Vec<Stmt>,
    /// Where variables are kept.
    slots: BTreeMap<Sym, (ScalarType, usize)>,
    /// Statements that one item will run.
    pending: Vec<Stmt>,
    parts: Vec<Part>,
}

impl Cutter<'_> {
    fn block(&mut self, stmts: &[Stmt], guards: &[Expr]) -> Result<(), Unsupported> {
        let mut rest = stmts;
        while let Some((stmt, after)) = rest.split_first() {
            rest = after;
            if let (Stmt::Assign { var, value, .. }, Some((Stmt::Loop(l), after))) =
                (stmt, after.split_first())
                && let Some((extent, body)) = parallel(var, value, l)
            {
                rest = after;
                self.flush(guards)?;
                let nest = self.nest(var, extent, body, guards);
                self.rounds(nest);
                continue;
            }
            match stmt {
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } if otherwise.is_empty() && has_parallel(then) => {
                    self.flush(guards)?;
                    let inner = [guards, std::slice::from_ref(cond)].concat();
                    self.block(then, &inner)?;
                    self.flush(&inner)?;
                }
                Stmt::Assign { var, value, .. } if self.is_setup(var, value) => {
                    self.setup.push(stmt.clone());
                }
                Stmt::Return(Some(value)) => self.pending.push(Stmt::Store {
                    array: self.hidden.result.clone(),
                    index: Expr::int(I64, 0),
                    value: value.clone(),
                }),
                Stmt::Return(None) => {}
                other => self.pending.push(other.clone()),
            }
        }
        Ok(())
    }

    /// The kernel that tells the host what it has to know before all others, if there is such a thing.
    fn sizes(&mut self, rooms: &[Expr], trip: Option<&Expr>) -> Result<(), Unsupported> {
        let from_the_end = trip.into_iter().map(|trip| (TRIP, trip));
        let rooms = rooms.iter().enumerate().map(|(n, len)| (TRIP - 1 - n, len));
        for (place, value) in from_the_end.chain(rooms) {
            self.pending.push(Stmt::Store {
                array: self.hidden.kept.clone(),
                index: Expr::int(I64, place as i128),
                value: value.clone(),
            });
        }
        self.flush(&[])
    }

    /// The kernels of a round. Who runs them tells each which one it is.
    fn over_time(&mut self, rounds: &OverTime<'_>) -> Result<(), Unsupported> {
        let first = self.parts.len();
        self.hidden.round = Some(rounds.counter.clone());
        self.block(rounds.round, &[])?;
        self.flush(&[])?;
        self.parts[first..]
            .iter_mut()
            .for_each(|p| p.repeats = true);
        Ok(())
    }

    /// Whether every kernel may repeat the assignment: it depends on scalar parameters alone, and is total.
    fn is_setup(&self, var: &Sym, value: &Expr) -> bool {
        let mut fixed = true;
        value.visit(&mut |e| {
            if let Expr::Var(v, _) = e {
                let is = |s: &Stmt| matches!(s, Stmt::Assign { var, .. } if var == v);
                let parameter = self.function.params.iter().any(|p| p.name() == v);
                fixed &= self.setup.iter().any(is)
                    || self.hidden.round.as_ref() == Some(v)
                    || (parameter && !self.assignments.contains_key(v));
            }
        });
        self.assignments.get(var) == Some(&1) && fixed && !loads(value)
    }

    /// The nest that starts with this loop: as many loops as have nothing between them.
    fn nest(&self, var: &Sym, extent: &Expr, body: &[Stmt], guards: &[Expr]) -> Nest {
        let mut loops = vec![(var.clone(), extent.clone())];
        let mut guards = guards.to_vec();
        let mut body = body;
        loop {
            let outer = loops.iter().map(|(v, _)| (v.clone(), I64)).collect();
            match body {
                [
                    Stmt::Assign {
                        var, value: start, ..
                    },
                    Stmt::Loop(l),
                ] if let Some((extent, inner)) = parallel(var, start, l)
                    && !mentions_any(extent, &outer) =>
                {
                    loops.push((var.clone(), extent.clone()));
                    body = inner;
                }
                // What is the same for all of them is asked once.
                [
                    Stmt::If {
                        cond,
                        then,
                        otherwise,
                    },
                ] if otherwise.is_empty() && !mentions_any(cond, &outer) && !loads(cond) => {
                    guards.push(cond.clone());
                    body = then;
                }
                _ => break,
            }
        }
        Nest {
            loops,
            body: body.to_vec(),
            before: vec![],
            guards,
        }
    }

    /// A kernel for a nest.
    fn rounds(&mut self, mut nest: Nest) {
        let (first, step) = (self.hidden.first.clone(), self.hidden.step.clone());
        let i64_var = |name: &Sym| Expr::Var(name.clone(), I64);
        let body = match nest.loops.as_slice() {
            [(var, extent)] => vec![
                assign(var, i64_var(&first)),
                counted(var, extent.clone(), nest.body.clone(), i64_var(&step)),
            ],
            loops => {
                let positive = |e: &Expr| Expr::compare(CmpOp::Gt, e.clone(), Expr::int(I64, 0));
                let both = |a, b| Expr::binary(BinOp::And, a, b);
                let all = loops.iter().map(|(_, e)| positive(e)).reduce(both);
                let times = |a, b| Expr::binary(BinOp::Multiply, a, b);
                let rounds = loops.iter().map(|(_, e)| e.clone()).reduce(times);
                let (at, total): (Sym, Sym) = (
                    self.names.fresh("at").into(),
                    self.names.fresh("rounds").into(),
                );
                // The position, its last dimension running fastest.
                let mut round = Vec::new();
                let mut left = at.clone();
                for (d, (var, extent)) in loops.iter().enumerate().skip(1).rev() {
                    let rest = match d {
                        1 => loops[0].0.clone(),
                        _ => self.names.fresh("rest").into(),
                    };
                    let whole = Expr::binary(BinOp::Divide, i64_var(&left), extent.clone());
                    round.push(assign(&rest, whole));
                    let before = Expr::binary(BinOp::Multiply, i64_var(&rest), extent.clone());
                    let last = Expr::binary(BinOp::Subtract, i64_var(&left), before);
                    round.push(assign(var, last));
                    left = rest;
                }
                round.extend(nest.body.iter().cloned());
                let looped = vec![
                    assign(&total, rounds.unwrap_or_else(|| Expr::int(I64, 0))),
                    assign(&at, i64_var(&first)),
                    counted(&at, i64_var(&total), round, i64_var(&step)),
                ];
                match all {
                    Some(cond) => vec![when(cond, looped)],
                    None => looped,
                }
            }
        };
        let known = self.slots.keys().cloned().collect();
        let (before, body) = self.complete(&nest.guards, body, &known);
        nest.before = self.moved(before.clone());
        nest.body = self.moved(nest.body);
        let function = self.function_of([before, body].concat());
        self.parts.push(Part {
            function,
            repeats: false,
            work: Work::Rounds(nest),
        });
    }

    /// A kernel for the pending statements, which one item runs.
    fn flush(&mut self, guards: &[Expr]) -> Result<(), Unsupported> {
        let mut body = std::mem::take(&mut self.pending);
        if body.is_empty() {
            return Ok(());
        }
        let (all, here) = (reads(&self.function.body), reads(&body));
        let known: BTreeSet<Sym> = self.slots.keys().cloned().collect();
        for (var, ty) in assigned(&body) {
            let elsewhere =
                all.get(&var).copied().unwrap_or(0) > here.get(&var).copied().unwrap_or(0);
            if !elsewhere {
                continue;
            }
            let next = self.slots.len();
            let (_, slot) = *self.slots.entry(var.clone()).or_insert((ty, next));
            let most = TRIP - self.hidden.rooms.len();
            if slot >= most {
                return Err(Unsupported::new(format!(
                    "more than {most} values would have to be kept between its kernels"
                )));
            }
            body.push(Stmt::Store {
                array: self.hidden.kept.clone(),
                index: Expr::int(I64, slot as i128),
                value: to_slot(Expr::Var(var, ty)),
            });
        }
        let is_first = Expr::compare(
            CmpOp::Eq,
            Expr::Var(self.hidden.first.clone(), I64),
            Expr::int(I64, 0),
        );
        let alone = self.moved(body.clone());
        let (before, body) = self.complete(guards, vec![when(is_first, body)], &known);
        let function = self.function_of([before.clone(), body].concat());
        self.parts.push(Part {
            function,
            repeats: false,
            work: Work::Alone(Alone {
                before: self.moved(before),
                guards: guards.to_vec(),
                body: alone,
                outputs: [&self.hidden.kept, &self.hidden.result]
                    .map(Sym::clone)
                    .into(),
            }),
        });
        Ok(())
    }

    /// What stands before a kernel's work: the setup that it needs, and those of the variables kept so far; and the
    /// guarded work.
    fn complete(
        &self,
        guards: &[Expr],
        work: Vec<Stmt>,
        kept: &BTreeSet<Sym>,
    ) -> (Vec<Stmt>, Vec<Stmt>) {
        let work = guards
            .iter()
            .rev()
            .fold(work, |work, guard| vec![when(guard.clone(), work)]);
        let mut needed: BTreeSet<Sym> = reads(&work).into_keys().collect();
        let mut before = Vec::new();
        for s in self.setup.iter().rev() {
            if let Stmt::Assign { var, value, .. } = s
                && needed.contains(var)
            {
                value.visit(&mut |e| {
                    if let Expr::Var(v, _) = e {
                        needed.insert(v.clone());
                    }
                });
                before.push(s.clone());
            }
        }
        before.reverse();
        let taken = (self.slots.iter()).filter(|(v, _)| kept.contains(*v) && needed.contains(*v));
        for (var, (ty, slot)) in taken {
            let kept = Expr::load(self.hidden.kept.clone(), I64, Expr::int(I64, *slot as i128));
            before.push(Stmt::Assign {
                var: var.clone(),
                ty: *ty,
                value: from_slot(*ty, kept),
            });
        }
        (before, work)
    }

    fn function_of(&self, body: Vec<Stmt>) -> Function {
        let body = self.moved(body);
        let mut used = BTreeSet::new();
        loopir::visit(&body, &mut |part| {
            if let Visited::Expr(Expr::Var(n, _) | Expr::Load { array: n, .. })
            | Visited::Stmt(Stmt::Store { array: n, .. }) = part
            {
                used.insert(n.clone());
            }
        });
        let mut params = Vec::new();
        for p in parameters(self.function, &self.hidden) {
            if used.contains(p.name()) {
                params.push(p);
            }
        }
        Function {
            name: self.function.name.clone(),
            params,
            ret: None,
            overflow: Overflow::Wraps,
            fused: false,
            apart: vec![],
            arrays: vec![],
            body,
        }
    }

    /// The statements with every index counted from where its array starts.
    fn moved(&self, mut stmts: Vec<Stmt>) -> Vec<Stmt> {
        let origin = |array: &Sym| match self.hidden.at_zero.contains(array) {
            true => None,
            false => self.hidden.origins.get(array),
        };
        for_each_expr(&mut stmts, &mut |e| move_loads(e, &origin));
        for_each_store(&mut stmts, &mut |array, index| {
            origin(array).into_iter().for_each(|o| subtract(index, o));
        });
        stmts
    }
}

/// The parameters of a kernel, in their order, before those that it doesn't use are left away.
pub(super) fn parameters(function: &Function, hidden: &Hidden) -> Vec<Param> {
    let scalar = |name: &Sym| Param::Scalar {
        name: name.clone(),
        ty: I64,
    };
    let array = |name: &Sym, elem| Param::Array {
        name: name.clone(),
        elem,
        is_const: false,
        restrict: false,
    };
    let mut params = Vec::new();
    for p in &function.params {
        params.push(p.clone());
        params.extend(hidden.origins.get(p.name()).map(scalar));
    }
    params.push(array(&hidden.kept, I64));
    params.extend(function.ret.map(|ty| array(&hidden.result, ty)));
    params.extend(hidden.round.iter().map(scalar));
    params.extend(hidden.rooms.iter().map(|(name, elem)| array(name, *elem)));
    params.extend([&hidden.first, &hidden.step].map(scalar));
    params
}

pub(super) fn assign(var: &Sym, value: Expr) -> Stmt {
    Stmt::Assign {
        var: var.clone(),
        ty: value.ty(),
        value,
    }
}

fn when(cond: Expr, then: Vec<Stmt>) -> Stmt {
    Stmt::If {
        cond,
        then,
        otherwise: vec![],
    }
}

/// `while (var < extent) { body; var = var + step }`
fn counted(var: &Sym, extent: Expr, mut body: Vec<Stmt>, step: Expr) -> Stmt {
    let counter = || Expr::Var(var.clone(), I64);
    body.push(assign(var, Expr::binary(BinOp::Add, counter(), step)));
    Stmt::Loop(Loop {
        id: 0,
        cond: Expr::compare(CmpOp::Lt, counter(), extent),
        test_first: true,
        body,
        mode: LoopMode::Sequential,
        line: 0,
    })
}

/// A value in 64 bits, from which [`from_slot`] makes it again.
fn to_slot(value: Expr) -> Expr {
    match value.ty() {
        F32 => Expr::convert(I64, Expr::Bitcast(I32, Box::new(value))),
        F64 => Expr::Bitcast(I64, Box::new(value)),
        _ => Expr::convert(I64, value),
    }
}

fn from_slot(ty: ScalarType, slot: Expr) -> Expr {
    match ty {
        F32 => Expr::Bitcast(F32, Box::new(Expr::convert(I32, slot))),
        F64 => Expr::Bitcast(F64, Box::new(slot)),
        I1 => Expr::compare(CmpOp::Ne, slot, Expr::int(I64, 0)),
        _ => Expr::convert(ty, slot),
    }
}
