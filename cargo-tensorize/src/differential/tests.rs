use super::*;
use tensorize_ir::element::Elem;
use tensorize_ir::guard::{Extent, Footprint, Guard, Tier};
use tensorize_ir::index::Idx;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType::{self, *};
use tensorize_ir::signature::Language;
use tensorize_ir::tensir::{self, Op, Output, TensorType, View, dim};
use tensorize_ir::{loopir, scalar};
use tensorize_lift::c::CParam;
use tensorize_prove::Proof;

mod places;

fn pointer(name: &str, scalar: ScalarType, is_const: bool) -> CParam {
    let c_type = format!(
        "{}{} *",
        if is_const { "const " } else { "" },
        scalar.c_name()
    );
    CParam {
        name: name.into(),
        c_type,
        scalar,
        pointer: true,
        is_const,
        restrict: false,
    }
}

fn number(name: &str, scalar: ScalarType) -> CParam {
    let c_type = scalar.c_name().to_owned();
    CParam {
        name: name.into(),
        c_type,
        scalar,
        pointer: false,
        is_const: false,
        restrict: false,
    }
}

fn signature(params: &[CParam], ret: Option<ScalarType>) -> Signature {
    Signature {
        params: params.to_vec(),
        ret: ret.map(|ty| (ty.c_name().into(), ty)),
        source: None,
    }
}

/// `void f(int32_t n, const int32_t *x, int32_t *out)`
fn map_signature() -> Signature {
    signature(
        &[
            number("n", I32),
            pointer("x", I32, true),
            pointer("out", I32, false),
        ],
        None,
    )
}

fn build(source: &str, functions: &[(&str, Signature)], variants: &[Variant]) -> Differential {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("k.c"), source).unwrap();
    let functions: Vec<_> = functions
        .iter()
        .map(|(n, s)| (n.to_string(), s.clone()))
        .collect();
    Differential::build(Path::new("k.c"), folder.path(), &[], &functions, variants).unwrap()
}

fn ints(values: &[i128]) -> Buffer {
    Buffer::new(I32, values.iter().map(|v| Scalar::int(I32, *v)).collect())
}

const LOOP: &str = "void f(i32 n, const i32 *x, i32 *out) {
    for (i32 i = 0; i < n; i = i + 1) { out[i] = x[i] + 1; }
}";

const C: &str = "#include <stdint.h>
static void f(int32_t n, const int32_t *x, int32_t *out) {
    for (int32_t i = 0; i < n; i++) out[i] = x[i] + 1;
}
int main(void) { return missing_elsewhere(f); }
";

/// out[i] = x[i] + `added`
fn summary(added: i128) -> tensir::Function {
    let lifted: loopir::Function = LOOP.parse().unwrap();
    let at = Idx::sym(dim(0));
    let value = Elem::binary(
        BinOp::Add,
        Elem::read("x", I32, at.clone()),
        Elem::constant(Scalar::int(I32, added)),
    );
    let mut f = tensir::Function {
        name: "f".into(),
        params: lifted.params,
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let value = f.add(
        Op::Generic(value),
        vec![],
        TensorType::new(vec![Idx::sym("n")], I32),
    );
    f.outputs.push(Output::Store {
        value,
        view: View {
            array: "out".into(),
            index: at,
        },
    });
    f
}

fn proof(tier: Tier) -> Proof {
    let footprint = |array: &str, writes: bool| Footprint {
        extent: Extent {
            array: array.into(),
            lo: Idx::default(),
            hi: Idx::sym("n"),
        },
        reads: !writes,
        writes,
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    Proof {
        tier,
        loosened: vec![],
        guards: vec![Guard::NonNegative(Idx::sym("n"))],
        footprints: vec![footprint("x", false), footprint("out", true)],
        eager_guards: vec![],
        accesses: vec![],
        hazards: vec![],
        asked_of_slices: Some(vec![]),
        state: vec![],
    }
}

fn check(c: &str, added: i128, variants: &[Variant]) -> Result<Evidence, Failure> {
    check_with(c, added, variants, proof(Tier::Exact))
}

fn check_with(
    c: &str,
    added: i128,
    variants: &[Variant],
    proof: Proof,
) -> Result<Evidence, Failure> {
    let d = build(c, &[("f", map_signature())], variants);
    let (lifted, summary) = (LOOP.parse().unwrap(), summary(added));
    let kernel = Kernel {
        function: 0,
        lifted: &lifted,
        summary: &summary,
        proof: &proof,
    };
    d.check(&kernel, &Effort::default())
}

fn mismatch(result: Result<Evidence, Failure>) -> Mismatch {
    match result {
        Err(Failure::Mismatch(m)) => *m,
        other => panic!("no mismatch: {other:?}"),
    }
}

#[test]
fn static_functions_of_a_file_with_main_and_missing_parts_run() {
    let evidence = check(C, 1, &[]).unwrap();
    assert!(evidence.compared > 40, "{evidence:?}");
    assert_eq!(evidence.max_relative_error, 0.0);
}

#[test]
fn a_wrong_summary_is_found() {
    let m = mismatch(check(C, 2, &[]));
    assert_eq!(
        m.text,
        "n = 1, x = [0], out = [0]: out[0]: the lifted loop gives 1, the summary 2"
    );
}

#[test]
fn a_loop_that_is_not_the_program_is_found() {
    let m = mismatch(check(
        &C.replace("x[i] + 1", "x[i] == 7 ? 9 : x[i] + 1"),
        1,
        &[],
    ));
    assert_eq!(m.between, ("the lifted loop", "the compiled original"));
    let expected =
        "n = 1, x = [7], out = [0]: out[0]: the lifted loop gives 8, the compiled original 9";
    assert_eq!(m.text, expected);
}

/// The inputs that are shown are ones on which it happens.
#[test]
fn a_proof_of_too_few_places_is_found() {
    let mut proof = proof(Tier::Exact);
    // (Without rounds, too, there is something that is left as it was.)
    for (footprint, more) in proof.footprints.iter_mut().zip([-1, 1]) {
        footprint.extent.hi = &Idx::sym("n") + &Idx::constant(more);
    }
    let m = mismatch(check_with(C, 1, &[], proof));
    assert_eq!(m.between.0, "the lifted loop");
    let n = m.inputs.size("n").unwrap();
    let expected = format!("the lifted loop reads x[{}]", n - 1);
    assert!(n > 0 && m.text.contains(&expected), "{}", m.text);
}

#[test]
fn what_leaves_its_footprint_is_found() {
    for (change, expected) in [
        (
            "for (int32_t i = 0; i <= n; i++) out[i] = x[0] + 1;",
            "it reads x[0]",
        ),
        (
            "out[-1] = 3; for (int32_t i = 0; i < n; i++) out[i] = x[i] + 1;",
            "it writes out[-1]",
        ),
        (
            "for (int32_t i = 0; i < n; i++) out[i] = x[i] + 1; if (n > 1) ((volatile int32_t *)x)[1] = 2;",
            "it writes x[1]",
        ),
    ] {
        let old = "for (int32_t i = 0; i < n; i++) out[i] = x[i] + 1;";
        let source = C.replace(old, change);
        assert_ne!(source, C);
        let m = mismatch(check(&source, 1, &[]));
        assert!(m.text.contains(expected), "{}", m.text);
    }
}

/// Where the machine lacks an instruction, nothing was seen of the function: that is no difference. What a compiler puts where a
/// program shall end is another thing.
#[cfg(target_arch = "x86_64")]
#[test]
fn an_instruction_that_the_machine_lacks_is_no_crash() {
    let of = |instruction: &str| {
        let source =
            format!("int f(int n) {{ if (n > 1) __asm__ volatile({instruction:?}); return n; }}");
        let d = build(
            &source,
            &[("f", signature(&[number("n", I32)], Some(I32)))],
            &[],
        );
        let call = |n: i128| Job {
            function: 0,
            args: vec![Arg::Scalar(Scalar::int(I32, n))],
            front: false,
        };
        d.run(&[call(1), call(2)])
    };
    // `push %es`, which 64-bit mode has no more.
    assert!(matches!(of(".byte 0x06"), Err(Error::Instruction)));
    for end in [
        "ud2",
        ".byte 0x0f, 0xb9, 0xc0",
        ".byte 0x67, 0x0f, 0xb9, 0x40, 0x01",
    ] {
        assert_eq!(
            of(end).expect(end)[1],
            Outcome::Crashed { signal: 4 },
            "{end}"
        );
    }
}

#[test]
fn a_crash_and_an_endless_loop_cost_their_own_job_only() {
    let source = "#include <stdlib.h>
        int f(int n) {
            if (n == 1) abort();
            if (n == 2) exit(0);
            if (n == 3) for (volatile int i = 0;; i++) ;
            if (n == 4) __builtin_trap();
            if (n == 5) return *(volatile int *)16;
            if (n == 6) return 5 / (n - 6);
            if (n == 7) _Exit(9);
            return n + 1;
        }
        _Bool g(_Bool b, unsigned char c, long long k, float x, double y) { return b && c == 255 && k == -9 && x < 0 && y > 1; }";
    let functions = [
        ("f", signature(&[number("n", I32)], Some(I32))),
        (
            "g",
            signature(
                &[
                    number("b", I1),
                    number("c", U8),
                    number("k", I64),
                    number("x", F32),
                    number("y", F64),
                ],
                Some(I1),
            ),
        ),
    ];
    let d = build(source, &functions, &[]);
    let call = |n: i128| Job {
        function: 0,
        args: vec![Arg::Scalar(Scalar::int(I32, n))],
        front: false,
    };
    let mut jobs: Vec<Job> = (0..9).map(call).collect();
    let args = |c| {
        [
            Scalar::bool(true),
            Scalar::int(U8, c),
            Scalar::int(I64, -9),
            Scalar::f32(-0.5),
            Scalar::f64(1.5),
        ]
        .map(Arg::Scalar)
        .to_vec()
    };
    jobs.push(Job {
        function: 1,
        args: args(255),
        front: false,
    });
    jobs.push(Job {
        function: 1,
        args: args(254),
        front: false,
    });
    let outcomes = d.run(&jobs).unwrap();
    let done = |v| Outcome::Done {
        arrays: vec![],
        returned: Some(v),
    };
    assert_eq!(outcomes[0], done(Scalar::int(I32, 1)));
    assert_eq!(outcomes[1], Outcome::Crashed { signal: 6 });
    assert_eq!(outcomes[2], Outcome::Crashed { signal: 0 });
    assert_eq!(outcomes[3], Outcome::Endless);
    assert!(matches!(outcomes[4], Outcome::Crashed { signal: 4 | 5 }));
    assert_eq!(outcomes[5], Outcome::Crashed { signal: 11 });
    assert!(
        matches!(outcomes[6], Outcome::Crashed { signal: 4 | 5 | 8 }),
        "{:?}",
        outcomes[6]
    );
    assert_eq!(outcomes[7], Outcome::Crashed { signal: 0 });
    assert_eq!(outcomes[8], done(Scalar::int(I32, 9)));
    assert_eq!(outcomes[9], done(Scalar::bool(true)));
    assert_eq!(outcomes[10], done(Scalar::bool(false)));
}

#[test]
fn arrays_may_overlap_and_start_anywhere() {
    let d = build(C, &[("f", map_signature())], &[]);
    let x = Buffer {
        origin: 1,
        ..ints(&[9, 1, 2, 3])
    };
    let job = Job {
        function: 0,
        args: vec![
            Arg::Scalar(Scalar::int(I32, 2)),
            Arg::Array {
                buffer: x,
                read_only: true,
            },
            Arg::Alias { of: 1, bytes: 4 },
        ],
        front: true,
    };
    let outcome = d.run(&[job]).unwrap().remove(0);
    // out[0] = x[1] = x[0] + 1, then out[1] = x[2] = x[1] + 1.
    let expected = Buffer {
        origin: 1,
        ..ints(&[9, 1, 2, 3])
    };
    assert_eq!(
        outcome,
        Outcome::Done {
            arrays: vec![expected],
            returned: None
        }
    );
}

fn variant(body: &str) -> Variant {
    Variant {
        name: "cpu".into(),
        of: 0,
        symbol: "f_cpu".into(),
        source: format!("void f_cpu(int n, const int *x, int *out) {{ {body} }}"),
        flags: vec![],
        language: Language::C,
        tier: Tier::Exact,
        guards: vec![],
    }
}

#[test]
fn variants_are_compared_with_the_original() {
    let good = variant("for (int i = n - 1; i >= 0; i--) out[i] = 1 + x[i];");
    let evidence = check(C, 1, &[good]).unwrap();
    let (name, tally) = &evidence.variants[0];
    assert_eq!(
        (name.as_str(), tally.compared),
        ("cpu", evidence.compared + 4)
    );

    let bad = variant("for (int i = 0; i < n / 4 * 4; i++) out[i] = 1 + x[i];");
    let m = mismatch(check(C, 1, &[bad]));
    assert_eq!(m.variant.as_deref(), Some("cpu"));
    let expected =
        "n = 1, x = [0], out = [0]: out[0]: the lifted loop gives 1, the generated code 0";
    assert_eq!(m.text, expected);

    let broken = variant("return undeclared;");
    let m = mismatch(check(C, 1, &[broken]));
    assert_eq!(m.variant.as_deref(), Some("cpu"));
    assert!(
        m.text.contains("does not compile") && m.text.contains("undeclared"),
        "{}",
        m.text
    );

    let bad_when_long = variant("for (int i = 0; i < n; i++) out[i] = x[i] + 1 - (i == 64);");
    let m = mismatch(check(C, 1, &[bad_when_long]));
    assert!(m.text.contains("out[64]"), "{}", m.text);
}

#[test]
fn names_of_one_letter_are_the_users() {
    let source = "int a(int r) { return r; }\nint r(int a) { return -a; }\n";
    let of_int = || signature(&[number("n", I32)], Some(I32));
    build(source, &[("a", of_int()), ("r", of_int())], &[]);
}

#[test]
fn a_compiler_error_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("k.c"),
        "int f(int n) { return undeclared; }",
    )
    .unwrap();
    let functions = [("f".to_owned(), signature(&[number("n", I32)], Some(I32)))];
    let e = Differential::build(Path::new("k.c"), folder.path(), &[], &functions, &[]).unwrap_err();
    assert!(e.to_string().contains("undeclared"), "{e}");
}

#[test]
fn a_real_sum_has_a_measured_error() {
    let source = "float f(int n, const float *x) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }";
    let sum = signature(&[number("n", I32), pointer("x", F32, true)], Some(F32));
    let reassociated = Variant {
        name: "cpu".into(),
        of: 0,
        symbol: "f_cpu".into(),
        source: "float f_cpu(int n, const float *x) { float s = 0; for (int i = n - 1; i >= 0; i--) s += x[i]; return s; }".into(),
        flags: vec![],
        language: Language::C,
        tier: Tier::Exact,
        guards: vec![],
    };
    let d = build(source, &[("f", sum)], &[reassociated]);
    let lifted: loopir::Function = "f32 f(i32 n, const f32 *x) {
        f32 s = 0.0; for (i32 i = 0; i < n; i = i + 1) { s = s + x[i]; } return s; }"
        .parse()
        .unwrap();
    let mut summary = tensir::Function {
        name: "f".into(),
        params: lifted.params.clone(),
        nodes: vec![],
        outputs: vec![],
        rounds: None,
        state: vec![],
    };
    let vector = TensorType::new(vec![Idx::sym("n")], F32);
    let view = View {
        array: "x".into(),
        index: Idx::sym(dim(0)),
    };
    let x = summary.add(Op::View(view), vec![], vector);
    let zero = summary.constant(scalar::Scalar::f32(0.0));
    let reduce = Op::Reduce {
        reducer: tensir::Reducer::Op(BinOp::Add),
        dimensions: vec![0],
    };
    let value = summary.add(reduce, vec![x, zero], TensorType::scalar(F32));
    summary.outputs.push(Output::Return { value });
    let mut proof = proof(Tier::Real);
    proof.footprints.truncate(1);
    let kernel = Kernel {
        function: 0,
        lifted: &lifted,
        summary: &summary,
        proof: &proof,
    };
    let evidence = d.check(&kernel, &Effort::default()).unwrap();
    assert_eq!(evidence.max_relative_error, 0.0);
    let error = evidence.variants[0].1.max_relative_error;
    assert!(error > 0.0 && error < 1e-2, "{error}");
    // The same code does not pass for exact.
    let exact = Proof {
        tier: Tier::Exact,
        ..proof.clone()
    };
    let kernel = Kernel {
        proof: &exact,
        ..kernel
    };
    assert_eq!(
        mismatch(d.check(&kernel, &Effort::default()))
            .variant
            .as_deref(),
        Some("cpu")
    );
}

#[test]
fn a_kernel_that_works_on_large_arrays_only_is_run() {
    let loops = |body: &str| format!("for (IT i = 0; i < 40000; INC) {body}");
    let c = loops("out[i] = x[i] + 1;")
        .replace("IT", "int")
        .replace("INC", "i++");
    let c = format!("void f(int n, const int *x, int *out) {{ {c} }}");
    let lifted = loops("{ out[i] = x[i] + 1; }")
        .replace("IT", "i32")
        .replace("INC", "i = i + 1");
    let lifted = format!("void f(i32 n, const i32 *x, i32 *out) {{ {lifted} }}");
    let lifted: loopir::Function = lifted.parse().unwrap();
    let d = build(&c, &[("f", map_signature())], &[]);
    let mut proof = proof(Tier::Exact);
    for f in &mut proof.footprints {
        f.extent.hi = Idx::constant(40_000);
    }
    let mut summary = summary(1);
    for node in &mut summary.nodes {
        node.ty.shape = vec![Idx::constant(40_000)];
    }
    let kernel = Kernel {
        function: 0,
        lifted: &lifted,
        summary: &summary,
        proof: &proof,
    };
    assert!(d.check(&kernel, &Effort::default()).unwrap().compared > 0);
}

#[test]
fn weaker_code_is_compared_with_a_tolerance_and_no_more() {
    let near = variant("for (int i = 0; i < n; i++) out[i] = 1 + x[i];");
    // Integers have no tolerance beyond a rounding.
    let far = Variant {
        tier: Tier::Real,
        ..variant("for (int i = 0; i < n; i++) out[i] = 4 + x[i];")
    };
    assert!(
        check(
            C,
            1,
            &[Variant {
                tier: Tier::Real,
                ..near
            }]
        )
        .is_ok()
    );
    let m = mismatch(check(C, 1, &[far]));
    assert_eq!(m.variant.as_deref(), Some("cpu"));
}

#[test]
fn code_is_run_where_its_own_guards_hold() {
    let few = || vec![Guard::NonNegative(&Idx::constant(3) - &Idx::sym("n"))];
    let body = "if (n > 3) __builtin_trap(); for (int i = 0; i < n; i++) out[i] = 1 + x[i];";
    let guarded = Variant {
        guards: few(),
        ..variant(body)
    };
    let evidence = check(C, 1, &[guarded]).unwrap();
    let (_, tally) = &evidence.variants[0];
    assert!(0 < tally.compared && tally.compared < evidence.compared);
    assert!(check(C, 1, &[variant(body)]).is_err());
    let wrong = Variant {
        guards: few(),
        ..variant("for (int i = 0; i < n; i++) out[i] = 2 + x[i];")
    };
    mismatch(check(C, 1, &[wrong]));
}
