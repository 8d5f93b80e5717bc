//! Runs the workspace's test programs two at a time. `cargo test` runs one after the other, and most leave cores idle:
//! they wait for compilers and solvers, or have one long test left.

use std::collections::VecDeque;
use std::io::{Read, Seek};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process::{cargo, output, target_dir};

/// More would be no faster on two cores, and each has as many threads as there are cores already.
const AT_ONCE: usize = 2;

/// These take longest, and so begin first: nothing short waits for them at the end. Others come as cargo names them.
const LONGEST: [&str; 10] = [
    "cargo-tensorize cli",
    "tensorize-e2e structures",
    "tensorize-lift near_misses",
    "tensorize-e2e mutants",
    "tensorize-backends frameworks",
    "tensorize-lift cpp",
    "cargo-tensorize store",
    "cargo-tensorize golden",
    "tensorize-e2e targets",
    "tensorize-backends rows",
];

/// A compiled test program.
struct Program {
    /// Its package and its name, as cargo's `--package` and `--test` have them.
    name: String,
    executable: PathBuf,
    /// The package's folder, in which cargo would start it.
    folder: PathBuf,
}

/// What cargo says of each thing it compiled, as far as we look at it.
#[derive(Deserialize)]
struct Message {
    package_id: Option<String>,
    executable: Option<PathBuf>,
    manifest_path: Option<PathBuf>,
    profile: Option<Profile>,
    target: Option<Target>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

/// Compiles and runs the tests of the workspace, those in its documentation last, all with `arguments`. What a program
/// printed goes to `printed` at once when it ends. The programs that failed, each with its tests that did.
pub fn run(arguments: &[String], mut printed: impl FnMut(&str) + Send) -> Result<Vec<String>> {
    let programs = programs()?;
    let all = programs.len();
    let programs = Mutex::new((1..).zip(programs).collect::<VecDeque<_>>());
    let ends = Mutex::new((&mut printed, Vec::new()));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    loop {
                        let next = programs.lock().expect("no worker panics").pop_front();
                        let Some((n, program)) = next else {
                            return Ok(());
                        };
                        // Whoever waits sees for what.
                        eprintln!("[{n} of {all}] {}", program.name);
                        let done = program.run(arguments)?;
                        let mut ends = ends.lock().expect("no worker panics");
                        (ends.0)(&done.text);
                        ends.1.extend(done.failed);
                    }
                })
            })
            .collect();
        workers
            .into_iter()
            .try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let (printed, mut failed) = ends.into_inner().expect("no worker panics");
    let mut documentation = cargo();
    documentation
        .args(["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"])
        .arg("--")
        .args(arguments);
    let done = ended("documentation", &mut documentation)?;
    printed(&done.text);
    failed.extend(done.failed);
    Ok(failed)
}

/// The test programs, compiled, in the order in which they shall begin.
fn programs() -> Result<Vec<Program>> {
    let mut build = cargo();
    build
        .args(["test", "--workspace", "--no-run", "--quiet"])
        .args(["--message-format", "json-render-diagnostics"]);
    let mut programs: Vec<Program> = output(&mut build)?.lines().filter_map(program).collect();
    if programs.is_empty() {
        bail!("cargo has compiled no test program");
    }
    let is_one = |name: &&str| programs.iter().any(|p| p.name == *name);
    if let Some(gone) = LONGEST.iter().find(|name| !is_one(name)) {
        bail!(
            "there is no test program `{gone}`: correct `LONGEST` in {}",
            file!()
        );
    }
    programs.sort_by_key(|p| {
        LONGEST
            .iter()
            .position(|l| *l == p.name)
            .unwrap_or(LONGEST.len())
    });
    Ok(programs)
}

/// The test program that a message of cargo's tells of, if it is of one.
fn program(message: &str) -> Option<Program> {
    let message: Message = serde_json::from_str(message).ok()?;
    let (target, executable) = (message.target?, message.executable?);
    if !message.profile?.test {
        return None;
    }
    let folder = message.manifest_path?.parent()?.to_path_buf();
    let of_its_own = target.kind.iter().any(|kind| kind == "test");
    let inside = if of_its_own { &target.name } else { "units" };
    Some(Program {
        name: format!("{} {inside}", package(&message.package_id?)?),
        executable,
        folder,
    })
}

/// The package's name: `path+file:///…/tests#tensorize-e2e@0.1.0`, or `…/xtask#0.1.0` where the folder has it, too.
fn package(id: &str) -> Option<&str> {
    let (path, rest) = id.rsplit_once('#')?;
    match rest.split_once('@') {
        Some((name, _)) => Some(name),
        None => Some(path.rsplit_once('/')?.1),
    }
}

/// What a test program came to.
struct Done {
    /// A heading and what it printed.
    text: String,
    /// What failed, if something did.
    failed: Option<String>,
}

impl Program {
    /// As `cargo test` would run it.
    fn run(&self, arguments: &[String]) -> Result<Done> {
        let mut command = Command::new(&self.executable);
        command
            .arg("--quiet")
            .args(arguments)
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            // Tests build projects of users, each with a target folder of its own: what these depend on is compiled once.
            .env("CARGO_BUILD_BUILD_DIR", target_dir().join("projects"));
        ended(&self.name, &mut command)
    }
}

/// Runs `command` to its end. Tests print to standard error what libtest does not hold back, so both belong together. They go
/// to a file, since the end of a pipe would have to wait for whatever the tests have left running.
fn ended(name: &str, command: &mut Command) -> Result<Done> {
    let began = Instant::now();
    let mut file = tempfile::tempfile().context("no temporary file")?;
    let status = command
        .stdin(Stdio::null())
        .stdout(file.try_clone().context("no temporary file")?)
        .stderr(file.try_clone().context("no temporary file")?)
        .status()
        .with_context(|| format!("cannot start {name}"))?;
    let mut printed = Vec::new();
    file.rewind()
        .and_then(|()| file.read_to_end(&mut printed))
        .with_context(|| format!("cannot read what {name} prints"))?;
    let printed = String::from_utf8_lossy(&printed);
    Ok(Done {
        text: format!(
            "\n== {name} ({:.0} s)\n{}",
            began.elapsed().as_secs_f64(),
            printed.trim()
        ),
        failed: (!status.success()).then(|| match failures(&printed) {
            tests if tests.is_empty() => format!("{name}: {status}"),
            tests => format!("{name}: {}", tests.join(", ")),
        }),
    })
}

/// The tests under libtest's last heading `failures:`, where each has a line; under the one before, what they printed.
fn failures(printed: &str) -> Vec<&str> {
    let Some((_, listed)) = printed.rsplit_once("\nfailures:\n") else {
        return Vec::new();
    };
    let lines = listed.lines();
    lines.map_while(|line| line.strip_prefix("    ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_test_is_named_with_its_program() {
        let script = "printf 'running 2 tests\\n\\nfailures:\\n\\n---- a::b stdout ----\\nwhy\\n\\n'; \
                      printf '\\nfailures:\\n    a::b\\n    c\\n\\ntest result: FAILED.\\n' >&2; exit 101";
        let done = ended("p t", Command::new("sh").args(["-c", script])).unwrap();
        assert!(done.text.starts_with("\n== p t ("), "{}", done.text);
        assert!(
            done.text.contains("---- a::b stdout ----\nwhy"),
            "{}",
            done.text
        );
        assert_eq!(done.failed.unwrap(), "p t: a::b, c");
        let killed = ended("p t", Command::new("sh").args(["-c", "kill -9 $$"])).unwrap();
        assert!(killed.failed.unwrap().starts_with("p t: signal: 9"));
        let passed = ended("p t", Command::new("sh").args(["-c", "echo fine"])).unwrap();
        assert_eq!(passed.failed, None);
    }

    #[test]
    fn test_programs_are_told_from_other_things_that_cargo_compiles() {
        let message = |kind: &str, test: bool| {
            serde_json::json!({
                "reason": "compiler-artifact", "package_id": "path+file:///w/tests#e2e@0.1.0",
                "manifest_path": "/w/tests/Cargo.toml", "executable": "/a/t-0",
                "target": {"name": "t", "kind": [kind]}, "profile": {"test": test, "opt_level": "0"},
            })
            .to_string()
        };
        let name = |message: &str| program(message).map(|p| p.name);
        assert_eq!(name(&message("test", true)).unwrap(), "e2e t");
        assert_eq!(name(&message("lib", true)).unwrap(), "e2e units");
        assert_eq!(package("path+file:///w/xtask#0.1.0"), Some("xtask"));
        assert_eq!(name(&message("bin", false)), None);
        assert_eq!(
            name("{\"reason\":\"build-finished\",\"success\":true}"),
            None
        );
    }
}
