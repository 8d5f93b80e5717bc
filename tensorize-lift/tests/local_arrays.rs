//! Where accesses to local arrays and tables lie inside of them, and arithmetic on indices does not overflow: C takes both
//! for granted, and a wrapper with slices has to check them.

mod common;

use tensorize_lift::summarise::summarise;
use tensorize_prove::solver::Solver;
use tensorize_prove::{Options, Verdict};

/// The conditions of this kernel, in words; `None` if there is no telling.
fn conditions(source: &str) -> Option<Vec<String>> {
    let all = common::parsed("kernel.c", source, &[]);
    let kernel = all.into_iter().last().unwrap().lowered.unwrap();
    let mut solver = Solver::new(tensorize_prove::solver::find())
        .expect("Z3, which `cargo xtask setup` installs");
    let proposal = summarise(&kernel, &mut solver).unwrap_or_else(|r| panic!("{}", r.message));
    match proposal.prove(&kernel, &mut solver, &Options::default()).1 {
        Verdict::Proven(proof) => {
            let conditions = proof.asked_of_slices?;
            Some(conditions.iter().map(ToString::to_string).collect())
        }
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn sizes_decide() {
    let found = conditions(
        "void f(const int *x, int *y, int n) { int t[8]; for (int i = 0; i < n; i++) t[i] = x[i]; \
         for (int i = 0; i < n; i++) y[i] = t[i] + i; }",
    );
    assert_eq!(found.unwrap(), ["-n + 8 >= 0"]);
    let found = conditions(
        "void f(int *y, int n, int k) { static const int t[8] = {1, 2, 3}; for (int i = 0; i < n; i++) y[i] = t[i + k]; }",
    );
    assert_eq!(found.unwrap(), ["k >= 0", "-k - n + 8 >= 0"]);
}

#[test]
fn nothing_is_asked_where_types_and_conditions_say_it() {
    for (name, body) in [
        ("bytes", "static const int t[256] = {1}; y[i] = t[b[i]];"),
        (
            "masked",
            "static const int t[4] = {1, 2, 3, 4}; y[i] = t[b[i] & 3];",
        ),
        (
            "tested",
            "static const int t[4] = {1, 2, 3, 4}; y[i] = i < 4 ? t[i] : 0;",
        ),
    ] {
        let found = conditions(&format!(
            "void f(const unsigned char *b, int *y, int n) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
        ));
        assert_eq!(found.unwrap(), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn the_data_decides() {
    let found = conditions(
        "void f(const unsigned char *b, int *y, int n) { static const int t[4] = {1, 2, 3, 4}; \
         for (int i = 0; i < n; i++) y[i] = t[b[i]]; }",
    );
    let found = found.unwrap();
    assert!(
        found.iter().any(|g| g.contains("fold") && g.contains("b[")),
        "{found:?}"
    );
}

/// An index that has wrapped and is then cut to what there is would be another one than the proof speaks of.
#[test]
fn arithmetic_before_an_index_is_cut_to_size_does_not_overflow() {
    for (name, body, asked) in [
        ("ring", "y[(i + k) % n] = x[i];", "k + n - 1 fits i32"),
        (
            "clamped",
            "y[i] = x[i + k < n ? i + k : n - 1];",
            "k + n - 1 fits i32",
        ),
        ("resampled", "y[i] = x[i * k / n];", "k*n - k fits i32"),
        (
            "tested",
            "if (i + k < n) y[i] = x[i + k];",
            "k + n - 1 fits i32",
        ),
        // What decides how often something is done.
        (
            "rounds",
            "for (int j = 0; j < 100 - (i + k); j++) y[i] += x[j];",
            "k + n - 1 fits i32",
        ),
        (
            "shorter",
            "for (int j = 0; j < k - 1; j++) y[j] = x[i];",
            "k - 1 fits i32",
        ),
        (
            "table",
            "y[i] = x[(unsigned char)(i + k)];",
            "k + n - 1 fits i32",
        ),
        // Under a condition first, which says more of it than is so everywhere.
        (
            "narrowed",
            "if (i + k >= m) z[i] = i + k - m; y[i] = x[i + k - m < n ? i + k - m : n - 1];",
            "k - m fits i32",
        ),
    ] {
        let found = conditions(&format!(
            "void f(const float *x, float *y, float *z, int n, int m, int k) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
        ));
        let found = found.unwrap();
        assert!(found.iter().any(|c| c == asked), "{name}: {found:?}");
    }
    // Of a sum alone the end of what is touched tells, whatever it is that says how many rounds there are.
    for body in [
        "y[i] = x[i + k];",
        "for (int j = 0; j < length[i]; j++) y[i] += x[i * k + j];",
    ] {
        let found = conditions(&format!(
            "void f(const float *x, const int *length, float *y, int n, int k) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
        ));
        assert!(found.unwrap().is_empty());
    }
}
