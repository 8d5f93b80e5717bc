//! Which kernels a file has, and whether what is stored is about the file as it is now. A build and
//! `cargo tensorize check --locked` ask the same questions here, so that a green check means a build that misses nothing.

use crate::config::Metadata;
use crate::hash::{Hashes, Preprocessed};
use crate::prototype;
pub use crate::prototype::{marked_but_gone, marked_in_vain};
use crate::record::Record;
use std::collections::BTreeSet;

/// The names of the kernels that a file (relative to the manifest) has, as far as that can be told without a parser:
/// those that are annotated, and those that the manifest names.
pub fn wanted(metadata: &Metadata, file: &str, seen: &Preprocessed) -> BTreeSet<String> {
    let annotated = prototype::annotated(&seen.text).into_iter();
    annotated
        .chain(metadata.kernels_of(file).map(String::from))
        .collect()
}

/// The same by the names of the results that there are: a method or an overload is called otherwise in the text than its
/// kernel is (`scale`, and `Image_scale`).
pub fn wanted_of<'r>(
    metadata: &Metadata,
    file: &str,
    seen: &Preprocessed,
    records: impl Iterator<Item = &'r Record> + Clone,
) -> BTreeSet<String> {
    let own = records.filter(|r| r.file == file);
    let mut names = BTreeSet::new();
    for name in wanted(metadata, file, seen) {
        let of_that_name = own.clone().any(|r| r.name == name);
        let mut called = own.clone().filter(|r| is_called(r, &name)).peekable();
        match called.peek() {
            Some(_) if !of_that_name => names.extend(called.map(|r| r.name.clone())),
            _ => _ = names.insert(name),
        }
    }
    names
}

/// Whether the source calls a kernel's function so, without the scopes around it and a template's arguments.
fn is_called(record: &Record, name: &str) -> bool {
    let prototype = record.prototype.as_ref();
    let source = prototype.and_then(|p| p.source.as_ref());
    let call = source.map_or("", |s| s.call.as_str());
    let mut depth = 0usize;
    let scope = call.char_indices().rev().find(|(_, c)| {
        match c {
            '>' => depth += 1,
            '<' => depth = depth.saturating_sub(1),
            _ => {}
        }
        *c == ':' && depth == 0
    });
    let own = &call[scope.map_or(0, |(at, _)| at + 1)..];
    own.split('<').next() == Some(name)
}

/// Whether the record is about this kernel of this file, as the file is now.
pub fn is_current(record: &Record, file: &str, seen: &Preprocessed, name: &str) -> bool {
    record.name == name && record.file == file && is_about(record, &seen.hashes_of(name))
}

/// Whether the record is about a kernel with these hashes.
pub fn is_about(record: &Record, kernel: &Hashes) -> bool {
    record.hash == kernel.here || record.either_sign && record.hash == kernel.under_other_signs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Status;

    #[test]
    fn a_hash_under_other_signs_counts_where_the_kernel_is_the_same_there() {
        let mut record = Record::new("f", "k.c", 1, "elsewhere", Status::Proven);
        let hashes = Hashes {
            here: "here".into(),
            under_other_signs: "elsewhere".into(),
        };
        assert!(!is_about(&record, &hashes));
        record.either_sign = true;
        assert!(is_about(&record, &hashes));
        record.hash = "here".into();
        record.either_sign = false;
        assert!(is_about(&record, &hashes));
        record.hash = "older".into();
        assert!(!is_about(&record, &hashes));
    }
}
