//! The same kernel with every float a `double`: as close to real numbers as a run comes.

use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::{Expr, Function, Loop, Param, Stmt};
use tensorize_ir::scalar::{Scalar, ScalarType};

fn ty(t: ScalarType) -> ScalarType {
    if t == ScalarType::F32 {
        ScalarType::F64
    } else {
        t
    }
}

fn scalar(v: Scalar) -> Scalar {
    if v.ty == ScalarType::F32 {
        Scalar::f64(v.as_f64())
    } else {
        v
    }
}

/// The kernel over doubles; `None` if it looks at the bits of a float.
pub fn function(f: &Function) -> Option<Function> {
    let mut out = f.clone();
    for p in &mut out.params {
        match p {
            Param::Scalar { ty: t, .. } | Param::Array { elem: t, .. } => *t = ty(*t),
        }
    }
    out.ret = out.ret.map(ty);
    for a in &mut out.arrays {
        a.elem = ty(a.elem);
        a.init.iter_mut().flatten().for_each(|v| *v = scalar(*v));
    }
    out.body = block(&f.body)?;
    Some(out)
}

fn block(stmts: &[Stmt]) -> Option<Vec<Stmt>> {
    stmts.iter().map(stmt).collect()
}

fn stmt(s: &Stmt) -> Option<Stmt> {
    Some(match s {
        Stmt::Assign { var, ty: t, value } => Stmt::Assign {
            var: var.clone(),
            ty: ty(*t),
            value: expr(value)?,
        },
        Stmt::Store {
            array,
            index,
            value,
        } => Stmt::Store {
            array: array.clone(),
            index: expr(index)?,
            value: expr(value)?,
        },
        Stmt::If {
            cond,
            then,
            otherwise,
        } => Stmt::If {
            cond: expr(cond)?,
            then: block(then)?,
            otherwise: block(otherwise)?,
        },
        Stmt::Loop(l) => Stmt::Loop(Loop {
            cond: expr(&l.cond)?,
            body: block(&l.body)?,
            ..l.clone()
        }),
        Stmt::Trap => Stmt::Trap,
        Stmt::Return(v) => Stmt::Return(match v {
            Some(v) => Some(expr(v)?),
            None => None,
        }),
    })
}

fn expr(e: &Expr) -> Option<Expr> {
    let boxed = |e: &Expr| expr(e).map(Box::new);
    Some(match e {
        Expr::Const(v) => Expr::Const(scalar(*v)),
        Expr::Var(name, t) => Expr::Var(name.clone(), ty(*t)),
        Expr::Load { array, elem, index } => Expr::Load {
            array: array.clone(),
            elem: ty(*elem),
            index: boxed(index)?,
        },
        Expr::Unary(op, a) => Expr::Unary(*op, boxed(a)?),
        Expr::Binary(op, a, b) => Expr::Binary(*op, boxed(a)?, boxed(b)?),
        Expr::Compare(op, a, b) => Expr::Compare(*op, boxed(a)?, boxed(b)?),
        Expr::Convert(t, a) => Expr::convert(ty(*t), expr(a)?),
        Expr::Bitcast(t, a) if *t == ScalarType::F32 || a.ty() == ScalarType::F32 => return None,
        Expr::Bitcast(t, a) => Expr::Bitcast(*t, boxed(a)?),
        Expr::Select(c, t, f) => Expr::Select(boxed(c)?, boxed(t)?, boxed(f)?),
    })
}

/// The expression over doubles.
pub fn elem(e: &ElemRef) -> ElemRef {
    match &**e {
        Elem::Const(v) => Elem::constant(scalar(*v)),
        Elem::Param(n, t) => Arc::new(Elem::Param(n.clone(), ty(*t))),
        Elem::Acc(n, t) => Arc::new(Elem::Acc(n.clone(), ty(*t))),
        Elem::OfIdx(t, i) => Elem::of_idx(ty(*t), idx(i)),
        Elem::Read {
            array,
            ty: t,
            index,
        } => Elem::read(array.clone(), ty(*t), idx(index)),
        Elem::Convert(t, a) => Elem::convert(ty(*t), elem(a)),
        Elem::Bitcast(t, a) => Elem::bitcast(*t, elem(a)),
        _ => {
            let children: Vec<_> = e.children().into_iter().map(elem).collect();
            let indices: Vec<_> = e.indices().into_iter().map(idx).collect();
            e.rebuild(&children, &indices)
        }
    }
}

fn idx(i: &Idx) -> Idx {
    i.map_values(&mut |e| elem(e))
}
