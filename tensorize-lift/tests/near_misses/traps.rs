//! Kernels that end the program on some calls: their guards leave all of these to the original, and no more than that is
//! believed.

use super::{kernel, solver};
use std::cell::Cell;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::Sym;
use tensorize_ir::inputs::Spec;
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_lift::left_to_the_original;
use tensorize_lift::summarise::summarise;
use tensorize_prove::{Options, Verdict};

/// The guards, if it is proven.
fn guards(kernel: &Function) -> Option<Vec<Guard>> {
    let mut solver = solver();
    let proposal = summarise(kernel, &mut solver).ok()?;
    match proposal.prove(kernel, &mut solver, &Options::default()).1 {
        Verdict::Proven(proof) => Some(proof.guards),
        _ => None,
    }
}

/// All calls with small numbers: those that the guards admit, and those of them that trap; then the same of the others.
fn calls(f: &Function, guards: &[Guard]) -> [(usize, usize); 2] {
    let program = Program::new(f).unwrap();
    let spec = Spec::known(&f.params, guards, &[]);
    let numbers: Vec<&Sym> = (f.params.iter())
        .filter_map(|p| match p {
            Param::Scalar { name, .. } => Some(name),
            Param::Array { .. } => None,
        })
        .collect();
    let mut seen = [(0, 0); 2];
    for at in 0..3 * 9usize.pow(numbers.len() as u32) {
        let mut inputs = Inputs::default();
        let value = |k: u32| (at / 3 / 9usize.pow(k) % 9) as i128 - 3;
        // From negative numbers to positive ones, positive ones, and from positive ones to negative ones.
        let element = |i: i128| match at % 3 {
            0 => i - 2,
            1 => i + 1,
            _ => 4 - i,
        };
        for p in &f.params {
            match p {
                Param::Scalar { name, ty } => {
                    let k = numbers.iter().position(|n| *n == name).unwrap() as u32;
                    // Whether a pointer is null.
                    let v = if *ty == ScalarType::I1 {
                        value(k) & 1
                    } else {
                        value(k)
                    };
                    let v = match ty {
                        ScalarType::F32 => Scalar::f32(v as f32 / 2.0),
                        ty => Scalar::int(*ty, v),
                    };
                    inputs.scalars.insert(name.clone(), v);
                }
                Param::Array { name, elem, .. } => {
                    let data = (0..16).map(|i| Scalar::int(*elem, element(i))).collect();
                    inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
                }
            }
        }
        let read = |array: &Sym, at: i128| inputs.arrays.get(array)?.get(at);
        let admitted = spec.admits(&inputs.scalars) && spec.admits_data(&inputs.scalars, &read);
        let side = &mut seen[usize::from(!admitted)];
        side.0 += 1;
        let stop = program.run(&mut inputs, 10_000).err();
        side.1 += usize::from(stop == Some(Stop::Trap));
    }
    seen
}

fn leaves_every_trap(source: &str) {
    let f = kernel(source);
    let guards = guards(&f).unwrap_or_else(|| panic!("not proven: {source}"));
    let [(admitted, trapped), (_, original)] = calls(&f, &guards);
    assert!(admitted > 0 && original > 0, "{source}: {guards:?}");
    assert_eq!(trapped, 0, "{source}: {guards:?}");
}

#[test]
fn guards_leave_every_trap_to_the_original() {
    let loop_after = "for (int i = 0; i < n; i++) b[i] = a[i] + m;";
    let heads = [
        "if (n > m) abort();",
        "if (n < 1 || m == 0) abort();",
        "if (!(a && n < 5)) abort();",
        "if (!a || n == 2) abort();",
        "if (!a || m > n || !b) { report(m); return; }",
        "if (n != m) { for (int i = 0; i < n; i++) b[i] = 0; exit(1); }",
        "if (mode == 1) { if (m < 2) abort(); }",
        "switch (mode) { case 0: m += 1; break; case 1: m += 2; break; case 2: break; default: abort(); }",
        "if (mode == 2) m = 1; else if (mode == 3) m = 2; else abort();",
        "if (mode != 0 && mode != 1) abort();",
        "if (mode != -2 && mode != 2 && mode != 4) abort();",
        "if (!(mode == -2 || mode == 3)) abort();",
        "if (mode != 0 && m != 2) abort();",
        "int e = 0; if (n < 0) e = 1; else if (m < n) e = 2; else if (mode != 0 && mode != 3) e = 3; if (e != 0) abort();",
        "int e = 0; if (n > 3) e = 7; if (m < 0) e = 2; if (e == 7 || e == 2) abort();",
        "if (n > m) { report(n); return; }",
        "if (n < 1) { for (int i = 0; i < 3; i++) b[i] = report(i); report(m); return; } else if (m > 3) { report(m); return; }",
        "for (int i = 0; i < n; i++) if (i >= m) abort();",
        "for (int i = 0; i < n; i++) { if (i + mode > m) abort(); b[i] = 1; }",
        "for (int i = 0; i < n; i++) { if (m < 0) abort(); b[i] = 1; }",
    ];
    for head in heads {
        let source = format!(
            "#include <stdlib.h>\nint report(int);\nvoid f(const int *a, int *b, int n, int m, int mode) {{ {head} {loop_after} }}"
        );
        leaves_every_trap(&source);
    }
}

/// Floats that are passed by value are looked at as the original does, with what has to hold for it to do so.
#[test]
fn floats_that_end_the_program_are_guards() {
    let loop_after = "for (int i = 0; i < n; i++) b[i] = a[i] * rate;";
    for head in [
        "if (rate > 0.5f) abort();",
        "if (!(rate > 0.5f)) abort();",
        "if (rate <= 0 || rate > 1) abort();",
        "if (rate == 0.5f) abort();",
        "if (rate < by) { report(n); return; }",
        "if (n > 2 && rate < 0) abort();",
        "if (n > 2) { if (rate < 0) abort(); } else if (by < 0) abort();",
        "float r = rate * by; if (r > 1) abort();",
        "if (rate < 0) rate = -rate; if (rate > 1) abort();",
        "for (int i = 0; i < n; i++) { if (rate < 0) abort(); b[i] = 1; }",
        "for (int i = 0; i < n; i++) if (a[i] > 1 && rate < 0) abort();",
        "if ((int)rate > n) abort();",
        "if (rate != rate || by > 1 || n < 0) abort();",
    ] {
        leaves_every_trap(&format!(
            "#include <stdlib.h>\nint report(int);\nvoid f(const int *a, int *b, int n, float rate, float by) {{ {head} {loop_after} }}"
        ));
    }
}

/// What stands in an array that the kernel leaves as it is may be looked at before a call, wherever the kernel looks at it.
#[test]
fn what_the_data_says_from_the_start_is_a_guard() {
    for head in [
        "if (a[0] > m) abort();",
        "for (int i = 0; i < n; i++) if (a[i] < 0) abort();",
        "for (int i = 0; i < n; i++) { if (a[i] > i && i > 1) abort(); b[i] = a[i]; }",
        "for (int i = 1; i < n; i++) if (m > 0) { if (a[i] < a[i - 1]) abort(); }",
        "if (a[0] > m) { report(m); return; }",
        "for (int i = 0; i < n; i++) { if (b[i] == m) abort(); b[i] = 1; }",
        "for (int i = 0; i < n; i++) { if (a[i] < 0) abort(); if (b[i] > m) abort(); if (a[i] == 3) abort(); b[i] = 1; }",
        "for (int i = 1; i < n; i++) { if (a[i] < 0 || a[i - 1] > m) abort(); b[i] = a[i]; }",
        "int at = 0; while (at < n) { if (a[at] < 0) abort(); else at = at + 1; } if (at != n) abort();",
        "for (int i = 0; i < n; i++) if (a[i] < 0) { report(m); abort(); } else b[i] = a[i];",
        "int e = 0; if (n < 0) e = 1; else if (a[0] < 0) e = 2; if (e != 0) { report(e); return; }",
        "int e = 0; if (n < 0) e = 1; else if (b[0] < 0) e = 2; b[0] = 5; if (b[0] + e != 5) { report(e); return; }",
    ] {
        let source = of_head(head);
        leaves_every_trap(&source);
    }
}

/// Data that end a loop may be the last there are: the array ends where they stand, whatever the sizes say. The guard reads
/// no further, and is the first that reads.
#[test]
fn a_guard_reads_no_further_than_the_original() {
    for source in [
        "int f(const int *a, int *b, int n) { for (int i = 0; i < n; i++) { if (a[i] < 0) return 1; b[i] = a[i]; } return 0; }",
        "int f(const int *a, int *b, int n, int m) { for (int i = 0; i < n; i++) for (int j = 0; j < 2; j++) { if (a[2 * i + j] < 0) return 1; b[2 * i + j] = m; } return 0; }",
        "int f(const int *a, int *b, int n, const int *at, const int *t) { for (int i = 0; i < n; i++) { if (a[i] < 0) return 1; b[i] = t[at[i] & 3]; } return 0; }",
        "int f(const int *a, int *b, int n, const int *at, const int *t) { for (int i = 0; i < n; i++) { if (a[i] < 0) return 1; b[i] = t[at[i]]; } return 0; }",
        "int f(const int *a, int *b, int n, const int *at, const int *t) { for (int i = 0; i < n; i++) { b[i] = t[at[i]]; if (a[i] < 0) return 1; } return 0; }",
        "int f(const int *a, int *b, int n, const int *p) { for (int j = 0; j < 8; j++) b[j] = 0; for (int i = 0; i < n; i++) { if (a[i] < 0) return 1; b[p[i]]++; } return 0; }",
        "int f(const int *a, int *b, int n, const int *p) { for (int j = 0; j < 8; j++) b[j] = 0; for (int i = 0; i < n; i++) { for (int k = 0; k < 4; k++) b[p[4 * i + k]]++; if (a[i] < 0) return 1; } return 0; }",
    ] {
        let whole = kernel(source);
        let f = left_to_the_original(&whole).unwrap();
        let guards = guards(&f).unwrap_or_else(|| panic!("not proven: {source}"));
        let spec = Spec::known(&f.params, &guards, &[]);
        let program = Program::new(&whole).unwrap();
        for end in 0..6 {
            let mut inputs = Inputs::default();
            for p in &f.params {
                match p {
                    Param::Scalar { name, ty } => {
                        inputs.scalars.insert(name.clone(), Scalar::int(*ty, 9));
                    }
                    Param::Array { name, elem, .. } => {
                        let len = if &**name == "a" { end + 1 } else { 32 };
                        let element = |i| if &**name == "a" && i == end { -1 } else { 1 };
                        let data = (0..len).map(|i| Scalar::int(*elem, element(i))).collect();
                        inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
                    }
                }
            }
            let outside = std::cell::Cell::new(0);
            let read = |array: &Sym, at: i128| {
                let found = inputs.arrays.get(array)?.get(at);
                let first = &**array == "a";
                outside.set(outside.get() + usize::from(found.is_none() || !first));
                found
            };
            assert!(!spec.admits_data(&inputs.scalars, &read), "{source}");
            assert_eq!(outside.get(), 0, "{source}: {guards:?}");
            // It is a call like any other.
            assert!(program.run(&mut inputs, 10_000).is_ok(), "{source}");
        }
    }
}

/// A loop that stops for another reason, too, looks at nothing after that: a guard of all its rounds would. Where the calls
/// that stop are the original's, the guard stops, too.
#[test]
fn a_loop_that_stops_before_is_looked_at_no_further() {
    let mut looked_at = 0;
    for head in [
        "for (int i = 0; i < n; i++) { if (w[i] < 0) break; CHECK }",
        "for (int i = 0; i < n; i++) { CHECK if (w[i] < 0) break; }",
        "for (int i = 0; i < n && w[i] >= 0; i++) { CHECK }",
        "int i = 0; while (i < n) { if (w[i] < 0) break; CHECK i++; }",
        "for (int j = 0; j < 2; j++) for (int i = 0; i < n; i++) { if (w[i] < 0) break; CHECK }",
    ] {
        let with = |check: &str| {
            let head = head.replace("CHECK", check);
            kernel(&format!(
                "#include <stdlib.h>\nvoid f(const int *a, const int *w, int *b, int n) {{ {head} for (int i = 0; i < 4; i++) b[i] = 1; }}"
            ))
        };
        assert!(guards(&with("")).is_some(), "{head}");
        let whole = with("if (a[i] < 0) abort();");
        let left = left_to_the_original(&whole);
        for f in std::iter::once(whole).chain(left) {
            let Some(guards) = guards(&f) else { continue };
            looked_at += 1;
            let spec = Spec::known(&f.params, &guards, &[]);
            for end in 0..6 {
                let read = |array: &Sym, at: i128| {
                    assert!(at <= end, "{head}: {array}[{at}] after {end}: {guards:?}");
                    let last = &**array == "w" && at == end;
                    Some(Scalar::int(ScalarType::I32, if last { -1 } else { 1 }))
                };
                let n = [("n".into(), Scalar::int(ScalarType::I32, 9))].into();
                spec.admits_data(&n, &read);
            }
        }
    }
    assert!(looked_at > 0);
}

/// Of two conditions of a round, either may end the loop: the second one is looked at where the first one holds.
#[test]
fn a_guard_reads_what_a_round_reads() {
    for body in [
        "if (a[i] < 0) return 1; if (t[i] < 0) return 2; b[i] = 4;",
        "if (a[i] < 0 || t[i] < 0) return 1; b[i] = 4;",
        "if (a[i] < 0) return 1; b[i] = 4; if (a[i] + t[i] < 0) return 2; if (t[i] < -8) return 3;",
        "if (!(a[i] >= 0 && t[i] >= 0)) return 1; b[i] = 4;",
    ] {
        let whole = kernel(&format!(
            "int f(const int *a, const int *t, int *b, int n) {{ for (int i = 0; i < n; i++) {{ {body} }} return 0; }}"
        ));
        let f = left_to_the_original(&whole).unwrap();
        let guards = guards(&f).unwrap_or_else(|| panic!("not proven: {body}"));
        let spec = Spec::known(&f.params, &guards, &[]);
        for (end, first_ends) in (0..6).flat_map(|end| [(end, true), (end, false)]) {
            let admitted = |of_a: &[i128], of_t: &[i128]| {
                let read = |array: &Sym, at: i128| {
                    let of = if &**array == "a" { of_a } else { of_t };
                    assert!((at as usize) < of.len(), "{body}: {array}[{at}]");
                    Some(Scalar::int(ScalarType::I32, of[at as usize]))
                };
                let n = [("n".into(), Scalar::int(ScalarType::I32, 6))].into();
                spec.admits_data(&n, &read)
            };
            // Nothing stands behind what ends it.
            let fine = vec![1; end];
            let last = [&fine[..], &[-9]].concat();
            let longer = vec![1; end + 1];
            match first_ends {
                true => assert!(!admitted(&last, &fine), "{body}"),
                false => assert!(!admitted(&longer, &last), "{body}"),
            }
            assert!(admitted(&[1; 6], &[1; 6]), "{body}");
        }
    }
}

/// A condition that is the same in all rounds is looked at where there is a round: the array may have no elements otherwise.
#[test]
fn a_guard_reads_nothing_where_no_round_does() {
    let f = kernel(&of_head(
        "for (int i = 0; i < n; i++) { if (a[3] < 0) abort(); b[i] = 1; }",
    ));
    let spec = Spec::known(&f.params, &guards(&f).expect("it is proven"), &[]);
    let of = |n| [("n".into(), Scalar::int(ScalarType::I32, n))].into();
    let reads = Cell::new(0);
    let read = |_: &Sym, _: i128| {
        reads.set(reads.get() + 1);
        Some(Scalar::int(ScalarType::I32, 1))
    };
    assert!(spec.admits_data(&of(0), &read) && reads.get() == 0);
    assert!(spec.admits_data(&of(1), &read) && reads.get() > 0);
}

#[test]
fn what_the_data_says_by_then_is_no_guard() {
    for head in [
        "for (int i = 0; i < n; i++) { if (b[i] == m) abort(); if (i + 1 < n) b[i + 1] = a[i]; }",
        "for (int i = 0; i < n; i++) { if (b[0] == m) abort(); b[0] = a[i]; }",
        "for (int i = 0; i < n; i++) b[i] = a[i]; for (int i = 0; i < n; i++) if (b[n - 1 - i] == i * i) abort();",
        "for (int t = 0; t < m; t++) for (int i = 0; i < n; i++) { if (b[i] < 0) abort(); b[i] -= 2; }",
        "for (int t = 0; t < m; t++) { for (int i = 1; i < n; i++) { if (b[i - 1] == m) abort(); } for (int i = 0; i < n; i++) b[i] = b[i] + a[i]; }",
        "int s = 0; for (int i = 0; i < n; i++) s ^= a[i]; if (s) abort();",
        // The rounds of the one are over before those of the other one begin.
        "for (int i = 0; i < n; i++) if (a[i] < 0) abort(); for (int i = 0; i < n; i++) if (b[i] < 0) abort();",
        "abort();",
    ] {
        let source = of_head(head);
        let f = kernel(&source);
        assert_eq!(guards(&f), None, "{source}");
    }
}

/// How far the array reaches that is looked at, other data say, and these are asked later.
#[test]
fn what_other_data_lead_to_ends_no_call_early() {
    for source in [
        "void f(const int *row, const int *col, const int *x, int *y, int n) { for (int i = 0; i < n; i++) { \
         int s = 0; for (int k = row[i]; k < row[i + 1]; k++) { CHECK(col[k] == 8) s += x[col[k] & 7]; } y[i] = s; } }",
        "void f(const int *a, const int *at, int *y, int n) { for (int i = 0; i < n; i++) { CHECK(a[i] < 0) y[i] = a[at[i]]; } }",
    ] {
        let with = |check| format!("#include <stdlib.h>\n#define CHECK(c) {check}\n{source}");
        assert_eq!(guards(&kernel(&with("if (c) abort();"))), None, "{source}");
        assert!(guards(&kernel(&with(""))).is_some(), "{source}");
    }
}

/// Rounds within a round find what that has asked of the data, of itself and as it is; no less is asked where they ask more.
#[test]
fn rounds_within_a_round_know_what_it_asks() {
    for (body, is_proven) in [
        (
            "if (a[i] < 0 || a[i] > m) abort(); for (int j = 0; j < 2; j++) b[2 * a[i] + j] += 1;",
            true,
        ),
        (
            "if (a[i] < 0) abort(); if (a[i] > m) abort(); for (int j = 0; j < 2; j++) b[2 * a[i] + j] += 1;",
            true,
        ),
        (
            "for (int j = 0; j < 2; j++) { if (a[i] < 0 || a[i] > m) abort(); b[2 * a[i] + j] += 1; }",
            true,
        ),
        (
            "if (a[i] < 0 || a[i] > m) abort(); for (int j = 0; j < 2; j++) { if (a[i] > 1) abort(); b[2 * a[i] + j] += 1; }",
            false,
        ),
        (
            "if (a[i] > m) abort(); for (int j = 0; j < 2; j++) { if (a[i] >= m) abort(); b[2 * (a[i] & 3) + j] += 1; }",
            false,
        ),
        (
            "if (a[i] > m) abort(); for (int j = 0; j < 2; j++) { if (a[i + 1] > m) abort(); b[2 * (a[i] & 3) + j] += 1; }",
            false,
        ),
        (
            "if (i > 1) { if (a[i] > m) abort(); } for (int j = 0; j < 2; j++) { if (a[i] > m) abort(); b[2 * (a[i] & 3) + j] += 1; }",
            false,
        ),
        (
            "if (i > 1 && a[i] > m) abort(); for (int j = 0; j < 2; j++) { if (a[i] > m) abort(); b[2 * (a[i] & 3) + j] += 1; }",
            false,
        ),
        (
            "if (b[i] > m) abort(); for (int j = 0; j < 2; j++) { if (b[i] > m) abort(); b[2 * (a[i] & 3) + j] += 1; }",
            false,
        ),
    ] {
        let source = format!(
            "#include <stdlib.h>\nvoid f(const int *a, int *b, int n, int m) {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
        );
        match guards(&kernel(&source)) {
            Some(_) => leaves_every_trap(&source),
            None => {
                assert!(!is_proven, "{body}");
                let unchecked = source.replace("abort()", "(void)0");
                assert!(guards(&kernel(&unchecked)).is_some(), "{unchecked}");
            }
        }
    }
}

/// What ends the original in a round says where the others lead, if it is said of just that, in every round in which it is used.
#[test]
fn what_ends_no_round_says_where_it_leads() {
    for (body, ends) in [
        ("if (k[i] >= m) abort(); t[k[i]]++;", "m"),
        ("t[k[i]]++; if (k[i] >= m) abort();", "m"),
        ("if (k[i] >= m) abort(); if (w[i] > 0) t[k[i]]++;", "m"),
        ("if (k[i] > m) abort(); t[k[i]]++;", "m + 1"),
        (
            "if (w[i] > 0) { if (k[i] >= m) abort(); } t[k[i]]++;",
            "256",
        ),
        ("if (w[i] > 0 && k[i] >= m) abort(); t[k[i]]++;", "256"),
        ("if (i > 0 && k[i] >= m) abort(); t[k[i]]++;", "256"),
        ("if (k[i] >= m) abort(); t[k[i + 1]]++;", "256"),
        ("if (k[i + 1] >= m) abort(); t[k[i]]++;", "256"),
        ("if (k[i] < m) abort(); t[k[i]]++;", "256"),
        // A loop of its own says it, too, if it is run as often and what it looks at stays.
        (
            "if (k[i] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[k[j]]++;",
            "m",
        ),
        (
            "if (k[i] >= m) abort(); } for (size_t i = 0; i < n; i++) { if (w[i] > 0) t[k[i]]++;",
            "m",
        ),
        (
            "if (k[i] >= m) abort(); } for (size_t i = 0; i <= n; i++) { t[k[i]]++;",
            "256",
        ),
        (
            "if (k[i] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[k[j + 1]]++;",
            "256",
        ),
        (
            "if (k[i] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[l[j]]++;",
            "256",
        ),
        (
            "if (w[i] > 0 && k[i] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[k[j]]++;",
            "256",
        ),
        (
            "if (l[i] >= m) abort(); } for (size_t j = 0; j < n; j++) { l[j] = k[j]; } \
             for (size_t j = 0; j < n; j++) { t[l[j]]++;",
            "256",
        ),
        (
            "if (k[0] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[k[j]]++;",
            "256",
        ),
        (
            "for (size_t j = 0; j < i; j++) if (k[j] >= m) abort(); } for (size_t j = 0; j < n; j++) { t[k[j]]++;",
            "256",
        ),
    ] {
        let source = format!(
            "#include <stdlib.h>\nvoid f(const unsigned char *k, unsigned char *restrict l, const int *w, int *restrict t, size_t n, size_t m) {{ \
             for (size_t i = 0; i < n; i++) {{ {body} }} }}"
        );
        let kernel = kernel(&source);
        let mut solver = solver();
        let proposal = summarise(&kernel, &mut solver).expect(body);
        let verdict = proposal.prove(&kernel, &mut solver, &Options::default()).1;
        let Verdict::Proven(proof) = verdict else {
            panic!("{body}: {verdict:?}");
        };
        let mut touched = proof.footprints.iter().map(|f| f.extent.to_string());
        let of_t = touched.find(|e| e.starts_with("t[")).expect(body);
        assert_eq!(of_t, format!("t[0 .. {ends}]"), "{body}");
    }
}

fn of_head(head: &str) -> String {
    format!(
        "#include <stdlib.h>\nint report(int);\nvoid f(const int *a, int *b, int n, int m) {{ {head} for (int i = 0; i < n; i++) b[i] = m; }}"
    )
}
