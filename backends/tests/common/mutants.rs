//! Changes of rows of operators, as a table of them might be wrong.

use std::collections::BTreeSet;
use tensorize_backends::rows::{self, Tables};

/// A row, changed.
pub struct Mutant {
    pub row: &'static str,
    /// `None`: it is not there.
    pub changed: Option<String>,
}

impl Mutant {
    /// The tables with the row changed. They live as long as the process, as the real ones do.
    pub fn tables(&self, tables: Tables) -> Tables {
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        let table = |table: &&'static str| -> &'static str {
            let lines = table.lines().map(|l| match std::ptr::eq(l, self.row) {
                true => self.changed.as_deref().unwrap_or(""),
                false => l,
            });
            leak(lines.collect::<Vec<_>>().join("\n"))
        };
        let tables: Vec<&'static str> = tables.iter().map(table).collect();
        Box::leak(tables.into_boxed_slice())
    }
}

/// A row's parts: the operator, what it is on, the form.
fn parts(row: &str) -> (&str, &str, &str) {
    let (name, rest) = row.trim().split_once(' ').expect("a row");
    let (on, form) = rest.trim_start().split_once(' ').expect("a row");
    (name, on, form.trim())
}

fn braces(form: &str) -> BTreeSet<&str> {
    let names = form.split('{').skip(1).filter_map(|s| s.split('}').next());
    names.filter(|n| *n != "m").collect()
}

/// Words that mean the opposite of each other.
const OPPOSITES: [(&str, &str); 8] = [
    ("maximum", "minimum"),
    ("lowest", "highest"),
    ("logical_and", "logical_or"),
    ("bitwise_and", "bitwise_or"),
    (".all(", ".any("),
    ("={exclusive}", "=not {exclusive}"),
    ("={reverse}", "=not {reverse}"),
    ("={larger}", "=not {larger}"),
];

/// For these the operands' order is no matter.
const COMMUTE: [&str; 15] = [
    "EQ",
    "NE",
    "wrapping_add",
    "wrapping_multiply",
    "add",
    "multiply",
    "and",
    "or",
    "xor",
    "maximum",
    "minimum",
    "maximum_number",
    "minimum_number",
    "index_maximum",
    "index_minimum",
];

/// Here the operator does what C's does on every operand today, though nobody says that it will: rows that ask for a literal
/// are for caution.
const UNDOCUMENTED: [(&str, &str); 3] = [
    ("pytorch", "shift_left"),
    ("pytorch", "shift_right_arithmetic"),
    ("pytorch", "shift_right_logical"),
];

/// Operators with one meaning.
const ALIKE: [(&str, &str); 1] = [("of_index", "convert")];
/// The same on truth values.
const SAME_OF_BITS: [(&str, &str); 2] = [
    ("reduce_or", "reduce_maximum"),
    ("reduce_and", "reduce_minimum"),
];

fn all_of_row(all: &[Mutant], row: &str) -> usize {
    all.iter().filter(|m| std::ptr::eq(m.row, row)).count()
}

/// What a target has to do with its rows, besides printing them.
#[derive(Clone, Copy)]
pub struct Manner {
    /// The target's name.
    pub target: &'static str,
    /// Whether a star says that there is no promise of C's bits.
    pub stars: bool,
    /// Whether forms are C's expressions, with conditions and literals of their own.
    pub expressions: bool,
    /// Whether only the last table's rows are changed: the others are those of another target.
    pub only_last: bool,
}

/// All changes of these tables' rows.
pub fn mutants(tables: Tables, manner: Manner) -> Vec<Mutant> {
    let rows = rows::in_use(tables);
    let mut all = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let of_last = || {
            tables
                .last()
                .is_some_and(|t| t.lines().any(|l| std::ptr::eq(l, *row)))
        };
        if manner.only_last && !of_last() {
            continue;
        }
        let (name, on, form) = parts(row);
        // What only says that there is such an operator, or that there is none.
        if form.starts_with('!') || name == "order" {
            all.push(Mutant { row, changed: None });
            continue;
        }
        let replace = |form: &str| Some(format!("{name} {on} {form}"));
        let before = all_of_row(&all, row);
        // The opposite of what it does, or says to the function that it calls.
        for (one, opposite) in OPPOSITES {
            for (from, to) in [(one, opposite), (opposite, one)] {
                if form.contains(from) && !(from == opposite && form.contains(one)) {
                    all.push(Mutant {
                        row,
                        changed: replace(&form.replacen(from, to, 1)),
                    });
                }
            }
        }
        let turned = all_of_row(&all, row) > before && !form.contains("={exclusive}");
        // Another operator's form with the same operands.
        let mut others = rows[i + 1..].iter().chain(&rows[..i]).map(|r| parts(r));
        let other = others.find(|(n, _, f)| {
            let alike =
                ALIKE.contains(&(name, n)) || on == "bool" && SAME_OF_BITS.contains(&(name, n));
            *n != name && !alike && *f != form && !f.starts_with('!') && braces(f) == braces(form)
        });
        let operands = braces(form);
        let text = match other {
            // A literal may stand for a table of one, and the other way round.
            _ if form.contains("{v}") => Some(form.replace("{v}", "-{v}")),
            _ if form == "{a}" => Some("~{a}".into()),
            _ if name == "type" => {
                let mut types = rows[i + 1..].iter().chain(&rows[..i]).map(|r| parts(r));
                types.find(|(n, ..)| *n == name).map(|t| t.2.into())
            }
            _ if turned => None,
            Some((_, _, form)) => Some(form.into()),
            None if operands.contains("b") && !COMMUTE.contains(&name) => None,
            None if operands.contains("a") => Some("{a}".into()),
            None => Some(format!("1 + {form}")),
        };
        if let Some(text) = text {
            all.push(Mutant {
                row,
                changed: replace(&text),
            });
        }
        if operands.contains("b") && !COMMUTE.contains(&name) {
            let swapped = form.replace("{a}", "{%}").replace("{b}", "{a}");
            all.push(Mutant {
                row,
                changed: replace(&swapped.replace("{%}", "{b}")),
            });
        }
        if manner.expressions {
            let edits = without_conditions(form)
                .into_iter()
                .chain(other_numbers(form));
            all.extend(edits.map(|form| Mutant {
                row,
                changed: replace(&form),
            }));
        }
        // It would promise C's bits; or take any operand for one that C accepts.
        if on.ends_with('*') && manner.stars {
            let changed = Some(format!("{name} {} {form}", on.trim_end_matches('*')));
            all.push(Mutant { row, changed });
        }
        if let Some(class) = on.strip_suffix("/known")
            && !UNDOCUMENTED.contains(&(manner.target, name))
        {
            let changed = Some(format!("{name} {class} {form}"));
            all.push(Mutant { row, changed });
        }
    }
    all
}

/// `c ? x : y` without a condition of its chain: as if it never held.
fn without_conditions(form: &str) -> Vec<String> {
    let (mut depth, mut questions, mut colons) = (0, Vec::new(), Vec::new());
    for (at, c) in form.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '?' if depth == 0 => questions.push(at),
            ':' if depth == 0 => colons.push(at),
            _ => {}
        }
    }
    let mut all = Vec::new();
    for (i, (_, colon)) in questions.iter().zip(&colons).enumerate() {
        let begins = match i {
            0 => 0,
            _ => colons[i - 1] + 1,
        };
        let rest = form[..begins].trim_end().to_owned() + " " + form[colon + 1..].trim();
        all.push(rest.trim().to_owned());
    }
    all
}

/// Each number of the form, one larger; where numbers less than none are told apart, one less.
fn other_numbers(form: &str) -> Vec<String> {
    let bytes = form.as_bytes();
    let in_word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c == b'.';
    let mut all = Vec::new();
    for at in 0..bytes.len() {
        let begins = at == 0 || !in_word(bytes[at - 1]);
        if !bytes[at].is_ascii_digit() || !begins {
            continue;
        }
        let digits = form[at..].bytes().take_while(u8::is_ascii_digit).count();
        let number: u64 = form[at..at + digits].parse().expect("digits");
        let other = match form[..at].ends_with("< ") {
            true => format!("-{}", number + 1),
            false => (number + 1).to_string(),
        };
        all.push(format!("{}{other}{}", &form[..at], &form[at + digits..]));
    }
    all
}
