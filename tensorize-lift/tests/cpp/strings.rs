//! Strings and views of them: what is read, and which characters change.

use super::{lowers, refuses};

fn with_strings(source: &str) -> String {
    format!("#include <string>\n#include <string_view>\n{source}")
}

const COUNTING: &str = "{ int n = 0; for (char c : a) n += c == 'x'; return n; }";

#[test]
fn a_string_is_an_array_of_characters_and_a_size() {
    for (ty, array) in [
        ("const std::string &", "const i8 *"),
        ("std::string", "const i8 *restrict "),
        ("std::string_view", "const i8 *"),
        ("const std::string_view &", "const i8 *"),
    ] {
        lowers(
            &with_strings(&format!("int f({ty} a) {COUNTING}")),
            &format!(
                "i32 f({array}a, i64 a_size) {{
                   i32 n = 0;
                   i64 k = 0;
                   while (k < a_size) {{ i8 c = a[k]; n = n + (i32)((i32)c == 120); k = k + 1; }}
                   return n;
                 }}"
            ),
        );
    }
}

#[test]
fn what_a_string_is_asked_for() {
    lowers(
        &with_strings(
            "void f(const std::string &a, long *o) { o[0] = a.size(); o[1] = a.length(); o[2] = a.empty(); o[3] = a.c_str()[1]; o[4] = a.data()[2]; o[5] = a.back(); }",
        ),
        "void f(const i8 *a, i64 a_size, i64 *o) {
           o[0] = (i64)(ui64)a_size;
           o[1] = (i64)(ui64)a_size;
           o[2] = (i64)(a_size == 0);
           o[3] = (i64)a[1];
           o[4] = (i64)a[2];
           o[5] = (i64)a[a_size - 1];
         }",
    );
}

#[test]
fn a_view_is_the_string_itself() {
    for source in [
        "int f(const std::string &a) { std::string_view b = a; return b[1]; }",
        "int f(const std::string &a) { std::string_view b(a.data() + 1, a.size() - 1); return b[0]; }",
        "int f(const std::string &a) { const std::string b = a; return b[1]; }",
    ] {
        lowers(
            &with_strings(source),
            "i32 f(const i8 *a, i64 a_size) { return (i32)a[1]; }",
        );
    }
    lowers(
        &with_strings(
            "static int g(std::string_view a) { return a[1]; } int f(const std::string &a) { return g(a); }",
        ),
        "i32 f(const i8 *a, i64 a_size) { i32 g = (i32)a[1]; return g; }",
    );
}

#[test]
fn the_characters_of_a_string_may_change() {
    for (ty, body) in [
        ("std::string &", "for (char &c : a) c = 'x';"),
        ("std::string &&", "for (char &c : a) c = 'x';"),
        (
            "std::string &",
            "std::string &b = a; for (char &c : b) c = 'x';",
        ),
    ] {
        lowers(
            &with_strings(&format!("void f({ty}a) {{ {body} }}")),
            "void f(i8 *a, i64 a_size) { i64 k = 0; while (k < a_size) { a[k] = 120; k = k + 1; } }",
        );
    }
}

#[test]
fn strings_whose_length_changes_are_refused() {
    for (first, code, words) in [
        ("a.push_back('x');", "TZ0230", "the length of 'a'"),
        ("a.pop_back();", "TZ0230", "the length of 'a'"),
        ("a.resize(3);", "TZ0230", "the length of 'a'"),
        ("a.clear();", "TZ0230", "the length of 'a'"),
        ("a = b;", "TZ0230", "the length of 'a'"),
        ("a = \"abc\";", "TZ0230", "the length of 'a'"),
        ("a.swap(a);", "TZ0230", "the length of 'a'"),
        ("a.erase(a.begin());", "TZ0230", "the length of 'a'"),
        (
            "auto g = [&] { a.push_back('x'); }; g();",
            "TZ0230",
            "the length of 'a'",
        ),
        (
            "std::string &c = a; c.push_back('x');",
            "TZ0230",
            "the length of 'a'",
        ),
        ("a += 'x';", "TZ0230", "a string grows"),
        ("a.append(3, 'x');", "TZ0207", "append"),
        ("a.replace(0, 1, b);", "TZ0207", "replace"),
        // A copy of what changes later.
        (
            "std::string c = a; a[0] = 'x'; a[1] = c[0];",
            "TZ0230",
            "'c' is a copy",
        ),
        (
            "std::string c = b; a[0] = 'x'; c[1] = 'y';",
            "TZ0230",
            "'c' is a copy",
        ),
        ("std::string c = std::move(a);", "TZ0230", "moved from"),
    ] {
        let source = format!(
            "int f(std::string &a, const std::string &b) {{ {first} return a[0] + b[0]; }}"
        );
        refuses(&with_strings(&source), code, words);
    }
}

#[test]
fn strings_that_change_are_refused() {
    for (parameter, first, code, words) in [
        ("std::string a", "a[0] = 'x';", "TZ0230", "'a' is a copy"),
        (
            "std::string a",
            "for (char &c : a) c = 'x';",
            "TZ0230",
            "'a' is a copy",
        ),
        ("std::string a", "a.push_back('x');", "TZ0207", "push_back"),
        ("std::string a", "a.resize(3);", "TZ0207", "resize"),
        ("std::string a", "a.clear();", "TZ0207", "clear"),
        ("std::string a", "a += 'x';", "TZ0230", "a string grows"),
        (
            "std::string_view a",
            "a.remove_prefix(1);",
            "TZ0207",
            "remove_prefix",
        ),
        (
            "std::string_view a",
            "a = a.substr(1);",
            "TZ0217",
            "assigned",
        ),
        (
            "const std::string &b",
            "std::string a = b; a[0] = 'x';",
            "TZ0230",
            "'a' is a copy",
        ),
    ] {
        let body = COUNTING.trim_start_matches('{');
        refuses(
            &with_strings(&format!("int f({parameter}) {{ {first} {body}")),
            code,
            words,
        );
    }
}

#[test]
fn other_strings_are_refused() {
    let counted = format!("static int g(std::string_view a) {COUNTING}");
    for (source, code) in [
        // Where the characters end is not what the type says.
        (format!("{counted} int f(int) {{ return g(\"axx\"); }}"), "TZ0207"),
        (format!("{counted} int f(const char *p) {{ return g(p); }}"), "TZ0207"),
        ("int f(const std::string &a) { std::string b(a, 1); return b[0]; }".into(), "TZ0207"),
        ("int f(const std::string &a, const std::string &b) { return a == b; }".into(), "TZ0220"),
        ("int f(const std::string &a) { return a.find('x'); }".into(), "TZ0207"),
        ("std::string f(const std::string &a) { return a; }".into(), "TZ0217"),
        ("int f(const std::vector<std::string> &a) { return a[0][0]; }".into(), "TZ0217"),
        (
            "struct up : std::char_traits<char> {}; int f(const std::basic_string<char, up> &a) { return a[0]; }".into(),
            "TZ0213",
        ),
    ] {
        refuses(&with_strings(&source), code, "");
    }
}
