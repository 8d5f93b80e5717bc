//! Results that wait: what would overwrite elements that are still to be read is computed into memory of its own, and
//! stored from there once all of it has been computed.

use super::nest::{Nest, Stored, Target, check_alone, order, reads_any};
use super::running;
use super::sparing::stores_extreme;
use crate::Unsupported;
use crate::names::Names;
use tensorize_ir::element::{Elem, ElemRef};
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Memory that the function asks for at each call.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) name: Sym,
    pub(super) elem: ScalarType,
    /// How many elements.
    pub(super) len: Idx,
    /// Whether what waits in it is the least or the greatest of that and of what stands where it is to go.
    pub(super) of_old: bool,
}

/// The nests, with as few of them split in two as it takes, in an order in which each finds what it reads.
pub(super) fn waiting(
    single: Vec<Nest>,
    mut names: Names,
) -> Result<(Vec<Nest>, Vec<Memory>), Unsupported> {
    let mut memory = Vec::new();
    let mut nests = Vec::new();
    let results = single.iter().flat_map(|n| &n.results);
    let stored: Vec<Sym> = results.map(|t| t.array.clone()).collect();
    for nest in single {
        let mut alone = nest.clone();
        running::arrange(&mut alone);
        match check_alone(&alone) {
            Ok(()) => nests.push(nest),
            Err(why) => nests.extend(split(&nest, &stored, &mut names, &mut memory).ok_or(why)?),
        }
    }
    loop {
        let own: Vec<Sym> = memory.iter().map(|m| m.name.clone()).collect();
        let why = match order(nests.clone(), &own) {
            Ok(sorted) => return Ok((sorted, memory)),
            Err(why) => why,
        };
        let theirs = |n: &Nest| {
            let reads = |t: &Target| own.iter().any(|m| t.reads(m));
            let writes = |t: &Target| own.contains(&t.array);
            !n.results.iter().any(|t| reads(t) || writes(t))
        };
        let at = nests.iter().position(theirs).ok_or_else(|| why.clone())?;
        let two = split(&nests[at], &stored, &mut names, &mut memory).ok_or(why)?;
        nests.splice(at..=at, two);
    }
}

/// A nest that computes the values, and one that stores them. (`stored` are all arrays that the kernel stores to.)
fn split(
    nest: &Nest,
    stored: &[Sym],
    names: &mut Names,
    memory: &mut Vec<Memory>,
) -> Option<[Nest; 2]> {
    let [result] = nest.results.as_slice() else {
        return None;
    };
    if nest.extents.iter().any(Idx::has_values) {
        return None;
    }
    let (mut index, mut len) = (Idx::default(), Idx::constant(1));
    for (dim, extent) in nest.dims.iter().zip(&nest.extents) {
        index = &(&index * extent) + &Idx::sym(dim.clone());
        len = &len * extent;
    }
    let mut room = Room {
        names,
        array: &result.array,
        stored: stored.iter().collect(),
        index,
        len,
        memory: Vec::new(),
        computed: Vec::new(),
    };
    let store = one_condition(&result.store);
    let of_old = stores_extreme(&store, &result.old());
    let there = room.keep("new", &result.value, store.clone(), of_old);
    let store = Target {
        store: room.taken_from(&store, &there, &|s| s)?,
        value: there,
        ..result.clone()
    };
    memory.extend(room.memory);
    Some([room.computed, vec![store]].map(|results| Nest {
        results,
        ..nest.clone()
    }))
}

/// The same store with one condition for two without which nothing is stored: of that, one byte tells whether it held.
fn one_condition(store: &Stored) -> Stored {
    let Stored::If(outer, then, otherwise) = store else {
        return store.clone();
    };
    if let (Stored::If(inner, value, other), Stored::Never) = (&one_condition(then), &**otherwise)
        && matches!(**other, Stored::Never)
    {
        let never = Elem::constant(Scalar::bool(false));
        let both = Elem::select(outer.clone(), inner.clone(), never);
        return Stored::If(both, value.clone(), Box::new(Stored::Never));
    }
    store.clone()
}

/// What a nest keeps of each round until all of it has been computed.
struct Room<'a> {
    names: &'a mut Names,
    array: &'a Sym,
    /// All arrays that are stored to.
    stored: Vec<&'a Sym>,
    index: Idx,
    len: Idx,
    memory: Vec<Memory>,
    computed: Vec<Target>,
}

impl Room<'_> {
    /// Memory for a value, and how it is read there.
    fn keep(&mut self, what: &str, value: &ElemRef, store: Stored, of_old: bool) -> ElemRef {
        let name: Sym = self.names.fresh(&format!("{what}_{}", self.array)).into();
        let elem = value.ty();
        let there = Elem::read(name.clone(), elem, self.index.clone());
        self.computed.push(Target {
            array: name.clone(),
            index: self.index.clone(),
            value: value.clone(),
            store,
            always: false,
        });
        let len = self.len.clone();
        self.memory.push(Memory {
            name,
            elem,
            len,
            of_old,
        });
        there
    }

    /// The same store of a value that stands there, under conditions that are kept as well if they look at what is
    /// overwritten, here or elsewhere.
    /// (`within` says where: what is looked at under a condition is kept under that, too.)
    fn taken_from(
        &mut self,
        store: &Stored,
        there: &ElemRef,
        within: &dyn Fn(Stored) -> Stored,
    ) -> Option<Stored> {
        Some(match store {
            Stored::Never => Stored::Never,
            Stored::Always(_) => Stored::Always(there.clone()),
            Stored::Changed(_) => Stored::Changed(there.clone()),
            Stored::If(c, t, f) => {
                let kept = match reads_any(c, &self.stored) {
                    true => {
                        let kept = Elem::convert(ScalarType::U8, c.clone());
                        let kept = self.keep(
                            "whether",
                            &kept,
                            within(Stored::Always(kept.clone())),
                            false,
                        );
                        let zero = Elem::constant(Scalar::zero(ScalarType::U8));
                        Elem::compare(CmpOp::Ne, kept, zero)
                    }
                    false => c.clone(),
                };
                let never = || Box::new(Stored::Never);
                let then = |s| within(Stored::If(c.clone(), Box::new(s), never()));
                let t = self.taken_from(t, there, &then)?;
                let otherwise = |s| within(Stored::If(c.clone(), never(), Box::new(s)));
                let f = self.taken_from(f, there, &otherwise)?;
                Stored::If(kept, Box::new(t), Box::new(f))
            }
            Stored::Rounds(..) => return None,
        })
    }
}
