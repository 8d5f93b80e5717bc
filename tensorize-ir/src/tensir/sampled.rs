//! What a function computes at some places of a large input: by its element view, since the interpreter has to
//! compute every element of everything.

use super::interpret::{Address, check_inputs, concrete_shape, each_position, undefined};
use super::{Function, Op, Output, dim};
use crate::element::{Elem, ElemRef, Evaluator, Lack};
use crate::index::{Fresh, Idx, Sym};
use crate::inputs::Rng;
use crate::memory::Inputs;
use crate::scalar::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// How much is computed.
#[derive(Clone, Copy, Debug)]
pub struct Sampling {
    /// Which places, where it is for chance to choose.
    pub seed: u64,
    /// No more places of a result than this.
    pub places: usize,
    /// Once so many steps are taken, no place is begun.
    pub steps: u64,
    /// The first place of each result may take as many as this.
    pub patience: u64,
}

/// Some elements of the results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampled {
    /// What arrays hold afterwards: name, index, value.
    pub stored: Vec<(Sym, i128, Scalar)>,
    /// The returned value, if there is one and it does not take too long.
    pub returned: Option<Scalar>,
    /// How many elements the results have.
    pub all: u64,
    /// About how many steps all of them would take.
    pub steps_for_all: u64,
}

impl Sampled {
    /// How many elements were computed.
    pub fn count(&self) -> u64 {
        self.stored.len() as u64 + u64::from(self.returned.is_some())
    }
}

/// No more corners of a tensor, and no more seams.
const MOST_CORNERS: usize = 32;
const MOST_SEAMS: usize = 16;

/// The first element, the last one, corners, borders and seams of each dimension, and others by chance.
pub fn sample(function: &Function, inputs: &Inputs, how: &Sampling) -> Result<Sampled, String> {
    function.verify().map_err(|e| e.to_string())?;
    function.is_done_once()?;
    check_inputs(function, inputs)?;
    let seams = seams(function, inputs);
    let mut rng = Rng::new(how.seed);
    let mut left = how.steps;
    let mut sampled = Sampled::default();
    for output in &function.outputs {
        let node = output.value();
        let shape = concrete_shape(&function.nodes[node].ty.shape, inputs)?;
        let address = match output {
            Output::Store { view, .. } => Some((view, Address::new(view, inputs))),
            Output::Return { .. } => None,
        };
        let names: Vec<Sym> = (0..shape.len()).map(dim).collect();
        let symbols: Vec<Idx> = names.iter().cloned().map(Idx::sym).collect();
        let element = function.element(node, &symbols, &mut Fresh::default());
        let mut evaluator = Evaluator::new(&element, &names, inputs);
        let (mut computed, mut taken) = (0, 0);
        for position in places(&shape, &seams, how.places, &mut rng) {
            let steps = if computed == 0 { how.patience } else { left };
            let mut rest = steps;
            let value = evaluator.at(&position, &mut rest);
            taken += steps - rest;
            left = left.saturating_sub(steps - rest);
            let value = match value {
                Ok(value) => value,
                Err(Lack::Undefined) => return Err(undefined(node, &position)),
                Err(Lack::Steps) => break,
            };
            computed += 1;
            match &address {
                None => sampled.returned = Some(value),
                Some((view, address)) => {
                    let place = address
                        .at(&position)
                        .ok_or_else(|| format!("{view} has no value at {position:?}"))?;
                    sampled.stored.push((view.array.clone(), place, value));
                }
            }
        }
        let all = shape.iter().map(|&e| e as u64).product::<u64>();
        let each = taken.checked_div(computed).unwrap_or(taken);
        sampled.all += all;
        sampled.steps_for_all = (sampled.steps_for_all).saturating_add(each.saturating_mul(all));
    }
    Ok(sampled)
}

/// Which elements of the arrays the results cover. The others keep their contents.
pub fn covered(function: &Function, inputs: &Inputs) -> Result<BTreeMap<Sym, Vec<bool>>, String> {
    let mut covered: BTreeMap<Sym, Vec<bool>> = BTreeMap::new();
    for output in &function.outputs {
        let Output::Store { value, view } = output else {
            continue;
        };
        let buffer = (inputs.arrays.get(&view.array))
            .ok_or_else(|| format!("there is no array '{}'", view.array))?;
        let shape = concrete_shape(&function.nodes[*value].ty.shape, inputs)?;
        let address = Address::new(view, inputs);
        let marks = covered
            .entry(view.array.clone())
            .or_insert_with(|| vec![false; buffer.data.len()]);
        let mut outside = None;
        each_position(&shape, |position| {
            let place = address.at(position);
            let offset = place.and_then(|p| usize::try_from(p + i128::from(buffer.origin)).ok());
            match offset.and_then(|o| marks.get_mut(o)) {
                Some(mark) => *mark = true,
                None => outside = Some(position.to_vec()),
            }
        });
        if let Some(position) = outside {
            return Err(format!("{view} lies outside of the array at {position:?}"));
        }
    }
    Ok(covered)
}

/// Where one part of a tensor ends and another begins: extents of operands, and what indices are compared with.
fn seams(function: &Function, inputs: &Inputs) -> Vec<usize> {
    let mut seams = BTreeSet::new();
    let size = |idx: &Idx| inputs.number(idx);
    for node in &function.nodes {
        seams.extend(node.ty.shape.iter().filter_map(size));
        match &node.op {
            Op::Pad { low } => seams.extend(low.iter().filter_map(size)),
            Op::Slice { start, .. } => seams.extend(start.iter().filter_map(size)),
            Op::Generic(e) => e.visit(&mut |e: &ElemRef| {
                if let Elem::IndexCompare(_, a, b) = &**e {
                    let difference = a - b;
                    let mut terms = difference.terms();
                    seams.extend(terms.find(|(m, _)| m.is_empty()).map(|(_, c)| c.abs()));
                }
            }),
            _ => {}
        }
    }
    let seams = seams.into_iter().filter_map(|s| usize::try_from(s).ok());
    seams.filter(|&s| s > 1).take(MOST_SEAMS).collect()
}

/// Up to `most` positions within a shape: the first and the last one, then the others in any order.
fn places(shape: &[usize], seams: &[usize], most: usize, rng: &mut Rng) -> Vec<Vec<i128>> {
    let count = shape.iter().fold(1usize, |n, &e| n.saturating_mul(e));
    let mut found = BTreeSet::new();
    if count <= most {
        each_position(shape, |p| {
            found.insert(p.to_vec());
        });
    } else {
        corners(shape, &mut found);
        let anywhere = |rng: &mut Rng| -> Vec<i128> {
            let within = shape.iter().map(|&e| rng.below(e as u64).into());
            within.collect()
        };
        for (d, &extent) in shape.iter().enumerate() {
            for border in borders(extent, seams) {
                for _ in 0..2 {
                    let mut position = anywhere(rng);
                    position[d] = border as i128;
                    found.insert(position);
                }
            }
        }
        // Half of them, at least, are anywhere.
        for _ in 0..(most / 2).max(most.saturating_sub(found.len())) {
            found.insert(anywhere(rng));
        }
    }
    let mut ordered: Vec<_> = found.into_iter().collect();
    let last = if ordered.len() > 1 {
        ordered.pop()
    } else {
        None
    };
    for i in (2..ordered.len()).rev() {
        ordered.swap(i, 1 + rng.below(i as u64) as usize);
    }
    ordered.splice(ordered.len().min(1)..ordered.len().min(1), last);
    ordered.truncate(most);
    ordered
}

fn corners(shape: &[usize], found: &mut BTreeSet<Vec<i128>>) {
    found.insert(vec![0; shape.len()]);
    found.insert(shape.iter().map(|&e| e as i128 - 1).collect());
    for corner in 0..MOST_CORNERS {
        let end = |(d, &extent): (usize, &usize)| match corner >> d & 1 {
            1 => extent as i128 - 1,
            _ => 0,
        };
        found.insert(shape.iter().enumerate().map(end).collect());
    }
}

/// The ends of a dimension, and what lies on both sides of each seam.
fn borders(extent: usize, seams: &[usize]) -> BTreeSet<usize> {
    let seams = seams.iter().flat_map(|&s| [s - 1, s]);
    let ends = [0, 1, extent.saturating_sub(2), extent - 1];
    let within = |i: &usize| *i < extent;
    ends.into_iter().chain(seams).filter(within).collect()
}
