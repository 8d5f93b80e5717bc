//! What generated guards and safe wrappers are made of.

use crate::Error;

/// A size or parameter as the integer that guards are computed in; `None` where it does not fit, which
/// counts as a guard that fails.
#[inline(always)]
pub fn int<T: TryInto<i64>>(value: T) -> Option<i64> {
    value.try_into().ok()
}

/// Whether elements `[lo, hi)` of two arrays share no byte; `None` where an address overflows.
#[inline(always)]
pub fn apart<A, B>(
    a: *const A,
    a_lo: i64,
    a_hi: i64,
    b: *const B,
    b_lo: i64,
    b_hi: i64,
) -> Option<bool> {
    if a_hi <= a_lo || b_hi <= b_lo {
        return Some(true);
    }
    let at = |base: usize, index: i64, size: usize| {
        i64::try_from(base)
            .ok()?
            .checked_add(index.checked_mul(size as i64)?)
    };
    let (a, a_size) = (a as usize, size_of::<A>());
    let (b, b_size) = (b as usize, size_of::<B>());
    Some(
        at(a, a_hi, a_size)? <= at(b, b_lo, b_size)?
            || at(b, b_hi, b_size)? <= at(a, a_lo, a_size)?,
    )
}

/// A number that C converts to an integer between `low` and `high`; `None` for all others, among them NaN: C leaves open what
/// they become, so that no guard can tell where they lead. (At the ends of 64-bit types a number too few.)
#[inline(always)]
pub fn convertible(x: f64, low: i128, high: i128) -> Option<f64> {
    (x > (low - 1) as f64 && x < (high + 1) as f64).then_some(x)
}

/// `⌊a / b⌋`; 0 where `b` is 0.
#[inline(always)]
pub fn floor_div(a: i64, b: i64) -> Option<i64> {
    if b == 0 {
        return Some(0);
    }
    let rest = a.checked_rem(b)?;
    a.checked_div(b)?
        .checked_sub(i64::from(rest != 0 && (rest < 0) != (b < 0)))
}

/// `a - b·⌊a / b⌋`; `a` where `b` is 0.
#[inline(always)]
pub fn modulo(a: i64, b: i64) -> Option<i64> {
    a.checked_sub(b.checked_mul(floor_div(a, b)?)?)
}

/// How closely a safe wrapper looks at its arguments.
pub trait Check {
    /// What is said where something does not hold.
    type Error;

    /// An error unless `guard` holds.
    fn hold(
        kernel: &'static str,
        guard: &'static str,
        holds: Option<bool>,
    ) -> Result<(), Self::Error>;

    /// An error unless a slice of `given` elements holds `extent`.
    fn fit(
        kernel: &'static str,
        array: &'static str,
        extent: Option<(i64, i64)>,
        given: usize,
    ) -> Result<(), Self::Error>;
}

/// At a glance: almost every call passes, and small ones shall pay for no more than a comparison or two an argument. What
/// does not pass here is looked at [`InFull`].
#[derive(Debug)]
pub enum AtAGlance {}

/// So that it can be said what is wrong.
#[derive(Debug)]
pub enum InFull {}

impl Check for AtAGlance {
    type Error = ();

    #[inline(always)]
    fn hold(_: &'static str, _: &'static str, holds: Option<bool>) -> Result<(), ()> {
        holds.filter(|h| *h).map(drop).ok_or(())
    }

    #[inline(always)]
    fn fit(
        _: &'static str,
        _: &'static str,
        extent: Option<(i64, i64)>,
        given: usize,
    ) -> Result<(), ()> {
        match extent {
            Some((lo, hi)) if lo >= 0 && hi <= i64::try_from(given).unwrap_or(i64::MAX) => Ok(()),
            _ => Err(()),
        }
    }
}

impl Check for InFull {
    type Error = Error;

    fn hold(kernel: &'static str, guard: &'static str, holds: Option<bool>) -> Result<(), Error> {
        match holds {
            Some(true) => Ok(()),
            _ => Err(Error::Guard { kernel, guard }),
        }
    }

    fn fit(
        kernel: &'static str,
        array: &'static str,
        extent: Option<(i64, i64)>,
        given: usize,
    ) -> Result<(), Error> {
        let guard = "what the kernel touches can be counted in 64 bits";
        let (lo, hi) = extent.ok_or(Error::Guard { kernel, guard })?;
        if hi <= lo {
            Ok(())
        } else if lo < 0 {
            Err(Error::BeforeStart {
                kernel,
                array,
                first: lo,
            })
        } else if usize::try_from(hi).is_ok_and(|hi| hi <= given) {
            Ok(())
        } else {
            Err(Error::TooShort {
                kernel,
                array,
                needed: hi,
                given,
            })
        }
    }
}

/// What can be passed for an array of a kernel of which it is not known whether it writes there.
pub trait AnySlice<T> {}

impl<T> AnySlice<T> for &[T] {}
impl<T> AnySlice<T> for &mut [T] {}
impl<T> AnySlice<T> for &Vec<T> {}
impl<T> AnySlice<T> for &mut Vec<T> {}
impl<T> AnySlice<T> for &Box<[T]> {}
impl<T> AnySlice<T> for &mut Box<[T]> {}
impl<T, const N: usize> AnySlice<T> for &[T; N] {}
impl<T, const N: usize> AnySlice<T> for &mut [T; N] {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_integer_stands_for_what_lies_outside_of_its_type() {
        let byte = |x| convertible(x, 0, 255).map(|x| x as u8);
        assert_eq!(
            [byte(-0.5), byte(0.0), byte(255.9)],
            [Some(0), Some(0), Some(255)]
        );
        for x in [-1.0, 256.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(byte(x), None, "{x}");
        }
        let int = |x| convertible(x, i32::MIN.into(), i32::MAX.into()).map(|x| x as i32);
        assert_eq!(int(-2147483648.9), Some(i32::MIN));
        assert_eq!([int(-2147483649.0), int(2147483648.0)], [None, None]);
        let long = |x| convertible(x, i64::MIN.into(), i64::MAX.into()).map(|x| x as i64);
        assert_eq!(long(9223372036854774784.0), Some(9223372036854774784));
        assert_eq!([long(9223372036854775808.0), long(-1e19)], [None, None]);
    }

    #[test]
    fn ranges_that_share_a_byte_are_not_apart() {
        let x = [0u16; 8];
        let p = x.as_ptr();
        assert_eq!(apart(p, 0, 4, p, 4, 8), Some(true));
        assert_eq!(apart(p, 0, 4, p, 3, 8), Some(false));
        assert_eq!(apart(p.cast::<u8>(), 0, 7, p, 3, 4), Some(false));
        assert_eq!(apart(p.cast::<u8>(), 0, 6, p, 3, 4), Some(true));
        assert_eq!(
            apart(p, 0, 0, p, 0, 8),
            Some(true),
            "nothing overlaps with nothing"
        );
        assert_eq!(apart(p, 0, i64::MAX, p, 0, 8), None);
        assert_eq!(apart(p, 4, 8, p, -1, 4), Some(true));
    }

    #[test]
    fn lengths() {
        assert!(InFull::fit("k", "a", Some((0, 4)), 4).is_ok());
        assert!(InFull::fit("k", "a", Some((5, 5)), 0).is_ok());
        // What passes at a glance passes in full.
        for (lo, hi) in [
            (0, 4),
            (4, 4),
            (0, -1),
            (3, i64::MIN),
            (0, 5),
            (-1, 2),
            (0, i64::MAX),
        ] {
            let at_a_glance = AtAGlance::fit("k", "a", Some((lo, hi)), 4).is_ok();
            assert_eq!(
                at_a_glance,
                InFull::fit("k", "a", Some((lo, hi)), 4).is_ok()
            );
        }
        let empty = Some((-2, -2));
        assert!(
            AtAGlance::fit("k", "a", empty, 4).is_err() && InFull::fit("k", "a", empty, 4).is_ok()
        );
        assert!(
            AtAGlance::fit("k", "a", None, 4).is_err() && InFull::fit("k", "a", None, 4).is_err()
        );
        for holds in [None, Some(false), Some(true)] {
            assert_eq!(
                AtAGlance::hold("k", "g", holds).is_ok(),
                holds == Some(true)
            );
            assert_eq!(InFull::hold("k", "g", holds).is_ok(), holds == Some(true));
        }
        assert!(matches!(
            InFull::fit("k", "a", Some((0, 5)), 4),
            Err(Error::TooShort {
                needed: 5,
                given: 4,
                ..
            })
        ));
        assert!(matches!(
            InFull::fit("k", "a", Some((-1, 5)), 9),
            Err(Error::BeforeStart { first: -1, .. })
        ));
        assert_eq!(int(u64::MAX), None);
    }

    #[test]
    fn division_rounds_down() {
        for a in -9..9 {
            for b in [-4, -1, 1, 3] {
                let q = floor_div(a, b).unwrap();
                assert_eq!(q as f64, (a as f64 / b as f64).floor());
                assert_eq!(modulo(a, b), Some(a - b * q));
            }
            assert_eq!((floor_div(a, 0), modulo(a, 0)), (Some(0), Some(a)));
        }
        assert_eq!(floor_div(i64::MIN, -1), None);
    }
}
