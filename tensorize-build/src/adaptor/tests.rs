use super::*;
use tensorize_ir::signature::{Field, Param, THIS};

fn flat(name: &str, scalar: ScalarType, array: bool) -> Flat {
    Flat {
        name: name.into(),
        scalar,
        array,
        is_const: false,
    }
}

/// A C function of this struct, and its flat form.
fn matrix() -> (Source, Vec<Flat>) {
    let field = |name: &str, shape| Field {
        name: name.into(),
        base: None,
        hidden: None,
        reference: None,
        shape,
    };
    let fields = vec![
        field(
            "rows",
            Shape::Scalar {
                to: "m_rows".into(),
            },
        ),
        field(
            "vals",
            Shape::Rows {
                to: "m_vals".into(),
                pitch: "m_vals_pitch".into(),
                per_plane: None,
                given: None,
                held: None,
            },
        ),
        field(
            "sums",
            Shape::Place {
                to: "m_sums".into(),
                len: 4,
            },
        ),
    ];
    let source = Source {
        language: Language::C,
        call: "scale".into(),
        symbol: "scale".into(),
        returns: "int".into(),
        result: None,
        globals: vec![],
        shared: None,
        reaches_into_growing: false,
        compares_rows: false,
        params: vec![
            Param {
                name: "m".into(),
                ty: "matrix *".into(),
                shape: Shape::Struct {
                    pointer: true,
                    ty: "matrix".into(),
                    fields,
                },
            },
            Param {
                name: "b".into(),
                ty: "const float *".into(),
                shape: Shape::Pointer {
                    to: "b".into(),
                    given: Some("b_given".into()),
                },
            },
            Param {
                name: "end".into(),
                ty: "const float *".into(),
                shape: Shape::End {
                    of: "b".into(),
                    count: "b_count".into(),
                },
            },
        ],
    };
    let flats = vec![
        flat("m_rows", ScalarType::I32, false),
        flat("m_vals", ScalarType::F32, true),
        flat("m_vals_pitch", ScalarType::I64, false),
        flat("m_sums", ScalarType::F32, true),
        flat("b", ScalarType::F32, true),
        flat("b_given", ScalarType::I1, false),
        flat("b_count", ScalarType::I64, false),
    ];
    (source, flats)
}

/// What a program prints.
fn ran(extension: &str, compiler: &str, text: &str) -> String {
    let dir = tempfile::tempdir().unwrap();
    let (file, program) = (
        dir.path().join(format!("k.{extension}")),
        dir.path().join("k"),
    );
    std::fs::write(&file, text).unwrap();
    let compiled = std::process::Command::new(compiler)
        .args(["-Wall", "-Wno-unused"])
        .arg(&file)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(
        compiled.status.success(),
        "{}\n{text}",
        String::from_utf8_lossy(&compiled.stderr)
    );
    let out = std::process::Command::new(&program).output().unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned()
}

#[test]
fn shims_and_thunks_compile_and_pass_on_what_they_get() {
    let (source, flats) = matrix();
    let adaptor = Adaptor {
        source: &source,
        flat: &flats,
        ret: Some(ScalarType::I32),
    };
    let text = format!(
        r#"
#include <stdio.h>
typedef struct {{ int rows; const int unused; float **vals; float sums[4]; }} matrix;
int scale(matrix *m, const float *b, const float *end)
{{
    for (int i = 0; i < m->rows; i++) {{ m->vals[i][1] += 1; m->sums[i] = m->vals[i][0]; }}
    return b ? (int)(end - b) : -1;
}}
{}{}{}
/* the dispatcher is here: it calls the original, by its arguments */
int flat(const struct tensorize_call *call, int m_rows, float *m_vals, long m_vals_pitch, float *m_sums, float *b, _Bool b_given, long b_count)
{{
    printf("%d rows, %s, %ld, %ld\n", m_rows, call->refused ? call->refused : "fits", b_given ? b_count : -1, (long)call->fixed_count);
    return thunk(call->arguments, 0, m_rows, m_vals, m_vals_pitch, m_sums, b, b_given, b_count);
}}
int main(void)
{{
    float rows[] = {{ 1, 2, 3, 4, 5, 6 }}, sums[4] = {{ 0 }}, b[3];
    long long extents[] = {{ 0, 3, 0, 4, 0, 3 }};
    int r = thunk(0, (void *)extents, 3, rows, 2, sums, b, 1, 3);
    printf("%d %g %g %g %g\n", r, rows[1], rows[5], sums[0], sums[2]);
    float *table[] = {{ rows + 4, rows }};
    matrix m = {{ 2, 0, table, {{ 9, 9, 9, 9 }} }};
    r = shim(&m, 0, 0);
    printf("%d %g %g %g\n", r, rows[1], m.sums[0], m.sums[3]);
    m.rows = 0;
    r = shim(&m, b, (char *)(b + 1) + 1);
    return 0;
}}
"#,
        prelude(Language::C),
        adaptor.thunk("thunk", "scale").unwrap(),
        adaptor.shim("shim", "flat").unwrap(),
    );
    assert_eq!(
        ran("c", "cc", &text),
        "3 3 7 1 5\n2 rows, fits, -1, 2\n-1 4 5 9\n\
         0 rows, `end` does not end an array that begins where `b` is, -1, 0\n"
    );
}

#[test]
fn what_is_not_used_is_passed_on_and_else_null() {
    let unused = |name: &str, ty: &str, shape| Param {
        name: name.into(),
        ty: ty.into(),
        shape,
    };
    let asked = Shape::Struct {
        pointer: true,
        ty: "struct asked".into(),
        fields: vec![],
    };
    let source = Source {
        language: Language::C,
        call: "f".into(),
        symbol: "f".into(),
        returns: "int".into(),
        result: None,
        globals: vec![],
        shared: None,
        reaches_into_growing: false,
        compares_rows: false,
        params: vec![
            unused("v", "void *", Shape::Unused),
            unused("c", "const struct unknown *", Shape::Unused),
            unused("g", "int (*)(int)", Shape::Unused),
            unused("log", "log_t", Shape::Unused),
            // Whether it is null is all that the function asks.
            unused("s", "struct asked *", asked),
            unused("x", "int", Shape::Scalar { to: "x".into() }),
        ],
    };
    let flats = vec![flat("x", ScalarType::I32, false)];
    let adaptor = Adaptor {
        source: &source,
        flat: &flats,
        ret: Some(ScalarType::I32),
    };
    let text = format!(
        r#"
#include <stdio.h>
struct unknown;
int v_there;
struct asked {{ int n; }};
typedef void (*log_t)(const char *);
static int g_of(int x) {{ return x; }}
static int f(void *v, const struct unknown *c, int (*g)(int), log_t log, struct asked *s, int x)
{{
    printf("%d %d %d %d %d\n", v == &v_there, (void *)c == &v_there, g == g_of, log == 0, s != 0);
    return x;
}}
{}{}{}
/* the dispatcher is here: it calls the original, by its arguments */
int flat(const struct tensorize_call *call, int x)
{{
    printf("%s\n", call->refused ? call->refused : "fits");
    return thunk(call->arguments, 0, x);
}}
int main(void)
{{
    struct asked s;
    printf("%d\n", shim(&v_there, &v_there, (void *)g_of, 0, &s, 1));
    printf("%d\n", shim(&v_there, &v_there, (void *)g_of, 0, 0, 2));
    printf("%d\n", thunk(0, 0, 3));
    return 0;
}}
"#,
        prelude(Language::C),
        adaptor.thunk("thunk", "f").unwrap(),
        adaptor.shim("shim", "flat").unwrap(),
    );
    assert_eq!(
        ran("c", "cc", &text),
        "fits\n1 1 1 1 1\n1\n`s` is null\n1 1 1 1 0\n2\n0 0 0 1 1\n3\n"
    );
}

#[test]
fn an_object_that_is_built_is_not_ended() {
    let field = |name: &str, ty: Option<&str>, shape| Field {
        name: name.into(),
        base: None,
        hidden: ty.map(String::from),
        reference: None,
        shape,
    };
    let fields = vec![
        field("n", Some("const int"), Shape::Scalar { to: "n".into() }),
        field(
            "data",
            None,
            Shape::Pointer {
                to: "data".into(),
                given: None,
            },
        ),
        field(
            "more",
            Some("std::vector<float>"),
            Shape::Vector {
                to: "more".into(),
                size: Some("more_size".into()),
                each: 1,
                resized: None,
            },
        ),
    ];
    let source = Source {
        language: Language::Cpp,
        call: "owner::add".into(),
        symbol: "_ZN5owner3addEf".into(),
        returns: "void".into(),
        result: None,
        params: vec![
            Param {
                name: THIS.into(),
                ty: "owner *".into(),
                shape: Shape::Struct {
                    pointer: true,
                    ty: "owner".into(),
                    fields,
                },
            },
            Param {
                name: "by".into(),
                ty: "float".into(),
                shape: Shape::Scalar { to: "by".into() },
            },
        ],
        globals: vec![],
        shared: None,
        reaches_into_growing: false,
        compares_rows: false,
    };
    let flats = vec![
        flat("n", ScalarType::I32, false),
        flat("data", ScalarType::F32, true),
        flat("more", ScalarType::F32, true),
        flat("more_size", ScalarType::I64, false),
        flat("by", ScalarType::F32, false),
    ];
    let adaptor = Adaptor {
        source: &source,
        flat: &flats,
        ret: None,
    };
    let text = format!(
        r#"
#include <cstdio>
#include <cstdlib>
#include <vector>
class owner {{
    const int n;
    std::vector<float> more;
public:
    float *data;
    owner(int n, float *data) : n(n), more(n, 9.0f), data(data) {{}}
    ~owner() {{ std::puts("freed"); std::free(data); }}
    virtual void add(float by);
    float last() const {{ return more[n - 1]; }}
}};
void owner::add(float by)
{{
    for (int i = 0; i < n; i++) {{ data[i] += by; more[i] = data[i]; }}
}}
{}{}{}{}
/* the dispatcher is here: it calls the original, by its arguments */
extern "C" void flat(const tensorize_call *call, int n, float *data, float *more, long more_size, float by)
{{
    std::printf("%d of %ld\n", n, more_size);
    thunk(call->arguments, 0, n, data, more, more_size, by);
}}
int main()
{{
    float a[] = {{ 1, 2 }}, b[] = {{ 0, 0, 7 }};
    __INT64_TYPE__ extents[] = {{ 0, 2, 0, 3 }};
    thunk(nullptr, extents, 2, a, b, 3, 1.0f);
    std::printf("%g %g, %g %g %g\n", a[0], a[1], b[0], b[1], b[2]);
    {{
        owner o(1, (float *)std::calloc(1, sizeof(float)));
        shim(&o, 3.0f);
        std::printf("%g\n", o.last());
    }}
    return 0;
}}
"#,
        prelude(Language::Cpp),
        adaptor.globals(),
        adaptor.thunk("thunk", "owner::add").unwrap(),
        adaptor.shim("shim", "flat").unwrap(),
    );
    assert_eq!(ran("cpp", "c++", &text), "2 3, 2 3 7\n1 of 1\n3\nfreed\n");
}

#[test]
fn strings_are_taken_apart_and_made() {
    let source = Source {
        language: Language::Cpp,
        call: "shared".into(),
        symbol: "_Z6sharedRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt17basic_string_viewIcS2_E".into(),
        returns: "int".into(),
        result: None,
        params: vec![
            Param {
                name: "a".into(),
                ty: "const std::basic_string<char> &".into(),
                shape: Shape::Vector {
                    to: "a".into(),
                    size: Some("a_size".into()),
                    each: 1,
                    resized: None,
                },
            },
            Param {
                name: "b".into(),
                ty: "std::basic_string_view<char>".into(),
                shape: Shape::Span {
                    to: "b".into(),
                    size: Some("b_size".into()),
                    each: 1,
                },
            },
        ],
        globals: vec![],
        shared: None,
        reaches_into_growing: false,
        compares_rows: false,
    };
    let constant = |name: &str| Flat {
        is_const: true,
        ..flat(name, ScalarType::I8, true)
    };
    let flats = vec![
        constant("a"),
        flat("a_size", ScalarType::I64, false),
        constant("b"),
        flat("b_size", ScalarType::I64, false),
    ];
    let adaptor = Adaptor {
        source: &source,
        flat: &flats,
        ret: Some(ScalarType::I32),
    };
    let text = format!(
        r#"
#include <cstdio>
#include <string>
#include <string_view>
int shared(const std::string &a, std::string_view b)
{{
    int n = 0;
    for (std::size_t i = 0; i < a.size() && i < b.size(); i++) n += a[i] == b[i];
    return 100 * (int)a.size() + 10 * (int)b.size() + n;
}}
{}{}{}
/* the dispatcher is here: it takes what is flat, and leaves what it was made of alone */
extern "C" int flat(const tensorize_call *call, signed char *a, long a_size, signed char *b, long b_size)
{{
    __INT64_TYPE__ extents[] = {{ 0, a_size, 0, b_size }};
    std::printf("%.*s %.*s\n", (int)a_size, (char *)a, (int)b_size, (char *)b);
    return thunk(call->refused ? call->arguments : nullptr, extents, a, a_size, b, b_size);
}}
int main()
{{
    std::string text = "a string that is longer than what fits into its object";
    std::printf("%d\n", shim("ACGT", std::string_view("ACTTxx").substr(0, 4)));
    std::printf("%d\n", shim(text, text) == shared(text, text));
    std::printf("%d\n", shim("", std::string_view()));
    return 0;
}}
"#,
        prelude(Language::Cpp),
        adaptor.thunk("thunk", "shared").unwrap(),
        adaptor.shim("shim", "flat").unwrap(),
    );
    let text_twice = "a string that is longer than what fits into its object";
    assert_eq!(
        ran("cpp", "c++", &text),
        format!("ACGT ACTT\n443\n{text_twice} {text_twice}\n1\n \n0\n")
    );
}
