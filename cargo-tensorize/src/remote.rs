//! The remote cache, by way of `cargo-tensorize-remote`: a program of its own, so that whoever has no remote cache need not
//! compile what speaks to networks. It asks the store, and passes on only what somebody whom the user trusts has
//! signed for the key in question. `docs/store.md` says how it is set up.

use crate::asked;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use tensorize_build::record::Record;
use tensorize_build::store::Entry;

/// The program.
const PROGRAM: &str = "cargo-tensorize-remote";
/// For all entries together; each has a limit of its own there.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Of the answer.
const MOST_BYTES: u64 = 1 << 30;

/// How to reach it.
#[derive(Clone, Debug)]
pub struct Remote {
    program: PathBuf,
    /// New results are given to others.
    pub writes: bool,
}

/// An entry on its way.
#[derive(Deserialize, Serialize)]
struct Sent {
    record: String,
    sources: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Wanted<'a> {
    keys: &'a [String],
}

#[derive(Deserialize)]
struct Found {
    found: BTreeMap<String, Sent>,
    refused: BTreeMap<String, String>,
    failed: Option<String>,
}

#[derive(Serialize)]
struct Given {
    entries: BTreeMap<String, Sent>,
}

#[derive(Deserialize)]
struct Put {
    failed: Option<String>,
}

/// What was there.
#[derive(Debug, Default)]
pub struct Answer {
    /// By key.
    pub entries: BTreeMap<String, Entry>,
    /// Entries that are there and not used: the key, and why.
    pub refused: Vec<(String, String)>,
    /// Why nothing more was asked.
    pub failed: Option<String>,
}

impl Remote {
    /// The one that `TENSORIZE_REMOTE` names; with `TENSORIZE_REMOTE_KEY_FILE`, it is written to as well.
    pub fn of_user() -> Result<Option<Remote>, String> {
        let is_set = |name| env::var_os(name).is_some_and(|v| !v.is_empty());
        if !is_set("TENSORIZE_REMOTE") {
            return Ok(None);
        }
        let Some(program) = program() else {
            return Err(format!(
                "{PROGRAM} is not installed: `cargo install --path {PROGRAM}`, in a checkout of the repository"
            ));
        };
        Ok(Some(Remote {
            program,
            writes: is_set("TENSORIZE_REMOTE_KEY_FILE"),
        }))
    }

    /// Asks for all of these.
    pub fn get(&self, keys: &[String]) -> Result<Answer, String> {
        let found: Found = self.ask("get", &Wanted { keys })?;
        let mut answer = Answer {
            refused: found.refused.into_iter().collect(),
            failed: found.failed,
            ..Answer::default()
        };
        for (key, sent) in found.found {
            match Entry::from_texts(&sent.record, sent.sources) {
                Ok(entry) => {
                    answer.entries.insert(key, entry);
                }
                Err(fault) => answer.refused.push((key, fault.why)),
            }
        }
        Ok(answer)
    }

    /// Gives these to others, by key.
    pub fn put(&self, entries: &BTreeMap<String, Entry>) -> Result<(), String> {
        let mut given = Given {
            entries: BTreeMap::new(),
        };
        for (key, entry) in entries {
            let sent = Sent {
                record: sealed(entry)?,
                sources: entry.sources.clone(),
            };
            given.entries.insert(key.clone(), sent);
        }
        let put: Put = self.ask("put", &given)?;
        put.failed.map_or(Ok(()), Err)
    }

    fn ask<T: serde::de::DeserializeOwned>(
        &self,
        what: &str,
        question: &impl Serialize,
    ) -> Result<T, String> {
        let question = serde_json::to_vec(question).map_err(|e| e.to_string())?;
        let mut command = Command::new(&self.program);
        command.arg(what);
        let text = asked::answer(&mut command, question, TIME_LIMIT, MOST_BYTES)
            .map_err(|why| format!("{PROGRAM} {what}: {why}"))?;
        serde_json::from_slice(&text).map_err(|e| format!("{PROGRAM} {what}: {e}"))
    }
}

/// The record as a store would hold it, with the hashes of its sources.
fn sealed(entry: &Entry) -> Result<String, String> {
    let mut record: Record = entry.record.clone();
    for (target, source) in &entry.sources {
        if let Some(t) = record.targets.get_mut(target) {
            t.source_hash = Some(tensorize_build::record::short_hash(source.as_bytes()));
        }
    }
    record.seal();
    record.to_toml()
}

/// `TENSORIZE_REMOTE_BIN`, else the program beside this one, else on the `PATH`.
pub(crate) fn program() -> Option<PathBuf> {
    if let Some(named) = env::var_os("TENSORIZE_REMOTE_BIN") {
        return (!named.is_empty()).then(|| named.into());
    }
    let beside = env::current_exe().ok()?.parent().map(PathBuf::from);
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = beside.into_iter().chain(env::split_paths(&path));
    let mut programs = folders.map(|dir| dir.join(PROGRAM));
    programs.find(|p| p.is_file())
}
