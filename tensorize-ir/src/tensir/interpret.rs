//! The reference interpreter: every operator on concrete arrays, by its own definition and not by way
//! of the element view.

use super::{
    Function, Node, NodeId, Op, Output, Reducer, Rounds, View, arg_reduce, dim, dim_number, scan,
};
use crate::element::{Elem, ElemRef, Evaluator};
use crate::guard::Tier;
use crate::index::{Atom, Fresh, Idx, Sym};
use crate::loopir::Param;
use crate::memory::{Buffer, Inputs, Outputs};
use crate::op::{self, BinOp};
use crate::scalar::Scalar;
use std::collections::{HashMap, HashSet};

/// A tensor of values, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Extents; a negative one has become 0. In an empty tensor the others are 1.
    pub shape: Vec<usize>,
    /// Elements. `None` is one that is made of something outside of an array, or of a tensor. That
    /// does no harm unless it is stored: C may test a condition before it reads.
    pub data: Vec<Option<Scalar>>,
}

/// More elements are refused, so that a size that makes no sense does not exhaust memory.
const MAX_ELEMENTS: usize = 1 << 26;

/// How the error ends where a function has more elements than this interpreter holds. Nothing is known of the function then.
pub const TOO_MANY: &str = "has more elements than can be tried";

/// Runs a function: what its arrays hold afterwards, and what it returns.
pub fn interpret(function: &Function, inputs: &Inputs) -> Result<Outputs, String> {
    interpret_at(Tier::Exact, function, inputs)
}

/// The same of a summary that holds at a tier. What is stored twice in one place has to be the same number; over the real
/// numbers, both zeros are.
pub fn interpret_at(tier: Tier, function: &Function, inputs: &Inputs) -> Result<Outputs, String> {
    let Some(rounds) = &function.rounds else {
        return once(tier, function, inputs);
    };
    function.verify().map_err(|e| e.to_string())?;
    check_inputs(function, inputs)?;
    let mut inputs = inputs.clone();
    for state in &function.state {
        let len = state.len.as_ref().map(|len| size(len, &inputs));
        let len = len.ok_or_else(|| format!("how long '{}' is, is not known", state.name))??;
        let len = usize::try_from(len.max(0)).unwrap_or(usize::MAX);
        if len > MAX_ELEMENTS {
            return Err(format!("'{}' {TOO_MANY}", state.name));
        }
        let zeros = Buffer::zeros(state.elem, len);
        inputs.arrays.insert(state.name.clone(), zeros);
    }
    in_rounds(tier, rounds, &function.innermost(), &mut inputs)?;
    let mut returned = None;
    for state in &function.state {
        let last = inputs.arrays.remove(&state.name);
        if state.returned {
            returned = last.and_then(|buffer| buffer.get(0));
        }
    }
    Ok(Outputs {
        arrays: inputs.arrays,
        returned: returned.or(function.status()),
    })
}

/// Does all rounds, each on what the one before has left in the arrays.
fn in_rounds(
    tier: Tier,
    rounds: &Rounds,
    innermost: &Function,
    inputs: &mut Inputs,
) -> Result<(), String> {
    for k in 0..size(&rounds.trip, inputs)? {
        let number = Scalar::int(Rounds::COUNTER, k);
        inputs.scalars.insert(rounds.counter.clone(), number);
        match &rounds.inner {
            Some(inner) => in_rounds(tier, inner, innermost, inputs)?,
            None => inputs.arrays = once(tier, innermost, inputs)?.arrays,
        }
    }
    Ok(())
}

fn once(tier: Tier, function: &Function, inputs: &Inputs) -> Result<Outputs, String> {
    let values = evaluate(function, inputs)?;
    let mut outputs = Outputs {
        arrays: inputs.arrays.clone(),
        returned: None,
    };
    let mut written: HashMap<&Sym, HashSet<i128>> = HashMap::new();
    for output in &function.outputs {
        let tensor = &values[output.value()];
        match output {
            Output::Return { value } => {
                let v = tensor.data[0];
                outputs.returned = Some(v.ok_or_else(|| undefined(*value, &[]))?);
            }
            Output::Store { value, view } => {
                let buffer = outputs
                    .arrays
                    .get_mut(&view.array)
                    .ok_or_else(|| format!("there is no array '{}'", view.array))?;
                let address = Address::new(view, inputs);
                let written = written.entry(&view.array).or_default();
                for (position, v) in positions(&tensor.shape).zip(&tensor.data) {
                    if v.is_none()
                        && view.index.has_values()
                        && stays(function, *value, view, inputs)
                    {
                        continue;
                    }
                    let v = v.ok_or_else(|| undefined(*value, &position))?;
                    let place = address
                        .at(&position)
                        .ok_or_else(|| format!("{view} has no value at {position:?}"))?;
                    // Which of two values stays is not said, so they have to be the same.
                    let again = !written.insert(place);
                    let is_zero = |v: Scalar| v.ty.is_float() && v.as_f64() == 0.0;
                    let alike = |first: Scalar| {
                        first.same(v) || tier == Tier::Real && is_zero(first) && is_zero(v)
                    };
                    if again && buffer.get(place).is_some_and(|first| !alike(first)) {
                        return Err(format!(
                            "{}[{place}] is stored twice, with different values",
                            view.array
                        ));
                    }
                    buffer.set(place, v).ok_or_else(|| {
                        format!("{}[{place}] lies outside of the array", view.array)
                    })?;
                }
            }
        }
    }
    Ok(outputs)
}

/// Whether nothing is stored at a place that the data says.
fn stays(function: &Function, value: NodeId, view: &View, inputs: &Inputs) -> bool {
    let (conditions, _) = function.change(value, view, &mut Fresh::default());
    let holds = |c: &ElemRef| Evaluator::new(c, &[], inputs).at(&[], &mut u64::MAX.clone());
    let mut all = conditions.iter().map(holds);
    // One that isn't known is no reason, nor is any that comes after it.
    matches!(
        all.find(|c| !c.as_ref().is_ok_and(|c| c.is_true())),
        Some(Ok(_))
    )
}

pub(super) fn undefined(node: usize, position: &[i128]) -> String {
    format!(
        "%{node} is not defined at {position:?}: something outside of an array or a tensor is read"
    )
}

/// The value of every node.
pub fn evaluate(function: &Function, inputs: &Inputs) -> Result<Vec<Tensor>, String> {
    function.verify().map_err(|e| e.to_string())?;
    function.is_done_once()?;
    check_inputs(function, inputs)?;
    let mut values: Vec<Tensor> = Vec::new();
    for (id, node) in function.nodes.iter().enumerate() {
        let at_node = |e| format!("%{id} ({}): {e}", node.op.name());
        let shape = concrete_shape(&node.ty.shape, inputs).map_err(at_node)?;
        let args: Vec<&Tensor> = node.args.iter().map(|&a| &values[a]).collect();
        let value = apply(node, shape, &args, inputs).map_err(at_node)?;
        values.push(value);
    }
    Ok(values)
}

pub(super) fn check_inputs(function: &Function, inputs: &Inputs) -> Result<(), String> {
    for p in &function.params {
        let (given, wanted) = match p {
            Param::Scalar { name, ty } => (inputs.scalars.get(name).map(|v| v.ty), *ty),
            Param::Array { name, elem, .. } => (inputs.arrays.get(name).map(|b| b.elem), *elem),
        };
        match given {
            Some(ty) if ty == wanted => {}
            Some(ty) => return Err(format!("'{}' is {wanted}, and {ty} is given", p.name())),
            None => return Err(format!("no value is given for '{}'", p.name())),
        }
    }
    Ok(())
}

fn size(idx: &Idx, inputs: &Inputs) -> Result<i128, String> {
    inputs
        .number(idx)
        .ok_or_else(|| format!("'{idx}' has no value"))
}

pub(super) fn concrete_shape(shape: &[Idx], inputs: &Inputs) -> Result<Vec<usize>, String> {
    let extents = shape.iter().map(|e| size(e, inputs).map(|v| v.max(0)));
    let extents = extents.collect::<Result<Vec<_>, _>>()?;
    if extents.contains(&0) {
        // However large the others are, there is nothing to hold.
        return Ok(extents.iter().map(|&e| usize::from(e > 0)).collect());
    }
    let count = extents.iter().try_fold(1i128, |n, e| n.checked_mul(*e));
    if count.is_none_or(|n| n > MAX_ELEMENTS as i128) {
        return Err(format!("{extents:?} {TOO_MANY}"));
    }
    Ok(extents.iter().map(|&e| e as usize).collect())
}

/// Every position within a shape, the last dimension fastest.
pub fn positions(shape: &[usize]) -> impl Iterator<Item = Vec<i128>> {
    let count: usize = shape.iter().product();
    (0..count).map(move |mut linear| {
        let mut position = vec![0; shape.len()];
        for (p, &extent) in position.iter_mut().zip(shape).rev() {
            *p = (linear % extent) as i128;
            linear /= extent;
        }
        position
    })
}

/// Calls `f` at every position, in the order of [`positions`].
pub(super) fn each_position(shape: &[usize], mut f: impl FnMut(&[i128])) {
    let count: usize = shape.iter().product();
    let mut position = vec![0i128; shape.len()];
    for _ in 0..count {
        f(&position);
        for (p, &extent) in position.iter_mut().zip(shape).rev() {
            *p += 1;
            if *p < extent as i128 {
                break;
            }
            *p = 0;
        }
    }
}

impl Tensor {
    pub(super) fn build(
        shape: Vec<usize>,
        mut element: impl FnMut(&[i128]) -> Option<Scalar>,
    ) -> Tensor {
        let mut data = Vec::with_capacity(shape.iter().product());
        each_position(&shape, |p| data.push(element(p)));
        Tensor { shape, data }
    }

    /// The element at a position; `None` outside of the shape, too.
    pub fn get(&self, position: &[i128]) -> Option<Scalar> {
        let mut linear = 0;
        for (&p, &extent) in position.iter().zip(&self.shape) {
            let p = usize::try_from(p).ok().filter(|p| *p < extent)?;
            linear = linear * extent + p;
        }
        self.data.get(linear).copied().flatten()
    }

    /// The values that `count` accumulators start from: the scalar, or the tensor's elements.
    pub(super) fn one_or_each(&self, count: usize) -> Vec<Option<Scalar>> {
        match self.shape.len() {
            0 => vec![self.data[0]; count],
            _ => self.data.clone(),
        }
    }

    /// Which accumulator the element at `position` belongs to, where these dimensions are folded.
    pub(super) fn place_without(&self, dimensions: &[usize], position: &[i128]) -> usize {
        let kept = (position.iter().enumerate()).filter(|(d, _)| !dimensions.contains(d));
        kept.fold(0, |place, (d, &p)| place * self.shape[d] + p as usize)
    }
}

/// The index of a view for given sizes: a polynomial over positions, if it is no more than that.
pub(super) struct Address<'a> {
    view: &'a View,
    inputs: &'a Inputs,
    /// Coefficients, each with the dimensions that are multiplied.
    terms: Option<Vec<(i128, Vec<usize>)>>,
}

impl<'a> Address<'a> {
    pub(super) fn new(view: &'a View, inputs: &'a Inputs) -> Address<'a> {
        let term = |(monomial, c): (&[Atom], i128)| {
            let (mut c, mut dims) = (c, Vec::new());
            for atom in monomial {
                let Atom::Sym(s) = atom else { return None };
                match dim_number(s) {
                    Some(d) => dims.push(d),
                    None => c = c.checked_mul(inputs.size(s)?)?,
                }
            }
            Some((c, dims))
        };
        let terms = view.index.terms().map(term).collect();
        Address {
            view,
            inputs,
            terms,
        }
    }

    pub(super) fn at(&self, position: &[i128]) -> Option<i128> {
        if self.view.index.has_values() {
            let place = Elem::OfIdx(Rounds::COUNTER, self.view.index.clone());
            let mut evaluator = Evaluator::new(&place, &[], self.inputs);
            return Some(evaluator.at(&[], &mut u64::MAX.clone()).ok()?.as_int());
        }
        let Some(terms) = &self.terms else {
            return self.view.index.eval_sizes(&|s| match dim_number(s) {
                Some(d) => position.get(d).copied(),
                None => self.inputs.size(s),
            });
        };
        terms.iter().try_fold(0i128, |sum, (c, dims)| {
            let product = dims
                .iter()
                .try_fold(*c, |p, &d| p.checked_mul(*position.get(d)?))?;
            sum.checked_add(product)
        })
    }
}

fn apply(
    node: &Node,
    shape: Vec<usize>,
    args: &[&Tensor],
    inputs: &Inputs,
) -> Result<Tensor, String> {
    let elem = node.ty.elem;
    let one = |v| {
        Ok(Tensor {
            shape: vec![],
            data: vec![Some(v)],
        })
    };
    let map = |shape, f: &dyn Fn(Scalar) -> Scalar| {
        Ok(Tensor {
            shape,
            data: args[0].data.iter().map(|v| v.map(f)).collect(),
        })
    };
    let zip = |shape, f: &dyn Fn(Scalar, Scalar) -> Scalar| {
        let both = args[0].data.iter().zip(&args[1].data);
        Ok(Tensor {
            shape,
            data: both.map(|(a, b)| Some(f((*a)?, (*b)?))).collect(),
        })
    };
    match &node.op {
        Op::View(view) => {
            let buffer = &inputs.arrays[&view.array];
            let address = Address::new(view, inputs);
            Ok(Tensor::build(shape, |p| buffer.get(address.at(p)?)))
        }
        Op::Param(name) => one(inputs.scalars[name]),
        Op::Size(idx) => one(Scalar::int(elem, size(idx, inputs)?)),
        Op::Constant(value) => one(*value),
        Op::Table(values) => Ok(Tensor {
            shape,
            data: values.iter().copied().map(Some).collect(),
        }),
        Op::Iota { dimension } => Ok(Tensor::build(shape, |p| {
            Some(Scalar::int(elem, p[*dimension]))
        })),
        Op::Unary(op) => map(shape, &|a| op::eval_unary(*op, a)),
        Op::Binary(op) => zip(shape, &|a, b| op::eval_binary(*op, a, b)),
        Op::Compare(cmp) => zip(shape, &|a, b| Scalar::bool(op::eval_compare(*cmp, a, b))),
        Op::Convert => map(shape, &|a| op::eval_convert(elem, a)),
        Op::BitcastConvert => map(shape, &|a| Scalar {
            ty: elem,
            bits: a.bits,
        }),
        Op::Select => {
            let [predicate, on_true, on_false] = args else {
                return Err("three operands".into());
            };
            let pick = |i: usize| {
                let side = if predicate.data[i]?.is_true() {
                    on_true
                } else {
                    on_false
                };
                side.data[i]
            };
            Ok(Tensor {
                data: (0..predicate.data.len()).map(pick).collect(),
                shape,
            })
        }
        Op::BroadcastInDim { dimensions } => Ok(Tensor::build(shape, |p| {
            args[0].get(&dimensions.iter().map(|&d| p[d]).collect::<Vec<_>>())
        })),
        Op::Reshape => {
            let count = shape.iter().product();
            let mut data = args[0].data.clone();
            data.resize(count, None);
            Ok(Tensor { shape, data })
        }
        Op::Transpose { permutation } => Ok(Tensor::build(shape, |p| {
            let mut there = vec![0; p.len()];
            permutation.iter().zip(p).for_each(|(&d, &i)| there[d] = i);
            args[0].get(&there)
        })),
        Op::Slice { start, stride } => {
            let start: Vec<_> = start
                .iter()
                .map(|s| size(s, inputs))
                .collect::<Result<_, _>>()?;
            Ok(Tensor::build(shape, |p| {
                let there: Vec<_> = (0..p.len())
                    .map(|d| start[d] + p[d] * i128::from(stride[d]))
                    .collect();
                args[0].get(&there)
            }))
        }
        Op::Pad { low } => {
            let low: Vec<_> = low
                .iter()
                .map(|s| size(s, inputs))
                .collect::<Result<_, _>>()?;
            Ok(Tensor::build(shape, |p| {
                let there: Vec<_> = p.iter().zip(&low).map(|(p, low)| p - low).collect();
                let mut extents = there.iter().zip(&args[0].shape);
                let inside = extents.all(|(&p, &extent)| 0 <= p && p < extent as i128);
                if inside {
                    args[0].get(&there)
                } else {
                    args[1].data[0]
                }
            }))
        }
        Op::Concatenate { dimension } => {
            // They differ where an operand's extent is negative: that is not defined.
            let extents: usize = args.iter().map(|a| a.shape[*dimension]).sum();
            let defined = extents == shape[*dimension];
            Ok(Tensor::build(shape, |p| {
                let mut there = p.to_vec();
                for operand in args {
                    let extent = operand.shape[*dimension] as i128;
                    if there[*dimension] < extent {
                        return operand.get(&there).filter(|_| defined);
                    }
                    there[*dimension] -= extent;
                }
                None
            }))
        }
        Op::Reverse { dimensions } => {
            let last: Vec<_> = shape.iter().map(|&e| e as i128 - 1).collect();
            Ok(Tensor::build(shape, |p| {
                let mut there = p.to_vec();
                dimensions.iter().for_each(|&d| there[d] = last[d] - p[d]);
                args[0].get(&there)
            }))
        }
        Op::Gather => Ok(Tensor::build(shape, |p| {
            args[0].get(&[args[1].get(p)?.as_int()])
        })),
        Op::DotGeneral { batch, contracting } => Ok(dot_general(shape, args, batch, contracting)),
        Op::Reduce {
            reducer,
            dimensions,
        } => Ok(reduce(shape, args[0], args[1], *reducer, dimensions)),
        Op::Scan {
            reducer,
            dimension,
            exclusive,
            reverse,
        } => Ok(scan::interpret(
            args[0],
            args[1],
            *reducer,
            (*dimension, *exclusive, *reverse),
        )),
        Op::ArgReduce { reducer, dimension } => {
            arg_reduce::interpret(shape, args, *reducer, *dimension)
        }
        Op::Generic(e) => {
            let names: Vec<Sym> = (0..shape.len()).map(dim).collect();
            let mut evaluator = Evaluator::new(e, &names, inputs);
            Ok(Tensor::build(shape, |p| {
                evaluator.at(p, &mut u64::MAX.clone()).ok()
            }))
        }
    }
}

/// Runs over the operand in memory order and adds each element to the accumulator that it belongs to:
/// for any one accumulator, that is row-major order.
fn reduce(
    shape: Vec<usize>,
    operand: &Tensor,
    init: &Tensor,
    reducer: Reducer,
    dimensions: &[usize],
) -> Tensor {
    let mut data = init.one_or_each(shape.iter().product());
    let mut elements = operand.data.iter();
    each_position(&operand.shape, |position| {
        let place = operand.place_without(dimensions, position);
        let x = elements.next().copied().flatten();
        data[place] = data[place].zip(x).map(|(acc, x)| reducer.combined(acc, x));
    });
    Tensor { shape, data }
}

fn dot_general(
    shape: Vec<usize>,
    args: &[&Tensor],
    batch: &[(usize, usize)],
    contracting: &[(usize, usize)],
) -> Tensor {
    let (left, right, init) = (args[0], args[1], args[2]);
    let free = |t: &Tensor, used: &dyn Fn(usize) -> bool| {
        (0..t.shape.len()).filter(|&d| !used(d)).collect::<Vec<_>>()
    };
    let pairs = || batch.iter().chain(contracting);
    let free_left = free(left, &|d| pairs().any(|p| p.0 == d));
    let free_right = free(right, &|d| pairs().any(|p| p.1 == d));
    let summed: Vec<usize> = contracting.iter().map(|&(l, _)| left.shape[l]).collect();
    let (mut l, mut r) = (vec![0; left.shape.len()], vec![0; right.shape.len()]);
    let mut starts = init.one_or_each(shape.iter().product()).into_iter();
    Tensor::build(shape, |p| {
        let (along, rest) = p.split_at(batch.len());
        let (of_left, of_right) = rest.split_at(free_left.len());
        batch
            .iter()
            .zip(along)
            .for_each(|(&(a, b), &i)| (l[a], r[b]) = (i, i));
        free_left.iter().zip(of_left).for_each(|(&d, &i)| l[d] = i);
        free_right
            .iter()
            .zip(of_right)
            .for_each(|(&d, &i)| r[d] = i);
        let mut sum = starts.next().flatten();
        each_position(&summed, |k| {
            for (&(a, b), &i) in contracting.iter().zip(k) {
                (l[a], r[b]) = (i, i);
            }
            let both = sum.zip(left.get(&l)).zip(right.get(&r));
            sum = both.map(|((sum, a), b)| {
                op::eval_binary(BinOp::Add, sum, op::eval_binary(BinOp::Multiply, a, b))
            });
        });
        sum
    })
}
