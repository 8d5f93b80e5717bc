//! Index notation to tensors, by its syntax.
//!
//! A *context* is a list of indices with their extents: the dimensions of the result, then the bound
//! indices of the folds around. A subterm becomes a tensor over exactly those indices of the context
//! that it speaks of, in the context's order, so that it is computed once for each of their values and
//! not more often. Where two operands meet, both are broadcast to the indices of either.

mod running;

use super::{Closed, empty, reduction, unraised};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Memo};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Node, NodeId, Op, Reducer, TensorType, View, dim};
use tensorize_prove::canon;

/// Expressions with more nodes than this, counted as trees, stay as they are.
const LARGEST_TREE: usize = 20_000;

/// A function over operators, not yet rewritten.
pub fn vectorise(name: &str, params: &[Param], results: &[Closed]) -> Function {
    let sizes: Vec<usize> = results.iter().map(|r| tree_size(r.parts().1)).collect();
    if sizes.iter().any(|&n| n > LARGEST_TREE) {
        return unraised(name, params, results);
    }
    let mut function = empty(name, params);
    let mut nodes = HashMap::new();
    let mut folds = HashMap::new();
    let values: Vec<ElemRef> = results
        .iter()
        .map(|r| equal_folds_once(r.parts().1, &mut folds))
        .collect();
    let alike = |r: &Closed| -> Vec<ElemRef> {
        let all = results.iter().zip(&values);
        let alike = all.filter(|(other, _)| other.parts().0 == r.parts().0);
        alike.map(|(_, value)| value.clone()).collect()
    };
    for (r, value) in results.iter().zip(&values) {
        let (shape, _) = r.parts();
        let mut v = Vectoriser {
            function: &mut function,
            nodes: &mut nodes,
            context: shape
                .iter()
                .enumerate()
                .map(|(i, n)| (dim(i), n.clone()))
                .collect(),
            memo: Memo::default(),
            certain: None,
            root: value.clone(),
            alike: alike(r),
        };
        let tensor = v.tensor(value);
        let everything: Vec<Sym> = v.context.iter().map(|(s, _)| s.clone()).collect();
        let full = v.spread(&tensor, &everything);
        function.outputs.push(r.output(full));
    }
    function.prune();
    function
}

/// A tensor whose dimensions run over these indices, in the context's order.
#[derive(Clone)]
struct Tensor {
    node: NodeId,
    over: Vec<Sym>,
}

struct Vectoriser<'a> {
    function: &'a mut Function,
    nodes: &'a mut HashMap<Node, NodeId>,
    context: Vec<(Sym, Idx)>,
    memo: Memo<Tensor>,
    root: ElemRef,
    /// The elements of all results that have its shape.
    alike: Vec<ElemRef>,
    /// The reads, and the folds, that these need in any case, once somebody has asked.
    certain: Option<HashSet<ElemRef>>,
}

impl Vectoriser<'_> {
    fn tensor(&mut self, e: &ElemRef) -> Tensor {
        if let Some(t) = self.memo.get(e) {
            return t;
        }
        let t = match self.operator(e) {
            Some(t) => t,
            None => self.index_notation(e),
        };
        self.memo.insert(e, &t);
        t
    }

    /// The expression by operators, if its outermost form has one.
    fn operator(&mut self, e: &ElemRef) -> Option<Tensor> {
        Some(match &**e {
            Elem::Const(v) => self.scalar(Op::Constant(*v), v.ty),
            Elem::Param(name, ty) => self.scalar(Op::Param(name.clone()), *ty),
            Elem::OfIdx(ty, idx) => self.polynomial(*ty, idx)?,
            Elem::Read { array, ty, index } => {
                if index.has_values() {
                    return None;
                }
                let over = self.indices_in(|f| index.for_each_sym(f));
                let index = index.substitute(&numbered(&over));
                self.leaf(
                    Op::View(View {
                        array: array.clone(),
                        index,
                    }),
                    over,
                    *ty,
                )
            }
            Elem::Unary(op, a) => self.elementwise(Op::Unary(*op), &[a], a.ty()),
            Elem::Binary(op, a, b) => self.elementwise(Op::Binary(*op), &[a, b], a.ty()),
            Elem::Compare(op, a, b) => self.elementwise(Op::Compare(*op), &[a, b], ScalarType::I1),
            Elem::IndexCompare(op, a, b) => self.index_compare(*op, a, b)?,
            Elem::Convert(ty, a) => self.elementwise(Op::Convert, &[a], *ty),
            Elem::Bitcast(ty, a) => self.elementwise(Op::BitcastConvert, &[a], *ty),
            Elem::Select(c, t, f) => {
                if self.reads_depend_on_index(c, t, f) {
                    return None;
                }
                self.elementwise(Op::Select, &[c, t, f], t.ty())
            }
            Elem::Acc(..) => return None,
            // As a reduction, it would take an array of places times rounds.
            Elem::Fold(fold) if self.is_told_by_data(fold) => return None,
            Elem::Fold(fold) => self.fold(fold)?,
        })
    }

    fn is_told_by_data(&self, fold: &Fold) -> bool {
        let params = &self.function.params;
        fold.is_told_by_data(&|s| params.iter().any(|p| p.name() == s))
    }

    fn add(&mut self, op: Op, args: Vec<NodeId>, over: &[Sym], elem: ScalarType) -> NodeId {
        let shape = over.iter().map(|s| self.extent(s)).collect();
        let node = Node {
            op,
            args,
            ty: TensorType::new(shape, elem),
        };
        // The same sum the other way round is the same tensor.
        if matches!(&node.op, Op::Binary(op) if op.is_commutative()) {
            let mut turned = node.clone();
            turned.args.reverse();
            if let Some(known) = self.nodes.get(&turned) {
                return *known;
            }
        }
        // Not by `Function::add`, which looks at every node.
        let function = &mut self.function;
        *self.nodes.entry(node).or_insert_with_key(|node| {
            function.nodes.push(node.clone());
            function.nodes.len() - 1
        })
    }

    fn extent(&self, s: &Sym) -> Idx {
        self.context
            .iter()
            .find(|(n, _)| n == s)
            .map(|(_, n)| n.clone())
            .unwrap_or_default()
    }

    fn leaf(&mut self, op: Op, over: Vec<Sym>, elem: ScalarType) -> Tensor {
        Tensor {
            node: self.add(op, vec![], &over, elem),
            over,
        }
    }

    fn scalar(&mut self, op: Op, elem: ScalarType) -> Tensor {
        self.leaf(op, vec![], elem)
    }

    /// Raw index notation for this subterm alone. Its bound names stay.
    fn index_notation(&mut self, e: &ElemRef) -> Tensor {
        let over = self.indices_in(|f| e.for_each_free_sym(f));
        let value = e.substitute(&numbered(&over));
        self.leaf(Op::Generic(value), over, e.ty())
    }

    /// The indices of the context among those that `each` goes through, in the context's order.
    fn indices_in(&self, each: impl FnOnce(&mut dyn FnMut(&Sym))) -> Vec<Sym> {
        let mut found = BTreeSet::new();
        each(&mut |s| {
            found.insert(s.clone());
        });
        self.context
            .iter()
            .map(|(s, _)| s)
            .filter(|s| found.contains(*s))
            .cloned()
            .collect()
    }

    fn union(&self, tensors: &[Tensor]) -> Vec<Sym> {
        let here = |s: &Sym| tensors.iter().any(|t| t.over.contains(s));
        self.context
            .iter()
            .map(|(s, _)| s)
            .filter(|s| here(s))
            .cloned()
            .collect()
    }

    /// The tensor repeated along the indices that it lacks.
    fn spread(&mut self, t: &Tensor, over: &[Sym]) -> NodeId {
        if t.over == over {
            return t.node;
        }
        let place = |s: &Sym| over.iter().position(|o| o == s);
        let dimensions = t.over.iter().filter_map(place).collect();
        let elem = self.function.nodes[t.node].ty.elem;
        self.add(Op::BroadcastInDim { dimensions }, vec![t.node], over, elem)
    }

    fn elementwise(&mut self, op: Op, args: &[&ElemRef], elem: ScalarType) -> Tensor {
        let args: Vec<Tensor> = args.iter().map(|a| self.tensor(a)).collect();
        self.combine(op, &args, elem)
    }

    fn combine(&mut self, op: Op, args: &[Tensor], elem: ScalarType) -> Tensor {
        let over = self.union(args);
        let args = args.iter().map(|a| self.spread(a, &over)).collect();
        Tensor {
            node: self.add(op, args, &over, elem),
            over,
        }
    }

    /// A polynomial as a machine value. Modulo 2ⁿ, sums and products can be taken term by term.
    fn polynomial(&mut self, ty: ScalarType, idx: &Idx) -> Option<Tensor> {
        let over = self.indices_in(|f| idx.for_each_sym(f));
        if over.is_empty() && !idx.has_values() {
            return Some(self.scalar(Op::Size(idx.clone()), ty));
        }
        if ty.is_float() {
            // The exact integer first: rounding is done once.
            let exact = self.polynomial(ScalarType::I64, idx)?;
            return Some(self.combine(Op::Convert, &[exact], ty));
        }
        if ty == ScalarType::I1 {
            return None;
        }
        // Monomials over indices, each with its coefficient over sizes.
        let mut terms: Vec<(Vec<Atom>, Idx)> = Vec::new();
        for (monomial, c) in idx.terms() {
            let is_size = |a: &Atom| {
                let one = Idx::atom(a.clone());
                !one.has_values() && self.indices_in(|f| one.for_each_sym(f)).is_empty()
            };
            let (sizes, indices): (Vec<Atom>, Vec<Atom>) =
                monomial.iter().cloned().partition(is_size);
            let coefficient = Idx::from_terms([(sizes, c)]);
            match terms.iter_mut().find(|(m, _)| *m == indices) {
                Some((_, sum)) => *sum = &*sum + &coefficient,
                None => terms.push((indices, coefficient)),
            }
        }
        // What is added first and the constant last, as people write it.
        terms.sort_by_key(|(m, c)| (m.is_empty(), c.as_constant().is_some_and(|c| c < 0)));
        let mut sum: Option<Tensor> = None;
        for (factors, coefficient) in terms {
            let negative = sum.is_some() && coefficient.as_constant().is_some_and(|c| c < 0);
            let coefficient = if negative { -&coefficient } else { coefficient };
            let mut product: Option<Tensor> = None;
            if factors.is_empty() || coefficient.as_constant() != Some(1) {
                product = Some(match coefficient.as_constant() {
                    Some(c) => self.scalar(Op::Constant(Scalar::int(ty, c)), ty),
                    None => self.scalar(Op::Size(coefficient), ty),
                });
            }
            for factor in &factors {
                let factor = self.factor(ty, factor)?;
                product = Some(match product {
                    Some(p) => self.combine(Op::Binary(BinOp::Multiply), &[factor, p], ty),
                    None => factor,
                });
            }
            let product = product?;
            let op = if negative {
                BinOp::Subtract
            } else {
                BinOp::Add
            };
            sum = Some(match sum {
                Some(s) => self.combine(Op::Binary(op), &[s, product], ty),
                None => product,
            });
        }
        sum
    }

    fn factor(&mut self, ty: ScalarType, atom: &Atom) -> Option<Tensor> {
        match atom {
            Atom::Sym(s) => {
                let over = vec![s.clone()];
                Some(self.leaf(Op::Iota { dimension: 0 }, over, ty))
            }
            Atom::Value(e) => Some(self.tensor(&Elem::convert(ty, e.clone()))),
            _ => None,
        }
    }

    /// Indices are compared as `i64`, and a `ui64`, which may be larger than any, as what it is.
    fn index_compare(&mut self, op: CmpOp, a: &Idx, b: &Idx) -> Option<Tensor> {
        let difference = a - b;
        let is_index = |m: &[Atom]| {
            m.iter().any(|a| {
                let one = Idx::atom(a.clone());
                one.has_values() || !self.indices_in(|f| one.for_each_sym(f)).is_empty()
            })
        };
        let part = |keep: bool| {
            let terms = difference.terms().filter(|(m, _)| is_index(m) == keep);
            Idx::from_terms(terms.map(|(m, c)| (m.to_vec(), c)))
        };
        let (left, right) = (part(true), -&part(false));
        // `-i >= 3 - n` reads better as `i <= n - 3`.
        let negative = !left.is_zero() && left.terms().all(|(_, c)| c < 0);
        let (op, left, right) = match negative {
            true => (op.swapped(), -&left, -&right),
            false if left.is_zero() => sides_of_sizes(op, &difference),
            false => (op, left, right),
        };
        let ty = match self.is_unsigned(&left) && self.is_unsigned(&right) {
            true => ScalarType::U64,
            false => ScalarType::I64,
        };
        let left = self.polynomial(ty, &left)?;
        let right = match right.as_constant() {
            Some(c) => self.scalar(Op::Constant(Scalar::int(ty, c)), ty),
            None => self.polynomial(ty, &right)?,
        };
        Some(self.combine(Op::Compare(op), &[left, right], ScalarType::I1))
    }

    /// A `ui64` parameter, or a number that is one.
    fn is_unsigned(&self, side: &Idx) -> bool {
        let is_param = |s: &Sym| {
            let mut params = self.function.params.iter();
            params.any(|p| matches!(p, Param::Scalar { name, ty: ScalarType::U64 } if name == s))
        };
        side.as_sym().is_some_and(is_param) || side.as_constant().is_some_and(|c| c >= 0)
    }

    fn fold(&mut self, fold: &Fold) -> Option<Tensor> {
        if matches!(&*fold.step, Elem::Acc(n, _) if *n == fold.acc) {
            return Some(self.tensor(&fold.init));
        }
        if let Some(running) = self.scan(fold).or_else(|| self.arg_reduce(fold)) {
            return Some(running);
        }
        let nest = reduction::recognise(fold)?;
        for (i, (var, extent)) in nest.loops.iter().enumerate() {
            let again = self
                .context
                .iter()
                .chain(&nest.loops[..i])
                .any(|(n, _)| n == var);
            let bound = self
                .context
                .iter()
                .chain(&nest.loops)
                .any(|(n, _)| extent.mentions(n));
            if again || bound || extent.has_values() {
                return None;
            }
        }
        let ty = fold.init.ty();
        let mut init = self.tensor(&nest.init);
        // Integer sums whose elements start from different values may add these afterwards, as the prover
        // knows; then the sum can become a product of matrices.
        let mut afterwards = None;
        if let (false, Reducer::Op(op @ BinOp::Add), false) =
            (init.over.is_empty(), nest.reducer, ty.is_float())
        {
            let start = reduction::identity(nest.reducer, ty)?;
            let own = std::mem::replace(&mut init, self.scalar(Op::Constant(start), ty));
            afterwards = Some((op, own));
        }

        let depth = self.context.len();
        self.context.extend(nest.loops.iter().cloned());
        let element = self.tensor(&nest.element);
        let is_bound = |s: &Sym| nest.loops.iter().any(|(n, _)| n == s);
        let over: Vec<Sym> = (self.context.iter().map(|(s, _)| s))
            .filter(|s| is_bound(s) || element.over.contains(s) || init.over.contains(s))
            .cloned()
            .collect();
        let element = self.spread(&element, &over);
        self.context.truncate(depth);
        self.memo.retain(|t| !t.over.iter().any(is_bound));

        let kept = over.len() - nest.loops.len();
        let op = Op::Reduce {
            reducer: nest.reducer,
            dimensions: (kept..over.len()).collect(),
        };
        let over = over[..kept].to_vec();
        let start = self.start(&init, &over);
        let node = self.add(op, vec![element, start], &over, ty);
        let sum = Tensor { node, over };
        Some(match afterwards {
            Some((op, own)) => self.combine(Op::Binary(op), &[own, sum], ty),
            None => sum,
        })
    }

    /// Whether a read of one branch happens for some indices or sizes only, and nowhere else in any
    /// case. A view of it would read where the original does not.
    fn reads_depend_on_index(&mut self, c: &ElemRef, t: &ElemRef, f: &ElemRef) -> bool {
        let mut by_index = false;
        c.visit(&mut |e| {
            by_index |= matches!(
                &**e,
                Elem::IndexCompare(..) | Elem::OfIdx(..) | Elem::Fold(_)
            );
        });
        if !by_index {
            return false;
        }
        let of_sizes = self.indices_in(|f| c.for_each_free_sym(f)).is_empty();
        let (root, alike) = (&self.root, &self.alike);
        let certain = self.certain.get_or_insert_with(|| {
            // What only another result reads has a view there, where this one reads it under its condition.
            let is_fold = |e: &ElemRef| matches!(&**e, Elem::Fold(_));
            let folds = alike.iter().flat_map(certain_reads).filter(is_fold);
            certain_reads(root).into_iter().chain(folds).collect()
        });
        let elsewhere = [(t, true), (f, false)].into_iter().all(|(branch, then)| {
            let is_empty = |fold: &Fold| of_sizes && is_empty_unless(fold, c, then);
            reads_elsewhere(branch, &is_empty, certain)
        });
        !elsewhere
    }
}

/// What is compared with zero as two sums that are compared: `n - 1 >= 0` reads better as `n >= 1`.
fn sides_of_sizes(op: CmpOp, difference: &Idx) -> (CmpOp, Idx, Idx) {
    let part = |keep: fn(&[Atom], i128) -> bool| {
        let terms = difference.terms().filter(|(m, c)| keep(m, *c));
        Idx::from_terms(terms.map(|(m, c)| (m.to_vec(), c)))
    };
    let left = part(|m, c| c > 0 && !m.is_empty());
    let right = -&part(|m, c| c < 0 && !m.is_empty());
    let number = part(|m, _| m.is_empty());
    match left.is_zero() {
        true => (op.swapped(), right, number),
        false => (op, left, &right - &number),
    }
}

/// The names `#0`, `#1`, … for these indices.
fn numbered(over: &[Sym]) -> impl Fn(&Sym) -> Option<Idx> {
    move |s| over.iter().position(|o| o == s).map(|i| Idx::sym(dim(i)))
}

/// Whether all that a branch reads is read in any case, apart from what folds read that are empty in the other.
fn reads_elsewhere(
    e: &ElemRef,
    is_empty: &dyn Fn(&Fold) -> bool,
    certain: &HashSet<ElemRef>,
) -> bool {
    match &**e {
        Elem::Fold(fold) if is_empty(fold) => {
            let mut first = fold.lanes().map(|lane| lane.init);
            return first.all(|init| reads_elsewhere(init, is_empty, certain));
        }
        Elem::Fold(_) if certain.contains(e) => return true,
        Elem::Read { .. } => return certain.contains(e),
        _ if e.indices().into_iter().any(|i| i.has_values()) => return false,
        _ => {}
    }
    let mut children = e.children().into_iter();
    children.all(|child| reads_elsewhere(child, is_empty, certain))
}

/// Whether the fold has no steps where the condition is not what it is in this branch: `n > 0 ? sum / n : 0`.
fn is_empty_unless(fold: &Fold, condition: &Elem, then: bool) -> bool {
    let Elem::IndexCompare(op, a, b) = condition else {
        return false;
    };
    let difference = a - b;
    match if then { *op } else { op.negated() } {
        CmpOp::Ge => fold.extent == &difference + &Idx::constant(1),
        CmpOp::Gt => fold.extent == difference,
        CmpOp::Lt => fold.extent == -&difference,
        CmpOp::Le => fold.extent == &Idx::constant(1) - &difference,
        CmpOp::Ne => fold.extent == difference || fold.extent == -&difference,
        CmpOp::Eq => false,
    }
}

/// What the expression reads, and which folds it takes, whichever branches are taken.
fn certain_reads(e: &ElemRef) -> HashSet<ElemRef> {
    let mut found = HashSet::new();
    if matches!(&**e, Elem::Read { .. } | Elem::Fold(_)) {
        found.insert(e.clone());
    }
    match &**e {
        Elem::Read { .. } => {}
        Elem::Select(c, t, f) => {
            let (t, f) = (certain_reads(t), certain_reads(f));
            found.extend(t.intersection(&f).cloned());
            found.extend(certain_reads(c));
        }
        _ => e
            .children()
            .into_iter()
            .for_each(|e| found.extend(certain_reads(e))),
    }
    found
}

/// The expression in which folds that are the same but for their names have the same names, so that what is computed once
/// and used twice is one tensor, and one read.
fn equal_folds_once(e: &ElemRef, known: &mut HashMap<ElemRef, ElemRef>) -> ElemRef {
    e.map(&mut |e| {
        let Elem::Fold(fold) = &**e else {
            return None;
        };
        let form = canon::elem(e);
        if let Some(same) = known.get(&form) {
            return Some(same.clone());
        }
        let parts: Vec<ElemRef> = (e.children().into_iter())
            .map(|part| equal_folds_once(part, known))
            .collect();
        let extent = fold.extent.map_values(&mut |v| equal_folds_once(v, known));
        let once = e.rebuild(&parts, &[extent]);
        known.insert(form, once.clone());
        Some(once)
    })
}

/// Nodes of the expression as a tree; shared ones count each time.
fn tree_size(e: &ElemRef) -> usize {
    fn size(e: &ElemRef, known: &mut HashMap<*const Elem, usize>) -> usize {
        if let Some(&n) = known.get(&Arc::as_ptr(e)) {
            return n;
        }
        let below = e.children().into_iter().map(|e| size(e, known));
        let n = below.fold(1usize, |a, b| a.saturating_add(b));
        known.insert(Arc::as_ptr(e), n);
        n
    }
    size(e, &mut HashMap::new())
}
