//! Folders for what is compiled, run and solved. One that a killed run has left is removed by a later run.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Once;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

const PREFIX: &str = "tensorize-";

/// Held as long as somebody works in the folder.
const LOCK: &str = ".lock";

/// A folder that is younger may be one that its owner is about to lock.
const YOUNG: Duration = Duration::from_secs(600);

/// A folder of this run. It goes away with the value.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// Closed before the folder goes: some systems keep a file that is open.
    _lock: File,
    folder: TempDir,
}

impl Scratch {
    /// A new one, in the folder for temporary files.
    pub fn new() -> io::Result<Scratch> {
        static SWEPT: Once = Once::new();
        SWEPT.call_once(|| sweep(&std::env::temp_dir(), YOUNG));
        Scratch::within(&std::env::temp_dir())
    }

    fn within(parent: &Path) -> io::Result<Scratch> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        // Where files can't be locked, nobody finds a lock free either.
        let _ = lock.lock();
        Ok(Scratch {
            _lock: lock,
            folder,
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders in which nobody works any more. Whatever can't be removed stays: it may be another user's.
fn sweep(parent: &Path, young: Duration) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && is_left(&entry.path(), young) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether it is a folder with a lock that nobody holds, and has been for long enough.
fn is_left(folder: &Path, young: Duration) -> bool {
    let lock = folder.join(LOCK);
    // No links, and no pipes, which would wait for somebody to write.
    let is_folder = fs::symlink_metadata(folder).is_ok_and(|m| m.is_dir());
    let age = fs::symlink_metadata(&lock)
        .ok()
        .filter(|m| is_folder && m.is_file())
        .and_then(|m| SystemTime::now().duration_since(m.modified().ok()?).ok());
    age.is_some_and(|age| age >= young)
        && File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_run_has_left_is_removed() {
        let parent = tempfile::tempdir().unwrap();
        let make = |name: &str, locked: bool| {
            let folder = parent.path().join(name);
            fs::create_dir(&folder).unwrap();
            fs::write(folder.join("original.c"), "").unwrap();
            if locked {
                fs::write(folder.join(LOCK), "").unwrap();
            }
            folder
        };
        let left = make("tensorize-left", true);
        let others = [
            make("tensorize-notes", false),
            make("somebody-else", true),
            parent.path().to_owned(),
        ];
        let alive = Scratch::within(parent.path()).unwrap();
        sweep(parent.path(), YOUNG);
        assert!(left.exists(), "it may be about to be locked");
        sweep(parent.path(), Duration::ZERO);
        assert!(!left.exists());
        assert!(others.iter().all(|o| o.exists()));
        assert!(alive.path().exists());
        let path = alive.path().to_owned();
        drop(alive);
        assert!(!path.exists());
    }
}
