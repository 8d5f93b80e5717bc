//! Loops: their headers, what ends them, and where they go on.

use super::do_loops::Ends;
use super::expr::{negation, select};
use super::ffi::{Constant, Cursor};
use super::jump::{Leaves, leaves};
use super::lower::{ExitKind, Lower, Result, operands, problem};
use super::{bounds, codes, counted_down, effects, shrinking};
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
    pub(super) fn for_loop(&mut self, c: Cursor<'u>) -> Result<bool> {
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
    pub(super) fn run_loop(
        &mut self,
        c: Cursor<'u>,
        cond: Option<Cursor<'u>>,
        inc: Option<Cursor<'u>>,
        body: Cursor<'u>,
        test_first: bool,
    ) -> Result<bool> {
        let exits = self.exits.len();
        let around = self.exits.iter();
        let around = around.filter(|e| e.kind == ExitKind::Continue).count();
        bounds::check_nesting(around + 1, c)?;
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
        let mut l = body
            .iter()
            .map(|&s| leaves(s))
            .fold(Leaves::default(), Leaves::or);
        let ends = test.filter(|_| !test_first).and_then(|(c, _)| Ends::of(c));
        if let Some(ends) = &ends {
            test = Some((ends.count, true));
            l.breaks = true;
        }
        let turns = self.open_turns(&body)?;
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
            let out = Leaves {
                continues: false,
                ..l
            };
            if let Some(ends) = &ends {
                s.ask_before(ends, out)?;
            }
            let leaving = s.flags_of(out);
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
            })?;
            match &ends {
                Some(ends) => s.ask_after(ends, &head.cond, out),
                None => Ok(()),
            }
        })?;
        let leaving = self.flags_of(Leaves {
            continues: false,
            ..l
        });
        self.exits.truncate(exits);
        let mut cond = head.cond.clone();
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
        if ends.is_some() {
            self.count_first(&mut rounds, &head.cond)?;
        }
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
