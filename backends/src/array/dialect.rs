//! How a framework spells TensIR's operators: rows of text, as [`crate::rows`] reads them.
//!
//! ```text
//! # operator     on       form
//! negate         any      -{a}
//! exponential    float*   np.exp({a})
//! cbrt           float    ! NumPy has no cube root of its own
//! ```
//!
//! A form is Python, or after `!` the reason why there is none. `{m}` is the framework's module, `{t}` its name of the
//! result's type.

use super::py::{Code, Level};
use crate::Unsupported;
use crate::rows::{self, Tables};
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
    pub rows: Tables,
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
        match rows::find(self.rows, name, ty, known) {
            None => Err(Unsupported::new(format!(
                "{} has no {name} on {ty}",
                self.title
            ))),
            Some(row) => match row.form.strip_prefix('!') {
                Some(why) => Err(Unsupported::new(why.trim())),
                None => Ok(Row {
                    form: row.form,
                    own_rounding: row.own_rounding(),
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

#[cfg(test)]
mod tests {
    use super::*;

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
        let in_use = rows::in_use(DIALECT.rows);
        assert_eq!(in_use.len(), 6, "{in_use:?}");
        let none = DIALECT.row("sine", ScalarType::F32, false).unwrap_err();
        assert_eq!(none.why, "Test has no sine on f32");
    }

    /// A misspelt row would never be found: the framework would seem not to have the operator.
    #[test]
    fn every_row_of_every_framework_is_one_that_the_printer_asks_for() {
        for dialect in crate::frameworks::ALL {
            rows::check(dialect.target, dialect.rows, super::super::FORMS);
        }
    }
}
