use super::*;
use crate::prototype::guess;
use tensorize_ir::signature::{Holder, Language, Members, Param, Shape, Source};

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
            tables: Default::default(),
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

/// Whoever calls it on slices is told what they are.
#[test]
fn members_of_structs_are_explained() {
    let members = |to: &str, stride, at| Members {
        to: to.into(),
        stride,
        at,
    };
    let source = Source {
        language: Language::C,
        call: "f".into(),
        symbol: "f".into(),
        returns: "void".into(),
        result: None,
        params: vec![Param {
            name: "p".into(),
            ty: "struct item *".into(),
            shape: Shape::Records {
                holder: Holder::Pointer,
                ty: "struct item".into(),
                members: vec![
                    members("p_f64", 2, vec![(0, 1)]),
                    members("p_i8", 16, vec![(8, 9), (12, 15)]),
                ],
                size: None,
            },
        }],
        globals: vec![],
        shared: None,
        reaches_into_growing: false,
        compares_rows: false,
    };
    let binding = Binding {
        name: "f".into(),
        file: "f.c".into(),
        line: 1,
        hash: "-".into(),
        prototype: guess("void f(double *p_f64, int8_t *p_i8) {}", "f").map(|p| {
            crate::record::Prototype {
                source: Some(source),
                ..p
            }
        }),
        proven: Ok(Proven {
            tier: "exact".into(),
            guards: vec![],
            footprints: ["p_f64[0 .. 1]: writes", "p_i8[8 .. 15]: reads, writes"]
                .map(|f| f.parse().unwrap())
                .into(),
            tables: Default::default(),
            within_objects: vec![],
        }),
        targets: vec![TargetCode {
            target: "cpu".into(),
            tier: "exact".into(),
            guards: vec![],
            code: Code::Native {
                entry: "f__cpu".into(),
                products: false,
                memory: false,
            },
        }],
    };
    let written = write(&[binding]);
    for part in [
        "of every 2 elements, 0 .. 1 are members",
        "/// `p_i8` is the memory of structs `struct item`, seen as numbers of one type: of every 16 elements, 8 .. 9, 12 .. 15 are",
        "members: Some(rt::Members { stride: 16, at: &[(8, 9), (12, 15)] })",
    ] {
        assert!(written.contains(part), "{part}\n{written}");
    }
}
