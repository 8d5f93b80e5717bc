//! The remote cache of `cargo tensorize`: `docs/store.md` tells how it is set up.
//!
//! `cargo tensorize` starts this program where `TENSORIZE_REMOTE` is set. What is known of networks is here, and so is what
//! is known of signatures: an entry leaves this program only if somebody whom the user trusts has signed it, for the
//! very key that it was asked for. What an entry means only `cargo tensorize` knows.
//!
//! * `get`: standard input holds `{"keys": [KEY, …]}`; the answer is
//!   `{"found": {KEY: ENTRY}, "refused": {KEY: WHY}, "failed": null | WHY}`.
//! * `put`: standard input holds `{"entries": {KEY: ENTRY}}`; the answer is `{"written": COUNT, "failed": null | WHY}`.
//! * `key FILE` writes a new secret key and prints the public one.
//!
//! What goes wrong with the store is part of the answer. Only what the user has to mend, such as a setting that can't be
//! read, ends the program with an error.

mod settings;
mod signed;
mod store;
mod told;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// What `get` asks.
#[derive(Deserialize)]
struct Wanted {
    keys: Vec<String>,
}

/// What `get` answers.
#[derive(Default, Serialize)]
struct Found {
    found: BTreeMap<String, Value>,
    /// Entries that are there and not used, and why.
    refused: BTreeMap<String, String>,
    /// Why the store was given up.
    failed: Option<String>,
}

/// What `put` is given.
#[derive(Deserialize)]
struct Given {
    entries: BTreeMap<String, Value>,
}

/// What `put` answers.
#[derive(Default, Serialize)]
struct Put {
    written: usize,
    failed: Option<String>,
}

fn main() -> ExitCode {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    // As `cargo tensorize-remote` it is told its own name.
    if args.first().is_some_and(|a| a == "tensorize-remote") {
        args.remove(0);
    }
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args[..] {
        ["get"] => get(),
        ["put"] => put(),
        ["--version"] => {
            println!("cargo-tensorize-remote {}", env!("CARGO_PKG_VERSION"));
            Ok(())
        }
        ["key", file] => new_key(Path::new(file)),
        _ => Err(anyhow::anyhow!(
            "usage: cargo-tensorize-remote get | put | key FILE"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("cargo-tensorize-remote: {}", told::in_a_line(e.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn get() -> Result<()> {
    let settings = settings::of_user()?;
    let wanted: Wanted = asked()?;
    let mut answer = Found::default();
    let (texts, failed) = store::get_all(&settings, &wanted.keys)?;
    answer.failed = failed;
    for (key, text) in texts {
        match signed::open(&text, &key, &settings.trusted) {
            Ok(entry) => {
                answer.found.insert(key, entry);
            }
            Err(why) => {
                answer.refused.insert(key, why);
            }
        }
    }
    answered(&answer)
}

fn put() -> Result<()> {
    let settings = settings::of_user()?;
    let Some(secret) = &settings.secret else {
        bail!("TENSORIZE_REMOTE_KEY_FILE is not set, so nothing can be signed");
    };
    let given: Given = asked()?;
    let texts = given.entries.iter();
    let texts = texts.map(|(key, entry)| (key.clone(), signed::seal(entry, key, secret)));
    let (written, failed) = store::put_all(&settings, texts.collect())?;
    answered(&Put { written, failed })
}

/// Nobody but the user may read the file, and none is overwritten.
fn new_key(file: &Path) -> Result<()> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| anyhow::anyhow!("no random numbers: {e}"))?;
    let secret = ed25519_dalek::SigningKey::from_bytes(&bytes);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options
        .open(file)
        .with_context(|| format!("{} can't be written", file.display()))?;
    writeln!(out, "{}", signed::hex(&bytes))?;
    println!("{}", signed::hex(secret.verifying_key().as_bytes()));
    Ok(())
}

fn asked<T: DeserializeOwned>() -> Result<T> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    serde_json::from_str(&text).context("standard input holds no question")
}

fn answered(answer: &impl Serialize) -> Result<()> {
    println!("{}", serde_json::to_string(answer)?);
    Ok(())
}
