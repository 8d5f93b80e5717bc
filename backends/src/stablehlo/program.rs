//! StableHLO text in the making: types, values, lines.

use crate::Unsupported;
use crate::array::{Code, Emitter};
use crate::rows::{self, Tables};
use std::collections::{BTreeMap, HashMap};
use tensorize_ir::index::{Atom, Idx};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, NodeId};

/// A value of the program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value {
    /// Without the percent sign.
    pub name: String,
    pub shape: Vec<Idx>,
    pub elem: ScalarType,
}

/// Writes a program, and the function that reads what it takes and stores what it gives.
pub(super) struct Program<'a> {
    pub host: Emitter<'a>,
    pub function: &'a tensir::Function,
    rows: Tables,
    /// What `main` takes.
    arguments: Vec<Value>,
    lines: Vec<String>,
    depth: usize,
    /// Right-hand sides that have a name, for each open block.
    known: Vec<HashMap<String, Value>>,
    /// How many values have a number for a name.
    numbered: usize,
    /// What the nodes are called.
    pub values: BTreeMap<NodeId, Value>,
    /// What stands for an extent in the text, without its braces.
    extents: BTreeMap<Idx, String>,
}

/// A size that is no parameter: how many elements of an array are passed.
const ELEMENTS: &str = "elements of ";

impl<'a> Program<'a> {
    pub fn new(host: Emitter<'a>, function: &'a tensir::Function, rows: Tables) -> Program<'a> {
        Program {
            host,
            function,
            rows,
            arguments: Vec::new(),
            lines: Vec::new(),
            depth: 2,
            known: vec![HashMap::new()],
            numbered: 0,
            values: BTreeMap::new(),
            extents: BTreeMap::new(),
        }
    }

    /// The module: a function that takes what is read, and returns an output each.
    pub fn text(&mut self, name: &str) -> Result<String, Unsupported> {
        let mut results = Vec::new();
        for output in &self.function.outputs {
            results.push(self.node(output.value())?);
        }
        let types = self.types(&results)?;
        let arguments = self.arguments.clone();
        let taken: Result<Vec<_>, Unsupported> = arguments
            .iter()
            .map(|a| Ok(format!("%{}: {}", a.name, self.ty(a)?)))
            .collect();
        let mut text = format!(
            "    module @{name} {{\n      func.func @main({}) -> ({types}) {{\n",
            taken?.join(", ")
        );
        for line in &self.lines {
            text += &format!("    {line}\n");
        }
        let names = names(&results);
        text += &format!("        return {names} : {types}\n      }}\n    }}\n");
        Ok(text)
    }

    /// A statement.
    pub fn line(&mut self, line: &str) {
        self.lines
            .push(format!("{}{line}", "  ".repeat(self.depth)));
    }

    /// The value of a right-hand side. What has been computed already is not computed again.
    pub fn value(&mut self, rhs: String, shape: &[Idx], elem: ScalarType) -> Value {
        if let Some(value) = self.known.iter().find_map(|k| k.get(&rhs)) {
            return value.clone();
        }
        let value = Value {
            name: self.numbered.to_string(),
            shape: shape.to_vec(),
            elem,
        };
        self.numbered += 1;
        self.line(&format!("%{} = {rhs}", value.name));
        if let Some(known) = self.known.last_mut() {
            known.insert(rhs, value.clone());
        }
        value
    }

    /// What StableHLO calls an operator, with these operands.
    pub fn spelt(&self, op: &str, operands: &[&Value]) -> Result<String, Unsupported> {
        let form = self.form(op, operands[0].elem)?;
        let names: Vec<_> = operands.iter().map(|o| format!("%{}", o.name)).collect();
        let texts = ["a", "b", "c"].into_iter();
        let texts: Vec<_> = texts.zip(names.iter().map(String::as_str)).collect();
        Ok(rows::fill(form, &texts))
    }

    /// The row for an operator.
    pub fn form(&self, op: &str, elem: ScalarType) -> Result<&'static str, Unsupported> {
        let row = rows::find(self.rows, op, elem, false);
        let why = || Unsupported::new(format!("StableHLO has no {op} on {elem}"));
        row.map(|row| row.form).ok_or_else(why)
    }

    /// An operator whose operands and result are of one type.
    pub fn elementwise(&mut self, op: &str, operands: &[&Value]) -> Result<Value, Unsupported> {
        let (text, ty) = (self.spelt(op, operands)?, self.ty(operands[0])?);
        if let Some(same) = operands.iter().find(|o| text == format!("%{}", o.name)) {
            return Ok((*same).clone());
        }
        let rhs = match text.starts_with("chlo.") {
            true => format!("{text} : {ty} -> {ty}"),
            false => format!("{text} : {ty}"),
        };
        Ok(self.value(rhs, &operands[0].shape, operands[0].elem))
    }

    /// The same with a result of another type.
    pub fn converted(&mut self, op: &str, a: &Value, to: ScalarType) -> Result<Value, Unsupported> {
        let (from, ty) = (self.ty(a)?, self.tensor(&a.shape, to)?);
        let rhs = format!("{} : ({from}) -> {ty}", self.spelt(op, &[a])?);
        Ok(self.value(rhs, &a.shape, to))
    }

    /// An operator with `attributes`, whose types are written as those of a function.
    pub fn moved(
        &mut self,
        name: &str,
        operands: &[&Value],
        attributes: &str,
        shape: &[Idx],
    ) -> Result<Value, Unsupported> {
        let elem = operands[0].elem;
        let rhs = self.function_type(name, operands, attributes, shape, elem)?;
        Ok(self.value(rhs, shape, elem))
    }

    /// The right-hand side `NAME OPERANDS ATTRIBUTES : (TYPES) -> TYPE`.
    pub fn function_type(
        &mut self,
        name: &str,
        operands: &[&Value],
        attributes: &str,
        shape: &[Idx],
        elem: ScalarType,
    ) -> Result<String, Unsupported> {
        let operands: Vec<Value> = operands.iter().map(|v| (*v).clone()).collect();
        let (from, to) = (self.types(&operands)?, self.tensor(shape, elem)?);
        let names = names(&operands);
        Ok(format!("{name} {names}{attributes} : ({from}) -> {to}"))
    }

    /// A tensor that is one literal everywhere.
    pub fn splat(&mut self, value: Scalar, shape: &[Idx]) -> Result<Value, Unsupported> {
        let ty = self.tensor(shape, value.ty)?;
        let rhs = format!("stablehlo.constant dense<{}> : {ty}", literal(value));
        Ok(self.value(rhs, shape, value.ty))
    }

    /// Dimension `i` of the value becomes `dimensions[i]` of this shape.
    pub fn broadcast(
        &mut self,
        value: &Value,
        shape: &[Idx],
        dimensions: &[usize],
    ) -> Result<Value, Unsupported> {
        if value.shape == shape {
            return Ok(value.clone());
        }
        let dims = format!(", dims = {dimensions:?}");
        self.moved("stablehlo.broadcast_in_dim", &[value], &dims, shape)
    }

    /// Something that the function around the program reads or computes: an argument.
    pub fn leaf(
        &mut self,
        stem: &str,
        python: String,
        shape: &[Idx],
        elem: ScalarType,
    ) -> Result<Value, Unsupported> {
        let name = self.host.leaf(stem, Code::atom(python, true), elem)?.s;
        let value = Value {
            name,
            shape: shape.to_vec(),
            elem,
        };
        if !self.arguments.contains(&value) {
            self.arguments.push(value.clone());
        }
        Ok(value)
    }

    /// All that is passed of an array, to pick elements of.
    pub fn whole_array(&mut self, array: &str, elem: ScalarType) -> Result<Value, Unsupported> {
        let name = self.host.param_name(&array.into());
        let shape = [Idx::sym(format!("{ELEMENTS}{name}"))];
        self.leaf(
            &format!("{name}_all"),
            format!("_elements({name})"),
            &shape,
            elem,
        )
    }

    /// A block of lines that knows the values around it.
    pub fn block<T>(
        &mut self,
        write: impl FnOnce(&mut Self) -> Result<T, Unsupported>,
    ) -> Result<T, Unsupported> {
        self.depth += 1;
        self.known.push(HashMap::new());
        let written = write(self);
        self.known.pop();
        self.depth -= 1;
        written
    }

    /// A name that nothing has.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.host.body.names.fresh(stem)
    }

    /// `tensor<…>`
    pub fn tensor(&mut self, shape: &[Idx], elem: ScalarType) -> Result<String, Unsupported> {
        let mut text = String::from("tensor<");
        for extent in shape {
            text += &self.extent(extent)?;
            text.push('x');
        }
        Ok(format!("{text}{elem}>"))
    }

    pub fn ty(&mut self, value: &Value) -> Result<String, Unsupported> {
        self.tensor(&value.shape, value.elem)
    }

    /// The types of these values, one after the other.
    pub fn types(&mut self, values: &[Value]) -> Result<String, Unsupported> {
        let types: Result<Vec<_>, _> = values.iter().map(|v| self.ty(v)).collect();
        Ok(types?.join(", "))
    }

    /// An extent in the text; a negative one is empty.
    pub fn extent(&mut self, extent: &Idx) -> Result<String, Unsupported> {
        if let Some(n) = extent.as_constant() {
            return Ok(n.max(0).to_string());
        }
        let python = self.clamped(extent)?;
        let stem = match extent.as_sym() {
            Some(name) => match name.strip_prefix(ELEMENTS) {
                Some(array) => format!("{array}_size"),
                // The one that it is called by in C; no other name of the text has braces around it.
                None => self.host.param_name(name),
            },
            None => words(extent),
        };
        self.size(extent, &stem, python)
    }

    /// A size in the text, by the expression of Python that computes it.
    pub fn size(&mut self, key: &Idx, stem: &str, python: String) -> Result<String, Unsupported> {
        if let Some(name) = self.extents.get(key) {
            return Ok(format!("${{{name}}}"));
        }
        let mut name = stem.to_string();
        while self.extents.values().any(|n| *n == name) {
            name = self.fresh(stem);
        }
        self.host.boundary.sizes.push(format!("{name}={python}"));
        self.extents.insert(key.clone(), name.clone());
        Ok(format!("${{{name}}}"))
    }

    /// An extent as an integer of Python that is not negative.
    pub fn clamped(&mut self, extent: &Idx) -> Result<String, Unsupported> {
        if let Some(n) = extent.as_constant() {
            return Ok(n.max(0).to_string());
        }
        if let Some(array) = extent.as_sym().and_then(|s| s.strip_prefix(ELEMENTS)) {
            return Ok(format!("max({array}.size, 1)"));
        }
        if extent.has_values() {
            let why = format!(
                "a shape of extent {extent}, which only memory tells, has no form in StableHLO"
            );
            return Err(Unsupported::new(why));
        }
        let python = self.host.scalar_index(extent)?;
        let is_max =
            |a: &Atom| matches!(a, Atom::Max(_, b) if b.as_constant().is_some_and(|b| b >= 0));
        let mut terms = extent.terms();
        Ok(match (terms.next(), terms.next()) {
            (Some(([one], 1)), None) if is_max(one) => python,
            _ => format!("max({python}, 0)"),
        })
    }
}

/// `%a, %b`
pub(super) fn names(values: &[Value]) -> String {
    let names: Vec<_> = values.iter().map(|v| format!("%{}", v.name)).collect();
    names.join(", ")
}

/// A name for a polynomial: `n - 1` is `n_minus_1`.
fn words(extent: &Idx) -> String {
    let text = extent.to_string();
    if text.len() > 24 || text.contains(['(', ',']) {
        return "extent".into();
    }
    let text = text.replace(" + ", "_plus_").replace(" - ", "_minus_");
    let name = text.replace('*', "_times_").replace('-', "minus_");
    match name.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("size_{name}"),
        false => name,
    }
}

/// A literal as it stands between `dense<` and `>`. What has no exact short form stands as its bits.
pub(super) fn literal(v: Scalar) -> String {
    if v.ty == ScalarType::I1 {
        return v.is_true().to_string();
    }
    if v.ty.is_int() {
        return v.as_int().to_string();
    }
    let x = v.as_f64();
    let digits = match v.ty {
        ScalarType::F32 => format!("{:?}", v.as_f32()),
        _ => format!("{x:?}"),
    };
    // It is read as a double, and then rounded.
    let reads_back = match digits.parse::<f64>() {
        Ok(d) if v.ty == ScalarType::F32 => (d as f32).to_bits() == v.as_f32().to_bits(),
        Ok(d) => d.to_bits() == x.to_bits(),
        Err(_) => false,
    };
    if !x.is_finite() || !reads_back {
        return match v.ty {
            ScalarType::F32 => format!("0x{:08X}", v.bits),
            _ => format!("0x{:016X}", v.bits),
        };
    }
    // A number without a point is none of MLIR's floats.
    match digits.split_once('e') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0e{exponent}"),
        _ => digits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_read_back() {
        let shown = [
            (Scalar::f32(1.0), "1.0"),
            (Scalar::f32(-0.0), "-0.0"),
            (Scalar::f32(1e30), "1.0e30"),
            (Scalar::f64(2.5e-300), "2.5e-300"),
            (Scalar::f32(f32::INFINITY), "0x7F800000"),
            (Scalar::f64(f64::NEG_INFINITY), "0xFFF0000000000000"),
            (Scalar::int(ScalarType::I8, -128), "-128"),
            (Scalar::bool(true), "true"),
        ];
        for (value, text) in shown {
            assert_eq!(literal(value), text);
        }
        let nan = literal(Scalar::f32(f32::NAN));
        assert_eq!(nan, "0x7FC00000");
    }

    #[test]
    fn polynomials_have_names() {
        let n = Idx::sym("n");
        assert_eq!(words(&(&n - &Idx::constant(1))), "n_minus_1");
        assert_eq!(words(&(&n * &Idx::sym("d"))), "d_times_n");
        assert_eq!(words(&(&n * &Idx::constant(2))), "size_2_times_n");
        let far = Idx::atom(Atom::Max(Box::new(n.clone()), Box::new(Idx::constant(1))));
        assert_eq!(words(&far), "extent");
    }
}
