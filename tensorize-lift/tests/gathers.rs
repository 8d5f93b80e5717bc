//! What is asked of the data before a call of a kernel with indices in memory, and what generated code may read.

mod common;

use std::cell::Cell;
use std::collections::BTreeMap;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::inputs::Spec;
use tensorize_ir::loopir::{Function, Overflow};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_lift::left_to_the_original;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Proof, Verdict, prove_generated};

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

fn kernel(source: &str) -> Function {
    let parsed = common::parsed("kernel.c", source, &[]);
    let lowered = parsed.into_iter().next().unwrap().lowered;
    lowered.unwrap_or_else(|p| panic!("{source}: {}", p.message))
}

fn lift(source: &str) -> Result<(tensorize_ir::tensir::Function, Proof), String> {
    lift_kernel(&kernel(source))
}

fn lift_kernel(kernel: &Function) -> Result<(tensorize_ir::tensir::Function, Proof), String> {
    let mut solver = solver();
    let proposal = summarise(kernel, &mut solver).map_err(|r| r.message)?;
    match proposal.prove(kernel, &mut solver, &Options::default()) {
        (summary, Verdict::Proven(proof)) => Ok((summary, proof)),
        (_, other) => Err(format!("{other:?}")),
    }
}

/// The end of the array's extent.
fn end(proof: &Proof, array: &str) -> String {
    let mut all = proof.footprints.iter();
    let found = all
        .find(|f| *f.extent.array == *array)
        .expect("it is touched");
    assert!(found.reads_depend_on_data, "{array} has holes");
    assert_eq!(found.extent.lo.to_string(), "0");
    found.extent.hi.to_string()
}

const MASKED: &str = "void f(int n, const int *m, const int *x, const float *t, float *o) \
     { for (int i = 0; i < n; i++) if (m[i]) o[i] = t[x[i]]; else o[i] = 0; }";

#[test]
fn an_index_is_looked_at_only_where_the_kernel_looks_at_it() {
    let (_, proof) = lift(MASKED).unwrap();
    let end = end(&proof, "t");
    let (condition, index) = (end.find("m[k").unwrap(), end.find("x[k").unwrap());
    assert!(end.contains("select(") && condition < index, "{end}");
    // The index array itself is as long as the sizes say, with holes.
    let x = proof
        .footprints
        .iter()
        .find(|f| &*f.extent.array == "x")
        .unwrap();
    assert_eq!(x.extent.to_string(), "x[0 .. n]");
    assert!(x.reads_depend_on_data);
}

#[test]
fn the_smallest_index_is_a_guard_where_it_may_be_negative() {
    let asks = |ty: &str| {
        let source = format!(
            "void f(int n, const {ty} *x, const float *t, float *o) {{ for (int i = 0; i < n; i++) o[i] = t[x[i]]; }}"
        );
        let (_, proof) = lift(&source).unwrap();
        end(&proof, "t");
        let mut guards = proof.guards.iter().map(ToString::to_string);
        guards.any(|g| g.contains("minimum") && g.ends_with(">= 0"))
    };
    assert!(asks("int") && asks("short") && asks("long long"));
    assert!(!asks("unsigned char") && !asks("unsigned"));
    // An `i64` can't hold it: what is too large is found by being negative.
    assert!(asks("unsigned long long"));
}

#[test]
fn a_loop_that_does_not_run_leads_nowhere() {
    let (_, proof) = lift(
        "void f(int n, int d, const int *x, const float *t, float *o) \
         { for (int i = 0; i < n; i++) for (int j = 0; j < d; j++) o[i * d + j] = t[x[i] * d + j]; }",
    )
    .unwrap();
    // Without columns no index is read.
    assert!(end(&proof, "t").contains("index_compare(GT, d, 0)"));
}

#[test]
fn what_is_known_only_on_the_way_is_not_proven() {
    for source in [
        "int f(int n, const int *next) { int p = 0; for (int i = 0; i < n; i++) p = next[p]; return p; }",
        "void f(int n, int *x) { for (int i = 0; i < n; i++) x[x[i]] = i; }",
    ] {
        assert!(lift(source).is_err(), "{source}");
    }
}

/// A local array has a meaning where it was written: that the data leads to such places only is a guard, unless their type
/// says so.
#[test]
fn what_stands_in_a_local_array_was_written_before() {
    let asked = |ty: &str, written: usize| {
        let source = format!(
            "void f(int n, const {ty} *x, float by, float *o) {{ float t[256]; for (int i = 0; i < {written}; i++) t[i] = i * by; \
             for (int i = 0; i < n; i++) o[i] = t[x[i]]; }}"
        );
        let (_, proof) = lift(&source).unwrap();
        let guards = proof.guards.iter().map(ToString::to_string);
        let guards: Vec<String> = guards.filter(|g| g.contains("x[k")).collect();
        guards.join("; ")
    };
    assert_eq!(asked("unsigned char", 256), "");
    for (ty, written) in [("int", 256), ("unsigned char", 200), ("int", 7)] {
        let guards = asked(ty, written);
        let end = format!("index_compare(LT, value(x[k'3]), {written})");
        let last = format!("{}", written - 1);
        assert!(guards.contains(&end) || guards.contains(&last), "{guards}");
        assert!(
            guards.starts_with("value(fold(") && guards.ends_with("-1:i64))) >= 0"),
            "{guards}"
        );
    }
    let counts = |body: &str| {
        lift(&format!(
            "void f(int n, int *x, int *o) {{ int t[16] = {{0}}; for (int i = 0; i < n; i++) {{ {body} }} for (int i = 0; i < 16; i++) o[i] = t[i]; }}"
        ))
    };
    let (_, proof) = counts("t[x[i]]++;").unwrap();
    let mut guards = proof.guards.iter().map(ToString::to_string);
    assert!(guards.any(|g| g.contains("value(x[k") && g.contains("), 16)")));
    // Under a condition of its own it is asked there only; what changes on the way cannot be asked before.
    let (_, proof) = counts("if (x[i] != 99) t[x[i]]++;").unwrap();
    let mut guards = proof.guards.iter().map(ToString::to_string);
    assert!(guards.any(|g| g.contains("99") && g.contains("), 16)")));
    assert!(counts("t[x[0]]++; x[0] = x[i];").is_err());
}

/// A guard on the data of all rounds would look at what a loop that stops early does not get to. Of the calls in which it does
/// not stop, that is asked first, and no further than where it would.
#[test]
fn nothing_is_asked_behind_the_end_of_a_loop() {
    const TABLE: &str = "int t[16]; for (int i = 0; i < 16; i++) t[i] = i * n;";
    let source = |body: &str| {
        format!("void f(int n, const int *x, const int *y, int *restrict o) {{ {body} }}")
    };
    for body in [
        format!("{TABLE} for (int i = 0; i < n; i++) {{ if (x[i] < 0) break; o[i] = t[x[i]]; }}"),
        format!("{TABLE} for (int i = 0; i < n; i++) {{ if (y[i] == 0) break; o[i] = t[x[i]]; }}"),
        "for (int i = 0; i < 16; i++) o[i] = 0; for (int i = 0; i < n; i++) { if (x[i] < 0) break; o[x[i]]++; }".into(),
    ] {
        assert!(lift(&source(&body)).is_err(), "{body}");
        let kernel = left_to_the_original(&kernel(&source(&body))).unwrap();
        let (_, proof) = lift_kernel(&kernel).unwrap();
        let of_data: Vec<&Guard> = proof.guards.iter().filter(|g| g.looks_at_data()).collect();
        let (first, others) = of_data.split_first().unwrap();
        assert!(first.may_end_early() && !others.is_empty(), "{body}: {first}");
    }
    // What ends it is known by the place only that would be asked for.
    let by_place =
        format!("{TABLE} for (int i = 0; i < n; i++) {{ if (t[x[i]] > 30) return; o[i] = i; }}");
    assert!(lift(&source(&by_place)).is_err());
}

/// Code may have memory of its own for that: of each place in it that the data says, the same is asked.
#[test]
fn what_the_data_says_lies_in_the_memory_of_code() {
    for (at, body) in [
        (
            "x[k",
            "for (int i = 0; i < 16; i++) t[i] = i * n; for (int i = 0; i < n; i++) o[i] = t[x[i]];",
        ),
        (
            "x[n]",
            "for (int i = 0; i < 16; i++) t[i] = 0; t[x[n]] = n; for (int i = 0; i < 16; i++) o[i] = t[i];",
        ),
    ] {
        let source = format!("void f(int n, const int *x, int *o) {{ int t[16]; {body} }}");
        let (summary, mut proof) = lift(&source).unwrap();
        let asks = |guard: &Guard| {
            let guard = guard.to_string();
            guard.contains(&format!("index_compare(LT, value({at}")) && guard.contains("), 16)")
        };
        // As if the kernel did not ask for it.
        proof.guards.retain(|g| !asks(g));
        let mut code = kernel(&source);
        code.overflow = Overflow::Wraps;
        let options = Options {
            refute: false,
            ..Options::default()
        };
        let (oracle, mut solver) = (&Summariser, solver());
        match prove_generated(&code, &summary, &proof, oracle, &mut solver, &options) {
            Verdict::Proven(found) => assert!(found.guards.iter().any(asks), "{:?}", found.guards),
            other => panic!("{source}: {other:?}"),
        }
    }
}

#[test]
fn generated_code_reads_no_place_of_its_own_choice() {
    let (summary, proof) = lift(MASKED).unwrap();
    let proven = |source: &str| {
        let code = kernel(source);
        let verdict = prove_generated(
            &code,
            &summary,
            &proof,
            &Summariser,
            &mut solver(),
            &Options {
                refute: false,
                ..Options::default()
            },
        );
        matches!(verdict, Verdict::Proven(_))
    };
    assert!(proven(MASKED));
    let otherwise = MASKED.replace(
        "if (m[i]) o[i] = t[x[i]]; else o[i] = 0;",
        "o[i] = m[i] ? t[x[i]] : 0;",
    );
    assert_ne!(otherwise, MASKED);
    assert!(proven(&otherwise));
    // The same values, but read where the mask is not set; and the index looked at there.
    for eager in [
        "{ float v = t[x[i]]; o[i] = m[i] ? v : 0; }",
        "{ int k = x[i]; o[i] = m[i] ? t[k] : 0; }",
        "{ float v = t[0]; o[i] = m[i] ? t[x[i]] : 0 * (v == v); }",
    ] {
        let source = MASKED.replace("if (m[i]) o[i] = t[x[i]]; else o[i] = 0;", eager);
        assert_ne!(source, MASKED);
        assert!(!proven(&source), "{source}");
    }
}

/// What is computed before a call may read only what the kernel reads, in the same rounds and under no more conditions.
#[test]
fn what_the_kernel_may_not_read_is_not_asked() {
    // The rounds after a stop are none.
    let source = "void f(const int *x, const float *t, float *o, int n) \
                  { for (int i = 0; i < n; i++) { if (x[i] < 0) break; o[i] = t[x[i]]; } }";
    let lifted = lift(source);
    assert!(lifted.is_err(), "{:?}", lifted.unwrap().1.guards);
    // Some rounds don't look at x, or at another place of it: the guard asks c first.
    for (body, also) in [
        ("int j = 0; if (c[i]) j = x[i]; o[i] = t[j];", 1..2),
        ("int j = x[i]; if (c[i]) j = x[i + 1]; o[i] = t[j];", 0..3),
        ("int j = c[i] ? 1 : x[i]; o[i] = t[j];", 0..1),
    ] {
        let source = format!(
            "void f(const int *c, const int *x, const float *t, float *o, int n) \
             {{ for (int i = 0; i < n; i++) {{ {body} }} }}"
        );
        let (_, proof) = lift(&source).unwrap_or_else(|e| panic!("{body}: {e:?}"));
        let spec = Spec::known(&kernel(&source).params, &proof.guards, &proof.footprints);
        let int = |v: i128| Scalar::int(ScalarType::I32, v);
        let scalars = BTreeMap::from([("n".into(), int(2))]);
        let read = |array: &Sym, at: i128| match &**array {
            "c" => Some(int((at == 1).into())),
            "x" if also.contains(&at) => Some(int(0)),
            _ => panic!("{body}: {array}[{at}] is asked"),
        };
        assert!(spec.admits_data(&scalars, &read), "{body}");
    }
    // How far a row goes is read where c says so, and a guard asks c first: only of the row in the middle may it read that.
    for (row, ends) in [
        ("int k = 0; k < e[i]; k++) s += t[x[i * m + k]]", 1..2),
        ("int k = e[i]; k < e[i + 1]; k++) s += t[x[k]]", 1..3),
    ] {
        let source = format!(
            "void f(const int *c, const int *e, const int *x, const float *t, float *o, int n, int m) \
             {{ for (int i = 0; i < n; i++) {{ float s = 0; if (c[i]) for ({row}; o[i] = s; }} }}"
        );
        let (_, proof) = lift(&source).expect("it is proven");
        let spec = Spec::known(&kernel(&source).params, &proof.guards, &proof.footprints);
        let int = |v: i128| Scalar::int(ScalarType::I32, v);
        let scalars = BTreeMap::from([("n".into(), int(3)), ("m".into(), int(4))]);
        let asked = Cell::new(0);
        let read = |array: &Sym, at: i128| {
            asked.set(asked.get() + 1);
            match &**array {
                "c" => Some(int((at == 1).into())),
                "e" if ends.contains(&at) => Some(int(at)),
                "x" => Some(int(0)),
                _ => panic!("{row}: {array}[{at}] is asked"),
            }
        };
        assert!(spec.admits_data(&scalars, &read), "{row}");
        assert!(asked.get() > 0, "{row}");
    }
    // A row may have no last column: that it has one is asked, too.
    let last = "void f(const int *x, const float *t, float *o, int n, int m) { for (int i = 0; i < n; i++) \
                { int j = 0; for (int k = 0; k < m; k++) j = x[i * m + k]; o[i] = t[j]; } }";
    let (_, proof) = lift(last).expect("it is proven");
    let one = &Idx::sym("m") - &Idx::constant(1);
    assert!(
        proof.guards.contains(&Guard::NonNegative(one)),
        "{:?}",
        proof.guards
    );
}

/// Nobody computes before a call what only the kernel's own rounds lead to: it is as far as a mask, a shift, or the type lets
/// it go, and that the places are all there is looked at by targets that fetch them.
#[test]
fn an_index_that_the_rounds_make_goes_as_far_as_its_type_does() {
    let rounds = |ty: &str, next: &str| {
        let source = format!(
            "{ty} f(const {ty} *t, const unsigned char *p, int n) {{ {ty} c = 0; for (int i = 0; i < n; i++) c = {next}; return c; }}"
        );
        lift(&source).map(|(_, proof)| end(&proof, "t"))
    };
    let is = |end: &str| Ok(end.to_string());
    assert_eq!(rounds("unsigned", "t[(c ^ p[i]) & 255]"), is("256"));
    assert_eq!(rounds("unsigned", "t[c >> 20] + p[i]"), is("4096"));
    assert_eq!(rounds("unsigned char", "t[c ^ p[i]]"), is("256"));
    assert_eq!(rounds("unsigned", "t[(c & 7) | p[i]]"), is("256"));
    assert_eq!(rounds("unsigned char", "t[p[i] ? c & 3 : c & 7]"), is("8"));
    assert_eq!(rounds("unsigned char", "t[c + p[i]]"), is("511"));
    // Too far, or before the first.
    rounds("unsigned", "t[c] + p[i]").unwrap_err();
    rounds("unsigned", "t[c >> 12] + p[i]").unwrap_err();
}

/// Of places that go round, those that are surely read reach to the end of the ring only if there are rounds enough.
#[test]
fn the_end_of_a_ring_is_touched_or_may_be() {
    let ring = |rounds: &str, at: &str| {
        let source = format!(
            "void f(const float *x, float *y, int size, int at, int n, int step) {{ for (int i = 0; i < {rounds}; i++) y[i] = x[{at}]; }}"
        );
        let (_, proof) = lift(&source).unwrap();
        let mut all = proof.footprints.into_iter();
        let x = all.find(|f| &*f.extent.array == "x").unwrap();
        (x.extent.to_string(), x.reads_depend_on_data)
    };
    let all = "x[0 .. size]".to_string();
    assert_eq!(ring("size", "(at + i) % size"), (all.clone(), false));
    assert_eq!(ring("n", "(at + i) % size"), (all.clone(), true));
    assert_eq!(ring("n", "(step * i) % size"), (all, true));
    let some = "x[0 .. min(n - 1, size - 1) + 1]".to_string();
    assert_eq!(ring("n", "i % size"), (some, false));
}
