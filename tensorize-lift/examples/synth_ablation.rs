//! Which closed forms are found, and in what time, with the body's expression tree and without it: each C file
//! that is named is lifted twice. `cargo xtask bench synth` runs this over the fixtures.

use std::path::Path;
use std::time::{Duration, Instant};
use tensorize_ir::loopir::Function;
use tensorize_lift::summarise::summarise_with;
use tensorize_lift::synthesise::{Grammar, Synthesiser};
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Verdict};

/// What came of one kernel.
struct Outcome {
    answer: Answer,
    /// Nothing had to be searched for.
    needless: bool,
    time: Duration,
}

#[derive(PartialEq, Eq)]
enum Answer {
    /// Nothing was proven.
    None,
    /// The search found nothing, and the loop is a fold of its own rounds in the summary.
    Fold,
    /// A summary with a closed form that was searched for was proven.
    Solved,
}

fn lift(kernel: &Function, grammar: Grammar, solver: &mut Solver) -> Outcome {
    let options = Options {
        refute: false,
        ..Options::default()
    };
    let synthesiser = Synthesiser::new(grammar);
    let start = Instant::now();
    let proposal = summarise_with(kernel, solver, synthesiser.clone());
    let searched = synthesiser.has_found();
    let answer = match proposal {
        Ok(mut proposal) => {
            if searched {
                proposal.otherwise = None;
            }
            match proposal.prove(kernel, solver, &options) {
                (_, Verdict::Proven(_)) if searched => Answer::Solved,
                (_, Verdict::Proven(_)) => Answer::Fold,
                _ => Answer::None,
            }
        }
        Err(_) => Answer::None,
    };
    Outcome {
        answer,
        needless: !synthesiser.has_searched(),
        time: start.elapsed(),
    }
}

fn main() {
    let Ok(mut solver) = Solver::new(solver::find()) else {
        eprintln!("Z3 is missing: `cargo xtask setup` installs it");
        std::process::exit(1);
    };
    let grammars = [Grammar::Tree, Grammar::Types];
    let (mut needless, mut rows) = (0, Vec::new());
    for file in std::env::args().skip(1) {
        let Ok(functions) = tensorize_lift::c::parse(Path::new(&file), &[]) else {
            eprintln!("{file} could not be read");
            continue;
        };
        for kernel in functions.into_iter().filter_map(|f| f.lowered.ok()) {
            let outcomes = grammars.map(|g| lift(&kernel, g, &mut solver));
            if outcomes[0].needless {
                needless += 1;
            } else {
                rows.push((kernel.name, outcomes));
            }
        }
    }
    println!(
        "{:24} {:>18} {:>18}",
        "kernel", "with the tree", "types only"
    );
    let cell = |o: &Outcome| {
        let answer = match o.answer {
            Answer::None => "-",
            Answer::Fold => "a fold",
            Answer::Solved => "solved",
        };
        format!("{answer} {:8.1} ms", o.time.as_secs_f64() * 1e3)
    };
    for (name, [tree, types]) in &rows {
        println!("{name:24} {:>18} {:>18}", cell(tree), cell(types));
    }
    let total = |i: usize| {
        let solved = rows
            .iter()
            .filter(|(_, o)| o[i].answer == Answer::Solved)
            .count();
        let time: Duration = rows.iter().map(|(_, o)| o[i].time).sum();
        format!("{solved}/{} in {:.2} s", rows.len(), time.as_secs_f64())
    };
    println!("{:24} {:>18} {:>18}", "solved", total(0), total(1));
    println!("{needless} more kernels need no search");
    println!(
        "the paper, Fig. 11: without the expression tree only benchmarks with expressions of depth 1 and 2 are solved"
    );
}
