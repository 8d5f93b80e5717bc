//! Under which conditions on the sizes a kernel is simpler, so that a summary is found for these, and the original answers
//! where they do not hold.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Function, Param, Stmt, Visited, visit};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::ScalarType;
use tensorize_prove::canon;
use tensorize_prove::exec::Executor;

/// Conditions on the sizes under which the kernel branches less: all branches at once taken the usual way,
/// then one at a time, and in the end those in loops, too. Equal sizes are usual, and so are the increments for which
/// nothing special is done.
pub(super) fn simpler(exec: &mut Executor) -> Vec<Vec<Guard>> {
    /// Each costs an attempt.
    const MOST: usize = 4;
    let (mut usual, mut unusual) = (Vec::new(), Vec::new());
    let mut others = Vec::new();
    let mut inner = Vec::new();
    let mut splits = std::mem::take(&mut exec.splits);
    splits.dedup();
    let at_top = splits.len();
    splits.append(&mut exec.inner_splits);
    for (at, (c, truth)) in splits.into_iter().enumerate() {
        let not = Elem::not(c.clone());
        let (mut yes, mut no) = (exec.as_guards(&c), exec.as_guards(&not));
        let (if_yes, if_no) = (is_nothing(exec, &c), is_nothing(exec, &not));
        // A summary for no elements is of no use to anybody.
        if if_yes == Some(Nothing::There) {
            yes = None;
        }
        if if_no == Some(Nothing::There) {
            no = None;
        }
        let mut equal = false;
        c.visit(&mut |e| equal |= matches!(&**e, Elem::IndexCompare(CmpOp::Eq, ..)));
        let by_yes = if_no.is_some() || if_yes.is_none() && (equal || truth);
        let (first, second) = if by_yes { (yes, no) } else { (no, yes) };
        if at >= at_top {
            inner.extend(first.into_iter().flatten());
            continue;
        }
        usual.extend(first.iter().flatten().cloned());
        unusual.extend(second.iter().flatten().cloned());
        others.extend(first);
        others.extend(second);
    }
    let everywhere = match inner.is_empty() {
        true => vec![],
        false => [usual.clone(), inner].concat(),
    };
    let mut all: Vec<Vec<Guard>> = Vec::new();
    for guards in [usual, unusual].into_iter().chain(others) {
        if !guards.is_empty() && !all.contains(&guards) && all.len() < MOST {
            all.push(guards);
        }
    }
    if !everywhere.is_empty() && !all.contains(&everywhere) {
        all.push(everywhere);
    }
    all
}

/// What a condition says that is zero.
#[derive(Clone, Copy, PartialEq)]
enum Nothing {
    /// A size: `rows == 0`, `n / 2 == 0`, `n < 1`.
    There,
    /// A number that may be a mode, too: `flag == 0`.
    Said,
}

/// No more than these are few: a filter's taps, a stencil's width.
const FEW: i128 = 64;

/// What is zero wherever the condition holds, or so small that the usual call has more of it.
fn is_nothing(exec: &Executor, condition: &ElemRef) -> Option<Nothing> {
    let condition = canon::elem(condition);
    let Elem::IndexCompare(op, p, _) = &*condition else {
        return None;
    };
    // `n < 2`, as before a loop over `n - 1`: one element is no more than none, and neither are some.
    let constant = p.terms().find(|(factors, _)| factors.is_empty());
    let few = constant.map_or(0, |(_, c)| c).clamp(0, FEW);
    let few = if *op == CmpOp::Ge { few } else { 0 };
    let p = p - &Idx::constant(few);
    let mut terms = p.terms();
    let (factors, c) = terms.next().filter(|_| terms.next().is_none())?;
    // What no loop counts to may be a mode, of which the small ones are as good as others.
    let is_counted_to = |atom: &Atom| matches!(atom, Atom::Sym(s) if counts_to(exec.kernel, s));
    if few > 1 && !factors.iter().all(is_counted_to) {
        return None;
    }
    // `n <= 0` is asked of no mode.
    let at_most = match op {
        CmpOp::Eq => false,
        CmpOp::Ge if c < 0 => true,
        _ => return None,
    };
    let is_length = |s: &Sym| {
        let mut params = exec.kernel.params.iter();
        params.any(|p| matches!(p, Param::Scalar { name, ty: ScalarType::I64 } if name == s))
    };
    let is_size = |s: &Sym| at_most || is_length(s);
    let what = |atom: &Atom| match atom {
        Atom::Sym(s) if !is_size(s) => Some(Nothing::Said),
        Atom::Sym(_) | Atom::FloorDiv(..) => Some(Nothing::There),
        _ => None,
    };
    let all: Vec<Nothing> = factors.iter().map(what).collect::<Option<_>>()?;
    let weakest = all.iter().find(|n| **n == Nothing::Said);
    weakest.or(all.first()).copied()
}

/// Whether a loop's condition asks for the size.
fn counts_to(kernel: &Function, size: &Sym) -> bool {
    let mut asks = false;
    visit(&kernel.body, &mut |v| {
        asks |= matches!(v, Visited::Stmt(Stmt::Loop(l)) if l.cond.mentions(size));
    });
    asks
}
