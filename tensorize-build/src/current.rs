//! Which kernels a file has, and whether what is stored is about the file as it is now. A build and
//! `cargo tensorize check --locked` ask the same questions here, so that a green check means a build that misses nothing.

use crate::adaptor::language_of;
use crate::config::Metadata;
use crate::hash::{Hashes, Preprocessed};
use crate::prototype;
pub use crate::prototype::{marked_but_gone, marked_in_vain};
use crate::record::Record;
use std::collections::BTreeSet;
use std::path::Path;
use tensorize_ir::signature::Language;

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
    let Some(prototype) = &record.prototype else {
        // Of what was refused early, the kernel's name is all that is known.
        let of_class = record.name.strip_suffix(name);
        return language_of(Path::new(&record.file)) == Language::Cpp
            && of_class.is_some_and(|class| class.ends_with('_'));
    };
    let call = prototype.source.as_ref().map_or("", |s| s.call.as_str());
    if name.starts_with("operator") && !crate::record::is_c_name(name) {
        return call
            .strip_suffix(name)
            .is_some_and(|scope| scope.is_empty() || scope.ends_with("::"));
    }
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
    fn methods_and_overloads_are_called_otherwise_than_their_kernels() {
        let mut method = Record::new("W_scale", "k.cpp", 1, "-", Status::Proven);
        assert!(is_called(&method, "scale") && !is_called(&method, "cale"));
        let in_c = Record::new("W_scale", "k.c", 1, "-", Status::Proven);
        assert!(!is_called(&in_c, "scale"));
        for (call, name) in [
            ("shapes::W::scale", "scale"),
            ("mul<std::vector<float>>", "mul"),
            ("M<float>::add<int>", "add"),
            ("W::operator<", "operator<"),
            ("W::operator>", "operator>"),
            ("operator*=", "operator*="),
        ] {
            let text = format!(
                "is_static = false\n[source]\nlanguage = \"cpp\"\ncall = \"{call}\"\nsymbol = \"s\"\nreturns = \"void\"\n"
            );
            method.prototype = Some(toml::from_str(&text).expect("a prototype"));
            assert!(is_called(&method, name), "{call}");
            assert!(!is_called(&method, "other"), "{call}");
        }
    }

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
