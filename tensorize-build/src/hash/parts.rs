//! Which part of a C file a function is about: all that the file declares, and of its functions those that it mentions,
//! and those that they mention. An edit of another function leaves its hash as it is, so that its result still stands.
//!
//! This is a lexer's view. Where it can't tell, it counts too much: what does not have the form of a function or of a
//! prototype belongs to every function, C++ is not taken apart at all, and a name counts as mentioned wherever it
//! stands, in a string too (`alias("f")`).

use std::collections::{BTreeMap, BTreeSet, HashSet};
use tensorize_ir::signature::Language;

/// A file's text in parts.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    items: Vec<Item>,
}

/// A declaration or a definition at file scope, or a pragma between them.
#[derive(Clone, Debug)]
struct Item {
    text: String,
    /// The function that it declares or defines; `None` belongs to all.
    function: Option<String>,
    mentions: HashSet<String>,
}

impl Parts {
    /// Takes a preprocessed text apart.
    pub(super) fn of(text: &str, language: Language) -> Parts {
        // Names in these forms are not found by looking for their letters, nor the ends of such strings.
        let plain = !["\\u", "\\U", "R\""].iter().any(|odd| text.contains(odd));
        let items = match language {
            Language::C if plain => items(text),
            _ => vec![Item::of_all(text)],
        };
        Parts { items }
    }

    /// What a function is about, in the file's order.
    pub(super) fn about<'a>(&'a self, function: &'a str) -> impl Iterator<Item = About<'a>> {
        let mut by_name: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
        for item in &self.items {
            let name = item.function.as_deref();
            by_name
                .entry(name.unwrap_or_default())
                .or_default()
                .push(item);
        }
        // What belongs to all has no name.
        let mut known = BTreeSet::from(["", function]);
        let mut open = vec!["", function];
        while let Some(name) = open.pop() {
            for item in by_name.get(name).into_iter().flatten() {
                for mentioned in &item.mentions {
                    if by_name.contains_key(mentioned.as_str()) && known.insert(mentioned) {
                        open.push(mentioned);
                    }
                }
            }
        }
        let mut before = 0;
        self.items.iter().filter_map(move |item| {
            let place = before;
            before += usize::from(item.function.is_none());
            let name = item.function.as_deref().unwrap_or_default();
            known.contains(name).then_some(About {
                place,
                text: &item.text,
                mentions: &item.mentions,
            })
        })
    }
}

/// A part of what a function is about.
pub(super) struct About<'a> {
    /// How many texts that belong to all stand before it, since a pragma means something to what follows it.
    pub(super) place: usize,
    pub(super) text: &'a str,
    pub(super) mentions: &'a HashSet<String>,
}

impl Item {
    fn of_all(text: &str) -> Item {
        Item {
            text: text.to_owned(),
            function: None,
            mentions: names(text).map(str::to_owned).collect(),
        }
    }
}

fn is_part_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii()
}

/// All runs of letters, wherever they are.
pub(super) fn names(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c| !is_part_of_name(c));
    runs.filter(|w| w.starts_with(|c: char| !c.is_ascii_digit()))
}

/// A name or number, a literal, a pragma, or one other character.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return tokens;
        };
        let length = match first {
            '"' | '\'' => literal(rest, first),
            '#' => rest.find('\n').unwrap_or(rest.len()),
            c if is_part_of_name(c) => rest.find(|c| !is_part_of_name(c)).unwrap_or(rest.len()),
            c => c.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
}

/// The length of the literal that the text begins with.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

fn items(text: &str) -> Vec<Item> {
    let tokens = tokens(text);
    let mut items = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    // The brace that may begin a function's body.
    let mut body = None;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "{" if depth == 0 && body.is_none() && defined(&tokens[start..at]).is_some() => {
                body = Some(at);
                depth += 1;
            }
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let alone = token.starts_with('#') && at == start;
        let ends = match body {
            Some(_) => *token == "}",
            None => *token == ";" || alone,
        };
        if depth == 0 && ends {
            items.push(item(&tokens[start..=at], body.map(|b| b - start)));
            start = at + 1;
            body = None;
        }
    }
    if start < tokens.len() {
        items.push(item(&tokens[start..], None));
    }
    items
}

fn item(tokens: &[&str], body: Option<usize>) -> Item {
    let text = tokens.join(" ");
    let function = match body {
        Some(at) if tokens[at..].iter().all(|t| stays_inside(t)) => defined(&tokens[..at]),
        Some(_) => None,
        None => tokens.split_last().and_then(|(_, rest)| declared(rest)),
    };
    let Some(function) = function else {
        return Item::of_all(&text);
    };
    let mut own = false;
    let mentions = tokens.iter().filter(|t| {
        // Once, where it is declared: whoever else says the name means the function.
        let declares = !own && **t == function;
        own |= declares;
        !declares
    });
    Item {
        mentions: mentions.flat_map(|t| names(t)).map(str::to_owned).collect(),
        function: Some(function.to_owned()),
        text,
    }
}

/// Whether a token of a function's body says nothing of what follows the function.
fn stays_inside(token: &str) -> bool {
    const INSIDE: [&str; 4] = ["omp ", "GCC ivdep", "GCC unroll", "clang loop"];
    let pragma = token.strip_prefix("#pragma ");
    !token.starts_with('#') || pragma.is_some_and(|p| INSIDE.iter().any(|i| p.starts_with(i)))
}

/// The function that the tokens before a brace are the head of: `… NAME ( … )`.
fn defined<'a>(head: &[&'a str]) -> Option<&'a str> {
    let name = declared(head)?;
    // Anything after the parameters is not the plain form.
    let open = head.iter().position(|t| *t == name)? + 1;
    (closing(head, open)? + 1 == head.len()).then_some(name)
}

/// The function that the tokens declare, attributes and assembler names after the parameters included.
pub(super) fn declared<'a>(tokens: &[&'a str]) -> Option<&'a str> {
    const NOT_PLAIN: [&str; 8] = ["=", "{", "}", "typedef", ";", ":", "\\", "~"];
    if tokens
        .iter()
        .any(|t| NOT_PLAIN.contains(t) || t.starts_with('#'))
    {
        return None;
    }
    let mut at = 0;
    let mut has_type = false;
    let name = loop {
        let token = *tokens.get(at)?;
        let next = tokens.get(at + 1).copied();
        match token {
            "__attribute__" | "__attribute" | "__declspec" => at = closing(tokens, at + 1)?,
            _ if next == Some("(") => break token,
            // These have no parenthesis of their own, and are no type.
            "static" | "extern" | "inline" | "__inline" | "__inline__" | "const" | "volatile"
            | "register" | "_Noreturn" | "__extension__" | "*" => {}
            t if t.starts_with(is_part_of_name) => has_type = true,
            _ => return None,
        }
        at += 1;
    };
    let is_tag = at > 0 && ["struct", "union", "enum"].contains(&tokens[at - 1]);
    let occurs_before = tokens[..at].contains(&name);
    let is_name = name.starts_with(|c: char| is_part_of_name(c) && !c.is_ascii_digit());
    if !has_type || is_tag || occurs_before || !is_name || KEYWORDS.contains(&name) {
        return None;
    }
    let mut at = closing(tokens, at + 1)? + 1;
    while at < tokens.len() {
        match tokens[at] {
            "__attribute__" | "__attribute" | "__asm__" | "__asm" | "asm" => {
                at = closing(tokens, at + 1)? + 1;
            }
            _ => return None,
        }
    }
    Some(name)
}

/// What stands before a parenthesis and is no function.
const KEYWORDS: [&str; 26] = [
    "_Alignas",
    "_Atomic",
    "_Bool",
    "_Generic",
    "_Static_assert",
    "__asm",
    "__asm__",
    "__typeof",
    "__typeof__",
    "_BitInt",
    "alignas",
    "asm",
    "bool",
    "char",
    "double",
    "float",
    "int",
    "long",
    "short",
    "signed",
    "sizeof",
    "static_assert",
    "typeof",
    "typeof_unqual",
    "unsigned",
    "void",
];

/// The place of the parenthesis that closes the one at `open`.
pub(super) fn closing(tokens: &[&str], open: usize) -> Option<usize> {
    (*tokens.get(open)? == "(").then_some(())?;
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match *token {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(text: &str, function: &str) -> String {
        let parts = Parts::of(text, Language::C);
        let texts: Vec<String> = parts.about(function).map(|a| a.text.to_owned()).collect();
        texts.join("\n")
    }

    /// Whether an edit of the text, from one word to another, is an edit of the function.
    fn concerns(text: &str, from: &str, to: &str, function: &str) -> bool {
        assert!(text.contains(from), "{from}");
        let changed = text.replacen(from, to, 1);
        let key = |t: &str| {
            let parts = Parts::of(t, Language::C);
            let about: Vec<_> = parts
                .about(function)
                .map(|a| (a.place, a.text.to_owned()))
                .collect();
            about
        };
        key(text) != key(&changed)
    }

    const FILE: &str = "typedef unsigned char u8 ; struct pair { int a , b ; } ; static const int table [ 2 ] = { 1 , 2 } ;
        void one ( const u8 * a , int n ) ; void two ( void ) ; int far ( void ) __attribute__ ( ( alias ( \"near_by\" ) ) ) ;
        static inline int twice ( int x ) { return 2 * x ; }
        int near_by ( void ) { return 70 ; }
        __attribute__ ( ( noinline ) ) void one ( const u8 * a , int n ) { if ( n ) { twice ( a [ 10 ] ) ; } }
        void two ( void ) { far ( ) ; g ( table [ 20 ] ) ; }
        int three ( void ) { return 30 ; }";

    #[test]
    fn a_function_is_about_what_it_mentions() {
        for (from, concerned) in [
            ("10", vec!["one"]),
            ("20", vec!["two"]),
            ("30", vec!["three"]),
            ("2 *", vec!["one"]),
            ("70", vec!["two", "near_by"]),
            ("{ 1", vec!["one", "two", "three", "near_by"]),
            ("unsigned", vec!["one", "two", "three", "near_by"]),
        ] {
            let to = from.replace(|c: char| c.is_ascii_alphanumeric(), "5");
            for function in ["one", "two", "three", "near_by"] {
                assert_eq!(
                    concerns(FILE, from, &to, function),
                    concerned.contains(&function),
                    "{from} {function}\n{}",
                    about(FILE, function)
                );
            }
        }
    }

    #[test]
    fn another_function_or_prototype_is_no_edit() {
        for new in [
            "int new_one ( int a ) { return a ; } int three",
            "int new_one ( int a ) ; int three",
        ] {
            assert!(!concerns(FILE, "int three", new, "one"));
            assert!(!concerns(FILE, "int three", new, "two"));
        }
        assert!(concerns(
            FILE,
            "int three",
            "typedef int i ; int three",
            "one"
        ));
    }

    #[test]
    fn a_pragma_counts_by_its_place() {
        let a = "#pragma STDC FP_CONTRACT ON\n float f ( float a ) { return a ; } float g ( float a ) { return a ; }";
        let b = "float f ( float a ) { return a ; } #pragma STDC FP_CONTRACT ON\n float g ( float a ) { return a ; }";
        let key = |t: &str, f: &str| {
            let parts = Parts::of(t, Language::C);
            parts
                .about(f)
                .map(|a| (a.place, a.text.to_owned()))
                .collect::<Vec<_>>()
        };
        assert_ne!(key(a, "f"), key(b, "f"));
        assert_eq!(key(a, "g").len(), 2);
        let inside = "void f ( void ) { #pragma pack(1)\n } void g ( void ) { #pragma omp simd\n }";
        assert!(about(inside, "h").contains("pack") && !about(inside, "h").contains("omp"));
    }

    /// Forms that are not taken apart belong to all.
    #[test]
    fn what_is_not_plain_counts_for_everybody() {
        for (text, from) in [
            (
                "int old ( a ) int a ; { return 10 ; } int next ( void ) { return 1 ; }",
                "10",
            ),
            ("int ( * pick ( int a ) ) ( int ) { return 10 ; }", "10"),
            ("int ( * pointer ) ( int ) = f10 ;", "f10"),
            ("u8 ( x10 ) ;", "x10"),
            ("struct s10 ( y ) ;", "s10"),
            ("int a ( void ) , b10 ( void ) ;", "b10"),
            ("struct s { int a10 ; } f ( void ) { return 1 ; }", "a10"),
            (
                "void ( * all [ ] ) ( void ) = { f } ; void f ( void ) { g ( 10 ) ; }",
                "10",
            ),
            (
                "__asm__ ( \"call f\" ) ; void f ( void ) { g ( 10 ) ; }",
                "10",
            ),
            ("char c = '\"' ; int x = 10 ; char d = '\"' ;", "10"),
            ("char c [ ] = \"} int f ( void ) { 10 } \\\" \" ;", "10"),
            ("int f ( void ) { \\u0066 ( 10 ) ; }", "10"),
        ] {
            assert!(concerns(text, from, "other", "kernel"), "{text}");
        }
    }
}
