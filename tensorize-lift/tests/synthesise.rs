//! Kernels one step away from those of which the closed forms are found by search: what is proven of them is
//! true, and the meaning of the right ones is proven of none that differs.

use std::path::Path;
use tensorize_ir::check::{Comparison, Same, compare};
use tensorize_ir::guard::Tier;
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::{loopir, tensir};
use tensorize_lift::summarise::summarise;
use tensorize_lift::synthesise::Synthesiser;
use tensorize_prove::solver::{self, Solver};
use tensorize_prove::{Options, Proof, Verdict, prove};

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

fn options() -> Options {
    Options {
        refute: false,
        ..Options::default()
    }
}

fn kernels(file: &str) -> Vec<Function> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/proven");
    let file = folder.join(file);
    let parsed = tensorize_lift::c::parse(&file, &[]).unwrap_or_else(|p| panic!("{}", p.message));
    parsed
        .into_iter()
        .map(|f| {
            f.lowered
                .unwrap_or_else(|p| panic!("{}: {}", f.name, p.message))
        })
        .collect()
}

/// What one change makes of an expression.
fn changed(e: &Expr) -> Vec<Expr> {
    use BinOp::{Add, Divide, Multiply, Subtract};
    let mut out = Vec::new();
    match e {
        Expr::Binary(op, a, b) if e.ty().is_float() => {
            let other = match op {
                Add => Subtract,
                Subtract => Add,
                Multiply => Divide,
                Divide => Multiply,
                BinOp::Maximum => BinOp::Minimum,
                BinOp::MaximumNumber => BinOp::MinimumNumber,
                _ => Add,
            };
            out.push(Expr::Binary(other, a.clone(), b.clone()));
            out.push(Expr::Binary(*op, b.clone(), a.clone()));
            out.push((**a).clone());
        }
        Expr::Binary(op, a, b) if e.ty() != ScalarType::I1 => {
            let other = match op {
                BinOp::And => BinOp::Or,
                BinOp::Or | BinOp::Xor => BinOp::And,
                Add => Subtract,
                Subtract => Add,
                _ => BinOp::Xor,
            };
            out.push(Expr::Binary(other, a.clone(), b.clone()));
            if op.accepts(e.ty()) && !op.is_commutative() {
                out.push(Expr::Binary(*op, b.clone(), a.clone()));
            }
        }
        Expr::Const(v) if v.ty == ScalarType::I32 => {
            out.push(Expr::Const(Scalar::int(v.ty, v.as_int() - 1)));
        }
        Expr::Compare(CmpOp::Lt, a, b) => {
            out.push(Expr::Compare(CmpOp::Le, a.clone(), b.clone()));
        }
        Expr::Const(v) if v.ty.is_float() => {
            out.push(Expr::Const(Scalar::int(v.ty, 2)));
        }
        Expr::Compare(CmpOp::Gt, a, b) if a.ty().is_float() => {
            out.push(Expr::Compare(CmpOp::Lt, a.clone(), b.clone()));
        }
        Expr::Convert(ty, a) if ty.is_float() && a.ty().is_int() => {
            let one = Expr::Const(Scalar::int(a.ty(), 1));
            let more = Expr::Binary(Add, a.clone(), Box::new(one));
            out.push(Expr::Convert(*ty, Box::new(more)));
        }
        _ => {}
    }
    for i in 0..e.children().len() {
        for c in changed(e.children()[i]) {
            let mut copy = e.clone();
            *copy.children_mut()[i] = c;
            out.push(copy);
        }
    }
    out
}

fn changed_block(stmts: &[Stmt]) -> Vec<Vec<Stmt>> {
    let mut out = Vec::new();
    for (i, s) in stmts.iter().enumerate() {
        let mut put = |s: Stmt| {
            let mut copy = stmts.to_vec();
            copy[i] = s;
            out.push(copy);
        };
        match s {
            Stmt::Assign { var, ty, value } => {
                for value in changed(value) {
                    let (var, ty) = (var.clone(), *ty);
                    put(Stmt::Assign { var, ty, value });
                }
            }
            Stmt::Loop(l) => {
                for body in changed_block(&l.body) {
                    put(Stmt::Loop(loopir::Loop { body, ..l.clone() }));
                }
                // Two neighbours in the other order.
                for at in 1..l.body.len() {
                    let mut body = l.body.clone();
                    body.swap(at - 1, at);
                    put(Stmt::Loop(loopir::Loop { body, ..l.clone() }));
                }
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                for cond in changed(cond) {
                    let (then, otherwise) = (then.clone(), otherwise.clone());
                    put(Stmt::If {
                        cond,
                        then,
                        otherwise,
                    });
                }
                for then in changed_block(then) {
                    let (cond, otherwise) = (cond.clone(), otherwise.clone());
                    put(Stmt::If {
                        cond,
                        then,
                        otherwise,
                    });
                }
            }
            Stmt::Return(Some(e)) => changed(e)
                .into_iter()
                .for_each(|e| put(Stmt::Return(Some(e)))),
            _ => {}
        }
    }
    out
}

/// On which inputs the two differ by more than rounding explains.
fn difference(kernel: &Function, summary: &tensir::Function, proof: &Proof) -> Option<String> {
    let program = Program::new(kernel).ok()?;
    let spec = Spec::known(&kernel.params, &proof.guards, &proof.footprints);
    let (same, palette) = match proof.tier {
        Tier::Exact => (Same::Exactly, Palette::All),
        Tier::Real => (Same::Within(2e-2), Palette::Tame),
    };
    let how = Comparison {
        same,
        may_leave_extents: true,
        shrink_runs: 100,
        ..Comparison::default()
    };
    let mut other = |inputs: &tensorize_ir::memory::Inputs| tensir::interpret(summary, inputs);
    let cases = spec.sample(5, 150, palette);
    compare(&program, &mut other, &spec, cases, &how)
        .err()
        .map(|d| d.text)
}

#[test]
fn sums_one_step_away_are_not_taken_for_the_same() {
    let [_, refused, own] = one_step_away("synthesis.c");
    assert!(refused > 50 && own > 20, "{refused} {own}");
}

#[test]
fn bit_tricks_one_step_away_are_not_taken_for_the_same() {
    let [_, refused, own] = one_step_away("bit_tricks.c");
    assert!(refused > 30 && own > 10, "{refused} {own}");
}

fn one_step_away(file: &str) -> [usize; 3] {
    let mut solver = solver();
    let (mut proven, mut refused, mut own) = (0, 0, 0);
    for kernel in kernels(file) {
        let proposal = summarise(&kernel, &mut solver)
            .unwrap_or_else(|r| panic!("{}: {}", kernel.name, r.message));
        let (summary, verdict) = proposal.prove(&kernel, &mut solver, &options());
        let Verdict::Proven(proof) = verdict else {
            panic!("{}: {verdict:?}", kernel.name);
        };
        assert_eq!(
            difference(&kernel, &summary, &proof),
            None,
            "{}",
            kernel.name
        );
        for (i, body) in changed_block(&kernel.body).into_iter().enumerate() {
            if i % 3 != 0 && std::env::var_os("TENSORIZE_MUTANTS").is_none() {
                continue;
            }
            let mutant = Function {
                body,
                ..kernel.clone()
            };
            if mutant.validate().is_err() || mutant == kernel {
                continue;
            }
            let oracle = Synthesiser::default();
            match prove(&mutant, &summary, &oracle, &mut solver, &options()) {
                Verdict::Proven(proof) => {
                    proven += 1;
                    let difference = difference(&mutant, &summary, &proof);
                    assert_eq!(difference, None, "{mutant}\n{summary}");
                }
                _ => refused += 1,
            }
            if i % 2 == 0
                && let Ok(proposal) = summarise(&mutant, &mut solver)
                && let (summary, Verdict::Proven(proof)) =
                    proposal.prove(&mutant, &mut solver, &options())
            {
                own += 1;
                let difference = difference(&mutant, &summary, &proof);
                assert_eq!(difference, None, "{mutant}\n{summary}");
            }
        }
    }
    println!(
        "{proven} mutants mean the same, {refused} are refused, {own} have summaries of their own"
    );
    [proven, refused, own]
}
