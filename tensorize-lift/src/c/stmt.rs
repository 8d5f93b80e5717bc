//! Statements: declarations, branches, what leaves a function.

use super::codes;
use super::early_return::flattened;
use super::expr::negation;
use super::ffi::Cursor;
use super::goto::last_label;
use super::jump::{Leaves, all_end_program, always_jumps, ends_program, gives_up, leaves};
use super::lower::{ExitKind, Lower, Result, is_expression, operand, operands, problem};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Stmt};

impl<'u> Lower<'u, '_> {
    /// Lowers statements that follow each other. Whether the end can be reached.
    pub fn list(&mut self, stmts: &[Cursor<'u>]) -> Result<bool> {
        // Names are told apart by their declarations, so blocks can be joined.
        let mut stmts = flattened(stmts);
        if let Some(label) = last_label(&stmts) {
            return self.labelled(&stmts, label);
        }
        if all_end_program(&stmts) {
            self.emit(Stmt::Trap)?;
            return Ok(false);
        }
        stmts.reverse();
        while let Some(first) = stmts.pop() {
            if ends_program(first) {
                self.emit(Stmt::Trap)?;
                return Ok(false);
            }
            let l = match first.kind() {
                CXCursor_LabelStmt => {
                    stmts.push(self.behind_label(first)?);
                    continue;
                }
                CXCursor_CompoundStmt => {
                    stmts.extend(operands(first).into_iter().rev());
                    continue;
                }
                CXCursor_GotoStmt => {
                    self.goto(first)?;
                    return Ok(false);
                }
                CXCursor_IfStmt => match self.branch(first, &mut stmts)? {
                    Some(l) => l,
                    None => return Ok(false),
                },
                CXCursor_BreakStmt => {
                    self.leave(ExitKind::Break, "break", first)?;
                    return Ok(false);
                }
                CXCursor_ContinueStmt => {
                    self.leave(ExitKind::Continue, "continue", first)?;
                    return Ok(false);
                }
                CXCursor_ReturnStmt => {
                    self.return_statement(first)?;
                    return Ok(false);
                }
                _ => {
                    if !self.statement(first)? {
                        return Ok(false);
                    }
                    leaves(first)
                }
            };
            // What follows a statement that may have jumped.
            let flags = self.flags_of(l);
            if !flags.is_empty() {
                stmts.reverse();
                return self.unless_set(&flags, |s| s.list(&stmts));
            }
        }
        Ok(true)
    }

    fn leave(&mut self, kind: ExitKind, word: &str, at: Cursor<'u>) -> Result<()> {
        if self.jump(kind)? {
            return Ok(());
        }
        Err(problem(
            codes::STATEMENT,
            format!("'{word}' outside of a loop"),
            at,
        ))
    }

    /// An `if`; `rest`, in reverse, is what follows, which it may take into one of its branches. The
    /// jumps that what is left of `rest` has to be kept from; `None` if nothing gets there.
    fn branch(&mut self, c: Cursor<'u>, rest: &mut Vec<Cursor<'u>>) -> Result<Option<Leaves>> {
        let mut parts = operands(c);
        if self.source.cpp && parts.first().is_some_and(|p| p.kind() == CXCursor_DeclStmt) {
            // `if (int i = f(); i > 0)`
            self.list(&[parts.remove(0)])?;
        }
        // `if (auto found = f())`
        let children = c.children();
        for d in children.iter().filter(|d| d.kind() == CXCursor_VarDecl) {
            self.declaration(*d)?;
        }
        let (cond, then, otherwise) = match parts[..] {
            [cond, then] => (cond, then, None),
            [cond, then, otherwise] => (cond, then, Some(otherwise)),
            _ => return Err(problem(codes::STATEMENT, "this 'if' is not supported", c)),
        };
        let mut cond = self.full_value(cond, |s| s.truth(cond))?;
        self.sequence_point()?;
        let inlined = self.frames.last().is_some_and(|f| f.result.is_some());
        // The kernel's own return ends it: what follows need not move.
        let moves = |c: Cursor<'u>| {
            let l = leaves(c);
            always_jumps(c) && (l.breaks || l.continues || l.gotos || inlined && l.returns)
        };
        let then_jumps = moves(then);
        let else_jumps = otherwise.is_some_and(moves);
        let mut then_list = vec![then];
        let mut else_list: Vec<_> = otherwise.into_iter().collect();
        if then_jumps && !else_jumps {
            else_list.extend(std::mem::take(rest).into_iter().rev());
        } else if else_jumps && !then_jumps {
            then_list.extend(std::mem::take(rest).into_iter().rev());
        }
        let entry = self.pointers.clone();
        let (then_block, then_falls) = self.in_block(|s| s.branch_list(&then_list))?;
        let after_then = std::mem::replace(&mut self.pointers, entry);
        let (else_block, else_falls) = self.in_block(|s| s.branch_list(&else_list))?;
        // Where a branch ends the kernel, nobody looks at its pointers any more.
        let in_kernel = self.frames.len() == 1;
        let ends = |c: Cursor<'u>| {
            let only = Leaves {
                returns: true,
                ..Leaves::default()
            };
            in_kernel && always_jumps(c) && leaves(c) == only
        };
        let returned = |b: &[Stmt]| matches!(b.last(), Some(Stmt::Return(_) | Stmt::Trap));
        if returned(&else_block) || otherwise.is_some_and(ends) {
            self.pointers = after_then;
        } else if !returned(&then_block) && !ends(then) {
            cond = self.merge_branches(cond, after_then)?;
        }
        match (then_block.is_empty(), else_block.is_empty()) {
            (true, true) => {}
            (true, false) => self.emit(Stmt::If {
                cond: negation(cond),
                then: else_block,
                otherwise: vec![],
            })?,
            _ => only_if(cond, then_block, else_block)
                .into_iter()
                .try_for_each(|s| self.emit(s))?,
        }
        Ok((then_falls || else_falls).then(|| leaves(c)))
    }

    /// One of an `if`'s branches, or a case of a `switch`. Whether its end can be reached.
    fn branch_list(&mut self, stmts: &[Cursor<'u>]) -> Result<bool> {
        if gives_up(&flattened(stmts)) && !self.has_all_loops(stmts) {
            self.emit(Stmt::Trap)?;
            return Ok(false);
        }
        self.list(stmts)
    }

    /// Whether the end of the statement can be reached.
    fn statement(&mut self, c: Cursor<'u>) -> Result<bool> {
        match c.kind() {
            CXCursor_NullStmt => Ok(true),
            CXCursor_DeclStmt => {
                for d in c.children() {
                    self.declaration(d)?;
                }
                Ok(true)
            }
            CXCursor_ForStmt => self.for_loop(c),
            CXCursor_CXXForRangeStmt => self.range_for(c),
            CXCursor_CXXTryStmt => {
                Err(problem(codes::STATEMENT, "exceptions are not supported", c))
            }
            CXCursor_WhileStmt => {
                let [cond, body] = operands(c)[..] else {
                    return Err(problem(
                        codes::STATEMENT,
                        "this 'while' is not supported",
                        c,
                    ));
                };
                self.run_loop(c, Some(cond), None, body, true)
            }
            CXCursor_DoStmt => {
                let [body, cond] = operands(c)[..] else {
                    return Err(problem(codes::STATEMENT, "this 'do' is not supported", c));
                };
                self.run_loop(c, Some(cond), None, body, false)
            }
            CXCursor_SwitchStmt => self.switch(c),
            k if super::openmp::is_directive(k) => Err(super::openmp::refused(c)),
            CXCursor_IndirectGotoStmt => Err(problem(
                codes::GOTO,
                "a goto to a computed label is not supported",
                c,
            )),
            CXCursor_AsmStmt | CXCursor_MSAsmStmt => Err(problem(
                codes::INLINE_ASM,
                "inline assembly is not supported",
                c,
            )),
            CXCursor_CaseStmt | CXCursor_DefaultStmt => Err(problem(
                codes::SWITCH,
                "a case label inside of another statement",
                c,
            )),
            CXCursor_UnexposedStmt => {
                // A statement with an attribute, such as a loop after `#pragma GCC unroll`.
                let inner = operand(c).map_err(|_| {
                    problem(
                        codes::STATEMENT,
                        "this kind of statement is not supported",
                        c,
                    )
                })?;
                self.list(&[inner])
            }
            k if is_expression(k) => self.full(c, |s| s.effect(c)).map(|()| true),
            _ => Err(problem(
                codes::STATEMENT,
                "this kind of statement is not supported",
                c,
            )),
        }
    }

    fn return_statement(&mut self, c: Cursor<'u>) -> Result<()> {
        if let Some((names, elem)) = self.frames.last().and_then(|f| f.vector.clone()) {
            if let Some(&e) = operands(c).first() {
                self.full(e, |s| {
                    let v = s.vector(e)?;
                    s.assign_lanes(&names, elem, v, e)
                })?;
            }
            return self.jump(ExitKind::Return).map(|_| ());
        }
        if let Some(members) = self.frames.last().and_then(|f| f.members.clone()) {
            if let Some(&e) = operands(c).first() {
                self.full(e, |s| s.return_struct(&members, e))?;
            }
            return self.leave_function(None, c);
        }
        if let Some(object) = self.frames.last().and_then(|f| f.object.clone()) {
            if let Some(&e) = operands(c).first() {
                self.full(e, |s| s.construct_object(&object, e))?;
            }
            return self.leave_function(None, c);
        }
        // Every `return` gives the same parameter.
        if self.frames.last().is_some_and(|f| f.returns_parameter) {
            return self.leave_function(None, c);
        }
        let dest = self.frames.last().and_then(|f| f.dest.clone());
        let value = match (operands(c).first(), dest) {
            (Some(&e), Some(dest)) => {
                self.return_object(&dest, e)?;
                None
            }
            (value, _) => self.returned_value(value.copied())?,
        };
        self.leave_function(value, c)
    }

    fn returned_value(&mut self, e: Option<Cursor<'u>>) -> Result<Option<(Expr, Cursor<'u>)>> {
        Ok(match e {
            Some(e) if self.frames.last().is_some_and(|f| f.ret.is_none()) => {
                // `return f();` in a void function.
                self.full(e, |s| s.effect(e))?;
                None
            }
            Some(e) => {
                let v = self.full_value(e, |s| s.value(e))?;
                Some((v, e))
            }
            None => None,
        })
    }

    fn leave_function(&mut self, value: Option<(Expr, Cursor<'u>)>, c: Cursor<'u>) -> Result<()> {
        let frame = self.frames.last().expect("a function is being lowered");
        let result = frame.result.clone();
        match (frame.ret, &value) {
            (Some(ty), Some((v, e))) if v.ty() != ty => {
                let message = format!("a value of type {} is returned as {ty}", v.ty());
                return Err(problem(codes::CONVERSION, message, *e));
            }
            (Some(_), None) => {
                return Err(problem(
                    codes::MISSING_RETURN,
                    "'return' without a value",
                    c,
                ));
            }
            _ => {}
        }
        match result {
            None => {
                self.store_results()?;
                self.emit(Stmt::Return(value.map(|(v, _)| v)))
            }
            Some(variable) => {
                if let (Some((var, _)), Some((v, _))) = (variable, value) {
                    self.assign_var(var, v)?;
                }
                self.jump(ExitKind::Return).map(|_| ())
            }
        }
    }

    /// A switch whose cases don't run into each other: a chain of branches.
    fn switch(&mut self, c: Cursor<'u>) -> Result<bool> {
        let [value, body] = operands(c)[..] else {
            return Err(problem(
                codes::STATEMENT,
                "this 'switch' is not supported",
                c,
            ));
        };
        let value = self.full_value(value, |s| s.value(value))?;
        self.sequence_point()?;
        let value = self.hold("switch", value)?;
        let exits = self.exits.len();
        self.open_exit(ExitKind::Break)?;
        let cases = super::switch::cases(body, value.ty())?;
        let mut chains = Vec::new();
        let mut default = None;
        let entry = self.pointers.clone();
        let mut after = Vec::new();
        let mut falls = false;
        for case in cases {
            self.pointers = entry.clone();
            falls |= case.body.iter().any(|&s| breaks(s));
            let (block, end) = self.in_block(|s| s.branch_list(&case.body))?;
            falls |= end;
            after.push(self.pointers.clone());
            if case.is_default {
                default = Some(block);
            } else {
                chains.push((case.matches(&value), block));
            }
        }
        self.pointers = entry;
        for state in after {
            self.merge_pointers(state);
        }
        self.exits.truncate(exits);
        falls |= default.is_none();
        let mut otherwise = default.unwrap_or_default();
        for (cond, then) in chains.into_iter().rev() {
            otherwise = vec![Stmt::If {
                cond,
                then,
                otherwise,
            }];
        }
        for s in otherwise {
            self.emit(s)?;
        }
        Ok(falls)
    }
}

/// Whether a `break` in a case leaves the switch.
fn breaks(c: Cursor<'_>) -> bool {
    leaves(c).breaks
}

/// What is done under a condition, and what otherwise: behind the one that ends the program, if it does, since nothing else is done
/// there.
pub(crate) fn only_if(cond: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Vec<Stmt> {
    let (otherwise, behind) = match then.last() {
        Some(Stmt::Trap) => (vec![], otherwise),
        _ => (otherwise, vec![]),
    };
    let choice = Stmt::If {
        cond,
        then,
        otherwise,
    };
    std::iter::once(choice).chain(behind).collect()
}
