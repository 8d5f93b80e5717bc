//! The kernel on a tensor processor core: elements are widened to 32 bits, computed with, and put back.
//!
//! A vector of bytes is taken apart into four vectors of words with shifts, so that nothing depends on the
//! order in which conversions leave lanes. An integer is held in an `int64` lane as the value that it is,
//! extended by its sign or by zeros; a truth value as 1 or 0.

use super::range::Range;
use crate::Unsupported;
use crate::magic::Magic;
use std::collections::BTreeMap;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
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
        allowed: Tier,
        loaded: BTreeMap<NodeId, String>,
    ) -> Body<'a> {
        Body {
            function,
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
                let (a, b) = (self.value(node.args[0])?, self.value(node.args[1])?);
                let value = match op {
                    BinOp::Add => format!("v_f32_add_b({a}, {b})"),
                    BinOp::Subtract => format!("v_f32_sub_b({a}, {b})"),
                    BinOp::Multiply => format!("v_f32_mul_b({a}, {b})"),
                    BinOp::Divide => {
                        self.approximate(node)?;
                        format!("v_f32_mul_b({a}, v_reciprocal_f32({b}))")
                    }
                    _ => return self.refuse(node),
                };
                Ok(self.float(&value))
            }
            Op::Binary(op) => self.integers(node, *op),
            Op::Compare(op) => {
                let (a, b) = (self.value(node.args[0])?, self.value(node.args[1])?);
                let (name, of) = (comparison(*op), short(of(0)));
                let name = self.whole(&format!("v_i32_sel_{name}_{of}_b({a}, {b}, 1, 0)"));
                Ok(Lanes {
                    name,
                    range: Range::of(I1),
                })
            }
            Op::Select => {
                let c = self.value(node.args[0])?;
                let (t, f) = (self.lanes(node.args[1])?, self.lanes(node.args[2])?);
                let value = format!(
                    "v_{}_sel_neq_i32_b({c}, 0, {}, {})",
                    short(ty),
                    t.name,
                    f.name
                );
                Ok(Lanes {
                    name: self.hold(ty, &value),
                    range: t.range.with(f.range),
                })
            }
            Op::Convert => self.convert(node, of(0)),
            Op::BitcastConvert if ty.bits() == 32 && of(0).bits() == 32 => {
                let a = self.value(node.args[0])?;
                let a = self.hold(of(0), &a);
                let name = self.hold(ty, &format!("*(const {} *)&{a}", vector_of(ty)));
                Ok(Lanes {
                    name,
                    range: range_of(ty),
                })
            }
            Op::DotGeneral { .. } | Op::Reduce { .. } => Err(Unsupported::new(
                "contractions and reductions belong to PyTorch on this device",
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
        let name = match ty {
            U8 => format!("v_i32_and_b({value}, 255)"),
            U16 => format!("v_i32_and_b({value}, 65535)"),
            I8 => format!("v_i32_sub_b(v_i32_xor_b(v_i32_and_b({value}, 255), 128), 128)"),
            I16 => format!("v_i32_sub_b(v_i32_xor_b(v_i32_and_b({value}, 65535), 32768), 32768)"),
            I1 => format!("v_i32_and_b({value}, 1)"),
            _ => value.to_string(),
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
            let special = match op {
                UnOp::Negate => return Ok(self.float(&format!("v_f32_mul_b({x}, -1.0f)"))),
                UnOp::Exponential => "exp",
                UnOp::Log => "log",
                UnOp::Sqrt => "sqrt",
                UnOp::Tanh => "tanh",
                UnOp::Sine => "sin",
                UnOp::Cosine => "cos",
                _ => return self.refuse(node),
            };
            self.approximate(node)?;
            return Ok(self.float(&format!("v_{special}_f32({x})")));
        }
        let negated = format!("v_i32_sub_b(0, {x})");
        let opposite = Range::binary(BinOp::Subtract, Range::exactly(0), a.range);
        match op {
            UnOp::Negate if ty != I1 => Ok(self.wrap(ty, &negated, opposite)),
            UnOp::Not if ty == I1 => {
                Ok(self.wrap(I1, &format!("v_i32_xor_b({x}, 1)"), Some(Range::of(I1))))
            }
            UnOp::Not => Ok(self.wrap(ty, &format!("v_i32_not_b({x})"), None)),
            UnOp::Abs if ty.is_signed() => {
                Ok(self.wrap(ty, &format!("v_i32_max_b({x}, {negated})"), None))
            }
            UnOp::Abs => Ok(a),
            _ => self.refuse(node),
        }
    }

    fn integers(&mut self, node: &Node, op: BinOp) -> Result<Lanes, Unsupported> {
        let ty = node.ty.elem;
        let (a, b) = (self.lanes(node.args[0])?, self.lanes(node.args[1])?);
        let (x, y) = (&a.name, &b.name);
        let range = Range::binary(op, a.range, b.range);
        let name = match op {
            BinOp::Add => "add",
            BinOp::Subtract => "sub",
            BinOp::And => "and",
            BinOp::Or => "or",
            BinOp::Xor => "xor",
            BinOp::Maximum => "max",
            BinOp::Minimum => "min",
            // The low words of the product.
            BinOp::Multiply => {
                let product = format!("v_i32_mul_b({x}, {y}).v1");
                return Ok(self.wrap(ty, &product, range));
            }
            BinOp::Divide | BinOp::Remainder => return self.divide(node, op, &a, &b),
            BinOp::ShiftLeft | BinOp::ShiftRightLogical | BinOp::ShiftRightArithmetic => {
                return self.shift(node, op, &a, &b);
            }
            _ => return self.refuse(node),
        };
        Ok(self.wrap(ty, &format!("v_i32_{name}_b({x}, {y})"), range))
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
        match op {
            BinOp::ShiftLeft => Ok(self.wrap(ty, &format!("v_i32_shl_b({x}, {count})"), None)),
            // Of a value that is not negative, both are a division.
            _ if a.range.least >= 0 && (op == BinOp::ShiftRightLogical || ty.is_signed()) => {
                let range = Range {
                    least: a.range.least >> count,
                    most: a.range.most >> count,
                };
                Ok(self.wrap(ty, &format!("v_i32_shr_b({x}, {count})"), Some(range)))
            }
            BinOp::ShiftRightLogical if ty == I32 => {
                Ok(self.wrap(ty, &format!("v_i32_shr_b({x}, {count})"), None))
            }
            BinOp::ShiftRightArithmetic if ty.is_signed() => {
                let negative = format!("v_i32_not_b(v_i32_shr_b(v_i32_not_b({x}), {count}))");
                let value =
                    format!("v_i32_sel_less_i32_b({x}, 0, {negative}, v_i32_shr_b({x}, {count}))");
                let range = Range {
                    least: a.range.least >> count,
                    most: a.range.most >> count,
                };
                Ok(self.wrap(ty, &value, Some(range)))
            }
            _ => self.refuse(node),
        }
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
                let of = short(from);
                let value = format!("v_i32_sel_neq_{of}_b({x}, 0, 1, 0)");
                Ok(self.wrap(I1, &value, Some(Range::of(I1))))
            }
            (F32, _) => {
                let limits = Range::of(to);
                let mut value = format!("v_convert_f32_to_i32_b({x}, SW_RZ)");
                if to != I32 {
                    let (least, most) = (limits.least, limits.most);
                    value = format!("v_i32_max_b(v_i32_min_b({value}, {most}), {least})");
                }
                Ok(self.wrap(to, &value, Some(limits)))
            }
            (_, F32) => Ok(self.float(&format!("v_convert_i32_to_f32_b({x})"))),
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

fn comparison(op: CmpOp) -> &'static str {
    match op {
        CmpOp::Eq => "eq",
        CmpOp::Ne => "neq",
        CmpOp::Lt => "less",
        CmpOp::Le => "leq",
        CmpOp::Gt => "grt",
        CmpOp::Ge => "geq",
    }
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
