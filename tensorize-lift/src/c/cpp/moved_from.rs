//! What `std::move` takes the elements of is empty afterwards. Here it isn't, and so nothing may look at it again.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::is_of_numbers;
use super::super::lower::{Lower, Result, operands, peeled, problem};
use super::super::operator;
use super::super::source;
use super::super::types::{self, Ty};
use super::class::in_std;
use super::scan::root;
use super::seq::Seq;
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Notes that a vector gets the storage of another one, if that is how the expression makes it.
    pub(super) fn pass_moved(&mut self, to: &Seq, e: Cursor<'u>) -> Result<()> {
        let Some(from) = moved_into(e) else {
            return Ok(());
        };
        let from = self.seq(from)?;
        let arrays = [to, &from].map(|v| v.start.target.array.clone());
        self.pass_storage(&arrays, e)
    }

    /// Refuses functions that look at what they have moved from.
    pub(super) fn check_moves(&self, f: Cursor<'u>) -> Result<()> {
        match source::body(f) {
            Some(body) => {
                each_cast(body)?;
                each_move(body, &mut vec![body])
            }
            None => Ok(()),
        }
    }
}

/// Whether it is what a function returns: nothing of the function runs after that.
pub(super) fn is_returned(body: Cursor<'_>, e: Cursor<'_>) -> bool {
    body.contains(&mut |c| c.kind() == CXCursor_ReturnStmt && is_within(e, c))
}

/// Whether something stands in something else, or that can't be said.
pub(super) fn is_within(inner: Cursor<'_>, outer: Cursor<'_>) -> bool {
    match (inner.extent(), outer.extent()) {
        (Some(i), Some(o)) => o.0.offset <= i.0.offset && i.1.offset <= o.1.offset,
        _ => true,
    }
}

/// Refuses `static_cast<V &&>(v)` and the like, which `std::move` says in a way that is understood here.
fn each_cast(c: Cursor<'_>) -> Result<()> {
    let casts = matches!(
        c.kind(),
        CXCursor_CXXStaticCastExpr | CXCursor_CStyleCastExpr | CXCursor_CXXFunctionalCastExpr
    );
    if casts
        && holds_more(c)
        && let Some(of) = operands(c).last().map(|o| peeled(*o))
        && of.kind() != CXCursor_CallExpr
        && root(of).is_some()
    {
        let message = "a vector, or an object that holds some, is cast";
        let mut p = problem(codes::ALLOCATION, message, c);
        p.help = Some("use std::move".into());
        return Err(p);
    }
    c.children().into_iter().try_for_each(each_cast)
}

/// Whether more than numbers are moved or copied.
fn holds_more(c: Cursor<'_>) -> bool {
    let t = types::of(c);
    !is_of_numbers(c)
        && !matches!(t.referred(), Ty::Scalar(_) | Ty::Pointer(_))
        && matches!(
            c.ty().canonical().kind(),
            CXType_Record | CXType_RValueReference
        )
}

/// What `std::move` is called on, if an expression makes a vector of it.
fn moved_into(e: Cursor<'_>) -> Option<Cursor<'_>> {
    let e = peeled(e);
    let callee = e.referenced().filter(|_| e.kind() == CXCursor_CallExpr)?;
    let [of] = e.arguments()[..] else { return None };
    match callee.kind() {
        CXCursor_Constructor => moved_into(of),
        _ => (in_std(callee) && callee.spelling() == "move").then_some(of),
    }
}

fn each_move<'u>(c: Cursor<'u>, around: &mut Vec<Cursor<'u>>) -> Result<()> {
    if c.kind() == CXCursor_ReturnStmt {
        return Ok(());
    }
    if let Some(d) = moved_from(c)
        && let Some(again) = used_again(c, d, around)
    {
        let message = format!("'{}' is looked at, and has been moved from", d.spelling());
        let mut p = problem(codes::ALLOCATION, message, again);
        p.help = Some("copy it, or give what is made later a name of its own".into());
        return Err(p);
    }
    around.push(c);
    let mut inner = c.children().into_iter();
    let all = inner.try_for_each(|c| each_move(c, around));
    around.pop();
    all
}

/// The variable of which `std::move` gives the elements away, or those of a member.
fn moved_from(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let callee = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr)?;
    let moves = in_std(callee) && matches!(callee.spelling().as_str(), "move" | "forward");
    let [of] = c.arguments()[..] else { return None };
    let holds =
        !is_of_numbers(of) && !matches!(types::of(of).referred(), Ty::Scalar(_) | Ty::Pointer(_));
    root(of).filter(|_| moves && holds && !of.ty().is_const())
}

/// Where the variable is named when the move has been, or may have been.
fn used_again<'u>(moving: Cursor<'u>, d: Cursor<'u>, around: &[Cursor<'u>]) -> Option<Cursor<'u>> {
    let named = |c: Cursor<'u>| first(c, &|c| names(c, d) && !is_within(c, moving));
    let body = *around.first()?;
    if let Some(other) = other_name(body, d, &named) {
        return Some(other);
    }
    let declared_in = |c: &Cursor<'u>| is_within(d, *c);
    // The next round of a loop may come to any place in it.
    let repeats = |c: &&Cursor<'u>| {
        let is_loop = matches!(
            c.kind(),
            CXCursor_ForStmt
                | CXCursor_WhileStmt
                | CXCursor_DoStmt
                | CXCursor_CXXForRangeStmt
                | CXCursor_LambdaExpr
        );
        is_loop && !declared_in(c)
    };
    if let Some(around) = around.iter().find(repeats) {
        // And to the move itself.
        return named(*around).or(Some(moving));
    }
    // Within one statement, nobody knows the order.
    let blocks = around
        .iter()
        .rposition(|c| c.kind() == CXCursor_CompoundStmt)?;
    if let Some(statement) = around.get(blocks + 1)
        && let Some(again) = named(*statement)
        && !assigns_to(*statement, again)
    {
        return Some(again);
    }
    let end = moving.extent()?.1.offset;
    let later = |c: Cursor<'u>| names(c, d) && c.extent().is_none_or(|e| e.0.offset >= end);
    let jumps = body.contains(&mut |c| c.kind() == CXCursor_GotoStmt);
    match jumps {
        true => named(body),
        false => first(body, &later),
    }
}

fn names<'u>(c: Cursor<'u>, d: Cursor<'u>) -> bool {
    c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(d)
}

/// Something that gets at the variable by another name, where it is `named`: a reference to it or to a part of it, a pointer,
/// an iterator, a view, a function object. (What pointers are set to by helpers, only their lowering says:
/// [`Lower::check_not_reached`].)
fn other_name<'u>(
    c: Cursor<'u>,
    d: Cursor<'u>,
    named: &dyn Fn(Cursor<'u>) -> Option<Cursor<'u>>,
) -> Option<Cursor<'u>> {
    let found = match c.kind() {
        CXCursor_VarDecl if c != d => {
            let kept = match types::of(c) {
                Ty::Scalar(_) | Ty::Class(super::class::Class::Vector(_)) => false,
                _ => !is_of_numbers(c) || c.ty().canonical().kind() == CXType_LValueReference,
            };
            c.initializer().filter(|_| kept).and_then(named)
        }
        CXCursor_LambdaExpr => named(c),
        // `p = v.data()`
        CXCursor_BinaryOperator | CXCursor_CallExpr
            if matches!(types::of(c).referred(), Ty::Pointer(_)) && assigns(c) =>
        {
            named(c)
        }
        CXCursor_UnaryOperator if matches!(types::of(c), Ty::Pointer(_)) => named(c),
        _ => None,
    };
    found.or_else(|| {
        c.children()
            .into_iter()
            .find_map(|c| other_name(c, d, named))
    })
}

fn assigns(c: Cursor<'_>) -> bool {
    matches!(operator::binary(c), Ok(operator::Binary::Assign))
        && c.kind() == CXCursor_BinaryOperator
        || c.kind() == CXCursor_CallExpr && c.spelling() == "operator="
}

/// Whether the expression is the whole left side of an assignment to what has been moved from: `a = f(std::move(a))`.
fn assigns_to(statement: Cursor<'_>, e: Cursor<'_>) -> bool {
    let statement = peeled(statement);
    let parts = operands(statement);
    let assigns = statement.kind() == CXCursor_CallExpr && statement.spelling() == "operator=";
    assigns && parts.iter().any(|p| peeled(*p) == e)
}

fn first<'u>(c: Cursor<'u>, is: &dyn Fn(Cursor<'u>) -> bool) -> Option<Cursor<'u>> {
    if is(c) {
        return Some(c);
    }
    c.children().into_iter().find_map(|c| first(c, is))
}
