//! `watch`: what editors and version control do to files, and what is said of it.

mod common;

use common::{KERNELS, MANIFEST, command, project, tensorize, write};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Long enough for a machine with much else to do. No test passes by waiting for it.
const PATIENCE: Duration = Duration::from_secs(60);

struct Watch {
    child: Child,
    lines: Receiver<Value>,
}

/// What was said since the last time.
#[derive(Debug, Default)]
struct Said {
    /// Name and status of each kernel of which there was something to tell.
    kernels: Vec<(String, String)>,
    /// How many were proven again.
    proved: u64,
}

impl Watch {
    fn start(dir: &Path, args: &[&str]) -> Watch {
        let args = [&["watch", "--message-format", "json"], args].concat();
        let mut child = command(dir, &args)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        Watch { child, lines }
    }

    /// Collects verdicts until they say what is expected of a kernel.
    fn until(&self, name: &str, status: &str) -> Said {
        let mut said = Said::default();
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let line = self
                .lines
                .recv_timeout(left)
                .unwrap_or_else(|e| panic!("{name} is not said to be {status} ({e}): {said:?}"));
            let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
            if line["reason"] == "kernel" {
                said.kernels.push((text("name"), text("status")));
            } else {
                said.proved += line["proved"].as_u64().unwrap_or(0);
                let last = said.kernels.iter().rev().find(|(n, _)| n == name);
                if last.is_some_and(|(_, s)| s == status) {
                    return said;
                }
            }
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn edited(from: &str, to: &str) -> String {
    assert!(KERNELS.contains(from));
    KERNELS.replace(from, to)
}

/// A loop whose result depends on more than can be summed up.
const UNSUPPORTED: &str = "static int y; y += x; return y;";

#[test]
fn one_edited_kernel_is_proven_again_and_the_other_is_not() {
    let p = project(KERNELS);
    let watch = Watch::start(p.path(), &[]);
    let first = watch.until("named", "proven");
    assert_eq!(first.proved, 2, "{first:?}");
    write(p.path(), "c/k.c", &edited("return a + b;", "return a - b;"));
    let said = watch.until("named", "proven");
    assert_eq!((said.proved, said.kernels.len()), (1, 1), "{said:?}");
    // What comes back is known.
    write(p.path(), "c/k.c", KERNELS);
    let said = watch.until("named", "proven");
    assert_eq!(said.proved, 0, "{said:?}");
    // Lines above it: it stands elsewhere, and is the same.
    write(p.path(), "c/k.c", &format!("\n\n{KERNELS}"));
    let said = watch.until("named", "proven");
    assert_eq!((said.proved, said.kernels.len()), (0, 2), "{said:?}");
    assert!(!p.path().join(".tensorize").exists(), "it writes nothing");
}

#[test]
fn a_kernel_of_an_included_file_is_proven_again_only_where_that_changes() {
    let source = format!("{KERNELS}#define NAME add_one\n#include \"part.c\"\n");
    let part =
        "TENSORIZE_KERNEL\nvoid NAME(int *a, int n) { for (int i = 0; i < n; i++) a[i] += 1; }\n";
    let p = project(&source);
    write(p.path(), "c/part.c", part);
    let watch = Watch::start(p.path(), &[]);
    assert_eq!(watch.until("add_one", "proven").proved, 3);
    // The line that includes it is another one.
    write(p.path(), "c/k.c", &format!("\n\n{source}"));
    let said = watch.until("add_one", "proven");
    assert_eq!((said.proved, said.kernels.len()), (0, 3), "{said:?}");
    write(p.path(), "c/part.c", &part.replace("+= 1", "+= 2"));
    let said = watch.until("add_one", "proven");
    assert_eq!((said.proved, said.kernels.len()), (1, 1), "{said:?}");
}

#[test]
fn what_is_stored_is_not_proven_again() {
    let p = project(KERNELS);
    assert_eq!(common::code(&tensorize(p.path(), &[])), 0);
    let watch = Watch::start(p.path(), &[]);
    assert_eq!(watch.until("named", "proven").proved, 0);
    // And what was edited while nobody watched is.
    drop(watch);
    write(p.path(), "c/k.c", &edited("2 * x", "3 * x"));
    let watch = Watch::start(p.path(), &[]);
    assert_eq!(watch.until("scale", "proven").proved, 1);
}

#[test]
fn a_save_by_rename_and_a_file_that_goes_and_comes_back_are_seen() {
    let p = project(KERNELS);
    let watch = Watch::start(p.path(), &[]);
    watch.until("scale", "proven");
    for body in [UNSUPPORTED, "return 4 * x;"] {
        write(p.path(), "c/.k.c.swp", &edited("return 2 * x;", body));
        fs::rename(p.path().join("c/.k.c.swp"), p.path().join("c/k.c")).unwrap();
        let status = if body == UNSUPPORTED {
            "unsupported"
        } else {
            "proven"
        };
        watch.until("scale", status);
    }
    fs::remove_file(p.path().join("c/k.c")).unwrap();
    watch.until("scale", "error");
    write(p.path(), "c/k.c", KERNELS);
    watch.until("scale", "proven");
}

#[test]
fn a_folder_that_is_deleted_and_made_again_is_watched_again() {
    let p = project(KERNELS);
    let watch = Watch::start(p.path(), &[]);
    watch.until("scale", "proven");
    for body in ["return 5 * x;", UNSUPPORTED, "return 6 * x;"] {
        fs::remove_dir_all(p.path().join("c")).unwrap();
        watch.until("scale", "error");
        write(p.path(), "c/k.c", &edited("return 2 * x;", body));
        let status = if body == UNSUPPORTED {
            "unsupported"
        } else {
            "proven"
        };
        watch.until("scale", status);
    }
    // It is the new folder that is watched now.
    write(p.path(), "c/k.c", &edited("return 2 * x;", UNSUPPORTED));
    watch.until("scale", "unsupported");
}

#[test]
fn a_syntax_error_half_way_through_typing_passes() {
    let p = project(KERNELS);
    let watch = Watch::start(p.path(), &[]);
    watch.until("scale", "proven");
    write(
        p.path(),
        "c/k.c",
        &edited("out[i] = twice(a[i]);", "out[i] = twice(a["),
    );
    watch.until("scale", "error");
    write(
        p.path(),
        "c/k.c",
        &edited("out[i] = twice(a[i]);", "out[i] = 7 + twice(a[i]);"),
    );
    watch.until("scale", "proven");
}

#[test]
fn headers_and_the_manifest_count() {
    let p = project(&format!(
        "#include \"f.h\"\n{}",
        edited("2 * x", "FACTOR * x")
    ));
    write(p.path(), "c/f.h", "#define FACTOR 2\n");
    let watch = Watch::start(p.path(), &[]);
    let first = watch.until("scale", "proven");
    assert_eq!(first.proved, 2);
    write(p.path(), "c/f.h", "#define FACTOR 3\n");
    let said = watch.until("scale", "proven");
    assert_eq!(said.proved, 1, "the other kernel is as it was: {said:?}");
    // A header that goes, and comes back in another form.
    fs::remove_file(p.path().join("c/f.h")).unwrap();
    watch.until("scale", "error");
    write(p.path(), "c/f.h", "#define FACTOR 4 + 1\n");
    watch.until("scale", "proven");
    // One more kernel.
    let named = "kernels = [\"c/k.c::named\", \"c/k.c::plain\"]";
    write(
        p.path(),
        "Cargo.toml",
        &MANIFEST.replace("kernels = [\"c/k.c::named\"]", named),
    );
    watch.until("plain", "proven");
}

fn git(dir: &Path, args: &[&str]) {
    let mut git = std::process::Command::new("git");
    git.args([
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t",
        "-c",
        "init.defaultBranch=main",
    ]);
    let done = git
        .args(args)
        .current_dir(dir)
        .output()
        .expect("git is installed");
    assert!(done.status.success(), "{args:?}: {done:?}");
}

#[test]
fn a_branch_switch_that_moves_the_sources_is_followed() {
    let p = project(KERNELS);
    for args in [
        &["init"][..],
        &["add", "."],
        &["commit", "-m", "one"],
        &["checkout", "-b", "two"],
    ] {
        git(p.path(), args);
    }
    fs::remove_dir_all(p.path().join("c")).unwrap();
    write(
        p.path(),
        "deep/er/k.c",
        &edited("return a + b;", "return a * b;"),
    );
    write(
        p.path(),
        "Cargo.toml",
        &MANIFEST.replace("c/k.c", "deep/er/k.c"),
    );
    for args in [
        &["add", "."][..],
        &["commit", "-am", "two"],
        &["checkout", "main"],
    ] {
        git(p.path(), args);
    }
    let watch = Watch::start(p.path(), &[]);
    watch.until("named", "proven");
    for (branch, proved) in [("two", 1), ("main", 0), ("two", 0)] {
        git(p.path(), &["checkout", branch]);
        let said = watch.until("named", "proven");
        assert_eq!(said.proved, proved, "{branch}: {said:?}");
    }
    write(
        p.path(),
        "deep/er/k.c",
        &edited("return a + b;", "return a / b;"),
    );
    watch.until("named", "proven");
}

#[test]
fn polling_sees_the_same() {
    let p = project(KERNELS);
    let watch = Watch::start(p.path(), &["--poll", "0.05"]);
    watch.until("scale", "proven");
    write(p.path(), "c/k.c", &edited("return 2 * x;", UNSUPPORTED));
    watch.until("scale", "unsupported");
}
