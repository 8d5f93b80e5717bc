//! Where the values come from.

use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeSet;

/// A small generator of pseudo-random numbers (splitmix64).
#[derive(Clone, Debug)]
pub struct Rng(u64);

/// Every bit of the result depends on every bit of `x`.
pub(super) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

impl Rng {
    /// The same numbers for the same seed.
    pub fn new(seed: u64) -> Rng {
        Rng(mix(seed))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `n`, which is not zero.
    pub fn below(&mut self, n: u64) -> u64 {
        self.bits() % n
    }

    /// One of `items`, of which there is one at least.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    pub(super) fn pick_of<'a, T>(&mut self, items: &'a BTreeSet<T>) -> &'a T {
        let n = self.below(items.len() as u64) as usize;
        items.iter().nth(n).expect("n is below the length")
    }
}

/// Which values an input is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Palette {
    /// Everything: each array has a style, from tame to the bits of a random number.
    All,
    /// Floats between -2 and 2 and small integers: sums stay finite and integers don't overflow.
    Tame,
    /// [`small_values`] only.
    Small,
}

impl Palette {
    /// The element of an array: a function of the seed, the array and the index alone.
    pub fn element(self, seed: u64, array: &str, ty: ScalarType, index: i64) -> Scalar {
        let name = array.bytes().fold(seed, |h, b| mix(h ^ u64::from(b)));
        let style = mix(name);
        let mut rng = Rng::new(name ^ mix(index as u64));
        self.styled(style, ty, &mut rng)
    }

    /// Any value.
    pub fn value(self, ty: ScalarType, rng: &mut Rng) -> Scalar {
        let style = rng.bits();
        self.styled(style, ty, rng)
    }

    fn styled(self, style: u64, ty: ScalarType, rng: &mut Rng) -> Scalar {
        if self == Palette::Small {
            return *rng.pick(&small_values(ty));
        }
        let tame = self == Palette::Tame;
        if ty.is_float() {
            return match style % 10 {
                0..4 => tame_float(ty, rng),
                4..6 => small_int(ty, rng),
                _ if tame => tame_float(ty, rng),
                // A single NaN or infinity among the tame ones shows where it goes.
                6..=8 if rng.below(8) > 0 => tame_float(ty, rng),
                9 if rng.below(2) > 0 => random_bits(ty, rng),
                _ => *rng.pick(&edge_values(ty)),
            };
        }
        match style % 8 {
            0..2 => small_int(ty, rng),
            2 => Scalar::int(ty, rng.below(9).into()),
            _ if tame => small_int(ty, rng),
            3 if rng.below(8) > 0 => small_int(ty, rng),
            4..=6 => random_bits(ty, rng),
            _ => *rng.pick(&edge_values(ty)),
        }
    }
}

fn float(ty: ScalarType, v: f64) -> Scalar {
    if ty == ScalarType::F32 {
        Scalar::f32(v as f32)
    } else {
        Scalar::f64(v)
    }
}

fn tame_float(ty: ScalarType, rng: &mut Rng) -> Scalar {
    float(ty, (rng.bits() >> 11) as f64 / (1u64 << 51) as f64 - 2.0)
}

fn small_int(ty: ScalarType, rng: &mut Rng) -> Scalar {
    let v = i128::from(rng.below(9)) - 3;
    Scalar::int(
        ty,
        if ty.is_signed() || ty.is_float() {
            v
        } else {
            v.abs()
        },
    )
}

fn random_bits(ty: ScalarType, rng: &mut Rng) -> Scalar {
    let v = Scalar {
        ty,
        bits: rng.bits() >> (64 - ty.bits()),
    };
    match ty {
        // A signalling NaN is nothing that C's arithmetic makes, and `fmax` of one is anyone's guess.
        ScalarType::F32 if v.as_f64().is_nan() => Scalar {
            bits: v.bits | 1 << 22,
            ..v
        },
        ScalarType::F64 if v.as_f64().is_nan() => Scalar {
            bits: v.bits | 1 << 51,
            ..v
        },
        _ => v,
    }
}

/// The values at which arithmetic of this type changes its behaviour.
pub fn edge_values(ty: ScalarType) -> Vec<Scalar> {
    let (lo, hi) = (ty.min_value(), ty.max_value());
    match ty {
        ScalarType::F32 => [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::MAX,
            f32::MIN,
            f32::MIN_POSITIVE,
            1e-45,
            -1e-45,
            1e-40,
            16_777_217.0,
            1e30,
            -1e30,
            f32::EPSILON,
            255.0,
            256.0,
            -129.0,
            2_147_483_648.0,
        ]
        .map(Scalar::f32)
        .to_vec(),
        ScalarType::F64 => [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            2.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            f64::MIN,
            f64::MIN_POSITIVE,
            5e-324,
            -5e-324,
            1e-310,
            9_007_199_254_740_993.0,
            1e300,
            -1e300,
            f64::EPSILON,
            255.0,
            256.0,
            -129.0,
            2_147_483_648.0,
            1e-60,
        ]
        .map(Scalar::f64)
        .to_vec(),
        ScalarType::I1 => vec![Scalar::bool(false), Scalar::bool(true)],
        _ => {
            let mut values = vec![
                0,
                1,
                2,
                -1,
                -2,
                lo,
                lo + 1,
                hi,
                hi - 1,
                hi / 2,
                hi / 2 + 1,
                127,
                128,
            ];
            values.extend([255, 256, 46_341, 65_536]);
            values.retain(|v| (lo..=hi).contains(v));
            values.dedup();
            values.into_iter().map(|v| Scalar::int(ty, v)).collect()
        }
    }
}

/// The few values that a bounded exhaustive run tries for each element.
pub fn small_values(ty: ScalarType) -> Vec<Scalar> {
    match ty {
        ScalarType::I1 => vec![Scalar::bool(false), Scalar::bool(true)],
        _ if ty.is_float() => [0.0, 1.0, -1.5, 2.0, -0.0, f64::NAN, f64::INFINITY, 1e30]
            .map(|v| float(ty, v))
            .to_vec(),
        _ => {
            let mut values = vec![0, 1, 2, ty.max_value(), ty.min_value(), -1, 100];
            values.retain(|v| (ty.min_value()..=ty.max_value()).contains(v));
            let mut seen = BTreeSet::new();
            values.retain(|v| seen.insert(*v));
            values.into_iter().map(|v| Scalar::int(ty, v)).collect()
        }
    }
}
