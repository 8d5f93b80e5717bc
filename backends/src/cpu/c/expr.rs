//! Expressions, printed so that C's promotions give exactly what LoopIR means.

use super::dialect::Dialect;
use super::helper::Helper;
use crate::rows;
use std::collections::{BTreeMap, BTreeSet};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

use ScalarType::{F32, I1, I32, I64, U32, U64};

/// Prints expressions, and notes the helper functions that they call.
pub(super) struct ExprPrinter {
    /// The language.
    pub dialect: &'static Dialect,
    /// LoopIR's names to C's.
    pub names: BTreeMap<Sym, String>,
    /// Called so far.
    pub helpers: BTreeSet<Helper>,
    /// What is being printed says where something lies in memory: it is less than what memory can hold, and so are
    /// the sums and products that it is made of.
    in_index: bool,
    /// Whether products of floats are kept apart from what adds and subtracts them.
    pub(super) rounds: bool,
}

/// How tightly the outermost operator binds; C's levels, a larger number binding tighter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Ternary,
    Or,
    Xor,
    And,
    Equality,
    Relation,
    Shift,
    Sum,
    Product,
    Unary,
    Primary,
}

/// Printed C. Its value is the LoopIR value; its C type `ty` may be narrower than LoopIR's, or `int`.
struct Text {
    s: String,
    level: Level,
    ty: ScalarType,
}

impl Text {
    fn at(self, level: Level) -> String {
        if self.level >= level {
            self.s
        } else {
            format!("({})", self.s)
        }
    }
}

fn primary(s: String, ty: ScalarType) -> Text {
    Text {
        s,
        level: Level::Primary,
        ty,
    }
}

/// The type in which C computes with operands of these types.
fn common(a: ScalarType, b: ScalarType) -> ScalarType {
    if a.is_float() || b.is_float() {
        return a.max(b);
    }
    let promote = |t: ScalarType| if t.bits() < 32 { I32 } else { t };
    let (a, b) = (promote(a), promote(b));
    match a.bits().cmp(&b.bits()) {
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Equal => {
            if a.is_signed() {
                b
            } else {
                a
            }
        }
    }
}

impl ExprPrinter {
    pub(super) fn new(dialect: &'static Dialect) -> ExprPrinter {
        ExprPrinter {
            dialect,
            names: BTreeMap::new(),
            helpers: BTreeSet::new(),
            in_index: false,
            rounds: false,
        }
    }

    /// The C name of a LoopIR name.
    pub(super) fn name(&self, name: &Sym) -> String {
        self.names
            .get(name)
            .cloned()
            .unwrap_or_else(|| name.to_string())
    }

    /// An expression, where anything but a comma may stand around it.
    pub(super) fn print(&mut self, e: &Expr) -> String {
        self.text(e).s
    }

    /// An index, or another expression of type `i64` that counts what is in memory.
    pub(super) fn print_index(&mut self, e: &Expr) -> String {
        let outer = std::mem::replace(&mut self.in_index, true);
        let mut text = self.print(e);
        self.in_index = outer;
        // What a variable stands for may be a sum.
        if let (Expr::Var(..), Some(sum)) = (e, text.strip_prefix('(')) {
            text = sum.trim_end_matches(')').to_owned();
        }
        text
    }

    /// Whether the language's own operator may overflow where LoopIR's wraps.
    fn may_overflow(&self, op: BinOp, ty: ScalarType) -> bool {
        let overflows = match op {
            BinOp::Add | BinOp::Subtract => ty.is_signed() && ty.bits() >= 32,
            // The product of two large 16-bit numbers is computed as an `int`, too.
            BinOp::Multiply => (ty.is_signed() && ty.bits() >= 32) || ty == ScalarType::U16,
            BinOp::ShiftLeft => ty.is_signed() || ty == ScalarType::U16,
            _ => false,
        };
        overflows && !self.dialect.wraps && !(self.in_index && ty == I64)
    }

    /// An expression whose C type has to be exactly its own, such as an operand of `?:` that is converted later.
    fn typed(&mut self, e: &Expr) -> Text {
        let text = self.text(e);
        if text.ty == e.ty() {
            text
        } else {
            cast(e.ty(), text)
        }
    }

    fn text(&mut self, e: &Expr) -> Text {
        match e {
            Expr::Const(v) => constant(*v),
            Expr::Var(name, ty) => primary(self.name(name), *ty),
            Expr::Load { array, elem, index } => {
                let index = self.print_index(index);
                primary(format!("{}[{index}]", self.name(array)), *elem)
            }
            Expr::Unary(op, a) => self.unary(*op, a),
            Expr::Binary(op, a, b) => self.binary(*op, a, b),
            Expr::Compare(op, a, b) => {
                use tensorize_ir::op::CmpOp::{Eq, Ne};
                let level = if matches!(op, Eq | Ne) {
                    Level::Equality
                } else {
                    Level::Relation
                };
                // Comparisons don't chain: `a < b < c` would be legal, and surprising.
                let form = self.form(op.name(), a.ty());
                let (a, b) = (self.text(a).at(Level::Shift), self.text(b).at(Level::Shift));
                Text {
                    s: rows::fill(form, &[("a", &a), ("b", &b)]),
                    level,
                    ty: I32,
                }
            }
            Expr::Convert(to, a) => self.convert(*to, a),
            Expr::Bitcast(to, a) => {
                let from = a.ty();
                if from == *to {
                    return self.text(a);
                }
                let a = self.print(a);
                primary(self.call(Helper::Bits(from, *to), &[a]), *to)
            }
            Expr::Select(c, t, f) => {
                let form = self.form("select", t.ty());
                let c = self.text(c).at(Level::Or);
                let (t, f) = (self.text(t), self.text(f));
                let ty = common(t.ty, f.ty);
                let (t, f) = (t.at(Level::Or), f.at(Level::Ternary));
                Text {
                    s: rows::fill(form, &[("c", &c), ("a", &t), ("b", &f)]),
                    level: Level::Ternary,
                    ty,
                }
            }
        }
    }

    /// How the language spells an operator.
    fn form(&self, name: &str, ty: ScalarType) -> &'static str {
        rows::form(self.dialect.rows, name, ty)
    }

    fn call(&mut self, helper: Helper, args: &[String]) -> String {
        let name = helper.name();
        self.helpers.insert(helper);
        format!("{name}({})", args.join(", "))
    }

    fn convert(&mut self, to: ScalarType, a: &Expr) -> Text {
        let from = a.ty();
        let text = self.text(a);
        if to == from {
            return text;
        }
        let form = self.form("convert", to);
        if to == I1 {
            let zero = if from.is_float() {
                constant(Scalar::zero(from)).s
            } else {
                "0".into()
            };
            return Text {
                s: rows::fill(form, &[("a", &text.at(Level::Shift)), ("zero", &zero)]),
                level: Level::Equality,
                ty: I32,
            };
        }
        // C promotes by itself.
        if to == I32 && from.is_int() && from.bits() < 32 {
            return text;
        }
        Text {
            s: rows::fill(form, &[("t", to.c_name()), ("a", &text.at(Level::Unary))]),
            level: Level::Unary,
            ty: to,
        }
    }

    fn unary(&mut self, op: UnOp, a: &Expr) -> Text {
        let ty = a.ty();
        match op {
            UnOp::Negate
                if ty.is_signed() && ty.bits() >= 32 && self.may_overflow(BinOp::Subtract, ty) =>
            {
                let a = self.print(a);
                primary(self.call(Helper::Negative(ty), &[a]), ty)
            }
            UnOp::Negate | UnOp::Not if ty != I1 => {
                let sign = self.form(op.name(), ty).trim_end_matches("{a}");
                let text = if ty.bits() < 32 {
                    self.text(a)
                } else {
                    self.typed(a)
                };
                let a = text.at(Level::Unary);
                // `--x` would be something else.
                let space = if a.starts_with(sign) { " " } else { "" };
                let text = Text {
                    s: format!("{sign}{space}{a}"),
                    level: Level::Unary,
                    ty,
                };
                if ty.bits() < 32 { cast(ty, text) } else { text }
            }
            UnOp::Not | UnOp::Negate => {
                let form = self.form("not", ty);
                let a = self.text(a).at(Level::Unary);
                Text {
                    s: rows::fill(form, &[("a", &a)]),
                    level: Level::Unary,
                    ty: I32,
                }
            }
            UnOp::Abs if ty.is_int() => {
                let a = self.print(a);
                primary(self.call(Helper::Abs(ty), &[a]), ty)
            }
            _ => {
                let a = self.print(a);
                primary(math_call(op.name(), ty, &[a], self.dialect), ty)
            }
        }
    }

    fn binary(&mut self, op: BinOp, a: &Expr, b: &Expr) -> Text {
        use BinOp::*;
        let ty = a.ty();
        match op {
            Add | Subtract | Multiply if self.may_overflow(op, ty) => {
                self.helper_call(Helper::Wrapping(op, ty), a, b)
            }
            ShiftLeft if self.may_overflow(op, ty) => self.helper_call(Helper::Shift(op, ty), a, b),
            Add | Subtract => self.infix(op, a, b, Level::Sum),
            Multiply if ty.is_float() && self.rounds => {
                let product = self.infix(op, a, b, Level::Product);
                primary(self.call(Helper::Rounded, &[product.s]), ty)
            }
            Multiply => self.infix(op, a, b, Level::Product),
            Divide if ty.is_float() => self.infix(op, a, b, Level::Product),
            Divide | Remainder if ty.is_int() && divides_plainly(b) => {
                self.infix(op, a, b, Level::Product)
            }
            And => self.infix(op, a, b, Level::And),
            Or => self.infix(op, a, b, Level::Or),
            Xor => self.infix(op, a, b, Level::Xor),
            ShiftLeft | ShiftRightArithmetic | ShiftRightLogical => match b {
                Expr::Const(count) if count.bits < u64::from(ty.bits()) => {
                    self.shift(op, a, count.bits)
                }
                _ => self.helper_call(Helper::Shift(op, ty), a, b),
            },
            Divide | Remainder if ty.is_int() => self.helper_call(Helper::Divide(op, ty), a, b),
            Maximum | Minimum => self.helper_call(Helper::Extreme(op, ty), a, b),
            Divide | Remainder | MaximumNumber | MinimumNumber | Power | Atan2 => {
                let args = [self.print(a), self.print(b)];
                primary(math_call(op.name(), ty, &args, self.dialect), ty)
            }
        }
    }

    fn helper_call(&mut self, helper: Helper, a: &Expr, b: &Expr) -> Text {
        let args = [self.print(a), self.print(b)];
        primary(self.call(helper, &args), a.ty())
    }

    fn infix(&mut self, op: BinOp, a: &Expr, b: &Expr, level: Level) -> Text {
        use BinOp::*;
        let ty = a.ty();
        let (mut x, mut y) = (self.text(a), self.text(b));
        if ty.bits() >= 32 && common(x.ty, y.ty) != ty {
            x = cast(ty, x);
            if common(x.ty, y.ty) != ty {
                y = cast(ty, y);
            }
        }
        // Parentheses where gcc and people would ask for them: between bit operators and others.
        let bitwise = matches!(op, And | Or | Xor);
        let left = if bitwise && x.level != level {
            Level::Unary
        } else {
            level
        };
        let right = if bitwise { Level::Unary } else { next(level) };
        let (x, y) = (x.at(left), y.at(right));
        let s = rows::fill(self.form(op.name(), ty), &[("a", &x), ("b", &y)]);
        let text = Text {
            s,
            level,
            ty: if ty.bits() < 32 { I32 } else { ty },
        };
        // The sum of two small values is an `int`; what is asked for is the small type's.
        let stays = matches!(op, And | Or | Xor | Divide | Remainder);
        if ty.bits() < 32 && !stays {
            cast(ty, text)
        } else {
            text
        }
    }

    fn shift(&mut self, op: BinOp, a: &Expr, count: u64) -> Text {
        let ty = a.ty();
        let mut x = if ty.bits() < 32 {
            self.text(a)
        } else {
            self.typed(a)
        };
        let other = match op {
            BinOp::ShiftRightLogical if ty.is_signed() => Some(unsigned(ty)),
            BinOp::ShiftRightArithmetic if !ty.is_signed() => Some(signed(ty)),
            _ => None,
        };
        if let Some(other) = other {
            x = cast(other, x);
        }
        let (x, count) = (x.at(Level::Sum), count.to_string());
        let s = rows::fill(self.form(op.name(), ty), &[("a", &x), ("b", &count)]);
        let wide = if ty.bits() < 32 {
            I32
        } else {
            other.unwrap_or(ty)
        };
        let text = Text {
            s,
            level: Level::Shift,
            ty: wide,
        };
        let narrow = ty.bits() < 32 && op == BinOp::ShiftLeft;
        if narrow || other.is_some() {
            cast(ty, text)
        } else {
            text
        }
    }
}

fn next(level: Level) -> Level {
    match level {
        Level::Sum => Level::Product,
        _ => Level::Unary,
    }
}

fn cast(to: ScalarType, text: Text) -> Text {
    Text {
        s: format!("({}){}", to.c_name(), text.at(Level::Unary)),
        level: Level::Unary,
        ty: to,
    }
}

/// Neither zero nor minus one: no undefined quotient, and nothing that traps.
fn divides_plainly(b: &Expr) -> bool {
    matches!(b, Expr::Const(v) if v.as_int() != 0 && v.as_int() != -1)
}

/// The unsigned type of the same width.
pub(super) fn unsigned(ty: ScalarType) -> ScalarType {
    match ty.bits() {
        8 => ScalarType::U8,
        16 => ScalarType::U16,
        32 => U32,
        _ => U64,
    }
}

/// The signed type of the same width.
pub(super) fn signed(ty: ScalarType) -> ScalarType {
    match ty.bits() {
        8 => ScalarType::I8,
        16 => ScalarType::I16,
        32 => I32,
        _ => I64,
    }
}

/// A call of a function of `<math.h>`, in the form for the type.
pub(super) fn math_call(op: &str, ty: ScalarType, args: &[String], dialect: &Dialect) -> String {
    let mut texts = vec![("f", suffix(ty, dialect))];
    texts.extend(["a", "b"].into_iter().zip(args.iter().map(String::as_str)));
    rows::fill(rows::form(dialect.rows, op, ty), &texts)
}

/// What the names of functions end in for a type.
pub(super) fn suffix(ty: ScalarType, dialect: &Dialect) -> &'static str {
    if ty == F32 && dialect.suffixes {
        "f"
    } else {
        ""
    }
}

fn constant(v: Scalar) -> Text {
    if v.ty.is_float() {
        return float_constant(v);
    }
    let value = v.as_int();
    let (s, ty) = match v.ty {
        U32 => (format!("{value}u"), U32),
        U64 => (format!("UINT64_C({value})"), U64),
        I64 if value == I64.min_value() => ("INT64_MIN".into(), I64),
        I64 if i32::try_from(value).is_err() => (format!("INT64_C({value})"), I64),
        _ if value == I32.min_value() => ("INT32_MIN".into(), I32),
        _ => (value.to_string(), I32),
    };
    let level = if s.starts_with('-') {
        Level::Unary
    } else {
        Level::Primary
    };
    Text { s, level, ty }
}

fn float_constant(v: Scalar) -> Text {
    let x = v.as_f64();
    let (suffix, digits) = match v.ty {
        F32 => ("f", format!("{:?}", v.as_f32())),
        _ => ("", format!("{x:?}")),
    };
    let minus = if x.is_sign_negative() && !x.is_nan() {
        "-"
    } else {
        ""
    };
    let s = if x.is_nan() {
        if v.ty == F32 {
            "NAN".into()
        } else {
            "(double)NAN".into()
        }
    } else if x.is_infinite() {
        if v.ty == F32 {
            format!("{minus}INFINITY")
        } else {
            format!("{minus}(double)INFINITY")
        }
    } else {
        format!("{digits}{suffix}")
    };
    let level = if minus.is_empty() && !s.starts_with('(') {
        Level::Primary
    } else {
        Level::Unary
    };
    Text { s, level, ty: v.ty }
}
