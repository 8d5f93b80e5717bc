//! Counters that are used for one loop after the other, as in C of old: `int i; for (i = 0; …) …; for (i = 0; …) …`. What such a
//! variable holds has nothing to do with what it held before it was set anew.

use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Stmt, rename_variables};

/// Gives each loop after another one a counter of its own.
pub(super) fn told_apart(body: &mut [Stmt], fresh: &mut dyn FnMut(&str) -> Sym) {
    let mut set: BTreeMap<Sym, Vec<usize>> = BTreeMap::new();
    for (at, stmt) in body.iter().enumerate() {
        if let Stmt::Assign { var, ty, value } = stmt
            && ty.is_int()
            && !value.mentions(var)
        {
            set.entry(var.clone()).or_default().push(at);
        }
    }
    for (var, at) in set {
        let ends = at.iter().skip(1).copied().chain([body.len()]);
        let all: Vec<(usize, usize)> = at.iter().copied().zip(ends).collect();
        let counts = |(from, to): &(usize, usize)| {
            body[*from..*to]
                .iter()
                .any(|s| matches!(s, Stmt::Loop(l) if l.cond.mentions(&var)))
        };
        let later: Vec<_> = all.iter().copied().filter(counts).skip(1).collect();
        for (from, to) in later {
            let names = BTreeMap::from([(var.clone(), fresh(&var))]);
            rename_variables(&mut body[from..to], &names);
        }
    }
}
