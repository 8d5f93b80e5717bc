//! Pointer variables that are set: where they point to from there on.

use super::super::Problem;
use super::super::codes;
use super::super::effects;
use super::super::expr::Arith;
use super::super::ffi::Cursor;
use super::super::lower::{
    Base, Bases, Binding, Lower, Result, Variable, convert, operand, operands_of, peeled, problem,
};
use super::super::operator;
use super::super::place::Pointer;
use clang_sys::*;
use std::collections::HashSet;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::ScalarType;

/// A pointer variable that an expression names.
pub(in super::super) struct Named<'u> {
    variable: Variable<'u>,
    pub at: Cursor<'u>,
}

impl Variable<'_> {
    /// In which order variables stand in the program's text.
    pub fn order(&self) -> Vec<usize> {
        let start = |c: &Cursor<'_>| c.extent().map_or(0, |(start, _)| start.offset);
        match self {
            Variable::Named(d) => vec![start(d)],
            Variable::Member((owner, path)) => {
                let number = owner.number();
                [usize::MAX, number]
                    .into_iter()
                    .chain(path.iter().map(start))
                    .collect()
            }
        }
    }

    fn name(&self) -> String {
        let last = match self {
            Variable::Named(d) => Some(d),
            Variable::Member((_, path)) => path.last(),
        };
        last.map(Cursor::spelling).unwrap_or_default()
    }
}

impl<'u> Lower<'u, '_> {
    /// The variable that an lvalue of pointer type names.
    pub fn pointer_named(&mut self, c: Cursor<'u>) -> Result<Named<'u>> {
        let at = peeled(c);
        let variable = match at.kind() {
            CXCursor_DeclRefExpr => at.referenced().map(Variable::Named),
            // (What a call does on the way to it would be done once more where it is read.)
            CXCursor_MemberRefExpr if effects::is_pure(at) => {
                (self.own_pointer(at).ok().flatten()).map(Variable::Member)
            }
            _ => None,
        };
        let variable = variable
            .ok_or_else(|| problem(codes::POINTER_USE, "a pointer in memory is changed", c))?;
        Ok(Named { variable, at })
    }

    /// Where such a variable points.
    pub fn pointer_of(&mut self, v: &Named<'u>) -> Result<Pointer> {
        match &v.variable {
            Variable::Named(_) => self.pointer_variable(v.at),
            Variable::Member(_) => self.member_pointer(v.at),
        }
    }

    /// The value of an lvalue of pointer type.
    pub fn named_pointer(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let v = self.pointer_named(c)?;
        self.pointer_of(&v)
    }

    /// The variables that point somewhere, before a helper has its own.
    pub fn known_pointers(&self) -> HashSet<Variable<'u>> {
        self.pointers.keys().cloned().collect()
    }

    /// After a helper: its own pointers are gone, and its next call starts afresh. Members may be those of an object that it has
    /// made or changed for its caller; each object has members of its own.
    pub fn forget_pointers(&mut self, known: &HashSet<Variable<'u>>) {
        self.pointers
            .retain(|v, _| known.contains(v) || matches!(v, Variable::Member(_)));
    }

    /// Lets a pointer variable point elsewhere, now or at the end of the full expression.
    pub fn set_pointer(&mut self, v: &Named<'u>, p: Pointer, later: bool) -> Result<()> {
        self.point(&v.variable, p, later, v.at)
    }

    /// The same of a variable that no expression names.
    pub fn point(
        &mut self,
        variable: &Variable<'u>,
        p: Pointer,
        later: bool,
        at: Cursor<'u>,
    ) -> Result<()> {
        let (var, ty) = match variable {
            Variable::Named(d) => {
                if !self.bindings.contains_key(d) {
                    let message = format!(
                        "the pointer '{}' is a variable outside of the function",
                        d.spelling()
                    );
                    return Err(problem(codes::GLOBAL, message, at));
                }
                match self.bindings.get(d).cloned() {
                    Some(Binding::Pointer(Expr::Var(var, ty))) => (var, ty),
                    _ => {
                        let message = format!("'{}' cannot be assigned", d.spelling());
                        return Err(problem(codes::POINTER_USE, message, at));
                    }
                }
            }
            Variable::Member(path) => (self.offset_of(path, at)?, ScalarType::I64),
        };
        let base = Base::One(p.target, p.dims);
        self.pointers.insert(variable.clone(), base);
        let assign = Stmt::Assign {
            var,
            ty,
            value: p.offset,
        };
        if later {
            self.pending.push(assign);
            Ok(())
        } else {
            self.emit(assign)
        }
    }

    /// `p = q`
    pub fn pointer_assignment(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands_of(c)?;
        let v = self.pointer_named(l)?;
        let value = self.pointer(r)?;
        self.set_pointer(&v, value, false)
    }

    /// `std::swap(p, q)`
    pub fn exchange_pointers(&mut self, l: Cursor<'u>, r: Cursor<'u>) -> Result<()> {
        let (l, r) = (self.pointer_named(l)?, self.pointer_named(r)?);
        let (mut a, b) = (self.pointer_of(&l)?, self.pointer_of(&r)?);
        a.offset = self.kept("offset", a.offset)?;
        self.set_pointer(&l, b, false)?;
        self.set_pointer(&r, a, false)
    }

    /// `p += n`, `p -= n`
    pub fn pointer_compound(&mut self, c: Cursor<'u>) -> Result<()> {
        let [l, r] = operands_of(c)?;
        let v = self.pointer_named(l)?;
        let Arith::Plain(op @ (BinOp::Add | BinOp::Subtract)) = operator::compound(c)? else {
            return Err(problem(
                codes::POINTER_USE,
                "this operator on a pointer is not supported",
                c,
            ));
        };
        let by = convert(ScalarType::I64, self.value(r)?);
        let old = self.pointer_of(&v)?;
        self.check_step(c, &old, v.at)?;
        let new = self.step_by(old, op, by);
        self.set_pointer(&v, new, false)
    }

    /// `p++` as a statement, and the like.
    pub fn pointer_step(&mut self, c: Cursor<'u>, by: i128) -> Result<()> {
        let v = self.pointer_named(operand(c)?)?;
        let old = self.pointer_of(&v)?;
        self.check_step(c, &old, v.at)?;
        self.set_pointer(&v, old.moved(Expr::int(ScalarType::I64, by)), false)
    }

    /// After a branch: `other` is the state at the end of the other one.
    pub fn merge_pointers(&mut self, other: Bases<'u>) {
        for (d, base) in other {
            match self.pointers.get(&d) {
                // Not set on this side: reading it after this side ran would be undefined.
                None => {
                    self.pointers.insert(d, base);
                }
                Some(mine) if *mine == base => {}
                Some(_) => {
                    self.pointers.insert(d, Base::Several);
                }
            }
        }
    }

    /// After a loop's body: what was known at its entry must still hold, or the body as it was lowered
    /// is wrong for the second round.
    pub fn check_loop_pointers(&mut self, entry: &Bases<'u>, at: Cursor<'u>) -> Result<()> {
        for (d, base) in entry {
            if self.pointers.get(d) != Some(base) {
                return Err(moved_away(d, at));
            }
        }
        Ok(())
    }
}

/// A pointer that a round of a loop leaves elsewhere.
pub fn moved_away(pointer: &Variable<'_>, at: Cursor<'_>) -> Problem {
    let message = format!(
        "'{}' points into another array after a round of this loop",
        pointer.name()
    );
    problem(codes::POINTER_BASE, message, at)
}
