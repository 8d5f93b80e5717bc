//! Which kernels mean the same where plain `char` and `wchar_t` have the other signs, so that what is proven of them here
//! holds for a build for such a machine: from x86-64 for AArch64, and the other way round.
//!
//! They are read once more, under the other signs, and what the front end makes of them is compared. That sees through
//! every typedef and header, which a look at the text would not.

use super::find::Found;
use crate::pipeline;
use crate::source::Source;
use std::num::NonZeroUsize;
use tensorize_lift::c::{Parsed, float_semantics};

/// Notes it of each of these, which stand file by file.
pub(super) fn mark(found: &mut [Found], threads: NonZeroUsize) {
    let mut files: Vec<&mut [Found]> = found
        .chunk_by_mut(|a, b| a.job.source == b.job.source)
        .collect();
    let sources = files.iter().map(|file| under_other_signs(&file[0]));
    let read = pipeline::parse(sources.collect(), threads);
    for (file, (_, jobs)) in files.iter_mut().zip(read) {
        let jobs = jobs.unwrap_or_default();
        for f in file.iter_mut() {
            let other = jobs.iter().find(|j| j.parsed.name == f.name());
            f.either_sign &= other.is_some_and(|other| is_same(&f.job.parsed, &other.parsed))
                && rounds_alike_everywhere(&f.job.source);
        }
    }
}

fn under_other_signs(found: &Found) -> Source {
    let mut source = found.job.source.clone();
    let flags = found.signs.others().flags();
    source.settings.flags.extend(flags.map(str::to_owned));
    source
}

fn is_same(a: &Parsed, b: &Parsed) -> bool {
    match (&a.lowered, &b.lowered) {
        (Ok(one), Ok(other)) => one == other && a.signature == b.signature,
        // What is refused is refused there, too, or proven there and nowhere used.
        _ => false,
    }
}

/// The flags let no compiler fuse what others round twice, whether its machine can or not.
fn rounds_alike_everywhere(source: &Source) -> bool {
    let args = source.front_end_args();
    let of = |target| float_semantics(&args, target);
    of("x86_64") == of("aarch64")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_flag_that_has_only_some_machines_round_otherwise_is_told() {
        let under = |flags: &[&str]| {
            let flags: Vec<String> = flags.iter().map(|f| f.to_string()).collect();
            rounds_alike_everywhere(&Source::alone(Path::new("k.c"), &flags))
        };
        assert!(under(&[]) && under(&["-O3"]));
        assert!(under(&["-ffp-contract=fast"]));
        assert!(!under(&["-mfpmath=387"]));
    }
}
