//! Pointers that take turns: `tmp = now; now = next; next = tmp` at the end of each round of a loop.
//!
//! Whose turn it is stays in a variable that counts the rounds, modulo the number of pointers; in the end there is a copy
//! of the loop's body for each of its values, in which every pointer points into an array of the program.

use super::ffi::{Constant, Cursor};
use super::lower::{Base, Bases, Lower, Result, Target, Variable, operands, peeled};
use super::operator::{self, Binary};
use super::pointer::moved_away;
use super::types::{self, Ty};
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

/// More would be as many copies of the body.
const MOST: usize = 4;

const TURN: ScalarType = ScalarType::I64;

/// Whose turn it is, in a loop.
pub(super) struct Turns<'u> {
    /// The variable, from 0 to less than there are pointers.
    var: Sym,
    /// The pointers, each with the one whose array it has in the next round.
    next: Vec<(Cursor<'u>, Cursor<'u>)>,
}

impl<'u> Lower<'u, '_> {
    /// Before a loop: if its body ends with pointers that change places, they point into what they will point into in
    /// each round.
    pub fn open_turns(&mut self, body: &[Cursor<'u>]) -> Result<Option<Turns<'u>>> {
        let statements = match body {
            [block] if block.kind() == CXCursor_CompoundStmt => operands(*block),
            _ => body.to_vec(),
        };
        let Some(next) = places_changed(&statements) else {
            return Ok(None);
        };
        let mut targets = HashMap::new();
        for (d, _) in &next {
            match self.pointers.get(&Variable::Named(*d)) {
                Some(Base::One(target, dims)) if !dims.iter().any(|d| self.is_pitch(d)) => {
                    targets.insert(*d, (target.clone(), dims.clone()));
                }
                _ => return Ok(None),
            }
        }
        let alike = |a: &(Target, Vec<Expr>), b: &(Target, Vec<Expr>)| {
            a.0.elem == b.0.elem && a.1 == b.1 && a.0.array != b.0.array
        };
        if !next.iter().all(|(d, n)| alike(&targets[d], &targets[n])) {
            return Ok(None);
        }
        let var = self.fresh("turn");
        let of: HashMap<Cursor<'u>, Cursor<'u>> = next.iter().copied().collect();
        let mut bases = Vec::new();
        for (d, _) in &next {
            let (mut target, dims) = targets[d].clone();
            let mut at = *d;
            for number in 1..next.len() {
                at = of[&at];
                match self.picked(&is_turn(&var, number), &targets[&at].0, &target) {
                    Some(picked) => target = picked,
                    None => return Ok(None),
                }
            }
            bases.push((Variable::Named(*d), Base::One(target, dims)));
        }
        self.pointers.extend(bases);
        self.assign_var(var.clone(), Expr::int(TURN, 0))?;
        self.turns.insert(var.clone(), next.len());
        Ok(Some(Turns { var, next }))
    }

    /// At the end of a round, where `entry` is what pointers pointed into at its beginning.
    pub fn next_turn(
        &mut self,
        turns: &Turns<'u>,
        entry: &Bases<'u>,
        at: Cursor<'u>,
    ) -> Result<()> {
        for (d, n) in &turns.next {
            // What the body looked like is not what it does: a helper that is called `swap` and is none, or a round that ends
            // before they change places.
            let [d, n] = [d, n].map(|v| Variable::Named(*v));
            if self.pointers.get(&d) != entry.get(&n) {
                return Err(moved_away(&d, at));
            }
        }
        for (d, _) in &turns.next {
            let d = Variable::Named(*d);
            if let Some(base) = entry.get(&d) {
                self.pointers.insert(d, base.clone());
            }
        }
        let next = Expr::binary(BinOp::Add, turn(&turns.var), Expr::int(TURN, 1));
        let all = Expr::int(TURN, turns.next.len() as i128);
        self.assign_var(turns.var.clone(), Expr::binary(BinOp::Remainder, next, all))
    }
}

/// Splits a loop's body into what depends on whose turn it is, and what comes after that.
pub(super) fn turn_of<'a>(
    body: &'a [Stmt],
    turns: &HashMap<Sym, usize>,
) -> Option<(&'a Sym, usize, usize)> {
    body.iter().enumerate().find_map(|(at, s)| match s {
        Stmt::Assign { var, .. } => turns.get(var).map(|&n| (var, n, at)),
        _ => None,
    })
}

/// Whether it is the turn of the pointers of this number.
pub(super) fn is_turn(var: &Sym, number: usize) -> Expr {
    Expr::compare(CmpOp::Eq, turn(var), Expr::int(TURN, number as i128))
}

/// The variable and the number of [`is_turn`].
pub(super) fn turn_named(cond: &Expr) -> Option<(&Sym, usize)> {
    match cond {
        Expr::Compare(CmpOp::Eq, a, b) => match (&**a, &**b) {
            (Expr::Var(var, _), Expr::Const(n)) => Some((var, usize::try_from(n.as_int()).ok()?)),
            _ => None,
        },
        _ => None,
    }
}

fn turn(var: &Sym) -> Expr {
    Expr::Var(var.clone(), TURN)
}

/// The pointers that have changed places after these statements, in one circle: each with the one whose place it has then.
fn places_changed<'u>(statements: &[Cursor<'u>]) -> Option<Vec<(Cursor<'u>, Cursor<'u>)>> {
    let mut now: HashMap<Cursor<'u>, Cursor<'u>> = HashMap::new();
    let mut own = Vec::new();
    let mut order = Vec::new();
    for s in statements.iter().flat_map(|s| inner(*s)) {
        for (to, from) in moves(s) {
            let place = now.get(&from).copied().unwrap_or(from);
            if s.kind() == CXCursor_DeclStmt {
                own.push(to);
            } else if !order.contains(&to) {
                order.push(to);
            }
            now.insert(to, place);
        }
        if is_call(s, "swap")
            && let [.., a, b] = operands(peeled(s))[..]
            && let (Some(a), Some(b)) = (pointer_variable(a), pointer_variable(b))
        {
            let of = |d| now.get(&d).copied().unwrap_or(d);
            let (x, y) = (of(a), of(b));
            now.extend([(a, y), (b, x)]);
            order.extend([a, b]);
        }
    }
    // What helps to change places is set before it is read in each round.
    let helps = |d: &Cursor<'u>| now.values().all(|v| v != d);
    order.retain(|d| !own.contains(d) && !helps(d));
    let circle: Vec<_> = order.iter().map(|d| (*d, now[d])).collect();
    let (first, _) = *circle.first()?;
    let (mut at, mut length) = (first, 0);
    loop {
        at = circle.iter().find(|(d, _)| *d == at)?.1;
        length += 1;
        if at == first || length > circle.len() {
            break;
        }
    }
    (length == circle.len() && (2..=MOST).contains(&length)).then_some(circle)
}

/// The statements of a block that is run once, as of a macro: `do { … } while (0)`.
fn inner(s: Cursor<'_>) -> Vec<Cursor<'_>> {
    match (s.kind(), &operands(s)[..]) {
        (CXCursor_DoStmt, [body, cond]) if matches!(cond.evaluate(), Some(Constant::Int(0))) => {
            inner(*body)
        }
        (CXCursor_CompoundStmt, all) => all.iter().flat_map(|s| inner(*s)).collect(),
        _ => vec![s],
    }
}

/// The pointer variables that a statement sets to what another one points to.
fn moves(s: Cursor<'_>) -> Vec<(Cursor<'_>, Cursor<'_>)> {
    match s.kind() {
        CXCursor_DeclStmt => (s.children().into_iter())
            .filter(|d| matches!(types::of(*d), Ty::Pointer(_)))
            .filter_map(|d| Some((d, pointer_variable(*operands(d).last()?)?)))
            .collect(),
        CXCursor_BinaryOperator => match operands(s)[..] {
            [to, from] => match operator::binary(s) {
                Ok(Binary::Assign) => (pointer_variable(to).zip(pointer_variable(from)))
                    .into_iter()
                    .collect(),
                // The first comes first.
                Ok(Binary::Comma) => [moves(to), moves(from)].concat(),
                _ => vec![],
            },
            _ => vec![],
        },
        _ => vec![],
    }
}

/// The pointer variable that is named.
fn pointer_variable(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let named = peeled(c);
    let is = named.kind() == CXCursor_DeclRefExpr && matches!(types::of(named), Ty::Pointer(_));
    is.then(|| named.referenced()).flatten()
}

fn is_call(c: Cursor<'_>, name: &str) -> bool {
    let call = peeled(c);
    call.kind() == CXCursor_CallExpr && call.spelling() == name
}
