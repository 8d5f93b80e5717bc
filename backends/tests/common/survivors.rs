//! Is every row of a target's tables tested? Each is changed in turn so that the generated code computes something else, or
//! promises something else, and a test has to notice: a result differs from the interpreter's, the code does not run, or
//! more or less is refused than is written down in `golden/`.

use super::corpus::{self, Item};
use super::mutants::{Manner, mutants};
use super::python::Run;
use super::{difference, expected, try_generate};
use std::collections::BTreeSet;
use tensorize_backends::cpu::c;
use tensorize_backends::rows::Tables;
use tensorize_backends::simt::{Simt, dialect::Dialect};
use tensorize_backends::{Generated, Target};
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Outputs;

/// What a dialect makes of a function.
struct Made {
    /// As the golden files say it: with C's bits, `real`, or why not.
    said: String,
    /// The texts to run, those that differ.
    modules: Vec<Generated>,
}

fn make(target: &dyn Target, item: &Item) -> Made {
    let exact = try_generate(target, &item.function, Tier::Exact, &item.footprints);
    // Of integers there is one text.
    let real = match &exact {
        Ok(_) if !item.has_floats => exact.clone(),
        _ => try_generate(target, &item.function, Tier::Real, &item.footprints),
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

/// A SIMT target with other rows.
pub fn simt_with(own: &Simt, rows: Tables) -> Box<dyn Target> {
    let c = c::Dialect {
        rows,
        ..own.dialect.c
    };
    let dialect = Box::leak(Box::new(Dialect { c, ..*own.dialect }));
    Box::new(Simt { dialect })
}

/// A mutant's module that is not the dialect's own.
struct Suspect {
    mutant: usize,
    item: usize,
    generated: Generated,
}

/// What code computes, or how it failed.
pub type Found = Result<Vec<Outputs>, String>;

/// A target whose rows are changed, and how its code is run.
pub struct Bench<'a> {
    pub manner: Manner,
    pub tables: Tables,
    /// The target with other tables.
    pub with: &'a dyn Fn(Tables) -> Box<dyn Target>,
    /// What the tests have it compute.
    pub corpus: Vec<Item>,
    /// What each piece of code computes, or how it failed.
    pub run: &'a dyn Fn(&[Run]) -> Vec<Found>,
}

/// Every how many-th change the tests make.
const SAMPLE: usize = 100;

/// What a run says of code that no compiler takes.
pub const NOT_COMPILED: &str = "it does not compile";

/// No change may go unnoticed; all are made if that is asked for.
pub fn none_survives(bench: &Bench) {
    let all = std::env::var_os("TENSORIZE_ROWS").is_some_and(|v| v == "all");
    let survivors = survivors(bench, if all { 1 } else { SAMPLE });
    assert!(
        survivors.is_empty(),
        "no test notices:\n{}",
        survivors.join("\n")
    );
}

/// The changes that no test notices, as lines.
fn survivors(bench: &Bench, every: usize) -> Vec<String> {
    let (name, corpus) = (bench.manner.target, &bench.corpus);
    let target = (bench.with)(bench.tables);
    let own: Vec<Made> = corpus.iter().map(|item| make(&*target, item)).collect();
    let mutants = mutants(bench.tables, bench.manner);
    // At least one, also of few.
    let every = every.min(mutants.len());
    let picked: Vec<usize> = (0..mutants.len())
        .filter(|i| i % every == every / 2)
        .collect();
    assert!(!picked.is_empty());
    let mut alive: BTreeSet<usize> = picked.iter().copied().collect();
    let mut seen: BTreeSet<usize> = BTreeSet::new();
    let mut held: BTreeSet<usize> = BTreeSet::new();
    let mut not_compiled = 0;
    let mut suspects: Vec<Suspect> = Vec::new();
    for &m in &picked {
        let other = (bench.with)(mutants[m].tables(bench.tables));
        for (i, item) in corpus.iter().enumerate() {
            let made = make(&*other, item);
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
            .map(|s| run_of(&corpus[s.item], &s.generated))
            .collect();
        let mut told = BTreeSet::new();
        for (s, found) in round.iter().zip((bench.run)(&runs)) {
            seen.insert(s.mutant);
            let item = &corpus[s.item];
            let want = wanted[s.item].get_or_insert_with(|| wanted_of(item));
            let same = (found.as_ref()).is_ok_and(|f| agree(item, s.generated.tier, f, want));
            if !same && alive.remove(&s.mutant) {
                told.insert(s.item);
                not_compiled += usize::from(found.is_err_and(|why| why == NOT_COMPILED));
            }
        }
        // A test that fails without any change notices nothing.
        told.retain(|i| held.insert(*i));
        let own = told
            .iter()
            .flat_map(|i| own[*i].modules.iter().map(move |g| (*i, g)));
        let own: Vec<(usize, &Generated)> = own.collect();
        let runs: Vec<Run> = own.iter().map(|(i, g)| run_of(&corpus[*i], g)).collect();
        for ((i, g), found) in own.iter().zip((bench.run)(&runs)) {
            let (item, want) = (&corpus[*i], wanted[*i].as_ref().expect("it was asked for"));
            let holds = (found.as_ref()).is_ok_and(|found| agree(item, g.tier, found, want));
            assert!(
                holds,
                "{name} {}, unchanged: {found:?}\n{}",
                item.name, g.files[0].1
            );
        }
    }
    eprintln!(
        "{name}: {} of {} changes of rows noticed, {not_compiled} of them by a compiler, of {} that there are",
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
        format!("{name}: {} => {changed}: {how}", mutants[m].row)
    };
    alive.into_iter().map(line).collect()
}

fn run_of<'a>(item: &'a Item, generated: &'a Generated) -> Run<'a> {
    Run {
        function: &item.function,
        generated,
        calls: &item.calls,
    }
}

fn wanted_of(item: &Item) -> Vec<Outputs> {
    let calls = item.calls.iter();
    calls.map(|c| expected(&item.function, c)).collect()
}

fn agree(item: &Item, tier: Tier, found: &[Outputs], want: &[Outputs]) -> bool {
    let tier = if item.of_library { Tier::Real } else { tier };
    let mut pairs = found.iter().zip(want);
    pairs.all(|(got, want)| difference(tier, got, want).is_none())
}
