//! Summaries in index notation.

use super::{Call, Random};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Op, Output, TensorType, View};

use ScalarType::{F32, I32, U8};

pub fn s(name: &str) -> Idx {
    Idx::sym(name)
}

pub fn int(name: &str) -> Param {
    Param::Scalar {
        name: name.into(),
        ty: I32,
    }
}

pub fn scalar(name: &str, ty: ScalarType) -> Param {
    Param::Scalar {
        name: name.into(),
        ty,
    }
}

pub fn input(name: &str, elem: ScalarType) -> Param {
    Param::Array {
        name: name.into(),
        elem,
        is_const: true,
        restrict: false,
    }
}

pub fn array(name: &str, elem: ScalarType) -> Param {
    Param::Array {
        name: name.into(),
        elem,
        is_const: false,
        restrict: false,
    }
}

/// A function with no results yet.
pub fn function(name: &str, params: Vec<Param>) -> Function {
    Function {
        name: name.into(),
        params,
        nodes: vec![],
        outputs: vec![],
    }
}

/// `array[index] = e` for all positions in `shape`.
pub fn store(f: &mut Function, shape: &[Idx], array: &str, index: Idx, e: ElemRef) {
    let ty = TensorType::new(shape.to_vec(), e.ty());
    let value = f.add(Op::Generic(e), vec![], ty);
    f.outputs.push(Output::Store {
        value,
        view: View {
            array: array.into(),
            index,
        },
    });
}

pub fn ret(f: &mut Function, e: ElemRef) {
    let value = f.add(Op::Generic(e.clone()), vec![], TensorType::scalar(e.ty()));
    f.outputs.push(Output::Return { value });
}

pub fn fold(acc: &str, var: &str, extent: Idx, init: ElemRef, step: ElemRef) -> ElemRef {
    let order = Order::Sequential;
    Arc::new(Elem::Fold(Arc::new(Fold {
        acc: acc.into(),
        var: var.into(),
        extent,
        init,
        step,
        order,
    })))
}

pub fn acc(name: &str, ty: ScalarType) -> ElemRef {
    Arc::new(Elem::Acc(name.into(), ty))
}

pub fn k(ty: ScalarType, v: i128) -> ElemRef {
    Elem::constant(Scalar::int(ty, v))
}

pub fn bin(op: BinOp, a: &ElemRef, b: &ElemRef) -> ElemRef {
    Elem::binary(op, a.clone(), b.clone())
}

/// `#0*cols + #1`
pub fn rowmajor() -> Idx {
    &(&s("#0") * &s("cols")) + &s("#1")
}

fn image(name: &str) -> Function {
    let params = vec![
        input("base", U8),
        input("active", U8),
        array("out", U8),
        int("rows"),
        int("cols"),
    ];
    function(name, params)
}

/// `a + b - a*b/255`
pub fn screen() -> Function {
    let mut f = image("screen_blend");
    let a = Elem::convert(I32, Elem::read("base", U8, rowmajor()));
    let b = Elem::convert(I32, Elem::read("active", U8, rowmajor()));
    let product = bin(BinOp::Divide, &bin(BinOp::Multiply, &a, &b), &k(I32, 255));
    let e = bin(BinOp::Subtract, &bin(BinOp::Add, &a, &b), &product);
    store(
        &mut f,
        &[s("rows"), s("cols")],
        "out",
        rowmajor(),
        Elem::convert(U8, e),
    );
    f
}

/// `a > b ? b : a`
pub fn darken() -> Function {
    let mut f = image("darken_blend");
    let a = Elem::read("base", U8, rowmajor());
    let b = Elem::read("active", U8, rowmajor());
    let c = Elem::compare(
        CmpOp::Gt,
        Elem::convert(I32, a.clone()),
        Elem::convert(I32, b.clone()),
    );
    store(
        &mut f,
        &[s("rows"), s("cols")],
        "out",
        rowmajor(),
        Elem::select(c, b, a),
    );
    f
}

/// Only where `active` is bright: `out = base / active`, which divides and reads under a condition.
pub fn burn() -> Function {
    let mut f = image("burn_some");
    let a = Elem::convert(I32, Elem::read("base", U8, rowmajor()));
    let b = Elem::convert(I32, Elem::read("active", U8, rowmajor()));
    let c = Elem::compare(CmpOp::Gt, b.clone(), k(I32, 100));
    let quotient = bin(BinOp::Divide, &bin(BinOp::Multiply, &a, &k(I32, 255)), &b);
    let e = Elem::convert(U8, quotient);
    let old = Elem::read("out", U8, rowmajor());
    store(
        &mut f,
        &[s("rows"), s("cols")],
        "out",
        rowmajor(),
        Elem::select(c, e, old),
    );
    f
}

/// `out[i] = Σ w[i*n + j] * x[j]`
pub fn matvec() -> Function {
    let params = vec![
        array("out", F32),
        input("x", F32),
        input("w", F32),
        int("n"),
        int("d"),
    ];
    let mut f = function("matvec", params);
    let w = Elem::read("w", F32, &(&s("#0") * &s("n")) + &s("j'1"));
    let x = Elem::read("x", F32, s("j'1"));
    let step = bin(
        BinOp::Add,
        &acc("val'1", F32),
        &bin(BinOp::Multiply, &w, &x),
    );
    let e = fold(
        "val'1",
        "j'1",
        s("n"),
        Elem::constant(Scalar::f32(0.0)),
        step,
    );
    store(&mut f, &[s("d")], "out", s("#0"), e);
    f
}

fn max_of(x: &str, acc_name: &str, var: &str) -> ElemRef {
    let m = acc(acc_name, F32);
    let v = Elem::read(x, F32, &s(var) + &Idx::constant(1));
    let step = Elem::select(Elem::compare(CmpOp::Gt, v.clone(), m.clone()), v, m);
    let init = Elem::read(x, F32, Idx::constant(0));
    fold(acc_name, var, &s("n") - &Idx::constant(1), init, step)
}

/// In place: `x[i] = exp(x[i] - max x) / Σ exp(x[k] - max x)`, as the element view gives it: the
/// maximum twice, under different names.
pub fn softmax() -> Function {
    let mut f = function("softmax", vec![array("x", F32), int("n")]);
    let exp = |i: Idx, m: ElemRef| {
        Elem::unary(
            UnOp::Exponential,
            bin(BinOp::Subtract, &Elem::read("x", F32, i), &m),
        )
    };
    let term = exp(s("i'3"), max_of("x", "max'3", "i'4"));
    let sum = fold(
        "sum'3",
        "i'3",
        s("n"),
        Elem::constant(Scalar::f32(0.0)),
        bin(BinOp::Add, &acc("sum'3", F32), &term),
    );
    let e = bin(
        BinOp::Divide,
        &exp(s("#0"), max_of("x", "max'1", "i'1")),
        &sum,
    );
    store(&mut f, &[s("n")], "x", s("#0"), e);
    f
}

/// `Σ a[i]*b[i]` on 16-bit integers, in 32 bits.
pub fn dot16() -> Function {
    let params = vec![
        input("a", ScalarType::I16),
        input("b", ScalarType::I16),
        int("n"),
    ];
    let mut f = function("dot16", params);
    let read = |x: &str| Elem::convert(I32, Elem::read(x, ScalarType::I16, s("i'1")));
    let step = bin(
        BinOp::Add,
        &acc("sum'1", I32),
        &bin(BinOp::Multiply, &read("a"), &read("b")),
    );
    ret(&mut f, fold("sum'1", "i'1", s("n"), k(I32, 0), step));
    f
}

/// Two results: each needs what the other overwrites at the same place.
pub fn swap_scaled() -> Function {
    let params = vec![
        array("p", F32),
        array("q", F32),
        scalar("alpha", F32),
        int("n"),
    ];
    let mut f = function("swap_scaled", params);
    let alpha: ElemRef = Arc::new(Elem::Param("alpha".into(), F32));
    let (p, q) = (Elem::read("p", F32, s("#0")), Elem::read("q", F32, s("#0")));
    store(
        &mut f,
        &[s("n")],
        "p",
        s("#0"),
        bin(BinOp::Multiply, &q, &alpha),
    );
    store(
        &mut f,
        &[s("n")],
        "q",
        s("#0"),
        bin(BinOp::Multiply, &p, &alpha),
    );
    f
}

/// `x[i] -= Σ_k x[r*n + k]` over rows: in place, with a fold over the row that is written.
pub fn center_rows() -> Function {
    let mut f = function(
        "center_rows",
        vec![array("x", I32K), int("rows"), int("cols")],
    );
    let row = &(&s("#0") * &s("cols")) + &s("k'1");
    let step = bin(BinOp::Add, &acc("sum'1", I32K), &Elem::read("x", I32K, row));
    let sum = fold("sum'1", "k'1", s("cols"), k(I32K, 0), step);
    let e = bin(BinOp::Subtract, &Elem::read("x", I32K, rowmajor()), &sum);
    store(&mut f, &[s("rows"), s("cols")], "x", rowmajor(), e);
    f
}

const I32K: ScalarType = I32;

/// A call with random arrays of the given lengths.
pub fn call(
    f: &Function,
    sizes: &[(&str, i128)],
    lens: &[(&str, usize)],
    random: &mut Random,
    tame: bool,
) -> Call {
    let mut c = Call {
        scalars: Default::default(),
        arrays: Default::default(),
    };
    for p in &f.params {
        match p {
            Param::Scalar { name, ty } => {
                let size = sizes.iter().find(|(n, _)| *n == &**name);
                let value = match size {
                    Some((_, v)) => Scalar::int(*ty, *v),
                    None => random.tame(*ty),
                };
                c.scalars.insert(name.clone(), value);
            }
            Param::Array { name, elem, .. } => {
                let len = lens
                    .iter()
                    .find(|(n, _)| *n == &**name)
                    .map_or(0, |(_, l)| *l);
                let value = |_| {
                    if tame {
                        random.tame(*elem)
                    } else {
                        random.scalar(*elem)
                    }
                };
                c.arrays.insert(name.clone(), (0..len).map(value).collect());
            }
        }
    }
    c
}
