use super::*;
use ScalarType::*;
use tensorize_ir::element::{Env, eval_index};
use tensorize_ir::inputs::Rng;
use tensorize_ir::scalar::Scalar;

fn read(i: &str) -> ElemRef {
    Elem::read("x", U8, Idx::sym(i))
}

#[test]
fn forms_meet() {
    let (a, b) = (read("i"), read("j"));
    let gt = Elem::select(
        Elem::compare(CmpOp::Gt, a.clone(), b.clone()),
        a.clone(),
        b.clone(),
    );
    let max = Elem::binary(BinOp::Maximum, b.clone(), a.clone());
    assert_eq!(elem(&gt), elem(&max));
    let wide = Elem::convert(U8, Elem::convert(I32, a.clone()));
    assert_eq!(elem(&wide), a);
    let narrow = Elem::convert(I32, Elem::convert(U8, Elem::convert(I32, a.clone())));
    assert_eq!(elem(&narrow), Elem::convert(I32, a));
}

/// In a branch its condition is known, by itself as well.
#[test]
fn conditions_are_known_in_their_branches() {
    let positive = Elem::compare(CmpOp::Lt, Elem::constant(Scalar::int(U8, 0)), read("i"));
    let other = Elem::compare(CmpOp::Eq, read("j"), read("i"));
    let select = |t: &ElemRef, f: &ElemRef| Elem::select(positive.clone(), t.clone(), f.clone());
    let not = Elem::not(positive.clone());
    let truth = |v| Elem::constant(Scalar::bool(v));
    for (is, same) in [
        (select(&positive, &other), select(&truth(true), &other)),
        (select(&other, &positive), select(&other, &truth(false))),
        (select(&not, &other), select(&truth(false), &other)),
        (select(&other, &not), select(&other, &truth(true))),
        (select(&not, &truth(false)), truth(false)),
        (select(&positive, &not), truth(true)),
    ] {
        assert_eq!(elem(&is), elem(&same), "{is}");
    }
}

#[test]
fn arithmetic_on_counters_is_that_of_polynomials() {
    let (i, one) = (Idx::sym("i"), Idx::constant(1));
    let next = |ty| Elem::of_idx(ty, &i + &one);
    let machine = |ty| {
        let one = Elem::constant(Scalar::int(ty, 1));
        Elem::binary(BinOp::Add, Elem::of_idx(ty, i.clone()), one)
    };
    for ty in [I8, U8, I32, I64, U64] {
        let sum = elem(&machine(ty));
        assert_eq!(polynomial(&sum), Some(&i + &one), "{ty}");
        assert_eq!(sum, elem(&Elem::convert(ty, machine(U64))));
        assert_eq!(sum, elem(&sum), "{ty}");
        // Where it wraps, it is no longer the number.
        assert_eq!(crate::eval::index_like(&sum), None, "{ty}");
        assert_eq!(elem(&next(ty)), next(ty));
    }
    assert_eq!(polynomial(&elem(&Elem::convert(I32, next(U8)))), None);
    let narrower = elem(&Elem::convert(U8, next(I32)));
    assert_eq!(crate::eval::index_like(&narrower), None);
    assert_eq!(narrower, elem(&Elem::convert(U8, machine(I32))));
    // In eight bits it wraps before it is widened.
    assert_ne!(
        elem(&Elem::convert(I32, machine(U8))),
        elem(&Elem::convert(I32, next(I32)))
    );
    let float = Elem::of_idx(F32, i.clone());
    let sum = Elem::binary(BinOp::Add, float.clone(), float);
    assert!(matches!(&*elem(&sum), Elem::Binary(..)));
}

struct At(i128);

impl Env for At {
    /// (A polynomial that is too large has the name of an unknown.)
    fn sym(&self, name: &Sym) -> Option<i128> {
        (&**name == "i").then_some(self.0)
    }
    fn param(&self, _: &Sym) -> Option<Scalar> {
        None
    }
    fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
        Some(Scalar::int(U8, self.0 * 7))
    }
}

/// Whatever is converted and computed, the form has the value; and if it is a number, that number.
#[test]
fn forms_of_machine_integers_have_their_value() {
    let mut random = Rng::new(3);
    let mut below = |n: usize| random.below(n as u64) as usize;
    const TYPES: [ScalarType; 6] = [I8, U8, I32, U32, I64, U64];
    let (mut numbers, mut too_large) = (0, 0);
    for _ in 0..2_000 {
        let ty = TYPES[below(6)];
        let mut e = match below(4) {
            0 => read("i"),
            1 => Elem::of_idx(I32, Idx::value(read("i"))),
            _ => Elem::of_idx(ty, Idx::sym("i")),
        };
        for _ in 0..below(5) {
            let c = [-300, -1, 1, 100, 255, 1 << 33][below(6)];
            let c = Elem::constant(Scalar::int(e.ty(), c));
            e = match below(4) {
                0 => Elem::binary(BinOp::Add, e, c),
                1 => Elem::binary([BinOp::Subtract, BinOp::Multiply][below(2)], c, e),
                _ => Elem::convert(TYPES[below(6)], e),
            };
        }
        let form = elem(&e);
        assert_eq!(form, elem(&form), "{e}");
        if form.eval(&mut At(0)).is_none() {
            too_large += 1;
            continue;
        }
        for i in 0..100 {
            let value = e.eval(&mut At(i)).unwrap();
            assert_eq!(form.eval(&mut At(i)), Some(value), "{e}: {form} at {i}");
            let wraps = |p: &Idx| Scalar::int(e.ty(), eval_index(p, &mut At(i)).unwrap());
            assert_eq!(wraps(&modular(&form)), value, "{e}: {form} at {i}");
            assert_eq!(wraps(&modular(&e)), value, "{e} at {i}");
            if let Elem::OfIdx(_, p) = &*form {
                let p = eval_index(p, &mut At(i)).unwrap();
                assert_eq!(p, value.as_int(), "{e}: {form} at {i}");
                numbers += 1;
            }
        }
    }
    assert!(numbers > 0 && too_large < 200, "{numbers}, {too_large}");
}

#[test]
fn what_adds_nothing_to_a_float() {
    let x = Elem::read("x", F32, Idx::sym("i"));
    let with = |op, v: f32| {
        let v = Elem::constant(Scalar::f32(v));
        elem(&Elem::binary(op, v, x.clone()))
    };
    assert_eq!(with(BinOp::Add, -0.0), x);
    assert_eq!(with(BinOp::Multiply, 1.0), x);
    // -0.0 + 0.0 is 0.0, and a NaN is not taken for -0.0.
    for (op, v) in [
        (BinOp::Add, 0.0),
        (BinOp::Multiply, -1.0),
        (BinOp::Maximum, -0.0),
    ] {
        assert_ne!(with(op, v), x, "{op}");
    }
}

#[test]
fn a_narrowing_in_between_stays() {
    let wide = Elem::read("y", I32, Idx::sym("i"));
    let e = Elem::convert(I32, Elem::convert(U8, wide.clone()));
    assert_ne!(elem(&e), wide);
    let flag = Elem::convert(I1, Elem::convert(U8, wide.clone()));
    assert_ne!(elem(&flag), Elem::convert(I1, wide));
}

struct Pair(i128, i128);

impl Env for Pair {
    fn sym(&self, _: &Sym) -> Option<i128> {
        None
    }
    fn param(&self, name: &Sym) -> Option<Scalar> {
        let value = if &**name == "a" { self.0 } else { self.1 };
        Some(Scalar::int(I16, value))
    }
    fn read(&mut self, _: &Sym, _: i128) -> Option<Scalar> {
        None
    }
}

/// Through whichever types they are compared: as they are only where these hold all of their values.
#[test]
fn comparisons_of_converted_numbers_have_their_value() {
    let [a, b]: [ElemRef; 2] = ["a", "b"].map(|p| Arc::new(Elem::Param(p.into(), I16)));
    let edges = [-32768, -129, -128, -1, 0, 1, 127, 128, 255, 256, 32767];
    let mut bare = 0;
    for first in [I8, U8, I16, U16, I32] {
        for second in [I8, U8, I16, U16, I32, U32, I64, U64] {
            for op in [CmpOp::Lt, CmpOp::Le, CmpOp::Eq, CmpOp::Ne, CmpOp::Gt] {
                let through = |x: &ElemRef| Elem::convert(second, Elem::convert(first, x.clone()));
                let e = Elem::compare(op, through(&a), through(&b));
                let form = elem(&e);
                let mut converted = false;
                form.visit(&mut |x| converted |= matches!(&**x, Elem::Convert(..)));
                bare += usize::from(!converted);
                for x in edges {
                    for y in edges {
                        let [is, was] = [&form, &e].map(|e| e.eval(&mut Pair(x, y)));
                        assert_eq!(is, was, "{e}: {form} at {x}, {y}");
                    }
                }
            }
        }
    }
    assert!(
        bare > 0,
        "no comparison has become one of the numbers themselves"
    );
}

#[test]
fn folds_do_not_depend_on_names() {
    let fold = |acc: &str, var: &str| {
        let a: ElemRef = Arc::new(Elem::Acc(acc.into(), I32));
        Arc::new(Elem::Fold(Arc::new(Fold {
            acc: acc.into(),
            var: var.into(),
            extent: Idx::sym("n"),
            init: Elem::constant(Scalar::int(I32, 0)),
            step: Elem::binary(BinOp::Add, Elem::read("y", I32, Idx::sym(var)), a),
            order: Order::Sequential,
            others: vec![],
        })))
    };
    assert_eq!(elem(&fold("a", "p")), elem(&fold("z", "q")));
}

/// An expression in which folds bind what folds around them bind as well, by names that canonical ones have.
fn of_clashing_names(below: &mut dyn FnMut(usize) -> usize, depth: usize) -> ElemRef {
    const ACCS: [&str; 4] = ["acc%0", "acc%1", "acc%0.1", "a"];
    const VARS: [&str; 3] = ["k%0", "k%1", "k"];
    let leaf = |below: &mut dyn FnMut(usize) -> usize| match below(3) {
        0 => Elem::read("y", I32, Idx::sym(VARS[below(3)])),
        _ => Arc::new(Elem::Acc(ACCS[below(4)].into(), I32)) as ElemRef,
    };
    if depth == 0 {
        return leaf(below);
    }
    match below(3) {
        0 => {
            let op = [BinOp::Add, BinOp::Subtract, BinOp::Multiply][below(3)];
            let a = of_clashing_names(below, depth - 1);
            Elem::binary(op, a, of_clashing_names(below, depth - 1))
        }
        _ => {
            let first = below(4);
            let mut part = || of_clashing_names(below, depth - 1);
            let (init, step) = (part(), part());
            let others = match first {
                0 => vec![],
                _ => vec![Lane {
                    acc: ACCS[(first + 1) % 4].into(),
                    init: part(),
                    step: part(),
                }],
            };
            let at = Idx::sym(VARS[below(3)]);
            let extent = [Idx::constant(2), at.clone(), &at + &Idx::constant(1)][below(3)].clone();
            Arc::new(Elem::Fold(Arc::new(Fold {
                acc: ACCS[first].into(),
                var: VARS[below(3)].into(),
                extent,
                init,
                step,
                order: Order::Sequential,
                others,
            })))
        }
    }
}

/// With values for all that is free.
fn closed(e: &ElemRef) -> ElemRef {
    let mut e = e.clone();
    for (i, acc) in ["acc%0", "acc%1", "acc%0.1", "a"].into_iter().enumerate() {
        let var = ["k%0", "k%1", "k", "unused"][i];
        e = Arc::new(Elem::Fold(Arc::new(Fold {
            acc: acc.into(),
            var: var.into(),
            extent: Idx::constant(2),
            init: Elem::constant(Scalar::int(I32, 3 + 4 * i as i128)),
            step: e,
            order: Order::Sequential,
            others: vec![],
        })));
    }
    e
}

struct Squares;

impl Env for Squares {
    fn sym(&self, _: &Sym) -> Option<i128> {
        None
    }
    fn param(&self, _: &Sym) -> Option<Scalar> {
        None
    }
    fn read(&mut self, _: &Sym, at: i128) -> Option<Scalar> {
        Some(Scalar::int(I32, at * at + 5))
    }
}

#[test]
fn names_are_never_caught() {
    let mut random = Rng::new(11);
    let mut below = |n: usize| random.below(n as u64) as usize;
    let mut differing = 0;
    for _ in 0..1_000 {
        let e = of_clashing_names(&mut below, 4);
        let form = elem(&e);
        differing += usize::from(form != e);
        let value = closed(&e).eval(&mut Squares);
        assert!(value.is_some(), "{e}");
        assert_eq!(closed(&form).eval(&mut Squares), value, "{e}\n{form}");
        assert_eq!(elem(&closed(&e)).eval(&mut Squares), value, "{e}");
        // A name that something free has is not taken, whatever the folds' own names are.
        let apart = e.freshen(&mut tensorize_ir::index::Fresh::avoiding(&e));
        assert_eq!(elem(&apart), elem(&elem(&apart)), "{apart}");
    }
    assert!(differing > 300, "{differing}");
}
