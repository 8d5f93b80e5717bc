//! Inputs to run kernels on: random ones with the edges of every type, and all the small ones.
//!
//! Everything is a function of a seed, so that a difference seen once is seen again.

use crate::element::{Elem, ElemRef, Env, Evaluator, eval_index};
use crate::guard::{Footprint, Guard};
use crate::index::{Idx, Sym};
use crate::loopir::{self, Expr, Param, Visited};
use crate::memory::{Buffer, Inputs};
use crate::scalar::{Scalar, ScalarType};
use std::collections::{BTreeMap, BTreeSet};

mod exhaustive;
mod values;

pub use exhaustive::{Exhaustive, Limits};
pub use values::{Palette, Rng, edge_values, small_values};

/// What is known of a kernel's inputs.
#[derive(Clone, Debug)]
pub struct Spec {
    params: Vec<Param>,
    guards: Vec<Guard>,
    /// `None`: nobody knows which elements are touched.
    footprints: Option<BTreeMap<Sym, (Idx, Idx)>>,
    /// Integer parameters that an extent or a guard speaks of.
    sizes: BTreeSet<Sym>,
    /// Arrays whose elements decide how far others reach, or whether a guard holds.
    indices: BTreeSet<Sym>,
    /// Floats that decide so.
    places: BTreeSet<Sym>,
    /// Numbers that the kernel may treat in a way of its own.
    constants: BTreeSet<i128>,
    /// The same, of floats.
    floats: Vec<f64>,
    /// No random input has more elements than this, if there are any that have fewer.
    pub max_elements: usize,
}

/// One input, and the seed that elements beyond it come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The arguments.
    pub inputs: Inputs,
    /// See [`Palette::element`].
    pub seed: u64,
    /// Which values the input is made of.
    pub palette: Palette,
}

/// Lengths that find mistakes: none, one, odd ones, one more than a vector of 16 or 32.
const LENGTHS: [i128; 12] = [0, 1, 2, 3, 4, 5, 7, 8, 17, 31, 33, 64];

/// Indices that are read from memory are below this, so that what they lead to is small.
const SMALL_INDICES: u64 = 24;

/// Lengths that need more than one round of every unrolled, vectorised or parallel loop.
const LARGE_LENGTHS: [i128; 8] = [65, 100, 127, 128, 129, 257, 1000, 4099];

impl Spec {
    /// For a kernel of which nothing but the parameters is known. Arrays start out empty, for a
    /// run to let them grow.
    pub fn unknown(params: &[Param]) -> Spec {
        Spec {
            params: params.to_vec(),
            guards: Vec::new(),
            footprints: None,
            sizes: BTreeSet::new(),
            indices: BTreeSet::new(),
            places: BTreeSet::new(),
            constants: BTreeSet::new(),
            floats: Vec::new(),
            max_elements: 1 << 14,
        }
    }

    /// For a kernel of which only the guards are known.
    pub fn guarded(params: &[Param], guards: &[Guard]) -> Spec {
        Spec {
            footprints: None,
            ..Spec::known(params, guards, &[])
        }
    }

    /// For a kernel with a proof. An array without a footprint is not touched.
    pub fn known(params: &[Param], guards: &[Guard], footprints: &[Footprint]) -> Spec {
        let mut spec = Spec::unknown(params);
        let mut polynomials = Vec::new();
        let mut extents: BTreeMap<Sym, (Idx, Idx)> = BTreeMap::new();
        for Footprint { extent, .. } in footprints {
            polynomials.extend([extent.lo.clone(), extent.hi.clone()]);
            extents
                .entry(extent.array.clone())
                .and_modify(|(lo, hi)| {
                    *lo = lo.minimum(&extent.lo);
                    *hi = hi.maximum(&extent.hi);
                })
                .or_insert((extent.lo.clone(), extent.hi.clone()));
        }
        for g in guards {
            match g {
                Guard::NonNegative(idx) | Guard::Fits(idx, _) => polynomials.push(idx.clone()),
                // Buffers are apart by construction.
                Guard::Disjoint(..) => {}
            }
        }
        for p in &polynomials {
            p.for_each_sym(&mut |s| {
                spec.sizes.insert(s.clone());
            });
            for (_, c) in p.terms() {
                spec.note_constant(c);
            }
            p.for_each_value(&mut |e| {
                for_each_array(e, &mut |a| {
                    spec.indices.insert(a.clone());
                });
                e.visit(&mut |x| {
                    if let Elem::Param(name, ty) = &**x
                        && ty.is_float()
                    {
                        spec.places.insert(name.clone());
                    }
                });
            });
        }
        spec.guards = guards.to_vec();
        spec.footprints = Some(extents);
        spec
    }

    /// Takes the literals of the kernel to be numbers worth a try.
    pub fn with_constants_of(mut self, kernel: &loopir::Function) -> Spec {
        loopir::visit(&kernel.body, &mut |part| {
            if let Visited::Expr(Expr::Const(v)) = part {
                match v.ty.is_float() {
                    true if !self.floats.contains(&v.as_f64()) => self.floats.push(v.as_f64()),
                    true => {}
                    false => self.note_constant(v.as_int()),
                }
            }
        });
        self
    }

    fn note_constant(&mut self, c: i128) {
        // 0 and 1 are tried anyway.
        if (2..=300).contains(&c.abs()) && self.constants.len() < 64 {
            self.constants
                .extend([c.abs() - 1, c.abs(), c.abs() + 1, -c.abs()]);
        }
    }

    /// The kernel's parameters.
    pub fn params(&self) -> &[Param] {
        &self.params
    }

    /// Whether those guards hold that speak of scalar arguments alone. Buffers are apart by construction.
    pub fn admits(&self, scalars: &BTreeMap<Sym, Scalar>) -> bool {
        let nothing = |_: &Sym, _: i128| None;
        self.guards
            .iter()
            .filter(|g| !g.looks_at_data())
            .all(|g| holds(g, &|idx| eval(idx, scalars, &nothing)))
    }

    /// Whether those guards hold that speak of what is in memory; `read` answers with an array's element.
    pub fn admits_data(
        &self,
        scalars: &BTreeMap<Sym, Scalar>,
        read: &dyn Fn(&Sym, i128) -> Option<Scalar>,
    ) -> bool {
        self.guards
            .iter()
            .filter(|g| g.looks_at_data())
            .all(|g| holds(g, &|idx| eval(idx, scalars, read)))
    }

    /// The same of a whole input, which takes less time.
    pub fn admits_memory(&self, inputs: &Inputs) -> bool {
        self.guards
            .iter()
            .filter(|g| g.looks_at_data())
            .all(|g| holds(g, &|idx| number(idx, inputs)))
    }

    /// Whether the kernel's footprints are known.
    pub fn knows_extents(&self) -> bool {
        self.footprints.is_some()
    }

    /// Whether no argument decides how far arrays reach.
    pub fn is_fixed(&self) -> bool {
        self.knows_extents() && self.sizes.is_empty() && self.indices.is_empty()
    }

    /// First element and one past the last one that the array has for these scalar arguments and the contents
    /// of the arrays that decide about it; `None` if nobody knows.
    pub fn extent(&self, array: &Sym, inputs: &Inputs) -> Option<(i64, i64)> {
        let Some((lo, hi)) = self.footprints.as_ref()?.get(array) else {
            return Some((0, 0));
        };
        let lo = i64::try_from(number(lo, inputs)?).ok()?;
        let hi = i64::try_from(number(hi, inputs)?).ok()?;
        Some(if hi > lo { (lo, hi) } else { (0, 0) })
    }

    /// An element of an input: what the palette says, but small where it is an index.
    pub fn element(
        &self,
        palette: Palette,
        seed: u64,
        array: &Sym,
        ty: ScalarType,
        index: i64,
    ) -> Scalar {
        // Every value of a byte is an index that is small enough; half of the inputs have smaller ones, as guards may ask for.
        let any_byte = ty == ScalarType::U8 && values::mix(seed ^ 0xb17e) & 1 == 0;
        if ty.is_int() && !any_byte && self.indices.contains(array) {
            let mut rng = Rng::new(seed ^ values::mix(index as u64));
            return Scalar::int(ty, rng.below(SMALL_INDICES).into());
        }
        palette.element(seed, array, ty, index)
    }

    /// The arrays in an order in which each comes after those that decide how far it reaches.
    fn in_order(&self) -> Vec<(&Sym, ScalarType)> {
        let mut left: Vec<(&Sym, ScalarType)> = self
            .params
            .iter()
            .filter_map(|p| match p {
                Param::Array { name, elem, .. } => Some((name, *elem)),
                Param::Scalar { .. } => None,
            })
            .collect();
        let mut ordered: Vec<(&Sym, ScalarType)> = Vec::new();
        while !left.is_empty() {
            let ready = left.iter().position(|(name, _)| {
                let ends = self.footprints.as_ref().and_then(|f| f.get(*name));
                let mut known = true;
                for idx in ends.into_iter().flat_map(|(lo, hi)| [lo, hi]) {
                    idx.for_each_value(&mut |e| {
                        for_each_array(e, &mut |a| known &= !left.iter().any(|(n, _)| *n == a));
                    });
                }
                known
            });
            // Where each waits for another there is no extent, and the input is refused.
            ordered.push(left.remove(ready.unwrap_or(0)));
        }
        ordered
    }

    /// Arrays of the right size for these scalar arguments, or `None` if that is too much or the
    /// guards don't hold. Arrays of which nobody knows the size are empty.
    pub fn with_arrays(
        &self,
        scalars: BTreeMap<Sym, Scalar>,
        element: &mut dyn FnMut(&Sym, ScalarType, i64) -> Scalar,
    ) -> Option<Inputs> {
        self.with_arrays_up_to(self.max_elements.max(1 << 22), scalars, element)
    }

    fn with_arrays_up_to(
        &self,
        max_elements: usize,
        scalars: BTreeMap<Sym, Scalar>,
        element: &mut dyn FnMut(&Sym, ScalarType, i64) -> Scalar,
    ) -> Option<Inputs> {
        if !self.admits(&scalars) {
            return None;
        }
        let mut left = max_elements;
        let mut inputs = Inputs {
            scalars,
            arrays: BTreeMap::new(),
        };
        let order = self.in_order();
        // Nothing is filled in vain, as far as sizes alone tell.
        let known = order
            .iter()
            .filter_map(|(name, _)| self.extent(name, &inputs));
        let needed = known.fold(0i64, |sum, (lo, hi)| {
            sum.saturating_add(hi.saturating_sub(lo))
        });
        if usize::try_from(needed).is_ok_and(|n| n > max_elements) {
            return None;
        }
        for (name, elem) in order {
            let (lo, hi) = match self.extent(name, &inputs) {
                Some(extent) => extent,
                None if self.knows_extents() => return None,
                None => (0, 0),
            };
            let len = usize::try_from(hi.checked_sub(lo)?).ok()?;
            left = left.checked_sub(len)?;
            let data = (lo..hi).map(|i| element(name, elem, i)).collect();
            inputs.arrays.insert(
                name.clone(),
                Buffer {
                    elem,
                    origin: -lo,
                    data,
                },
            );
        }
        if self.knows_extents() && !self.admits_memory(&inputs) {
            return None;
        }
        Some(inputs)
    }

    /// A random input, or `None` if the guards seem to admit none that is small enough.
    pub fn random(&self, seed: u64, palette: Palette) -> Option<Case> {
        let mut rng = Rng::new(seed);
        // Floats that name a place do so inside of an array by chance only, and most inputs are to have elements.
        let mut empty = None;
        let may_be_empty = self.places.is_empty() || rng.below(4) == 0;
        for attempt in 0..400u32 {
            // Equalities between sizes are met by chance only if all of them are small, or one.
            let shared = (rng.below(4) == 0).then(|| self.length(&mut rng, attempt));
            let mut scalars = BTreeMap::new();
            for p in &self.params {
                if let Param::Scalar { name, ty } = p {
                    let value = self.scalar(name, *ty, shared, &mut rng, attempt, palette);
                    scalars.insert(name.clone(), value);
                }
            }
            let element = &mut |array: &Sym, ty, i| self.element(palette, seed, array, ty, i);
            // A kernel may have arrays of a fixed size that is large.
            let max_elements = if attempt < 300 && !self.is_fixed() {
                self.max_elements
            } else {
                self.max_elements.max(1 << 20)
            };
            if let Some(inputs) = self.with_arrays_up_to(max_elements, scalars, element) {
                let case = Case {
                    inputs,
                    seed,
                    palette,
                };
                let has_elements = (case.inputs.arrays.values()).any(|b| !b.data.is_empty());
                if may_be_empty || has_elements {
                    return Some(case);
                }
                empty = Some(case);
            }
        }
        empty
    }

    /// `count` random inputs; fewer if the guards seem to admit none.
    pub fn sample(&self, seed: u64, count: usize, palette: Palette) -> impl Iterator<Item = Case> {
        (0..count as u64).filter_map(move |i| {
            // The first ones have few elements, so that a difference is small from the start.
            self.random(values::mix(seed ^ values::mix(i)), palette)
        })
    }

    /// Up to `count` inputs with long arrays of tame values.
    pub fn sample_large(&self, seed: u64, count: usize) -> Vec<Case> {
        let mut rng = Rng::new(seed);
        let mut cases = Vec::new();
        for _ in 0..count * 20 {
            if cases.len() == count {
                break;
            }
            let mut scalars = BTreeMap::new();
            let shared = LARGE_LENGTHS[rng.below(LARGE_LENGTHS.len() as u64) as usize];
            for p in &self.params {
                if let Param::Scalar { name, ty } = p {
                    let value = match self.sizes.contains(name) {
                        true if rng.below(2) == 0 => Scalar::int(*ty, shared.min(ty.max_value())),
                        true => Scalar::int(
                            *ty,
                            rng.pick(&LARGE_LENGTHS).min(&ty.max_value()).to_owned(),
                        ),
                        false => self.number(*ty, &mut rng, Palette::Tame),
                    };
                    scalars.insert(name.clone(), value);
                }
            }
            let (seed, palette) = (rng.bits(), Palette::Tame);
            let element = &mut |array: &Sym, ty, i| self.element(palette, seed, array, ty, i);
            if let Some(inputs) = self.with_arrays_up_to(1 << 18, scalars, element) {
                cases.push(Case {
                    inputs,
                    seed,
                    palette,
                });
            }
        }
        cases
    }

    fn scalar(
        &self,
        name: &Sym,
        ty: ScalarType,
        shared: Option<i128>,
        rng: &mut Rng,
        attempt: u32,
        palette: Palette,
    ) -> Scalar {
        if self.places.contains(name) && rng.below(2) == 0 {
            let place = self.length(rng, attempt) as f64 + 0.25 * rng.below(4) as f64;
            return match ty {
                ScalarType::F32 => Scalar::f32(place as f32),
                _ => Scalar::f64(place),
            };
        }
        if ty.is_float() || ty == ScalarType::I1 {
            return self.number(ty, rng, palette);
        }
        let is_size = self.sizes.contains(name) || self.footprints.is_none() && rng.below(6) > 0;
        if !is_size {
            return match rng.below(4) {
                0 if !self.constants.is_empty() => Scalar::int(ty, *rng.pick_of(&self.constants)),
                1 => Scalar::int(ty, self.length(rng, attempt)),
                _ => palette.value(ty, rng),
            };
        }
        let value = shared.unwrap_or_else(|| self.length(rng, attempt));
        // A length that the type can't hold would wrap to something else.
        Scalar::int(ty, value.clamp(ty.min_value(), ty.max_value()))
    }

    /// A number that is no length: now and then one that the kernel compares with, as in `beta == 1`.
    fn number(&self, ty: ScalarType, rng: &mut Rng, palette: Palette) -> Scalar {
        if ty.is_float() && !self.floats.is_empty() && rng.below(4) == 0 {
            let value = *rng.pick(&self.floats);
            return match ty {
                ScalarType::F32 => Scalar::f32(value as f32),
                _ => Scalar::f64(value),
            };
        }
        palette.value(ty, rng)
    }

    fn length(&self, rng: &mut Rng, attempt: u32) -> i128 {
        match rng.below(12) {
            // After many refusals, only the small ones.
            _ if attempt > 200 => i128::from(rng.below(4)),
            0 if !self.constants.is_empty() => *rng.pick_of(&self.constants),
            1 => -1 - i128::from(rng.below(3)),
            2..=4 => LENGTHS[rng.below(LENGTHS.len() as u64) as usize],
            _ => i128::from(rng.below(6)),
        }
    }
}

fn holds(g: &Guard, value: &dyn Fn(&Idx) -> Option<i128>) -> bool {
    match g {
        Guard::NonNegative(idx) => value(idx).is_some_and(|v| v >= 0),
        Guard::Fits(idx, ty) => {
            value(idx).is_some_and(|v| (ty.min_value()..=ty.max_value()).contains(&v))
        }
        Guard::Disjoint(..) => true,
    }
}

/// A number that sizes and memory say, if it does not take too long.
fn number(idx: &Idx, inputs: &Inputs) -> Option<i128> {
    if idx.has_values() {
        return Evaluator::index(idx, inputs, &mut { MAX_NODES }).ok();
    }
    eval(idx, &inputs.scalars, &|_, _| None)
}

fn for_each_array<'a>(e: &'a ElemRef, f: &mut dyn FnMut(&'a Sym)) {
    if let Elem::Read { array, .. } = &**e {
        f(array);
    }
    for idx in e.indices() {
        idx.for_each_value(&mut |v| for_each_array(v, f));
    }
    e.children().into_iter().for_each(|c| for_each_array(c, f));
}

/// How many steps of folds in an extent or a guard are taken. What the data says may be any number, such as the end of a row,
/// and arrays that take more steps are too large.
const MAX_STEPS: i128 = 1 << 22;
/// Of a whole input, each part of an expression counts.
const MAX_NODES: u64 = 1 << 24;

/// Arguments, and a way to look into memory.
struct Arguments<'a> {
    steps: i128,
    scalars: &'a BTreeMap<Sym, Scalar>,
    read: &'a dyn Fn(&Sym, i128) -> Option<Scalar>,
}

impl Env for Arguments<'_> {
    fn sym(&self, name: &Sym) -> Option<i128> {
        let value = self.scalars.get(name).filter(|v| v.ty.is_int())?;
        Some(value.as_int())
    }

    fn param(&self, name: &Sym) -> Option<Scalar> {
        self.scalars.get(name).copied()
    }

    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        (self.read)(array, index)
    }

    fn rounds(&mut self, steps: i128) -> Option<()> {
        self.steps = self.steps.checked_sub(steps)?;
        (self.steps >= 0).then_some(())
    }
}

fn eval(
    idx: &Idx,
    scalars: &BTreeMap<Sym, Scalar>,
    read: &dyn Fn(&Sym, i128) -> Option<Scalar>,
) -> Option<i128> {
    let steps = MAX_STEPS;
    eval_index(
        idx,
        &mut Arguments {
            steps,
            scalars,
            read,
        },
    )
}

#[cfg(test)]
mod tests;
