//! In what order the array and the core compute the parts of a kernel.

use super::piece::{Elements, Factor, Operand, Piece, Sum, Term, piece};
use crate::array::linear;
use crate::cpu::lower::lower;
use crate::cut::{Computed, Wanted, part};
use crate::layout::{Place, Shape, matrix_shape, place, size};
use crate::names::Names;
use crate::{Kernel, Unsupported};
use std::collections::BTreeMap;
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Function, NodeId, Op, Output, View, dim};

/// All that the generated function does.
pub(super) struct Plan {
    pub elements: Elements,
    /// In this order.
    pub steps: Vec<Step>,
    /// Arrays for values between the steps.
    pub temporaries: Vec<Temporary>,
    /// The whole kernel on the core: for when there is no memory for temporaries, and for strides that moves
    /// can't take.
    pub whole: loopir::Function,
    pub tier: Tier,
    pub work: Work,
}

/// An array between two steps.
pub(super) struct Temporary {
    pub name: Sym,
    pub elem: ScalarType,
    pub shape: Vec<Idx>,
}

/// How much the array computes, and how much the core.
#[derive(Clone, Copy, Default)]
pub(super) struct Work {
    pub array_operators: usize,
    pub core_operators: usize,
    /// There is a product or a total among it.
    pub heavy: bool,
}

impl Work {
    pub(super) fn operators(&self) -> usize {
        self.array_operators + self.core_operators
    }

    /// For a comparison.
    pub(super) fn on_array(&self) -> (bool, usize) {
        (self.heavy, self.array_operators)
    }
}

/// One part.
pub(super) enum Step {
    /// The core runs a function.
    Core(loopir::Function),
    /// The core computes a scalar.
    Scalar {
        name: Sym,
        function: loopir::Function,
    },
    /// The array adds matrices.
    Sum {
        into: Place,
        bytes: bool,
        shape: Shape,
        terms: Vec<Loaded>,
    },
    /// The array multiplies matrices; each operand with its free extent, if it has one.
    Product {
        into: Place,
        left: Matrix,
        right: Matrix,
        depth: Idx,
    },
    /// The array adds up a matrix.
    Total {
        into: Place,
        start: Sym,
        of: Loaded,
        shape: Shape,
    },
}

/// A term of a sum with the names that it has got.
pub(super) struct Loaded {
    /// `None` for a scalar.
    pub place: Option<Place>,
    pub elem: ScalarType,
    pub narrow: bool,
    /// The name of the scalar that it is multiplied with, or that it is.
    pub scalar: Option<Sym>,
    pub negative: bool,
    pub inverse: bool,
}

/// An operand of a product.
pub(super) struct Matrix {
    pub array: Sym,
    pub offset: Idx,
    /// Rows, for the left one; columns, for the right one.
    pub free: Option<Idx>,
    /// Distance of elements that differ by one in the free dimension, and in the one that is summed over.
    pub strides: (Option<Idx>, Idx),
}

pub(super) fn plan(kernel: &Kernel, elements: Elements) -> Result<Plan, Unsupported> {
    let mut planner = Planner {
        function: kernel.function.clone(),
        allowed: kernel.tier,
        elements,
        computed: Computed::new(),
        scalars: BTreeMap::new(),
        pieces: BTreeMap::new(),
        names: Names::new(kernel.function.params.iter().map(|p| p.name().to_string())),
        plan: Plan {
            elements,
            steps: vec![],
            temporaries: vec![],
            whole: lower(kernel.function, kernel.tier)?.function,
            tier: Tier::Exact,
            work: Work::default(),
        },
    };
    planner.plan.whole.name = format!("{}__on_core", kernel.function.name);
    planner.kernel()?;
    let on_array = |s: &Step| !matches!(s, Step::Core(_) | Step::Scalar { .. });
    if planner.plan.steps.iter().any(on_array) {
        Ok(planner.plan)
    } else {
        Err(Unsupported::new("nothing of it is work for the array"))
    }
}

struct Planner {
    function: Function,
    allowed: Tier,
    elements: Elements,
    computed: Computed,
    scalars: BTreeMap<NodeId, Sym>,
    pieces: BTreeMap<NodeId, Option<Piece>>,
    names: Names,
    plan: Plan,
}

impl Planner {
    fn kernel(&mut self) -> Result<(), Unsupported> {
        if self.straight()? {
            return Ok(());
        }
        let results: Vec<NodeId> = self.function.outputs.iter().map(Output::value).collect();
        for id in results {
            self.needed_by_core(id)?;
        }
        let function = self.core("results", &Wanted::Results)?;
        self.plan.steps.push(Step::Core(function));
        Ok(())
    }

    /// A kernel whose only result is a sum or product that can be stored where it belongs, tile by tile.
    fn straight(&mut self) -> Result<bool, Unsupported> {
        let [Output::Store { value, view }] = self.function.outputs.as_slice() else {
            return Ok(false);
        };
        let (id, view) = (*value, view.clone());
        let piece = self.piece(id);
        if let Some(Piece::Product { left, right }) = piece {
            let read = self.function.nodes.iter().any(|n| match &n.op {
                Op::View(v) => v.array == view.array,
                Op::Generic(_) => true,
                _ => false,
            });
            let ty = &self.function.nodes[id].ty;
            let flat = matches!(
                matrix_shape(&ty.shape, std::slice::from_ref(&view)),
                Some(Shape::Flat(_))
            );
            let into = place(&view, &ty.shape).filter(|_| flat && !read);
            if let Some(into) =
                into.filter(|_| self.function.array_elem(&view.array) == Some(ty.elem))
            {
                self.product(left, right, into)?;
                return Ok(true);
            }
            return Ok(false);
        }
        let sum = match piece {
            Some(Piece::Sum(sum)) => sum,
            None if self.is_words(id) => Sum::copy(id),
            _ => return Ok(false),
        };
        let stored_in = self.function.array_elem(&view.array);
        let tensors: Vec<NodeId> = sum.terms.iter().filter_map(|t| t.tensor).collect();
        // A tile is read before it is written; what others read must not have been written before.
        let harmless = tensors.iter().all(|t| match &self.function.nodes[*t].op {
            Op::View(v) => v.array != view.array || *v == view,
            _ => true,
        });
        let views: Vec<View> = tensors.iter().filter_map(|t| self.as_view(*t)).collect();
        let all = [vec![view.clone()], views].concat();
        let shape = self.function.nodes[id].ty.shape.clone();
        let elem = self.function.nodes[id].ty.elem;
        if !harmless || stored_in != Some(elem) {
            return Ok(false);
        }
        let Some(shape) = matrix_shape(&shape, &all) else {
            return Ok(false);
        };
        let Some(into) = place(&view, &self.function.nodes[id].ty.shape) else {
            return Ok(false);
        };
        self.sum(id, &sum, into, shape)?;
        Ok(true)
    }

    fn is_words(&self, id: NodeId) -> bool {
        let node = &self.function.nodes[id];
        let words = match self.elements {
            Elements::Int8 => [ScalarType::I32, ScalarType::U32].contains(&node.ty.elem),
            Elements::Fp32 => node.ty.elem == ScalarType::F32,
        };
        words && matches!(node.op, Op::View(_)) && !node.ty.shape.is_empty()
    }

    fn piece(&mut self, id: NodeId) -> Option<Piece> {
        if let Some(known) = self.pieces.get(&id) {
            return known.clone();
        }
        let found = piece(&mut self.function, id, self.elements, self.allowed);
        self.pieces.insert(id, found.clone());
        found
    }

    fn as_view(&self, id: NodeId) -> Option<View> {
        match &self.function.nodes[id].op {
            Op::View(v) if !self.computed.contains_key(&id) => Some(v.clone()),
            _ => None,
        }
    }

    /// Has the array compute what the core will need for this node, and notes the rest as the core's work.
    fn needed_by_core(&mut self, id: NodeId) -> Result<(), Unsupported> {
        if self.computed.contains_key(&id) {
            return Ok(());
        }
        if self.piece(id).is_some() {
            return self.materialise(id);
        }
        for arg in self.function.nodes[id].args.clone() {
            self.needed_by_core(arg)?;
        }
        Ok(())
    }

    /// The part of the function that the core computes.
    fn core(&mut self, what: &str, wanted: &Wanted) -> Result<loopir::Function, Unsupported> {
        let name = format!("{}__{what}", self.function.name);
        let function = part(&self.function, &name, &self.computed, wanted);
        self.plan.work.core_operators += operators(&function);
        let lowered = lower(&function, self.allowed)?;
        self.plan.tier = self.plan.tier.max(lowered.tier);
        Ok(crate::cpu::without_unused(lowered.function))
    }

    /// Has a node's value put into a temporary.
    fn materialise(&mut self, id: NodeId) -> Result<(), Unsupported> {
        if self.computed.contains_key(&id) {
            return Ok(());
        }
        let piece = self.piece(id);
        let name: Sym = self.names.fresh("t").into();
        let ty = self.function.nodes[id].ty.clone();
        self.plan.temporaries.push(Temporary {
            name: name.clone(),
            elem: ty.elem,
            shape: ty.shape.clone(),
        });
        let into = in_temporary(&name, &ty.shape);
        match piece {
            None => {
                for arg in self.function.nodes[id].args.clone() {
                    self.needed_by_core(arg)?;
                }
                let function = self.core(&name, &Wanted::Array(id, &name))?;
                self.plan.steps.push(Step::Core(function));
            }
            Some(Piece::Sum(sum)) => {
                let views: Vec<View> = sum
                    .terms
                    .iter()
                    .filter_map(|t| self.as_view(t.tensor?))
                    .collect();
                let shape = matrix_shape(&ty.shape, &views).unwrap_or(Shape::Flat(size(&ty.shape)));
                self.sum(id, &sum, into, shape)?;
            }
            Some(Piece::Product { left, right }) => self.product(left, right, into)?,
            Some(Piece::Total { of, start }) => self.total(of, start, into)?,
        }
        self.computed.insert(id, name);
        Ok(())
    }

    fn product(&mut self, left: Operand, right: Operand, into: Place) -> Result<(), Unsupported> {
        let (left, depth) = self.matrix(left)?;
        let (right, _) = self.matrix(right)?;
        if self.elements == Elements::Fp32 {
            self.plan.tier = Tier::Real;
        }
        self.plan.work.heavy = true;
        self.plan.work.array_operators += 1;
        self.plan.steps.push(Step::Product {
            into,
            left,
            right,
            depth,
        });
        Ok(())
    }

    fn total(&mut self, of: NodeId, start: NodeId, into: Place) -> Result<(), Unsupported> {
        let start = self.scalar(start)?;
        let shape = self.function.nodes[of].ty.shape.clone();
        let views: Vec<View> = self.as_view(of).into_iter().collect();
        let shape = matrix_shape(&shape, &views).unwrap_or(Shape::Flat(size(&shape)));
        let of = Term {
            tensor: Some(of),
            narrow: false,
            factor: Factor::default(),
        };
        let of = self.loaded(&of, &shape)?;
        if self.elements == Elements::Fp32 {
            self.plan.tier = Tier::Real;
        }
        self.plan.work.heavy = true;
        self.plan.work.array_operators += 1;
        self.plan.steps.push(Step::Total {
            into,
            start,
            of,
            shape,
        });
        Ok(())
    }

    fn sum(&mut self, id: NodeId, sum: &Sum, into: Place, shape: Shape) -> Result<(), Unsupported> {
        let mut terms = Vec::new();
        for term in &sum.terms {
            if term.tensor == Some(id) && self.as_view(id).is_none() {
                return Err(Unsupported::new("a sum that is a term of itself"));
            }
            terms.push(self.loaded(term, &shape)?);
        }
        self.plan.work.array_operators += sum.operators;
        self.plan.tier = self.plan.tier.max(sum.tier);
        self.plan.steps.push(Step::Sum {
            into,
            bytes: sum.bytes,
            shape,
            terms,
        });
        Ok(())
    }

    fn loaded(&mut self, term: &Term, shape: &Shape) -> Result<Loaded, Unsupported> {
        let scalar = match term.factor.scalar {
            Some(id) => Some(self.scalar(id)?),
            None => None,
        };
        let (place, elem) = match term.tensor {
            Some(id) => (
                Some(self.place_of(id, shape)?),
                self.function.nodes[id].ty.elem,
            ),
            None => (None, ScalarType::I32),
        };
        Ok(Loaded {
            place,
            elem,
            narrow: term.narrow,
            scalar,
            negative: term.factor.negative,
            inverse: term.factor.inverse,
        })
    }

    /// Where a tensor lies, seen in this shape: where the caller put it, or in a temporary.
    fn place_of(&mut self, id: NodeId, shape: &Shape) -> Result<Place, Unsupported> {
        let extents = self.function.nodes[id].ty.shape.clone();
        if let Some(view) = self.as_view(id)
            && matrix_shape(&extents, std::slice::from_ref(&view))
                .is_some_and(|own| own == *shape || matches!(own, Shape::Flat(_)))
            && let Some(place) = place(&view, &extents)
        {
            return Ok(place);
        }
        self.materialise(id)?;
        Ok(in_temporary(&self.computed[&id], &extents))
    }

    /// The variable that holds a scalar.
    fn scalar(&mut self, id: NodeId) -> Result<Sym, Unsupported> {
        if let Some(name) = self.scalars.get(&id) {
            return Ok(name.clone());
        }
        self.needed_by_core(id)?;
        let name: Sym = self.names.fresh("s").into();
        let function = self.core(&name, &Wanted::Value(id))?;
        self.plan.steps.push(Step::Scalar {
            name: name.clone(),
            function,
        });
        self.scalars.insert(id, name.clone());
        Ok(name)
    }

    /// An operand of a product, and the extent that is summed over.
    fn matrix(&mut self, operand: Operand) -> Result<(Matrix, Idx), Unsupported> {
        let Operand { node, contracted } = operand;
        let extents = self.function.nodes[node].ty.shape.clone();
        let free = (0..extents.len()).find(|d| *d != contracted);
        let dims: Vec<Sym> = (0..extents.len()).map(dim).collect();
        // One of the strides has to be one, or there is only one dimension.
        let laid_out = self.as_view(node).and_then(|view| {
            let (strides, offset) = linear(&view.index, &dims)?;
            let unit = strides.iter().any(|s| s.as_constant() == Some(1));
            (unit || free.is_none()).then_some((view.array, strides, offset))
        });
        let (array, strides, offset) = match laid_out {
            Some(found) => found,
            None => {
                self.materialise(node)?;
                let array = self.computed[&node].clone();
                let mut strides = vec![Idx::constant(1); extents.len()];
                if let [stride, _] = strides.as_mut_slice() {
                    *stride = extents[1].clone();
                }
                (array, strides, Idx::constant(0))
            }
        };
        let matrix = Matrix {
            array,
            offset,
            free: free.map(|d| extents[d].clone()),
            strides: (
                free.map(|d| strides[d].clone()),
                strides[contracted].clone(),
            ),
        };
        Ok((matrix, extents[contracted].clone()))
    }
}

/// Operators that compute elements, those on scalars left out.
fn operators(function: &Function) -> usize {
    let computes = |op: &Op| {
        matches!(
            op,
            Op::Unary(_)
                | Op::Binary(_)
                | Op::Compare(_)
                | Op::Select
                | Op::Gather
                | Op::DotGeneral { .. }
                | Op::Reduce { .. }
                | Op::Generic(_)
        )
    };
    let of_elements = |id: &NodeId| {
        let is_tensor = |id: NodeId| !function.nodes[id].ty.shape.is_empty();
        is_tensor(*id) || function.nodes[*id].args.iter().any(|a| is_tensor(*a))
    };
    (0..function.nodes.len())
        .filter(|id| computes(&function.nodes[*id].op) && of_elements(id))
        .count()
}

/// The place of a tensor in an array of its own.
fn in_temporary(array: &Sym, shape: &[Idx]) -> Place {
    let pitch = match shape {
        [_, cols] => cols.clone(),
        _ => Idx::constant(1),
    };
    Place {
        array: array.clone(),
        offset: Idx::constant(0),
        pitch,
    }
}
