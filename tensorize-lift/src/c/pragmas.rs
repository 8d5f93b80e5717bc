//! Flags that a file gives itself: `#pragma GCC optimize("fast-math")`, `__attribute__((optimize("wrapv")))`,
//! `#pragma STDC FP_CONTRACT ON` and what clang has like them.
//!
//! libclang shows none of them, so the text is searched, that of the project's headers included. One that is found counts
//! for the whole file. Those that stand in headers of the machine are not seen.

use super::flags;
use tensorize_ir::loopir::Overflow;

/// Whether the compiler may round somewhere in the file otherwise than under its flags alone.
pub(super) fn round_otherwise(text: &str, args: &[String]) -> bool {
    let own = own_flags(text);
    let mut all = args.to_vec();
    all.extend(own.iter().cloned());
    let semantics = flags::float_semantics(&all, "");
    !own.is_empty() && (semantics.contract || semantics.fast_math)
}

/// What signed overflow means everywhere in the file: with `-fwrapv` for one function, it wraps in all.
pub(super) fn overflow(text: &str, under_flags: Overflow) -> Overflow {
    match flags::overflow(&own_flags(text)) {
        Overflow::Wraps => Overflow::Wraps,
        Overflow::Undefined => under_flags,
    }
}

/// Whether signed overflow ends the program somewhere in the file.
pub(super) fn traps(text: &str) -> bool {
    own_flags(text).iter().any(|flag| flag == "-ftrapv")
}

/// The flags that pragmas and attributes amount to.
fn own_flags(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("optimize") {
        // `__optimize__` is another spelling.
        let rest = text[at + "optimize".len()..].trim_start_matches('_');
        let Some(arguments) = rest.trim_start().strip_prefix('(') else {
            continue;
        };
        let arguments = arguments.split(')').next().unwrap_or_default();
        let words = arguments.split([',', '"', '\\', ' ']).map(str::trim);
        found.extend(words.filter(|w| !w.is_empty()).map(|word| match word {
            w if w.starts_with('-') => w.to_owned(),
            w if w.starts_with('O') => format!("-{w}"),
            w => format!("-f{w}"),
        }));
    }
    for line in text.lines().filter(|line| line.contains("ragma")) {
        let words: Vec<&str> = line
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|w| !w.is_empty())
            .collect();
        let Some(pragma) = words
            .iter()
            .position(|w| matches!(*w, "pragma" | "_Pragma"))
        else {
            continue;
        };
        match &words[pragma + 1..] {
            ["STDC", "FP_CONTRACT", "ON" | "DEFAULT", ..] => {
                found.push("-ffp-contract=on".to_owned());
            }
            // Rounding towards elsewhere, or with more precision.
            ["STDC", "FENV_ROUND", ..] | ["float_control", ..] | ["fp_contract", ..] => {
                found.push("-ffast-math".to_owned());
            }
            ["clang", "fp", what, value, ..] if *value != "off" => {
                found.push(match *what {
                    "contract" => format!("-ffp-contract={value}"),
                    _ => "-ffast-math".to_owned(),
                });
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_asks_for_counts_like_flags() {
        let free = [
            "__attribute__((optimize(\"fast-math\"))) void f(void);",
            "__attribute__((noinline, __optimize__ (\"O3,fast-math\"))) void f(void);",
            "[[gnu::optimize(\"-Ofast\")]] void f(void);",
            "#pragma GCC optimize (\"unroll-loops\", \"associative-math\")",
            "_Pragma(\"GCC optimize(\\\"fast-math\\\")\")",
            "#pragma clang fp reassociate(on)",
            "#pragma STDC FENV_ROUND FE_UPWARD",
        ];
        for text in free {
            assert!(round_otherwise(text, &[]), "{text}");
        }
        let strict = [
            "",
            "void optimize(int n);\nvoid f(void) { optimize(3); }",
            "__attribute__((optimize(\"O3\", \"unroll-loops\"))) void f(void);",
            "#pragma STDC FP_CONTRACT OFF",
            "#pragma clang fp contract(off)",
        ];
        let off = ["-ffp-contract=off".to_owned()];
        for text in strict {
            assert!(!round_otherwise(text, &off), "{text}");
        }
    }

    #[test]
    fn contraction_is_asked_for_by_pragmas() {
        let args = |args: &[&str]| -> Vec<String> { args.iter().map(|a| a.to_string()).collect() };
        for pragma in [
            "#pragma STDC FP_CONTRACT ON",
            "#pragma clang fp contract(fast)",
        ] {
            assert!(round_otherwise(pragma, &args(&["-ffp-contract=off"])));
        }
    }

    #[test]
    fn overflow_that_wraps_somewhere_wraps_everywhere() {
        let wraps = "__attribute__((optimize(\"wrapv\"))) int f(int x);";
        assert_eq!(overflow(wraps, Overflow::Undefined), Overflow::Wraps);
        let back = "__attribute__((optimize(\"no-wrapv\"))) int f(int x);";
        assert_eq!(overflow(back, Overflow::Wraps), Overflow::Wraps);
        assert_eq!(overflow("", Overflow::Undefined), Overflow::Undefined);
    }

    #[test]
    fn overflow_that_ends_the_program_somewhere_is_seen() {
        assert!(traps("__attribute__((optimize(\"trapv\"))) int f(int x);"));
        assert!(!traps("int trapv(int x);"));
    }
}
