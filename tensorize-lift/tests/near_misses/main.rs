//! Pairs of kernels that differ in one place: what is proven of the first is proven of itself, and never of the
//! second. Some are near the rules of the prover, some have every construct of C and C++ that is supported.

mod algorithms;
mod blocks;
mod by_hand;
mod complexes;
mod conditions;
mod constants;
mod constructs;
mod convolutions;
mod counterforces;
mod cpp;
mod echoes;
mod edges;
mod ends;
mod hazards;
mod in_bytes;
mod kept;
mod left_early;
mod members;
mod memory;
mod moved;
mod nested_rounds;
mod numbers_in_bytes;
mod over_time;
mod overlapping;
mod registers;
mod returned;
mod rings;
mod rows;
mod rules;
mod scatter;
mod searches;
mod state;
mod traps;
mod triangles;
mod void_members;
mod warm_up;

#[path = "../common/mod.rs"]
mod common;

use tensorize_ir::element::Elem;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{self, Function, Loop, Stmt, Visited};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir;
use tensorize_lift::summarise::{Summariser, summarise};
use tensorize_prove::chain::Effect;
use tensorize_prove::exec::{Executor, State, Stuck};
use tensorize_prove::loops::{ClosedForm, Oracle, ScalarForm};
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Proof, Verdict, prove, prove_generated};

/// Says of each loop what the loop of the same number in another kernel does: nothing but the checks of closed forms stands
/// between that and a wrong proof.
struct OfAnother<'f>(&'f Function);

impl Oracle for OfAnother<'_> {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut other = None;
        loopir::visit(&self.0.body, &mut |part| {
            if let Visited::Stmt(Stmt::Loop(o)) = part
                && o.id == l.id
            {
                other = Some(o);
            }
        });
        let other = other.unwrap_or(l);
        Summariser.closed_form(exec, other, state, k)
    }
}

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

/// The function `f` of this source.
fn kernel(source: &str) -> Function {
    let mut kernels = kernels_in(source, "c");
    assert_eq!(kernels.len(), 1, "one f in {source}");
    kernels.remove(0)
}

/// Every function `f`, in order.
fn kernels_in(source: &str, extension: &str) -> Vec<Function> {
    let parsed = common::parsed(&format!("near_miss.{extension}"), source, &[]);
    // Where there are several, their names have their types.
    let is_f = |name: &str| name == "f" || name.starts_with("f_");
    let named_f = parsed.into_iter().filter(|f| is_f(&f.name));
    let lowered = named_f.map(|f| {
        f.lowered
            .unwrap_or_else(|p| panic!("{source}: {}", p.message))
    });
    lowered.collect()
}

/// The function `f` of each source. Those in C++ are read at once, each in a namespace of its own: its headers are the most of the
/// work.
fn kernels_of(sources: &[String], extension: &str, headers: &str) -> Vec<Function> {
    if extension == "c" {
        let one = |source: &String| kernel(&format!("{headers}{source}"));
        return sources.iter().map(one).collect();
    }
    let numbered = sources.iter().enumerate();
    let spaces = numbered.map(|(i, source)| format!("namespace n{i} {{\n{source}\n}}\n"));
    let kernels = kernels_in(
        &(headers.to_owned() + &spaces.collect::<String>()),
        extension,
    );
    assert_eq!(kernels.len(), sources.len(), "one f in each");
    kernels
}

/// Nobody looks for inputs on which the two differ.
fn proofs_only() -> Options {
    Options {
        refute: false,
        ..Options::default()
    }
}

/// None of the kernels in C is proven to be what is proposed for it, if anything is.
fn proves_none(sources: &[&str]) {
    let mut solver = solver();
    for source in sources {
        let kernel = kernel(source);
        let proven = summarise(&kernel, &mut solver).is_ok_and(|proposal| {
            let (_, verdict) = proposal.prove(&kernel, &mut solver, &Options::default());
            matches!(verdict, Verdict::Proven(_))
        });
        assert!(!proven, "{source}");
    }
}

/// A kernel that is proven to be its summary, against which generated code is held.
struct Original {
    summary: tensir::Function,
    proof: Proof,
    solver: Solver,
}

impl Original {
    fn new(kernel: &Function) -> Original {
        let mut solver = solver();
        let proposal = summarise(kernel, &mut solver).unwrap();
        let summary = proposal.raised.clone();
        match proposal.prove(kernel, &mut solver, &proofs_only()).1 {
            Verdict::Proven(proof) => Original {
                summary,
                proof,
                solver,
            },
            other => panic!("the original is not proven: {other:?}"),
        }
    }

    fn verdict(&mut self, code: &Function) -> Verdict {
        let (summary, proof, solver) = (&self.summary, &self.proof, &mut self.solver);
        prove_generated(code, summary, proof, &Summariser, solver, &proofs_only())
    }
}

/// A source with a kernel `f`, and what is exchanged in it for what: each makes another kernel.
type Case = (&'static str, &'static [(&'static str, &'static str)]);

/// The source as it is, and with each of the changes.
fn variants((source, changes): &Case) -> Vec<String> {
    let changed = changes.iter().map(|(from, to)| {
        assert!(source.contains(from), "{from} is not in {source}");
        source.replacen(from, to, 1)
    });
    std::iter::once((*source).to_owned())
        .chain(changed)
        .collect()
}

/// Every kernel is proven to be what is proposed for it; with one change it isn't, whoever says what its loops do. For most of
/// the changes an input is found on which it matters.
fn refuses_them(name: &str, extension: &str, headers: &str, cases: &[Case]) {
    let mut solver = solver();
    let (mut wrong, mut tried, mut refuted) = (Vec::new(), 0, 0);
    let sources: Vec<String> = cases.iter().flat_map(variants).collect();
    let mut kernels = kernels_of(&sources, extension, headers).into_iter();
    for (source, changes) in cases {
        let right = kernels.next().unwrap();
        let near: Vec<Function> = kernels.by_ref().take(changes.len()).collect();
        let (summary, verdict) = match summarise(&right, &mut solver) {
            Ok(proposal) => proposal.prove(&right, &mut solver, &Options::default()),
            Err(refusal) => {
                wrong.push(format!("{source}: {}", refusal.message));
                continue;
            }
        };
        let Verdict::Proven(proof) = verdict else {
            wrong.push(format!("{source}: {verdict:?}"));
            continue;
        };
        for ((from, to), changed) in changes.iter().zip(&near) {
            let options = Options {
                // At the tier of the right one: over the reals, an order may not matter.
                worst: proof.tier,
                ..Options::default()
            };
            tried += 1;
            let oracle = Summariser;
            let own = prove(changed, &summary, &oracle, &mut solver, &options);
            refuted += usize::from(matches!(own, Verdict::Refuted { .. }));
            let options = Options {
                refute: false,
                ..options
            };
            let synthesiser = tensorize_lift::synthesise::Synthesiser::default();
            let others = [&synthesiser as &dyn Oracle, &OfAnother(&right)]
                .map(|oracle| prove(changed, &summary, oracle, &mut solver, &options));
            let accepted = |v: &Verdict| matches!(v, Verdict::Proven(_));
            if accepted(&own) || others.iter().any(accepted) {
                wrong.push(format!("{to} in place of {from} in {source}:\n{summary}"));
            }
        }
    }
    println!("{name}: {tried} near misses are not proven, {refuted} of them refuted");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(refuted * 2 > tried, "{refuted} of {tried}");
}

/// What the summariser says, but for the variable or array `a`: that it holds a polynomial, wrapped to its type.
struct Wrapped(Claims);

type Claims = fn(&State, &Sym) -> Option<Claim>;

enum Claim {
    At(Idx),
    Last(Idx),
    Stored(Idx),
}

impl Oracle for Wrapped {
    fn closed_form(
        &self,
        exec: &mut Executor,
        l: &Loop,
        state: &State,
        k: &Sym,
    ) -> Result<ClosedForm, Stuck> {
        let mut form = Summariser.closed_form(exec, l, state, k)?;
        let a: Sym = "a".into();
        let byte = |p| Elem::of_idx(ScalarType::U8, p);
        let Some(claim) = self.0(state, k) else {
            return Ok(form);
        };
        match claim {
            Claim::At(p) => drop(form.scalars.insert(a, ScalarForm::At(byte(p)))),
            Claim::Last(p) => drop(form.scalars.insert(a, ScalarForm::Last(byte(p)))),
            Claim::Stored(_) if !form.arrays.contains_key(&a) => {}
            Claim::Stored(p) => {
                let store = Effect::Point {
                    cond: Elem::constant(Scalar::bool(true)),
                    index: Idx::sym(k.clone()),
                    value: byte(p),
                };
                let all = Effect::Loop {
                    var: "r".into(),
                    extent: Idx::sym(k.clone()),
                    body: vec![store.replace(k, &Idx::sym("r"))],
                };
                form.arrays.insert(a, vec![all]);
            }
        }
        Ok(form)
    }
}

/// A byte that holds -1 is 255 to whoever widens it. Said of the right bits, the wrong number would make each of these
/// summaries one that is proven.
#[test]
fn a_closed_form_says_the_number_and_not_its_bits_alone() {
    let cases: [(&str, &str, Claims); 4] = [
        (
            "void f(unsigned *c, int n) { unsigned char a = 0; for (int i = 0; i < n; i++) a--; c[0] = a; }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = size -n : tensor<ui32>
             store c[0] = %0 }",
            |_, k| Some(Claim::At(-&Idx::sym(k.clone()))),
        ),
        (
            "void f(unsigned *c, int n) { for (int i = 0; i < n; i++) { unsigned char a = -i; for (int j = 0; j < n; j++) { unsigned char t = a; a = t; } c[i] = a; } }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = generic index(ui32, -#0) : tensor<n x ui32>
             store c[#0] = %0 }",
            |state, _| match &**state.scalars.get("a")? {
                Elem::Convert(_, before) => match &**before {
                    Elem::OfIdx(_, p) => Some(Claim::At(p.clone())),
                    _ => None,
                },
                _ => None,
            },
        ),
        (
            "void f(unsigned *c, int n) { unsigned char a; int i = 0; do { a = -i; i++; } while (i < n); c[0] = a; }",
            "func @f(c: ptr<ui32>, n: i32) { %0 = size 1 - n : tensor<ui32>
             store c[0] = %0 }",
            |_, k| Some(Claim::Last(-&Idx::sym(k.clone()))),
        ),
        (
            "void f(unsigned char *a, int *c, int n) { for (int i = 0; i < n; i++) a[i] = -i; for (int i = 0; i < n; i++) c[i] = a[i]; }",
            "func @f(a: ptr<ui8>, c: ptr<i32>, n: i32) {
             %0 = generic index(ui8, -#0) : tensor<n x ui8>
             %1 = generic index(i32, -#0) : tensor<n x i32>
             store a[#0] = %0
             store c[#0] = %1 }",
            |_, k| Some(Claim::Stored(-&Idx::sym(k.clone()))),
        ),
    ];
    let mut solver = solver();
    for (source, summary, claim) in cases {
        let kernel = kernel(source);
        let summary: tensir::Function = summary.parse().unwrap_or_else(|e| panic!("{e}"));
        let verdict = prove(
            &kernel,
            &summary,
            &Wrapped(claim),
            &mut solver,
            &proofs_only(),
        );
        let Verdict::Unknown { obligation, .. } = verdict else {
            panic!("{source}: {verdict:?}");
        };
        assert!(
            obligation.contains("closed form of a") || obligation.contains("places of a"),
            "{source}: {obligation}"
        );
    }
}

/// Where the first step doesn't look at what there is before it, that may be anything; without steps, it may not.
#[test]
fn what_a_fold_starts_from_matters_where_there_may_be_no_step() {
    let summary = |extent: &str, start: i32, later: &str| {
        let text = format!(
            "func @f(x: const ptr<i32>, n: i32) {{
               %r = generic fold(s = {start}:i32, k < {extent},
                 add(select(index_compare(GE, k - 1, 0), {later}, 0:i32), x[k])) : tensor<i32>
               return %r
             }}"
        );
        text.parse().unwrap()
    };
    let code = |rounds: &str| {
        let body =
            "{ int s = 5; for (int i = 0; i < N; i++) s = (i > 0 ? s : 0) + x[i]; return s; }";
        let body = body.replace("N", rounds);
        kernel(&format!("int f(const int *x, int n) {body}"))
    };
    let mut solver = solver();
    let mut proven = |kernel: &Function, summary| {
        let oracle = Summariser;
        let verdict = prove(kernel, &summary, &oracle, &mut solver, &proofs_only());
        matches!(verdict, Verdict::Proven(_))
    };
    assert!(proven(&code("n"), summary("n", 5, "s")));
    assert!(!proven(&code("n"), summary("n", 6, "s")));
    assert!(proven(&code("7"), summary("7", 6, "s")));
    assert!(!proven(&code("7"), summary("7", 6, "add(s, 1:i32)")));
}

/// Kernels, and summaries with the same value that read more of `a` than the kernel does: over the reals it cancels.
const GREEDY: &[(&str, &str)] = &[
    (COPY, "add(a[#0], subtract(a[#0 + 1], a[#0 + 1]))"),
    (COPY, "add(a[#0], subtract(a[#0 - 1], a[#0 - 1]))"),
    (
        COPY,
        "select(compare(LT, a[#0], 0.0:f32), a[#0], add(a[#0], subtract(a[#0 + n], a[#0 + n])))",
    ),
    (
        COPY,
        "select(compare(LT, a[#0], 0.0:f32), add(a[#0], subtract(a[#0 + n], a[#0 + n])), a[#0])",
    ),
    (
        COPY,
        "fold(s = a[#0], k < n, add(s, subtract(a[#0 + k + 1], a[#0 + k + 1])))",
    ),
    (COPY, "fold(s = add(a[#0], subtract(a[n], a[n])), k < n, s)"),
    // What one branch may read, or a step if there is one, others may not.
    (
        COPY,
        "select(index_compare(LT, #0 + 1, n), add(a[#0], subtract(a[#0 + 1], a[#0 + 1])), subtract(a[#0], subtract(a[#0 + 1], a[#0 + 1])))",
    ),
    (
        COPY,
        "add(fold(s = a[#0], k < n - #0 - 1, add(s, subtract(a[#0 + 1], a[#0 + 1]))), subtract(a[#0 + 1], a[#0 + 1]))",
    ),
];

const COPY: &str =
    "void f(const float *a, float *o, int n) { for (int i = 0; i < n; i++) o[i] = a[i]; }";

#[test]
fn a_summary_reads_no_more_than_the_kernel() {
    let mut solver = solver();
    let oracle = Summariser;
    let mut judge = |kernel: &Function, value: &str| {
        let text = format!(
            "func @f(a: const ptr<f32>, o: ptr<f32>, n: i32) {{\n  %0 = generic {value} : tensor<n x f32>\n  store o[#0] = %0\n}}"
        );
        let summary = text.parse().unwrap_or_else(|e| panic!("{e}: {text}"));
        prove(kernel, &summary, &oracle, &mut solver, &proofs_only())
    };
    for (source, value) in GREEDY {
        let kernel = kernel(source);
        // What it would read if it were not greedy is fine.
        let modest = value.replace("n], a[n", "0], a[0");
        let modest = modest
            .replace("#0 + k + 1", "#0")
            .replace("#0 + 1", "#0")
            .replace("#0 - 1", "#0")
            .replace("#0 + n", "#0");
        let verdict = judge(&kernel, &modest);
        assert!(
            matches!(verdict, Verdict::Proven(_)),
            "{modest}: {verdict:?}"
        );
        let verdict = judge(&kernel, value);
        let Verdict::Unknown { obligation, .. } = verdict else {
            panic!("{value}: {verdict:?}")
        };
        assert!(
            obligation.contains("which the kernel may not"),
            "{value}: {obligation}"
        );
    }
}

/// Kernels that mean something, but nothing that all rounds do at once: a summary that looks right is wrong where two rounds
/// touch the same place.
const ENTANGLED: &[&str] = &[
    // Which write is the last depends on the half: two elements a round, one round after the other.
    "void f(const int *a, const int *b, int *o, int n) { for (int i = 0; i < n; i++) { o[i] = a[i]; o[n - 1 - i] = b[i]; } }",
    // Rows that are longer than the distance between them.
    "void f(const int *a, int *o, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < 5; j++) o[4 * i + j] = a[5 * i + j]; }",
    // A place of each round, found through data.
    "void f(const int *a, const int *p, int *o, int n) { for (int i = 0; i < n; i++) o[p[i]] = a[i]; }",
];

#[test]
fn what_rounds_do_to_each_other_is_not_overlooked() {
    let mut solver = solver();
    for source in ENTANGLED {
        let kernel = kernel(source);
        let Ok(proposal) = summarise(&kernel, &mut solver) else {
            continue;
        };
        let (summary, verdict) = proposal.prove(&kernel, &mut solver, &proofs_only());
        if let Verdict::Proven(proof) = verdict {
            // A round after the other is what it is.
            assert!(summary.rounds.is_some(), "{source}:\n{summary}");
            over_time::agree(&kernel, &summary, &proof);
        }
    }
}
