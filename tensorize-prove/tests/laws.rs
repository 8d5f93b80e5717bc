//! The laws that `real::equal` uses are laws: those about sums by induction over the steps (the solver proves
//! base and step), the others on numbers. What `real::equal` takes for equal is equal, on random expressions, and divides by
//! nothing that may be zero and that the other side doesn't divide by.

use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Env, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::inputs::Rng;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_prove::context::Context;
use tensorize_prove::real::{Equality, LAWS, equal};
use tensorize_prove::solver::{self, Answer, Solver};

fn solver() -> Solver {
    Solver::new(solver::find()).expect("Z3 4.13.3 or later; `cargo xtask setup` installs it")
}

/// Folds as functions of the number of steps: the value of none, and the step.
const FOLDS: [(&str, &str, &str); 8] = [
    ("sum_f", "0.0", "(+ (sum_f n) (f n))"),
    ("sum_g", "0.0", "(+ (sum_g n) (g n))"),
    (
        "sum_f_plus_g",
        "0.0",
        "(+ (sum_f_plus_g n) (+ (f n) (g n)))",
    ),
    ("sum_c_f", "0.0", "(+ (sum_c_f n) (* c (f n)))"),
    ("down_f", "0.0", "(+ (down_f n) (f (- (- m 1) n)))"),
    ("sum_one", "0.0", "(+ (sum_one n) 1.0)"),
    ("product_c", "i", "(* (product_c n) c)"),
    ("power_c", "1.0", "(* (power_c n) c)"),
];

/// Whether the claim follows by induction from the folds' two equations.
fn by_induction(solver: &mut Solver, claim: &str) -> bool {
    let mut script = String::from(
        "(declare-const n Int)(declare-const m Int)(declare-const c Real)(declare-const i Real)
         (declare-fun f (Int) Real)(declare-fun g (Int) Real)(assert (>= n 0))\n",
    );
    for (name, init, step) in FOLDS {
        script += &format!("(declare-fun {name} (Int) Real)\n(assert (= ({name} 0) {init}))\n");
        for at in ["0", "n", "(+ n 1)", "(- (- m n) 1)"] {
            let step = step.replace(" n)", &format!(" {at})"));
            script += &format!("(assert (= ({name} (+ {at} 1)) {step}))\n");
        }
    }
    let at = |n: &str| {
        claim
            .replace("(+ n 1)", &format!("(+ {n} 1)"))
            .replace(" n)", &format!(" {n})"))
    };
    let base = format!("{script}(assert (not {}))", at("0"));
    let step = format!("{script}(assert {claim})(assert (not {}))", at("(+ n 1)"));
    solver.check(&base) == Answer::Unsat && solver.check(&step) == Answer::Unsat
}

#[test]
fn laws_of_steps_hold_by_induction() {
    let mut solver = solver();
    let mut proven = 0;
    for law in LAWS.iter().filter(|l| !l.claim.is_empty()) {
        assert!(by_induction(&mut solver, law.claim), "{law:?}");
        proven += 1;
    }
    assert_eq!(proven, 7);
}

#[test]
fn wrong_laws_of_steps_do_not() {
    let mut solver = solver();
    for claim in [
        "(= (sum_f (+ n 1)) (+ (sum_f n) (f (+ n 1))))",
        "(= (sum_f_plus_g n) (* (sum_f n) (sum_g n)))",
        "(= (sum_c_f n) (+ c (sum_f n)))",
        "(= (sum_one n) (+ 1.0 (to_real n)))",
        "(= (+ (down_f n) (sum_f (- m n))) (sum_f n))",
        "(= (product_c n) (power_c n))",
        "(= (power_c (+ n 1)) (+ c (power_c n)))",
    ] {
        assert!(!by_induction(&mut solver, claim), "{claim}");
    }
}

#[test]
fn laws_of_values_hold_on_numbers() {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * a.abs().max(1.0);
    let numbers: [f64; 6] = [-3.0, -0.5, 0.0, 0.25, 1.0, 2.5];
    let mut tested = Vec::new();
    for a in numbers {
        for b in numbers {
            assert!(close((a + b).exp(), a.exp() * b.exp()));
            assert_eq!(a.max(b), if a < b { b } else { a });
            assert_eq!(a.min(b), if a < b { a } else { b });
        }
    }
    tested.extend(["EXP_OF_SUM", "LARGER", "SMALLER"]);
    assert_eq!(0f64.exp(), 1.0);
    tested.push("EXP_OF_ZERO");
    for law in LAWS.iter().filter(|l| l.claim.is_empty()) {
        assert!(tested.contains(&law.name), "{} has no test", law.name);
    }
}

// What follows are random expressions: two parameters, an array, an integer n, and folds.

struct Maker {
    rng: Rng,
    names: usize,
}

fn float(x: f64) -> ElemRef {
    Elem::constant(Scalar::f64(x))
}

fn sym(s: &str) -> Idx {
    Idx::sym(s)
}

impl Maker {
    fn leaf(&mut self, vars: &[Sym], accs: &[Sym]) -> ElemRef {
        match self.rng.below(8) {
            0 => Arc::new(Elem::Param("a".into(), ScalarType::F64)),
            1 => Arc::new(Elem::Param("b".into(), ScalarType::F64)),
            2 => float(*self.rng.pick(&[0.0, 1.0, -1.0, 2.0, 0.5])),
            3 => Elem::of_idx(ScalarType::F64, sym("n")),
            4 if !accs.is_empty() => {
                let acc = self.rng.pick(accs).clone();
                Arc::new(Elem::Acc(acc, ScalarType::F64))
            }
            6 if !vars.is_empty() && self.rng.below(3) == 0 => {
                let v = self.rng.pick(vars).clone();
                Elem::read("x", ScalarType::F64, &sym("n") - &Idx::sym(v))
            }
            5 | 6 if !vars.is_empty() => {
                let v = self.rng.pick(vars).clone();
                Elem::read("x", ScalarType::F64, Idx::sym(v))
            }
            _ => Elem::read(
                "x",
                ScalarType::F64,
                Idx::constant(self.rng.below(2).into()),
            ),
        }
    }

    fn extent(&mut self, vars: &[Sym]) -> Idx {
        match (self.rng.below(6), vars.last()) {
            (0, Some(v)) => Idx::sym(v.clone()),
            (1, _) => Idx::constant(self.rng.below(4).into()),
            (2 | 3, _) => &sym("n") + &Idx::constant(1),
            _ => sym("n"),
        }
    }

    fn expr(&mut self, depth: usize, vars: &[Sym], accs: &[Sym]) -> ElemRef {
        if depth == 0 {
            return self.leaf(vars, accs);
        }
        match self.rng.below(14) {
            0..=2 => self.pair(BinOp::Add, depth, vars, accs),
            3 => self.pair(BinOp::Subtract, depth, vars, accs),
            4..=5 => self.pair(BinOp::Multiply, depth, vars, accs),
            6 => self.pair(BinOp::Divide, depth, vars, accs),
            7 => self.pair(BinOp::Maximum, depth, vars, accs),
            8 => Elem::unary(UnOp::Exponential, self.expr(depth - 1, vars, accs)),
            9 => {
                let (c, d) = (self.expr(1, vars, accs), self.leaf(vars, accs));
                let op = *self.rng.pick(&[CmpOp::Lt, CmpOp::Ge, CmpOp::Eq]);
                let (t, f) = (self.expr(depth - 1, vars, accs), self.leaf(vars, accs));
                Elem::select(Elem::compare(op, c, d), t, f)
            }
            10 => {
                let exponent = self.extent(vars);
                let base = self.leaf(vars, &[]);
                Elem::binary(BinOp::Power, base, Elem::of_idx(ScalarType::F64, exponent))
            }
            _ => self.fold(depth, vars, accs),
        }
    }

    fn pair(&mut self, op: BinOp, depth: usize, vars: &[Sym], accs: &[Sym]) -> ElemRef {
        let (a, b) = (
            self.expr(depth - 1, vars, accs),
            self.expr(depth - 1, vars, accs),
        );
        Elem::binary(op, a, b)
    }

    fn fold(&mut self, depth: usize, vars: &[Sym], accs: &[Sym]) -> ElemRef {
        self.names += 1;
        let (acc, var): (Sym, Sym) = (
            format!("s'{}", 1000 + self.names).into(),
            format!("j'{}", 1000 + self.names).into(),
        );
        let extent = self.extent(vars);
        let init = if self.rng.below(2) == 0 {
            float(0.0)
        } else {
            self.leaf(vars, accs)
        };
        let mut inner = vars.to_vec();
        inner.push(var.clone());
        let own: ElemRef = Arc::new(Elem::Acc(acc.clone(), ScalarType::F64));
        let term = self.expr(depth - 1, &inner, accs);
        let step = match self.rng.below(6) {
            0 => Elem::binary(BinOp::Multiply, own, term),
            1 => Elem::binary(BinOp::Maximum, own, term),
            2 => Elem::binary(
                BinOp::Add,
                Elem::binary(BinOp::Multiply, own, self.leaf(vars, &[])),
                term,
            ),
            _ => Elem::binary(BinOp::Add, own, term),
        };
        Arc::new(Elem::Fold(Arc::new(Fold::new(
            acc, var, extent, init, step,
        ))))
    }

    /// The expression after a rewrite somewhere, right or wrong.
    fn changed(&mut self, e: &ElemRef) -> ElemRef {
        let mut parts = 0;
        e.visit(&mut |_| parts += 1);
        let at = self.rng.below(parts);
        let mut seen = 0;
        let choice = self.rng.below(12);
        e.map(&mut |x| {
            seen += 1;
            (seen - 1 == at).then(|| rewrite(x, choice)).flatten()
        })
    }
}

/// One of several rewrites; only some keep the value.
fn rewrite(e: &ElemRef, choice: u64) -> Option<ElemRef> {
    use BinOp::{Add, Divide, Maximum, Multiply, Power, Subtract};
    Some(match (&**e, choice) {
        (Elem::Binary(op, a, b), 0) => Elem::binary(*op, b.clone(), a.clone()),
        (Elem::Binary(Multiply, a, s), 1..=3) => match &**s {
            Elem::Binary(op @ (Add | Subtract | Maximum | Divide), x, y) => Elem::binary(
                *op,
                Elem::binary(Multiply, a.clone(), x.clone()),
                Elem::binary(Multiply, a.clone(), y.clone()),
            ),
            _ => return None,
        },
        (Elem::Binary(Divide, a, b), 4 | 5) => {
            let one = Elem::binary(Divide, float(1.0), b.clone());
            Elem::binary(Multiply, one, a.clone())
        }
        (Elem::Binary(Power, a, n), 1..=6) => {
            let Elem::OfIdx(ty, n) = &**n else {
                return None;
            };
            let less = Elem::of_idx(*ty, n - &Idx::constant(1));
            Elem::binary(Multiply, a.clone(), Elem::binary(Power, a.clone(), less))
        }
        (Elem::Unary(UnOp::Exponential, s), 1..=6) => match &**s {
            Elem::Binary(op, x, y) => Elem::binary(
                if *op == Add { Multiply } else { *op },
                Elem::unary(UnOp::Exponential, x.clone()),
                Elem::unary(UnOp::Exponential, y.clone()),
            ),
            _ => return None,
        },
        (Elem::Fold(f), 1..=4) => match (&*f.step, choice) {
            // The last step, apart; right if there is one.
            (_, 1 | 2) => {
                let last = &f.extent - &Idx::constant(1);
                let shorter: ElemRef = Arc::new(Elem::Fold(Arc::new(Fold {
                    extent: last.clone(),
                    ..(**f).clone()
                })));
                f.step.replace(&f.var, &last).map(&mut |x| match &**x {
                    Elem::Acc(n, _) if *n == f.acc => Some(shorter.clone()),
                    _ => None,
                })
            }
            (Elem::Binary(Add, own, term), _) => {
                let Elem::Binary(op, x, y) = &**term else {
                    return None;
                };
                let part = |e: &ElemRef, init: &ElemRef| -> ElemRef {
                    Arc::new(Elem::Fold(Arc::new(Fold {
                        init: init.clone(),
                        step: Elem::binary(Add, own.clone(), e.clone()),
                        ..(**f).clone()
                    })))
                };
                match op {
                    // Right for sums, wrong for products.
                    Add | Subtract => Elem::binary(*op, part(x, &f.init), part(y, &float(0.0))),
                    _ => Elem::binary(*op, x.clone(), part(y, &f.init)),
                }
            }
            _ => return None,
        },
        (Elem::Binary(Maximum, a, b), 6 | 7) => Elem::select(
            Elem::compare(CmpOp::Gt, a.clone(), b.clone()),
            a.clone(),
            b.clone(),
        ),
        (Elem::Select(c, t, f), 8) => Elem::select(Elem::not(c.clone()), f.clone(), t.clone()),
        (Elem::Compare(op, a, b), 9) => Elem::compare(op.swapped(), b.clone(), a.clone()),
        (Elem::Compare(CmpOp::Lt, a, b), _) => Elem::compare(CmpOp::Le, a.clone(), b.clone()),
        (Elem::Read { index, .. }, 10) => {
            Elem::read("x", ScalarType::F64, index + &Idx::constant(1))
        }
        (Elem::Const(_), 11) => float(3.0),
        _ if e.ty().is_float() && choice == 9 => {
            // + a - a
            let a: ElemRef = Arc::new(Elem::Param("a".into(), ScalarType::F64));
            Elem::binary(Subtract, Elem::binary(Add, e.clone(), a.clone()), a)
        }
        _ => return None,
    })
}

struct Numbers {
    n: i128,
    a: f64,
    b: f64,
    x: Vec<f64>,
}

impl Env for Numbers {
    fn sym(&self, name: &Sym) -> Option<i128> {
        (&**name == "n").then_some(self.n)
    }
    fn param(&self, name: &Sym) -> Option<Scalar> {
        Some(Scalar::f64(if &**name == "a" { self.a } else { self.b }))
    }
    fn read(&mut self, _: &Sym, index: i128) -> Option<Scalar> {
        Some(Scalar::f64(*self.x.get(usize::try_from(index).ok()?)?))
    }
}

#[test]
fn what_is_taken_for_equal_is_equal() {
    let mut solver = solver();
    let mut maker = Maker {
        rng: Rng::new(7),
        names: 0,
    };
    let (mut equals, mut differ) = (0, 0);
    for _ in 0..8000 {
        let e = maker.expr(3, &[], &[]);
        let mut f = maker.changed(&e);
        if maker.rng.below(3) == 0 {
            f = maker.changed(&f);
        }
        if e == f {
            continue;
        }
        let params = BTreeMap::from([(Sym::from("n"), ScalarType::I32)]);
        let mut ctx = Context::new(&mut solver, params, vec![]);
        let at_least = maker.rng.below(3) as i128;
        ctx.assume_non_negative(&(&sym("n") - &Idx::constant(at_least)));
        let same = equal(&mut ctx, &e, &f) == Equality::Shown;
        let mut different = false;
        for n in at_least..at_least + 4 {
            for _ in 0..3 {
                let mut small = || maker.rng.below(9) as f64 / 4.0 - 1.0;
                let mut at = Numbers {
                    n,
                    a: small(),
                    b: small(),
                    x: (0..12).map(|_| small()).collect(),
                };
                let (Some(v), Some(w)) = (e.eval(&mut at), f.eval(&mut at)) else {
                    continue;
                };
                let (v, w) = (v.as_f64(), w.as_f64());
                // Divisions by zero, and values of which rounding leaves little.
                if !(v.abs() < 1e5 && w.abs() < 1e5) {
                    continue;
                }
                if (v - w).abs() > 1e-6 * v.abs().max(1.0) {
                    different = true;
                    assert!(
                        !same,
                        "n = {n}, a = {}, b = {}, x = {:?}: {v} and {w}\n{e}\n{f}",
                        at.a, at.b, at.x
                    );
                }
            }
        }
        equals += usize::from(same);
        differ += usize::from(different);
    }
    assert!(
        equals > 900 && differ > 300,
        "{equals} equal, {differ} different"
    );
}

/// Where a divisor is zero, the machine has no number, whatever the laws of a field say.
#[test]
fn nothing_divides_by_more() {
    use Equality::{DividesMore, Shown};
    let mut solver = solver();
    let x = |i: i128| Elem::read("x", ScalarType::F64, Idx::constant(i));
    let n = Elem::of_idx(ScalarType::F64, sym("n"));
    let pair = |op, a: &ElemRef, b: &ElemRef| Elem::binary(op, a.clone(), b.clone());
    let divide = |a: &ElemRef, b: &ElemRef| pair(BinOp::Divide, a, b);
    let (zero, two) = (float(0.0), float(2.0));
    let quotient = divide(&x(1), &x(0));
    let nothing = pair(BinOp::Subtract, &quotient, &quotient);
    // So many terms that no normal form is looked for.
    let sum = (2..24).map(x).reduce(|a, b| pair(BinOp::Add, &a, &b));
    let sum = sum.expect("some");
    let cube = pair(BinOp::Multiply, &pair(BinOp::Multiply, &sum, &sum), &sum);
    let twice = |a: &ElemRef| pair(BinOp::Multiply, &two, a);
    let times_n = pair(BinOp::Multiply, &x(1), &n);
    // Each round divides by another one of the same, whatever the counter is called.
    let of_all = |name: &str, by: &dyn Fn(&ElemRef) -> ElemRef| -> ElemRef {
        let (acc, var) = (
            Sym::from(format!("s'{name}")),
            Sym::from(format!("j'{name}")),
        );
        let own: ElemRef = Arc::new(Elem::Acc(acc.clone(), ScalarType::F64));
        let at = |i: i128| {
            let index = &Idx::sym(var.clone()) + &Idx::constant(i);
            Elem::read("x", ScalarType::F64, index)
        };
        let term = divide(&by(&at(0)), &by(&at(1)));
        let step = pair(BinOp::Add, &own, &term);
        let fold = Fold::new(acc, var.clone(), sym("n"), float(0.0), step);
        Arc::new(Elem::Fold(Arc::new(fold)))
    };
    let quotients = of_all("1", &|x| x.clone());
    for (least, a, b, expected) in [
        (0, &zero, divide(&zero, &x(0)), DividesMore),
        (0, &x(1), pair(BinOp::Add, &x(1), &nothing), DividesMore),
        (0, &divide(&zero, &x(0)), zero.clone(), Shown),
        (0, &quotient, divide(&twice(&x(1)), &twice(&x(0))), Shown),
        (0, &x(1), divide(&times_n, &n), DividesMore),
        (1, &x(1), divide(&times_n, &n), Shown),
        (0, &cube, pair(BinOp::Add, &cube, &nothing), DividesMore),
        (0, &quotients, of_all("2", &twice), Shown),
    ] {
        let params = BTreeMap::from([(Sym::from("n"), ScalarType::I32)]);
        let mut ctx = Context::new(&mut solver, params, vec![]);
        ctx.assume_non_negative(&(&sym("n") - &Idx::constant(least)));
        let found = equal(&mut ctx, a, &b);
        assert_eq!(found, expected, "n >= {least}\n{a}\n{b}");
    }
}
