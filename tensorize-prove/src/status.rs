//! Kernels that return one number whatever they do.

use crate::rounds::rewritten;
use tensorize_ir::loopir::{Expr, Function, Stmt, Visited, visit};
use tensorize_ir::scalar::Scalar;

/// A kernel that returns one number wherever it ends, as many C functions return 0, without it, and that number.
pub fn without_status(kernel: &Function) -> Option<(Function, Scalar)> {
    let Some(Stmt::Return(Some(Expr::Const(status)))) = kernel.body.last() else {
        return None;
    };
    let same = |s: &Stmt| match s {
        Stmt::Return(value) => matches!(value, Some(Expr::Const(v)) if v == status),
        _ => true,
    };
    let body = rewritten(&kernel.body, &|s| match s {
        Stmt::Return(_) if same(s) => Some(Stmt::Return(None)),
        other => Some(other.clone()),
    });
    // From within a loop, or something else.
    let mut returns = false;
    visit(&body, &mut |part| {
        returns |= matches!(part, Visited::Stmt(Stmt::Return(Some(_))));
    });
    let kernel = Function {
        ret: None,
        body,
        ..kernel.clone()
    };
    (!returns).then_some((kernel, *status))
}
