//! Names for generated variables: readable, and different from everything else in sight.

use std::collections::BTreeSet;

/// The names in use.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    used: BTreeSet<String>,
}

impl Names {
    /// With these taken from the start.
    pub(crate) fn new<S: Into<String>>(reserved: impl IntoIterator<Item = S>) -> Names {
        Names {
            used: reserved.into_iter().map(Into::into).collect(),
        }
    }

    /// Takes a name that cannot change, such as a parameter's.
    pub(crate) fn reserve(&mut self, name: &str) {
        self.used.insert(name.to_string());
    }

    /// A name like `stem` that nobody has, made of what C and Python allow in one.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        let stem: String = stem
            .split('\'')
            .next()
            .unwrap_or_default()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '_' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        let stem = match stem.chars().next() {
            None => "v".to_string(),
            Some(c) if c.is_ascii_digit() => format!("v{stem}"),
            Some(_) => stem,
        };
        let mut name = stem.clone();
        let mut n = 1;
        while !self.used.insert(name.clone()) {
            n += 1;
            name = format!("{stem}{n}");
            if stem.ends_with(|c: char| c.is_ascii_digit()) {
                name = format!("{stem}_{n}");
            }
        }
        name
    }

    /// The same for a variable in C, which must not be called as a function of `<math.h>` is, or as what printed code has for
    /// itself (`own`).
    pub(crate) fn fresh_in_c(&mut self, stem: &str, own: impl Fn(&str) -> bool) -> String {
        let name = self.fresh(stem);
        match is_math_name(&name) || own(&name) {
            // What code has for itself often begins alike, and nothing of it like this.
            true => self.fresh(&format!("the_{name}")),
            false => name,
        }
    }
}

/// Words that a C variable must not be called: keywords, and what the printed code uses itself.
pub(crate) const C_WORDS: &[&str] = &[
    "asm", "auto", "break", "case", "char", "const", "continue", "default", "do", "double", "else",
    "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "main", "register",
    "restrict", "return", "short", "signed", "sizeof", "static", "struct", "switch", "typedef",
    "typeof", "union", "unsigned", "void", "volatile", "while", "_Bool", "bool", "true", "false",
    "linux", "unix", "i386", "INFINITY", "NAN", "memcpy", "int8_t", "int16_t", "int32_t",
    "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "begin", "end", "chunk", "chunks",
    "part",
];

/// Words of C++, besides those of C.
pub(crate) const CPP_WORDS: &[&str] = &[
    "alignas",
    "alignof",
    "and",
    "and_eq",
    "bitand",
    "bitor",
    "catch",
    "char16_t",
    "char32_t",
    "char8_t",
    "class",
    "co_await",
    "co_return",
    "co_yield",
    "compl",
    "concept",
    "const_cast",
    "consteval",
    "constexpr",
    "constinit",
    "decltype",
    "delete",
    "dynamic_cast",
    "explicit",
    "export",
    "friend",
    "mutable",
    "namespace",
    "new",
    "noexcept",
    "not",
    "not_eq",
    "nullptr",
    "operator",
    "or",
    "or_eq",
    "private",
    "protected",
    "public",
    "reinterpret_cast",
    "requires",
    "static_assert",
    "static_cast",
    "template",
    "this",
    "thread_local",
    "throw",
    "try",
    "typeid",
    "typename",
    "using",
    "virtual",
    "wchar_t",
    "xor",
    "xor_eq",
];

/// Whether the name is that of a function of `<math.h>` that printed code may call.
fn is_math_name(name: &str) -> bool {
    const MATH: &[&str] = &[
        "fabs",
        "sqrt",
        "cbrt",
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "erf",
        "erfc",
        "floor",
        "ceil",
        "trunc",
        "round",
        "rint",
        "nearbyint",
        "fmod",
        "fmax",
        "fmin",
        "pow",
        "atan2",
    ];
    MATH.contains(&name) || name.strip_suffix('f').is_some_and(|n| MATH.contains(&n))
}
