//! Static variables of a function: which ones are like any others, because every call sets them before it reads them, on
//! every path through the text; and which ones may keep a value.

use tensorize_lift::c::parse;

/// Why the function `f` is refused, if it is.
fn problem(source: &str, name: &str) -> Option<(&'static str, String)> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, source).unwrap();
    let functions = parse(&file, &[]).unwrap();
    let f = functions.into_iter().find(|f| f.name == "f");
    let f = f.unwrap_or_else(|| panic!("{source}"));
    f.lowered.err().map(|p| (p.code, p.message))
}

fn is_like_others(body: &str) {
    let source = format!(
        "#define PUT(v, e) do {{ v = e; }} while (0)\n\
         #define LARGER(a, b) ((a) >= (b) ? (a) : (b))\n\
         void report(int);\n\
         double sqrt(double);\n\
         static int twice(int a) {{ return 2 * a; }}\n\
         int f(int n, int *a) {{ {body} }}\n"
    );
    assert_eq!(problem(&source, "kernel.c"), None, "{source}");
}

fn may_keep(source: &str) {
    let (code, message) = problem(source, "kernel.c").expect(source);
    assert_eq!(code, "TZ0215", "{source}\n{message}");
}

#[test]
fn assigned_on_every_path() {
    is_like_others("static int x; x = n; return x + 1;");
    is_like_others("static int x = 5; x = n; a[x] = x; return 0;");
    is_like_others("static int x; if (n > 3) x = 1; else x = 2; a[0] = x; return x;");
    is_like_others("static int x; if (n > 3) return 0; x = 1; return x;");
    is_like_others("static int x; switch (n) { case 1: x = 1; break; default: x = 3; } return x;");
    is_like_others("static int x, i; for (i = 0; i < n; i++) { x = a[i]; a[i] = x; } return i;");
    is_like_others("static int i; i = 0; while (i < n) { a[i] = 0; ++i; } return i;");
    is_like_others("static int x; PUT(x, n + 1); return x;");
    is_like_others("static int x; do { x = a[0]; } while (x < 0 && 0); return x;");
    is_like_others("static int x, y; x = y = n; return x + y;");
    is_like_others("static int x; a[0] = (x = n, x + 1); return 0;");
    is_like_others("static int x; if ((x = n) > 3) return x; return 0;");
    is_like_others("static int x; if (n > 3) goto last; x = n; a[0] = x; last: return 0;");
    is_like_others("static int x; x = twice(n); return twice(x) + x;");
    is_like_others("static int x; x = n; a[0] = sqrt(x + 1.0) + x; return 0;");
    // That the report may come back here is no matter: x is set again before it is read.
    is_like_others("static int x; x = n; if (n < 0) { report(x); return 1; } a[0] = x; return 0;");
}

#[test]
fn not_assigned_on_some_path() {
    let keeps = |body: &str| may_keep(&format!("int f(int n, int *a) {{ {body} }}"));
    keeps("static int calls; return n + calls++;");
    keeps("static int x; x += n; return x;");
    keeps("static int x; if (n > 3) x = 1; return x;");
    // Also where no call for which other code runs gets there.
    keeps(
        "static int x; if (n <= 0) return x; x = n; for (int i = 0; i < n; i++) a[i] = x; return 0;",
    );
    keeps("static int x; for (int i = 0; i < n; i++) x = a[i]; return x;");
    keeps("static int x = 2; for (int i = 0; i < n; i++) { a[i] = x; x = i; } return 0;");
    keeps(
        "static int x; for (int i = 0; i < n; i++) { if (a[i]) continue; x = 1; } a[0] = x; return 0;",
    );
    keeps(
        "static int x; for (int i = 0; i < n; i++, a[i] = x) { if (a[i]) continue; x = 1; } return 0;",
    );
    keeps("static int x; do { if (a[0]) break; x = 1; } while (0); return x;");
    keeps("static int x; while (1) { if (n > 2) { break; } x = n; n = 3; } return x;");
    keeps("static int x; switch (n) { case 1: x = 1; break; case 2: x = 3; } return x;");
    keeps("static int x; switch (n) { case 1: x = 1; case 2: a[0] = x; } return 0;");
    keeps("static int x; n > 2 && (x = 3); return x;");
    keeps("static int x; n > 2 || (x = 3); return x;");
    keeps("static int x; a[0] = n > 2 ? (x = 3) : 4; return x;");
    keeps("static int x; if (n > 3) goto on; x = 2; on: return x;");
    keeps("static int x; again: if (n > 3) { return x; } x = 1; n = 4; goto again;");
}

#[test]
fn seen_by_others() {
    may_keep("int f(int n, int *a) { static int x; x = n; int *p = &x; a[0] = *p; return x; }");
    may_keep(
        "void keep(int *);\nint f(int n) { static int x; x = n; if (n < 0) { keep(&x); return 1; } return x; }",
    );
    // The report may call f, which sets x to something else.
    may_keep(
        "void report(int);\nint f(int n) { static int x; x = n; if (n < 0) { report(n); return x; } return 0; }",
    );
    may_keep(
        "void report(int);\nstatic int g(int n) { report(n); return n; }\n\
         int f(int n) { static int x; x = n; if (n < 0) { g(n); report(x); return 1; } return 0; }",
    );
    may_keep("int f(int n) { static _Thread_local int x; x = n; return x; }");
    may_keep(
        "static int g(int n) { static int x; x = n; return x + 1; }\nint f(int n) { return g(n); }",
    );
    // What there is in memory, and what is no number.
    may_keep("int f(int n, int *a) { static int t[4]; t[0] = n; a[0] = t[0]; return 0; }");
}

#[test]
fn where_it_can_not_be_followed() {
    let refused = |body: &str| {
        let source = format!("int f(int n, int *a) {{ {body} }}");
        assert!(problem(&source, "kernel.c").is_some(), "{source}");
    };
    refused("static int x; goto middle; for (; n < 9; n++) { x = n; middle: a[n] = x; } return 0;");
    refused("static int x; int t[x]; x = 1; t[0] = x; a[0] = t[0]; return 0;");
    refused("static int x; x = n; int t[x]; t[0] = x; a[0] = t[0]; return 0;");
    refused("static int x; a[0] = sizeof(int[x]); x = 1; return x;");
    refused("static int x; int (*p)[x] = 0; x = 1; return x;");
    refused("static int x; __typeof__(x) y = 1; x = y; return x;");
    refused("static int x; a[0] = __builtin_constant_p(x = 1); return x;");
    refused("static int x; a[0] = sizeof(x = 1); return x;");
    refused("static int x; a[0] = ({ if (n) goto out; x = 1; x; }); out: return x;");
    let cpp = "int f(int n) { static int x; x = n; return x + 1; }";
    assert!(problem(cpp, "kernel.cpp").is_some(), "{cpp}");
}

/// Two calls at the same time would share the variable, which whoever makes bindings for other languages has to know.
#[test]
fn it_is_known_to_callers() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("kernel.c");
    let source = "int f(int n) { static int y, x; y = n; x = y; return x + 1; }\nint g(int n) { return n; }\n";
    std::fs::write(&file, source).unwrap();
    let shared = |name: &str| {
        let functions = parse(&file, &[]).unwrap();
        let f = functions.into_iter().find(|f| f.name == name).unwrap();
        f.signature.unwrap().source.and_then(|s| s.shared)
    };
    assert_eq!(shared("f").as_deref(), Some("x"));
    assert_eq!(shared("g"), None);
}
