//! Writes at places that are read from data: histograms, sums by label, scatters.
//!
//! Which place a round writes is not known, but which places there are is: those that were set before, those of a
//! local array, or those that an index of its type, or under its conditions, can name, or as many as a size says that is
//! used for nothing else. What stands at each of them is a fold over the rounds, in which a round that writes elsewhere
//! changes nothing.

use super::{Guess, mentions_array};
use std::collections::BTreeSet;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{self, Expr, Param, Visited, visit};
use tensorize_ir::op::CmpOp;
use tensorize_prove::canon;
use tensorize_prove::chain::{self, Effect, Leaf};
use tensorize_prove::conditions::said_of_indices;
use tensorize_prove::context::Context;
use tensorize_prove::decode::{decode, divide};
use tensorize_prove::exec::{Places, Stuck};
use tensorize_prove::interval::MOST_BY_TYPE;

/// When a write is at a place, and the round of its own loops that it is in then.
pub(super) type Told = (ElemRef, Vec<(Sym, Idx)>);

impl Guess<'_, '_, '_> {
    /// Whether which place is written is read from memory, and changes from round to round.
    pub(super) fn is_scatter(&self, new: &[Effect]) -> bool {
        let from_data = |leaf: Leaf| {
            let mut found = false;
            let moves =
                |i: &Idx| i.mentions(self.k) || leaf.loops.iter().any(|(x, _)| i.mentions(x));
            leaf.index.for_each_value(&mut |v| {
                v.visit(&mut |x| {
                    found |= matches!(&**x, Elem::Read { index, .. } if moves(index));
                });
            });
            found
        };
        new.iter().flat_map(Effect::leaves).any(from_data)
    }

    /// What the rounds so far have left at each place that there is.
    pub(super) fn scattered(&mut self, array: &Sym, new: &[Effect]) -> Result<Vec<Effect>, Stuck> {
        let leaves: Vec<Leaf> = new.iter().flat_map(Effect::leaves).collect();
        let own = self.tokens.get(array);
        let mut by_itself = false;
        for leaf in &leaves {
            leaf.index
                .for_each_value(&mut |v| by_itself |= own.is_some_and(|t| mentions_array(v, t)));
        }
        if by_itself {
            return self.stuck(format!(
                "where it writes in {array} depends on what stands in {array}, which earlier rounds have written: such a \
                 scatter is not supported"
            ));
        }
        for places in self.candidates(array, &leaves) {
            let tell = |g: &mut Self, leaf: &Leaf, dims: &[(Sym, Idx)], place: &Idx| {
                g.told_by(leaf, dims, place)
            };
            if let Some(effect) = self.at_each_of(array, &leaves, &places, tell)? {
                return Ok(vec![effect]);
            }
        }
        self.stuck(format!(
            "where it writes in {array} depends on the data, and how many places {array} has can't be seen: set all of \
             them first in the same function, or check the index against their number, or take that as a parameter of \
             which no other use is made, or read the index from an array of 8- or 16-bit integers"
        ))
    }

    /// Which places there may be, the likeliest first.
    fn candidates(&mut self, array: &Sym, leaves: &[Leaf]) -> Vec<Places> {
        let mut found = self.exec.written.get(array).cloned().unwrap_or_default();
        // Rows without gaps are one row, and one row may be several.
        let flat: Vec<Places> = found.iter().filter_map(in_one_row).collect();
        let rows = found
            .iter()
            .flat_map(|p| leaves.iter().filter_map(|leaf| in_rows(p, leaf)));
        let rows: Vec<Places> = rows.collect();
        found.splice(0..0, rows);
        found.extend(flat);
        let locals = &self.exec.kernel.arrays;
        let local = locals
            .iter()
            .find(|a| a.name == *array)
            .and_then(|a| a.len.fixed());
        let end = match local {
            Some(len) => Some(Idx::constant(len as i128)),
            None => {
                let ends: Option<Vec<Idx>> = leaves.iter().map(|leaf| self.end_of(leaf)).collect();
                let end = ends.and_then(|all| self.largest(all));
                end.or_else(|| size_without_use(self.exec.kernel))
            }
        };
        found.extend(end.map(|end| {
            let place: Sym = "place".into();
            (vec![(place.clone(), end)], Idx::sym(place))
        }));
        found
    }

    fn largest(&mut self, mut ends: Vec<Idx>) -> Option<Idx> {
        let mut largest = ends.pop()?;
        for end in ends {
            if !self.exec.ctx.proves(CmpOp::Le, &end, &largest) {
                largest = end;
            }
        }
        Some(largest)
    }

    /// One past the last place that a write reaches, by its conditions or the type of the index.
    fn end_of(&mut self, leaf: &Leaf) -> Option<Idx> {
        let ctx = &mut self.exec.ctx;
        let mark = ctx.mark();
        for (v, n) in &leaf.loops {
            ctx.assume_in_range(v, n);
        }
        ctx.assume(leaf.cond.clone());
        let mut limits = Vec::new();
        let mut said = Vec::new();
        said_of_indices(leaf.cond, &mut said);
        said.iter()
            .for_each(|c| limits_in(c, leaf.index, &mut limits));
        limits_of(leaf.index, &mut limits);
        limits.retain(|n| ctx.is_over_params(n) && n.as_constant().is_none());
        let end = limits
            .into_iter()
            .find(|n| ctx.proves(CmpOp::Lt, leaf.index, n));
        let below =
            |ctx: &mut Context, n: i128| ctx.proves(CmpOp::Lt, leaf.index, &Idx::constant(n));
        let end = end.or_else(|| {
            if !below(ctx, MOST_BY_TYPE) {
                return None;
            }
            let (mut low, mut high) = (0, MOST_BY_TYPE);
            while high - low > 1 {
                let middle = (low + high) / 2;
                match below(ctx, middle) {
                    true => high = middle,
                    false => low = middle,
                }
            }
            Some(Idx::constant(high))
        });
        let end = end.filter(|_| ctx.is_non_negative(leaf.index));
        ctx.forget(mark);
        end
    }

    /// The fold at each of these places, if which of them a round writes can be told from its index: `tell` says when a write
    /// is at a place, and in which round of its own loops it is then.
    pub(super) fn at_each_of<F>(
        &mut self,
        array: &Sym,
        leaves: &[Leaf],
        places: &Places,
        mut tell: F,
    ) -> Result<Option<Effect>, Stuck>
    where
        F: FnMut(&mut Self, &Leaf, &[(Sym, Idx)], &Idx) -> Option<Told>,
    {
        let Some(before) = self.entry.arrays.get(array) else {
            return self.stuck(format!("there is no array {array}"));
        };
        let elem = before.elem;
        let truth = chain::truth(true);
        let leaf = Leaf {
            loops: places.0.clone(),
            cond: &truth,
            index: &places.1,
            value: &truth,
        };
        let (dims, with) = leaf.any_round(&mut self.exec.ctx.fresh);
        let place = leaf.index.substitute(&with);
        let acc = self.exec.ctx.fresh.name("acc");
        let old: ElemRef = Arc::new(Elem::Acc(acc.clone(), elem));
        let mark = self.exec.ctx.mark();
        let step = self.in_round(|g| {
            for (v, n) in &dims {
                g.exec.ctx.assume_in_range(v, n);
            }
            let mut step = old.clone();
            for leaf in leaves {
                let Some((here, with)) = tell(g, leaf, &dims, &place) else {
                    return Ok(None);
                };
                let with = |s: &Sym| with.iter().find(|(v, _)| v == s).map(|(_, i)| i.clone());
                let mark = g.exec.ctx.mark();
                g.exec.ctx.assume(here.clone());
                let cond = g.in_place(array, &leaf.cond.substitute(&with), &place, &old);
                let value = g.in_place(array, &leaf.value.substitute(&with), &place, &old);
                g.exec.ctx.forget(mark);
                if g.tokens.get(array).is_some_and(|t| [&cond, &value].iter().any(|e| mentions_array(e, t))) {
                    return g.stuck(format!(
                        "where it writes in {array} depends on the data, and what it writes there on other places of \
                         {array}, which earlier rounds may have written: such a scatter is not supported"
                    ));
                }
                step = Elem::select(chain::and(here, g.resolve(&cond)?), g.resolve(&value)?, step);
            }
            Ok(Some(step))
        });
        let Some(step) = step? else {
            self.exec.ctx.forget(mark);
            return Ok(None);
        };
        for (v, n) in &dims {
            self.exec.ctx.assume_in_range(v, n);
        }
        let init = chain::read(&mut self.exec.ctx, array, before, &place);
        self.exec.ctx.forget(mark);
        let init = match init {
            Ok(init) => init,
            Err(why) => return self.stuck(why.0),
        };
        let round = self.exec.ctx.fresh.name(self.k);
        let at = Idx::sym(round.clone());
        let step = step.replace(self.k, &at);
        let mut fold = Fold::new(acc, round, Idx::sym(self.k.clone()), init, step);
        fold.others = self.lanes.clone();
        for lane in &mut fold.others {
            lane.step = lane.step.replace(self.k, &at);
        }
        let mut effect = Effect::Point {
            cond: truth.clone(),
            index: place,
            value: Arc::new(Elem::Fold(Arc::new(fold.without_idle_lanes()))),
        };
        for (var, extent) in dims.into_iter().rev() {
            effect = Effect::Loop {
                var,
                extent,
                body: vec![effect],
            };
        }
        Ok(Some(effect))
    }

    /// When a write is at a place, and the round of its own loops that it is in then.
    fn told_by(&mut self, leaf: &Leaf, dims: &[(Sym, Idx)], place: &Idx) -> Option<Told> {
        let ctx = &mut self.exec.ctx;
        let mark = ctx.mark();
        for (v, n) in &leaf.loops {
            ctx.assume_in_range(v, n);
        }
        let position = match dims {
            [] => None,
            _ => decode(ctx, dims, place, leaf.index),
        };
        ctx.forget(mark);
        let position = position?;
        if position
            .iter()
            .any(|p| p.terms().flat_map(|(m, _)| m).any(is_quotient))
        {
            return None;
        }
        let mut with: Vec<(Sym, Idx)> = Vec::new();
        let mut here = chain::truth(true);
        let pairs = || position.iter().zip(dims);
        // A counter of the write's own is that of the place.
        for (p, (dim, extent)) in pairs() {
            let own = leaf
                .loops
                .iter()
                .find(|(v, n)| p.as_sym() == Some(v) && n == extent);
            with.extend(own.map(|(v, _)| (v.clone(), Idx::sym(dim.clone()))));
        }
        if !leaf
            .loops
            .iter()
            .all(|(v, _)| with.iter().any(|(w, _)| w == v))
        {
            return None;
        }
        let round = |s: &Sym| with.iter().find(|(v, _)| v == s).map(|(_, i)| i.clone());
        for (p, (dim, _)) in pairs() {
            let (p, dim) = (p.substitute(&round), Idx::sym(dim.clone()));
            if p != dim {
                here = chain::and(here, Elem::index_compare(CmpOp::Eq, p, dim));
            }
        }
        Some((here, with))
    }

    /// The same, what stood at the place before the round by its name.
    fn in_place(&mut self, array: &Sym, e: &ElemRef, place: &Idx, old: &ElemRef) -> ElemRef {
        let Some(token) = self.tokens.get(array).cloned() else {
            return e.clone();
        };
        self.named(e, &token, place, old)
    }

    fn named(&mut self, e: &ElemRef, token: &Sym, place: &Idx, old: &ElemRef) -> ElemRef {
        match &**e {
            Elem::Read { array, index, .. } if array == token => {
                match self.exec.ctx.proves(CmpOp::Eq, index, place) {
                    true => old.clone(),
                    false => e.clone(),
                }
            }
            Elem::Select(c, t, f) => {
                let c = self.named(c, token, place, old);
                let mark = self.exec.ctx.mark();
                self.exec.ctx.assume(c.clone());
                let t = self.named(t, token, place, old);
                self.exec.ctx.forget(mark);
                self.exec.ctx.assume(Elem::not(c.clone()));
                let f = self.named(f, token, place, old);
                self.exec.ctx.forget(mark);
                Elem::select(c, t, f)
            }
            _ => {
                let children = e.children().into_iter();
                let children: Vec<ElemRef> =
                    children.map(|c| self.named(c, token, place, old)).collect();
                let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
                e.rebuild(&children, &indices)
            }
        }
    }
}

/// The size that a kernel is given and never looks at: what else than the length of what it can't see the length of, as the
/// number of rows where `y[row[k]] += a[k] * x[j]` goes over columns. (In a round of a loop over these, that may be how many
/// columns there are: matrices are square more often than not.) Before each call a guard looks whether it is.
fn size_without_use(kernel: &loopir::Function) -> Option<Idx> {
    let mut used = BTreeSet::new();
    visit(&kernel.body, &mut |part| {
        if let Visited::Expr(Expr::Var(name, _)) = part {
            used.insert(name.clone());
        }
    });
    let size = kernel.params.iter().find_map(|p| match p {
        Param::Scalar { name, ty } if ty.is_int() && !used.contains(name) => Some(name),
        _ => None,
    });
    size.map(|name| Idx::sym(name.clone()))
}

/// Rows that follow each other without a gap, as one.
fn in_one_row((loops, index): &Places) -> Option<Places> {
    let [_, _, ..] = loops.as_slice() else {
        return None;
    };
    let (mut length, mut rest) = (Idx::constant(1), index.clone());
    for (var, extent) in loops.iter().rev() {
        let (stride, others) = rest.linear_in(var)?;
        if !canon::idx(&(&stride - &length)).is_zero() {
            return None;
        }
        (length, rest) = (&length * extent, others);
    }
    let place: Sym = "place".into();
    Some((vec![(place.clone(), length)], &rest + &Idx::sym(place)))
}

/// One row as rows that are as long as a write's own loops are.
fn in_rows((loops, index): &Places, leaf: &Leaf) -> Option<Places> {
    let ([(var, extent)], false) = (loops.as_slice(), leaf.loops.is_empty()) else {
        return None;
    };
    let lengths = leaf.loops.iter().map(|(_, n)| n);
    let length = lengths.fold(Idx::constant(1), |all, n| &all * n);
    let (rows, rest) = divide(extent, &length);
    if !rest.is_zero() {
        return None;
    }
    let row: Sym = "row".into();
    let mut place = Idx::sym(row.clone());
    let mut dims = vec![(row, rows)];
    for (v, n) in &leaf.loops {
        place = &(&place * n) + &Idx::sym(v.clone());
        dims.push((v.clone(), n.clone()));
    }
    Some((dims, index.replace(var, &place)))
}

/// What an index lies before by a condition on it: `p >= 0` says `index < index + p + 1`.
fn limits_in(condition: &ElemRef, index: &Idx, out: &mut Vec<Idx>) {
    if let Elem::IndexCompare(CmpOp::Ge, p, q) = &**condition {
        out.push(canon::idx(&(&(index + &(p - q)) + &Idx::constant(1))));
    }
}

/// What an index lies before by what it is: `min(i, n - 1)` before `n`.
fn limits_of(index: &Idx, out: &mut Vec<Idx>) {
    for atom in index.terms().flat_map(|(m, _)| m) {
        match atom {
            Atom::Min(a, b) | Atom::Max(a, b) => {
                out.extend([a, b].map(|side| &**side + &Idx::constant(1)));
                [a, b].into_iter().for_each(|side| limits_of(side, out));
            }
            _ => {}
        }
    }
}

fn is_quotient(atom: &Atom) -> bool {
    matches!(atom, Atom::FloorDiv(..) | Atom::Mod(..))
}
