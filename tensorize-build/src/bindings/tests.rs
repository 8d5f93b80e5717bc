use super::*;
use crate::prototype::guess;

/// `tensorize-rt` measures the dispatch of this one.
#[test]
fn bindings_are_as_on_the_golden_page() {
    let text = "void halve(const uint8_t *in, uint8_t *out, int rows, int cols) {} \
                void twice(float *x, size_t n) {}";
    let footprint = |text: &str| text.parse().unwrap();
    let halve = Binding {
        name: "halve".into(),
        file: "kernels/halve.c".into(),
        line: 5,
        hash: "6b1c".into(),
        prototype: guess(text, "halve"),
        proven: Ok(Proven {
            tier: "exact".into(),
            guards: [
                "rows*cols >= 0",
                "rows*cols fits i32",
                "out[0 .. rows*cols] disjoint in[0 .. rows*cols]",
            ]
            .map(|g| g.parse().unwrap())
            .into(),
            footprints: vec![
                footprint("in[0 .. rows*cols]: reads"),
                footprint("out[0 .. rows*cols]: writes"),
            ],
            columns: Default::default(),
            within_objects: vec![],
        }),
        targets: vec![
            TargetCode {
                target: "cpu".into(),
                tier: "exact".into(),
                guards: vec!["rows*cols - 1 fits i64".parse().unwrap()],
                code: Code::Native {
                    entry: "halve__cpu".into(),
                    products: false,
                    memory: false,
                },
            },
            TargetCode {
                target: "numpy".into(),
                tier: "exact".into(),
                guards: vec![],
                code: Code::Absent("it has no \"halves\"".into()),
            },
        ],
    };
    let twice = Binding {
        name: "twice".into(),
        line: 20,
        prototype: guess(text, "twice"),
        proven: Err("it has changed since it was proven".into()),
        targets: vec![],
        ..halve.clone()
    };
    assert!(halve.is_dispatched() && !twice.is_dispatched());
    let written = write(&[halve, twice]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/bindings.rs");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &written).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == written,
        "UPDATE_GOLDEN=1 rewrites {path}; now it is\n{written}"
    );
}

#[test]
fn rust_keywords_are_names_in_c() {
    let text = "int match(const int *in, int type, int self, int p) { }";
    let binding = Binding {
        name: "match".into(),
        file: "m.c".into(),
        line: 1,
        hash: "-".into(),
        prototype: guess(text, "match"),
        proven: Err("no".into()),
        targets: vec![],
    };
    let written = write(&[binding]);
    assert!(written.contains("#[link_name = \"match\"]"), "{written}");
    assert!(
        written.contains("pub fn r#match(r#in: *const ::core::ffi::c_int, r#type:"),
        "{written}"
    );
    assert!(
        written.contains("self_: ::core::ffi::c_int, p_:"),
        "{written}"
    );
}
