//! Indices as `i64` expressions.

use super::lower::{Builder, Kind};
use crate::Unsupported;
use std::collections::BTreeMap;
use tensorize_ir::element::Elem;
use tensorize_ir::guard::Guard;
use tensorize_ir::index::{Atom, Idx, Sym};
use tensorize_ir::loopir::{Expr, Stmt};
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::ScalarType;

const I64: ScalarType = ScalarType::I64;
const U64: ScalarType = ScalarType::U64;

/// Whether a sum has a number in it that an index has no place for.
pub(super) fn has_large_factors(idx: &Idx) -> bool {
    idx.terms()
        .any(|(_, c)| i64::try_from(c.unsigned_abs()).is_err())
}

/// What guards say of parameters, and of single numbers in memory: what they are not below.
pub(super) fn least_known(guards: &[Guard]) -> BTreeMap<Atom, i128> {
    let mut not_negative: Vec<Idx> = Vec::new();
    for guard in guards {
        if let Guard::NonNegative(i) = guard {
            not_negative.push(i.clone());
        }
        // Rounds of which it says so only if there are any are not there otherwise.
        let said = guard.said_of_data().into_iter();
        let said = said.flat_map(|(_, inside)| inside.conjuncts());
        not_negative.extend(said.filter_map(|condition| match &**condition {
            Elem::IndexCompare(CmpOp::Ge, a, b) => Some(a - b),
            _ => None,
        }));
    }
    let mut known: BTreeMap<Atom, i128> = BTreeMap::new();
    // `n - i - 1`, where `i` is known not to be negative.
    for _ in 0..2 {
        for i in &not_negative {
            // Without a sign, and no larger than what an `i64` holds.
            for (monomial, c) in i.terms() {
                if let [of @ Atom::Value(e)] = monomial
                    && c < 0
                    && !e.ty().is_signed()
                {
                    known.entry(of.clone()).or_insert(0);
                }
            }
            if let Some((atom, least)) = least_of_one(i, &known) {
                let known = known.entry(atom).or_insert(least);
                *known = (*known).max(least);
            }
        }
    }
    known
}

/// The one number in a sum that is added to others, and what it is not below if the sum is not negative.
fn least_of_one(sum: &Idx, known: &BTreeMap<Atom, i128>) -> Option<(Atom, i128)> {
    let (mut atom, mut least) = (None, 0i128);
    for (monomial, c) in sum.terms() {
        match (monomial, c) {
            ([], c) => least = least.checked_sub(c)?,
            ([of], 1) if atom.is_none() => atom = Some(of.clone()),
            ([of], c) if c < 0 => {
                least = least.checked_sub(c.checked_mul(*known.get(of)?)?)?;
            }
            _ => return None,
        }
    }
    Some((atom?, least))
}

impl Builder {
    /// An index as an `i64`.
    pub(super) fn index(&mut self, idx: &Idx) -> Result<Expr, Unsupported> {
        if let Some(r) = idx.remainder() {
            let remainder = self.floor_div(&r.dividend, &r.divisor)?.1;
            // `n - i mod n` rather than `(i mod n)*-1 + n`.
            let less = r.factor.terms().all(|(_, c)| c < 0);
            let factor = if less { -&r.factor } else { r.factor };
            let product = match factor.as_constant() {
                Some(1) => remainder,
                _ => Expr::binary(BinOp::Multiply, remainder, self.index(&factor)?),
            };
            return Ok(match (less, r.rest.is_zero()) {
                (false, true) => product,
                (true, true) => Expr::Unary(UnOp::Negate, Box::new(product)),
                (false, false) => Expr::binary(BinOp::Add, product, self.index(&r.rest)?),
                (true, false) => Expr::binary(BinOp::Subtract, self.index(&r.rest)?, product),
            });
        }
        if let Some(n) = idx.nested() {
            let (quotient, divisor) = (self.index(&n.quotient)?, self.index(&n.divisor)?);
            let product = Expr::binary(BinOp::Multiply, quotient, divisor);
            return Ok(if n.rest.is_zero() {
                product
            } else {
                Expr::binary(BinOp::Add, product, self.index(&n.rest)?)
            });
        }
        let mut terms: Vec<_> = idx.terms().collect();
        terms.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        let mut sum: Option<Expr> = None;
        // What is subtracted comes last, so that nothing starts with a minus.
        terms.sort_by_key(|(_, c)| *c < 0);
        for (monomial, c) in terms {
            let magnitude = c.unsigned_abs();
            let too_big = || Unsupported::new(format!("{c} does not fit an index"));
            let magnitude = i64::try_from(magnitude).map_err(|_| too_big())?;
            let mut product: Option<Expr> =
                (magnitude != 1 || monomial.is_empty()).then(|| Expr::int(I64, magnitude.into()));
            for atom in monomial {
                let factor = self.atom(atom)?;
                product = Some(match product {
                    Some(p) => Expr::binary(BinOp::Multiply, p, factor),
                    None => factor,
                });
            }
            let product = product.unwrap_or_else(|| Expr::int(I64, 1));
            sum = Some(match (sum, c < 0) {
                (None, false) => product,
                (None, true) => Expr::Unary(UnOp::Negate, Box::new(product)),
                (Some(s), false) => Expr::binary(BinOp::Add, s, product),
                (Some(s), true) => Expr::binary(BinOp::Subtract, s, product),
            });
        }
        Ok(sum.unwrap_or_else(|| Expr::int(I64, 0)))
    }

    /// A number of 64 bits without a sign, as hashes have it: sums and products wrap as that type's do.
    pub(super) fn unsigned(&mut self, idx: &Idx) -> Result<Expr, Unsupported> {
        let mut sum: Option<Expr> = None;
        for (monomial, c) in idx.terms() {
            let c = c.rem_euclid(1 << 64);
            let mut product = (c != 1 || monomial.is_empty()).then(|| Expr::int(U64, c));
            for atom in monomial {
                // Straight from the parameter: an `int64_t` may be too small for it.
                let param = match atom {
                    Atom::Sym(s) if !self.bound.contains_key(s) => self.params.get_key_value(s),
                    _ => None,
                };
                let factor = match param {
                    Some((s, ty)) => Expr::Var(s.clone(), *ty),
                    None => self.atom(atom)?,
                };
                let factor = Expr::convert(U64, factor);
                product = Some(match product {
                    Some(p) => Expr::binary(BinOp::Multiply, p, factor),
                    None => factor,
                });
            }
            let product = product.unwrap_or_else(|| Expr::int(U64, 1));
            sum = Some(match sum {
                Some(s) => Expr::binary(BinOp::Add, s, product),
                None => product,
            });
        }
        Ok(sum.unwrap_or_else(|| Expr::int(U64, 0)))
    }

    fn atom(&mut self, atom: &Atom) -> Result<Expr, Unsupported> {
        Ok(match atom {
            Atom::Sym(s) => self.size(s)?,
            Atom::Value(e) => {
                let value = self.value(e)?;
                Expr::convert(I64, value)
            }
            Atom::FloorDiv(a, b) => self.floor_div(a, b)?.0,
            Atom::Mod(a, b) => self.floor_div(a, b)?.1,
            Atom::Max(a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                Expr::binary(BinOp::Maximum, a, b)
            }
            Atom::Min(a, b) => {
                let (a, b) = (self.index(a)?, self.index(b)?);
                Expr::binary(BinOp::Minimum, a, b)
            }
        })
    }

    /// Quotient and remainder, rounded towards minus infinity; 0 and the dividend where the divisor is 0.
    fn floor_div(&mut self, a: &Idx, b: &Idx) -> Result<(Expr, Expr), Unsupported> {
        let least = self.least(a);
        let divisor = b.as_constant();
        let positive = self.least(b).is_some_and(|least| least > 0);
        let (a, b) = (self.index(a)?, self.index(b)?);
        let zero = || Expr::int(I64, 0);
        let select =
            |c: Expr, t: Expr, f: Expr| Expr::Select(Box::new(c), Box::new(t), Box::new(f));
        let quotient = Expr::binary(BinOp::Divide, a.clone(), b.clone());
        let remainder = Expr::binary(BinOp::Remainder, a.clone(), b.clone());
        if positive && least.is_some_and(|least| least >= 0) {
            return Ok((quotient, remainder));
        }
        // Off by one where the remainder is not zero and its sign is not the divisor's.
        let other_sign = match divisor {
            Some(d) if d > 0 => Expr::compare(CmpOp::Lt, remainder.clone(), zero()),
            _ => Expr::binary(
                BinOp::And,
                Expr::compare(CmpOp::Ne, remainder.clone(), zero()),
                Expr::compare(
                    CmpOp::Ne,
                    Expr::compare(CmpOp::Lt, remainder.clone(), zero()),
                    Expr::compare(CmpOp::Lt, b.clone(), zero()),
                ),
            ),
        };
        let one_less = Expr::binary(BinOp::Subtract, quotient.clone(), Expr::int(I64, 1));
        let wrapped = Expr::binary(BinOp::Add, remainder.clone(), b.clone());
        let q = match divisor {
            // A shift rounds down.
            Some(d) if d > 1 && d.count_ones() == 1 => {
                let by = Expr::int(I64, d.trailing_zeros().into());
                Expr::binary(BinOp::ShiftRightArithmetic, a.clone(), by)
            }
            _ => select(other_sign.clone(), one_less, quotient),
        };
        let r = select(other_sign, wrapped, remainder);
        if divisor.is_some_and(|d| d != 0) {
            return Ok((q, r));
        }
        let is_zero = Expr::compare(CmpOp::Eq, b, zero());
        Ok((select(is_zero.clone(), zero(), q), select(is_zero, a, r)))
    }

    /// A number that the polynomial is not below where this code runs, if that can be seen: counters are not negative, and
    /// within loops their numbers of rounds are positive.
    fn least(&self, idx: &Idx) -> Option<i128> {
        idx.terms().try_fold(0i128, |sum, (monomial, c)| {
            if monomial.is_empty() {
                return sum.checked_add(c);
            }
            let product = monomial
                .iter()
                .try_fold(c, |product, atom| product.checked_mul(self.least_of(atom)?))?;
            (c > 0).then_some(sum.checked_add(product)?)
        })
    }

    /// The same for a factor; not below 0.
    fn least_of(&self, atom: &Atom) -> Option<i128> {
        match atom {
            Atom::Sym(s) if self.runs(s) => Some(1),
            Atom::Sym(s) if self.counts(s) => Some(0),
            Atom::FloorDiv(a, b) | Atom::Mod(a, b) => {
                (self.least(a)? >= 0 && self.least(b)? >= 0).then_some(0)
            }
            Atom::Max(a, b) => self.least(a).max(self.least(b)).filter(|least| *least >= 0),
            _ => self
                .least_known
                .get(atom)
                .copied()
                .filter(|least| *least >= 0),
        }
    }

    /// Whether it is a loop's counter.
    fn counts(&self, s: &Sym) -> bool {
        self.bound.contains_key(s) || self.around.contains(s)
    }

    /// Whether a loop around has as many rounds as this says.
    fn runs(&self, s: &Sym) -> bool {
        self.scopes.iter().any(|scope| match &scope.kind {
            Kind::Dimension(extent) | Kind::FoldRound(extent) => extent.as_sym() == Some(s),
            Kind::Preheader(extents) => extents.iter().any(|e| e.as_sym() == Some(s)),
            Kind::Top | Kind::Branch => false,
        })
    }

    /// A size or a counter, as an `i64`.
    fn size(&mut self, s: &Sym) -> Result<Expr, Unsupported> {
        if let Some((_, value)) = self.bound.get(s) {
            return Ok(value.clone());
        }
        if let Some((_, value)) = self.sizes.get(s) {
            return Ok(value.clone());
        }
        let Some(&ty) = self.params.get(s) else {
            return Err(Unsupported::new(format!("nothing is known as {s}")));
        };
        let param = Expr::Var(s.clone(), ty);
        let value = if ty == I64 {
            param
        } else {
            let var = self.fresh(&format!("{s}_64"));
            let value = Expr::convert(I64, param);
            self.sizes_first.push(Stmt::Assign {
                var: var.clone(),
                ty: I64,
                value,
            });
            Expr::Var(var, I64)
        };
        self.sizes.insert(s.clone(), (ty, value.clone()));
        Ok(value)
    }
}
