//! Reads the text form back.

use super::lexer::{self, Token};
use super::text::KEYWORDS;
use super::{Expr, Function, Len, LocalArray, Loop, LoopMode, Overflow, Param, Stmt};
use crate::index::Sym;
use crate::op::BinOp;
use crate::scalar::ScalarType;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

mod expr;

/// How deep statements and expressions may be nested: a limit, so that no text overflows the stack.
const MAX_DEPTH: usize = 200;

/// What is wrong with a text, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub message: String,
    /// 1-based.
    pub line: usize,
    /// 1-based, in characters.
    pub column: usize,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "line {}, column {}: {}",
            self.line, self.column, self.message
        )
    }
}

impl std::error::Error for ParseError {}

impl FromStr for Function {
    type Err = ParseError;

    /// Reads one function, and checks that it is well-typed.
    fn from_str(text: &str) -> Result<Function, ParseError> {
        let place = |(message, at): (String, usize)| {
            let before = &text[..at.min(text.len())];
            let line_start = before.rfind('\n').map_or(0, |i| i + 1);
            ParseError {
                message,
                line: before.matches('\n').count() + 1,
                column: before[line_start..].chars().count() + 1,
            }
        };
        let tokens = lexer::tokens(text).map_err(place)?;
        let mut parser = Parser {
            tokens,
            at: 0,
            depth: 0,
            types: BTreeMap::new(),
            elems: BTreeMap::new(),
            ret: None,
            next_loop: 1,
        };
        let function = parser.function().map_err(place)?;
        function.validate().map_err(|message| place((message, 0)))?;
        Ok(function)
    }
}

type Res<T> = Result<T, (String, usize)>;

struct Parser {
    tokens: Vec<(Token, usize)>,
    at: usize,
    depth: usize,
    types: BTreeMap<Sym, ScalarType>,
    elems: BTreeMap<Sym, ScalarType>,
    ret: Option<ScalarType>,
    next_loop: u32,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_after(&self) -> &Token {
        &self.tokens[(self.at + 1).min(self.tokens.len() - 1)].0
    }

    fn here(&self) -> usize {
        self.tokens[self.at].1
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    fn fail<T>(&self, expected: &str) -> Res<T> {
        Err((
            format!("expected {expected}, found {}", self.peek().describe()),
            self.here(),
        ))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(s) if *s == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    fn sign(&mut self, sign: &str) -> Res<()> {
        if self.take_sign(sign) {
            Ok(())
        } else {
            self.fail(&format!("'{sign}'"))
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name { text, quoted: false, .. } if text == word)
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn name(&mut self) -> Res<Sym> {
        match self.peek() {
            Token::Name {
                text,
                quoted,
                ty: None,
            } if *quoted
                || !KEYWORDS.contains(&text.as_str()) && text.parse::<ScalarType>().is_err() =>
            {
                let name = text.as_str().into();
                self.next();
                Ok(name)
            }
            _ => self.fail("a name"),
        }
    }

    fn peek_type(&self) -> Option<ScalarType> {
        match self.peek() {
            Token::Name {
                text,
                quoted: false,
                ty: None,
            } => text.parse().ok(),
            _ => None,
        }
    }

    fn scalar_type(&mut self) -> Res<ScalarType> {
        match self.peek_type() {
            Some(ty) => {
                self.next();
                Ok(ty)
            }
            None => self.fail("a scalar type"),
        }
    }

    fn natural<T: FromStr>(&mut self) -> Res<T> {
        let value = match self.peek() {
            Token::Number { text, ty: None } => text.parse().ok(),
            _ => None,
        };
        match value {
            Some(v) => {
                self.next();
                Ok(v)
            }
            None => self.fail("a whole number"),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        if self.depth == MAX_DEPTH {
            return Err((format!("nested deeper than {MAX_DEPTH}"), self.here()));
        }
        self.depth += 1;
        let out = read(self);
        self.depth -= 1;
        out
    }

    fn function(&mut self) -> Res<Function> {
        self.ret = if self.take_word("void") {
            None
        } else {
            Some(self.scalar_type()?)
        };
        let name = self.name()?.to_string();
        self.sign("(")?;
        let mut params = Vec::new();
        while !self.take_sign(")") {
            if !params.is_empty() {
                self.sign(",")?;
            }
            params.push(self.param()?);
        }
        let overflow = if self.take_word("wraps") {
            Overflow::Wraps
        } else {
            Overflow::Undefined
        };
        let fused = self.take_word("fused");
        let mut apart = Vec::new();
        while self.take_word("apart") {
            let a = self.name()?;
            self.sign(",")?;
            apart.push((a, self.name()?));
        }
        self.sign("{")?;
        let mut arrays = Vec::new();
        loop {
            if self.is_word("local") || self.is_word("table") {
                arrays.push(self.local_array()?);
            } else if self.take_word("var") {
                let ty = self.scalar_type()?;
                let name = self.name()?;
                self.types.insert(name, ty);
                self.sign(";")?;
            } else {
                break;
            }
        }
        let mut body = Vec::new();
        while !self.take_sign("}") {
            self.statement(&mut body)?;
        }
        if *self.peek() != Token::End {
            return self.fail("the end of the text");
        }
        Ok(Function {
            name,
            params,
            ret: self.ret,
            overflow,
            fused,
            apart,
            arrays,
            body,
        })
    }

    fn param(&mut self) -> Res<Param> {
        let is_const = self.take_word("const");
        let ty = self.scalar_type()?;
        if !self.take_sign("*") {
            let name = self.name()?;
            self.types.insert(name.clone(), ty);
            return Ok(Param::Scalar { name, ty });
        }
        let restrict = self.take_word("restrict");
        let name = self.name()?;
        self.elems.insert(name.clone(), ty);
        Ok(Param::Array {
            name,
            elem: ty,
            is_const,
            restrict,
        })
    }

    fn local_array(&mut self) -> Res<LocalArray> {
        let is_table = self.take_word("table");
        if !is_table {
            self.next();
        }
        let elem = self.scalar_type()?;
        let name = self.name()?;
        self.elems.insert(name.clone(), elem);
        self.sign("[")?;
        let len = match self.take_sign("]") {
            true => Len::Touched,
            false => {
                let asked_for = self.take_word("of");
                let len = match self.expr_of(ScalarType::I64)? {
                    len if asked_for => Len::Of(len),
                    Expr::Const(n) => match n.as_int().try_into() {
                        Ok(n) => Len::Fixed(n),
                        Err(_) => return self.fail("a length"),
                    },
                    _ => return self.fail("a length"),
                };
                self.sign("]")?;
                len
            }
        };
        let mut init = None;
        if is_table {
            self.sign("=")?;
            self.sign("{")?;
            let mut values = Vec::new();
            while !self.take_sign("}") {
                if !values.is_empty() {
                    self.sign(",")?;
                }
                let at = self.here();
                match self.expr_of(elem)? {
                    Expr::Const(v) => values.push(v),
                    _ => return Err(("a table holds literals only".into(), at)),
                }
            }
            init = Some(values);
        }
        self.sign(";")?;
        Ok(LocalArray {
            name,
            elem,
            len,
            init,
        })
    }

    fn block(&mut self) -> Res<Vec<Stmt>> {
        self.sign("{")?;
        let mut out = Vec::new();
        while !self.take_sign("}") {
            self.deeper(|p| p.statement(&mut out))?;
        }
        Ok(out)
    }

    fn statement(&mut self, out: &mut Vec<Stmt>) -> Res<()> {
        if self.take_word("if") {
            out.push(self.branch()?);
        } else if self.take_word("trap") {
            self.sign(";")?;
            out.push(Stmt::Trap);
        } else if self.take_word("return") {
            let value = match self.ret {
                Some(ty) if !self.is_sign(";") => Some(self.expr_of(ty)?),
                _ => None,
            };
            self.sign(";")?;
            out.push(Stmt::Return(value));
        } else if ["while", "do", "for", "parallel", "simd"]
            .iter()
            .any(|w| self.is_word(w))
        {
            self.looped(out)?;
        } else {
            let s = self.assignment()?;
            self.sign(";")?;
            out.push(s);
        }
        Ok(())
    }

    fn branch(&mut self) -> Res<Stmt> {
        self.sign("(")?;
        let cond = self.expr_of(ScalarType::I1)?;
        self.sign(")")?;
        let then = self.block()?;
        let otherwise = if !self.take_word("else") {
            vec![]
        } else if self.take_word("if") {
            vec![self.deeper(Self::branch)?]
        } else {
            self.block()?
        };
        Ok(Stmt::If {
            cond,
            then,
            otherwise,
        })
    }

    fn looped(&mut self, out: &mut Vec<Stmt>) -> Res<()> {
        let mode = if self.take_word("parallel") {
            LoopMode::Parallel
        } else if self.take_word("simd") {
            let mut reductions = Vec::new();
            self.sign("(")?;
            while !self.take_sign(")") {
                if !reductions.is_empty() {
                    self.sign(",")?;
                }
                let at = self.here();
                let op = self.name()?;
                let op = BinOp::from_name(&op).ok_or((format!("'{op}' is no operator"), at))?;
                reductions.push((op, self.name()?));
            }
            LoopMode::Simd { reductions }
        } else {
            LoopMode::Sequential
        };
        let word = self.next();
        let (is_for, test_first) = match &word {
            Token::Name {
                text,
                quoted: false,
                ..
            } if text == "while" => (false, true),
            Token::Name {
                text,
                quoted: false,
                ..
            } if text == "do" => (false, false),
            Token::Name {
                text,
                quoted: false,
                ..
            } if text == "for" => (true, true),
            _ => return Err(("expected a loop".into(), self.here())),
        };
        let id = if self.take_sign("#") {
            self.natural()?
        } else {
            self.next_loop
        };
        self.next_loop = self.next_loop.max(id).saturating_add(1);
        let line = if self.take_sign("@") {
            self.natural()?
        } else {
            0
        };
        let mut increment = None;
        let (cond, mut body);
        if test_first {
            self.sign("(")?;
            if is_for {
                out.push(self.assignment()?);
                self.sign(";")?;
            }
            cond = self.expr_of(ScalarType::I1)?;
            if is_for {
                self.sign(";")?;
                increment = Some(self.assignment()?);
            }
            self.sign(")")?;
            body = self.block()?;
        } else {
            body = self.block()?;
            if !self.take_word("while") {
                return self.fail("'while'");
            }
            self.sign("(")?;
            cond = self.expr_of(ScalarType::I1)?;
            self.sign(")")?;
            self.sign(";")?;
        }
        body.extend(increment);
        out.push(Stmt::Loop(Loop {
            id,
            cond,
            test_first,
            body,
            mode,
            line,
        }));
        Ok(())
    }

    fn assignment(&mut self) -> Res<Stmt> {
        let declared = self.peek_type();
        if declared.is_some() {
            self.next();
        }
        let at = self.here();
        let name = self.name()?;
        if declared.is_none() && self.take_sign("[") {
            let elem = self.elem_of(&name, at)?;
            let index = self.index()?;
            self.sign("=")?;
            let value = self.expr_of(elem)?;
            return Ok(Stmt::Store {
                array: name,
                index,
                value,
            });
        }
        let ty = match declared.or_else(|| self.types.get(&name).copied()) {
            Some(ty) => ty,
            None => {
                return Err((
                    format!("'{name}' has no type yet; write 'i32 {name} = …'"),
                    at,
                ));
            }
        };
        self.types.insert(name.clone(), ty);
        self.sign("=")?;
        let value = self.expr_of(ty)?;
        Ok(Stmt::Assign {
            var: name,
            ty,
            value,
        })
    }

    fn elem_of(&self, array: &Sym, at: usize) -> Res<ScalarType> {
        self.elems
            .get(array)
            .copied()
            .ok_or((format!("there is no array '{array}'"), at))
    }
}
