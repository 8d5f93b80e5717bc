//! Index notation: the scalar expression that stands at an index.
//!
//! It is what a C loop computes, what an operator of TensIR means (its *element
//! view*), and what the prover compares. A reduction is a [`Fold`]: it has a
//! bound index, a bound accumulator, and an order.

use crate::index::{Fresh, Idx, Sym};
use crate::op::{self, BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

mod evaluator;
mod fold;
mod renaming;
mod shared;

pub use evaluator::{Evaluator, Lack};
pub use fold::LaneRef;
use renaming::Renaming;
pub use shared::{Memo, Transform};

/// A shared expression.
pub type ElemRef = Arc<Elem>;

/// A scalar expression over the initial contents of arrays, scalar parameters and indices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    /// A literal.
    Const(Scalar),
    /// A floating-point parameter of the kernel. (An integer parameter `n` is
    /// `OfIdx(ty, n)`.)
    Param(Sym, ScalarType),
    /// The polynomial, wrapped to the integer type; converted, for a float type.
    OfIdx(ScalarType, Idx),
    /// What the array held at this flat index when the kernel was called.
    Read {
        /// The array, a parameter or a constant table of the kernel.
        array: Sym,
        /// Its element type.
        ty: ScalarType,
        /// In elements, from where the parameter points.
        index: Idx,
    },
    /// One operand.
    Unary(UnOp, ElemRef),
    /// Two operands of one type.
    Binary(BinOp, ElemRef, ElemRef),
    /// Compares machine values of one type; `i1`.
    Compare(CmpOp, ElemRef, ElemRef),
    /// Compares mathematical integers; `i1`.
    IndexCompare(CmpOp, Idx, Idx),
    /// A C cast.
    Convert(ScalarType, ElemRef),
    /// The same bits, read as another type of the same width.
    Bitcast(ScalarType, ElemRef),
    /// `c ? t : f`. Both are total, so it does not matter which are evaluated.
    Select(ElemRef, ElemRef, ElemRef),
    /// The accumulator of the enclosing [`Fold`] that binds this name.
    Acc(Sym, ScalarType),
    /// A reduction.
    Fold(Arc<Fold>),
}

/// `acc = init; for var in 0..extent { acc = step }; acc`: a left fold in ascending order.
///
/// With other lanes it is a variadic reduction (StableHLO's `reduce` of several operands): all lanes take a
/// step at once, each step may look at all accumulators, and the value is that of the first lane.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fold {
    /// The accumulator's name in `step`.
    pub acc: Sym,
    /// The index's name in `step`.
    pub var: Sym,
    /// How many steps; none if it is negative.
    pub extent: Idx,
    /// The value before the first step.
    pub init: ElemRef,
    /// The value after a step.
    pub step: ElemRef,
    /// Whether the order of steps is part of the meaning.
    pub order: Order,
    /// What is accumulated besides; mostly nothing.
    pub others: Vec<Lane>,
}

/// A further accumulator of a [`Fold`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    /// The accumulator's name in the steps.
    pub acc: Sym,
    /// The value before the first step.
    pub init: ElemRef,
    /// The value after a step.
    pub step: ElemRef,
}

/// The order of a [`Fold`]'s steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Ascending, one after the other.
    Sequential,
    /// Any order and any grouping: what a parallel or vector reduction does. `step` is then
    /// `acc ∘ e` with `e` free of `acc`.
    Any,
}

/// The value of everything free in an expression.
pub trait Env {
    /// A size or an index.
    fn sym(&self, name: &Sym) -> Option<i128>;
    /// A floating-point parameter.
    fn param(&self, name: &Sym) -> Option<Scalar>;
    /// The array's initial element.
    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar>;
    /// Asked before a fold is taken so many steps: `None` if nobody waits for that.
    fn rounds(&mut self, _steps: i128) -> Option<()> {
        Some(())
    }
}

impl Elem {
    /// The type of the value.
    pub fn ty(&self) -> ScalarType {
        match self {
            Elem::Const(s) => s.ty,
            Elem::Param(_, ty)
            | Elem::OfIdx(ty, _)
            | Elem::Read { ty, .. }
            | Elem::Convert(ty, _)
            | Elem::Bitcast(ty, _)
            | Elem::Acc(_, ty) => *ty,
            Elem::Unary(_, a) | Elem::Binary(_, a, _) => a.ty(),
            Elem::Compare(..) | Elem::IndexCompare(..) => ScalarType::I1,
            Elem::Select(_, t, _) => t.ty(),
            Elem::Fold(f) => f.init.ty(),
        }
    }

    /// A literal.
    pub fn constant(value: Scalar) -> ElemRef {
        Arc::new(Elem::Const(value))
    }

    /// The machine integer with the value of `idx`.
    pub fn of_idx(ty: ScalarType, idx: Idx) -> ElemRef {
        match idx.as_constant() {
            Some(c) => Elem::constant(Scalar::int(ty, c)),
            None => Arc::new(Elem::OfIdx(ty, idx)),
        }
    }

    /// `array[index]`.
    pub fn read(array: impl Into<Sym>, ty: ScalarType, index: Idx) -> ElemRef {
        Arc::new(Elem::Read {
            array: array.into(),
            ty,
            index,
        })
    }

    /// `op a`, folded if `a` is a literal (but not if the value depends on the C library's `exp`).
    pub fn unary(op: UnOp, a: ElemRef) -> ElemRef {
        match &*a {
            Elem::Const(v) if is_exact_unary(op) => Elem::constant(op::eval_unary(op, *v)),
            _ => Arc::new(Elem::Unary(op, a)),
        }
    }

    /// `a op b`, folded if both are literals.
    pub fn binary(op: BinOp, a: ElemRef, b: ElemRef) -> ElemRef {
        match (&*a, &*b) {
            (Elem::Const(x), Elem::Const(y)) if !matches!(op, BinOp::Power | BinOp::Atan2) => {
                Elem::constant(op::eval_binary(op, *x, *y))
            }
            _ => Arc::new(Elem::Binary(op, a, b)),
        }
    }

    /// `a op b`, folded if both are literals.
    pub fn compare(op: CmpOp, a: ElemRef, b: ElemRef) -> ElemRef {
        match (&*a, &*b) {
            (Elem::Const(x), Elem::Const(y)) => {
                Elem::constant(Scalar::bool(op::eval_compare(op, *x, *y)))
            }
            _ => Arc::new(Elem::Compare(op, a, b)),
        }
    }

    /// `a op b` on indices, folded if their difference is constant.
    pub fn index_compare(op: CmpOp, a: Idx, b: Idx) -> ElemRef {
        match (&a - &b).as_constant() {
            Some(d) => Elem::constant(Scalar::bool(op.holds(&d, &0))),
            None => Arc::new(Elem::IndexCompare(op, a, b)),
        }
    }

    /// `(to)a`, folded if `a` is a literal; nothing if `a` has that type.
    pub fn convert(to: ScalarType, a: ElemRef) -> ElemRef {
        match &*a {
            _ if a.ty() == to => a,
            Elem::Const(v) => Elem::constant(op::eval_convert(to, *v)),
            _ => Arc::new(Elem::Convert(to, a)),
        }
    }

    /// The bits of `a` as type `to`, folded if `a` is a literal; nothing if `a` has that type.
    pub fn bitcast(to: ScalarType, a: ElemRef) -> ElemRef {
        match &*a {
            _ if a.ty() == to => a,
            Elem::Const(v) => Elem::constant(Scalar {
                ty: to,
                bits: v.bits,
            }),
            _ => Arc::new(Elem::Bitcast(to, a)),
        }
    }

    /// `c ? t : f`, folded if `c` is a literal or the branches agree.
    pub fn select(c: ElemRef, t: ElemRef, f: ElemRef) -> ElemRef {
        match &*c {
            Elem::Const(v) => {
                if v.is_true() {
                    t
                } else {
                    f
                }
            }
            _ if t == f => t,
            _ => Arc::new(Elem::Select(c, t, f)),
        }
    }

    /// The element of a constant table: selections that halve it. There is at least one value; an index
    /// outside of the table gives the first or the last.
    pub fn table(values: &[Scalar], at: &Idx) -> ElemRef {
        fn part(values: &[Scalar], first: i128, at: &Idx) -> ElemRef {
            let (low, high) = values.split_at(values.len() / 2);
            if low.is_empty() {
                return Elem::constant(high[0]);
            }
            let middle = first + low.len() as i128;
            let in_low = Elem::index_compare(CmpOp::Lt, at.clone(), Idx::constant(middle));
            Elem::select(in_low, part(low, first, at), part(high, middle, at))
        }
        part(values, 0, at)
    }

    /// `!c` for a truth value.
    // An associated function, like the other constructors: `!` on an `Arc` cannot be ours.
    #[allow(clippy::should_implement_trait)]
    pub fn not(c: ElemRef) -> ElemRef {
        match &*c {
            Elem::Unary(UnOp::Not, inner) => inner.clone(),
            Elem::IndexCompare(op, a, b) => Elem::index_compare(op.negated(), a.clone(), b.clone()),
            _ => Elem::unary(UnOp::Not, c),
        }
    }

    /// The parts of a conjunction; another truth value is its only part.
    pub fn conjuncts(self: &Arc<Self>) -> Vec<&ElemRef> {
        match &**self {
            Elem::Binary(BinOp::And, a, b) => [a.conjuncts(), b.conjuncts()].concat(),
            _ => vec![self],
        }
    }

    /// The children, in order, and the binders of a fold left aside.
    pub fn children(&self) -> Vec<&ElemRef> {
        // Every walk comes through here.
        crate::limit::tick();
        match self {
            Elem::Const(_)
            | Elem::Param(..)
            | Elem::OfIdx(..)
            | Elem::Read { .. }
            | Elem::IndexCompare(..)
            | Elem::Acc(..) => vec![],
            Elem::Unary(_, a) | Elem::Convert(_, a) | Elem::Bitcast(_, a) => vec![a],
            Elem::Binary(_, a, b) | Elem::Compare(_, a, b) => vec![a, b],
            Elem::Select(c, t, f) => vec![c, t, f],
            Elem::Fold(f) => f.children(),
        }
    }

    /// The indices that stand at this node itself.
    pub fn indices(&self) -> Vec<&Idx> {
        match self {
            Elem::OfIdx(_, i) | Elem::Read { index: i, .. } => vec![i],
            Elem::IndexCompare(_, a, b) => vec![a, b],
            Elem::Fold(f) => vec![&f.extent],
            _ => vec![],
        }
    }

    /// The same node over other children and indices, as [`Elem::children`] and
    /// [`Elem::indices`] list them. Literals are folded.
    pub fn rebuild(&self, children: &[ElemRef], indices: &[Idx]) -> ElemRef {
        let c = |i: usize| children[i].clone();
        match self {
            Elem::Const(_) | Elem::Param(..) | Elem::Acc(..) => Arc::new(self.clone()),
            Elem::OfIdx(ty, _) => Elem::of_idx(*ty, indices[0].clone()),
            Elem::Read { array, ty, .. } => Elem::read(array.clone(), *ty, indices[0].clone()),
            Elem::IndexCompare(op, ..) => {
                Elem::index_compare(*op, indices[0].clone(), indices[1].clone())
            }
            Elem::Unary(op, _) => Elem::unary(*op, c(0)),
            Elem::Convert(ty, _) => Elem::convert(*ty, c(0)),
            Elem::Bitcast(ty, _) => Elem::bitcast(*ty, c(0)),
            Elem::Binary(op, ..) => Elem::binary(*op, c(0), c(1)),
            Elem::Compare(op, ..) => Elem::compare(*op, c(0), c(1)),
            Elem::Select(..) => Elem::select(c(0), c(1), c(2)),
            Elem::Fold(f) => Arc::new(Elem::Fold(Arc::new(f.over(children, indices[0].clone())))),
        }
    }

    /// Replaces every free variable for which `with` has an answer. Bound variables that the answers
    /// mention are renamed first.
    pub fn substitute(&self, with: &dyn Fn(&Sym) -> Option<Idx>) -> ElemRef {
        let mut binders = Vec::new();
        self.for_each_binder(&mut |s| binders.push(s.clone()));
        if binders.is_empty() {
            return Renaming::new(with, None).term(self);
        }
        let mut answers = Vec::new();
        self.for_each_free_sym(&mut |s| answers.extend(with(s)));
        if !answers
            .iter()
            .any(|v| binders.iter().any(|b| v.mentions(b)))
        {
            return Renaming::new(with, None).term(self);
        }
        let mut fresh = Fresh::avoiding(&Arc::new(self.clone()));
        for v in answers {
            fresh.avoid(&Elem::of_idx(ScalarType::I64, v));
        }
        Renaming::new(with, Some(&mut fresh)).term(self)
    }

    /// The same expression with fresh names for everything that it binds.
    pub fn freshen(&self, fresh: &mut Fresh) -> ElemRef {
        Renaming::new(&|_| None, Some(fresh)).term(self)
    }

    /// [`Elem::substitute`] and [`Elem::freshen`] in one.
    pub fn instantiate(&self, with: &dyn Fn(&Sym) -> Option<Idx>, fresh: &mut Fresh) -> ElemRef {
        Renaming::new(with, Some(fresh)).term(self)
    }

    /// Replaces the variable `name` by `value`.
    pub fn replace(&self, name: &str, value: &Idx) -> ElemRef {
        self.substitute(&|s| (&**s == name).then(|| value.clone()))
    }

    /// Replaces accumulators that occur free. Names that folds bind stay what they are, unless one of them would catch a
    /// value: then all are fresh ones.
    pub fn replace_accs(self: &Arc<Self>, values: &BTreeMap<Sym, ElemRef>) -> ElemRef {
        if values.is_empty() || !values.keys().any(|name| self.mentions(name)) {
            return self.clone();
        }
        let mut caught = false;
        self.for_each_binder(&mut |name| caught |= values.values().any(|v| v.mentions(name)));
        let mut fresh = caught.then(|| {
            let mut fresh = Fresh::avoiding(self);
            values.values().for_each(|v| fresh.avoid(v));
            fresh
        });
        Renaming::of_accs(values, fresh.as_mut()).elem(self)
    }

    /// Whether the variable or accumulator `name` occurs.
    pub fn mentions(&self, name: &str) -> bool {
        matches!(self, Elem::Acc(n, _) | Elem::Param(n, _) if &**n == name)
            || self.indices().iter().any(|i| i.mentions(name))
            || self.children().iter().any(|e| e.mentions(name))
    }

    /// Calls `f` for every index variable that occurs free.
    pub fn for_each_free_sym(&self, f: &mut dyn FnMut(&Sym)) {
        match self {
            Elem::Fold(fold) => {
                fold.extent.for_each_sym(f);
                for lane in fold.lanes() {
                    lane.init.for_each_free_sym(f);
                    lane.step.for_each_free_sym(&mut |s| {
                        if *s != fold.var {
                            f(s);
                        }
                    });
                }
            }
            _ => {
                self.indices().into_iter().for_each(|i| i.for_each_sym(f));
                self.children()
                    .into_iter()
                    .for_each(|e| e.for_each_free_sym(f));
            }
        }
    }

    /// Calls `f` for this node and every node below it, also inside of indices.
    pub fn visit(self: &Arc<Self>, f: &mut dyn FnMut(&ElemRef)) {
        f(self);
        for idx in self.indices() {
            idx.for_each_value(&mut |e| e.visit(f));
        }
        self.children().into_iter().for_each(|e| e.visit(f));
    }

    /// Calls `f` for every name that a fold binds.
    fn for_each_binder(&self, f: &mut dyn FnMut(&Sym)) {
        if let Elem::Fold(fold) = self {
            f(&fold.var);
            fold.lanes().for_each(|lane| f(lane.acc));
        }
        for idx in self.indices() {
            idx.for_each_value(&mut |e| e.for_each_binder(f));
        }
        self.children()
            .into_iter()
            .for_each(|e| e.for_each_binder(f));
    }

    /// The value. `None` where `env` has none for something that is needed; a branch that is not
    /// selected is not needed.
    pub fn eval(&self, env: &mut dyn Env) -> Option<Scalar> {
        self.eval_under(env, &mut Bound::default())
    }

    fn eval_under(&self, env: &mut dyn Env, bound: &mut Bound) -> Option<Scalar> {
        Some(match self {
            Elem::Const(v) => *v,
            Elem::Param(name, ty) => env.param(name).filter(|v| v.ty == *ty)?,
            Elem::OfIdx(ty, idx) => Scalar::int(*ty, eval_idx(idx, env, bound)?),
            Elem::Read { array, ty, index } => {
                let at = eval_idx(index, env, bound)?;
                env.read(array, at).filter(|v| v.ty == *ty)?
            }
            Elem::Unary(op, a) => op::eval_unary(*op, a.eval_under(env, bound)?),
            Elem::Binary(op, a, b) => {
                op::eval_binary(*op, a.eval_under(env, bound)?, b.eval_under(env, bound)?)
            }
            Elem::Compare(op, a, b) => Scalar::bool(op::eval_compare(
                *op,
                a.eval_under(env, bound)?,
                b.eval_under(env, bound)?,
            )),
            Elem::IndexCompare(op, a, b) => {
                Scalar::bool(op.holds(&eval_idx(a, env, bound)?, &eval_idx(b, env, bound)?))
            }
            Elem::Convert(ty, a) => op::eval_convert(*ty, a.eval_under(env, bound)?),
            Elem::Bitcast(ty, a) => Scalar {
                ty: *ty,
                bits: a.eval_under(env, bound)?.bits,
            },
            Elem::Select(c, t, f) => {
                let branch = if c.eval_under(env, bound)?.is_true() {
                    t
                } else {
                    f
                };
                branch.eval_under(env, bound)?
            }
            Elem::Acc(name, _) => *bound.accs.get(name)?,
            Elem::Fold(f) => {
                let extent = eval_idx(&f.extent, env, bound)?;
                let lanes: Vec<_> = f.lanes().collect();
                let mut values = lanes
                    .iter()
                    .map(|lane| lane.init.eval_under(env, bound))
                    .collect::<Option<Vec<_>>>()?;
                let outer_sym = bound.syms.get(&f.var).copied();
                let outer_accs: Vec<_> = lanes
                    .iter()
                    .map(|lane| bound.accs.get(lane.acc).copied())
                    .collect();
                env.rounds(extent.max(0))?;
                for i in 0..extent.max(0) {
                    bound.syms.insert(f.var.clone(), i);
                    for (lane, value) in lanes.iter().zip(&values) {
                        bound.accs.insert(lane.acc.clone(), *value);
                    }
                    values = lanes
                        .iter()
                        .map(|lane| lane.step.eval_under(env, bound))
                        .collect::<Option<Vec<_>>>()?;
                }
                restore(&mut bound.syms, &f.var, outer_sym);
                for (lane, outer) in lanes.iter().zip(outer_accs) {
                    restore(&mut bound.accs, lane.acc, outer);
                }
                *values.first()?
            }
        })
    }
}

fn restore<T>(map: &mut BTreeMap<Sym, T>, name: &Sym, outer: Option<T>) {
    match outer {
        Some(v) => map.insert(name.clone(), v),
        None => map.remove(name),
    };
}

/// Whether IEEE 754 and C fix every bit of the result.
fn is_exact_unary(op: UnOp) -> bool {
    use UnOp::*;
    matches!(
        op,
        Negate | Not | Abs | Sqrt | Floor | Ceil | Trunc | RoundNearestAfz | RoundNearestEven
    )
}

#[derive(Default)]
struct Bound {
    syms: BTreeMap<Sym, i128>,
    accs: BTreeMap<Sym, Scalar>,
}

/// The polynomial's value; `None` as for [`Elem::eval`], or where it does not fit.
pub fn eval_index(idx: &Idx, env: &mut dyn Env) -> Option<i128> {
    eval_idx(idx, env, &mut Bound::default())
}

fn eval_idx(idx: &Idx, env: &mut dyn Env, bound: &mut Bound) -> Option<i128> {
    // Values inside of indices are evaluated first: the two closures of `Idx::eval` cannot both
    // borrow `env`.
    let mut values = Vec::new();
    idx.for_each_value(&mut |e| values.push(e));
    let mut known: BTreeMap<&Elem, i128> = BTreeMap::new();
    for e in values {
        let v = e.eval_under(env, bound)?;
        known.insert(e, v.as_int());
    }
    idx.eval(
        &|s| bound.syms.get(s).copied().or_else(|| env.sym(s)),
        &mut |e| known.get(e).copied(),
    )
}

impl fmt::Display for Elem {
    /// Function-call notation: `add(x[i], fold(acc = 0:i32, k < n, add(acc, w[k])))`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::limit::tick();
        match self {
            Elem::Const(v) => write!(f, "{v}"),
            Elem::Param(name, _) | Elem::Acc(name, _) => f.write_str(name),
            Elem::OfIdx(ty, idx) => write!(f, "index({ty}, {idx})"),
            Elem::Read { array, index, .. } => write!(f, "{array}[{index}]"),
            Elem::Unary(op, a) => write!(f, "{op}({a})"),
            Elem::Binary(op, a, b) => write!(f, "{op}({a}, {b})"),
            Elem::Compare(op, a, b) => write!(f, "compare({op}, {a}, {b})"),
            Elem::IndexCompare(op, a, b) => write!(f, "index_compare({op}, {a}, {b})"),
            Elem::Convert(ty, a) => write!(f, "convert({ty}, {a})"),
            Elem::Bitcast(ty, a) => write!(f, "bitcast_convert({ty}, {a})"),
            Elem::Select(c, t, e) => write!(f, "select({c}, {t}, {e})"),
            Elem::Fold(fold) => {
                let verb = match fold.order {
                    Order::Sequential => "fold",
                    Order::Any => "fold_any",
                };
                write!(f, "{verb}(")?;
                for lane in fold.lanes() {
                    write!(f, "{} = {}, ", lane.acc, lane.init)?;
                }
                write!(f, "{} < {}", fold.var, fold.extent)?;
                for lane in fold.lanes() {
                    write!(f, ", {}", lane.step)?;
                }
                f.write_str(")")
            }
        }
    }
}

#[cfg(test)]
mod tests;
