//! An expression is a tree to those who read it, and in memory has each of its terms once: what a program has in a variable and
//! uses twice, twice. Transforms of twice that size keep it so by looking at each term once.

use super::{Elem, ElemRef};
use crate::index::Sym;
use std::collections::{HashMap, HashSet};
use std::marker::PhantomData;
use std::sync::Arc;

/// What was made of terms that occur more than once.
#[derive(Clone)]
pub struct Memo<T> {
    /// With the term, so that its address stays its own.
    known: HashMap<*const Elem, (ElemRef, T)>,
}

impl<T> Default for Memo<T> {
    fn default() -> Memo<T> {
        Memo {
            known: HashMap::new(),
        }
    }
}

impl<T: Clone> Memo<T> {
    /// What was made of this term.
    pub fn get(&self, e: &ElemRef) -> Option<T> {
        // Nobody else has it.
        if Arc::strong_count(e) == 1 {
            return None;
        }
        self.known
            .get(&Arc::as_ptr(e))
            .map(|(_, made)| made.clone())
    }

    /// Notes what was made of it.
    pub fn insert(&mut self, e: &ElemRef, made: &T) {
        // What has no parts is as fast to look at as it is to look up.
        let is_leaf = matches!(**e, Elem::Const(_) | Elem::Param(..) | Elem::Acc(..));
        if Arc::strong_count(e) > 1 && !is_leaf {
            let noted = (Arc::clone(e), made.clone());
            self.known.insert(Arc::as_ptr(e), noted);
        }
    }
}

/// Which terms of an expression have something in them, themselves or below, also inside of indices.
pub struct Has<'e, F> {
    is: F,
    /// Of terms that live as long, so that none has another one's address.
    known: HashMap<*const Elem, bool>,
    terms: PhantomData<&'e ElemRef>,
}

impl<'e, F: Fn(&ElemRef) -> bool> Has<'e, F> {
    /// What it is that terms may have.
    pub fn new(is: F) -> Has<'e, F> {
        Has {
            is,
            known: HashMap::new(),
            terms: PhantomData,
        }
    }

    /// Whether this one has it.
    pub fn is_in(&mut self, e: &'e ElemRef) -> bool {
        if let Some(has) = self.known.get(&Arc::as_ptr(e)) {
            return *has;
        }
        let mut has = (self.is)(e);
        for index in e.indices() {
            index.for_each_value(&mut |v| v.visit(&mut |x| has |= (self.is)(x)));
        }
        let has = has || e.children().into_iter().any(|c| self.is_in(c));
        self.known.insert(Arc::as_ptr(e), has);
        has
    }
}

impl Elem {
    /// Replaces leaves and whole subterms, top down, also inside of indices: where `with` answers, its
    /// answer stands, wherever the term does.
    pub fn map(self: &Arc<Self>, with: &mut dyn FnMut(&ElemRef) -> Option<ElemRef>) -> ElemRef {
        fn map(
            e: &ElemRef,
            with: &mut dyn FnMut(&ElemRef) -> Option<ElemRef>,
            known: &mut Memo<ElemRef>,
        ) -> ElemRef {
            if let Some(mapped) = known.get(e) {
                return mapped;
            }
            let mapped = with(e).unwrap_or_else(|| {
                let children = e.children().into_iter();
                let children: Vec<_> = children.map(|e| map(e, with, known)).collect();
                let indices = e.indices().into_iter();
                let indices: Vec<_> = indices
                    .map(|i| i.map_values(&mut |e| map(e, with, known)))
                    .collect();
                e.rebuild(&children, &indices)
            });
            known.insert(e, &mapped);
            mapped
        }
        map(self, with, &mut Memo::default())
    }

    /// Calls `f` for this node and every node below it, also inside of indices; once for one that is used more than once.
    pub fn visit(self: &Arc<Self>, f: &mut dyn FnMut(&ElemRef)) {
        visit_each([self], f);
    }

    /// Calls `f` for every node of the tree.
    pub fn visit_tree(self: &Arc<Self>, f: &mut dyn FnMut(&ElemRef)) {
        f(self);
        for idx in self.indices() {
            idx.for_each_value(&mut |e| e.visit_tree(f));
        }
        self.children().into_iter().for_each(|e| e.visit_tree(f));
    }

    /// Calls `f` for every name that a fold binds.
    pub(super) fn for_each_binder(&self, f: &mut dyn FnMut(&Sym)) {
        let mut of = |e: &Elem| {
            if let Elem::Fold(fold) = e {
                f(&fold.var);
                fold.lanes().for_each(|lane| f(lane.acc));
            }
        };
        of(self);
        for idx in self.indices() {
            idx.for_each_value(&mut |e| e.visit(&mut |e| of(e)));
        }
        visit_each(self.children(), &mut |e| of(e));
    }
}

/// Calls `f` for these nodes and every node below them, once for each.
fn visit_each<'e>(all: impl IntoIterator<Item = &'e ElemRef>, f: &mut dyn FnMut(&ElemRef)) {
    fn visit(e: &ElemRef, seen: &mut HashSet<*const Elem>, f: &mut dyn FnMut(&ElemRef)) {
        if Arc::strong_count(e) > 1 && !seen.insert(Arc::as_ptr(e)) {
            return;
        }
        f(e);
        for idx in e.indices() {
            idx.for_each_value(&mut |e| visit(e, seen, f));
        }
        e.children().into_iter().for_each(|e| visit(e, seen, f));
    }
    let mut seen = HashSet::new();
    all.into_iter().for_each(|e| visit(e, &mut seen, f));
}
