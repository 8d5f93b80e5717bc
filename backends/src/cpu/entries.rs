//! Terms that look at the loops around them through one byte alone, as `table[image[i]]` does: 256 values, whatever the
//! number of rounds. They are computed once each, and read from there.

use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::scalar::ScalarType;

/// A term that is one of the entries of a table.
pub(super) struct Entry {
    /// The term, in terms of the entry's number.
    pub(super) term: ElemRef,
    /// The number.
    pub(super) counter: Sym,
    /// Which entry it is.
    pub(super) at: Idx,
}

/// How many entries there are.
pub(super) const ENTRIES: i128 = 256;

impl Entry {
    /// The entry that a term is, if it mentions these counters of loops in no other way.
    pub(super) fn of(e: &ElemRef, counters: &[&Sym]) -> Option<Entry> {
        let by_round = |v: &ElemRef| counters.iter().any(|c| v.mentions(c));
        let mut bytes: Vec<ElemRef> = Vec::new();
        e.visit(&mut |x| {
            for idx in x.indices() {
                idx.for_each_value(&mut |v| {
                    if by_round(v) && !bytes.contains(v) {
                        bytes.push(v.clone());
                    }
                });
            }
        });
        let [byte] = bytes.as_slice() else {
            return None;
        };
        // No other name ends like this: those of parameters are C's, and those that are bound have a number after it.
        let counter: Sym = "entry'".into();
        let mut bound_inside = false;
        e.visit(&mut |x| {
            if let Elem::Fold(f) = &**x {
                let accs = || f.lanes().map(|l| l.acc);
                bound_inside |= byte.mentions(&f.var) || accs().any(|acc| byte.mentions(acc));
            }
        });
        if byte.ty() != ScalarType::U8 || bound_inside || e.mentions(&counter) {
            return None;
        }
        let term = numbered(e, byte, &counter);
        let at = Idx::value(byte.clone());
        (!by_round(&term)).then_some(Entry { term, counter, at })
    }
}

/// The term with the counter in place of that byte as a number.
fn numbered(e: &ElemRef, byte: &ElemRef, counter: &Sym) -> ElemRef {
    let children: Vec<ElemRef> = (e.children().into_iter())
        .map(|c| numbered(c, byte, counter))
        .collect();
    let index = |i: &Idx| {
        i.map_atoms(&mut |atom| match atom {
            Atom::Value(v) if v == byte => Some(Idx::sym(counter.clone())),
            Atom::Value(v) => Some(Idx::value(numbered(v, byte, counter))),
            _ => None,
        })
    };
    let indices: Vec<Idx> = e.indices().into_iter().map(index).collect();
    match children.is_empty() && indices.is_empty() {
        true => e.clone(),
        false => e.rebuild(&children, &indices),
    }
}
