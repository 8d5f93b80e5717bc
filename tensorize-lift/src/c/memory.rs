//! `memcpy` and `memset` as loops.

use super::codes;
use super::ffi::Cursor;
use super::lower::{Lower, Result, Target, convert, offset_op, problem};
use super::place::{Place, Pointer};
use super::pointer::{is_byte, joined};
use tensorize_ir::loopir::{Expr, Loop, LoopMode, Stmt};
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Which function of <string.h> a name is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Block {
    Copy,
    /// The parts may overlap.
    Move,
    Set,
}

/// In which order elements are copied.
#[derive(Clone, Copy)]
enum Order {
    Ascending,
    Descending,
}

pub(super) fn block_function(name: &str) -> Option<Block> {
    match name.strip_prefix("__builtin_").unwrap_or(name) {
        "memcpy" => Some(Block::Copy),
        "memmove" => Some(Block::Move),
        "memset" => Some(Block::Set),
        _ => None,
    }
}

/// Whether this is a call that copies memory, of a function that is not the program's own.
pub(super) fn copies(c: Cursor<'_>) -> bool {
    let f = c.referenced().filter(|f| f.definition().is_none());
    let what = f.and_then(|f| block_function(&f.spelling()));
    matches!(what, Some(Block::Copy | Block::Move))
}

impl<'u> Lower<'u, '_> {
    /// A call for its effect.
    pub fn block_call(&mut self, c: Cursor<'u>, what: Block) -> Result<()> {
        let [to, from, bytes] = c.arguments()[..] else {
            return Err(problem(
                codes::SYNTAX,
                "a call with the wrong number of arguments",
                c,
            ));
        };
        if what == Block::Set && self.zeroed(to, from, bytes)? {
            return Ok(());
        }
        let dst = self.pointer(to)?;
        match what {
            Block::Copy | Block::Move => {
                let src = self.pointer(from)?;
                // Between two arrays a copy may go in any order: they are apart, or the original runs.
                let into = self.places_behind(&dst.target.array);
                let from = self.places_behind(&src.target.array);
                let (d, s) = (dst.target.elem, src.target.elem);
                let within = src.target.array == dst.target.array && d == s;
                if what == Block::Move && !within && from.iter().any(|a| into.contains(a)) {
                    let message =
                        "memmove between pointers that may or may not point into the same array";
                    return Err(problem(codes::EXPRESSION, message, c));
                }
                if d.bits() > s.bits() && is_byte(s) && self.source.little_endian {
                    let count = self.elements(bytes, d)?;
                    return self.each(c, dst, count, |k| {
                        let size = Expr::int(ScalarType::I64, d.bytes() as i128);
                        let k = offset_op(BinOp::Multiply, k, size);
                        let index = offset_op(BinOp::Add, src.offset.clone(), k);
                        joined(&src.target, &index, d)
                    });
                }
                if d.bits() < s.bits() && is_byte(d) && self.source.little_endian {
                    return self.copied_to_bytes(&dst, &src, bytes);
                }
                if d.bits() != s.bits() {
                    let message = format!("memcpy from {s} elements to {d} elements");
                    return Err(problem(codes::POINTER_CAST, message, c));
                }
                let mut count = self.elements(bytes, d)?;
                let mut order = Order::Ascending;
                if within {
                    let ahead = difference(&dst.offset, &src.offset);
                    match what {
                        Block::Move => order = self.order_of_move(&ahead)?,
                        _ => count = self.not_onto_itself(ahead, count, true, c)?,
                    }
                }
                self.each_in(order, c, dst, count, |k| {
                    let index = offset_op(BinOp::Add, src.offset.clone(), k);
                    let v = Expr::load(src.target.array.clone(), s, index);
                    match (d == s, d.is_int() && s.is_int()) {
                        (true, _) => v,
                        (_, true) => convert(d, v),
                        _ => Expr::Bitcast(d, Box::new(v)),
                    }
                })
            }
            Block::Set => {
                let elem = dst.target.elem;
                let fill = self.value(from)?;
                let value = match &fill {
                    Expr::Const(v) => repeated(v.as_int() as u8, elem),
                    v if elem.bits() == 8 => Some(convert(elem, v.clone())),
                    _ => None,
                };
                let Some(value) = value else {
                    let message = format!("memset of {elem} elements to this value");
                    return Err(problem(codes::EXPRESSION, message, c));
                };
                let count = self.elements(bytes, elem)?;
                self.each(c, dst, count, |_| value.clone())
            }
        }
    }

    /// A copy of a few numbers to where there are bytes.
    fn copied_to_bytes(&mut self, dst: &Pointer, src: &Pointer, bytes: Cursor<'u>) -> Result<()> {
        let elem = src.target.elem;
        let count = match self.elements(bytes, elem)? {
            Expr::Const(n) if (0..=4).contains(&n.as_int()) => n.as_int(),
            _ => {
                let message = "a copy of many numbers to where there are bytes";
                return Err(problem(codes::POINTER_CAST, message, bytes));
            }
        };
        for k in 0..count {
            let from = offset_op(
                BinOp::Add,
                src.offset.clone(),
                Expr::int(ScalarType::I64, k),
            );
            let value = Expr::load(src.target.array.clone(), elem, from);
            let at = Expr::int(ScalarType::I64, k * elem.bytes() as i128);
            let to = offset_op(BinOp::Add, dst.offset.clone(), at);
            let to = Place::Element(dst.target.clone(), to, elem);
            self.write(to, value, bytes)?;
        }
        Ok(())
    }

    /// In which order elements can be moved this far ahead in one array. Where that is not known it is a guess, and the other
    /// way is the original's.
    fn order_of_move(&mut self, ahead: &Expr) -> Result<Order> {
        let zero = Expr::int(ScalarType::I64, 0);
        let (order, other) = match ahead {
            Expr::Const(v) if v.as_int() > 0 => return Ok(Order::Descending),
            Expr::Const(_) => return Ok(Order::Ascending),
            // From further on to the beginning, or from anywhere to anywhere.
            Expr::Binary(BinOp::Subtract, ..) => (
                Order::Ascending,
                Expr::compare(CmpOp::Lt, zero, ahead.clone()),
            ),
            _ => (
                Order::Descending,
                Expr::compare(CmpOp::Lt, ahead.clone(), zero),
            ),
        };
        self.emit(Stmt::If {
            cond: other,
            then: vec![Stmt::Trap],
            otherwise: vec![],
        })?;
        Ok(order)
    }

    /// Leaves a copy of so many elements to the original where it goes `ahead` in the same array: element by element it may
    /// read what it has written, as no library does. Where copies are as likely to go `beyond`
    /// all that they read (`memcpy`) as to the front (`std::copy`), these are told from the others. Gives the number of elements.
    pub(super) fn not_onto_itself(
        &mut self,
        ahead: Expr,
        count: Expr,
        beyond: bool,
        at: Cursor<'u>,
    ) -> Result<Expr> {
        let number = |e: &Expr| match e {
            Expr::Const(v) => Some(v.as_int()),
            _ => None,
        };
        let only_if = |cond: Expr, then: Vec<Stmt>| Stmt::If {
            cond,
            then,
            otherwise: vec![],
        };
        let (count, check) = match (number(&ahead), number(&count)) {
            (Some(by), _) if by <= 0 => return Ok(count),
            (Some(by), Some(n)) if by >= n => return Ok(count),
            _ if ahead == count => return Ok(count),
            (Some(by), n) if by == 1 || n.is_some() => {
                let message =
                    "a copy onto elements that it has still to read, which is not defined";
                let mut p = problem(codes::EXPRESSION, message, at);
                p.help = Some("copy in a loop that says in which order".into());
                return Err(p);
            }
            (Some(_), _) => {
                let count = self.hold("count", count)?;
                let onto_itself = Expr::compare(CmpOp::Lt, ahead, count.clone());
                (count, only_if(onto_itself, vec![Stmt::Trap]))
            }
            // Of a number that is not known, it is not worth a case of its own whether it goes beyond.
            (None, known) => {
                let zero = Expr::int(ScalarType::I64, 0);
                let goes_ahead = Expr::compare(CmpOp::Lt, zero, ahead.clone());
                let onto_itself = Expr::compare(CmpOp::Lt, ahead, count.clone());
                let then = match known.filter(|_| beyond) {
                    None => Stmt::Trap,
                    Some(_) => only_if(onto_itself, vec![Stmt::Trap]),
                };
                (count, only_if(goes_ahead, vec![then]))
            }
        };
        self.emit(check)?;
        Ok(count)
    }

    /// How many elements these bytes are, as an `i64`.
    fn elements(&mut self, bytes: Cursor<'u>, elem: ScalarType) -> Result<Expr> {
        let size = elem.bytes() as i128;
        let count = match self.value(bytes)? {
            Expr::Const(v) if v.as_int() % size == 0 => {
                Expr::int(ScalarType::I64, v.as_int() / size)
            }
            Expr::Const(_) => {
                let message = "a number of bytes that is no number of elements";
                return Err(problem(codes::EXPRESSION, message, bytes));
            }
            e if size == 1 => convert(ScalarType::I64, e),
            e => match scaled(&e) {
                Some((Some(n), by)) if by % size == 0 => {
                    offset_op(BinOp::Multiply, n, Expr::int(ScalarType::I64, by / size))
                }
                // Exact even if the product wraps: the modulus is a multiple of the size.
                Some((None, by)) if by % size == 0 => {
                    let size = Expr::int(e.ty(), size);
                    convert(ScalarType::I64, Expr::binary(BinOp::Divide, e, size))
                }
                // `size_t bytes = n * sizeof(float);` and the like. A part of an element is the original's.
                _ => {
                    let bytes = self.hold("bytes", convert(ScalarType::U64, e))?;
                    let size = Expr::int(ScalarType::U64, size);
                    let rest = Expr::binary(BinOp::Remainder, bytes.clone(), size.clone());
                    let zero = Expr::int(ScalarType::U64, 0);
                    self.emit(Stmt::If {
                        cond: Expr::compare(CmpOp::Ne, rest, zero),
                        then: vec![Stmt::Trap],
                        otherwise: vec![],
                    })?;
                    convert(ScalarType::I64, Expr::binary(BinOp::Divide, bytes, size))
                }
            },
        };
        Ok(count)
    }

    /// `for k in 0..count: to[k] = value(k)`
    pub(super) fn each(
        &mut self,
        c: Cursor<'u>,
        to: Pointer,
        count: Expr,
        value: impl Fn(Expr) -> Expr,
    ) -> Result<()> {
        self.each_in(Order::Ascending, c, to, count, value)
    }

    /// The same, or from the last element to the first one.
    fn each_in(
        &mut self,
        order: Order,
        c: Cursor<'u>,
        to: Pointer,
        count: Expr,
        value: impl Fn(Expr) -> Expr,
    ) -> Result<()> {
        let Target { array, .. } = to.target;
        self.written.insert(array.clone());
        if let Expr::Const(n) = &count
            && (0..=4).contains(&n.as_int())
        {
            for k in 0..n.as_int() {
                let k = match order {
                    Order::Ascending => k,
                    Order::Descending => n.as_int() - 1 - k,
                };
                let k = Expr::int(ScalarType::I64, k);
                let index = offset_op(BinOp::Add, to.offset.clone(), k.clone());
                self.emit(Stmt::Store {
                    array: array.clone(),
                    index,
                    value: value(k),
                })?;
            }
            return Ok(());
        }
        let count = self.hold("count", count)?;
        let var = self.fresh("k");
        self.assign_var(var.clone(), Expr::int(ScalarType::I64, 0))?;
        let k = Expr::Var(var.clone(), ScalarType::I64);
        let next = offset_op(BinOp::Add, k.clone(), Expr::int(ScalarType::I64, 1));
        let at = match order {
            Order::Ascending => k.clone(),
            Order::Descending => {
                let last = offset_op(
                    BinOp::Subtract,
                    count.clone(),
                    Expr::int(ScalarType::I64, 1),
                );
                offset_op(BinOp::Subtract, last, k.clone())
            }
        };
        let index = offset_op(BinOp::Add, to.offset, at.clone());
        let body = vec![
            Stmt::Store {
                array,
                index,
                value: value(at),
            },
            Stmt::Assign {
                var,
                ty: ScalarType::I64,
                value: next,
            },
        ];
        let id = self.loops;
        self.loops += 1;
        self.emit(Stmt::Loop(Loop {
            id,
            cond: Expr::compare(CmpOp::Lt, k, count),
            test_first: true,
            body,
            mode: LoopMode::Sequential,
            line: c.extent().map_or(0, |e| e.0.line),
        }))
    }
}

/// `a - b` without what is added in both.
fn difference(a: &Expr, b: &Expr) -> Expr {
    fn addends<'a>(e: &'a Expr, out: &mut Vec<&'a Expr>) {
        match e {
            Expr::Binary(BinOp::Add, a, b) => {
                addends(a, out);
                addends(b, out);
            }
            e => out.push(e),
        }
    }
    let (mut left, mut right) = (Vec::new(), Vec::new());
    addends(a, &mut left);
    addends(b, &mut right);
    right.retain(|e| match left.iter().position(|other| other == e) {
        Some(at) => {
            left.remove(at);
            false
        }
        None => true,
    });
    let sum = |all: Vec<&Expr>| {
        let zero = Expr::int(ScalarType::I64, 0);
        all.into_iter()
            .fold(zero, |sum, e| offset_op(BinOp::Add, sum, e.clone()))
    };
    let (left, right) = (sum(left), sum(right));
    match right {
        Expr::Const(v) if v.as_int() == 0 => left,
        right => offset_op(BinOp::Subtract, left, right),
    }
}

/// `n * constant`: `n` as an `i64`, where the product cannot have wrapped (`n` had 32 bits at most, or
/// is negative and the size beyond all objects), and the constant. Without an `n`, the constant is a factor.
pub(super) fn scaled(e: &Expr) -> Option<(Option<Expr>, i128)> {
    let Expr::Binary(BinOp::Multiply, a, b) = e else {
        return None;
    };
    if e.ty().is_signed() {
        return None;
    }
    let (n, by) = match (&**a, &**b) {
        (n, Expr::Const(by)) | (Expr::Const(by), n) => (n, by.as_int()),
        // `sizeof(float) * n * m`: some factor is a number.
        _ => return scaled(a).or_else(|| scaled(b)).map(|(_, by)| (None, by)),
    };
    if !(1..=1 << 16).contains(&by) {
        return None;
    }
    Some(match n {
        Expr::Convert(ScalarType::U64, inner) if inner.ty().is_int() && inner.ty().bits() <= 32 => {
            (Some(convert(ScalarType::I64, (**inner).clone())), by)
        }
        Expr::Binary(BinOp::Multiply, ..) => match scaled(n) {
            Some((inner, more)) => (inner, more.checked_mul(by)?),
            None => (None, by),
        },
        _ => (None, by),
    })
}

/// The element all of whose bytes are this one.
fn repeated(byte: u8, elem: ScalarType) -> Option<Expr> {
    if byte == 0 {
        return Some(Expr::Const(Scalar::zero(elem)));
    }
    if elem.is_float() || elem == ScalarType::I1 {
        return None;
    }
    let all = u64::from_ne_bytes([byte; 8]);
    Some(Expr::int(elem, i128::from(all)))
}
