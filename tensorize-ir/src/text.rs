//! Text forms: what the parsers of this crate share.
//!
//! Whitespace and `//` comments may stand anywhere between two words. Every error has a line, a
//! column, and what was expected there.

use crate::index::Sym;
use crate::loopir::Param;
use crate::scalar::{Scalar, ScalarType};
use std::fmt;

mod elem;
mod guard;
mod index;
mod tensir;

pub use elem::{parse_elem, parse_guard, parse_idx};

/// Text that does not parse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {message}")]
pub struct ParseError {
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
    /// Where, in bytes from the start of the text.
    pub offset: usize,
    /// What was expected, and what stands there.
    pub message: String,
}

/// Deeper nesting is refused, so that no text can exhaust the stack.
const MAX_DEPTH: usize = 400;

/// A place in a text, and the names that are known there.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    pos: usize,
    depth: usize,
    /// The parameters of the function at hand; they give arrays and scalars their types.
    pub(crate) params: Vec<Param>,
    /// Accumulators in scope, innermost last.
    pub(crate) accs: Vec<(Sym, ScalarType)>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor {
            text,
            pos: 0,
            depth: 0,
            params: Vec::new(),
            accs: Vec::new(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    /// Skips whitespace and comments.
    pub(crate) fn skip(&mut self) {
        loop {
            let rest = self.rest().trim_start();
            self.pos = self.text.len() - rest.len();
            if !rest.starts_with("//") {
                return;
            }
            self.pos += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Where the next word starts, in bytes.
    pub(crate) fn here(&mut self) -> usize {
        self.skip();
        self.pos
    }

    /// An error at a byte position that [`Cursor::here`] gave.
    pub(crate) fn error_at(&self, offset: usize, message: impl fmt::Display) -> ParseError {
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        ParseError {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            offset,
            message: message.to_string(),
        }
    }

    /// An error at the next word.
    pub(crate) fn error(&mut self, message: impl fmt::Display) -> ParseError {
        let here = self.here();
        self.error_at(here, message)
    }

    /// "expected …, found …" at the next word.
    pub(crate) fn expected(&mut self, what: impl fmt::Display) -> ParseError {
        let here = self.here();
        let word = self.clone().word();
        let found = match word {
            Some(w) => format!("'{w}'"),
            None => match self.rest().chars().next() {
                Some(c) => format!("'{c}'"),
                None => "the end of the text".to_string(),
            },
        };
        self.error_at(here, format!("expected {what}, found {found}"))
    }

    pub(crate) fn at_end(&mut self) -> bool {
        self.here() == self.text.len()
    }

    /// Nothing but space may follow.
    pub(crate) fn finish(&mut self) -> Result<(), ParseError> {
        if self.at_end() {
            Ok(())
        } else {
            Err(self.expected("the end"))
        }
    }

    /// The next character, after space.
    pub(crate) fn peek(&mut self) -> Option<char> {
        self.skip();
        self.rest().chars().next()
    }

    /// Takes a punctuation mark, if it comes next.
    pub(crate) fn eat(&mut self, mark: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(mark);
        if found {
            self.pos += mark.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, mark: &str) -> Result<(), ParseError> {
        if self.eat(mark) {
            Ok(())
        } else {
            Err(self.expected(format!("'{mark}'")))
        }
    }

    /// A name, or the digits of a number.
    fn word(&mut self) -> Option<&'a str> {
        self.name().or_else(|| self.digits())
    }

    /// Takes a name, if one comes next: C's names, `#0`, and bound variables such as `k'1`.
    pub(crate) fn name(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let starts = |c: char| c.is_alphabetic() || matches!(c, '_' | '#' | '$');
        let goes_on = |c: char| c.is_alphanumeric() || matches!(c, '_' | '\'' | '#' | '$');
        if !rest.starts_with(starts) {
            return None;
        }
        let mut len = 0;
        loop {
            len += rest[len..]
                .find(|c| !goes_on(c))
                .unwrap_or(rest.len() - len);
            // A dot belongs to a name if the name goes on after it; `..` never does.
            match rest[len..].strip_prefix('.') {
                Some(after) if after.starts_with(goes_on) => len += 1,
                _ => break,
            }
        }
        self.pos += len;
        Some(&rest[..len])
    }

    pub(crate) fn expect_name(&mut self, what: &str) -> Result<&'a str, ParseError> {
        self.name().ok_or_else(|| self.expected(what))
    }

    /// Takes this very name, if it comes next.
    pub(crate) fn eat_name(&mut self, name: &str) -> bool {
        let before = self.pos;
        let found = self.name() == Some(name);
        if !found {
            self.pos = before;
        }
        found
    }

    pub(crate) fn expect_word(&mut self, name: &str) -> Result<(), ParseError> {
        if self.eat_name(name) {
            Ok(())
        } else {
            Err(self.expected(format!("'{name}'")))
        }
    }

    /// Takes decimal digits, if they come next.
    pub(crate) fn digits(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let len = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        self.pos += len;
        (len > 0).then(|| &rest[..len])
    }

    /// Takes an integer without sign.
    pub(crate) fn integer<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, ParseError> {
        let here = self.here();
        let digits = self.digits().ok_or_else(|| self.expected(what))?;
        let too_large = |_| self.error_at(here, format!("{digits} is too large for {what}"));
        digits.parse().map_err(too_large)
    }

    /// `first, second, …` up to the closing mark, which is taken too.
    pub(crate) fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> Result<T, ParseError>,
    ) -> Result<Vec<T>, ParseError> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(",") && self.peek().is_none_or(|c| !close.starts_with(c)) {
                return Err(self.expected(format!("',' or '{close}'")));
            }
        }
        Ok(items)
    }

    /// Runs `parse` one level deeper.
    pub(crate) fn nested<T>(
        &mut self,
        parse: impl FnOnce(&mut Self) -> Result<T, ParseError>,
    ) -> Result<T, ParseError> {
        if self.depth == MAX_DEPTH {
            return Err(self.error("this is nested too deeply"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    pub(crate) fn scalar_type(&mut self) -> Result<ScalarType, ParseError> {
        let here = self.here();
        let name = self.expect_name("a scalar type such as 'i32' or 'f32'")?;
        name.parse().map_err(|_| {
            let all = ScalarType::ALL.map(ScalarType::name).join(", ");
            self.error_at(
                here,
                format!("'{name}' is not a scalar type; there are {all}"),
            )
        })
    }

    /// A literal such as `3:i32` or `-1.5:f32`. Without its type it is of type `default`.
    pub(crate) fn scalar(&mut self, default: Option<ScalarType>) -> Result<Scalar, ParseError> {
        let here = self.here();
        let value = self
            .number_text()
            .ok_or_else(|| self.expected("a literal such as '3:i32' or '1.5:f32'"))?;
        let mut ahead = self.clone();
        let written = if ahead.eat(":") && !ahead.clone().eat_name("tensor") {
            *self = ahead;
            Some(self.scalar_type()?)
        } else {
            None
        };
        let ty = written.or(default).ok_or_else(|| {
            self.error_at(
                here,
                format!("the literal {value} lacks its type, as in '{value}:i32'"),
            )
        })?;
        format!("{value}:{ty}")
            .parse()
            .map_err(|e| self.error_at(here, e))
    }

    /// The digits of a literal, with sign and exponent; `inf`, `nan` and `nan(0x…)` too.
    fn number_text(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let sign = usize::from(rest.starts_with(['-', '+']));
        let body = &rest[sign..];
        let len = if body.starts_with("inf") {
            3
        } else if body.starts_with("nan(") {
            body.find(')')? + 1
        } else if body.starts_with("nan") {
            3
        } else if body.starts_with(|c: char| c.is_ascii_digit()) {
            let mut previous = ' ';
            body.find(|c: char| {
                let exponent_sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E');
                previous = c;
                !(c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E') || exponent_sign)
            })
            .unwrap_or(body.len())
        } else {
            return None;
        };
        self.pos += sign + len;
        Some(&rest[..sign + len])
    }
}

/// Reads the whole of `text` with `parse`.
pub(crate) fn whole<'a, T>(
    text: &'a str,
    parse: impl FnOnce(&mut Cursor<'a>) -> Result<T, ParseError>,
) -> Result<T, ParseError> {
    let mut cursor = Cursor::new(text);
    let value = parse(&mut cursor)?;
    cursor.finish()?;
    Ok(value)
}

/// Stores values of a type as their text.
macro_rules! serde_as_text {
    ($($ty:ty),* $(,)?) => {$(
        impl serde::Serialize for $ty {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $ty {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(d)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    )*};
}

serde_as_text!(
    ScalarType,
    Scalar,
    crate::index::Idx,
    crate::guard::Guard,
    crate::guard::Extent,
    crate::guard::Tier,
    crate::tensir::Function,
);
