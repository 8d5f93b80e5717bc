//! Files that others read while they are written, and that a `kill -9` or a full disk may cut short.
//!
//! A file is written under another name in the same folder and renamed, so that it has either what it had or all
//! of what it is to have. Writers of one folder wait for each other; readers wait for nobody.

use crate::guarded;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a writer waits for another one. What it does without a lock is right as well, but may undo what the other
/// one has written.
const PATIENCE: Duration = Duration::from_secs(10);

/// The ending of a file that is not yet what it is to be.
const UNFINISHED: &str = ".tmp";

/// What a crash of the machine may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// The file: it is made again by the next build, or is a copy.
    IfNothingHappens,
    /// Nothing that took time to find: it is on the disk before its name is.
    Always,
}

/// Writes a file under another name and renames it, unless it holds the same already. The error names the file.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8], keep: Keep) -> io::Result<()> {
    if guarded::bytes(path, guarded::SMALL).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let write = || {
        let dir = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir)?;
        let (temporary, mut file) = unfinished(dir)?;
        let finish = || {
            file.write_all(bytes)?;
            if keep == Keep::Always {
                file.sync_all()?;
            }
            drop(file);
            fs::rename(&temporary, path)
        };
        finish().inspect_err(|_| {
            fs::remove_file(&temporary).ok();
        })
    };
    write().map_err(|e| about(path, &e))
}

/// A new file in the folder, under a name that nobody has. Another process of the same number (in another container)
/// may have been killed here.
fn unfinished(dir: &Path) -> io::Result<(PathBuf, File)> {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    loop {
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".{}-{n}{UNFINISHED}", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(e),
        }
    }
}

/// Whether a file of this name is what a writer left behind.
pub(super) fn is_unfinished(name: &str) -> bool {
    name.starts_with('.') && name.ends_with(UNFINISHED)
}

/// The error with the file that it is about.
pub(super) fn about(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

/// The text of a record or a source.
pub(super) fn read(path: &Path) -> io::Result<String> {
    guarded::text(path, guarded::SMALL)
}

/// Makes a folder of a store, which must not lead elsewhere: what is written to it stays below the store.
pub(super) fn make_folder(dir: &Path) -> io::Result<()> {
    let is_link = fs::symlink_metadata(dir).is_ok_and(|m| m.file_type().is_symlink());
    if is_link {
        let why = "it is a symbolic link, and results are written to no other place";
        return Err(about(dir, &io::Error::other(why)));
    }
    fs::create_dir_all(dir).map_err(|e| about(dir, &e))
}

/// Keeps other writers of the folder out until it is dropped, also where it is dropped by a kill. `None` where that
/// is not to be had: on file systems without locks, on Windows, where folders can't be opened, or when somebody else
/// holds it for too long.
pub(crate) fn lock(dir: &Path) -> Option<File> {
    let folder = File::open(dir).ok()?;
    let start = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_killed_process_left_is_not_taken_again() {
        let dir = tempfile::tempdir().unwrap();
        for n in 0..50 {
            let left = format!(".{}-{n}{UNFINISHED}", std::process::id());
            fs::write(dir.path().join(left), "x").unwrap();
        }
        write_atomic(&dir.path().join("a"), b"whole", Keep::Always).unwrap();
        assert_eq!(fs::read(dir.path().join("a")).unwrap(), b"whole");
    }

    #[test]
    fn an_error_names_the_file_and_leaves_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a")).unwrap();
        let e = write_atomic(&dir.path().join("a"), b"x", Keep::Always).unwrap_err();
        assert!(
            e.to_string()
                .contains(&*dir.path().join("a").to_string_lossy()),
            "{e}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
