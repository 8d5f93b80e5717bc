//! The way into a framework and back: reads, sizes and stores.
//!
//! NumPy computes on the arrays that are passed. Every other framework gets a pure function over its own tensors; a
//! second function, which is the kernel's entry, reads the tensors out of the flat arrays with NumPy, calls the first
//! and stores what it returns.

use super::node::Emitter;
use super::py::{Code, Level, is_name};
use crate::Unsupported;
use std::collections::HashMap;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::{Op, Output};

/// The entry in the making, where it is a function of its own.
#[derive(Default)]
pub(crate) struct Boundary {
    /// What the pure function is called.
    pub core: String,
    /// Its statements, not indented.
    pub lines: Vec<String>,
    /// Tensors that the pure function takes, with their types.
    pub tensors: Vec<(String, ScalarType)>,
    /// Sizes that it takes: shapes depend on them, so they are integers of Python.
    pub sizes: Vec<String>,
    /// What it returns.
    pub results: Vec<String>,
    /// Expressions that stand in variables.
    known: HashMap<String, String>,
    /// Whether an index is for the entry.
    in_entry: bool,
}

impl Emitter<'_> {
    /// A value that NumPy reads or computes: from there on it is the framework's.
    pub(crate) fn leaf(
        &mut self,
        stem: &str,
        code: Code,
        ty: ScalarType,
    ) -> Result<Code, Unsupported> {
        if self.dialect.boundary.is_none() {
            return Ok(code);
        }
        self.dialect.dtype(ty)?;
        let name = match self.boundary.known.get(&code.s) {
            Some(name) => name.clone(),
            None if is_name(&code.s) => code.s.clone(),
            None => {
                let name = self.body.names.fresh(stem);
                self.boundary.lines.push(format!("{name} = {}", code.s));
                self.boundary.known.insert(code.s, name.clone());
                name
            }
        };
        let tensors = &mut self.boundary.tensors;
        if !tensors.iter().any(|(n, _)| *n == name) {
            tensors.push((name.clone(), ty));
        }
        Ok(Code::atom(name, code.full))
    }

    /// All that is passed of an array.
    pub(super) fn whole_array(&mut self, array: &Sym, ty: ScalarType) -> Result<Code, Unsupported> {
        let name = self.param_name(array);
        self.leaf(&name, Code::atom(&name, true), ty)
    }

    /// An integer parameter in an index.
    pub(super) fn size_name(&mut self, name: &Sym) -> String {
        let name = self.param_name(name);
        let entry_alone = self.dialect.boundary.is_none() || self.boundary.in_entry;
        if !entry_alone && !self.boundary.sizes.contains(&name) {
            self.boundary.sizes.push(name.clone());
        }
        name
    }

    /// An index over the sizes alone, as a Python integer, for the entry.
    pub(crate) fn scalar_index(&mut self, idx: &Idx) -> Result<String, Unsupported> {
        self.in_entry(|e| e.size_index(idx))
    }

    /// Prints indices for the entry.
    pub(super) fn in_entry<T>(&mut self, print: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.boundary.in_entry, true);
        let printed = print(self);
        self.boundary.in_entry = before;
        printed
    }

    /// The same for the pure function.
    pub(super) fn size_index(&mut self, idx: &Idx) -> Result<String, Unsupported> {
        if idx.has_values() && !idx.reads() && self.dialect.boundary.is_some() {
            let title = self.dialect.title;
            let why = format!("{title} takes no extent that a shift makes of sizes: '{idx}'");
            return Err(Unsupported::new(why));
        }
        let code = self.index(idx, &Default::default())?;
        let mut atoms = idx.terms().flat_map(|(m, _)| m);
        Ok(match atoms.all(|a| matches!(a, Atom::Sym(_))) {
            true => code.s,
            false => format!("int({})", code.s),
        })
    }

    /// All results: computed first, then stored.
    pub(super) fn outputs(&mut self) -> Result<(), Unsupported> {
        let results = match self.dialect.boundary {
            None => self.results_in_place()?,
            Some(_) => self.results_from_elsewhere()?,
        };
        self.store(&results)
    }

    /// Puts the results where they belong.
    pub(crate) fn store(&mut self, results: &[Code]) -> Result<(), Unsupported> {
        let function = self.function;
        for (output, code) in function.outputs.iter().zip(results) {
            if let Output::Store { value, view } = output {
                let shape = &function.nodes[*value].ty.shape;
                let args = self.view_args(view, shape)?.ok_or_else(|| {
                    Unsupported::new(format!(
                        "results are stored at {view}, which is no regular pattern"
                    ))
                })?;
                self.entry_line(&format!("_view({args})[...] = {}", code.s));
            }
        }
        for (output, code) in function.outputs.iter().zip(results) {
            if let Output::Return { .. } = output {
                self.entry_line(&format!("return {}[()]", code.at(Level::Atom)));
            }
        }
        Ok(())
    }

    /// Adds a statement to the function that is called.
    pub(super) fn entry_line(&mut self, line: &str) {
        match self.dialect.boundary {
            None => self.body.line(line),
            Some(_) => self.boundary.lines.push(line.into()),
        }
    }

    fn results_in_place(&mut self) -> Result<Vec<Code>, Unsupported> {
        let function = self.function;
        let several = function.outputs.len() > 1;
        let mut results = Vec::new();
        for output in &function.outputs {
            let id = output.value();
            let mut code = self.node(id)?;
            if several && matches!(output, Output::Store { .. }) {
                // A view would change when another result is stored.
                code = match function.nodes[id].op {
                    Op::View(_)
                    | Op::Reshape
                    | Op::Transpose { .. }
                    | Op::Slice { .. }
                    | Op::Reverse { .. }
                    | Op::BroadcastInDim { .. }
                    | Op::BitcastConvert
                    | Op::Generic(_) => Code::atom(format!("np.array({})", code.s), code.full),
                    _ => code,
                };
                code = self.body.hold("result", code);
            }
            results.push(code);
        }
        for (output, code) in function.outputs.iter().zip(&mut results) {
            if several && matches!(output, Output::Return { .. }) {
                *code = self.body.hold("result", code.clone());
            }
        }
        Ok(results)
    }

    fn results_from_elsewhere(&mut self) -> Result<Vec<Code>, Unsupported> {
        let function = self.function;
        for output in &function.outputs {
            let code = self.node(output.value())?;
            self.boundary.results.push(code.s);
        }
        self.fetch()
    }

    /// Calls the pure function; its results are in variables then, an output each.
    pub(crate) fn fetch(&mut self) -> Result<Vec<Code>, Unsupported> {
        let outputs = self.function.outputs.iter();
        let results: Vec<_> = outputs
            .map(|_| Code::atom(self.body.names.fresh("result"), true))
            .collect();
        let call = self.call(&results)?;
        self.entry_line(&call);
        Ok(results)
    }

    /// The statement that calls the pure function.
    fn call(&self, results: &[Code]) -> Result<String, Unsupported> {
        let Some(way) = &self.dialect.boundary else {
            return Ok(String::new());
        };
        let mut arguments = Vec::new();
        for (name, ty) in &self.boundary.tensors {
            let t = self.dialect.dtype(*ty)?;
            let x = Code::atom(name, true);
            let operands = [("x", (&x).into()), ("t", (&t).into())];
            arguments.push(self.dialect.fill(way.enter, &operands).s);
        }
        arguments.extend(self.boundary.sizes.iter().cloned());
        let call = format!("{}({})", self.boundary.core, arguments.join(", "));
        Ok(match results {
            [one] => {
                let call = Code::atom(call, true);
                let left = self.dialect.fill(way.leave, &[("x", (&call).into())]);
                format!("{} = {}", one.s, left.s)
            }
            _ => {
                let names: Vec<_> = results.iter().map(|r| r.s.as_str()).collect();
                let each = Code::atom("r", true);
                let left = self.dialect.fill(way.leave, &[("x", (&each).into())]);
                // Copies: a result may be an input, which changes when another result is stored.
                format!(
                    "{} = [np.array({}) for r in {call}]",
                    names.join(", "),
                    left.s
                )
            }
        })
    }
}
