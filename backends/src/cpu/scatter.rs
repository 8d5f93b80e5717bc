//! Results of which the data says where each round goes: the loop over the rounds, each storing where it says, as in the
//! original, and not a search through all rounds for every place.

use super::lower::Builder;
use super::nest::{Nest, Stored, Target, for_each_read};
use crate::Unsupported;
use std::collections::BTreeMap;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};

/// A write of a round.
struct Write {
    /// The dimensions of the place that the data says.
    told: BTreeMap<Sym, Idx>,
    /// When it is made.
    conditions: Vec<ElemRef>,
    /// What it leaves, in terms of the accumulator.
    value: ElemRef,
}

/// The accumulation, if the nest is such a result.
pub(super) fn rounds(nest: &Nest) -> Option<(&Target, &Fold)> {
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let Elem::Fold(fold) = &*target.value else {
        return None;
    };
    writes(nest, fold).map(|_| (target, &**fold))
}

/// The innermost of folds that go on from each other, and what a round of it writes, the first write first.
fn writes<'a>(nest: &Nest, fold: &'a Fold) -> Option<(&'a Fold, Vec<Write>)> {
    if !fold.others.is_empty() {
        return None;
    }
    if let Some((conditions, inner)) = inside(fold) {
        let by_place = |c: &ElemRef| nest.dims.iter().any(|d| c.mentions(d));
        return match conditions.iter().any(by_place) {
            true => None,
            false => writes(nest, inner),
        };
    }
    let (mut step, mut found) = (&fold.step, Vec::new());
    while let Elem::Select(c, t, otherwise) = &**step {
        let (mut told, mut conditions) = (BTreeMap::new(), Vec::new());
        for part in c.conjuncts() {
            match place(nest, part) {
                Some((dim, at)) if !told.contains_key(&dim) => {
                    told.insert(dim, at);
                }
                _ => conditions.push(part.clone()),
            }
        }
        if told.is_empty() {
            return None;
        }
        found.push(Write {
            told,
            conditions,
            value: t.clone(),
        });
        step = otherwise;
    }
    found.reverse();
    let goes_on = matches!(&**step, Elem::Acc(name, _) if *name == fold.acc);
    (goes_on && !found.is_empty()).then_some((fold, found))
}

/// The fold that each round of this one goes on with, and when it does.
fn inside(fold: &Fold) -> Option<(Vec<ElemRef>, &Fold)> {
    let so_far = |e: &Elem| matches!(e, Elem::Acc(name, _) if *name == fold.acc);
    let (mut step, mut conditions) = (&fold.step, Vec::new());
    while let Elem::Select(c, t, otherwise) = &**step
        && so_far(otherwise)
        && !c.mentions(&fold.acc)
    {
        conditions.push(c.clone());
        step = t;
    }
    match &**step {
        Elem::Fold(inner) if so_far(&inner.init) => Some((conditions, &**inner)),
        _ => None,
    }
}

/// Of `a[i] == j`, where `j` is a dimension: that it is `a[i]`.
fn place(nest: &Nest, condition: &ElemRef) -> Option<(Sym, Idx)> {
    let Elem::IndexCompare(CmpOp::Eq, a, b) = &**condition else {
        return None;
    };
    let difference = a - b;
    nest.dims.iter().find_map(|dim| {
        let (slope, rest) = difference.linear_in(dim)?;
        let at = match slope.as_constant()? {
            1 => -&rest,
            -1 => rest,
            _ => return None,
        };
        let fixed = at.has_values() && !nest.dims.iter().any(|d| at.mentions(d));
        fixed.then(|| (dim.clone(), at))
    })
}

impl Builder {
    /// What stands there before, then the rounds.
    pub(super) fn scatter(
        &mut self,
        nest: &Nest,
        target: &Target,
        fold: &Fold,
    ) -> Result<(), Unsupported> {
        let mut itself = false;
        let mut look = |e: &ElemRef| {
            for_each_read(e, &mut |array, _| itself |= *array == target.array);
        };
        let mut outer = fold;
        while let Some((conditions, inner)) = inside(outer) {
            conditions.iter().for_each(&mut look);
            outer = inner;
        }
        for write in writes(nest, fold).map(|(_, w)| w).unwrap_or_default() {
            look(&write.value);
            write.conditions.iter().for_each(&mut look);
            for at in write.told.values() {
                at.for_each_value(&mut |v| look(v));
            }
        }
        if itself {
            return Err(Unsupported::new(format!(
                "which places of {} are written depends on what stands in it",
                target.array
            )));
        }
        let before = Target::new(
            target.array.clone(),
            target.index.clone(),
            fold.init.clone(),
        );
        if !matches!(before.store, Stored::Never) {
            let start = Nest {
                results: vec![before],
                ..nest.clone()
            };
            self.nest(&start)?;
        }
        self.scatter_rounds(nest, target, fold)
    }

    fn scatter_rounds(
        &mut self,
        nest: &Nest,
        target: &Target,
        fold: &Fold,
    ) -> Result<(), Unsupported> {
        self.rounds(fold, |b| {
            if let Some((conditions, inner)) = inside(fold) {
                return b.under_all(&conditions, |b| b.scatter_rounds(nest, target, inner));
            }
            let Some((_, writes)) = writes(nest, fold) else {
                return Err(Unsupported::new("no loop over the rounds could be written"));
            };
            match writes.as_slice() {
                [write] => {
                    let dims =
                        (0..nest.dims.len()).filter(|d| !write.told.contains_key(&nest.dims[*d]));
                    let row = Nest {
                        extents: dims.clone().map(|d| nest.extents[d].clone()).collect(),
                        dims: dims.clone().map(|d| nest.dims[d].clone()).collect(),
                        stems: dims.map(|d| nest.stems[d].clone()).collect(),
                        results: vec![stored(target, fold, write)],
                    };
                    let others = (write.conditions.iter()).filter(|c| !c.mentions(&fold.acc));
                    let others: Vec<ElemRef> = others.cloned().collect();
                    b.under_all(&others, |b| b.dimensions(&row, 0).map(|_| ()))
                }
                _ => b.in_sequence(nest, target, fold, &writes),
            }
        })
    }

    /// Several writes of a round, one after the other. What each leaves is said in terms of what was there before all of
    /// them, and is stored in terms of what the ones before it have left.
    fn in_sequence(
        &mut self,
        nest: &Nest,
        target: &Target,
        fold: &Fold,
        writes: &[Write],
    ) -> Result<(), Unsupported> {
        let [place] = nest.dims.as_slice() else {
            return Err(Unsupported::new(format!(
                "a round writes several rows of {}",
                target.array
            )));
        };
        for (i, write) in writes.iter().enumerate() {
            let at = &write.told[place];
            let old: ElemRef = Arc::new(Elem::Acc(fold.acc.clone(), target.value.ty()));
            let mut left = old.clone();
            for earlier in &writes[..i] {
                let there = earlier.told[place].clone();
                let hit = Elem::index_compare(CmpOp::Eq, there, at.clone());
                left = Elem::select(hit, earlier.value.clone(), left);
            }
            let value = match i {
                0 => write.value.clone(),
                _ => write.value.map(&mut |x| (*x == left).then(|| old.clone())),
            };
            let mut compares = false;
            value.visit(&mut |x| compares |= matches!(&**x, Elem::IndexCompare(CmpOp::Eq, ..)));
            if !write.conditions.is_empty() || (i > 0 && compares) {
                return Err(Unsupported::new(format!(
                    "a round writes to {} several times, in a way that has no form as plain stores",
                    target.array
                )));
            }
            let value = Write {
                told: write.told.clone(),
                conditions: vec![],
                value,
            };
            let store = stored(target, fold, &value);
            self.store(&store, &store.store)?;
        }
        Ok(())
    }

    /// `body` where the conditions hold.
    fn under_all(
        &mut self,
        conditions: &[ElemRef],
        body: impl FnOnce(&mut Self) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let conds: Result<Vec<Expr>, Unsupported> =
            conditions.iter().map(|c| self.value(c)).collect();
        let both = |a, b| Expr::binary(BinOp::And, a, b);
        let Some(cond) = conds?.into_iter().reduce(both) else {
            return body(self);
        };
        let (then, ()) = self.in_branch(body)?;
        self.push(Stmt::If {
            cond,
            then,
            otherwise: vec![],
        });
        Ok(())
    }
}

/// The store that a write is, in terms of what stands there, which may be a condition, too.
fn stored(target: &Target, fold: &Fold, write: &Write) -> Target {
    let with = |s: &Sym| write.told.get(s).cloned();
    let old: ElemRef = Arc::new(Elem::Acc(fold.acc.clone(), target.value.ty()));
    let on_old = write.conditions.iter().filter(|c| c.mentions(&fold.acc));
    let value = on_old.fold(write.value.clone(), |value, c| {
        Elem::select(c.clone(), value, old.clone())
    });
    let value = value.replace_accs(&[(fold.acc.clone(), target.old())].into());
    let (index, value) = (target.index.substitute(&with), value.substitute(&with));
    Target::new(target.array.clone(), index, value)
}
