//! Conditions on how far apart the rows of an array are.

use crate::affine::affine;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Loop, Param, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::tensir::{Function, Output, View, dim};

/// Where an array is stored to more than once by rows (the border of an image, and what is inside), conditions under
/// which no row reaches into the next: that the pitch is no less than the longest one.
pub(super) fn rows_apart(summary: &Function) -> Vec<Guard> {
    let stores = summary.outputs.iter().filter_map(|o| match o {
        Output::Store { value, view } => Some((view, &summary.nodes[*value].ty.shape[..])),
        Output::Return { .. } => None,
    });
    let stores: Vec<(&View, &[Idx])> = stores.collect();
    let arrays: BTreeSet<&Sym> = stores.iter().map(|(view, _)| &view.array).collect();
    let mut guards = vec![];
    for array in arrays {
        let of_it = stores.iter().filter(|(view, _)| view.array == *array);
        let steps: Vec<(Idx, Idx)> = of_it.clone().flat_map(|(v, s)| steps(v, s)).collect();
        if of_it.count() < 2 {
            continue;
        }
        let pitches: BTreeSet<&Sym> = steps.iter().filter_map(|(step, _)| step.as_sym()).collect();
        let rows = steps
            .iter()
            .filter(|(step, _)| step.as_constant() == Some(1));
        let lengths: BTreeSet<&Idx> = rows.map(|(_, n)| n).collect();
        let is_shorter = |n: &Idx| {
            let longer = |m: &&Idx| (n - m).as_constant().is_some_and(|d| d < 0);
            lengths.iter().any(longer)
        };
        for pitch in pitches {
            let longest = lengths.iter().filter(|n| !is_shorter(n));
            guards.extend(longest.map(|n| Guard::NonNegative(&Idx::sym(pitch.clone()) - n)));
        }
    }
    guards
}

/// How far apart the elements are along each dimension, and how many there are.
fn steps(view: &View, shape: &[Idx]) -> Vec<(Idx, Idx)> {
    let along = |(i, n): (usize, &Idx)| Some((view.index.linear_in(&dim(i))?.0, n.clone()));
    shape.iter().enumerate().filter_map(along).collect()
}

/// Where the text says that an array is worked on in a block of rows (`d[i + 2 * pitch]` for a few `i`), the condition
/// under which none reaches into the next. Without it each write may have reached each place of other rows.
pub(super) fn in_text(kernel: &loopir::Function) -> Vec<Guard> {
    let sizes = kernel.params.iter().filter_map(|p| match p {
        Param::Scalar { name, ty } if ty.is_int() => Some(name.clone()),
        _ => None,
    });
    let mut text = Text {
        sizes: sizes.collect(),
        ..Text::default()
    };
    text.block(&kernel.body);
    let Text { places, .. } = text;
    let guards: BTreeSet<(Sym, i128)> = places.into_values().filter_map(rows).collect();
    let guard =
        |(pitch, row): (Sym, i128)| Guard::NonNegative(&Idx::sym(pitch) - &Idx::constant(row));
    guards.into_iter().map(guard).collect()
}

/// Conditions under which unsigned counters that go on by a size (`at += stride`) do not wrap in a round: that the step is far
/// from the end of its type. Whether they wrap later is for the prover to say.
pub(super) fn small_steps(kernel: &loopir::Function) -> Vec<Guard> {
    let mut steps = BTreeMap::new();
    loopir::visit(&kernel.body, &mut |part| {
        let loopir::Visited::Stmt(Stmt::Assign { var, ty, value }) = part else {
            return;
        };
        let Some((one, by)) = affine(value).and_then(|at| at.linear_in(var)) else {
            return;
        };
        if one.as_constant() == Some(1) && ty.is_int() && !ty.is_signed() && ty.bits() >= 16 {
            steps.extend(by.as_sym().or((-&by).as_sym()).map(|by| (by.clone(), *ty)));
        }
    });
    let size = |p: &Param| match p {
        Param::Scalar { name, ty } if steps.get(name) == Some(ty) => {
            let most = Idx::constant(ty.max_value() / 8);
            Some(Guard::NonNegative(&most - &Idx::sym(name.clone())))
        }
        _ => None,
    };
    kernel.params.iter().filter_map(size).collect()
}

/// Conditions under which what is stored in rows of so many elements (`double a[][130]`) stays in its row: that the loops along
/// a row are no longer than that.
pub(super) fn within_rows(kernel: &loopir::Function) -> Vec<Guard> {
    let mut found = BTreeSet::new();
    stores_in_rows(&kernel.body, &mut BTreeMap::new(), &mut found);
    let sizes: Vec<&Sym> = kernel.params.iter().map(Param::name).collect();
    let known = |left: &Idx| {
        let mut only = left.as_constant().is_none();
        left.for_each_sym(&mut |s| only &= sizes.contains(&s));
        only
    };
    let rows = found.into_iter().filter(known);
    rows.map(Guard::NonNegative).collect()
}

/// How many elements each loop along a row leaves of it, where `ends` says before what the counters around stop.
fn stores_in_rows(block: &[Stmt], ends: &mut BTreeMap<Sym, Idx>, found: &mut BTreeSet<Idx>) {
    for s in block {
        match s {
            Stmt::Store { index, .. } => {
                let Some(at) = affine(index) else { continue };
                let steps = ends.iter().filter_map(|(v, end)| {
                    let (step, _) = at.linear_in(v)?;
                    Some((step.as_constant().filter(|s| *s > 0)?, end))
                });
                let mut steps: Vec<(i128, &Idx)> = steps.collect();
                steps.sort_by_key(|(step, _)| *step);
                for pair in steps.windows(2) {
                    let ((step, end), (row, _)) = (pair[0], pair[1]);
                    if row > step {
                        found.insert(&Idx::constant(row) - &(end * &Idx::constant(step)));
                    }
                }
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                stores_in_rows(then, ends, found);
                stores_in_rows(otherwise, ends, found);
            }
            Stmt::Loop(l) => {
                let counter = match &l.cond {
                    Expr::Compare(op @ (CmpOp::Lt | CmpOp::Le), var, end) => {
                        let one = Idx::constant(i128::from(*op == CmpOp::Le));
                        let var = affine(var).and_then(|v| v.as_sym().cloned());
                        var.zip(affine(end).map(|end| &end + &one))
                    }
                    _ => None,
                };
                let before = counter.clone().and_then(|(v, end)| ends.insert(v, end));
                stores_in_rows(&l.body, ends, found);
                if let Some((v, _)) = counter {
                    ends.remove(&v);
                    ends.extend(before.map(|end| (v, end)));
                }
            }
            _ => {}
        }
    }
}

/// The pitch of a block's rows, and how long they are.
fn rows(places: Option<Vec<Place>>) -> Option<(Sym, i128)> {
    let places = places?;
    let pitches: BTreeSet<&Sym> = places.iter().filter_map(|p| p.pitch.as_ref()).collect();
    let stores = || places.iter().filter(|p| p.stored);
    let which: BTreeSet<i128> = stores().map(|p| p.row).collect();
    let (first, last) = (
        places.iter().map(|p| p.first).min()?,
        places.iter().map(|p| p.last).max()?,
    );
    let one = pitches.len() == 1 && which.len() > 1 && stores().count() > 2;
    let row = last - first + 1;
    (one && (2..=MAX_ROW).contains(&row))
        .then(|| (pitches.into_iter().next().cloned(), row))
        .and_then(|(p, n)| Some((p?, n)))
}

/// Longer rows are those of images, of which the loops say more.
const MAX_ROW: i128 = 64;

/// `row * pitch + first ..= last`
struct Place {
    pitch: Option<Sym>,
    row: i128,
    first: i128,
    last: i128,
    stored: bool,
}

/// What is known in one place of the text.
#[derive(Default)]
struct Text {
    sizes: BTreeSet<Sym>,
    /// What variables hold.
    known: BTreeMap<Sym, Idx>,
    /// Between which numbers the counters of loops around run.
    counters: BTreeMap<Sym, (i128, i128)>,
    /// Of arrays of which not all places are known, `None`.
    places: BTreeMap<Sym, Option<Vec<Place>>>,
}

impl Text {
    fn block(&mut self, block: &[Stmt]) {
        for s in block {
            match s {
                Stmt::Assign { var, value, .. } => {
                    self.reads(value);
                    match self.seen(value) {
                        Some(v) => self.known.insert(var.clone(), v),
                        None => self.known.remove(var),
                    };
                    self.sizes.remove(var);
                }
                Stmt::Store {
                    array,
                    index,
                    value,
                } => {
                    self.reads(index);
                    self.reads(value);
                    self.touch(array, index, true);
                }
                Stmt::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    self.reads(cond);
                    let before = self.known.clone();
                    self.block(then);
                    let after = std::mem::replace(&mut self.known, before);
                    self.block(otherwise);
                    self.known.retain(|v, at| after.get(v) == Some(at));
                }
                Stmt::Loop(l) => self.rounds(l),
                Stmt::Return(Some(value)) => self.reads(value),
                Stmt::Return(None) | Stmt::Trap => {}
            }
        }
    }

    fn rounds(&mut self, l: &Loop) {
        let counter = self.counter(l);
        loopir::visit(&l.body, &mut |part| {
            if let loopir::Visited::Stmt(Stmt::Assign { var, .. }) = part {
                self.known.remove(var);
                self.sizes.remove(var);
            }
        });
        self.reads(&l.cond);
        let Some((var, from, to)) = counter else {
            self.block(&l.body);
            return;
        };
        self.counters.insert(var.clone(), (from, to - 1));
        let before_step = &l.body[..l.body.len() - 1];
        self.block(before_step);
        self.counters.remove(&var);
        self.known.insert(var, Idx::constant(to));
    }

    /// The counter of a loop from one number to before another, in steps of one.
    fn counter(&self, l: &Loop) -> Option<(Sym, i128, i128)> {
        let Expr::Compare(CmpOp::Lt, var, end) = &l.cond else {
            return None;
        };
        let (var, end) = (affine(var)?, affine(end)?.as_constant()?);
        let var = var.as_sym()?;
        let steps = match l.body.last()? {
            Stmt::Assign {
                var: v,
                value: Expr::Binary(BinOp::Add, a, by),
                ..
            } => {
                v == var && affine(a)?.as_sym() == Some(var) && affine(by)?.as_constant() == Some(1)
            }
            _ => false,
        };
        let from = self.known.get(var)?.as_constant()?;
        (steps && from < end).then(|| (var.clone(), from, end))
    }

    fn seen(&self, e: &Expr) -> Option<Idx> {
        Some(affine(e)?.substitute(&|v| self.known.get(v).cloned()))
    }

    fn reads(&mut self, e: &Expr) {
        e.children().into_iter().for_each(|c| self.reads(c));
        if let Expr::Load { array, index, .. } = e {
            self.touch(array, index, false);
        }
    }

    fn touch(&mut self, array: &Sym, index: &Expr, stored: bool) {
        let place = self.place(index, stored);
        let all = self
            .places
            .entry(array.clone())
            .or_insert_with(|| Some(vec![]));
        match (all.as_mut(), place) {
            (Some(all), Some(place)) => all.push(place),
            _ => *all = None,
        }
    }

    fn place(&self, index: &Expr, stored: bool) -> Option<Place> {
        let mut place = Place {
            pitch: None,
            row: 0,
            first: 0,
            last: 0,
            stored,
        };
        for (of, by) in self.seen(index)?.terms() {
            match of {
                [] => {
                    place.first += by;
                    place.last += by;
                }
                [Atom::Sym(v)] => match self.counters.get(v) {
                    Some((from, to)) => {
                        place.first += (by * from).min(by * to);
                        place.last += (by * from).max(by * to);
                    }
                    None if self.sizes.contains(v) && place.pitch.is_none() => {
                        place.pitch = Some(v.clone());
                        place.row = by;
                    }
                    None => return None,
                },
                _ => return None,
            }
        }
        Some(place)
    }
}
