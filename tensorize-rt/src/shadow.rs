//! Comparing what a target made of a call with what the original made of it.

#![allow(unsafe_code)]

use crate::elsewhere::{Outcome, copy_of};
use crate::kernel::{Kernel, Target, Tier};
use crate::memory::{Array, Elem};

/// How many differences a report shows of a kernel.
const SHOWN: usize = 4;

/// Notes what differs. The original has run, on the program's own memory, and returned `result`, the bits of a `returns`.
///
/// # Safety
/// The arrays are those of the call.
pub(crate) unsafe fn compare(
    kernel: &'static Kernel,
    target: &'static Target,
    arrays: &[Array],
    outcome: &Outcome,
    returns: Option<Elem>,
    result: u64,
) {
    let mut found = Vec::new();
    for (position, _, after) in &outcome.written {
        let array = &arrays[*position];
        // SAFETY: handed on.
        match unsafe { copy_of(array) } {
            Ok(original) => {
                let at = |i: usize| format!("{}[{}]", array.name, array.lo + i as i64);
                let has = |i: usize| array.has(i);
                differences(
                    target.tier,
                    array.elem,
                    original.as_slice(),
                    after.as_slice(),
                    (&has, &at),
                    &mut found,
                );
            }
            Err(why) => found.push(why),
        }
    }
    if let Some(elem) = returns {
        let (a, b) = (result.to_ne_bytes(), outcome.result.to_ne_bytes());
        // A 64-bit word holds a smaller value in its low bytes.
        let low = if cfg!(target_endian = "big") {
            8 - elem.size()..8
        } else {
            0..elem.size()
        };
        let at = |_| "the result".to_string();
        let (a, b) = (&a[low.clone()], &b[low]);
        differences(target.tier, elem, a, b, (&|_| true, &at), &mut found);
    }
    if !found.is_empty() {
        let mut notes = kernel.notes();
        notes.differing_calls += 1;
        let room = SHOWN.saturating_sub(notes.differences.len());
        notes.differences.extend(
            found
                .into_iter()
                .take(room)
                .map(|d| format!("{}: {d}", target.name)),
        );
    }
}

/// Notes the elements that differ, of those that the array `has`, and how they are called.
fn differences(
    tier: Tier,
    elem: Elem,
    original: &[u8],
    target: &[u8],
    (has, at): (&dyn Fn(usize) -> bool, &dyn Fn(usize) -> String),
    found: &mut Vec<String>,
) {
    let size = elem.size();
    // What rounding may amount to: relative to the value, or to the largest one that it was made beside.
    let largest = match tier {
        Tier::Exact => 0.0,
        Tier::Real => original
            .chunks(size)
            .enumerate()
            .filter(|(i, _)| has(*i))
            .map(|(_, b)| value(elem, b).abs())
            .filter(|v| v.is_finite())
            .fold(0.0, f64::max),
    };
    let relative = if elem == Elem::F64 { 1e-9 } else { 1e-3 };
    for (i, (a, b)) in original.chunks(size).zip(target.chunks(size)).enumerate() {
        if a == b || !has(i) {
            continue;
        }
        let (x, y) = (value(elem, a), value(elem, b));
        let same = match tier {
            _ if elem.is_float() && x.is_nan() && y.is_nan() => true,
            Tier::Exact => false,
            Tier::Real if elem.is_float() => {
                x == y
                    || x.is_finite()
                        && y.is_finite()
                        && (x - y).abs() <= relative * x.abs().max(y.abs()).max(largest * 1e-2)
            }
            // An integer that a rounded float was converted to.
            Tier::Real => (x - y).abs() <= 1.0,
        };
        if !same {
            if found.len() < SHOWN {
                found.push(format!("{} is {y:?} and {x:?} in the original", at(i)));
            } else {
                return;
            }
        }
    }
}

fn value(elem: Elem, bytes: &[u8]) -> f64 {
    let mut word = [0; 8];
    let low = if cfg!(target_endian = "big") {
        8 - bytes.len()..8
    } else {
        0..bytes.len()
    };
    word[low].copy_from_slice(bytes);
    let bits = u64::from_ne_bytes(word);
    match elem {
        Elem::F32 => f64::from(f32::from_bits(bits as u32)),
        Elem::F64 => f64::from_bits(bits),
        _ => elem.integer(bits) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(tier: Tier, a: &[f32], b: &[f32]) -> usize {
        count_of(tier, a, b, &|_| true)
    }

    fn count_of(tier: Tier, a: &[f32], b: &[f32], has: &dyn Fn(usize) -> bool) -> usize {
        let bytes = |x: &[f32]| x.iter().flat_map(|v| v.to_ne_bytes()).collect::<Vec<u8>>();
        let mut found = Vec::new();
        differences(
            tier,
            Elem::F32,
            &bytes(a),
            &bytes(b),
            (has, &|i| i.to_string()),
            &mut found,
        );
        found.len()
    }

    #[test]
    fn exact_means_the_same_bits() {
        assert_eq!(count(Tier::Exact, &[1.0, f32::NAN], &[1.0, -f32::NAN]), 0);
        assert_eq!(count(Tier::Exact, &[1.0], &[1.0000001]), 1);
        assert_eq!(count(Tier::Exact, &[0.0], &[-0.0]), 1);
    }

    /// Nor do others count for how much rounding may amount to: an integer that is read as a float may be anything.
    #[test]
    fn what_is_between_members_does_not_count() {
        let even = |i: usize| i.is_multiple_of(2);
        let of_real = |a: &[f32], b: &[f32]| count_of(Tier::Real, a, b, &even);
        assert_eq!(of_real(&[1.0, 5.0], &[1.0, 6.0]), 0);
        assert_eq!(of_real(&[1.0, 1e30], &[2.0, 1e30]), 1);
        assert_eq!(of_real(&[1.0, 1.0, 1e30], &[2.0, 1.0, 1e30]), 0);
    }

    #[test]
    fn real_forgives_rounding_only() {
        assert_eq!(count(Tier::Real, &[1.0, 1e-9], &[1.0000001, 3e-9]), 0);
        assert_eq!(count(Tier::Real, &[1.0, 2.0], &[1.0, 2.1]), 1);
        assert_eq!(count(Tier::Real, &[1.0], &[f32::NAN]), 1);
        assert_eq!(count(Tier::Real, &[f32::INFINITY], &[1.0]), 1);
    }
}
