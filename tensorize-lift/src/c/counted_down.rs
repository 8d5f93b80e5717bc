//! Conditions that change their counter: `do { … } while (n--);`

use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;

/// `n--` as the condition of a `do` looks at what `n` was. That is one more than it is.
pub(super) fn by_the_new_value(before: Vec<Stmt>, cond: Expr) -> (Vec<Stmt>, Expr) {
    let [
        Stmt::Assign {
            var: old,
            value: Expr::Var(counter, ty),
            ..
        },
        Stmt::Assign { var, value, .. },
    ] = &before[..]
    else {
        return (before, cond);
    };
    let of_old = |from: &Expr| *from == Expr::Var(old.clone(), *ty) && var == counter;
    let was = match value {
        Expr::Binary(op @ (BinOp::Subtract | BinOp::Add), from, by) if of_old(from) => {
            let back = match op {
                BinOp::Add => BinOp::Subtract,
                _ => BinOp::Add,
            };
            let now = Expr::Var(counter.clone(), *ty);
            Expr::binary(back, now, (**by).clone())
        }
        _ => return (before, cond),
    };
    let (mut value, mut cond) = (value.clone(), cond);
    put_in_place(&mut value, old, &Expr::Var(counter.clone(), *ty));
    put_in_place(&mut cond, old, &was);
    let (var, ty) = (var.clone(), *ty);
    (vec![Stmt::Assign { var, ty, value }], cond)
}

fn put_in_place(e: &mut Expr, var: &Sym, value: &Expr) {
    match e {
        Expr::Var(name, _) if name == var => *e = value.clone(),
        e => (e.children_mut().into_iter()).for_each(|c| put_in_place(c, var, value)),
    }
}
