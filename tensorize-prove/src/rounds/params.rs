//! Parameters that a kernel changes, as a place in a delay line that is given at the call.

use super::stepping;
use crate::loops::modified;
use crate::names::Names;
use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Loop, Param, Stmt, rename_variables};
use tensorize_ir::scalar::ScalarType;

/// The parameters that a kernel changes, but for the counter of this loop.
pub(super) fn changed_params(kernel: &Function, the_loop: &Loop) -> Vec<(Sym, ScalarType)> {
    let changed = modified(&kernel.body).0;
    let counter = stepping(the_loop).map(|(step, _)| step.var.clone());
    let of = |p: &Param| match p {
        Param::Scalar { name, ty }
            if changed.contains_key(name) && counter.as_ref() != Some(name) =>
        {
            Some((name.clone(), *ty))
        }
        _ => None,
    };
    kernel.params.iter().filter_map(of).collect()
}

/// The kernel with variables that begin as these parameters, and are changed instead of them: what a summary says of a
/// parameter is about what it was at the call.
pub(super) fn with_copies(kernel: &Function, params: &[(Sym, ScalarType)]) -> Function {
    let mut names = Names::of(kernel);
    let of = |(name, _): &(Sym, ScalarType)| (name.clone(), names.numbered(name));
    let renamed: BTreeMap<Sym, Sym> = params.iter().map(of).collect();
    let mut body = kernel.body.clone();
    rename_variables(&mut body, &renamed);
    let begin = params.iter().map(|(name, ty)| Stmt::Assign {
        var: renamed[name].clone(),
        ty: *ty,
        value: Expr::Var(name.clone(), *ty),
    });
    Function {
        body: begin.chain(body).collect(),
        ..kernel.clone()
    }
}
