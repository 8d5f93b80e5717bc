//! Mutants: whatever the prover accepts has to be right.
//!
//! For every kernel of the demo and of this folder: change the kernel in one place and ask whether it still
//! computes the original's summary; change the summary and ask whether it is still the kernel's; change
//! the generated code and ask whether it is still the summary. An answer "proven" has to stand against
//! small inputs (all of them, up to a limit) and many larger ones that meet the guards it names.

mod change;

use backends::{Kernel, Target, cpu};
use std::path::{Path, PathBuf};
use tensorize_ir::check::{Comparison, compare};
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::{Limits, Palette, Spec, small_values};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::{loopir, tensir};
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Proof, Verdict, prove, prove_generated};

struct Proven {
    kernel: loopir::Function,
    summary: tensir::Function,
    proof: Proof,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn solver() -> Solver {
    cargo_tensorize::tools::solver(&tensorize_prove::solver::find())
        .unwrap_or_else(|_| panic!("Z3 is missing: `cargo xtask setup` installs it"))
}

/// Counterexamples are not needed here: what is refused is refused.
fn options() -> Options {
    Options {
        refute: false,
        ..Options::default()
    }
}

fn kernels(solver: &mut Solver) -> Vec<Proven> {
    let include = format!("-I{}", root().join("tensorize-build/include").display());
    let files = [
        "fixtures/demo/kernels/blend.c",
        "fixtures/demo/kernels/llama.c",
        "fixtures/demo/kernels/dsp.c",
        "tests/mutants/kernels.c",
    ];
    let mut out = Vec::new();
    for file in files {
        let parsed = tensorize_lift::c::parse(&root().join(file), std::slice::from_ref(&include))
            .unwrap_or_else(|p| panic!("{file}: {}", p.message));
        for f in parsed.into_iter().filter(|f| !f.is_static) {
            let kernel = f
                .lowered
                .unwrap_or_else(|p| panic!("{}: {}", f.name, p.message));
            let proposal =
                summarise(&kernel, solver).unwrap_or_else(|r| panic!("{}: {}", f.name, r.message));
            let (summary, verdict) = proposal.prove(&kernel, solver, &options());
            match verdict {
                Verdict::Proven(proof) => out.push(Proven {
                    kernel,
                    summary,
                    proof,
                }),
                other => panic!("{}: {other:?}", f.name),
            }
        }
    }
    out
}

/// Every `n`th mutant; all of them if `TENSORIZE_ALL_MUTANTS` is set, which takes minutes.
fn some<T>(mutants: Vec<T>, n: usize) -> impl Iterator<Item = T> {
    let n = if std::env::var_os("TENSORIZE_ALL_MUTANTS").is_some() {
        1
    } else {
        n
    };
    mutants.into_iter().step_by(n)
}

/// Runs a kernel and a summary on small and on random inputs that meet the guards; what differs, if
/// something does.
fn difference(
    kernel: &loopir::Function,
    summary: &tensir::Function,
    proof: &Proof,
) -> Option<String> {
    let program = Program::new(kernel).expect("a well-formed kernel");
    let spec = Spec::known(&kernel.params, &proof.guards, &proof.footprints);
    let spec = spec.with_constants_of(kernel);
    let (same, palette) = match proof.tier {
        Tier::Exact => (tensorize_ir::check::Same::Exactly, Palette::All),
        Tier::Real => (tensorize_ir::check::Same::Within(1e-3), Palette::Tame),
    };
    let how = Comparison {
        same,
        may_leave_extents: true,
        shrink_runs: 200,
        ..Comparison::default()
    };
    let mut other = |inputs: &tensorize_ir::memory::Inputs| tensir::interpret(summary, inputs);
    let small = spec.exhaustive(Limits {
        per_size: 50,
        // Over the real numbers, nothing is said of infinities and NaN.
        values: if proof.tier == Tier::Exact {
            small_values
        } else {
            real_values
        },
        ..Limits::default()
    });
    let larger = spec.sample(7, 60, palette);
    compare(&program, &mut other, &spec, small.chain(larger), &how)
        .err()
        .map(|d| d.text)
}

fn real_values(ty: ScalarType) -> Vec<Scalar> {
    let mut values = small_values(ty);
    values.retain(|v| !ty.is_float() || v.as_f64().abs() <= 2.0);
    values
}

#[derive(Default)]
struct Count {
    mutants: usize,
    refused: usize,
    equivalent: usize,
    wrong: Vec<String>,
}

impl Count {
    fn add(
        &mut self,
        what: String,
        verdict: &Verdict,
        check: impl FnOnce(&Proof) -> Option<String>,
    ) {
        self.mutants += 1;
        match verdict {
            Verdict::Proven(proof) => match check(proof) {
                None => self.equivalent += 1,
                Some(difference) => self
                    .wrong
                    .push(format!("{what}\n  accepted, but {difference}")),
            },
            _ => self.refused += 1,
        }
    }

    fn report(&self, what: &str, least: usize) {
        println!(
            "{what}: {} mutants, {} refused, {} accepted and equivalent on all inputs tried",
            self.mutants, self.refused, self.equivalent
        );
        assert!(
            self.wrong.is_empty(),
            "accepted, but wrong:\n{}",
            self.wrong.join("\n")
        );
        assert!(
            self.mutants >= least,
            "{} mutants of the {what} are too few",
            self.mutants
        );
        assert!(
            self.refused * 2 > self.mutants,
            "most mutants of the {what} should be refused"
        );
    }
}

#[test]
fn mutants_of_kernels_do_not_pass_for_the_original() {
    let mut solver = solver();
    let mut count = Count::default();
    for p in kernels(&mut solver) {
        for (what, mutant) in some(change::kernels(&p.kernel), 3) {
            let verdict = prove(&mutant, &p.summary, &Summariser, &mut solver, &options());
            count.add(format!("{}: {what}", p.kernel.name), &verdict, |proof| {
                difference(&mutant, &p.summary, proof)
            });
        }
    }
    count.report("kernels", 300);
}

#[test]
fn mutants_of_summaries_are_not_proven() {
    let mut solver = solver();
    let mut count = Count::default();
    for p in kernels(&mut solver) {
        for (what, mutant) in change::summaries(&p.summary) {
            let verdict = prove(&p.kernel, &mutant, &Summariser, &mut solver, &options());
            count.add(format!("{}: {what}", p.kernel.name), &verdict, |proof| {
                difference(&p.kernel, &mutant, proof)
            });
        }
    }
    count.report("summaries", 100);
}

#[test]
fn mutants_of_generated_code_are_not_proven() {
    let mut solver = solver();
    let mut count = Count::default();
    for p in kernels(&mut solver) {
        let generated = cpu::Cpu
            .generate(&Kernel {
                function: &p.summary,
                tier: Tier::Real,
                footprints: &p.proof.footprints,
                source: "mutants",
                signature: Default::default(),
            })
            .unwrap_or_else(|u| panic!("{}: {}", p.kernel.name, u.why));
        let code = generated.loopir.expect("the cpu target lowers to LoopIR");
        let options = options();
        match prove_generated(
            &code,
            &p.summary,
            &p.proof,
            &Summariser,
            &mut solver,
            &options,
        ) {
            Verdict::Proven(_) => {}
            other => panic!("{}: {other:?}\n{code}", p.kernel.name),
        }
        for (what, mutant) in some(change::kernels(&code), 6) {
            let verdict = prove_generated(
                &mutant,
                &p.summary,
                &p.proof,
                &Summariser,
                &mut solver,
                &options,
            );
            count.add(
                format!("generated {}: {what}", p.kernel.name),
                &verdict,
                |proof| difference(&mutant, &p.summary, proof),
            );
        }
    }
    count.report("generated code", 300);
}
