//! A project of a user's, with results written by hand: built by cargo, and run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use tensorize_build::Settings;
use tensorize_build::cache::{Cache, Key};
use tensorize_build::config::Library;
use tensorize_build::hash::kernel_hash;
use tensorize_build::record::{
    CType, Param, Prototype, Record, Status, StoredFootprint, TargetRecord, TargetStatus,
};
use tensorize_build::store::Store;

/// A copy of `tests/project`.
struct Project {
    dir: tempfile::TempDir,
    /// The package's name. Cargo takes two packages of one name in one target folder for the same.
    name: String,
}

static PROJECTS: AtomicUsize = AtomicUsize::new(0);

/// One target folder for all projects, so that their dependencies are compiled once. Cargo locks it.
static TARGET: LazyLock<PathBuf> = LazyLock::new(|| {
    let exe = std::env::current_exe().unwrap();
    exe.ancestors().nth(3).unwrap().join("end-to-end")
});

/// Builds wait for each other: what one prints is read, and cargo would only wait itself.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

impl Project {
    fn new() -> Project {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let dir = tempfile::tempdir().unwrap();
        copy(&here.join("tests/project"), dir.path());
        let workspace = here.parent().unwrap();
        let name = format!("project-{}", PROJECTS.fetch_add(1, Ordering::Relaxed));
        let manifest = format!(
            "[package]\nname = '{name}'\nversion = '0.1.0'\nedition = '2024'\n[workspace]\n\
             [lib]\nname = 'project'\n[[bin]]\nname = '{name}'\npath = 'src/main.rs'\n\
             [package.metadata.tensorize]\nkernels = ['kernels/other.c::twice']\n\
             [dependencies]\ntensorize-rt = {{ path = '{0}/tensorize-rt' }}\n\
             [build-dependencies]\ntensorize-build = {{ path = '{0}/tensorize-build' }}\n",
            workspace.display()
        );
        fs::write(dir.path().join("Cargo.toml"), manifest).unwrap();
        fs::copy(workspace.join("Cargo.lock"), dir.path().join("Cargo.lock")).unwrap();
        Project { dir, name }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn hash(&self, kernel: &str) -> String {
        let library = Library {
            include: vec!["kernels".into()],
            define: vec!["HALF=2".into()],
            ..Library::default()
        };
        kernel_hash(
            &Settings::of(self.path(), &library),
            Path::new("kernels/halve.c"),
            kernel,
        )
        .unwrap()
    }

    /// Stores what `cargo tensorize` would.
    fn store(&self) {
        let pointer = |name: &str, c: &str, scalar: &str| Param {
            name: name.into(),
            c: c.into(),
            scalar: scalar.into(),
            pointer: true,
            is_const: c.contains("const"),
            restrict: c.contains("restrict"),
        };
        let size = |name: &str, c: &str, scalar: &str| Param {
            name: name.into(),
            c: c.into(),
            scalar: scalar.into(),
            pointer: false,
            is_const: false,
            restrict: false,
        };
        let footprint = |array: &str, hi: &str, writes: bool| StoredFootprint {
            array: array.into(),
            lo: "0".into(),
            hi: hi.into(),
            columns: None,
            rows: None,
            planes: None,
            reads: !writes,
            writes,
            reads_depend_on_data: false,
            writes_depend_on_data: false,
        };
        let mut halve = Record::new(
            "halve",
            "kernels/halve.c",
            5,
            &self.hash("halve"),
            Status::Proven,
        );
        halve.tier = Some("exact".into());
        halve.guards = vec![
            "rows >= 0".into(),
            "cols >= 0".into(),
            "rows*cols fits i32".into(),
            "out[0 .. rows*cols] disjoint in[0 .. rows*cols]".into(),
        ];
        halve.prototype = Some(Prototype {
            ret: None,
            is_static: false,
            params: vec![
                pointer("in", "const uint8_t *restrict", "ui8"),
                pointer("out", "uint8_t *", "ui8"),
                size("rows", "int", "i32"),
                size("cols", "int", "i32"),
            ],
            source: None,
        });
        halve.footprints = vec![
            footprint("in", "rows*cols", false),
            footprint("out", "rows*cols", true),
        ];
        self.save(halve, "exact");

        let mut total = Record::new(
            "total",
            "kernels/halve.c",
            13,
            &self.hash("total"),
            Status::Proven,
        );
        total.tier = Some("real".into());
        total.guards = vec!["n fits i64".into()];
        total.prototype = Some(Prototype {
            ret: Some(CType {
                c: "float".into(),
                scalar: "f32".into(),
            }),
            is_static: false,
            params: vec![
                pointer("x", "const float *", "f32"),
                size("n", "size_t", "ui64"),
            ],
            source: None,
        });
        total.footprints = vec![footprint("x", "n", false)];
        self.save(total, "real");
    }

    fn save(&self, mut record: Record, tier: &str) {
        let mut sources = BTreeMap::new();
        for (target, extension, entry) in [
            ("cpu", "c", format!("{}__cpu", record.name)),
            ("numpy", "py", record.name.clone()),
        ] {
            let file = format!("{}.{extension}", record.name);
            let from = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/stored")
                .join(&file);
            sources.insert(target.to_string(), fs::read_to_string(from).unwrap());
            let stored = TargetRecord {
                status: TargetStatus::Generated,
                tier: Some(tier.into()),
                file: Some(format!("{target}/{file}")),
                entry: Some(entry),
                emulated: false,
                source_hash: None,
                guards: vec![],
                why: None,
            };
            record.targets.insert(target.into(), stored);
        }
        Store::of_manifest(self.path())
            .save(&record, &sources)
            .unwrap();
    }

    fn cargo(&self, env: &[(&str, &str)]) -> (bool, String) {
        let output = Command::new(env!("CARGO"))
            .args(["build", "--offline", "--color", "never"])
            .current_dir(self.path())
            .env("CARGO_TARGET_DIR", &*TARGET)
            .env("TENSORIZE_BIN", "")
            .env("TENSORIZE_CACHE", self.path().join("cache"))
            .env_remove("TENSORIZE_STRICT")
            .env_remove("RUSTFLAGS")
            .envs(env.iter().copied())
            .output()
            .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    /// Builds it; a program of its own to run.
    fn build(&self) -> Program {
        self.build_with(&[])
    }

    fn build_with(&self, env: &[(&str, &str)]) -> Program {
        let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (built, log) = self.cargo(env);
        assert!(built, "{log}");
        let program = self.path().join("program");
        fs::copy(TARGET.join("debug").join(&self.name), &program).unwrap();
        Program { path: program, log }
    }
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), &to).unwrap();
        }
    }
}

struct Program {
    path: PathBuf,
    log: String,
}

impl Program {
    fn run(&self, env: &[(&str, &str)], verbs: &[&str]) -> String {
        let output = Command::new(&self.path)
            .args(verbs)
            .env_remove("TENSORIZE")
            .envs(env.iter().copied())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{text}{}",
            String::from_utf8_lossy(&output.stderr)
        );
        text
    }

    /// Runs and looks for each of these at the start of a line.
    fn expect(&self, env: &[(&str, &str)], verbs: &[&str], lines: &[&str]) {
        let text = self.run(env, verbs);
        for line in lines {
            assert!(
                text.lines().any(|l| l.starts_with(line)),
                "{line}\n--- is not in\n{text}"
            );
        }
    }
}

const CPU: (&str, &str) = ("TENSORIZE", "cpu");

#[test]
fn proven_kernels_are_swapped_in_for_every_caller() {
    let project = Project::new();
    project.store();
    let program = project.build();
    assert!(
        program.log.contains("kernels/other.c::twice"),
        "{}",
        program.log
    );

    program.expect(
        &[],
        &[],
        &["halve exact - original=0", "total real -", "twice - -"],
    );
    for caller in ["raw", "same-file", "other-file"] {
        program.expect(&[CPU], &[caller], &["halve exact cpu original=0 target=1"]);
        program.expect(
            &[("TENSORIZE", "off")],
            &[caller],
            &["halve exact original original=1 target=0"],
        );
    }
    program.expect(
        &[CPU],
        &["safe"],
        &[
            "halve: `in` has 5 elements and needs 6 at these sizes",
            "halve: `out` has 1 elements and needs 6 at these sizes",
            "halve: with these sizes, `cols*rows fits i32` does not hold",
            "total 4",
            "total real cpu original=0 target=1",
        ],
    );
    // So few elements are not worth it, if nobody has measured.
    program.expect(
        &[],
        &["safe"],
        &[
            "total 4",
            "total real original original=1 target=0 guard_failed=0 differed=0 why=its calls are small",
        ],
    );
    program.expect(&[], &["unproven"], &["twice: it is not known how long"]);
    program.expect(
        &[CPU],
        &["overlap"],
        &["halve exact original original=1 target=0 guard_failed=1"],
    );
    program.expect(
        &[CPU],
        &["no-size"],
        &["halve exact original original=2 target=1 guard_failed=2"],
    );
    program.expect(
        &[CPU],
        // Of calls at the same moment, some go uncounted.
        &["threads"],
        &["halve exact cpu original=0 target="],
    );
    the_report_as_a_file(&program);
    // By default the two versions take turns until it is clear which one is faster.
    program.expect(&[], &["threads"], &["halve exact "]);
    program.expect(
        &[CPU],
        &["raw", "forked", "raw"],
        &["halve exact cpu original=0 target=2"],
    );
    program.expect(
        &[("TENSORIZE", "shadow")],
        &["raw", "safe", "overlap"],
        &[
            "halve exact original original=3 target=0 guard_failed=1 differed=0",
            "total real original original=1 target=0 guard_failed=0 differed=0",
        ],
    );

    the_worker(&program);
}

/// Written when the program ends, by the process that was asked to and by no child of it.
fn the_report_as_a_file(program: &Program) {
    let kernel = |env: &[(&str, &str)], verbs: &[&str], name: &str| {
        let dir = tempfile::tempdir().unwrap();
        let report = ("TENSORIZE_REPORT", dir.path().to_str().unwrap());
        program.run(&[&[report], env].concat(), verbs);
        let files: Vec<_> = fs::read_dir(&dir).unwrap().flatten().collect();
        let [file] = &files[..] else {
            panic!("{files:?}");
        };
        let text = fs::read_to_string(file.path()).unwrap();
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let mut kernels = report["kernels"].as_array().unwrap().iter();
        kernels.find(|k| k["name"] == name).unwrap().clone()
    };
    let verbs = ["raw", "overlap", "no-size", "forked", "same-file"];
    let halve = kernel(&[CPU], &verbs, "halve");
    let by = |calls: [(&str, u64); 2]| {
        serde_json::json!(calls.map(|(by, calls)| serde_json::json!({"by": by, "calls": calls})))
    };
    assert_eq!(halve["answered"], by([("original", 3), ("cpu", 3)]));
    let guard = |guard: &str, calls: u64| {
        let why = format!("a guard does not hold: {guard}");
        serde_json::json!({"cause": "arguments", "why": why, "calls": calls})
    };
    let rows = [
        guard("rows >= 0", 2),
        guard("out[0 .. cols*rows] disjoint in[0 .. cols*rows]", 1),
    ];
    assert_eq!(halve["fell_back"], serde_json::json!(rows));
    let torch = kernel(&[("TENSORIZE", "torch")], &["raw", "raw"], "halve");
    let why =
        serde_json::json!([{"cause": "target", "why": "there is no code for torch", "calls": 2}]);
    assert_eq!(torch["fell_back"], why);
    let never = kernel(&[], &["raw"], "twice");
    assert!(never["why"].is_string(), "{never}");
}

fn the_worker(program: &Program) {
    let numpy = ("TENSORIZE", "numpy");
    program.expect(
        &[numpy],
        &["warm-up", "raw", "safe"],
        &[
            "halve exact numpy original=0 target=2",
            "total 4",
            "total real numpy original=0 target=1",
        ],
    );
    program.expect(
        &[("TENSORIZE", "shadow=numpy")],
        &["raw", "safe"],
        &["halve exact original original=2 target=0 guard_failed=0 differed=0"],
    );
    program.expect(
        &[numpy],
        &["overlap", "no-size"],
        &["halve exact original original=3 target=1 guard_failed=3"],
    );
    program.expect(
        &[numpy],
        &["threads"],
        &["halve exact numpy original=0 target=1600"],
    );
    program.expect(&[numpy], &["raw", "kill", "raw", "same-file"], &[
        "killed: true",
        "halve exact original original=2 target=1 guard_failed=0 differed=0 why=numpy: the worker was ended by signal 9",
    ]);
    program.expect(&[numpy, ("TENSORIZE_PYTHON", "/no/such/python")], &["raw", "raw"], &[
        "halve exact original original=2 target=0 guard_failed=0 differed=0 why=numpy: /no/such/python can't be started",
    ]);
    program.expect(
        &[numpy, ("PYTHONHOME", "/no/such/home")],
        &["raw"],
        &["halve exact original original=1 target=0"],
    );
    program.expect(&[("TENSORIZE", "torch")], &["raw"], &[
        "halve exact original original=1 target=0 guard_failed=0 differed=0 why=there is no code for torch",
    ]);
}

#[test]
fn without_a_current_result_the_original_runs() {
    let project = Project::new();
    project.store();
    let source = project.path().join("kernels/halve.c");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, text.replace("/ HALF", "/ HALF + 0")).unwrap();
    let program = project.build();
    assert!(
        program.log.contains("kernels/halve.c::halve"),
        "{}",
        program.log
    );
    program.expect(
        &[],
        &["raw", "same-file", "other-file"],
        &["halve - - original=0 target=0"],
    );

    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (built, log) = project.cargo(&[("TENSORIZE_STRICT", "1")]);
    assert!(!built && log.contains("kernels/halve.c::halve"), "{log}");
}

#[test]
fn a_wrong_prototype_is_not_believed() {
    let project = Project::new();
    project.store();
    let store = Store::of_manifest(project.path());
    let mut entry = store.load().entries.remove(0);
    if let Some(p) = &mut entry.record.prototype {
        p.params.pop();
    }
    entry.record.guards.clear();
    entry.record.footprints.clear();
    store.save(&entry.record, &entry.sources).unwrap();
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    // The program calls `halve`, of which there is no binding now; nothing worse happens.
    let (built, log) = project.cargo(&[]);
    assert!(!built && log.contains("halve"), "{log}");
}

#[test]
fn without_any_result_it_builds() {
    let project = Project::new();
    let program = project.build();
    program.expect(
        &[],
        &["raw", "same-file"],
        &["halve - - original=0 target=0 guard_failed=0 differed=0 why=`cargo"],
    );
    // What the build script itself writes is no reason to run it again.
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (built, log) = project.cargo(&[]);
    assert!(built && !log.contains("Compiling"), "{log}");
}

/// A tool that stores what was prepared. It runs while cargo holds its lock.
#[test]
#[cfg(unix)]
fn on_a_miss_the_subcommand_is_run() {
    use std::os::unix::fs::PermissionsExt;
    let project = Project::new();
    project.store();
    let here = project.path();
    fs::rename(here.join(".tensorize"), here.join("prepared")).unwrap();
    let tool = here.join("tool");
    let script = "#!/bin/sh\ncd \"$(dirname \"$4\")\" && test \"$TENSORIZE_NESTED\" = 1 && cp -r prepared/. .tensorize\n";
    fs::write(&tool, script).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let program = project.build_with(&[("TENSORIZE_BIN", tool.to_str().unwrap())]);
    program.expect(&[CPU], &["raw"], &["halve exact cpu original=0 target=1"]);
}

#[test]
fn the_shared_cache_is_as_good_as_the_store() {
    let project = Project::new();
    project.store();
    let here = project.path();
    let cache = Cache::at(&here.join("cache"));
    for entry in Store::of_manifest(here).load().entries {
        let key = Key::new(&entry.record.hash, &[]);
        cache.keep(&key, &entry.record, &entry.sources).unwrap();
    }
    fs::remove_dir_all(here.join(".tensorize")).unwrap();
    let program = project.build();
    program.expect(
        &[CPU],
        &["same-file"],
        &["halve exact cpu original=0 target=1"],
    );
    program.expect(
        &[("TENSORIZE", "numpy")],
        &["safe"],
        &["halve exact numpy original=0 target=1"],
    );
}
