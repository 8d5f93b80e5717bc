//! `cargo xtask book`: the pages of `docs/` as a book, by the mdBook that is there or by one in the target folder.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, root, run as run_command, succeeds, target_dir};

/// What is installed where none is there.
const VERSION: &str = "0.5.3";

/// Builds the book and looks whether each page is in it.
pub fn run() -> Result<()> {
    run_command(
        Command::new(mdbook()?)
            .arg("build")
            .current_dir(root())
            .args(["--dest-dir".as_ref(), book().as_os_str()]),
    )?;
    let pages = fs::read_dir(root().join("docs")).context("cannot list docs/")?;
    let pages = pages.flatten().map(|page| page.path());
    let pages = pages.filter(|p| p.extension().is_some_and(|e| e == "md"));
    for page in pages.filter(|p| !p.ends_with("SUMMARY.md")) {
        let name = page.with_extension("html");
        let made = book().join(name.file_name().expect("a page has a name"));
        if !made.is_file() {
            bail!(
                "{} is not in the book ({}): name it in docs/SUMMARY.md",
                page.display(),
                made.display()
            );
        }
    }
    println!("{}", book().join("index.html").display());
    Ok(())
}

fn book() -> PathBuf {
    target_dir().join("book")
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
