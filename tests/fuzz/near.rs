//! Inputs for fuzzers: what a corpus holds, changed in a few places. proptest makes a failing one as small as it can.
//!
//! Each crate's fuzzer has this file as a module of its own. The usual run takes seconds; `TENSORIZE_FUZZ=100` takes a
//! hundred times as many inputs. What was found goes into the corpus, `tests/fuzz/corpus/`.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::fs;
use std::path::Path;

/// One change of an input.
#[derive(Clone, Debug)]
enum Change {
    Flip(Index, u8),
    Cut(Index, usize),
    End(Index),
    Repeat(Index, usize, usize),
    Insert(Index, &'static str),
    /// From another input, from one place of it on.
    Join(Index, Index),
    /// A number becomes another one.
    Number(Index, &'static str),
}

/// What parsers stumble over.
const WORDS: &[&str] = &[
    "\0",
    "\n",
    "\r\n",
    "\"",
    "'''",
    "\\",
    "é",
    "\u{1F600}",
    "\u{FEFF}",
    "#",
    "=",
    "[[",
    "]]",
    "{",
    "}",
    "(",
    ")",
    ",",
    ":",
    "..",
    "../",
    "%",
    " ",
    "\t",
    "ok ",
    "error ",
    "nan",
    "-",
    "true",
];

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "00",
    "1e999",
    "4294967296",
    "9223372036854775807",
    "18446744073709551616",
    "170141183460469231731687303715884105728",
    "99999999999999999999999999999999999999999999",
    "0x",
    "+7",
];

/// The files of a folder of the corpus.
pub fn corpus(folder: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fuzz/corpus");
    let listed = fs::read_dir(root.join(folder)).expect("the corpus is there");
    let mut paths: Vec<_> = listed.map(|e| e.expect("a file").path()).collect();
    paths.sort();
    paths.iter().map(|p| fs::read(p).expect("a file")).collect()
}

/// How many inputs to try.
pub fn config(usual: u32) -> ProptestConfig {
    let times = std::env::var("TENSORIZE_FUZZ").ok();
    let times = times.and_then(|t| t.parse().ok()).unwrap_or(1);
    ProptestConfig {
        cases: usual.saturating_mul(times),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Inputs with up to six changes; without any, they are those of the corpus.
pub fn near(corpus: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let change = prop_oneof![
        (any::<Index>(), 0..8u8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        (any::<Index>(), 1..40usize).prop_map(|(at, n)| Change::Cut(at, n)),
        any::<Index>().prop_map(Change::End),
        (any::<Index>(), 1..40usize, 1..60usize).prop_map(|(at, n, t)| Change::Repeat(at, n, t)),
        (any::<Index>(), select(WORDS)).prop_map(|(at, w)| Change::Insert(at, w)),
        (any::<Index>(), any::<Index>()).prop_map(|(at, from)| Change::Join(at, from)),
        (any::<Index>(), select(NUMBERS)).prop_map(|(at, w)| Change::Number(at, w)),
    ];
    let input = || select(corpus.clone());
    (input(), input(), vec(change, 0..6)).prop_map(|(input, other, changes)| {
        let change = |input, change| changed(input, &other, &change);
        changes.into_iter().fold(input, change)
    })
}

fn changed(mut input: Vec<u8>, other: &[u8], change: &Change) -> Vec<u8> {
    let place = |at: &Index, of: &[u8]| at.index(of.len() + 1);
    match change {
        Change::Flip(at, bit) => {
            let at = place(at, &input);
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << bit;
            }
        }
        Change::Cut(at, n) => {
            let at = place(at, &input);
            input.drain(at..(at + n).min(input.len()));
        }
        Change::End(at) => input.truncate(place(at, &input)),
        Change::Repeat(at, n, times) => {
            let at = place(at, &input);
            let part = input[at..(at + n).min(input.len())].repeat(*times);
            input.splice(at..at, part);
        }
        Change::Insert(at, word) => {
            let at = place(at, &input);
            input.splice(at..at, word.bytes());
        }
        Change::Join(at, from) => {
            input.truncate(place(at, &input));
            input.extend(&other[place(from, other)..]);
        }
        Change::Number(at, number) => {
            let from = place(at, &input);
            let digit = |i: usize| input.get(i).is_some_and(u8::is_ascii_digit);
            if let Some(start) = (from..input.len()).find(|i| digit(*i)) {
                let end = (start..=input.len()).find(|i| !digit(*i)).unwrap_or(start);
                input.splice(start..end, number.bytes());
            }
        }
    }
    input
}
