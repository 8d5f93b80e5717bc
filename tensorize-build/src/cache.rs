//! The shared cache: proven results that other checkouts on the machine may have, too.
//!
//! A folder of its own for each result: `v1/KERNEL'S HASH/VARIANT/`, in which a [`Store`] holds the record and the
//! generated sources. It is the user's own, or one that a team names, and whoever can write to it decides what code is
//! compiled, as whoever can commit does. What is read from it passes the same checks as `.tensorize/`, and no fewer.
//!
//! Readers and writers of a result hold a lock that they share, and who evicts it wants it alone, so that nothing
//! is removed while somebody reads it. The locks are files outside of what they protect.

mod evict;

use crate::record::{self, Record, Status};
use crate::store::{Entry, Store, list};
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a reader waits for somebody who evicts, which takes less than a millisecond. After that it goes without
/// the result.
const PATIENCE: Duration = Duration::from_millis(200);

/// The folder that holds the locks, which is no hash's.
const LOCKS: &str = "locks";

/// A folder of results, of this version's format.
#[derive(Clone, Debug)]
pub struct Cache {
    dir: PathBuf,
}

/// Where a result has its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    hash: String,
    variant: String,
}

impl Key {
    /// The result for a kernel with this hash ([`crate::hash::Preprocessed::hash_of`]). Whatever else it depends on, the
    /// targets, the version of the solver, stands in `circumstances`, by name; results under others live beside it.
    pub fn new(hash: &str, circumstances: &[(&str, &str)]) -> Key {
        let mut text = String::new();
        for part in circumstances.iter().flat_map(|(name, value)| [name, value]) {
            text += &format!("{}:{part}\n", part.len());
        }
        Key {
            hash: hash.into(),
            variant: record::short_hash(text.as_bytes()),
        }
    }
}

impl fmt::Display for Key {
    /// A path that leads nowhere else, in caches that other machines share.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "v{}/{}/{}", record::FORMAT, self.hash, self.variant)
    }
}

impl Cache {
    /// The cache in this folder.
    pub fn at(folder: &Path) -> Cache {
        Cache {
            dir: folder.join(format!("v{}", record::FORMAT)),
        }
    }

    /// The one in `TENSORIZE_CACHE`, else in the user's folder for caches; none if that is `off`, or if there is no such
    /// folder. An error, in words, is a folder that results must not be taken from.
    pub fn of_user() -> Result<Option<Cache>, String> {
        let Some(folder) = folder() else {
            return Ok(None);
        };
        if !folder.is_absolute() {
            return Err(format!(
                "TENSORIZE_CACHE is `{}`, which is no absolute path",
                folder.display()
            ));
        }
        if everybody_may_write(&folder) {
            return Err(format!(
                "{} can be written to by everybody, so what it holds is nobody's word",
                folder.display()
            ));
        }
        Ok(Some(Cache::at(&folder)))
    }

    /// The folder, with the format's version.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The result, if there is one and it checks. It counts as used now.
    pub fn find(&self, key: &Key, kernel: &str) -> Option<Entry> {
        let _held = self.hold(&key.hash)?;
        let store = self.store(key)?;
        let entry = one(&store, kernel)?;
        touch(&store.path_of(kernel));
        Some(entry)
    }

    /// The result of this version's for a kernel with this hash that ranks highest, under whatever circumstances it was
    /// found out, and of equals the last used one; none that ranks 0. It counts as used now.
    pub fn best(&self, hash: &str, kernel: &str, rank: impl Fn(&Entry) -> u32) -> Option<Entry> {
        let _held = is_hash(hash).then(|| self.hold(hash))??;
        let mut found: Option<((u32, SystemTime), PathBuf, Entry)> = None;
        for folder in list(&self.dir.join(hash)) {
            let store = Store::at(folder);
            let path = store.path_of(kernel);
            let Ok(used) = fs::metadata(&path).and_then(|m| m.modified()) else {
                continue;
            };
            let Some(entry) = one(&store, kernel) else {
                continue;
            };
            let rank = (rank(&entry), used);
            if rank.0 > 0 && found.as_ref().is_none_or(|(best, ..)| rank > *best) {
                found = Some((rank, path, entry));
            }
        }
        let (_, path, entry) = found?;
        touch(&path);
        Some(entry)
    }

    /// Keeps a result for others. Only what is proven is worth it, and final. What a later version has written there
    /// stays.
    pub fn keep(
        &self,
        key: &Key,
        record: &Record,
        sources: &BTreeMap<String, String>,
    ) -> io::Result<()> {
        let Some(store) = self.store(key).filter(|_| record.status == Status::Proven) else {
            return Ok(());
        };
        self.found()?;
        // Created before there is an entry, so that whoever finds an entry finds its lock.
        let lock = self.lock_of(&key.hash);
        let lock = File::open(&lock).or_else(|_| {
            let mut create = OpenOptions::new();
            create.create(true).append(true).open(&lock)
        })?;
        let Some(_held) = Held::shared(lock)? else {
            return Ok(());
        };
        if store.load().rejected.iter().any(|r| r.fault.is_newer) {
            return Ok(());
        }
        store.save(record, sources)?;
        Ok(())
    }

    fn store(&self, key: &Key) -> Option<Store> {
        let plain = is_hash(&key.hash) && is_hash(&key.variant);
        plain.then(|| Store::cached(self.dir.join(&key.hash).join(&key.variant)))
    }

    fn lock_of(&self, hash: &str) -> PathBuf {
        self.dir.join(LOCKS).join(hash.get(..2).unwrap_or("00"))
    }

    /// Keeps what is stored under this hash from being evicted, as long as what it gives lives. `None` if there is nothing, or if
    /// it is being removed.
    fn hold(&self, hash: &str) -> Option<Option<Held>> {
        let lock = File::open(self.lock_of(hash)).ok()?;
        match Held::shared(lock) {
            Ok(held) => held.map(Some),
            // Where nothing can be locked nothing is evicted, either.
            Err(_) => Some(None),
        }
    }

    /// Makes the folders; the outermost is the user's alone, and marked as one with nothing that can't be had again.
    fn found(&self) -> io::Result<()> {
        let locks = self.dir.join(LOCKS);
        if locks.is_dir() {
            return Ok(());
        }
        if let Some(folder) = self.dir.parent().filter(|f| !f.exists()) {
            let mut builder = fs::DirBuilder::new();
            builder.recursive(true);
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(folder)?;
            let tag = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of `cargo tensorize`; see https://bford.info/cachedir/\n";
            fs::write(folder.join("CACHEDIR.TAG"), tag)?;
        }
        fs::create_dir_all(locks)
    }
}

/// `TENSORIZE_CACHE`, else the user's folder for caches.
fn folder() -> Option<PathBuf> {
    let var = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    match var("TENSORIZE_CACHE") {
        Some(off) if off.as_os_str() == "off" => None,
        Some(folder) => Some(folder),
        None => {
            let base = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")))?;
            Some(base.join("cargo-tensorize")).filter(|f| f.is_absolute())
        }
    }
}

#[cfg(unix)]
fn everybody_may_write(folder: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(folder).is_ok_and(|m| m.permissions().mode() & 0o002 != 0)
}

#[cfg(not(unix))]
fn everybody_may_write(_: &Path) -> bool {
    false
}

/// A name that leads nowhere else.
fn is_hash(name: &str) -> bool {
    name.len() >= 2 && name.bytes().all(|b| b.is_ascii_hexdigit())
}

fn one(store: &Store, kernel: &str) -> Option<Entry> {
    let entries = store.load().entries.into_iter();
    let mut ours = entries.filter(|e| e.record.name == kernel && e.record.is_of_this_version());
    ours.find(|e| e.record.status == Status::Proven)
}

/// The time of a result's file says when it was last used, and nothing else. Who may not write can't say it.
fn touch(path: &Path) {
    if let Ok(file) = OpenOptions::new().append(true).open(path) {
        file.set_modified(SystemTime::now()).ok();
    }
}

/// A lock that is held. It is given up before the file is closed: a process that another thread has just started has the
/// file open, too, until it runs its program, and with it the lock.
struct Held(File);

impl Held {
    /// Together with others; `None` if somebody removes what is stored there. The error is that of a file system without
    /// locks.
    fn shared(lock: File) -> io::Result<Option<Held>> {
        let start = Instant::now();
        loop {
            match lock.try_lock_shared() {
                Ok(()) => return Ok(Some(Held(lock))),
                Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(_)) => {
                    let why =
                        "files there can't be locked, so that nobody could ever remove one safely";
                    return Err(io::Error::new(io::ErrorKind::Unsupported, why));
                }
            }
        }
    }

    /// `None` if somebody else holds it.
    fn alone(lock: File) -> Option<Held> {
        lock.try_lock().is_ok().then_some(Held(lock))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.0.unlock().ok();
    }
}

#[cfg(test)]
mod tests;
