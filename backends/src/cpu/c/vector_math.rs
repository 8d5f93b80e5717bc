//! Functions of `<math.h>` that glibc has for whole vectors, in `libmvec`: exact to 4 units in the last place, so not
//! the same bits as the plain ones. A compiler calls them in its vectors where it is told that they are there.

use super::dialect::C;
use super::expr::math_call;
use std::collections::BTreeSet;
use tensorize_ir::loopir::{Expr, Function, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, UnOp};

/// The functions of a kernel's loops that there are for vectors, by their declarations.
pub(crate) fn used(function: &Function) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    visit(&function.body, &mut |part| {
        let Visited::Stmt(Stmt::Loop(looped)) = part else {
            return;
        };
        visit(&looped.body, &mut |part| {
            if let Visited::Expr(e) = part {
                found.extend(declaration(e));
            }
        });
    });
    found
}

fn declaration(e: &Expr) -> Option<String> {
    use UnOp::{Cosine, Exponential, Log, Sine};
    let (name, params) = match e {
        Expr::Unary(op @ (Exponential | Log | Sine | Cosine), _) => (op.name(), 1),
        Expr::Binary(op @ BinOp::Power, ..) => (op.name(), 2),
        _ => return None,
    };
    let ty = e.ty();
    if !ty.is_float() {
        return None;
    }
    let params = vec![ty.c_name().to_owned(); params];
    let call = math_call(name, ty, &params, &C);
    Some(format!("extern {} {call} TZ_VECTORS;\n", ty.c_name()))
}

/// What says that there are vectors' forms of them.
pub(super) fn declarations(function: &Function) -> String {
    let functions: String = used(function).into_iter().collect();
    format!(
        "
/* Forms of these for vectors, where the C library has them. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define TZ_VECTORS __attribute__((simd(\"notinbranch\")))
{functions}#endif
"
    )
}
