//! TensIR as a language of egg: terms, and what is known about a class of equal ones.

use egg::{DidMerge, EGraph, FromOp, Id, Language};
use std::mem;
use std::sync::Arc;
use tensorize_ir::op::{self, BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Op, TensorType};

/// A graph of equal terms.
pub type Graph = EGraph<Term, Facts>;

/// An operator, applied to classes. A node of raw index notation stands in as a parameter that no C
/// function can have (see [`super::extract`]): its text is of no interest here, and may be long.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term {
    pub op: Op,
    pub ty: Carried,
    pub args: Vec<Id>,
}

/// As much of the result's type as the operands don't tell.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carried {
    Nothing,
    Elem(ScalarType),
    All(TensorType),
}

impl Term {
    /// The operator with a result of this type.
    pub fn new(op: Op, args: Vec<Id>, ty: &TensorType) -> Term {
        let ty = match op {
            Op::Unary(_) | Op::Binary(_) | Op::Compare(_) | Op::Select => Carried::Nothing,
            Op::Transpose { .. } | Op::DotGeneral { .. } | Op::Reduce { .. } => Carried::Nothing,
            Op::Scan { .. } => Carried::Nothing,
            Op::Convert | Op::BitcastConvert => Carried::Elem(ty.elem),
            _ => Carried::All(ty.clone()),
        };
        Term { op, ty, args }
    }
}

impl Language for Term {
    type Discriminant = (mem::Discriminant<Op>, u8);

    fn discriminant(&self) -> Self::Discriminant {
        let detail = match (&self.op, &self.ty) {
            (Op::Unary(op), _) => *op as u8,
            (Op::Binary(op), _) => *op as u8,
            (Op::Compare(op), _) => *op as u8,
            (_, Carried::Elem(ty)) => *ty as u8,
            _ => 0,
        };
        (mem::discriminant(&self.op), detail)
    }

    fn matches(&self, other: &Self) -> bool {
        self.op == other.op && self.ty == other.ty && self.args.len() == other.args.len()
    }

    fn children(&self) -> &[Id] {
        &self.args
    }

    fn children_mut(&mut self) -> &mut [Id] {
        &mut self.args
    }
}

impl FromOp for Term {
    type Error = String;

    /// Elementwise operators, as rules write them: `add`, `select`, `compare.LT`.
    fn from_op(name: &str, args: Vec<Id>) -> Result<Term, String> {
        let comparison = name.strip_prefix("compare.").and_then(CmpOp::from_name);
        let op = match args.len() {
            1 => UnOp::from_name(name).map(Op::Unary),
            2 => BinOp::from_name(name)
                .map(Op::Binary)
                .or(comparison.map(Op::Compare)),
            3 if name == "select" => Some(Op::Select),
            _ => None,
        };
        let op = op.ok_or_else(|| format!("no operator '{name}' of {} operands", args.len()))?;
        Ok(Term {
            op,
            ty: Carried::Nothing,
            args,
        })
    }
}

/// What egg keeps for each class.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts;

/// What is known about all terms of a class.
#[derive(Clone, Debug)]
pub struct Known {
    pub ty: Arc<TensorType>,
    /// All elements have this value.
    pub splat: Option<Scalar>,
}

impl egg::Analysis<Term> for Facts {
    type Data = Known;

    fn make(graph: &mut Graph, term: &Term, _id: Id) -> Known {
        let args: Vec<&Known> = term.args.iter().map(|a| &graph[*a].data).collect();
        Known {
            ty: result_type(term, &args),
            splat: splat(term, &args),
        }
    }

    fn merge(&mut self, to: &mut Known, from: Known) -> DidMerge {
        match (&to.splat, &from.splat) {
            (None, Some(_)) => {
                to.splat = from.splat;
                DidMerge(true, false)
            }
            (Some(_), None) => DidMerge(false, true),
            _ => DidMerge(false, false),
        }
    }

    /// A tensor of equal values is a broadcast literal.
    fn modify(graph: &mut Graph, id: Id) {
        let Some(value) = graph[id].data.splat else {
            return;
        };
        let literal = graph[id].nodes.iter().any(|n| match &n.op {
            Op::Constant(_) => true,
            Op::BroadcastInDim { dimensions } => dimensions.is_empty(),
            _ => false,
        });
        if !literal {
            let ty = graph[id].data.ty.clone();
            let added = add_splat(graph, value, &ty);
            graph.union(id, added);
        }
    }
}

/// The tensor of this shape with all elements equal.
pub fn add_splat(graph: &mut Graph, value: Scalar, ty: &TensorType) -> Id {
    let scalar = TensorType::scalar(value.ty);
    let constant = graph.add(Term::new(Op::Constant(value), vec![], &scalar));
    if ty.shape.is_empty() {
        return constant;
    }
    graph.add(Term::new(
        Op::BroadcastInDim { dimensions: vec![] },
        vec![constant],
        ty,
    ))
}

fn result_type(term: &Term, args: &[&Known]) -> Arc<TensorType> {
    let nothing = || Arc::new(TensorType::scalar(ScalarType::I1));
    let of = |i: usize| args.get(i).map(|k| k.ty.clone()).unwrap_or_else(nothing);
    match (&term.ty, &term.op) {
        (Carried::All(ty), _) => Arc::new(ty.clone()),
        (Carried::Elem(elem), _) => Arc::new(of(0).with_elem(*elem)),
        (_, Op::Compare(_)) => Arc::new(of(0).with_elem(ScalarType::I1)),
        (_, Op::Select) => of(1),
        (_, Op::Transpose { permutation }) => {
            let from = of(0);
            let shape = permutation
                .iter()
                .filter_map(|&i| from.shape.get(i).cloned())
                .collect();
            Arc::new(TensorType::new(shape, from.elem))
        }
        (_, Op::Reduce { dimensions, .. }) => {
            let from = of(0);
            let kept = from
                .shape
                .iter()
                .enumerate()
                .filter(|(i, _)| !dimensions.contains(i));
            Arc::new(TensorType::new(
                kept.map(|(_, n)| n.clone()).collect(),
                from.elem,
            ))
        }
        (_, Op::DotGeneral { batch, contracting }) => {
            let (left, right) = (of(0), of(1));
            let used = |pick: fn(&(usize, usize)) -> usize, i: usize| {
                batch.iter().chain(contracting).any(|p| pick(p) == i)
            };
            let mut shape: Vec<_> = batch.iter().map(|p| left.shape[p.0].clone()).collect();
            let free = |t: &TensorType, pick: fn(&(usize, usize)) -> usize| -> Vec<_> {
                (0..t.rank())
                    .filter(|&i| !used(pick, i))
                    .map(|i| t.shape[i].clone())
                    .collect()
            };
            shape.extend(free(&left, |p| p.0));
            shape.extend(free(&right, |p| p.1));
            Arc::new(TensorType::new(shape, left.elem))
        }
        _ => of(0),
    }
}

fn splat(term: &Term, args: &[&Known]) -> Option<Scalar> {
    let of = |i: usize| args.get(i).and_then(|k| k.splat);
    Some(match &term.op {
        Op::Constant(v) => *v,
        Op::BroadcastInDim { .. } | Op::Transpose { .. } | Op::Reshape => of(0)?,
        Op::Convert => match &term.ty {
            Carried::Elem(ty) => op::eval_convert(*ty, of(0)?),
            _ => return None,
        },
        // The mathematics library of this machine need not be the one that the kernel will call.
        Op::Unary(op @ (UnOp::Negate | UnOp::Not | UnOp::Abs)) => op::eval_unary(*op, of(0)?),
        Op::Binary(op) if !matches!(op, BinOp::Power | BinOp::Atan2) => {
            op::eval_binary(*op, of(0)?, of(1)?)
        }
        Op::Compare(op) => Scalar::bool(op::eval_compare(*op, of(0)?, of(1)?)),
        _ => return None,
    })
}
