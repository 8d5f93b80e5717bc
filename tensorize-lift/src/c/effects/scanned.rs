//! What is looked for in a function's text before it is lowered: which variables and members change, and which ones' addresses
//! are taken.

use super::super::early_return::flattened;
use super::super::ffi::Cursor;
use super::super::flatten::is_reached;
use super::super::jump::gives_up_or_is_refused;
use super::super::lower::{Lower, Result, operands, peeled};
use super::super::operator::{self, Binary, Unary};
use super::super::types::{self, Ty};
use super::super::{cpp, simd};
use clang_sys::*;

impl<'u> Lower<'u, '_> {
    /// Finds the variables of a function that are assigned after their declaration, those whose address is taken, and the
    /// structs of the file that are constants.
    pub fn scan_variables(&mut self, c: Cursor<'u>) -> Result<()> {
        // Whoever gets there is refused, or is the original.
        if c.kind() == CXCursor_CompoundStmt && gives_up_or_is_refused(&flattened(&[c])) {
            return Ok(());
        }
        if c.kind() == CXCursor_CallExpr {
            self.scan_zeroed(c)?;
        }
        let member = operands(c)
            .first()
            .map(|&o| peeled(o))
            .filter(|o| o.kind() == CXCursor_MemberRefExpr);
        // Of those whose object is known, which ones change is found out by where they lie.
        let changed =
            member.filter(|_| !self.source.cpp || cpp::changes::assigned_number(c).is_none());
        let first = |c: Cursor<'u>| {
            operands(c)
                .first()
                .map(|&o| peeled(o))
                .filter(|p| p.kind() == CXCursor_DeclRefExpr)
        };
        let part = || {
            let (of, _) = simd::register_of(*operands(c).first()?)?;
            peeled(of).referenced()
        };
        match c.kind() {
            CXCursor_BinaryOperator if !matches!(operator::binary(c), Ok(b) if b != Binary::Assign) =>
            {
                self.assigned.extend(first(c).and_then(|p| p.referenced()));
                self.assigned.extend(part());
                self.scan_members(changed, false)?;
                if let Some(&target) = operands(c).first() {
                    self.scan_whole_struct(target)?;
                }
            }
            CXCursor_CompoundAssignOperator => {
                self.assigned.extend(first(c).and_then(|p| p.referenced()));
                self.assigned.extend(part());
                self.scan_members(changed, false)?;
                if let Some(&target) = operands(c).first() {
                    self.scan_whole_struct(target)?;
                }
            }
            CXCursor_UnaryOperator => match operator::unary(c) {
                Ok(Unary::Step { .. }) | Err(_) => {
                    self.assigned.extend(first(c).and_then(|p| p.referenced()));
                    self.scan_members(changed, false)?;
                }
                Ok(Unary::AddressOf) => {
                    self.scan_members(member, true)?;
                    if let Some(p) = first(c)
                        && !matches!(types::of(p), Ty::Array(..))
                    {
                        self.in_memory.extend(p.referenced());
                    }
                }
                _ => {}
            },
            CXCursor_CallExpr if self.source.cpp && !cpp::is_element(c) => {
                self.assigned.extend(cpp::by_reference(c));
                self.scan_references(c);
                let assigned = cpp::method::plain_assignment(c).map(|[target, _]| target);
                let whole = assigned.filter(|l| simd::is_register(*l));
                self.assigned
                    .extend(whole.and_then(|l| peeled(l).referenced()));
                if let Some(target) = assigned.or_else(|| cpp::complex::changed(c)) {
                    self.scan_whole_struct(target)?;
                }
                // Passed by value, or by const reference if it is not const itself, a cast stands around it.
                for a in c.arguments() {
                    let member = Some(a)
                        .filter(|a| a.kind() == CXCursor_MemberRefExpr && !a.ty().is_const());
                    self.scan_members(member, false)?;
                }
            }
            CXCursor_VarDecl if self.source.cpp && matches!(types::of(c), Ty::Reference(_)) => {
                let init = c.initializer();
                let variable = init.filter(|e| e.kind() == CXCursor_DeclRefExpr);
                let variable = variable.and_then(|e| e.referenced());
                self.assigned.extend(variable.filter(|d| is_reached(*d)));
                let member = init.filter(|e| e.kind() == CXCursor_MemberRefExpr);
                self.scan_members(member, false)?;
            }
            CXCursor_InitListExpr if self.source.cpp => self.scan_references(c),
            CXCursor_UnexposedDecl => self.scan_apart(c)?,
            CXCursor_DeclRefExpr => self.constant_struct(c)?,
            _ => {}
        }
        for child in c.children() {
            self.scan_variables(child)?;
        }
        Ok(())
    }
}
