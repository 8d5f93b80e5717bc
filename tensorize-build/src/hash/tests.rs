use super::*;
use std::fs;

struct Project(tempfile::TempDir);

impl Project {
    fn new(source: &str) -> Project {
        let project = Project(tempfile::tempdir().unwrap());
        project.write("k.c", source);
        project
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path().join(name), text).unwrap();
    }

    fn pre(&self, flags: &[&str]) -> Preprocessed {
        let settings = Settings {
            dir: self.0.path().to_path_buf(),
            flags: flags.iter().map(|f| f.to_string()).collect(),
            ..Settings::default()
        };
        preprocess(&settings, Path::new("k.c")).unwrap()
    }
}

fn hash_of(source: &str) -> String {
    Project::new(source).pre(&[]).hash_of("f")
}

#[test]
fn layout_and_comments_do_not_count() {
    let a = hash_of("int f(int a) { return a + 1; }\n");
    assert_eq!(
        a,
        hash_of("/* one more */\n\nint  f(int a)\n{\n\treturn a + 1; // here\n}\n")
    );
    assert_ne!(a, hash_of("int f(int a) { return a + 2; }\n"));
}

#[test]
fn text_in_literals_counts() {
    let a = "const char *s = \"a  \\\" b\";\n";
    assert_ne!(hash_of(a), hash_of(&a.replace("a  ", "a ")));
}

#[test]
fn system_headers_do_not_count_but_their_macros_do() {
    let with = |limit| {
        format!("#include <limits.h>\n#include <stdint.h>\nlong f(void) {{ return {limit}; }}\n")
    };
    assert_ne!(hash_of(&with("INT_MAX")), hash_of(&with("UINT_MAX")));
    let text = Project::new(&with("1")).pre(&[]).text;
    assert_eq!(text, "long f(void) { return 1; }");
}

#[test]
fn the_projects_headers_count_and_are_inputs() {
    let p = Project::new("#include \"h.h\"\nint f(void) { return N; }\n");
    p.write("h.h", "#define N 1\n");
    let one = p.pre(&[]);
    assert!(
        one.inputs.iter().any(|i| i.ends_with("h.h")),
        "{:?}",
        one.inputs
    );
    assert!(
        !one.inputs.iter().any(|i| i.starts_with("/usr")),
        "{:?}",
        one.inputs
    );
    p.write("h.h", "#define N 2\n");
    assert_ne!(one.hash_of("f"), p.pre(&[]).hash_of("f"));
}

#[test]
fn types_that_libraries_disagree_about_count() {
    let p = Project::new("");
    let log = |fast: &str| {
        let output = format!(
            "# 1 \"<built-in>\"\n#define __SIZEOF_INT__ 4\n#define __SIZEOF_LONG__ 8\n# 1 \"h.h\" 1 3\n\
                 typedef unsigned {fast} uint_fast32_t;\n# 2 \"k.c\" 2\nuint_fast32_t f(void);\n"
        );
        let dir = p.0.path();
        Scanned::new(&output, dir, &[dir.canonicalize().unwrap()])
    };
    p.write("h.h", "");
    let meaning =
        |s: &Scanned| s.system_types.of(names(&s.text), &s.predefined)["uint_fast32_t"].clone();
    assert_eq!(meaning(&log("long")), "u8");
    assert_eq!(meaning(&log("int")), "u4");
}

/// A header of a library may change by an update of the machine, and then a proof is about something else.
#[test]
fn what_a_kernel_uses_of_libraries_counts() {
    let p = Project::new(
        "#include <lib.h>\nint f(const struct point *p) { return half(p->x); }\nint g(int a) { return a; }\n",
    );
    let folder = p.0.path().join("root/usr/include");
    fs::create_dir_all(&folder).unwrap();
    let root = format!("--sysroot={}", p.0.path().join("root").display());
    let hashes = |point: &str, half: &str| {
        let text = format!(
            "typedef {point} number; struct point {{ number x; }};\nstatic inline int half(int x) {{ return x / {half}; }}\n"
        );
        p.write("root/usr/include/lib.h", &text);
        let seen = p.pre(&[&root]);
        assert!(!seen.text.contains("half ( int x )") && !seen.text.contains("struct point {"));
        [seen.hash_of("f"), seen.hash_of("g")]
    };
    let [f, g] = hashes("int", "2");
    for (point, half) in [("long", "2"), ("int", "3")] {
        let [now_f, now_g] = hashes(point, half);
        assert_ne!(f, now_f, "{point} {half}");
        assert_eq!(g, now_g, "{point} {half}");
    }
    assert_eq!([f, g], hashes("int", "2"));
}

#[test]
fn headers_that_the_user_calls_system_count() {
    let p = Project::new("#include <h.h>\n");
    fs::create_dir(p.0.path().join("sys")).unwrap();
    p.write("sys/h.h", "static inline int g(void) { return 1; }\n");
    let one = p.pre(&["-isystem", "sys"]);
    assert!(one.text.contains("return 1"), "{}", one.text);
}

#[test]
fn flags_that_change_arithmetic_count() {
    let p = Project::new("float f(float a) { return a; }\n");
    let plain = p.pre(&[]).hash_of("f");
    assert_ne!(plain, p.pre(&["-ffast-math"]).hash_of("f"));
    assert_ne!(plain, p.pre(&["-funsigned-char"]).hash_of("f"));
    assert_ne!(plain, p.pre(&["-mrecip"]).hash_of("f"));
    assert_eq!(plain, p.pre(&["-g"]).hash_of("f"));
    assert_eq!(plain, p.pre(&["-DUNUSED=1"]).hash_of("f"));
}

#[test]
fn other_signs_are_another_dialect_and_the_sizes_of_another_abi_a_third() {
    let p = Project::new("int f(int a) { return a; }\n");
    let (here, narrow) = (p.pre(&[]), p.pre(&["-m32"]));
    assert_eq!(here.signs.others().others(), here.signs);
    let hashes = |seen: &Preprocessed| {
        let of = seen.hashes_of("f");
        [of.here, of.under_other_signs]
    };
    let mut all = [hashes(&here), hashes(&narrow)].concat();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), 4);
    assert_eq!(here.hash_of("f"), here.hashes_of("f").here);
}

/// Results are good under other versions of the C and C++ libraries, whatever is included.
#[test]
fn what_people_include_does_not_count() {
    let headers = [
        "stdio.h math.h stdlib.h string.h time.h sys/time.h unistd.h assert.h pthread.h signal.h stdint.h stdbool.h",
        "vector algorithm cmath cstdio string iostream map memory ranges numeric functional mutex chrono random span",
    ];
    let c = "void f(float *out, const float *a, int n, FILE *log) { assert(n > 0); size_t at = 0; uint8_t c = 1;
            for (int i = 0; i < n; i++) out[i] = fabsf(a[i]) + sqrt(a[i]) * M_PI; fprintf(stderr, \"%d\", n); qsort(out, n, 4, 0); }";
    let cpp = "void f(std::vector<float> &out, const std::vector<float> &a) { std::size_t size = a.size(); std::string name;
            for (size_t i = 0; i < size; i++) out[i] = std::max(a[i], 0.f) + std::abs(a[i]); std::fprintf(stderr, \"x\"); }";
    let p = Project::new("");
    for (file, text, headers) in [("f.c", c, headers[0]), ("f.cpp", cpp, headers[1])] {
        let lines = headers.split(' ').map(|h| format!("#include <{h}>\n"));
        p.write(file, &(lines.collect::<String>() + text));
        let settings = Settings {
            dir: p.0.path().to_path_buf(),
            ..Settings::default()
        };
        let seen = preprocess(&settings, Path::new(file)).unwrap();
        let (texts, told) = seen.system_items.used_by(names(&seen.text));
        assert!(
            texts.is_empty() && told.is_empty(),
            "{file}: {texts:?} {told:?}"
        );
    }
}

#[test]
fn annotations_are_seen() {
    let p = Project::new("#include \"tensorize.h\"\nTENSORIZE_KERNEL\nint f(void) { return 1; }\n");
    assert!(p.pre(&[]).text.starts_with(MARKER));
}

#[test]
fn what_expands_without_an_end_is_given_up() {
    let mut macros = "#define A0 + a\n".to_string();
    for n in 1..60 {
        macros += &format!("#define A{n} A{0} A{0}\n", n - 1);
    }
    let p = Project::new(&format!("{macros}int f(int a) {{ return a A59; }}\n"));
    let settings = Settings {
        dir: p.0.path().to_path_buf(),
        ..Settings::default()
    };
    let twice = "#include \"twice.c\"\n#include \"twice.c\"\n";
    p.write("twice.c", twice);
    let limits = Limits {
        time: Duration::from_secs(1),
        bytes: 1 << 20,
        memory: 1 << 30,
    };
    for file in ["k.c", "twice.c"] {
        let error = preprocess_within(limits, &settings, Path::new(file)).unwrap_err();
        assert!(
            error.contains(file) && error.contains("more than"),
            "{error}"
        );
    }
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let settings = Settings {
        dir: std::env::temp_dir(),
        ..Settings::default()
    };
    let error = kernel_hash(&settings, Path::new("no such file.c"), "f").unwrap_err();
    assert!(error.contains("no such file.c"), "{error}");
}
