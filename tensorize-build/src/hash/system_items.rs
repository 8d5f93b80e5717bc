//! What the headers of the machine say of what a kernel uses: the members of a struct, the body of an inline function, a
//! constant. The front end reads all of these, so they are part of the kernel's hash as far as its text mentions them, and
//! an update of a library makes results stale. The rest of such headers differs between machines and means nothing.
//!
//! As in [`super::parts`], this is a lexer's view that counts too much where it can't tell. Three things never count:
//! prototypes, since what has no body means something only under the names of the C library, whose functions the
//! standard tells; what is in `std` or a reserved namespace, for the same reason; and `typedef`s of numbers, whose sizes
//! [`super::system_types`] has.

use super::parts::{closing, declared, names, tokens};
use std::collections::{BTreeSet, HashMap};

/// What headers define, by the names under which it is used.
#[derive(Clone, Debug, Default)]
pub(super) struct SystemItems {
    items: Vec<Item>,
    by_name: HashMap<String, Vec<usize>>,
    /// What is used without a name: operators.
    unnamed: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Item {
    /// `None` of what only leads on to other names.
    text: Option<String>,
    mentions: Vec<String>,
}

/// Types of which nobody reads a member, and which are laid out otherwise by every release of a library.
const OPAQUE: &[&str] = &["FILE", "DIR", "va_list", "locale_t", "mbstate_t"];

impl SystemItems {
    /// Takes the text of headers apart.
    pub(super) fn of(text: &str) -> SystemItems {
        let mut system = SystemItems::default();
        let tokens = tokens(text);
        let mut at = 0;
        while at < tokens.len() {
            let (item, next) = first(&tokens[at..]);
            let begin = at;
            at += next.max(1);
            if let Some(head) = item {
                system.add(&tokens[begin..at], head);
            }
        }
        system
    }

    fn add(&mut self, tokens: &[&str], kind: Kind) {
        let Some(used_as) = names_of(tokens, kind) else {
            return;
        };
        let at = self.items.len();
        let only_leads_on = is_plain_typedef(tokens);
        let text = tokens.join(" ");
        self.items.push(Item {
            mentions: names(&text).map(str::to_owned).collect(),
            text: (!only_leads_on).then_some(text),
        });
        if used_as.is_empty() {
            self.unnamed.push(at);
        }
        for name in used_as {
            self.by_name.entry(name.to_owned()).or_default().push(at);
        }
    }

    /// What counts for a text with these names, in the headers' order; and the names that occur in it.
    pub(super) fn used_by<'a>(
        &'a self,
        names: impl Iterator<Item = &'a str>,
    ) -> (Vec<&'a str>, BTreeSet<&'a str>) {
        let mut used = BTreeSet::new();
        let mut told = BTreeSet::new();
        let mut open: Vec<&str> = names.collect();
        let mut found = self.unnamed.clone();
        loop {
            for at in found.drain(..).filter(|at| used.insert(*at)) {
                let item = &self.items[at];
                let mentions = || item.mentions.iter().map(String::as_str);
                open.extend(mentions());
                // On the way from one name to another libraries differ, and mean the same.
                if item.text.is_some() {
                    told.extend(mentions());
                }
            }
            let Some(name) = open.pop() else { break };
            if !OPAQUE.contains(&name) && !name.starts_with("pthread_") {
                found.extend(self.by_name.get(name).into_iter().flatten());
            }
        }
        let texts = used.iter().filter_map(|at| self.items[*at].text.as_deref());
        (texts.collect(), told)
    }
}

/// What an item is, as far as its end depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Something with a body, which begins with this token.
    Body(usize),
    Namespace,
    Other,
}

/// What the tokens begin with, if it may count, and how many of them it has.
fn first(tokens: &[&str]) -> (Option<Kind>, usize) {
    let word = |at: usize| tokens.get(at).copied().unwrap_or_default();
    if word(0).starts_with('#') || word(0) == "}" || word(0) == ";" {
        return (None, 1);
    }
    // What is in these braces is at file scope.
    if word(0) == "extern" && word(1).starts_with('"') {
        return (None, if word(2) == "{" { 3 } else { 2 });
    }
    let inline = usize::from(word(0) == "inline");
    if word(inline) == "namespace" {
        let open = tokens.iter().position(|t| *t == "{" || *t == ";");
        let open = open.unwrap_or(tokens.len());
        if word(open) != "{" {
            return (None, open + 1);
        }
        let ours = word(inline + 1) != "std" && !word(inline + 1).starts_with("__");
        return (ours.then_some(Kind::Namespace), block(tokens, open));
    }
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" if depth == 0 && is_head(&tokens[..at]) => {
                return (Some(Kind::Body(at)), block(tokens, at));
            }
            "(" | "[" | "{" => depth += 1,
            // One too many ends the braces around this.
            ")" | "]" | "}" if depth == 0 => return (None, at.max(1)),
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 0 => return (Some(Kind::Other), at + 1),
            _ => {}
        }
    }
    (Some(Kind::Other), tokens.len())
}

/// How many tokens there are until the brace at `open` is closed.
fn block(tokens: &[&str], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match *token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// Whether what stands before a brace is the head of a function.
fn is_head(tokens: &[&str]) -> bool {
    let tokens = without_attributes(tokens);
    tokens.contains(&"(") && !tokens.contains(&"typedef") && !tokens.contains(&"=")
}

fn without_attributes<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let attribute = matches!(
            tokens[at],
            "__attribute__" | "__attribute" | "__declspec" | "alignas" | "_Alignas" | "__asm__"
        );
        match closing(tokens, at + 1).filter(|_| attribute) {
            Some(end) => at = end + 1,
            None => {
                kept.push(tokens[at]);
                at += 1;
            }
        }
    }
    kept
}

/// `typedef` of one name for another.
fn is_plain_typedef(tokens: &[&str]) -> bool {
    let Some((&"typedef", rest)) = tokens.split_first() else {
        return false;
    };
    let words = rest.strip_suffix(&[";"]).unwrap_or(rest);
    words.iter().all(|w| names(w).next() == Some(w))
}

/// The names under which an item is used; `None` if it doesn't count.
fn names_of<'a>(tokens: &[&'a str], kind: Kind) -> Option<Vec<&'a str>> {
    match kind {
        Kind::Namespace => Some(all(tokens)),
        Kind::Body(at) => defines(&tokens[..at]),
        Kind::Other => declares(&without_attributes(tokens)),
    }
}

fn is_name(token: &str) -> bool {
    names(token).next() == Some(token) && !KEYWORDS.contains(&token)
}

fn all<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    tokens.iter().copied().filter(|t| is_name(t)).collect()
}

/// The name of the function with this head; none of an operator.
fn defines<'a>(head: &[&'a str]) -> Option<Vec<&'a str>> {
    if let Some(name) = declared(head) {
        return Some(vec![name]);
    }
    if let Some(at) = head.iter().position(|t| *t == "operator") {
        let memory = matches!(head.get(at + 1), Some(&"new" | &"delete"));
        return (!memory).then(Vec::new);
    }
    let plain = without_attributes(head);
    let called = plain.iter().position(|t| *t == "(").unwrap_or_default();
    match plain.get(called.wrapping_sub(1)).filter(|t| is_name(t)) {
        Some(name) => Some(vec![name]),
        None => Some(all(&outside(&plain))),
    }
}

fn declares<'a>(tokens: &[&'a str]) -> Option<Vec<&'a str>> {
    let has = |word: &str| tokens.contains(&word);
    if tokens.starts_with(&["using", "std"]) || tokens.starts_with(&["using", "namespace"]) {
        return None;
    }
    // Its constants are names, too.
    if has("enum") && has("{") {
        return Some(all(tokens));
    }
    let defines = has("typedef") || has("{");
    let called = tokens.iter().position(|t| *t == "(").unwrap_or_default();
    let is_prototype = called > 0 && names(tokens[called - 1]).next() == Some(tokens[called - 1]);
    let is_opaque = has("extern") && OPAQUE.iter().any(|o| has(o));
    let is_announced = tokens.len() <= 3 && tokens.first().is_some_and(|t| TAGS.contains(t));
    if !defines && (is_opaque || is_announced || is_prototype && !has("=")) {
        return None;
    }
    let mut found = Vec::new();
    let outer = outside(tokens);
    for (at, token) in outer.iter().enumerate().filter(|(_, t)| is_name(t)) {
        let ends = matches!(
            outer.get(at + 1),
            Some(&("," | ";" | "=" | "[" | "(" | ":"))
        );
        let tag = at > 0 && TAGS.contains(&outer[at - 1]) && has("{");
        if ends || tag {
            found.push(*token);
        }
    }
    // `( * name )`
    for window in tokens.windows(3) {
        if window[0] == "*" && is_name(window[1]) && window[2] == ")" {
            found.push(window[1]);
        }
    }
    Some(match found.is_empty() {
        true => all(&outer),
        false => found,
    })
}

/// What is in no braces, and of parentheses and brackets the first alone.
fn outside<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut depth = 0_usize;
    let mut kept = Vec::new();
    for token in tokens {
        match *token {
            "(" | "[" | "{" => {
                if depth == 0 && *token != "{" {
                    kept.push(*token);
                }
                depth += 1;
            }
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            t if depth == 0 => kept.push(t),
            _ => {}
        }
    }
    kept
}

/// What may declare without defining.
const TAGS: [&str; 4] = ["struct", "union", "class", "enum"];

/// Words that say nothing of what is meant.
const KEYWORDS: [&str; 56] = [
    "__attribute__",
    "__typeof__",
    "decltype",
    "return",
    "typeof",
    "struct",
    "union",
    "class",
    "enum",
    "typedef",
    "extern",
    "static",
    "inline",
    "__inline",
    "__inline__",
    "__extension__",
    "const",
    "volatile",
    "register",
    "restrict",
    "__restrict",
    "_Noreturn",
    "template",
    "typename",
    "namespace",
    "using",
    "operator",
    "constexpr",
    "noexcept",
    "friend",
    "virtual",
    "explicit",
    "public",
    "private",
    "protected",
    "std",
    "void",
    "char",
    "short",
    "int",
    "long",
    "signed",
    "unsigned",
    "float",
    "double",
    "bool",
    "_Bool",
    "_Float32",
    "_Float64",
    "_Float128",
    "_Float32x",
    "_Float64x",
    "__int128",
    "_Complex",
    "__complex__",
    "auto",
];

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "typedef long int __time_t; typedef __time_t time_t;
        struct when { __time_t seconds; long parts; };
        typedef struct when when_t; typedef when_t moment;
        struct __attribute__ ((packed)) odd { char c; int i; } ;
        enum { LOW = 1, HIGH = 5 };
        typedef enum { RED, GREEN } colour;
        typedef float vec3[3];
        static const double step = 0.5;
        extern struct when begin; extern FILE * errors;
        typedef size_t writer (void *at, size_t n);
        extern int puts (const char *__s) __attribute__ ((nothrow));
        extern __inline int half (int x) { return x / LOW2; }
        static inline int LOW2_is (void) { return 2; }
        int (*hook) (int);
        struct _IO_FILE { int flags; }; typedef struct _IO_FILE FILE;";

    /// Whether a change of the header counts for a text.
    fn counts(header: &str, from: &str, to: &str, text: &str) -> bool {
        assert!(header.contains(from), "{from}");
        let key = |header: &str| {
            let system = SystemItems::of(header);
            let (texts, _) = system.used_by(names(text));
            texts.join("\n")
        };
        key(header) != key(&header.replacen(from, to, 1))
    }

    #[test]
    fn what_a_text_uses_counts_and_nothing_else_does() {
        for (from, to, by, not_by) in [
            (
                "long parts",
                "int parts",
                "void f(const moment *m, int *out)",
                "void f(int parts)",
            ),
            ("long parts", "int parts", "begin.parts", "LOW"),
            ("int i", "long i", "struct odd o", "int i, c"),
            ("HIGH = 5", "HIGH = 6", "LOW", "MIDDLE"),
            ("RED, ", "", "GREEN", "colours"),
            ("vec3[3]", "vec3[4]", "vec3 v", "float v[3]"),
            ("0.5", "0.25", "step * x", "steps"),
            ("x / LOW2", "x / 3", "half(3)", "int x"),
            ("return 2", "return 3", "LOW2_is()", "half(1)"),
            ("size_t n)", "int n)", "writer *w", "int n, size_t at"),
        ] {
            assert!(counts(HEADER, from, to, by), "{from}: {by}");
            assert!(!counts(HEADER, from, to, not_by), "{from}: {not_by}");
        }
    }

    #[test]
    fn what_means_the_same_everywhere_or_nothing_does_not_count() {
        for (from, to, text) in [
            ("__s", "__string", "puts(\"LOW\")"),
            ("int flags", "long flags", "fputs(a, (FILE *)b)"),
            ("FILE * errors", "FILE * const errors", "errors"),
            ("size_t n)", "size_t m)", "size_t n"),
            ("(*hook) (int)", "(*hook) (long)", "hook"),
            (
                "typedef long int __time_t",
                "typedef int __time_t",
                "time_t t",
            ),
        ] {
            assert!(!counts(HEADER, from, to, text), "{from}");
        }
    }

    #[test]
    fn names_of_numbers_are_told_where_they_are_members() {
        let system = SystemItems::of(HEADER);
        let (texts, names) = system.used_by(["when"].into_iter());
        assert!(!texts.is_empty() && names.contains("__time_t"), "{names:?}");
        let system = SystemItems::of("typedef long int __time_t; typedef __time_t time_t;");
        let (texts, names) = system.used_by(["time_t"].into_iter());
        assert!(texts.is_empty() && names.is_empty(), "{names:?}");
    }

    #[test]
    fn the_library_of_cpp_does_not_count_and_other_libraries_do() {
        let header = "extern \"C\" { struct c { int n; }; extern void free (void *) noexcept (true); }
            namespace std { template<typename T> struct v { T x1; }; inline namespace w { int x2; } }
            namespace __gnu { int x3; }
            using std::free; void *operator new (unsigned long n4, void *p) noexcept;
            inline void *operator new[] (unsigned long, void *p) noexcept { return p; }
            namespace lib { struct point { float x5; }; }
            template<typename T> inline T twice (T x) { return x + x; }
            inline int three () noexcept { return 3; }
            struct money { int cents; }; inline money operator+ (money a, money b) { return a; }
            typedef int last;";
        let text = "x1 x2 x3 free p new v std money";
        for (from, to) in [
            ("x1", "y"),
            ("x2", "y"),
            ("x3", "y"),
            ("n4", "y"),
            ("(true)", ""),
        ] {
            assert!(!counts(header, from, to, text), "{from}");
        }
        for (from, to, text) in [
            ("int n", "long n", "c a"),
            ("float x5", "double x5", "lib::point p"),
            ("x + x", "2 * x", "twice(2)"),
            ("return 3;", "return 4;", "three()"),
            ("int cents", "long cents", "money m"),
            ("return a", "return b", "m + m"),
        ] {
            assert!(counts(header, from, to, text), "{from}");
        }
        assert!(SystemItems::of(header).by_name.contains_key("last"));
    }
}
