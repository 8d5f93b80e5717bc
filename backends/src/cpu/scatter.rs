//! Results of which the data says where each round goes: the loop over the rounds, each storing where it says, as in the
//! original, and not a search through all rounds for every place. What is done to such a result is done in place, after the
//! rounds.

use super::contraction::sums_of;
use super::lower::Builder;
use super::nest::{Nest, Stored, Target, for_each_read, reads_any};
use super::term::canonical;
use crate::Unsupported;
use crate::scatter::{Write, inside, writes};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;

/// The accumulation, if the nest is such a result.
pub(super) fn rounds(nest: &Nest) -> Option<(&Target, &Fold)> {
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let Elem::Fold(fold) = &*target.value else {
        return None;
    };
    writes(&nest.dims, fold).map(|_| (target, &**fold))
}

/// Such a result with something done to its elements as two nests: the rounds, and the rest on top of what they leave, in
/// place.
pub(super) fn staged(nest: &Nest) -> Option<[Nest; 2]> {
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let Stored::Always(value) = &target.store else {
        return None;
    };
    let mut found = Vec::new();
    let mut in_any_case = false;
    sums_of(value, true, &mut |e, always| {
        if rounds(&nest.storing(target, e.clone())).is_some() {
            found.push((canonical(e), e.clone()));
            in_any_case |= always;
        }
    });
    let (form, sum) = found.first()?;
    if !in_any_case || sum.ty() != value.ty() || found.iter().any(|(other, _)| other != form) {
        return None;
    }
    let with = |left: &ElemRef| value.map(&mut |e| (canonical(e) == *form).then(|| left.clone()));
    // Once the rounds are over, what stood there is gone.
    let nothing: ElemRef = Arc::new(Elem::Const(Scalar::zero(sum.ty())));
    if reads_any(&with(&nothing), &[&target.array]) {
        return None;
    }
    let left = Elem::read(target.array.clone(), sum.ty(), target.index.clone());
    Some([
        nest.storing(target, sum.clone()),
        nest.storing(target, with(&left)),
    ])
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
        for write in writes(&nest.dims, fold).map(|(_, w)| w).unwrap_or_default() {
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
            let Some((_, writes)) = writes(&nest.dims, fold) else {
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
