//! A project whose kernels a device computes: the project `gpus`, with code for one target.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tensorize_e2e::{build, cargo, copy, lift, root, succeed};

const KERNELS: [&str; 5] = ["screen", "matmul", "softmax", "dot", "every_other"];

/// The built project.
pub struct Programs {
    _folder: tempfile::TempDir,
    target: &'static str,
    /// With the run time's feature for the target, and without it.
    with: PathBuf,
    without: PathBuf,
}

impl Programs {
    /// Lifts, generates code for the target, which runs it, and builds. The feature has the target's name.
    pub fn of(target: &'static str) -> Programs {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(&root().join("tests/projects/gpus"), folder.path());
        let manifest = folder.path().join("Cargo.toml");
        let text = fs::read_to_string(&manifest).expect("a manifest");
        let text = text.replace("../../..", &root().to_string_lossy());
        let text = text.replace("\"opencl\"", &format!("{target:?}"));
        fs::write(&manifest, &text).expect("a writable copy");
        lift(&manifest);
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
            &format!("tensorize-rt\", features = [{target:?}] }}"),
        );
        assert_ne!(features, text);
        fs::write(&manifest, features).expect("a writable copy");
        let with = build(&mut strict(), folder.path(), "gpus");
        Programs {
            _folder: folder,
            target,
            with,
            without: kept,
        }
    }

    pub fn computes_there(&self) {
        let target = self.target;
        for line in lines(Command::new(&self.with).env("TENSORIZE", target)) {
            let there = format!("ran on {target}: 0 by the original, 1 by a target");
            assert!(line.contains(&there), "{line}");
        }
        for line in lines(Command::new(&self.with).env("TENSORIZE", "off")) {
            assert!(line.contains("ran on original"), "{line}");
        }
    }

    pub fn says_that_it_was_built_without(&self) {
        let target = self.target;
        let why = format!("{target}: the program was built without the feature `{target}`");
        falls_back(Command::new(&self.without).env("TENSORIZE", target), &why);
    }

    /// Where this environment hides the driver or the device.
    pub fn says_that_there_is_none(&self, hidden: (&str, &str), why: &str) {
        let mut command = Command::new(&self.with);
        command
            .env("TENSORIZE", self.target)
            .env(hidden.0, hidden.1);
        falls_back(&mut command, &format!("{}: {why}", self.target));
    }
}

fn falls_back(command: &mut Command, why: &str) {
    let all = format!("ran on original: 1 by the original, 0 by a target; {why}");
    for line in lines(command) {
        assert!(line.contains(&all), "{line}");
    }
}

/// What the program says of each kernel, once it has compared what they gave.
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
