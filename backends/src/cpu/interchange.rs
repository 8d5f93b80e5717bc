//! Accumulations whose innermost loop runs over the results instead of the rounds.
//!
//! `c[i, j] = Σᵣ a[i, r] · b[r, j]` as it is written walks down the columns of `b`, an element of each row. With the two
//! inner loops interchanged, the row of `c` takes up one row of `b` after the other, side by side in memory, and each
//! element still gets its rounds one after the other in their order: the same bits, in vectors, also in tier `exact`.

use super::loops::Counter;
use super::lower::{Builder, Kind, Scope};
use super::nest::{Nest, Stored, Target, for_each_read};
use super::term::contains_fold;
use crate::Unsupported;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::loopir::{Expr, LoopMode};

/// An accumulation into a row of a result.
pub(super) struct IntoRows<'a> {
    fold: &'a Fold,
    /// What a round leaves.
    round: ElemRef,
    /// Whether it goes on from what stands there, all of it as it is.
    accumulate: bool,
}

/// Fewer elements in a row than this are not worth a loop of their own.
const SHORT_ROW: i128 = 8;

/// The nest's innermost dimension and its fold, if their loops do better the other way around.
pub(super) fn into_rows(nest: &Nest) -> Option<IntoRows<'_>> {
    // The outermost loop is for the cores.
    let [_, .., along] = nest.dims.as_slice() else {
        return None;
    };
    let columns = nest.extents.last()?;
    let [target] = nest.results.as_slice() else {
        return None;
    };
    let Elem::Fold(fold) = &*target.value else {
        return None;
    };
    let (round, step) = match (&target.store, fold.as_reduction()) {
        (Stored::Rounds(..), _) => {
            let accs = [(fold.acc.clone(), target.old())].into();
            (fold.step.replace_accs(&accs), fold.step.clone())
        }
        (_, reduction) => {
            let (op, step) = reduction?;
            (Elem::binary(op, target.old(), step.clone()), step)
        }
    };
    let accumulate = match &target.store {
        Stored::Always(_) => false,
        Stored::Rounds(_, begins, _) => matches!(**begins, Stored::Never),
        Stored::If(_, t, f) if matches!((&**t, &**f), (Stored::Always(_), Stored::Never)) => true,
        _ => return None,
    };
    let untouched = |e: &ElemRef| {
        let mut reads = false;
        for_each_read(e, &mut |array, _| reads |= *array == target.array);
        !reads
    };
    let plain = untouched(&step)
        && (accumulate || matches!(target.store, Stored::Rounds(..)) || untouched(&fold.init))
        && !contains_fold(&step)
        && !fold.extent.has_values()
        && !fold.extent.mentions(along)
        && columns.as_constant().is_none_or(|n| n >= SHORT_ROW);
    let worth_it = stride(&target.index, along) == Some(1) && strided(&step, along, &fold.var);
    (plain && worth_it).then_some(IntoRows {
        fold,
        round,
        accumulate,
    })
}

/// Whether everything that is read lies side by side along `along`, and something does not along `rounds`.
fn strided(step: &ElemRef, along: &Sym, rounds: &Sym) -> bool {
    let (mut side_by_side, mut apart) = (true, false);
    for_each_read(step, &mut |_, index| {
        let near = |counter: &Sym| matches!(stride(index, counter), Some(0 | 1));
        side_by_side &= !index.has_values() && near(along);
        apart |= !near(rounds);
    });
    side_by_side && apart
}

/// How many elements further the next round of a loop is, if that is a number.
fn stride(index: &Idx, counter: &Sym) -> Option<i128> {
    let (step, _) = index.linear_in(counter)?;
    step.as_constant()
}

impl Builder {
    /// The loops of such a nest from its innermost dimension on.
    pub(super) fn rounds_into_rows(
        &mut self,
        nest: &Nest,
        rows: &IntoRows,
    ) -> Result<(), Unsupported> {
        let [target] = nest.results.as_slice() else {
            return Ok(());
        };
        let inner = nest.dims.len() - 1;
        let storing = |value: ElemRef| Nest {
            results: vec![Target::new(
                target.array.clone(),
                target.index.clone(),
                value,
            )],
            ..nest.clone()
        };
        if !rows.accumulate {
            self.dimensions(&storing(rows.fold.init.clone()), inner)?;
        }
        let round = storing(rows.round.clone());
        self.rounds(rows.fold, |b| b.dimensions(&round, inner).map(|_| ()))
    }

    /// A loop over the rounds of an accumulation, in which `body` is run.
    pub(super) fn rounds(
        &mut self,
        fold: &Fold,
        body: impl FnOnce(&mut Self) -> Result<(), Unsupported>,
    ) -> Result<(), Unsupported> {
        let var = self.fresh(&fold.var);
        let extent = self.index(&fold.extent)?;
        self.scopes.push(Scope {
            kind: Kind::FoldRound(fold.extent.clone()),
            ..Scope::default()
        });
        let counter = Expr::Var(var.clone(), super::lower::I64);
        let level = self.scopes.len() - 1;
        self.bound.insert(fold.var.clone(), (level, counter));
        body(self)?;
        self.bound.remove(&fold.var);
        let counter = Counter::of_rounds(var, extent);
        self.close_loop(vec![], counter, LoopMode::Sequential)
    }
}
