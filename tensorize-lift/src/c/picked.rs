//! Pointers into one array or another, as a condition tells: `const float *w = flag ? a : b`.
//!
//! Such a pointer points into an array that there is not; in the end, each access to that is one to either of the two, at
//! the same index. What the condition was when the pointer was made stays in a variable.

use super::codes;
use super::expr::select;
use super::ffi::Cursor;
use super::lower::{Base, Lower, Result, Target, problem};
use std::collections::HashMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::scalar::ScalarType;

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
    pub fn merge_branches(
        &mut self,
        mut cond: Expr,
        other: HashMap<Cursor<'u>, Base>,
    ) -> Result<Expr> {
        let mut picks = Vec::new();
        for (d, then) in &other {
            if let (Base::One(a, dims), Some(Base::One(b, same))) = (then, self.pointers.get(d))
                && a != b
                && dims == same
                && a.elem == b.elem
                && !dims.iter().any(|d| self.is_pitch(d))
            {
                picks.push((*d, a.clone(), b.clone(), dims.clone()));
            }
        }
        // In an order that does not depend on the table's.
        picks.sort_by_key(|(d, ..)| d.extent().map(|(start, _)| start.offset));
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
        resolve(&self.picks, body);
    }
}

fn resolve(picks: &HashMap<Sym, Pick>, body: &mut Vec<Stmt>) {
    for s in body {
        match s {
            Stmt::Assign { value, .. } => resolve_in(picks, value),
            Stmt::Store { index, value, .. } => {
                resolve_in(picks, index);
                resolve_in(picks, value);
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                resolve_in(picks, cond);
                resolve(picks, then);
                resolve(picks, otherwise);
            }
            Stmt::Loop(l) => {
                resolve_in(picks, &mut l.cond);
                resolve(picks, &mut l.body);
            }
            Stmt::Return(value) => value.iter_mut().for_each(|v| resolve_in(picks, v)),
        }
        if let Stmt::Store {
            array,
            index,
            value,
        } = s
            && let Some(pick) = picks.get(array)
        {
            let into = |array: &Sym| {
                let mut one = vec![Stmt::Store {
                    array: array.clone(),
                    index: index.clone(),
                    value: value.clone(),
                }];
                resolve(picks, &mut one);
                one
            };
            *s = Stmt::If {
                cond: pick.cond.clone(),
                then: into(&pick.then),
                otherwise: into(&pick.otherwise),
            };
        }
    }
}

fn resolve_in(picks: &HashMap<Sym, Pick>, e: &mut Expr) {
    e.children_mut()
        .into_iter()
        .for_each(|c| resolve_in(picks, c));
    if let Expr::Load { array, elem, index } = e
        && let Some(pick) = picks.get(array)
    {
        let from = |array: &Sym| {
            let mut one = Expr::load(array.clone(), *elem, (**index).clone());
            resolve_in(picks, &mut one);
            one
        };
        *e = select(pick.cond.clone(), from(&pick.then), from(&pick.otherwise));
    }
}
