//! What rounds of a loop over time leave to the next ones besides the caller's arrays: numbers, arrays of the function's
//! own, and the value that is returned in the end.
//!
//! None of it is new to the proof. The kernel is shown to be the same as one to which the caller lends an array for each,
//! and that one leaves everything in arrays. What these hold before the call is anything: so it is in the kernel.

use crate::Proof;
use crate::exec::Stuck;
use crate::loops::modified;
use crate::names::Names;
use std::collections::BTreeSet;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{
    Expr, Function, Len, LocalArray, Param, Stmt, Visited, each_expr_mut, each_stmt_mut, visit,
};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::State;

/// The kernel that has its state in arrays of the caller's, which come after its own parameters. A variable is the first
/// element of its array from the first statement to the last; a local array is the caller's; and what is returned in the end
/// is stored.
///
/// # Errors
///
/// If the kernel has no such variable, array or value.
pub fn exposed(kernel: &Function, state: &[State]) -> Result<Function, Stuck> {
    let mut function = kernel.clone();
    if !state.is_empty() && kernel.ret.is_some() != state.iter().any(|s| s.returned) {
        return stuck("a value is returned by one of kernel and summary only");
    }
    for s in state {
        let is_array = |a: &LocalArray| a.name == s.name && a.elem == s.elem && a.init.is_none();
        let local = function.arrays.iter().position(is_array);
        let is_name = Names::of(&function).contains(&s.name);
        match local {
            Some(at) => {
                function.arrays.remove(at);
            }
            None if s.returned && !is_name => {}
            None if s.is_number() && is_variable(&function, s) => in_array(&mut function.body, s),
            None => {
                return stuck(format!(
                    "the kernel has no {} '{}' of its own",
                    s.elem, s.name
                ));
            }
        }
        if s.returned {
            store_result(&mut function, s)?;
        }
        function.params.push(s.param());
    }
    function.validate().map_or_else(stuck, |()| Ok(function))
}

/// Code for a kernel has arrays of its own for the state: what says how long one is, as a function of the same parameters;
/// nothing where it is long enough anyway.
///
/// # Errors
///
/// If it is too short, or there is no telling.
pub(crate) fn length(code: &Function, s: &State) -> Result<Option<Function>, Stuck> {
    let Some(array) = code.arrays.iter().find(|a| a.name == s.name) else {
        return Ok(None);
    };
    let len = s.len.as_ref().and_then(Idx::as_constant);
    match (&array.len, len) {
        (Len::Fixed(n), Some(len)) if len <= *n as i128 => Ok(None),
        (Len::Of(len), _) => Ok(Some(Function {
            ret: Some(ScalarType::I64),
            arrays: vec![],
            body: vec![Stmt::Return(Some(len.clone()))],
            ..code.clone()
        })),
        _ => stuck(format!("that {} is long enough could not be shown", s.name)),
    }
}

/// Whether it is a variable of this type, and no parameter.
fn is_variable(function: &Function, s: &State) -> bool {
    let mut all = function.params.iter().map(Param::name);
    let array = function.arrays.iter().any(|a| a.name == s.name);
    let ty = modified(&function.body).0.remove(&s.name);
    !array && all.all(|p| *p != s.name) && ty == Some(s.elem) && s.elem != ScalarType::I1
}

/// Has a variable in the first element of its array.
fn in_array(stmts: &mut [Stmt], s: &State) {
    let zero = Expr::int(ScalarType::I64, 0);
    let element = Expr::load(s.name.clone(), s.elem, zero.clone());
    each_expr_mut(stmts, &mut |e| {
        if matches!(e, Expr::Var(v, _) if *v == s.name) {
            *e = element.clone();
        }
    });
    each_stmt_mut(stmts, &mut |stmt| {
        if let Stmt::Assign { var, value, .. } = stmt
            && *var == s.name
        {
            *stmt = Stmt::Store {
                array: s.name.clone(),
                index: zero.clone(),
                value: value.clone(),
            };
        }
    });
}

/// Has the value stored that the last statement returns, which has to be the only one that returns any.
fn store_result(function: &mut Function, s: &State) -> Result<(), Stuck> {
    let Some(Stmt::Return(Some(value))) = function.body.pop() else {
        return stuck("the kernel does not end with the value that it returns");
    };
    // A call that returns early is the original's, as one that ends the program is.
    for stmt in &mut function.body {
        if let Stmt::If {
            then, otherwise, ..
        } = stmt
            && matches!(then.last(), Some(Stmt::Return(Some(_))))
            && otherwise.is_empty()
        {
            *then = vec![Stmt::Trap];
        }
    }
    let mut returns = false;
    visit(&function.body, &mut |part| {
        returns |= matches!(part, Visited::Stmt(Stmt::Return(_)));
    });
    if returns || value.ty() != s.elem {
        return stuck("the kernel may return on the way");
    }
    function.ret = None;
    let zero = Expr::int(ScalarType::I64, 0);
    if value != Expr::load(s.name.clone(), s.elem, zero.clone()) {
        function.body.push(Stmt::Store {
            array: s.name.clone(),
            index: zero,
            value,
        });
    }
    Ok(())
}

/// A round that has the numbers among its state in variables, from its beginning to its end: what an inner loop does with a
/// variable is plainer than what it does with memory.
pub fn in_variables(round: &Function, state: &[State]) -> Function {
    let mut function = round.clone();
    let mut returns = false;
    visit(&function.body, &mut |part| {
        returns |= matches!(part, Visited::Stmt(Stmt::Return(_)));
    });
    for s in state.iter().filter(|s| s.is_number() && !returns) {
        let (mut stored, mut others) = (false, false);
        let mut look = |array: &Sym, index: &Expr| {
            let first = matches!(index, Expr::Const(v) if v.as_int() == 0);
            others |= *array == s.name && !first;
            *array == s.name
        };
        visit(&function.body, &mut |part| match part {
            Visited::Stmt(Stmt::Store { array, index, .. }) => stored |= look(array, index),
            Visited::Expr(Expr::Load { array, index, .. }) => {
                look(array, index);
            }
            _ => {}
        });
        if !stored || others {
            continue;
        }
        let var = Names::of(&function).numbered(&s.name);
        let now = Expr::Var(var.clone(), s.elem);
        each_expr_mut(&mut function.body, &mut |e| {
            if matches!(e, Expr::Load { array, .. } if *array == s.name) {
                *e = now.clone();
            }
        });
        each_stmt_mut(&mut function.body, &mut |stmt| {
            if let Stmt::Store { array, value, .. } = stmt
                && *array == s.name
            {
                *stmt = Stmt::Assign {
                    var: var.clone(),
                    ty: s.elem,
                    value: value.clone(),
                };
            }
        });
        let zero = Expr::int(ScalarType::I64, 0);
        function.body.insert(
            0,
            Stmt::Assign {
                var,
                ty: s.elem,
                value: Expr::load(s.name.clone(), s.elem, zero.clone()),
            },
        );
        function.body.push(Stmt::Store {
            array: s.name.clone(),
            index: zero,
            value: now,
        });
    }
    function
}

/// A proof of the exposed kernel as one of the kernel: what it touches of its state is nothing to the caller. That it lies
/// inside of the state is a guard where the length isn't made of just that; of arrays with a length that C takes for
/// granted, also what callers with slices are asked.
pub(crate) fn hidden(mut proof: Proof, kernel: &Function, state: &[State]) -> Result<Proof, Stuck> {
    let is_own = |f: &Footprint| state.iter().any(|s| s.name == f.extent.array);
    let (own, others) = std::mem::take(&mut proof.footprints)
        .into_iter()
        .partition(is_own);
    proof.footprints = others;
    let own: Vec<Footprint> = own;
    for s in state {
        let Some(Footprint { extent, .. }) = own.iter().find(|f| f.extent.array == s.name) else {
            continue;
        };
        if extent.lo.has_values() || extent.hi.has_values() {
            return stuck(format!(
                "which elements of {} are touched depends on data",
                s.name
            ));
        }
        let end = s.len.as_ref().map(|len| len - &extent.hi);
        for idx in [&extent.lo].into_iter().chain(&end) {
            ask(&mut proof.guards, idx)?;
        }
        let local = kernel.arrays.iter().find(|a| a.name == s.name);
        let fixed = local.map(|a| a.len.fixed());
        proof.asked_of_slices = match (proof.asked_of_slices, fixed) {
            (Some(mut guards), Some(Some(len))) => {
                let len = Idx::constant(len as i128);
                ask(&mut guards, &extent.lo)?;
                ask(&mut guards, &(&len - &extent.hi))?;
                Some(guards)
            }
            (within, None) => within,
            (_, Some(None)) | (None, _) => None,
        };
    }
    let eager = |(array, _): &(Sym, Guard)| state.iter().all(|s| s.name != *array);
    proof.eager_guards.retain(eager);
    let about_state: BTreeSet<&Sym> = state.iter().map(|s| &s.name).collect();
    proof.accesses.retain(|a| !about_state.contains(&a.array));
    proof.state = own.into_iter().map(|f| f.extent).collect();
    Ok(proof)
}

/// Adds a guard that a number is not negative, unless that can be seen.
fn ask(guards: &mut Vec<Guard>, idx: &Idx) -> Result<(), Stuck> {
    let guard = Guard::NonNegative(idx.clone());
    match idx.as_constant() {
        Some(0..) => {}
        Some(_) => return stuck("more is touched than there is"),
        None if guards.contains(&guard) => {}
        None => guards.push(guard),
    }
    Ok(())
}

fn stuck<T>(what: impl Into<String>) -> Result<T, Stuck> {
    Err(Stuck {
        what: what.into(),
        line: 0,
    })
}
