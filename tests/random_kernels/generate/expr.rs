//! Expressions.

use super::{ALL_TYPES, Array, Gen, Var};
use crate::tree::Ex;
use crate::types::{Typed, all, common, corners, promoted, spelled, unsigned};
use tensorize_ir::scalar::ScalarType::{self, *};

impl Gen {
    /// An expression without side effects.
    pub(super) fn expr(&mut self, depth: usize) -> Typed {
        if depth == 0 || self.chance(6) {
            return self.leaf();
        }
        match self.rng.below(if self.tidy { 13 } else { 20 }) {
            0..=5 => {
                let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
                let op = *self.rng.pick(&['+', '+', '-', '*']);
                self.arithmetic(op, a, b)
            }
            6 => self.conditional(depth),
            7 | 8 => self.cast(depth),
            9 | 10 => self.shift(depth),
            11 => self.division(depth),
            12 => self.call(depth),
            13..=15 => self.bits(depth),
            16 => self.unary(depth),
            _ => {
                let ex = self.condition(depth - 1);
                Typed::within(ex, I32, 0, 1)
            }
        }
    }

    /// An expression that may be converted to `ty`.
    pub(super) fn value_of(&mut self, ty: ScalarType, depth: usize) -> Ex {
        let e = self.expr(depth);
        self.convertible(e, ty).ex
    }

    /// The expression, kept from being a float that is out of the range of `ty`.
    pub(super) fn convertible(&mut self, e: Typed, ty: ScalarType) -> Typed {
        if e.ty.is_int() || ty.is_float() {
            return e;
        }
        let (lo, hi) = if ty.is_signed() {
            ("-99.5f", "99.5f")
        } else {
            ("-0.5f", "99.5f")
        };
        let name = spelled(ty, &mut self.rng);
        let format = format!("({{}} > {lo} && {{}} < {hi} ? ({name}){{}} : ({name})7)");
        let ex = Ex::new(&format, vec![e.ex.clone(), e.ex.clone(), e.ex]);
        let ty = if ty == I1 { I32 } else { promoted(ty) };
        Typed::any(ex, ty)
    }

    fn leaf(&mut self) -> Typed {
        match self.rng.below(8) {
            0..=3 => self.load(),
            4 | 5 if !self.vars.is_empty() => {
                let v = self.rng.pick(&self.vars).clone();
                Typed::within(Ex::leaf(v.name), v.ty, v.lo, v.hi)
            }
            6 if self.chance(2) => {
                let text = *self
                    .rng
                    .pick(&["0.5f", "1.0f", "-2.0f", "0.25", "3.0", "1e-3f"]);
                Typed::any(Ex::leaf(text), if text.ends_with('f') { F32 } else { F64 })
            }
            _ => self.literal(),
        }
    }

    fn literal(&mut self) -> Typed {
        let (text, ty, v): (&str, _, i128) = *self.rng.pick(&[
            ("0", I32, 0),
            ("1", I32, 1),
            ("2", I32, 2),
            ("3", I32, 3),
            ("7", I32, 7),
            ("15", I32, 15),
            ("(-1)", I32, -1),
            ("127", I32, 127),
            ("255", I32, 255),
            ("0x80", I32, 128),
            ("1000", I32, 1000),
            ("65535u", U32, 65535),
            ("1u", U32, 1),
            ("3l", I64, 3),
            ("0x7fffffff", I32, 0x7fff_ffff),
            ("4294967295u", U32, 0xffff_ffff),
            ("1ull", U64, 1),
            ("'a'", I32, 97),
        ]);
        Typed::within(Ex::leaf(text), ty, v, v)
    }

    fn load(&mut self) -> Typed {
        let array = self.rng.pick(&self.arrays).clone();
        let index = self.index(array.len);
        let ex = Ex::new(&format!("{}[{{}}]", array.name), vec![index]);
        Typed::any(ex, array.elem)
    }

    /// An index below `len`.
    pub(super) fn index(&mut self, len: i128) -> Ex {
        let counters: Vec<Var> = self.vars.iter().filter(|v| v.counter).cloned().collect();
        for _ in 0..6 {
            let Some(i) = counters.last() else { break };
            let i = if self.chance(4) {
                self.rng.pick(&counters).clone()
            } else {
                i.clone()
            };
            let i = Typed::within(Ex::leaf(i.name), i.ty, i.lo, i.hi);
            let literal = |v: i128| Typed::within(Ex::leaf(v.to_string()), I32, v, v);
            let found = match self.rng.below(if counters.len() > 1 { 10 } else { 6 }) {
                0..=3 => i,
                4 => {
                    let by = literal(1 + i128::from(self.rng.below(2)));
                    let op = *self.rng.pick(&['+', '-']);
                    self.arithmetic(op, i, by)
                }
                5 => {
                    let by = literal(2);
                    self.arithmetic('*', by, i)
                }
                _ => {
                    let row = counters[counters.len() - 2].clone();
                    let row = Typed::within(Ex::leaf(row.name), row.ty, row.lo, row.hi);
                    let sizes: Vec<Var> = self
                        .vars
                        .iter()
                        .filter(|v| !v.assignable && !v.counter && v.ty.is_int())
                        .cloned()
                        .collect();
                    let pitch = match sizes.last() {
                        Some(m) if m.hi <= super::MAX_SIZE => {
                            Typed::within(Ex::leaf(m.name.clone()), m.ty, m.lo, m.hi)
                        }
                        _ => literal(6),
                    };
                    let start = self.arithmetic('*', row, pitch);
                    self.arithmetic('+', start, i)
                }
            };
            if found.lo >= 0 && found.hi < len {
                return found.ex;
            }
        }
        if self.chance(3) {
            let e = self.leaf();
            if e.ty.is_int() {
                return Ex::new("({} & 7)", vec![e.ex]);
            }
        }
        Ex::leaf(self.rng.below(6).to_string())
    }

    /// `a op b` for `+`, `-` and `*`, in the unsigned type where it could overflow.
    pub(super) fn arithmetic(&mut self, op: char, a: Typed, b: Typed) -> Typed {
        let ty = common(a.ty, b.ty);
        let plain = format!("({{}} {op} {{}})");
        if ty.is_float() {
            return Typed::any(Ex::new(&plain, vec![a.ex, b.ex]), ty);
        }
        let (lo, hi) = corners(op, a.converted(ty), b.converted(ty));
        let fits = ty.min_value() <= lo && hi <= ty.max_value();
        let (lo, hi) = if fits { (lo, hi) } else { all(ty) };
        if fits || !ty.is_signed() || self.wraps || !self.guarded {
            return Typed::within(Ex::new(&plain, vec![a.ex, b.ex]), ty, lo, hi);
        }
        let u = spelled(unsigned(ty), &mut self.rng);
        let s = spelled(ty, &mut self.rng);
        let ex = Ex::new(
            &format!("({s})(({u}){{}} {op} ({u}){{}})"),
            vec![a.ex, b.ex],
        );
        Typed::within(ex, ty, lo, hi)
    }

    fn conditional(&mut self, depth: usize) -> Typed {
        let c = self.condition(depth - 1);
        let (a, b) = (self.expr(depth - 1), self.expr(depth - 1));
        let ty = common(a.ty, b.ty);
        let (lo, hi) = if ty.is_float() {
            (0, 0)
        } else {
            let (x, y) = (a.converted(ty), b.converted(ty));
            (x.0.min(y.0), x.1.max(y.1))
        };
        Typed::within(Ex::new("({} ? {} : {})", vec![c, a.ex, b.ex]), ty, lo, hi)
    }

    fn cast(&mut self, depth: usize) -> Typed {
        let ty = if self.chance(12) {
            I1
        } else {
            *self.rng.pick(&ALL_TYPES)
        };
        let e = self.expr(depth - 1);
        let e = if ty == I1 { e } else { self.convertible(e, ty) };
        let (lo, hi) = if ty.is_float() {
            (0, 0)
        } else {
            e.converted(ty)
        };
        let format = format!("({}){{}}", spelled(ty, &mut self.rng));
        // The operand may be a bare literal or a sum: casts bind tightly.
        let inner = Ex::new("({})", vec![e.ex]);
        Typed::within(Ex::new(&format, vec![inner]), ty, lo, hi)
    }

    /// An integer expression.
    fn integer(&mut self, depth: usize) -> Typed {
        let e = self.expr(depth);
        if e.ty.is_int() {
            return e;
        }
        let ty = *self.rng.pick(&[I32, U8, I64]);
        self.convertible(e, ty)
    }

    fn shift(&mut self, depth: usize) -> Typed {
        let a = self.integer(depth - 1);
        let ty = promoted(a.ty);
        let bits = i128::from(ty.bits());
        let count = if self.chance(3) {
            let b = self.integer(0);
            Ex::new(&format!("({{}} & {})", bits - 1), vec![b.ex])
        } else {
            let usual = [1, 2, 4, 7, 8, 15, bits - 1];
            Ex::leaf(self.rng.pick(&usual).to_string())
        };
        if self.chance(2) {
            let (lo, hi) = if a.lo >= 0 { (0, a.hi) } else { all(ty) };
            return Typed::within(Ex::new("({} >> {})", vec![a.ex, count]), ty, lo, hi);
        }
        if !ty.is_signed() || self.wraps {
            return Typed::any(Ex::new("({} << {})", vec![a.ex, count]), ty);
        }
        let u = unsigned(ty);
        let format = format!("(({}){{}} << {{}})", spelled(u, &mut self.rng));
        Typed::any(Ex::new(&format, vec![a.ex, count]), u)
    }

    fn division(&mut self, depth: usize) -> Typed {
        let a = self.expr(depth - 1);
        if a.ty.is_float() {
            let b = self.expr(depth - 1);
            let ty = common(a.ty, b.ty);
            return Typed::any(Ex::new("({} / {})", vec![a.ex, b.ex]), ty);
        }
        let b = match self.rng.below(3) {
            0 => Typed::within(Ex::leaf("(-3)"), I32, -3, -3),
            1 => {
                let d = i128::from(1 + self.rng.below(9));
                Typed::within(Ex::leaf(d.to_string()), I32, d, d)
            }
            _ => {
                let d = self.integer(0);
                let ty = common(d.ty, I32);
                Typed::within(Ex::new("(({} & 15) + 1)", vec![d.ex]), ty, 1, 16)
            }
        };
        let ty = common(a.ty, b.ty);
        let a_range = a.converted(ty);
        let (lo, hi) = if a_range.0 >= 0 && b.lo > 0 {
            (0, a_range.1)
        } else {
            all(ty)
        };
        let format = *self.rng.pick(&["({} / {})", "({} % {})"]);
        Typed::within(Ex::new(format, vec![a.ex, b.ex]), ty, lo, hi)
    }

    fn call(&mut self, depth: usize) -> Typed {
        let d = depth - 1;
        match self.rng.below(8) {
            0 => {
                let e = self.value_of(I32, d);
                Typed::within(
                    Ex::new("clamp((int)({}), -20, 200)", vec![e]),
                    I32,
                    -20,
                    200,
                )
            }
            1 => {
                let e = self.value_of(I32, d);
                Typed::within(Ex::new("saturate((int)({}))", vec![e]), U8, 0, 255)
            }
            2 => {
                let e = self.expr(d);
                Typed::any(Ex::new("square({})", vec![e.ex]), F32)
            }
            3 => {
                let (a, b) = (self.value_of(U32, d), self.value_of(U32, d));
                Typed::any(Ex::new("mix({}, {})", vec![a, b]), U32)
            }
            4 => {
                let e = self.value_of(I16, d);
                Typed::within(
                    Ex::new("abs((int16_t)({}))", vec![e]),
                    I32,
                    0,
                    i128::from(i16::MAX) + 1,
                )
            }
            5 => {
                let e = self.expr(d);
                let name = *self.rng.pick(&["fabsf", "sqrtf", "floorf", "ceilf"]);
                Typed::any(Ex::new(&format!("{name}({{}})"), vec![e.ex]), F32)
            }
            6 => {
                let e = self.expr(d);
                let name = *self.rng.pick(&["fabs", "sqrt", "floor", "ceil"]);
                Typed::any(Ex::new(&format!("{name}({{}})"), vec![e.ex]), F64)
            }
            _ => {
                // Minimum and maximum as people write them.
                let (a, b) = (self.leaf(), self.leaf());
                let ty = common(a.ty, b.ty);
                let op = *self.rng.pick(&["<", ">", "<=", ">="]);
                let format = format!("({{}} {op} {{}} ? {{}} : {{}})");
                let ex = Ex::new(&format, vec![a.ex.clone(), b.ex.clone(), a.ex, b.ex]);
                Typed::any(ex, ty)
            }
        }
    }

    fn bits(&mut self, depth: usize) -> Typed {
        let (a, b) = (self.integer(depth - 1), self.integer(depth - 1));
        let ty = common(a.ty, b.ty);
        let (x, y) = (a.converted(ty), b.converted(ty));
        let op = *self.rng.pick(&["&", "|", "^"]);
        let (lo, hi) = match op {
            "&" if x.0 >= 0 && y.0 >= 0 => (0, x.1.min(y.1)),
            _ if x.0 >= 0 && y.0 >= 0 => (
                0,
                (x.1.max(y.1) as u128 + 1).next_power_of_two() as i128 - 1,
            ),
            _ => all(ty),
        };
        Typed::within(
            Ex::new(&format!("({{}} {op} {{}})"), vec![a.ex, b.ex]),
            ty,
            lo,
            hi,
        )
    }

    fn unary(&mut self, depth: usize) -> Typed {
        let e = self.expr(depth - 1);
        if e.ty.is_float() {
            return Typed::any(Ex::new("(-{})", vec![e.ex]), e.ty);
        }
        let ty = promoted(e.ty);
        if self.chance(2) {
            let (lo, hi) = e.converted(ty);
            let (lo, hi) = if ty.is_signed() {
                (-1 - hi, -1 - lo)
            } else {
                all(ty)
            };
            return Typed::within(Ex::new("(~{})", vec![e.ex]), ty, lo, hi);
        }
        let zero = Typed::within(Ex::leaf("0"), I32, 0, 0);
        if e.lo > ty.min_value() || !ty.is_signed() {
            let (lo, hi) = if ty.is_signed() {
                (-e.hi, -e.lo)
            } else {
                all(ty)
            };
            return Typed::within(Ex::new("(-{})", vec![e.ex]), ty, lo, hi);
        }
        self.arithmetic('-', zero, e)
    }

    /// A truth value.
    pub(super) fn condition(&mut self, depth: usize) -> Ex {
        match self.rng.below(8) {
            0 if depth > 0 => {
                let (a, b) = (self.condition(depth - 1), self.condition(depth - 1));
                let op = *self.rng.pick(&["&&", "||"]);
                Ex::new(&format!("({{}} {op} {{}})"), vec![a, b])
            }
            1 if depth > 0 => {
                let a = self.condition(depth - 1);
                Ex::new("(!{})", vec![a])
            }
            2 => {
                let e = self.integer(depth.saturating_sub(1));
                Ex::new("({} & 1)", vec![e.ex])
            }
            _ => {
                let d = depth.saturating_sub(1);
                let (a, b) = (self.expr(d), self.expr(d));
                let op = *self.rng.pick(&["<", ">", "<=", ">=", "==", "!="]);
                Ex::new(&format!("({{}} {op} {{}})"), vec![a.ex, b.ex])
            }
        }
    }

    /// A place that may be written.
    pub(super) fn writable(&mut self) -> (Ex, Array) {
        let writable: Vec<Array> = self.arrays.iter().filter(|a| a.writable).cloned().collect();
        // There is always one: the parameter `b`.
        let array = self.rng.pick(&writable).clone();
        let own = self.vars.iter().rfind(|v| v.counter && v.hi < array.len);
        let own = own.map(|v| Ex::leaf(v.name.clone()));
        let index = match own {
            // Where most loops write.
            Some(counter) if self.tidy && !self.chance(3) => counter,
            _ => self.index(array.len),
        };
        (
            Ex::new(&format!("{}[{{}}]", array.name), vec![index]),
            array,
        )
    }
}
