//! A project that is built for another machine than the one that compiles, with Debian's cross compiler, and run by QEMU.
//! In a module of its own, since what it needs is not everywhere.

mod aarch64 {
    use std::ffi::OsString;
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::process::{Command, ExitCode, Output};

    use tensorize_e2e::{cargo, copy, root, run, succeed, target_dir};

    const TRIPLE: &str = "aarch64-unknown-linux-gnu";

    struct Project(tempfile::TempDir);

    impl Project {
        fn new() -> Project {
            let folder = tempfile::tempdir().expect("a temporary folder");
            copy(&root().join("tests/projects/cross"), folder.path());
            let manifest = folder.path().join("Cargo.toml");
            let text = fs::read_to_string(&manifest).expect("a manifest");
            let text = text.replace("../../..", &root().to_string_lossy());
            fs::write(&manifest, text).expect("a writable copy");
            Project(folder)
        }

        fn manifest(&self) -> PathBuf {
            self.0.path().join("Cargo.toml")
        }

        fn build(&self, how: impl FnOnce(&mut Command)) -> Output {
            let mut command = cargo();
            command
                .args(["build", "--release", "--target", TRIPLE, "--manifest-path"])
                .arg(self.manifest())
                .env("CARGO_TARGET_DIR", target_dir())
                .env(
                    "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER",
                    "aarch64-linux-gnu-gcc",
                )
                .env("TENSORIZE_BIN", "");
            how(&mut command);
            run(&mut command)
        }

        /// Every line of the record of a kernel.
        fn record(&self, kernel: &str) -> String {
            let file = format!(".tensorize/{kernel}.toml");
            fs::read_to_string(self.0.path().join(file)).expect("a record")
        }
    }

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr)
    }

    fn under_qemu(program: &Path, mode: &str) -> String {
        let mut command = Command::new("qemu-aarch64");
        // Where Debian has the libraries for such machines.
        command.args(["-L", "/usr/aarch64-linux-gnu"]).arg(program);
        succeed(command.env("TENSORIZE", mode).env_remove("TENSORIZE_CACHE"))
    }

    fn results(printed: &str) -> Vec<&str> {
        let lines = printed.lines();
        lines.filter(|l| !l.starts_with("ran ")).collect()
    }

    #[test]
    fn what_was_proven_here_runs_there_where_it_is_the_same_c() {
        let project = Project::new();
        let first = project.build(|_| {});
        assert!(first.status.success(), "{}", said(&first));
        // It tells the subcommand what is compiled, as a build for this machine does.
        let arguments = ["cargo-tensorize", "--manifest-path"].map(OsString::from);
        let code = cargo_tensorize::main(arguments.into_iter().chain([project.manifest().into()]));
        assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
        for (kernel, either) in [
            ("blend", true),
            ("brighten", true),
            ("below_zero", false),
            ("widen", false),
            ("larger", false),
        ] {
            let record = project.record(kernel);
            assert!(record.contains("status = \"proven\""), "{record}");
            assert_eq!(record.contains("either_sign = true"), either, "{record}");
        }

        // What is proven of the C of this machine is not proven of the C of that one.
        let strict = project.build(|c| {
            c.env("TENSORIZE_STRICT", "1");
        });
        let text = said(&strict);
        assert!(!strict.status.success(), "{text}");
        let line = text
            .lines()
            .find(|l| l.contains("compiled alone"))
            .unwrap_or_else(|| panic!("{text}"));
        for kernel in ["below_zero", "widen", "larger"] {
            assert!(line.contains(&format!("cross.c::{kernel}")), "{line}");
        }
        assert!(
            !line.contains("blend") && !line.contains("brighten"),
            "{line}"
        );

        let built = project.build(|_| {});
        assert!(built.status.success(), "{}", said(&built));
        let program = target_dir().join(TRIPLE).join("release/cross");
        let off = under_qemu(&program, "off");
        // 255 and 1 without a sign; on x86-64 it were 128 below zero, and -128, -127, 1.
        assert!(
            off.contains("below zero 0, widened [126, 127, 128, 129], larger [-1, 5]"),
            "{off}"
        );
        assert!(off.contains("from C true [1.5, 2.5, 3.5, 4.5]"), "{off}");
        let cpu = under_qemu(&program, "cpu");
        assert_eq!(results(&off), results(&cpu));
        assert!(cpu.contains("ran blend original 0 target 2"), "{cpu}");
        assert!(cpu.contains("ran brighten original 0 target 1"), "{cpu}");
        let shadow = under_qemu(&program, "shadow");
        assert_eq!(results(&off), results(&shadow));
    }

    #[test]
    fn a_flag_for_the_machine_that_compiles_is_refused_by_name() {
        let project = Project::new();
        let output = project.build(|c| {
            c.args(["--features", "native"]);
        });
        let text = said(&output);
        assert!(!output.status.success(), "{text}");
        assert!(
            text.contains("-march=native") && text.contains(TRIPLE),
            "{text}"
        );
    }
}
