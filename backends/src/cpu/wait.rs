//! Results that wait: what would overwrite elements that are still to be read is computed into memory of its own, and
//! stored from there once all of it has been computed.

use super::nest::{Nest, Stored, Target, check_alone, order};
use super::running;
use crate::Unsupported;
use crate::names::Names;
use tensorize_ir::element::Elem;
use tensorize_ir::index::{Idx, Sym};
use tensorize_ir::scalar::ScalarType;

/// Memory that the function asks for at each call.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) name: Sym,
    pub(super) elem: ScalarType,
    /// How many elements.
    pub(super) len: Idx,
}

/// The nests, with as few of them split in two as it takes, in an order in which each finds what it reads.
pub(super) fn waiting(
    single: Vec<Nest>,
    mut names: Names,
) -> Result<(Vec<Nest>, Vec<Memory>), Unsupported> {
    let mut memory = Vec::new();
    let mut nests = Vec::new();
    for nest in single {
        let mut alone = nest.clone();
        running::arrange(&mut alone);
        match check_alone(&mut alone) {
            Ok(()) => nests.push(nest),
            Err(why) => nests.extend(split(&nest, &mut names, &mut memory).ok_or(why)?),
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
        let two = split(&nests[at], &mut names, &mut memory).ok_or(why)?;
        nests.splice(at..=at, two);
    }
}

/// A nest that computes the values, and one that stores them.
fn split(nest: &Nest, names: &mut Names, memory: &mut Vec<Memory>) -> Option<[Nest; 2]> {
    let [result] = nest.results.as_slice() else {
        return None;
    };
    if nest.extents.iter().any(Idx::has_values) {
        return None;
    }
    let elem = result.value.ty();
    let name: Sym = names.fresh(&format!("new_{}", result.array)).into();
    let (mut index, mut len) = (Idx::default(), Idx::constant(1));
    for (dim, extent) in nest.dims.iter().zip(&nest.extents) {
        index = &(&index * extent) + &Idx::sym(dim.clone());
        len = &len * extent;
    }
    let there = Elem::read(name.clone(), elem, index.clone());
    let compute = Target {
        array: name.clone(),
        index,
        ..result.clone()
    };
    let store = Target {
        value: there.clone(),
        store: taken_from(&result.store, &there)?,
        ..result.clone()
    };
    memory.push(Memory { name, elem, len });
    Some([compute, store].map(|result| Nest {
        results: vec![result],
        ..nest.clone()
    }))
}

/// The same store of a value that stands there.
fn taken_from(store: &Stored, there: &tensorize_ir::element::ElemRef) -> Option<Stored> {
    Some(match store {
        Stored::Never => Stored::Never,
        Stored::Always(_) => Stored::Always(there.clone()),
        Stored::If(c, t, f) => {
            let [t, f] = [t, f].map(|s| taken_from(s, there).map(Box::new));
            Stored::If(c.clone(), t?, f?)
        }
        Stored::Rounds(..) => return None,
    })
}
