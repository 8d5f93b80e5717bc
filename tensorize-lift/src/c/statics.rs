//! Variables that a function keeps from call to call, but sets before it looks at them, as `f2c` writes all of a
//! subroutine's variables: they are like any others of the function then.
//!
//! That has to hold on every path through the text, also on those that no call answered by other code takes: such a call
//! does not set the variable, so that a later one, which the original answers, would find a value that is too old. And no
//! other code may look at it: its address is not taken, and what a function that is called may do is that it calls this
//! one again, which sets the variable anew.

use super::ffi::Cursor;
use super::goto::{number, target};
use super::loops::header_parts;
use super::lower::{Binding, Frame, Lower, Result, operands, peeled, problem};
use super::operator::{self, Binary, Unary};
use super::types::{self, Ty};
use super::{codes, complex, math};
use clang_sys::*;
use std::collections::{HashMap, HashSet};

/// Helpers within helpers.
const MAX_DEPTH: usize = 8;

/// What BLAS calls to report a bad argument. By its documentation it is given a name and a number, and keeps neither.
const REPORTS: [&str; 2] = ["xerbla_", "xerbla"];

/// Where in the body of a function the variable is named, if on every path to each place where it is read it has been
/// assigned before.
pub(super) fn assigned_first<'u>(
    body: Cursor<'u>,
    variable: Cursor<'u>,
) -> Option<HashSet<Cursor<'u>>> {
    let mut walk = Walk {
        variable,
        named: HashSet::new(),
        breaks: vec![],
        continues: vec![],
        switches: vec![],
        gotos: HashMap::new(),
        passed: HashSet::new(),
    };
    walk.statement(body, false)?;
    Some(walk.named)
}

impl<'u> Lower<'u, '_> {
    /// A static variable of the kernel's own that is set before it is read is a variable like others.
    pub fn static_of_a_call(&mut self, d: Cursor<'u>) {
        let [Frame { function, .. }] = self.frames[..] else {
            return;
        };
        let Ty::Scalar(ty) = types::of(d) else {
            return;
        };
        let plain = d.storage() == CX_SC_Static
            && !self.source.cpp
            && !d.is_thread_local()
            && !d.ty().canonical().is_const();
        let named = super::source::body(function)
            .filter(|_| plain)
            .and_then(|body| assigned_first(body, d));
        if let Some(named) = named {
            let name = self.fresh(d.spelling());
            self.bindings.insert(d, Binding::Scalar(name, ty));
            self.statics.insert(d, named);
        }
    }

    /// Refuses what names a static variable in a place that was not looked at.
    pub fn check_static(&self, d: Cursor<'u>, at: Cursor<'u>) -> Result<()> {
        match self.statics.get(&d) {
            Some(named) if !named.contains(&at) => {
                let message = format!("'{}' is static, and not used as others are", d.spelling());
                Err(problem(codes::GLOBAL, message, at))
            }
            _ => Ok(()),
        }
    }
}

/// The states here say whether the variable has been assigned on every path that gets to a place, and so `true` where none
/// does. `None` is a use that can't be followed, or a read that comes too early.
struct Walk<'u> {
    variable: Cursor<'u>,
    named: HashSet<Cursor<'u>>,
    /// Of each loop and `switch`: the state at all of its `break`s.
    breaks: Vec<bool>,
    /// Of each loop: the state at all of its `continue`s.
    continues: Vec<bool>,
    /// Of each `switch`: the state where its value is known, and whether it has a default.
    switches: Vec<(bool, bool)>,
    /// Of each label: the state where it is jumped to.
    gotos: HashMap<usize, bool>,
    passed: HashSet<usize>,
}

impl<'u> Walk<'u> {
    fn is_it(&self, c: Cursor<'u>) -> bool {
        c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(self.variable)
    }

    /// The variable, where it is given by its address.
    fn addressed(&self, c: Cursor<'u>) -> Option<Cursor<'u>> {
        let c = peeled(c);
        let takes = c.kind() == CXCursor_UnaryOperator
            && matches!(operator::unary(c), Ok(Unary::AddressOf));
        let of = peeled(*operands(c).first().filter(|_| takes)?);
        self.is_it(of).then_some(of)
    }

    fn names(&self, c: Cursor<'u>) -> bool {
        c.contains(&mut |c| self.is_it(c))
    }

    /// The state after a statement.
    fn statement(&mut self, c: Cursor<'u>, before: bool) -> Option<bool> {
        match c.kind() {
            CXCursor_NullStmt => Some(before),
            CXCursor_CompoundStmt => {
                let mut stmts = operands(c).into_iter();
                stmts.try_fold(before, |state, s| self.statement(s, state))
            }
            CXCursor_DeclStmt => {
                let mut declared = c.children().into_iter();
                declared.try_fold(before, |state, d| self.declaration(d, state))
            }
            CXCursor_IfStmt => {
                let parts = operands(c);
                let (cond, branches) = parts.split_first()?;
                let state = self.value(*cond, before)?;
                match *branches {
                    [then] => Some(self.statement(then, state)? && state),
                    [then, otherwise] => {
                        let after = self.statement(then, state)?;
                        Some(self.statement(otherwise, state)? && after)
                    }
                    _ => None,
                }
            }
            CXCursor_ForStmt => {
                let parts = operands(c);
                let (body, header) = parts.split_last()?;
                let [init, cond, step] = header_parts(c, header).ok()?;
                let start = match init {
                    Some(init) => self.statement(init, before)?,
                    None => before,
                };
                self.rounds(start, cond, *body, step)
            }
            CXCursor_WhileStmt => match operands(c)[..] {
                [cond, body] => self.rounds(before, Some(cond), body, None),
                _ => None,
            },
            CXCursor_DoStmt => match operands(c)[..] {
                [body, cond] => {
                    let (end, left) = self.round(body, before)?;
                    let end = self.value(cond, end)?;
                    // The next round must find what the first one did.
                    (end || !before).then_some(end && left)
                }
                _ => None,
            },
            CXCursor_SwitchStmt => match operands(c)[..] {
                [value, body] => {
                    let state = self.value(value, before)?;
                    self.switches.push((state, false));
                    self.breaks.push(true);
                    let end = self.statement(body, true)?;
                    let (left, (_, is_total)) = (self.breaks.pop()?, self.switches.pop()?);
                    Some(end && left && (is_total || state))
                }
                _ => None,
            },
            CXCursor_CaseStmt => match operands(c)[..] {
                [_, inner] => {
                    let at = self.switches.last()?.0;
                    self.statement(inner, before && at)
                }
                _ => None,
            },
            CXCursor_DefaultStmt => match operands(c)[..] {
                [inner] => {
                    let switch = self.switches.last_mut()?;
                    switch.1 = true;
                    let at = switch.0;
                    self.statement(inner, before && at)
                }
                _ => None,
            },
            CXCursor_BreakStmt => {
                *self.breaks.last_mut()? &= before;
                Some(true)
            }
            CXCursor_ContinueStmt => {
                *self.continues.last_mut()? &= before;
                Some(true)
            }
            CXCursor_ReturnStmt => {
                if let Some(&value) = operands(c).first() {
                    self.value(value, before)?;
                }
                Some(true)
            }
            CXCursor_GotoStmt => {
                let label = target(c)?;
                *self.gotos.entry(label).or_insert(true) &= before;
                // What a jump back brings to its label is not known there.
                (!self.passed.contains(&label)).then_some(true)
            }
            CXCursor_LabelStmt => {
                let label = number(c)?;
                self.passed.insert(label);
                let jumped = self.gotos.get(&label).is_none_or(|&state| state);
                match operands(c)[..] {
                    [inner] => self.statement(inner, before && jumped),
                    _ => None,
                }
            }
            k if super::lower::is_expression(k) => self.value(c, before),
            _ => None,
        }
    }

    fn declaration(&mut self, d: Cursor<'u>, before: bool) -> Option<bool> {
        let runs = d.kind() == CXCursor_VarDecl && !d.is_static();
        let value = d.initializer().filter(|_| runs);
        // In the length of an array, say.
        let mut others = d.children().into_iter().filter(|c| Some(*c) != value);
        if others.any(|c| self.names(c) || has_jumps(c)) {
            return None;
        }
        match value {
            Some(value) => self.value(value, before),
            None => Some(before),
        }
    }

    /// The state after a loop whose condition is tested first.
    fn rounds(
        &mut self,
        start: bool,
        cond: Option<Cursor<'u>>,
        body: Cursor<'u>,
        step: Option<Cursor<'u>>,
    ) -> Option<bool> {
        let tested = match cond {
            Some(cond) => self.value(cond, start)?,
            None => start,
        };
        let (mut end, left) = self.round(body, tested)?;
        if let Some(step) = step {
            end = self.value(step, end)?;
        }
        // There may be no round, and a later one must find what the first one did.
        (end || !start).then_some(tested && left)
    }

    /// The state where a round ends, and where it leaves the loop.
    fn round(&mut self, body: Cursor<'u>, start: bool) -> Option<(bool, bool)> {
        self.breaks.push(true);
        self.continues.push(true);
        let end = self.statement(body, start)?;
        Some((self.continues.pop()? && end, self.breaks.pop()?))
    }

    /// The state after an expression.
    fn value(&mut self, c: Cursor<'u>, before: bool) -> Option<bool> {
        if has_jumps(c) {
            return None;
        }
        if !self.names(c) {
            return Some(before && !calls(c));
        }
        match c.kind() {
            CXCursor_DeclRefExpr => {
                self.named.insert(c);
                before.then_some(true)
            }
            CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                match operands(c)[..] {
                    [inner] => self.value(inner, before),
                    _ => None,
                }
            }
            CXCursor_BinaryOperator => {
                let [l, r] = operands(c)[..] else {
                    return None;
                };
                match operator::binary(c).ok()? {
                    Binary::Assign => self.assignment(l, r, before),
                    Binary::And | Binary::Or => {
                        let left = self.value(l, before)?;
                        Some(self.value(r, left)? && left)
                    }
                    Binary::Comma => {
                        let left = self.value(l, before)?;
                        self.value(r, left)
                    }
                    Binary::Arithmetic(_) | Binary::Compare(_) => self.unordered(&[l, r], before),
                }
            }
            CXCursor_ConditionalOperator => {
                let [cond, l, r] = operands(c)[..] else {
                    return None;
                };
                let state = self.value(cond, before)?;
                let left = self.value(l, state)?;
                Some(self.value(r, state)? && left)
            }
            CXCursor_UnaryOperator => match (operator::unary(c).ok()?, &operands(c)[..]) {
                (Unary::AddressOf, [of]) if self.is_it(peeled(*of)) => None,
                (_, [inner]) => self.value(*inner, before),
                _ => None,
            },
            CXCursor_CompoundAssignOperator
            | CXCursor_ArraySubscriptExpr
            | CXCursor_MemberRefExpr
            | CXCursor_InitListExpr => self.unordered(&operands(c), before),
            CXCursor_CallExpr => {
                let mut arguments = c.arguments();
                if REPORTS.contains(&c.spelling().as_str()) {
                    // Looked at during the call.
                    let given = arguments.iter_mut();
                    given.for_each(|a| *a = self.addressed(*a).unwrap_or(*a));
                }
                let after = self.unordered(&arguments, before)?;
                // Not everything that looks like an argument is evaluated.
                (after == before || before).then_some(after && !calls(c))
            }
            _ => None,
        }
    }

    fn assignment(&mut self, l: Cursor<'u>, r: Cursor<'u>, before: bool) -> Option<bool> {
        let place = peeled(l);
        if self.is_it(place) {
            self.value(r, before)?;
            self.named.insert(place);
            return Some(true);
        }
        match place.kind() {
            CXCursor_DeclRefExpr => self.value(r, before),
            _ => self.unordered(&[l, r], before),
        }
    }

    /// Operands in no order.
    fn unordered(&mut self, parts: &[Cursor<'u>], before: bool) -> Option<bool> {
        if let [one] = *parts {
            return self.value(one, before);
        }
        if parts.iter().any(|&p| calls(p)) {
            return None;
        }
        let mut after = before;
        for &p in parts {
            after |= self.value(p, before)?;
        }
        Some(after)
    }
}

/// Whether there are statements in an expression, or what else may lead anywhere.
fn has_jumps(c: Cursor<'_>) -> bool {
    c.contains(&mut |c| {
        matches!(
            c.kind(),
            CXCursor_StmtExpr | CXCursor_BlockExpr | CXCursor_AddrLabelExpr
        )
    })
}

/// Whether something is called that may call this function again.
fn calls(c: Cursor<'_>) -> bool {
    calls_back(c, 0)
}

fn calls_back(c: Cursor<'_>, depth: usize) -> bool {
    let leads_back = |f: Cursor<'_>| match super::call::helper(f) {
        Some(definition) if depth < MAX_DEPTH => {
            super::source::body(definition).is_none_or(|b| calls_back(b, depth + 1))
        }
        Some(_) => true,
        None => {
            f.kind() != CXCursor_FunctionDecl
                || !math::is_known(&f.spelling()) && !complex::is_known(f)
        }
    };
    c.contains(&mut |c| c.kind() == CXCursor_CallExpr && c.referenced().is_none_or(leads_back))
}
