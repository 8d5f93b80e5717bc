//! Pointers into one array or another, as a condition tells: `const float *w = flag ? a : b`.
//!
//! Such a pointer points into an array that there is not; in the end, each access to that is one to either of the two, at
//! the same index. What the condition was when the pointer was made stays in a variable.

use super::codes;
use super::expr::select;
use super::ffi::Cursor;
use super::lower::{Base, Bases, Binding, Lower, Result, Target, problem};
use super::turns::{is_turn, turn_named, turn_of};
use std::collections::{HashMap, HashSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt, Visited, visit};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// What an array that there is not stands for.
#[derive(Clone)]
pub(super) struct Pick {
    cond: Expr,
    then: Sym,
    otherwise: Sym,
}

/// More would be as many copies of each access.
const MOST: usize = 8;

impl<'u> Lower<'u, '_> {
    /// What points into the one array where the condition holds, which is known, and else into the other.
    pub fn picked(&mut self, cond: &Expr, a: &Target, b: &Target) -> Option<Target> {
        let alike = a.elem == b.elem && !matches!(cond, Expr::Const(_));
        let copies = self.places_behind(&a.array).len() + self.places_behind(&b.array).len();
        if !alike || copies > MOST {
            return None;
        }
        let array = self.fresh("picked");
        let pick = Pick {
            cond: cond.clone(),
            then: a.array.clone(),
            otherwise: b.array.clone(),
        };
        self.picks.insert(array.clone(), pick);
        Some(Target {
            array,
            elem: a.elem,
        })
    }

    /// The arrays that it may be.
    pub fn places_behind(&self, array: &Sym) -> Vec<Sym> {
        match self.picks.get(array) {
            None => vec![array.clone()],
            Some(pick) => {
                let mut all = self.places_behind(&pick.then);
                all.extend(self.places_behind(&pick.otherwise));
                all
            }
        }
    }

    /// Whether a pointer into it is not null.
    pub fn picked_given(&mut self, array: &Sym, of: Cursor<'u>) -> Result<Option<Expr>> {
        let Some(pick) = self.picks.get(array).cloned() else {
            return Ok(None);
        };
        let then = self.given_array(&pick.then, false, of)?;
        let otherwise = self.given_array(&pick.otherwise, false, of)?;
        Ok(Some(select(pick.cond, then, otherwise)))
    }

    /// After an `if`: `other` is the state where its condition holds. The condition, in a variable if pointers depend on it.
    pub fn merge_branches(&mut self, mut cond: Expr, other: Bases<'u>) -> Result<Expr> {
        let mut picks = Vec::new();
        for (d, then) in &other {
            if let (Base::One(a, dims), Some(Base::One(b, same))) = (then, self.pointers.get(d))
                && a != b
                && dims == same
                && a.elem == b.elem
                && !dims.iter().any(|d| self.is_pitch(d))
            {
                picks.push((d.clone(), a.clone(), b.clone(), dims.clone()));
            }
        }
        // In an order that does not depend on the table's.
        picks.sort_by_key(|(d, ..)| d.order());
        self.merge_pointers(other);
        for (d, a, b, dims) in picks {
            cond = self.hold("picks", cond)?;
            if let Some(target) = self.picked(&cond, &a, &b) {
                self.pointers.insert(d, Base::One(target, dims));
            }
        }
        Ok(cond)
    }

    /// The branches of a `?:` between pointers may have picked themselves: what they noted is false where they don't run.
    pub fn note_picks(
        &mut self,
        cond: &Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
        at: Cursor<'u>,
    ) -> Result<()> {
        if then.is_empty() && otherwise.is_empty() {
            return Ok(());
        }
        for s in then.iter().chain(&otherwise) {
            let noted = |var: &Sym| {
                let is = |e: &Expr| matches!(e, Expr::Var(v, _) if v == var);
                self.picks.values().any(|p| is(&p.cond))
            };
            match s {
                Stmt::Assign { var, .. } if noted(var) => {
                    let no = Expr::int(ScalarType::I1, 0);
                    self.assign_var(var.clone(), no)?;
                }
                _ => {
                    let message = "this use of a pointer is not supported";
                    return Err(problem(codes::POINTER_USE, message, at));
                }
            }
        }
        self.emit(Stmt::If {
            cond: cond.clone(),
            then,
            otherwise,
        })
    }

    /// Has every access go to the arrays that there are.
    pub fn resolve_picks(&mut self, body: &mut Vec<Stmt>) {
        if self.picks.is_empty() {
            return;
        }
        let written: Vec<Sym> = self.written.iter().cloned().collect();
        for array in written {
            self.written.extend(self.places_behind(&array));
        }
        self.resolve(&HashMap::new(), body);
        self.drop_zero_offsets(body);
    }

    /// The same where it is known whose turn it is.
    fn resolve(&mut self, known: &HashMap<Sym, usize>, body: &mut Vec<Stmt>) {
        for s in body {
            match s {
                Stmt::Assign { value, .. } => self.resolve_in(known, value),
                Stmt::Store { index, value, .. } => {
                    self.resolve_in(known, index);
                    self.resolve_in(known, value);
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    self.resolve_in(known, cond);
                    self.resolve(known, then);
                    self.resolve(known, otherwise);
                }
                Stmt::Loop(l) => {
                    self.resolve_in(known, &mut l.cond);
                    match turn_of(&l.body, &self.turns) {
                        Some((var, of, at)) => {
                            let var = var.clone();
                            let mut after = l.body.split_off(at);
                            self.resolve(known, &mut after);
                            l.body = self.by_turn(known, &var, of, std::mem::take(&mut l.body));
                            l.body.extend(after);
                        }
                        None => self.resolve(known, &mut l.body),
                    }
                }
                Stmt::Trap => {}
                Stmt::Return(value) => {
                    value.iter_mut().for_each(|v| self.resolve_in(known, v));
                }
            }
            if let Stmt::Store {
                array,
                index,
                value,
            } = s
                && let Some(pick) = self.picks.get(array).cloned()
            {
                let mut into = |array: &Sym| {
                    let mut one = vec![Stmt::Store {
                        array: array.clone(),
                        index: index.clone(),
                        value: value.clone(),
                    }];
                    self.resolve(known, &mut one);
                    one
                };
                *s = match pick.is_first(known) {
                    Some(true) => into(&pick.then).remove(0),
                    Some(false) => into(&pick.otherwise).remove(0),
                    None => Stmt::If {
                        cond: pick.cond.clone(),
                        then: into(&pick.then),
                        otherwise: into(&pick.otherwise),
                    },
                };
            }
        }
    }

    /// A copy of the statements for each turn.
    fn by_turn(
        &mut self,
        known: &HashMap<Sym, usize>,
        var: &Sym,
        of: usize,
        body: Vec<Stmt>,
    ) -> Vec<Stmt> {
        let mut cases: Option<Vec<Stmt>> = None;
        for number in (0..of).rev() {
            let mut known = known.clone();
            known.insert(var.clone(), number);
            let mut copy = body.clone();
            if number > 0 {
                self.renumber(&mut copy);
            }
            self.resolve(&known, &mut copy);
            cases = Some(match cases {
                None => copy,
                Some(otherwise) => vec![Stmt::If {
                    cond: is_turn(var, number),
                    then: copy,
                    otherwise,
                }],
            });
        }
        cases.unwrap_or_default()
    }

    fn resolve_in(&self, known: &HashMap<Sym, usize>, e: &mut Expr) {
        e.children_mut()
            .into_iter()
            .for_each(|c| self.resolve_in(known, c));
        if let Expr::Load { array, elem, index } = e
            && let Some(pick) = self.picks.get(array)
        {
            let from = |array: &Sym| {
                let mut one = Expr::load(array.clone(), *elem, (**index).clone());
                self.resolve_in(known, &mut one);
                one
            };
            *e = match pick.is_first(known) {
                Some(true) => from(&pick.then),
                Some(false) => from(&pick.otherwise),
                None => select(pick.cond.clone(), from(&pick.then), from(&pick.otherwise)),
            };
        }
    }

    /// Pointers that change places all begin where their arrays do, if nothing else was ever said of them.
    fn drop_zero_offsets(&self, body: &mut Vec<Stmt>) {
        if self.turns.is_empty() {
            return;
        }
        let offsets = self.bindings.values().filter_map(|b| match b {
            Binding::Pointer(Expr::Var(var, _)) => Some(var.clone()),
            _ => None,
        });
        let held = self.temporaries.iter().cloned();
        let mut zero: HashSet<Sym> = offsets.chain(held).collect();
        loop {
            let mut others = Vec::new();
            visit(body, &mut |part| {
                if let Visited::Stmt(Stmt::Assign { var, value, .. }) = part {
                    let is_zero = match value {
                        Expr::Const(v) => v.ty == ScalarType::I64 && v.as_int() == 0,
                        Expr::Var(from, _) => zero.contains(from),
                        _ => false,
                    };
                    if !is_zero && zero.contains(var) {
                        others.push(var.clone());
                    }
                }
            });
            if others.is_empty() {
                break;
            }
            others.iter().for_each(|v| _ = zero.remove(v));
        }
        super::jump::drop_assignments(body, &zero);
        let zero = zero
            .into_iter()
            .map(|var| (var, Scalar::int(ScalarType::I64, 0)));
        super::scalars::fold_block(body, &zero.collect());
    }
}

impl Pick {
    /// Which of the two it is, if that is known.
    fn is_first(&self, known: &HashMap<Sym, usize>) -> Option<bool> {
        let (var, number) = turn_named(&self.cond)?;
        known.get(var).map(|&turn| turn == number)
    }
}
