//! Files that say what is ignored. The crate that knows what they mean opens them whatever they are.

use crate::diagnostics::Diagnostic;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use tensorize_build::guarded;

/// An error if a file that says what is ignored in this folder can't be read.
pub(super) fn check(folder: &Path) -> Result<(), Box<Diagnostic>> {
    let mut files: Vec<PathBuf> = [".gitignore", ".ignore"].map(|f| folder.join(f)).into();
    let git = folder.join(".git");
    match fs::metadata(&git) {
        Ok(meta) if meta.is_file() => files.extend(elsewhere(&git)?),
        Ok(_) => files.push(git.join("info/exclude")),
        Err(_) => {}
    }
    files.iter().try_for_each(|file| readable(file))
}

/// In a worktree or a submodule, `.git` is a file that says where the folder of that name is, and there may be another one.
fn elsewhere(git: &Path) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    readable(git)?;
    let line = |file: &Path| {
        let text = guarded::text(file, guarded::SMALL).unwrap_or_default();
        text.lines().next().unwrap_or_default().to_owned()
    };
    let Some(folder) = line(git).strip_prefix("gitdir: ").map(PathBuf::from) else {
        return Ok(vec![]);
    };
    let common = folder.join("commondir");
    readable(&common)?;
    let exclude = folder.join(line(&common)).join("info/exclude");
    Ok(vec![exclude])
}

fn readable(file: &Path) -> Result<(), Box<Diagnostic>> {
    match guarded::check(file, guarded::SMALL) {
        Err(e) if e.kind() == ErrorKind::InvalidData && !file.is_dir() => {
            let message = format!("{} cannot be read: {e}", file.display());
            let help = "remove it: it is to say which files are ignored";
            Err(Box::new(Diagnostic::error("TZ0115", message).help(help)))
        }
        _ => Ok(()),
    }
}
