//! The shared cache: what one checkout has proven another one has without a proof, and nothing that is wrong with the
//! cache makes a result wrong.

mod common;

use common::{
    Files, KERNELS, MANIFEST, code, command, faults, files, project, stderr, stdout, write,
};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tempfile::TempDir;
use tensorize_build::cache::Cache;
use tensorize_build::record::FORMAT;
use tensorize_build::store::{Entry, Store};

/// A cache, and a checkout whose results it has.
struct Filled {
    cache: TempDir,
    first: TempDir,
}

fn with_cache(cache: &Path, dir: &Path, args: &[&str]) -> Command {
    let mut command = command(dir, args);
    command
        .env("TENSORIZE_CACHE", cache)
        .env_remove("TENSORIZE_CACHE_SIZE");
    command
}

impl Filled {
    fn new() -> Filled {
        let (cache, first) = (tempfile::tempdir().unwrap(), project(KERNELS));
        let filled = Filled { cache, first };
        let out = filled.run(filled.first.path(), &[]);
        assert_eq!((code(&out), cached(&out)), (0, 0), "{}", stderr(&out));
        assert_eq!(filled.cache().size().results, 2);
        filled
    }

    fn run(&self, dir: &Path, args: &[&str]) -> Output {
        let args = [args, &["--message-format", "json"]].concat();
        with_cache(self.cache.path(), dir, &args).output().unwrap()
    }

    fn cache(&self) -> Cache {
        Cache::at(self.cache.path())
    }

    /// What is stored beside the first checkout's manifest.
    fn proven(&self) -> Vec<Entry> {
        entries(self.first.path())
    }

    /// What the cache holds under the hashes of the first checkout's kernels.
    fn kept(&self) -> Vec<Entry> {
        let kept = |e: Entry| self.cache().best(&e.record.hash, &e.record.name, |_| 1);
        self.proven().into_iter().filter_map(kept).collect()
    }

    /// The files of results.
    fn results(&self) -> Files {
        let mut all = files(self.cache().dir());
        let is_result = |p: &Path| p.extension().is_some_and(|e| e == "toml" || e == "c");
        all.retain(|path, _| is_result(path));
        all
    }

    fn record_of(&self, kernel: &str) -> PathBuf {
        let name = format!("{kernel}.toml");
        let mut all = self.results().into_keys();
        all.find(|p| p.ends_with(&name)).expect("it is there")
    }

    /// A checkout of the same sources gets the same results; how many of them from the cache.
    fn another_checkout(&self, what: &str) -> usize {
        let dir = project(KERNELS);
        let out = self.run(dir.path(), &[]);
        assert_eq!(code(&out), 0, "{what}: {}", stderr(&out));
        assert_eq!(entries(dir.path()), self.proven(), "{what}");
        cached(&out)
    }
}

/// Without what differs from run to run.
fn entries(dir: &Path) -> Vec<Entry> {
    let contents = Store::of_manifest(dir).load();
    assert!(contents.rejected.is_empty(), "{:?}", contents.rejected);
    contents.entries
}

fn cached(out: &Output) -> usize {
    stdout(out).matches("\"cached\":true").count()
}

#[test]
fn another_checkout_has_the_results_without_a_proof() {
    let f = Filled::new();
    assert_eq!(f.another_checkout("the same"), 2);

    // They are as good as its own: the gate and a proof from nothing say the same.
    let second = project(KERNELS);
    let out = with_cache(f.cache.path(), second.path(), &[])
        .output()
        .unwrap();
    assert!(stdout(&out).contains("cached"), "{}", stdout(&out));
    for args in [
        &["check", "--locked"][..],
        &["check", "--locked", "--reprove"],
    ] {
        let out = f.run(second.path(), args);
        assert_eq!((code(&out), cached(&out)), (0, 0), "{}", stderr(&out));
    }

    // One kernel is another one: the other is still known.
    write(second.path(), "c/k.c", &KERNELS.replace("2 * x", "3 * x"));
    let out = f.run(second.path(), &[]);
    assert_eq!((code(&out), cached(&out)), (0, 0), "{}", stdout(&out));
    fs::remove_dir_all(second.path().join(".tensorize")).unwrap();
    let out = f.run(second.path(), &[]);
    assert_eq!((code(&out), cached(&out)), (0, 2), "{}", stdout(&out));
}

#[test]
fn nothing_is_taken_that_was_found_out_under_other_circumstances() {
    let f = Filled::new();
    let other = |manifest: &str, kernels: &str, args: &[&str]| {
        let dir = project(kernels);
        write(dir.path(), "Cargo.toml", manifest);
        let out = f.run(dir.path(), args);
        assert_eq!(code(&out), 0, "{}", stderr(&out));
        cached(&out)
    };
    assert_eq!(other(MANIFEST, KERNELS, &[]), 2);
    assert_eq!(other(MANIFEST, KERNELS, &["--reprove"]), 0);
    assert_eq!(other(MANIFEST, KERNELS, &["--target", "numpy"]), 0);
    let exact = MANIFEST.replace("targets", "tier = \"exact\"\ntargets");
    assert_eq!(other(&exact, KERNELS, &[]), 0);
    assert_eq!(
        other(MANIFEST, &KERNELS.replace("int plain", "int twin"), &[]),
        2,
        "what no kernel mentions does not count"
    );
}

/// Whoever put it there: a result is of the kernel that it says, or it is not used.
#[test]
fn a_result_in_another_ones_place_is_not_used() {
    let f = Filled::new();
    let edited = project(&KERNELS.replace("2 * x", "3 * x"));
    assert_eq!(code(&f.run(edited.path(), &[])), 0);
    let wrong = f.record_of("scale");
    let name = wrong.file_name().unwrap().to_owned();
    let places: Vec<PathBuf> = f
        .results()
        .into_keys()
        .filter(|p| p.file_name() == Some(&name))
        .collect();
    let [a, b] = &places[..] else {
        panic!("{places:?}");
    };
    let source = |record: &Path| record.with_file_name("cpu").join("scale.c");
    for (from, to) in [(a, b), (&source(a), &source(b))] {
        fs::copy(from, to).unwrap();
    }
    assert!(f.another_checkout("one of two is wrong") >= 1);
    let again = project(&KERNELS.replace("2 * x", "3 * x"));
    assert_eq!(code(&f.run(again.path(), &[])), 0);
    assert_eq!(entries(again.path()), entries(edited.path()));
}

#[test]
fn what_is_cut_short_or_has_a_wrong_bit_is_not_used() {
    let f = Filled::new();
    let right = f.kept();
    assert_eq!(right.len(), 2);
    let whole = f.results();
    for (path, bytes) in &whole {
        let wrong = |what: &str| {
            for entry in f.kept() {
                assert!(right.contains(&entry), "{}, {what}", path.display());
            }
        };
        for at in (0..bytes.len()).step_by(3) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << (at % 8);
            fs::write(path, damaged).unwrap();
            wrong(&format!("byte {at}"));
        }
        fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        let found = f.another_checkout("half of one");
        assert_eq!(found, 1, "{}", path.display());
        assert_eq!(f.results(), whole, "it is whole again");
    }
}

#[test]
fn what_a_later_version_has_kept_is_neither_used_nor_replaced() {
    let f = Filled::new();
    let path = f.record_of("scale");
    let text = fs::read_to_string(&path).unwrap();
    let (now, later) = (
        format!("format = {FORMAT}"),
        format!("format = {}", FORMAT + 1),
    );
    let newer = text.replace(&now, &later) + "\n[something]\nnew = true\n";
    fs::write(&path, &newer).unwrap();
    assert_eq!(f.another_checkout("a newer one"), 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}

#[test]
fn killed_at_every_write() {
    let f = Filled::new();
    let right = f.kept();
    for (kind, step) in [("kill", 1), ("half", 3)] {
        let mut at = 1;
        loop {
            fs::remove_dir_all(f.cache().dir()).ok();
            // One kernel is enough, and half the time.
            let dir = project(KERNELS);
            let manifest = MANIFEST.replace("kernels = [\"c/k.c::named\"]\n", "");
            write(dir.path(), "Cargo.toml", &manifest);
            let mut command = with_cache(f.cache.path(), dir.path(), &[]);
            faults::inject(&mut command, f.cache.path(), kind, at);
            let out = command.output().unwrap();
            let what = format!("{kind} at call {at}");
            assert!(f.kept().iter().all(|e| right.contains(e)), "{what}");
            let own = entries(dir.path());
            assert!(own.iter().all(|e| right.contains(e)), "{what}");
            if out.status.signal() != Some(9) {
                assert_eq!(code(&out), 0, "{what}: {}", stderr(&out));
                break;
            }
            if at % 8 == 1 {
                f.another_checkout(&what);
                assert_eq!(f.kept().len(), 2, "{what}");
            }
            at += step;
        }
        assert!(at > 8, "{kind}: only {at} calls");
    }
}

#[test]
fn a_full_disk_costs_one_line() {
    let f = Filled::new();
    for kind in ["full", "readonly"] {
        for at in [1, 3, 6] {
            fs::remove_dir_all(f.cache().dir()).ok();
            let dir = project(KERNELS);
            let mut command = with_cache(f.cache.path(), dir.path(), &[]);
            faults::inject(&mut command, f.cache.path(), kind, at);
            let out = command.output().unwrap();
            let what = format!("{kind} at call {at}: {}", stderr(&out));
            assert_eq!(code(&out), 0, "{what}");
            assert_eq!(stderr(&out).matches("TZ0708").count(), 1, "{what}");
            assert_eq!(entries(dir.path()), f.proven(), "{what}");
        }
    }
    assert_eq!(f.another_checkout("then there is room"), 0);
    assert_eq!(f.another_checkout("and it is kept"), 2);
}

/// Writers, readers, and eviction all the time.
#[test]
fn many_at_once() {
    let f = Filled::new();
    let right = f.kept();
    let dirs: Vec<TempDir> = (0..6).map(|_| project(KERNELS)).collect();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut found = 0;
            while !stop.load(Ordering::Relaxed) {
                for entry in f.kept() {
                    assert!(right.contains(&entry), "{entry:?}");
                    found += 1;
                }
            }
            found
        });
        let evictor = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                f.cache().evict(0).unwrap();
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let writer = scope.spawn(|| {
            for _ in 0..300 {
                for e in &right {
                    let key = tensorize_build::cache::Key::new(&e.record.hash, &[]);
                    f.cache().keep(&key, &e.record, &e.sources).unwrap();
                }
            }
        });
        let mut runs: Vec<_> = dirs
            .iter()
            .map(|dir| {
                with_cache(f.cache.path(), dir.path(), &[])
                    .env("TENSORIZE_CACHE_SIZE", "1K")
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap()
            })
            .collect();
        for run in &mut runs {
            assert!(run.wait().unwrap().success());
        }
        writer.join().unwrap();
        stop.store(true, Ordering::Relaxed);
        evictor.join().unwrap();
        assert!(reader.join().unwrap() > 0);
    });
    for dir in &dirs {
        assert_eq!(entries(dir.path()), f.proven());
    }
    f.cache().evict(0).unwrap();
    assert_eq!(f.cache().size().bytes, 0, "nothing is left over");
}

/// Whenever a run is killed, the cache and the checkout have whole results or none, and the next run has what is there.
#[test]
fn killed_at_any_time() {
    let f = Filled::new();
    let start = Instant::now();
    let (cache, dir) = (tempfile::tempdir().unwrap(), project(KERNELS));
    let run = with_cache(cache.path(), dir.path(), &[]).output().unwrap();
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let whole = start.elapsed();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    // What is killed leaves its scratch files.
    let left = tempfile::tempdir().unwrap();
    let mut kept_by_killed = 0;
    for round in 0..30 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        // Most of the time goes by before anything is written.
        let part = 500 + u32::try_from(random % 600).unwrap();
        let (cache, dir) = (tempfile::tempdir().unwrap(), project(KERNELS));
        let mut child = with_cache(cache.path(), dir.path(), &[])
            .env("TMPDIR", left.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        match round % 2 {
            0 => std::thread::sleep(whole * part / 1000),
            // However busy the machine is, some are killed when a part has been written.
            _ => {
                let written = || Cache::at(cache.path()).size().results > 0;
                while !written() && child.try_wait().unwrap().is_none() {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let what = format!("round {round}, at {part}/1000");
        for entry in entries(dir.path()) {
            assert!(f.proven().contains(&entry), "{what}: {entry:?}");
        }
        let mut kept = 0;
        for entry in f.proven() {
            let record = &entry.record;
            let found = Cache::at(cache.path()).best(&record.hash, &record.name, |_| 1);
            kept += usize::from(found.is_some());
            assert!(found.is_none_or(|e| e == entry), "{what}: {entry:?}");
        }
        kept_by_killed += kept;
        if round % 5 == 0 {
            let another = project(KERNELS);
            let args = ["--message-format", "json"];
            let out = with_cache(cache.path(), another.path(), &args)
                .output()
                .unwrap();
            assert_eq!((code(&out), &*stderr(&out)), (0, ""), "{what}");
            assert_eq!(cached(&out), kept, "{what}");
            assert_eq!(entries(another.path()), f.proven(), "{what}");
            assert_eq!(Cache::at(cache.path()).size().results, 2, "{what}");
        }
    }
    assert!(kept_by_killed > 0, "nothing was written");
}

#[test]
fn it_keeps_to_its_size_whatever_the_clock_says() {
    let f = Filled::new();
    let times = [
        SystemTime::UNIX_EPOCH,
        SystemTime::now() + Duration::from_secs(80 * 365 * 24 * 3600),
    ];
    for time in times {
        for path in f.results().into_keys() {
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(time).unwrap();
        }
        assert_eq!(f.another_checkout("another time"), 2);
    }
    // The other kernel makes the cache too large, and the two that a wrong clock dated go.
    for path in f.results().into_keys() {
        let file = fs::File::options().append(true).open(path).unwrap();
        file.set_modified(times[1]).unwrap();
    }
    let third = project(
        &KERNELS
            .replace("int twice", "int thrice")
            .replace("twice(", "thrice("),
    );
    let size = f.cache().size().bytes;
    let out = with_cache(f.cache.path(), third.path(), &[])
        .env("TENSORIZE_CACHE_SIZE", size.to_string())
        .output()
        .unwrap();
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    assert!(f.cache().size().bytes <= size);
    let hash = |e: &Entry| e.record.hash.clone();
    let new = entries(third.path())
        .into_iter()
        .find(|e| e.record.name == "scale");
    let new = new.unwrap();
    assert_eq!(f.cache().best(&hash(&new), "scale", |_| 1), Some(new));
}

#[test]
fn a_folder_that_must_not_be_trusted_is_not_used() {
    let f = Filled::new();
    let dir = project(KERNELS);
    fs::set_permissions(f.cache.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let out = f.run(dir.path(), &[]);
    assert_eq!((code(&out), cached(&out)), (0, 0));
    assert!(stderr(&out).contains("TZ0708"), "{}", stderr(&out));
    assert!(stderr(&out).contains("by everybody"), "{}", stderr(&out));

    let out = with_cache(Path::new("here"), dir.path(), &["--force"])
        .output()
        .unwrap();
    assert_eq!(code(&out), 0);
    assert!(
        stderr(&out).contains("no absolute path"),
        "{}",
        stderr(&out)
    );
    assert!(!dir.path().join("here").exists());

    let out = with_cache(f.cache.path(), dir.path(), &[])
        .env("TENSORIZE_CACHE", "off")
        .env("TENSORIZE_CACHE_SIZE", "no number")
        .output()
        .unwrap();
    assert_eq!((code(&out), &*stderr(&out)), (0, ""));
}

/// Named nowhere, the cache is in the user's folder, for the user alone.
#[test]
fn it_is_in_the_users_own_folder() {
    let home = tempfile::tempdir().unwrap();
    let run = |dir: &Path| {
        command(dir, &["--message-format", "json"])
            .env_remove("TENSORIZE_CACHE")
            .env("XDG_CACHE_HOME", home.path().join("caches"))
            .env("TENSORIZE_CACHE_SIZE", "much")
            .output()
            .unwrap()
    };
    let (first, second) = (project(KERNELS), project(KERNELS));
    let out = run(first.path());
    assert_eq!(code(&out), 0);
    assert!(stderr(&out).contains("like 500M"), "{}", stderr(&out));
    assert_eq!(cached(&run(second.path())), 2);
    let folder = home.path().join("caches/cargo-tensorize");
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    assert!(folder.join("CACHEDIR.TAG").is_file());
}

#[test]
fn doctor_tells_how_much_there_is() {
    let f = Filled::new();
    let doctor = |cache: &Path, size: &str| {
        let out = with_cache(cache, f.first.path(), &["doctor"])
            .env("TENSORIZE_CACHE_SIZE", size)
            .output()
            .unwrap();
        let text = stdout(&out);
        let mut lines = text.lines().map(str::to_owned);
        lines
            .find(|l| l.contains("shared cache"))
            .expect("it is listed")
    };
    let line = doctor(f.cache.path(), "3M");
    for part in [
        "ok",
        "2 results",
        "of 3.00 MiB",
        &f.cache().dir().to_string_lossy(),
    ] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(doctor(f.cache.path(), "3 tons").contains("like 500M"));
    assert!(doctor(Path::new("off"), "").contains("  no "));
}
