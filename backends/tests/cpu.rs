//! The `cpu` target: what it prints, and what that computes.

mod common;

use common::kernels::{self, call};
use common::{Random, assert_same, expected, generate, golden, run_c};
use tensorize_backends::cpu::Cpu;
use tensorize_ir::guard::Tier;
use tensorize_ir::tensir::Function;

/// Generates, compiles, runs, compares with the element view.
fn check(f: &Function, tier: Tier, calls: &[common::Call]) -> String {
    let generated = generate(&Cpu, f, tier);
    let text = &generated.files[0].1;
    let got = run_c(f, &generated.entry, text, calls);
    for (call, got) in calls.iter().zip(got) {
        assert_same(&f.name, generated.tier, &got, &expected(f, call));
    }
    text.clone()
}

fn images(f: &Function) -> Vec<common::Call> {
    let mut r = Random(7);
    [(0, 0), (1, 1), (3, 5), (-1, 4), (17, 33)]
        .into_iter()
        .map(|(rows, cols)| {
            let len = (rows * cols).max(0) as usize;
            let lens = [("base", len), ("active", len), ("out", len), ("x", len)];
            call(f, &[("rows", rows), ("cols", cols)], &lens, &mut r, false)
        })
        .collect()
}

#[test]
fn screen() {
    let f = kernels::screen();
    golden("screen.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn darken() {
    let f = kernels::darken();
    golden("darken.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn stores_under_a_condition_stay_conditional() {
    let f = kernels::burn();
    golden("burn.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn rows_in_place() {
    let f = kernels::center_rows();
    check(&f, Tier::Exact, &images(&f));
}

fn vectors(f: &Function, tame: bool, longest: usize) -> Vec<common::Call> {
    let mut r = Random(9);
    [(0, 0), (1, 1), (3, 5), (37, 3), (longest, 70)]
        .into_iter()
        .map(|(n, d)| {
            let lens = [
                ("x", n),
                ("a", n),
                ("b", n),
                ("p", n),
                ("q", n),
                ("out", d),
                ("w", n * d),
            ];
            call(
                f,
                &[("n", n as i128), ("d", d as i128)],
                &lens,
                &mut r,
                tame,
            )
        })
        .collect()
}

#[test]
fn matvec() {
    let f = kernels::matvec();
    golden(
        "matvec.exact.cpu.c",
        &check(&f, Tier::Exact, &vectors(&f, false, 1000)),
    );
    golden(
        "matvec.real.cpu.c",
        &check(&f, Tier::Real, &vectors(&f, true, 1000)),
    );
}

#[test]
fn softmax() {
    let f = kernels::softmax();
    golden(
        "softmax.cpu.c",
        &check(&f, Tier::Real, &vectors(&f, true, 40)),
    );
    check(&f, Tier::Exact, &vectors(&f, true, 40));
}

#[test]
fn integer_sums_are_exact() {
    let f = kernels::dot16();
    let text = check(&f, Tier::Exact, &vectors(&f, true, 1000));
    assert!(text.contains("reduction(+:sum)"));
}

#[test]
fn results_that_read_each_other() {
    let f = kernels::swap_scaled();
    check(&f, Tier::Exact, &vectors(&f, false, 1000));
}
