//! What has been asked already where the same is known: one expression may ask the same in many places.

use std::collections::HashMap;
use tensorize_ir::element::ElemRef;

/// Answers kept; more are forgotten all at once.
const MOST: usize = 1 << 14;

/// Answers, by what is known where they were given: each fact and each guard that is added gets a number of its own, so that
/// the last ones' numbers stand for all that is known.
#[derive(Default)]
pub(crate) struct Answered {
    next: u64,
    facts: Vec<u64>,
    guards: u64,
    answers: HashMap<(u64, u64, ElemRef), bool>,
}

/// What was known at some point.
#[derive(Clone)]
pub(crate) struct Stamps {
    facts: Vec<u64>,
    guards: u64,
}

impl Answered {
    /// There are so many facts now, the first ones of which are those that there were.
    pub fn facts(&mut self, count: usize) {
        self.facts.truncate(count);
        while self.facts.len() < count {
            self.next += 1;
            self.facts.push(self.next);
        }
    }

    /// There is another fact, which says nothing that an answer depends on.
    pub fn fact_of_others(&mut self) {
        let last = self.facts.last().copied().unwrap_or_default();
        self.facts.push(last);
    }

    /// There is another guard.
    pub fn guard(&mut self) {
        self.next += 1;
        self.guards = self.next;
    }

    /// What is known now, to return to.
    pub fn save(&self) -> Stamps {
        Stamps {
            facts: self.facts.clone(),
            guards: self.guards,
        }
    }

    /// What was known then is what is known now.
    pub fn restore(&mut self, to: Stamps) {
        self.facts = to.facts;
        self.guards = to.guards;
    }

    /// The answer to what was asked here before.
    pub fn get(&self, goal: &ElemRef) -> Option<bool> {
        self.answers.get(&self.key(goal)).copied()
    }

    /// The answer to what is asked here.
    pub fn keep(&mut self, goal: &ElemRef, answer: bool) {
        if self.answers.len() == MOST {
            self.answers.clear();
        }
        self.answers.insert(self.key(goal), answer);
    }

    fn key(&self, goal: &ElemRef) -> (u64, u64, ElemRef) {
        let last = self.facts.last().copied().unwrap_or_default();
        (last, self.guards, goal.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::element::Elem;
    use tensorize_ir::index::Idx;
    use tensorize_ir::op::CmpOp;

    #[test]
    fn an_answer_holds_where_the_same_is_known() {
        let goal = Elem::index_compare(CmpOp::Ge, Idx::sym("n"), Idx::default());
        let mut known = Answered::default();
        known.facts(2);
        known.keep(&goal, true);
        let then = known.save();
        known.facts(3);
        assert_eq!(known.get(&goal), None, "more is known");
        known.facts(2);
        known.fact_of_others();
        assert_eq!(known.get(&goal), Some(true));
        known.facts(1);
        known.facts(2);
        assert_eq!(known.get(&goal), None, "another second fact");
        known.restore(then.clone());
        assert_eq!(known.get(&goal), Some(true));
        known.guard();
        assert_eq!(known.get(&goal), None, "another guard");
        known.restore(then);
        assert_eq!(known.get(&goal), Some(true));
    }
}
