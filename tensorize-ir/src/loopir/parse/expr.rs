//! Expressions.

use super::super::text::{EQUALITY, LOGICAL_AND, LOGICAL_OR, RELATION, infix};
use super::super::{Expr, lexer::Token};
use super::{MAX_DEPTH, Parser, Res};
use crate::op::{BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use std::str::FromStr;

/// An expression, or a literal that waits for its type.
enum Value {
    Typed(Expr),
    Bare(String, usize),
}

impl Parser {
    /// Up to and with the `]`.
    pub(super) fn index(&mut self) -> Res<Expr> {
        let index = match self.expr(0)? {
            Value::Typed(e) if e.ty().is_int() => Expr::convert(ScalarType::I64, e),
            other => self.typed(other, Some(ScalarType::I64))?,
        };
        self.sign("]")?;
        Ok(index)
    }

    /// An expression, a bare literal being of type `ty`.
    pub(super) fn expr_of(&mut self, ty: ScalarType) -> Res<Expr> {
        let value = self.expr(0)?;
        self.typed(value, Some(ty))
    }

    fn typed(&self, value: Value, ty: Option<ScalarType>) -> Res<Expr> {
        match (value, ty) {
            (Value::Typed(e), _) => Ok(e),
            (Value::Bare(text, at), Some(ty)) => Scalar::from_str(&format!("{text}:{ty}"))
                .map(Expr::Const)
                .map_err(|e| (e, at)),
            (Value::Bare(text, at), None) => Err((
                format!("'{text}' needs its type here, as in '{text}:i32'"),
                at,
            )),
        }
    }

    /// Two values of one type, each giving the other's literal its type.
    fn pair(&self, a: Value, b: Value, expected: Option<ScalarType>) -> Res<(Expr, Expr)> {
        let ty = match (&a, &b) {
            (Value::Typed(e), _) | (_, Value::Typed(e)) => Some(e.ty()),
            _ => expected,
        };
        Ok((self.typed(a, ty)?, self.typed(b, ty)?))
    }

    /// An expression of operators that bind at least as tightly as `min`.
    fn expr(&mut self, min: u8) -> Res<Value> {
        self.deeper(|p| p.expr_within(min))
    }

    fn expr_within(&mut self, min: u8) -> Res<Value> {
        let mut left = self.prefix()?;
        let mut chain = 0;
        while let Token::Sign(sign) = *self.peek() {
            let Some((level, make)) = operator(sign).filter(|(level, _)| *level >= min) else {
                break;
            };
            // A chain of operators nests to the left as deep as it is long.
            chain += 1;
            if chain > 5 * MAX_DEPTH {
                return Err(("too long an expression".into(), self.here()));
            }
            self.next();
            left = Value::Typed(match make {
                Make::Binary(op) => {
                    let right = self.expr(level + 1)?;
                    let (a, b) = self.pair(left, right, None)?;
                    Expr::binary(op, a, b)
                }
                Make::Compare(op) => {
                    let right = self.expr(level + 1)?;
                    let (a, b) = self.pair(left, right, None)?;
                    Expr::compare(op, a, b)
                }
                Make::And | Make::Or => {
                    let right = self.expr(level + 1)?;
                    let (a, b) = self.pair(left, right, Some(ScalarType::I1))?;
                    let literal = |v| Box::new(Expr::Const(Scalar::bool(v)));
                    match make {
                        Make::And => Expr::Select(a.into(), b.into(), literal(false)),
                        _ => Expr::Select(a.into(), literal(true), b.into()),
                    }
                }
                Make::Choose => {
                    let cond = self.typed(left, Some(ScalarType::I1))?;
                    let then = self.expr(1)?;
                    self.sign(":")?;
                    let otherwise = self.expr(0)?;
                    let (t, f) = self.pair(then, otherwise, None)?;
                    Expr::Select(cond.into(), t.into(), f.into())
                }
            });
        }
        Ok(left)
    }

    fn prefix(&mut self) -> Res<Value> {
        let at = self.here();
        if self.is_sign("-") {
            self.next();
            if let Some((text, ty)) = self.number() {
                return self.literal(format!("-{text}"), ty, at);
            }
            let a = self.deeper(Self::prefix)?;
            return Ok(Value::Typed(Expr::Unary(
                UnOp::Negate,
                self.typed(a, None)?.into(),
            )));
        }
        if self.take_sign("~") || self.take_sign("!") {
            let a = self.deeper(Self::prefix)?;
            return Ok(Value::Typed(Expr::Unary(
                UnOp::Not,
                self.typed(a, None)?.into(),
            )));
        }
        if let Some((text, ty)) = self.number() {
            return self.literal(text, ty, at);
        }
        if self.is_sign("(") {
            self.next();
            if let Some(ty) = self.peek_type() {
                self.next();
                self.sign(")")?;
                let a = self.deeper(Self::prefix)?;
                return Ok(Value::Typed(Expr::Convert(ty, self.typed(a, None)?.into())));
            }
            let inner = self.expr(0)?;
            self.sign(")")?;
            return Ok(inner);
        }
        self.atom()
    }

    /// A number without a sign.
    fn number(&mut self) -> Option<(String, Option<ScalarType>)> {
        let (text, ty) = match self.peek() {
            Token::Number { text, ty } => (text.clone(), *ty),
            Token::Name {
                text,
                quoted: false,
                ty,
            } if text == "inf" || text == "nan" => (text.clone(), *ty),
            _ => return None,
        };
        self.next();
        Some((text, ty))
    }

    fn literal(&self, text: String, ty: Option<ScalarType>, at: usize) -> Res<Value> {
        let Some(ty) = ty else {
            return Ok(Value::Bare(text, at));
        };
        if let Some(digits) = text.strip_prefix("0x") {
            let bits = u64::from_str_radix(digits, 16)
                .ok()
                .filter(|b| b >> (ty.bits() - 1) <= 1);
            let bits = bits.ok_or((format!("'{text}' does not fit {ty}"), at))?;
            return Ok(Value::Typed(Expr::Const(Scalar { ty, bits })));
        }
        Ok(Value::Typed(self.typed(Value::Bare(text, at), Some(ty))?))
    }

    fn atom(&mut self) -> Res<Value> {
        let at = self.here();
        if let (
            Token::Name {
                text,
                quoted: false,
                ..
            },
            Token::Sign("("),
        ) = (self.peek(), self.peek_after())
        {
            let text = text.clone();
            self.next();
            self.next();
            return self.call(&text, at).map(Value::Typed);
        }
        if let Token::Name {
            text, ty: Some(ty), ..
        } = self.peek()
        {
            let var = Expr::var(text.as_str(), *ty);
            self.next();
            return Ok(Value::Typed(var));
        }
        if !matches!(self.peek(), Token::Name { .. }) {
            return self.fail("an expression");
        }
        let name = self.name()?;
        if self.take_sign("[") {
            let elem = self.elem_of(&name, at)?;
            let index = self.index()?;
            return Ok(Value::Typed(Expr::load(name, elem, index)));
        }
        match self.types.get(&name) {
            Some(ty) => Ok(Value::Typed(Expr::Var(name, *ty))),
            None => Err((format!("'{name}' is used before it has a type"), at)),
        }
    }

    /// After the `(`.
    fn call(&mut self, name: &str, at: usize) -> Res<Expr> {
        if name == "bitcast_convert" {
            let ty = self.scalar_type()?;
            self.sign(",")?;
            let a = self.expr(0)?;
            self.sign(")")?;
            return Ok(Expr::Bitcast(ty, self.typed(a, None)?.into()));
        }
        let first = self.expr(0)?;
        if let Some(op) = UnOp::from_name(name) {
            self.sign(")")?;
            return Ok(Expr::Unary(op, self.typed(first, None)?.into()));
        }
        if let Some(op) = BinOp::from_name(name) {
            self.sign(",")?;
            let second = self.expr(0)?;
            self.sign(")")?;
            let (a, b) = self.pair(first, second, None)?;
            return Ok(Expr::binary(op, a, b));
        }
        Err((format!("there is no operator '{name}'"), at))
    }
}

#[derive(Clone, Copy)]
enum Make {
    Binary(BinOp),
    Compare(CmpOp),
    And,
    Or,
    Choose,
}

fn operator(sign: &str) -> Option<(u8, Make)> {
    match sign {
        "?" => return Some((0, Make::Choose)),
        "||" => return Some((LOGICAL_OR, Make::Or)),
        "&&" => return Some((LOGICAL_AND, Make::And)),
        _ => {}
    }
    if let Some(op) = CmpOp::ALL.iter().find(|o| o.c_operator() == sign) {
        let level = if matches!(op, CmpOp::Eq | CmpOp::Ne) {
            EQUALITY
        } else {
            RELATION
        };
        return Some((level, Make::Compare(*op)));
    }
    BinOp::ALL.iter().find_map(|op| {
        infix(*op)
            .filter(|(s, _)| *s == sign)
            .map(|(_, level)| (level, Make::Binary(*op)))
    })
}
