//! What guards that look at data before a call say where an access is made in it.

use crate::canon;
use crate::chain;
use crate::context::Context;
use crate::exec::Access;
use std::collections::BTreeMap;
use tensorize_ir::element::ElemRef;
use tensorize_ir::index::{Idx, Sym};

/// A condition that a guard says of every round of the `loops` in which loops of these lengths are entered, where the
/// conditions of the path hold.
pub(crate) struct Asked {
    pub(super) loops: Vec<(Sym, Idx)>,
    pub(super) entered: Vec<Idx>,
    pub(super) path: Vec<ElemRef>,
    pub(super) inside: ElemRef,
}

impl Context<'_> {
    /// What all guards on data say where this access is made.
    pub(crate) fn said_by_guards(&self, a: &Access) -> Vec<ElemRef> {
        self.asked.iter().flat_map(|asked| asked.of(a)).collect()
    }
}

impl Asked {
    /// What it says where an access is made: each of its rounds may be one of those around the access, of a loop that runs as
    /// often, or the first one.
    fn of(&self, a: &Access) -> Vec<ElemRef> {
        let mut said = Vec::new();
        self.in_rounds_of(a, &self.loops, &BTreeMap::new(), &mut said);
        said
    }

    /// The same, where `at` says which rounds of the loops outside of `inner` are meant.
    fn in_rounds_of(
        &self,
        a: &Access,
        inner: &[(Sym, Idx)],
        at: &BTreeMap<Sym, Idx>,
        said: &mut Vec<ElemRef>,
    ) {
        let meant = |s: &Sym| at.get(s).cloned();
        let counters = |n: &Idx| -> Vec<Idx> {
            let as_often = a.loops.iter().filter(|(_, m)| m == n);
            as_often.map(|(v, _)| Idx::sym(v.clone())).collect()
        };
        let Some(((var, extent), inner)) = inner.split_first() else {
            let is_entered = |n: &Idx| !counters(&n.substitute(&meant)).is_empty();
            let holds = |c: &ElemRef| {
                let c = c.substitute(&meant);
                a.path.contains(&c) || canon::elem(&c) == chain::truth(true)
            };
            if self.entered.iter().all(is_entered) && self.path.iter().all(holds) {
                said.push(self.inside.substitute(&meant));
            }
            return;
        };
        let mut rounds = counters(&extent.substitute(&meant));
        // There is a first one, since there is one of a loop that runs as often.
        if !rounds.is_empty() && !self.inside.mentions(var) {
            rounds.push(Idx::default());
        }
        for round in rounds {
            let mut at = at.clone();
            at.insert(var.clone(), round);
            self.in_rounds_of(a, inner, &at, said);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::element::Elem;
    use tensorize_ir::op::CmpOp;
    use tensorize_ir::scalar::ScalarType;

    type Loop = (Sym, Idx);

    fn at(name: &str) -> Idx {
        Idx::sym(name)
    }

    fn rounds(name: &str, times: &str) -> Loop {
        (name.into(), at(times))
    }

    /// `k[index] < m`
    fn below(index: Idx) -> ElemRef {
        let read = Elem::read("k", ScalarType::I32, index);
        Elem::index_compare(CmpOp::Lt, Idx::value(read), at("m"))
    }

    fn asked(loops: &[Loop], path: &[ElemRef], inside: ElemRef) -> Asked {
        Asked {
            loops: loops.to_vec(),
            entered: Vec::new(),
            path: path.to_vec(),
            inside,
        }
    }

    /// An access in these loops, under no condition.
    fn within(loops: &[Loop]) -> Access {
        Access {
            array: "t".into(),
            index: Idx::default(),
            loops: loops.to_vec(),
            path: Vec::new(),
            write: true,
        }
    }

    /// What is asked of `k[i]` in `n` rounds of `i` is known of `k[j]` in as many of `j`, of no others and under no fewer
    /// conditions.
    #[test]
    fn what_is_asked_is_known_in_rounds_that_are_as_many() {
        let (i, j) = ([rounds("i", "n")], [rounds("j", "n")]);
        let every = asked(&i, &[], below(at("i")));
        assert_eq!(every.of(&within(&i)), [below(at("i"))]);
        assert_eq!(every.of(&within(&j)), [below(at("j"))]);
        assert!(every.of(&within(&[rounds("j", "m")])).is_empty());
        assert!(every.of(&within(&[])).is_empty());
        let positive = Elem::index_compare(CmpOp::Gt, at("i"), Idx::default());
        let some = asked(&i, std::slice::from_ref(&positive), below(at("i")));
        assert!(some.of(&within(&j)).is_empty());
        let mut under = within(&i);
        under.path.push(positive);
        assert_eq!(some.of(&under), [below(at("i"))]);
    }

    /// What is asked in the first round of a loop is known where a loop that runs as often is entered.
    #[test]
    fn what_is_asked_in_a_first_round_is_known_in_all() {
        let first = Elem::index_compare(CmpOp::Eq, at("r"), Idx::default());
        let j = [rounds("j", "n")];
        let within_rounds = |times: &str| {
            let both = [rounds("r", times), rounds("i", "n")];
            asked(&both, std::slice::from_ref(&first), below(at("i"))).of(&within(&j))
        };
        assert_eq!(within_rounds("n"), [below(at("j"))]);
        assert!(within_rounds("l").is_empty());
    }

    /// Rounds within rounds, as many as the counter of those around them says.
    #[test]
    fn inner_rounds_are_as_many_by_the_outer_ones() {
        let triangle = [rounds("i", "n"), rounds("l", "i")];
        let every = asked(&triangle, &[], below(at("l")));
        let said = every.of(&within(&[rounds("j", "n"), rounds("c", "j")]));
        assert_eq!(said, [below(at("c"))]);
        let others = within(&[rounds("j", "n"), rounds("c", "i")]);
        assert!(every.of(&others).is_empty());
    }

    /// What is asked where an inner loop is entered is not known where none of its length is.
    #[test]
    fn what_is_asked_where_a_loop_is_entered() {
        let i = rounds("i", "n");
        let entered = Asked {
            entered: vec![at("w")],
            ..asked(std::slice::from_ref(&i), &[], below(at("i")))
        };
        let inside = within(&[i.clone(), rounds("c", "w")]);
        assert_eq!(entered.of(&inside), [below(at("i"))]);
        assert!(entered.of(&within(&[i])).is_empty());
    }
}
