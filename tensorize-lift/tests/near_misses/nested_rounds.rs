//! Near loops over time that lie in each other, or come one after the other.

use super::over_time::agree;
use super::{Case, refuses_them};
use super::{kernel, proofs_only, solver};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::interp::run;
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::Scalar;
use tensorize_ir::tensir::Rounds;
use tensorize_lift::summarise::summarise;
use tensorize_prove::Verdict;
use tensorize_prove::rounds::Split;

#[test]
fn other_rounds_in_rounds_are_another_kernel() {
    refuses_them("nested_rounds", "c", "", CASES);
}

const CASES: &[Case] = &[
    // Factors of a symmetric matrix, in place.
    (
        "void f(int n, double *a, double *p) { for (int i = 0; i < n; i++) for (int j = i; j < n; j++) {
         double s = a[i * n + j]; for (int k = i - 1; k >= 0; k--) s -= a[i * n + k] * a[j * n + k];
         if (i == j) p[i] = s * 0.5; else a[j * n + i] = s / p[i]; } }",
        &[
            ("i = 0; i < n", "i = 1; i < n"),
            ("i < n", "i < n - 1"),
            ("j = i;", "j = 0;"),
            ("j < n; j++", "j < n - 1; j++"),
            ("j < n; j++", "j < n; j += 2"),
            ("k = i - 1; k >= 0", "k = i - 1; k > 0"),
            ("a[i * n + k] * a[j * n + k]", "a[i * n + k] * a[k * n + j]"),
            ("i == j", "j == n - 1"),
            ("/ p[i]", "/ p[j]"),
            ("double s = a[i * n + j]", "double s = a[j * n + i]"),
        ],
    ),
    // Three loops, of which two go on from what their last round has left.
    (
        "void f(int t, int n, int *a) { for (int s = 0; s < t; s++) for (int i = 1; i < n - 1; i++)
         for (int j = 1; j < n - 1; j++) a[i * n + j] = a[(i - 1) * n + j] + a[i * n + j - 1] + 3 * a[i * n + j + 1] + a[(i + 1) * n + j]; }",
        &[
            ("s < t", "s <= t"),
            ("i = 1;", "i = 2;"),
            ("i < n - 1", "i < n - 2"),
            ("int i = 1; i < n - 1; i++", "int i = n - 2; i > 0; i--"),
            ("int j = 1; j < n - 1; j++", "int j = n - 2; j > 0; j--"),
            ("a[(i - 1) * n + j]", "a[(i - 1) * n + j - 1]"),
            ("3 *", "4 *"),
            ("3 *", "s *"),
            ("3 *", "i *"),
        ],
    ),
    // Two loops in each round of one: the second starts where the first has ended.
    (
        "void f(int n, double *a) { for (int i = 0; i < n; i++) { for (int j = 0; j < i; j++) {
         for (int k = 0; k < j; k++) a[i * n + j] -= a[i * n + k] * a[k * n + j]; a[i * n + j] /= a[j * n + j]; }
         for (int j = i; j < n; j++) for (int k = 0; k < i; k++) a[i * n + j] -= a[i * n + k] * a[k * n + j]; } }",
        &[
            // What stands before, between and after the loops.
            ("i++) {", "i++) { a[i] = 1;"),
            ("/= a[j * n + j]; }", "/= a[j * n + j]; } a[i] = 1;"),
            ("* a[k * n + j]; } }", "* a[k * n + j]; a[i] = 1; } }"),
            ("j < i;", "j < i - 1;"),
            ("j < i;", "j <= i;"),
            ("k < j", "k < i"),
            ("a[j * n + j]", "a[i * n + i]"),
            ("j = i;", "j = i + 1;"),
            ("j = i;", "j = 0;"),
            ("k < i;", "k <= i;"),
            ("k < i;", "k < j;"),
            ("i = 0; i < n", "i = 0; i < n - 1"),
            ("a[i * n + j] /= a[j * n + j]; }", "} a[i * n] /= a[i * n + i];"),
        ],
    ),
];

/// Kernels whose rounds need more than what the caller's arrays hold: either the summary says what, or there is none.
#[test]
fn rounds_after_rounds_start_from_the_arrays_alone() {
    let kernels = [
        // A number goes from round to round, and is set between two loops.
        "void f(int n, double *r, double *y, double *z) { double alpha, beta, sum; int i, k; y[0] = -r[0]; beta = 1; alpha = -r[0];
         for (k = 1; k < n; k++) { beta = (1 - alpha * alpha) * beta; sum = 0; for (i = 0; i < k; i++) sum += r[k - i - 1] * y[i];
         alpha = -(r[k] + sum) / beta; for (i = 0; i < k; i++) z[i] = y[i] + alpha * y[k - i - 1];
         for (i = 0; i < k; i++) y[i] = z[i]; y[k] = alpha; } }",
        // What is read before is changed by the loop after it.
        "void f(double *u, double *v, int n) { v[0] = u[0]; double c = u[1]; for (int i = 1; i < n; i++) for (int j = 1; j < n; j++)
         u[j] = u[j - 1] * c + u[j] * v[0]; }",
    ];
    for source in kernels {
        let kernel = kernel(source);
        let mut solver = solver();
        if let Ok(proposal) = summarise(&kernel, &mut solver) {
            let (summary, verdict) = proposal.prove(&kernel, &mut solver, &proofs_only());
            if let Verdict::Proven(proof) = verdict {
                assert!(!summary.state.is_empty(), "{source}\n{summary}");
                agree(&kernel, &summary, &proof);
            }
        }
    }
}

/// The parts that a kernel is taken apart into, run one after the other, do what the kernel does, or read what has no value.
#[test]
fn the_parts_do_what_the_kernel_does() {
    let kernels = [
        "void f(unsigned *u, unsigned *v, int n, int m) { int i, j; for (i = 1; i < n; i++) u[i] += u[i - 1] * 3; v[0] = u[0];
         for (j = m - 1; j > 0; j -= 2) v[j] = v[j + 1] ^ u[1]; for (i = 1; i < n; i++) u[i] -= u[i - 1]; u[0] = n; }",
        "void f(unsigned *u, int n) { int i, c = 2; for (i = 1; i < n; i++) u[i] += u[i - 1] * c; c = 3;
         for (i = 1; i < n; i++) u[i] += u[i - 1] * c; }",
        "void f(unsigned *u, int n) { int i, c = u[0]; for (i = 1; i < n; i++) u[i - 1] = u[i] * c; c = c + 1;
         for (i = 1; i < n; i++) u[i] += u[i - 1] * c; }",
        "void f(unsigned *u, int n) { int i; n--; u[0] = 1; for (i = 1; i < n; i++) u[i] += u[i - 1]; u[0] = n; }",
        "void f(unsigned *u, int n) { int i, c; c = 1; for (i = 1; i < n; i++) { u[i] += u[i - 1] * c; c = c + 2; } u[0] = 7; }",
        "void f(unsigned *u, int n) { int i, c; u[0] = 3; c = 1; for (i = 1; i < n; i++) { u[i] += u[i - 1] * c; c = c + 2; } }",
        "void f(unsigned *u, int n) { int i; for (i = 1; i < n; i++) u[i] += u[i - 1]; for (; i > 1; i--) u[i - 1] -= u[i - 2] * 3; }",
        "void f(unsigned *u, int n) { int i, hi = n; if (n > 3) hi = 3; for (i = 1; i < hi; i++) u[i] += u[i - 1]; hi = n;
         for (i = 1; i < hi; i++) u[i] -= u[i - 1] * 5; }",
        "void f(unsigned *u, unsigned *v, int n) { if (n < 2) return; u[0]++; for (int i = n; i-- > 1; ) u[i] += u[i - 1];
         for (int i = 1; i < n; i++) { v[i] = u[i - 1]; u[i] = v[i - 1]; } }",
        "void f(unsigned *u, int n) { for (int i = 0; i < n; i++) { for (int j = 1; j < i; j++) u[j] += u[j - 1] * i; u[i] ^= u[0]; } }",
        "void f(unsigned *u, unsigned *v, int n) { for (int i = 1; i < n; i++) { u[0] = i; for (int j = 1; j < i; j++) u[j] += u[j - 1] * v[i];
         v[i] = v[i - 1] + u[1]; for (int j = i - 1; j > 0; j--) u[j] -= u[j + 1]; } }",
        // What walks along, and what only seems to.
        "void f(unsigned *u, unsigned *v, int n, int m) { unsigned *p = u; int c = m; for (int i = 1; i < n; i++, p++, c += m) {
         p[1] += p[0] * c; v[i] = c; } c = 2; v[0] = c; }",
        "void f(unsigned *u, unsigned *v, int n, int m) { unsigned c = m, *p = u, *e = u + m; int left = n; while (left > 0) {
         *e++ = v[left] + c; v[left] = p[0] ^ p[m]; p++; c -= 3; left--; } e = u; left = m;
         while (left > 0) { *e++ = *p++; left--; } }",
        "void f(unsigned *u, int n) { int c = 1, d = 2; for (int i = 1; i < n; i++) { u[i] += u[i - 1] * c; c += d; if (i > 2) d += 3; } }",
        "void f(unsigned *u, int n) { int c = 1; for (int i = 1; i < n; c += i, i++) { c += 5; u[i] += u[i - 1] * c; } }",
        "void f(unsigned *u, int n) { int c = 1; u[1] = 4; c = 7; for (int i = 1; i < n; i++, c += 2) u[i] += u[i - 1] * c; u[0] = c; }",
        "void f(unsigned *u, int n, int m) { int c = 0, d = 1; u[1] = 4; for (int i = 1; i < n; i++, c += d) { u[i] += u[i - 1] * c; c -= m; }
         u[0] = c + d; }",
        "void f(unsigned *u, unsigned *v, int n) { unsigned *p = v; for (int i = 1; i < n; i++) { u[i] += u[i - 1]; *p = u[i]; p++;
         if (i & 1) p++; } }",
        // How often a loop runs is not told without what its rounds do to its end.
        "void f(unsigned *u, int n, int m) { int left = m; for (int i = 1; i < left; i++) { u[i] += u[i - 1]; left -= 1; } u[0] = n; }",
        "void f(unsigned *u, unsigned *v, int n) { int hi = n; for (int i = 1; i < hi; i++) { u[i] += u[i - 1]; hi = 3; }
         for (int i = 1; i < n; i++) v[i] += v[i - 1]; }",
        "void f(unsigned *u, unsigned *v, int n, int m) { for (int i = 1; i < n; i++) u[i] += u[i - 1]; m = 3;
         for (int i = 1; i < m; i++) v[i] += v[i - 1]; }",
        "void f(unsigned *u, int n) { n--; u[n] = 1; for (int i = 1; i < n; i++) u[i] += u[i - 1]; u[0] = n; }",
        "void f(unsigned *u, int n) { int now = 0; if (n > 3) now = 1; for (int i = 1; i < n; i++) { u[i] += u[i - 1] * now; now = 1 - now; } }",
        "void f(unsigned *u, unsigned *v, int n) { int q = 0; v[0] = 1; q = 2; v[1] = 1;
         for (int i = 1; i < n; i++, q++) u[i] += u[i - 1] * q; }",
        // It may be over after the first loop, and what the first round starts from may be set under a condition.
        "void f(unsigned *u, unsigned *v, int n, int m) { for (int i = 1; i < n; i++) u[i] += u[i - 1]; if (m > 4) return;
         for (int i = 1; i < n; i++) v[i] += v[i - 1]; }",
        "void f(unsigned *u, unsigned *v, int n) { unsigned s = 0; if (n > 3) s = 1; for (int i = 0; i < n; i++) { s += v[i]; v[i] = s; }
         for (int i = 1; i < n; i++) u[i - 1] = u[i] * 3; }",
        // What earlier rounds have added is said by their own steps, and what memory holds is none of these.
        "void f(unsigned *u, unsigned *v, int n) { int k = 0; for (int i = 0; i < n; i++) { u[i] += v[k % 7]; k += i + 1; v[0] = k; } }",
        "void f(unsigned *u, unsigned *v, int n) { int k = 1; for (int i = n; i > 0; i--) { for (int j = 0; j < i; j++) {
         v[k % 5] += i; k++; } u[i] = k; } }",
        "void f(unsigned *u, unsigned *v, int n, int m) { int k = m, c = 1; for (int i = 0; i < n; i++, k += c) { if (i > m) c += 2;
         else k -= i; v[i] = k; u[i] += v[0]; } u[0] = 3; }",
        "void f(unsigned *u, int n) { int k = 1; for (int i = 1; i < n; i++) { u[i] = k; k += u[i - 1]; u[i - 1] = 9; } }",
        "void f(unsigned *u, int n) { int k = 1; for (int i = 1; i < n; i++) { u[i] = k; if (u[i - 1] > 4) k += i; u[i - 1] = 2; } }",
        "void f(unsigned *u, unsigned *v, int n) { int k = 3, l = 0; u[0] = k; k = 2; for (int i = 0; i < n; i++) { u[i] += k + l; l += k;
         k += i; v[i] = u[0]; } v[0] = u[1]; }",
        "void f(unsigned *u, unsigned *v, int n, int m) { int k = 0; unsigned *p = v; for (int i = 0; i < n; i++, p++) { u[i] = k;
         for (int j = i; j < m; j++) { if (j == 3) k = i; k += j; } *p = u[0] + k; } }",
        "void f(unsigned *u, unsigned *v, int n) { int k = 0, i = 0; while (i < n) { i++; v[i] = k; for (int j = 0; j < i; j++) k += j;
         u[i] += u[i - 1] + k; } }",
        "void f(unsigned *u, unsigned *v, int n) { int now = 0, k = 0; for (int i = 0; i < n; i++) { u[i] += k; if (now) k += i; now = 1 - now;
         v[i] = u[0]; } }",
        "void f(unsigned *u, unsigned *v, int n) { int k = 0; long round = 20; for (int i = 0; i < n; i++) { u[i] += v[k % 7]; round--; k += round;
         v[0] = k; } }",
        // Where data say that there is nothing to do, nothing is done; what stands before was.
        "void f(unsigned *u, unsigned *v, int n) { if (v[n % 5] > 8) return; for (int i = 1; i < n; i++) u[i] += u[i - 1]; }",
        "void f(unsigned *u, unsigned *v, int n) { u[0] = 77; if (v[n % 5] > 8) return; for (int i = 1; i < n; i++) u[i] += u[i - 1]; }",
        "void f(unsigned *u, unsigned *v, int n) { if (v[n % 5] > 8) return; u[0] = 77; for (int i = 1; i < n; i++) u[i] += u[i - 1];
         u[1] = 5; }",
        "void f(unsigned *u, unsigned *v, int n) { if (v[n % 5] > 8) return; for (int i = 1; i < n; i++) u[i] += u[i - 1];
         for (int i = 1; i < n; i++) u[i - 1] = u[i] * 3; }",
        "void f(unsigned *u, int n) { if (u[1] > n) return; for (int i = 1; i < n; i++) u[i] += u[i - 1];
         for (int i = 1; i < n; i++) u[i - 1] = u[i] * 3; }",
        "void f(unsigned *u, int n) { u[0] = n; if (u[0] > 4) return; for (int i = 1; i < n; i++) u[i - 1] += u[i] * 3; }",
        "void f(unsigned *u, unsigned *v, int n, int m) { for (int i = 0; i < n; i++) u[i] = u[i] * 3; int k = m + 1;
         if (v[m % 5] > 8) return; k = 2; for (int i = 1; i < n; i++, k += i) u[i] += u[i - 1] * k; u[0] = k; }",
        "void f(unsigned *u, unsigned *v, int n) { int k = n; u[0] = 2; if (v[k % 5] > 8) return; for (int i = 1; i < n; i++, k++)
         u[i] += u[i - 1] * k; }",
        "void f(unsigned *u, unsigned *v, int n) { int k = n; u[0] = 2; if (v[k % 5] > 8) return; for (int i = 1; i < n; i++, k += i)
         u[i] += u[i - 1] * k; }",
        "void f(unsigned *u, unsigned *v, int n) { u[0] = 2; int k = v[n % 3]; if (v[k % 7] > 8) return; u[1] = 3; if (v[n % 5] > 7) return;
         for (int i = 1; i < n; i++) { k = 2; u[i] += u[i - 1] * k; } }",
    ];
    let (mut seen, mut whole) = (0, Vec::new());
    for source in kernels {
        let before_it = seen;
        let kernel = kernel(source);
        let splits = Split::all(&kernel, &Split::name(&kernel)).unwrap_or_default();
        for (n, m) in (0..8).flat_map(|n| (0..8).map(move |m| (n, m))) {
            let before = inputs(&kernel, n, m);
            let mut after = before.clone();
            if run(&kernel, &mut after, 10_000).is_err() {
                continue;
            }
            for (split, levels) in splits.iter().flat_map(|s| [(s, 1), (s, 2)]) {
                let mut by_parts = before.clone();
                if in_parts(split, &kernel, levels, &mut by_parts).is_some() {
                    seen += 1;
                    assert_eq!(by_parts.arrays, after.arrays, "{source}\n{}", split.round);
                }
            }
        }
        println!("{} runs of parts: {source}", seen - before_it);
        if seen == before_it {
            whole.push(source);
        }
    }
    // Those of which one thing looks at what another one changes.
    assert_eq!(whole.len(), 8, "are not taken apart: {whole:#?}");
    assert!(seen > 1000, "{seen}");
}

fn inputs(kernel: &Function, n: i128, m: i128) -> Inputs {
    let mut inputs = Inputs::default();
    for p in &kernel.params {
        match p {
            Param::Scalar { name, ty } => {
                let value = if &**name == "n" { n } else { m };
                inputs.scalars.insert(name.clone(), Scalar::int(*ty, value));
            }
            Param::Array { name, elem, .. } => {
                let value = |i: i128| Scalar::int(*elem, (i * 7 + 3) % 11 + i);
                let data = (0..12).map(value).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    inputs
}

/// Runs the rounds of a kernel, and rounds in rounds; nothing if one of them reads what has no value.
fn in_parts(split: &Split, kernel: &Function, levels: usize, inputs: &mut Inputs) -> Option<()> {
    let counter = Split::name(kernel);
    let trip = run(&split.count, &mut inputs.clone(), 10_000).ok()??;
    if split.needs(&Idx::constant(trip.as_int())).is_some() {
        return None;
    }
    for k in 0..trip.as_int() {
        let number = Scalar::int(Rounds::COUNTER, k);
        inputs.scalars.insert(counter.clone(), number);
        let inner = Split::all(&split.round, &Split::name(&split.round));
        match inner.ok().filter(|_| levels > 1) {
            Some(inner) => in_parts(inner.last()?, &split.round, levels - 1, inputs)?,
            None => {
                run(&split.round, inputs, 10_000).ok()?;
            }
        }
    }
    inputs.scalars.remove(&counter);
    Some(())
}
