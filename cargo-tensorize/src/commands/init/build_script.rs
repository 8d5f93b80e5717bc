//! A build script that is there: what of it is ours, and what can be made ours.

use super::builders::{self, Builder};
use super::counterpart::Counterpart;
use super::crates::{Crates, Whose};
use super::parsed::Parsed;
use std::fmt::Write;
use std::ops::Range;
use syn::spanned::Spanned;

/// A library that the script makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    /// Its name, if it is written down.
    pub(super) name: Option<String>,
    /// Whether each run of the script makes it.
    pub(super) always: bool,
}

/// A build script that is there.
pub(super) struct Script {
    /// What stands before the text, see [`Parsed`].
    prefix: String,
    text: String,
    crates: Crates,
    builders: Vec<Builder>,
}

impl Script {
    /// Reads it; an `Err` is one that is no Rust.
    pub(super) fn read(text: &str) -> Result<Script, String> {
        let Parsed { prefix, text, file } = Parsed::of(text)?;
        let crates = Crates::of(&file);
        Ok(Script {
            prefix: prefix.to_owned(),
            text: text.to_owned(),
            builders: builders::find(text, &file, &crates),
            crates,
        })
    }

    /// Whether it calls us already.
    pub(super) fn uses_us(&self) -> bool {
        self.crates.has_ours
    }

    /// Whether it has to do with `cc`.
    pub(super) fn mentions_cc(&self) -> bool {
        self.crates.has_cc
    }

    /// What it has `tensorize_build` compile.
    pub(super) fn ours(&self) -> Vec<Made> {
        made(self.builders.iter().filter(|b| b.whose == Whose::Ours))
    }

    /// The builders of `cc` that compile something.
    pub(super) fn of_cc(&self) -> impl Iterator<Item = &Builder> {
        let all = self.builders.iter().filter(|b| b.whose == Whose::Cc);
        all.filter(|b| b.compiles().next().is_some())
    }

    /// Those that only others know what becomes of: of functions that set one up.
    pub(super) fn set_up_elsewhere(&self) -> impl Iterator<Item = &Builder> {
        let all = self.builders.iter().filter(|b| b.whose == Whose::Cc);
        all.filter(|b| b.compiles().next().is_none() && !b.calls.is_empty() && !b.is_copied)
    }

    /// With ours in the place of each call of `cc`, and the libraries that these make; `None` if there is none, or one that we
    /// can't take over.
    pub(super) fn rewritten(&self) -> Option<(String, Vec<Made>)> {
        let chains: Vec<(Range<usize>, &Builder)> = self
            .of_cc()
            .filter_map(|b| Some((b.chain.clone()?, b)))
            .collect();
        let mut text = self.text.clone();
        // From the end, so that places before stay where they are.
        for (range, builder) in chains.iter().rev() {
            let before = self.text.get(..range.start)?;
            text.get(range.clone())?;
            let line = before.rsplit('\n').next().unwrap_or_default();
            let indent = line.len() - line.trim_start().len();
            text.replace_range(range.clone(), &translated(builder, indent)?);
        }
        (!chains.is_empty()).then(|| {
            (
                self.prefix.clone() + &text,
                made(chains.iter().map(|(_, b)| *b)),
            )
        })
    }

    /// Why it can't be rewritten.
    pub(super) fn why_not(&self) -> String {
        let chained = self.of_cc().filter(|b| b.chain.is_some());
        let mut calls = chained.flat_map(|b| &b.calls);
        match calls.find(|c| Counterpart::of(c) == Counterpart::Lacking) {
            Some(call) if call.method.is_empty() => {
                let words: Vec<&str> = call.arguments.split_whitespace().collect();
                format!("hands a `cc::Build` on (`{}`)", words.join(" "))
            }
            Some(call) => format!(
                "calls `{}` of `cc::Build`, which has no counterpart",
                call.method
            ),
            None if self.mentions_cc() => "calls `cc` in a way that init does not rewrite".into(),
            None => "does not call `cc::Build`".into(),
        }
    }
}

/// The libraries that builders make, each once.
pub(super) fn made<'a>(builders: impl Iterator<Item = &'a Builder>) -> Vec<Made> {
    let mut all: Vec<Made> = Vec::new();
    for call in builders.flat_map(Builder::compiles) {
        let new = Made {
            name: call.literal.clone(),
            always: call.is_unconditional(),
        };
        match all.iter_mut().find(|m| m.name == new.name) {
            // Of several in branches of a condition nobody knows here whether one is always taken.
            Some(known) => known.always |= new.always,
            None => all.push(new),
        }
    }
    all
}

/// A chain with `tensorize_build`; `None` if that lacks one of its methods.
fn translated(builder: &Builder, indent: usize) -> Option<String> {
    let mut text = "tensorize_build::Build::new()".to_owned();
    for call in &builder.calls {
        match Counterpart::of(call) {
            Counterpart::Is(line) => {
                let _ = write!(text, "\n{:1$}.{line}", "", indent + 4);
            }
            Counterpart::NotNeeded(_) => {}
            Counterpart::Lacking => return None,
        }
    }
    let _ = write!(text, "\n{:1$}.unwrap()", "", indent + 4);
    Some(text)
}

/// Where the first item of a file begins; its end if there is none. `None` if it is no Rust.
pub(super) fn before_first_item(text: &str) -> Option<usize> {
    let parsed = Parsed::of(text).ok()?;
    let at = match parsed.file.items.first() {
        Some(item) => parsed.prefix.len() + item.span().byte_range().start,
        None => text.len(),
    };
    text.is_char_boundary(at).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_rewritten_and_the_rest_stays() {
        let text = "fn main() {\n    // kept\n    cc::Build::new().file(\"a.c\") .include(dir())\n        \
                    .define(\"N\", Some(\"3\")).std(\"c11\").warnings(false).compile(\"fast\");\n    println!(\"x\");\n}\n";
        let script = Script::read(text).unwrap();
        let expected = "fn main() {\n    // kept\n    tensorize_build::Build::new()\n        .file(\"a.c\")\n        \
                        .include(dir())\n        .define(\"N\", Some(\"3\"))\n        .flag(\"-std=c11\")\n        \
                        .compile(\"fast\")\n        .unwrap();\n    println!(\"x\");\n}\n";
        let fast = Made {
            name: Some("fast".into()),
            always: true,
        };
        assert_eq!(script.rewritten().unwrap(), (expected.into(), vec![fast]));
    }

    #[test]
    fn a_comment_decides_nothing() {
        let text = "// Not tensorize_build::Build yet.\nuse cc::Build;\nfn main() { Build::new().compile(\"x\"); }";
        let script = Script::read(text).unwrap();
        assert!(!script.uses_us() && script.rewritten().is_some());
        let text = "use tensorize_build::Build;\n// No cc::Build any more.\nfn b() -> Build { Build::new() }\nfn main() { b().compile(\"x\"); }";
        let script = Script::read(text).unwrap();
        assert!(script.uses_us() && !script.mentions_cc());
        let x = Some("x".to_owned());
        assert_eq!(
            script
                .ours()
                .into_iter()
                .map(|m| m.name)
                .collect::<Vec<_>>(),
            [x]
        );
    }

    #[test]
    fn what_stands_before_the_text_stays() {
        let calls = |builder: &str, end: &str| {
            format!("fn main() {{ {builder}::Build::new().compile(\"é\"){end}; }}")
        };
        for prefix in [
            "\u{feff}",
            "#!/usr/bin/env rust\n",
            "\u{feff}#!/bin/x é\r\n",
        ] {
            let script = Script::read(&format!("{prefix}{}", calls("cc", ""))).unwrap();
            let (new, _) = script.rewritten().unwrap();
            let plain = new.replace("\n    .", ".").replace(' ', "");
            assert!(new.starts_with(prefix), "{new:?}");
            assert!(
                plain.ends_with(&calls("tensorize_build", ".unwrap()").replace(' ', "")),
                "{new:?}"
            );
            let text = format!("{prefix}//! é\nfn f() {{}}");
            let at = before_first_item(&text).unwrap();
            assert_eq!(&text[at..], "fn f() {}");
        }
    }

    #[test]
    fn what_our_builder_can_say_in_the_same_words_is_taken_over() {
        let calls = ".flag_if_supported(\"-Wno-x\").pic(true).includes(DIRS).flags([\"-O3\"])";
        let text = format!("fn main() {{ cc::Build::new(){calls}.compile(\"x\"); }}");
        let (new, _) = Script::read(&text).unwrap().rewritten().unwrap();
        let joined: String = new.split("\n    ").collect();
        assert!(joined.contains(calls), "{new}");
    }

    #[test]
    fn what_we_lack_is_not_rewritten_but_named() {
        let lacking =
            "fn main() { cc::Build::new().file(\"a.c\").shared_flag(true).compile(\"x\"); }";
        let script = Script::read(lacking).unwrap();
        assert_eq!(script.rewritten(), None);
        assert!(
            script.why_not().contains("`shared_flag`"),
            "{}",
            script.why_not()
        );
        let by_name =
            "fn main() { let mut b = cc::Build::new(); b.file(\"a.c\"); b.compile(\"x\"); }";
        let script = Script::read(by_name).unwrap();
        assert_eq!(script.rewritten(), None);
        assert!(script.why_not().contains("does not rewrite"));
        assert!(Script::read("fn main( {").is_err());
    }

    #[test]
    fn what_is_not_made_by_each_run_is_known_as_that() {
        let always = |text: &str| {
            let script = Script::read(&format!("fn main() {{ {text} }}")).unwrap();
            let (_, made) = script.rewritten().unwrap();
            made.iter().map(|m| m.always).collect::<Vec<_>>()
        };
        let chain = |name: &str| format!("cc::Build::new().file(\"a.c\").compile(\"{name}\");");
        let (a, b) = (chain("a"), chain("b"));
        assert_eq!(always(&format!("{a} if cfg!(x) {{ {b} }}")), [true, false]);
        assert_eq!(
            always(&format!("{a} if docs() {{ return; }} {b}")),
            [true, false]
        );
        assert_eq!(always(&format!("#[cfg(feature = \"f\")] {a}")), [false]);
        assert_eq!(always(&format!("#[cfg(x)] {{ {a} }} {b}")), [false, true]);
        for ends in [
            "let Some(x) = y() else { return; };",
            "let Some(x) = y() else { std::process::exit(0) };",
            "if docs() { std::process::exit(0); }",
            "if docs() { exit(0); }",
        ] {
            assert_eq!(always(&format!("{a} {ends} {b}")), [true, false], "{ends}");
        }
        // Else the build fails.
        assert_eq!(
            always(&format!("let Some(x) = y() else {{ panic!() }}; {a}")),
            [true]
        );
        assert_eq!(always(&format!("}} fn other() {{ {a}")), [false]);
        assert_eq!(
            always(&format!("}} impl S {{ fn main() {{ {a} }}")),
            [false]
        );
    }

    #[test]
    fn a_module_goes_after_what_is_about_the_file() {
        let text = "//! About.\n#![allow(x)]\n\n/// One.\nfn f() {}\n";
        let at = before_first_item(text).unwrap();
        assert_eq!(&text[at..], "/// One.\nfn f() {}\n");
        assert_eq!(before_first_item("//! Only.\n"), Some(10));
    }
}
