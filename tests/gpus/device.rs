//! What the generated code of one target gives on a device, called in this process by the run time's own driver.

use std::fs;
use std::path::PathBuf;

use super::common::{
    self, assert_same, call, corpus, expected, footprints, summary, tries, try_generate,
};
use backends::Target;
use backends::simt::Simt;
use cargo_tensorize::device::{Call, Loaded};
use cargo_tensorize::pipeline::{self, Settings};
use cargo_tensorize::report::TargetStatus;
use cargo_tensorize::source::Source;
use tensorize_e2e::root;
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::tensir::Function;

/// What the generated code gives for these calls, after a change of its text.
fn changed_on_device(
    target: &Simt,
    f: &Function,
    tier: Tier,
    calls: &[Inputs],
    change: &dyn Fn(&str) -> String,
) -> (Tier, Vec<Outputs>) {
    let touched = footprints(f, &calls[0]);
    let g = try_generate(target, f, tier, &touched).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    let text = change(&g.files[0].1);
    let loaded = Loaded::new(&f.name, &text, &g.entry, target.name());
    let run = |inputs: &Inputs| {
        let call = Call {
            params: &f.params,
            ret: common::returned(f),
            footprints: &touched,
            inputs,
        };
        loaded
            .run(&call)
            .unwrap_or_else(|e| panic!("{}: {e}\n{text}", f.name))
    };
    (g.tier, calls.iter().map(run).collect())
}

/// What the generated code gives for these calls.
fn on_device(target: &Simt, f: &Function, tier: Tier, calls: &[Inputs]) -> (Tier, Vec<Outputs>) {
    changed_on_device(target, f, tier, calls, &str::to_owned)
}

/// Every operator on every type, edges and all pairs of bytes; inside of expressions; and what items compute together.
pub fn operators(target: &Simt) {
    let mut tries = tries::operators(target).0;
    tries.extend(tries::insides(target));
    let tries = tries
        .into_iter()
        .map(|t| (t.function, t.generated.tier, t.calls));
    let tiles = corpus::tiles().into_iter();
    let tiles = tiles.map(|item| (item.function, Tier::Exact, item.calls));
    for (f, tier, calls) in tries.chain(tiles) {
        let (tier, found) = on_device(target, &f, tier, &calls);
        for (inputs, found) in calls.iter().zip(&found) {
            assert_same(&f.name, tier, found, &expected(&f, inputs));
        }
    }
}

/// What these tests compare is what the device computes: other text, other numbers.
pub fn wrong_tiles_and_wrong_sums_are_seen(target: &Simt) {
    let mut random = common::Random(7);
    let sizes: &[(&str, i128)] = &[("m", 17), ("n", 20), ("k", 33)];
    for (name, right, wrong) in [
        ("matmul", "a_tile[row * 16", "a_tile[column * 16"),
        ("matmul", "+= 16", "+= 32"),
        ("dot16", "partial[item + width]", "partial[item]"),
        ("dot16", "+= 256", "+= 512"),
    ] {
        let f = summary(name);
        let sizes = if name == "dot16" {
            &[("n", 1000)][..]
        } else {
            sizes
        };
        let inputs = call(&f, sizes, &mut random, false);
        let change = |text: &str| {
            let changed = text.replace(right, wrong);
            assert_ne!(changed, text, "{right}");
            changed
        };
        let calls = std::slice::from_ref(&inputs);
        let (_, found) = changed_on_device(target, &f, Tier::Exact, calls, &change);
        assert_ne!(found[0], expected(&f, &inputs), "{wrong}");
    }
}

/// Neither of a kernel that small inputs tell about, nor of one that is compared at some places.
pub fn wrong_code_is_not_stored(target: &Simt) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("k.c");
    let c = "void add(const int *a, const int *b, int *out, int n)\n\
             { for (int i = 0; i < n; i++) out[i] = a[i] + b[i]; }\n\
             void add_many(const int *a, const int *b, int *out)\n\
             { for (int i = 0; i < 300000; i++) out[i] = a[i] + b[i]; }\n";
    fs::write(&file, c).expect("a writable folder");
    let jobs = std::num::NonZeroUsize::MIN;
    let settings = settings(target);
    let parsed = pipeline::parse(vec![Source::alone(&file, &[])], jobs);
    let jobs = parsed.into_iter().flat_map(|(_, p)| p.expect("C"));
    let run = pipeline::run(jobs.collect(), &settings).map_err(|d| d.message.clone());
    let kernels = run.expect("Z3").kernels;
    assert_eq!(kernels.len(), 2);
    for (right, wrong, stays) in [
        ("add_i32(a[", "add_i32(a[", true),
        ("add_i32(a[", "add_i32(-a[", false),
    ] {
        for kernel in &kernels {
            let mut kernel = kernel.clone();
            let code = kernel.artefacts.get_mut(target.name()).expect("code");
            assert!(code.text.contains(right), "{}", code.text);
            code.text = code.text.replace(right, wrong);
            cargo_tensorize::original::check(std::slice::from_mut(&mut kernel));
            let report = &kernel.report.targets[target.name()];
            let status = if stays {
                TargetStatus::Generated
            } else {
                TargetStatus::Failed
            };
            assert_eq!(report.status, status, "{}", report.why);
            assert_eq!(kernel.artefacts.contains_key(target.name()), stays);
        }
    }
}

/// All kernels of these files, proven, with code for the target that has been run where there is some.
fn with_code(target: &Simt, files: &[PathBuf]) -> Vec<pipeline::Kernel> {
    let sources = files.iter().map(|f| Source::alone(f, &[])).collect();
    let threads = std::thread::available_parallelism().unwrap_or(std::num::NonZeroUsize::MIN);
    let parsed = pipeline::parse(sources, threads);
    let jobs = parsed.into_iter().flat_map(|(_, p)| p.expect("C"));
    let settings = Settings {
        differential: true,
        jobs: threads,
        ..settings(target)
    };
    let run = pipeline::run(jobs.collect(), &settings).map_err(|d| d.message.clone());
    run.expect("Z3").kernels
}

fn has_code(target: &Simt, kernel: &pipeline::Kernel) {
    let report = &kernel.report;
    let why = &report.targets[target.name()].why;
    assert!(
        kernel.artefacts.contains_key(target.name()),
        "{}: {why}",
        report.name
    );
}

/// Sums that leave out what is outside: their loops count in 64 bits. Shapes that are constants, so that no input is small.
/// A truth value that is returned.
pub fn fixtures_run(target: &Simt) {
    let file = |name: &str| root().join("fixtures/proven").join(name);
    let files = ["bordered.c", "large_shapes.c", "decided.c"].map(file);
    let kernels = with_code(target, &files);
    assert!(kernels.len() > 12, "{}", kernels.len());
    for kernel in &kernels {
        // It writes where a sum of floats says so.
        if kernel.report.name != "unit_length" {
            has_code(target, kernel);
        }
    }
}

/// The 69 benchmarks, each run against the lifted loop.
pub fn all_benchmarks_run(target: &Simt) {
    let kernels = with_code(target, &tensorize_e2e::sources("fixtures/tenspiler/c"));
    let list = root().join("fixtures/tenspiler/benchmarks.tsv");
    let list = fs::read_to_string(list).expect("the list of benchmarks");
    let mut seen = 0;
    for line in list.lines().skip(1) {
        let mut fields = line.split('\t');
        let (suite, name) = (fields.next().unwrap_or(""), fields.next().unwrap_or(""));
        let is = |k: &&pipeline::Kernel| {
            k.report.name == name && k.source.file.file_stem().is_some_and(|s| s == suite)
        };
        let kernel = kernels.iter().find(is);
        let kernel = kernel.unwrap_or_else(|| panic!("no {name} in {suite}"));
        has_code(target, kernel);
        seen += 1;
    }
    assert_eq!(seen, 69);
}

fn settings(target: &Simt) -> Settings {
    Settings {
        z3: tensorize_prove::solver::find(),
        jobs: std::num::NonZeroUsize::MIN,
        targets: vec![target.name().into()],
        tier: Tier::Real,
        least_share: None,
        differential: false,
        proposer: None,
        time_limit: std::time::Duration::from_secs(60),
        second: None,
    }
}
