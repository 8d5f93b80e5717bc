//! Kernels of which one run is too large for the interpreters.

use super::*;

/// Rows of x times rows of w: 300 × 200 results of 400 steps each.
const C: &str = "void f(const float *x, const float *w, float *out) {
    for (int i = 0; i < 300; i++) for (int j = 0; j < 200; j++) {
        float s = 0;
        for (int k = 0; k < 400; k++) s += x[i * 400 + k] * w[j * 400 + k];
        out[i * 200 + j] = s;
    }
}";

const LOOP: &str = "void f(const f32 *x, const f32 *w, f32 *out) {
    for (i32 i = 0; i < 300; i = i + 1) { for (i32 j = 0; j < 200; j = j + 1) {
        f32 s = 0.0;
        for (i32 k = 0; k < 400; k = k + 1) { s = s + x[i * 400 + k] * w[j * 400 + k]; }
        out[i * 200 + j] = s;
    } }
}";

const SUMMARY: &str = "func @f(x: const ptr<f32>, w: const ptr<f32>, out: ptr<f32>) {
  %0 = view x[400*#0 + #1] : tensor<300 x 400 x f32>
  %1 = view w[400*#0 + #1] : tensor<200 x 400 x f32>
  %2 = constant 0.0:f32
  %3 = dot_general %0, %1, %2, contracting = [1 x 1]
  store out[200*#0 + #1] = %3
}";

fn product_signature() -> Signature {
    signature(
        &[
            pointer("x", F32, true),
            pointer("w", F32, true),
            pointer("out", F32, false),
        ],
        None,
    )
}

/// For arrays of these lengths; the last one is written.
fn proof_of(lengths: &[(&str, Idx)]) -> Proof {
    let mut proof = proof(Tier::Exact);
    proof.guards.clear();
    let footprint = |(array, hi): &(&str, Idx)| Footprint {
        extent: Extent {
            array: (*array).into(),
            lo: Idx::default(),
            hi: hi.clone(),
        },
        reads: *array != "out",
        writes: *array == "out",
        reads_depend_on_data: false,
        writes_depend_on_data: false,
    };
    proof.footprints = lengths.iter().map(footprint).collect();
    proof
}

fn check_product(c: &str, summary: &str, variants: &[Variant]) -> Result<Evidence, Failure> {
    let lengths = [("x", 120_000), ("w", 80_000), ("out", 60_000)];
    let proof = proof_of(&lengths.map(|(name, len)| (name, Idx::constant(len))));
    let kernel = Kernel {
        function: 0,
        lifted: &LOOP.parse().unwrap(),
        summary: &summary.parse().unwrap(),
        proof: &proof,
    };
    build(c, &[("f", product_signature())], variants).check(&kernel, &Effort::default())
}

fn product_variant(c: &str) -> Variant {
    Variant {
        symbol: "f_cpu".into(),
        source: c.replace("void f(", "void f_cpu("),
        ..variant("")
    }
}

#[test]
fn a_large_shape_is_compared_at_some_places() {
    let evidence = check_product(C, SUMMARY, &[product_variant(C)]).unwrap();
    let (places, all) = evidence.places.unwrap();
    assert!(evidence.compared > 0, "{evidence:?}");
    assert_eq!((places, all), (256, 60_000));
    assert_eq!(evidence.variants[0].1.compared, evidence.compared);
}

#[test]
fn a_summary_that_is_wrong_at_a_large_shape_is_found() {
    let differs = |c: &str, summary: &str| {
        let m = mismatch(check_product(c, summary, &[]));
        assert_eq!(
            m.between,
            ("the summary", "the compiled original"),
            "{}",
            m.text
        );
        m.text
    };
    // Everywhere.
    differs(C, &SUMMARY.replace("constant 0.0", "constant 1.0"));
    differs(C, &SUMMARY.replace("w[400*#0", "w[399*#0"));
    // In one row, one column or one corner.
    for wrong in [
        "i == 299",
        "i == 0",
        "j == 199",
        "j == 1",
        "i == 299 && j == 199",
    ] {
        let c = C.replace("] = s;", &format!("] = {wrong} ? s + 1 : s;"));
        differs(&c, SUMMARY);
    }
    // Where one part ends and another begins.
    let select = "%3 = dot_general %0, %1, %2, contracting = [1 x 1]
  %4 = generic select(index_compare(LT, #0, 137), 1.0:f32, 0.0:f32) : tensor<300 x 200 x f32>
  %5 = add %3, %4
  store out[200*#0 + #1] = %5";
    let dot = SUMMARY.find("%3").unwrap();
    let summary = format!("{}{select}\n}}", &SUMMARY[..dot]);
    let c = C.replace("= s;", "= s + (i < 137);");
    assert!(check_product(&c, &summary, &[]).is_ok());
    for part in ["i < 136", "i < 138"] {
        differs(&C.replace("= s;", &format!("= s + ({part});")), &summary);
    }
    // In what is not stored at all.
    let fewer = SUMMARY.replace("200 x 400", "199 x 400");
    let text = differs(C, &fewer);
    assert!(text.contains("out[199]"), "{text}");
}

#[test]
fn large_code_is_compared_at_every_place() {
    for wrong in ["i * 200 + j == 31415", "i == 137 && j == 91"] {
        let c = C.replace("] = s;", &format!("] = {wrong} ? s + 1 : s;"));
        let m = mismatch(check_product(C, SUMMARY, &[product_variant(&c)]));
        assert_eq!(m.variant.as_deref(), Some("cpu"));
    }
}

#[test]
fn sizes_of_none_are_not_enough_where_one_is_large() {
    let rows = |int: &str, of: &str| {
        format!(
            "void f({int} n, const {int} *x, {int} *out) {{
            for ({int} i = 0; i < n; i = i + 1) {{
                {int} s = 0;
                for ({int} k = 0; k < 100000; k = k + 1) {{ s = s + x[i * 100000 + k]; }}
                out[i] = s + {of};
            }} }}"
        )
    };
    let lifted: loopir::Function = rows("i32", "0").parse().unwrap();
    let summary = "func @f(n: i32, x: const ptr<i32>, out: ptr<i32>) {
      %0 = view x[100000*#0 + #1] : tensor<n x 100000 x i32>
      %1 = constant 0:i32
      %2 = reduce %0, %1, reducer = add, dimensions = [1] : tensor<n x i32>
      store out[#0] = %2
    }";
    let n = Idx::sym("n");
    let mut proof = proof_of(&[("x", &n * &Idx::constant(100_000)), ("out", n.clone())]);
    proof.guards.push(Guard::NonNegative(n));
    let kernel = Kernel {
        function: 0,
        lifted: &lifted,
        summary: &summary.parse().unwrap(),
        proof: &proof,
    };
    let of = |c: &str| {
        let d = build(c, &[("f", map_signature())], &[]);
        d.check(&kernel, &Effort::default())
    };
    assert!(of(&rows("int", "0")).unwrap().places.is_some());
    mismatch(of(&rows("int", "(n > 0)")));
}
