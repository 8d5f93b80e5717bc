//! The kernel on a tensor processor core: elements are widened to 32 bits, computed with, and put back.
//!
//! A vector of bytes is taken apart into four vectors of words with shifts, so that nothing depends on the
//! order in which conversions leave lanes. An integer is held in an `int64` lane as the value that it is,
//! extended by its sign or by zeros; a truth value as 1 or 0.

use super::range::Range;
use crate::Unsupported;
use crate::magic::Magic;
use crate::rows::{self, Tables};
use std::collections::BTreeMap;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, Node, NodeId, Op};

use ScalarType::{F32, I1, I8, I16, I32, U8, U16};

/// A vector with what is known of its lanes.
#[derive(Clone)]
struct Lanes {
    name: String,
    range: Range,
}

/// Writes the statements of a kernel.
pub(super) struct Body<'a> {
    function: &'a Function,
    rows: Tables,
    allowed: Tier,
    pub tier: Tier,
    /// One statement a line.
    pub lines: Vec<String>,
    values: BTreeMap<NodeId, Lanes>,
    /// What the loop puts into variables beforehand: vectors that were loaded, by the view's node.
    loaded: BTreeMap<NodeId, String>,
    /// Scalars that the kernel gets as arguments.
    pub scalars: Vec<NodeId>,
    /// What division by constants rests on.
    pub theorems: Vec<String>,
    next: usize,
}

/// The vector type of a value.
pub(super) fn vector_of(ty: ScalarType) -> &'static str {
    if ty == F32 { "float64" } else { "int64" }
}

fn short(ty: ScalarType) -> &'static str {
    if ty == F32 { "f32" } else { "i32" }
}

/// The type's values fit into a lane as they are.
pub(super) fn held(ty: ScalarType) -> bool {
    [I1, I8, U8, I16, U16, I32, F32].contains(&ty)
}

impl<'a> Body<'a> {
    pub(super) fn new(
        function: &'a Function,
        rows: Tables,
        allowed: Tier,
        loaded: BTreeMap<NodeId, String>,
    ) -> Body<'a> {
        Body {
            function,
            rows,
            allowed,
            tier: Tier::Exact,
            lines: vec![],
            values: BTreeMap::new(),
            loaded,
            scalars: vec![],
            theorems: vec![],
            next: 0,
        }
    }

    /// A vector variable with this value: a new one, unless it is one.
    fn hold(&mut self, ty: ScalarType, value: &str) -> String {
        let number = value.strip_prefix(['v', 'x']).unwrap_or_default();
        if !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()) {
            return value.into();
        }
        let name = format!("v{}", self.next);
        self.next += 1;
        self.lines
            .push(format!("const {} {name} = {value};", vector_of(ty)));
        name
    }

    fn whole(&mut self, value: &str) -> String {
        self.hold(I32, value)
    }

    fn refuse<T>(&self, node: &Node) -> Result<T, Unsupported> {
        Err(Unsupported::new(format!(
            "a tensor processor core has no {} of {} here",
            node.op.name(),
            node.ty.elem
        )))
    }

    /// How the core spells an operator on a type.
    fn filled(&self, name: &str, ty: ScalarType, texts: &[(&str, &str)]) -> String {
        let texts = [texts, &[("l", short(ty)), ("v", vector_of(ty))]].concat();
        rows::fill(rows::form(self.rows, name, ty), &texts)
    }

    /// The same for one that may not be there, or be approximate.
    fn float_form(&mut self, node: &Node, name: &str) -> Result<&'static str, Unsupported> {
        match rows::find(self.rows, name, F32, false) {
            None => self.refuse(node),
            Some(row) if row.own_rounding() => self.approximate(node).map(|()| row.form),
            Some(row) => Ok(row.form),
        }
    }

    /// What is only equal over the real numbers, or approximate.
    fn approximate(&mut self, node: &Node) -> Result<(), Unsupported> {
        if self.allowed == Tier::Exact {
            return Err(Unsupported::new(format!(
                "{} of {} is approximate on a tensor processor core, and the same bits are asked for",
                node.op.name(),
                node.ty.elem
            )));
        }
        self.tier = Tier::Real;
        Ok(())
    }

    /// The variable or literal with a node's value.
    pub(super) fn value(&mut self, id: NodeId) -> Result<String, Unsupported> {
        Ok(self.lanes(id)?.name)
    }

    fn lanes(&mut self, id: NodeId) -> Result<Lanes, Unsupported> {
        if let Some(known) = self.values.get(&id) {
            return Ok(known.clone());
        }
        let function = self.function;
        let node = &function.nodes[id];
        let ty = node.ty.elem;
        if !held(ty) {
            return Err(Unsupported::new(format!(
                "vectors of {ty} are not used on a tensor processor core"
            )));
        }
        let lanes = match self.loaded.get(&id) {
            Some(name) => Lanes {
                name: name.clone(),
                range: range_of(ty),
            },
            None if node.ty.shape.is_empty() => self.scalar(id)?,
            None => self.operator(node)?,
        };
        self.values.insert(id, lanes.clone());
        Ok(lanes)
    }

    /// A scalar: a literal, or an argument of the kernel.
    fn scalar(&mut self, id: NodeId) -> Result<Lanes, Unsupported> {
        let node = &self.function.nodes[id];
        if let Op::Constant(v) = node.op
            && let Some(name) = literal(v)
        {
            let range = if v.ty.is_float() {
                range_of(v.ty)
            } else {
                Range::exactly(v.as_int())
            };
            return Ok(Lanes { name, range });
        }
        let at = self.scalars.iter().position(|s| *s == id);
        let at = at.unwrap_or_else(|| {
            self.scalars.push(id);
            self.scalars.len() - 1
        });
        Ok(Lanes {
            name: scalar_name(at),
            range: range_of(node.ty.elem),
        })
    }

    fn operator(&mut self, node: &Node) -> Result<Lanes, Unsupported> {
        let ty = node.ty.elem;
        let of = |i: usize| self.function.nodes[node.args[i]].ty.elem;
        match &node.op {
            Op::BroadcastInDim { dimensions } if dimensions.is_empty() => self.lanes(node.args[0]),
            Op::Unary(op) => self.unary(node, *op),
            Op::Binary(op) if ty == F32 => {
                let form = self.float_form(node, op.name())?;
                let (a, b) = (self.value(node.args[0])?, self.value(node.args[1])?);
                Ok(self.float(&rows::fill(form, &[("a", &a), ("b", &b)])))
            }
            Op::Binary(op) => self.integers(node, *op),
            Op::Compare(op) => {
                let (a, b) = (self.value(node.args[0])?, self.value(node.args[1])?);
                let value = self.filled(op.name(), of(0), &[("a", &a), ("b", &b)]);
                let name = self.whole(&value);
                Ok(Lanes {
                    name,
                    range: Range::of(I1),
                })
            }
            Op::Select => {
                let c = self.value(node.args[0])?;
                let (t, f) = (self.lanes(node.args[1])?, self.lanes(node.args[2])?);
                let texts = [("c", &*c), ("a", &t.name), ("b", &f.name)];
                let value = self.filled("select", ty, &texts);
                Ok(Lanes {
                    name: self.hold(ty, &value),
                    range: t.range.with(f.range),
                })
            }
            Op::Convert => self.convert(node, of(0)),
            Op::BitcastConvert if ty.bits() == 32 && of(0).bits() == 32 => {
                let a = self.value(node.args[0])?;
                let a = self.hold(of(0), &a);
                let value = self.filled("bitcast_convert", ty, &[("a", &a)]);
                let name = self.hold(ty, &value);
                Ok(Lanes {
                    name,
                    range: range_of(ty),
                })
            }
            Op::DotGeneral { .. } | Op::Reduce { .. } => Err(Unsupported::new(
                "a tensor processor core has no contractions and reductions here",
            )),
            _ => self.refuse(node),
        }
    }

    fn float(&mut self, value: &str) -> Lanes {
        Lanes {
            name: self.hold(F32, value),
            range: range_of(F32),
        }
    }

    /// An integer of the type, from lanes that hold it modulo 2³², with these values if none is lost.
    fn wrap(&mut self, ty: ScalarType, value: &str, range: Option<Range>) -> Lanes {
        let fits = |r: Range| r.wrapped(ty) == r;
        if let Some(range) = range.filter(|r| fits(*r)) {
            let name = self.whole(value);
            return Lanes { name, range };
        }
        let name = match rows::find(self.rows, "wrap", ty, false) {
            Some(row) => rows::fill(row.form, &[("a", value)]),
            // 32 bits, or a truth value, of which every operator makes one.
            None => value.to_string(),
        };
        Lanes {
            name: self.whole(&name),
            range: Range::of(ty),
        }
    }

    fn unary(&mut self, node: &Node, op: UnOp) -> Result<Lanes, Unsupported> {
        let ty = node.ty.elem;
        let a = self.lanes(node.args[0])?;
        let x = &a.name;
        if ty == F32 {
            let form = self.float_form(node, op.name())?;
            return Ok(self.float(&rows::fill(form, &[("a", x)])));
        }
        let opposite = Range::binary(BinOp::Subtract, Range::exactly(0), a.range);
        let range = match op {
            UnOp::Negate if ty != I1 => opposite,
            UnOp::Not if ty == I1 => Some(Range::of(I1)),
            UnOp::Not => None,
            UnOp::Abs if ty.is_signed() => None,
            UnOp::Abs => return Ok(a),
            _ => return self.refuse(node),
        };
        let value = self.filled(op.name(), ty, &[("a", x)]);
        Ok(self.wrap(ty, &value, range))
    }

    fn integers(&mut self, node: &Node, op: BinOp) -> Result<Lanes, Unsupported> {
        let ty = node.ty.elem;
        let (a, b) = (self.lanes(node.args[0])?, self.lanes(node.args[1])?);
        let (x, y) = (&a.name, &b.name);
        let range = Range::binary(op, a.range, b.range);
        use BinOp::*;
        match op {
            Divide | Remainder => return self.divide(node, op, &a, &b),
            ShiftLeft | ShiftRightLogical | ShiftRightArithmetic => {
                return self.shift(node, op, &a, &b);
            }
            Add | Subtract | Multiply | And | Or | Xor | Maximum | Minimum => {}
            _ => return self.refuse(node),
        }
        let value = self.filled(op.name(), ty, &[("a", x), ("b", y)]);
        Ok(self.wrap(ty, &value, range))
    }

    fn shift(
        &mut self,
        node: &Node,
        op: BinOp,
        a: &Lanes,
        b: &Lanes,
    ) -> Result<Lanes, Unsupported> {
        let (ty, x) = (node.ty.elem, &a.name);
        let count = b.range.least;
        if b.range.most != count || count < 0 || count >= ty.bits().into() {
            return Err(Unsupported::new("a shift by a count that is no constant"));
        }
        let by = count.to_string();
        let of = |name: &str| self.filled(name, ty, &[("a", x), ("b", &by)]);
        let range = Range {
            least: a.range.least >> count,
            most: a.range.most >> count,
        };
        let (value, range) = match op {
            BinOp::ShiftLeft => (of("shift_left"), None),
            // Of a value that is not negative, both are a division.
            _ if a.range.least >= 0 && (op == BinOp::ShiftRightLogical || ty.is_signed()) => {
                (of("shift_right_logical"), Some(range))
            }
            BinOp::ShiftRightLogical if ty == I32 => (of("shift_right_logical"), None),
            BinOp::ShiftRightArithmetic if ty.is_signed() => {
                (of("shift_right_arithmetic"), Some(range))
            }
            _ => return self.refuse(node),
        };
        Ok(self.wrap(ty, &value, range))
    }

    /// There is no division of integers: by a constant it is a multiplication and a shift, and otherwise, where
    /// the quotient has few bits, one subtraction for each of them.
    fn divide(
        &mut self,
        node: &Node,
        op: BinOp,
        a: &Lanes,
        b: &Lanes,
    ) -> Result<Lanes, Unsupported> {
        let ty = node.ty.elem;
        let constant = b.range.least;
        let quotient = if b.range.most == constant && constant > 0 {
            self.by_constant(a, constant as u32)?
        } else if a.range.least >= 0 && a.range.most < 1 << 16 && b.range.least >= 0 {
            self.by_variable(a, b)
        } else {
            return Err(Unsupported::new(
                "a tensor processor core has no integer division; by a constant, or of numbers below 65536, it is made of others",
            ));
        };
        if op == BinOp::Divide {
            let range = Range::binary(op, a.range, b.range);
            return Ok(self.wrap(ty, &quotient, range));
        }
        let back = format!("v_i32_mul_b({quotient}, {}).v1", b.name);
        let rest = self.whole(&format!("v_i32_sub_b({}, {back})", a.name));
        // Nothing divided by zero: what is left is all of it.
        let rest = match constant > 0 {
            true => rest,
            false => format!("v_i32_sel_eq_i32_b({}, 0, {}, {rest})", b.name, a.name),
        };
        Ok(self.wrap(ty, &rest, None))
    }

    fn by_constant(&mut self, a: &Lanes, divisor: u32) -> Result<String, Unsupported> {
        let signed = a.range.least < 0;
        let most = a.range.most.max(-a.range.least) as u32;
        let magic = Magic::find(divisor, most).ok_or_else(|| {
            Unsupported::new(format!("no multiplier for a division by {divisor}"))
        })?;
        self.theorems.push(magic.theorem());
        let x = &a.name;
        // That of the least integer is right, too, as an unsigned number.
        let magnitude = match signed {
            true => self.whole(&format!("v_i32_max_b({x}, v_i32_sub_b(0, {x}))")),
            false => self.whole(x),
        };
        let Magic {
            multiplier, shift, ..
        } = magic;
        let product = format!("v_u32_mul_b(*(const uint64 *)&{magnitude}, {multiplier}u)");
        let name = format!("q{}", self.next);
        self.next += 1;
        self.lines.push(match shift.checked_sub(32) {
            Some(more) => format!("const uint64 {name} = v_u32_shr_b({product}.v2, {more});"),
            None => format!("const uint64 {name} = v_u32_shr_b({product}.v1, {shift});"),
        });
        let quotient = self.whole(&format!("*(const int64 *)&{name}"));
        Ok(match signed {
            true => self.whole(&format!(
                "v_i32_sel_less_i32_b({x}, 0, v_i32_sub_b(0, {quotient}), {quotient})"
            )),
            false => quotient,
        })
    }

    /// Bit by bit, the highest first.
    fn by_variable(&mut self, a: &Lanes, b: &Lanes) -> String {
        let bits = 128 - a.range.most.leading_zeros();
        let mut rest = a.name.clone();
        let mut quotient = String::from("0");
        for bit in (0..bits).rev() {
            // Where the shifted divisor would leave the lane, it is too large anyhow.
            let step = self.whole(&format!(
                "v_i32_sel_less_i32_b(v_i32_shr_b({rest}, {bit}), {}, 0, 1)",
                b.name
            ));
            if bit > 0 {
                let taken = format!("v_i32_shl_b({}, {bit})", b.name);
                rest = self.whole(&format!(
                    "v_i32_sel_neq_i32_b({step}, 0, v_i32_sub_b({rest}, {taken}), {rest})"
                ));
            }
            quotient = self.whole(&format!(
                "v_i32_or_b({quotient}, v_i32_shl_b({step}, {bit}))"
            ));
        }
        // What division by zero gives is TensIR's choice, where C has none.
        self.whole(&format!(
            "v_i32_sel_eq_i32_b({}, 0, -1, {quotient})",
            b.name
        ))
    }

    fn convert(&mut self, node: &Node, from: ScalarType) -> Result<Lanes, Unsupported> {
        let (to, a) = (node.ty.elem, self.lanes(node.args[0])?);
        let x = &a.name;
        match (from, to) {
            (F32, F32) => Ok(a),
            (_, I1) => {
                let value = self.filled("NE", from, &[("a", x), ("b", "0")]);
                Ok(self.wrap(I1, &value, Some(Range::of(I1))))
            }
            (F32, _) => {
                let limits = Range::of(to);
                let mut value = self.filled("to_integer", to, &[("a", x)]);
                if to != I32 {
                    let (least, most) = (limits.least.to_string(), limits.most.to_string());
                    let texts = [("a", &*value), ("most", &most), ("least", &least)];
                    value = self.filled("clamp", to, &texts);
                }
                Ok(self.wrap(to, &value, Some(limits)))
            }
            (_, F32) => {
                let value = self.filled("to_float", from, &[("a", x)]);
                Ok(self.float(&value))
            }
            _ if a.range.wrapped(to) == a.range => Ok(a),
            _ => Ok(self.wrap(to, x, None)),
        }
    }
}

/// The name of a kernel's scalar argument.
pub(super) fn scalar_name(at: usize) -> String {
    format!("s{at}")
}

fn range_of(ty: ScalarType) -> Range {
    // Of floats, nothing is asked.
    Range::of(if ty.is_float() { I32 } else { ty })
}

fn literal(v: Scalar) -> Option<String> {
    if v.ty == F32 {
        let x = v.as_f32();
        return x.is_finite().then(|| format!("{x:?}f"));
    }
    Some(match v.as_int() {
        least if least == I32.min_value() => "INT32_MIN".into(),
        value => value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    /// A misspelt row would never be found.
    #[test]
    fn rows_are_ones_that_the_printer_asks_for() {
        let others = [
            "select",
            "bitcast_convert",
            "to_integer",
            "clamp",
            "to_float",
            "wrap",
        ];
        crate::rows::check("gaudi", super::super::CORES.rows, &others);
    }
}
