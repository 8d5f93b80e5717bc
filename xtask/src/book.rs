//! `cargo xtask book`: the pages of `docs/` as a book, by the mdBook that is there or by one in the target folder.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::{cargo, root, run as run_command, succeeds, target_dir};

/// What is installed where none is there.
const VERSION: &str = "0.5.3";

/// Builds the book. A page that its summary names and that is not there is an error; that it names them all, a test of the docs says.
pub fn run() -> Result<()> {
    let book = target_dir().join("book");
    run_command(
        Command::new(mdbook()?)
            .arg("build")
            .arg("--dest-dir")
            .arg(&book)
            .current_dir(root()),
    )?;
    println!("{}", book.join("index.html").display());
    Ok(())
}

/// The one that is on the PATH, or ours.
fn mdbook() -> Result<PathBuf> {
    let theirs = PathBuf::from("mdbook");
    let ours = target_dir().join("tools");
    let ours_is = ours
        .join("bin/mdbook")
        .with_extension(std::env::consts::EXE_EXTENSION);
    for there in [theirs, ours_is.clone()] {
        if succeeds(Command::new(&there).arg("--version")) {
            return Ok(there);
        }
    }
    // No search, no server: what a build takes is compiled in a minute.
    run_command(
        cargo()
            .args(["install", "mdbook", "--locked", "--quiet", "--debug"])
            .args(["--no-default-features", "--version", VERSION, "--root"])
            .arg(&ours),
    )
    .context("mdBook could not be installed; `cargo install mdbook` says why")?;
    Ok(ours_is)
}
