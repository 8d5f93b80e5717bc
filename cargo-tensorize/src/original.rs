//! The compiled original against summaries and generated code, for all proven kernels of one file.

use crate::cases::Verdict;
use crate::device;
use crate::diagnostics::Diagnostic;
use crate::differential::{self, Differential, Effort, Failure, Mismatch, Variant};
use crate::generate;
use crate::pipeline::{Kernel, micros};
use crate::python;
use crate::report::{NOT_RUN, TargetStatus};
use crate::scratch::Scratch;
use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};
use std::time::Instant;
use tensorize_build::record::{Evidence, Places};
use tensorize_ir::check::{Comparison, Tally, first_difference};
use tensorize_ir::memory::Inputs;
use tensorize_ir::signature::Language;
use tensorize_ir::{loopir, tensir};

const REPORT_IT: &str =
    "this is a bug in cargo-tensorize: please report it, with the kernel's source and these inputs";

/// Runs the originals. What differs is withdrawn; what can't be run is not swapped in.
pub fn check(kernels: &mut [Kernel]) {
    compiled(kernels);
    interpreted(kernels);
    on_devices(kernels);
}

/// Generated kernels for GPUs.
fn on_devices(kernels: &mut [Kernel]) {
    for target in backends::targets().iter().filter(|t| t.runs_on_device()) {
        for kernel in kernels.iter_mut() {
            on_device(kernel, target.name());
        }
    }
}

fn on_device(kernel: &mut Kernel, target: &str) {
    let (Some(artefact), Some(proven)) = (kernel.artefacts.get(target), &kernel.proven) else {
        return;
    };
    let start = Instant::now();
    let outcome = device::check(proven, artefact, target);
    kernel.report.times_us.differential += micros(start.elapsed());
    match outcome {
        device::Outcome::Ran(verdict, on) => ran(kernel, target, &verdict, &on),
        device::Outcome::NotRun(why) => {
            let help = "code is stored where it has been run: see docs/gpus.md for the drivers";
            could_not_run(kernel, target, &why, help);
        }
    }
}

/// What comes of a run of generated code beside the original.
fn ran(kernel: &mut Kernel, target: &str, verdict: &Verdict, on: &str) {
    match verdict {
        Ok(tally) if tally.compared == 0 => {
            let why = "no input that has elements is small enough to be tried";
            let help = "calls stay the original's; where sizes are constants in the source, smaller ones can be run";
            could_not_run(kernel, target, why, help);
        }
        Ok(tally) => kernel.passed(target, tally.max_relative_error, on),
        Err(why) => bad_code(kernel, target, why),
    }
}

/// Generated Python, for the kernels that passed: one framework after the other.
fn interpreted(kernels: &mut [Kernel]) {
    for target in backends::targets() {
        if let Some(package) = target.python_package().or(target.partly_python()) {
            in_framework(kernels, target.name(), package);
        }
    }
}

fn in_framework(kernels: &mut [Kernel], target: &str, package: &str) {
    let start = Instant::now();
    let has_code = |k: &Kernel| {
        let artefact = k.artefacts.get(target);
        artefact.is_some_and(|a| a.extension == "py")
    };
    let todo: Vec<usize> = (0..kernels.len())
        .filter(|i| has_code(&kernels[*i]))
        .collect();
    if todo.is_empty() {
        return;
    }
    let work: Vec<_> = todo
        .iter()
        .map(|i| (&kernels[*i], &kernels[*i].artefacts[target]))
        .collect();
    let (verdicts, ran_on) = match python::check(&work, package) {
        Ok(ran) => (Ok(ran.verdicts), ran.on),
        Err(why) => (Err(why), String::new()),
    };
    let share = micros(start.elapsed()) / todo.len() as u64;
    for (n, i) in todo.iter().enumerate() {
        let kernel = &mut kernels[*i];
        kernel.report.times_us.differential += share;
        match verdicts.as_ref().map(|v| &v[n]) {
            Ok(verdict) => ran(kernel, target, verdict, &ran_on),
            Err(why) => {
                let help = format!(
                    "`cargo tensorize doctor` names the command that installs {package}; without `{target}` among `targets` in \
                     `[package.metadata.tensorize]` nobody asks for it"
                );
                without(kernel, target, why);
                // Once is enough: it is so for every kernel.
                if TOLD.lock().is_ok_and(|mut told| told.insert(why.clone())) {
                    say_not_run(kernel, target, why, &help);
                }
            }
        }
    }
}

/// Why frameworks don't run here, as far as that was said.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

fn could_not_run(kernel: &mut Kernel, target: &str, why: &str, help: &str) {
    say_not_run(kernel, target, why, help);
    without(kernel, target, why);
}

fn say_not_run(kernel: &mut Kernel, target: &str, why: &str, help: &str) {
    let message = format!("no code for {target}: the code could not be run: {why}");
    let d = Diagnostic::warning(NOT_RUN, message).at(Some(kernel.span.clone()));
    kernel.report.diagnostics.push(d.help(help));
}

fn without(kernel: &mut Kernel, target: &str, why: &str) {
    kernel.drop_target(target, &format!("the code could not be run: {why}"));
    if let Some(report) = kernel.report.targets.get_mut(target) {
        report.status = TargetStatus::NotRun;
    }
}

fn compiled(kernels: &mut [Kernel]) {
    let mut todo: Vec<&mut Kernel> = kernels.iter_mut().filter(|k| k.proven.is_some()).collect();
    // A kernel without a signature can't be called. (All of its types are known if it was proven.)
    todo.retain(|k| k.signature.is_some());
    run_all(todo);
}

fn run_all(mut todo: Vec<&mut Kernel>) {
    // Once more without the targets that failed.
    while !todo.is_empty() {
        let start = Instant::now();
        let built = build(&todo);
        let share = micros(start.elapsed()) / todo.len() as u64;
        todo.iter_mut()
            .for_each(|k| k.report.times_us.differential += share);
        match built {
            Ok(program) => todo.retain_mut(|k| one(k, &program)),
            // One whose parameters can't be built must not spoil the others.
            Err(_) if todo.len() > 1 && todo.iter().any(|k| is_described(k)) => {
                let (alone, together): (Vec<_>, Vec<_>) =
                    todo.into_iter().partition(|k| is_described(k));
                for kernel in alone {
                    run_all(vec![kernel]);
                }
                run_all(together);
                return;
            }
            Err(e) => {
                todo.iter_mut().for_each(|k| not_run(k, &e.to_string()));
                return;
            }
        }
    }
}

/// Whether the source's parameters are others than the flat ones.
fn is_described(kernel: &Kernel) -> bool {
    kernel
        .signature
        .as_ref()
        .is_some_and(|s| s.source.is_some())
}

/// Runs the compiled original on the inputs of a counterexample: what it says of the summary, in words.
pub fn replay(
    kernel: &Kernel,
    function: &loopir::Function,
    summary: &tensir::Function,
    case: &Inputs,
) -> String {
    match try_replay(kernel, function, summary, case) {
        Ok(Some(difference)) => format!("the compiled original says so, too: {difference}"),
        Ok(None) => format!(
            "the compiled original agrees with the summary on these inputs: it was read wrongly; {REPORT_IT}"
        ),
        Err(why) => format!("the compiled original could not be asked: {why}"),
    }
}

fn try_replay(
    kernel: &Kernel,
    function: &loopir::Function,
    summary: &tensir::Function,
    case: &Inputs,
) -> Result<Option<String>, String> {
    let signature = kernel.signature.clone().ok_or("its types are not known")?;
    let program = Differential::build(
        &kernel.source.absolute(),
        &kernel.source.settings.dir,
        &kernel.source.compiler_args(),
        &[(kernel.report.name.clone(), signature)],
        &[],
    )
    .map_err(|e| e.to_string())?;
    let job = program.job(0, &function.params, case);
    let outcomes = job.and_then(|job| program.run(&[job]));
    let outcome = outcomes.map_err(|e| e.to_string())?.pop();
    let found = outcome
        .ok_or("it gives no answer")?
        .outputs(&function.params)?;
    let expected = tensir::interpret(summary, case)?;
    let how = Comparison {
        names: ("the original", "the summary"),
        ..Comparison::default()
    };
    Ok(first_difference(
        &found,
        &expected,
        &how,
        &mut Tally::default(),
    ))
}

/// As a build compiles generated code, so that nothing is seen there for the first time.
static OPENMP: LazyLock<Vec<&str>> = LazyLock::new(|| {
    let links = Scratch::new().ok().and_then(|scratch| {
        let cc = tensorize_build::Settings::default().cc(Language::C);
        tensorize_build::openmp(&cc, scratch.path())
    });
    links
        .map(|_| backends::cpu::OPENMP_FLAG)
        .into_iter()
        .collect()
});

fn build(kernels: &[&mut Kernel]) -> Result<Differential, differential::Error> {
    let functions: Vec<_> = kernels
        .iter()
        .filter_map(|k| Some((k.report.name.clone(), k.signature.clone()?)))
        .collect();
    let mut variants = Vec::new();
    // For code that is for a device which is not here.
    let include = tensorize_emulation::include_dir().display().to_string();
    let flags = |own: &[&str]| -> Vec<String> {
        let own = own.iter().map(|f| (*f).to_owned());
        own.chain(["-I".to_owned(), include.clone()]).collect()
    };
    let c_flags = flags(&[backends::cpu::CFLAGS, &*OPENMP].concat());
    let cpp_flags = flags(&["-std=gnu++17", "-O2", "-fno-exceptions", "-fno-rtti"]);
    for (of, k) in kernels.iter().enumerate() {
        for (target, artefact) in &k.artefacts {
            let language = match artefact.extension.as_str() {
                "c" => Language::C,
                "cpp" => Language::Cpp,
                _ => continue,
            };
            variants.push(Variant {
                name: target.clone(),
                of,
                symbol: artefact.entry.clone(),
                source: artefact.text.clone(),
                flags: match language {
                    Language::C => c_flags.clone(),
                    Language::Cpp => cpp_flags.clone(),
                },
                language,
                tier: artefact.tier,
                guards: artefact.guards.clone(),
            });
        }
    }
    let Some(source) = kernels.first().map(|k| &k.source) else {
        return Err(differential::Error::Source(
            "there is nothing to run".into(),
        ));
    };
    let dir = &source.settings.dir;
    Differential::build(
        &source.absolute(),
        dir,
        &source.compiler_args(),
        &functions,
        &variants,
    )
}

/// Whether the kernel has to be run once more, because a target failed.
fn one(kernel: &mut Kernel, program: &Differential) -> bool {
    let Some((proven, function)) = kernel
        .proven
        .as_ref()
        .zip(program.function(&kernel.report.name))
    else {
        return false;
    };
    let start = Instant::now();
    let subject = differential::Kernel {
        function,
        lifted: &proven.function,
        summary: &proven.summary,
        proof: &proven.proof,
    };
    let result = program.check(&subject, &Effort::default());
    kernel.report.times_us.differential += micros(start.elapsed());
    match result {
        Ok(evidence) if evidence.compared == 0 => {
            let why = match (evidence.tried, evidence.skipped, evidence.too_long) {
                (0, 0, 0) => {
                    "no input was found that meets its guards and has arrays of a size that can be tried"
                }
                (0, 0, _) => "it takes too many steps on every input that was tried",
                (0, ..) => "C leaves its behaviour undefined on every input that was tried",
                _ => "none of the inputs that were tried has an element",
            };
            not_run(kernel, why);
        }
        Ok(evidence) => {
            kernel.report.evidence = Some(Evidence {
                inputs: evidence.compared as u64,
                max_rel_error: evidence.max_relative_error,
                places: evidence
                    .places
                    .map(|(compared, all)| Places { compared, all }),
            });
            for (target, tally) in &evidence.variants {
                if tally.compared == 0 {
                    let why = "no input with elements that was tried meets what it asks for";
                    let help = "calls stay the original's; `cargo tensorize explain` has what the code asks for";
                    could_not_run(kernel, target, why, help);
                    continue;
                }
                let emulated = generate::find(target).is_some_and(|t| t.is_emulated());
                let on = if emulated {
                    "emulation"
                } else {
                    "this machine"
                };
                kernel.passed(target, tally.max_relative_error, on);
            }
        }
        Err(Failure::Mismatch(m)) => return differs(kernel, &m),
        Err(Failure::Unavailable(e)) => not_run(kernel, &e.to_string()),
    }
    false
}

fn differs(kernel: &mut Kernel, m: &Mismatch) -> bool {
    let (a, b) = m.between;
    let at = Some(kernel.span.clone());
    if let Some(target) = m
        .variant
        .clone()
        .filter(|t| kernel.artefacts.contains_key(t))
    {
        let why = format!("{a} and {b} differ: {}", m.text);
        bad_code(kernel, &target, &why);
        return true;
    }
    let message = format!("proven, but {a} and {b} differ");
    kernel.withdraw(
        Diagnostic::error("TZ0501", message)
            .at(at)
            .note(m.text.clone())
            .help(REPORT_IT),
    );
    false
}

fn bad_code(kernel: &mut Kernel, target: &str, why: &str) {
    let message = format!("the code for {target} gives something else than the original");
    let d = Diagnostic::error("TZ0603", message)
        .at(Some(kernel.span.clone()))
        .note(why);
    kernel.report.diagnostics.push(d.help(REPORT_IT));
    kernel.drop_target(target, why);
}

/// The proof stands. What was not run is not swapped in.
fn not_run(kernel: &mut Kernel, why: &str) {
    let d = Diagnostic::warning(
        "TZ0502",
        format!("`{}` was not run: {why}", kernel.report.name),
    );
    kernel.report.notes.push(d.message.clone());
    let d = d.at(Some(kernel.span.clone()));
    kernel.report.diagnostics.push(d);
    let targets: Vec<String> = kernel.artefacts.keys().cloned().collect();
    let why = format!("the original was not run: {why}");
    targets.iter().for_each(|t| kernel.drop_target(t, &why));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipeline::{self, Settings};
    use crate::report::Status;
    use crate::source::Source;
    use std::num::NonZeroUsize;
    use tensorize_ir::guard::{Guard, Tier};
    use tensorize_ir::index::Idx;

    const SUM: &str = "void add(const int *a, const int *b, int *out, int n)\n\
                       { for (int i = 0; i < n; i++) out[i] = a[i] + b[i]; }\n";

    /// A proven kernel with code for both targets, not yet run; and the folder of its source.
    fn proven(c: &str) -> (tempfile::TempDir, Kernel) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("k.c");
        std::fs::write(&file, c).unwrap();
        let jobs = NonZeroUsize::MIN;
        let parsed = pipeline::parse(vec![Source::alone(&file, &[])], jobs);
        let settings = Settings {
            z3: tensorize_prove::solver::find(),
            jobs,
            targets: vec!["cpu".into(), "numpy".into()],
            tier: Tier::Real,
            least_share: None,
            differential: false,
            proposer: None,
            time_limit: std::time::Duration::from_secs(60),
            second: None,
        };
        let jobs = parsed.into_iter().flat_map(|(_, p)| p.unwrap()).collect();
        let mut kernels = pipeline::run(jobs, &settings).unwrap().kernels;
        let kernel = kernels.pop().unwrap();
        assert_eq!(kernel.artefacts.len(), 2, "{:?}", kernel.report);
        (dir, kernel)
    }

    #[test]
    fn what_agrees_stays() {
        let (_dir, mut kernel) = proven(SUM);
        check(std::slice::from_mut(&mut kernel));
        assert_eq!(kernel.artefacts.len(), 2, "{:?}", kernel.report);
        assert!(kernel.report.evidence.is_some_and(|e| e.inputs > 0));
    }

    #[test]
    fn a_proof_about_another_program_is_caught() {
        let (_dir, mut kernel) = proven(SUM);
        let proven = kernel.proven.as_mut().unwrap();
        let wrong = proven.summary.to_string().replace("= add ", "= subtract ");
        proven.summary = wrong.parse().unwrap();
        check(std::slice::from_mut(&mut kernel));
        assert_eq!(
            (kernel.report.status, kernel.report.code),
            (Status::Error, Some("TZ0501"))
        );
        assert!(kernel.artefacts.is_empty() && kernel.proven.is_none());
    }

    #[test]
    fn wrong_code_is_not_stored_and_the_other_target_is() {
        for (bad, good) in [("cpu", "numpy"), ("numpy", "cpu")] {
            let (_dir, mut kernel) = proven(SUM);
            let code = kernel.artefacts.get_mut(bad).unwrap();
            let text = match bad {
                "cpu" => code.text.replace(" + ", " - "),
                _ => code.text.replace("_view + b_view", "_view - b_view"),
            };
            assert_ne!(text, code.text, "{}", code.text);
            code.text = text;
            check(std::slice::from_mut(&mut kernel));
            assert_eq!(
                kernel.report.targets[bad].status,
                TargetStatus::Failed,
                "{bad}"
            );
            assert_eq!(kernel.artefacts.keys().collect::<Vec<_>>(), [good]);
            assert_eq!(kernel.report.status, Status::Proven);
        }
    }

    #[test]
    fn code_that_no_input_reaches_is_not_stored() {
        for (bad, good) in [("cpu", "numpy"), ("numpy", "cpu")] {
            let (_dir, mut kernel) = proven(SUM);
            let code = kernel.artefacts.get_mut(bad).unwrap();
            let many = &Idx::sym("n") - &Idx::constant(1 << 30);
            code.guards.push(Guard::NonNegative(many));
            check(std::slice::from_mut(&mut kernel));
            let left: Vec<&String> = kernel.artefacts.keys().collect();
            assert_eq!(left, [good], "{:?}", kernel.report);
            assert!(
                kernel.report.targets[bad].why.contains("input"),
                "{:?}",
                kernel.report
            );
        }
    }

    #[test]
    fn an_original_that_no_input_reaches_is_not_run() {
        let (_dir, mut kernel) = proven(SUM);
        let many = &Idx::sym("n") - &Idx::constant(1 << 30);
        let proof = &mut kernel.proven.as_mut().unwrap().proof;
        proof.guards.push(Guard::NonNegative(many));
        check(std::slice::from_mut(&mut kernel));
        let report = &kernel.report;
        assert!(kernel.artefacts.is_empty() && report.evidence.is_none());
        // No failure of the kernel's, and the reason is where a program reads it, too.
        assert_eq!((report.status, report.code), (Status::Proven, None));
        let why = "no input was found that meets its guards";
        assert!(report.notes[0].contains(why), "{report:?}");
        for target in ["cpu", "numpy"] {
            let said = &report.targets[target].why;
            assert!(said.contains(why), "{target}: {said}");
        }
    }

    #[test]
    fn runs_without_an_element_are_no_evidence() {
        let (_dir, mut kernel) = proven(SUM);
        let proof = &mut kernel.proven.as_mut().unwrap().proof;
        proof.guards.push(Guard::NonNegative(-&Idx::sym("n")));
        check(std::slice::from_mut(&mut kernel));
        assert!(kernel.artefacts.is_empty() && kernel.report.evidence.is_none());
        let why = &kernel.report.diagnostics[0].message;
        assert!(why.contains("has an element"), "{why}");
    }
}
