//! SARIF 2.1.0, the format of code scanning: every diagnostic is a result with a rule and a place.
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use super::{Told, from_root, root};
use crate::codes;
use crate::diagnostics::{Diagnostic, Severity};
use crate::exit::Code;
use crate::report::KernelReport;
use serde_sarif::sarif::{
    ArtifactLocation, Invocation, Location, LogicalLocation, MultiformatMessageString,
    PhysicalLocation, Region, ReportingDescriptor, Result as Finding, ResultLevel, Run, Sarif,
    Tool, ToolComponent, Version,
};
use std::collections::BTreeMap;
use std::path::Path;

const ROOT: &str = "%SRCROOT%";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const HOME: &str = env!("CARGO_PKG_NAME");

/// The document.
pub(super) fn document(told: &Told, code: Code) -> String {
    let rules: Vec<codes::Code> = codes::all().collect();
    let results: Vec<Finding> = told
        .diagnostics()
        .map(|(kernel, d)| finding(kernel, d, &rules))
        .collect();
    let driver = ToolComponent::builder()
        .name(HOME)
        .version(env!("CARGO_PKG_VERSION"))
        .rules(rules.iter().map(rule).collect::<Vec<_>>())
        .build();
    let done = !matches!(code, Code::CouldNotRun | Code::Usage);
    let invocation = Invocation::builder()
        .execution_successful(done)
        .exit_code(i64::from(code as u8))
        .build();
    let base = ArtifactLocation::builder()
        .uri(format!("file://{}/", uri(&root().to_string_lossy())))
        .build();
    let run = Run::builder()
        .tool(Tool::builder().driver(driver).build())
        .results(results)
        .invocations(vec![invocation])
        .column_kind(serde_json::json!("utf16CodeUnits"))
        .original_uri_base_ids(BTreeMap::from([(ROOT.to_owned(), base)]))
        .build();
    let log = Sarif::builder()
        .schema(SCHEMA)
        .version(serde_json::json!(Version::V2_1_0))
        .runs(vec![run])
        .build();
    // Strings, numbers and maps with string keys.
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

fn rule(code: &codes::Code) -> ReportingDescriptor {
    let text = |t: &str| MultiformatMessageString::builder().text(t).build();
    ReportingDescriptor::builder()
        .id(code.code)
        .short_description(text(code.title))
        .full_description(text(code.explanation))
        .help(text(code.explanation))
        .build()
}

fn finding(kernel: Option<&KernelReport>, d: &Diagnostic, rules: &[codes::Code]) -> Finding {
    let mut message = d.message.clone();
    for more in d.notes.iter().chain(&d.help) {
        message.push('\n');
        message.push_str(more);
    }
    let level = match d.severity {
        Severity::Error => ResultLevel::Error,
        Severity::Warning => ResultLevel::Warning,
        Severity::Note => ResultLevel::Note,
    };
    // What names a kernel stays the same finding when lines above it come and go.
    let id = d.code.unwrap_or_default();
    let same = format!("{id}/{}", kernel.map_or(d.message.as_str(), |k| &k.name));
    let mut finding = Finding::builder()
        .message(message.as_str())
        .level(level)
        .locations(vec![location(kernel, d)])
        .partial_fingerprints(BTreeMap::from([("finding/v1".to_owned(), same)]))
        .build();
    finding.rule_id = d.code.map(str::to_owned);
    finding.rule_index = rules
        .iter()
        .position(|r| Some(r.code) == d.code)
        .and_then(|at| i64::try_from(at).ok());
    finding
}

/// Every result has a place; what is about the whole project is at its manifest.
fn location(kernel: Option<&KernelReport>, d: &Diagnostic) -> Location {
    let region = d.region();
    let (file, line) = match (&d.span, kernel) {
        (Some(span), _) => (span.file.as_path(), region.map_or(1, |r| r.line)),
        (None, Some(k)) => (k.file.as_path(), k.line.max(1)),
        (None, None) => (Path::new("Cargo.toml"), 1),
    };
    let path = from_root(file);
    let mut artifact = ArtifactLocation::builder().build();
    if Path::new(&path).is_absolute() {
        artifact.uri = Some(format!("file://{}", uri(&path)));
    } else {
        artifact.uri = Some(uri(&path));
        artifact.uri_base_id = Some(ROOT.into());
    }
    let mut part = Region::builder().start_line(i64::from(line)).build();
    if let Some((start, end)) = region.and_then(|r| r.columns) {
        part.start_column = Some(i64::from(start));
        part.end_column = Some(i64::from(end));
    }
    let physical = PhysicalLocation::builder()
        .artifact_location(artifact)
        .region(part)
        .build();
    let mut location = Location::builder().physical_location(physical).build();
    location.logical_locations = kernel.map(|k| {
        let name = LogicalLocation::builder().name(k.name.as_str());
        vec![name.kind("function").build()]
    });
    location
}

/// A path as part of a URI (RFC 3986).
fn uri(path: &str) -> String {
    let mut uri = String::new();
    for &b in path.as_bytes() {
        if b.is_ascii_alphanumeric() || b"/-._~".contains(&b) {
            uri.push(char::from(b));
        } else {
            uri.push_str(&format!("%{b:02X}"));
        }
    }
    uri
}
