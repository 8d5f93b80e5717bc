//! TensIR to LoopIR: a loop nest for each shape among the results, the element expression in its body.
//!
//! Here are the loops over the results' dimensions and the stores in them. `value` computes the
//! terms, and `fold` the accumulations.

use super::contraction::{self, Contraction};
use super::loops::{Counter, has_loop};
use super::sparing::spare;
use super::wait::Memory;
use super::{branches, indices, interchange, nest, rounds, scatter};
use crate::Unsupported;
use crate::names::{C_WORDS, Names};
use crate::scatter::refuse_in;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::element::{ElemRef, Fold};
use tensorize_ir::guard::{Footprint, Guard, Tier};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Len, LocalArray, LoopMode, Overflow, Param, Stmt};
use tensorize_ir::op::{CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{self, Rounds};

pub(super) const I64: ScalarType = ScalarType::I64;

/// A lowered kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// Same name and parameters as the summary.
    pub function: loopir::Function,
    /// [`Tier::Real`] if a float sum was re-associated.
    pub tier: Tier,
    /// Loops that a library may run instead.
    pub contractions: Vec<Contraction>,
}

/// Who runs the loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Machine {
    /// A few cores with vector units: the outermost loop is for the cores, the innermost for the units.
    Cores,
    /// Very many, one for each element of a result: every loop over a result's dimension is parallel, and the
    /// accumulations in it are not.
    Items,
}

/// What the function may have arrays of its own for that are as long as its parameters say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locals {
    /// It has none.
    None,
    /// For results that have to wait. What would be computed several times is read from results.
    Results,
    /// For results that have to wait until what they overwrite has been read.
    Waiting,
    /// Also for what would be computed several times.
    Kept,
}

/// Lowers a summary, with a loop around it if it is done several times over. With `allowed` at [`Tier::Real`], float sums may be re-associated.
pub fn lower(function: &tensir::Function, allowed: Tier) -> Result<Lowered, Unsupported> {
    lower_for(
        Machine::Cores,
        function,
        allowed,
        Proven::default(),
        Locals::None,
    )
}

/// What was proven of the original.
#[derive(Clone, Copy, Default)]
pub(crate) struct Proven<'a> {
    pub footprints: &'a [Footprint],
    pub guards: &'a [Guard],
}

/// The same for a machine of this kind. Elements of arrays of which the original touches some on some data only are
/// touched in those rounds of an accumulation only that change them.
pub(crate) fn lower_for(
    machine: Machine,
    function: &tensir::Function,
    allowed: Tier,
    proven: Proven,
    locals: Locals,
) -> Result<Lowered, Unsupported> {
    let lowered = lower_with(machine, function, allowed, proven, locals, false)?;
    // Nobody counts on its bits any more.
    if lowered.tier == Tier::Real && machine == Machine::Cores {
        return lower_with(machine, function, allowed, proven, locals, true);
    }
    Ok(lowered)
}

/// The same; with `extremes`, maxima and minima of floats are searched in any order, too.
fn lower_with(
    machine: Machine,
    function: &tensir::Function,
    allowed: Tier,
    proven: Proven,
    locals: Locals,
    extremes: bool,
) -> Result<Lowered, Unsupported> {
    let all = function;
    let function = &all.innermost();
    let state = &all.state;
    let around: Vec<&Rounds> = all.rounds.iter().flat_map(Rounds::all).collect();
    let mut b = Builder::new(machine, function, allowed);
    b.extremes = extremes;
    let Proven { footprints, guards } = proven;
    b.least_known = indices::least_known(guards);
    b.around = around.iter().map(|r| r.counter.clone()).collect();
    let by_data = footprints.iter().filter(|f| f.reads_depend_on_data);
    b.by_data = by_data.map(|f| f.extent.array.clone()).collect();
    // Items keep nothing from one round for the next.
    let ends = (footprints.iter())
        .filter(|_| machine == Machine::Cores)
        .map(|f| &f.extent);
    b.ends = ends.map(|e| (e.array.clone(), e.hi.clone())).collect();
    for s in state {
        let end = s
            .len
            .clone()
            .ok_or_else(|| Unsupported::new(format!("how long '{}' is, is not known", s.name)))?;
        b.ends.insert(s.name.clone(), end);
    }
    let numbers = state.iter().filter(|s| s.is_number());
    let numbers = numbers.map(|s| s.name.clone()).collect();
    let mut plan = nest::plan(function, locals, &b.names, &b.ends, &numbers)?;
    for rounds in around.iter().rev() {
        let lens = plan.memory.iter_mut().map(|m| &mut m.len);
        lens.for_each(|len| *len = rounds::most(len, rounds));
    }
    let arrays = plan.memory.iter().map(|m| b.local_array(m));
    let mut arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    // What is stored where the data says is touched at just that place anyway.
    let by_data = |t: &nest::Target| {
        let mut footprints = footprints.iter();
        !t.index.has_values()
            && footprints.any(|f| f.writes_depend_on_data && f.extent.array == t.array)
    };
    let of_old = plan.memory.iter().filter(|m| m.of_old);
    let of_old: Vec<Sym> = of_old.map(|m| m.name.clone()).collect();
    for nest in &mut plan.nests {
        spare(&mut nest.results, &of_old, by_data);
    }
    let ret = plan.ret.as_ref().map(|e| e.ty());
    // What is returned may look at memory, and at nothing that is stored.
    let is_memory = |t: &nest::Target| plan.memory.iter().any(|m| m.name == t.array);
    let (first, stores): (Vec<&nest::Nest>, Vec<&nest::Nest>) = (plan.nests.iter())
        .partition(|nest| plan.ret.is_some() && nest.results.iter().all(is_memory));
    for nest in first {
        b.nest(nest)?;
    }
    let mut result = None;
    if let Some(e) = &plan.ret {
        b.refuse_scatter(e)?;
        let value = b.value(e)?;
        // The stores come after, and may change what the value reads.
        result = Some(if stores.is_empty() {
            value
        } else {
            b.bind("result", value)
        });
    }
    for nest in stores {
        b.nest(nest)?;
    }
    if let Some(value) = result {
        b.push(Stmt::Return(Some(value)));
    }
    let mut top = b.scopes.pop().map(|s| s.stmts).unwrap_or_default();
    b.sizes_first.append(&mut top);
    arrays.append(&mut b.tables);
    let lowered = Lowered {
        function: loopir::Function {
            name: function.name.clone(),
            params: function.params.clone(),
            ret,
            overflow: Overflow::Wraps,
            fused: false,
            apart: vec![],
            arrays,
            body: b.sizes_first,
        },
        tier: b.tier,
        contractions: b.contractions,
    };
    let mut builder = Builder::new(Machine::Cores, function, Tier::Exact);
    // What an inner loop's end is made of has its value in the rounds around it.
    let lowered = around.iter().rev().try_fold(lowered, |lowered, rounds| {
        let trip = builder.by_params(&rounds.trip)?;
        Ok::<_, Unsupported>(rounds::in_rounds(lowered, rounds, trip))
    })?;
    let own = state.iter().map(|s| {
        let len = match (&s.len, s.is_number()) {
            (Some(len), false) => Len::Of(builder.by_params(len)?),
            _ => Len::Fixed(1),
        };
        Ok(LocalArray {
            name: s.name.clone(),
            elem: s.elem,
            len,
            init: None,
        })
    });
    let own = own.collect::<Result<Vec<_>, Unsupported>>()?;
    let mut lowered = rounds::with_state(lowered, state, own);
    if let Some(status) = all.status() {
        lowered.function.ret = Some(status.ty);
        let status = Stmt::Return(Some(Expr::Const(status)));
        lowered.function.body.push(status);
    }
    Ok(lowered)
}

/// Where statements are being collected.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) kind: Kind,
    pub(super) stmts: Vec<Stmt>,
    /// Values of terms that stand in variables, in canonical form.
    pub(super) memo: BTreeMap<ElemRef, Expr>,
    /// What is computed before the loop that this scope is the body of, and its values.
    pub(super) preheader: Vec<Stmt>,
    pub(super) preheader_memo: BTreeMap<ElemRef, Expr>,
    /// Extents that must be positive for the preheader to run.
    pub(super) guards: Vec<Idx>,
    /// What a round of that loop ends with.
    pub(super) at_end: Vec<Stmt>,
    /// Whether a round goes on from what the one before has left.
    pub(super) carries: bool,
    /// Whether that loop is a search.
    pub(super) searches: bool,
    /// Folds that run along with a search, with the variable of each lane.
    pub(super) ran: Vec<(Fold, Vec<Expr>)>,
}

#[derive(Default, Clone)]
pub(super) enum Kind {
    /// The function's own body.
    #[default]
    Top,
    /// A round of a loop over a result's dimension. Without rounds the whole nest does nothing.
    Dimension(Idx),
    /// A round of an accumulation.
    FoldRound(Idx),
    /// A branch of a select.
    Branch,
    /// Before a loop, where these extents are positive.
    Preheader(Vec<Idx>),
}

pub(super) struct Builder {
    pub(super) machine: Machine,
    names: Names,
    pub(super) scopes: Vec<Scope>,
    /// Bound variables and accumulators: the scope that binds them, and their value.
    pub(super) bound: BTreeMap<Sym, (usize, Expr)>,
    /// Integer parameters as `i64`.
    pub(super) sizes: BTreeMap<Sym, (ScalarType, Expr)>,
    pub(super) sizes_first: Vec<Stmt>,
    pub(super) params: BTreeMap<Sym, ScalarType>,
    /// Arrays that rounds store in, one after the other, and the scope of these.
    pub(super) changing: Vec<(Sym, usize)>,
    /// Parameters, and numbers in memory, that are known not to be below so much.
    pub(super) least_known: BTreeMap<Atom, i128>,
    /// The numbers of the rounds, from 0, of loops over time.
    pub(super) around: Vec<Sym>,
    /// Arrays of which the original reads some elements on some data only.
    pub(super) by_data: BTreeSet<Sym>,
    /// Where what the original touches of arrays ends.
    pub(super) ends: BTreeMap<Sym, Idx>,
    pub(super) next_loop: u32,
    pub(super) allowed: Tier,
    pub(super) tier: Tier,
    /// Whether maxima and minima of floats may be searched in any order.
    pub(super) extremes: bool,
    pub(super) contractions: Vec<Contraction>,
    /// Constant tables that the code reads.
    pub(super) tables: Vec<LocalArray>,
}

impl Builder {
    fn new(machine: Machine, function: &tensir::Function, allowed: Tier) -> Builder {
        let mut names = Names::new(C_WORDS.iter().copied());
        for p in &function.params {
            names.reserve(p.name());
        }
        let params = function.params.iter().filter_map(|p| match p {
            Param::Scalar { name, ty } => Some((name.clone(), *ty)),
            Param::Array { .. } => None,
        });
        Builder {
            machine,
            names,
            scopes: vec![Scope::default()],
            bound: BTreeMap::new(),
            sizes: BTreeMap::new(),
            sizes_first: Vec::new(),
            params: params.collect(),
            around: vec![],
            changing: vec![],
            least_known: BTreeMap::new(),
            by_data: BTreeSet::new(),
            ends: BTreeMap::new(),
            next_loop: 1,
            allowed,
            tier: Tier::Exact,
            extremes: false,
            contractions: Vec::new(),
            tables: Vec::new(),
        }
    }

    /// A local array, its length in terms of the parameters themselves.
    fn local_array(&mut self, m: &Memory) -> Result<LocalArray, Unsupported> {
        self.names.reserve(&m.name);
        Ok(LocalArray {
            name: m.name.clone(),
            elem: m.elem,
            len: Len::Of(self.by_params(&m.len)?),
            init: None,
        })
    }

    /// A number in terms of the parameters themselves.
    fn by_params(&mut self, idx: &Idx) -> Result<Expr, Unsupported> {
        let as_they_are = self.params.iter().filter(|(_, ty)| ty.is_int());
        let as_they_are = as_they_are.map(|(name, &ty)| {
            let value = Expr::convert(I64, Expr::Var(name.clone(), ty));
            (name.clone(), (ty, value))
        });
        let as_they_are = as_they_are.collect();
        let sizes = std::mem::replace(&mut self.sizes, as_they_are);
        let value = self.index(idx);
        self.sizes = sizes;
        value
    }

    pub(super) fn top(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    pub(super) fn push(&mut self, stmt: Stmt) {
        self.top().stmts.push(stmt);
    }

    pub(super) fn fresh(&mut self, stem: &str) -> Sym {
        self.names.fresh_in_c(stem, |_| false).into()
    }

    /// A new variable with this value.
    pub(super) fn bind(&mut self, stem: &str, value: Expr) -> Expr {
        let (var, ty) = (self.fresh(stem), value.ty());
        self.push(Stmt::Assign {
            var: var.clone(),
            ty,
            value,
        });
        Expr::Var(var, ty)
    }

    /// A loop nest over the dimensions of some results.
    pub(super) fn nest(&mut self, nest: &nest::Nest) -> Result<(), Unsupported> {
        if let Some((target, fold)) = scatter::rounds(nest) {
            return self.scatter(nest, target, fold);
        }
        if let Some(stages) = scatter::staged(nest) {
            return stages.iter().try_for_each(|stage| self.nest(stage));
        }
        for result in &nest.results {
            self.refuse_scatter(&result.value)?;
        }
        if self.machine == Machine::Cores
            && let Some((cond, nest)) = nest.only_if()
        {
            let cond = self.value(&cond)?;
            let then = self.in_branch(|b| b.nest(&nest))?.0;
            self.push(Stmt::If {
                cond,
                then,
                otherwise: vec![],
            });
            return Ok(());
        }
        if self.machine == Machine::Cores
            && let Some(stages) = contraction::staged(nest, self.allowed)
        {
            return stages
                .iter()
                .try_for_each(|stage| self.dimensions(stage, 0).map(|_| ()));
        }
        self.dimensions(nest, 0).map(|_| ())
    }

    /// Refuses a term that takes all rounds for every place, where the original takes them once.
    pub(super) fn refuse_scatter(&self, e: &ElemRef) -> Result<(), Unsupported> {
        refuse_in(e, &|s| self.params.contains_key(s))
    }

    /// Opens dimension `d` and those after it; whether there is another loop inside.
    pub(super) fn dimensions(&mut self, nest: &nest::Nest, d: usize) -> Result<bool, Unsupported> {
        if d == nest.extents.len() {
            return self.results(nest);
        }
        if self.machine == Machine::Cores
            && d + 1 == nest.extents.len()
            && let Some(rows) = interchange::into_rows(nest)
        {
            self.rounds_into_rows(nest, &rows)?;
            return Ok(true);
        }
        let var = self.fresh(&nest.stems[d]);
        let counter = Expr::Var(var.clone(), I64);
        let extent = self.index(&nest.extents[d])?;
        let kind = Kind::Dimension(nest.extents[d].clone());
        self.scopes.push(Scope {
            kind,
            ..Scope::default()
        });
        self.bound.insert(
            nest.dims[d].clone(),
            (self.scopes.len() - 1, counter.clone()),
        );
        let has_loops = self.dimensions(nest, d + 1)?;
        self.bound.remove(&nest.dims[d]);
        let mode = match (d, has_loops) {
            _ if self.top().carries => LoopMode::Sequential,
            _ if self.machine == Machine::Items => LoopMode::Parallel,
            (0, _) => LoopMode::Parallel,
            (_, false) => LoopMode::Simd { reductions: vec![] },
            _ => LoopMode::Sequential,
        };
        self.close_loop(vec![], Counter::of_rounds(var, extent), mode)?;
        if self.machine == Machine::Cores
            && d + 2 == nest.extents.len()
            && let Some(product) = contraction::product(nest, self.allowed)
        {
            self.contraction(&product)?;
        }
        Ok(true)
    }

    /// The body of a nest; whether there is a loop in it.
    fn results(&mut self, nest: &nest::Nest) -> Result<bool, Unsupported> {
        let roots: Vec<ElemRef> = nest.results.iter().map(nest::Target::term).collect();
        self.bind_repeated(&roots.iter().collect::<Vec<_>>())?;
        for together in branches::groups(&nest.results) {
            match together[..] {
                [one] => self.store(one, &one.store)?,
                _ => {
                    let stores: Vec<_> = together.iter().map(|r| r.store.clone()).collect();
                    self.store_all(&together, &stores)?;
                }
            }
        }
        Ok(self.scopes.last().is_some_and(|s| has_loop(&s.stmts)))
    }

    /// Stores to each result what there is for it. All values come first, and places that are read: a result may read what
    /// another one overwrites.
    fn store_all(
        &mut self,
        results: &[&nest::Target],
        stores: &[nest::Stored],
    ) -> Result<(), Unsupported> {
        if let Some((cond, then, otherwise)) = branches::split(stores) {
            let cond = self.value(&cond)?;
            let then = self.in_branch(|b| b.store_all(results, &then))?.0;
            let otherwise = self.in_branch(|b| b.store_all(results, &otherwise))?.0;
            self.push_if(cond, then, otherwise);
            return Ok(());
        }
        let mut values = Vec::new();
        for (r, store) in results.iter().zip(stores) {
            values.push(match store {
                nest::Stored::Always(e) | nest::Stored::Changed(e) => {
                    let value = self.value(e)?;
                    let value = self.bind(&format!("new_{}", r.array), value);
                    let place = self.index(&r.index)?;
                    Some((
                        value,
                        match r.index.has_values() {
                            true => self.bind(&format!("place_in_{}", r.array), place),
                            false => place,
                        },
                    ))
                }
                _ => None,
            });
        }
        for ((r, store), value) in results.iter().zip(stores).zip(values) {
            match value {
                Some((value, place)) => self.store_value(r, store, value, place),
                None => self.store(r, store)?,
            }
        }
        Ok(())
    }

    /// Stores what was computed.
    fn store_value(&mut self, r: &nest::Target, store: &nest::Stored, value: Expr, index: Expr) {
        let array = r.array.clone();
        let differs = || {
            let old = Expr::load(array.clone(), value.ty(), index.clone());
            Expr::compare(CmpOp::Ne, value.clone(), old)
        };
        let changed = matches!(store, nest::Stored::Changed(_)).then(differs);
        let store = Stmt::Store {
            array,
            index,
            value,
        };
        match changed {
            Some(cond) => self.push_if(cond, vec![store], vec![]),
            None => self.push(store),
        }
    }

    /// A branch, if there is anything in one.
    fn push_if(&mut self, mut cond: Expr, mut then: Vec<Stmt>, mut otherwise: Vec<Stmt>) {
        if then.is_empty() {
            cond = Expr::Unary(UnOp::Not, Box::new(cond));
            then = std::mem::take(&mut otherwise);
        }
        if !then.is_empty() {
            self.push(Stmt::If {
                cond,
                then,
                otherwise,
            });
        }
    }

    pub(super) fn store(
        &mut self,
        r: &nest::Target,
        stored: &nest::Stored,
    ) -> Result<(), Unsupported> {
        match stored {
            nest::Stored::Never => {}
            nest::Stored::Always(e) => {
                let value = self.value(e)?;
                let place = self.index(&r.index)?;
                self.store_value(r, stored, value, place);
            }
            nest::Stored::Changed(e) => {
                let value = self.value(e)?;
                let value = self.bind(&format!("new_{}", r.array), value);
                let place = self.index(&r.index)?;
                self.store_value(r, stored, value, place);
            }
            nest::Stored::If(c, t, f) => {
                let cond = self.value(c)?;
                let then = self.in_branch(|b| b.store(r, t))?.0;
                let otherwise = self.in_branch(|b| b.store(r, f))?.0;
                self.push_if(cond, then, otherwise);
            }
            nest::Stored::Rounds(fold, begins, round) => {
                self.store(r, begins)?;
                self.changing.push((r.array.clone(), self.scopes.len()));
                self.rounds_beside(fold, |b| b.store(r, round))?;
                self.changing.pop();
            }
        }
        Ok(())
    }

    pub(super) fn in_branch<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, Unsupported>,
    ) -> Result<(Vec<Stmt>, T), Unsupported> {
        self.scopes.push(Scope {
            kind: Kind::Branch,
            ..Scope::default()
        });
        let out = f(self)?;
        let scope = self.scopes.pop().unwrap_or_default();
        Ok((scope.stmts, out))
    }
}
