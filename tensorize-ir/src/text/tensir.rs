//! TensIR, one operator a line:
//!
//! ```text
//! func @matvec(w: const ptr<f32>, x: const ptr<f32>, out: ptr<f32>, n: i32, d: i32) {
//!   %0 = view w[#0*n + #1] : tensor<d x n x f32>
//!   %1 = view x[#0] : tensor<n x f32>
//!   %2 = constant 0.0:f32 : tensor<f32>
//!   %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<d x f32>
//!   store out[#0] = %3
//! }
//! ```

use super::index::is_plain;
use super::{Cursor, ParseError, whole};
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::op::BinOp;
use crate::scalar::ScalarType;
use crate::tensir::{Function, Node, NodeId, Op, Output, Reducer, Rounds, State, TensorType, View};
use crate::verify::Place;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

mod attributes;

use attributes::Attributes;

impl fmt::Display for TensorType {
    /// `tensor<rows x (n - 1) x f32>`, or `tensor<f32>` for a scalar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("tensor<")?;
        for extent in &self.shape {
            if is_plain(extent) {
                write!(f, "{extent} x ")?;
            } else {
                write!(f, "({extent}) x ")?;
            }
        }
        write!(f, "{}>", self.elem)
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]", self.array, self.index)
    }
}

impl fmt::Display for Reducer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reducer::Op(op) => write!(f, "{op}"),
            Reducer::TakeIf(cmp) => write!(f, "take_if({cmp})"),
            Reducer::KeepIf(cmp) => write!(f, "keep_if({cmp})"),
        }
    }
}

impl fmt::Display for Node {
    /// `add %0, %1 : tensor<n x f32>`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.op.name())?;
        let mut parts: Vec<String> = match &self.op {
            Op::View(view) => vec![view.to_string()],
            Op::Param(name) => vec![name.to_string()],
            Op::Size(idx) => vec![idx.to_string()],
            Op::Constant(v) => vec![v.to_string()],
            Op::Table(values) => vec![list(values, |v| v.to_string())],
            Op::Compare(cmp) => vec![cmp.to_string()],
            Op::Generic(e) => vec![e.to_string()],
            _ => vec![],
        };
        parts.extend(self.args.iter().map(|a| format!("%{a}")));
        let pairs = |p: &[(usize, usize)]| list(p, |(l, r)| format!("{l} x {r}"));
        match &self.op {
            Op::Iota { dimension } | Op::Concatenate { dimension } => {
                parts.push(format!("dimension = {dimension}"));
            }
            Op::BroadcastInDim { dimensions } | Op::Reverse { dimensions } => {
                parts.push(format!("dimensions = {dimensions:?}"));
            }
            Op::Transpose { permutation } => parts.push(format!("permutation = {permutation:?}")),
            Op::Slice { start, stride } => {
                parts.push(format!("start = {}", list(start, Idx::to_string)));
                parts.push(format!("stride = {stride:?}"));
            }
            Op::Pad { low } => parts.push(format!("low = {}", list(low, Idx::to_string))),
            Op::DotGeneral { batch, contracting } => {
                if !batch.is_empty() {
                    parts.push(format!("batch = {}", pairs(batch)));
                }
                parts.push(format!("contracting = {}", pairs(contracting)));
            }
            Op::Reduce {
                reducer,
                dimensions,
            } => {
                parts.push(format!("reducer = {reducer}"));
                parts.push(format!("dimensions = {dimensions:?}"));
            }
            Op::Scan {
                reducer,
                dimension,
                exclusive,
                reverse,
            } => {
                parts.push(format!("reducer = {reducer}"));
                parts.push(format!("dimension = {dimension}"));
                let flags = [("exclusive", exclusive), ("reverse", reverse)];
                let set = flags.into_iter().filter(|(_, on)| **on);
                parts.extend(set.map(|(name, _)| format!("{name} = true")));
            }
            Op::ArgReduce { reducer, dimension } => {
                parts.push(format!("reducer = {reducer}"));
                parts.push(format!("dimension = {dimension}"));
            }
            _ => {}
        }
        if !parts.is_empty() {
            write!(f, " {}", parts.join(", "))?;
        }
        write!(f, " : {}", self.ty)
    }
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    format!(
        "[{}]",
        items.iter().map(text).collect::<Vec<_>>().join(", ")
    )
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "func @{}(", self.name)?;
        for (i, p) in self.params.iter().enumerate() {
            let comma = if i > 0 { ", " } else { "" };
            match p {
                Param::Scalar { name, ty } => write!(f, "{comma}{name}: {ty}")?,
                Param::Array {
                    name,
                    elem,
                    is_const,
                    restrict,
                } => {
                    let is_const = if *is_const { "const " } else { "" };
                    let restrict = if *restrict { "restrict " } else { "" };
                    write!(f, "{comma}{name}: {is_const}{restrict}ptr<{elem}>")?;
                }
            }
        }
        writeln!(f, ") {{")?;
        for State {
            name,
            elem,
            len,
            returned,
        } in &self.state
        {
            let len = len.as_ref().map_or("?".to_owned(), Idx::to_string);
            let returned = if *returned { " returned" } else { "" };
            writeln!(f, "  state {name}: {elem}[{len}]{returned}")?;
        }
        for Rounds { counter, trip, .. } in self.rounds.iter().flat_map(Rounds::all) {
            writeln!(f, "  rounds {counter} < {trip}")?;
        }
        for (id, node) in self.nodes.iter().enumerate() {
            writeln!(f, "  %{id} = {node}")?;
        }
        for output in &self.outputs {
            match output {
                Output::Store { value, view } => writeln!(f, "  store {view} = %{value}")?,
                Output::Return { value } => writeln!(f, "  return %{value}")?,
            }
        }
        writeln!(f, "}}")
    }
}

impl FromStr for Function {
    type Err = ParseError;

    /// Reads a function and checks it. A type after `:` may be left out where it follows from the
    /// operands; values may have names (`%sum`).
    fn from_str(text: &str) -> Result<Function, ParseError> {
        whole(text, |c| {
            let mut f = FunctionText::default();
            f.function(c)
        })
    }
}

impl FromStr for TensorType {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<TensorType, ParseError> {
        whole(text, Cursor::tensor_type)
    }
}

impl<'a> Cursor<'a> {
    fn tensor_type(&mut self) -> Result<TensorType, ParseError> {
        self.expect_word("tensor")?;
        self.expect("<")?;
        let mut shape = Vec::new();
        loop {
            let mut ahead = self.clone();
            if ahead.name().is_some() && ahead.eat(">") {
                let elem = self.scalar_type()?;
                self.expect(">")?;
                return Ok(TensorType { shape, elem });
            }
            shape.push(self.extent_of_dimension()?);
            self.times()?;
        }
    }

    /// The element type in `: tensor<…>`, if that comes next.
    fn elem_of_type(&mut self) -> Option<ScalarType> {
        let ty = if self.eat(":") {
            self.tensor_type().ok()
        } else {
            None
        };
        ty.map(|t| t.elem)
    }

    /// The `x` between dimensions, which `4x4xf32` writes without space.
    fn times(&mut self) -> Result<(), ParseError> {
        if self.eat("x") {
            Ok(())
        } else {
            Err(self.expected("'x'"))
        }
    }

    fn param(&mut self) -> Result<Param, ParseError> {
        let name: Sym = self.expect_name("the name of a parameter")?.into();
        self.expect(":")?;
        let (mut is_const, mut restrict) = (false, false);
        loop {
            if self.eat_name("const") {
                is_const = true;
            } else if self.eat_name("restrict") {
                restrict = true;
            } else {
                break;
            }
        }
        if self.eat_name("ptr") {
            self.expect("<")?;
            let elem = self.scalar_type()?;
            self.expect(">")?;
            return Ok(Param::Array {
                name,
                elem,
                is_const,
                restrict,
            });
        }
        if is_const || restrict {
            return Err(self.expected("'ptr<…>'"));
        }
        Ok(Param::Scalar {
            name,
            ty: self.scalar_type()?,
        })
    }

    fn view(&mut self) -> Result<View, ParseError> {
        let array = self.expect_name("the name of an array")?.into();
        self.expect("[")?;
        let index = self.idx()?;
        self.expect("]")?;
        Ok(View { array, index })
    }

    /// `%0` or `%sum`, without the mark.
    fn value_name(&mut self) -> Result<&'a str, ParseError> {
        self.expect("%")?;
        self.word()
            .ok_or_else(|| self.expected("the number or name of a value"))
    }

    fn reducer(&mut self) -> Result<Reducer, ParseError> {
        let here = self.here();
        let name = self.expect_name("a reducer such as 'add', 'take_if(GT)' or 'keep_if(GT)'")?;
        let make = match name {
            "take_if" => Reducer::TakeIf,
            "keep_if" => Reducer::KeepIf,
            _ => {
                let message = format!(
                    "'{name}' is no reducer; one is an operator, take_if(GT) or keep_if(GT)"
                );
                return BinOp::from_name(name)
                    .map(Reducer::Op)
                    .ok_or_else(|| self.error_at(here, message));
            }
        };
        self.expect("(")?;
        let cmp = self.comparison_direction()?;
        self.expect(")")?;
        Ok(make(cmp))
    }
}

/// The part of a function that has been read.
#[derive(Default)]
struct FunctionText<'a> {
    nodes: Vec<Node>,
    /// Where each node starts.
    starts: Vec<usize>,
    outputs: Vec<(usize, Output)>,
    names: BTreeMap<&'a str, NodeId>,
}

impl<'a> FunctionText<'a> {
    fn function(&mut self, c: &mut Cursor<'a>) -> Result<Function, ParseError> {
        c.expect_word("func")?;
        c.expect("@")?;
        let name = c.expect_name("the name of the function")?.to_string();
        let params_at = c.here();
        c.expect("(")?;
        c.params = c.list(")", Cursor::param)?;
        c.expect("{")?;
        let given = c.params.len();
        let mut state = Vec::new();
        while c.eat_name("state") {
            state.push(self.state(c)?);
        }
        let mut all = Vec::new();
        while c.eat_name("rounds") {
            all.push(self.rounds(c)?);
        }
        while !c.eat("}") {
            self.statement(c)?;
        }
        c.params.truncate(given);
        let rounds = all.into_iter().rev().fold(None, |inner, rounds| {
            let inner = inner.map(Box::new);
            Some(Rounds { inner, ..rounds })
        });
        let (ends, outputs): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.outputs).into_iter().unzip();
        let function = Function {
            name,
            params: std::mem::take(&mut c.params),
            nodes: std::mem::take(&mut self.nodes),
            outputs,
            rounds,
            state,
        };
        function.verify().map_err(|e| {
            let at = match e.place {
                Place::Params => params_at,
                Place::Node(id, _) => self.starts[id],
                Place::Output(i) => ends[i],
            };
            c.error_at(at, e)
        })?;
        Ok(function)
    }

    /// `alpha: f64[1]`: from here on there is an array `alpha`.
    fn state(&mut self, c: &mut Cursor<'a>) -> Result<State, ParseError> {
        let name = c
            .expect_name("the name of what rounds leave to the next")?
            .into();
        c.expect(":")?;
        let elem = c.scalar_type()?;
        c.expect("[")?;
        let len = match c.eat("?") {
            true => None,
            false => Some(c.idx()?),
        };
        c.expect("]")?;
        let returned = c.eat_name("returned");
        let state = State {
            name,
            elem,
            len,
            returned,
        };
        c.params.push(state.param());
        Ok(state)
    }

    /// `k < n`: from here on there is a parameter `k`.
    fn rounds(&mut self, c: &mut Cursor<'a>) -> Result<Rounds, ParseError> {
        let counter = c.expect_name("the name of the counter")?.into();
        c.expect("<")?;
        let trip = c.idx()?;
        let rounds = Rounds {
            counter,
            trip,
            inner: None,
        };
        c.params.push(rounds.param());
        Ok(rounds)
    }

    fn statement(&mut self, c: &mut Cursor<'a>) -> Result<(), ParseError> {
        let here = c.here();
        if c.eat_name("store") {
            let view = c.view()?;
            c.expect("=")?;
            let value = self.operand(c)?;
            self.outputs.push((here, Output::Store { value, view }));
            return Ok(());
        }
        if c.eat_name("return") {
            let value = self.operand(c)?;
            self.outputs.push((here, Output::Return { value }));
            return Ok(());
        }
        if c.peek() != Some('%') {
            return Err(c.expected("'%0 = …', 'store', 'return' or '}'"));
        }
        let name = c.value_name()?;
        c.expect("=")?;
        let start = c.here();
        let node = self.node(c, start)?;
        if self.names.insert(name, self.nodes.len()).is_some() {
            return Err(c.error_at(here, format!("%{name} is defined twice")));
        }
        self.nodes.push(node);
        self.starts.push(start);
        Ok(())
    }

    fn operand(&self, c: &mut Cursor<'a>) -> Result<NodeId, ParseError> {
        let here = c.here();
        let name = c.value_name()?;
        self.names
            .get(name)
            .copied()
            .ok_or_else(|| c.error_at(here, format!("%{name} is not defined before this")))
    }

    fn node(&self, c: &mut Cursor<'a>, start: usize) -> Result<Node, ParseError> {
        let name = c.expect_name("the name of an operator")?;
        let mut op = self.leading_part(c, name)?;
        if op.is_none() && !Attributes::is_operator(name) {
            return Err(c.error_at(start, format!("'{name}' is not an operator")));
        }
        let mut args = Vec::new();
        let mut attributes = Attributes::default();
        // The leading part, operands and attributes are separated by commas.
        let mut more = op.is_none() || c.eat(",");
        while more && !matches!(c.peek(), Some(':' | '}')) {
            if c.peek() == Some('%') {
                args.push(self.operand(c)?);
            } else {
                attributes.read(c)?;
            }
            more = c.eat(",");
        }
        if op.is_none() {
            op = attributes.op(name);
        }
        let Some(op) = op else {
            let message = match attributes.missing(name) {
                Some(missing) => format!("'{name}' lacks '{missing} = …'"),
                None => format!("'{name}' is not an operator"),
            };
            return Err(c.error_at(start, message));
        };
        if let Some(left) = attributes.left_over() {
            return Err(c.error_at(start, format!("'{left}' is not an attribute of {name}")));
        }
        let ty = if c.eat(":") {
            c.tensor_type()?
        } else {
            let types: Vec<_> = args.iter().map(|&a: &NodeId| &self.nodes[a].ty).collect();
            crate::verify::infer(&op, &types)
                .map_err(|e| c.error_at(start, format!("{name}: {e}")))?
        };
        Ok(Node { op, args, ty })
    }

    /// What comes before the operands, for operators that have something there.
    fn leading_part(&self, c: &mut Cursor<'a>, name: &str) -> Result<Option<Op>, ParseError> {
        Ok(Some(match name {
            "view" => Op::View(c.view()?),
            "param" => Op::Param(c.expect_name("the name of a parameter")?.into()),
            "size" => Op::Size(c.idx()?),
            // A literal without a type of its own takes the tensor's.
            "constant" => {
                let mut ahead = c.clone();
                ahead.number_text();
                Op::Constant(c.scalar(ahead.elem_of_type())?)
            }
            "table" => {
                let mut ahead = c.clone();
                let skip = |c: &mut Cursor<'_>| c.scalar(Some(ScalarType::F64));
                let skipped = ahead.eat("[") && ahead.list("]", skip).is_ok();
                let default = if skipped { ahead.elem_of_type() } else { None };
                c.expect("[")?;
                Op::Table(c.list("]", |c| c.scalar(default))?)
            }
            "compare" => Op::Compare(c.comparison_direction()?),
            "generic" => Op::Generic(c.elem()?),
            _ => return Ok(None),
        }))
    }
}

#[cfg(test)]
mod tests;
