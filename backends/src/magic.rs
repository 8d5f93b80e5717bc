//! Division by a constant as a multiplication and a shift, for targets that have no integer division.

/// `n / divisor` is `(n * multiplier) >> shift` for every `n` from 0 to `most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Magic {
    /// What is divided by.
    pub divisor: u32,
    /// The largest dividend.
    pub most: u32,
    /// Less than 2³².
    pub multiplier: u32,
    /// By how many bits, less than 64.
    pub shift: u32,
}

impl Magic {
    /// The numbers with the smallest shift whose product fits into 32 bits, or else into 64 with a shift of at
    /// least 32, so that it is in one word or in the other.
    ///
    /// With `m = ⌈2ˢ / d⌉ = (2ˢ + e) / d`, the product `n·m / 2ˢ` is `n/d + n·e / (d·2ˢ)`. The quotient is right
    /// if what is too much does not reach the next integer: if `n·e < 2ˢ` (Granlund and Montgomery, *Division by
    /// invariant integers using multiplication*, 1994). Nobody has to believe that: see [`Magic::theorem`].
    pub fn find(divisor: u32, most: u32) -> Option<Magic> {
        if divisor == 0 {
            return None;
        }
        (0..64).find_map(|shift| {
            let power = 1u128 << shift;
            let multiplier = power.div_ceil(divisor.into());
            let excess = multiplier * u128::from(divisor) - power;
            let right = u128::from(most) * excess < power;
            let in_a_word = shift >= 32 || u128::from(most) * multiplier < 1 << 32;
            (right && in_a_word && multiplier < 1 << 32).then_some(Magic {
                divisor,
                most,
                multiplier: multiplier as u32,
                shift,
            })
        })
    }

    /// The quotient by these numbers.
    pub fn divide(&self, n: u32) -> u32 {
        ((u64::from(n) * u64::from(self.multiplier)) >> self.shift) as u32
    }

    /// The negation of what is to hold for every dividend, in SMT-LIB: unsatisfiable if the numbers are right. A
    /// dividend is `q·divisor + r`, so that nothing but linear arithmetic is left.
    pub fn theorem(&self) -> String {
        let Magic {
            divisor,
            most,
            multiplier,
            shift,
        } = self;
        let power = 1u128 << shift;
        format!(
            "(declare-const q Int)(declare-const r Int)\n\
             (assert (and (<= 0 q) (<= 0 r) (< r {divisor}) (<= (+ (* {divisor} q) r) {most})))\n\
             (define-fun product () Int (* {multiplier} (+ (* {divisor} q) r)))\n\
             (assert (not (and (<= (* {power} q) product) (< product (* {power} (+ q 1))) (< product {}))))\n",
            1u128 << 64
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_by_every_byte() {
        for d in 1..=255 {
            let m = Magic::find(d, 255).unwrap();
            assert!((0..=255).all(|n| m.divide(n) == n / d), "{m:?}");
        }
    }

    #[test]
    fn the_largest_dividends() {
        for d in [1, 2, 3, 7, 255, 641, 65535, 65537, 0x7fff_ffff, 0x8000_0000] {
            for most in [255, 65025, 0x7fff_ffff, 0x8000_0000] {
                let m = Magic::find(d, most).unwrap_or_else(|| panic!("{d} {most}"));
                let quotients = most / d;
                for q in [0, 1, quotients / 2, quotients.saturating_sub(1), quotients] {
                    for n in [
                        q * d,
                        (q * d).saturating_sub(1),
                        (q * d).saturating_add(d - 1),
                    ] {
                        let n = n.min(most);
                        assert_eq!(m.divide(n), n / d, "{n} {m:?}");
                    }
                }
            }
        }
        assert_eq!(Magic::find(0, 1), None);
    }
}
