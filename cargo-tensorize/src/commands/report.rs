//! `report`: all that is known of the stored kernels, as one page that a browser shows without anything else.

mod chart;
mod page;

use super::known::{Known, Proof};
use super::{Output, packages, write_whole};
use crate::cli::{Project, Report};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::progress::Progress;
use crate::words::listed;
use serde_json::json;
use std::path::Path;
use tensorize_build::store::Store;

/// A kernel, with its proof made once more if there is one.
struct Section<'a> {
    package: &'a str,
    known: Known<'a>,
    proof: Option<Proof>,
}

/// Writes the page.
pub fn run(args: &Report, out: &Output) -> Code {
    let project = Project {
        packages: args.packages.clone(),
        workspace: args.workspace,
        manifest_path: args.manifest_path.clone(),
        ..Project::default()
    };
    let packages = match packages(&project, out) {
        Ok(packages) => packages,
        Err(code) => return code,
    };
    let stored: Vec<_> = packages
        .iter()
        .map(|p| (p, Store::of_manifest(&p.dir).load()))
        .collect();
    let mut code = Code::Clean;
    for rejected in stored.iter().flat_map(|(_, contents)| &contents.rejected) {
        out.diagnostic(&Diagnostic::error("TZ0706", rejected.to_string()));
        code = Code::OutOfDate;
    }
    let entries: Vec<_> = stored
        .iter()
        .flat_map(|(p, contents)| contents.entries.iter().map(move |e| (*p, e)))
        .collect();
    if entries.is_empty() {
        let help = "run `cargo tensorize`";
        out.diagnostic(&Diagnostic::error("TZ0704", "nothing is stored to report on").help(help));
        return code.worse(Code::NoKernels);
    }
    let progress = Progress::new("proving", entries.len());
    let sections: Vec<Section> = entries
        .into_iter()
        .map(|(package, entry)| {
            let known = Known::of(package, entry);
            let proof = known.proof();
            progress.step();
            Section {
                package: &package.name,
                known,
                proof,
            }
        })
        .collect();
    drop(progress);
    let stale: Vec<&str> = sections
        .iter()
        .filter(|s| !s.known.current)
        .map(|s| s.known.entry.record.name.as_str())
        .collect();
    if !stale.is_empty() {
        let message = format!("stored results are out of date: {}", listed(&stale));
        let help = "run `cargo tensorize`, and then this again; the page shows what was stored, and says of which kernels it is old";
        out.diagnostic(&Diagnostic::error("TZ0704", message).help(help));
        code = code.worse(Code::OutOfDate);
    }
    let page = page::page(&sections, args.source_url.as_deref());
    let folder = args.output.parent().unwrap_or(Path::new(""));
    let written = std::fs::create_dir_all(folder).and_then(|()| write_whole(&args.output, &page));
    if let Err(e) = written {
        let message = format!("cannot write {}: {e}", args.output.display());
        let help = "--output FILE names another place";
        out.diagnostic(&Diagnostic::error("TZ0112", message).help(help));
        return Code::CouldNotRun;
    }
    out.text(&format!("{}\n", args.output.display()));
    out.json(&json!({"reason": "report", "path": args.output.to_string_lossy(), "kernels": sections.len()}));
    code
}
