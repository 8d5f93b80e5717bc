//! Where a build has its results from: what is stored with the sources, the shared cache, and, if something is missing,
//! `cargo tensorize`.

use super::{Session, warn};
use crate::builder::Error;
use crate::cross::Cross;
use crate::current::{is_current, wanted, wanted_of};
use crate::hash::Preprocessed;
use crate::record::is_c_name;
use crate::store::Entry;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Entries by file and name, since there may be thousands of both.
pub(super) struct ByKernel<'a> {
    entries: BTreeMap<(&'a str, &'a str), Vec<&'a Entry>>,
}

impl<'a> ByKernel<'a> {
    pub(super) fn new(list: &'a [Entry]) -> ByKernel<'a> {
        let mut entries: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for entry in list {
            let key = (entry.record.file.as_str(), entry.record.name.as_str());
            entries.entry(key).or_default().push(entry);
        }
        ByKernel { entries }
    }

    /// The names that a file's entries have.
    pub(super) fn names(&self, file: &str) -> Vec<&'a str> {
        let of_file = self.entries.range((file, "")..);
        let of_file = of_file.take_while(|((f, _), _)| *f == file);
        of_file.map(|((_, name), _)| *name).collect()
    }

    pub(super) fn of(&self, file: &str, name: &str) -> Vec<&'a Entry> {
        let found = self.entries.get(&(file, name));
        found.cloned().unwrap_or_default()
    }

    /// What is about the kernel as it is now.
    pub(super) fn current(&self, file: &str, seen: &Preprocessed, name: &str) -> Option<&'a Entry> {
        let mut all = self.of(file, name).into_iter();
        all.find(|e| is_current(&e.record, file, seen, name))
    }
}

impl Session {
    /// Everything that is stored; the subcommand is run if something is missing.
    pub(super) fn entries(&self, files: &[(String, Preprocessed)]) -> Result<Vec<Entry>, Error> {
        let mut entries = self.load(files);
        let mut missing = self.missing(files, &entries);
        let use_of_more = self.cross.as_ref().is_none_or(Cross::has_like_numbers);
        if !missing.is_empty() && use_of_more && self.run_subcommand() {
            entries = self.load(files);
            missing = self.missing(files, &entries);
        }
        if missing.is_empty() {
            return Ok(entries);
        }
        // Without us around it, a build would ask for what is missing.
        if env::var_os("TENSORIZE_NESTED").is_some() {
            println!("cargo::rerun-if-env-changed=TENSORIZE_NESTED");
        }
        let list = missing.join(", ");
        if env::var_os("TENSORIZE_STRICT").is_some_and(|v| v == "1") {
            return Err(match &self.cross {
                None => Error::Strict(list),
                Some(cross) => Error::StrictElsewhere(cross.without_result(&list)),
            });
        }
        warn(&match &self.cross {
            None => format!(
                "no current result for {list}: the original C is compiled alone; run `cargo tensorize`"
            ),
            Some(cross) => cross.without_result(&list),
        });
        Ok(entries)
    }

    fn load(&self, files: &[(String, Preprocessed)]) -> Vec<Entry> {
        let contents = self.store.load();
        contents.rejected.iter().for_each(|r| warn(&r.to_string()));
        let mut entries = contents.entries;
        let mut more = Vec::new();
        let stored = ByKernel::new(&entries);
        for (file, seen) in files {
            let names = wanted(&self.metadata, file, seen).into_iter();
            for name in names.filter(|n| is_c_name(n)) {
                if stored.current(file, seen, &name).is_none() {
                    more.extend(self.cached(file, seen, &name));
                }
            }
        }
        entries.extend(more);
        entries
    }

    /// What another checkout has found out about a kernel, best with code for all targets that are wanted here.
    fn cached(&self, file: &str, seen: &Preprocessed, name: &str) -> Option<Entry> {
        let targets = self.metadata.targets();
        let has_all = |e: &Entry| targets.iter().all(|t| e.record.targets.contains_key(t));
        let rank = |e: &Entry| match is_current(&e.record, file, seen, name) {
            false => 0,
            true => 1 + u32::from(has_all(e)),
        };
        let cache = self.cache.as_ref()?;
        let hashes = seen.hashes_of(name);
        let mut found = [hashes.here, hashes.under_other_signs]
            .into_iter()
            .filter_map(|hash| cache.best(&hash, name, rank));
        found.next()
    }

    fn missing(&self, files: &[(String, Preprocessed)], entries: &[Entry]) -> Vec<String> {
        let mut missing = Vec::new();
        let records = entries.iter().map(|e| &e.record);
        let entries = ByKernel::new(entries);
        for (file, seen) in files {
            for name in wanted_of(&self.metadata, file, seen, records.clone()) {
                if entries.current(file, seen, &name).is_none() {
                    missing.push(format!("{file}::{name}"));
                }
            }
        }
        missing
    }

    /// Whether `cargo tensorize` ran and may have written something.
    fn run_subcommand(&self) -> bool {
        // A nested run, a documentation build, or a source that isn't ours to write to.
        let nested = ["TENSORIZE_NESTED", "DOCS_RS"]
            .iter()
            .any(|v| env::var_os(v).is_some());
        if nested || !may_write(&self.dir) {
            return false;
        }
        let Some(tool) = find_tool() else {
            return false;
        };
        let mut command = std::process::Command::new(&tool);
        // The tool must not call `cargo build`, which would wait for the lock that our caller holds.
        command
            .args(["--color", "never", "--manifest-path"])
            .arg(self.dir.join("Cargo.toml"))
            .env("TENSORIZE_NESTED", "1")
            .stdin(std::process::Stdio::null());
        // For the tool these would be the user's own settings.
        for name in [
            "TARGET",
            "HOST",
            "OUT_DIR",
            "OPT_LEVEL",
            "DEBUG",
            "PROFILE",
            "NUM_JOBS",
        ] {
            command.env_remove(name);
        }
        match command.output() {
            Ok(output) => {
                // Refusals are no errors here: they are stored, and the originals are compiled.
                print!(
                    "{}",
                    String::from_utf8_lossy(&output.stderr).replace("cargo:", "cargo :")
                );
                true
            }
            Err(e) => {
                warn(&format!("{} can't be started: {e}", tool.display()));
                false
            }
        }
    }
}

/// `TENSORIZE_BIN`, else `cargo-tensorize` among the programs.
fn find_tool() -> Option<PathBuf> {
    if let Some(tool) = env::var_os("TENSORIZE_BIN") {
        return (!tool.is_empty()).then(|| tool.into());
    }
    let name = format!("cargo-tensorize{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?)
        .map(|dir| dir.join(&name))
        .find(|p| p.is_file())
}

pub(super) fn may_write(dir: &Path) -> bool {
    let store = dir.join(".tensorize");
    let place = if store.exists() {
        store
    } else {
        dir.to_path_buf()
    };
    // Sources that cargo unpacked are as good as read-only.
    let unpacked =
        dir.components().any(|c| c.as_os_str() == "registry") && dir.join(".cargo-ok").exists();
    !unpacked && fs::metadata(place).is_ok_and(|m| !m.permissions().readonly())
}
