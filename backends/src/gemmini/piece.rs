//! What the array can compute of a kernel: sums of matrices, products of matrices, and totals.
//!
//! With float elements, a sum is a chain `((s·x + t·y) + u)` that rounds after every multiplication and
//! addition, as C does: a load scales, and the accumulator adds, in that order. With 8-bit elements, sums
//! of 32-bit words are exact modulo 2³², and sums of bytes modulo 2⁸, whatever wider type C computes in.

use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, NodeId, Op, Reducer};

use ScalarType::{F32, I8, I32, U8, U32};

/// How the core was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Elements {
    /// `int8_t` elements and `int32_t` accumulators: the default.
    Int8,
    /// All `float`.
    Fp32,
}

/// Something that the array computes.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// A sum of terms, in this order.
    Sum(Sum),
    /// Rows of the left by columns of the right, the sum starting from zero.
    Product { left: Operand, right: Operand },
    /// The sum of all elements; what it starts from is a scalar node.
    Total { of: NodeId, start: NodeId },
}

/// Terms, and how many operators they stand for.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    pub terms: Vec<Term>,
    /// Elements of one byte: only the low byte of the sum counts.
    pub bytes: bool,
    /// Operators of TensIR.
    pub operators: usize,
    /// Real if a division became a multiplication.
    pub tier: Tier,
}

/// One term of a sum.
#[derive(Clone, Debug)]
pub(super) struct Term {
    /// A tensor; `None` for a scalar, which is then the factor.
    pub tensor: Option<NodeId>,
    /// The tensor's elements have the array's width and not the accumulator's.
    pub narrow: bool,
    pub factor: Factor,
}

/// A scalar node, or one; its negative; its inverse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Factor {
    pub scalar: Option<NodeId>,
    pub negative: bool,
    pub inverse: bool,
}

/// A matrix or vector, and which of its dimensions is summed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operand {
    pub node: NodeId,
    pub contracted: usize,
}

/// The dimensionless value that a node repeats, if it does.
fn scalar_of(f: &Function, id: NodeId) -> Option<NodeId> {
    let node = &f.nodes[id];
    match &node.op {
        Op::BroadcastInDim { dimensions } if dimensions.is_empty() => Some(node.args[0]),
        _ if node.ty.shape.is_empty() => Some(id),
        _ => None,
    }
}

/// What the array makes of a node, if it can.
pub(super) fn piece(
    f: &mut Function,
    id: NodeId,
    elements: Elements,
    allowed: Tier,
) -> Option<Piece> {
    let node = &f.nodes[id];
    match (&node.op, elements) {
        (Op::DotGeneral { .. }, _) => product(f, id, elements, allowed),
        (
            Op::Reduce {
                reducer,
                dimensions,
            },
            _,
        ) => {
            let of = node.args[0];
            let all = dimensions.len() == f.nodes[of].ty.rank() && node.ty.shape.is_empty();
            let fits = match elements {
                Elements::Int8 => [I32, U32].contains(&node.ty.elem),
                Elements::Fp32 => node.ty.elem == F32 && allowed == Tier::Real,
            };
            (*reducer == Reducer::Op(BinOp::Add) && all && fits).then(|| Piece::Total {
                of,
                start: node.args[1],
            })
        }
        _ if node.ty.shape.is_empty() => None,
        (_, Elements::Fp32) if node.ty.elem == F32 => {
            let mut sum = Sum::new(false);
            float_sum(f, id, allowed, &mut sum)?;
            (sum.operators > 0).then_some(Piece::Sum(sum))
        }
        (_, Elements::Int8) if [I32, U32].contains(&node.ty.elem) => {
            let mut sum = Sum::new(false);
            word_sum(f, id, &mut sum)?;
            (sum.operators > 0).then_some(Piece::Sum(sum))
        }
        (_, Elements::Int8) if [I8, U8].contains(&node.ty.elem) => {
            let mut sum = Sum::new(true);
            byte_sum(f, id, Factor::default(), &mut sum)?;
            // What has no tensor in it is no work for the array.
            let tensors = sum.terms.iter().any(|t| t.tensor.is_some());
            (sum.operators > 0 && tensors).then_some(Piece::Sum(sum))
        }
        _ => None,
    }
}

impl Sum {
    fn new(bytes: bool) -> Sum {
        Sum {
            terms: vec![],
            bytes,
            operators: 0,
            tier: Tier::Exact,
        }
    }

    /// A tensor as it is.
    pub(super) fn copy(tensor: NodeId) -> Sum {
        let term = Term {
            tensor: Some(tensor),
            narrow: false,
            factor: Factor::default(),
        };
        Sum {
            terms: vec![term],
            ..Sum::new(false)
        }
    }
}

/// A chain of additions and subtractions of float terms.
fn float_sum(f: &Function, id: NodeId, allowed: Tier, sum: &mut Sum) -> Option<()> {
    let node = &f.nodes[id];
    let subtracts = match node.op {
        Op::Binary(BinOp::Add) => false,
        Op::Binary(BinOp::Subtract) => true,
        _ => return float_term(f, id, false, allowed, sum),
    };
    let (mut first, mut second) = (node.args[0], node.args[1]);
    // Addition commutes: the chain goes on where there is one.
    let chains = |id: NodeId| matches!(f.nodes[id].op, Op::Binary(BinOp::Add | BinOp::Subtract));
    if !subtracts && chains(second) && !chains(first) {
        (first, second) = (second, first);
    }
    float_sum(f, first, allowed, sum)?;
    float_term(f, second, subtracts, allowed, sum)?;
    sum.operators += 1;
    Some(())
}

fn float_term(
    f: &Function,
    id: NodeId,
    negative: bool,
    allowed: Tier,
    sum: &mut Sum,
) -> Option<()> {
    let node = &f.nodes[id];
    let mut factor = Factor {
        negative,
        ..Factor::default()
    };
    let mut tensor = Some(id);
    match node.op {
        _ if scalar_of(f, id).is_some() => {
            (tensor, factor.scalar) = (None, scalar_of(f, id));
        }
        Op::Binary(BinOp::Multiply) => {
            let (a, b) = (node.args[0], node.args[1]);
            let scaled = match (scalar_of(f, a), scalar_of(f, b)) {
                (_, Some(s)) => Some((a, s)),
                (Some(s), _) => Some((b, s)),
                _ => None,
            };
            if let Some((x, s)) = scaled {
                (tensor, factor.scalar) = (Some(x), Some(s));
                sum.operators += 1;
            }
        }
        Op::Binary(BinOp::Divide) if allowed == Tier::Real => {
            if let Some(s) = scalar_of(f, node.args[1]) {
                (tensor, factor.scalar) = (Some(node.args[0]), Some(s));
                factor.inverse = true;
                sum.tier = Tier::Real;
                sum.operators += 1;
            }
        }
        Op::Unary(UnOp::Negate) => {
            tensor = Some(node.args[0]);
            factor.negative = !negative;
            sum.operators += 1;
        }
        _ => {}
    }
    sum.terms.push(Term {
        tensor,
        narrow: true,
        factor,
    });
    Some(())
}

/// A chain of additions of 32-bit words. The accumulator adds; of what it subtracts, only scalars can be
/// negated beforehand.
fn word_sum(f: &Function, id: NodeId, sum: &mut Sum) -> Option<()> {
    let node = &f.nodes[id];
    match node.op {
        Op::Binary(BinOp::Add) => {
            word_sum(f, node.args[0], sum)?;
            word_sum(f, node.args[1], sum)?;
        }
        Op::Binary(BinOp::Subtract) => {
            let scalar = scalar_of(f, node.args[1])?;
            word_sum(f, node.args[0], sum)?;
            sum.terms.push(Term {
                tensor: None,
                narrow: false,
                factor: Factor {
                    scalar: Some(scalar),
                    negative: true,
                    inverse: false,
                },
            });
        }
        _ => {
            let scalar = scalar_of(f, id);
            let source = match node.op {
                Op::Convert if f.nodes[node.args[0]].ty.elem == I8 => node.args[0],
                _ => id,
            };
            sum.terms.push(Term {
                tensor: scalar.is_none().then_some(source),
                narrow: scalar.is_none() && source != id,
                factor: Factor {
                    scalar,
                    ..Factor::default()
                },
            });
            return Some(());
        }
    }
    sum.operators += 1;
    Some(())
}

/// A linear form of which only the low byte counts: conversions between integers keep it.
fn byte_sum(f: &mut Function, id: NodeId, factor: Factor, sum: &mut Sum) -> Option<()> {
    let node = f.nodes[id].clone();
    let is_number = |ty: ScalarType| ty.is_int() && ty != ScalarType::I1;
    let opposite = Factor {
        negative: !factor.negative,
        ..factor
    };
    if let Some(scalar) = scalar_of(f, id) {
        if factor.scalar.is_some() {
            return None;
        }
        sum.terms.push(Term {
            tensor: None,
            narrow: false,
            factor: Factor {
                scalar: Some(scalar),
                ..factor
            },
        });
        return Some(());
    }
    match node.op {
        Op::Convert if is_number(f.nodes[node.args[0]].ty.elem) => {
            return byte_sum(f, node.args[0], factor, sum);
        }
        Op::Binary(op @ (BinOp::Add | BinOp::Subtract)) => {
            let second = if op == BinOp::Add { factor } else { opposite };
            byte_sum(f, node.args[0], factor, sum)?;
            byte_sum(f, node.args[1], second, sum)?;
        }
        Op::Unary(UnOp::Negate) => byte_sum(f, node.args[0], opposite, sum)?,
        Op::Binary(BinOp::Multiply) if factor.scalar.is_none() => {
            let (a, b) = (node.args[0], node.args[1]);
            let (x, scalar) = match (scalar_of(f, a), scalar_of(f, b)) {
                (_, Some(s)) => (a, s),
                (Some(s), _) => (b, s),
                _ => return byte_leaf(f, id, factor, sum),
            };
            let factor = Factor {
                scalar: Some(scalar),
                ..factor
            };
            byte_sum(f, x, factor, sum)?;
        }
        _ => return byte_leaf(f, id, factor, sum),
    }
    sum.operators += 1;
    Some(())
}

/// Something else, of which the low byte is taken.
fn byte_leaf(f: &mut Function, id: NodeId, factor: Factor, sum: &mut Sum) -> Option<()> {
    let ty = f.nodes[id].ty.clone();
    let tensor = match ty.elem {
        I8 | U8 => id,
        elem if elem.is_int() && elem != ScalarType::I1 => {
            f.add(Op::Convert, vec![id], ty.with_elem(U8))
        }
        _ => return None,
    };
    sum.terms.push(Term {
        tensor: Some(tensor),
        narrow: true,
        factor,
    });
    Some(())
}

fn product(f: &Function, id: NodeId, elements: Elements, allowed: Tier) -> Option<Piece> {
    let node = &f.nodes[id];
    let Op::DotGeneral { batch, contracting } = &node.op else {
        return None;
    };
    let [(l, r)] = contracting.as_slice() else {
        return None;
    };
    let operand = |i: usize, contracted: usize| -> Option<Operand> {
        let id = node.args[i];
        let (op, ty) = (&f.nodes[id].op, &f.nodes[id].ty);
        let node = match elements {
            Elements::Fp32 if ty.elem == F32 && allowed == Tier::Real => id,
            Elements::Int8 if ty.elem == I32 && *op == Op::Convert => {
                let source = f.nodes[id].args[0];
                (f.nodes[source].ty.elem == I8).then_some(source)?
            }
            _ => return None,
        };
        (ty.rank() <= 2).then_some(Operand { node, contracted })
    };
    (batch.is_empty() && f.is_zero(node.args[2])).then_some(())?;
    Some(Piece::Product {
        left: operand(0, *l)?,
        right: operand(1, *r)?,
    })
}
