//! LoopIR as text: what people read, tests write, and content hashes are taken of.
//!
//! ```text
//! f32 dot(i32 n, const f32 *x, const f32 *restrict y) {
//!   f32 s = 0.0;
//!   i32 i = 0;
//!   while #1 @3 (i < n) {
//!     s = s + x[i] * y[i];
//!     i = i + 1;
//!   }
//!   return s;
//! }
//! ```
//!
//! Operators without a C spelling are written as calls (`maximum(a, b)`), casts as in C, `>>` copies the
//! sign and `>>>` does not. A literal carries its type (`3:i64`) where the place it stands in does not
//! give one. An index is converted to `i64` if it isn't one. `#1` is the loop's number and `@3` its line;
//! both may be left out, and `for (…; …; …)` may be written, which is read as the `while` it stands for.

use super::{Expr, Function, Len, Loop, LoopMode, Overflow, Param, Stmt, Visited, visit};
use crate::index::Sym;
use crate::op::{BinOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// Words that a name has to be quoted for.
pub(super) const KEYWORDS: &[&str] = &[
    "const", "do", "else", "for", "if", "local", "parallel", "restrict", "return", "simd", "table",
    "var", "void", "while", "wraps", "inf", "nan",
];

/// How tightly an operator binds; `None` if it is written as a call.
pub(super) fn infix(op: BinOp) -> Option<(&'static str, u8)> {
    Some(match op {
        BinOp::Or => ("|", 3),
        BinOp::Xor => ("^", 4),
        BinOp::And => ("&", 5),
        BinOp::ShiftLeft => ("<<", 8),
        BinOp::ShiftRightArithmetic => (">>", 8),
        BinOp::ShiftRightLogical => (">>>", 8),
        BinOp::Add => ("+", 9),
        BinOp::Subtract => ("-", 9),
        BinOp::Multiply => ("*", 10),
        BinOp::Divide => ("/", 10),
        BinOp::Remainder => ("%", 10),
        _ => return None,
    })
}

pub(super) const TERNARY: u8 = 0;
pub(super) const LOGICAL_OR: u8 = 1;
pub(super) const LOGICAL_AND: u8 = 2;
pub(super) const EQUALITY: u8 = 6;
pub(super) const RELATION: u8 = 7;
const PREFIX: u8 = 11;
const POSTFIX: u8 = 12;

/// A character that a name may go on with.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '\'' | '$' | '#' | '@' | '.')
}

/// A character that a name may start with.
pub(super) fn is_name_start(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '_' | '$')
}

/// A name, in backquotes if it would be read as something else.
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = self.0.starts_with(is_name_start)
            && self.0.chars().all(is_name_char)
            && !KEYWORDS.contains(&self.0)
            && self.0.parse::<ScalarType>().is_err();
        if plain {
            f.write_str(self.0)
        } else {
            write!(f, "`{}`", self.0)
        }
    }
}

impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::of(self, f).function(self)
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Param::Scalar { name, ty } => write!(f, "{ty} {}", Name(name)),
            Param::Array {
                name,
                elem,
                is_const,
                restrict,
            } => {
                let is_const = if *is_const { "const " } else { "" };
                let restrict = if *restrict { "restrict " } else { "" };
                write!(f, "{is_const}{elem} *{restrict}{}", Name(name))
            }
        }
    }
}

impl fmt::Display for Stmt {
    /// With the types of all variables; [`Function`]'s text leaves out what its declarations say.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::alone(f).statement(self, 0)
    }
}

impl fmt::Display for Expr {
    /// For people, in messages: without the types of variables. [`Function`]'s text reads back.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printer::alone(f).expr(self, TERNARY, None)
    }
}

struct Printer<'f, 'g> {
    out: &'f mut fmt::Formatter<'g>,
    /// Types that the text before has declared. `None`: print an expression for people.
    types: Option<BTreeMap<Sym, ScalarType>>,
    elems: BTreeMap<Sym, ScalarType>,
}

impl<'f, 'g> Printer<'f, 'g> {
    fn alone(out: &'f mut fmt::Formatter<'g>) -> Self {
        Printer {
            out,
            types: None,
            elems: BTreeMap::new(),
        }
    }

    fn of(function: &Function, out: &'f mut fmt::Formatter<'g>) -> Self {
        let mut types = BTreeMap::new();
        let mut elems = BTreeMap::new();
        for p in &function.params {
            match p {
                Param::Scalar { name, ty } => types.insert(name.clone(), *ty),
                Param::Array { name, elem, .. } => elems.insert(name.clone(), *elem),
            };
        }
        elems.extend(function.arrays.iter().map(|a| (a.name.clone(), a.elem)));
        Printer {
            out,
            types: Some(types),
            elems,
        }
    }

    fn function(&mut self, function: &Function) -> fmt::Result {
        match function.ret {
            Some(ty) => write!(self.out, "{ty}")?,
            None => self.out.write_str("void")?,
        }
        write!(self.out, " {}(", Name(&function.name))?;
        for (i, p) in function.params.iter().enumerate() {
            write!(self.out, "{}{p}", if i > 0 { ", " } else { "" })?;
        }
        self.out.write_str(")")?;
        if function.overflow == Overflow::Wraps {
            self.out.write_str(" wraps")?;
        }
        if function.fused {
            self.out.write_str(" fused")?;
        }
        for (a, b) in &function.apart {
            write!(self.out, " apart {}, {}", Name(a), Name(b))?;
        }
        self.out.write_str(" {\n")?;
        for a in &function.arrays {
            let kind = if a.init.is_some() { "table" } else { "local" };
            write!(self.out, "  {kind} {} {}[", a.elem, Name(&a.name))?;
            match &a.len {
                Len::Fixed(len) => write!(self.out, "{len}")?,
                Len::Touched => {}
                Len::Of(len) => {
                    self.out.write_str("of ")?;
                    self.expr(len, TERNARY, Some(ScalarType::I64))?;
                }
            }
            self.out.write_str("]")?;
            if let Some(values) = &a.init {
                self.out.write_str(" = {")?;
                for (i, v) in values.iter().enumerate() {
                    self.out.write_str(if i > 0 { ", " } else { "" })?;
                    self.literal(*v, v.ty == a.elem)?;
                }
                self.out.write_str("}")?;
            }
            self.out.write_str(";\n")?;
        }
        // A variable that is read above its first assignment (inside of a loop, say).
        for (name, ty) in self.read_early(function) {
            writeln!(self.out, "  var {ty} {};", Name(&name))?;
            self.types.as_mut().into_iter().for_each(|t| {
                t.insert(name.clone(), ty);
            });
        }
        self.block(&function.body, 1)?;
        self.out.write_str("}\n")
    }

    fn read_early(&self, function: &Function) -> BTreeMap<Sym, ScalarType> {
        let mut known = self.types.clone().unwrap_or_default();
        let mut early = BTreeMap::new();
        visit(&function.body, &mut |part| match part {
            Visited::Stmt(Stmt::Assign { var, ty, .. }) => {
                known.entry(var.clone()).or_insert(*ty);
            }
            Visited::Expr(Expr::Var(name, ty)) if !known.contains_key(name) => {
                early.entry(name.clone()).or_insert(*ty);
            }
            _ => {}
        });
        early
    }

    fn block(&mut self, stmts: &[Stmt], depth: usize) -> fmt::Result {
        stmts.iter().try_for_each(|s| {
            self.statement(s, depth)?;
            self.out.write_str("\n")
        })
    }

    fn indent(&mut self, depth: usize) -> fmt::Result {
        (0..depth).try_for_each(|_| self.out.write_str("  "))
    }

    fn braced(&mut self, stmts: &[Stmt], depth: usize) -> fmt::Result {
        self.out.write_str("{\n")?;
        self.block(stmts, depth + 1)?;
        self.indent(depth)?;
        self.out.write_str("}")
    }

    fn statement(&mut self, stmt: &Stmt, depth: usize) -> fmt::Result {
        self.indent(depth)?;
        match stmt {
            Stmt::Assign { var, ty, value } => {
                let declared = self
                    .types
                    .as_mut()
                    .is_some_and(|t| t.insert(var.clone(), *ty) == Some(*ty));
                if !declared {
                    write!(self.out, "{ty} ")?;
                }
                write!(self.out, "{} = ", Name(var))?;
                self.expr(value, TERNARY, Some(*ty))?;
                self.out.write_str(";")
            }
            Stmt::Store {
                array,
                index,
                value,
            } => {
                let elem = self.elems.get(array).copied();
                self.place(array, index)?;
                self.out.write_str(" = ")?;
                self.expr(value, TERNARY, elem)?;
                self.out.write_str(";")
            }
            Stmt::If {
                cond,
                then,
                otherwise,
            } => {
                self.out.write_str("if (")?;
                self.expr(cond, TERNARY, Some(ScalarType::I1))?;
                self.out.write_str(") ")?;
                self.braced(then, depth)?;
                if !otherwise.is_empty() {
                    self.out.write_str(" else ")?;
                    self.braced(otherwise, depth)?;
                }
                Ok(())
            }
            Stmt::Loop(l) => self.looped(l, depth),
            Stmt::Trap => self.out.write_str("trap;"),
            Stmt::Return(None) => self.out.write_str("return;"),
            Stmt::Return(Some(value)) => {
                self.out.write_str("return ")?;
                self.expr(value, TERNARY, None)?;
                self.out.write_str(";")
            }
        }
    }

    fn looped(&mut self, l: &Loop, depth: usize) -> fmt::Result {
        match &l.mode {
            LoopMode::Sequential => {}
            LoopMode::Parallel => self.out.write_str("parallel ")?,
            LoopMode::Simd { reductions } => {
                self.out.write_str("simd(")?;
                for (i, (op, name)) in reductions.iter().enumerate() {
                    write!(
                        self.out,
                        "{}{op} {}",
                        if i > 0 { ", " } else { "" },
                        Name(name)
                    )?;
                }
                self.out.write_str(") ")?;
            }
        }
        write!(
            self.out,
            "{} #{}",
            if l.test_first { "while" } else { "do" },
            l.id
        )?;
        if l.line != 0 {
            write!(self.out, " @{}", l.line)?;
        }
        self.out.write_str(" ")?;
        if l.test_first {
            self.out.write_str("(")?;
            self.expr(&l.cond, TERNARY, Some(ScalarType::I1))?;
            self.out.write_str(") ")?;
            self.braced(&l.body, depth)
        } else {
            self.braced(&l.body, depth)?;
            self.out.write_str(" while (")?;
            self.expr(&l.cond, TERNARY, Some(ScalarType::I1))?;
            self.out.write_str(");")
        }
    }

    fn place(&mut self, array: &Sym, index: &Expr) -> fmt::Result {
        write!(self.out, "{}[", Name(array))?;
        match index {
            // The reader puts this conversion back.
            Expr::Convert(ScalarType::I64, inner)
                if inner.ty().is_int() && inner.ty() != ScalarType::I64 =>
            {
                self.expr(inner, TERNARY, None)?;
            }
            _ => self.expr(index, TERNARY, Some(ScalarType::I64))?,
        }
        self.out.write_str("]")
    }

    /// `typed`: the reader knows the type from where the literal stands.
    fn literal(&mut self, v: Scalar, typed: bool) -> fmt::Result {
        let odd_nan = v.ty.is_float()
            && v.as_f64().is_nan()
            && v != Scalar::f32(f32::NAN)
            && v != Scalar::f64(f64::NAN);
        if odd_nan {
            return write!(self.out, "{:#x}:{}", v.bits, v.ty);
        }
        let text = v.to_string();
        match text.split_once(':') {
            Some((value, _)) if typed => self.out.write_str(value),
            _ => self.out.write_str(&text),
        }
    }

    /// `expected` is the type that a bare literal gets at this place.
    fn expr(&mut self, e: &Expr, min: u8, expected: Option<ScalarType>) -> fmt::Result {
        let level = level_of(e);
        if level < min {
            self.out.write_str("(")?;
            self.expr(e, TERNARY, expected)?;
            return self.out.write_str(")");
        }
        match e {
            Expr::Const(v) => self.literal(*v, expected == Some(v.ty)),
            Expr::Var(name, ty) => {
                write!(self.out, "{}", Name(name))?;
                match &self.types {
                    Some(types) if types.get(name) != Some(ty) => write!(self.out, ":{ty}"),
                    _ => Ok(()),
                }
            }
            Expr::Load { array, index, .. } => self.place(array, index),
            Expr::Unary(UnOp::Negate, a) => self.prefix("-", a),
            Expr::Unary(UnOp::Not, a) if a.ty() == ScalarType::I1 => self.prefix("!", a),
            Expr::Unary(UnOp::Not, a) => self.prefix("~", a),
            Expr::Unary(op, a) => self.call(op.name(), &[a]),
            Expr::Binary(op, a, b) => match infix(*op) {
                Some((sign, _)) => self.infix(sign, level, a, b),
                None => self.call(op.name(), &[a, b]),
            },
            Expr::Compare(op, a, b) => self.infix(op.c_operator(), level, a, b),
            Expr::Convert(ty, a) => {
                write!(self.out, "({ty})")?;
                self.expr(a, PREFIX, None)
            }
            Expr::Bitcast(ty, a) => {
                write!(self.out, "bitcast_convert({ty}, ")?;
                self.expr(a, TERNARY, None)?;
                self.out.write_str(")")
            }
            Expr::Select(c, t, f) => match logical(e) {
                Some((sign, a, b)) => {
                    self.expr(a, level, Some(ScalarType::I1))?;
                    write!(self.out, " {sign} ")?;
                    self.expr(b, level + 1, Some(ScalarType::I1))
                }
                None => {
                    self.expr(c, TERNARY + 1, Some(ScalarType::I1))?;
                    self.out.write_str(" ? ")?;
                    self.expr(t, TERNARY + 1, None)?;
                    self.out.write_str(" : ")?;
                    self.expr(f, TERNARY, Some(t.ty()).filter(|_| !is_const(t)))
                }
            },
        }
    }

    fn prefix(&mut self, sign: &str, a: &Expr) -> fmt::Result {
        self.out.write_str(sign)?;
        // `-3` is a literal, `-(3)` is not.
        let min = if is_const(a) { POSTFIX + 1 } else { PREFIX };
        self.expr(a, min, None)
    }

    fn infix(&mut self, sign: &str, level: u8, a: &Expr, b: &Expr) -> fmt::Result {
        self.expr(a, level, None)?;
        write!(self.out, " {sign} ")?;
        self.expr(b, level + 1, Some(a.ty()).filter(|_| !is_const(a)))
    }

    fn call(&mut self, name: &str, args: &[&Expr]) -> fmt::Result {
        write!(self.out, "{name}(")?;
        for (i, a) in args.iter().enumerate() {
            self.out.write_str(if i > 0 { ", " } else { "" })?;
            self.expr(a, TERNARY, None)?;
        }
        self.out.write_char(')')
    }
}

fn is_const(e: &Expr) -> bool {
    matches!(e, Expr::Const(_))
}

/// `a && b` is `a ? b : 0`, and `a || b` is `a ? 1 : b`.
fn logical(e: &Expr) -> Option<(&'static str, &Expr, &Expr)> {
    match e {
        Expr::Select(c, t, f) => match (&**t, &**f) {
            (_, Expr::Const(v)) if *v == Scalar::bool(false) => Some(("&&", c, t)),
            (Expr::Const(v), _) if *v == Scalar::bool(true) => Some(("||", c, f)),
            _ => None,
        },
        _ => None,
    }
}

fn level_of(e: &Expr) -> u8 {
    use crate::op::CmpOp;
    match e {
        Expr::Const(_) | Expr::Var(..) | Expr::Load { .. } | Expr::Bitcast(..) => POSTFIX,
        Expr::Unary(UnOp::Negate | UnOp::Not, _) | Expr::Convert(..) => PREFIX,
        Expr::Unary(..) => POSTFIX,
        Expr::Binary(op, ..) => infix(*op).map_or(POSTFIX, |(_, level)| level),
        Expr::Compare(CmpOp::Eq | CmpOp::Ne, ..) => EQUALITY,
        Expr::Compare(..) => RELATION,
        Expr::Select(..) => match logical(e) {
            Some(("&&", ..)) => LOGICAL_AND,
            Some(_) => LOGICAL_OR,
            None => TERNARY,
        },
    }
}
