//! What names of the C library's types mean here, as far as systems differ about it: `uint_fast32_t` has 64 bits with
//! glibc and 32 with musl, where all else that a hash covers is the same.

use std::collections::{BTreeMap, HashMap};

/// The library's own `typedef`s of numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct SystemTypes {
    /// The words before each name.
    by_name: HashMap<String, Vec<String>>,
    /// A declaration that has not ended yet.
    open: Option<String>,
}

/// No chain of names is longer.
const LONGEST: usize = 16;

impl SystemTypes {
    /// Takes in a line of one of the library's headers.
    pub(super) fn line(&mut self, line: &str) {
        let mut rest = line;
        while let Some(start) = match self.open {
            Some(_) => Some(0),
            None => rest.find("typedef"),
        } {
            let (declaration, after) = match rest[start..].split_once(';') {
                Some((declaration, after)) => (declaration, Some(after)),
                None => (&rest[start..], None),
            };
            let so_far = self.open.take().unwrap_or_default() + " " + declaration;
            let Some(after) = after else {
                self.open = Some(so_far);
                return;
            };
            self.declared(&so_far);
            rest = after;
        }
    }

    /// Notes a plain declaration, of a name for what other names say.
    fn declared(&mut self, declaration: &str) {
        let mut words: Vec<String> = declaration.split_whitespace().map(str::to_owned).collect();
        let is_name = |w: &String| w.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if !words.iter().all(is_name) || words.first().is_none_or(|w| w != "typedef") {
            return;
        }
        if let Some(name) = words.pop() {
            words.remove(0);
            self.by_name.insert(name, words);
        }
    }

    /// What those of the names mean on which systems of one data model disagree, in order.
    pub(super) fn of<'a>(
        &self,
        names: impl Iterator<Item = &'a str>,
        predefined: &HashMap<String, String>,
    ) -> BTreeMap<&'a str, String> {
        let open = names.filter(|name| self.by_name.contains_key(*name) && !follows(name));
        let known = open.filter_map(|name| {
            let words = vec![name.to_owned()];
            Some((name, self.meaning(words, predefined, LONGEST)?))
        });
        known.collect()
    }

    /// Kind and size of a number; `None` if it is none.
    fn meaning(
        &self,
        words: Vec<String>,
        predefined: &HashMap<String, String>,
        depth: usize,
    ) -> Option<String> {
        let size = |of: &str| predefined.get(&format!("__SIZEOF_{of}__")).cloned();
        let (mut kind, mut longs, mut base) = ("i", 0, None);
        for word in &words {
            match word.as_str() {
                "const" | "volatile" | "__extension__" => {}
                "signed" | "__signed__" | "__signed" => {}
                "unsigned" => kind = "u",
                "long" => longs += 1,
                "int" | "short" | "char" | "float" | "double"
                    if base.is_none() || word == "int" =>
                {
                    base = base.or(Some(word.as_str()));
                }
                "short" => base = Some("short"),
                name => {
                    let words = self.by_name.get(name)?.clone();
                    return self.meaning(words, predefined, depth.checked_sub(1)?);
                }
            }
        }
        let size = match (base, longs) {
            (Some("float"), 0) => return Some("f4".into()),
            (Some("double"), 0) => return Some("f8".into()),
            (Some("char"), 0) => Some("1".into()),
            (Some("short"), 0) => size("SHORT"),
            (Some("int") | None, 0) => size("INT"),
            (Some("int") | None, 1) => size("LONG"),
            (Some("int") | None, 2) => size("LONG_LONG"),
            _ => None,
        };
        size.map(|size| format!("{kind}{size}"))
    }
}

/// Whether the sizes of C's own types say what it is, or it is part of every hash.
fn follows(name: &str) -> bool {
    let whole = ["size_t", "ssize_t", "ptrdiff_t", "wchar_t", "bool"];
    let number = name.trim_start_matches('u').strip_prefix("int");
    let width = number.and_then(|n| n.strip_suffix("_t"));
    whole.contains(&name)
        || width.is_some_and(|w| {
            let w = w.strip_prefix("_least").unwrap_or(w);
            ["8", "16", "32", "64", "max", "ptr"].contains(&w)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(long: &str) -> HashMap<String, String> {
        let sizes = [
            ("SHORT", "2"),
            ("INT", "4"),
            ("LONG", long),
            ("LONG_LONG", "8"),
        ];
        let named = sizes.map(|(name, size)| (format!("__SIZEOF_{name}__"), size.to_owned()));
        named.into()
    }

    fn meaning(header: &str, name: &str, long: &str) -> Option<String> {
        let mut types = SystemTypes::default();
        header.lines().for_each(|l| types.line(l));
        types.of([name].into_iter(), &model(long)).remove(name)
    }

    #[test]
    fn libraries_are_told_apart_by_the_types_on_which_they_disagree() {
        let glibc = "typedef unsigned long int uint_fast32_t; typedef long int\n time_t;";
        let musl = "typedef unsigned _u32; typedef _u32 uint_fast32_t;\ntypedef long long time_t;";
        let of = |header, name| meaning(header, name, "8");
        assert_eq!(of(glibc, "uint_fast32_t"), Some("u8".into()));
        assert_eq!(of(musl, "uint_fast32_t"), Some("u4".into()));
        // They agree where a `long` has 64 bits, and else they don't.
        assert_eq!(of(glibc, "time_t"), of(musl, "time_t"));
        assert_ne!(meaning(glibc, "time_t", "4"), meaning(musl, "time_t", "4"));
    }

    #[test]
    fn what_follows_from_the_sizes_or_is_no_number_says_nothing() {
        let header = "typedef unsigned char __u_char;\ntypedef __u_char uint8_t;\n\
            typedef struct file FILE; typedef int (*compare)(int); typedef here there; typedef there here;\n\
            typedef float float_t; typedef signed char small;";
        for name in ["uint8_t", "FILE", "compare", "here", "nobody"] {
            assert_eq!(meaning(header, name, "8"), None, "{name}");
        }
        assert_eq!(meaning(header, "float_t", "8"), Some("f4".into()));
        assert_eq!(meaning(header, "small", "8"), Some("i1".into()));
    }
}
