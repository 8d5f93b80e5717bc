//! SARIF 2.1.0, the format of code scanning: every diagnostic is a result with a rule and a place.
//! <https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html>

use super::{Told, from_root, root};
use crate::codes;
use crate::diagnostics::{Diagnostic, Severity};
use crate::exit::Code;
use crate::report::KernelReport;
use serde_json::{Value, json};
use std::path::Path;

const ROOT: &str = "%SRCROOT%";
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
const HOME: &str = env!("CARGO_PKG_NAME");

/// The document.
pub(super) fn document(told: &Told, code: Code) -> String {
    let rules: Vec<codes::Code> = codes::all().collect();
    let finding = |(kernel, d)| finding(kernel, d, &rules);
    let results: Vec<Value> = told.diagnostics().map(finding).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": HOME,
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            }},
            "results": results,
            "invocations": [{
                "executionSuccessful": !matches!(code, Code::CouldNotRun | Code::Usage),
                "exitCode": code as u8,
            }],
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": {
                ROOT: {"uri": format!("file://{}/", uri(&root().to_string_lossy()))},
            },
        }],
    });
    // Strings, numbers and maps with string keys.
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

fn rule(code: &codes::Code) -> Value {
    json!({
        "id": code.code,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": code.explanation},
        "help": {"text": code.text()},
    })
}

fn finding(kernel: Option<&KernelReport>, d: &Diagnostic, rules: &[codes::Code]) -> Value {
    let mut message = d.message.clone();
    for more in d.notes.iter().chain(&d.help) {
        message.push('\n');
        message.push_str(more);
    }
    let level = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    // What names a kernel stays the same finding when lines above it come and go.
    let id = d.code.unwrap_or_default();
    let same = format!("{id}/{}", kernel.map_or(d.message.as_str(), |k| &k.name));
    let mut finding = json!({
        "message": {"text": message},
        "level": level,
        "locations": [location(kernel, d)],
        "partialFingerprints": {"finding/v1": same},
    });
    if let Some(code) = d.code {
        finding["ruleId"] = json!(code);
    }
    if let Some(at) = rules.iter().position(|r| Some(r.code) == d.code) {
        finding["ruleIndex"] = json!(at);
    }
    finding
}

/// Every result has a place; what is about the whole project is at its manifest.
fn location(kernel: Option<&KernelReport>, d: &Diagnostic) -> Value {
    let region = d.region();
    let (file, line) = match (&d.span, kernel) {
        (Some(span), _) => (span.file.as_path(), region.map_or(1, |r| r.line)),
        (None, Some(k)) => (k.file.as_path(), k.line.max(1)),
        (None, None) => (Path::new("Cargo.toml"), 1),
    };
    let path = from_root(file);
    let artifact = if Path::new(&path).is_absolute() {
        json!({"uri": format!("file://{}", uri(&path))})
    } else {
        json!({"uri": uri(&path), "uriBaseId": ROOT})
    };
    let mut part = json!({"startLine": line});
    if let Some((start, end)) = region.and_then(|r| r.columns) {
        part["startColumn"] = json!(start);
        part["endColumn"] = json!(end);
    }
    let mut location = json!({"physicalLocation": {"artifactLocation": artifact, "region": part}});
    if let Some(k) = kernel {
        location["logicalLocations"] = json!([{"name": k.name, "kind": "function"}]);
    }
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
