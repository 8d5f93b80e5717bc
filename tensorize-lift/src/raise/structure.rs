//! Equations about operators with attributes: contractions, views, broadcasts. Each is a
//! function from one term to an equal one, in which the graph is asked for the forms of its operands.
//! Those about conversions are in [`convert`](super::convert).

use super::convert::{
    convert_of_broadcast, convert_of_convert, narrow_arithmetic, narrow_compare, truth_of_truth,
};
use super::lang::{Facts, Graph, Known, Term};
use super::reduction::{as_extremum, identity};
use egg::{Applier, Id, PatternAst, Rewrite, SearchMatches, Searcher, Subst, Symbol, Var};
use std::cmp::Reverse;
use std::sync::Arc;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Op, Reducer, TensorType, View, at, dim};

type Equation = fn(&mut Graph, &Term) -> Vec<Id>;

const EQUATIONS: &[(&str, Equation)] = &[
    ("sum of products", sum_of_products),
    ("rows before columns", rows_first),
    ("nested reduction", nested_reduction),
    ("extremum", extremum),
    ("view of a view", view_of_view),
    ("transposed twice", transpose_of_transpose),
    ("broadcast twice", broadcast_of_broadcast),
    ("broadcast converted", convert_of_broadcast),
    ("conversion of a conversion", convert_of_convert),
    ("truth of a truth", truth_of_truth),
    ("comparison of conversions", narrow_compare),
    ("conversion of arithmetic", narrow_arithmetic),
    ("negated product", negated_product),
];

/// The equations as egg's rules.
pub fn structural() -> Vec<Rewrite<Term, Facts>> {
    // The names are distinct and no pattern has variables, so this cannot fail.
    EQUATIONS
        .iter()
        .filter_map(|(name, e)| Rewrite::new(*name, EveryTerm, ByFunction(*e)).ok())
        .collect()
}

struct EveryTerm;

impl Searcher<Term, Facts> for EveryTerm {
    fn search_eclass_with_limit(
        &self,
        _: &Graph,
        eclass: Id,
        _: usize,
    ) -> Option<SearchMatches<'_, Term>> {
        Some(SearchMatches {
            eclass,
            substs: vec![Subst::default()],
            ast: None,
        })
    }

    fn vars(&self) -> Vec<Var> {
        vec![]
    }
}

struct ByFunction(Equation);

impl Applier<Term, Facts> for ByFunction {
    fn apply_one(
        &self,
        graph: &mut Graph,
        eclass: Id,
        _: &Subst,
        _: Option<&PatternAst<Term>>,
        _: Symbol,
    ) -> Vec<Id> {
        let mut changed = vec![];
        for term in graph[eclass].nodes.clone() {
            for equal in (self.0)(graph, &term) {
                if graph.union(eclass, equal) {
                    changed.push(equal);
                }
            }
        }
        changed
    }
}

pub(super) fn ty(graph: &Graph, id: Id) -> Arc<TensorType> {
    graph[id].data.ty.clone()
}

/// The terms of the class, each with what `pick` finds in it.
pub(super) fn forms<T>(graph: &Graph, id: Id, pick: impl Fn(&Term) -> Option<T>) -> Vec<T> {
    graph[id].nodes.iter().filter_map(pick).collect()
}

pub(super) fn add(graph: &mut Graph, op: Op, args: Vec<Id>, ty: &TensorType) -> Id {
    graph.add(Term::new(op, args, ty))
}

fn views(graph: &Graph, id: Id) -> Vec<View> {
    forms(graph, id, |t| match &t.op {
        Op::View(v) => Some(v.clone()),
        _ => None,
    })
}

/// The operand of a broadcast with where its dimensions go; the tensor itself if it is none.
pub(super) fn unspread(graph: &Graph, id: Id) -> (Id, Vec<usize>) {
    let rank = ty(graph, id).rank();
    let spreads = forms(graph, id, |t| match &t.op {
        Op::BroadcastInDim { dimensions } => Some((t.args[0], dimensions.clone())),
        _ => None,
    });
    let itself = (id, (0..rank).collect());
    let shorter = |best: (Id, Vec<usize>), one: (Id, Vec<usize>)| {
        if one.1.len() < best.1.len() {
            one
        } else {
            best
        }
    };
    spreads.into_iter().fold(itself, shorter)
}

/// Σₖ a[i, k]·b[j, k] is a `dot_general`; the order of summation is the same.
fn sum_of_products(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::Reduce {
        reducer: Reducer::Op(BinOp::Add),
        dimensions: summed,
    } = &term.op
    else {
        return vec![];
    };
    let (sum, init) = (term.args[0], term.args[1]);
    let rank = ty(graph, sum).rank();
    let products = forms(graph, sum, |t| match t.op {
        Op::Binary(BinOp::Multiply) => Some((t.args[0], t.args[1])),
        _ => None,
    });
    let mut equal = vec![];
    for (a, b) in products {
        // As written, unless the result comes out transposed that way.
        for (a, b) in [(a, b), (b, a)] {
            match dot(graph, rank, summed, init, a, b) {
                Some((dot, order)) if order.is_sorted() => {
                    equal.push(dot);
                    break;
                }
                Some((dot, order)) => {
                    let permutation = sorting(&order);
                    let ty = ty(graph, dot);
                    equal.push(add(graph, Op::Transpose { permutation }, vec![dot], &ty));
                }
                None => break,
            }
        }
    }
    equal
}

/// Where each of these is, from the smallest on.
fn sorting(order: &[usize]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..order.len()).collect();
    places.sort_by_key(|&i| order[i]);
    places
}

/// The contraction, and which dimension of the product each of its dimensions is.
fn dot(
    graph: &mut Graph,
    rank: usize,
    summed: &[usize],
    init: Id,
    a: Id,
    b: Id,
) -> Option<(Id, Vec<usize>)> {
    let ((a, in_a), (b, in_b)) = (unspread(graph, a), unspread(graph, b));
    let place = |d: usize, list: &[usize]| list.iter().position(|&x| x == d);
    let (mut batch, mut contracting, mut order) = (vec![], vec![], vec![]);
    let (mut left, mut right) = (vec![], vec![]);
    for d in 0..rank {
        match (place(d, &in_a), place(d, &in_b), summed.contains(&d)) {
            (Some(x), Some(y), true) => contracting.push((x, y)),
            (Some(x), Some(y), false) => {
                batch.push((x, y));
                order.push(d);
            }
            (Some(_), None, false) => left.push(d),
            (None, Some(_), false) => right.push(d),
            _ => return None,
        }
    }
    order.extend(left);
    order.extend(right);
    // What each sum starts from has the product's kept dimensions, in their order.
    let start = ty(graph, init);
    let init = match start.rank() > 0 && !order.is_sorted() {
        true => {
            let permutation = sorting(&sorting(&order));
            add(graph, Op::Transpose { permutation }, vec![init], &start)
        }
        false => init,
    };
    let dot = add(
        graph,
        Op::DotGeneral { batch, contracting },
        vec![a, b, init],
        // Its type follows from its operands.
        &TensorType::scalar(ScalarType::I1),
    );
    Some((dot, order))
}

/// An operand of a `dot_general` may have its dimensions in any order; memory's is best.
fn rows_first(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::DotGeneral { batch, contracting } = &term.op else {
        return vec![];
    };
    let mut equal = vec![];
    for side in 0..2 {
        let of = |p: &(usize, usize)| if side == 0 { p.0 } else { p.1 };
        for view in views(graph, term.args[side]) {
            let old = ty(graph, term.args[side]);
            let Some(permutation) = by_stride(&view.index, old.rank()) else {
                continue;
            };
            let free: Vec<usize> = (permutation.iter().copied())
                .filter(|i| !batch.iter().chain(contracting).any(|p| of(p) == *i))
                .collect();
            if permutation.is_sorted() || !free.is_sorted() {
                continue;
            }
            let shape = permutation.iter().map(|&i| old.shape[i].clone()).collect();
            let view = permuted(&view, &permutation);
            let operand = add(
                graph,
                Op::View(view),
                vec![],
                &TensorType::new(shape, old.elem),
            );
            let moved = |pairs: &[(usize, usize)]| {
                let now = |i: usize| permutation.iter().position(|&p| p == i).unwrap_or(i);
                let each = |&(x, y): &(usize, usize)| {
                    if side == 0 { (now(x), y) } else { (x, now(y)) }
                };
                pairs.iter().map(each).collect()
            };
            let op = Op::DotGeneral {
                batch: moved(batch),
                contracting: moved(contracting),
            };
            let mut args = term.args.clone();
            args[side] = operand;
            equal.push(graph.add(Term {
                op,
                ty: term.ty.clone(),
                args,
            }));
        }
    }
    equal
}

/// The dimensions by falling stride, as far as the strides can be compared.
pub fn by_stride(index: &Idx, rank: usize) -> Option<Vec<usize>> {
    let mut strides = vec![];
    for i in 0..rank {
        let (stride, _) = index.linear_in(&dim(i))?;
        let degree = stride.terms().map(|(m, _)| m.len()).max().unwrap_or(0);
        let top = stride.terms().filter(|(m, _)| m.len() == degree);
        strides.push((degree, top.map(|(_, c)| c.unsigned_abs()).sum::<u128>()));
    }
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by_key(|&i| Reverse(strides[i]));
    Some(order)
}

/// The view whose dimension `i` is the old one's `permutation[i]`.
fn permuted(view: &View, permutation: &[usize]) -> View {
    let mut position = vec![Idx::default(); permutation.len()];
    for (new, &old) in permutation.iter().enumerate() {
        position[old] = Idx::sym(dim(new));
    }
    View {
        array: view.array.clone(),
        index: at(&view.index, &position),
    }
}

/// Σᵢ Σⱼ x = Σᵢⱼ x on integers, for every associative and commutative reducer.
fn nested_reduction(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::Reduce {
        reducer,
        dimensions,
    } = &term.op
    else {
        return vec![];
    };
    let element = ty(graph, term.args[0]).elem;
    if !matches!(reducer, Reducer::Op(_)) || element.is_float() {
        return vec![];
    }
    let inner = forms(graph, term.args[0], |t| match &t.op {
        Op::Reduce {
            reducer: r,
            dimensions: d,
        } if r == reducer => Some((t.args[0], t.args[1], d.clone())),
        _ => None,
    });
    let neutral = |g: &Graph, id: Id| {
        g[id]
            .data
            .splat
            .is_some_and(|v| identity(*reducer, element) == Some(v))
    };
    let merge = |(x, start, first): (Id, Id, Vec<usize>)| {
        if !neutral(graph, start) {
            return None;
        }
        let rank = ty(graph, x).rank();
        let left: Vec<usize> = (0..rank).filter(|d| !first.contains(d)).collect();
        let mut all: Vec<usize> = dimensions
            .iter()
            .filter_map(|&d| left.get(d).copied())
            .collect();
        all.extend(first);
        all.sort_unstable();
        let op = Op::Reduce {
            reducer: *reducer,
            dimensions: all,
        };
        Some(graph.add(Term {
            op,
            ty: term.ty.clone(),
            args: vec![x, term.args[1]],
        }))
    };
    inner.into_iter().filter_map(merge).collect()
}

/// `if (x > m) m = x` is a maximum, on integers.
fn extremum(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::Reduce {
        reducer,
        dimensions,
    } = &term.op
    else {
        return vec![];
    };
    let better = as_extremum(*reducer, ty(graph, term.args[0]).elem);
    if better == *reducer {
        return vec![];
    }
    let op = Op::Reduce {
        reducer: better,
        dimensions: dimensions.clone(),
    };
    vec![graph.add(Term { op, ..term.clone() })]
}

/// A transposed, reversed or sliced view is a view.
fn view_of_view(graph: &mut Graph, term: &Term) -> Vec<Id> {
    if !matches!(
        term.op,
        Op::Transpose { .. } | Op::Slice { .. } | Op::Reverse { .. }
    ) {
        return vec![];
    }
    let from = ty(graph, term.args[0]);
    let views = views(graph, term.args[0]);
    let to = Known {
        ty: from.clone(),
        splat: None,
    };
    let result = match &term.op {
        Op::Transpose { permutation } => {
            let shape = permutation.iter().map(|&i| from.shape[i].clone()).collect();
            TensorType::new(shape, from.elem)
        }
        Op::Slice { .. } => match &term.ty {
            super::lang::Carried::All(ty) => ty.clone(),
            _ => return vec![],
        },
        _ => (*to.ty).clone(),
    };
    let mut equal = vec![];
    for view in views {
        let view = match &term.op {
            Op::Transpose { permutation } => permuted(&view, permutation),
            Op::Slice { start, stride } => {
                let each =
                    start.iter().zip(stride).enumerate().map(|(i, (s, &step))| {
                        s + &(&Idx::constant(step.into()) * &Idx::sym(dim(i)))
                    });
                View {
                    index: at(&view.index, &each.collect::<Vec<_>>()),
                    ..view
                }
            }
            Op::Reverse { dimensions } => {
                let each = from.shape.iter().enumerate().map(|(i, n)| {
                    let here = Idx::sym(dim(i));
                    if dimensions.contains(&i) {
                        &(n - &here) - &Idx::constant(1)
                    } else {
                        here
                    }
                });
                View {
                    index: at(&view.index, &each.collect::<Vec<_>>()),
                    ..view
                }
            }
            _ => return vec![],
        };
        equal.push(add(graph, Op::View(view), vec![], &result));
    }
    equal
}

/// Transposing twice is transposing once, or not at all.
fn transpose_of_transpose(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let Op::Transpose { permutation: outer } = &term.op else {
        return vec![];
    };
    if outer.is_sorted() {
        return vec![term.args[0]];
    }
    let inner = forms(graph, term.args[0], |t| match &t.op {
        Op::Transpose { permutation } => Some((t.args[0], permutation.clone())),
        _ => None,
    });
    let once = |(x, inner): (Id, Vec<usize>)| {
        let permutation = outer.iter().map(|&i| inner[i]).collect();
        graph.add(Term {
            op: Op::Transpose { permutation },
            ty: term.ty.clone(),
            args: vec![x],
        })
    };
    inner.into_iter().map(once).collect()
}

/// Broadcasting twice is broadcasting once; to the same shape, it is nothing.
fn broadcast_of_broadcast(graph: &mut Graph, term: &Term) -> Vec<Id> {
    let (Op::BroadcastInDim { dimensions: outer }, super::lang::Carried::All(to)) =
        (&term.op, &term.ty)
    else {
        return vec![];
    };
    if *ty(graph, term.args[0]) == *to {
        return vec![term.args[0]];
    }
    let inner = forms(graph, term.args[0], |t| match &t.op {
        Op::BroadcastInDim { dimensions } => Some((t.args[0], dimensions.clone())),
        _ => None,
    });
    let once = |(x, inner): (Id, Vec<usize>)| {
        let dimensions = inner.iter().map(|&i| outer[i]).collect();
        add(graph, Op::BroadcastInDim { dimensions }, vec![x], to)
    };
    inner.into_iter().map(once).collect()
}

/// -(a·b) = (-a)·b, where the product is summed.
fn negated_product(graph: &mut Graph, term: &Term) -> Vec<Id> {
    if term.op != Op::Unary(UnOp::Negate) {
        return vec![];
    }
    let products = forms(graph, term.args[0], |t| match t.op {
        Op::Binary(BinOp::Multiply) => Some((t.args[0], t.args[1])),
        _ => None,
    });
    let all = ty(graph, term.args[0]);
    let each = |(a, b): (Id, Id)| {
        let (x, dimensions) = unspread(graph, a);
        let small = ty(graph, x);
        let mut minus = add(graph, Op::Unary(UnOp::Negate), vec![x], &small);
        if dimensions.len() < all.rank() {
            minus = add(graph, Op::BroadcastInDim { dimensions }, vec![minus], &all);
        }
        add(graph, Op::Binary(BinOp::Multiply), vec![minus, b], &all)
    };
    products.into_iter().map(each).collect()
}
