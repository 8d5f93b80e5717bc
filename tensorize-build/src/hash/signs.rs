//! Whether characters can be negative, which ABIs that are otherwise the same disagree about.

use std::collections::HashMap;

/// Whether plain `char` and `wchar_t` can be negative. The ABIs of x86-64 and AArch64 under Linux differ in nothing else
/// that C says of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// `char` is unsigned.
    pub unsigned_char: bool,
    /// `wchar_t` is.
    pub unsigned_wchar: bool,
}

impl Signs {
    /// As the compiler's own macros tell it.
    pub(super) fn of(predefined: &HashMap<String, String>) -> Signs {
        let wchar = predefined.get("__WCHAR_TYPE__");
        Signs {
            unsigned_char: predefined.contains_key("__CHAR_UNSIGNED__"),
            unsigned_wchar: wchar.is_some_and(|w| w.contains("unsigned")),
        }
    }

    /// Both the other way round.
    pub fn others(self) -> Signs {
        Signs {
            unsigned_char: !self.unsigned_char,
            unsigned_wchar: !self.unsigned_wchar,
        }
    }

    /// What a compiler of C has to be told to have these.
    pub fn flags(self) -> [&'static str; 3] {
        let name = |unsigned, yes, no| if unsigned { yes } else { no };
        [
            name(self.unsigned_char, "-funsigned-char", "-fsigned-char"),
            "-U__WCHAR_TYPE__",
            name(
                self.unsigned_wchar,
                "-D__WCHAR_TYPE__=unsigned",
                "-D__WCHAR_TYPE__=int",
            ),
        ]
    }

    /// As a part of a hash.
    pub(super) fn text(self) -> String {
        let sign = |unsigned| if unsigned { "unsigned" } else { "signed" };
        format!("{} {}", sign(self.unsigned_char), sign(self.unsigned_wchar))
    }
}
