//! Statements: declarations, branches, loops.

use super::early_return::flattened;
use super::expr::{negation, select};
use super::ffi::{Constant, Cursor};
use super::goto::last_label;
use super::jump::{Leaves, all_end_program, always_jumps, ends_program, gives_up, leaves};
use super::lower::{ExitKind, Lower, Result, is_expression, operand, operands, problem};
use super::{codes, counted_down, effects, shrinking};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// A loop's condition, and its effects before and after its value is known.
#[derive(Clone)]
struct Test {
    before: Vec<Stmt>,
    cond: Expr,
    after: Vec<Stmt>,
}

impl Default for Test {
    fn default() -> Self {
        Test {
            before: vec![],
            cond: Expr::Const(Scalar::bool(true)),
            after: vec![],
        }
    }
}

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
        let returned = |b: &[Stmt]| matches!(b.last(), Some(Stmt::Return(_) | Stmt::Trap));
        if returned(&else_block) {
            self.pointers = after_then;
        } else if !returned(&then_block) {
            cond = self.merge_branches(cond, after_then)?;
        }
        match (then_block.is_empty(), else_block.is_empty()) {
            (true, true) => {}
            (true, false) => self.emit(Stmt::If {
                cond: negation(cond),
                then: else_block,
                otherwise: vec![],
            })?,
            _ => self.emit(Stmt::If {
                cond,
                then: then_block,
                otherwise: else_block,
            })?,
        }
        Ok((then_falls || else_falls).then(|| leaves(c)))
    }

    /// One of an `if`'s branches. Whether its end can be reached.
    fn branch_list(&mut self, stmts: &[Cursor<'u>]) -> Result<bool> {
        let in_loop = self.exits.iter().any(|e| e.kind == ExitKind::Break);
        if self.frames.len() == 1 && !in_loop && gives_up(&flattened(stmts)) {
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

    fn for_loop(&mut self, c: Cursor<'u>) -> Result<bool> {
        let parts = operands(c);
        let Some((&body, header)) = parts.split_last() else {
            return Err(problem(codes::STATEMENT, "this 'for' is not supported", c));
        };
        let [init, cond, inc] = header_parts(c, header)?;
        if let Some(init) = init {
            self.list(&[init])?;
        }
        self.run_loop(c, cond, inc, body, true)
    }

    /// Any loop. Whether its end can be reached.
    fn run_loop(
        &mut self,
        c: Cursor<'u>,
        cond: Option<Cursor<'u>>,
        inc: Option<Cursor<'u>>,
        body: Cursor<'u>,
        test_first: bool,
    ) -> Result<bool> {
        let exits = self.exits.len();
        let mut body = vec![body];
        let forever = cond.is_none_or(always_true);
        let mut test = cond.filter(|_| !forever).map(|c| (c, true));
        if forever
            && test_first
            && let Some((stop, rest)) = leading_break(body[0])
        {
            test = Some((stop, false));
            body = rest;
        }
        let l = body
            .iter()
            .map(|&s| leaves(s))
            .fold(Leaves::default(), Leaves::or);
        let turns = self.open_turns(&body, l)?;
        self.open_exit(ExitKind::Break)?;
        let entry = self.pointers.clone();
        let id = self.loops;
        self.loops += 1;
        let mut head = Test::default();
        if test_first {
            head = self.loop_test(test, true)?;
        }
        for s in head.before.clone() {
            self.emit(s)?;
        }
        let mut opened = Vec::new();
        let (block, ()) = self.in_block(|s| {
            for e in head.after.clone() {
                s.emit(e)?;
            }
            s.open_exit(ExitKind::Continue)?;
            if s.source.cpp && l == Leaves::default() {
                opened = s.open_rows(&body)?;
            }
            s.list(&body)?;
            s.close_rows(&opened)?;
            if let Some(turns) = &turns {
                s.next_turn(turns, &entry, c)?;
            }
            // What leaves the loop before its condition is tested again.
            let leaving = s.flags_of(Leaves {
                continues: false,
                ..l
            });
            s.unless_set(&leaving, |s| {
                if let Some(inc) = inc {
                    s.full(inc, |s| s.effect(inc))?;
                }
                if !test_first {
                    head = s.loop_test(test, false)?;
                }
                s.renumber(&mut head.before);
                for e in head.before.clone() {
                    s.emit(e)?;
                }
                Ok(())
            })
        })?;
        let leaving = self.flags_of(Leaves {
            continues: false,
            ..l
        });
        self.exits.truncate(exits);
        let mut cond = head.cond;
        if !test_first && matches!(&cond, Expr::Const(v) if !v.is_true()) {
            // `do { … } while (0)`
            for s in block {
                self.emit(s)?;
            }
            return Ok(true);
        }
        if let Some(stay) = self.none_set(&leaving) {
            cond = select(stay, cond, Expr::Const(Scalar::bool(false)));
        }
        self.check_loop_pointers(&entry, c)?;
        let line = c.extent().map_or(0, |e| e.0.line);
        let mut rounds = Loop {
            id,
            cond,
            test_first,
            body: block,
            mode: LoopMode::Sequential,
            line,
        };
        if let Some(most) = shrinking::most_rounds(&rounds) {
            let counter = self.fresh("round");
            self.assign_var(counter.clone(), Expr::int(ScalarType::I64, 0))?;
            rounds = shrinking::with_rounds(rounds, most, counter);
        }
        self.emit(Stmt::Loop(rounds))?;
        // The test that failed had its effects, too.
        self.renumber(&mut head.after);
        let after = head.after;
        self.unless_set(&leaving, |s| after.into_iter().try_for_each(|e| s.emit(e)))?;
        self.rows_done(&opened)?;
        Ok(test.is_some() || l.breaks)
    }

    /// Evaluates a loop's condition; `false` beside it stands for its opposite. Effects that come
    /// after the value is known may be kept apart from those before.
    fn loop_test(&mut self, test: Option<(Cursor<'u>, bool)>, apart: bool) -> Result<Test> {
        let Some((c, sense)) = test else {
            return Ok(Test::default());
        };
        let (before, (cond, after)) = self.in_block(|s| {
            let cond = if apart {
                s.full_apart(c, |s| s.truth(c))?
            } else {
                s.full_value(c, |s| s.truth(c))?
            };
            let after = std::mem::take(&mut s.pending);
            if s.block.is_empty() || after.is_empty() {
                return Ok((cond, after));
            }
            // Both kinds: the value is kept, so that all effects can come before.
            let cond = s.hold("t", cond)?;
            for e in after {
                s.emit(e)?;
            }
            Ok((cond, vec![]))
        })?;
        let (before, cond) = counted_down::by_the_new_value(before, cond);
        Ok(Test {
            before,
            cond: if sense { cond } else { negation(cond) },
            after,
        })
    }

    /// Gives the loops of a second copy their own numbers.
    pub fn renumber(&mut self, block: &mut [Stmt]) {
        for s in block {
            match s {
                Stmt::Loop(l) => {
                    l.id = self.loops;
                    self.loops += 1;
                    self.renumber(&mut l.body);
                }
                Stmt::If {
                    then, otherwise, ..
                } => {
                    self.renumber(then);
                    self.renumber(otherwise);
                }
                _ => {}
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
            let (block, end) = self.in_block(|s| s.list(&case.body))?;
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

/// `while (1)`
fn always_true(c: Cursor<'_>) -> bool {
    effects::is_pure(c) && matches!(c.evaluate(), Some(Constant::Int(v)) if v != 0)
}

/// `if (x) break;` at the start of a loop's body: `x`, and what follows.
fn leading_break<'u>(body: Cursor<'u>) -> Option<(Cursor<'u>, Vec<Cursor<'u>>)> {
    if body.kind() != CXCursor_CompoundStmt {
        return None;
    }
    let stmts = operands(body);
    let (&first, rest) = stmts.split_first()?;
    let [cond, then] = operands(first)[..] else {
        return None;
    };
    let mut then = then;
    if first.kind() != CXCursor_IfStmt {
        return None;
    }
    if then.kind() == CXCursor_CompoundStmt {
        let [inner] = operands(then)[..] else {
            return None;
        };
        then = inner;
    }
    (then.kind() == CXCursor_BreakStmt).then(|| (cond, rest.to_vec()))
}

/// Whether a `break` in a case leaves the switch.
fn breaks(c: Cursor<'_>) -> bool {
    leaves(c).breaks
}

/// The three parts of a `for`'s header. libclang leaves out those that are empty, so the semicolons
/// tell which ones are there.
pub(super) fn header_parts<'u>(
    c: Cursor<'u>,
    header: &[Cursor<'u>],
) -> Result<[Option<Cursor<'u>>; 3]> {
    if let [init, cond, inc] = *header {
        return Ok([Some(init), Some(cond), Some(inc)]);
    }
    let unclear = || {
        problem(
            codes::OPERATOR,
            "the header of this 'for' is hidden in a macro",
            c,
        )
    };
    if !c.is_spelled_out() || !header.iter().all(|h| h.is_spelled_out()) {
        return Err(unclear());
    }
    let (mut depth, mut semicolons) = (0, Vec::new());
    for (_, text, offset) in c.tokens() {
        match text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ";" if depth == 1 => semicolons.push(offset),
            _ => {}
        }
        if semicolons.len() == 2 || depth == 0 && !semicolons.is_empty() {
            break;
        }
    }
    let [first, second] = semicolons[..] else {
        return Err(unclear());
    };
    let mut parts = [None; 3];
    for &h in header {
        let at = h.extent().ok_or_else(unclear)?.0.offset;
        let slot = usize::from(at > first) + usize::from(at > second);
        if parts[slot].replace(h).is_some() {
            return Err(unclear());
        }
    }
    Ok(parts)
}
