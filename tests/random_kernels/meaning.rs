//! Runs kernels in all their forms and compares.

use crate::compiled::{self, Job, Setting};
use crate::generate::{LEN, MAX_SIZE, PRELUDE};
use crate::tree::Kernel;
use std::fmt;
use std::time::Duration;
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::{Rng, Spec, edge_values};
use tensorize_ir::limit;
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::signature::Source;
use tensorize_ir::tensir;
use tensorize_lift::summarise::summarise;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Verdict};

/// Inputs a kernel.
const CASES: usize = 10;
const STEPS: u64 = 200_000;
/// What lifting and proving one kernel may take.
const PATIENCE: Duration = Duration::from_millis(300);

/// What became of a kernel.
#[derive(Default)]
pub struct Outcome {
    /// Why the front end does not read it.
    pub refused: Option<String>,
    /// Inputs on which all agree.
    pub runs: usize,
    /// Inputs on which C leaves the result open.
    pub undefined: usize,
    pub proven: bool,
    /// Whether that is a summary of one of several rounds.
    pub over_time: bool,
    /// Why not, if it was tried.
    pub unproven: Option<String>,
    /// Inputs on which a proven summary agrees.
    pub tensor_runs: usize,
    pub failure: Option<Failure>,
}

/// What is wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    kind: Kind,
    text: String,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// The front end panics, or its LoopIR is malformed.
    Lowering,
    /// The interpreter finds undefined behaviour that can't be there.
    Interpreter,
    /// Compiled code does something else.
    Compiled(Setting),
    /// The proof panics, or what it accepts is wrong.
    Proof,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.text)
    }
}

/// A kernel's place in the batch, its LoopIR, how its parameters come from the source.s, the inputs on which it is defined, and what it leaves behind.
type Ready = (
    usize,
    Function,
    Option<Source>,
    Vec<Inputs>,
    Vec<Vec<Scalar>>,
);

/// Runs the kernels, which are put into one file. Without a solver, nothing is proven.
pub fn judge(
    kernels: &[Kernel],
    wraps: bool,
    settings: &[Setting],
    solver: Option<&mut Solver>,
) -> Vec<Outcome> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("kernels.c");
    let text: String = kernels.iter().map(Kernel::text).collect();
    std::fs::write(&file, format!("{PRELUDE}{text}")).expect("a writable folder");
    let parsed = tensorize_lift::c::parse(&file, &compiled::meaning(wraps))
        .unwrap_or_else(|p| panic!("{}", p.message));
    let mut outcomes = Vec::new();
    let mut ready: Vec<Ready> = Vec::new();
    for (at, kernel) in kernels.iter().enumerate() {
        let mut outcome = Outcome::default();
        let found = parsed.iter().find(|p| p.name == kernel.name);
        match found.map(|p| &p.lowered) {
            None => outcome.refused = Some("not found: by the parser".into()),
            Some(Err(p)) => {
                outcome.refused = Some(format!("{}: {}\n{}", p.code, p.message, kernel.text()))
            }
            Some(Ok(f)) => match interpret(kernel, f, &mut outcome) {
                Ok((cases, results)) => {
                    let signature = found.and_then(|p| p.signature.as_ref());
                    let source = signature.and_then(|s| s.source.clone());
                    ready.push((at, f.clone(), source, cases, results));
                }
                Err(failure) => outcome.failure = Some(failure),
            },
        }
        outcomes.push(outcome);
    }
    for setting in settings {
        let jobs: Vec<Job> = ready
            .iter()
            .map(|(at, lowered, source, cases, _)| Job {
                text: kernels[*at].text(),
                lowered,
                source: source.as_ref(),
                cases,
            })
            .collect();
        match compiled::run(&jobs, *setting, wraps, folder.path()) {
            Ok(found) => {
                for ((at, f, _, cases, expected), found) in ready.iter().zip(found) {
                    let failure = differs(f, cases, expected, &found);
                    let failure = failure.map(|text| Failure {
                        kind: Kind::Compiled(*setting),
                        text: format!("{} {}: {text}", setting.compiler, setting.level),
                    });
                    let own = &mut outcomes[*at].failure;
                    *own = own.take().or(failure);
                }
            }
            Err(why) => {
                // It is some kernel's fault, but nobody knows whose.
                if let Some((at, ..)) = ready.first() {
                    outcomes[*at].failure = Some(Failure {
                        kind: Kind::Compiled(*setting),
                        text: why,
                    });
                }
            }
        }
    }
    if let Some(solver) = solver {
        for (at, f, _, cases, results) in &ready {
            let outcome = &mut outcomes[*at];
            let found = prove(f, cases, results, solver, outcome);
            if outcome.failure.is_none() {
                outcome.failure = found;
            }
        }
    }
    outcomes
}

/// The inputs on which the kernel is defined, and what its LoopIR leaves behind.
fn interpret(
    kernel: &Kernel,
    f: &Function,
    outcome: &mut Outcome,
) -> Result<(Vec<Inputs>, Vec<Vec<Scalar>>), Failure> {
    let lowering = |text: String| Failure {
        kind: Kind::Lowering,
        text,
    };
    let program = Program::new(f).map_err(|stop| lowering(stop.to_string()))?;
    if f.to_string().parse::<Function>().as_ref() != Ok(f) {
        return Err(lowering(format!("its text does not read back\n{f}")));
    }
    let mut rng = Rng::new(kernel.name.bytes().fold(1, |h, b| h * 31 + u64::from(b)));
    let (mut cases, mut results) = (vec![], vec![]);
    for _ in 0..CASES {
        let before = inputs(kernel, f, &mut rng);
        let mut after = before.clone();
        match program.run(&mut after, STEPS) {
            Ok(returned) => {
                results.push(left_behind(f, returned, &after));
                cases.push(before);
            }
            // What the generator did not guard against.
            Err(Stop::Undefined { .. }) if !kernel.guarded => outcome.undefined += 1,
            Err(stop) => {
                return Err(Failure {
                    kind: Kind::Interpreter,
                    text: format!("{stop}\n{before:?}\n{f}"),
                });
            }
        }
    }
    outcome.runs = cases.len();
    Ok((cases, results))
}

fn inputs(kernel: &Kernel, f: &Function, rng: &mut Rng) -> Inputs {
    let wild = kernel.guarded && rng.below(2) == 0;
    let mut inputs = Inputs::default();
    for p in &f.params {
        match p {
            Param::Scalar { name, ty } if matches!(&**name, "n" | "m") => {
                let lo = if kernel.negative_sizes && ty.is_signed() {
                    -1
                } else {
                    0
                };
                let v = lo + i128::from(rng.below((MAX_SIZE - lo) as u64 + 1));
                inputs.scalars.insert(name.clone(), Scalar::int(*ty, v));
            }
            Param::Scalar { name, ty } => {
                inputs.scalars.insert(name.clone(), element(*ty, wild, rng));
            }
            Param::Array { name, elem, .. } => {
                let data = (0..LEN).map(|_| element(*elem, wild, rng)).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    inputs
}

fn element(ty: ScalarType, wild: bool, rng: &mut Rng) -> Scalar {
    if wild && rng.below(4) == 0 {
        return *rng.pick(&edge_values(ty));
    }
    if ty.is_float() {
        let v = (rng.below(4001) as f64 - 2000.0) / 16.0;
        return if ty == ScalarType::F32 {
            Scalar::f32(v as f32)
        } else {
            Scalar::f64(v)
        };
    }
    match rng.below(if wild { 3 } else { 2 }) {
        0 => Scalar::int(
            ty,
            i128::from(rng.below(21)) - if ty.is_signed() { 10 } else { 0 },
        ),
        1 => Scalar::int(ty, i128::from(rng.below(200))),
        _ => Scalar::int(ty, i128::from(rng.bits())),
    }
}

/// In the order of [`compiled::run`].
fn left_behind(f: &Function, returned: Option<Scalar>, after: &Inputs) -> Vec<Scalar> {
    let mut values: Vec<Scalar> = returned.into_iter().collect();
    for p in &f.params {
        if let Param::Array { name, .. } = p {
            values.extend(&after.arrays[name].data);
        }
    }
    values
}

fn differs(
    f: &Function,
    cases: &[Inputs],
    expected: &[Vec<Scalar>],
    found: &[Vec<Scalar>],
) -> Option<String> {
    for ((case, expected), found) in cases.iter().zip(expected).zip(found) {
        for (i, (a, b)) in expected.iter().zip(found).enumerate() {
            if !a.same(*b) {
                return Some(format!(
                    "value {i} is {a} in LoopIR and {b} when compiled\n{case:?}\n{f}"
                ));
            }
        }
    }
    None
}

/// Lifts and proves; a proof has to stand against all the runs.
fn prove(
    f: &Function,
    cases: &[Inputs],
    results: &[Vec<Scalar>],
    solver: &mut Solver,
    outcome: &mut Outcome,
) -> Option<Failure> {
    let failure = |text: String| {
        Some(Failure {
            kind: Kind::Proof,
            text,
        })
    };
    let options = Options {
        refute: false,
        ..Options::default()
    };
    let lift = || {
        let proposal = summarise(f, solver).map_err(|r| r.message)?;
        match proposal.prove(f, solver, &options) {
            (summary, Verdict::Proven(proof)) => Ok((summary, proof)),
            (_, Verdict::Unknown { obligation, .. }) => Err(obligation),
            (_, Verdict::Refuted { inputs, .. }) => Err(inputs),
        }
    };
    let attempt = std::panic::AssertUnwindSafe(|| {
        limit::within(PATIENCE, lift)
            .unwrap_or_else(|work| Err(format!("out of time at {}", work.what)))
    });
    let (summary, proof) = match std::panic::catch_unwind(attempt) {
        Ok(Ok(proven)) => proven,
        Ok(Err(why)) => {
            outcome.unproven = Some(why);
            return None;
        }
        Err(_) => return failure(format!("lifting or proving panics\n{f}")),
    };
    outcome.proven = true;
    outcome.over_time = summary.rounds.is_some();
    let spec = Spec::guarded(&f.params, &proof.guards);
    for (case, expected) in cases.iter().zip(results) {
        if !spec.admits(&case.scalars) {
            continue;
        }
        let found = match tensir::interpret(&summary, case) {
            Ok(outputs) => outputs,
            Err(why) => {
                return failure(format!(
                    "the summary has no result: {why}\n{case:?}\n{summary}\n{f}"
                ));
            }
        };
        let mut after = case.clone();
        after.arrays.extend(found.arrays);
        let found = left_behind(f, found.returned, &after);
        // What overflows is no real number, and neither is what is computed of it.
        let before = left_behind(f, None, case);
        let new = &expected[expected.len() - before.len()..];
        let overflows = new
            .iter()
            .zip(&before)
            .any(|(now, then)| now.ty.is_float() && !now.as_f64().is_finite() && !now.same(*then));
        for (i, (a, b)) in expected.iter().zip(&found).enumerate() {
            if proof.tier == Tier::Real && overflows && a.ty.is_int() {
                continue;
            }
            if !agree(*a, *b, proof.tier) {
                return failure(format!(
                    "proven ({}), but value {i} is {a} in LoopIR and {b} in TensIR\n{case:?}\nguards {:?}\n{summary}\n{f}",
                    proof.tier.name(),
                    proof.guards
                ));
            }
        }
        outcome.tensor_runs += 1;
    }
    None
}

/// Over the real numbers, floats agree roughly, and what was rounded from them is at most one apart.
fn agree(a: Scalar, b: Scalar, tier: Tier) -> bool {
    if a.same(b) || a.ty != b.ty {
        return a.same(b);
    }
    if tier == Tier::Exact || a.ty.is_int() {
        return tier == Tier::Real && a.as_int().abs_diff(b.as_int()) <= 1;
    }
    let (x, y) = (a.as_f64(), b.as_f64());
    !x.is_finite() || (x - y).abs() <= 1e-3 * x.abs().max(y.abs()).max(1.0)
}

/// The smallest kernel that can be found with the same kind of failure.
pub fn shrink(
    mut kernel: Kernel,
    wraps: bool,
    mut failure: Failure,
    settings: &[Setting],
) -> (Kernel, Failure) {
    let chosen: Vec<Setting> = match &failure.kind {
        Kind::Compiled(s) => vec![*s],
        _ => vec![],
    };
    debug_assert!(chosen.iter().all(|s| settings.contains(s)));
    let mut solver = (failure.kind == Kind::Proof).then(crate::solver);
    let mut tries = 400;
    'smaller: loop {
        let candidates: Vec<Kernel> = kernel.smaller().collect();
        for candidate in candidates {
            if tries == 0 {
                break 'smaller;
            }
            tries -= 1;
            let outcome = judge(
                std::slice::from_ref(&candidate),
                wraps,
                &chosen,
                solver.as_mut(),
            )
            .remove(0);
            // What does not compile any more, or has lost its guards, is another failure.
            let same = outcome.failure.filter(|f| {
                f.kind == failure.kind
                    && f.text.contains(" in LoopIR and ")
                        == failure.text.contains(" in LoopIR and ")
            });
            if let Some(found) = same {
                (kernel, failure) = (candidate, found);
                continue 'smaller;
            }
        }
        break;
    }
    (kernel, failure)
}
