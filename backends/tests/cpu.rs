//! The `cpu` target: what it prints, and what that computes.

mod common;

use common::{Random, assert_same, call, expected, generate, golden, run_c, summary, vectors};
use tensorize_backends::cpu::Cpu;
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::tensir::Function;

/// Generates, compiles, runs, compares with the interpreter.
fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> String {
    let generated = generate(&Cpu, f, tier);
    let text = &generated.files[0].1;
    let loops = generated.loopir.as_ref().unwrap();
    loops
        .validate()
        .unwrap_or_else(|e| panic!("{}: {e}\n{loops}", f.name));
    let program = Program::new(loops).unwrap();
    for call in calls {
        let mut after = call.clone();
        let returned = program.run(&mut after, 10_000_000);
        let returned = returned.unwrap_or_else(|e| panic!("{}: {e:?}\n{loops}", f.name));
        let got = Outputs {
            arrays: after.arrays,
            returned,
        };
        assert_same(&f.name, generated.tier, &got, &expected(f, call));
    }
    let got = run_c(f, &generated.entry, text, calls);
    for (call, got) in calls.iter().zip(got) {
        assert_same(&f.name, generated.tier, &got, &expected(f, call));
    }
    text.clone()
}

fn images(f: &Function) -> Vec<Inputs> {
    let mut r = Random(7);
    [(0, 0), (1, 1), (3, 5), (-1, 4), (17, 33)]
        .into_iter()
        .map(|(rows, cols)| call(f, &[("rows", rows), ("cols", cols)], &mut r, false))
        .collect()
}

#[test]
fn screen() {
    let f = summary("screen");
    golden("screen.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn darken() {
    let f = summary("darken");
    golden("darken.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn stores_under_a_condition_stay_conditional() {
    let f = summary("burn");
    golden("burn.cpu.c", &check(&f, Tier::Real, &images(&f)));
}

#[test]
fn rows_in_place() {
    let f = summary("center_rows");
    let calls: Vec<_> = images(&f)
        .into_iter()
        .filter(|c| c.size("rows") != Some(-1))
        .collect();
    check(&f, Tier::Exact, &calls);
}

#[test]
fn matvec() {
    let f = summary("matvec");
    golden(
        "matvec.exact.cpu.c",
        &check(&f, Tier::Exact, &vectors(&f, false)),
    );
    golden(
        "matvec.real.cpu.c",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
}

#[test]
fn matmul() {
    let f = summary("matmul");
    check(&f, Tier::Exact, &vectors(&f, false));
}

#[test]
fn softmax() {
    let f = summary("softmax");
    golden("softmax.cpu.c", &check(&f, Tier::Real, &vectors(&f, true)));
    check(&f, Tier::Exact, &vectors(&f, true));
}

#[test]
fn integer_sums_are_exact() {
    let f = summary("dot16");
    let text = check(&f, Tier::Exact, &vectors(&f, true));
    assert!(text.contains("reduction(+:acc)"), "{text}");
}

#[test]
fn results_that_read_each_other() {
    let f = summary("swap_scaled");
    check(&f, Tier::Exact, &vectors(&f, false));
}

#[test]
fn shapes_and_index_notation() {
    for name in ["shapes", "notation"] {
        let f = summary(name);
        check(&f, Tier::Exact, &vectors(&f, false));
    }
}
