//! The `numpy` target: what it prints, and what that computes when Python runs it.

mod common;

use common::python::{python, run_python};
use common::{Random, assert_same, call, expected, golden, summary, try_generate, vectors};
use tensorize_backends::frameworks::NUMPY;
use tensorize_ir::guard::{Footprint, Tier};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

fn check_with(f: &Function, tier: Tier, calls: &[Inputs], footprints: &[Footprint]) -> String {
    let g = try_generate(&NUMPY, f, tier, footprints).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    let text = g.files[0].1.clone();
    let Some(python) = python() else { return text };
    for (call, got) in calls.iter().zip(run_python(&python, f, &g, calls)) {
        assert_same(
            &format!("{}\n{text}", f.name),
            g.tier,
            &got,
            &expected(f, call),
        );
    }
    text
}

fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> String {
    check_with(f, tier, calls, &[])
}

/// All pairs of bytes.
fn all_bytes(f: &Function) -> Vec<Inputs> {
    let mut c = call(f, &[("rows", 256), ("cols", 256)], &mut Random(5), false);
    let byte = |v: usize| Scalar::int(ScalarType::U8, v as i128);
    for (name, value) in [("base", 256), ("active", 1)] {
        if let Some(b) = c.arrays.get_mut(name) {
            b.data = (0..65536).map(|i| byte(i / value % 256)).collect();
        }
    }
    vec![
        c,
        call(f, &[("rows", 0), ("cols", 3)], &mut Random(6), false),
    ]
}

#[test]
fn blends() {
    for name in ["screen", "darken", "burn"] {
        let f = summary(name);
        golden(
            &format!("{name}.numpy.py"),
            &check(&f, Tier::Exact, &all_bytes(&f)),
        );
    }
}

#[test]
fn sums_in_order_and_in_any_order() {
    let f = summary("matvec");
    golden(
        "matvec.exact.numpy.py",
        &check(&f, Tier::Exact, &vectors(&f, false)),
    );
    golden(
        "matvec.real.numpy.py",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
}

#[test]
fn softmax() {
    let f = summary("softmax");
    golden(
        "softmax.numpy.py",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
    let refused = try_generate(&NUMPY, &f, Tier::Exact, &[]).unwrap_err();
    assert!(refused.contains("np.exp"), "{refused}");
}

#[test]
fn integers_and_rows() {
    for name in ["matmul", "dot16", "center_rows", "swap_scaled"] {
        let f = summary(name);
        check(&f, Tier::Exact, &vectors(&f, false));
    }
}

#[test]
fn shapes_and_index_notation() {
    for name in ["shapes", "notation"] {
        let f = summary(name);
        check(&f, Tier::Exact, &vectors(&f, false));
    }
}
