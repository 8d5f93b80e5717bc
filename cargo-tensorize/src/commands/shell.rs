//! `completions` and `man`: what shells and manuals want, made from the definition of the command line.

use super::Output;
use crate::cli::Cli;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use clap::CommandFactory;
use clap_complete::Shell;
use std::io::Write;
use std::path::Path;

const NAME: &str = "cargo-tensorize";

/// What has bash complete `cargo tensorize`, too. (zsh's completion of cargo asks `_cargo-tensorize` by itself.)
const IN_CARGO: &str = include_str!("shell/cargo.bash");

/// Prints the completions for a shell.
pub fn completions(shell: Shell) -> Code {
    let mut script = Vec::new();
    // One word: "cargo tensorize" would be taken for a command of a command.
    let mut command = Cli::command().bin_name(NAME);
    clap_complete::generate(shell, &mut command, NAME, &mut script);
    if shell == Shell::Bash {
        // clap_complete 4.6.11 spells the dash of a program's name in two ways, and finds no options then.
        let text = String::from_utf8_lossy(&script);
        script = text
            .replace("cargo__subcmd__tensorize", "cargo__tensorize")
            .into_bytes();
        script.extend(IN_CARGO.as_bytes());
    }
    // A reader that has gone away is not our failure.
    let _ = std::io::stdout().lock().write_all(&script);
    Code::Clean
}

/// Writes a page for the program and one for each command.
pub fn man(dir: &Path, out: &Output) -> Code {
    let written = std::fs::create_dir_all(dir)
        .and_then(|()| clap_mangen::generate_to(Cli::command().name(NAME), dir));
    match written {
        Ok(()) => {
            out.text(&format!(
                "man -l {}\n",
                dir.join(format!("{NAME}.1")).display()
            ));
            Code::Clean
        }
        Err(e) => {
            let message = format!("cannot write to {}: {e}", dir.display());
            out.diagnostic(&Diagnostic::error("TZ0112", message));
            Code::CouldNotRun
        }
    }
}
