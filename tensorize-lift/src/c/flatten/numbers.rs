//! Numbers of the caller that a function does nothing with but read: sizes behind pointers, as Fortran passes them (`*n`,
//! `dims[1]`), and behind references to what is `const`.

use super::Node;
use crate::c::codes;
use crate::c::ffi::{Constant, Cursor};
use crate::c::lower::{Binding, Lower, operands, peeled};
use crate::c::operator::{self, Unary};
use crate::c::place::Place;
use crate::c::source;
use crate::c::types::{self, Ty};
use clang_sys::*;
use std::collections::BTreeMap;
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::signature::{Number, Shape};

/// What lies further behind a pointer is an array's.
const FURTHEST: i128 = 15;

impl<'u> Lower<'u, '_> {
    /// A pointer of which nothing is used but the values of `*p` or, if these say how far loops go, of `p[k]` for
    /// constants `k`; `false` if it is none.
    pub(super) fn numbers_behind(&mut self, p: Cursor<'u>, name: &str) -> bool {
        let Ty::Pointer(to) = types::of(p) else {
            return false;
        };
        let (Some(ty), Some(body)) = (to.as_scalar(), source::body(self.frames[0].function)) else {
            return false;
        };
        let mut read = BTreeMap::new();
        let subscripts = ty.is_int() && says_how_far(body, p);
        if !only_reads(body, p, subscripts, &mut read) || read.is_empty() {
            return false;
        }
        let is_one = read.keys().eq(&[0]);
        let (mut at, mut params) = (Vec::new(), Vec::new());
        for index in read.into_keys() {
            let name = match is_one {
                true => name.to_string(),
                false => format!("{name}_{index}"),
            };
            let (place, param) = self.number_of_the_caller(&name, ty);
            let to = param.name().to_string();
            at.push(Number { index, to });
            params.push(param);
            self.flat.numbers.insert((p, index), place);
        }
        let shape = Shape::Numbers { pointer: true, at };
        self.add_parameter(p, name, Node::Leaf(shape, params));
        true
    }

    /// A C++ parameter that is a reference to a number that is `const`, if no pointer to it is made.
    pub fn const_number(
        &mut self,
        p: Cursor<'u>,
        name: &str,
        ty: ScalarType,
    ) -> Option<(Vec<Param>, Shape)> {
        if self.in_memory.contains(&p) {
            return None;
        }
        let (place, param) = self.number_of_the_caller(name, ty);
        self.bindings.insert(p, Binding::Alias(place));
        let to = param.name().to_string();
        let at = vec![Number { index: 0, to }];
        let pointer = false;
        Some((vec![param], Shape::Numbers { pointer, at }))
    }

    /// A parameter for a number in the caller's memory, which is read once.
    fn number_of_the_caller(&mut self, name: &str, ty: ScalarType) -> (Place, Param) {
        let name = self.flat_name(name);
        let changed = codes::POINTER_USE;
        self.flat.of_the_caller.insert(name.clone(), changed);
        (Place::Var(name.clone(), ty), Param::Scalar { name, ty })
    }

    /// What `*p` or `p[k]` is, where it is one of those numbers.
    pub fn number_at(&self, c: Cursor<'u>) -> Option<Place> {
        // Asked of every expression that may be a place.
        if self.flat.numbers.is_empty() {
            return None;
        }
        let (p, index) = constant_place(c)?;
        self.flat.numbers.get(&(p, index)).cloned()
    }
}

/// Whether every mention of `p` is in the value of `*p` or, if `subscripts` count, of `p[k]`. Which ones are read is added, and
/// where each is first.
pub(super) fn only_reads<'u>(
    c: Cursor<'u>,
    p: Cursor<'u>,
    subscripts: bool,
    read: &mut BTreeMap<u64, Cursor<'u>>,
) -> bool {
    if c.kind() == CXCursor_DeclRefExpr && c.referenced() == Some(p) {
        return false;
    }
    // The value of an lvalue has a conversion around it.
    let place = peeled(c);
    if c.kind() == CXCursor_UnexposedExpr
        && (subscripts || place.kind() == CXCursor_UnaryOperator)
        && let Some((of, index)) = constant_place(place)
        && of == p
    {
        read.entry(index).or_insert(c);
        return true;
    }
    let children = c.children();
    children
        .into_iter()
        .all(|c| only_reads(c, p, subscripts, read))
}

/// Whether a loop's condition or a subscript goes by what `p` points to, as it stands or in a variable.
fn says_how_far<'u>(body: Cursor<'u>, p: Cursor<'u>) -> bool {
    let mut of = vec![p];
    let mentions = |c: Cursor<'u>, of: &[Cursor<'u>]| of.iter().any(|d| c.mentions(*d));
    body.contains(&mut |c| {
        let (to, from) = match (c.kind(), &operands(c)[..]) {
            (CXCursor_VarDecl, _) => (Some(c), c.initializer()),
            (CXCursor_BinaryOperator, [l, r]) => (peeled(*l).referenced(), Some(*r)),
            _ => return false,
        };
        if from.is_some_and(|e| mentions(e, &of)) {
            of.extend(to);
        }
        false
    });
    body.contains(&mut |c| match (c.kind(), &c.children()[..]) {
        (CXCursor_ForStmt, [head @ .., _]) => head.iter().any(|&c| mentions(c, &of)),
        (CXCursor_WhileStmt, [decides, _])
        | (CXCursor_DoStmt, [_, decides])
        | (CXCursor_ArraySubscriptExpr, [_, decides]) => mentions(*decides, &of),
        _ => false,
    })
}

/// The variable and the number of the element, if this is `*p` or `p[k]`.
fn constant_place(c: Cursor<'_>) -> Option<(Cursor<'_>, u64)> {
    let (p, index) = match (c.kind(), &operands(c)[..]) {
        (CXCursor_UnaryOperator, [p]) => {
            let is_deref = matches!(operator::unary(c), Ok(Unary::Deref));
            is_deref.then_some((*p, 0))?
        }
        (CXCursor_ArraySubscriptExpr, [p, k]) => match k.evaluate()? {
            Constant::Int(k @ 0..=FURTHEST) => (*p, k as u64),
            _ => return None,
        },
        _ => return None,
    };
    let variable = Some(peeled(p)).filter(|v| v.kind() == CXCursor_DeclRefExpr)?;
    Some((variable.referenced()?, index))
}
