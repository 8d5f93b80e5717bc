//! Pointers: each is an array, known from the program text, and an offset that is computed.

mod assigned;
mod bytes;
mod in_bytes;
mod of_void;
mod two_arrays;

pub(super) use assigned::moved_away;
pub(super) use in_bytes::moved_in_bytes;

pub(super) use bytes::{is_byte, joined, may_be_seen_as};

use super::codes;
use super::cpp::class::Class;
use super::expr::{Arith, select};
use super::ffi::Cursor;
use super::lower::{Lower, Result, convert, offset_op, operand, operands, peeled, problem};
use super::operator::{self, Binary, Unary};
use super::place::{Place, Pointer};
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::ScalarType;

impl<'u> Lower<'u, '_> {
    /// The value of an expression of pointer or array type.
    pub fn pointer(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let unsupported = || {
            problem(
                codes::POINTER_USE,
                "this use of a pointer is not supported",
                c,
            )
        };
        match types::of(c) {
            Ty::Array(..) => {
                return match self.place(c)? {
                    Place::Array(p) => Ok(p.decayed()),
                    _ => Err(unsupported()),
                };
            }
            Ty::Pointer(_) => {}
            Ty::Class(Class::Reverse) => return Err(super::cpp::not_walked(c)),
            Ty::Other(code, what) => {
                return Err(problem(code, format!("{what} is not supported"), c));
            }
            _ => return Err(unsupported()),
        }
        match c.kind() {
            CXCursor_ParenExpr => self.pointer(operand(c)?),
            CXCursor_DeclRefExpr => self.pointer_variable(c),
            CXCursor_UnexposedExpr
            | CXCursor_CStyleCastExpr
            | CXCursor_CXXStaticCastExpr
            | CXCursor_CXXConstCastExpr
            | CXCursor_CXXReinterpretCastExpr
            | CXCursor_CXXFunctionalCastExpr => self.pointer_cast(c),
            CXCursor_UnaryOperator => match operator::unary(c)? {
                Unary::AddressOf if types::of(operand(c)?).referred().as_class().is_some() => {
                    match self.seq(operand(c)?)?.place() {
                        Place::Array(p) => Ok(p),
                        _ => Err(unsupported()),
                    }
                }
                Unary::AddressOf => match self.place(operand(c)?)? {
                    Place::Element(target, offset, view) => Ok(Pointer {
                        target,
                        offset,
                        dims: vec![],
                        view,
                    }),
                    // `&a` points to the whole array, `&a[i]` to the whole row.
                    Place::Array(p) => Ok(p),
                    Place::Var(..) | Place::Constant(_) => Err(unsupported()),
                },
                Unary::Step { by, prefix } => self.pointer_moved(operand(c)?, by, prefix),
                Unary::Extension => self.pointer(operand(c)?),
                Unary::Deref => self.row(c),
                _ => Err(unsupported()),
            },
            CXCursor_BinaryOperator => {
                let [l, r] = operands(c)[..] else {
                    return Err(unsupported());
                };
                match operator::binary(c)? {
                    Binary::Arithmetic(Arith::Plain(op @ (BinOp::Add | BinOp::Subtract))) => {
                        let is_pointer =
                            |c: Cursor<'_>| matches!(types::of(c), Ty::Pointer(_) | Ty::Array(..));
                        let (p, i) = if is_pointer(l) { (l, r) } else { (r, l) };
                        let base = self.pointer(p)?;
                        self.check_step(c, &base, p)?;
                        let by = convert(ScalarType::I64, self.value(i)?);
                        Ok(self.step_by(base, op, by))
                    }
                    Binary::Assign => {
                        self.pointer_assignment(c)?;
                        self.named_pointer(l)
                    }
                    Binary::Comma => {
                        self.effect(l)?;
                        self.sequence_point()?;
                        self.pointer(r)
                    }
                    _ => Err(unsupported()),
                }
            }
            CXCursor_CompoundAssignOperator => {
                self.pointer_compound(c)?;
                self.named_pointer(operands(c)[0])
            }
            CXCursor_ConditionalOperator => {
                let [cond, l, r] = operands(c)[..] else {
                    return Err(unsupported());
                };
                let cond = self.truth(cond)?;
                self.sequence_point()?;
                let [(then, a), (otherwise, b)] = self.branches([l, r], |s, e| s.pointer(e))?;
                let rows = a.dims.iter().any(|d| self.is_pitch(d));
                let mut target = Some(a.target.clone());
                let mut cond = cond;
                if a.target != b.target {
                    cond = self.hold("picks", cond)?;
                    target = self.picked(&cond, &a.target, &b.target).filter(|_| !rows);
                }
                let Some(target) = target.filter(|_| a.dims == b.dims && a.view == b.view) else {
                    let message =
                        "'?:' chooses between pointers into two arrays of different shapes";
                    return Err(problem(codes::POINTER_BASE, message, c));
                };
                self.note_picks(&cond, then, otherwise, c)?;
                let offset = match a.offset == b.offset {
                    true => a.offset,
                    false => select(cond, a.offset, b.offset),
                };
                Ok(Pointer {
                    target,
                    offset,
                    ..a
                })
            }
            CXCursor_CallExpr
                if let Some(p) = self.passed_on(c, |s, given| {
                    let p = s.pointer(given)?;
                    s.settled_pointer(p)
                })? =>
            {
                Ok(p)
            }
            CXCursor_CXXNewExpr => self.new_array(c),
            CXCursor_CallExpr if self.source.cpp => self.call_pointer(c),
            CXCursor_CallExpr
                if matches!(
                    c.spelling().as_str(),
                    "__builtin_assume_aligned" | "assume_aligned"
                ) && c.arguments().len() >= 2 =>
            {
                self.pointer(c.arguments()[0])
            }
            CXCursor_CallExpr => {
                if let Some(p) = self.returned_pointer(c)? {
                    return Ok(p);
                }
                // The call itself may be what is wrong.
                self.call(c)?;
                let message = format!("the pointer that '{}' returns is used", c.spelling());
                Err(problem(codes::POINTER_USE, message, c))
            }
            CXCursor_MemberRefExpr => match self.found_member(c)? {
                Some(found) => Ok(found),
                None => self.member_pointer(c),
            },
            CXCursor_ArraySubscriptExpr => self.row(c),
            _ => Err(unsupported()),
        }
    }

    /// A row of a table of row pointers.
    fn row(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        match self.place(c)? {
            Place::Array(p) => Ok(p.decayed()),
            _ => Err(problem(
                codes::POINTER_USE,
                "an array of pointers is used",
                c,
            )),
        }
    }

    /// Rows may lie anywhere, and how far apart two entries of their table are is not known from that.
    fn check_distance(&self, p: &Pointer, at: Cursor<'u>) -> Result<()> {
        if p.dims.iter().any(|d| self.is_pitch(d)) {
            let message = "two places of a table of row pointers are compared";
            return Err(problem(codes::POINTER_USE, message, at));
        }
        Ok(())
    }

    /// The value of `++p` or `p++`.
    pub fn pointer_moved(
        &mut self,
        variable: Cursor<'u>,
        by: i128,
        prefix: bool,
    ) -> Result<Pointer> {
        let v = self.pointer_named(variable)?;
        let old = self.pointer_of(&v)?;
        let new = old.clone().moved(Expr::int(ScalarType::I64, by));
        self.check_step(variable, &old, v.at)?;
        if prefix {
            self.set_pointer(&v, new, false)?;
            return self.pointer_of(&v);
        }
        if self.postpone {
            self.set_pointer(&v, new, true)?;
            return Ok(old);
        }
        let held = self.hold("t", old.offset.clone())?;
        self.set_pointer(&v, new, false)?;
        Ok(Pointer {
            offset: held,
            ..old
        })
    }

    pub fn step_by(&self, base: Pointer, op: BinOp, by: Expr) -> Pointer {
        if op == BinOp::Add {
            return base.moved(by);
        }
        let step = offset_op(BinOp::Multiply, by, base.stride());
        let offset = offset_op(BinOp::Subtract, base.offset.clone(), step);
        Pointer { offset, ..base }
    }

    /// Casts, and the implicit conversions that libclang shows.
    fn pointer_cast(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let (sizes, inner) = cast_parts(c)?;
        self.settle_member(c)?;
        if let Ty::Pointer(to) = types::of(c)
            && *to != Ty::Void
            && super::scratch::allocating_call(inner).is_some()
        {
            return self.allocated(inner, &to);
        }
        if let Ty::Pointer(to) = types::of(c)
            && let Some(elem) = to.as_scalar()
            && is_null(inner)
        {
            return Ok(self.null_pointer(elem));
        }
        if let Ty::Pointer(to) = types::of(c)
            && let Some(p) = self.pointer_in_bytes(inner, &to, c)?
        {
            return Ok(p);
        }
        match types::of(inner) {
            Ty::Pointer(_) | Ty::Array(..) => {}
            Ty::Function => {
                return Err(problem(
                    codes::FUNCTION_POINTER,
                    "a function is used as a value",
                    c,
                ));
            }
            _ => {
                let message = "a number (or NULL) is used as a pointer";
                return Err(problem(codes::POINTER_USE, message, c));
            }
        }
        let p = self.pointer(inner)?;
        let Ty::Pointer(to) = types::of(c) else {
            return Ok(p);
        };
        if self.is_of_mixed(&p.target.array) {
            // Its steps are structs, and nothing but members can be read there.
            let structs = self.type_of_structs(&p.target.array);
            return match (*to, types::of(inner)) {
                (Ty::Mixed(a, _), Ty::Pointer(from) | Ty::Array(from, _)) if matches!(&*from, Ty::Mixed(b, _) if a == *b) => {
                    Ok(p)
                }
                // A `void *` that all of its uses take to point to these structs.
                (Ty::Mixed(a, _), Ty::Pointer(from))
                    if *from == Ty::Void && structs == Some(&a) =>
                {
                    Ok(p)
                }
                (Ty::Void, Ty::Pointer(from)) if *from == Ty::Void => Ok(p),
                _ => Err(problem(
                    codes::POINTER_CAST,
                    "a pointer to structs with members of several types is cast to another type",
                    c,
                )),
            };
        }
        let table = p.dims.iter().any(|d| self.is_pitch(d));
        match to.flatten() {
            (Ty::Void, _) if table => Ok(p),
            // Its steps are not those of what it came from.
            (Ty::Void, _) => Ok(Pointer { dims: vec![], ..p }),
            (Ty::Scalar(lane), lens) if matches!(*to, Ty::Vector(..)) => {
                // As many elements as fill a register.
                let bits = lens[0].unwrap_or(0) * u64::from(lane.bits());
                let n = bits / u64::from(p.target.elem.bits());
                Ok(Pointer {
                    dims: vec![Expr::int(ScalarType::I64, n.into())],
                    view: p.target.elem,
                    ..p
                })
            }
            (Ty::Scalar(_), _) if table => Err(problem(
                codes::POINTER_CAST,
                "a table of row pointers is cast to a pointer to numbers",
                c,
            )),
            (Ty::Scalar(view), lens) => {
                let varies = lens.contains(&None);
                let is_implicit = c.kind() == CXCursor_UnexposedExpr;
                // A pointer to bytes that all its uses take to point to something else: what is around this does so.
                if is_implicit && p.view.bits() > view.bits() && types::of(inner) == types::of(c) {
                    return Ok(p);
                }
                let from = match types::of(inner) {
                    Ty::Pointer(from) => from.flatten().1.len(),
                    from => from.flatten().1.len().saturating_sub(1),
                };
                let dims = if varies && is_implicit && from == lens.len() && from == p.dims.len() {
                    // C asks that they are those of where the pointer comes from.
                    p.dims.clone()
                } else if varies && is_implicit {
                    let message = "a cast to a pointer to arrays of variable length";
                    return Err(problem(codes::POINTER_CAST, message, c));
                } else {
                    self.lengths(c, &lens, sizes)?
                };
                self.seen_through(p, *view, dims, c)
            }
            (Ty::Other(code, what), _) => Err(problem(code, format!("{what} is not supported"), c)),
            // A table of rows stays one, and one of tables.
            (Ty::Pointer(row), _) if table && row.as_scalar() == Some(p.view) => Ok(p),
            (Ty::Pointer(rows), _)
                if table
                    && matches!(&**rows, Ty::Pointer(row) if row.as_scalar() == Some(p.view)) =>
            {
                Ok(p)
            }
            // An iterator that only reads, of one that leads to the same.
            _ if types::of(inner) == types::of(c) => Ok(p),
            _ => Err(problem(
                codes::POINTER_CAST,
                "this pointer cast is not supported",
                c,
            )),
        }
    }

    /// A pointer to arrays of these lengths, whose elements are seen as of another type if that has as many bits; or a pointer to
    /// numbers in an array of bytes.
    fn seen_through(
        &self,
        p: Pointer,
        view: ScalarType,
        dims: Vec<Expr>,
        at: Cursor<'u>,
    ) -> Result<Pointer> {
        let elem = p.target.elem;
        let booleans = [view, elem].contains(&ScalarType::I1);
        let in_rows = !dims.is_empty() || !p.dims.is_empty();
        // Of a wider number one has to know which byte is the first.
        let order = view.bits() == elem.bits() || self.source.little_endian;
        let fits = may_be_seen_as(elem, view, in_rows) && order;
        if view != elem && (!fits || booleans) {
            let message = format!("{elem} elements are read through a pointer to {view}");
            return Err(problem(codes::POINTER_CAST, message, at));
        }
        Ok(Pointer { dims, view, ..p })
    }

    /// The first value of a pointer to arrays whose lengths vary. What is void says nothing of them, the declaration does.
    pub fn first_pointer(&mut self, d: Cursor<'u>, init: Cursor<'u>) -> Result<Pointer> {
        let Ty::Pointer(to) = types::of(d) else {
            return self.pointer(init);
        };
        let (Ty::Scalar(view), lens) = to.flatten() else {
            return self.pointer(init);
        };
        let from = peeled(init);
        if !types::of(from).is_void_pointer()
            || !lens.contains(&None)
            || super::scratch::allocating_call(from).is_some()
        {
            return self.pointer(init);
        }
        let dims = self.dimensions(d, &lens)?;
        let p = self.pointer(from)?;
        if p.dims.iter().any(|d| self.is_pitch(d)) {
            let message = "a table of row pointers is cast to a pointer to numbers";
            return Err(problem(codes::POINTER_CAST, message, init));
        }
        self.seen_through(p, *view, dims, init)
    }

    /// Steps of a `void *` are bytes; all others are elements.
    pub fn check_step(&self, at: Cursor<'u>, p: &Pointer, c: Cursor<'u>) -> Result<()> {
        let in_bytes = p.target.elem.bytes() == 1 && p.dims.is_empty();
        let counts_bytes = match types::of(c) {
            Ty::Pointer(t) => t.as_scalar().is_some_and(is_byte),
            _ => false,
        };
        // Bytes that all uses take for something else are that.
        if counts_bytes && !in_bytes && p.dims.is_empty() && p.target.elem.bytes() > 1 {
            let message = "a pointer is moved by bytes that are no elements of what it points to";
            return Err(problem(codes::POINTER_CAST, message, at));
        }
        match types::of(c) {
            t if t.is_void_pointer() && !in_bytes => Err(problem(
                codes::POINTER_USE,
                "a pointer to void is moved",
                at,
            )),
            _ => Ok(()),
        }
    }

    /// Comparison of two pointers into one array.
    pub fn pointer_compare(
        &mut self,
        c: Cursor<'u>,
        op: CmpOp,
        l: Cursor<'u>,
        r: Cursor<'u>,
    ) -> Result<Expr> {
        let other = match (is_null(l), is_null(r)) {
            (true, false) => Some(r),
            (false, true) => Some(l),
            _ => None,
        };
        if let Some(p) = other {
            let given = self.given(p)?;
            return match op {
                CmpOp::Ne => Ok(given),
                CmpOp::Eq => Ok(super::expr::negation(given)),
                _ => Err(problem(
                    codes::POINTER_USE,
                    "a pointer is ordered against NULL",
                    c,
                )),
            };
        }
        let (a, b) = (self.pointer(l)?, self.pointer(r)?);
        self.check_distance(&a, c)?;
        if a.target.array != b.target.array {
            return self.are_two_arrays(c, op, &a, &b);
        }
        self.flat.compares_rows |= !self.are_in_one_row(&a, &b);
        Ok(Expr::compare(op, a.offset, b.offset))
    }

    /// `p - q`, in elements.
    pub fn pointer_difference(
        &mut self,
        c: Cursor<'u>,
        op: Arith,
        l: Cursor<'u>,
        r: Cursor<'u>,
        ty: ScalarType,
    ) -> Result<Expr> {
        if op != Arith::Plain(BinOp::Subtract) {
            return Err(problem(
                codes::POINTER_USE,
                "this operator on pointers is not supported",
                c,
            ));
        }
        let (a, b) = (self.pointer(l)?, self.pointer(r)?);
        if a.target.array != b.target.array {
            let message = "pointers into two arrays are subtracted";
            return Err(problem(codes::POINTER_BASE, message, c));
        }
        self.check_step(c, &a, l)?;
        self.check_distance(&a, c)?;
        self.check_one_row(&a, &b, c)?;
        if a.dims != b.dims {
            return Err(problem(
                codes::POINTER_USE,
                "pointers to different types are subtracted",
                c,
            ));
        }
        let stride = a.stride();
        let bytes = offset_op(BinOp::Subtract, a.offset, b.offset);
        let count = match &stride {
            Expr::Const(v) if v.as_int() == 1 => bytes,
            _ => Expr::binary(BinOp::Divide, bytes, stride),
        };
        Ok(convert(ty, count))
    }

    /// The lengths of the arrays that a parameter or a variable points to, outermost first. Those that are not
    /// constant are evaluated here, as C does on entry.
    pub fn dimensions(&mut self, p: Cursor<'u>, lens: &[Option<u64>]) -> Result<Vec<Expr>> {
        let mut sizes = operands(p);
        if p.kind() == CXCursor_VarDecl && p.initializer().is_some() {
            sizes.pop();
        }
        self.lengths(p, lens, sizes)
    }

    /// The lengths of the arrays that the type points to that is written here, from the expressions that are.
    fn lengths(
        &mut self,
        at: Cursor<'u>,
        lens: &[Option<u64>],
        sizes: Vec<Cursor<'u>>,
    ) -> Result<Vec<Expr>> {
        if lens.iter().all(Option::is_some) {
            return Ok(lens
                .iter()
                .flatten()
                .map(|&l| Expr::int(ScalarType::I64, l.into()))
                .collect());
        }
        // Nobody has written down of how many numbers a struct is.
        let inside = types::read(at.ty()).lengths_inside();
        let (lens, inside) = lens.split_at(lens.len().saturating_sub(inside));
        // libclang lists the sizes as written, the innermost first, after the names of types. What a parameter is declared
        // as an array of has one more, which means nothing.
        let children = at.children();
        let named = children
            .iter()
            .any(|c| c.kind() == CXCursor_TypeRef && matches!(types::of(*c), Ty::Array(..)));
        let more = usize::from(at.kind() == CXCursor_ParmDecl);
        if named || sizes.len() < lens.len() || sizes.len() > lens.len() + more {
            let what = match at.kind() {
                CXCursor_CStyleCastExpr => "this type".into(),
                _ => format!("'{}'", at.spelling()),
            };
            let message = format!("the shape of {what} is not understood");
            return Err(problem(codes::TYPE, message, at));
        }
        let mut dims = Vec::new();
        for (len, size) in lens.iter().rev().zip(sizes) {
            let dim = match len {
                Some(l) => Expr::int(ScalarType::I64, (*l).into()),
                None => {
                    let e = convert(ScalarType::I64, self.value(size)?);
                    let fixed = peeled(size).referenced().is_some_and(|d| {
                        !self.assigned.contains(&d) && !self.in_memory.contains(&d)
                    });
                    if fixed {
                        e
                    } else {
                        self.hold(&format!("{}.dim", at.spelling()), e)?
                    }
                }
            };
            dims.push(dim);
        }
        dims.reverse();
        let numbers = inside.iter().flatten();
        dims.extend(numbers.map(|&n| Expr::int(ScalarType::I64, n.into())));
        Ok(dims)
    }
}

/// What a cast converts, and the lengths that are written in its type before it.
fn cast_parts<'u>(c: Cursor<'u>) -> Result<(Vec<Cursor<'u>>, Cursor<'u>)> {
    let mut sizes = operands(c);
    match sizes.pop() {
        Some(inner) if sizes.is_empty() || c.kind() == CXCursor_CStyleCastExpr => {
            Ok((sizes, inner))
        }
        _ => operand(c).map(|inner| (vec![], inner)),
    }
}

/// `NULL`, `0`, `nullptr`
pub(super) fn is_null(c: Cursor<'_>) -> bool {
    let mut c = c;
    loop {
        match c.kind() {
            CXCursor_ParenExpr | CXCursor_UnexposedExpr | CXCursor_CStyleCastExpr => {
                match operands(c)[..] {
                    [inner] => c = inner,
                    _ => return false,
                }
            }
            kind => {
                let null = [
                    CXCursor_IntegerLiteral,
                    CXCursor_CXXNullPtrLiteralExpr,
                    CXCursor_GNUNullExpr,
                ];
                return null.contains(&kind);
            }
        }
    }
}

/// An expression without the casts around it.
pub(super) fn unwrapped(e: Cursor<'_>) -> Cursor<'_> {
    let e = peeled(e);
    match (e.kind(), &operands(e)[..]) {
        (CXCursor_CStyleCastExpr | CXCursor_CXXStaticCastExpr, &[.., inner]) => unwrapped(inner),
        _ => e,
    }
}
