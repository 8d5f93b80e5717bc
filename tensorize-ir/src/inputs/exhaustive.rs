//! All the small inputs.

use super::values::{Palette, Rng, mix, small_values};
use super::{Case, Spec};
use crate::index::Sym;
use crate::loopir::Param;
use crate::memory::Inputs;
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;

/// How far an exhaustive run goes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Sizes run from 0 (-1 where the guards allow it) to this.
    pub max_size: i128,
    /// The values of elements and other parameters, for each type.
    pub values: fn(ScalarType) -> Vec<Scalar>,
    /// Where the elements of one choice of sizes have more combinations than this, that many random
    /// ones stand for all.
    pub per_size: u64,
    /// At most so many combinations of scalar arguments.
    pub max_scalars: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            max_size: 3,
            values: small_values,
            per_size: 2000,
            max_scalars: 400,
        }
    }
}

/// Contents that are tried for each choice of sizes where nobody knows how long the arrays are.
const UNKNOWN_ROUNDS: u64 = 24;

/// Every small input in turn.
pub struct Exhaustive<'a> {
    spec: &'a Spec,
    limits: Limits,
    /// What [`Limits::values`] says of each array's elements.
    values: BTreeMap<ScalarType, Vec<Scalar>>,
    scalars: Vec<BTreeMap<Sym, Scalar>>,
    at: usize,
    /// Which combination of elements comes next, of how many.
    next: u64,
    complete: bool,
}

impl Spec {
    /// Every input with small sizes and a few values.
    pub fn exhaustive(&self, limits: Limits) -> Exhaustive<'_> {
        let mut complete = self.footprints.is_some();
        let mut all = vec![BTreeMap::new()];
        for p in &self.params {
            let Param::Scalar { name, ty } = p else {
                continue;
            };
            let is_size = ty.is_int()
                && *ty != ScalarType::I1
                && (self.sizes.contains(name) || self.footprints.is_none());
            let values = if is_size {
                let sizes = -1..=limits.max_size;
                let fitting = sizes.filter(|v| (ty.min_value()..=ty.max_value()).contains(v));
                fitting.map(|v| Scalar::int(*ty, v)).collect()
            } else {
                (limits.values)(*ty)
            };
            all = values
                .iter()
                .flat_map(|v| {
                    all.iter().map(|known| {
                        let mut more = known.clone();
                        more.insert(name.clone(), *v);
                        more
                    })
                })
                .collect();
            if all.len() > 20_000 {
                complete = false;
                all = thinned(all, 20_000);
            }
        }
        all.retain(|scalars| self.admits(scalars));
        if all.len() > limits.max_scalars {
            complete = false;
            all = thinned(all, limits.max_scalars);
        }
        let elems = self.params.iter().filter_map(|p| match p {
            Param::Array { elem, .. } => Some(*elem),
            Param::Scalar { .. } => None,
        });
        let values = elems.map(|ty| (ty, (limits.values)(ty))).collect();
        Exhaustive {
            spec: self,
            limits,
            values,
            scalars: all,
            at: 0,
            next: 0,
            complete,
        }
    }
}

fn thinned<T>(all: Vec<T>, keep: usize) -> Vec<T> {
    let len = all.len();
    let mut rng = Rng::new(len as u64);
    all.into_iter()
        .filter(|_| rng.below(len as u64) < keep as u64)
        .collect()
}

impl Exhaustive<'_> {
    /// Whether the inputs so far were all that there are within the limits.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// How many combinations of elements there are; `None` if more than can be counted.
    fn combinations(&self, scalars: &BTreeMap<Sym, Scalar>) -> Option<u64> {
        let mut product = 1u64;
        let sizes = Inputs {
            scalars: scalars.clone(),
            arrays: BTreeMap::new(),
        };
        for p in self.spec.params() {
            if let Param::Array { name, elem, .. } = p {
                // Where the data decides, the combinations are not the same for all of it.
                let (lo, hi) = match self.spec.extent(name, &sizes) {
                    Some(extent) => extent,
                    None if self.spec.knows_extents() => return None,
                    None => (0, 0),
                };
                let values = self.values[elem].len() as u64;
                let len = u32::try_from(hi.checked_sub(lo)?).ok()?;
                product = product.checked_mul(values.checked_pow(len)?)?;
            }
        }
        Some(product)
    }
}

impl Iterator for Exhaustive<'_> {
    type Item = Case;

    fn next(&mut self) -> Option<Case> {
        loop {
            let scalars = self.scalars.get(self.at)?.clone();
            let extents_known = self.spec.footprints.is_some() || self.values.is_empty();
            let total = self
                .combinations(&scalars)
                .filter(|t| *t <= self.limits.per_size && extents_known);
            let rounds = match total {
                Some(t) => t,
                None if extents_known => self.limits.per_size,
                // Arrays grow during the run; the seed decides what they hold.
                None => self.limits.per_size.min(UNKNOWN_ROUNDS),
            };
            if self.next == rounds {
                self.complete &= total.is_some();
                self.at += 1;
                self.next = 0;
                continue;
            }
            let mut digits = self.next;
            let seed = mix(self.next ^ mix(self.at as u64));
            let mut rng = Rng::new(seed);
            self.next += 1;
            let element = &mut |array: &Sym, ty: ScalarType, _| {
                let values = &self.values[&ty];
                let n = values.len() as u64;
                if total.is_none() {
                    let is_index = self.spec.indices.contains(array) && ty.is_int();
                    if is_index && rng.below(8) > 0 {
                        return Scalar::int(ty, rng.below(4).into());
                    }
                    return *rng.pick(values);
                }
                let digit = digits % n;
                digits /= n;
                values[digit as usize]
            };
            match self.spec.with_arrays(scalars, element) {
                Some(inputs) => {
                    return Some(Case {
                        inputs,
                        seed,
                        palette: Palette::Small,
                    });
                }
                // With other indices, it may be small enough, and meet the guards.
                None if !self.spec.indices.is_empty() => self.complete = false,
                None => {
                    self.complete = false;
                    self.at += 1;
                    self.next = 0;
                }
            }
        }
    }
}
