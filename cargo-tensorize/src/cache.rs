//! The shared caches beside a package's own results: what another checkout, or somebody else, has proven is taken, what is
//! proven here is given.
//!
//! Nothing depends on them. What goes wrong with them is told in one line, and costs the time of a proof.

use crate::diagnostics::Diagnostic;
use crate::output::Output;
use crate::pipeline::Settings;
use crate::progress::Progress;
use crate::remote::Remote;
use crate::stored;
use crate::words::counted;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use tensorize_build::cache::{Cache, Key};
use tensorize_build::hash::Hashes;
use tensorize_build::record::Record;
use tensorize_build::store::Entry;

/// The sources of this program, see `build.rs`.
const SOURCES: &str = env!("TENSORIZE_SOURCES");

/// The caches for one run.
pub struct Shared {
    cache: Option<Cache>,
    has_new: Cell<bool>,
    /// Why something could not be written, the first time.
    failed: RefCell<Option<io::Error>>,
    /// The one that other machines share.
    remote: RefCell<Option<Remote>>,
    /// What it had, by key.
    fetched: RefCell<BTreeMap<String, Entry>>,
    /// What it is to have, by key.
    to_give: RefCell<BTreeMap<String, Entry>>,
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
        let least_share = format!("{:?}", self.settings.least_share);
        let circumstances = [
            ("sources", SOURCES),
            ("z3", self.z3),
            ("compiler", self.compiler),
            ("kernel", self.kernel),
            ("file", self.file),
            ("tier", self.settings.tier.name()),
            ("targets", &targets),
            ("least_share", &least_share),
        ];
        Key::new(&self.hashes.here, &circumstances)
    }

    /// Whether this is an answer, by the same rule by which one in `.tensorize/` is.
    fn is_answered_by(&self, record: &Record) -> bool {
        record.name == self.kernel
            && record.file == self.file
            && stored::is_current(record, self.hashes, self.z3, self.settings)
    }

    /// A target of another crate may make other code tomorrow, and nobody would know.
    fn is_for_our_targets(&self) -> bool {
        let mut targets = self.settings.targets.iter();
        !targets.any(|t| backends::is_registered(t))
    }
}

impl Shared {
    /// The user's. One that can't be used is told of.
    pub fn open(out: &Output) -> Shared {
        let cache = Cache::of_user().unwrap_or_else(|why| {
            let message = format!("the shared cache is not used: {why}");
            out.diagnostic(&Diagnostic::warning("TZ0708", message));
            None
        });
        let remote = Remote::of_user().unwrap_or_else(|why| {
            out.diagnostic(&remote_warning(&why));
            None
        });
        Shared {
            cache,
            remote: RefCell::new(remote),
            ..Shared::none()
        }
    }

    /// One with nothing in it, that keeps nothing.
    pub fn none() -> Shared {
        Shared {
            cache: None,
            has_new: Cell::new(false),
            failed: RefCell::new(None),
            remote: RefCell::new(None),
            fetched: RefCell::default(),
            to_give: RefCell::default(),
        }
    }

    /// Asks the remote cache, all at once, for what the one on this machine has not.
    pub fn fetch<'a>(&self, questions: impl Iterator<Item = Question<'a>>, out: &Output) {
        let Some(remote) = self.remote.borrow().clone() else {
            return;
        };
        let ours = questions.filter(Question::is_for_our_targets);
        let unknown = ours.filter(|q| self.find_here(q).is_none());
        let keys: Vec<String> = unknown.map(|q| q.key().to_string()).collect();
        if keys.is_empty() {
            return;
        }
        let shown = Progress::waiting(format!(
            "asking the remote cache for {}",
            counted(keys.len(), "result")
        ));
        let answer = remote.get(&keys);
        drop(shown);
        match answer {
            Err(why) => self.without_remote(&why, out),
            Ok(answer) => {
                self.fetched.borrow_mut().extend(answer.entries);
                if let [(key, why), rest @ ..] = &answer.refused[..] {
                    let more = match rest.len() {
                        0 => String::new(),
                        n => format!(", and {n} more"),
                    };
                    let message =
                        format!("an entry of the remote cache is not used: {key}: {why}{more}");
                    out.diagnostic(&Diagnostic::warning("TZ0709", message));
                }
                if let Some(why) = answer.failed {
                    self.without_remote(&why, out);
                }
            }
        }
    }

    /// Whoever is offline waits once, and is told once.
    fn without_remote(&self, why: &str, out: &Output) {
        *self.remote.borrow_mut() = None;
        out.diagnostic(&remote_warning(why));
    }

    /// What another checkout has found out, or, after [`Shared::fetch`], somebody else.
    pub fn find(&self, question: &Question) -> Option<Entry> {
        if !question.is_for_our_targets() {
            return None;
        }
        self.find_here(question).or_else(|| {
            let key = question.key().to_string();
            let entry = self.fetched.borrow_mut().remove(&key)?;
            let fits = question.is_answered_by(&entry.record);
            let entry = fits.then_some(entry)?;
            self.keep_here(question, &entry.record, &entry.sources);
            Some(entry)
        })
    }

    fn find_here(&self, question: &Question) -> Option<Entry> {
        let cache = self.cache.as_ref()?;
        let entry = cache.find(&question.key(), question.kernel)?;
        question.is_answered_by(&entry.record).then_some(entry)
    }

    /// Gives others what was found out here, if it is final.
    pub fn keep(&self, question: &Question, record: &Record, sources: &BTreeMap<String, String>) {
        if !question.is_for_our_targets() || !question.is_answered_by(record) {
            return;
        }
        self.keep_here(question, record, sources);
        if self.remote.borrow().as_ref().is_some_and(|r| r.writes) {
            let (record, sources) = (record.clone(), sources.clone());
            let key = question.key().to_string();
            let entry = Entry { record, sources };
            self.to_give.borrow_mut().insert(key, entry);
        }
    }

    fn keep_here(&self, question: &Question, record: &Record, sources: &BTreeMap<String, String>) {
        let Some(cache) = &self.cache else { return };
        // After a first failure the others would fail, too.
        if self.failed.borrow().is_some() {
            return;
        }
        match cache.keep(&question.key(), record, sources) {
            Ok(()) => self.has_new.set(true),
            Err(e) => *self.failed.borrow_mut() = Some(e),
        }
    }

    /// Makes room if something was added, and tells what went wrong.
    pub fn finish(&self, out: &Output) {
        let given = self.to_give.take();
        let remote = self.remote.borrow().clone();
        if let Some(remote) = remote.filter(|_| !given.is_empty())
            && let Err(why) = shared(&remote, &given)
        {
            self.without_remote(&why, out);
        }
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

/// Gives them to others.
fn shared(remote: &Remote, given: &BTreeMap<String, Entry>) -> Result<(), String> {
    let count = counted(given.len(), "result");
    let _shown = Progress::waiting(format!("giving {count} to the remote cache"));
    remote.put(given)
}

fn remote_warning(why: &str) -> Diagnostic {
    let message = format!("the remote cache is not used: {why}");
    let help =
        "results are found out and stored as always; without TENSORIZE_REMOTE nobody is asked";
    Diagnostic::warning("TZ0709", message).help(help)
}
