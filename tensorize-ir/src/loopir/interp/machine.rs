//! The machine that runs a translated function.

use super::{Node, Notes, Program, Round, Step, Stop};
use crate::index::Sym;
use crate::loopir::{Expr, Len};
use crate::memory::Buffer;
use crate::op::{self, BinOp};
use crate::scalar::{Scalar, ScalarType};

/// Scratch of unknown length gets no longer.
const MOST_SCRATCH: usize = 1 << 24;

pub(super) enum Flow {
    Next,
    Returned(Option<Scalar>),
}

pub(super) struct Machine<'a> {
    pub(super) program: &'a Program,
    pub(super) vars: Vec<Option<Scalar>>,
    pub(super) buffers: Vec<Buffer>,
    pub(super) locals: Vec<Vec<Option<Scalar>>>,
    pub(super) steps: u64,
    pub(super) line: u32,
    /// The loops around here, and how many rounds each has had.
    pub(super) loops: Vec<(u32, u64)>,
    pub(super) notes: &'a mut Notes,
}

impl Machine<'_> {
    fn tick(&mut self) -> Result<(), Stop> {
        self.steps = self.steps.checked_sub(1).ok_or(Stop::StepLimit)?;
        Ok(())
    }

    /// Makes the local arrays as long as the arguments say.
    pub(super) fn allocate(&mut self) -> Result<(), Stop> {
        let program = self.program;
        for (local, len) in program.lengths.iter().enumerate() {
            let Some(len) = len else { continue };
            let len = usize::try_from(self.eval(len)?.as_int()).unwrap_or(0);
            if len > MOST_SCRATCH {
                return Err(Stop::StepLimit);
            }
            self.locals[local].resize(len, None);
        }
        Ok(())
    }

    pub(super) fn block(&mut self, steps: &[Step]) -> Result<Flow, Stop> {
        for step in steps {
            self.tick()?;
            if let Flow::Returned(v) = self.step(step)? {
                return Ok(Flow::Returned(v));
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &Step) -> Result<Flow, Stop> {
        match step {
            Step::Assign(slot, value) => self.vars[*slot] = Some(self.eval(value)?),
            Step::Store(array, index, value) => {
                let index = self.eval(index)?.as_int() as i64;
                let value = self.eval(value)?;
                self.store(*array, index, value)?;
            }
            Step::If(cond, then, otherwise) => {
                let branch = if self.eval(cond)?.is_true() {
                    then
                } else {
                    otherwise
                };
                return self.block(branch);
            }
            Step::Loop {
                cond,
                test_first,
                body,
                id,
                line,
            } => {
                let outer = std::mem::replace(&mut self.line, *line);
                let mut test = *test_first;
                self.loops.push((*id, 0));
                loop {
                    self.tick()?;
                    self.note_round();
                    if test && !self.eval(cond)?.is_true() {
                        break;
                    }
                    test = true;
                    if let Flow::Returned(v) = self.block(body)? {
                        return Ok(Flow::Returned(v));
                    }
                    if let Some((_, round)) = self.loops.last_mut() {
                        *round += 1;
                    }
                }
                self.loops.pop();
                self.line = outer;
            }
            Step::Trap => return Err(Stop::Trap),
            Step::Return(None) => return Ok(Flow::Returned(None)),
            Step::Return(Some(value)) => return Ok(Flow::Returned(Some(self.eval(value)?))),
        }
        Ok(Flow::Next)
    }

    fn note_round(&mut self) {
        let max_rounds = self.notes.max_rounds;
        let Some(rounds) = self.notes.rounds.as_mut().filter(|r| r.len() < max_rounds) else {
            return;
        };
        let named = self.program.vars.iter().zip(&self.vars);
        rounds.push(Round {
            loops: self.loops.clone(),
            vars: named
                .filter_map(|(n, v)| Some((n.clone(), (*v)?)))
                .collect(),
        });
    }

    fn store(&mut self, array: usize, index: i64, value: Scalar) -> Result<(), Stop> {
        let outside = |array: &Sym| Stop::OutOfBounds {
            array: array.clone(),
            index,
            write: true,
        };
        let params = self.program.params.len();
        if array >= params {
            let local = &mut self.locals[array - params];
            let declared = &self.program.locals[array - params];
            let place = usize::try_from(index).ok();
            if let Some(i) = place
                && declared.len == Len::Touched
                && (local.len()..MOST_SCRATCH).contains(&i)
            {
                local.resize(i + 1, None);
            }
            let place = place.and_then(|i| local.get_mut(i));
            *place.ok_or_else(|| outside(&declared.name))? = Some(value);
            return Ok(());
        }
        if let Some(trace) = &mut self.notes.accesses {
            trace.push((array, index, true));
        }
        let done = self.buffers[array].set(index.into(), value);
        done.ok_or_else(|| outside(&self.program.params[array].0))
    }

    fn load(&mut self, array: usize, index: i64) -> Result<Scalar, Stop> {
        let outside = |array: &Sym| Stop::OutOfBounds {
            array: array.clone(),
            index,
            write: false,
        };
        let params = self.program.params.len();
        if array >= params {
            let name = &self.program.locals[array - params].name;
            let local = &self.locals[array - params];
            let unknown = self.program.locals[array - params].len == Len::Touched;
            let element = usize::try_from(index)
                .ok()
                .and_then(|i| match local.get(i) {
                    None if unknown => Some(&None),
                    element => element,
                });
            return element
                .ok_or_else(|| outside(name))?
                .ok_or_else(|| Stop::Uninitialised {
                    name: name.clone(),
                    index: Some(index),
                });
        }
        if let Some(trace) = &mut self.notes.accesses {
            trace.push((array, index, false));
        }
        self.buffers[array]
            .get(index.into())
            .ok_or_else(|| outside(&self.program.params[array].0))
    }

    /// An overflow that wraps is none.
    fn defined(&self, why: Option<&'static str>, integral: bool, node: &Node) -> Result<(), Stop> {
        match why {
            Some("signed overflow") if self.program.wraps && integral => Ok(()),
            Some(why) => Err(Stop::Undefined {
                why,
                expr: self.describe(node),
                line: self.line,
            }),
            None => Ok(()),
        }
    }

    fn eval(&mut self, node: &Node) -> Result<Scalar, Stop> {
        Ok(match node {
            Node::Const(v) => *v,
            Node::Var(slot) => match self.vars[*slot] {
                Some(v) => v,
                None => {
                    let name = self.program.vars[*slot].clone();
                    return Err(Stop::Uninitialised { name, index: None });
                }
            },
            Node::Load(array, index) => {
                let index = self.eval(index)?.as_int() as i64;
                self.load(*array, index)?
            }
            Node::Unary(op, a) => {
                let a = self.eval(a)?;
                self.defined(op::unary_undefined(*op, a), true, node)?;
                op::eval_unary(*op, a)
            }
            Node::Binary(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                // The least integer divided by -1 traps on many machines, also where sums wrap.
                let wraps = !matches!(op, BinOp::Divide | BinOp::Remainder);
                self.defined(op::binary_undefined(*op, a, b), wraps, node)?;
                op::eval_binary(*op, a, b)
            }
            Node::Compare(op, a, b) => {
                let (a, b) = (self.eval(a)?, self.eval(b)?);
                Scalar::bool(op::eval_compare(*op, a, b))
            }
            Node::Convert(ty, a) => {
                let a = self.eval(a)?;
                self.defined(op::convert_undefined(*ty, a), false, node)?;
                op::eval_convert(*ty, a)
            }
            Node::Bitcast(ty, a) => Scalar {
                ty: *ty,
                bits: self.eval(a)?.bits,
            },
            Node::Select(c, t, f) => {
                let branch = if self.eval(c)?.is_true() { t } else { f };
                self.eval(branch)?
            }
        })
    }

    /// The expression again, for a message.
    fn describe(&self, node: &Node) -> String {
        self.expr(node).to_string()
    }

    fn expr(&self, node: &Node) -> Expr {
        let boxed = |n: &Node| Box::new(self.expr(n));
        match node {
            Node::Const(v) => Expr::Const(*v),
            // The text of an expression leaves out the types of variables.
            Node::Var(slot) => {
                let ty = self.vars[*slot].map_or(ScalarType::I32, |v| v.ty);
                Expr::Var(self.program.vars[*slot].clone(), ty)
            }
            Node::Load(array, index) => {
                let params = self.program.params.len();
                let (name, elem) = match array.checked_sub(params) {
                    Some(i) => (&self.program.locals[i].name, self.program.locals[i].elem),
                    None => (
                        &self.program.params[*array].0,
                        self.program.params[*array].1,
                    ),
                };
                Expr::Load {
                    array: name.clone(),
                    elem,
                    index: boxed(index),
                }
            }
            Node::Unary(op, a) => Expr::Unary(*op, boxed(a)),
            Node::Binary(op, a, b) => Expr::Binary(*op, boxed(a), boxed(b)),
            Node::Compare(op, a, b) => Expr::Compare(*op, boxed(a), boxed(b)),
            Node::Convert(ty, a) => Expr::Convert(*ty, boxed(a)),
            Node::Bitcast(ty, a) => Expr::Bitcast(*ty, boxed(a)),
            Node::Select(c, t, f) => Expr::Select(boxed(c), boxed(t), boxed(f)),
        }
    }
}
