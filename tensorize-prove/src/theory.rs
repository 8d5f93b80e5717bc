//! Elements as terms for the solver, in the theory of their type: bit-vectors for integers; for floats uninterpreted
//! functions (tier exact) or the real numbers (tier real). Reads of memory, conversions between integers and floats, and
//! reductions are opaque, so that an answer "equal" holds for whatever they are.

use crate::bits::{near_zero, on_bits, sum_on_bits};
use crate::conditions::encode_condition;
use crate::context::Context;
use crate::equal::{in_their_ranges, same_idx};
use crate::induction::{same_fold, same_step};
use crate::smt::Encoder;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Terms of one question to the solver.
pub(crate) struct Theory {
    pub encoder: Encoder,
    tier: Tier,
    /// Folds met so far, or the operands of sums and products met so far, with their symbols.
    folds: Vec<Known>,
    /// What comparisons of indices say of the bits of integers in memory.
    pub links: Vec<String>,
}

/// A fold that was met, as a reduction if it is one that splits, and its symbol.
type Known = (Arc<Fold>, Option<(BinOp, ElemRef)>, String);

impl Theory {
    pub fn new(tier: Tier) -> Theory {
        Theory {
            encoder: Encoder::default(),
            tier,
            folds: vec![],
            links: vec![],
        }
    }

    fn sort_of(&mut self, ty: ScalarType) -> String {
        match ty {
            ScalarType::I1 => "Bool".into(),
            ScalarType::F32 | ScalarType::F64 if self.tier == Tier::Real => "Real".into(),
            ScalarType::F32 => self.encoder.sort("F32"),
            ScalarType::F64 => self.encoder.sort("F64"),
            _ => format!("(_ BitVec {})", ty.bits()),
        }
    }

    fn opaque(&mut self, name: &str, ty: ScalarType) -> String {
        let sort = self.sort_of(ty);
        self.encoder.constant(&format!("{name} as {ty}"), &sort)
    }

    fn apply(&mut self, name: &str, args: &[(String, ScalarType)], result: ScalarType) -> String {
        let sorts: Vec<String> = args.iter().map(|(_, ty)| self.sort_of(*ty)).collect();
        let result = self.sort_of(result);
        let f = self.encoder.function(name, &sorts.join(" "), &result);
        let args: Vec<&str> = args.iter().map(|(a, _)| a.as_str()).collect();
        format!("({f} {})", args.join(" "))
    }

    pub fn encode_facts(&mut self, ctx: &mut Context, facts: Vec<ElemRef>) -> Vec<String> {
        let before = std::mem::replace(&mut ctx.encodes_facts, true);
        let formulas = facts.iter().map(|fact| self.encode(ctx, fact)).collect();
        ctx.encodes_facts = before;
        formulas
    }

    pub fn encode(&mut self, ctx: &mut Context, e: &ElemRef) -> String {
        let ty = e.ty();
        match &**e {
            Elem::Const(v) => self.literal(*v),
            Elem::Param(..) | Elem::OfIdx(..) | Elem::Read { .. } | Elem::Acc(..) => {
                self.opaque(&e.to_string(), ty)
            }
            Elem::IndexCompare(op, a, b) => {
                let on_integers = encode_condition(&mut self.encoder, e);
                if let Some(on_bits) = on_bits(*op, a, b) {
                    let on_bits = self.encode(ctx, &on_bits);
                    self.links.push(format!("(= {on_integers} {on_bits})"));
                } else {
                    self.link_sums(ctx, *op, (a, b), &on_integers);
                }
                on_integers
            }
            Elem::Unary(op, a) => {
                let x = self.encode(ctx, a);
                self.unary(*op, x, ty)
            }
            Elem::Binary(op, a, b) => {
                let (x, y) = (self.encode(ctx, a), self.encode(ctx, b));
                self.binary(*op, x, y, ty)
            }
            Elem::Compare(op, a, b) => {
                let (x, y) = (self.encode(ctx, a), self.encode(ctx, b));
                self.compare(*op, x, y, a.ty())
            }
            Elem::Convert(to, a) => {
                let x = self.encode(ctx, a);
                self.convert(x, a.ty(), *to)
            }
            Elem::Bitcast(to, a) => {
                let x = self.encode(ctx, a);
                self.apply(&format!("bitcast {} {to}", a.ty()), &[(x, a.ty())], *to)
            }
            Elem::Select(c, t, f) => {
                let [c, t, f] = [c, t, f].map(|x| self.encode(ctx, x));
                format!("(ite {c} {t} {f})")
            }
            Elem::Fold(f) => self.fold(ctx, f, ty),
        }
    }

    /// Says that a comparison is the same of integers as of bits, from either side.
    fn link_sums(&mut self, ctx: &mut Context, op: CmpOp, (a, b): (&Idx, &Idx), of_integers: &str) {
        for told in [sum_on_bits(op, a, b), sum_on_bits(op.swapped(), b, a)] {
            let Some((sum, counters)) = told else { return };
            let near = near_zero(&counters);
            if !near.iter().all(|(on_integers, _)| ctx.holds(on_integers)) {
                return;
            }
            for (_, on_bits) in near {
                let on_bits = self.encode(ctx, &on_bits);
                self.links.push(on_bits);
            }
            let sum = self.encode(ctx, &sum);
            self.links.push(format!("(= {of_integers} {sum})"));
        }
    }

    /// A sum is its first value plus the sum of the rest; anything else is opaque. Folds that are the
    /// same get the same symbol.
    fn fold(&mut self, ctx: &mut Context, f: &Arc<Fold>, ty: ScalarType) -> String {
        let splits = |op: BinOp| {
            matches!(op, BinOp::Add | BinOp::Multiply) && (ty.is_int() || self.tier == Tier::Real)
        };
        let reduction = f.as_reduction().filter(|(op, _)| splits(*op));
        let mut known = None;
        for (g, other, symbol) in &self.folds {
            let equal = match (&reduction, other) {
                (Some((p, x)), Some((q, y))) => {
                    p == q
                        && f.init.ty() == g.init.ty()
                        && same_idx(ctx, &f.extent, &g.extent)
                        && same_step(ctx, f, g, x, y, 0, self.tier)
                }
                (None, None) => {
                    same_fold(ctx, f, g, self.tier) || in_their_ranges(ctx, f, g, self.tier)
                }
                _ => false,
            };
            if equal {
                known = Some(symbol.clone());
                break;
            }
        }
        let symbol = known.unwrap_or_else(|| {
            let symbol = self.opaque(&format!("fold {}", self.folds.len()), ty);
            self.folds
                .push((f.clone(), reduction.clone(), symbol.clone()));
            symbol
        });
        match reduction {
            Some((op, _)) => {
                let init = self.encode(ctx, &f.init);
                self.binary(op, init, symbol, ty)
            }
            None => symbol,
        }
    }

    fn literal(&mut self, v: Scalar) -> String {
        match v.ty {
            ScalarType::I1 => v.is_true().to_string(),
            ty if ty.is_int() => format!("(_ bv{} {})", v.bits, ty.bits()),
            ty => match (self.tier, rational(v)) {
                (Tier::Real, Some(r)) => r,
                _ => self.opaque(&format!("{v}"), ty),
            },
        }
    }

    fn unary(&mut self, op: UnOp, x: String, ty: ScalarType) -> String {
        match (op, ty) {
            (UnOp::Not, ScalarType::I1) => format!("(not {x})"),
            (UnOp::Not, _) => format!("(bvnot {x})"),
            (UnOp::Negate, ty) if ty.is_int() => format!("(bvneg {x})"),
            (UnOp::Abs, ty) if ty.is_signed() => {
                format!("(ite (bvslt {x} (_ bv0 {})) (bvneg {x}) {x})", ty.bits())
            }
            (UnOp::Abs, ty) if ty.is_int() => x,
            (UnOp::Negate, _) if self.tier == Tier::Real => format!("(- {x})"),
            (UnOp::Abs, _) if self.tier == Tier::Real => format!("(ite (< {x} 0.0) (- {x}) {x})"),
            _ => {
                let name = self.function_name(op.name(), ty);
                self.apply(&name, &[(x, ty)], ty)
            }
        }
    }

    /// Over the reals, `float` and `double` functions are the same.
    fn function_name(&self, op: &str, ty: ScalarType) -> String {
        if self.tier == Tier::Real {
            op.to_string()
        } else {
            format!("{op} {ty}")
        }
    }

    fn binary(&mut self, op: BinOp, x: String, y: String, ty: ScalarType) -> String {
        let signed = ty.is_signed();
        if ty == ScalarType::I1 {
            let name = match op {
                BinOp::And => "and",
                BinOp::Or => "or",
                _ => "xor",
            };
            return format!("({name} {x} {y})");
        }
        if ty.is_int() {
            let name = match op {
                BinOp::Add => "bvadd",
                BinOp::Subtract => "bvsub",
                BinOp::Multiply => "bvmul",
                BinOp::Divide if signed => "bvsdiv",
                BinOp::Divide => "bvudiv",
                BinOp::Remainder if signed => "bvsrem",
                BinOp::Remainder => "bvurem",
                BinOp::And => "bvand",
                BinOp::Or => "bvor",
                BinOp::Xor => "bvxor",
                BinOp::ShiftLeft => "bvshl",
                BinOp::ShiftRightArithmetic => "bvashr",
                BinOp::ShiftRightLogical => "bvlshr",
                BinOp::Maximum | BinOp::Minimum => {
                    let less = if signed { "bvslt" } else { "bvult" };
                    let (t, f) = if op == BinOp::Minimum {
                        (&x, &y)
                    } else {
                        (&y, &x)
                    };
                    return format!("(ite ({less} {x} {y}) {t} {f})");
                }
                _ => return self.apply(&format!("{op} {ty}"), &[(x, ty), (y, ty)], ty),
            };
            return format!("({name} {x} {y})");
        }
        if self.tier == Tier::Real {
            let name = match op {
                BinOp::Add => "+",
                BinOp::Subtract => "-",
                BinOp::Multiply => "*",
                BinOp::Divide => "/",
                BinOp::Maximum | BinOp::MaximumNumber => {
                    return format!("(ite (< {x} {y}) {y} {x})");
                }
                BinOp::Minimum | BinOp::MinimumNumber => {
                    return format!("(ite (< {x} {y}) {x} {y})");
                }
                _ => "",
            };
            if !name.is_empty() {
                return format!("({name} {x} {y})");
            }
        }
        let name = self.function_name(op.name(), ty);
        self.apply(&name, &[(x, ty), (y, ty)], ty)
    }

    fn compare(&mut self, op: CmpOp, x: String, y: String, ty: ScalarType) -> String {
        if ty.is_float() && self.tier == Tier::Exact {
            return self.apply(&format!("{op} {ty}"), &[(x, ty), (y, ty)], ScalarType::I1);
        }
        let name = match (op, ty.is_float(), ty.is_signed()) {
            (CmpOp::Eq, ..) => "=",
            (CmpOp::Ne, ..) => "distinct",
            (CmpOp::Lt, true, _) => "<",
            (CmpOp::Le, true, _) => "<=",
            (CmpOp::Gt, true, _) => ">",
            (CmpOp::Ge, true, _) => ">=",
            (CmpOp::Lt, _, true) => "bvslt",
            (CmpOp::Le, _, true) => "bvsle",
            (CmpOp::Gt, _, true) => "bvsgt",
            (CmpOp::Ge, _, true) => "bvsge",
            (CmpOp::Lt, ..) => "bvult",
            (CmpOp::Le, ..) => "bvule",
            (CmpOp::Gt, ..) => "bvugt",
            (CmpOp::Ge, ..) => "bvuge",
        };
        if ty == ScalarType::I1 {
            // Truth values are ordered false < true.
            return match op {
                CmpOp::Eq => format!("(= {x} {y})"),
                CmpOp::Ne => format!("(xor {x} {y})"),
                CmpOp::Lt => format!("(and (not {x}) {y})"),
                CmpOp::Le => format!("(=> {x} {y})"),
                CmpOp::Gt => format!("(and {x} (not {y}))"),
                CmpOp::Ge => format!("(=> {y} {x})"),
            };
        }
        format!("({name} {x} {y})")
    }

    fn convert(&mut self, x: String, from: ScalarType, to: ScalarType) -> String {
        if from.is_float() || to.is_float() {
            if self.tier == Tier::Real && from.is_float() && to.is_float() {
                return x;
            }
            if to == ScalarType::I1 {
                let zero = self.literal(Scalar::zero(from));
                return self.compare(CmpOp::Ne, x, zero, from);
            }
            let target = if self.tier == Tier::Real && to.is_float() {
                "real"
            } else {
                to.name()
            };
            return self.apply(&format!("convert {from} {target}"), &[(x, from)], to);
        }
        let (m, n) = (from.bits(), to.bits());
        if to == ScalarType::I1 {
            return if from == to {
                x
            } else {
                format!("(not (= {x} (_ bv0 {m})))")
            };
        }
        if from == ScalarType::I1 {
            return format!("(ite {x} (_ bv1 {n}) (_ bv0 {n}))");
        }
        if n < m {
            format!("((_ extract {} 0) {x})", n - 1)
        } else if n == m {
            x
        } else if from.is_signed() {
            format!("((_ sign_extend {}) {x})", n - m)
        } else {
            format!("((_ zero_extend {}) {x})", n - m)
        }
    }
}

/// A finite float as an exact fraction.
fn rational(v: Scalar) -> Option<String> {
    let x = v.as_f64();
    if !x.is_finite() {
        return None;
    }
    if x == 0.0 {
        return Some("0.0".into());
    }
    // x = mantissa · 2^exponent
    let bits = x.abs().to_bits();
    let exponent = ((bits >> 52) as i32).max(1) - 1075;
    let mantissa = (bits & ((1 << 52) - 1)) | if bits >> 52 == 0 { 0 } else { 1 << 52 };
    let shift = mantissa.trailing_zeros();
    let (mantissa, exponent) = (mantissa >> shift, exponent + shift as i32);
    if exponent.abs() > 100 {
        return None;
    }
    let power = 1u128 << exponent.unsigned_abs();
    let magnitude = if exponent >= 0 {
        format!("{}.0", u128::from(mantissa).checked_mul(power)?)
    } else {
        format!("(/ {mantissa}.0 {power}.0)")
    };
    Some(if x < 0.0 {
        format!("(- {magnitude})")
    } else {
        magnitude
    })
}
