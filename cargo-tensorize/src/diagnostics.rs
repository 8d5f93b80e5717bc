//! What is wrong, where, and what to do: shown as the Rust compiler shows it.

use crate::codes;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use std::path::PathBuf;
use tensorize_build::guarded;
use tensorize_lift::c::{Problem, Span};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The exit code says so.
    Error,
    /// The original goes on to run; nothing is wrong.
    Warning,
    /// For information.
    Note,
}

/// A part of a line, counted from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// The line.
    pub line: u32,
    /// The first column and one past the last, in UTF-16's units, as SARIF and GitHub count; `None` where the file
    /// can't be read.
    pub columns: Option<(u32, u32)>,
}

/// Something to tell the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// A code of [`crate::codes`].
    pub code: Option<&'static str>,
    /// One line.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// More lines, such as a counterexample.
    pub notes: Vec<String>,
    /// What to do.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error.
    pub fn error(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            code: Some(code),
            message: message.into(),
            span: None,
            notes: Vec::new(),
            help: None,
        }
    }

    /// A warning.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, message)
        }
    }

    /// With what to do.
    pub fn help(self, help: impl Into<String>) -> Diagnostic {
        Diagnostic {
            help: Some(help.into()),
            ..self
        }
    }

    /// With what its code says that helps.
    pub fn helped(self) -> Diagnostic {
        let known = self.code.and_then(codes::find).and_then(|c| c.help);
        Diagnostic {
            help: known.map(Into::into),
            ..self
        }
    }

    /// With a place.
    pub fn at(self, span: Option<Span>) -> Diagnostic {
        Diagnostic { span, ..self }
    }

    /// With more lines.
    pub fn note(mut self, note: impl Into<String>) -> Diagnostic {
        self.notes.push(note.into());
        self
    }

    /// Its place on one line, as programs want it.
    pub fn region(&self) -> Option<Region> {
        let span = self.span.as_ref()?;
        let columns = || {
            let text = guarded::text(&span.file, guarded::SOURCE).ok()?;
            let range = one_line(&text, span)?;
            let before = text[..range.start].rfind('\n').map_or(0, |at| at + 1);
            let units = |t: &str| u32::try_from(t.encode_utf16().count()).unwrap_or(u32::MAX - 1);
            let start = 1 + units(&text[before..range.start]);
            Some((start, start + units(&text[range])))
        };
        Some(Region {
            line: span.line.max(1),
            columns: columns(),
        })
    }

    /// The text, with the lines of source it speaks of.
    pub fn render(&self, renderer: &Renderer) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
            Severity::Note => Level::NOTE,
        };
        let mut title = level.primary_title(&self.message);
        if let Some(code) = self.code {
            title = title.id(code);
        }
        let place = self.span.as_ref().map(Place::read);
        let mut group = match &place {
            Some(place) => place.add_to(title),
            None => Group::with_title(title),
        };
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        renderer.render(&[group]).to_string()
    }
}

impl From<Problem> for Diagnostic {
    fn from(p: Problem) -> Diagnostic {
        // The message speaks of the case at hand; the title names the construct.
        let title = crate::codes::find(p.code).map_or("", |c| c.title);
        let message = if p.message.to_lowercase().contains(&title.to_lowercase()) {
            p.message
        } else {
            format!("{} ({title})", p.message)
        };
        let d = Diagnostic::error(p.code, message).at(p.span);
        Diagnostic { help: p.help, ..d }
    }
}

/// A span with the text of its file.
struct Place {
    path: String,
    source: Option<(String, std::ops::Range<usize>)>,
    line: u32,
}

impl Place {
    fn read(span: &Span) -> Place {
        let text = guarded::text(&span.file, guarded::SOURCE).ok();
        let source = text.and_then(|text| Some((one_line(&text, span)?, text)));
        Place {
            path: span.file.display().to_string(),
            source: source.map(|(range, text)| (text, range)),
            line: span.line,
        }
    }

    fn add_to<'a>(&'a self, title: annotate_snippets::Title<'a>) -> Group<'a> {
        match &self.source {
            Some((text, range)) => title.element(
                Snippet::source(text)
                    .path(&self.path)
                    .annotation(AnnotationKind::Primary.span(range.clone())),
            ),
            None => title.element(
                annotate_snippets::Origin::path(&self.path).line(self.line.max(1) as usize),
            ),
        }
    }
}

/// The part of the span that lies on its first line: a whole function body says nothing that its head
/// doesn't. `None` if the file is not the one that was parsed.
fn one_line(text: &str, span: &Span) -> Option<std::ops::Range<usize>> {
    let (start, end) = if span.end > span.start {
        (span.start, span.end)
    } else {
        // Only the line is known.
        let line = text
            .split_inclusive('\n')
            .nth(span.line.checked_sub(1)? as usize)?;
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        let indent = line.len() - line.trim_start().len();
        (start + indent, start + line.trim_end().len().max(indent))
    };
    let rest = text.get(start..)?;
    let end = end.min(start + rest.find('\n').unwrap_or(rest.len()));
    text.get(start..end)?;
    Some(start..end)
}

/// A span of which only the line is known.
pub fn line_span(file: impl Into<PathBuf>, line: u32) -> Span {
    Span {
        file: file.into(),
        line,
        column: 1,
        start: 0,
        end: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_line_the_code_and_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("k.c");
        std::fs::write(
            &file,
            "int f(void)\n{\n    goto out;\nout:\n    return 0;\n}\n",
        )
        .unwrap();
        let text = Diagnostic::error("TZ0203", "`goto` is not supported")
            .at(Some(line_span(&file, 3)))
            .help("write it as a loop")
            .render(&Renderer::plain());
        assert!(
            text.contains("error[TZ0203]: `goto` is not supported"),
            "{text}"
        );
        assert!(text.contains("k.c:3:5"), "{text}");
        assert!(
            text.contains("goto out;\n") && text.contains("^^^^^^^^^"),
            "{text}"
        );
        assert!(text.contains("help: write it as a loop"), "{text}");
    }

    #[test]
    fn a_span_beyond_the_file_is_no_panic() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("k.c");
        std::fs::write(&file, "int x;\n").unwrap();
        let span = Span {
            file,
            line: 9,
            column: 1,
            start: 900,
            end: 950,
        };
        let text = Diagnostic::error("TZ0203", "gone")
            .at(Some(span))
            .render(&Renderer::plain());
        assert!(text.contains("k.c:9"), "{text}");
    }
}
