//! Tables of operators: how a target spells each of TensIR's, a row an operator.
//!
//! ```text
//! # operator     on       form
//! negate         any      -{a}
//! exponential    float*   np.exp({a})
//! ```
//!
//! * *on*: the operand's types: `any`, `int` (with `i1`), `bool`, `signed`, `unsigned`, `float`, or one type.
//!   `/known` after it: only if the second operand is a literal that C accepts there, whatever the first one is (a divisor
//!   other than zero and -1, a count less than the width). `*`: it rounds as it likes, so that the kernel is of tier *real*.
//! * *form*: the target's text, with the operands' names in braces.
//!
//! The last row that fits counts, so that a target's rows follow those that it shares with others. That every row is
//! tested is a test of its own: `cargo xtask mutate-rows` changes each, and some test has to fail.

use tensorize_ir::scalar::ScalarType;

/// Tables of rows, the most special last.
pub type Tables = &'static [&'static str];

/// A row as it stands in a table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub text: &'static str,
    pub name: &'static str,
    pub on: &'static str,
    pub form: &'static str,
}

impl Row {
    fn parse(line: &'static str) -> Option<Row> {
        let (name, rest) = line.trim().split_once(' ')?;
        let (on, form) = rest.trim_start().split_once(' ')?;
        (!name.starts_with('#')).then(|| Row {
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

    /// Whether it rounds as it likes.
    pub fn own_rounding(&self) -> bool {
        self.on.ends_with('*')
    }
}

/// All rows, in order.
pub(crate) fn all(tables: Tables) -> impl Iterator<Item = Row> {
    let lines = tables.iter().flat_map(|table| table.lines());
    lines.filter_map(Row::parse)
}

/// The row for an operator on a type.
pub(crate) fn find(tables: Tables, name: &str, ty: ScalarType, known: bool) -> Option<Row> {
    all(tables)
        .filter(|r| r.name == name && r.fits(ty, known))
        .last()
}

/// A row that stands in one of our own tables for every type that may be asked for; a test looks.
pub(crate) fn form(tables: Tables, name: &str, ty: ScalarType) -> &'static str {
    find(tables, name, ty, false).map_or_else(
        || unreachable!("a table without {name} on {ty}"),
        |row| row.form,
    )
}

/// A form with texts in its braces.
pub(crate) fn fill(form: &str, texts: &[(&str, &str)]) -> String {
    let (mut s, mut rest) = (String::new(), form);
    while let Some((before, tail)) = rest.split_once('{') {
        let (name, after) = tail.split_once('}').unwrap_or((tail, ""));
        s += before;
        match texts.iter().find(|(n, _)| *n == name) {
            Some((_, text)) => s += text,
            None => s += &format!("{{{name}}}"),
        }
        rest = after;
    }
    s + rest
}

/// The rows that count for some type, as they stand in the tables: after each of the others comes one that fits instead.
pub fn in_use(tables: Tables) -> Vec<&'static str> {
    let all: Vec<Row> = all(tables).collect();
    let counts = |row: &&Row| {
        let after = all.iter().skip_while(|r| !std::ptr::eq(r.text, row.text));
        let after: Vec<&Row> = after.skip(1).filter(|r| r.name == row.name).collect();
        ScalarType::ALL.iter().any(|ty| {
            [false, true]
                .iter()
                .any(|known| row.fits(*ty, *known) && !after.iter().any(|r| r.fits(*ty, *known)))
        })
    };
    all.iter().filter(counts).map(|r| r.text).collect()
}

/// Whether the first column names an operator of TensIR's, or one of these, and the second a type or a class of them.
#[cfg(test)]
pub(crate) fn check(target: &str, tables: Tables, others: &[&str]) {
    use tensorize_ir::op::{BinOp, CmpOp, UnOp};
    for row in all(tables) {
        let known = UnOp::from_name(row.name).is_some()
            || BinOp::from_name(row.name).is_some()
            || CmpOp::from_name(row.name).is_some()
            || others.contains(&row.name);
        assert!(known, "{target}: {}", row.name);
        let class = row.on.trim_end_matches('*').trim_end_matches("/known");
        let types = ScalarType::ALL.iter().map(|t| t.name());
        let classes = ["any", "int", "bool", "signed", "unsigned", "float"];
        let known = types.chain(classes).any(|c| c == class);
        assert!(known, "{target}: {} on {}", row.name, row.on);
    }
}
