//! Mutants: whatever the prover accepts has to be right.
//!
//! For every kernel of the demo, of this folder and of the fixtures that is proven: change the kernel in one place and ask whether it still
//! computes the original's summary; change the summary and ask whether it is still the kernel's; change
//! the generated code and ask whether it is still the summary. An answer "proven" has to stand against
//! small inputs (all of them, up to a limit) and many larger ones that meet the guards it names. What those guards look at is
//! held against what the kernel looks at, too.

mod change;
mod guards;

use backends::{Kernel, Target, cpu};
use change::Sample;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tensorize_e2e::parallel::on_all_cores;
use tensorize_ir::check::{Comparison, compare};
use tensorize_ir::effort::{MOST, effort};
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::{Limits, Palette, Spec, small_values};
use tensorize_ir::limit;
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::{loopir, tensir};
use tensorize_lift::left_to_the_original;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Proof, Verdict, prove, prove_generated};

struct Proven {
    kernel: loopir::Function,
    summary: tensir::Function,
    proof: Proof,
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

/// Files whose kernels are all proven, and folders where some may not be yet: other tests say which.
const FILES: [&str; 4] = [
    "fixtures/demo/kernels/blend.c",
    "fixtures/demo/kernels/llama.c",
    "fixtures/demo/kernels/dsp.c",
    "tests/mutants/kernels.c",
];
const FOLDERS: [&str; 4] = [
    "fixtures/proven",
    "fixtures/tenspiler/c",
    "fixtures/tenspiler/vector",
    "fixtures/tenspiler/span",
];

/// What one kernel may take. A long run stands behind other work, and so gets more.
fn patience() -> Duration {
    Duration::from_secs(5) * times().min(12) as u32
}

/// What one mutant may take. Most that take longer would never end: what is cut off says nothing.
fn patience_with_a_mutant() -> Duration {
    patience() * 2 / 5
}

/// Every proven kernel that the repository has.
fn kernels() -> &'static [Proven] {
    static KERNELS: OnceLock<Vec<Proven>> = OnceLock::new();
    KERNELS.get_or_init(|| {
        let mut files = FILES.map(|file| (PathBuf::from(file), true)).to_vec();
        for folder in FOLDERS {
            let more = tensorize_e2e::sources(folder).into_iter();
            files.extend(more.map(|file| (file, false)));
        }
        let proven = on_all_cores(files.len(), solver, |solver, at| {
            let (file, all) = &files[at];
            proven_in(file, *all, solver)
        });
        proven.into_iter().flatten().collect()
    })
}

fn proven_in(file: &Path, all: bool, solver: &mut Solver) -> Vec<Proven> {
    let include = format!(
        "-I{}",
        tensorize_e2e::root()
            .join("tensorize-build/include")
            .display()
    );
    let parsed = tensorize_lift::c::parse(&tensorize_e2e::root().join(file), &[include])
        .unwrap_or_else(|p| panic!("{}: {}", file.display(), p.message));
    let mut out = Vec::new();
    for f in parsed.into_iter().filter(|f| !f.is_static) {
        let kernel = match f.lowered {
            Ok(kernel) => kernel,
            Err(p) if all => panic!("{}: {}", f.name, p.message),
            Err(_) => continue,
        };
        // Where there is no summary of all calls, there may be one of those that leave no loop early.
        let left = left_to_the_original(&kernel);
        for kernel in std::iter::once(kernel).chain(left) {
            match limit::within(patience(), || proven(kernel, solver)) {
                Ok(Ok(proven)) => {
                    out.push(proven);
                    break;
                }
                other if all => panic!("{}: {:?}", f.name, other.map(|r| r.err())),
                _ => {}
            }
        }
    }
    out
}

/// The kernel with its proof, or why there is none.
fn proven(kernel: loopir::Function, solver: &mut Solver) -> Result<Proven, String> {
    let proposal = summarise(&kernel, solver).map_err(|r| r.message)?;
    match proposal.prove(&kernel, solver, &options()) {
        (summary, Verdict::Proven(proof)) => Ok(Proven {
            kernel,
            summary,
            proof,
        }),
        (_, other) => Err(format!("{other:?}")),
    }
}

/// How many times as many mutants as usual were asked for, by `TENSORIZE_MUTANTS`. All of them, from 900 on, take
/// hours.
fn times() -> usize {
    let asked = std::env::var("TENSORIZE_MUTANTS").ok();
    asked.map_or(1, |text| match text.parse() {
        Ok(times @ 1..) => times,
        _ => panic!("TENSORIZE_MUTANTS={text} is not a number from 1 on"),
    })
}

/// Where the prover runs out of time on so many mutants of one kernel, it would on most: nobody waits for them.
const CUT_OFF: usize = 3;

/// So many of one kernel are enough: those of a long one cost as much as those of many others.
const OF_ONE: usize = 12;

/// Every `n`th mutant of every kernel, or as many times more as were asked for; with each, what became of it is added to the
/// count. The kernels are shared among threads.
fn count<T>(
    n: usize,
    mutants: impl Fn(&Proven, Sample, &mut Solver) -> Vec<(String, T)> + Sync,
    judge: impl Fn(&Proven, &T, &mut Solver) -> (Verdict, Option<String>) + Sync,
) -> Count {
    let n = n.div_ceil(times());
    let counts = on_all_cores(kernels().len(), solver, |solver, at| {
        let p = &kernels()[at];
        let (mut count, mut cut_off) = (Count::default(), 0);
        // Another place to start from in each kernel: the changes of one kind come in one order.
        let sample = Sample {
            first: at % n,
            step: n,
            most: OF_ONE * times(),
        };
        for (what, mutant) in mutants(p, sample, solver) {
            let judged = limit::within(patience_with_a_mutant(), || judge(p, &mutant, solver)).ok();
            cut_off += usize::from(judged.is_none());
            count.add(&p.kernel.name, &what, judged);
            if cut_off == CUT_OFF * times() {
                break;
            }
        }
        count
    });
    counts.into_iter().fold(Count::default(), Count::and)
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
    let mut other =
        |inputs: &tensorize_ir::memory::Inputs| tensir::interpret_at(proof.tier, summary, inputs);
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
    // Where the shapes are constants and large, a few cases look at as many elements as many cases do elsewhere.
    const LEAST: usize = 8;
    let start = Instant::now();
    let cases = small.chain(larger).enumerate();
    let cases = cases.take_while(|(n, _)| *n < LEAST || start.elapsed() < patience());
    compare(
        &program,
        &mut other,
        &spec,
        cases.map(|(_, case)| case),
        &how,
    )
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
    /// `None`: the prover ran out of time, and so accepted nothing.
    fn add(&mut self, kernel: &str, what: &str, judged: Option<(Verdict, Option<String>)>) {
        self.mutants += 1;
        match judged {
            Some((Verdict::Proven(_), None)) => self.equivalent += 1,
            Some((Verdict::Proven(_), Some(difference))) => self
                .wrong
                .push(format!("{kernel}: {what}\n  accepted, but {difference}")),
            _ => self.refused += 1,
        }
    }

    fn and(mut self, other: Count) -> Count {
        self.mutants += other.mutants;
        self.refused += other.refused;
        self.equivalent += other.equivalent;
        self.wrong.extend(other.wrong);
        self
    }

    fn report(&self, what: &str, least: usize) {
        println!(
            "{what}: {} mutants of {} kernels, {} refused, {} accepted and equivalent on all inputs tried",
            self.mutants,
            kernels().len(),
            self.refused,
            self.equivalent
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

/// The verdict, and what speaks against it if it is "proven".
fn held(
    verdict: Verdict,
    kernel: &loopir::Function,
    summary: &tensir::Function,
) -> (Verdict, Option<String>) {
    let against = match &verdict {
        Verdict::Proven(proof) => difference(kernel, summary, proof),
        _ => None,
    };
    (verdict, against)
}

#[test]
fn mutants_of_kernels_do_not_pass_for_the_original() {
    let count = count(
        360,
        |p, sample, _| change::kernels(&p.kernel, sample),
        |p, mutant, solver| {
            let verdict = prove(mutant, &p.summary, &Summariser, solver, &options());
            held(verdict, mutant, &p.summary)
        },
    );
    count.report("kernels", 200);
}

#[test]
fn mutants_of_summaries_are_not_proven() {
    let count = count(
        90,
        |p, sample, _| change::summaries(&p.summary, sample),
        |p, mutant, solver| {
            let verdict = prove(&p.kernel, mutant, &Summariser, solver, &options());
            held(verdict, &p.kernel, mutant)
        },
    );
    count.report("summaries", 200);
}

#[test]
fn mutants_of_generated_code_are_not_proven() {
    let count = count(880, generated_mutants, |p, mutant, solver| {
        let verdict = prove_generated(
            mutant,
            &p.summary,
            &p.proof,
            &Summariser,
            solver,
            &options(),
        );
        let verdict = match verdict {
            // The arrays are the original's: code that leaves out a round without an effect may touch fewer places
            // than the summary looks at.
            Verdict::Proven(proof) => Verdict::Proven(Proof {
                footprints: p.proof.footprints.clone(),
                ..proof
            }),
            not_proven => not_proven,
        };
        held(verdict, mutant, &p.summary)
    });
    count.report("generated code", 200);
}

/// The mutants of the code that is generated for `cpu`, if there is some that is proven.
fn generated_mutants(
    p: &Proven,
    sample: Sample,
    solver: &mut Solver,
) -> Vec<(String, loopir::Function)> {
    // What the target can't express has no mutants.
    let Some(code) = generated(p) else {
        return vec![];
    };
    let mutants = change::kernels(&code, sample);
    // To prove the code takes longer than to see that no change of it is in the sample.
    if mutants.is_empty() {
        return mutants;
    }
    let proven = limit::within(patience(), || {
        prove_generated(&code, &p.summary, &p.proof, &Summariser, solver, &options())
    });
    match proven {
        Ok(Verdict::Proven(_)) => mutants,
        _ => vec![],
    }
}

/// The code for `cpu`, if there is any.
fn generated(p: &Proven) -> Option<loopir::Function> {
    let kernel = Kernel {
        function: &p.summary,
        tier: Tier::Real,
        footprints: &p.proof.footprints,
        guards: &p.proof.guards,
        plain: false,
        least_share: None,
        source: "mutants",
        signature: Default::default(),
    };
    let generated = cpu::CPU.generate(&kernel).ok()?;
    Some(generated.loopir.expect("the cpu target lowers to LoopIR"))
}

/// What a loop of the original computes once, no loop of the code for it computes again and again: on many elements it takes
/// about as many steps.
#[test]
fn generated_code_does_the_work_once() {
    /// Of these there is no code (`generate.rs`): what several results of a round are made of is not kept as yet.
    const REFUSED: [&str; 2] = ["conjugate_gradients", "edit_distance"];
    let all = kernels();
    let efforts = on_all_cores(
        all.len(),
        || (),
        |(), at| {
            let p = &all[at];
            let spec = Spec::known(&p.kernel.params, &p.proof.guards, &p.proof.footprints);
            effort(&p.kernel, &generated(p)?, &spec).unwrap()
        },
    );
    let mut compared = 0;
    for (p, effort) in all.iter().zip(efforts) {
        let Some(effort) = effort else { continue };
        let name = p.kernel.name.as_str();
        assert_eq!(
            effort.code.is_none(),
            REFUSED.contains(&name),
            "{name}: {effort:?}, and {MOST} times as many steps are the most"
        );
        compared += 1;
    }
    assert!(compared > 50, "{compared}");
}
