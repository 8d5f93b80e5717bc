use super::*;
use ScalarType::{I32, U8};

struct Nothing;

impl Env for Nothing {
    fn sym(&self, name: &Sym) -> Option<i128> {
        (&**name == "n").then_some(3)
    }
    fn param(&self, _: &Sym) -> Option<Scalar> {
        None
    }
    fn read(&mut self, _: &Sym, index: i128) -> Option<Scalar> {
        Some(Scalar::int(U8, 250 + index))
    }
}

fn int(v: i128) -> ElemRef {
    Elem::constant(Scalar::int(I32, v))
}

/// `acc = 0; for k in 0..extent { acc += body }`
fn sum(extent: Idx, body: ElemRef) -> ElemRef {
    Arc::new(Elem::Fold(Arc::new(Fold {
        acc: "s".into(),
        var: "k".into(),
        extent,
        init: int(0),
        step: Elem::binary(BinOp::Add, Arc::new(Elem::Acc("s".into(), I32)), body),
        order: Order::Sequential,
        others: vec![],
    })))
}

fn eval(e: &ElemRef) -> i128 {
    e.eval(&mut Nothing).unwrap().as_int()
}

#[test]
fn substitution_does_not_capture() {
    // sum over k of (k + i), where i becomes an outer k with the value 10.
    let body = Elem::of_idx(I32, &Idx::sym("k") + &Idx::sym("i"));
    let inner = sum(Idx::sym("n"), body).replace("i", &Idx::sym("k"));
    assert_eq!(eval(&inner.replace("k", &Idx::constant(10))), 33);
    assert_eq!(inner.replace("i", &Idx::constant(1)), inner);
}

#[test]
fn bound_variables_are_not_substituted() {
    let e = sum(Idx::sym("k"), Elem::of_idx(I32, Idx::sym("k")));
    assert_eq!(eval(&e.replace("k", &Idx::constant(4))), 6);
}

#[test]
fn what_is_shared_with_a_fold_means_something_else_there() {
    let k = Elem::unary(UnOp::Abs, Elem::of_idx(I32, Idx::sym("k")));
    for e in [
        Elem::binary(BinOp::Add, k.clone(), sum(Idx::sym("n"), k.clone())),
        Elem::binary(BinOp::Add, sum(Idx::sym("n"), k.clone()), k.clone()),
    ] {
        assert_eq!(eval(&e.replace("k", &Idx::constant(10))), 13);
    }
}

#[test]
fn inner_folds_may_reuse_names() {
    let inner = sum(Idx::sym("k"), Elem::of_idx(I32, Idx::sym("k")));
    let twice = Elem::binary(BinOp::Add, inner, Elem::of_idx(I32, Idx::sym("k")));
    let outer = sum(Idx::sym("n"), twice);
    // Σ_{k<3} (Σ_{j<k} j) + k = (0 + 0) + (0 + 1) + (1 + 2)
    assert_eq!(eval(&outer), 4);
    let renamed = outer.freshen(&mut Fresh::default());
    assert_ne!(renamed, outer);
    assert_eq!(eval(&renamed), 4);
}

#[test]
fn a_wrapped_value_is_not_its_polynomial() {
    let wrapped = Idx::value(Elem::of_idx(U8, Idx::sym("i")));
    let e = Elem::of_idx(I32, wrapped.replace("i", &Idx::sym("j")));
    assert_eq!(eval(&e.replace("j", &Idx::constant(258))), 2);
}

#[test]
fn map_and_visit_reach_into_indices() {
    let at = Idx::value(Elem::read("p", U8, Idx::constant(1)));
    let e = Elem::read("x", U8, at);
    let mut arrays = Vec::new();
    e.visit(&mut |e| {
        if let Elem::Read { array, .. } = &**e {
            arrays.push(array.to_string());
        }
    });
    assert_eq!(arrays, ["x", "p"]);
    let mapped = e.map(&mut |e| match &**e {
        Elem::Read { array, .. } if &**array == "p" => Some(Elem::constant(Scalar::int(U8, 4))),
        _ => None,
    });
    assert_eq!(mapped.to_string(), "x[4]");
    assert_eq!(eval(&e), (250 + 251) % 256);
}

#[test]
fn library_functions_are_not_folded() {
    let one = Elem::constant(Scalar::f32(1.0));
    assert!(matches!(
        &*Elem::unary(UnOp::Exponential, one.clone()),
        Elem::Unary(..)
    ));
    assert!(matches!(&*Elem::unary(UnOp::Sqrt, one), Elem::Const(_)));
}

/// The greatest or the least float by comparing, and steps that look like it.
#[test]
fn extremes_by_comparing() {
    let fold = |step: ElemRef| {
        let zero = Elem::constant(Scalar::zero(step.ty()));
        Fold::new("m".into(), "k".into(), Idx::sym("n"), zero, step)
    };
    let acc = |ty| Arc::new(Elem::Acc("m".into(), ty));
    let read = |ty, at: Idx| Elem::read("a", ty, at);
    let (f, k) = (ScalarType::F32, Idx::sym("k"));
    let (m, x) = (acc(f), read(f, k.clone()));
    let other = read(f, &k + &Idx::constant(1));
    let step = |cmp, a: &ElemRef, b: &ElemRef, taken: &ElemRef, kept: &ElemRef| {
        let condition = Arc::new(Elem::Compare(cmp, a.clone(), b.clone()));
        fold(Arc::new(Elem::Select(
            condition,
            taken.clone(),
            kept.clone(),
        )))
    };
    use CmpOp::{Eq, Ge, Gt, Le, Lt, Ne};
    for (cmp, swapped, op) in [
        (Gt, Lt, BinOp::Maximum),
        (Ge, Le, BinOp::Maximum),
        (Lt, Gt, BinOp::Minimum),
        (Le, Ge, BinOp::Minimum),
    ] {
        assert_eq!(step(cmp, &x, &m, &x, &m).as_extreme(), Some(op));
        assert_eq!(step(swapped, &m, &x, &x, &m).as_extreme(), Some(op));
        // What is kept where the comparison holds: NaN is taken, and forgotten again.
        assert_eq!(step(cmp, &m, &x, &m, &x).as_extreme(), None);
    }
    let sum = Elem::binary(BinOp::Add, m.clone(), m.clone());
    for near in [
        step(Eq, &x, &m, &x, &m),
        step(Ne, &x, &m, &x, &m),
        step(Gt, &x, &m, &other, &m),
        step(Gt, &other, &m, &x, &m),
        step(Gt, &x, &sum, &x, &m),
        step(Gt, &x, &m, &x, &sum),
        step(Gt, &x, &m, &x, &other),
        step(Gt, &sum, &m, &sum, &m),
    ] {
        assert_eq!(near.as_extreme(), None, "{}", near.step);
    }
    let (i, m) = (ScalarType::I32, acc(ScalarType::I32));
    let x = read(i, k);
    // Integers have an operator for it.
    assert_eq!(step(Gt, &x, &m, &x, &m).as_extreme(), None);
    let lanes = Fold {
        others: vec![Lane {
            acc: "place".into(),
            init: Elem::constant(Scalar::zero(i)),
            step: Elem::constant(Scalar::zero(i)),
        }],
        ..step(
            Gt,
            &read(f, Idx::sym("k")),
            &acc(f),
            &read(f, Idx::sym("k")),
            &acc(f),
        )
    };
    assert_eq!(lanes.as_extreme(), None);
}

#[test]
fn accumulators_are_replaced_where_they_are_free() {
    let acc = |name: &str| -> ElemRef { Arc::new(Elem::Acc(name.into(), I32)) };
    let with = |name: &str, value: ElemRef| [(Sym::from(name), value)].into();
    // The inner sum has an accumulator of the same name: 3 * (7 + 3 * 7)
    let inner = sum(Idx::constant(3), int(7));
    let e = sum(
        Idx::constant(3),
        Elem::binary(BinOp::Add, acc("outer"), inner.clone()),
    );
    assert_eq!(eval(&e.replace_accs(&with("outer", int(7)))), 84);
    assert_eq!(inner.replace_accs(&with("s", int(100))), inner);
    // What is put in has the accumulator of the sum that it comes into, ...
    let two = sum(Idx::constant(2), acc("outer"));
    let caught = two.replace_accs(&with("outer", acc("s")));
    let Elem::Fold(f) = &*caught else {
        panic!("{caught} is no fold");
    };
    assert_ne!(&*f.acc, "s", "{caught}");
    assert_eq!(eval(&caught.replace_accs(&with("s", int(5)))), 10);
    // ... or its variable.
    let k = Elem::of_idx(I32, Idx::sym("k"));
    let caught = two.replace_accs(&with("outer", k));
    assert_eq!(eval(&caught.replace("k", &Idx::constant(4))), 8, "{caught}");
}
