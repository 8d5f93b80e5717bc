//! C prototypes: in Rust's words, checked by the C compiler, and read off the text where nothing is stored.

use crate::compiler::Settings;
use crate::hash::MARKER;
use crate::record::{CType, Param, Prototype};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::Language;

/// The Rust type of a C scalar type: as bindgen gives it for C's own types, of fixed width otherwise.
pub fn rust_type(c: &str, scalar: ScalarType) -> String {
    let mut words: Vec<&str> = c
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|w| !w.is_empty() && !QUALIFIERS.contains(w))
        .collect();
    words.sort_unstable();
    let ffi = match words.as_slice() {
        ["char"] => "c_char",
        ["char", "signed"] => "c_schar",
        ["char", "unsigned"] => "c_uchar",
        ["short"] | ["int", "short"] | ["short", "signed"] | ["int", "short", "signed"] => {
            "c_short"
        }
        ["short", "unsigned"] | ["int", "short", "unsigned"] => "c_ushort",
        ["int"] | ["signed"] | ["int", "signed"] => "c_int",
        ["unsigned"] | ["int", "unsigned"] => "c_uint",
        ["long"] | ["int", "long"] | ["long", "signed"] | ["int", "long", "signed"] => "c_long",
        ["long", "unsigned"] | ["int", "long", "unsigned"] => "c_ulong",
        ["long", "long"] | ["int", "long", "long"] | ["long", "long", "signed"] => "c_longlong",
        ["long", "long", "unsigned"] | ["int", "long", "long", "unsigned"] => "c_ulonglong",
        ["size_t"] | ["uintptr_t"] => return "usize".into(),
        ["ssize_t"] | ["ptrdiff_t"] | ["intptr_t"] => return "isize".into(),
        _ => return scalar.rust_name().into(),
    };
    format!("::core::ffi::{ffi}")
}

const QUALIFIERS: &[&str] = &[
    "const",
    "volatile",
    "restrict",
    "__restrict",
    "__restrict__",
    "__const",
    "register",
];

/// A C type as the type of a parameter in a prototype without names.
fn type_name(c: &str) -> String {
    let (head, array) = match c.split_once('[') {
        Some((head, _)) => (head, " *"),
        None => (c, ""),
    };
    let mut words = String::new();
    for word in head.replace('*', " * ").split_whitespace() {
        if !word.contains("restrict") {
            write!(words, "{word} ").ok();
        }
    }
    words.trim_end().to_string() + array
}

/// A C expression that is 1 if the file's function has this prototype, and its types are what we think.
fn check(name: &str, prototype: &Prototype) -> Option<String> {
    let types: Vec<String> = prototype.params.iter().map(|p| type_name(&p.c)).collect();
    let ret = prototype
        .ret
        .as_ref()
        .map_or("void".into(), |r| type_name(&r.c));
    let list = if types.is_empty() {
        "void".into()
    } else {
        types.join(", ")
    };
    let mut checks = format!("__builtin_types_compatible_p(__typeof__({name}), {ret} ({list}))");
    let scalars = prototype
        .params
        .iter()
        .map(|p| (&p.c, &p.scalar, p.pointer));
    for (c, scalar, pointer) in
        scalars.chain(prototype.ret.iter().map(|r| (&r.c, &r.scalar, false)))
    {
        let scalar: ScalarType = scalar.parse().ok()?;
        let c = type_name(c);
        if c.contains('(') || pointer != c.contains('*') {
            return None;
        }
        let elem = if pointer {
            format!("__typeof__(*({c})0)")
        } else {
            c
        };
        let value = |v: &str| format!("({elem}){v}");
        match scalar {
            ScalarType::I1 => {
                write!(checks, " && __builtin_types_compatible_p({elem}, _Bool)").ok()?;
            }
            _ => {
                let (float, signed) = (scalar.is_float(), scalar.is_float() || scalar.is_signed());
                write!(checks, " && sizeof({elem}) == {}", scalar.bytes()).ok()?;
                write!(
                    checks,
                    " && ({} < {}) == {}",
                    value("-1"),
                    value("0"),
                    signed as u8
                )
                .ok()?;
                write!(
                    checks,
                    " && ({} != {}) == {}",
                    value("0.5"),
                    value("0"),
                    float as u8
                )
                .ok()?;
                write!(checks, " && !__builtin_types_compatible_p({elem}, _Bool)").ok()?;
            }
        }
    }
    Some(checks)
}

/// Asks the C compiler which of these prototypes are those of the file's functions. `scratch` is a folder
/// to write to.
pub fn agree(
    settings: &Settings,
    file: &Path,
    list: &[(&str, &Prototype)],
    scratch: &Path,
) -> Vec<bool> {
    if list.is_empty() || holds(settings, file, list, scratch) {
        return vec![true; list.len()];
    }
    list.iter()
        .map(|one| holds(settings, file, &[*one], scratch))
        .collect()
}

fn holds(settings: &Settings, file: &Path, list: &[(&str, &Prototype)], scratch: &Path) -> bool {
    let mut source = format!("#include \"{}\"\n", c_string(&settings.dir.join(file)));
    for (name, prototype) in list {
        let Some(check) = check(name, prototype) else {
            return false;
        };
        // Also a wrong prototype must not look like a right one for lack of a definition.
        source += &format!("_Static_assert({check}, \"prototype of {name}\");\n");
    }
    // Other files are looked at meanwhile.
    let stem = crate::native::stem(&file.to_string_lossy());
    let path = scratch.join(format!("{stem}__prototypes.c"));
    if fs::write(&path, source).is_err() {
        return false;
    }
    let Ok(mut command) = settings.command(&settings.cc(Language::C)) else {
        return false;
    };
    command.args(["-fsyntax-only", "-w"]).arg(&path);
    command.output().is_ok_and(|o| o.status.success())
}

/// A path as it stands within `"` in C.
pub fn c_string(path: &Path) -> String {
    path.to_string_lossy()
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
}

/// The names of annotated functions in preprocessed text. Those that are only declared there, as in a header that several
/// files include, are another file's.
pub fn annotated(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let gone = only_declared(&tokens);
    let names = marked(&tokens).filter_map(|declared| {
        let name = || name_of_declared(declared).filter(|name| !gone.contains(name));
        operator_declared(declared).or_else(|| name().map(String::from))
    });
    let mut names: Vec<String> = names.collect();
    names.dedup();
    names
}

/// The functions that a file's own text marks where it declares them, and that are defined nowhere in the preprocessed text.
pub fn marked_but_gone(text: &str, own: &str) -> Vec<String> {
    let declarations = own.split("TENSORIZE_KERNEL").skip(1);
    let declarations = declarations.filter_map(|rest| rest.split([';', '{']).next());
    let own: BTreeSet<&str> = declarations.flat_map(tokens).collect();
    let tokens = tokens(text);
    let gone = only_declared(&tokens);
    gone.intersection(&own).map(|n| (*n).to_owned()).collect()
}

/// The marked functions that are surely defined nowhere: wherever the parameters end, attributes aside, a declaration or a
/// call ends, too.
fn only_declared<'a>(tokens: &[&'a str]) -> BTreeSet<&'a str> {
    let functions = marked(tokens).filter(|declared| operator_declared(declared).is_none());
    let mut names: BTreeSet<&str> = functions.filter_map(name_of_declared).collect();
    for (at, token) in tokens.iter().enumerate() {
        if !names.contains(token) {
            continue;
        }
        let Some(mut end) = closing(tokens, at + 1) else {
            continue;
        };
        while let Some("__attribute__" | "__attribute" | "__asm__" | "asm") =
            tokens.get(end + 1).copied()
            && let Some(behind) = closing(tokens, end + 2)
        {
            end = behind;
        }
        let next = tokens.get(end + 1).copied().unwrap_or(";");
        let begins_more = |c: char| matches!(c, '{' | ':' | '-' | '_') || c.is_alphabetic();
        if next.starts_with(begins_more) {
            names.remove(token);
        }
    }
    names
}

/// What stands behind each mark that marks no function, up to its end: `int table[3]`, or nothing at the end of the file.
pub fn marked_in_vain(text: &str) -> Vec<String> {
    let tokens = tokens(text);
    let what = marked(&tokens).filter_map(|rest| {
        let ends = |t: &&str| ["{", ";", "}", "("].contains(t);
        let end = rest.iter().position(ends).unwrap_or(rest.len());
        (rest.get(end) != Some(&"(")).then(|| rest[..end].join(" "))
    });
    what.collect()
}

/// What follows each mark.
fn marked<'t, 'a>(tokens: &'t [&'a str]) -> impl Iterator<Item = &'t [&'a str]> {
    let marks = tokens.iter().enumerate().filter(|(_, t)| **t == MARKER);
    marks.map(|(i, _)| &tokens[i + 1..])
}

/// The name of an operator of C++, as `operator*=` or `operator()`.
fn operator_declared(tokens: &[&str]) -> Option<String> {
    let ends = |t: &&str| ["(", "{", ";", "}"].contains(t);
    let head = tokens.iter().position(ends)?;
    let at = tokens[..head].iter().position(|t| *t == "operator")?;
    let sign = match &tokens[at + 1..head] {
        [] => tokens[head..]
            .starts_with(&["(", ")", "("])
            .then(|| "()".to_string())?,
        [word] if crate::record::is_c_name(word) => format!(" {word}"),
        signs => signs.concat(),
    };
    Some(format!("operator{sign}"))
}

/// The identifier before the first parenthesis that is no attribute's.
fn name_of_declared<'a>(tokens: &[&'a str]) -> Option<&'a str> {
    let mut i = 0;
    while i < tokens.len() {
        match tokens[i] {
            "{" | ";" | "}" => return None,
            "__attribute__" | "__attribute" | "__declspec" => {
                i = closing(tokens, i + 1)?;
            }
            "(" => {
                return tokens
                    .get(i.checked_sub(1)?)
                    .copied()
                    .filter(|n| crate::record::is_c_name(n));
            }
            _ => {}
        }
        i += 1;
    }
    None
}

/// The place of the parenthesis that closes the one at `open`.
fn closing(tokens: &[&str], open: usize) -> Option<usize> {
    if *tokens.get(open)? != "(" {
        return None;
    }
    let mut depth = 0;
    for (i, t) in tokens.iter().enumerate().skip(open) {
        match *t {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(i);
        }
    }
    None
}

/// Reads a simple prototype off preprocessed text. It is a guess for [`agree`] to confirm.
pub fn guess(text: &str, name: &str) -> Option<Prototype> {
    let tokens = tokens(text);
    let mut depth = 0;
    let mut start = 0;
    for (i, t) in tokens.iter().enumerate() {
        match *t {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth != 0 {
            continue;
        }
        if matches!(*t, ";" | "}") || t.starts_with('#') {
            start = i + 1;
        }
        if *t != name || tokens.get(i + 1) != Some(&"(") {
            continue;
        }
        let end = closing(&tokens, i + 1)?;
        if tokens.get(end + 1) == Some(&"{") {
            return prototype(&tokens, &tokens[start..i], &tokens[i + 2..end]);
        }
    }
    None
}

fn prototype(all: &[&str], before: &[&str], params: &[&str]) -> Option<Prototype> {
    let is_static = before.contains(&"static");
    let mut words = Vec::new();
    let mut i = 0;
    while i < before.len() {
        match before[i] {
            "__attribute__" | "__attribute" => i = closing(before, i + 1)?,
            "static" | "inline" | "extern" | "__inline" | "__inline__" | "_Noreturn" | MARKER => {}
            word => words.push(word),
        }
        i += 1;
    }
    let ret = match words.as_slice() {
        ["void"] => None,
        words if !words.contains(&"*") => {
            let c = words.join(" ");
            Some(CType {
                scalar: scalar(all, words, 0)?.name().into(),
                c,
            })
        }
        _ => return None,
    };
    let mut list = Vec::new();
    if !matches!(params, [] | ["void"]) {
        for param in params.split(|t| *t == ",") {
            list.push(parameter(all, param)?);
        }
    }
    Some(Prototype {
        ret,
        is_static,
        params: list,
        source: None,
    })
}

fn parameter(all: &[&str], tokens: &[&str]) -> Option<Param> {
    let bracket = tokens
        .iter()
        .position(|t| *t == "[")
        .unwrap_or(tokens.len());
    let (name, words) = tokens[..bracket].split_last()?;
    let stars = words.iter().filter(|t| **t == "*").count() + usize::from(bracket < tokens.len());
    let inner_arrays = tokens[bracket..].iter().filter(|t| **t == "[").count() > 1;
    if stars > 1 || inner_arrays || words.is_empty() || tokens.contains(&"(") {
        return None;
    }
    let star = words.iter().position(|t| *t == "*").unwrap_or(words.len());
    let scalar = scalar(all, &words[..star], 0)?;
    Some(Param {
        name: (*name).into(),
        c: words.join(" ") + if bracket < tokens.len() { " *" } else { "" },
        scalar: scalar.name().into(),
        pointer: stars == 1,
        is_const: stars == 1 && words[..star].contains(&"const"),
        restrict: tokens.iter().any(|t| t.contains("restrict")),
    })
}

/// The scalar type of C's words, through the text's own typedefs. Sizes are those of LP64; where they
/// differ, [`agree`] says no.
fn scalar(all: &[&str], words: &[&str], depth: usize) -> Option<ScalarType> {
    use ScalarType::*;
    let mut words: Vec<&str> = words
        .iter()
        .copied()
        .filter(|w| !QUALIFIERS.contains(w))
        .collect();
    words.sort_unstable();
    let unsigned = words.contains(&"unsigned");
    let longs = words.iter().filter(|w| **w == "long").count();
    let pick = |signed, other| Some(if unsigned { other } else { signed });
    if words
        .iter()
        .all(|w| ["unsigned", "signed", "long", "int", "short", "char"].contains(w))
    {
        return match () {
            () if words.is_empty() => None,
            () if words.contains(&"char") => pick(I8, U8),
            () if words.contains(&"short") => pick(I16, U16),
            () if longs > 0 => pick(I64, U64),
            () => pick(I32, U32),
        };
    }
    let [word] = words.as_slice() else {
        return None;
    };
    let known = match *word {
        "_Bool" | "bool" => I1,
        "float" => F32,
        "double" => F64,
        "size_t" | "uintptr_t" | "uint64_t" => U64,
        "ssize_t" | "ptrdiff_t" | "intptr_t" | "int64_t" => I64,
        "int8_t" => I8,
        "int16_t" => I16,
        "int32_t" => I32,
        "uint8_t" => U8,
        "uint16_t" => U16,
        "uint32_t" => U32,
        _ => {
            // `typedef WORDS word ;`, a few steps deep.
            let end = all
                .windows(2)
                .position(|w| w[0] == *word && w[1] == ";")
                .filter(|_| depth < 8)?;
            let start = all[..end]
                .iter()
                .rposition(|t| matches!(*t, ";" | "}" | "typedef"))?;
            (all[start] == "typedef").then_some(())?;
            return scalar(all, &all[start + 1..end], depth + 1);
        }
    };
    Some(known)
}

/// Identifiers, numbers and literals, and everything else one character at a time; a `#pragma` is one token.
fn tokens(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut tokens = Vec::new();
    let mut i = 0;
    while i < bytes.len() {
        let start = i;
        match bytes[i] {
            b' ' | b'\n' => {
                i += 1;
                continue;
            }
            b'#' => i += text[i..].find('\n').unwrap_or(text.len() - i),
            quote @ (b'"' | b'\'') => {
                i += 1;
                while i < bytes.len() && bytes[i] != quote {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                i = (i + 1).min(bytes.len());
            }
            c if c.is_ascii_alphanumeric() || c == b'_' => {
                while i < bytes.len() && (bytes[i].is_ascii_alphanumeric() || bytes[i] == b'_') {
                    i += 1;
                }
            }
            _ => i += text[i..].chars().next().map_or(1, char::len_utf8),
        }
        tokens.push(text.get(start..i).unwrap_or(""));
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "typedef unsigned char pixel ; typedef pixel px ; static inline int h(int v) { return v; } \
        __tensorize_kernel__ void blend(const px *restrict a, float w[], unsigned long n, _Bool on) \
        { h(1); } long long sum(const int *x, int n) { return 0; } void proto(int); void bad(int (*f)(int)) {}";

    #[test]
    fn marks_without_a_function_are_told() {
        assert!(marked_in_vain(SOURCE).is_empty());
        let mark = |rest: &str| marked_in_vain(&format!("int f(void); {MARKER} {rest}"));
        assert_eq!(mark("int table[3]; int g(int);"), ["int table [ 3 ]"]);
        assert_eq!(mark("struct s { int a; };"), ["struct s"]);
        assert_eq!(mark(""), [""]);
        assert!(mark("__attribute__((hot)) int g(int);").is_empty());
    }

    #[test]
    fn operators_are_called_by_their_signs() {
        let names = |text: &str| annotated(&text.replace("MARK", MARKER));
        for (text, name) in [
            ("MARK W &W::operator*=(float f) { }", "operator*="),
            ("MARK float W::operator()(float x) const { }", "operator()"),
            (
                "MARK bool operator<(const W &a, const W &b) { }",
                "operator<",
            ),
            ("MARK W::operator float() const { }", "operator float"),
            // In C it is a name like others.
            ("MARK int operator(int x) { return x; }", "operator"),
        ] {
            assert_eq!(names(text), [name], "{text}");
        }
    }

    #[test]
    fn a_function_that_is_only_declared_is_another_files() {
        let names = |text: &str| annotated(&text.replace("MARK", MARKER));
        assert!(names("MARK int f(int);").is_empty());
        assert!(
            names("MARK int f(int) __attribute__((pure)); int g(void) { return f(1); }").is_empty()
        );
        // What may be a definition is taken for one.
        for definition in [
            "int f(int a) { return a; }",
            "int f(a) int a; { return a; }",
            "int f(int a) __attribute__((pure)) { return a; }",
            "auto f(int a) -> int { return a; }",
        ] {
            assert_eq!(names(&format!("MARK int f(int); {definition}")), ["f"]);
        }
        let gone = |own: &str| {
            let text = format!(
                "{MARKER} int header(int); {MARKER} int f(int); {MARKER} int g(int x) {{ return x; }}"
            );
            marked_but_gone(&text, own)
        };
        assert_eq!(gone("TENSORIZE_KERNEL int f(int);"), ["f"]);
        assert!(gone("TENSORIZE_KERNEL int g(int x) { return f(x); }").is_empty());
    }

    #[test]
    fn simple_prototypes_are_read() {
        let p = guess(SOURCE, "blend").unwrap();
        let params: Vec<_> = p
            .params
            .iter()
            .map(|p| (p.name.as_str(), p.scalar.as_str(), p.pointer))
            .collect();
        assert_eq!(
            params,
            [
                ("a", "ui8", true),
                ("w", "f32", true),
                ("n", "ui64", false),
                ("on", "i1", false)
            ]
        );
        assert!(p.params[0].is_const && p.params[0].restrict && !p.params[1].is_const);
        assert!(guess(SOURCE, "h").unwrap().is_static);
        assert_eq!(guess(SOURCE, "sum").unwrap().ret.unwrap().scalar, "i64");
        assert_eq!(guess(SOURCE, "proto"), None);
        assert_eq!(guess(SOURCE, "bad"), None);
        assert_eq!(annotated(SOURCE), ["blend"]);
    }

    #[test]
    fn the_compiler_has_the_last_word() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("k.c"), SOURCE.replace(MARKER, "")).unwrap();
        let settings = Settings {
            dir: dir.path().to_path_buf(),
            ..Settings::default()
        };
        let right = guess(SOURCE, "blend").unwrap();
        let mut wrong = right.clone();
        wrong.params[0].scalar = "i8".into();
        let mut fewer = right.clone();
        fewer.params.pop();
        let sum = guess(SOURCE, "sum").unwrap();
        let list = [
            ("blend", &right),
            ("blend", &wrong),
            ("blend", &fewer),
            ("sum", &sum),
            ("none", &sum),
        ];
        let answers = agree(&settings, Path::new("k.c"), &list, dir.path());
        assert_eq!(answers, [true, false, false, true, false]);
    }

    #[test]
    fn rust_types_are_as_bindgen_gives_them() {
        assert_eq!(
            rust_type("const unsigned char *", ScalarType::U8),
            "::core::ffi::c_uchar"
        );
        assert_eq!(rust_type("uint8_t", ScalarType::U8), "u8");
        assert_eq!(rust_type("int", ScalarType::I32), "::core::ffi::c_int");
        assert_eq!(rust_type("size_t", ScalarType::U64), "usize");
        assert_eq!(rust_type("float *restrict", ScalarType::F32), "f32");
        assert_eq!(rust_type("real_t", ScalarType::F64), "f64");
    }
}
