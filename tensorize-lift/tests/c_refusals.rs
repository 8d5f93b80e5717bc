//! What is refused, with which code, on which line, and that the rest of the file goes on.

mod common;

use std::path::Path;
use tensorize_lift::c::{CODES, Parsed, parse};

fn parsed(source: &str, args: &[&str]) -> Vec<Parsed> {
    common::parsed("kernel.c", source, args)
}

/// The function `f` is refused with this code, on the line that contains `here`, in words that
/// contain `word`; the function after it is not.
fn refuses(source: &str, code: &str, here: &str, word: &str) {
    let all = format!("{source}\nint after(int x) {{ return x + 1; }}\n");
    let functions = parsed(&all, &[]);
    let f = functions
        .iter()
        .find(|f| f.name == "f")
        .unwrap_or_else(|| panic!("{source}"));
    let problem = f.lowered.as_ref().expect_err(source);
    assert_eq!(problem.code, code, "{source}\n{}", problem.message);
    let line = all[..all.find(here).unwrap()].lines().count().max(1);
    let starts_line = all.find(here).unwrap() > 0 && all[..all.find(here).unwrap()].ends_with('\n');
    let line = (line + usize::from(starts_line)) as u32;
    assert_eq!(
        problem.span.as_ref().map(|s| s.line),
        Some(line),
        "{source}\n{}",
        problem.message
    );
    assert!(problem.message.contains(word), "{}", problem.message);
    assert!(problem.help.is_some(), "{source}");
    let after = functions.iter().find(|f| f.name == "after").unwrap();
    if !problem.message.contains("after") {
        assert!(after.lowered.is_ok(), "{source}");
    }
}

#[test]
fn constructs_without_a_counterpart() {
    refuses(
        "int f(int n) {\n return n < 2 ? n : f(n - 1); }",
        "TZ0204",
        "return n",
        "'f' calls itself",
    );
    refuses(
        "int g(int);\nint f(int n) { return g(n); }\nint g(int n) {\n return f(n); }",
        "TZ0204",
        "return f(n)",
        "'f' calls itself",
    );
    refuses(
        "int f(int n) {\nagain: if (n--) goto again; return n; }",
        "TZ0205",
        "goto again",
        "jumps back",
    );
    refuses(
        "int f(int n) { if (n)\n goto in; for (int i = 0; i < 3; i++) { in: n++; } return n; }",
        "TZ0205",
        "goto in",
        "into a block",
    );
    refuses(
        "void f(volatile int *p, int n) {\n for (int i = 0; i < n; i++) p[i] = 0; }",
        "TZ0206",
        "volatile int",
        "volatile",
    );
    refuses(
        "void f(int n) {\n volatile int x = n; }",
        "TZ0206",
        "volatile int x",
        "volatile",
    );
    refuses(
        "void f(_Atomic int *p) { *p = 1; }",
        "TZ0206",
        "_Atomic",
        "atomic",
    );
    refuses(
        "int other(int);\nint f(int n) { return other(n); }",
        "TZ0207",
        "return other",
        "'other'",
    );
    refuses(
        "#include <stdio.h>\nvoid f(int n) { printf(\"%d\", n); }",
        "TZ0208",
        "printf(\"",
        "'printf' does input",
    );
    refuses(
        "int f(int (*g)(int), int n) { return g(n); }",
        "TZ0209",
        "int f(",
        "function pointer",
    );
    refuses(
        "static int g(int n) { return n; }\nint f(int n) { int (*h)(int) = g;\n return h(n); }",
        "TZ0209",
        "int (*h)",
        "function",
    );
    refuses(
        "#include <setjmp.h>\njmp_buf b;\nint f(int n) { return setjmp(b); }",
        "TZ0210",
        "return setjmp",
        "jumps",
    );
    refuses(
        "int f(int n) {\n __asm__(\"nop\"); return n; }",
        "TZ0211",
        "__asm__",
        "assembly",
    );
    refuses(
        "int f(int n, ...) { return n; }",
        "TZ0212",
        "int f(",
        "variadic",
    );
    refuses(
        "union s { int x; float y; };\nint f(union s *p) { return p->x; }",
        "TZ0213",
        "int f(",
        "union",
    );
    refuses(
        "struct s { int x : 9; float y; };\nint f(struct s *p) {\n return p[1].y; }",
        "TZ0213",
        "return p[1]",
        "array of structs",
    );
    refuses(
        "struct s { struct { int x; union { int a; float b; }; } t; };\nint f(struct s *p) {\n return p->t.a; }",
        "TZ0213",
        "return p->t.a",
        "not",
    );
    refuses(
        "struct s { int a[2]; void (*of)(void); };\nstatic int g(struct s c, int *a) { a[0] = 1; return c.a[0]; }\nint f(struct s *p) {\n return g(*p, p->a); }",
        "TZ0213",
        "struct s c",
        "copy",
    );
    refuses(
        "struct s { int n; };\nstatic void g(struct s *p) { p->n = 1; }\nint f(struct s *p) { struct s c = *p; g(p); return c.n; }",
        "TZ0213",
        "p->n = 1",
        "copied",
    );
    refuses(
        "struct s { int *x; };\nvoid f(struct s *p) {\n p->x++; }",
        "TZ0220",
        "p->x++",
        "pointer",
    );
    refuses(
        "struct s { int n; };\nstatic int g(struct s c) { c.n--; return c.n; }\nint f(struct s *p) { int k = g(*p); return k + p->n; }",
        "TZ0213",
        "struct s c",
        "copy",
    );
    refuses(
        "struct s { int x; void (*p)(void); };\nint f(int n) { struct s v;\n v.x = n; return v.x; }",
        "TZ0213",
        "struct s v",
        "struct",
    );
    refuses(
        "struct s { int x, y; };\nstatic void g(int *p) { *p = 1; }\nint f(int n) {\n struct s v = {n}; g(&v.y); return v.x; }",
        "TZ0213",
        "struct s v",
        "address of 'y'",
    );
    refuses(
        "void f(int n) {\n int *t[n]; t[0] = 0; }",
        "TZ0220",
        "int *t[n]",
        "pointer",
    );
    refuses(
        "float *at;\nvoid f(int n) {\n for (int i = 0; i < n; i++) *at++ = 0; }",
        "TZ0215",
        "for (int i",
        "'at' is a pointer outside of the function, and is changed here",
    );
    refuses(
        "_Thread_local int count;\nvoid f(int n) {\n count += n; }",
        "TZ0215",
        "count += n",
        "'count' is another variable in every thread",
    );
    refuses(
        "extern const int count;\nint f(int n) {\n return count + n; }",
        "TZ0215",
        "return count",
        "'count' is constant",
    );
    refuses(
        "extern int a[];\nint f(int n) {\n return a[n]; }",
        "TZ0217",
        "return a",
        "'a', outside of the function, has no fixed length",
    );
    refuses(
        "struct p { int x; float y; } a[4];\nint f(int n) {\n return a[n].x; }",
        "TZ0213",
        "return a",
        "struct",
    );
    refuses(
        "int n;\nstatic void stop(void) { n = 0; }\nvoid f(int *x) {\n for (int i = 0; i < n; i++) x[i] = 0; stop(); }",
        "TZ0215",
        "int n",
        "'n' is changed by a helper function",
    );
    // Of this name, but anybody's.
    refuses(
        "void terminate(int *);\nvoid f(int *x, int n) { if (n < 1) terminate(x); x[0] = n; }",
        "TZ0207",
        "terminate(x)",
        "is not defined in this file",
    );
    refuses(
        "int f(int n) { static int calls; return n + calls++; }",
        "TZ0215",
        "int f(",
        "'calls'",
    );
    refuses(
        "int f(int n) {\n return \"\\x61\"[n]; }",
        "TZ0216",
        "return \"",
        "string",
    );
    // With trigraphs, the second character is a backslash.
    refuses(
        "int f(int n) {\n return \"a??/n\"[n]; }",
        "TZ0216",
        "return \"",
        "string",
    );
    refuses(
        "long double f(long double x) { return x; }",
        "TZ0217",
        "long double f",
        "long double",
    );
    refuses(
        "double f(_Complex double x) { return x; }",
        "TZ0217",
        "double f(",
        "_Complex",
    );
    refuses(
        "__int128 f(__int128 x) { return x; }",
        "TZ0217",
        "__int128 f",
        "__int128",
    );
    refuses(
        "void f(float **a, float **b, int n) { float **p = n > 3 ? a :\n b; p[0][0] = 1; }",
        "TZ0218",
        "void f(",
        "two arrays",
    );
    refuses(
        "void f(float *a, float *b, int n) { for (int i = 0; i < n; i++) {\n a = b; a[0]++; } }",
        "TZ0218",
        "void f(",
        "another array",
    );
    // It looks as if they changed places.
    refuses(
        "static void swap(float *p, float *q) { float *t = p; p = q; q = t; }\n\
         void f(float *a, float *b, int n) { for (int i = 0; i < n; i++) {\n a[0]++; swap(a, b); } }",
        "TZ0218",
        "void f(",
        "another array",
    );
    refuses(
        "void f(float *a, float *b, int n) { for (int i = 0; i < n; i++) {\n float *t = a; a = b; b = t; a[0]++;\n\
         if (n > 3) { t = a; a = b; b = t; } } }",
        "TZ0218",
        "void f(",
        "another array",
    );
    refuses(
        "int f(const float *x) {\n return *(const short *)x; }",
        "TZ0219",
        "return *",
        "f32",
    );
    refuses(
        "void f(float **rows, int n) {\n float *x = (float *)rows; for (int i = 0; i < n; i++) x[i] = 0; }",
        "TZ0219",
        "(float *)rows",
        "a table of row pointers",
    );
    refuses(
        "void f(void *p, int n) {\n float *a = (float *)p; int *b = (int *)p; for (int i = 0; i < n; i++) { a[i] = 1; b[i] = 2; } }",
        "TZ0217",
        "void f(",
        "points to void",
    );
    refuses(
        "void f(const void *w, int *y, int n) {\n for (int i = 0; i < n; i++) { y[i] = *(const int *)w; w = (const int *)w + 1;\n y[i] += *(const short *)w; w = (const short *)w + 1; } }",
        "TZ0217",
        "void f(",
        "points to void",
    );
    refuses(
        "void f(const void *w, const void *v, int *y, int n) {\n w = v; for (int i = 0; i < n; i++) y[i] = ((const int *)w)[i]; }",
        "TZ0217",
        "void f(",
        "points to void",
    );
    for members in ["float a; int b;", "float a, b;"] {
        let source = format!(
            "struct s {{ {members} }};\nvoid f(const struct s *p, float *o, int n, int by) {{ for (int i = 0; i < n; i++) {{\n o[i] = p->a; p = (const void *)((unsigned long)p + by); }} }}"
        );
        refuses(&source, "TZ0220", "p = (const void *)", "a number");
    }
    refuses(
        "static int none() { return 0; }\nint f(int n) { return none(1, n); }",
        "TZ0203",
        "none(1",
        "gets 2 arguments",
    );
    refuses(
        "struct s { int n : 4; float *x; };\nvoid f(const struct s *p) { for (int i = 0; i < p->n; i++) p->x[i] = 0; }",
        "TZ0213",
        "p->n",
        "bit-field",
    );
    refuses(
        "void f(const int *a, int n) {\n int *b = (int *)a; for (int i = 0; i < n; i++) b[i] = 0; }",
        "TZ0220",
        "void f(",
        "const",
    );
    refuses(
        "int f(float **x) { if (!x[0])\n return 0; return 1; }",
        "TZ0220",
        "int f(",
        "null",
    );
    refuses(
        "int f(const float *x) { if (x > (float *)0)\n return 0; return 1; }",
        "TZ0220",
        "int f(",
        "NULL",
    );
    refuses(
        "float f(float **x, int n) { float s = 0; for (float **p = x;\n p < x + n; p++) s += (*p)[0]; return s; }",
        "TZ0220",
        "p < x + n",
        "row pointers",
    );
    refuses(
        "int f(int i) {\n i = i++ + 1; return i; }",
        "TZ0221",
        "i = i++",
        "order",
    );
    refuses(
        "void f(int *a, int i) {\n a[i] = i++; }",
        "TZ0221",
        "a[i] =",
        "order",
    );
    refuses(
        "static int set(int *p) { return *p = 3; }\nint f(int *a) {\n return set(a) + a[0]; }",
        "TZ0221",
        "return set",
        "order",
    );
    refuses(
        "int f(int n) { switch (n) { case 1: while (n) {\n case 2: n--; } } return n; }",
        "TZ0226",
        "case 2",
        "inside of another",
    );
    refuses(
        "int f(int n) { int t[2] = { [0] = n++, [0] = 1 };\n return t[0]; }",
        "TZ0227",
        "int f(int n) { int t",
        "initialiser",
    );
    refuses(
        "#include <stdlib.h>\nvoid f(int *a, int n) { a = realloc(a, n); a[0] = 1; }",
        "TZ0230",
        "a = realloc",
        "manages memory",
    );
    refuses(
        "#include <stdlib.h>\nvoid f(int *a) {\n free(a); }",
        "TZ0230",
        "free(a)",
        "did not allocate",
    );
    refuses(
        "int f(int n) { int *p;\n return *p + n; }",
        "TZ0231",
        "return *p",
        "'p'",
    );
    refuses(
        "int f(int n) { if (n) return 1; }",
        "TZ0232",
        "int f(",
        "without returning",
    );
}

#[test]
fn bytes_that_are_no_elements() {
    // Sums of 32 bits begin anew at zero, which may be between two elements.
    refuses(
        "void f(unsigned char *p, unsigned a, unsigned b, int n)\n{ for (int i = 0; i < n; i++) *(unsigned short *)(p + (a + b)) += 1; }",
        "TZ0219",
        "{ for",
        "moved by bytes that are no elements",
    );
}

/// Which byte of a number is the first one is not known of all targets.
#[test]
fn numbers_in_bytes_of_another_order() {
    let source = "unsigned f(const unsigned char *p) { return *(const unsigned *)(p + 1) + p[0]; }";
    let on = |target: &str| {
        let args = [format!("--target={target}-unknown-linux-gnu")];
        let all = parsed(source, &args.each_ref().map(String::as_str));
        all.into_iter().next().unwrap().lowered
    };
    for known in ["x86_64", "aarch64", "riscv64"] {
        assert!(on(known).is_ok(), "{known}");
    }
    for other in ["s390x", "aarch64_be", "powerpc64", "armebv7"] {
        let problem = on(other).expect_err(other);
        assert_eq!(problem.code, "TZ0219", "{other}: {}", problem.message);
    }
}

#[test]
fn what_is_not_used_but_is_looked_at() {
    refuses(
        "void *last; int f(void *p, int n)\n { last = p; return n; }",
        "TZ0215",
        " { last = p",
        "'last' is a variable outside",
    );
    refuses(
        "int f(\n void *volatile p, int n) { (void)p; return n; }",
        "TZ0206",
        "void *volatile",
        "volatile",
    );
    // A struct that nobody here can make.
    refuses(
        "struct s; int f(\n struct s *p, int n) { return p ? n : 0; }",
        "TZ0213",
        "struct s *p",
        "struct s",
    );
    refuses(
        "int f(\n int (*p)(int), int n) { return p ? n : 0; }",
        "TZ0209",
        "int (*p)",
        "function pointer",
    );
}

#[test]
fn a_pointer_whose_assignment_may_be_skipped() {
    refuses(
        "void f(int *a, int *b, int n) { int *p = a; do { if (n > 1) { if (n > 2) break; n++; } p = b; } while (0);\n *p = n; }",
        "TZ0218",
        "*p = n",
        "several",
    );
    refuses(
        "void f(int *a, int *b, int n) { int *p = a; if (n && (p = b, n > 2)) n++;\n *p = n; }",
        "TZ0218",
        "*p = n",
        "several",
    );
}

#[test]
fn what_does_not_parse_spoils_its_own_function() {
    refuses(
        "int f(int n) {\n return n +; }",
        "TZ0203",
        "return n +",
        "expected expression",
    );
    refuses(
        "int f(int n) {\n return m; }",
        "TZ0203",
        "return m",
        "undeclared",
    );
    let bad_helper = "static int g(int n) { return m; }\nint f(int n) { return g(n); }";
    refuses(bad_helper, "TZ0203", "static int g", "undeclared");
}

#[test]
fn an_error_outside_of_functions_spoils_all() {
    // `missing_t` becomes `int` for clang, silently in all that follows.
    let functions = parsed("typedef missing_t word;\nint f(word x) { return x; }", &[]);
    assert_eq!(functions[0].lowered.as_ref().unwrap_err().code, "TZ0203");
    let functions = parsed("#include \"missing.h\"\nint f(int x) { return x; }", &[]);
    assert!(
        functions[0]
            .lowered
            .as_ref()
            .unwrap_err()
            .message
            .contains("missing.h")
    );
}

#[test]
fn overflow_that_ends_the_program_is_refused_with_a_remedy() {
    let source = "int f(int x) { return x + 1; }";
    let of = |flags: &[&str]| parsed(source, flags).remove(0).lowered;
    let problem = of(&["-ftrapv"]).unwrap_err();
    assert_eq!(problem.code, "TZ0235");
    assert!(problem.help.unwrap().contains("-fwrapv"));
    for flags in [&["-ftrapv", "-fwrapv"][..], &["-fno-strict-aliasing"], &[]] {
        assert!(of(flags).is_ok(), "{flags:?}");
    }
    let own = format!("__attribute__((optimize(\"trapv\"))) {source}");
    assert_eq!(
        parsed(&own, &[])[0].lowered.as_ref().unwrap_err().code,
        "TZ0235"
    );
}

#[test]
fn a_missing_file_is_an_error() {
    assert_eq!(
        parse(Path::new("/nonexistent/kernel.c"), &[])
            .unwrap_err()
            .code,
        "TZ0202"
    );
}

#[test]
fn a_very_long_expression_is_refused_not_a_crash() {
    // At some 13 000 terms libclang itself runs out of stack, as clang does.
    let sum = vec!["x"; 5_000].join(" + ");
    let functions = parsed(&format!("int f(int x) {{ return {sum}; }}"), &[]);
    assert_eq!(functions[0].lowered.as_ref().unwrap_err().code, "TZ0233");
}

#[test]
fn every_code_has_a_title() {
    assert!(
        CODES
            .iter()
            .all(|(code, title, text)| code.starts_with("TZ02")
                && !title.is_empty()
                && !text.is_empty())
    );
}
