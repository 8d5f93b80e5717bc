//! Which loop nests a kernel needs, and in what order.
//!
//! Results of one shape share a nest. TensIR stores all results at once; a nest stores one element
//! after the other, so what is read must not have been overwritten yet. Where that can't be arranged,
//! the kernel is refused. (The prover checks it again.)

use super::branches;
use super::kept::kept;
use super::lower::Locals;
use super::overwritten::left_to_later;
use super::stages::in_stages;
use super::together::merged;
use super::wait::{Memory, waiting};
use super::{running, term};
use crate::Unsupported;
use crate::names::Names;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::Scalar;
use tensorize_ir::tensir::{self, Output};

/// What has to be computed.
pub(super) struct Plan {
    /// The returned value.
    pub ret: Option<ElemRef>,
    /// In this order.
    pub nests: Vec<Nest>,
    /// What some of them need beside the arrays.
    pub memory: Vec<Memory>,
}

/// Loops over the dimensions of some results of one shape.
#[derive(Clone)]
pub(super) struct Nest {
    /// How many rounds each loop has.
    pub extents: Vec<Idx>,
    /// The bound variables that stand for the position.
    pub dims: Vec<Sym>,
    /// What to call the counters.
    pub stems: Vec<String>,
    /// What is stored at a position.
    pub results: Vec<Target>,
}

/// One store.
#[derive(Clone)]
pub(super) struct Target {
    /// The array.
    pub array: Sym,
    /// Where, in elements.
    pub index: Idx,
    /// The whole value.
    pub value: ElemRef,
    /// The value, with what is left as it was told apart.
    pub store: Stored,
    /// Whether it is stored even if it is what it was.
    pub always: bool,
}

/// A value that may be "what stood there before", which is then not stored.
#[derive(Clone)]
pub(super) enum Stored {
    /// Nothing is stored.
    Never,
    /// This is.
    Always(ElemRef),
    /// This is if it is another number than stands there.
    Changed(ElemRef),
    /// One or the other.
    If(ElemRef, Box<Stored>, Box<Stored>),
    /// What an accumulation begins with, and what each round of it makes of what stands there. Others that it looks at are
    /// variables beside it.
    Rounds(Arc<Fold>, Box<Stored>, Box<Stored>),
}

impl Stored {
    pub(super) fn new(value: &ElemRef, old: &Elem) -> Stored {
        if **value == *old {
            return Stored::Never;
        }
        if let Elem::Select(c, t, f) = &**value {
            let (t, f) = (Stored::new(t, old), Stored::new(f, old));
            if !matches!((&t, &f), (Stored::Always(_), Stored::Always(_))) {
                return Stored::If(c.clone(), Box::new(t), Box::new(f));
            }
        }
        // An accumulation without rounds leaves what stands there, and the original may not even read it.
        if let Elem::Fold(f) = &**value
            && *f.init == *old
        {
            let runs = Elem::index_compare(CmpOp::Gt, f.extent.clone(), Idx::default());
            let all = Stored::Always(value.clone());
            return Stored::If(runs, Box::new(all), Box::new(Stored::Never));
        }
        Stored::Always(value.clone())
    }

    /// The condition without which nothing is stored.
    fn runs(&self) -> Option<&ElemRef> {
        match self {
            Stored::If(cond, _, otherwise) if matches!(**otherwise, Stored::Never) => Some(cond),
            _ => None,
        }
    }

    /// The value as a term that does not mention what stood there before where that is kept.
    fn term(&self, value: &ElemRef) -> ElemRef {
        match self {
            Stored::Never => Elem::constant(Scalar::zero(value.ty())),
            Stored::Always(e) | Stored::Changed(e) => e.clone(),
            // Not simplified: the condition is looked at also where both sides are alike.
            Stored::If(c, t, f) => Arc::new(Elem::Select(c.clone(), t.term(value), f.term(value))),
            Stored::Rounds(fold, ..) => Arc::new(Elem::Fold(fold.clone())),
        }
    }
}

impl Nest {
    /// The same loops, in which that value goes in any case to where one result does.
    pub(super) fn storing(&self, result: &Target, value: ElemRef) -> Nest {
        Nest {
            results: vec![Target {
                value: value.clone(),
                store: Stored::Always(value),
                ..result.clone()
            }],
            ..self.clone()
        }
    }

    /// The loops of one store. Rounds that there are or are not, as an indicator says, are rounds under a condition; and if there
    /// is one at most, that is all.
    fn of_store(
        function: &tensir::Function,
        value: tensir::NodeId,
        view: &tensir::View,
        fresh: &mut Fresh,
    ) -> Nest {
        let mut extents = function.nodes[value].ty.shape.clone();
        let mut stems: Vec<String> = (0..extents.len())
            .map(|i| STEMS[i % STEMS.len()].to_string())
            .collect();
        let mut dims: Vec<Sym> = stems.iter().map(|s| fresh.name(s)).collect();
        let position: Vec<Idx> = dims.iter().map(|d| Idx::sym(d.clone())).collect();
        let mut value = function.element(value, &position, fresh);
        let mut index = tensir::at(&view.index, &position);
        for i in (0..extents.len()).rev() {
            let (n, positive) = extents[i].without_indicators();
            let more = |n: Idx| Elem::index_compare(CmpOp::Gt, n, Idx::default());
            let runs = positive.into_iter().map(more);
            let Some(runs) = runs.reduce(|a, b| Elem::binary(BinOp::And, a, b)) else {
                continue;
            };
            extents[i] = n;
            if extents[i].as_constant() == Some(1) {
                value = value.replace(&dims[i], &Idx::default());
                index = index.replace(&dims[i], &Idx::default());
                extents.remove(i);
                stems.remove(i);
                dims.remove(i);
            }
            let old = Elem::read(view.array.clone(), value.ty(), index.clone());
            value = Elem::select(runs, value, old);
        }
        Nest {
            extents,
            dims,
            stems,
            results: vec![Target::new(view.array.clone(), index, value)],
        }
    }

    /// The condition without which nothing is stored wherever it be, and the nest for when it holds.
    pub(super) fn only_if(&self) -> Option<(ElemRef, Nest)> {
        let (first, others) = self.results.split_first()?;
        let cond = first.store.runs()?;
        let same = |r: &Target| r.store.runs() == Some(cond);
        let by_place = self.dims.iter().any(|d| cond.mentions(d));
        if by_place || term::needs_guard(cond) || !others.iter().all(same) {
            return None;
        }
        let mut nest = self.clone();
        for r in &mut nest.results {
            if let Stored::If(_, then, _) = &r.store {
                r.store = (**then).clone();
            }
        }
        Some((cond.clone(), nest))
    }

    /// Whether never both of them store anything: arrays that take turns.
    pub(super) fn takes_turns_with(&self, other: &Nest) -> bool {
        let all = |nest: &Nest| {
            let mut conditions = Vec::new();
            let mut rest = nest.only_if();
            while let Some((condition, nest)) = rest {
                conditions.push(condition);
                rest = nest.only_if();
            }
            conditions
        };
        let others = all(other);
        (all(self).iter()).any(|a| others.iter().any(|b| exclude_each_other(a, b)))
    }

    /// The same loops, in the order of these old numbers.
    pub(super) fn reorder(&mut self, order: &[usize]) {
        self.extents = order.iter().map(|&d| self.extents[d].clone()).collect();
        self.dims = order.iter().map(|&d| self.dims[d].clone()).collect();
        self.stems = order.iter().map(|&d| self.stems[d].clone()).collect();
    }
}

impl Target {
    /// `array[index] = value`.
    pub(super) fn new(array: Sym, index: Idx, value: ElemRef) -> Target {
        let old = Elem::read(array.clone(), value.ty(), index.clone());
        let store = Stored::new(&value, &old);
        Target {
            array,
            index,
            value,
            store,
            always: false,
        }
    }

    /// The same, stored even if it is what it was.
    fn always(self) -> Target {
        Target {
            store: Stored::Always(self.value.clone()),
            always: true,
            ..self
        }
    }

    /// The same result with another value.
    pub(super) fn with(&self, index: Idx, value: ElemRef) -> Target {
        let target = Target::new(self.array.clone(), index, value);
        match self.always {
            true => target.always(),
            false => target,
        }
    }

    /// What stands there before.
    pub(super) fn old(&self) -> ElemRef {
        Elem::read(self.array.clone(), self.value.ty(), self.index.clone())
    }

    /// Whether it is computed from what stands in that array, or stored where that says.
    pub(super) fn reads(&self, array: &Sym) -> bool {
        self.terms().iter().any(|e| reads_any(e, &[array]))
    }

    /// What is evaluated for it, its place included.
    pub(super) fn terms(&self) -> Vec<ElemRef> {
        let mut terms = vec![self.term()];
        terms.extend(term::values_in(&self.index).into_iter().cloned());
        terms
    }

    /// Whether a place may be the one that is stored to, in the same round or another one.
    pub(super) fn meets(&self, array: &Sym, index: &Idx) -> bool {
        *array == self.array && !apart(index, &self.index)
    }

    /// What is evaluated for its value.
    pub(super) fn term(&self) -> ElemRef {
        self.store.term(&self.value)
    }
}

pub(super) const STEMS: [&str; 6] = ["i", "j", "k", "l", "m", "o"];

/// Plans a kernel's nests, and the local arrays that they need, with names of their own. Of some arrays it is known where
/// that what the original touches `ends`.
pub(super) fn plan(
    function: &tensir::Function,
    locals: Locals,
    names: &Names,
    ends: &BTreeMap<Sym, Idx>,
    numbers: &BTreeSet<Sym>,
) -> Result<Plan, Unsupported> {
    crate::summary::check(function)?;
    let mut fresh = Fresh::default();
    let mut plan = Plan {
        ret: None,
        nests: Vec::new(),
        memory: Vec::new(),
    };
    let mut single = Vec::new();
    for output in &function.outputs {
        match output {
            Output::Return { value } => {
                if !function.nodes[*value].ty.shape.is_empty() {
                    return Err(Unsupported::new(
                        "a tensor is returned where C returns a scalar",
                    ));
                }
                plan.ret = Some(function.element(*value, &[], &mut fresh));
            }
            Output::Store { value, view } => {
                single.push(Nest::of_store(function, *value, view, &mut fresh));
            }
        }
    }
    // Numbers from round to round are stored under conditions only as long as these make no more branches than one reads.
    let one_at_a_time = single.iter().filter(|nest| nest.dims.is_empty());
    let together: Vec<&Target> = one_at_a_time.flat_map(|nest| &nest.results).collect();
    if !branches::end(&together) {
        for t in single.iter_mut().flat_map(|nest| &mut nest.results) {
            if numbers.contains(&t.array) {
                *t = t.clone().always();
            }
        }
    }
    left_to_later(&mut single);
    plan.ordered(single, locals, names)?;
    plan.nests = (plan.nests.into_iter())
        .flat_map(running::in_passes)
        .flat_map(|nest| running::first_alone(nest, ends))
        .collect();
    Ok(plan)
}

impl Plan {
    /// Takes up the nests in an order in which each finds what it reads, and what memory they need for that.
    fn ordered(
        &mut self,
        single: Vec<Nest>,
        locals: Locals,
        names: &Names,
    ) -> Result<(), Unsupported> {
        let together = |single: &[Nest], own: &[Sym]| {
            order(merged(single, own), own).or_else(|_| order(single.to_vec(), own))
        };
        if matches!(locals, Locals::Kept | Locals::Results)
            && self.ret.is_none()
            && let Some((staged, first)) = in_stages(&single)
            && let Ok(nests) = together(&staged, &first)
        {
            self.nests = nests;
            return Ok(());
        }
        if matches!(locals, Locals::Kept | Locals::Results) {
            let memory = (locals == Locals::Kept).then(|| names.clone());
            let kept = kept(self.ret.as_ref(), &single, memory);
            if !kept.own.is_empty()
                && let Ok(nests) = together(&kept.nests, &kept.own)
            {
                (self.ret, self.nests, self.memory) = (kept.ret, nests, kept.memory);
                return Ok(());
            }
        }
        (self.nests, self.memory) = match together(&single, &[]) {
            Err(_) if locals != Locals::None => waiting(single, names.clone())?,
            nests => (nests?, Vec::new()),
        };
        Ok(())
    }
}

/// Checks each nest by itself, and sorts them so that none reads what an earlier one has written. What is read from
/// arrays of the function's `own` has to be written before.
pub(super) fn order(mut nests: Vec<Nest>, own: &[Sym]) -> Result<Vec<Nest>, Unsupported> {
    for nest in &mut nests {
        running::arrange(nest);
        check_alone(nest)?;
    }
    let mut sorted = Vec::new();
    while !nests.is_empty() {
        let free = (0..nests.len()).find(|&i| {
            let results = &nests[i].results;
            let comes_first = |t: &Target| {
                results.iter().any(|r| {
                    let overwrites = !own.contains(&r.array) && t.reads(&r.array);
                    overwrites || own.contains(&t.array) && r.reads(&t.array)
                })
            };
            nests.iter().enumerate().all(|(k, other)| {
                let first = other.results.iter().any(comes_first);
                k == i || !first || other.takes_turns_with(&nests[i])
            })
        });
        match free {
            Some(i) => sorted.push(nests.remove(i)),
            None => {
                return Err(Unsupported::new(
                    "two results each need what the other one overwrites",
                ));
            }
        }
    }
    Ok(sorted)
}

/// Whether two conditions never hold together, by what they compare.
fn exclude_each_other(a: &ElemRef, b: &ElemRef) -> bool {
    match (&**a, &**b) {
        (Elem::Binary(BinOp::And, x, y), _) => [x, y].iter().any(|x| exclude_each_other(x, b)),
        (_, Elem::Binary(BinOp::And, x, y)) => [x, y].iter().any(|x| exclude_each_other(a, x)),
        (Elem::IndexCompare(op, p, q), Elem::IndexCompare(with, r, s)) => {
            let apart = (&(p - q) - &(r - s)).as_constant();
            match (op, with) {
                (CmpOp::Eq, CmpOp::Eq) => apart.is_some_and(|d| d != 0),
                (CmpOp::Eq, CmpOp::Ne) | (CmpOp::Ne, CmpOp::Eq) => apart == Some(0),
                _ => false,
            }
        }
        _ => false,
    }
}

pub(super) fn reads_any(e: &ElemRef, arrays: &[&Sym]) -> bool {
    let mut found = false;
    for_each_read(e, &mut |array, _| found |= arrays.contains(&array));
    found
}

/// Whether each result finds what it reads, with all of them stored in the same loops.
pub(super) fn check_alone(nest: &Nest) -> Result<(), Unsupported> {
    for writer in &nest.results {
        for reader in &nest.results {
            for e in reader.terms() {
                check_reads(nest, &e, writer, true)?;
            }
        }
    }
    if !branches::groups(&nest.results)
        .iter()
        .all(|g| branches::end(g))
    {
        return Err(Unsupported::new(
            "results that are stored under different conditions read each other's arrays",
        ));
    }
    Ok(())
}

/// Whether two indices never meet, in any rounds: members of structs in an array, as in `7*i + 3` and `7*j`.
fn apart(a: &Idx, b: &Idx) -> bool {
    let (mut unit, mut distance) = (0i128, 0i128);
    for (sign, index) in [(1, a), (-1, b)] {
        for (factors, c) in index.terms() {
            match factors {
                [] => distance += sign * c,
                _ => unit = gcd(unit, c.abs()),
            }
        }
    }
    match unit {
        0 => distance != 0,
        unit => distance % unit != 0,
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Whether all that `e` reads of the array that `writer` writes is still what it was.
fn check_reads(
    nest: &Nest,
    e: &ElemRef,
    writer: &Target,
    unconditional: bool,
) -> Result<(), Unsupported> {
    let refuse = |index: &Idx| {
        Err(Unsupported::new(format!(
            "{}[{index}] is read after other elements of that array were overwritten",
            writer.array
        )))
    };
    match &**e {
        // What this round overwrites, it has read before; whether another round does is for the prover to say.
        Elem::Read { array, index, .. } if *array == writer.array && !nest.dims.is_empty() => {
            let own = |t: &Target| t.array == *array && t.index == *index;
            if !nest.results.iter().any(own) && !apart(index, &writer.index) {
                return refuse(index);
            }
        }
        Elem::Fold(f) if unconditional && running::reads_ahead(f, nest, writer) => {}
        // An accumulation on top of what stands there.
        Elem::Fold(f) if f.lanes().all(|l| !reads_any(l.step, &[&writer.array])) => {
            for lane in f.lanes() {
                check_reads(nest, lane.init, writer, unconditional)?;
            }
        }
        Elem::Fold(f) if reads_any(e, &[&writer.array]) => {
            // Lowering computes the fold before the loops over the dimensions that it doesn't mention.
            let before = (0..nest.dims.len())
                .rev()
                .take_while(|&d| !e.mentions(&nest.dims[d]))
                .count();
            let outer = nest.dims.len() - before;
            let mut clash = None;
            for_each_read(e, &mut |array, index| {
                if *array != writer.array {
                    return;
                }
                // Its rows have to be those that are written in the same round.
                if !same_rows(&nest.dims[..outer], index, &writer.index) {
                    clash = Some(index.clone());
                }
            });
            if let Some(index) = clash {
                return refuse(&index);
            }
            if before == 0 || !unconditional {
                return refuse(&writer.index);
            }
        }
        Elem::Select(c, t, f) => {
            check_reads(nest, c, writer, unconditional)?;
            check_reads(nest, t, writer, false)?;
            check_reads(nest, f, writer, false)?;
        }
        _ => {
            for idx in e.indices() {
                for v in term::values_in(idx) {
                    check_reads(nest, v, writer, unconditional)?;
                }
            }
            for child in e.children() {
                check_reads(nest, child, writer, unconditional)?;
            }
        }
    }
    Ok(())
}

/// Whether two indices step alike along these loops.
pub(super) fn same_rows(outer: &[Sym], a: &Idx, b: &Idx) -> bool {
    outer
        .iter()
        .all(|d| match (a.linear_in(d), b.linear_in(d)) {
            (Some((a, _)), Some((b, _))) => a == b,
            _ => false,
        })
}

/// Calls `f` with the array and the index of every read, also inside of indices.
pub(super) fn for_each_read(e: &ElemRef, f: &mut dyn FnMut(&Sym, &Idx)) {
    if let Elem::Read { array, index, .. } = &**e {
        f(array, index);
    }
    for idx in e.indices() {
        for v in term::values_in(idx) {
            for_each_read(v, f);
        }
    }
    for child in e.children() {
        for_each_read(child, f);
    }
}
