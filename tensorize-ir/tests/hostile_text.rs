//! Text from outside (a summary somebody wrote, a stored entry, an external proposer's answer) may say
//! anything. Reading it gives a value or an error, and never a panic.

use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::{Fresh, Idx};
use tensorize_ir::{limit, loopir, tensir};

use std::path::Path;
use std::time::Duration;

/// Texts that are read as they stand, one for each reader.
const GUARDS: &[&str] = &[
    "rows*cols >= 0",
    "rows*cols fits i32",
    "out[0 .. rows*cols] disjoint in[0 .. rows*cols]",
];
const FOOTPRINTS: &[&str] = &[
    "in[0 .. rows*cols]: reads",
    "out[0 .. max(n, m)]: reads, may write",
];
const INDICES: &[&str] = &[
    "floordiv(4*i + 3, 4) + mod(n - 1, 7)*max(a, b) - 12",
    // The quotient times the divisor would not fit.
    "mod(i - 170141183460469231731687303715884105727, 85070591730234615865843651857942052865)",
];
const LOOPS: &str = "\
void f(const ui8 *restrict a, f32 *out, i32 n) {
  i32 i = 0;
  while #1 @3 (i < n) {
    if (a[i] > 3:ui8) { out[i] = (f32)a[i] * 0.5; }
    i = i + 1;
  }
}
";

/// What stands in the place of a word.
const WORDS: &[&str] = &[
    "",
    "0",
    "-1",
    "9223372036854775807",
    "-170141183460469231731687303715884105728",
    "170141183460469231731687303715884105727",
    "99999999999999999999999999999999999999999999",
    "1e400",
    "nan",
    "inf:f32",
    "0:i1",
    "2:i1",
    "300:u8",
    "%0",
    "%99999999999999999999",
    "#0",
    "#18446744073709551616",
    "n",
    "w",
    "f32",
    "i1",
    "ui8",
    "tensor<f32>",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    ",",
    "=",
    "<",
    ">",
    ":",
    "..",
    "é",
    "\u{1F600}",
    "\"",
    "//",
    "\0",
    "generic",
    "view",
    "fold(a = 0:i32, k < n, a)",
    "floordiv(n, 0)",
    "mod(n, -1)",
    "dimensions = [0, 0, 7]",
    "permutation = [1]",
    "contracting = [9 x 9]",
    "stride = [0]",
    "stride = [-9223372036854775808]",
];

struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

/// Pieces of a text: words, numbers, marks, space.
fn pieces(text: &str) -> Vec<String> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    };
    let mut out: Vec<String> = Vec::new();
    let mut last = 3;
    for c in text.chars() {
        if kind(c) == last && last < 2 {
            out.last_mut().expect("a piece has begun").push(c);
        } else {
            out.push(c.into());
        }
        last = kind(c);
    }
    out
}

/// The text with one to three changes.
fn changed(text: &str, r: &mut Random) -> String {
    let mut p = pieces(text);
    for _ in 0..=r.below(3) {
        let at = r.below(p.len());
        match r.below(5) {
            0 => {
                p.remove(at);
            }
            1 => p.insert(at, p[r.below(p.len())].clone()),
            2 => {
                let other = r.below(p.len());
                p.swap(at, other);
            }
            3 => p.truncate(at),
            _ => p[at] = WORDS[r.below(WORDS.len())].to_owned(),
        }
        if p.is_empty() {
            break;
        }
    }
    p.concat()
}

/// Everything that is done with a summary before it is proven.
fn read_summary(text: &str) -> bool {
    let Ok(f) = text.parse::<tensir::Function>() else {
        return false;
    };
    let again = f.to_string();
    assert_eq!(again.parse::<tensir::Function>().as_ref(), Ok(&f), "{text}");
    let _ = limit::within(Duration::from_secs(2), || {
        for id in 0..f.nodes.len() {
            let rank = f.nodes[id].ty.rank();
            let position: Vec<Idx> = (0..rank).map(|d| Idx::sym(tensir::dim(d))).collect();
            let _ = f.element(id, &position, &mut Fresh::default());
        }
    });
    true
}

fn read_loops(text: &str) -> bool {
    let Ok(f) = text.parse::<loopir::Function>() else {
        return false;
    };
    let _ = f.validate();
    let _ = f.to_string();
    true
}

fn summaries() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut texts = Vec::new();
    for folder in [
        "backends/tests/summaries",
        "fixtures/proven",
        "fixtures/refuted",
    ] {
        for entry in std::fs::read_dir(root.join(folder))
            .expect("a folder")
            .flatten()
        {
            if entry.path().extension().is_some_and(|e| e == "tir") {
                texts.push(std::fs::read_to_string(entry.path()).expect("a text"));
            }
        }
    }
    assert!(texts.len() >= 10, "the folders have moved");
    texts
}

/// Changes every text `times` times; how many are still read.
fn attack(texts: &[String], times: usize, read: impl Fn(&str) -> bool) -> usize {
    let mut r = Random(20);
    for text in texts {
        assert!(read(text), "not read:\n{text}");
    }
    let tries = texts.iter().flat_map(|t| std::iter::repeat_n(t, times));
    tries.filter(|t| read(&changed(t, &mut r))).count()
}

#[test]
fn summaries_are_read_or_refused() {
    assert!(attack(&summaries(), 2000, read_summary) > 100);
}

#[test]
fn loops_are_read_or_refused() {
    assert!(attack(&[LOOPS.to_owned()], 20_000, read_loops) > 100);
}

#[test]
fn guards_footprints_and_indices_are_read_or_refused() {
    let own = |texts: &[&str]| texts.iter().map(|t| t.to_string()).collect::<Vec<_>>();
    let times = 5000;
    assert!(attack(&own(GUARDS), times, |t| t.parse::<Guard>().is_ok()) > 100);
    assert!(attack(&own(FOOTPRINTS), times, |t| t.parse::<Footprint>().is_ok()) > 100);
    assert!(attack(&own(INDICES), times, |t| t.parse::<Idx>().is_ok()) > 100);
}

#[test]
fn deep_nesting_is_refused() {
    let deep = format!("{}1{}", "max(1, ".repeat(100_000), ")".repeat(100_000));
    assert!(deep.parse::<Idx>().is_err());
    let body = format!("{}1:i32{}", "(".repeat(100_000), ")".repeat(100_000));
    let f = format!("i32 f() {{ return {body}; }}");
    assert!(f.parse::<loopir::Function>().is_err());
    let f = format!("void f() {{ {} }}", "if (1:i1) {".repeat(100_000));
    assert!(f.parse::<loopir::Function>().is_err());
}
