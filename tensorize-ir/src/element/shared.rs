//! An expression is a tree to those who read it, and in memory has each of its terms once: what a program has in a variable and
//! uses twice, twice. Transforms of twice that size keep it so by looking at each term once.

use super::{Elem, ElemRef};
use std::collections::HashMap;
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
