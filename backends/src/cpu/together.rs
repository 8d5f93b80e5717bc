//! Results of one shape, which share their loops.

use super::nest::{Nest, Target};
use super::scatter;
use tensorize_ir::index::{Idx, Sym};

/// Puts results of one shape together. None of them reads an array of the function's `own` that another one writes.
pub(super) fn merged(single: &[Nest], own: &[Sym]) -> Vec<Nest> {
    let mut out: Vec<Nest> = Vec::new();
    for nest in single {
        // What goes where the data says has loops of its own.
        let alone = |n: &Nest| scatter::rounds(n).is_some();
        let feeds = |a: &Nest, b: &Nest| {
            let mut written = a.results.iter().filter(|t| own.contains(&t.array));
            written.any(|w| b.results.iter().any(|r| r.reads(&w.array)))
        };
        let same = |n: &Nest| {
            let feed = feeds(n, nest) || feeds(nest, n);
            let apart = alone(n) || alone(nest) || feed || n.takes_turns_with(nest);
            n.extents == nest.extents && !apart && !meet_elsewhere(n, nest)
        };
        // What is stored last in an array stays last.
        let writes = |n: &Nest| {
            let mut own = nest.results.iter();
            own.any(|t| n.results.iter().any(|other| other.array == t.array))
        };
        let since = out.iter().rposition(writes).unwrap_or_default();
        match out.iter().skip(since).position(same) {
            None => out.push(nest.clone()),
            Some(at) => {
                let into = &mut out[since + at];
                let rename = |s: &Sym| {
                    let i = nest.dims.iter().position(|d| d == s)?;
                    Some(Idx::sym(into.dims[i].clone()))
                };
                for t in &nest.results {
                    let value = t.value.substitute(&rename);
                    let index = t.index.substitute(&rename);
                    into.results.push(t.with(index, value));
                }
            }
        }
    }
    out
}

/// Whether a round of one nest writes what the same loops write in another round, as in `out[i]` and `out[i + 1]`.
fn meet_elsewhere(a: &Nest, b: &Nest) -> bool {
    let meet = |s: &Target, t: &Target| {
        let rename = |d: &Sym| {
            let i = b.dims.iter().position(|own| own == d)?;
            Some(Idx::sym(a.dims[i].clone()))
        };
        let distance = (&t.index.substitute(&rename) - &s.index).as_constant();
        let distance = distance.filter(|d| s.array == t.array && *d != 0);
        a.dims.iter().zip(&a.extents).any(|(dim, extent)| {
            let step = s.index.linear_in(dim).and_then(|(c, _)| c.as_constant());
            let rounds = match (distance, step) {
                (Some(d), Some(s)) if s != 0 && d % s == 0 => d / s,
                _ => return false,
            };
            extent.as_constant().is_none_or(|n| rounds.abs() < n)
        })
    };
    a.results
        .iter()
        .any(|s| b.results.iter().any(|t| meet(s, t)))
}
