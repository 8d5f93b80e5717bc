//! `init`: makes an existing crate one whose kernels can be tensorized. It shows what it would change, and changes
//! nothing that is there without being told to.

mod bindings;
mod build_script;
mod builders;
mod chain;
mod counterpart;
mod crates;
mod edits;
mod manifest;
mod origin;
mod parsed;
mod shown;

use super::{Output, packages};
use crate::cli::Init;
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::project::Package;
use crate::source::Source;
use crate::sources::{self, Wanted};
use crate::words::listed;
use build_script::{Made, Script};
use builders::Builder;
use chain::Chain;
use edits::{Edit, Edits};
use manifest::Manifest;
use std::collections::BTreeMap;
use std::fmt::Write;
use tensorize_build::guarded;

/// What the library of kernels is called if nobody says otherwise.
const NAME: &str = "kernels";

/// Shows the changes, and makes them if they are confirmed.
pub fn run(args: &Init, out: &Output) -> Code {
    let packages = match packages(&args.project, out) {
        Ok(packages) => packages,
        Err(code) => return code,
    };
    let [package] = &packages[..] else {
        let message = "there are several packages here; init is for one of them";
        let names: Vec<&str> = packages.iter().map(|p| p.name.as_str()).collect();
        let help = format!("choose one with -p: {}", listed(&names));
        out.diagnostic(&Diagnostic::error("TZ0105", message).help(help));
        return Code::Usage;
    };
    match prepare(package, args) {
        Ok((edits, notes)) => finish(edits, &notes, args, out),
        Err((code, d)) => {
            out.diagnostic(&d);
            code
        }
    }
}

fn finish(edits: Edits, notes: &str, args: &Init, out: &Output) -> Code {
    if edits.is_empty() {
        out.text(&format!("nothing to change\n{notes}"));
        return Code::Clean;
    }
    out.text(&edits.shown());
    if !args.yes && !edits.confirmed() {
        out.text(&format!(
            "\nnothing was written; `cargo tensorize init --yes` writes this\n{notes}"
        ));
        return Code::Clean;
    }
    match edits.write() {
        Ok(()) => {
            out.text(&format!("\nwritten\n{notes}"));
            Code::Clean
        }
        Err(why) => {
            out.diagnostic(&Diagnostic::error("TZ0703", why));
            Code::CouldNotRun
        }
    }
}

/// Why nothing can be prepared.
type Failure = (Code, Box<Diagnostic>);

/// The changes, and what is left for the user to do.
fn prepare(package: &Package, args: &Init) -> Result<(Edits, String), Failure> {
    let dir = &package.dir;
    let failed = |why: String| {
        (
            Code::CouldNotRun,
            Box::new(Diagnostic::error("TZ0111", why)),
        )
    };
    let mut edits = Edits::default();
    let mut notes = String::new();
    let Some(script_name) = manifest::build_script(dir).map_err(failed)? else {
        let why = "Cargo.toml has `build = false`, so that no build script is run, and C is compiled by one: take the line out";
        return Err(failed(why.into()));
    };
    let script_path = dir.join(&script_name);
    let script = edits::read(&script_path).map_err(failed)?;
    let mut libraries = vec![Made {
        name: Some(NAME.into()),
        always: true,
    }];
    let mut script_is_ready = true;
    match script {
        None => {
            let chain = of_sources(package)?;
            let text = format!(
                "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{}    {}?;\n    Ok(())\n}}\n",
                chain.remarks(4),
                chain.text(NAME, 4)
            );
            edits.push(Edit::new(&script_path, None, text));
        }
        Some(old) => {
            let script = Script::read(&old).map_err(|e| failed(format!("{script_name}: {e}")))?;
            if script.uses_us() {
                // It has what it needs.
                libraries = script.ours();
                if libraries.is_empty() {
                    // What it calls is nowhere written down.
                    libraries.push(Made {
                        name: None,
                        always: true,
                    });
                }
            } else if let Some((new, made)) = script.rewritten() {
                libraries = made;
                edits.push(Edit::new(&script_path, Some(old), new));
                let left: Vec<&Builder> = script.of_cc().filter(|b| b.chain.is_none()).collect();
                if !left.is_empty() {
                    let _ = writeln!(
                        notes,
                        "\n{script_name} compiles more with `cc`, which init does not rewrite. For kernels in that, too, write:\n"
                    );
                    notes += &shown::shown(left.into_iter(), script.set_up_elsewhere());
                }
            } else {
                script_is_ready = false;
                let _ = writeln!(
                    notes,
                    "\nin {script_name}, which {}, write:\n",
                    script.why_not()
                );
                let known = build_script::made(script.of_cc());
                if known.is_empty() {
                    let chain = of_sources(package)?;
                    notes += &chain.remarks(4);
                    let _ = writeln!(notes, "    {}\n        .unwrap();", chain.text(NAME, 4));
                    notes += "\nin the place of what compiles these files now (`cc`, `cxx_build`, `cmake` or another): that has to be \
                              taken out, else they are compiled twice. All sources are in it, take out those that are not compiled, \
                              and add the flags, folders and macros that the script has for them\n";
                    notes += &shown::shown([].into_iter(), script.set_up_elsewhere());
                } else {
                    notes += &shown::shown(script.of_cc(), script.set_up_elsewhere());
                    libraries = known;
                }
            }
        }
    }
    let manifest = Manifest::with_dependencies(dir).map_err(failed)?;
    edits.push(Edit::new(&manifest.path, Some(manifest.old), manifest.new));
    let makes = bindings::Makes {
        script: &script_name,
        libraries: &libraries,
        is_ready: script_is_ready,
    };
    bindings::add(dir, &makes, &mut edits, &mut notes).map_err(failed)?;
    if let Some(folder) = manifest.only_here {
        let _ = writeln!(
            notes,
            "\nCargo.toml takes tensorize-rt and tensorize-build from {}: that folder has to be there for all who build this crate, in CI, too. \
             Else put it into your repository and write the path to it, or write `git` and `rev` in the place of `path`, or keep \
             only the version and have `[patch.crates-io]` in the configuration of cargo say where they are.",
            folder.display()
        );
    }
    let next = if args.project.manifest_path.is_some() {
        ""
    } else {
        "`cargo tensorize scan` shows which functions would lift. "
    };
    let _ = write!(
        notes,
        "\nnext: {next}Write `#include \"tensorize.h\"` and TENSORIZE_KERNEL before a function, or name it under \
         `kernels` in `[package.metadata.tensorize]`; then `cargo tensorize`.\n"
    );
    Ok((edits, notes))
}

/// All sources of the package, and those beside it that its compilation database names, in one library, with the folders and
/// macros that are there.
fn of_sources(package: &Package) -> Result<Chain, Failure> {
    let wanted = Wanted {
        elsewhere: true,
        ..Wanted::default()
    };
    let found = sources::find(&package.dir, &wanted, &BTreeMap::new());
    let found: Vec<Source> = found.map_err(|d| (Code::CouldNotRun, d))?;
    let mut chain = Chain::default();
    for source in &found {
        let text = guarded::bytes(&source.file, guarded::SOURCE).unwrap_or_default();
        // A program of its own, such as a test of the C, is no part of a library.
        let program = String::from_utf8_lossy(&text).contains("int main(");
        if program {
            continue;
        }
        let path = sources::absolute(&source.file);
        let dir = sources::absolute(&package.dir);
        chain.files.push(chain::written_from(&dir, &path));
        chain.add_flags(&source.settings, &dir);
    }
    if chain.files.is_empty() {
        let message = format!("{} has no C or C++ sources", package.dir.display());
        return Err((
            Code::NoKernels,
            Box::new(Diagnostic::error("TZ0106", message)),
        ));
    }
    Ok(chain)
}
