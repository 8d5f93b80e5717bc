//! Index notation: `add(x[i], fold(acc = 0:i32, k < n, add(acc, w[k])))`.

use super::{Cursor, ParseError};
use crate::element::{Elem, ElemRef, Fold, Lane, Order};
use crate::guard::Guard;
use crate::index::{Idx, Sym};
use crate::loopir::Param;
use crate::op::{BinOp, CmpOp, UnOp};
use crate::scalar::ScalarType;
use std::sync::Arc;

/// Reads a scalar expression over the arrays and scalars among `params`, as `Display` writes it. The
/// name of an integer parameter may also stand alone.
pub fn parse_elem(text: &str, params: &[Param]) -> Result<ElemRef, ParseError> {
    over(text, params, |c| c.elem())
}

/// Reads a polynomial in which values of the arrays among `params` may occur.
pub fn parse_idx(text: &str, params: &[Param]) -> Result<Idx, ParseError> {
    over(text, params, |c| c.idx())
}

/// Reads a guard in which values of the arrays among `params` may occur.
pub fn parse_guard(text: &str, params: &[Param]) -> Result<Guard, ParseError> {
    over(text, params, |c| c.guard())
}

fn over<T>(
    text: &str,
    params: &[Param],
    read: impl FnOnce(&mut Cursor<'_>) -> Result<T, ParseError>,
) -> Result<T, ParseError> {
    let mut cursor = Cursor::new(text);
    cursor.params = params.to_vec();
    let value = read(&mut cursor)?;
    cursor.finish()?;
    Ok(value)
}

impl Cursor<'_> {
    pub(crate) fn elem(&mut self) -> Result<ElemRef, ParseError> {
        self.nested(Self::elem_inner)
    }

    fn elem_inner(&mut self) -> Result<ElemRef, ParseError> {
        if let Some(literal) = self.elem_literal()? {
            return Ok(literal);
        }
        let here = self.here();
        let Some(name) = self.name() else {
            return Err(self.expected("an operator, an array element, a parameter or a literal"));
        };
        match self.peek() {
            Some('[') => self.array_element(name, here),
            Some('(') => {
                self.expect("(")?;
                let e = self.call(name, here)?;
                self.expect(")")?;
                Ok(e)
            }
            _ => self.lone_name(name, here),
        }
    }

    fn elem_literal(&mut self) -> Result<Option<ElemRef>, ParseError> {
        // `inf` and `nan` are literals only with their type: they could be names, too.
        let mut ahead = self.clone();
        let word = ahead.name();
        let is_literal = match word {
            Some("inf") => ahead.eat(":"),
            Some("nan") => ahead.eat(":") || ahead.eat("("),
            Some(_) => false,
            None => matches!(self.peek(), Some('-' | '+' | '0'..='9')),
        };
        if !is_literal {
            return Ok(None);
        }
        Ok(Some(Elem::constant(self.scalar(None)?)))
    }

    fn array_element(&mut self, name: &str, here: usize) -> Result<ElemRef, ParseError> {
        let elem = self.params.iter().find_map(|p| match p {
            Param::Array { name: n, elem, .. } if &**n == name => Some(*elem),
            _ => None,
        });
        let Some(elem) = elem else {
            return Err(self.error_at(here, format!("'{name}' is not an array parameter")));
        };
        self.expect("[")?;
        let index = self.idx()?;
        self.expect("]")?;
        Ok(Elem::read(name, elem, index))
    }

    fn lone_name(&mut self, name: &str, here: usize) -> Result<ElemRef, ParseError> {
        if let Some((acc, ty)) = self.accs.iter().rev().find(|(n, _)| &**n == name) {
            return Ok(Arc::new(Elem::Acc(acc.clone(), *ty)));
        }
        let scalar = self.params.iter().find_map(|p| match p {
            Param::Scalar { name: n, ty } if &**n == name => Some(*ty),
            _ => None,
        });
        match scalar {
            Some(ty) if ty.is_float() => Ok(Arc::new(Elem::Param(name.into(), ty))),
            Some(ty) => Ok(Elem::of_idx(ty, Idx::sym(name))),
            None => Err(self.error_at(
                here,
                format!(
                    "'{name}' is neither a scalar parameter nor an accumulator in scope; \
                     the value of an index is written index(i32, {name})"
                ),
            )),
        }
    }

    /// What follows `name(`.
    fn call(&mut self, name: &str, here: usize) -> Result<ElemRef, ParseError> {
        match name {
            "index" => {
                let ty = self.scalar_type()?;
                self.expect(",")?;
                Ok(Elem::of_idx(ty, self.idx()?))
            }
            "convert" => {
                let ty = self.scalar_type()?;
                self.expect(",")?;
                Ok(Elem::convert(ty, self.elem()?))
            }
            "bitcast_convert" => {
                let ty = self.scalar_type()?;
                self.expect(",")?;
                let a = self.elem()?;
                if a.ty().bits() != ty.bits() {
                    let message = format!("{} and {ty} have different widths", a.ty());
                    return Err(self.error_at(here, message));
                }
                Ok(Elem::bitcast(ty, a))
            }
            "compare" => {
                let op = self.comparison()?;
                let (a, b) = self.pair()?;
                self.same_type(here, a.ty(), b.ty())?;
                Ok(Elem::compare(op, a, b))
            }
            "index_compare" => {
                let op = self.comparison()?;
                let a = self.idx()?;
                self.expect(",")?;
                Ok(Elem::index_compare(op, a, self.idx()?))
            }
            "select" => {
                let c = self.elem()?;
                self.expect(",")?;
                let (t, f) = self.pair()?;
                self.same_type(here, t.ty(), f.ty())?;
                if c.ty() != ScalarType::I1 {
                    let message = format!("select needs an i1 first, and this is {}", c.ty());
                    return Err(self.error_at(here, message));
                }
                Ok(Elem::select(c, t, f))
            }
            "fold" => self.fold(here, Order::Sequential),
            "fold_any" => self.fold(here, Order::Any),
            _ => self.operator(name, here),
        }
    }

    fn operator(&mut self, name: &str, here: usize) -> Result<ElemRef, ParseError> {
        let wrong_type =
            |c: &Self, ty| c.error_at(here, format!("'{name}' is not defined on {ty}"));
        if let Some(op) = UnOp::from_name(name) {
            let a = self.elem()?;
            if !op.accepts(a.ty()) {
                return Err(wrong_type(self, a.ty()));
            }
            return Ok(Elem::unary(op, a));
        }
        let Some(op) = BinOp::from_name(name) else {
            return Err(self.error_at(here, format!("'{name}' is not an operator")));
        };
        let (a, b) = self.pair()?;
        self.same_type(here, a.ty(), b.ty())?;
        if !op.accepts(a.ty()) {
            return Err(wrong_type(self, a.ty()));
        }
        Ok(Elem::binary(op, a, b))
    }

    fn fold(&mut self, here: usize, order: Order) -> Result<ElemRef, ParseError> {
        let mut accs: Vec<(Sym, ElemRef)> = Vec::new();
        let acc = self.expect_name("the name of the accumulator")?.into();
        self.expect("=")?;
        accs.push((acc, self.elem()?));
        let var: Sym = loop {
            self.expect(",")?;
            let name: Sym = self
                .expect_name("the name of the index, or of another accumulator")?
                .into();
            if self.eat("<") {
                break name;
            }
            self.expect("=")?;
            accs.push((name, self.elem()?));
        };
        let extent = self.idx()?;
        let outer = self.accs.len();
        self.accs
            .extend(accs.iter().map(|(name, init)| (name.clone(), init.ty())));
        let mut steps = Vec::new();
        let mut read = || {
            for (_, init) in &accs {
                self.expect(",")?;
                let step = self.elem()?;
                self.same_type(here, init.ty(), step.ty())?;
                steps.push(step);
            }
            Ok(())
        };
        let result = read();
        self.accs.truncate(outer);
        result?;
        let mut lanes =
            accs.into_iter()
                .zip(steps)
                .map(|((acc, init), step)| Lane { acc, init, step });
        let Some(first) = lanes.next() else {
            return Err(self.error_at(here, "a fold has an accumulator"));
        };
        Ok(Arc::new(Elem::Fold(Arc::new(Fold {
            acc: first.acc,
            var,
            extent,
            init: first.init,
            step: first.step,
            order,
            others: lanes.collect(),
        }))))
    }

    /// `a, b`
    fn pair(&mut self) -> Result<(ElemRef, ElemRef), ParseError> {
        let a = self.elem()?;
        self.expect(",")?;
        Ok((a, self.elem()?))
    }

    /// `LT,`
    fn comparison(&mut self) -> Result<CmpOp, ParseError> {
        let op = self.comparison_direction()?;
        self.expect(",")?;
        Ok(op)
    }

    pub(crate) fn comparison_direction(&mut self) -> Result<CmpOp, ParseError> {
        let mut ahead = self.clone();
        match ahead.name().and_then(CmpOp::from_name) {
            Some(op) => {
                *self = ahead;
                Ok(op)
            }
            None => Err(self.expected("EQ, NE, LT, LE, GT or GE")),
        }
    }

    fn same_type(&self, here: usize, a: ScalarType, b: ScalarType) -> Result<(), ParseError> {
        if a == b {
            return Ok(());
        }
        Err(self.error_at(
            here,
            format!("the operands have different types, {a} and {b}"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> Vec<Param> {
        let array = |name: &str, elem| Param::Array {
            name: name.into(),
            elem,
            is_const: true,
            restrict: false,
        };
        let scalar = |name: &str, ty| Param::Scalar {
            name: name.into(),
            ty,
        };
        vec![
            array("x", ScalarType::F32),
            array("p", ScalarType::U8),
            scalar("eps", ScalarType::F32),
            scalar("n", ScalarType::I32),
        ]
    }

    #[test]
    fn text_reads_back() {
        for text in [
            "add(x[#0], eps)",
            "multiply(-1.5:f32, nan:f32)",
            "fold(acc = 0.0:f32, k < n, add(acc, multiply(x[#0*n + k], x[k])))",
            "fold_any(s'1 = 0:i32, k'1 < n, add(s'1, convert(i32, p[k'1])))",
            "fold(a = 0:i32, i < n, fold(b = a, j < i, add(b, convert(i32, p[i*n + j]))))",
            "select(compare(LT, x[0], -inf:f32), x[value(p[#0])], x[max(#0, 0) - 1])",
            "select(index_compare(GE, #0, n), p[0], bitcast_convert(ui8, convert(i8, eps)))",
            "index(i64, n*n - 1)",
        ] {
            let e = parse_elem(text, &params()).unwrap();
            let display = e.to_string();
            assert_eq!(parse_elem(&display, &params()).unwrap(), e, "{display}");
        }
        assert_eq!(
            parse_elem("n", &params()).unwrap().to_string(),
            "index(i32, n)"
        );
    }

    #[test]
    fn errors_are_precise() {
        let message = |text: &str| parse_elem(text, &params()).unwrap_err().to_string();
        assert!(message("add(x[0], p[0])").contains("different types, f32 and ui8"));
        assert!(message("add(x[0])").contains("expected ','"));
        assert!(message("add(x[0], q[0])").starts_with("line 1, column 11: 'q' is not an array"));
        assert!(message("addd(x[0], x[0])").contains("'addd' is not an operator"));
        assert!(message("and(x[0], x[0])").contains("not defined on f32"));
        assert!(message("x[0] x[0]").contains("expected the end, found 'x'"));
        assert!(message("add(x[0], 1.0)").contains("lacks its type"));
        assert!(message("fold(acc = 0:i32, k < n, x[k])").contains("different types"));
        assert!(message("acc").contains("neither a scalar parameter nor an accumulator"));
        assert!(message("bitcast_convert(i8, x[0])").contains("different widths"));
        assert!(message(&"negate(".repeat(100_000)).contains("too deeply"));
    }
}
