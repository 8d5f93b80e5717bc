//! `break`, `continue`, the `return` of an inlined helper and `goto` forward, as structure.
//!
//! A jump sets a flag, and what it jumps over runs only if the flag isn't set. Where an `if` always
//! jumps in one branch, what follows goes into the other branch, and nothing has to be tested. Flags
//! that nothing tests are dropped in the end.

use super::call::helper;
use super::effects::is_pure;
use super::expr::{negation, select};
use super::ffi::{Constant, Cursor};
use super::lower::{Exit, ExitKind, Lower, Result, is_expression, operands, peeled};
use super::operator::{self, Binary};
use super::types::{self, Ty};
use clang_sys::*;
use std::collections::HashSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// The jumps that leave a statement.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct Leaves {
    pub breaks: bool,
    pub continues: bool,
    pub returns: bool,
    /// To a label.
    pub gotos: bool,
}

impl Leaves {
    /// Those of both.
    pub fn or(self, o: Leaves) -> Leaves {
        Leaves {
            breaks: self.breaks || o.breaks,
            continues: self.continues || o.continues,
            returns: self.returns || o.returns,
            gotos: self.gotos || o.gotos,
        }
    }
}

/// The jumps in `c` that go outside of it.
pub(super) fn leaves(c: Cursor<'_>) -> Leaves {
    let inside = || {
        operands(c)
            .into_iter()
            .map(leaves)
            .fold(Leaves::default(), Leaves::or)
    };
    match c.kind() {
        CXCursor_BreakStmt => Leaves {
            breaks: true,
            ..Leaves::default()
        },
        CXCursor_ContinueStmt => Leaves {
            continues: true,
            ..Leaves::default()
        },
        CXCursor_ReturnStmt => Leaves {
            returns: true,
            ..Leaves::default()
        },
        CXCursor_GotoStmt => Leaves {
            gotos: true,
            ..Leaves::default()
        },
        CXCursor_CompoundStmt => {
            let l = inside();
            let gotos = l.gotos && super::goto::leads_out(c);
            Leaves { gotos, ..l }
        }
        kind if is_loop(kind) => Leaves {
            breaks: false,
            continues: false,
            ..inside()
        },
        CXCursor_SwitchStmt => Leaves {
            breaks: false,
            ..inside()
        },
        k if is_expression(k) => Leaves::default(),
        _ => inside(),
    }
}

/// The body of a macro's `do { … } while (0)`, if nothing in it leaves the loop or goes to its next round.
pub(super) fn run_once(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let [body, cond] = operands(c)
        .try_into()
        .ok()
        .filter(|_: &[Cursor<'_>; 2]| c.kind() == CXCursor_DoStmt)?;
    let never = is_pure(cond) && matches!(cond.evaluate(), Some(Constant::Int(0)));
    let l = leaves(body);
    (never && !l.breaks && !l.continues).then_some(body)
}

/// Whether the end of `c` is never reached, as far as its structure tells.
pub(super) fn always_jumps(c: Cursor<'_>) -> bool {
    match c.kind() {
        CXCursor_BreakStmt | CXCursor_ContinueStmt | CXCursor_ReturnStmt | CXCursor_GotoStmt => {
            true
        }
        CXCursor_CompoundStmt => {
            let stmts = operands(c);
            let jump = stmts.iter().position(|&s| always_jumps(s));
            // What follows may be reached by a label.
            jump.is_some_and(|at| !stmts[at..].iter().any(|&s| has_label(s)))
        }
        CXCursor_IfStmt => match operands(c)[..] {
            [_, then, otherwise] => always_jumps(then) && always_jumps(otherwise),
            _ => false,
        },
        CXCursor_DoStmt => run_once(c).is_some_and(always_jumps),
        _ => false,
    }
}

/// Helpers within helpers that end the program.
const MAX_DEPTH: usize = 8;

/// Whether a statement ends the program, or throws, whatever it does before that.
pub(super) fn ends_program(c: Cursor<'_>) -> bool {
    ends(c, 0)
}

/// The same for statements that follow each other. What they do before is of no interest: only the original does it.
pub(super) fn all_end_program(stmts: &[Cursor<'_>]) -> bool {
    all_end(stmts, 0)
}

fn all_end(stmts: &[Cursor<'_>], depth: usize) -> bool {
    let stays = |s: &Cursor<'_>| leaves(*s) == Leaves::default() && !has_label(*s);
    match stmts.split_last() {
        Some((last, before)) => ends(*last, depth) && before.iter().all(stays),
        None => false,
    }
}

fn ends(c: Cursor<'_>, depth: usize) -> bool {
    match c.kind() {
        CXCursor_CXXThrowExpr => true,
        CXCursor_CompoundStmt => all_end(&operands(c), depth),
        // A macro's `do { … } while (0)`.
        CXCursor_DoStmt => operands(c).first().is_some_and(|&body| ends(body, depth)),
        CXCursor_ParenExpr | CXCursor_UnexposedExpr => match operands(c)[..] {
            [inner] => ends(inner, depth),
            _ => false,
        },
        CXCursor_CallExpr => c.referenced().is_some_and(|f| match helper(f) {
            Some(definition) if depth < MAX_DEPTH => {
                super::source::body(definition).is_some_and(|b| ends(b, depth + 1))
            }
            Some(_) => false,
            None => f.kind() == CXCursor_FunctionDecl && is_end(f),
        }),
        _ => false,
    }
}

/// Whether it is a function of C or C++ that does not return, or one that is declared so. (Other names may be anybody's.)
fn is_end(function: Cursor<'_>) -> bool {
    let name = function.spelling();
    match name.strip_prefix("__builtin_").unwrap_or(&name) {
        "abort" | "exit" | "_Exit" | "_exit" | "quick_exit" => true,
        "__assert_fail" | "__assert_rtn" | "__assert" | "_assert" => true,
        "trap" => name.starts_with("__"),
        "terminate" => super::cpp::class::in_std(function),
        _ => function.does_not_return(),
    }
}

/// Whether a branch, the statements of which these are, calls something that nobody knows and returns, as one does that
/// reports a bad argument; or reports something, of which no arrays are part, and goes on. Then it is of no interest what
/// else it does: it is left to the original.
pub(super) fn gives_up(stmts: &[Cursor<'_>]) -> bool {
    gives_up_by(stmts, &|c| sets_up(c) || calls_unknown(c, 0))
}

/// The same, if what it calls is refused wherever it stands.
pub(super) fn gives_up_or_is_refused(stmts: &[Cursor<'_>]) -> bool {
    gives_up_by(stmts, &|c| calls_unknown(c, 0))
}

fn gives_up_by(stmts: &[Cursor<'_>], leaves_to_original: &dyn Fn(Cursor<'_>) -> bool) -> bool {
    let Some((last, before)) = stmts.split_last() else {
        return false;
    };
    let stays = |s: &Cursor<'_>| leaves(*s) == Leaves::default() && !has_label(*s);
    let is_unknown = |s: &Cursor<'_>| is_call(*s, leaves_to_original);
    let before_all_stay = before.iter().all(stays);
    match last.kind() {
        CXCursor_ReturnStmt => {
            before_all_stay && before.iter().chain(&operands(*last)).any(is_unknown)
        }
        CXCursor_BreakStmt | CXCursor_ContinueStmt | CXCursor_GotoStmt => {
            before_all_stay && before.iter().any(|s| is_unknown(s) && takes_no_array(*s))
        }
        _ => {
            let mut reports = stmts.iter();
            before_all_stay && stays(last) && reports.any(|s| is_unknown(s) && takes_no_array(*s))
        }
    }
}

/// Whether a call gets nothing that a parameter points to.
fn takes_no_array(c: Cursor<'_>) -> bool {
    let is_pointer = |a: &Cursor<'_>| matches!(a.ty().canonical().kind(), CXType_Pointer);
    let of_parameter = |a: Cursor<'_>| {
        a.contains(&mut |c| {
            c.referenced()
                .is_some_and(|d| d.kind() == CXCursor_ParmDecl)
        })
    };
    match c.kind() {
        CXCursor_CallExpr => {
            !(c.arguments().into_iter()).any(|a| is_pointer(&a) && of_parameter(a))
        }
        _ => operands(c).into_iter().all(takes_no_array),
    }
}

/// Whether a statement is a loop.
pub(super) fn is_loop(kind: CXCursorKind) -> bool {
    matches!(
        kind,
        CXCursor_ForStmt | CXCursor_WhileStmt | CXCursor_DoStmt | CXCursor_CXXForRangeStmt
    )
}

/// How many loops there are.
fn loops(c: Cursor<'_>) -> usize {
    let repeats = is_loop(c.kind()) && run_once(c).is_none();
    usize::from(repeats) + operands(c).into_iter().map(loops).sum::<usize>()
}

/// Whether a statement is such a call, whatever becomes of what it gives back.
fn is_call(c: Cursor<'_>, such: &dyn Fn(Cursor<'_>) -> bool) -> bool {
    match c.kind() {
        CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
            matches!(operands(c)[..], [inner] if is_call(inner, such))
        }
        CXCursor_BinaryOperator if matches!(operator::binary(c), Ok(Binary::Comma)) => {
            operands(c).into_iter().any(|o| is_call(o, such))
        }
        // `errno = EINVAL`: what such a call gives is written to.
        CXCursor_BinaryOperator if matches!(operator::binary(c), Ok(Binary::Assign)) => {
            let to = operands(c).first().map(|to| peeled(*to));
            let pointer = to.filter(|to| to.kind() == CXCursor_UnaryOperator);
            pointer.is_some_and(|p| operands(p).into_iter().any(|o| is_call(peeled(o), such)))
        }
        _ => such(c),
    }
}

/// Whether it calls what nobody knows, or a function that does nothing but that and give up.
fn calls_unknown(c: Cursor<'_>, depth: usize) -> bool {
    let reports = || {
        let called = c.referenced().filter(|_| c.kind() == CXCursor_CallExpr);
        let body = called.and_then(helper).and_then(super::source::body);
        body.is_some_and(|b| {
            let stmts = super::early_return::flattened(&[b]);
            gives_up_by(&stmts, &|c| calls_unknown(c, depth + 1))
        })
    };
    super::call::is_unknown(c) || depth < MAX_DEPTH && reports()
}

/// Whether a call sets up what the file needs (`if (!ready) make_table();`): it gets nothing, gives nothing back, and changes
/// a number of the file, such as the one which says that this has been done.
fn sets_up(c: Cursor<'_>) -> bool {
    let is_number = |d: Cursor<'_>| {
        let of_file = d
            .semantic_parent()
            .is_some_and(|p| p.kind() == CXCursor_TranslationUnit);
        d.kind() == CXCursor_VarDecl && of_file && types::of(d).as_scalar().is_some()
    };
    let changes = |c: Cursor<'_>| {
        let assigns = match c.kind() {
            CXCursor_CompoundAssignOperator => true,
            CXCursor_BinaryOperator => matches!(operator::binary(c), Ok(Binary::Assign)),
            _ => false,
        };
        let to = operands(c).first().and_then(|to| peeled(*to).referenced());
        assigns && to.is_some_and(is_number)
    };
    c.kind() == CXCursor_CallExpr
        && c.arguments().is_empty()
        && matches!(types::of(c), Ty::Void)
        && c.referenced()
            .filter(|f| f.kind() == CXCursor_FunctionDecl)
            .and_then(helper)
            .is_some_and(|f| f.contains(&mut |c| changes(c)))
}

fn has_label(c: Cursor<'_>) -> bool {
    c.kind() == CXCursor_LabelStmt || operands(c).into_iter().any(has_label)
}

impl<'u> Lower<'u, '_> {
    /// Whether the kernel repeats nothing but in these statements: without them, nothing would be left of it.
    pub fn has_all_loops(&self, stmts: &[Cursor<'u>]) -> bool {
        let here: usize = stmts.iter().copied().map(loops).sum();
        let body = self
            .frames
            .first()
            .and_then(|f| super::source::body(f.function));
        here > 0 && body.is_some_and(|body| loops(body) == here)
    }

    /// Opens the target of a jump: its flag starts false.
    pub fn open_exit(&mut self, kind: ExitKind) -> Result<()> {
        let flag = self.fresh(match kind {
            ExitKind::Break => "left",
            ExitKind::Continue => "skip",
            ExitKind::Return => "done",
            ExitKind::Label(_) => "skipped",
        });
        self.flags.insert(flag.clone());
        self.assign_var(flag.clone(), Expr::Const(Scalar::bool(false)))?;
        self.exits.push(Exit { kind, flag });
        Ok(())
    }

    /// Jumps to the innermost target of this kind.
    pub fn jump(&mut self, kind: ExitKind) -> Result<bool> {
        let Some(exit) = self.exits.iter().rev().find(|e| e.kind == kind) else {
            return Ok(false);
        };
        let flag = exit.flag.clone();
        self.assign_var(flag, Expr::Const(Scalar::bool(true)))?;
        Ok(true)
    }

    /// The flags that a statement with these jumps may have set.
    pub fn flags_of(&self, l: Leaves) -> Vec<Sym> {
        let find = |kind| {
            self.exits
                .iter()
                .rev()
                .find(|e| e.kind == kind)
                .map(|e| e.flag.clone())
        };
        let mut flags = Vec::new();
        if l.breaks {
            flags.extend(find(ExitKind::Break));
        }
        if l.continues {
            flags.extend(find(ExitKind::Continue));
        }
        // The kernel's own return needs no flag.
        if l.returns && self.frames.last().is_some_and(|f| f.result.is_some()) {
            flags.extend(find(ExitKind::Return));
        }
        if l.gotos {
            let labels = self.exits.iter();
            let labels = labels.filter(|e| matches!(e.kind, ExitKind::Label(_)));
            flags.extend(labels.map(|e| e.flag.clone()));
        }
        flags
    }

    /// `i1`: none of the flags is set. `None` if there are none.
    pub fn none_set(&mut self, flags: &[Sym]) -> Option<Expr> {
        self.read_flags.extend(flags.iter().cloned());
        let mut flags = flags
            .iter()
            .map(|f| negation(Expr::Var(f.clone(), ScalarType::I1)));
        let first = flags.next()?;
        let no = || Expr::Const(Scalar::bool(false));
        Some(flags.fold(first, |a, b| select(a, b, no())))
    }

    /// Runs `f` only if none of the flags is set.
    pub fn unless_set<T: Default>(
        &mut self,
        flags: &[Sym],
        f: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let before = self.pointers.clone();
        let (then, value) = self.in_block(f)?;
        // It may not have run; where the kernel has returned, nobody looks at them any more.
        let returned = self.frames.len() == 1
            && flags.iter().all(|flag| {
                let mut exits = self.exits.iter();
                exits.any(|e| e.flag == *flag && e.kind == ExitKind::Return)
            });
        if !flags.is_empty() && !returned {
            self.merge_pointers(before);
        }
        if then.is_empty() {
            return Ok(value);
        }
        match self.none_set(flags) {
            Some(cond) => self.emit(Stmt::If {
                cond,
                then,
                otherwise: vec![],
            })?,
            None => {
                for s in then {
                    self.emit(s)?;
                }
            }
        }
        Ok(value)
    }
}

/// Drops the assignments to variables that nothing reads, and the branches that are empty then.
pub(super) fn drop_assignments(block: &mut Vec<Stmt>, unread: &HashSet<Sym>) {
    block.retain_mut(|s| match s {
        Stmt::Assign { var, .. } => !unread.contains(var),
        Stmt::If {
            cond,
            then,
            otherwise,
        } => {
            drop_assignments(then, unread);
            drop_assignments(otherwise, unread);
            if then.is_empty() && !otherwise.is_empty() {
                *cond = negation(cond.clone());
                std::mem::swap(then, otherwise);
            }
            !then.is_empty()
        }
        Stmt::Loop(l) => {
            drop_assignments(&mut l.body, unread);
            true
        }
        Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => true,
    });
}
