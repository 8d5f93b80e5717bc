//! What an expression reads and writes, and whether C leaves the order open.

mod inside;
mod scanned;
mod touched;

use super::ffi::Cursor;
use super::jump::ends_program;
use super::lower::{Lower, Result, operands, peeled, problem};
use super::operator::{self, Binary, Unary};
use super::types::{self, Ty};
use super::{codes, cpp};
use clang_sys::*;
use inside::{Own, everything, memory_effects, outlives_calls};
use touched::Effects;

/// The member that is named, if it is a number.
pub(super) fn member_number(c: Cursor<'_>) -> Option<Cursor<'_>> {
    if c.kind() != CXCursor_MemberRefExpr {
        return None;
    }
    let field = c.referenced().filter(|f| f.kind() == CXCursor_FieldDecl)?;
    let is_number = matches!(types::of(field), Ty::Scalar(_)) && !field.is_bit_field();
    is_number.then_some(field)
}

/// The member that is named, if it is a pointer: another one than the numbers beside it.
fn member_pointer(c: Cursor<'_>) -> Option<Cursor<'_>> {
    if c.kind() != CXCursor_MemberRefExpr {
        return None;
    }
    let field = c.referenced().filter(|f| f.kind() == CXCursor_FieldDecl)?;
    matches!(types::of(field), Ty::Pointer(_)).then_some(field)
}

/// The kernel's parameter into whose memory a place lies, if it is never set anew: `*p`, `p[i]`. (Two of a helper's may be one
/// array of the kernel.)
fn is_in<'u>(lower: &Lower<'u, '_>, place: Cursor<'u>) -> Option<Cursor<'u>> {
    let reaches = match place.kind() {
        CXCursor_ArraySubscriptExpr => true,
        CXCursor_UnaryOperator => matches!(operator::unary(place), Ok(Unary::Deref)),
        _ => false,
    };
    let base = peeled(*operands(place).first().filter(|_| reaches)?);
    let named = (base.kind() == CXCursor_DeclRefExpr).then(|| base.referenced());
    let kernel = lower.frames.first().map(|frame| frame.function.arguments());
    let stays = |d: &Cursor<'u>| {
        let is_own = kernel.as_ref().is_some_and(|params| params.contains(d));
        is_own && !lower.assigned.contains(d) && !lower.in_memory.contains(d)
    };
    named.flatten().filter(stays)
}

/// The lambda that a variable has been made of, or that is written here.
fn lambda_of(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let c = peeled(c);
    let made = match c.kind() {
        CXCursor_DeclRefExpr => c.referenced().filter(|d| d.kind() == CXCursor_VarDecl)?,
        _ => c,
    };
    let mut pending = vec![made];
    while let Some(c) = pending.pop() {
        match c.kind() {
            CXCursor_LambdaExpr => return Some(c),
            // A copy of one, or the variable.
            CXCursor_CallExpr | CXCursor_UnexposedExpr | CXCursor_VarDecl => {
                pending.extend(c.children());
            }
            _ => {}
        }
    }
    None
}

/// Refuses a full expression in which something is written and used without an order.
pub(super) fn check_order<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>) -> Result<()> {
    let mut changes = 0;
    count_changes(c, &mut changes);
    // One change at the top, as in `x = …`, comes after all else.
    let root = match c.kind() {
        CXCursor_BinaryOperator | CXCursor_CompoundAssignOperator | CXCursor_UnaryOperator => {
            changes_something(c)
        }
        _ => false,
    };
    if changes <= usize::from(root) {
        return Ok(());
    }
    effects(lower, c, 0).map(|_| ())
}

fn changes_something(c: Cursor<'_>) -> bool {
    c.kind() == CXCursor_CallExpr || assigns(c)
}

/// Whether this is an operator that assigns.
fn assigns(c: Cursor<'_>) -> bool {
    match c.kind() {
        CXCursor_BinaryOperator => matches!(operator::binary(c), Ok(Binary::Assign)),
        CXCursor_CompoundAssignOperator => true,
        CXCursor_UnaryOperator => matches!(operator::unary(c), Ok(Unary::Step { .. })),
        _ => false,
    }
}

/// What an operator assigns, if this is one.
pub(super) fn assigned_place(c: Cursor<'_>) -> Option<Cursor<'_>> {
    assigns(c).then(|| operands(c).first().copied())?
}

/// Whether nothing in the expression changes anything.
pub(super) fn is_pure(c: Cursor<'_>) -> bool {
    let mut changes = 0;
    count_changes(c, &mut changes);
    changes == 0
}

/// Whether nothing in an expression whose value the compiler knows changes anything: functions of the library that it knows the
/// values of don't. (`std::numeric_limits<double>::quiet_NaN()`)
pub(super) fn is_constant(c: Cursor<'_>) -> bool {
    let calls = c.kind() == CXCursor_CallExpr;
    let known = |f: Cursor<'_>| cpp::class::in_std(f) || f.spelling().starts_with("__builtin_");
    let here = match calls {
        true => c.referenced().is_some_and(known),
        false => !changes_something(c),
    };
    here && c.children().into_iter().all(is_constant)
}

fn count_changes(c: Cursor<'_>, count: &mut usize) {
    *count += usize::from(changes_something(c));
    for child in c.children() {
        count_changes(child, count);
    }
}

/// Whether something in the expression is ordered before something else: `&&`, `||`, `?:`, a comma,
/// a call that is inlined, or one of the library that becomes a loop.
pub(super) fn has_sequence_point(c: Cursor<'_>) -> bool {
    let here = match c.kind() {
        CXCursor_ConditionalOperator | CXCursor_StmtExpr => true,
        CXCursor_CallExpr => {
            let constructs = c
                .referenced()
                .is_some_and(|f| f.kind() == CXCursor_Constructor && !cpp::class::in_std(f));
            constructs || super::call::is_inlined(c) || cpp::goes_over_elements(c)
        }
        // Each item is done with before the next one, as it is written.
        CXCursor_InitListExpr => true,
        CXCursor_BinaryOperator => {
            matches!(
                operator::binary(c),
                Ok(Binary::And | Binary::Or | Binary::Comma)
            )
        }
        _ => false,
    };
    here || operands(c).into_iter().any(has_sequence_point)
}

fn effects<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>, depth: usize) -> Result<Effects<'u>> {
    let mut all = effects_here(lower, c, depth)?;
    // What is called may do all that a lambda does.
    if c.kind() == CXCursor_CallExpr && lower.source.cpp {
        let made = cpp::effect_of(c).0.into_iter().filter_map(lambda_of);
        made.for_each(|lambda| everything(lower, lambda, &mut all));
    }
    Ok(all)
}

fn effects_here<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>, depth: usize) -> Result<Effects<'u>> {
    let mut all = Effects::default();
    match c.kind() {
        _ if ends_program(c) => {}
        // What sizeof measures is not evaluated.
        CXCursor_UnaryExpr => {}
        CXCursor_DeclRefExpr => {
            if let Some(d) = c.referenced() {
                named(lower, d, &mut all);
            }
        }
        CXCursor_BinaryOperator => {
            let [l, r] = operands(c)[..] else {
                return Ok(all);
            };
            match operator::binary(c)? {
                Binary::Assign => {
                    let right = effects(lower, r, depth)?;
                    all = write(lower, c, l, &right, false, depth)?;
                }
                Binary::And | Binary::Or | Binary::Comma => {
                    all = effects(lower, l, depth)?;
                    all.join(&effects(lower, r, depth)?);
                }
                _ => all = unordered(lower, c, &[l, r], depth)?,
            }
        }
        CXCursor_CompoundAssignOperator => {
            let [l, r] = operands(c)[..] else {
                return Ok(all);
            };
            let right = effects(lower, r, depth)?;
            all = write(lower, c, l, &right, true, depth)?;
        }
        CXCursor_UnaryOperator if matches!(operator::unary(c), Ok(Unary::Step { .. })) => {
            let [inner] = operands(c)[..] else {
                return Ok(all);
            };
            all = write(lower, c, inner, &Effects::default(), true, depth)?;
        }
        CXCursor_UnaryOperator if matches!(operator::unary(c), Ok(Unary::Deref)) => {
            all = unordered(lower, c, &operands(c), depth)?;
            read(lower, c, &mut all);
        }
        CXCursor_ArraySubscriptExpr | CXCursor_MemberRefExpr => {
            all = unordered(lower, c, &operands(c), depth)?;
            read(lower, c, &mut all);
        }
        CXCursor_ConditionalOperator => {
            for o in operands(c) {
                all.join(&effects(lower, o, depth)?);
            }
        }
        CXCursor_CallExpr if lower.source.cpp && cpp::is_element(c) => {
            all = unordered(lower, c, &cpp::effect_of(c).0, depth)?;
            all.reads_memory = true;
        }
        // How many elements a member has, which the numbers beside it don't say.
        CXCursor_CallExpr
            if lower.source.cpp
                && let Some((of, member)) = cpp::counted_member(c) =>
        {
            all = unordered(lower, c, &operands(of), depth)?;
            all.reads_members.insert(member);
        }
        // An object that has a name is assigned after all else; where it lies depends on nothing.
        CXCursor_CallExpr
            if lower.source.cpp
                && let Some([object, value]) = cpp::method::plain_assignment(c)
                && is_named_object(object) =>
        {
            all = effects(lower, value, depth)?;
            for d in cpp::by_reference(c) {
                written(lower, d, &mut all);
            }
            (all.writes_memory, all.writes_rows) = (true, true);
        }
        // Its body runs where it is called, which is taken to be here.
        CXCursor_LambdaExpr => everything(lower, c, &mut all),
        CXCursor_CallExpr if lower.source.cpp && cpp::effect_of(c).1 != cpp::Effect::Unknown => {
            let (operands, effect) = cpp::effect_of(c);
            all = unordered(lower, c, &operands, depth)?;
            if effect == cpp::Effect::Moves {
                all.writes.extend(cpp::by_reference(c));
                return Ok(all);
            }
            all.reads_memory = true;
            if effect == cpp::Effect::Writes {
                (all.writes_memory, all.writes_rows) = (true, true);
                for d in cpp::by_reference(c) {
                    written(lower, d, &mut all);
                }
            }
        }
        CXCursor_CallExpr => {
            let operands = match lower.source.cpp {
                true => cpp::effect_of(c).0,
                false => c.arguments(),
            };
            all = unordered(lower, c, &operands, depth)?;
            all.writes_rows = true;
            let mut inside = Effects::default();
            let body = super::call::inlined_body(lower, c);
            // A function of the compiler's or of <math.h>: what it gets are values.
            let computes = body.is_none() && !super::call::writes_memory(c);
            match body {
                // Whatever it does to memory; its own variables concern nobody.
                Some(body) if depth <= 8 => memory_effects(lower, body, &mut inside, Own::of(c)),
                None if computes => {}
                _ => (inside.reads_memory, inside.writes_memory) = (true, true),
            }
            if computes {
                all.reads_memory = true;
            } else if lower.source.cpp {
                // A method that writes no memory changes nothing of its object: `a[i][j]` of a matrix.
                let object =
                    cpp::method_object(c).filter(|_| body.is_some() && !inside.writes_memory);
                let kept = object.map(peeled).and_then(|o| o.referenced());
                for d in cpp::by_reference(c)
                    .into_iter()
                    .filter(|d| Some(*d) != kept)
                {
                    written(lower, d, &mut all);
                }
                // What a lambda or a reference reaches is not followed.
                all.reads_memory = true;
                all.writes_memory |= operands.iter().any(|o| {
                    !matches!(o.kind(), CXCursor_UnexposedExpr | CXCursor_DeclRefExpr)
                        && Some(*o) != object
                        && !o.ty().is_const()
                        && lower.is_place(*o)
                });
            }
            all.join(&inside);
        }
        // Its statements have an order; for what is around it, it is one piece.
        CXCursor_StmtExpr => everything(lower, c, &mut all),
        _ => all = unordered(lower, c, &operands(c), depth)?,
    }
    Ok(all)
}

/// Whether an expression is an object's name, or that of a member of one.
fn is_named_object(c: Cursor<'_>) -> bool {
    let c = peeled(c);
    match (c.kind(), &operands(c)[..]) {
        (CXCursor_DeclRefExpr | CXCursor_MemberRefExpr, []) => true,
        (CXCursor_MemberRefExpr, [of]) if peeled(*of).kind() == CXCursor_CXXThisExpr => true,
        // Where a pointer leads may change on the way.
        (CXCursor_MemberRefExpr, [of]) => {
            is_named_object(*of) && !matches!(types::of(*of), Ty::Pointer(_))
        }
        _ => false,
    }
}

/// The variable that a name stands for; `None` if that is memory. A reference to a number is another name.
fn variable<'u>(lower: &Lower<'u, '_>, d: Cursor<'u>) -> Option<Cursor<'u>> {
    let mut d = d;
    for _ in 0..8 {
        // What a structured binding names may be an element.
        if lower.in_memory.contains(&d) || d.kind() == CXCursor_UnexposedDecl {
            return None;
        }
        let is_other_name = matches!(types::of(d), Ty::Reference(t) if matches!(*t, Ty::Scalar(_)));
        if !is_other_name {
            // Declared more than once, it is one variable.
            return Some(if outlives_calls(d) { d.canonical() } else { d });
        }
        let of = d.initializer().map(peeled);
        d = of
            .filter(|e| e.kind() == CXCursor_DeclRefExpr)?
            .referenced()?;
    }
    None
}

/// Notes that something is read by this name.
fn named<'u>(lower: &Lower<'u, '_>, d: Cursor<'u>, all: &mut Effects<'u>) {
    match variable(lower, d) {
        Some(d) => _ = all.reads.insert(d),
        None => all.reads_memory = true,
    }
}

/// Notes that something is written by this name.
fn written<'u>(lower: &Lower<'u, '_>, d: Cursor<'u>, all: &mut Effects<'u>) {
    match variable(lower, d) {
        Some(d) => _ = all.writes.insert(d),
        None => all.writes_memory = true,
    }
}

/// Memory that is read at a place.
fn read<'u>(lower: &Lower<'u, '_>, place: Cursor<'u>, all: &mut Effects<'u>) {
    // Of an array just where it is: `s->state` in `s->state[s->next++]`.
    if matches!(types::of(place), Ty::Array(..)) {
        return;
    }
    let member = member_number(place).or(member_pointer(place));
    match (member, is_in(lower, place)) {
        (Some(field), _) => _ = all.reads_members.insert(field),
        (_, Some(param)) => _ = all.reads_in.insert(param),
        _ => all.reads_memory = true,
    }
}

/// Whether an operand is a lambda, written here.
fn is_lambda(c: Cursor<'_>) -> bool {
    match peeled(c).kind() {
        CXCursor_LambdaExpr => true,
        CXCursor_CallExpr => {
            let constructs = c
                .referenced()
                .is_some_and(|r| r.kind() == CXCursor_Constructor);
            constructs && matches!(c.arguments()[..], [one] if is_lambda(one))
        }
        _ => false,
    }
}

/// Operands in no order.
fn unordered<'u>(
    lower: &Lower<'u, '_>,
    at: Cursor<'u>,
    parts: &[Cursor<'u>],
    depth: usize,
) -> Result<Effects<'u>> {
    let mut all = Effects::default();
    // What a lambda does is done by what it is passed to, when all operands are there; here it is only made.
    let (made, others): (Vec<_>, Vec<_>) = parts.iter().partition(|p| is_lambda(**p));
    for &p in others.into_iter().chain(made) {
        let e = effects(lower, p, depth)?;
        let conflict = match is_lambda(p) {
            true => all.conflicts(&e.only_reads()),
            false => all.conflicts(&e),
        };
        if conflict {
            // If that is what may do anything, the order is not what has to change.
            let unknown =
                (!lower.source.cpp).then(|| parts.iter().find_map(|p| super::call::unknown(*p)));
            if let Some(problem) = unknown.flatten() {
                return Err(problem);
            }
            let message = "the order in which the parts of this expression are evaluated is open";
            return Err(problem(codes::ORDER, message, at));
        }
        all.join(&e);
    }
    Ok(all)
}

/// A write to `target`, after its own operands and `value` have been evaluated.
fn write<'u>(
    lower: &Lower<'u, '_>,
    at: Cursor<'u>,
    target: Cursor<'u>,
    value: &Effects<'u>,
    reads_target: bool,
    depth: usize,
) -> Result<Effects<'u>> {
    let place = peeled(target);
    let variable = (place.kind() == CXCursor_DeclRefExpr)
        .then(|| place.referenced())
        .flatten()
        .and_then(|d| variable(lower, d));
    let mut inner = Effects::default();
    if variable.is_none() {
        // The address, not the contents.
        inner = unordered(lower, at, &operands(place), depth)?;
        if reads_target {
            read(lower, place, &mut inner);
        }
    }
    let conflict = match variable {
        Some(d) => {
            let done = |v: &Cursor<'u>| is_done_by_then(lower, *v, d, depth);
            value.writes.contains(&d) && (reads_target || !operands(at).get(1).is_some_and(done))
        }
        None => {
            // What is stored may be what the address changes.
            let in_place =
                is_in(lower, place).is_some_and(|param| inner.writes_in.contains(&param));
            in_place
                || inner.writes_what(value)
                || value.writes_what(&inner) && !is_chain(lower, place, value)
                || steps_alike(at, place)
        }
    };
    if conflict {
        let message = "what is assigned here is also changed on the right side, in no order";
        return Err(problem(codes::ORDER, message, at));
    }
    let mut all = inner;
    all.join(value);
    match variable {
        Some(d) => {
            all.writes.insert(d);
            if reads_target {
                all.reads.insert(d);
            }
        }
        None => {
            match (member_number(place), is_in(lower, place)) {
                (Some(field), _) => _ = all.writes_members.insert(field),
                (_, Some(param)) => _ = all.writes_in.insert(param),
                _ => all.writes_memory = true,
            }
            all.writes_rows |= !matches!(types::of(target).referred(), Ty::Scalar(_));
        }
    }
    Ok(all)
}

/// Whether all that changes a variable in the right side of an assignment to it stands before a comma, as in
/// `t = x * (t = y * z, t + (t >> 8))`: that is done when the comma's own value is known, and so before the assignment (C17, 6.5.16
/// and 6.5.17).
fn is_done_by_then<'u>(lower: &Lower<'u, '_>, c: Cursor<'u>, d: Cursor<'u>, depth: usize) -> bool {
    let changes = |c| effects(lower, c, depth).is_ok_and(|e| e.writes.contains(&d));
    if !changes(c) {
        return true;
    }
    match (c.kind(), &operands(c)[..]) {
        (CXCursor_BinaryOperator, &[l, r]) => match operator::binary(c) {
            Ok(Binary::Comma) => is_done_by_then(lower, r, d, depth),
            Ok(Binary::Assign) | Err(_) => false,
            Ok(_) => [l, r].iter().all(|x| is_done_by_then(lower, *x, d, depth)),
        },
        (CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr, &[inner]) => {
            is_done_by_then(lower, inner, d, depth)
        }
        _ => false,
    }
}

/// Whether the right side counts what is assigned: `x[i] = x[i]++ + 3`, `s->a = s->b = s->a++`.
fn steps_alike(at: Cursor<'_>, place: Cursor<'_>) -> bool {
    let text = |c: Cursor<'_>| {
        let tokens = c.tokens().into_iter();
        tokens.map(|t| t.1).collect::<Vec<String>>()
    };
    let Some(value) = operands(at).get(1).copied() else {
        return false;
    };
    let member = member_number(place);
    let mut is_it = |c: Cursor<'_>| {
        let steps = c.kind() == CXCursor_UnaryOperator
            && matches!(operator::unary(c), Ok(Unary::Step { .. }));
        let Some(stepped) = operands(c).first().map(|o| peeled(*o)).filter(|_| steps) else {
            return false;
        };
        member.is_some() && member_number(stepped) == member || text(stepped) == text(place)
    };
    value.contains(&mut is_it)
}

/// Whether nothing is open in `a[j][i] = a[i][j] = …`: the address reads rows, and what the right side changes is no row.
fn is_chain<'u>(lower: &Lower<'u, '_>, place: Cursor<'u>, value: &Effects<'u>) -> bool {
    let numbers_only = value.writes.is_empty() && !value.writes_rows;
    let is_row = |c: Cursor<'u>| {
        let reads = match c.kind() {
            CXCursor_ArraySubscriptExpr | CXCursor_MemberRefExpr | CXCursor_CallExpr => true,
            CXCursor_UnaryOperator => matches!(operator::unary(c), Ok(Unary::Deref)),
            CXCursor_DeclRefExpr => c.referenced().is_some_and(|d| lower.in_memory.contains(&d)),
            _ => false,
        };
        !reads || !matches!(types::of(c).referred(), Ty::Scalar(_))
    };
    let mut pending = operands(place);
    if lower.source.cpp && place.kind() == CXCursor_CallExpr {
        pending = cpp::effect_of(place).0;
    }
    while let Some(c) = pending.pop() {
        if !is_row(c) {
            return false;
        }
        pending.extend(operands(c));
    }
    numbers_only
}
