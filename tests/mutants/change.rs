//! One change in one place: every mutant of a kernel, or of a summary.

use tensorize_ir::element::Elem;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, Op, Output, Reducer};

/// Which changes are made: every `step`th one from number `first` on, until there are `most` mutants.
#[derive(Clone, Copy)]
pub struct Sample {
    pub first: usize,
    pub step: usize,
    pub most: usize,
}

impl Sample {
    fn of<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.skip(self.first).step_by(self.step)
    }
}

/// Mutants of a kernel that are well-formed: another operator, constant, bound, index or comparison, a
/// byte read with the other sign, swapped operands, swapped branches, a statement left out. Only those of the sample are made: a
/// long kernel has thousands, each as long as itself.
pub fn kernels(kernel: &Function, sample: Sample) -> Vec<(String, Function)> {
    let changed = sample.of(0..).map_while(|at| {
        let mut mutant = kernel.clone();
        let mut changer = Changer {
            skip: at,
            what: None,
        };
        changer.stmts(&mut mutant.body);
        Some((changer.what?, mutant))
    });
    let well_formed = changed.filter(|(_, m)| m.validate().is_ok() && m != kernel);
    well_formed.take(sample.most).collect()
}

/// Makes the change number `skip`.
struct Changer {
    skip: usize,
    what: Option<String>,
}

impl Changer {
    /// Whether it is this change's turn.
    fn turn(&mut self, what: impl FnOnce() -> String) -> bool {
        if self.what.is_some() {
            return false;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        self.what = Some(what());
        true
    }

    fn stmts(&mut self, stmts: &mut Vec<Stmt>) {
        for i in 0..stmts.len() {
            // A counter that stands still makes an endless loop, which tells nothing.
            let removable = !matches!(&stmts[i], Stmt::Return(_)) && stmts.len() > 1;
            if removable && self.turn(|| format!("without `{:?}`", stmts[i])) {
                stmts.remove(i);
                return;
            }
            self.stmt(&mut stmts[i]);
        }
    }

    fn stmt(&mut self, s: &mut Stmt) {
        match s {
            Stmt::Assign { value, .. } => self.expr(value),
            Stmt::Store { index, value, .. } => {
                if self.turn(|| "store one further".into()) {
                    *index = Expr::binary(BinOp::Add, index.clone(), Expr::int(ScalarType::I64, 1));
                    return;
                }
                self.expr(index);
                self.expr(value);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                if self.turn(|| "branches swapped".into()) {
                    std::mem::swap(then, otherwise);
                    return;
                }
                self.expr(cond);
                self.stmts(then);
                self.stmts(otherwise);
            }
            Stmt::Loop(l) => {
                self.expr(&mut l.cond);
                self.stmts(&mut l.body);
            }
            Stmt::Return(Some(e)) => self.expr(e),
            Stmt::Return(None) | Stmt::Trap => {}
        }
    }

    fn expr(&mut self, e: &mut Expr) {
        let ty = e.ty();
        match e {
            Expr::Const(v) => {
                for changed in constants(*v) {
                    if self.turn(|| format!("{v} becomes {changed}")) {
                        *e = Expr::Const(changed);
                        return;
                    }
                }
            }
            Expr::Load { index, .. } => {
                for step in [1, -1] {
                    if self.turn(|| format!("a load {step} further")) {
                        **index = Expr::binary(
                            BinOp::Add,
                            (**index).clone(),
                            Expr::int(ScalarType::I64, step),
                        );
                        return;
                    }
                }
            }
            Expr::Unary(op, _) => {
                for other in [UnOp::Negate, UnOp::Abs, UnOp::Sqrt, UnOp::Exponential] {
                    if other != *op
                        && other.accepts(ty)
                        && self.turn(|| format!("{op} becomes {other}"))
                    {
                        *op = other;
                        return;
                    }
                }
            }
            Expr::Binary(op, a, b) => {
                use BinOp::*;
                for other in [
                    Add,
                    Subtract,
                    Multiply,
                    Divide,
                    Minimum,
                    ShiftRightArithmetic,
                    And,
                ] {
                    if other != *op
                        && other.accepts(ty)
                        && self.turn(|| format!("{op} becomes {other}"))
                    {
                        *op = other;
                        return;
                    }
                }
                if a != b && self.turn(|| format!("operands of {op} swapped")) {
                    std::mem::swap(a, b);
                    return;
                }
            }
            Expr::Compare(op, a, b) => {
                for other in CmpOp::ALL {
                    if other != op && self.turn(|| format!("{op} becomes {other}")) {
                        *op = *other;
                        return;
                    }
                }
                if self.turn(|| format!("operands of {op} swapped")) {
                    std::mem::swap(a, b);
                    return;
                }
            }
            Expr::Convert(to, inner) => {
                // A cast left out, or a narrower one put in: the value is cut to a byte, or read with the
                // other sign.
                let (from, to) = (inner.ty(), *to);
                for through in [ScalarType::I8, ScalarType::U8] {
                    if from.is_int()
                        && from != through
                        && from != ScalarType::I1
                        && self.turn(|| format!("({to}) of a {from} goes through {through}"))
                    {
                        let cut = Expr::Convert(through, inner.clone());
                        *e = Expr::Convert(to, Box::new(cut));
                        return;
                    }
                }
            }
            Expr::Select(_, t, f) => {
                if t != f && self.turn(|| "branches of a select swapped".into()) {
                    std::mem::swap(t, f);
                    return;
                }
            }
            Expr::Var(..) | Expr::Bitcast(..) => {}
        }
        for child in e.children_mut() {
            self.expr(child);
        }
    }
}

fn constants(v: Scalar) -> Vec<Scalar> {
    let changed: Vec<Scalar> = match v.ty {
        ScalarType::I1 => vec![Scalar::bool(!v.is_true())],
        ScalarType::F32 => vec![Scalar::f32(v.as_f32() + 1.0), Scalar::f32(-v.as_f32())],
        ScalarType::F64 => vec![Scalar::f64(v.as_f64() + 1.0), Scalar::f64(-v.as_f64())],
        ty => vec![
            Scalar::int(ty, v.as_int() + 1),
            Scalar::int(ty, v.as_int() - 1),
        ],
    };
    changed.into_iter().filter(|c| *c != v).collect()
}

/// Mutants of a summary that are well-formed.
pub fn summaries(summary: &tensir::Function, sample: Sample) -> Vec<(String, tensir::Function)> {
    let mut out = Vec::new();
    for id in 0..summary.nodes.len() {
        let node = &summary.nodes[id];
        for op in operators(&node.op) {
            let mut mutant = summary.clone();
            mutant.nodes[id].op = op.clone();
            out.push((format!("%{id}: {:?} becomes {op:?}", node.op), mutant));
        }
        if node.args.len() > 1 && node.args[0] != node.args[1] {
            let mut mutant = summary.clone();
            mutant.nodes[id].args.swap(0, 1);
            out.push((format!("%{id}: operands swapped"), mutant));
        }
    }
    for (i, output) in summary.outputs.iter().enumerate() {
        if let Output::Store { value, view } = output {
            let mut mutant = summary.clone();
            let mut moved = view.clone();
            moved.index = &moved.index + &Idx::constant(1);
            mutant.outputs[i] = Output::Store {
                value: *value,
                view: moved,
            };
            out.push((format!("output {i}: one further"), mutant));
        }
        if summary.outputs.len() > 1 {
            let mut mutant = summary.clone();
            mutant.outputs.remove(i);
            out.push((format!("output {i}: left out"), mutant));
        }
    }
    for by in [-1, 1] {
        let mut mutant = summary.clone();
        if let Some(rounds) = &mut mutant.rounds {
            rounds.trip = &rounds.trip + &Idx::constant(by);
            out.push((format!("{by} more rounds"), mutant));
        }
    }
    if summary.rounds.is_some() {
        let mut mutant = summary.clone();
        mutant.rounds = None;
        out.push(("once instead of several times".into(), mutant));
    }
    out.retain(|(_, m)| m.verify().is_ok() && m != summary);
    sample.of(out.into_iter()).take(sample.most).collect()
}

fn operators(op: &Op) -> Vec<Op> {
    match op {
        Op::View(v) => [1, -1]
            .into_iter()
            .map(|step| {
                let mut v = v.clone();
                v.index = &v.index + &Idx::constant(step);
                Op::View(v)
            })
            .collect(),
        Op::Constant(v) => constants(*v).into_iter().map(Op::Constant).collect(),
        Op::Size(i) => vec![Op::Size(i + &Idx::constant(1))],
        Op::Unary(o) => UnOp::ALL
            .iter()
            .filter(|x| *x != o)
            .take(3)
            .map(|x| Op::Unary(*x))
            .collect(),
        Op::Binary(o) => BinOp::ALL
            .iter()
            .filter(|x| *x != o)
            .map(|x| Op::Binary(*x))
            .collect(),
        Op::Compare(o) => CmpOp::ALL
            .iter()
            .filter(|x| *x != o)
            .map(|x| Op::Compare(*x))
            .collect(),
        Op::Reduce {
            reducer,
            dimensions,
        } => other_reducers(*reducer)
            .map(|reducer| Op::Reduce {
                reducer,
                dimensions: dimensions.clone(),
            })
            .collect(),
        Op::Scan {
            reducer,
            dimension,
            exclusive,
            reverse,
        } => {
            let scan = |reducer, exclusive, reverse| Op::Scan {
                reducer,
                dimension: *dimension,
                exclusive,
                reverse,
            };
            let ways = [
                scan(*reducer, !exclusive, *reverse),
                scan(*reducer, *exclusive, !reverse),
            ];
            let others = other_reducers(*reducer).map(|r| scan(r, *exclusive, *reverse));
            ways.into_iter().chain(others).collect()
        }
        Op::ArgReduce { reducer, dimension } => CmpOp::ALL
            .iter()
            .flat_map(|cmp| [Reducer::TakeIf(*cmp), Reducer::KeepIf(*cmp)])
            .filter(|r| r != reducer)
            .map(|reducer| Op::ArgReduce {
                reducer,
                dimension: *dimension,
            })
            .collect(),
        Op::Generic(e) => vec![Op::Generic(std::sync::Arc::new(Elem::Unary(
            UnOp::Negate,
            e.clone(),
        )))],
        _ => vec![],
    }
}

fn other_reducers(than: Reducer) -> impl Iterator<Item = Reducer> {
    [
        Reducer::Op(BinOp::Add),
        Reducer::Op(BinOp::Multiply),
        Reducer::Op(BinOp::Maximum),
        Reducer::TakeIf(CmpOp::Ge),
        Reducer::KeepIf(CmpOp::Gt),
    ]
    .into_iter()
    .filter(move |r| *r != than)
}
