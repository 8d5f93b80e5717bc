//! A folder of stored results: `.tensorize/` beside a manifest, or a place in the shared cache.
//!
//! Other processes read and write it at the same time, and may be killed while they do. What is read is checked by
//! its hash, and what doesn't check is treated as absent; what is written replaces an entry as a whole.

mod files;

pub(crate) use files::{Keep, lock, write_atomic};

use crate::record::{self, Fault, Record, TargetRecord, TargetStatus};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A folder of records.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    keep: Keep,
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
    pub fault: Fault,
}

impl Rejected {
    /// The kernel that it was to speak of.
    pub fn name(&self) -> Option<&str> {
        self.path.file_stem()?.to_str()
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} is not used: {}", self.path.display(), self.fault.why)
    }
}

impl Entry {
    /// An entry that came as text, checked as one that is read from a file.
    pub fn from_texts(record: &str, sources: BTreeMap<String, String>) -> Result<Entry, Fault> {
        let record = Record::from_toml(record)?;
        let generated = |t: &&TargetRecord| t.status == TargetStatus::Generated;
        for (target, t) in &record.targets {
            let Some(t) = Some(t).filter(generated) else {
                continue;
            };
            check_relative(t.file.as_deref().unwrap_or_default())?;
            let hash = sources
                .get(target)
                .map(|s| record::short_hash(s.as_bytes()));
            if hash.is_none() || hash != t.source_hash {
                return Err(format!("it has not the source for {target} that was proven").into());
            }
        }
        Ok(Entry { record, sources })
    }
}

impl Store {
    /// The store of the crate whose manifest is in `dir`.
    pub fn of_manifest(dir: &Path) -> Store {
        Store::at(dir.join(".tensorize"))
    }

    /// A store in this very folder.
    pub fn at(dir: impl Into<PathBuf>) -> Store {
        Store {
            dir: dir.into(),
            keep: Keep::Always,
        }
    }

    /// One that may lose what it has when the machine crashes.
    pub(crate) fn cached(dir: PathBuf) -> Store {
        Store {
            dir,
            keep: Keep::IfNothingHappens,
        }
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Every entry, by name. A store that isn't there is empty.
    pub fn load(&self) -> Contents {
        let mut contents = Contents::default();
        let listing = match fs::read_dir(&self.dir) {
            Ok(listing) => listing,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return contents,
            Err(e) => {
                contents.rejected.push(Rejected {
                    path: self.dir.clone(),
                    fault: e.to_string().into(),
                });
                return contents;
            }
        };
        let mut paths: Vec<PathBuf> = listing
            .filter_map(|e| Some(e.ok()?.path()))
            .filter(|p| p.extension().is_some_and(|e| e == "toml"))
            .filter(|p| !crate::config::is_build_manifest(p))
            .collect();
        paths.sort();
        for path in paths {
            match self.load_settled(&path) {
                Ok(entry) => contents.entries.push(entry),
                Err(fault) => contents.rejected.push(Rejected { path, fault }),
            }
        }
        contents
    }

    /// An entry that another process writes meanwhile is read again, until it holds still.
    fn load_settled(&self, path: &Path) -> Result<Entry, Fault> {
        let text = || files::read(path).map_err(|e| e.to_string());
        let mut before = text();
        for _ in 0..10 {
            let loaded = self.load_entry(path, before.clone()?);
            if loaded.is_ok() {
                return loaded;
            }
            let now = text();
            if now == before {
                return loaded;
            }
            before = now;
        }
        Err("it is written all the time".to_string().into())
    }

    fn load_entry(&self, path: &Path, text: String) -> Result<Entry, Fault> {
        let record = Record::from_toml(&text)?;
        if path.file_stem().and_then(|s| s.to_str()) != Some(record.name.as_str()) {
            return Err(format!("it speaks of '{}'", record.name).into());
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
            sources.insert(target.clone(), self.source(file, t.source_hash.as_deref())?);
        }
        Ok(Entry { record, sources })
    }

    /// The source with this hash: the file itself, or what is to become it once its writer gets there.
    fn source(&self, file: &str, hash: Option<&str>) -> Result<String, String> {
        let path = self.dir.join(file);
        let staged = hash.and_then(|h| staged(&path, h));
        // The last time for the writer that got there in between.
        let places = [Some(&path), staged.as_ref(), Some(&path)];
        let mut texts = places.into_iter().flatten().map(|p| files::read(p));
        let first = texts.next().expect("there is one");
        let fits = |text: &String| Some(&*record::short_hash(text.as_bytes())) == hash;
        if let Ok(text) = &first
            && fits(text)
        {
            return first.map_err(|e| e.to_string());
        }
        texts
            .filter_map(Result::ok)
            .find(fits)
            .ok_or_else(|| match first {
                Ok(_) => format!("{file} is not the source that was proven"),
                Err(e) => format!("{file} can't be read: {e}"),
            })
    }

    /// Writes an entry. `source_hash` and `checksum` are set here; files that hold the same already are left alone.
    ///
    /// Whenever it is cut short, there is a whole entry, the old one or the new one: the sources are written under names
    /// with their hashes, by which readers find them, then the record is replaced, and then the sources get their names.
    pub fn save(&self, record: &Record, sources: &BTreeMap<String, String>) -> io::Result<Record> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        if !record::is_c_name(&record.name) {
            return Err(invalid(format!("'{}' is no C name", record.name)));
        }
        let mut record = record.clone();
        let mut files = Vec::new();
        for (target, t) in &mut record.targets {
            t.source_hash = None;
            let TargetStatus::Generated = t.status else {
                continue;
            };
            let (Some(file), Some(source)) = (&t.file, sources.get(target)) else {
                return Err(invalid(format!("{}: {target} has no source", record.name)));
            };
            check_relative(file).map_err(invalid)?;
            let hash = record::short_hash(source.as_bytes());
            files.push((self.dir.join(file), source, hash.clone()));
            t.source_hash = Some(hash);
        }
        record.seal();
        let text = record.to_toml().map_err(invalid)?;

        files::make_folder(&self.dir)?;
        let _lock = files::lock(&self.dir);
        files.retain(|(path, source, _)| !files::read(path).is_ok_and(|old| old == **source));
        for (path, source, hash) in &files {
            path.ancestors()
                .skip(1)
                .take_while(|a| *a != self.dir)
                .try_for_each(files::make_folder)?;
            let staged = staged(path, hash).ok_or_else(|| invalid("no file".into()))?;
            files::write_atomic(&staged, source.as_bytes(), self.keep)?;
        }
        let path = self.path_of(&record.name);
        files::write_atomic(&path, text.as_bytes(), self.keep)?;
        for (path, _, hash) in &files {
            settle(path, hash)?;
        }
        Ok(record)
    }

    /// Finishes what a writer that was killed has begun, and removes what it left.
    pub fn tidy(&self) {
        let Some(_lock) = files::lock(&self.dir) else {
            return;
        };
        let folders = list(&self.dir).into_iter().filter(|p| p.is_dir());
        let folders: Vec<PathBuf> = folders.chain([self.dir.clone()]).collect();
        let hidden = |p: &PathBuf| name_of(p).is_some_and(|n| n.starts_with('.'));
        let left: Vec<PathBuf> = folders
            .iter()
            .flat_map(|d| list(d))
            .filter(hidden)
            .collect();
        if left.is_empty() {
            return;
        }
        for entry in self.load().entries {
            for t in entry.record.targets.values() {
                if let (Some(file), Some(hash)) = (&t.file, &t.source_hash) {
                    let path = self.dir.join(file);
                    let is_there = staged(&path, hash).is_some_and(|s| s.exists());
                    if is_there && settle(&path, hash).is_err() {
                        return;
                    }
                }
            }
        }
        for path in left {
            if name_of(&path).is_some_and(|n| files::is_unfinished(n) || is_staged(n)) {
                fs::remove_file(path).ok();
            }
        }
    }

    /// Removes all that is stored of a kernel that is gone, also if its record can't be read any more.
    pub fn remove(&self, kernel: &str) -> io::Result<()> {
        if !record::is_c_name(kernel) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no C name"));
        }
        let _lock = files::lock(&self.dir);
        for folder in list(&self.dir).into_iter().filter(|p| p.is_dir()) {
            let stem = |p: &PathBuf| p.file_stem().is_some_and(|s| s == kernel);
            for source in list(&folder).into_iter().filter(stem) {
                fs::remove_file(&source).map_err(|e| files::about(&source, &e))?;
            }
        }
        // Last, so that what is left of it after a kill still has a name to be removed by.
        let path = self.path_of(kernel);
        fs::remove_file(&path).map_err(|e| files::about(&path, &e))
    }

    /// The file of a kernel's record.
    pub fn path_of(&self, kernel: &str) -> PathBuf {
        self.dir.join(format!("{kernel}.toml"))
    }
}

/// What a folder of the store holds. A link to a folder is none of ours.
pub(crate) fn list(dir: &Path) -> Vec<PathBuf> {
    let is_link = fs::symlink_metadata(dir).is_ok_and(|m| m.file_type().is_symlink());
    let listing = fs::read_dir(dir).ok().filter(|_| !is_link);
    let entries = listing.into_iter().flatten().flatten();
    entries.map(|e| e.path()).collect()
}

fn name_of(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()
}

/// Where a source waits for its record.
fn staged(path: &Path, hash: &str) -> Option<PathBuf> {
    Some(path.with_file_name(format!(".{}.{hash}", name_of(path)?)))
}

fn is_staged(name: &str) -> bool {
    let hash = name.strip_prefix('.').and_then(|n| n.rsplit_once('.'));
    hash.is_some_and(|(_, h)| h.len() == 32 && h.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Gives a source that waited its name.
fn settle(path: &Path, hash: &str) -> io::Result<()> {
    let Some(staged) = staged(path, hash) else {
        return Ok(());
    };
    fs::rename(staged, path).map_err(|e| files::about(path, &e))
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
        store.remove("f").unwrap();
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
            contents.rejected[0].fault.why.contains("cpu/f.c"),
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
