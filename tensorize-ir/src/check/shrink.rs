//! Makes a difference small: fewer elements, and zeros where the value does not matter.

use crate::inputs::Spec;
use crate::loopir::interp::Program;
use crate::memory::{Buffer, Inputs};
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;

type Found = (Inputs, String);

struct Shrinker<'a> {
    best: Found,
    spec: &'a Spec,
    runs: usize,
    differs: &'a mut dyn FnMut(&Inputs) -> Option<Found>,
}

/// The smallest input found with at most `runs` calls of `differs`.
pub(super) fn shrink(
    start: Found,
    kernel: &Program,
    spec: &Spec,
    runs: usize,
    differs: &mut dyn FnMut(&Inputs) -> Option<Found>,
) -> Found {
    let mut s = Shrinker {
        best: start,
        spec,
        runs,
        differs,
    };
    // Each pass may open the way for another.
    while s.runs > 0 && (s.scalars() | s.whole_arrays() | s.elements()) {}
    s.runs += 1;
    s.crop(kernel);
    s.best
}

impl Shrinker<'_> {
    fn attempt(&mut self, inputs: Option<Inputs>) -> bool {
        let Some(inputs) = inputs.filter(|i| *i != self.best.0) else {
            return false;
        };
        if self.runs == 0 {
            return false;
        }
        self.runs -= 1;
        match (self.differs)(&inputs) {
            Some(found) => {
                self.best = found;
                true
            }
            None => false,
        }
    }

    /// The best input with another scalar argument, its arrays cut to size. What is cut off is the end,
    /// or else the beginning.
    fn with_scalar(&self, name: &str, value: Scalar, from_end: bool) -> Option<Inputs> {
        let best = &self.best.0;
        let mut changed = best.clone();
        *changed.scalars.get_mut(name)? = value;
        let ends: BTreeMap<_, _> = best
            .arrays
            .keys()
            .filter_map(|a| Some((a, self.spec.extent(a, &changed)?.1)))
            .collect();
        let mut inputs = self
            .spec
            .with_arrays(changed.scalars, &mut |array, ty, i| {
                let old = best.arrays.get(array).and_then(|b| {
                    let old_end = b.data.len() as i64 - b.origin;
                    let cut = if from_end {
                        0
                    } else {
                        old_end - ends.get(array).unwrap_or(&old_end)
                    };
                    b.get((i + cut).into())
                });
                old.unwrap_or(Scalar::zero(ty))
            })?;
        for (array, buffer) in &mut inputs.arrays {
            if !self.spec.knows_extents()
                && let Some(old) = best.arrays.get(array)
            {
                buffer.clone_from(old);
            }
        }
        Some(inputs)
    }

    fn scalars(&mut self) -> bool {
        let mut progress = false;
        for name in self.best.0.scalars.keys().cloned().collect::<Vec<_>>() {
            loop {
                let value = self.best.0.scalars[&name];
                let step = simpler(value).into_iter().any(|v| {
                    [true, false].into_iter().any(|from_end| {
                        let inputs = self.with_scalar(&name, v, from_end);
                        self.attempt(inputs)
                    })
                });
                if !step {
                    break;
                }
                progress = true;
            }
        }
        progress
    }

    fn whole_arrays(&mut self) -> bool {
        let mut progress = false;
        for name in self.best.0.arrays.keys().cloned().collect::<Vec<_>>() {
            let mut inputs = self.best.0.clone();
            if let Some(b) = inputs.arrays.get_mut(&name) {
                b.data.fill(Scalar::zero(b.elem));
            }
            progress |= self.attempt(Some(inputs));
        }
        progress
    }

    fn elements(&mut self) -> bool {
        let mut progress = false;
        for name in self.best.0.arrays.keys().cloned().collect::<Vec<_>>() {
            let mut i = 0;
            while i < self.best.0.arrays.get(&name).map_or(0, |b| b.data.len()) && self.runs > 0 {
                let value = self.best.0.arrays[&name].data[i];
                for simple in simpler(value) {
                    let mut inputs = self.best.0.clone();
                    if let Some(b) = inputs.arrays.get_mut(&name) {
                        b.data[i] = simple;
                    }
                    if self.attempt(Some(inputs)) {
                        progress = true;
                        break;
                    }
                }
                i += 1;
            }
        }
        progress
    }

    /// Drops elements that the kernel doesn't touch from arrays that grew during its run.
    fn crop(&mut self, kernel: &Program) {
        let (_, trace) = kernel.run_traced(&mut self.best.0.clone(), 100_000);
        let mut touched: BTreeMap<_, (i64, i64)> = BTreeMap::new();
        for access in trace {
            let range = touched
                .entry(access.array)
                .or_insert((access.index, access.index));
            *range = (range.0.min(access.index), range.1.max(access.index));
        }
        let mut inputs = self.best.0.clone();
        for (name, b) in &mut inputs.arrays {
            if self.spec.knows_extents() {
                continue;
            }
            *b = match touched.get(name) {
                Some((lo, hi)) => Buffer {
                    elem: b.elem,
                    origin: -lo,
                    data: (*lo..=*hi).filter_map(|i| b.get(i.into())).collect(),
                },
                None => Buffer::new(b.elem, vec![]),
            };
        }
        self.attempt(Some(inputs));
    }
}

/// Values that are easier on the reader, the easiest first. Each is strictly simpler, so that shrinking
/// ends.
fn simpler(v: Scalar) -> Vec<Scalar> {
    let zero = Scalar::zero(v.ty);
    if v == zero {
        return vec![];
    }
    let one = match v.ty {
        ScalarType::F32 => Scalar::f32(1.0),
        ScalarType::F64 => Scalar::f64(1.0),
        ty => Scalar::int(ty, 1),
    };
    if v == one {
        return vec![zero];
    }
    let mut out = vec![zero, one];
    if v.ty.is_int() {
        let n = v.as_int();
        let smaller = [2, 3, n.abs() / 2, n / 2, n - n.signum(), n.abs()];
        out.extend(
            smaller
                .into_iter()
                .filter(|s| s.abs() < n.abs() || n < 0 && *s == -n)
                .filter(|s| (v.ty.min_value()..=v.ty.max_value()).contains(s))
                .map(|s| Scalar::int(v.ty, s)),
        );
    } else if v.as_f64().is_finite() && v.as_f64() != v.as_f64().trunc() {
        let whole = v.as_f64().trunc();
        out.push(if v.ty == ScalarType::F32 {
            Scalar::f32(whole as f32)
        } else {
            Scalar::f64(whole)
        });
    }
    out
}
