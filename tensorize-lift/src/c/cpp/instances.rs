//! The functions of a C++ file: in namespaces, overloaded, and instances of templates.
//!
//! libclang does not list explicit instantiations (`template float dot<float>(…);`), but it follows a
//! reference to one. So a copy of the file is parsed that takes the address of each at its end.

use super::super::call::helper;
use super::super::ffi::{Cursor, Unit};
use super::super::flatten::is_private;
use super::super::jump::is_loop;
use super::super::lower::operands;
use super::super::source::is_annotated;
use super::class::in_std;
use clang_sys::*;
use std::collections::{HashMap, HashSet};

const PREFIX: &str = "tensorize_instance_";

/// A file and its explicit instantiations.
#[derive(Default)]
pub(in super::super) struct Instances {
    /// The file's text with what was added, if there is any.
    pub text: Option<String>,
    /// Where the file itself ends.
    pub end: Option<usize>,
    /// The name of each as it is written, such as `dot<float>`.
    names: Vec<String>,
}

impl Instances {
    pub fn of(text: &str) -> Instances {
        let found = explicit(text);
        if found.is_empty() {
            return Instances::default();
        }
        let mut all = text.to_string();
        let mut names = Vec::new();
        all.push('\n');
        for (i, e) in found.into_iter().enumerate() {
            let open: String = e
                .scopes
                .iter()
                .map(|s| format!("namespace {s} {{ "))
                .collect();
            let close = "} ".repeat(e.scopes.len());
            all += &format!(
                "{open}[[maybe_unused]] static const auto {PREFIX}{i} = static_cast<{} (*)({})>(&{}); {close}\n",
                e.returns, e.params, e.name
            );
            names.push(e.name);
        }
        Instances {
            text: Some(all),
            end: Some(text.len()),
            names,
        }
    }
}

/// The definitions of functions below a cursor, and the expression that names each, if it isn't its name.
pub(in super::super) fn definitions<'u>(
    unit: &'u Unit,
    instances: &Instances,
) -> Vec<(Cursor<'u>, Option<String>)> {
    let mut found = Vec::new();
    collect(unit.root(), true, instances, &mut found);
    found
}

fn collect<'u>(
    c: Cursor<'u>,
    top: bool,
    instances: &Instances,
    found: &mut Vec<(Cursor<'u>, Option<String>)>,
) {
    for d in c.children() {
        match d.kind() {
            CXCursor_FunctionDecl if d.is_definition() && (top || !d.in_system_header()) => {
                found.push((d, specialised(d)));
            }
            CXCursor_CXXMethod if d.is_definition() && d.in_main_file() => {
                let wanted = is_annotated(d) || repeats(d);
                if wanted && is_written(d) {
                    found.push((d, None));
                }
            }
            CXCursor_Namespace | CXCursor_LinkageSpec | CXCursor_UnexposedDecl
                if !d.in_system_header() =>
            {
                collect(d, false, instances, found);
            }
            CXCursor_ClassDecl | CXCursor_StructDecl if d.in_main_file() => {
                collect(d, false, instances, found);
            }
            CXCursor_VarDecl if instances.end.is_some() && d.spelling().starts_with(PREFIX) => {
                let number: Option<usize> = d.spelling()[PREFIX.len()..].parse().ok();
                let name = number.and_then(|i| instances.names.get(i)).cloned();
                let mut at = d.initializer();
                while let Some(e) = at {
                    if e.kind() == CXCursor_DeclRefExpr {
                        let f = e.referenced().and_then(|r| r.definition());
                        found.extend(f.map(|f| (f, name)));
                        break;
                    }
                    at = operands(e).last().copied();
                }
            }
            _ => {}
        }
    }
}

/// The name of a template's function that is written for some arguments: `template <> float half<float>(…)`.
fn specialised(f: Cursor<'_>) -> Option<String> {
    f.template()?;
    let tokens: Vec<String> = f.tokens().into_iter().map(|t| t.1).collect();
    let name = f.spelling();
    let at = tokens
        .windows(2)
        .position(|w| w[0] == name && w[1] == "<")?;
    let mut depth = 0;
    let mut end = None;
    for (i, token) in tokens.iter().enumerate().skip(at + 1) {
        depth += match token.as_str() {
            "<" => 1,
            ">" => -1,
            ">>" => -2,
            "(" | "{" | ";" if depth == 0 => return None,
            _ => 0,
        };
        if depth <= 0 {
            end = Some(i);
            break;
        }
    }
    let written = tokens.get(at + 1..=end?)?;
    Some(format!("{name}{}", written.join(" ")))
}

/// Whether a function has a loop, or calls a function of the library, which may have one, or one of the file that has. Of
/// member functions, those that have not are parts of others: accessors, operators.
fn repeats(f: Cursor<'_>) -> bool {
    let mut seen = HashSet::from([f]);
    let mut pending = vec![f];
    while let Some(f) = pending.pop() {
        let loops = f.contains(&mut |c| match (c.kind(), c.referenced()) {
            (kind, _) if is_loop(kind) => true,
            (CXCursor_CallExpr, Some(callee)) if in_std(callee) => {
                callee.kind() == CXCursor_FunctionDecl
            }
            (CXCursor_CallExpr, Some(callee)) => {
                let definition = helper(callee).filter(|d| seen.insert(*d));
                pending.extend(definition);
                false
            }
            _ => false,
        });
        if loops {
            return true;
        }
    }
    false
}

/// Whether a member function is one that code at the end of the file can call. Those of a class in a function are
/// not, and of a template there is none before it has arguments.
fn is_written(f: Cursor<'_>) -> bool {
    let mut scope = f.semantic_parent();
    while let Some(p) = scope {
        match p.kind() {
            CXCursor_ClassTemplate | CXCursor_ClassTemplatePartialSpecialization => return false,
            CXCursor_ClassDecl | CXCursor_StructDecl if is_private(p) => return false,
            _ => scope = p.semantic_parent(),
        }
    }
    !is_private(f)
}

/// A name for each function, in which overloads and instances differ.
pub(in super::super) fn unique_names<'u>(
    functions: &[(Cursor<'u>, Option<String>)],
) -> Vec<String> {
    let mut count: HashMap<String, usize> = HashMap::new();
    for (f, _) in functions {
        *count.entry(plain_name(*f)).or_default() += 1;
    }
    let mut used: HashMap<String, usize> = HashMap::new();
    functions
        .iter()
        .map(|(f, expression)| {
            let plain = plain_name(*f);
            let mut name = plain.clone();
            if count.get(&plain).is_some_and(|&n| n > 1) {
                let arguments = expression
                    .as_deref()
                    .and_then(|e| e.split_once('<'))
                    .map(|(_, a)| a.trim_end_matches('>').to_string());
                let kinds = || {
                    let types: Vec<String> =
                        f.arguments().iter().map(|p| p.ty().spelling()).collect();
                    types.join(" ")
                };
                name = format!("{plain}_{}", identifier(&arguments.unwrap_or_else(kinds)));
            }
            let n = used.entry(name.clone()).or_default();
            *n += 1;
            if *n > 1 { format!("{name}_{n}") } else { name }
        })
        .collect()
}

/// A function's name, with the class that it is a member of; an operator's in words.
fn plain_name(f: Cursor<'_>) -> String {
    let mut name = f.spelling();
    if let Some(sign) = name.strip_prefix("operator")
        && !sign.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
    {
        let words = sign.chars().map(|c| match c {
            '+' => "_plus",
            '-' => "_minus",
            '*' => "_times",
            '/' => "_by",
            '%' => "_mod",
            '=' => "_is",
            '<' => "_below",
            '>' => "_above",
            '(' => "_call",
            '[' => "_at",
            '!' => "_not",
            '&' => "_and",
            '|' => "_or",
            '^' => "_xor",
            '~' => "_flip",
            ' ' => "_to",
            _ => "",
        });
        name = format!("operator{}", words.collect::<String>());
    }
    match f.semantic_parent() {
        Some(class) if f.kind() == CXCursor_CXXMethod => format!("{}_{name}", class.spelling()),
        _ => name,
    }
}

/// The words of a type, joined.
fn identifier(text: &str) -> String {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty() && !matches!(*w, "std" | "const"))
        .collect::<Vec<_>>()
        .join("_")
}

/// `template R name<A>(P);`
#[derive(Debug, PartialEq)]
struct Explicit {
    scopes: Vec<String>,
    returns: String,
    name: String,
    params: String,
}

/// The explicit instantiations of functions in a file.
fn explicit(text: &str) -> Vec<Explicit> {
    let mut found = Vec::new();
    // A scope of `None` is anything but a namespace, in which no instantiation stands.
    let mut scopes: Vec<Option<String>> = Vec::new();
    let mut words: Vec<(String, usize)> = Vec::new();
    for (word, at) in tokens(text) {
        match word.as_str() {
            "{" => {
                let names: Vec<&str> = words.iter().map(|w| w.0.as_str()).collect();
                let scope = names
                    .iter()
                    .position(|w| *w == "namespace")
                    .map(|i| names[i + 1..].concat());
                let transparent = names.contains(&"extern");
                scopes.push(scope.or(transparent.then(String::new)));
                words.clear();
            }
            "}" => {
                scopes.pop();
                words.clear();
            }
            ";" => {
                if words.first().is_some_and(|w| w.0 == "template")
                    && words.get(1).is_some_and(|w| w.0 != "<")
                    && let Some(names) = scopes.iter().cloned().collect::<Option<Vec<_>>>()
                    && let Some(mut e) = declaration(text, &words[1..], at)
                {
                    e.scopes = names.into_iter().filter(|n| !n.is_empty()).collect();
                    found.push(e);
                }
                words.clear();
            }
            _ => words.push((word, at)),
        }
    }
    found
}

fn declaration(text: &str, words: &[(String, usize)], end: usize) -> Option<Explicit> {
    if matches!(words.first()?.0.as_str(), "class" | "struct" | "union") {
        return None;
    }
    // The parameters are what the last closing parenthesis closes.
    let mut depth = 0;
    let close = words.iter().rposition(|w| w.0 == ")")?;
    let open = (0..=close).rev().find(|&i| {
        match words[i].0.as_str() {
            ")" => depth += 1,
            "(" => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    // Before them the name, perhaps with its arguments.
    let mut first = open.checked_sub(1)?;
    if words[first].0 == ">" {
        let mut depth = 0;
        first = (0..=first).rev().find(|&i| {
            match words[i].0.as_str() {
                ">" => depth += 1,
                "<" => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        first = first.checked_sub(1)?;
    }
    while first >= 2 && words[first - 1].0 == "::" {
        first -= 2;
    }
    let slice = |from: usize, to: usize| text.get(from..to).map(|s| s.trim().to_string());
    let start = |i: usize| words.get(i).map_or(end, |w| w.1);
    Some(Explicit {
        scopes: vec![],
        returns: slice(start(0), start(first))?,
        name: slice(start(first), start(open))?,
        params: slice(start(open) + 1, start(close))?,
    })
    .filter(|e| !e.returns.is_empty())
}

/// Words and punctuation with their places, without comments, literals and directives.
fn tokens(text: &str) -> Vec<(String, usize)> {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let (mut i, mut line_start) = (0, true);
    let find = |from: usize, what: &str| {
        text.get(from..)
            .and_then(|t| t.find(what))
            .map(|n| from + n)
    };
    while i < bytes.len() {
        let rest = &bytes[i..];
        let word = |c: u8| c.is_ascii_alphanumeric() || c == b'_' || c >= 0x80;
        match bytes[i] {
            b'\n' => {
                line_start = true;
                i += 1;
                continue;
            }
            c if c.is_ascii_whitespace() => {
                i += 1;
                continue;
            }
            b'#' if line_start => {
                // To the end of the line, and of those that it goes on in.
                loop {
                    let end = find(i, "\n").unwrap_or(bytes.len());
                    let goes_on = text[..end].trim_end_matches('\r').ends_with('\\');
                    i = (end + 1).min(bytes.len());
                    if !goes_on || i == bytes.len() {
                        break;
                    }
                }
                continue;
            }
            _ if rest.starts_with(b"//") => i = find(i, "\n").unwrap_or(bytes.len()),
            _ if rest.starts_with(b"/*") => i = find(i + 2, "*/").map_or(bytes.len(), |n| n + 2),
            quote @ (b'"' | b'\'') => {
                let raw = quote == b'"'
                    && matches!(out.last(), Some((w, at)) if matches!(w as &String, w if w.ends_with('R')) && at + (w as &String).len() == i);
                if raw {
                    let open = find(i, "(").unwrap_or(bytes.len());
                    let delimiter = text.get(i + 1..open).unwrap_or_default();
                    let close = format!("){delimiter}\"");
                    i = find(open, &close).map_or(bytes.len(), |n| n + close.len());
                } else {
                    i += 1;
                    while i < bytes.len() && bytes[i] != quote {
                        i += if bytes[i] == b'\\' { 2 } else { 1 };
                    }
                    i += 1;
                }
            }
            c if word(c) => {
                let start = i;
                // A digit separator is no quote.
                let number = c.is_ascii_digit();
                while i < bytes.len() && (word(bytes[i]) || number && bytes[i] == b'\'') {
                    i += 1;
                }
                out.push((text[start..i].to_string(), start));
            }
            _ if rest.starts_with(b"::") => {
                out.push(("::".into(), i));
                i += 2;
            }
            c => {
                out.push(((c as char).to_string(), i));
                i += 1;
            }
        }
        line_start = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Explicit {
        let mut all = explicit(text);
        assert_eq!(all.len(), 1, "{text}: {all:?}");
        all.remove(0)
    }

    #[test]
    fn instantiations_are_found() {
        let e = one(
            "#define X template int q(); \\\n more\ntemplate <class T> T f(T x) { return x; }\n\
                     // template int g(int);\nnamespace a::b { template float f<float>(float); }",
        );
        assert_eq!(e.scopes, ["a::b"]);
        assert_eq!(
            (e.returns.as_str(), e.name.as_str(), e.params.as_str()),
            ("float", "f<float>", "float")
        );
        let e = one("template std::vector<int> n::f(const std::vector<int> &, int (*)(int));");
        assert_eq!(e.returns, "std::vector<int>");
        assert_eq!(
            (e.name.as_str(), e.params.as_str()),
            ("n::f", "const std::vector<int> &, int (*)(int)")
        );
        assert_eq!(
            explicit("template class std::vector<int>; void f() { g(); }"),
            []
        );
    }

    #[test]
    fn literals_are_skipped() {
        let text = "const char *s = \"template int f(int);\"; int n = 1'000; auto r = R\"x(template int f();)x\"; char c = '\\'';";
        assert_eq!(explicit(text), []);
        assert!(tokens(text).iter().any(|t| t.0 == "1'000"));
    }
}
