//! The shared cache beside a package's own results: what another checkout has proven is taken, what is proven here is
//! given.
//!
//! Nothing depends on it. What goes wrong with it is told in one line, and costs the time of a proof.

use crate::diagnostics::Diagnostic;
use crate::output::Output;
use crate::pipeline::Settings;
use crate::stored;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use tensorize_build::cache::{Cache, Key};
use tensorize_build::hash::Hashes;
use tensorize_build::record::Record;
use tensorize_build::store::Entry;

/// The sources of this program, see `build.rs`.
const SOURCES: &str = env!("TENSORIZE_SOURCES");

/// The cache for one run.
pub struct Shared {
    cache: Option<Cache>,
    has_new: Cell<bool>,
    /// Why something could not be written, the first time.
    failed: RefCell<Option<io::Error>>,
}

/// A kernel under the circumstances that its result depends on.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Its name.
    pub kernel: &'a str,
    /// Relative to the manifest.
    pub file: &'a str,
    /// As the compiler sees it.
    pub hashes: &'a Hashes,
    /// The version of the C compiler, which took part in the run against the original.
    pub compiler: &'a str,
    /// The solver's version.
    pub z3: &'a str,
    /// What is asked for.
    pub settings: &'a Settings,
}

impl Question<'_> {
    fn key(&self) -> Key {
        let targets = self.settings.targets.join(" ");
        let circumstances = [
            ("sources", SOURCES),
            ("z3", self.z3),
            ("compiler", self.compiler),
            ("kernel", self.kernel),
            ("file", self.file),
            ("tier", self.settings.tier.name()),
            ("targets", &targets),
        ];
        Key::new(&self.hashes.here, &circumstances)
    }

    /// Whether this is an answer, by the same rule by which one in `.tensorize/` is.
    fn is_answered_by(&self, record: &Record) -> bool {
        record.name == self.kernel
            && record.file == self.file
            && stored::is_current(record, self.hashes, self.z3, &self.settings.targets)
    }

    /// A target of another crate may make other code tomorrow, and nobody would know.
    fn is_for_our_targets(&self) -> bool {
        let mut targets = self.settings.targets.iter();
        !targets.any(|t| backends::is_registered(t))
    }
}

impl Shared {
    /// The user's. A folder that must not be used is told of.
    pub fn open(out: &Output) -> Shared {
        let cache = Cache::of_user().unwrap_or_else(|why| {
            let message = format!("the shared cache is not used: {why}");
            out.diagnostic(&Diagnostic::warning("TZ0708", message));
            None
        });
        Shared {
            cache,
            ..Shared::none()
        }
    }

    /// One with nothing in it, that keeps nothing.
    pub fn none() -> Shared {
        Shared {
            cache: None,
            has_new: Cell::new(false),
            failed: RefCell::new(None),
        }
    }

    /// What another checkout has found out.
    pub fn find(&self, question: &Question) -> Option<Entry> {
        let cache = self
            .cache
            .as_ref()
            .filter(|_| question.is_for_our_targets())?;
        let entry = cache.find(&question.key(), question.kernel)?;
        question.is_answered_by(&entry.record).then_some(entry)
    }

    /// Gives others what was found out here, if it is final.
    pub fn keep(&self, question: &Question, record: &Record, sources: &BTreeMap<String, String>) {
        let Some(cache) = self
            .cache
            .as_ref()
            .filter(|_| question.is_for_our_targets())
        else {
            return;
        };
        // After a first failure the others would fail, too.
        if self.failed.borrow().is_some() || !question.is_answered_by(record) {
            return;
        }
        match cache.keep(&question.key(), record, sources) {
            Ok(()) => self.has_new.set(true),
            Err(e) => *self.failed.borrow_mut() = Some(e),
        }
    }

    /// Makes room if something was added, and tells what went wrong.
    pub fn finish(&self, out: &Output) {
        let Some(cache) = &self.cache else { return };
        let warn = |why: String| {
            let message = format!("the shared cache in {}: {why}", cache.dir().display());
            let help = "results are stored beside the manifest as always; TENSORIZE_CACHE=off does without the cache";
            out.diagnostic(&Diagnostic::warning("TZ0708", message).help(help));
        };
        if let Some(e) = self.failed.borrow().as_ref() {
            warn(e.to_string());
        }
        if self.has_new.get() {
            match Cache::limit() {
                Ok(limit) => {
                    // What can't be removed now is removed by the next run.
                    cache.evict(limit).ok();
                }
                Err(why) => warn(why),
            }
        }
    }
}
