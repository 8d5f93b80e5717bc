//! Kernels for GPUs: a project that is lifted, generated, built and run with OpenCL, what every operator gives there, and
//! what of it NVIDIA's compiler takes. No GPU is needed: PoCL makes an OpenCL device of the machine's own cores.

extern crate backends as tensorize_backends;

#[path = "../backends/tests/common/mod.rs"]
mod common;

use common::{assert_same, call, corpus, expected, footprints, summary, tries, try_generate};
use tensorize_ir::guard::Tier;
use tensorize_ir::tensir::Function;

mod opencl {
    use super::*;
    use backends::simt::OPENCL;
    use cargo_tensorize::device::{Call, Loaded};
    use cargo_tensorize::pipeline::{self, Settings};
    use cargo_tensorize::report::TargetStatus;
    use cargo_tensorize::source::Source;
    use std::ffi::OsString;
    use std::fs;
    use std::path::PathBuf;
    use std::process::{Command, ExitCode};
    use std::sync::OnceLock;
    use tensorize_e2e::{build, cargo, copy, root, succeed, target_dir};
    use tensorize_ir::memory::{Inputs, Outputs};

    const KERNELS: [&str; 5] = ["screen", "matmul", "softmax", "dot", "every_other"];

    struct Programs {
        _folder: tempfile::TempDir,
        /// With the feature `opencl` of the run time, and without it.
        with: PathBuf,
        without: PathBuf,
    }

    fn programs() -> &'static Programs {
        static BUILT: OnceLock<Programs> = OnceLock::new();
        BUILT.get_or_init(|| {
            let folder = tempfile::tempdir().expect("a temporary folder");
            copy(&root().join("tests/projects/gpus"), folder.path());
            let manifest = folder.path().join("Cargo.toml");
            let text = fs::read_to_string(&manifest).expect("a manifest");
            let text = text.replace("../../..", &root().to_string_lossy());
            fs::write(&manifest, &text).expect("a writable copy");
            // The first build tells the tool what there is.
            let mut first = cargo();
            first
                .args(["build", "--release", "--manifest-path"])
                .arg(&manifest)
                .env("TENSORIZE_BIN", "")
                .env("CARGO_TARGET_DIR", target_dir());
            tensorize_e2e::run(&mut first);
            let arguments = ["cargo-tensorize", "--manifest-path"].map(OsString::from);
            let code =
                cargo_tensorize::main(arguments.into_iter().chain([manifest.clone().into()]));
            assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
            let strict = || {
                let mut command = cargo();
                command.env("TENSORIZE_STRICT", "1");
                command
            };
            let without = build(&mut strict(), folder.path(), "gpus");
            let kept = folder.path().join("without");
            fs::rename(&without, &kept).expect("a file of ours");
            let features = text.replace(
                "tensorize-rt\" }",
                "tensorize-rt\", features = [\"opencl\"] }",
            );
            assert_ne!(features, text);
            fs::write(&manifest, features).expect("a writable copy");
            let with = build(&mut strict(), folder.path(), "gpus");
            Programs {
                _folder: folder,
                with,
                without: kept,
            }
        })
    }

    fn lines(command: &mut Command) -> Vec<String> {
        let printed = succeed(command);
        let line = |k: &&str| {
            let mut lines = printed.lines();
            let found = lines.find(|l| l.starts_with(&format!("{k} ")));
            found
                .unwrap_or_else(|| panic!("no line of {k} in:\n{printed}"))
                .to_owned()
        };
        KERNELS.iter().map(line).collect()
    }

    #[test]
    fn a_program_computes_there() {
        for line in lines(Command::new(&programs().with).env("TENSORIZE", "opencl")) {
            let there = "ran on opencl: 0 by the original, 1 by a target";
            assert!(line.contains(there), "{line}");
        }
        for line in lines(Command::new(&programs().with).env("TENSORIZE", "off")) {
            assert!(line.contains("ran on original"), "{line}");
        }
    }

    #[test]
    fn a_program_without_it_says_so() {
        for line in lines(Command::new(&programs().without).env("TENSORIZE", "opencl")) {
            let why = "ran on original: 1 by the original, 0 by a target; opencl: the program was built without the feature `opencl`";
            assert!(line.contains(why), "{line}");
        }
    }

    #[test]
    fn a_machine_without_a_driver_says_so() {
        let mut command = Command::new(&programs().with);
        command
            .env("TENSORIZE", "opencl")
            .env("OCL_ICD_VENDORS", "/nowhere");
        for line in lines(&mut command) {
            let why = "ran on original: 1 by the original, 0 by a target; opencl: there is no OpenCL driver";
            assert!(line.contains(why), "{line}");
        }
    }

    /// What the generated code gives for these calls, after a change of its text.
    fn changed_on_device(
        f: &Function,
        tier: Tier,
        calls: &[Inputs],
        change: &dyn Fn(&str) -> String,
    ) -> (Tier, Vec<Outputs>) {
        let touched = footprints(f, &calls[0]);
        let g =
            try_generate(&OPENCL, f, tier, &touched).unwrap_or_else(|e| panic!("{}: {e}", f.name));
        let text = change(&g.files[0].1);
        let loaded = Loaded::new(&f.name, &text, &g.entry, "opencl");
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
    fn on_device(f: &Function, tier: Tier, calls: &[Inputs]) -> (Tier, Vec<Outputs>) {
        changed_on_device(f, tier, calls, &str::to_owned)
    }

    /// Every operator on every type, edges and all pairs of bytes; inside of expressions; and what items compute together.
    #[test]
    fn operators() {
        let mut tries = tries::operators(&OPENCL).0;
        tries.extend(tries::insides(&OPENCL));
        let tries = tries
            .into_iter()
            .map(|t| (t.function, t.generated.tier, t.calls));
        let tiles = corpus::tiles().into_iter();
        let tiles = tiles.map(|item| (item.function, Tier::Exact, item.calls));
        for (f, tier, calls) in tries.chain(tiles) {
            let (tier, found) = on_device(&f, tier, &calls);
            for (inputs, found) in calls.iter().zip(&found) {
                assert_same(&f.name, tier, found, &expected(&f, inputs));
            }
        }
    }

    /// What these tests compare is what the device computes: other text, other numbers.
    #[test]
    fn wrong_tiles_and_wrong_sums_are_seen() {
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
            let (_, found) = changed_on_device(&f, Tier::Exact, calls, &change);
            assert_ne!(found[0], expected(&f, &inputs), "{wrong}");
        }
    }

    #[test]
    fn wrong_code_is_not_stored() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("k.c");
        let c = "void add(const int *a, const int *b, int *out, int n)\n\
                 { for (int i = 0; i < n; i++) out[i] = a[i] + b[i]; }\n";
        fs::write(&file, c).expect("a writable folder");
        let jobs = std::num::NonZeroUsize::MIN;
        let settings = settings();
        let parsed = pipeline::parse(vec![Source::alone(&file, &[])], jobs);
        let jobs = parsed.into_iter().flat_map(|(_, p)| p.expect("C"));
        let kernels = pipeline::run(jobs.collect(), &settings).map_err(|d| d.message.clone());
        let kernel = kernels.expect("Z3").kernels.pop().expect("one kernel");
        for (right, wrong, stays) in [
            ("add_i32(a[", "add_i32(a[", true),
            ("add_i32(a[", "add_i32(-a[", false),
        ] {
            let mut kernel = kernel.clone();
            let code = kernel.artefacts.get_mut("opencl").expect("code");
            assert!(code.text.contains(right), "{}", code.text);
            code.text = code.text.replace(right, wrong);
            cargo_tensorize::original::check(std::slice::from_mut(&mut kernel));
            let report = &kernel.report.targets["opencl"];
            let status = if stays {
                TargetStatus::Generated
            } else {
                TargetStatus::Failed
            };
            assert_eq!(report.status, status, "{}", report.why);
            assert_eq!(kernel.artefacts.contains_key("opencl"), stays);
        }
    }

    /// The 69 benchmarks, each run against the lifted loop.
    /// All kernels of these files, proven, with code for OpenCL that has been run where there is some.
    fn with_code(files: &[PathBuf]) -> Vec<pipeline::Kernel> {
        let sources = files.iter().map(|f| Source::alone(f, &[])).collect();
        let threads = std::thread::available_parallelism().unwrap_or(std::num::NonZeroUsize::MIN);
        let parsed = pipeline::parse(sources, threads);
        let jobs = parsed.into_iter().flat_map(|(_, p)| p.expect("C"));
        let settings = Settings {
            differential: true,
            jobs: threads,
            ..settings()
        };
        let run = pipeline::run(jobs.collect(), &settings).map_err(|d| d.message.clone());
        run.expect("Z3").kernels
    }

    fn has_code(kernel: &pipeline::Kernel) {
        let report = &kernel.report;
        let why = &report.targets["opencl"].why;
        assert!(
            kernel.artefacts.contains_key("opencl"),
            "{}: {why}",
            report.name
        );
    }

    /// Sums that leave out what is outside: their loops count in 64 bits.
    #[test]
    fn windows_at_borders_run() {
        let kernels = with_code(&[root().join("fixtures/proven/bordered.c")]);
        assert!(kernels.len() > 5, "{}", kernels.len());
        kernels.iter().for_each(has_code);
    }

    #[test]
    fn all_benchmarks_run() {
        let kernels = with_code(&tensorize_e2e::sources("fixtures/tenspiler/c"));
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
            has_code(kernel);
            seen += 1;
        }
        assert_eq!(seen, 69);
    }

    fn settings() -> Settings {
        Settings {
            z3: tensorize_prove::solver::find(),
            jobs: std::num::NonZeroUsize::MIN,
            targets: vec!["opencl".into()],
            tier: Tier::Real,
            differential: false,
            proposer: None,
            time_limit: std::time::Duration::from_secs(60),
            second: None,
        }
    }
}

/// Compiled by NVRTC, and run by nobody: there is no emulation, and a test may not count on a GPU.
mod cuda {
    use super::*;
    use backends::simt::CUDA;
    use std::io::Write;
    use std::process::{Command, Stdio};

    const SCRIPT: &str = include_str!("nvrtc.py");

    /// What NVRTC says of each source; empty if it takes it.
    fn compile(sources: &[String]) -> Vec<String> {
        let mut child = Command::new(cargo_tensorize::tools::find_python())
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python");
        let separated = sources.join("\0");
        let mut input = child.stdin.take().expect("piped");
        input
            .write_all(separated.as_bytes())
            .expect("it reads all of it");
        drop(input);
        let output = child.wait_with_output().expect("its output");
        assert!(
            output.status.success(),
            "NVRTC could not be asked: {}",
            output.status
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split('\0').map(|s| s.trim().to_owned()).collect()
    }

    #[test]
    fn nvidias_compiler_takes_it() {
        let mut sources = Vec::new();
        for t in tries::operators(&CUDA)
            .0
            .iter()
            .chain(&tries::insides(&CUDA))
        {
            sources.push(t.generated.files[0].1.clone());
        }
        for name in ["matmul", "softmax", "center_rows", "burn"] {
            let g = common::generate(&CUDA, &summary(name), Tier::Real);
            sources.push(g.files[0].1.clone());
        }
        let wrong = sources[0].replace("int64_t item", "int64_t no_item");
        assert_ne!(wrong, sources[0]);
        sources.push(wrong);
        let said = compile(&sources);
        assert_eq!(said.len(), sources.len());
        let (last, others) = said.split_last().expect("one for each");
        assert!(last.contains("undefined"), "{last}");
        for (source, said) in sources.iter().zip(others) {
            assert!(said.is_empty(), "{said}\n{source}");
        }
    }
}
