//! An expression is a tree to those who read it, and in memory has a term once that it uses twice, as a program has it in a
//! variable. Transforms keep it so, and look at such a term once.

use super::{Elem, ElemRef};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// What was made of terms that occur more than once.
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

    /// Forgets what isn't so any more.
    pub fn retain(&mut self, is: impl Fn(&T) -> bool) {
        self.known.retain(|_, (_, made)| is(made));
    }
}

/// A transform in progress of the terms of an expression that have something in them, themselves or below, also inside of
/// indices. What becomes of these depends on what is assumed where they stand.
pub struct Transform<'e, F> {
    is: F,
    /// Which terms have it; they live as long, so that none has another one's address.
    has: HashMap<*const Elem, bool>,
    terms: PhantomData<&'e ElemRef>,
    /// What was made of terms under the assumptions of now.
    known: Memo<ElemRef>,
}

impl<'e, F: Fn(&ElemRef) -> bool> Transform<'e, F> {
    /// Of terms in which this is the case somewhere.
    pub fn new(is: F) -> Transform<'e, F> {
        Transform {
            is,
            has: HashMap::new(),
            terms: PhantomData,
            known: Memo::default(),
        }
    }

    /// What becomes of a term, if that is known: itself, if it has nothing in it.
    pub fn known(&mut self, e: &'e ElemRef) -> Option<ElemRef> {
        match self.is_in(e) {
            true => self.known.get(e),
            false => Some(e.clone()),
        }
    }

    /// Notes what becomes of it here.
    pub fn note(&mut self, e: &ElemRef, made: &ElemRef) {
        self.known.insert(e, made);
    }

    /// The same where something else is assumed.
    pub fn apart<T>(&mut self, part: impl FnOnce(&mut Self) -> T) -> T {
        let here = std::mem::take(&mut self.known);
        let done = part(self);
        self.known = here;
        done
    }

    fn is_in(&mut self, e: &'e ElemRef) -> bool {
        if let Some(has) = self.has.get(&Arc::as_ptr(e)) {
            return *has;
        }
        let mut has = (self.is)(e);
        for index in e.indices() {
            index.for_each_value(&mut |v| v.visit(&mut |x| has |= (self.is)(x)));
        }
        let has = has || e.children().into_iter().any(|c| self.is_in(c));
        self.has.insert(Arc::as_ptr(e), has);
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
}
