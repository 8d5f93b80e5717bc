use super::*;
use tensorize_ir::signature::{Field, Param};

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
                given: None,
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
    let dir = tempfile::tempdir().unwrap();
    let (file, program) = (dir.path().join("k.c"), dir.path().join("k"));
    std::fs::write(&file, &text).unwrap();
    let compiled = std::process::Command::new("cc")
        .args(["-Wall", "-Wno-unused", "-Wno-implicit-function-declaration"])
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
    assert_eq!(
        String::from_utf8_lossy(&out.stdout),
        "3 3 7 1 5\n2 rows, fits, -1, 2\n-1 4 5 9\n\
         0 rows, `end` does not end an array that begins where `b` is, -1, 0\n"
    );
}
