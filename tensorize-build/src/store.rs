//! The folder of stored results: `.tensorize/` beside a manifest, or an entry of the shared cache.
//!
//! Other processes read and write it at the same time: files are written under another name and then
//! renamed, and what doesn't check is treated as absent.

use crate::record::{self, Record, TargetStatus};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// A record with its generated sources, by the target's name.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The record.
    pub record: Record,
    /// The generated sources.
    pub sources: BTreeMap<String, String>,
}

/// What a store holds, and what was wrong with the rest.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    /// The entries that check, by name.
    pub entries: Vec<Entry>,
    /// Those that don't.
    pub rejected: Vec<Rejected>,
}

/// An entry that doesn't check, and so counts as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Its record's file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

impl Rejected {
    /// The kernel that it was to speak of.
    pub fn name(&self) -> Option<&str> {
        self.path.file_stem()?.to_str()
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} is not used: {}", self.path.display(), self.why)
    }
}

impl Store {
    /// The store of the crate whose manifest is in `dir`.
    pub fn of_manifest(dir: &Path) -> Store {
        Store {
            dir: dir.join(".tensorize"),
        }
    }

    /// The shared cache's store for files with this hash, if there is a place for a cache.
    pub fn of_cache(hash: &str) -> Option<Store> {
        hash.chars()
            .all(|c| c.is_ascii_alphanumeric())
            .then_some(())?;
        Some(Store {
            dir: cache_dir()?.join(format!("v{}", record::FORMAT)).join(hash),
        })
    }

    /// A store in this very folder.
    pub fn at(dir: impl Into<PathBuf>) -> Store {
        Store { dir: dir.into() }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every entry, by name. A store that isn't there is empty.
    pub fn load(&self) -> Contents {
        let mut contents = Contents::default();
        let Ok(listing) = fs::read_dir(&self.dir) else {
            return contents;
        };
        let mut paths: Vec<PathBuf> = listing
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "toml"))
            .filter(|p| !crate::config::is_build_manifest(p))
            .collect();
        paths.sort();
        for path in paths {
            match self.load_entry(&path) {
                Ok(entry) => contents.entries.push(entry),
                Err(why) => contents.rejected.push(Rejected { path, why }),
            }
        }
        contents
    }

    fn load_entry(&self, path: &Path) -> Result<Entry, String> {
        let text = fs::read_to_string(path).map_err(|e| e.to_string())?;
        let record = Record::from_toml(&text)?;
        if path.file_stem().and_then(|s| s.to_str()) != Some(record.name.as_str()) {
            return Err(format!("it speaks of '{}'", record.name));
        }
        let mut sources = BTreeMap::new();
        for (target, t) in &record.targets {
            let TargetStatus::Generated = t.status else {
                continue;
            };
            let file = t
                .file
                .as_deref()
                .ok_or_else(|| format!("{target} has no `file`"))?;
            check_relative(file)?;
            let source = fs::read_to_string(self.dir.join(file))
                .map_err(|e| format!("{file} can't be read: {e}"))?;
            if t.source_hash.as_deref() != Some(&record::short_hash(source.as_bytes())) {
                return Err(format!("{file} is not the source that was proven"));
            }
            sources.insert(target.clone(), source);
        }
        Ok(Entry { record, sources })
    }

    /// Writes an entry: its sources first, the sealed record last. `source_hash` and `checksum` are set
    /// here; files that hold the same already are left alone.
    pub fn save(&self, record: &Record, sources: &BTreeMap<String, String>) -> io::Result<Record> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        if !record::is_c_name(&record.name) {
            return Err(invalid(format!("'{}' is no C name", record.name)));
        }
        let mut record = record.clone();
        for (target, t) in &mut record.targets {
            t.source_hash = None;
            let TargetStatus::Generated = t.status else {
                continue;
            };
            let (Some(file), Some(source)) = (&t.file, sources.get(target)) else {
                return Err(invalid(format!("{}: {target} has no source", record.name)));
            };
            check_relative(file).map_err(invalid)?;
            write_atomic(&self.dir.join(file), source.as_bytes())?;
            t.source_hash = Some(record::short_hash(source.as_bytes()));
        }
        record.seal();
        let text = record.to_toml().map_err(invalid)?;
        write_atomic(&self.path_of(&record.name), text.as_bytes())?;
        Ok(record)
    }

    /// Removes the entry of a kernel that is gone.
    pub fn remove(&self, entry: &Entry) -> io::Result<()> {
        fs::remove_file(self.path_of(&entry.record.name))?;
        for t in entry.record.targets.values() {
            if let Some(file) = &t.file
                && check_relative(file).is_ok()
            {
                fs::remove_file(self.dir.join(file)).ok();
            }
        }
        Ok(())
    }

    /// The file of a kernel's record.
    pub fn path_of(&self, kernel: &str) -> PathBuf {
        self.dir.join(format!("{kernel}.toml"))
    }
}

/// `TENSORIZE_CACHE`, else the user's cache folder.
pub fn cache_dir() -> Option<PathBuf> {
    let var = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    var("TENSORIZE_CACHE").or_else(|| {
        let base = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")))?;
        Some(base.join("cargo-tensorize"))
    })
}

/// A stored path stays within the store.
fn check_relative(file: &str) -> Result<(), String> {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
    };
    if file.split('/').all(plain) {
        Ok(())
    } else {
        Err(format!("'{file}' is no file of a store"))
    }
}

/// Writes a file under another name and renames it, unless it holds the same already.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let n = COUNTER.fetch_add(1, Ordering::Relaxed);
    let temporary = dir.join(format!(".{}-{n}.tmp", std::process::id()));
    let write = || {
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        fs::remove_file(&temporary).ok();
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Status, TargetRecord};

    fn saved() -> (tempfile::TempDir, Store, Record) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::of_manifest(dir.path());
        let mut r = Record::new("f", "f.c", 1, "aa", Status::Proven);
        r.targets.insert(
            "cpu".into(),
            TargetRecord {
                status: TargetStatus::Generated,
                tier: Some("exact".into()),
                file: Some("cpu/f.c".into()),
                entry: Some("f__cpu".into()),
                emulated: false,
                source_hash: None,
                guards: vec![],
                why: None,
            },
        );
        let sources = BTreeMap::from([("cpu".to_string(), "void f__cpu(void) {}\n".to_string())]);
        let r = store.save(&r, &sources).unwrap();
        (dir, store, r)
    }

    #[test]
    fn what_was_saved_is_found() {
        let (_dir, store, r) = saved();
        let contents = store.load();
        assert!(contents.rejected.is_empty(), "{:?}", contents.rejected);
        assert_eq!(contents.entries[0].record, r);
        assert_eq!(contents.entries[0].sources["cpu"], "void f__cpu(void) {}\n");
        store.remove(&contents.entries[0]).unwrap();
        assert!(store.load().entries.is_empty());
    }

    #[test]
    fn an_edited_source_makes_the_entry_absent() {
        let (_dir, store, _) = saved();
        fs::write(
            store.dir().join("cpu/f.c"),
            "void f__cpu(void) { *(int *)0 = 0; }",
        )
        .unwrap();
        let contents = store.load();
        assert!(contents.entries.is_empty());
        assert!(
            contents.rejected[0].why.contains("cpu/f.c"),
            "{:?}",
            contents.rejected
        );
    }

    #[test]
    fn a_damaged_or_renamed_record_is_absent() {
        let (_dir, store, _) = saved();
        let text = fs::read_to_string(store.path_of("f")).unwrap();
        fs::write(store.path_of("g"), &text).unwrap();
        fs::write(store.path_of("f"), &text[..text.len() / 2]).unwrap();
        let contents = store.load();
        assert!(contents.entries.is_empty());
        assert_eq!(contents.rejected.len(), 2);
    }

    #[test]
    fn paths_stay_in_the_store() {
        for bad in ["../x", "/etc/passwd", "a//b", "", ".x", "a/../b"] {
            assert!(check_relative(bad).is_err(), "{bad}");
        }
    }
}
