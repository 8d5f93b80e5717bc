//! Lifts and proves every function of a C file: `cargo run --example prove -- FILE.c`.
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::{Options, Verdict, prove, solver::Solver};
fn main() {
    let home = std::env::var("HOME").unwrap();
    let mut solver =
        Solver::new(format!("{home}/.local/share/cargo-tensorize/venv/bin/z3")).unwrap();
    let args: Vec<String> = std::env::args().collect();
    let verbose = args.len() > 2;
    for f in
        tensorize_lift::c::parse(args[1].as_ref(), &["-Itensorize-build/include".into()]).unwrap()
    {
        let kernel = match &f.lowered {
            Ok(k) => k,
            Err(p) => {
                println!("{}: unsupported {}", f.name, p.message);
                continue;
            }
        };
        if verbose && args[2] != f.name {
            continue;
        }
        if verbose {
            println!("{kernel}");
        }
        let t = std::time::Instant::now();
        let summary = match summarise(kernel, &mut solver) {
            Ok(s) => s,
            Err(r) => {
                println!("{}: no summary: {} (line {})", f.name, r.message, r.line);
                continue;
            }
        };
        let t1 = t.elapsed();
        if verbose {
            println!("{summary}");
        }
        let v = prove(
            kernel,
            &summary,
            &Summariser,
            &mut solver,
            &Options::default(),
        );
        let t2 = t.elapsed() - t1;
        match v {
            Verdict::Proven(p) => {
                let ops: Vec<_> = summary
                    .nodes
                    .iter()
                    .map(|n| n.op.name())
                    .filter(|n| !["view", "constant"].contains(n))
                    .collect();
                println!(
                    "{}: PROVEN {} {} guards, {:?} / {:?}, {} queries: {}",
                    f.name,
                    p.tier.name(),
                    p.guards.len(),
                    t1,
                    t2,
                    solver.queries(),
                    ops.join(" ")
                );
                if verbose {
                    for g in &p.guards {
                        println!("  {g}");
                    }
                    for g in &p.footprints {
                        println!("  {g:?}");
                    }
                }
            }
            Verdict::Refuted { inputs } => println!("{}: REFUTED {inputs}", f.name),
            Verdict::Unknown { obligation, line } => {
                println!("{}: UNKNOWN {obligation} (line {line})", f.name)
            }
        }
    }
}
