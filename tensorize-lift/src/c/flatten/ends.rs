//! Pointers to the end of an array, which become a count of elements.

use super::Node;
use crate::c::codes;
use crate::c::cpp::{ends_of_ranges, iterator_from};
use crate::c::expr::Arith;
use crate::c::ffi::Cursor;
use crate::c::lower::{Base, Lower, Result, Variable, operands, peeled, problem};
use crate::c::operator::{Binary, binary};
use crate::c::source;
use crate::c::types::{self, Ty};
use clang_sys::*;
use std::collections::HashMap;
use tensorize_ir::loopir::{Expr, Param};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::Shape;

impl<'u> Lower<'u, '_> {
    /// `end`, which is `begin` and a number of elements.
    pub(super) fn end_parameter(
        &mut self,
        p: Cursor<'u>,
        name: &str,
        begin: Cursor<'u>,
    ) -> Result<()> {
        let Some(Base::One(target, dims)) = self.pointers.get(&Variable::Named(begin)).cloned()
        else {
            let message = format!("'{name}' is compared with a pointer that is not an array");
            return Err(problem(codes::POINTER_BASE, message, p));
        };
        let count = self.flat_name(&format!("{}_count", target.array));
        let shape = Shape::End {
            of: target.array.to_string(),
            count: count.to_string(),
        };
        let param = Param::Scalar {
            name: count.clone(),
            ty: ScalarType::I64,
        };
        self.add_parameter(p, name, Node::Leaf(shape, vec![param]));
        self.bind_pointer(p, Some((target, dims, Expr::Var(count, ScalarType::I64))))
    }

    /// The parameter that is taken for an end of this one.
    pub fn end_of(&self, begin: &str) -> Option<String> {
        let mut ends = self.flat.ends.iter();
        let end = ends.find(|(_, of)| of.spelling() == begin);
        end.map(|(end, _)| end.spelling())
    }

    /// Finds pairs of parameters that are the two ends of one array.
    pub fn scan_ends(&mut self, function: Cursor<'u>) {
        let mut pairs = Vec::new();
        if let Some(body) = source::body(function) {
            let arrays = |a: Cursor<'u>, b: Cursor<'u>| {
                let stay = [a, b].iter().all(|p| !self.assigned.contains(p));
                stay && (is_const(a) != is_const(b) || [a, b].iter().all(|p| is_indexed(body, *p)))
            };
            compared(body, &arrays, &mut HashMap::new(), &mut pairs);
        }
        let params = function.arguments();
        let place = |d: &Cursor<'u>| params.iter().position(|p| p == d);
        for (a, b) in pairs {
            let (Some(i), Some(j)) = (place(&a), place(&b)) else {
                continue;
            };
            let elements = |p: Cursor<'u>| match types::of(p) {
                Ty::Pointer(t) => t.as_scalar(),
                _ => None,
            };
            let (begin, end) = (params[i.min(j)], params[i.max(j)]);
            if i != j && elements(begin).is_some() && elements(begin) == elements(end) {
                // An end of two arrays, or of one that is an end itself, is refused where it is used.
                self.flat.ends.entry(end).or_insert(begin);
            }
        }
        let ends = self.flat.ends.clone();
        self.flat.ends.retain(|_, begin| !ends.contains_key(begin));
    }
}

/// Whether what a pointer points to is `const`.
fn is_const(p: Cursor<'_>) -> bool {
    p.ty().canonical().pointee().is_const()
}

/// Whether elements of it are used, as they are of no pointer that stays at the end of an array.
fn is_indexed<'u>(body: Cursor<'u>, p: Cursor<'u>) -> bool {
    body.contains(&mut |c| {
        c.kind() == CXCursor_ArraySubscriptExpr
            && operands(c)
                .first()
                .is_some_and(|base| peeled(*base).referenced() == Some(p))
    })
}

/// Pairs of parameters from which two pointers come that are compared or subtracted. Whether two are the same that are
/// known to be `arrays` of their own is another question (`if (in != out)`).
fn compared<'u>(
    c: Cursor<'u>,
    arrays: &dyn Fn(Cursor<'u>, Cursor<'u>) -> bool,
    origins: &mut HashMap<Cursor<'u>, Cursor<'u>>,
    pairs: &mut Vec<(Cursor<'u>, Cursor<'u>)>,
) {
    if c.kind() == CXCursor_VarDecl
        && let Some(from) = c.initializer().and_then(|e| origin(e, origins))
    {
        origins.insert(c, from);
    }
    if c.kind() == CXCursor_BinaryOperator
        && let [l, r] = operands(c)[..]
    {
        let together = matches!(
            binary(c),
            Ok(Binary::Compare(_) | Binary::Arithmetic(Arith::Plain(BinOp::Subtract)))
        );
        let equality = matches!(binary(c), Ok(Binary::Compare(CmpOp::Eq | CmpOp::Ne)));
        let two = || {
            let of = |e| peeled(e).referenced();
            of(l).zip(of(r)).is_some_and(|(a, b)| arrays(a, b))
        };
        if together
            && !(equality && two())
            && let (Some(a), Some(b)) = (origin(l, origins), origin(r, origins))
        {
            pairs.push((a, b));
        }
        if matches!(binary(c), Ok(Binary::Assign))
            && let Some(d) = peeled(l).referenced()
            && let Some(from) = origin(r, origins)
        {
            origins.entry(d).or_insert(from);
        }
    }
    for [first, last] in ends_of_ranges(c) {
        pairs.extend(origin(first, origins).zip(origin(last, origins)));
    }
    for child in c.children() {
        compared(child, arrays, origins, pairs);
    }
}

/// The variable that a pointer expression starts from.
fn origin<'u>(c: Cursor<'u>, origins: &HashMap<Cursor<'u>, Cursor<'u>>) -> Option<Cursor<'u>> {
    if !matches!(types::of(c).referred(), Ty::Pointer(_)) {
        return None;
    }
    let c = peeled(c);
    match c.kind() {
        CXCursor_DeclRefExpr => {
            let d = c.referenced()?;
            match d.kind() {
                CXCursor_ParmDecl => Some(d),
                _ => origins.get(&d).copied(),
            }
        }
        CXCursor_UnaryOperator | CXCursor_CStyleCastExpr | CXCursor_BinaryOperator => {
            operands(c).into_iter().find_map(|o| origin(o, origins))
        }
        CXCursor_CallExpr => (iterator_from(c).into_iter()).find_map(|o| origin(o, origins)),
        _ => None,
    }
}
