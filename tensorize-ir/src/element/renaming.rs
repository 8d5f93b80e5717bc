//! Substitution that keeps bound variables apart.

use super::{Elem, ElemRef, Memo};
use crate::index::{Atom, Fresh, Idx, Sym};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Substitution in progress.
pub(super) struct Renaming<'a> {
    with: &'a dyn Fn(&Sym) -> Option<Idx>,
    /// What accumulators that no fold around them binds become.
    values: Option<&'a BTreeMap<Sym, ElemRef>>,
    /// If there, every bound name is replaced.
    fresh: Option<&'a mut Fresh>,
    /// What the variables of the enclosing folds have become, innermost last.
    vars: Vec<(Sym, Sym)>,
    accs: Vec<(Sym, Sym)>,
    /// What terms have become in the fold that it is in.
    known: Memo<ElemRef>,
}

impl<'a> Renaming<'a> {
    pub(super) fn new(
        with: &'a dyn Fn(&Sym) -> Option<Idx>,
        fresh: Option<&'a mut Fresh>,
    ) -> Renaming<'a> {
        Renaming {
            with,
            values: None,
            fresh,
            vars: Vec::new(),
            accs: Vec::new(),
            known: Memo::default(),
        }
    }

    /// Replaces accumulators by values, which mention nothing that folds bind, or all of that is made fresh.
    pub(super) fn of_accs(
        values: &'a BTreeMap<Sym, ElemRef>,
        fresh: Option<&'a mut Fresh>,
    ) -> Renaming<'a> {
        Renaming {
            values: Some(values),
            ..Renaming::new(&|_| None, fresh)
        }
    }

    fn bound(scope: &[(Sym, Sym)], name: &Sym) -> Option<Sym> {
        scope
            .iter()
            .rev()
            .find(|(n, _)| n == name)
            .map(|(_, new)| new.clone())
    }

    fn idx(&mut self, idx: &Idx) -> Idx {
        idx.map_atoms(&mut |a| match a {
            Atom::Sym(s) => match Self::bound(&self.vars, s) {
                Some(new) => Some(Idx::sym(new)),
                None => (self.with)(s),
            },
            Atom::Value(e) => Some(Idx::value(self.elem(e))),
            _ => None,
        })
    }

    pub(super) fn elem(&mut self, e: &ElemRef) -> ElemRef {
        if let Some(known) = self.known.get(e) {
            return known;
        }
        let renamed = self.term(e);
        // Fresh names are everywhere others.
        if self.fresh.is_none() {
            self.known.insert(e, &renamed);
        }
        renamed
    }

    /// The same for what is reached by no `ElemRef`, or not known yet.
    pub(super) fn term(&mut self, e: &Elem) -> ElemRef {
        crate::limit::tick();
        match e {
            Elem::Acc(name, ty) => {
                if let Some(new) = Self::bound(&self.accs, name) {
                    return Arc::new(Elem::Acc(new, *ty));
                }
                let value = self.values.and_then(|values| values.get(name)).cloned();
                value.unwrap_or_else(|| Arc::new(e.clone()))
            }
            Elem::Fold(fold) => {
                let mut new = (**fold).clone();
                new.extent = self.idx(&fold.extent);
                new.init = self.elem(&fold.init);
                for (lane, old) in new.others.iter_mut().zip(&fold.others) {
                    lane.init = self.elem(&old.init);
                }
                if let Some(fresh) = &mut self.fresh {
                    (new.acc, new.var) = (fresh.name(&fold.acc), fresh.name(&fold.var));
                    for lane in &mut new.others {
                        lane.acc = fresh.name(&lane.acc);
                    }
                }
                let around = std::mem::take(&mut self.known);
                self.vars.push((fold.var.clone(), new.var.clone()));
                let outer = self.accs.len();
                for (old, lane) in fold.lanes().zip(new.lanes()) {
                    self.accs.push((old.acc.clone(), lane.acc.clone()));
                }
                new.step = self.elem(&fold.step);
                for (lane, old) in new.others.iter_mut().zip(&fold.others) {
                    lane.step = self.elem(&old.step);
                }
                self.vars.pop();
                self.accs.truncate(outer);
                self.known = around;
                Arc::new(Elem::Fold(Arc::new(new)))
            }
            _ => {
                let children: Vec<_> = e.children().into_iter().map(|c| self.elem(c)).collect();
                let indices: Vec<_> = e.indices().into_iter().map(|i| self.idx(i)).collect();
                e.rebuild(&children, &indices)
            }
        }
    }
}
