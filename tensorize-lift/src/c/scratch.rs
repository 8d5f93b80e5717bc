//! Memory that a function gets for itself: arrays of variable length, and what it allocates and frees. Each
//! is an array of its own, as long as it is used.

use super::codes;
use super::cpp::seq::index_of;
use super::ffi::Cursor;
use super::lower::{
    Binding, Lower, Result, Target, convert, operands, peeled, problem, scalar_type, zero_offset,
};
use super::memory::scaled;
use super::place::Pointer;
use super::types::{self, Ty};
use clang_sys::*;
use tensorize_ir::loopir::{Expr, Len, LocalArray, Stmt};
use tensorize_ir::op::CmpOp;
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Which arguments of a function that allocates say how much.
enum Size {
    /// The argument of this number, in bytes.
    Bytes(usize),
    /// So many objects of so many bytes, all zero.
    Zeroed,
}

fn allocation(name: &str) -> Option<Size> {
    match name.strip_prefix("__builtin_").unwrap_or(name) {
        "malloc" | "alloca" | "_mm_malloc" => Some(Size::Bytes(0)),
        "aligned_alloc" | "memalign" => Some(Size::Bytes(1)),
        "calloc" => Some(Size::Zeroed),
        _ => None,
    }
}

/// The call that allocates, behind the casts around it.
pub(super) fn allocating_call(c: Cursor<'_>) -> Option<Cursor<'_>> {
    let c = peeled(c);
    let foreign = c.kind() == CXCursor_CallExpr
        && c.referenced()
            .is_some_and(|f| super::call::helper(f).is_none());
    (foreign && allocation(&c.spelling()).is_some()).then_some(c)
}

/// Whether the elements of `new float[n]` are zero at first, as those of `new float[n]()` are; `None` of other forms of `new`.
fn new_elements(c: Cursor<'_>) -> Option<bool> {
    let tokens = c.tokens();
    let mut words = tokens.iter().map(|t| t.1.as_str());
    let mut first = words.next()?;
    if first == "::" {
        first = words.next()?;
    }
    let mut of_type = words.by_ref().take_while(|word| *word != "[");
    let names =
        |word: &str| word == "::" || word.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if first != "new" || !of_type.all(names) {
        return None;
    }
    let mut depth = 1;
    for word in words.by_ref() {
        match word {
            "[" => depth += 1,
            "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    let rest: Vec<&str> = words.collect();
    match (depth, &rest[..]) {
        (0, []) => Some(false),
        (0, ["(", ")"] | ["{", "}"]) => Some(true),
        _ => None,
    }
}

/// Whether a function gives back what another one allocated.
pub(super) fn frees(name: &str) -> bool {
    matches!(
        name.strip_prefix("__builtin_").unwrap_or(name),
        "free" | "_mm_free"
    )
}

impl<'u> Lower<'u, '_> {
    /// A pointer that is known to be null, as where an argument is left out: to an array that nobody has written, of which the
    /// original has none.
    pub fn null_pointer(&mut self, elem: ScalarType) -> Pointer {
        let target = self.own_array("null", elem);
        self.allocations
            .insert(target.array.clone(), Expr::int(ScalarType::I1, 0));
        Pointer {
            target,
            offset: Expr::int(ScalarType::I64, 0),
            dims: vec![],
            view: elem,
        }
    }

    /// An array that only this function sees.
    fn own_array(&mut self, name: &str, elem: ScalarType) -> Target {
        let array = self.fresh(name);
        self.arrays.push(LocalArray {
            name: array.clone(),
            elem,
            len: Len::Touched,
            init: None,
        });
        Target { array, elem }
    }

    /// `float t[n];`
    pub fn variable_array(
        &mut self,
        d: Cursor<'u>,
        t: &Ty,
        init: Option<Cursor<'u>>,
    ) -> Result<()> {
        let (elem, lens) = t.flatten();
        if let Some(e) = init {
            let message = "an array of variable length with an initialiser";
            return Err(problem(codes::INITIALIZER, message, e));
        }
        let elem = scalar_type(elem, d)?;
        let dims = self.dimensions(d, &lens)?;
        let target = self.own_array(&d.spelling(), elem);
        self.bindings.insert(d, Binding::Array(target, dims));
        Ok(())
    }

    /// Memory for elements of the type that the pointer `to` points to.
    pub fn allocated(&mut self, c: Cursor<'u>, to: &Ty) -> Result<Pointer> {
        let call = allocating_call(c).expect("the caller has looked");
        let refused = |what: &str| problem(codes::ALLOCATION, what, call);
        let (elem, lens) = to.flatten();
        let (Some(elem), Some(dims)) = (
            elem.as_scalar(),
            lens.into_iter().collect::<Option<Vec<u64>>>(),
        ) else {
            return Err(refused(
                "memory is allocated for something else than numbers",
            ));
        };
        let arguments = call.arguments();
        let argument = |i: usize| {
            let a = arguments.get(i).copied();
            a.ok_or_else(|| {
                problem(
                    codes::SYNTAX,
                    "a call with the wrong number of arguments",
                    call,
                )
            })
        };
        let size = allocation(&call.spelling()).expect("the caller has looked");
        let target = self.own_array("scratch", elem);
        let pointer = Pointer {
            target: target.clone(),
            offset: zero_offset(),
            dims: dims
                .iter()
                .map(|&d| Expr::int(ScalarType::I64, d.into()))
                .collect(),
            view: elem,
        };
        let (count, bytes) = match size {
            Size::Bytes(i) => (None, self.value(argument(i)?)?),
            Size::Zeroed => {
                let (n, each) = (argument(0)?, argument(1)?);
                let (n, each) = (self.value(n)?, self.value(each)?);
                let per = match &each {
                    Expr::Const(v) if v.as_int() > 0 && v.as_int() % elem.bytes() as i128 == 0 => {
                        v.as_int() / elem.bytes() as i128
                    }
                    _ => {
                        return Err(refused(
                            "'calloc' of objects whose size is not that of an element",
                        ));
                    }
                };
                let n = match n {
                    // `(size_t)n`, of an `int` that is not negative where the memory is there.
                    Expr::Convert(ScalarType::U64, inner)
                        if inner.ty().is_int() && inner.ty().bits() <= 32 =>
                    {
                        *inner
                    }
                    n => n,
                };
                let n = self.hold("count", convert(ScalarType::I64, n))?;
                (Some((n.clone(), per)), n)
            }
        };
        let got = match &bytes {
            Expr::Const(v) => Expr::Const(Scalar::bool(v.as_int() >= 0)),
            // More than any object has: allocation fails.
            bytes => {
                let signed = match scaled(bytes) {
                    Some((Some(n), _)) => n,
                    _ => convert(ScalarType::I64, bytes.clone()),
                };
                let signed = self.hold("size", signed)?;
                Expr::compare(CmpOp::Ge, signed, Expr::int(ScalarType::I64, 0))
            }
        };
        self.allocations.insert(target.array, got);
        if let Some((n, per)) = count {
            let all = super::lower::offset_op(
                tensorize_ir::op::BinOp::Multiply,
                n,
                Expr::int(ScalarType::I64, per),
            );
            let zero = Expr::Const(Scalar::zero(elem));
            self.each(call, pointer.clone(), all, |_| zero.clone())?;
        }
        Ok(pointer)
    }

    /// `new float[n]`
    pub fn new_array(&mut self, c: Cursor<'u>) -> Result<Pointer> {
        let count = operands(c).into_iter().next();
        match (new_elements(c), count) {
            (Some(zeroed), Some(count)) => self.own_elements(c, count, zeroed),
            _ => {
                let message = "'new' of anything but an array of numbers is not supported";
                Err(problem(codes::ALLOCATION, message, c))
            }
        }
    }

    /// So many elements that C++ allocates, of the type that a pointer of the type of `c` points to.
    pub fn own_elements(
        &mut self,
        c: Cursor<'u>,
        count: Cursor<'u>,
        zeroed: bool,
    ) -> Result<Pointer> {
        let elem = match types::of(c) {
            Ty::Pointer(to) => to.as_scalar(),
            _ => None,
        };
        let elem = elem.ok_or_else(|| {
            let message = "memory is allocated for something else than numbers";
            problem(codes::ALLOCATION, message, c)
        })?;
        let count = index_of(self.value(count)?);
        let count = self.hold("count", count)?;
        // A number that is negative, or too large, is an exception.
        self.emit(Stmt::If {
            cond: Expr::compare(CmpOp::Lt, count.clone(), Expr::int(ScalarType::I64, 0)),
            then: vec![Stmt::Trap],
            otherwise: vec![],
        })?;
        let target = self.own_array("scratch", elem);
        let got = Expr::int(ScalarType::I1, 1);
        self.allocations.insert(target.array.clone(), got);
        let pointer = Pointer {
            target,
            offset: zero_offset(),
            dims: vec![],
            view: elem,
        };
        if zeroed {
            let zero = Expr::Const(Scalar::zero(elem));
            self.each(c, pointer.clone(), count, |_| zero.clone())?;
        }
        Ok(pointer)
    }

    /// `free(p)`: what it points to is not used again.
    pub fn freed(&mut self, c: Cursor<'u>) -> Result<()> {
        let [p] = c.arguments()[..] else {
            return Err(problem(
                codes::SYNTAX,
                "a call with the wrong number of arguments",
                c,
            ));
        };
        self.given_up(p, c)
    }

    /// The same of what `free` or `delete` gets.
    pub fn given_up(&mut self, p: Cursor<'u>, c: Cursor<'u>) -> Result<()> {
        let array = self.pointer(p)?.target.array;
        // Pointers may have changed places, so that it is one of several.
        let mut places = self.places_behind(&array).into_iter();
        if !places.all(|place| self.allocations.contains_key(&place)) {
            let what = match c.kind() {
                CXCursor_CXXDeleteExpr => "delete".into(),
                _ => c.spelling(),
            };
            let message = format!("'{what}' frees memory that the function did not allocate");
            return Err(problem(codes::ALLOCATION, message, c));
        }
        Ok(())
    }
}
