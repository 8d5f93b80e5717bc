//! Annotations: lines of a workflow's log that GitHub shows beside the source.
//! <https://docs.github.com/actions/reference/workflows-and-actions/workflow-commands>

use super::from_root;
use crate::diagnostics::{Diagnostic, Severity};
use std::fmt::Write;

/// `::error file=k.c,line=3,title=TZ0402::not proven`.
pub(super) fn annotation(d: &Diagnostic) -> String {
    let command = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    if let Some(span) = &d.span {
        properties.push(format!("file={}", property(&from_root(&span.file))));
        let region = d.region().unwrap_or_default();
        properties.push(format!("line={}", region.line));
        if let Some((start, end)) = region.columns {
            // With a column, GitHub wants the last line to be named.
            properties.push(format!(
                "endLine={},col={start},endColumn={end}",
                region.line
            ));
        }
    }
    properties.extend(d.code.map(|code| format!("title={}", property(code))));
    let mut message = d.message.clone();
    for more in d.notes.iter().chain(&d.help) {
        let _ = write!(message, "\n{more}");
    }
    let space = if properties.is_empty() { "" } else { " " };
    format!(
        "::{command}{space}{}::{}",
        properties.join(","),
        data(&message)
    )
}

/// A message is one line.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// In properties, what separates them is written otherwise, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostics::line_span;

    #[test]
    fn what_has_a_meaning_in_the_line_is_escaped() {
        let d = Diagnostic::error("TZ0402", "100% of\r\nthis: not, proven")
            .at(Some(line_span("no such folder/100%,b:\r\nc.c", 7)))
            .help("look");
        assert_eq!(
            annotation(&d),
            "::error file=no such folder/100%25%2Cb%3A%0D%0Ac.c,line=7,title=TZ0402::100%25 of%0D%0Athis: not, proven%0Alook"
        );
        let d = Diagnostic::warning("TZ0704", "::set-output::");
        assert_eq!(annotation(&d), "::warning title=TZ0704::::set-output::");
    }
}
