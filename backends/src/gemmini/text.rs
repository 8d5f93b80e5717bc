//! The C of a plan: the core's parts, the loops over tiles, and the function that calls them.

use super::piece::Elements;
use super::plan::{Loaded, Matrix, Plan, Step};
use crate::cpu::c;
use crate::index::c_index;
use crate::layout::{Place, Shape, size};
use crate::names::{C_WORDS, Names};
use crate::rows::{self, Tables};
use crate::{Generated, Kernel, Unsupported};
use std::collections::BTreeMap;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Param, Stmt};
use tensorize_ir::scalar::ScalarType;

/// What the array's loops and `gemmini.h` call themselves.
const WORDS: &[&str] = &[
    "DIM",
    "COLS",
    "ADDS",
    "FULL",
    "ACCUMULATOR",
    "CPU",
    "OS",
    "WS",
    "RELU",
    "CONFIG_EX",
    "CONFIG_LD",
    "CONFIG_ST",
    "ADDR_LEN",
    "MAX_BYTES",
    "ACC_ROWS",
    "BANK_NUM",
    "BANK_ROWS",
    "elem_t",
    "acc_t",
    "full_t",
    "scale_t",
    "term",
    "at_most",
    "in_rows",
    "load_term",
    "store_tile",
    "sum_of_terms",
    "sum_of_flat_terms",
    "sum_of_bytes",
    "sum_of_flat_bytes",
    "gather",
    "total_of",
    "malloc",
    "free",
    "memset",
    "result",
    "abs",
];

/// Strides that moves can take: those of the store unit have 32 bits.
const MOST: &str = "INT32_MAX / 16";

pub(super) fn generate(
    kernel: &Kernel,
    plan: &Plan,
    rows: Tables,
) -> Result<Generated, Unsupported> {
    let entry = format!("{}__tensorize_gemmini", kernel.function.name);
    let mut writer = Writer::new(plan, rows, &entry);
    for step in &plan.steps {
        writer.step(step)?;
    }
    let function = writer.function(&entry)?;
    let mut core: Vec<&loopir::Function> = plan
        .steps
        .iter()
        .filter_map(|s| match s {
            Step::Core(f) => Some(f),
            Step::Scalar { function: f, .. } if parameter(f).is_none() => Some(f),
            _ => None,
        })
        .collect();
    if writer.may_give_up() {
        core.push(&plan.whole);
    }
    let mut text = c::comment(&header(kernel, plan));
    text += c::INCLUDES;
    if !plan.temporaries.is_empty() {
        text += "#include <stdlib.h>\n";
    }
    if !core.is_empty() {
        text.push('\n');
        text += &c::print_static(
            &core,
            c::Style {
                disjoint: true,
                ..c::Style::default()
            },
        );
    }
    text += match plan.elements {
        Elements::Int8 => {
            "\n#include \"gemmini.h\"\n#ifdef ELEM_T_IS_FLOAT\n\
             #error \"this kernel is for a core with int8_t elements\"\n#endif\n"
        }
        Elements::Fp32 => {
            "\n#define GEMMINI_FP32\n#include \"gemmini.h\"\n#ifndef ELEM_T_IS_FLOAT\n\
             #error \"this kernel is for a core with float elements\"\n#endif\n"
        }
    };
    for part in writer.loops() {
        text.push('\n');
        text += part;
    }
    text.push('\n');
    text += &function;
    Ok(Generated {
        files: vec![(format!("{}.gemmini.c", kernel.function.name), text)],
        entry,
        tier: plan.tier,
        loopir: None,
        eager_reads: true,
        split: split(plan),
        theorems: vec![],
    })
}

fn header(kernel: &Kernel, plan: &Plan) -> String {
    let mut text = crate::cpu::header(kernel, plan.tier);
    text += match plan.elements {
        Elements::Int8 => "\nFor a core of the default configuration: int8_t elements.\n",
        Elements::Fp32 => "\nFor a core that was built for float elements.\n",
    };
    if let Some(split) = split(plan) {
        text += &format!("Split: {split}.\n");
    }
    text
}

/// Who computes what, if the core has a part in it.
fn split(plan: &Plan) -> Option<String> {
    let (own, all) = (plan.work.array_operators, plan.work.operators());
    (all > own).then(|| format!("the array computes {own} of {all} operators, the core the rest"))
}

struct Writer<'a> {
    plan: &'a Plan,
    rows: Tables,
    names: Names,
    /// C names of parameters, temporaries and scalars.
    known: BTreeMap<Sym, String>,
    sizes: Vec<(Idx, String)>,
    /// Conditions without which the core does it all.
    conditions: Vec<String>,
    lines: Vec<String>,
    returns: Option<String>,
    loops: Vec<&'static str>,
}

/// What the generated function may call, in the order of definition.
const LOOPS: [(&str, &str); 7] = [
    ("term", include_str!("array/terms.c")),
    ("in_rows", include_str!("array/rows.c")),
    ("sum_of_terms", include_str!("array/sum.c")),
    ("sum_of_flat_terms", include_str!("array/sum_flat.c")),
    ("sum_of_bytes", include_str!("array/bytes.c")),
    ("sum_of_flat_bytes", include_str!("array/bytes_flat.c")),
    ("total_of", include_str!("array/total.c")),
];

impl<'a> Writer<'a> {
    fn new(plan: &'a Plan, rows: Tables, entry: &str) -> Writer<'a> {
        let mut names = Names::new(C_WORDS.iter().chain(WORDS).copied());
        names.reserve(entry);
        let mut known = BTreeMap::new();
        let mut declare = |name: &Sym| {
            let c_name = names.fresh_in_c(name, |name| name.starts_with("gemmini"));
            known.insert(name.clone(), c_name);
        };
        plan.whole.params.iter().for_each(|p| declare(p.name()));
        plan.temporaries.iter().for_each(|t| declare(&t.name));
        for step in &plan.steps {
            if let Step::Scalar { name, .. } = step {
                declare(name);
            }
        }
        Writer {
            plan,
            rows,
            names,
            known,
            sizes: vec![],
            conditions: vec![],
            lines: vec![],
            returns: None,
            loops: vec![],
        }
    }

    fn may_give_up(&self) -> bool {
        !self.conditions.is_empty() || self.plan.temporaries.iter().any(|t| !t.shape.is_empty())
    }

    fn loops(&self) -> impl Iterator<Item = &'static str> {
        let called = LOOPS.into_iter().filter(|(n, _)| self.loops.contains(n));
        called.map(|(_, text)| text)
    }

    /// Notes that these are called.
    fn calls(&mut self, names: &[&'static str]) {
        self.loops.extend(names);
    }

    fn name(&self, name: &Sym) -> String {
        self.known
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_string())
    }

    fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    /// The variable that holds a size, or the literal that it is.
    fn size(&mut self, idx: &Idx) -> Result<String, Unsupported> {
        if idx.as_constant().is_some() {
            return c_index(idx, &|s| s.to_string());
        }
        if let Some((_, name)) = self.sizes.iter().find(|(i, _)| i == idx) {
            return Ok(name.clone());
        }
        // Asks for all names that it mentions, so that a wrong one is an error here and not in C.
        c_index(idx, &|s| s.to_string())?;
        let stem = idx.as_sym().map_or("n".into(), |s| format!("{s}_64"));
        let name = self.names.fresh(&stem);
        self.sizes.push((idx.clone(), name.clone()));
        Ok(name)
    }

    /// A stride, which a move must be able to take.
    fn stride(&mut self, idx: &Idx) -> Result<String, Unsupported> {
        let text = self.size(idx)?;
        let condition = format!("{text} > 0 && {text} < {MOST}");
        if idx.as_constant().is_none() && !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
        Ok(text)
    }

    /// `array + offset`
    fn address(&mut self, array: &Sym, offset: &Idx) -> Result<String, Unsupported> {
        let array = self.name(array);
        if offset.is_zero() {
            return Ok(array);
        }
        Ok(format!("{array} + {}", self.size(offset)?))
    }

    /// The call of a part that the core computes.
    fn call(&self, function: &loopir::Function) -> String {
        let args: Vec<String> = function
            .params
            .iter()
            .map(|p| self.name(p.name()))
            .collect();
        format!("{}({})", function.name, args.join(", "))
    }

    fn step(&mut self, step: &Step) -> Result<(), Unsupported> {
        match step {
            Step::Core(f) => {
                let call = self.call(f);
                if f.ret.is_some() {
                    self.returns = Some(call);
                } else {
                    self.line(format!("{call};"));
                }
            }
            Step::Scalar { name, function } => {
                let ty = function.ret.map_or("void", ScalarType::c_name);
                let value = match parameter(function) {
                    Some(p) => self.name(p),
                    None => self.call(function),
                };
                self.line(format!("const {ty} {} = {value};", self.name(name)));
            }
            Step::Sum {
                into,
                bytes,
                shape,
                terms,
            } => self.sum(into, *bytes, shape, terms)?,
            Step::Product {
                into,
                left,
                right,
                depth,
            } => self.product(into, left, right, depth)?,
            Step::Total {
                into,
                start,
                of,
                shape,
            } => {
                self.calls(&["term", "in_rows", "total_of"]);
                let (array, start) = (self.name(&into.array), self.name(start));
                let terms = self.terms(std::slice::from_ref(of), shape)?;
                let (rows, cols, flat) = match shape {
                    Shape::Flat(n) => ("1".into(), self.size(n)?, true),
                    Shape::Rows(r, c) => (self.size(r)?, self.size(c)?, false),
                };
                let flat = flat.to_string();
                let texts = [
                    ("terms", &*terms),
                    ("rows", &rows),
                    ("cols", &cols),
                    ("flat", &flat),
                ];
                let total = self.filled("total", &texts);
                self.line(format!("{array}[0] = {start};"));
                self.line(format!("if ({rows} > 0 && {cols} > 0) {{"));
                self.line(format!("    {array}[0] += {total};"));
                self.line("}");
            }
        }
        Ok(())
    }

    /// Declares an array of terms, and gives its name.
    fn terms(&mut self, terms: &[Loaded], shape: &Shape) -> Result<String, Unsupported> {
        let mut rows = Vec::new();
        for term in terms {
            let Some(place) = &term.place else {
                let value = self.signed(self.scalar(term), term.negative);
                let value = self.filled("number", &[("a", &value)]);
                let row = self.names.fresh("row");
                self.line(format!("acc_t {row}[COLS];"));
                self.line("for (size_t c = 0; c < COLS; c++) {");
                self.line(format!("    {row}[c] = {value};"));
                self.line("}");
                let narrow = self.plan.elements == Elements::Fp32;
                rows.push(format!("{{{row}, 0, 0, MVIN_SCALE_IDENTITY, {narrow}}}"));
                continue;
            };
            let address = self.address(&place.array, &place.offset)?;
            let bytes = term.elem.bytes();
            let pitch = match shape {
                Shape::Flat(_) => "0".into(),
                Shape::Rows(..) => scaled(&self.stride(&place.pitch)?, bytes),
            };
            let scale = match (&term.scalar, self.plan.elements) {
                (Some(_), Elements::Fp32) => {
                    let op = if term.inverse { "divide" } else { "multiply" };
                    let scale = self.filled(op, &[("b", &self.scalar(term))]);
                    self.signed(scale, term.negative)
                }
                (None, Elements::Fp32) if term.negative => self.signed("1.0f".into(), true),
                _ => self.filled("copy", &[]),
            };
            rows.push(format!(
                "{{{address}, {pitch}, {bytes}, {scale}, {}}}",
                term.narrow
            ));
        }
        let name = self.names.fresh("terms");
        if let [row] = rows.as_slice() {
            self.line(format!("const struct term {name}[] = {{{row}}};"));
        } else {
            self.line(format!("const struct term {name}[] = {{"));
            rows.iter().for_each(|r| self.line(format!("    {r},")));
            self.line("};");
        }
        Ok(name)
    }

    /// A row with these texts. Elements are floats, bytes or words; no row asks which.
    fn filled(&self, name: &str, texts: &[(&str, &str)]) -> String {
        let elem = match self.plan.elements {
            Elements::Fp32 => ScalarType::F32,
            Elements::Int8 => ScalarType::I8,
        };
        rows::fill(rows::form(self.rows, name, elem), texts)
    }

    fn signed(&self, value: String, negative: bool) -> String {
        match negative {
            true => self.filled("negate", &[("a", &value)]),
            false => value,
        }
    }

    fn scalar(&self, term: &Loaded) -> String {
        match &term.scalar {
            Some(s) => self.name(s),
            None => "1".into(),
        }
    }

    fn sum(
        &mut self,
        into: &Place,
        bytes: bool,
        shape: &Shape,
        terms: &[Loaded],
    ) -> Result<(), Unsupported> {
        self.calls(&["term"]);
        let list = self.terms(terms, shape)?;
        let (function, flat, pointer) = match bytes {
            true => ("sum_of_bytes", "sum_of_flat_bytes", "uint8_t *"),
            false => ("sum_of_terms", "sum_of_flat_terms", "acc_t *"),
        };
        let mut args = vec![list];
        self.calls(&[function]);
        if bytes {
            let factor = |t: &Loaded| match (&t.place, &t.scalar) {
                (Some(_), Some(_)) => {
                    let value = self.signed(self.scalar(t), t.negative);
                    self.filled("weight", &[("a", &value)])
                }
                (Some(_), None) => self.signed("1".into(), t.negative),
                (None, _) => "1".into(),
            };
            let factors: Vec<String> = terms.iter().map(factor).collect();
            let name = self.names.fresh("factors");
            self.line(format!(
                "const int8_t {name}[] = {{{}}};",
                factors.join(", ")
            ));
            args.push(name);
        }
        let out = self.address(&into.array, &into.offset)?;
        let out = if out.contains(' ') {
            format!("({pointer})({out})")
        } else {
            format!("({pointer}){out}")
        };
        let (args, count) = (args.join(", "), terms.len());
        match shape {
            Shape::Flat(n) => {
                let n = self.size(n)?;
                self.line(format!("if ({n} > 0) {{"));
                self.line(format!("    {flat}({out}, {args}, {count}, {n});"));
                self.calls(&["in_rows", flat]);
            }
            Shape::Rows(rows, cols) => {
                let (rows, cols) = (self.size(rows)?, self.size(cols)?);
                let pitch = self.stride(&into.pitch)?;
                self.line(format!("if ({rows} > 0 && {cols} > 0) {{"));
                self.line(format!(
                    "    {function}({out}, {pitch}, {args}, {count}, {rows}, {cols});"
                ));
            }
        }
        self.line("}");
        Ok(())
    }

    fn product(
        &mut self,
        into: &Place,
        left: &Matrix,
        right: &Matrix,
        depth: &Idx,
    ) -> Result<(), Unsupported> {
        let one = Idx::constant(1);
        let is_one = |idx: &Idx| idx.as_constant() == Some(1);
        let (rows, cols) = (
            left.free.clone().unwrap_or(one.clone()),
            right.free.clone().unwrap_or(one.clone()),
        );
        // Rows of the left operand have to be contiguous, or its columns, if it is loaded across.
        let across_left = !is_one(&left.strides.1);
        let stride_left = match (&left.strides, across_left) {
            ((_, along), true) => along,
            ((Some(free), _), false) => free,
            ((None, _), false) => depth,
        };
        let across_right = right.strides.0.as_ref().is_some_and(|s| !is_one(s));
        let stride_right = match (&right.strides, across_right) {
            ((Some(free), _), true) => free,
            ((_, along), _) => along,
        };
        let (a, b) = (
            self.address(&left.array, &left.offset)?,
            self.address(&right.array, &right.offset)?,
        );
        // A stride that the loops never take may be anything, as that of a single row.
        let stride_a = match left.free {
            None if !across_left => "1".into(),
            _ => self.stride(stride_left)?,
        };
        let stride_b = self.stride(stride_right)?;
        let out = self.address(&into.array, &into.offset)?;
        let (i, j, k) = (self.size(&rows)?, self.size(&cols)?, self.size(depth)?);
        // The weight-stationary flow can't load both across.
        let flow = if across_left && across_right {
            "OS"
        } else {
            "WS"
        };
        let none = size(&[rows.clone(), cols.clone()]);
        let count = self.size(&none)?;
        self.line(format!("if ({i} > 0 && {j} > 0 && {k} > 0) {{"));
        self.line(format!("    tiled_matmul_auto({i}, {j}, {k}, {a}, {b}, NULL, {out}, {stride_a}, {stride_b}, 0, {j},"));
        self.line("                      MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION,");
        self.line(format!("                      ACC_SCALE_IDENTITY, 0, false, {across_left}, {across_right}, true, false, 0, {flow});"));
        self.line(format!("}} else if ({i} > 0 && {j} > 0) {{"));
        self.line(format!("    memset({out}, 0, {count} * sizeof(acc_t));"));
        self.line("}");
        Ok(())
    }

    /// The function itself.
    fn function(&self, entry: &str) -> Result<String, Unsupported> {
        let whole = &self.plan.whole;
        let params: Vec<String> = whole.params.iter().map(|p| self.param(p)).collect();
        let ret = whole.ret.map_or("void", ScalarType::c_name);
        let mut text = format!("{ret} {entry}({}) {{\n", params.join(", "));
        let mut line = |l: &str| text += &format!("    {l}\n");
        let mut sizes = self.sizes.clone();
        let (mut lengths, mut names) = (Vec::new(), self.names.clone());
        for t in self.plan.temporaries.iter().filter(|t| !t.shape.is_empty()) {
            let n = size(&t.shape);
            let known = sizes.iter().find(|(i, _)| *i == n).map(|(_, s)| s.clone());
            let length = match (n.as_constant(), known) {
                (Some(n), _) => n.to_string(),
                (None, Some(name)) => name,
                (None, None) => {
                    let name = names.fresh("n");
                    sizes.push((n, name.clone()));
                    name
                }
            };
            lengths.push((t, length));
        }
        for (idx, name) in &sizes {
            let value = c_index(idx, &|s| self.name(s))?;
            line(&format!("const int64_t {name} = {value};"));
        }
        for (t, length) in &lengths {
            let (ty, name) = (t.elem.c_name(), self.name(&t.name));
            let size = format!("{length} > 0 ? {length} * sizeof({ty}) : 1");
            line(&format!("{ty} *const {name} = malloc({size});"));
        }
        for t in self.plan.temporaries.iter().filter(|t| t.shape.is_empty()) {
            line(&format!("{} {}[1];", t.elem.c_name(), self.name(&t.name)));
        }
        let frees: Vec<String> = lengths
            .iter()
            .map(|(t, _)| format!("free({});", self.name(&t.name)))
            .collect();
        if self.may_give_up() {
            let memory = lengths.iter().map(|(t, _)| self.name(&t.name));
            let conditions: Vec<String> = memory.chain(self.conditions.clone()).collect();
            line(&format!("if (!({})) {{", conditions.join(" && ")));
            let call = self.call(whole);
            if whole.ret.is_some() {
                line(&format!("    const {ret} result = {call};"));
            } else {
                line(&format!("    {call};"));
            }
            frees.iter().for_each(|f| line(&format!("    {f}")));
            line(if whole.ret.is_some() {
                "    return result;"
            } else {
                "    return;"
            });
            line("}");
        }
        self.lines.iter().for_each(|l| line(l));
        match &self.returns {
            Some(call) if frees.is_empty() => line(&format!("return {call};")),
            Some(call) => {
                line(&format!("const {ret} result = {call};"));
                frees.iter().for_each(|f| line(f));
                line("return result;");
            }
            None => frees.iter().for_each(|f| line(f)),
        }
        Ok(text + "}\n")
    }

    fn param(&self, param: &Param) -> String {
        let name = self.name(param.name());
        match param {
            Param::Scalar { ty, .. } => format!("{} {name}", ty.c_name()),
            Param::Array { elem, is_const, .. } => {
                let qualifier = if *is_const { "const " } else { "" };
                format!("{qualifier}{} *{name}", elem.c_name())
            }
        }
    }
}

/// The parameter that a function returns, if that is all that it does.
fn parameter(function: &loopir::Function) -> Option<&Sym> {
    match function.body.as_slice() {
        [Stmt::Return(Some(Expr::Var(name, _)))] => Some(name),
        _ => None,
    }
}

fn scaled(stride: &str, bytes: usize) -> String {
    if bytes == 1 {
        stride.into()
    } else {
        format!("{stride} * {bytes}")
    }
}
