//! When to look: the operating system's word about the folders, or a clock.

use notify_debouncer_full::notify::{self, RecursiveMode};
use notify_debouncer_full::{DebounceEventResult, Debouncer, RecommendedCache, new_debouncer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// An editor's save is several events; they are one reason.
const DEBOUNCE: Duration = Duration::from_millis(20);
/// However quiet it is: folders that come back may have done so unseen.
const IN_ANY_CASE: Duration = Duration::from_secs(2);

/// Says when to look.
pub(super) struct Waker {
    debouncer: Option<Debouncer<notify::RecommendedWatcher, RecommendedCache>>,
    events: Receiver<Instant>,
    /// The folders that are watched, and which folder each was when it began.
    watched: BTreeMap<PathBuf, Identity>,
    patience: Duration,
}

/// A folder that was deleted and made again is another one.
type Identity = (u64, u64);

/// Why to look.
pub(super) struct Woken {
    /// Something happened in a folder, and not only time went by.
    pub by_event: bool,
    /// When we learned of it.
    pub at: Instant,
}

impl Waker {
    /// Listens to the operating system; where that can't be had, or `poll` is given, looks at the clock.
    pub(super) fn new(poll: Option<Duration>) -> Waker {
        let (tell, events) = channel();
        let handler = move |result: DebounceEventResult| {
            let worth = match &result {
                // Our own reading is no reason to look.
                Ok(events) => events.iter().any(|e| !e.kind.is_access()),
                // Events were lost.
                Err(_) => true,
            };
            let first = result.ok().and_then(|e| e.iter().map(|e| e.time).min());
            if worth {
                // The other end is gone when the program ends.
                let _ = tell.send(first.unwrap_or_else(Instant::now));
            }
        };
        let debouncer = match poll {
            Some(_) => None,
            None => new_debouncer(DEBOUNCE, Some(DEBOUNCE / 4), handler).ok(),
        };
        Waker {
            debouncer,
            events,
            watched: BTreeMap::new(),
            patience: poll.unwrap_or(IN_ANY_CASE),
        }
    }

    /// Watches these folders and no others, as far as they exist.
    pub(super) fn watch(&mut self, folders: &[PathBuf]) {
        let Some(debouncer) = &mut self.debouncer else {
            return;
        };
        let now: BTreeMap<PathBuf, Identity> = folders
            .iter()
            .filter_map(|f| Some((f.clone(), identity(f)?)))
            .collect();
        for (folder, id) in &self.watched {
            if now.get(folder) != Some(id) {
                // It may be gone, and its watch with it.
                let _ = debouncer.unwatch(folder);
            }
        }
        let mut watched = BTreeMap::new();
        for (folder, id) in now {
            let is_new = self.watched.get(&folder) != Some(&id);
            // A folder that can't be watched is looked at when time goes by.
            if !is_new
                || debouncer
                    .watch(&folder, RecursiveMode::NonRecursive)
                    .is_ok()
            {
                watched.insert(folder, id);
            }
        }
        self.watched = watched;
    }

    /// Waits for a reason to look; `None` if there will be none any more.
    pub(super) fn wait(&self) -> Option<Woken> {
        let woken = match self.events.recv_timeout(self.patience) {
            Ok(at) => Woken { by_event: true, at },
            Err(RecvTimeoutError::Timeout) => Woken {
                by_event: false,
                at: Instant::now(),
            },
            Err(RecvTimeoutError::Disconnected) if self.debouncer.is_some() => return None,
            // Nobody listens to the operating system.
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(self.patience);
                Woken {
                    by_event: true,
                    at: Instant::now(),
                }
            }
        };
        // What else came in the meantime is seen by the same look.
        while self.events.try_recv().is_ok() {}
        Some(woken)
    }
}

#[cfg(unix)]
fn identity(folder: &Path) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    let meta = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(not(unix))]
fn identity(folder: &Path) -> Option<Identity> {
    let meta = folder.metadata().ok().filter(std::fs::Metadata::is_dir)?;
    let since = meta
        .created()
        .ok()?
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?;
    Some((since.as_secs(), u64::from(since.subsec_nanos())))
}
