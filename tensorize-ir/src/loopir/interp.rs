//! Runs LoopIR, and stops where C's behaviour would be undefined.
//!
//! Loops of any mode run one round after the other: that a parallel loop means the same is for the
//! prover to show.

mod machine;

use machine::{Flow, Machine};

use super::{Expr, Function, Len, LocalArray, Overflow, Param, Stmt};
use crate::index::Sym;
use crate::memory::{Buffer, Inputs};
use crate::op::{BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;
use std::fmt;

/// Why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// C leaves this undefined.
    Undefined {
        /// What, such as "signed overflow".
        why: &'static str,
        /// The expression, as text.
        expr: String,
        /// Line of the innermost loop around it, 0 if there is none.
        line: u32,
    },
    /// An access outside of an array's buffer.
    OutOfBounds {
        /// The array.
        array: Sym,
        /// The index.
        index: i64,
        /// A write, not a read.
        write: bool,
    },
    /// A variable, or an element of a local array, that nothing was assigned to.
    Uninitialised {
        /// Its name.
        name: Sym,
        /// The element.
        index: Option<i64>,
    },
    /// The program ends, or throws.
    Trap,
    /// The step limit was reached.
    StepLimit,
    /// The function is not well-formed, or an argument is missing or of another type.
    BadCall(String),
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stop::Undefined { why, expr, line: 0 } => write!(f, "{why} in '{expr}'"),
            Stop::Undefined { why, expr, line } => {
                write!(f, "{why} in '{expr}', in the loop of line {line}")
            }
            Stop::OutOfBounds {
                array,
                index,
                write,
            } => {
                let verb = if *write { "writes" } else { "reads" };
                write!(f, "{verb} {array}[{index}], outside of the array")
            }
            Stop::Uninitialised { name, index: None } => {
                write!(f, "reads {name}, which has no value yet")
            }
            Stop::Uninitialised {
                name,
                index: Some(i),
            } => {
                write!(f, "reads {name}[{i}], which has no value yet")
            }
            Stop::Trap => f.write_str("ends the program, or throws"),
            Stop::StepLimit => f.write_str("runs longer than the step limit"),
            Stop::BadCall(why) => f.write_str(why),
        }
    }
}

/// One access to an array parameter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    /// The array.
    pub array: Sym,
    /// The index.
    pub index: i64,
    /// A write, not a read.
    pub write: bool,
}

/// What the variables hold when a round of a loop begins, or when the loop has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The loops around here, outermost first, this one last: its id, and how many rounds it has had.
    pub loops: Vec<(u32, u64)>,
    /// The variables that have a value.
    pub vars: BTreeMap<Sym, Scalar>,
}

/// What is noted during a run.
#[derive(Default)]
struct Notes {
    /// Steps that are left at the end.
    left: u64,
    accesses: Option<Vec<(usize, i64, bool)>>,
    rounds: Option<Vec<Round>>,
    /// No more rounds than this are noted.
    max_rounds: usize,
}

/// Runs `function` on `inputs`, whose arrays it changes. Returns the returned value.
pub fn run(
    function: &Function,
    inputs: &mut Inputs,
    limit_steps: u64,
) -> Result<Option<Scalar>, Stop> {
    Program::new(function)?.run(inputs, limit_steps)
}

/// Like [`run`], and notes every access to an array parameter, in order.
pub fn run_traced(
    function: &Function,
    inputs: &mut Inputs,
    limit_steps: u64,
) -> (Result<Option<Scalar>, Stop>, Vec<Access>) {
    match Program::new(function) {
        Ok(program) => program.run_traced(inputs, limit_steps),
        Err(stop) => (Err(stop), vec![]),
    }
}

/// A function made ready to run many times: names are numbers.
pub struct Program {
    scalars: Vec<(Sym, ScalarType, usize)>,
    /// Array parameters first, then local arrays.
    params: Vec<(Sym, ScalarType)>,
    locals: Vec<LocalArray>,
    /// How long each local array is, if the arguments say so.
    lengths: Vec<Option<Node>>,
    vars: Vec<Sym>,
    wraps: bool,
    returns: bool,
    body: Vec<Step>,
}

enum Step {
    Assign(usize, Node),
    Store(usize, Node, Node),
    If(Node, Vec<Step>, Vec<Step>),
    Loop {
        cond: Node,
        test_first: bool,
        body: Vec<Step>,
        id: u32,
        line: u32,
    },
    Return(Option<Node>),
    Trap,
}

enum Node {
    Const(Scalar),
    Var(usize),
    Load(usize, Box<Node>),
    Unary(UnOp, Box<Node>),
    Binary(BinOp, Box<Node>, Box<Node>),
    Compare(CmpOp, Box<Node>, Box<Node>),
    Convert(ScalarType, Box<Node>),
    Bitcast(ScalarType, Box<Node>),
    Select(Box<Node>, Box<Node>, Box<Node>),
}

impl Program {
    /// Resolves the names of a well-formed function.
    pub fn new(function: &Function) -> Result<Program, Stop> {
        function.validate().map_err(Stop::BadCall)?;
        let mut names = Names::default();
        let mut scalars = Vec::new();
        let mut params = Vec::new();
        for p in &function.params {
            match p {
                Param::Scalar { name, ty } => scalars.push((name.clone(), *ty, names.var(name))),
                Param::Array { name, elem, .. } => {
                    names.arrays.insert(name.clone(), params.len());
                    params.push((name.clone(), *elem));
                }
            }
        }
        for (i, a) in function.arrays.iter().enumerate() {
            names.arrays.insert(a.name.clone(), params.len() + i);
        }
        let lengths = (function.arrays.iter()).map(|a| match &a.len {
            Len::Of(len) => Some(names.node(len)),
            Len::Fixed(_) | Len::Touched => None,
        });
        let lengths = lengths.collect();
        let body = names.block(&function.body);
        let mut vars: Vec<Sym> = vec!["".into(); names.vars.len()];
        for (name, slot) in names.vars {
            vars[slot] = name;
        }
        Ok(Program {
            scalars,
            params,
            locals: function.arrays.clone(),
            lengths,
            vars,
            wraps: function.overflow == Overflow::Wraps,
            returns: function.ret.is_some(),
            body,
        })
    }

    /// Runs the function on `inputs`, whose arrays it changes, also where it stops early.
    pub fn run(&self, inputs: &mut Inputs, limit_steps: u64) -> Result<Option<Scalar>, Stop> {
        self.run_with(inputs, limit_steps, &mut Notes::default())
    }

    /// How many steps a run takes, if that is no more than the limit and it comes to its end.
    pub fn steps(&self, inputs: &mut Inputs, limit: u64) -> Option<u64> {
        let mut notes = Notes::default();
        self.run_with(inputs, limit, &mut notes).ok()?;
        Some(limit - notes.left)
    }

    /// Like [`Program::run`], and notes the beginnings of the first `max_rounds` rounds of all loops.
    pub fn run_watched(
        &self,
        inputs: &mut Inputs,
        limit_steps: u64,
        max_rounds: usize,
    ) -> (Result<Option<Scalar>, Stop>, Vec<Round>) {
        let mut notes = Notes {
            rounds: Some(vec![]),
            max_rounds,
            ..Notes::default()
        };
        let result = self.run_with(inputs, limit_steps, &mut notes);
        (result, notes.rounds.unwrap_or_default())
    }

    /// Like [`Program::run`], and notes every access to an array parameter, in order.
    pub fn run_traced(
        &self,
        inputs: &mut Inputs,
        limit_steps: u64,
    ) -> (Result<Option<Scalar>, Stop>, Vec<Access>) {
        let mut notes = Notes {
            accesses: Some(vec![]),
            ..Notes::default()
        };
        let result = self.run_with(inputs, limit_steps, &mut notes);
        let name = |slot: usize| self.params[slot].0.clone();
        let named = notes
            .accesses
            .into_iter()
            .flatten()
            .map(|(slot, index, write)| Access {
                array: name(slot),
                index,
                write,
            });
        (result, named.collect())
    }

    fn run_with(
        &self,
        inputs: &mut Inputs,
        steps: u64,
        notes: &mut Notes,
    ) -> Result<Option<Scalar>, Stop> {
        let mut vars = vec![None; self.vars.len()];
        for (name, ty, slot) in &self.scalars {
            match inputs.scalars.get(name) {
                Some(v) if v.ty == *ty => vars[*slot] = Some(*v),
                Some(v) => {
                    return Err(Stop::BadCall(format!(
                        "the argument {name} = {v} is not {ty}"
                    )));
                }
                None => return Err(Stop::BadCall(format!("the argument {name} is missing"))),
            }
        }
        for (name, elem) in &self.params {
            match inputs.arrays.get(name) {
                Some(b) if b.elem == *elem && b.data.iter().all(|v| v.ty == *elem) => {}
                Some(_) => {
                    return Err(Stop::BadCall(format!(
                        "the elements of {name} are not {elem}"
                    )));
                }
                None => return Err(Stop::BadCall(format!("the array {name} is missing"))),
            }
        }
        let take = |(name, elem): &(Sym, ScalarType)| {
            inputs
                .arrays
                .remove(name)
                .unwrap_or(Buffer::new(*elem, vec![]))
        };
        let mut machine = Machine {
            program: self,
            vars,
            buffers: self.params.iter().map(take).collect(),
            locals: self
                .locals
                .iter()
                .map(|a| match &a.init {
                    Some(values) => values.iter().copied().map(Some).collect(),
                    None => vec![None; a.len.fixed().unwrap_or(0)],
                })
                .collect(),
            steps,
            line: 0,
            loops: vec![],
            notes,
        };
        let result = machine.allocate().and_then(|()| machine.block(&self.body));
        let (buffers, left) = (machine.buffers, machine.steps);
        notes.left = left;
        for ((name, _), buffer) in self.params.iter().zip(buffers) {
            inputs.arrays.insert(name.clone(), buffer);
        }
        match result? {
            Flow::Returned(value) => Ok(value),
            Flow::Next if self.returns => Err(Stop::Undefined {
                why: "the end of the function is reached without a return",
                expr: "}".into(),
                line: 0,
            }),
            Flow::Next => Ok(None),
        }
    }
}

/// From names to numbers.
#[derive(Default)]
struct Names {
    vars: BTreeMap<Sym, usize>,
    arrays: BTreeMap<Sym, usize>,
}

impl Names {
    fn var(&mut self, name: &Sym) -> usize {
        let next = self.vars.len();
        *self.vars.entry(name.clone()).or_insert(next)
    }

    fn block(&mut self, stmts: &[Stmt]) -> Vec<Step> {
        stmts.iter().map(|s| self.step(s)).collect()
    }

    fn step(&mut self, stmt: &Stmt) -> Step {
        match stmt {
            Stmt::Assign { var, value, .. } => {
                let value = self.node(value);
                Step::Assign(self.var(var), value)
            }
            Stmt::Store {
                array,
                index,
                value,
            } => Step::Store(self.arrays[array], self.node(index), self.node(value)),
            Stmt::If {
                cond,
                then,
                otherwise,
            } => Step::If(self.node(cond), self.block(then), self.block(otherwise)),
            Stmt::Loop(l) => Step::Loop {
                cond: self.node(&l.cond),
                test_first: l.test_first,
                body: self.block(&l.body),
                id: l.id,
                line: l.line,
            },
            Stmt::Return(value) => Step::Return(value.as_ref().map(|v| self.node(v))),
            Stmt::Trap => Step::Trap,
        }
    }

    fn boxed(&mut self, e: &Expr) -> Box<Node> {
        Box::new(self.node(e))
    }

    fn node(&mut self, e: &Expr) -> Node {
        match e {
            Expr::Const(v) => Node::Const(*v),
            Expr::Var(name, _) => Node::Var(self.var(name)),
            Expr::Load { array, index, .. } => Node::Load(self.arrays[array], self.boxed(index)),
            Expr::Unary(op, a) => Node::Unary(*op, self.boxed(a)),
            Expr::Binary(op, a, b) => Node::Binary(*op, self.boxed(a), self.boxed(b)),
            Expr::Compare(op, a, b) => Node::Compare(*op, self.boxed(a), self.boxed(b)),
            Expr::Convert(ty, a) => Node::Convert(*ty, self.boxed(a)),
            Expr::Bitcast(ty, a) => Node::Bitcast(*ty, self.boxed(a)),
            Expr::Select(c, t, f) => Node::Select(self.boxed(c), self.boxed(t), self.boxed(f)),
        }
    }
}
