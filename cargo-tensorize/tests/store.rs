//! Stored results under everything that can go wrong while they are written and read: nothing wrong is ever used, and
//! nothing right is lost.

mod common;

use common::{Files, KERNELS, code, command, faults, files, project, stderr, stdout, tensorize};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::fs;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;
use tensorize_build::record::{FORMAT, Record};
use tensorize_build::store::{Entry, Store};

/// The kernels after an edit: other results for both.
fn edited() -> String {
    KERNELS.replace("2 * x", "3 * x").replace("a + b", "a - b")
}

/// A project whose results are those of [`KERNELS`], and what is stored before and after an edit.
struct Edited {
    dir: TempDir,
    before: Files,
    after: Files,
    old: Vec<Entry>,
    new: Vec<Entry>,
}

impl Edited {
    fn new() -> Edited {
        let dir = project(KERNELS);
        let store = dir.path().join(".tensorize");
        let run = || {
            let out = tensorize(dir.path(), &[]);
            assert_eq!(code(&out), 0, "{}", stderr(&out));
            let contents = Store::at(&store).load();
            assert!(contents.rejected.is_empty(), "{:?}", contents.rejected);
            (files(&store), contents.entries)
        };
        let (before, old) = run();
        fs::write(dir.path().join("c/k.c"), edited()).unwrap();
        let (after, new) = run();
        assert_ne!(before, after);
        assert_eq!((old.len(), new.len()), (2, 2));
        Edited {
            dir,
            before,
            after,
            old,
            new,
        }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn store(&self) -> Store {
        Store::of_manifest(self.path())
    }

    /// The results are those before the edit, and the sources those after it.
    fn reset(&self) {
        fs::remove_dir_all(self.store().dir()).ok();
        for (path, bytes) in &self.before {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// Every kernel has a whole result, of before or of after; the number of those of after.
    fn is_whole(&self, what: &str) -> usize {
        let contents = self.store().load();
        assert!(
            contents.rejected.is_empty(),
            "{what}: {:?}",
            contents.rejected
        );
        assert_eq!(contents.entries.len(), 2, "{what}");
        for entry in &contents.entries {
            let is_right = self.old.contains(entry) || self.new.contains(entry);
            assert!(is_right, "{what}: {entry:?}");
        }
        contents
            .entries
            .iter()
            .filter(|e| self.new.contains(e))
            .count()
    }

    /// Another run finishes the work, and nothing is left lying about.
    fn finishes(&self, what: &str) {
        let out = tensorize(self.path(), &[]);
        assert_eq!(code(&out), 0, "{what}: {}", stderr(&out));
        assert!(!stderr(&out).contains("TZ0706"), "{what}: {}", stderr(&out));
        let now = files(self.store().dir());
        let names = |f: &Files| f.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&now), names(&self.after), "{what}");
        assert_eq!(now, self.after, "{what}");
    }
}

fn with_fault(p: &Edited, kind: &str, at: usize) -> Output {
    let mut command = command(p.path(), &[]);
    let left = tempfile::tempdir().unwrap();
    command.env("TMPDIR", left.path());
    faults::inject(&mut command, p.store().dir(), kind, at);
    command.output().unwrap()
}

/// More calls than a run makes.
const ENOUGH: usize = 200;

#[test]
fn killed_at_every_write() {
    let p = Edited::new();
    for kind in ["kill", "half"] {
        let mut new = Vec::new();
        for at in 1..ENOUGH {
            p.reset();
            let out = with_fault(&p, kind, at);
            let what = format!("{kind} at call {at}");
            if out.status.signal() != Some(9) {
                assert_eq!(code(&out), 0, "{what}: {}", stderr(&out));
                break;
            }
            new.push(p.is_whole(&what));
            if at % 4 == 0 {
                p.finishes(&what);
            }
        }
        // Killed before, between and after the results of the two kernels, in steps as small as calls.
        assert!(new.len() >= 12, "{kind}: {new:?}");
        assert!(new.is_sorted(), "{new:?}");
        assert!((0..=2).all(|n| new.contains(&n)), "{kind}: {new:?}");
        p.finishes(kind);
    }
}

#[test]
fn killed_at_any_time() {
    let p = Edited::new();
    p.reset();
    let start = Instant::now();
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let whole = start.elapsed();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    // What is killed leaves its scratch files.
    let left = tempfile::tempdir().unwrap();
    for round in 0..200 {
        p.reset();
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let part = u32::try_from(random % 1000).unwrap();
        let mut child = command(p.path(), &[])
            .env("TMPDIR", left.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(whole * part / 1000);
        child.kill().unwrap();
        child.wait().unwrap();
        p.is_whole(&format!("round {round}, at {part}/1000"));
    }
    p.finishes("at last");
}

/// A process of the group that is there, and not only waited for, as the system tells of it.
fn runs_in(group: i32) -> Option<String> {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let stats = all.filter_map(|e| fs::read_to_string(e.path().join("stat")).ok());
    stats.into_iter().find(|stat| {
        // State, parent and group follow the name, which may hold anything.
        let after = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let mut fields = after.split(' ');
        let state = fields.next();
        state != Some("Z") && fields.nth(1) == Some(&group.to_string())
    })
}

/// The same command, run by a program that runs what its last arguments are.
fn by(program: &[&str], run: &Command) -> Command {
    let mut outer = Command::new(program[0]);
    outer
        .args(&program[1..])
        .arg(run.get_program())
        .args(run.get_args());
    outer.current_dir(run.get_current_dir().unwrap());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => outer.env(name, value),
            None => outer.env_remove(name),
        };
    }
    outer
}

/// Ctrl-C goes to all that the terminal has in the foreground: what is stored is whole, and nothing runs on.
#[test]
fn interrupted_at_any_time() {
    let p = Edited::new();
    let left = tempfile::tempdir().unwrap();
    let mut interrupted = 0;
    for round in 0..20_u64 {
        p.reset();
        // Who has started the tests may have them ignore it, as shells do what runs in the background.
        let mut child = by(&["env", "--default-signal=INT"], &command(p.path(), &[]))
            .env("TMPDIR", left.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .unwrap();
        let group = Pid::from_raw(i32::try_from(child.id()).unwrap());
        std::thread::sleep(Duration::from_millis(10 + 17 * round));
        killpg(group, Signal::SIGINT).ok();
        let status = child.wait().unwrap();
        interrupted += usize::from(status.signal() == Some(2));
        p.is_whole(&format!("round {round}"));
        let start = Instant::now();
        while let Some(process) = runs_in(group.as_raw()) {
            assert!(
                start.elapsed() < Duration::from_secs(20),
                "something runs on: {process}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    assert!(interrupted > 0);
    p.finishes("at last");
}

/// The program was killed by the signal, and said nothing.
#[test]
fn a_largest_size_of_files_is_told_as_a_full_disk_is() {
    let p = project(KERNELS);
    let limit = ["bash", "-c", "ulimit -f 1; exec \"$@\"", "bash"];
    let out = by(&limit, &command(p.path(), &[])).output().unwrap();
    assert_eq!(code(&out), 101, "{out:?}");
    assert!(stderr(&out).contains("TZ0703"), "{}", stderr(&out));
    assert!(stdout(&out).contains("2 proven"), "{}", stdout(&out));
}

#[test]
fn a_full_disk_and_a_read_only_folder_take_nothing() {
    let p = Edited::new();
    for (kind, why, help) in [
        ("full", "No space left on device", "make room"),
        (
            "readonly",
            "Read-only file system",
            "the right to write there",
        ),
    ] {
        for at in [1, 2, 3, 5, 8] {
            p.reset();
            let out = with_fault(&p, kind, at);
            let what = format!("{kind} at call {at}");
            assert_eq!(code(&out), 101, "{what}: {}", stderr(&out));
            for part in ["TZ0703", ".tensorize/", why, help] {
                assert!(
                    stderr(&out).contains(part),
                    "{what}: {part}: {}",
                    stderr(&out)
                );
            }
            // What was found out is told, though it can't be stored.
            assert!(
                stdout(&out).contains("2 proven"),
                "{what}: {}",
                stdout(&out)
            );
            p.is_whole(&what);
        }
        p.finishes(kind);
    }
}

/// Permissions do not bind everybody who runs tests; a file in a folder's place does.
#[test]
fn a_file_or_a_link_where_the_folder_should_be() {
    let p = project(KERNELS);
    let store = p.path().join(".tensorize");
    fs::write(&store, "").unwrap();
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(
        stderr(&out).contains("a folder beside the manifest"),
        "{}",
        stderr(&out)
    );

    let elsewhere = tempfile::tempdir().unwrap();
    fs::remove_file(&store).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), &store).unwrap();
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert!(stderr(&out).contains("symbolic link"), "{}", stderr(&out));

    fs::remove_file(&store).unwrap();
    fs::create_dir(&store).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), store.join("cpu")).unwrap();
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    assert_eq!(
        fs::read_dir(elsewhere.path()).unwrap().count(),
        0,
        "nothing is written elsewhere"
    );
}

#[test]
fn many_at_once() {
    let p = Edited::new();
    p.reset();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0;
            while !stop.load(Ordering::Relaxed) {
                p.is_whole("while others write");
                reads += 1;
            }
            reads
        });
        let writers: Vec<_> = (0..6)
            .map(|_| {
                command(p.path(), &["--force"])
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for mut writer in writers {
            assert!(writer.wait().unwrap().success());
        }
        // The store itself, with two who do not agree.
        let both = [&p.old, &p.new].map(|entries| {
            let store = p.store();
            scope.spawn(move || {
                for _ in 0..50 {
                    for e in entries {
                        store.save(&e.record, &e.sources).unwrap();
                    }
                }
            })
        });
        both.into_iter().for_each(|w| w.join().unwrap());
        stop.store(true, Ordering::Relaxed);
        assert!(reader.join().unwrap() > 10);
    });
    p.finishes("after all");
}

#[test]
fn what_is_cut_short_or_has_a_wrong_bit_is_not_used() {
    let p = Edited::new();
    let store = p.store();
    for (path, bytes) in &p.after {
        let wrong = |what: &str| {
            for entry in store.load().entries {
                assert!(
                    p.new.contains(&entry),
                    "{}, {what}: {entry:?}",
                    path.display()
                );
            }
        };
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(path, damaged).unwrap();
            wrong(&format!("byte {at}"));
            if at % 7 == 0 {
                fs::write(path, &bytes[..at]).unwrap();
                wrong(&format!("only {at} bytes"));
            }
        }
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        let out = tensorize(p.path(), &[]);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        assert!(stderr(&out).contains("TZ0706"), "{}", stderr(&out));
        assert_eq!(files(store.dir()), p.after, "{}", path.display());
    }
}

#[test]
fn a_damaged_result_of_a_kernel_that_is_gone_goes() {
    let p = Edited::new();
    fs::write(
        p.path().join("c/k.c"),
        KERNELS.replace("TENSORIZE_KERNEL\n", ""),
    )
    .unwrap();
    fs::write(p.store().path_of("scale"), "half of").unwrap();
    assert_eq!(code(&tensorize(p.path(), &["check", "--locked"])), 104);
    assert_eq!(code(&tensorize(p.path(), &[])), 0);
    let left = files(p.store().dir());
    assert!(
        left.keys().all(|f| f.file_stem().unwrap() == "named"),
        "{left:?}"
    );
    assert_eq!(code(&tensorize(p.path(), &["check", "--locked"])), 0);
}

#[test]
fn what_a_later_version_has_stored_is_not_replaced() {
    let p = Edited::new();
    p.reset();
    let path = p.store().path_of("scale");
    let text = fs::read_to_string(&path).unwrap();
    let newer = text.replace(
        &format!("format = {FORMAT}"),
        &format!("format = {}", FORMAT + 1),
    );
    assert_ne!(text, newer);
    fs::write(&path, format!("{newer}\n[something]\nnew = true\n")).unwrap();
    let before = files(p.store().dir());
    let out = tensorize(p.path(), &[]);
    assert_eq!(code(&out), 101, "{}", stderr(&out));
    for part in ["scale.toml", "has format", "update cargo-tensorize"] {
        assert!(stderr(&out).contains(part), "{part}: {}", stderr(&out));
    }
    assert_eq!(files(p.store().dir()), before);
}

#[test]
fn no_clock_decides_what_is_current() {
    let p = Edited::new();
    let times = [
        SystemTime::UNIX_EPOCH,
        SystemTime::now() + Duration::from_secs(80 * 365 * 24 * 3600),
    ];
    let date = |time| {
        for path in files(p.path()).keys() {
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        }
    };
    let stored = |out: &Output| stdout(out).matches("\"stored\":true").count();
    let run = || tensorize(p.path(), &["--message-format", "json"]);
    for (then, now) in [(times[0], times[1]), (times[1], times[0])] {
        fs::write(p.path().join("c/k.c"), edited()).unwrap();
        run();
        date(then);
        let out = run();
        assert_eq!((code(&out), stored(&out)), (0, 2), "{}", stdout(&out));
        fs::write(p.path().join("c/k.c"), KERNELS).unwrap();
        date(now);
        let out = run();
        assert_eq!(code(&out), 0);
        assert!(stored(&out) < 2, "{}", stdout(&out));
        assert!(p.store().load().entries.iter().all(|e| p.old.contains(e)));
    }
}

#[test]
fn an_entry_names_no_file_outside_of_the_store() {
    let p = Edited::new();
    let outside = p.path().join("secret.c");
    fs::write(&outside, "int secret;\n").unwrap();
    for file in [
        "../secret.c",
        "cpu/../../secret.c",
        &outside.to_string_lossy(),
    ] {
        let entry = p.new.iter().find(|e| e.record.name == "scale").unwrap();
        let mut record: Record = entry.record.clone();
        let target = record.targets.get_mut("cpu").unwrap();
        target.file = Some(file.to_owned());
        target.source_hash = Some(tensorize_build::record::short_hash(b"int secret;\n"));
        record.seal();
        fs::write(p.store().path_of("scale"), record.to_toml().unwrap()).unwrap();
        let out = tensorize(p.path(), &["check", "--locked"]);
        assert_eq!(code(&out), 104, "{}", stderr(&out));
        assert!(
            stderr(&out).contains("is no file of a store"),
            "{}",
            stderr(&out)
        );
        p.store().save(&record, &entry.sources).unwrap_err();
        assert_eq!(fs::read_to_string(&outside).unwrap(), "int secret;\n");
    }
    let mut record = p.new[0].record.clone();
    record.name = "../scale".into();
    p.store().save(&record, &p.new[0].sources).unwrap_err();
}
