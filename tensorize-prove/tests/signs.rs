//! What is not negative because of what it is made of, held against all small values.

use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::inputs::Rng;
use tensorize_prove::signs::is_non_negative;

const NAMES: [&str; 4] = ["n", "m", "x", "y"];

fn idx(text: &str) -> Idx {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn shown(p: &str, facts: &[&str]) -> bool {
    let facts: Vec<Idx> = facts.iter().map(|f| idx(f)).collect();
    is_non_negative(&idx(p), &facts.iter().collect::<Vec<_>>())
}

#[test]
fn sums_of_products_are_found() {
    let place = "n*m - m*y - x - 1";
    let round = ["y", "n - y - 1", "x", "m - x - 1"];
    assert!(shown(place, &round));
    assert!(shown("m*y + x", &round));
    assert!(shown("n*m*x + 3*n + 2", &round));
    // Rows that are a window's length longer than what is written of them.
    let window = [
        "k",
        "n - k + 1",
        "m - k + 1",
        "y",
        "n - k - y",
        "x",
        "m - k - x",
    ];
    let row = "(m - k + 1)";
    assert!(shown(
        &format!("(n - k + 1)*{row} - {row}*y - x - 1"),
        &window
    ));
    assert!(shown(
        &format!("c*{row}*(n - k + 1)"),
        &[&window[..], &["c"]].concat()
    ));
    // A window that has an element fits into its row.
    assert!(shown("c*m", &["c", "m - k - x", "k", "x"]));
    assert!(!shown("c*m", &["c", "m - k - x", "x"]));
    // Nothing is known of `c`, rows may be one shorter, and a round may be the last one.
    assert!(!shown(&format!("c*{row}"), &window));
    assert!(!shown(&format!("{row} - 1"), &window[..3]));
    assert!(!shown("n*m - m*y - x - 2", &round));
    assert!(!shown("n - y - 2", &round));
    assert!(!shown(place, &round[..3]));
}

/// A polynomial of up to three terms, of numbers up to 2 and up to two factors.
fn any(rng: &mut Rng) -> Idx {
    let mut sum = Idx::default();
    for _ in 0..1 + rng.below(3) {
        let mut product = Idx::constant(rng.below(5) as i128 - 2);
        for _ in 0..rng.below(3) {
            product = &product * &Idx::sym(NAMES[rng.below(4) as usize]);
        }
        sum = &sum + &product;
    }
    sum
}

#[test]
fn what_is_found_holds_for_all_small_values() {
    let mut rng = Rng::new(7);
    let values: Vec<[i128; 4]> = (0..7i128.pow(4))
        .map(|i| [i, i / 7, i / 49, i / 343].map(|i| i % 7 - 3))
        .collect();
    let at = |p: &Idx, v: &[i128; 4]| {
        let of = |s: &Sym| NAMES.iter().position(|n| **n == **s).map(|i| v[i]);
        p.eval_sizes(&of).unwrap()
    };
    let (mut found, mut not) = (0, 0);
    for _ in 0..4000 {
        let facts: Vec<Idx> = (0..1 + rng.below(4)).map(|_| any(&mut rng)).collect();
        let mut p = Idx::default();
        for _ in 0..1 + rng.below(2) {
            let [a, b] = [0, 1].map(|_| rng.below(facts.len() as u64) as usize);
            p = &p + &(&facts[a] * &facts[b]);
        }
        if rng.below(2) == 0 {
            p = &p + &any(&mut rng);
        }
        if !is_non_negative(&p, &facts.iter().collect::<Vec<_>>()) {
            not += 1;
            continue;
        }
        found += 1;
        let possible = |v: &&[i128; 4]| facts.iter().all(|f| at(f, v) >= 0);
        if let Some(v) = values.iter().filter(possible).find(|v| at(&p, v) < 0) {
            panic!("{p} is negative at {v:?}, where none of {facts:?} is");
        }
    }
    assert!(found > 1000 && not > 1000, "{found} found, {not} not");
}
