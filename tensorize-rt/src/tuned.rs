//! What `cargo tensorize tune` has measured on this machine: a file of the user's cache folder that `TENSORIZE=auto` reads
//! when it first decides.
//!
//! A line is a kernel, the hash of what it was lifted from, a size class (how many bits the number of touched elements has),
//! and pairs of what ran and the nanoseconds of a call: `screen 3f0c… 13 original 5210 cpu 1270 numpy 61000`. Lines of
//! other kernels, and what can't be read, mean nothing. A wrong line makes a program slower, never wrong.

use crate::pace::{CLASSES, Turn};
use std::env;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What stands for the original in a line.
pub const ORIGINAL: &str = "original";

/// Calls that touch fewer elements have the original if nobody has measured.
pub const LEAST: i64 = 64;

/// What was measured of one kernel at one size class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The C name.
    pub kernel: String,
    /// The hash under which its results are stored.
    pub hash: String,
    /// How many bits the number of touched elements has: they are fewer than 2 to this power.
    pub class: usize,
    /// What ran, [`ORIGINAL`] or a target, with the nanoseconds of a call.
    pub took: Vec<(String, u64)>,
}

impl Line {
    /// What took the least, and of equals the first.
    pub fn fastest(&self) -> Option<&str> {
        let best = self.took.iter().min_by_key(|(_, ns)| *ns);
        best.map(|(who, _)| who.as_str())
    }

    /// Reads a line.
    pub fn parse(text: &str) -> Option<Line> {
        let mut words = text.split_whitespace().map(String::from);
        let (kernel, hash) = (words.next()?, words.next()?);
        let class = words.next()?.parse().ok().filter(|c| *c < CLASSES)?;
        let mut took = Vec::new();
        while let Some(who) = words.next() {
            took.push((who, words.next()?.parse().ok()?));
        }
        Some(Line {
            kernel,
            hash,
            class,
            took,
        })
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.kernel, self.hash, self.class)?;
        self.took
            .iter()
            .try_for_each(|(who, ns)| write!(f, " {who} {ns}"))
    }
}

/// The lines of a file that can be read.
pub fn lines(text: &str) -> impl Iterator<Item = Line> {
    text.lines().filter_map(Line::parse)
}

/// This machine's file: `TENSORIZE_TUNED`, else one in the user's cache folder with the processor in its name, since homes
/// are shared between machines.
pub fn path() -> Option<PathBuf> {
    let var = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    var("TENSORIZE_TUNED").or_else(|| {
        let cache = var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")));
        Some(cache?.join("cargo-tensorize/tuned").join(machine()))
    })
}

/// The processor and how many of it there are, as a file name.
fn machine() -> String {
    let known = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = known.lines().find(|l| l.starts_with("model name"));
    let model = model.and_then(|l| l.split_once(':')).map(|(_, m)| m.trim());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = format!("{} {cores}", model.unwrap_or(env::consts::ARCH));
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(plain).collect()
}

/// What the file says of a kernel, read once.
pub(crate) fn of_kernel(name: &str, hash: &str) -> impl Iterator<Item = &'static Line> {
    static KNOWN: OnceLock<Vec<Line>> = OnceLock::new();
    let known = KNOWN.get_or_init(|| {
        let text = path().and_then(|p| std::fs::read_to_string(p).ok());
        lines(&text.unwrap_or_default()).collect()
    });
    let fits = |l: &&Line| l.kernel == name && l.hash == hash;
    known.iter().filter(fits).collect::<Vec<_>>().into_iter()
}

/// A turn for each class, from the lines of one kernel. `turn_of` says what a target's name stands for, `None` if it can't
/// run. Between two classes of one mind there is no other; whatever wins at the largest size wins beyond it; where the
/// original wins at the smallest it wins below.
pub(crate) fn turns<'a>(
    lines: impl Iterator<Item = &'a Line>,
    turn_of: impl Fn(&str) -> Option<Turn>,
) -> [Option<Turn>; CLASSES] {
    let mut turns = [None; CLASSES];
    for line in lines {
        let known = |who: &str| match who {
            ORIGINAL => Some(Turn::Original),
            target => turn_of(target),
        };
        let usable = line.took.iter().filter_map(|(w, ns)| Some((known(w)?, ns)));
        // A later line is a later measurement.
        if let Some((turn, _)) = usable.min_by_key(|(_, ns)| **ns) {
            turns[line.class] = Some(turn);
        }
    }
    let measured: Vec<usize> = (0..CLASSES).filter(|c| turns[*c].is_some()).collect();
    for pair in measured.windows(2) {
        if turns[pair[0]] == turns[pair[1]] {
            let turn = turns[pair[0]];
            turns[pair[0]..pair[1]].fill(turn);
        }
    }
    if let (Some(first), Some(last)) = (measured.first(), measured.last()) {
        if turns[*first] == Some(Turn::Original) {
            turns[..*first].fill(Some(Turn::Original));
        }
        if turns[*last] != Some(Turn::Original) {
            let turn = turns[*last];
            turns[*last..].fill(turn);
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back() {
        let text = "screen 3f0c 13 original 5210 cpu 1270 numpy 61000";
        let line = Line::parse(text).expect("a line");
        assert_eq!(line.to_string(), text);
        assert_eq!(line.fastest(), Some("cpu"));
        for bad in [
            "",
            "screen 3f0c",
            "screen 3f0c 64 cpu 1",
            "screen 3f0c 13 cpu",
            "screen 3f0c 13 cpu x",
        ] {
            assert_eq!(Line::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn from_which_size_on() {
        let text = "f h 8 original 10 cpu 90 numpy 5000\nf h 12 original 100 cpu 20\nf h 12 original 100 cpu 120\n\
                    f h 14 original 400 cpu 200\nf h 18 original 9000 cpu 800 cuda 100\nf h 22 original 900000 cpu 90000 cuda 90";
        let all: Vec<Line> = lines(text).collect();
        let turn_of = |cuda: bool| {
            move |who: &str| match who {
                "cpu" => Some(Turn::Native),
                "cuda" if cuda => Some(Turn::Elsewhere(3)),
                _ => None,
            }
        };
        let found = turns(all.iter(), turn_of(true));
        // The later line of class 12 counts, so that up to there the original wins.
        assert!(found[..=12].iter().all(|t| *t == Some(Turn::Original)));
        assert_eq!(found[13], None);
        assert_eq!(found[14], Some(Turn::Native));
        assert_eq!(found[15], None);
        assert!(found[18..].iter().all(|t| *t == Some(Turn::Elsewhere(3))));
        let without = turns(all.iter(), turn_of(false));
        assert!(without[14..].iter().all(|t| *t == Some(Turn::Native)));
        assert_eq!(turns([].into_iter(), turn_of(true)), [None; CLASSES]);
    }
}
