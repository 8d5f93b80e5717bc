//! Well-formedness of TensIR: arity, shapes, element types, attributes, names.

use crate::element::{Elem, Order};
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::scalar::ScalarType;
use crate::tensir::{Function, NodeId, Op, Output, State, TensorType, View, dim_number};
use std::collections::BTreeSet;
use std::fmt;

mod infer;

pub use infer::infer;
use infer::{dimensions_ok, scalar_of};

/// A rule that a function breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {rule}")]
pub struct Invalid {
    /// Where.
    pub place: Place,
    /// The rule, and how it is broken.
    pub rule: String,
}

/// A part of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The parameters.
    Params,
    /// A node and the name of its operator.
    Node(NodeId, &'static str),
    /// The output with this number.
    Output(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Params => f.write_str("parameters"),
            Place::Node(id, op) => write!(f, "%{id} ({op})"),
            Place::Output(i) => write!(f, "output {i}"),
        }
    }
}

type Rule<T = ()> = Result<T, String>;

fn ensure(holds: bool, rule: impl FnOnce() -> String) -> Rule {
    if holds { Ok(()) } else { Err(rule()) }
}

impl Function {
    /// The type of `op` applied to nodes of this function, where it follows from theirs.
    pub fn infer(&self, op: &Op, args: &[NodeId]) -> Result<TensorType, String> {
        let nodes: Option<Vec<_>> = args.iter().map(|&a| self.nodes.get(a)).collect();
        let nodes = nodes.ok_or("an operand is not a node")?;
        infer(op, &nodes.iter().map(|n| &n.ty).collect::<Vec<_>>())
    }

    /// Checks every rule of the language.
    pub fn verify(&self) -> Result<(), Invalid> {
        let at = |place| move |rule| Invalid { place, rule };
        self.verify_params().map_err(at(Place::Params))?;
        if !self.state.is_empty() {
            self.verify_state().map_err(at(Place::Params))?;
            return self.exposed().verify();
        }
        if let (Some(rounds), Some(round)) = (&self.rounds, self.round()) {
            self.over_sizes(&rounds.trip, 0)
                .map_err(|e| format!("in the number of rounds: {e}"))
                .map_err(at(Place::Params))?;
            let mut returns = 0;
            for (i, output) in self.outputs.iter().enumerate() {
                if matches!(output, Output::Store { .. }) {
                    continue;
                }
                // Of which round would another value be?
                let constant = ensure(self.status().is_some(), || {
                    "returns what is no constant, and is done several times".into()
                });
                constant
                    .and_then(|()| self.verify_output(output, &mut returns))
                    .map_err(at(Place::Output(i)))?;
            }
            return round.verify();
        }
        for (id, node) in self.nodes.iter().enumerate() {
            self.verify_node(id)
                .map_err(at(Place::Node(id, node.op.name())))?;
        }
        let mut returns = 0;
        for (i, output) in self.outputs.iter().enumerate() {
            self.verify_output(output, &mut returns)
                .map_err(at(Place::Output(i)))?;
        }
        Ok(())
    }

    fn verify_state(&self) -> Rule {
        ensure(self.rounds.is_some(), || {
            "something lasts over all rounds, and there is but one".into()
        })?;
        let returned = self.state.iter().filter(|s| s.returned);
        ensure(returned.clone().count() < 2, || "returns two values".into())?;
        ensure(returned.into_iter().all(State::is_number), || {
            "what is returned is no number".into()
        })?;
        for state in &self.state {
            if let Some(len) = &state.len {
                self.over_sizes(len, 0)
                    .map_err(|e| format!("in the length of '{}': {e}", state.name))?;
            }
        }
        Ok(())
    }

    fn verify_params(&self) -> Rule {
        let mut names = BTreeSet::new();
        for p in &self.params {
            ensure(names.insert(p.name()), || {
                format!("two are called '{}'", p.name())
            })?;
            let plain = !p.name().contains(['#', '\'']);
            ensure(plain, || {
                format!("'{}' is a name for bound variables", p.name())
            })?;
        }
        Ok(())
    }

    fn verify_node(&self, id: NodeId) -> Rule {
        let node = &self.nodes[id];
        for &a in &node.args {
            ensure(a < id, || {
                format!("uses %{a}, which does not come before it")
            })?;
        }
        let args: Vec<_> = node.args.iter().map(|&a| &self.nodes[a].ty).collect();
        let ty = &node.ty;
        for extent in &ty.shape {
            self.extent(extent)
                .map_err(|e| format!("in the shape: {e}"))?;
        }
        if let Some(n) = node.op.arity() {
            let s = if n == 1 { "" } else { "s" };
            ensure(args.len() == n, || {
                format!("takes {n} operand{s}, and has {}", args.len())
            })?;
        }
        let scalar = || ensure(ty.rank() == 0, || format!("is a scalar, not {ty}"));
        let same_elem = |t: &TensorType| {
            ensure(t.elem == ty.elem, || {
                format!("makes {} of {}", ty.elem, t.elem)
            })
        };
        let same_shape = || {
            ensure(args[0].shape == ty.shape, || {
                format!("makes {ty} of {}", args[0])
            })
        };
        match &node.op {
            Op::View(view) => self.verify_view(view, ty),
            Op::Param(name) => {
                scalar()?;
                let found = self.scalar_type(name);
                ensure(found == Some(ty.elem) && ty.elem.is_float(), || {
                    format!("'{name}' is not a scalar parameter of type {}", ty.elem)
                })
            }
            Op::Size(idx) => {
                scalar()?;
                self.over_sizes(idx, 0)
            }
            Op::Table(values) if values.is_empty() => ensure(ty.shape == [Idx::default()], || {
                format!("is empty, not {ty}")
            }),
            Op::Iota { dimension } => ensure(*dimension < ty.rank(), || {
                format!("{ty} has no dimension {dimension}")
            }),
            Op::Convert => same_shape(),
            Op::BitcastConvert => {
                same_shape()?;
                ensure(args[0].elem.bits() == ty.elem.bits(), || {
                    format!("{} and {} have different widths", args[0].elem, ty.elem)
                })
            }
            Op::BroadcastInDim { dimensions } => {
                same_elem(args[0])?;
                dimensions_ok(dimensions, ty.rank())?;
                let fits = dimensions.len() == args[0].rank()
                    && dimensions
                        .iter()
                        .zip(&args[0].shape)
                        .all(|(&d, e)| ty.shape[d] == *e);
                ensure(fits, || {
                    format!("{} does not fit {ty} at {dimensions:?}", args[0])
                })
            }
            Op::Reshape => {
                same_elem(args[0])?;
                let (from, to) = (elements(args[0]), elements(ty));
                ensure(from == to, || {
                    format!("{} has {from} elements and {ty} has {to}", args[0])
                })
            }
            Op::Slice { start, stride } => {
                same_elem(args[0])?;
                let ranks = [args[0].rank(), start.len(), stride.len()];
                ensure(ranks.iter().all(|&r| r == ty.rank()), || {
                    format!(
                        "{} has {} dimensions; the result, start and stride need as many",
                        args[0], ranks[0]
                    )
                })?;
                ensure(stride.iter().all(|&s| s >= 1), || {
                    "strides are 1 or more".into()
                })?;
                start.iter().try_for_each(|s| self.over_sizes(s, 0))
            }
            Op::Pad { low } => {
                same_elem(args[0])?;
                scalar_of(args[1], ty.elem)?;
                ensure(
                    args[0].rank() == ty.rank() && low.len() == ty.rank(),
                    || {
                        format!(
                            "{} has {} dimensions; the result and low need as many",
                            args[0],
                            args[0].rank()
                        )
                    },
                )?;
                low.iter().try_for_each(|s| self.over_sizes(s, 0))
            }
            Op::Generic(e) => {
                ensure(e.ty() == ty.elem, || {
                    format!("makes {} of {}", ty.elem, e.ty())
                })?;
                self.scope(ty.rank()).elem(e)
            }
            op => {
                let inferred = infer(op, &args)?;
                ensure(inferred == *ty, || {
                    format!("gives {inferred}, and is said to give {ty}")
                })
            }
        }
    }

    fn verify_output(&self, output: &Output, returns: &mut usize) -> Rule {
        let value = output.value();
        let node = self
            .nodes
            .get(value)
            .ok_or_else(|| format!("there is no node %{value}"))?;
        match output {
            Output::Store { view, .. } => {
                let is_const = self.verify_array(view, &node.ty)?;
                // The place of one number may be read from data; those of more would have to be different ones.
                match node.ty.rank() {
                    0 => self.scope(0).idx(&view.index)?,
                    rank => self.over_sizes(&view.index, rank)?,
                }
                ensure(!is_const, || format!("'{}' points to const", view.array))
            }
            Output::Return { .. } => {
                *returns += 1;
                ensure(*returns == 1, || "a function returns one value".into())?;
                ensure(node.ty.rank() == 0, || {
                    format!("returns a scalar, not {}", node.ty)
                })
            }
        }
    }

    fn verify_view(&self, view: &View, ty: &TensorType) -> Rule {
        self.verify_array(view, ty)?;
        self.over_sizes(&view.index, ty.rank())
    }

    /// Whether the array that is viewed, and has to be of this type, is one of constants.
    fn verify_array(&self, view: &View, ty: &TensorType) -> Rule<bool> {
        let array = self.params.iter().find_map(|p| match p {
            Param::Array {
                name,
                elem,
                is_const,
                ..
            } if *name == view.array => Some((*elem, *is_const)),
            _ => None,
        });
        let name = &view.array;
        let (elem, is_const) =
            array.ok_or_else(|| format!("'{name}' is not an array parameter"))?;
        ensure(elem == ty.elem, || {
            format!("'{name}' has elements {elem}, not {}", ty.elem)
        })?;
        Ok(is_const)
    }

    fn scalar_type(&self, name: &str) -> Option<ScalarType> {
        self.params.iter().find_map(|p| match p {
            Param::Scalar { name: n, ty } if &**n == name => Some(*ty),
            _ => None,
        })
    }

    /// The polynomial speaks of integer parameters and of `#0` to `#(rank - 1)` alone.
    fn over_sizes(&self, idx: &Idx, rank: usize) -> Rule {
        let message =
            || format!("'{idx}' depends on the contents of an array; use gather or generic");
        ensure(!idx.has_values(), message)?;
        self.scope(rank).idx(idx)
    }

    /// The polynomial speaks of parameters alone; it may compute with them as a machine does (`1 << order`).
    fn extent(&self, idx: &Idx) -> Rule {
        match idx.reads() {
            true => self.over_sizes(idx, 0),
            false => self.scope(0).idx(idx),
        }
    }

    /// Where the parameters and so many dimensions are known.
    fn scope(&self, rank: usize) -> Scope<'_> {
        Scope {
            function: self,
            rank,
            vars: vec![],
            accs: vec![],
        }
    }
}

fn elements(ty: &TensorType) -> Idx {
    ty.shape
        .iter()
        .fold(Idx::constant(1), |product, e| &product * e)
}

/// The names that are known somewhere in index notation.
struct Scope<'a> {
    function: &'a Function,
    rank: usize,
    vars: Vec<Sym>,
    accs: Vec<(Sym, ScalarType)>,
}

impl Scope<'_> {
    fn idx(&mut self, idx: &Idx) -> Rule {
        let mut problem = Ok(());
        // Variables under value(…) are checked with the expression there.
        idx.map_atoms(&mut |a| {
            match a {
                crate::index::Atom::Sym(s) if problem.is_ok() => problem = self.sym(s, idx),
                crate::index::Atom::Value(e) if problem.is_ok() => {
                    problem = self.elem(e).and_then(|()| {
                        ensure(e.ty().is_int(), || format!("value({e}) is not an integer"))
                    });
                }
                _ => {}
            }
            None
        });
        problem
    }

    fn sym(&self, s: &Sym, idx: &Idx) -> Rule {
        if self.vars.contains(s) {
            return Ok(());
        }
        if s.starts_with('#') {
            return ensure(dim_number(s).is_some_and(|d| d < self.rank), || {
                format!(
                    "'{s}' in '{idx}' is not one of the {} dimensions",
                    self.rank
                )
            });
        }
        ensure(
            self.function.scalar_type(s).is_some_and(ScalarType::is_int),
            || format!("'{s}' in '{idx}' is not an integer parameter"),
        )
    }

    fn elem(&mut self, e: &Elem) -> Rule {
        if let Elem::Fold(fold) = e {
            self.idx(&fold.extent)?;
            let mut names = BTreeSet::new();
            for lane in fold.lanes() {
                self.elem(lane.init)?;
                ensure(names.insert(lane.acc), || {
                    format!("'{}' is accumulated twice in one fold", lane.acc)
                })?;
            }
            self.vars.push(fold.var.clone());
            let outer = self.accs.len();
            self.accs
                .extend(fold.lanes().map(|l| (l.acc.clone(), l.init.ty())));
            let steps = fold.lanes().try_for_each(|lane| {
                self.elem(lane.step)?;
                same(lane.init.ty(), lane.step.ty())
            });
            self.vars.pop();
            self.accs.truncate(outer);
            steps?;
            let reduces = match fold.as_reduction() {
                Some((op, _)) => op.is_commutative(),
                None => fold.as_extreme().is_some(),
            };
            return ensure(fold.order == Order::Sequential || reduces, || {
                format!("'{e}' depends on its order")
            });
        }
        for child in e.children() {
            self.elem(child)?;
        }
        for idx in e.indices() {
            self.idx(idx)?;
        }
        match e {
            Elem::Unary(op, a) => defined(op.accepts(a.ty()), op.name(), a.ty()),
            Elem::Binary(op, a, b) => {
                same(a.ty(), b.ty())?;
                defined(op.accepts(a.ty()), op.name(), a.ty())
            }
            Elem::Compare(_, a, b) => same(a.ty(), b.ty()),
            Elem::Select(c, t, f) => {
                same(t.ty(), f.ty())?;
                same(c.ty(), ScalarType::I1)
            }
            Elem::Bitcast(ty, a) => ensure(ty.bits() == a.ty().bits(), || {
                format!("{} and {ty} have different widths", a.ty())
            }),
            Elem::Param(name, ty) => {
                let known = self.function.scalar_type(name) == Some(*ty) && ty.is_float();
                ensure(known, || {
                    format!("'{name}' is not a scalar parameter of type {ty}")
                })
            }
            Elem::Read { array, ty, .. } => {
                let known = self.function.array_elem(array) == Some(*ty);
                ensure(known, || {
                    format!("'{array}' is not an array parameter of {ty}")
                })
            }
            Elem::Acc(name, ty) => {
                let found = self.accs.iter().rev().find(|(n, _)| n == name);
                ensure(found.is_some_and(|(_, t)| t == ty), || {
                    format!("'{name}' is not an accumulator in scope of type {ty}")
                })
            }
            Elem::Const(_)
            | Elem::OfIdx(..)
            | Elem::IndexCompare(..)
            | Elem::Convert(..)
            | Elem::Fold(_) => Ok(()),
        }
    }
}

fn same(a: ScalarType, b: ScalarType) -> Rule {
    ensure(a == b, || {
        format!("operands have different types, {a} and {b}")
    })
}

fn defined(accepts: bool, op: &str, ty: ScalarType) -> Rule {
    ensure(accepts, || format!("{op} is not defined on {ty}"))
}
