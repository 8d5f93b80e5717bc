//! Changes of files: shown first, then made, all at once.

use crate::commands::write_whole;
use similar::TextDiff;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use tensorize_build::guarded;

/// A file as it is and as it shall be.
#[derive(Debug)]
pub(super) struct Edit {
    path: PathBuf,
    /// `None` for a new file.
    old: Option<String>,
    new: String,
}

impl Edit {
    pub(super) fn new(path: &Path, old: Option<String>, new: String) -> Edit {
        let new = match old.as_deref().is_some_and(has_carriage_returns) {
            true => new.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => new,
        };
        Edit {
            path: path.to_owned(),
            old,
            new,
        }
    }
}

/// Whether each of its lines ends as on Windows.
fn has_carriage_returns(text: &str) -> bool {
    let mut ends = text.split_inclusive('\n').filter(|l| l.ends_with('\n'));
    text.contains('\n') && ends.all(|l| l.ends_with("\r\n"))
}

/// Changes of several files.
#[derive(Debug, Default)]
pub(super) struct Edits(Vec<Edit>);

impl Edits {
    /// Adds a change, unless it changes nothing.
    pub(super) fn push(&mut self, edit: Edit) {
        if edit.old.as_ref() != Some(&edit.new) {
            self.0.push(edit);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As `diff -u` shows them.
    pub(super) fn shown(&self) -> String {
        let one = |e: &Edit| {
            let path = crate::commands::from_current_dir(&e.path);
            let path = path.display().to_string();
            let old = e.old.as_deref().unwrap_or_default();
            let before = if e.old.is_some() { &path } else { "/dev/null" };
            let diff = TextDiff::from_lines(old, &e.new);
            diff.unified_diff().header(before, &path).to_string()
        };
        self.0.iter().map(one).collect::<Vec<_>>().join("\n")
    }

    /// Asks, if there is somebody to ask.
    pub(super) fn confirmed(&self) -> bool {
        if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
            return false;
        }
        print!("\nwrite this? [y/N] ");
        let _ = std::io::stdout().flush();
        let mut answer = String::new();
        let read = std::io::stdin().read_line(&mut answer).is_ok();
        read && matches!(answer.trim(), "y" | "Y" | "yes")
    }

    /// Writes all of them. A file that is not any more as it was shown is left alone, and so are the others.
    pub(super) fn write(&self) -> Result<(), String> {
        for e in &self.0 {
            if read(&e.path)? != e.old {
                return Err(format!("{} has changed meanwhile", e.path.display()));
            }
        }
        for e in &self.0 {
            write_whole(&e.path, &e.new).map_err(|why| format!("{}: {why}", e.path.display()))?;
        }
        Ok(())
    }
}

/// The file's text; `None` if there is no such file.
pub(super) fn read(path: &Path) -> Result<Option<String>, String> {
    match guarded::text(path, guarded::SMALL) {
        Ok(text) => Ok(Some(text)),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(format!("{} cannot be read: {e}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_as_they_did() {
        let new = |old: &str| Edit::new(Path::new("x"), Some(old.into()), "a\r\nb\n".into()).new;
        assert_eq!(new("a\r\nc\r\n"), "a\r\nb\r\n");
        assert_eq!(new("a\r\nc\n"), "a\r\nb\n");
        assert_eq!(new("a"), "a\r\nb\n");
    }
}
