use super::*;
use std::fs::TryLockError;

fn record(name: &str, hash: &str) -> Record {
    Record::new(name, "f.c", 1, hash, Status::Proven)
}

fn keep(cache: &Cache, name: &str, hash: &str) -> Key {
    let key = Key::new(hash, &[("kernel", name)]);
    cache
        .keep(&key, &record(name, hash), &BTreeMap::new())
        .unwrap();
    key
}

#[test]
fn circumstances_are_told_apart() {
    let key = |c: &[(&str, &str)]| Key::new("ab", c);
    assert_ne!(key(&[("a", "b")]), key(&[("ab", "")]));
    assert_ne!(key(&[("a", "b")]), key(&[("a", "b"), ("", "")]));
    assert_ne!(key(&[("a", "1\n1:b")]), key(&[("a", "1"), ("b", "")]));
    assert_eq!(key(&[("a", "b")]), key(&[("a", "b")]));
}

#[test]
fn only_what_is_proven_is_kept_and_only_by_this_version() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let key = Key::new("ab12", &[]);
    for status in [Status::Refuted, Status::Unproven, Status::Error] {
        let r = Record::new("f", "f.c", 1, "ab12", status);
        cache.keep(&key, &r, &BTreeMap::new()).unwrap();
        assert_eq!(cache.size().results, 0);
    }
    let older = Record {
        tool: "cargo-tensorize 0.0.1".into(),
        ..record("f", "ab12")
    };
    cache.keep(&key, &older, &BTreeMap::new()).unwrap();
    assert!(cache.find(&key, "f").is_none());
    assert!(cache.best("ab12", "f", |_| 1).is_none());
}

#[test]
fn a_hash_that_is_a_path_finds_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(&dir.path().join("cache"));
    keep(&cache, "f", "ab12");
    for hash in ["../ab12", "/etc", "", "a", "..", "ab/12", "é"] {
        let key = Key::new(hash, &[]);
        cache
            .keep(&key, &record("f", hash), &BTreeMap::new())
            .unwrap();
        assert!(cache.find(&key, "f").is_none());
        assert!(cache.best(hash, "f", |_| 1).is_none());
    }
    assert_eq!(cache.size().results, 1);
    assert_eq!(list(dir.path()).len(), 1);
}

#[test]
fn the_last_used_one_stays_longest() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let keys = ["aa", "bb", "cc"].map(|hash| keep(&cache, "f", hash));
    for (age, key) in [(30, &keys[0]), (20, &keys[1]), (10, &keys[2])] {
        let path = cache.store(key).unwrap().path_of("f");
        let file = OpenOptions::new().append(true).open(path).unwrap();
        let time = SystemTime::now() - Duration::from_secs(age * 1000);
        file.set_modified(time).unwrap();
    }
    assert!(cache.find(&keys[0], "f").is_some());
    let whole = cache.size();
    cache.evict(whole.bytes).unwrap();
    assert_eq!(cache.size(), whole, "it is not too large");
    cache.evict(whole.bytes - 1).unwrap();
    assert!(cache.find(&keys[1], "f").is_none());
    assert!(cache.find(&keys[0], "f").is_some());
    assert!(cache.find(&keys[2], "f").is_some());
}

#[test]
fn what_is_being_read_or_written_stays() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let (read, other) = (keep(&cache, "f", "aa"), keep(&cache, "f", "bb"));
    let held = cache.hold("aa").unwrap();
    cache.evict(0).unwrap();
    assert!(cache.find(&read, "f").is_some());
    assert!(cache.find(&other, "f").is_none());
    drop(held);
    cache.evict(0).unwrap();
    assert!(cache.find(&read, "f").is_none());
    assert_eq!(cache.size().bytes, 0);
}

/// Who evicts doesn't let others wait: they do without the result.
#[test]
fn what_is_being_removed_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let key = keep(&cache, "f", "aa");
    let lock = File::open(cache.lock_of("aa")).unwrap();
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => panic!("nobody else has it"),
        Err(TryLockError::Error(_)) => return, // this file system has none
    }
    assert!(cache.find(&key, "f").is_none());
    cache
        .keep(&key, &record("f", "aa"), &BTreeMap::new())
        .unwrap();
    lock.unlock().unwrap();
    assert!(cache.find(&key, "f").is_some());
}

/// As a process that another thread starts has it, for a moment.
#[test]
fn who_has_the_file_open_holds_nothing_up() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    keep(&cache, "f", "aa");
    let held = Held::shared(File::open(cache.lock_of("aa")).unwrap());
    let Ok(held) = held else {
        return; // this file system has none
    };
    let held = held.expect("nobody removes it");
    let _other = held.0.try_clone().unwrap();
    drop(held);
    assert!(Held::alone(File::open(cache.lock_of("aa")).unwrap()).is_some());
}

#[test]
fn what_a_killed_writer_left_goes() {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path());
    let key = keep(&cache, "f", "aa");
    let left = cache.dir().join("aa/0123/cpu");
    fs::create_dir_all(&left).unwrap();
    fs::write(left.join(".7-0.tmp"), "half").unwrap();
    cache.evict(1 << 20).unwrap();
    assert!(!left.exists());
    assert!(cache.find(&key, "f").is_some());
}
