//! How a framework spells TensIR's operators: rows of text, an operator a row.
//!
//! ```text
//! # operator     on       form
//! negate         any      -{a}
//! exponential    float*   np.exp({a})
//! cbrt           float    ! NumPy has no cube root of its own
//! ```
//!
//! * *on*: the operand's types: `any`, `int` (with `i1`), `bool`, `signed`, `unsigned`, `float`, or one type.
//!   `/known` after it: only if the second operand is a literal that C accepts there (a divisor other than zero, a
//!   count less than the width). `*`: it rounds as it likes, so that the kernel is of tier *real*.
//! * *form*: Python with the operands' names in braces, or after `!` the reason why there is none.
//!   `{m}` is the framework's module, `{t}` its name of the result's type.
//!
//! The last row that fits counts, so that a framework's rows follow those that it shares with others.

use super::py::{Code, Level};
use crate::Unsupported;
use tensorize_ir::guard::Tier;
use tensorize_ir::scalar::ScalarType;

/// A framework for arrays.
pub struct Dialect {
    /// What `--target` takes.
    pub target: &'static str,
    /// The Python package that must be there.
    pub package: &'static str,
    /// One line for people.
    pub describe: &'static str,
    /// How people call it.
    pub title: &'static str,
    /// The module that its functions are in, as the generated code names it.
    pub module: &'static str,
    /// What the generated module begins with.
    pub imports: &'static str,
    /// Tables of rows, the most special last.
    pub rows: &'static [&'static str],
    /// Python functions that rows call. Those that are needed go into the module.
    pub helpers: &'static [&'static str],
    /// How arrays get there and back; `None` if the framework computes on NumPy's own.
    pub boundary: Option<Boundary>,
    /// Why the bits of float results are not C's even where each operator alone rounds as C does.
    pub inexact_floats: Option<&'static str>,
}

/// The way into a framework: a kernel is a pure function of its arrays, called by one that reads and stores.
#[derive(Clone)]
pub struct Boundary {
    /// From NumPy's array or scalar `{x}` of the type `{t}`.
    pub enter: &'static str,
    /// To NumPy's array; it may share memory.
    pub leave: &'static str,
    /// What stands before the pure function, with the names of its integer arguments as `{sizes}`.
    pub jit: Option<&'static str>,
    /// Whether compiled code may round differently: then a function whose promise is *exact* is not compiled.
    pub jit_rounds: bool,
}

impl Boundary {
    pub(super) fn jit(&self, tier: Tier) -> Option<&'static str> {
        self.jit.filter(|_| tier == Tier::Real || !self.jit_rounds)
    }
}

/// One row that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The text with braces.
    pub form: &'static str,
    /// Whether it rounds as it likes.
    pub own_rounding: bool,
}

impl Dialect {
    /// The row for an operator on a type.
    pub(super) fn row(&self, name: &str, ty: ScalarType, known: bool) -> Result<Row, Unsupported> {
        let found = self
            .all_rows()
            .filter(|r| r.name == name && r.fits(ty, known))
            .last();
        match found {
            None => Err(Unsupported::new(format!(
                "{} has no {name} on {ty}",
                self.title
            ))),
            Some(row) => match row.form.strip_prefix('!') {
                Some(why) => Err(Unsupported::new(why.trim())),
                None => Ok(Row {
                    form: row.form,
                    own_rounding: row.on.ends_with('*'),
                }),
            },
        }
    }

    /// The framework's name of a type.
    pub(super) fn dtype(&self, ty: ScalarType) -> Result<String, Unsupported> {
        let row = self
            .row("type", ty, false)
            .map_err(|_| Unsupported::new(format!("{} does not compute with {ty}", self.title)))?;
        Ok(row.form.replace("{m}", self.module))
    }

    /// The rows that count for some type, as they stand in the tables: after each of the others comes one that fits instead.
    pub fn rows_in_use(&self) -> Vec<&'static str> {
        let all: Vec<Line> = self.all_rows().collect();
        let counts = |row: &&Line| {
            let after = all.iter().skip_while(|r| !std::ptr::eq(r.text, row.text));
            let after: Vec<&Line> = after.skip(1).filter(|r| r.name == row.name).collect();
            ScalarType::ALL.iter().any(|ty| {
                [false, true].iter().any(|known| {
                    row.fits(*ty, *known) && !after.iter().any(|r| r.fits(*ty, *known))
                })
            })
        };
        all.iter().filter(counts).map(|r| r.text).collect()
    }

    fn all_rows(&self) -> impl Iterator<Item = Line> {
        let lines = self.rows.iter().flat_map(|table| table.lines());
        lines.filter_map(Line::parse)
    }

    /// A form with these operands in the braces.
    pub(super) fn fill(&self, form: &str, operands: &[(&str, Operand)]) -> Code {
        let operand = |name: &str| operands.iter().find(|(n, _)| *n == name).map(|(_, o)| o);
        let full = operands
            .iter()
            .any(|(_, o)| matches!(o, Operand::Code(c) if c.full));
        if let Some((level, sign)) = infix_of(form)
            && let (Some(Operand::Code(a)), Some(Operand::Code(b))) = (operand("a"), operand("b"))
        {
            return super::scalar_op::infix(sign, level, a, b);
        }
        let prefix = form
            .strip_suffix("{a}")
            .filter(|sign| ["-", "~"].contains(sign));
        if let (Some(sign), Some(Operand::Code(a))) = (prefix, operand("a")) {
            return Code {
                s: format!("{sign}{}", a.at(Level::Unary)),
                level: Level::Unary,
                full,
            };
        }
        let mut s = String::new();
        let mut rest = form;
        while let Some((before, tail)) = rest.split_once('{') {
            let (name, after) = tail.split_once('}').unwrap_or((tail, ""));
            s += before;
            match operand(name) {
                Some(Operand::Code(code)) => {
                    let alone = (s.is_empty() || s.ends_with(['(', '=']) || s.ends_with(", "))
                        && (after.is_empty() || after.starts_with([',', ')']));
                    s += &code.at(if alone { Level::Compare } else { Level::Atom });
                }
                Some(Operand::Text(text)) => s += text,
                None if name == "m" => s += self.module,
                None => s += &format!("{{{name}}}"),
            }
            rest = after;
        }
        s += rest;
        // A form that is its operand alone binds as that does.
        match (form, operand("a")) {
            ("{a}", Some(Operand::Code(a))) => (*a).clone(),
            _ => Code::atom(s, full),
        }
    }
}

/// What goes into a form's braces.
pub(super) enum Operand<'a> {
    Code(&'a Code),
    Text(&'a str),
}

impl<'a> From<&'a Code> for Operand<'a> {
    fn from(code: &'a Code) -> Operand<'a> {
        Operand::Code(code)
    }
}

impl<'a> From<&'a str> for Operand<'a> {
    fn from(text: &'a str) -> Operand<'a> {
        Operand::Text(text)
    }
}

impl<'a> From<&'a String> for Operand<'a> {
    fn from(text: &'a String) -> Operand<'a> {
        Operand::Text(text)
    }
}

/// `{a} SIGN {b}`
fn infix_of(form: &str) -> Option<(Level, &str)> {
    let sign = form.strip_prefix("{a} ")?.strip_suffix(" {b}")?;
    let level = match sign {
        "+" | "-" => Level::Sum,
        "*" | "/" | "//" | "%" | "@" => Level::Product,
        "<<" | ">>" => Level::Shift,
        "&" => Level::And,
        "|" => Level::Or,
        "^" => Level::Xor,
        _ => return None,
    };
    Some((level, sign))
}

/// A row as it stands in a table.
struct Line {
    text: &'static str,
    name: &'static str,
    on: &'static str,
    form: &'static str,
}

impl Line {
    fn parse(line: &'static str) -> Option<Line> {
        let (name, rest) = line.trim().split_once(' ')?;
        let (on, form) = rest.trim_start().split_once(' ')?;
        (!name.starts_with('#')).then(|| Line {
            text: line,
            name,
            on,
            form: form.trim(),
        })
    }

    fn fits(&self, ty: ScalarType, known: bool) -> bool {
        let on = self.on.trim_end_matches('*');
        let (class, needs_known) = match on.strip_suffix("/known") {
            Some(class) => (class, true),
            None => (on, false),
        };
        let of_class = match class {
            "any" => true,
            "int" => ty.is_int(),
            "bool" => ty == ScalarType::I1,
            "signed" => ty.is_signed(),
            "unsigned" => ty.is_int() && !ty.is_signed(),
            "float" => ty.is_float(),
            one => one == ty.name(),
        };
        of_class && (known || !needs_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::op::{BinOp, UnOp};

    const DIALECT: Dialect = Dialect {
        target: "test",
        package: "test",
        describe: "",
        title: "Test",
        module: "t",
        imports: "",
        rows: &[
            "# name on form\nadd any {a} + {b}\nabs any {m}.abs({a})",
            "abs unsigned {a}\nlog float* {a}.log()\ncbrt float ! no root\ndivide int/known {a} // {b}",
        ],
        helpers: &[],
        boundary: None,
        inexact_floats: None,
    };

    fn printed(name: &str, ty: ScalarType) -> String {
        let sum = Code {
            s: "x + y".into(),
            level: Level::Sum,
            full: true,
        };
        let row = DIALECT.row(name, ty, false).unwrap();
        DIALECT
            .fill(row.form, &[("a", (&sum).into()), ("b", (&sum).into())])
            .s
    }

    #[test]
    fn the_last_row_that_fits_counts() {
        assert_eq!(printed("abs", ScalarType::I8), "t.abs(x + y)");
        assert_eq!(printed("abs", ScalarType::U8), "x + y");
        assert_eq!(printed("add", ScalarType::U8), "x + y + (x + y)");
        assert_eq!(printed("log", ScalarType::F32), "(x + y).log()");
        assert!(
            DIALECT
                .row("log", ScalarType::F32, false)
                .unwrap()
                .own_rounding
        );
        assert_eq!(
            DIALECT.row("cbrt", ScalarType::F32, false).unwrap_err().why,
            "no root"
        );
        assert!(DIALECT.row("divide", ScalarType::I8, false).is_err());
        assert!(DIALECT.row("divide", ScalarType::I8, true).is_ok());
        let in_use = DIALECT.rows_in_use();
        assert_eq!(in_use.len(), 6, "{in_use:?}");
        let none = DIALECT.row("sine", ScalarType::F32, false).unwrap_err();
        assert_eq!(none.why, "Test has no sine on f32");
    }

    /// A misspelt row would never be found: the framework would seem not to have the operator.
    #[test]
    fn every_row_of_every_framework_is_one_that_the_printer_asks_for() {
        for dialect in crate::frameworks::ALL {
            for row in dialect.all_rows() {
                let known = UnOp::from_name(row.name).is_some()
                    || BinOp::from_name(row.name).is_some()
                    || super::super::FORMS.contains(&row.name);
                assert!(known, "{}: {}", dialect.target, row.name);
                let class = row.on.trim_end_matches('*').trim_end_matches("/known");
                let types = ScalarType::ALL.iter().map(|t| t.name());
                let classes = ["any", "int", "bool", "signed", "unsigned", "float"];
                assert!(
                    types.chain(classes).any(|c| c == class),
                    "{}: {} on {}",
                    dialect.target,
                    row.name,
                    row.on
                );
            }
        }
    }
}
