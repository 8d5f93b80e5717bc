//! What is worked out once for each declaration.

use super::Cursor;
use std::cell::RefCell;
use std::collections::HashMap;

/// Answers by the declaration that they are about.
pub(in crate::c) struct Once<T>(RefCell<HashMap<usize, T>>);

impl<T> Default for Once<T> {
    fn default() -> Once<T> {
        Once(RefCell::default())
    }
}

impl<T: Copy> Once<T> {
    /// The answer for this declaration, which is worked out if nobody has asked before.
    pub fn of(&self, declaration: Cursor<'_>, answer: impl FnOnce() -> T) -> T {
        // Of a declaration it is clang's own.
        let key = declaration.raw.data[0] as usize;
        if let Some(known) = self.0.borrow().get(&key) {
            return *known;
        }
        let answer = answer();
        self.0.borrow_mut().insert(key, answer);
        answer
    }
}
