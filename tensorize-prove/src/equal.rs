//! Whether two expressions have the same value.
//!
//! First by form and congruence, index by index. What is left is a scalar equality, which goes to the
//! solver in the theory of its type: bit-vectors for integers; for floats uninterpreted functions (tier
//! exact) or the real numbers (tier real). Reads of memory, conversions between integers and floats, and
//! reductions are opaque there, so an answer "equal" holds for whatever they are.

use crate::bits::{near_zero, on_bits, sum_on_bits};
use crate::canon;
use crate::context::{Context, encode_condition, is_index_condition};
use crate::induction::{same_fold, same_step};
use crate::narrowed::narrowed;
use crate::overflow;
use crate::regroup;
use crate::smt::Encoder;
use crate::solver::Answer;
use std::sync::Arc;
use tensorize_ir::element::{Elem, ElemRef, Fold, Order};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Shows that `a` and `b` have the same value here: the same bits, or, at tier real, the same real number.
pub fn same(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a == b {
        return true;
    }
    let (a, b) = (prepare(ctx, a, tier), prepare(ctx, b, tier));
    congruent(ctx, &a, &b, tier)
        || (tier == Tier::Real && crate::real::equal(ctx, &a, &b))
        || residual(ctx, &a, &b, tier)
}

/// Whether the value depends on an order of float operations that is left open.
pub fn is_order_open(e: &ElemRef) -> bool {
    let mut open = false;
    canon::elem(e).visit(&mut |x| open |= matches!(&**x, Elem::Fold(f) if f.order == Order::Any));
    open
}

fn prepare(ctx: &mut Context, e: &ElemRef, tier: Tier) -> ElemRef {
    let e = canon::elem(&ctx.settle(&canon::elem(e)));
    if tier == Tier::Exact { e } else { in_order(&e) }
}

/// Over the real numbers, the order of a reduction does not matter.
fn in_order(e: &ElemRef) -> ElemRef {
    let children: Vec<_> = e.children().into_iter().map(in_order).collect();
    let indices: Vec<Idx> = e.indices().into_iter().cloned().collect();
    let e = e.rebuild(&children, &indices);
    match &*e {
        Elem::Fold(f) if f.order == Order::Any => Arc::new(Elem::Fold(Arc::new(Fold {
            order: Order::Sequential,
            ..(**f).clone()
        }))),
        _ => e,
    }
}

pub(crate) fn same_idx(ctx: &mut Context, a: &Idx, b: &Idx) -> bool {
    let d = canon::idx(&(a - b));
    d.is_zero() || (d.as_constant().is_none() && ctx.proves(CmpOp::Eq, &d, &Idx::default()))
}

/// The same operator on operands that are the same.
fn congruent(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a == b {
        return true;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && same_idx(ctx, &f.extent, &g.extent)
    {
        let folds = (f.clone(), g.clone(), tier);
        if ctx.are_equal(&folds) {
            return true;
        }
        let equal = same_fold(ctx, f, g, tier);
        if equal {
            ctx.shown_equal(folds);
        }
        return equal;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && in_their_ranges(ctx, f, g, tier)
    {
        return true;
    }
    if let (Elem::Fold(f), Elem::Fold(g)) = (&**a, &**b)
        && (regroup::in_portions(ctx, f, g, tier) || regroup::in_portions(ctx, g, f, tier))
    {
        return true;
    }
    if let Some(equal) = unrolled(ctx, a, b, tier).or_else(|| unrolled(ctx, b, a, tier)) {
        return equal;
    }
    if let Some(equal) = by_cases(ctx, a, b, tier).or_else(|| by_cases(ctx, b, a, tier)) {
        return equal;
    }
    // Numbers that are the same have the same bits, and so has what wraps to them.
    if let (Some(p), Some(q)) = (canon::polynomial(a), canon::polynomial(b))
        && a.ty() == b.ty()
        && same_idx(ctx, &p, &q)
    {
        return true;
    }
    // So has arithmetic on what is read, where the other side read a table at that place.
    let is_of_data = |e| canon::polynomial(e).is_some_and(|p| p.has_values());
    if a.ty() == b.ty()
        && (is_of_data(a) || is_of_data(b))
        && canon::idx(&(&canon::modular(a) - &canon::modular(b))).is_zero()
    {
        return true;
    }
    let heads = match (&**a, &**b) {
        (Elem::Unary(p, _), Elem::Unary(q, _)) => p == q,
        (Elem::Binary(p, ..), Elem::Binary(q, ..)) => p == q,
        (Elem::Compare(p, ..), Elem::Compare(q, ..)) => p == q,
        (Elem::Convert(p, _), Elem::Convert(q, _)) | (Elem::Bitcast(p, _), Elem::Bitcast(q, _)) => {
            p == q
        }
        (Elem::OfIdx(p, _), Elem::OfIdx(q, _)) => p == q,
        (
            Elem::Read {
                array: p, ty: s, ..
            },
            Elem::Read {
                array: q, ty: t, ..
            },
        ) => p == q && s == t,
        (Elem::Select(..), Elem::Select(..)) => true,
        _ => false,
    };
    if !heads || a.ty() != b.ty() {
        return false;
    }
    let (x, y) = (a.children(), b.children());
    if let (Elem::Select(..), [c, t, f], [d, u, g]) = (&**a, &x[..], &y[..]) {
        if !congruent(ctx, c, d, tier) {
            return false;
        }
        let mark = ctx.mark();
        ctx.assume((*c).clone());
        let then = same(ctx, t, u, tier);
        ctx.forget(mark);
        ctx.assume(Elem::not((*c).clone()));
        let otherwise = then && same(ctx, f, g, tier);
        ctx.forget(mark);
        return otherwise;
    }
    if let (Elem::Binary(op, ..), [p, q], [r, s]) = (&**a, &x[..], &y[..])
        && op.is_commutative()
        && congruent(ctx, p, s, tier)
        && congruent(ctx, q, r, tier)
    {
        return true;
    }
    let (i, j) = (a.indices(), b.indices());
    i.len() == j.len()
        && i.iter().zip(&j).all(|(p, q)| same_idx(ctx, p, q))
        && x.iter().zip(&y).all(|(p, q)| congruent(ctx, p, q, tier))
}

/// Folds that are the same one once steps that change nothing are left out.
fn in_their_ranges(ctx: &mut Context, f: &Fold, g: &Fold, tier: Tier) -> bool {
    let (narrow_f, narrow_g) = (narrowed(ctx, f), narrowed(ctx, g));
    let mut pairs = vec![];
    pairs.extend(narrow_f.as_ref().map(|f| (f, g)));
    pairs.extend(narrow_g.as_ref().map(|g| (f, g)));
    pairs.extend(narrow_f.as_ref().zip(narrow_g.as_ref()));
    pairs.into_iter().any(|(f, g)| {
        let [f, g] = [f, g].map(|x| {
            let fold = Arc::new(Elem::Fold(Arc::new(x.clone())));
            prepare(ctx, &fold, tier)
        });
        match (&*f, &*g) {
            (Elem::Fold(f), Elem::Fold(g)) => same_fold(ctx, f, g, tier),
            _ => false,
        }
    })
}

/// A fold `a` of a few steps more than one in `b`: by its own equations, the last steps are taken one by one,
/// and a fold of no steps is its first value.
fn unrolled(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> Option<bool> {
    /// More than this is not what an off-by-one or a short window needs.
    const MOST: i128 = 4;
    let Elem::Fold(f) = &**a else { return None };
    let mut more = 0;
    b.visit(&mut |x| {
        if let Elem::Fold(g) = &**x
            && f.lanes().count() == g.lanes().count()
            && let Some(d) = canon::idx(&(&f.extent - &g.extent)).as_constant()
            && (1..=MOST).contains(&d)
        {
            more = more.max(d);
        }
    });
    let before = &f.extent - &Idx::constant(1);
    if more > 0 && ctx.is_non_negative(&before) {
        let a = prepare(ctx, &f.last_step(&before), tier);
        return Some(congruent(ctx, &a, b, tier));
    }
    // A few steps at most: each number of them.
    if matches!(&**b, Elem::Fold(_)) || !ctx.proves(CmpOp::Le, &f.extent, &Idx::constant(MOST)) {
        return None;
    }
    // Where nothing can be, too, or the steps would have no end.
    if ctx.proves(CmpOp::Le, &f.extent, &Idx::default()) {
        return Some(same(ctx, &f.init, b, tier));
    }
    let none = Elem::index_compare(CmpOp::Le, f.extent.clone(), Idx::default());
    let cases = Elem::select(none, f.init.clone(), f.last_step(&before));
    Some(match &*cases {
        Elem::Select(..) => by_cases(ctx, &cases, b, tier).is_some(),
        _ => same(ctx, &cases, b, tier),
    })
}

/// A choice by indices on one side only: both cases.
fn by_cases(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> Option<bool> {
    let Elem::Select(c, t, f) = &**a else {
        return None;
    };
    let alike = matches!(&**b, Elem::Select(d, ..) if congruent(ctx, c, d, tier));
    if alike || !is_index_condition(c) {
        return None;
    }
    let mark = ctx.mark();
    ctx.assume(c.clone());
    let then = same(ctx, t, b, tier);
    ctx.forget(mark);
    ctx.assume(Elem::not(c.clone()));
    let otherwise = then && same(ctx, f, b, tier);
    ctx.forget(mark);
    // Where this fails, the solver may still know.
    otherwise.then_some(true)
}

fn residual(ctx: &mut Context, a: &ElemRef, b: &ElemRef, tier: Tier) -> bool {
    if a.ty() != b.ty() && tier == Tier::Exact {
        return false;
    }
    if a.ty().is_float() != b.ty().is_float() || (a.ty().is_int() && a.ty() != b.ty()) {
        return false;
    }
    let mut theory = Theory {
        encoder: Encoder::default(),
        tier,
        folds: vec![],
        links: vec![],
    };
    let (x, y) = (theory.encode(ctx, a), theory.encode(ctx, b));
    let mut formulas = vec![format!("(not (= {x} {y}))")];
    let known = ctx.element_facts();
    formulas.extend(theory.encode_facts(ctx, known));
    formulas.append(&mut theory.links);
    if ctx.check(&mut theory.encoder, &formulas) == Answer::Unsat {
        return true;
    }
    if !a.ty().is_int() {
        return false;
    }
    // It may take that the original's arithmetic does not overflow.
    let known = overflow::facts(ctx, &[a, b]);
    if known.is_empty() {
        return false;
    }
    formulas.extend(theory.encode_facts(ctx, known));
    ctx.check(&mut theory.encoder, &formulas) == Answer::Unsat
}

struct Theory {
    encoder: Encoder,
    tier: Tier,
    /// Folds met so far, or the operands of sums and products met so far, with their symbols.
    folds: Vec<Known>,
    /// What comparisons of indices say of the bits of integers in memory.
    links: Vec<String>,
}

/// A fold that was met, as a reduction if it is one that splits, and its symbol.
type Known = (Arc<Fold>, Option<(BinOp, ElemRef)>, String);

impl Theory {
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

    fn encode_facts(&mut self, ctx: &mut Context, facts: Vec<ElemRef>) -> Vec<String> {
        let before = std::mem::replace(&mut ctx.encodes_facts, true);
        let formulas = facts.iter().map(|fact| self.encode(ctx, fact)).collect();
        ctx.encodes_facts = before;
        formulas
    }

    fn encode(&mut self, ctx: &mut Context, e: &ElemRef) -> String {
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
