//! The form that a kernel would have had without hand optimisation: unrolled loops and their tails as one loop,
//! tiles as whole rows, several accumulators as one.
//!
//! These are guesses like everything in this crate. They keep the order of float operations, so that they can be
//! proven bit for bit; what is left as it is was not recognised.

use crate::raise::Closed;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::BinOp;
use tensorize_ir::tensir::{View, dim};
use tensorize_prove::canon;
use tensorize_prove::regroup::{gathered, operands, range_end, tile_length};

/// More steps at a time than anybody unrolls by hand.
const MOST: usize = 16;

/// The results without hand optimisation; `None` if nothing was recognised.
pub fn natural(results: &[Closed]) -> Option<Vec<Closed>> {
    let mut out: Vec<Closed> = results
        .iter()
        .map(|r| match r {
            Closed::Return(v) => Closed::Return(value(v)),
            Closed::Store {
                shape,
                view,
                value: v,
            } => Closed::Store {
                shape: shape.clone(),
                view: view.clone(),
                value: value(v),
            },
        })
        .collect();
    while let Some(merged) = interleaved(&out).or_else(|| side_by_side(&out)) {
        out = merged;
    }
    // What is stored twice.
    let mut once: Vec<Closed> = Vec::new();
    for result in out {
        if !once.contains(&result) {
            once.push(result);
        }
    }
    (once != results).then_some(once)
}

/// A value, its folds regrouped.
fn value(e: &ElemRef) -> ElemRef {
    let children: Vec<ElemRef> = e.children().into_iter().map(value).collect();
    let indices: Vec<Idx> = e
        .indices()
        .into_iter()
        .map(|i| i.map_values(&mut value))
        .collect();
    let mut e = e.rebuild(&children, &indices);
    if let Elem::Binary(op, ..) = &*e
        && let Some(one) = gathered(&e, *op, Tier::Exact)
    {
        e = one;
    }
    let Elem::Fold(f) = &*e else { return e };
    if !f.others.is_empty() {
        return e;
    }
    let f = tiles(f).or_else(|| unrolled(f)).unwrap_or((**f).clone());
    Arc::new(Elem::Fold(Arc::new(joined(&f).unwrap_or(f))))
}

/// Tiles: the loop over them and the one inside of a tile as one.
fn tiles(f: &Fold) -> Option<Fold> {
    let Elem::Fold(inner) = &*f.step else {
        return None;
    };
    let goes_on = matches!(&*inner.init, Elem::Acc(n, _) if *n == f.acc)
        && inner.others.is_empty()
        && !inner.step.mentions(&f.acc);
    if !goes_on || !inner.extent.mentions(&f.var) {
        return None;
    }
    let t = tile_length(&inner.extent, &f.var)?;
    // As far as all tiles together reach: the last one's end.
    let last = &f.extent - &Idx::constant(1);
    let end = &(&t * &last) + &inner.extent.replace(&f.var, &last);
    let end = range_end(&inner.extent, &f.var, &t).unwrap_or(end);
    let j = Idx::sym(inner.var.clone());
    let tile = j.floor_div(&t);
    let step = inner.step.substitute(&|s| match s {
        s if *s == f.var => Some(tile.clone()),
        s if *s == inner.var => Some(&j - &(&t * &tile)),
        _ => None,
    });
    Some(Fold {
        acc: inner.acc.clone(),
        var: inner.var.clone(),
        extent: end,
        init: f.init.clone(),
        step: canon_indices(&step),
        order: f.order,
        others: vec![],
    })
}

fn canon_indices(e: &ElemRef) -> ElemRef {
    let children: Vec<ElemRef> = e.children().into_iter().map(canon_indices).collect();
    let indices: Vec<Idx> = e.indices().into_iter().map(canon::idx).collect();
    e.rebuild(&children, &indices)
}

/// A step that is several steps of one kind: `acc ∘ x(2k) ∘ x(2k + 1)`.
fn unrolled(f: &Fold) -> Option<Fold> {
    let op = f.step_operator()?;
    let ty = f.init.ty();
    let regroups = op.is_commutative() && op.is_associative(ty);
    let is_acc = |e: &ElemRef| matches!(&**e, Elem::Acc(n, _) if *n == f.acc);
    let mut terms = Vec::new();
    if regroups {
        operands(&f.step, op, &mut terms);
        let at = terms.iter().position(is_acc)?;
        terms.remove(at);
    } else {
        spine(&f.step, op, &is_acc, &mut terms)?;
    }
    let t = terms.len();
    if !(2..=MOST).contains(&t) || terms.iter().any(|x| x.mentions(&f.acc)) {
        return None;
    }
    let bases = if regroups { t } else { 1 };
    let x = terms[..bases]
        .iter()
        .find_map(|base| from_first(base, &terms, &f.var, regroups))?;
    let acc: ElemRef = Arc::new(Elem::Acc(f.acc.clone(), ty));
    Some(Fold {
        extent: &f.extent * &Idx::constant(t as i128),
        step: Elem::binary(op, acc, x),
        ..f.clone()
    })
}

/// The operands in the order in which a left-associative chain takes them.
fn spine(
    e: &ElemRef,
    op: BinOp,
    is_acc: &dyn Fn(&ElemRef) -> bool,
    out: &mut Vec<ElemRef>,
) -> Option<()> {
    if is_acc(e) {
        return Some(());
    }
    let Elem::Binary(o, a, b) = &**e else {
        return None;
    };
    if *o != op {
        return None;
    }
    spine(a, op, is_acc, out)?;
    out.push(b.clone());
    Some(())
}

/// `x` such that the terms are x(t·k), x(t·k + 1), …, of which `base` is the first.
fn from_first(base: &ElemRef, terms: &[ElemRef], k: &Sym, any_order: bool) -> Option<ElemRef> {
    let t = terms.len();
    let x = scaled(base, k, t as i128)?;
    let mut left: Vec<ElemRef> = terms.iter().map(canon::elem).collect();
    for c in 0..t {
        let at = &(&Idx::constant(t as i128) * &Idx::sym(k.clone())) + &Idx::constant(c as i128);
        let expected = canon::elem(&x.replace(k, &at));
        let found = if any_order {
            left.iter().position(|y| *y == expected)?
        } else {
            0
        };
        if left.remove(found) != expected {
            return None;
        }
    }
    Some(x)
}

/// `e` with `t·k` in the place of which `k` comes; `None` if `k` occurs otherwise.
fn scaled(e: &ElemRef, k: &Sym, t: i128) -> Option<ElemRef> {
    let children: Vec<ElemRef> = e
        .children()
        .into_iter()
        .map(|c| scaled(c, k, t))
        .collect::<Option<_>>()?;
    let indices: Vec<Idx> = e
        .indices()
        .into_iter()
        .map(|i| scaled_idx(i, k, t))
        .collect::<Option<_>>()?;
    Some(e.rebuild(&children, &indices))
}

fn scaled_idx(i: &Idx, k: &Sym, t: i128) -> Option<Idx> {
    if !i.mentions(k) {
        return Some(i.clone());
    }
    let (slope, rest) = i.linear_in(k)?;
    if slope.terms().any(|(_, c)| c % t != 0) {
        return None;
    }
    let slope = Idx::from_terms(slope.terms().map(|(m, c)| (m.to_vec(), c / t)));
    Some(&rest + &(&slope * &Idx::sym(k.clone())))
}

/// A fold that goes on where the one before it ended.
fn joined(f: &Fold) -> Option<Fold> {
    let Elem::Fold(before) = &*f.init else {
        return None;
    };
    if !before.others.is_empty() || before.order != f.order {
        return None;
    }
    let acc: ElemRef = Arc::new(Elem::Acc(before.acc.clone(), before.init.ty()));
    let own = f
        .step
        .replace(&f.var, &Idx::sym(before.var.clone()))
        .replace_accs(&[(f.acc.clone(), acc)].into());
    let later = &Idx::sym(before.var.clone()) + &before.extent;
    // Either of them may be the one that is written without an offset.
    let whole = &before.extent + &f.extent;
    let follows = canon::elem(&before.step.replace(&before.var, &later)) == canon::elem(&own);
    follows.then(|| Fold {
        extent: whole,
        ..(**before).clone()
    })
}

/// Stores of every t-th element each, that together leave no gap, as one store.
fn interleaved(results: &[Closed]) -> Option<Vec<Closed>> {
    for (i, r) in results.iter().enumerate() {
        let Closed::Store { shape, view, value } = r else {
            continue;
        };
        for d in 0..shape.len() {
            let name = dim(d);
            let Some(t) = view
                .index
                .linear_in(&name)
                .and_then(|(slope, _)| slope.as_constant())
                .filter(|t| (2..=MOST as i128).contains(t))
            else {
                continue;
            };
            let Some(x) = scaled(value, &name, t) else {
                continue;
            };
            let group: Option<Vec<usize>> = (0..t)
                .map(|c| {
                    let c = Idx::constant(c);
                    let at = &(&Idx::constant(t) * &Idx::sym(name.clone())) + &c;
                    let expected = canon::elem(&x.replace(&name, &at));
                    results.iter().position(|other| match other {
                        Closed::Store {
                            shape: s,
                            view: v,
                            value: y,
                        } => {
                            s == shape
                                && v.array == view.array
                                && v.index == &view.index + &c
                                && canon::elem(y) == expected
                        }
                        Closed::Return(_) => false,
                    })
                })
                .collect();
            let Some(group) = group else { continue };
            let mut shape = shape.clone();
            shape[d] = &shape[d] * &Idx::constant(t);
            let whole = Closed::Store {
                shape,
                view: View {
                    array: view.array.clone(),
                    index: scaled_idx(&view.index, &name, t)?,
                },
                value: x,
            };
            return Some(replaced(results, &group, i, whole));
        }
    }
    None
}

/// The results without those of the group, and the new one where the first of them was.
fn replaced(results: &[Closed], group: &[usize], at: usize, new: Closed) -> Vec<Closed> {
    let mut out = Vec::new();
    for (i, r) in results.iter().enumerate() {
        if i == at {
            out.push(new.clone());
        } else if !group.contains(&i) {
            out.push(r.clone());
        }
    }
    out
}

/// Two stores, one of which goes on where the other ends, as one.
fn side_by_side(results: &[Closed]) -> Option<Vec<Closed>> {
    for (i, a) in results.iter().enumerate() {
        for (j, b) in results.iter().enumerate() {
            if i == j {
                continue;
            }
            if let Some(whole) = one_after_the_other(a, b) {
                return Some(replaced(results, &[i, j], i, whole));
            }
        }
    }
    None
}

fn one_after_the_other(a: &Closed, b: &Closed) -> Option<Closed> {
    let (
        Closed::Store {
            shape: s,
            view: v,
            value: x,
        },
        Closed::Store {
            shape: u,
            view: w,
            value: y,
        },
    ) = (a, b)
    else {
        return None;
    };
    if s.len() != u.len() || v.array != w.array {
        return None;
    }
    (0..s.len()).find_map(|d| {
        let others = (0..s.len()).all(|o| o == d || s[o] == u[o]);
        let name = dim(d);
        let later = &Idx::sym(name.clone()) + &s[d];
        let follows = others
            && canon::idx(&v.index.replace(&name, &later)) == canon::idx(&w.index)
            && canon::elem(&x.replace(&name, &later)) == canon::elem(y);
        follows.then(|| {
            let mut shape = s.clone();
            shape[d] = canon::idx(&(&s[d] + &u[d]));
            Closed::Store {
                shape,
                view: v.clone(),
                value: x.clone(),
            }
        })
    })
}
