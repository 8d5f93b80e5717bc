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
