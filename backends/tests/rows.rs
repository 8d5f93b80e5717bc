//! Is every row of every framework tested? Each is changed in turn so that the generated code computes something else, or
//! promises something else, and a test has to notice. `cargo xtask mutate-rows` does so for all rows, the tests for a few.
//!
//! What the tests have frameworks compute is `common/corpus.rs`; a change is noticed if a result differs from the
//! interpreter's, if the module raises, or if more or less is refused than is written down in `golden/`.

mod common;

use common::attempts::attempt;
use common::corpus::{self, Item};
use common::python::{Run, python_with};
use common::{difference, expected, try_generate};
use std::collections::BTreeSet;
use tensorize_backends::array::dialect::Dialect;
use tensorize_backends::{Generated, frameworks};
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Outputs;

/// Every how many-th change the tests make.
const SAMPLE: usize = 40;

/// A row, changed.
struct Mutant {
    row: &'static str,
    /// `None`: it is not there.
    changed: Option<String>,
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
const COMMUTE: [&str; 11] = [
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

fn all_of_row(all: &[Mutant], row: &str) -> usize {
    all.iter().filter(|m| std::ptr::eq(m.row, row)).count()
}

fn mutants(dialect: &Dialect) -> Vec<Mutant> {
    let rows = dialect.rows_in_use();
    let mut all = Vec::new();
    for (i, row) in rows.iter().enumerate() {
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
            let alike = name == "of_index" && *n == "convert";
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
        // It would promise C's bits; or take any operand for one that C accepts.
        if on.ends_with('*') && dialect.inexact_floats.is_none() {
            let changed = Some(format!("{name} {} {form}", on.trim_end_matches('*')));
            all.push(Mutant { row, changed });
        }
        if let Some(class) = on.strip_suffix("/known")
            && !UNDOCUMENTED.contains(&(dialect.target, name))
        {
            let changed = Some(format!("{name} {class} {form}"));
            all.push(Mutant { row, changed });
        }
    }
    all
}

/// The dialect with the row changed. It lives as long as the process, as the real ones do.
fn changed(d: &Dialect, mutant: &Mutant) -> &'static Dialect {
    let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
    let table = |table: &&'static str| -> &'static str {
        let lines = table.lines().map(|l| match std::ptr::eq(l, mutant.row) {
            true => mutant.changed.as_deref().unwrap_or(""),
            false => l,
        });
        leak(lines.collect::<Vec<_>>().join("\n"))
    };
    let rows: Vec<&'static str> = d.rows.iter().map(table).collect();
    Box::leak(Box::new(Dialect {
        rows: Box::leak(rows.into_boxed_slice()),
        boundary: d.boundary.clone(),
        ..*d
    }))
}

/// What a dialect makes of a function.
struct Made {
    /// As the golden files say it: with C's bits, `real`, or why not.
    said: String,
    /// The texts to run, those that differ.
    modules: Vec<Generated>,
}

fn make(dialect: &'static Dialect, item: &Item) -> Made {
    let exact = try_generate(dialect, &item.function, Tier::Exact, &[]);
    // Of integers there is one text.
    let real = match &exact {
        Ok(_) if !item.has_floats => exact.clone(),
        _ => try_generate(dialect, &item.function, Tier::Real, &[]),
    };
    let said = corpus::promise(&exact, &real);
    let mut modules: Vec<Generated> = Vec::new();
    for g in [exact, real].into_iter().flatten() {
        if modules.iter().all(|m| m.files != g.files) {
            modules.push(g);
        }
    }
    Made { said, modules }
}

/// A mutant's module that is not the dialect's own.
struct Suspect {
    mutant: usize,
    item: usize,
    generated: Generated,
}

/// The changes that no test notices, as lines.
fn survivors(dialect: &'static Dialect, every: usize) -> Vec<String> {
    let Some(python) = python_with(dialect.package) else {
        return vec![];
    };
    let corpus = corpus::all();
    let own: Vec<Made> = corpus.iter().map(|item| make(dialect, item)).collect();
    let mutants = mutants(dialect);
    let picked: Vec<usize> = (0..mutants.len())
        .filter(|i| i % every == every / 2)
        .collect();
    assert!(!picked.is_empty());
    let mut alive: BTreeSet<usize> = picked.iter().copied().collect();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut suspects: Vec<Suspect> = Vec::new();
    for &m in &picked {
        let other = changed(dialect, &mutants[m]);
        for (i, item) in corpus.iter().enumerate() {
            let made = make(other, item);
            if made.said != own[i].said {
                alive.remove(&m);
                break;
            }
            let differ = made
                .modules
                .into_iter()
                .filter(|g| own[i].modules.iter().all(|o| o.files != g.files));
            suspects.extend(differ.map(|generated| Suspect {
                mutant: m,
                item: i,
                generated,
            }));
        }
        suspects.retain(|s| alive.contains(&s.mutant));
    }
    // The quickest first; of those that nothing has told apart yet, the others.
    let size = |s: &Suspect| {
        corpus[s.item]
            .calls
            .iter()
            .flat_map(|c| c.arrays.values())
            .map(|b| b.data.len())
            .sum::<usize>()
    };
    suspects.sort_by_key(|s| (s.mutant, size(s)));
    let mut wanted: Vec<Option<Vec<Outputs>>> = corpus.iter().map(|_| None).collect();
    for at_once in [1, 4, usize::MAX] {
        let mut round: Vec<Suspect> = Vec::new();
        let mut later = Vec::new();
        for s in suspects {
            match alive.contains(&s.mutant) {
                false => {}
                true if round
                    .iter()
                    .rev()
                    .take_while(|r| r.mutant == s.mutant)
                    .count()
                    < at_once =>
                {
                    round.push(s)
                }
                true => later.push(s),
            }
        }
        suspects = later;
        let runs: Vec<Run> = round
            .iter()
            .map(|s| Run {
                function: &corpus[s.item].function,
                generated: &s.generated,
                calls: &corpus[s.item].calls,
            })
            .collect();
        for (s, found) in round.iter().zip(attempt(&python, &runs)) {
            seen.insert(s.mutant);
            let item = &corpus[s.item];
            let want = wanted[s.item].get_or_insert_with(|| {
                item.calls
                    .iter()
                    .map(|c| expected(&item.function, c))
                    .collect()
            });
            let same = found.is_ok_and(|found| {
                found
                    .iter()
                    .zip(want)
                    .all(|(got, want)| difference(s.generated.tier, got, want).is_none())
            });
            if !same {
                alive.remove(&s.mutant);
            }
        }
    }
    eprintln!(
        "{}: {} of {} changes of rows noticed, of {} that there are",
        dialect.target,
        picked.len() - alive.len(),
        picked.len(),
        mutants.len()
    );
    let line = |m: usize| {
        let how = if seen.contains(&m) {
            "the same results"
        } else {
            "in no test"
        };
        let changed = mutants[m].changed.as_deref().unwrap_or("nothing");
        format!("{}: {} => {changed}: {how}", dialect.target, mutants[m].row)
    };
    alive.into_iter().map(line).collect()
}

fn rows(target: &str) {
    let all = std::env::var_os("TENSORIZE_ROWS").is_some_and(|v| v == "all");
    let dialect = frameworks::ALL
        .iter()
        .find(|d| d.target == target)
        .expect("a framework");
    let survivors = survivors(dialect, if all { 1 } else { SAMPLE });
    assert!(
        survivors.is_empty(),
        "no test notices:\n{}",
        survivors.join("\n")
    );
}

macro_rules! frameworks {
    ($($name:ident),*) => { $(
        mod $name {
            #[test]
            fn rows() {
                super::rows(stringify!($name));
            }
        }
    )* };
}

frameworks!(numpy, jax, pytorch, tensorflow, mlx, dask);
