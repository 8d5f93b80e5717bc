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
