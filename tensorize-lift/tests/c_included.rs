//! Functions that stand in files which are included, and those whose names macros make.

use std::fs;
use std::path::Path;
use tensorize_ir::loopir::Overflow;
use tensorize_lift::c::{Parsed, parse};

/// What is found in the first of these files.
fn functions(files: &[(&str, &str)], args: &[&str]) -> (tempfile::TempDir, Vec<Parsed>) {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let args: Vec<String> = args.iter().map(|a| (*a).to_owned()).collect();
    let found = parse(&dir.path().join(files[0].0), &args).unwrap();
    (dir, found)
}

/// Name, line in the parsed file, the file where it is written and the line there.
fn places(found: &[Parsed]) -> Vec<(&str, u32, String, u32)> {
    let file_name = |p: &Path| p.file_name().unwrap().to_string_lossy().into_owned();
    let place = |p: &Parsed| (p.line, file_name(&p.span.file), p.span.line);
    let places = found.iter().map(|p| (p.name.as_str(), place(p)));
    places
        .map(|(name, (line, file, there))| (name, line, file, there))
        .collect()
}

const TYPED: &str = "#define TYPED(name, type) name##_##type
#define NAMED(name, type) TYPED(name, type)
#define OF_TYPE(name) NAMED(name, NUMBER)

#define NUMBER float
#include \"part.c\"
#undef NUMBER
#define NUMBER int
#include \"part.c\"
";
const PART: &str = "
static NUMBER OF_TYPE(twice)(NUMBER x) { return x + x; }
void OF_TYPE(scale)(NUMBER *x, int n) {
    for (int i = 0; i < n; i++) x[i] = OF_TYPE(twice)(x[i]);
}
";

#[test]
fn a_source_that_is_included_belongs_to_the_file_each_time() {
    let (_dir, found) = functions(&[("typed.c", TYPED), ("part.c", PART)], &[]);
    let part = || "part.c".to_owned();
    assert_eq!(
        places(&found),
        [
            ("twice_float", 6, part(), 2),
            ("scale_float", 6, part(), 3),
            ("twice_int", 9, part(), 2),
            ("scale_int", 9, part(), 3),
        ]
    );
    assert!(found.iter().all(|p| p.lowered.is_ok()), "{found:?}");
}

#[test]
fn what_macros_of_a_header_define_is_where_they_are_expanded() {
    let header =
        "#define SCALE(T) void scale_##T(T *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }\n";
    let own = "#include \"scale.h\"\n\nSCALE(float)\n";
    let (_dir, found) = functions(&[("own.c", own), ("scale.h", header)], &[]);
    assert_eq!(places(&found), [("scale_float", 3, "own.c".to_owned(), 3)]);
}

#[test]
fn what_headers_define_for_everybody_is_nobodys() {
    let header = "static inline int twice(int x) { return 2 * x; }
static int thrice(int x) { return 3 * x; }
__attribute__((annotate(\"tensorize\"))) static int four_times(int x) { return 4 * x; }
int once(int x) { return x; }
";
    let own = "#include \"few.h\"\nint six(int x) { return thrice(twice(x)); }\n";
    for (name, text) in [("own.c", own.to_owned()), ("own.cpp", own.to_owned())] {
        let (_dir, found) = functions(&[(name, &text), ("few.h", header)], &[]);
        let names: Vec<&str> = found.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["four_times", "once", "six"], "{name}");
    }
}

#[test]
fn the_machines_headers_are_not_the_files() {
    let own = "#include <stdlib.h>\n#include <math.h>\nint six(int x) { return abs(x); }\n";
    let (dir, _) = functions(&[("own.c", own)], &[]);
    fs::create_dir(dir.path().join("system")).unwrap();
    let header = "int of_system(int x) { return x; }\n";
    fs::write(dir.path().join("system/some.h"), header).unwrap();
    let own = format!("#include <some.h>\n{own}");
    let flag = format!("-isystem{}", dir.path().join("system").display());
    let (_dir, found) = functions(&[("own.c", &own)], &[&flag]);
    assert_eq!(places(&found), [("six", 4, "own.c".to_owned(), 4)]);
}

#[test]
fn an_instance_of_a_headers_template_is_the_files_that_asks_for_it() {
    let header = "namespace dsp {
template <typename T> void scale(T *x, int n) { for (int i = 0; i < n; i++) x[i] *= 2; }
}
";
    let own = "#include \"scale.hpp\"\n\ntemplate void dsp::scale<float>(float *, int);\n";
    let (_dir, found) = functions(&[("own.cpp", own), ("scale.hpp", header)], &[]);
    assert_eq!(places(&found), [("scale", 1, "scale.hpp".to_owned(), 2)]);
}

#[test]
fn pragmas_of_what_is_included_count_for_the_file() {
    let sum = "int sum(int a, int b) { return a + b; }
float mean(float a, float b) { return (a + b) / 2; }
";
    let part = format!("#pragma GCC optimize(\"wrapv\", \"fast-math\")\n{sum}");
    let (_dir, found) = functions(
        &[("own.c", "#include \"part.c\"\n"), ("part.c", &part)],
        &[],
    );
    for f in found {
        let f = f.lowered.unwrap();
        assert_eq!(f.overflow, Overflow::Wraps, "{f}");
        assert!(f.fused || f.name == "sum", "{f}");
    }
}
