//! Members of structs in an array, where the structs have members of several types.

use super::{Case, proofs_only, refuses_them, solver};
use tensorize_ir::guard::Guard;
use tensorize_ir::loopir::Function;
use tensorize_ir::signature::Members;
use tensorize_lift::summarise::summarise;
use tensorize_prove::{Options, Proof, Verdict};

const STRUCTS: &str = "typedef struct { float x, y; int id; float to[2]; double w; } p_t;\n";

#[test]
fn members_of_structs() {
    refuses_them("members", "c", STRUCTS, MEMBERS);
}

const MEMBERS: &[Case] = &[
    (
        "void f(const p_t *p, int n, float *o) { for (int i = 0; i < n; i++) o[i] = p[i].y * p[i].id + p[i].to[1]; }",
        &[
            ("p[i].y", "p[i].x"),
            ("p[i].y", "p[i + 1].y"),
            ("p[i].y", "p->y"),
            ("p[i].id", "p[n - 1 - i].id"),
            ("p[i].to[1]", "p[i].to[0]"),
            ("p[i].to[1]", "p[i].to[-1]"),
        ],
    ),
    (
        "void f(p_t *p, int n, float a) { for (; n > 0; n--, p++) { if (p->id < 3) continue; p->x += a * p->to[0]; p->id = 2; } }",
        &[
            ("p->id < 3", "p->id <= 3"),
            ("p->id < 3", "p->x < 3"),
            ("p->x +=", "p->y +="),
            ("p->to[0]", "p->to[1]"),
            ("p->id = 2", "p->w = 2"),
            ("p->id = 2", "p->id += 2"),
            ("p++", "p += 2"),
        ],
    ),
    (
        "void f(p_t *q, const p_t *p, const double *w, int n) { for (int i = 0; i < n; i++) { q[i].x = p[i].y; q[i].w = w[i] * p[i].id; } }",
        &[
            ("q[i].x = p[i].y", "q[i].y = p[i].x"),
            ("q[i].x = p[i].y", "q[i].x = q[i].y"),
            ("q[i].w = w[i]", "q[i].w += w[i]"),
            ("p[i].id", "q[i].id"),
            ("p[i].id", "p[i].w"),
        ],
    ),
];

fn lifted(source: &str) -> (Function, Vec<Members>) {
    let parsed = super::common::parsed("near_miss.c", &format!("{STRUCTS}{source}"), &[]);
    let [f] = <[_; 1]>::try_from(parsed).ok().unwrap();
    let signature = f.signature.and_then(|s| s.source).unwrap();
    let members = signature
        .leaves()
        .into_iter()
        .flat_map(|l| l.members().to_vec());
    (f.lowered.unwrap(), members.collect())
}

fn proof(kernel: &Function, structs: Vec<Vec<Members>>) -> Result<Proof, String> {
    let mut solver = solver();
    let options = Options {
        structs,
        ..proofs_only()
    };
    let proposal = summarise(kernel, &mut solver).map_err(|p| p.message)?;
    match proposal.prove(kernel, &mut solver, &options).1 {
        Verdict::Proven(proof) => Ok(proof),
        Verdict::Unknown { obligation, .. } => Err(obligation),
        Verdict::Refuted { inputs, .. } => Err(inputs),
    }
}

const WRITTEN: &str = "void f(p_t *p, int n, int m) { for (int i = 0; i < n; i++) { p[i].id += 1; for (int k = 0; k < 2; k++) p[i].to[k] *= 2; } }";

/// What lies in the same memory needs no guard where each access is to a member, and only there.
#[test]
fn members_lie_apart_where_no_access_strays() {
    let (kernel, members) = lifted(WRITTEN);
    let proven = proof(&kernel, vec![members.clone()]).unwrap();
    assert!(!(proven.guards.iter()).any(|g| matches!(g, Guard::Disjoint(..))));
    let nothing_known = proof(&kernel, vec![]).unwrap();
    assert!((nothing_known.guards.iter()).any(|g| matches!(g, Guard::Disjoint(..))));

    for (from, to) in [
        ("k < 2", "k < 3"),
        ("k < 2", "k < m"),
        ("k = 0", "k = -1"),
        ("p[i].to[k]", "p[i].to[k + 1]"),
        ("p[i].to[k]", "p[i].to[m]"),
        ("*= 2", "= p[i].to[k + 1]"),
        ("p[i].to[k]", "(&p[i].x)[k + 1]"),
    ] {
        let (strays, members) = lifted(&WRITTEN.replacen(from, to, 1));
        let why = proof(&strays, vec![members]).expect_err(to);
        assert!(
            why.contains("is a member of that type in each struct"),
            "{to}: {why}"
        );
    }

    // Other members than there are.
    for change in [
        (|m: &mut Members| m.at.clear()) as fn(&mut Members),
        |m| m.at.iter_mut().for_each(|at| at.0 += 1),
        |m| {
            m.at.iter_mut()
                .for_each(|at| (at.0, at.1) = (at.0 - 1, at.1 - 1))
        },
        |m| m.stride += 1,
        |m| m.stride = 0,
    ] {
        for i in 0..members.len() {
            let mut others = members.clone();
            change(&mut others[i]);
            assert!(proof(&kernel, vec![others]).is_err());
        }
    }
}

/// Where members are read alone, callers with slices say that a subscript stays in its array, and C needs no telling.
#[test]
fn subscripts_of_callers_stay_in_the_array() {
    let read = "void f(const p_t *p, int n, int m, float *o) { for (int i = 0; i < n; i++) o[i] = p[i].to[m] * p[i].id; }";
    let (kernel, members) = lifted(read);
    let proven = proof(&kernel, vec![members]).unwrap();
    let asked: Vec<String> = (proven.asked_of_slices.iter().flatten())
        .map(Guard::to_string)
        .collect();
    for condition in ["m >= 0", "-m + 1 >= 0"] {
        assert!(asked.iter().any(|a| a == condition), "{asked:?}");
        assert!(proven.guards.iter().all(|g| g.to_string() != condition));
    }

    // Of data, nobody knows it before.
    let (kernel, members) = lifted(&read.replacen("to[m]", "to[p[i].id]", 1));
    let why = proof(&kernel, vec![members]).unwrap_err();
    assert!(
        why.contains("is a member of that type in each struct"),
        "{why}"
    );
}
