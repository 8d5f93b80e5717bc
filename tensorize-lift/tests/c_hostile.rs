//! C that means to hurt: nothing crashes, nothing hangs, and the error says where and what to do.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tensorize_lift::c::{Parsed, Problem, parse_within};

/// Far more than any of these takes, and less than one that does not end.
const LIMIT: Duration = Duration::from_secs(120);

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

fn parsed(text: impl AsRef<[u8]>) -> Result<Vec<Parsed>, Problem> {
    let folder = Folder::new();
    parse_within(LIMIT, &folder.put("k.c", text), &[])
}

/// What is said of the file, or of its only function; `None` if there is nothing to say.
fn problem(result: Result<Vec<Parsed>, Problem>) -> Option<Problem> {
    match result {
        Err(problem) => Some(problem),
        Ok(functions) => functions.into_iter().find_map(|f| f.lowered.err()),
    }
}

/// A place, a cause and a remedy.
fn is_told(problem: &Problem, what: &str, line: u32) {
    let span = problem.span.as_ref().expect(what);
    assert!(span.file.ends_with("k.c"), "{what}: {problem:?}");
    assert_eq!(span.line, line, "{what}: {problem:?}");
    assert!(problem.help.is_some(), "{what}: {problem:?}");
    assert!(
        problem.message.len() < 400,
        "{what}: {}",
        problem.message.len()
    );
}

#[test]
fn ten_thousand_levels() {
    let nest = |n: usize, open: &str, inner: &str, close: &str| {
        format!(
            "\nint f(int a) {{ {}{inner}{} return a; }}\n",
            open.repeat(n),
            close.repeat(n)
        )
    };
    for (open, inner, close) in [
        ("(", "a;", ")"),
        ("{", "a++;", "}"),
        ("if (a) ", "a++;", ""),
        ("if (a) a++; else ", "a--;", ""),
        ("while (a) ", "a--;", ""),
        ("for (;;) ", "a--;", ""),
        ("a = - ", "a;", ""),
        ("a = ", "a;", ""),
        ("!", "a;", ""),
        ("(int)", "a;", ""),
        ("a ? 1 : ", "2;", ""),
        ("a + ", "a;", ""),
        ("a[", "0;", "]"),
        ("struct s {", "int x; ", "} y;"),
        ("switch (a) case 1: ", "a++;", ""),
        ("do ", "a++;", "while (a);"),
    ] {
        for n in [10_000, 200_000] {
            let what = format!("{n} times {open}");
            let said = problem(parsed(nest(n, open, inner, close))).expect(&what);
            is_told(&said, &what, 2);
        }
    }
    // Types nest, too, and are as good as any where they are not used.
    parsed(format!(
        "int f(int {}p, int q{}) {{ return 0; }}",
        "*".repeat(10_000),
        "[1]".repeat(1_000)
    ))
    .unwrap();
}

#[test]
fn what_expands_without_an_end_is_given_up() {
    let folder = Folder::new();
    let mut macros = "#define A0 + a\n".to_string();
    for n in 1..60 {
        macros += &format!("#define A{n} A{0} A{0}\n", n - 1);
    }
    let file = folder.put("k.c", format!("{macros}int f(int a) {{ return a A59; }}\n"));
    let said = parse_within(Duration::from_secs(2), &file, &[]).unwrap_err();
    is_told(&said, "macros", 1);
    assert!(said.message.contains("more than 1 s"), "{}", said.message);
    let help = said.help.unwrap();
    assert!(help.contains("macros"), "{help}");
}

/// Each level has twice as many members as the one below: what was asked of all of them took minutes.
#[test]
fn structs_of_two_structs_of_two_structs() {
    let start = Instant::now();
    for (first, second) in [("int", "int"), ("int", "float")] {
        let mut structs = format!("struct s0 {{ {first} x; {second} y; }};\n");
        for n in 1..25 {
            structs += &format!("struct s{n} {{ struct s{0} x, y; }};\n", n - 1);
        }
        let path = vec!["x"; 25].join(".");
        for (f, is_refused) in [
            ("int f(struct s24 *p, int a) { return a; }".into(), false),
            (
                format!("int f(struct s24 *p) {{ return p->{path}; }}"),
                true,
            ),
            (
                format!("int f(struct s24 *p, int i) {{ return p[i].{path}; }}"),
                true,
            ),
            (
                format!("int f(struct s24 p) {{ struct s24 q = p; return q.{path}; }}"),
                true,
            ),
        ] {
            match problem(parsed(format!("{structs}{f}\n"))) {
                Some(said) if is_refused => {
                    is_told(&said, &f, 26);
                    assert!(
                        said.message.contains("4096 members"),
                        "{f}: {}",
                        said.message
                    );
                }
                said => assert_eq!((said, is_refused), (None, false), "{f}"),
            }
        }
    }
    // In C++, so may what they are derived from, and pairs.
    let derived = "template<int N> struct S : S<N - 1> { S<N - 1> x; };\ntemplate<> struct S<0> { int v; float w; };\n\
                   int f(S<24> *p, int n) { S<24> q = *p; return p[n].v + q.v; }\n";
    let folder = Folder::new();
    let functions = parse_within(LIMIT, &folder.put("k.cpp", derived), &[]).unwrap();
    assert!(functions[0].lowered.is_err());
    assert!(start.elapsed() < LIMIT / 4, "{:?}", start.elapsed());
}

/// Many are loops of nobody's, and took the square of their number in time.
#[test]
fn loops_in_loops_in_loops() {
    let nest = |n: usize, inner: &str| {
        let loops = (0..n).map(|i| format!("for (int i{i} = 0; i{i} < n; i{i}++) "));
        loops.collect::<String>() + inner
    };
    let of = |n, inner: &str| format!("\nvoid f(int n, int *a) {{ {} }}\n", nest(n, inner));
    assert_eq!(problem(parsed(of(127, "a[0]++;"))), None);
    let helper = format!(
        "static void g(int n, int *a) {{ {} }}",
        nest(100, "a[0]++;")
    );
    for text in [
        of(128, "a[0]++;"),
        of(400, "a[0]++;"),
        helper + &of(100, "g(n, a);"),
    ] {
        let said = problem(parsed(&text)).expect("they are too many");
        assert!(
            said.message.contains("more than 127 loops"),
            "{}",
            said.message
        );
        assert!(said.span.is_some() && said.help.is_some(), "{said:?}");
    }
}

#[test]
fn includes_in_a_circle() {
    let folder = Folder::new();
    for (text, line) in [
        ("#include \"k.c\"\nint f(int a) { return a; }\n", 1),
        (
            "#include \"k.c\"\n#include \"k.c\"\nint f(int a) { return a; }\n",
            1,
        ),
        ("\n#include \"h.h\"\nint f(int a) { return a; }\n", 0),
    ] {
        folder.put("h.h", "#include \"k.c\"\n");
        let file = folder.put("k.c", text);
        let said = problem(parse_within(LIMIT, &file, &[])).expect(text);
        assert!(
            said.message.contains("#include nested too deeply"),
            "{}",
            said.message
        );
        if line > 0 {
            is_told(&said, text, line);
        }
    }
}

#[test]
fn a_hundred_megabytes() {
    let folder = Folder::new();
    let path = folder.put("k.c", "int f(int a) { return a; }\n");
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_len(100 << 20).unwrap();
    let said = parse_within(LIMIT, &path, &[]).unwrap_err();
    is_told(&said, "large", 1);
    assert!(said.message.contains("100 MiB"), "{}", said.message);
    // As large as it may be, nearly: a table.
    let table = "1, ".repeat(1_000_000);
    let functions = parsed(format!(
        "const int t[] = {{ {table} }};\nint f(int i) {{ return i; }}\n"
    ))
    .unwrap();
    assert!(functions[0].lowered.is_ok());
}

#[test]
fn text_that_is_none() {
    // Comments and literals may hold what they like.
    let bytes = b"/* \xff\xfe */ int f(int a) { return a + 1; }\n// \xc0\x80\n";
    assert!(parsed(bytes).unwrap()[0].lowered.is_ok());
    for (text, line) in [
        (&b"\nint \xff\xfe(int a) { return a; }\n"[..], 2),
        (b"int f(int a) { return \xff; }\n", 1),
        (b"\n\nint f(int a) { return a \0\0 + ; }\n", 3),
        (b"int f(int a) { return a; \"", 1),
        (b"int f(int a) { /*", 1),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0", 1),
    ] {
        let said = problem(parsed(text)).expect("it is no C");
        is_told(&said, &String::from_utf8_lossy(text), line);
    }
    assert!(parse_within(LIMIT, Path::new("/"), &[]).is_err());
}

#[test]
fn huge_literals() {
    for body in [
        format!("return {};", "9".repeat(100_000)),
        format!("return a + 0x{};", "f".repeat(100_000)),
        "return a << 99999;".into(),
        "return a + 99999999999999999999999999999999;".into(),
        "int b[99999999999999999]; b[0] = a; return b[0];".into(),
        "int b[9223372036854775807]; b[0] = a; return b[0];".into(),
        format!("return \"{}\"[a];", "x".repeat(1_000_000)),
        "return a / (1e9999999 > 0);".into(),
        format!("return (int)1{}.0;", "0".repeat(100_000)),
        "enum { E = 9223372036854775807 + 1 }; return E;".into(),
        format!("return a + '{}';", "x".repeat(100_000)),
        format!("int {0}; {0} = a; return {0};", "n".repeat(100_000)),
        "int s = 0; for (long long i = 0; i < 9223372036854775807LL; i++) s += a; return s;".into(),
        "int s = 0; for (unsigned long i = 0; i <= 18446744073709551615UL; i++) s += a; return s;"
            .into(),
    ] {
        let what: String = body.chars().take(60).collect();
        if let Some(said) = problem(parsed(format!("\nint f(int a) {{ {body} }}\n"))) {
            is_told(&said, &what, 2);
        }
    }
}
