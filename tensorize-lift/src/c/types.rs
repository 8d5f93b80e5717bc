//! C types, as the compilation's target lays them out, and C's arithmetic conversions.

use super::codes;
use super::cpp::class::Class;
use super::ffi::{Cursor, MOST_MEMBERS, Type};
use super::lower::peeled;
use super::operator::{self, Unary};
use clang_sys::*;
use tensorize_ir::scalar::ScalarType;

/// A C type, typedefs and qualifiers gone.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Void,
    Scalar(ScalarType),
    Pointer(Box<Ty>),
    /// The length is `None` if it is not a constant.
    Array(Box<Ty>, Option<u64>),
    /// A vector register, or what the compiler keeps in one.
    Vector(Box<Ty>, u64),
    /// A struct of nothing but so many numbers of one type, without gaps: in memory, an array of them.
    Record(Box<Ty>, u64),
    /// A struct with members of several types, by its name and its size in bytes. There is no flat array of them: where they
    /// are parameters, there is one for each type (`flatten/mixed.rs`).
    Mixed(String, u64),
    Function,
    /// A C++ reference.
    Reference(Box<Ty>),
    /// A class of the standard library, or a lambda.
    Class(Class),
    /// No counterpart: the code and the words of the refusal.
    Other(&'static str, String),
}

/// Reads a clang type.
pub(super) fn read(t: Type<'_>) -> Ty {
    let c = t.canonical();
    if c.is_volatile() {
        return Ty::Other(
            codes::VOLATILE,
            format!("volatile data ('{}')", t.spelling()),
        );
    }
    match c.kind() {
        CXType_Void => Ty::Void,
        CXType_Pointer => Ty::Pointer(Box::new(read(c.pointee()))),
        CXType_ConstantArray => Ty::Array(Box::new(read(c.array_element())), c.array_size()),
        CXType_IncompleteArray | CXType_VariableArray => {
            Ty::Array(Box::new(read(c.array_element())), None)
        }
        CXType_Enum => read(c.enum_integer()),
        CXType_LValueReference | CXType_RValueReference => {
            Ty::Reference(Box::new(read(c.pointee())))
        }
        CXType_Record if c.has_too_many_members() => {
            let what = format!(
                "a struct of more than {MOST_MEMBERS} members, those of structs in it counted ('{}'),",
                t.spelling()
            );
            Ty::Other(codes::RECORD, what)
        }
        CXType_Record => {
            if let Some(t) = super::simd::registers(c) {
                return t;
            }
            let numbers = super::flatten::uniform(c);
            let numbers = numbers.map(|(s, n)| Ty::Record(Box::new(Ty::Scalar(s)), n));
            let known = super::cpp::class::of(c).or(numbers);
            let known = known.or_else(|| super::flatten::mixed(c));
            known.unwrap_or_else(|| {
                let what = format!("a struct or union ('{}')", t.spelling());
                Ty::Other(codes::RECORD, what)
            })
        }
        CXType_Complex => match super::flatten::uniform(c) {
            Some((s, n)) => Ty::Record(Box::new(Ty::Scalar(s)), n),
            None => Ty::Other(codes::TYPE, super::complex::refused(c)),
        },
        CXType_Vector | CXType_ExtVector => match c.vector() {
            Some((elem, n)) => Ty::Vector(Box::new(read(elem)), n),
            None => Ty::Other(codes::VECTOR, format!("the type '{}'", t.spelling())),
        },
        CXType_FunctionProto | CXType_FunctionNoProto => Ty::Function,
        CXType_Atomic => Ty::Other(codes::VOLATILE, format!("atomic data ('{}')", t.spelling())),
        kind => match scalar(kind, &|| c.size()) {
            Some(s) => Ty::Scalar(s),
            None => Ty::Other(codes::TYPE, format!("the type '{}'", t.spelling())),
        },
    }
}

/// The type of an expression or a declaration. libclang shows a parameter that was declared as an array,
/// and what is computed from it, with the type it was written with; it is a pointer.
pub(super) fn of(c: Cursor<'_>) -> Ty {
    match read(c.ty()) {
        Ty::Array(inner, _) if is_decayed(c) => Ty::Pointer(inner),
        Ty::Other(..) if is_long_double(c) => Ty::Scalar(ScalarType::F64),
        t => t,
    }
}

/// Whether this is a number that is kept in a `long double`, for a time: a local variable or an expression. It is computed in
/// `double`, and no more than equality over the reals is claimed of what is made of it. In memory that others see, it is
/// another thing.
pub(super) fn is_long_double(c: Cursor<'_>) -> bool {
    let t = c.ty().canonical();
    let local = match c.kind() {
        CXCursor_VarDecl => !c.is_static() && c.storage() != CX_SC_Extern,
        kind => super::lower::is_expression(kind),
    };
    t.kind() == CXType_LongDouble && !t.is_volatile() && local
}

fn is_decayed(c: Cursor<'_>) -> bool {
    let inner = peeled(c);
    match inner.kind() {
        CXCursor_ParmDecl => true,
        CXCursor_DeclRefExpr => {
            let is_parameter = |d: Cursor<'_>| d.kind() == CXCursor_ParmDecl;
            // What such a parameter is compared with is converted to its type.
            inner.referenced().is_some_and(is_parameter)
                || inner.ty().canonical().kind() == CXType_Pointer
        }
        CXCursor_UnaryOperator => !matches!(operator::unary(inner), Ok(Unary::Deref) | Err(_)),
        // No rvalue is an array.
        CXCursor_BinaryOperator
        | CXCursor_CompoundAssignOperator
        | CXCursor_ConditionalOperator
        | CXCursor_CallExpr => true,
        _ => false,
    }
}

/// A number's type. (Of some types, such as those of the compiler's own functions, libclang must not be asked for a size.)
fn scalar(kind: CXTypeKind, size: &dyn Fn() -> Option<u64>) -> Option<ScalarType> {
    let signed = match kind {
        CXType_Bool => return Some(ScalarType::I1),
        CXType_Float if size() == Some(4) => return Some(ScalarType::F32),
        CXType_Double if size() == Some(8) => return Some(ScalarType::F64),
        CXType_Char_S | CXType_SChar | CXType_Short | CXType_Int | CXType_Long
        | CXType_LongLong => true,
        CXType_Char_U | CXType_UChar | CXType_UShort | CXType_UInt | CXType_ULong
        | CXType_ULongLong | CXType_Char16 | CXType_Char32 => false,
        CXType_WChar => return None,
        _ => return None,
    };
    integer(size()? * 8, signed)
}

/// The integer type of this width.
pub(super) fn integer(bits: u64, signed: bool) -> Option<ScalarType> {
    use ScalarType::*;
    Some(match (bits, signed) {
        (8, true) => I8,
        (16, true) => I16,
        (32, true) => I32,
        (64, true) => I64,
        (8, false) => U8,
        (16, false) => U16,
        (32, false) => U32,
        (64, false) => U64,
        _ => return None,
    })
}

impl Ty {
    /// Whether it is an array, or an object whose elements lie side by side.
    pub fn is_sequence(&self) -> bool {
        match self {
            Ty::Array(..) => true,
            Ty::Class(class) => class.is_sequence(),
            _ => false,
        }
    }

    /// The scalar type below all array layers, and their lengths, outermost first.
    pub fn flatten(&self) -> (&Ty, Vec<Option<u64>>) {
        let (mut t, mut dims) = (self, Vec::new());
        loop {
            match t {
                Ty::Array(inner, len) => {
                    dims.push(*len);
                    t = inner;
                }
                // In memory it is an array.
                Ty::Vector(inner, n) | Ty::Record(inner, n) => {
                    dims.push(Some(*n));
                    t = inner;
                }
                // One step is one struct.
                Ty::Mixed(..) => {
                    dims.push(Some(1));
                    break;
                }
                _ => break,
            }
        }
        (t, dims)
    }

    /// How many of the lengths that [`Ty::flatten`] gives are a struct's or a register's, and no array's.
    pub fn lengths_inside(&self) -> usize {
        match self {
            Ty::Pointer(t) | Ty::Array(t, _) | Ty::Reference(t) => t.lengths_inside(),
            t => usize::from(t.is_record() || matches!(t, Ty::Vector(..))),
        }
    }

    /// What a reference refers to, or the type itself.
    pub fn referred(self) -> Ty {
        match self {
            Ty::Reference(t) => *t,
            t => t,
        }
    }

    /// Whether it is a `void *`.
    pub fn is_void_pointer(&self) -> bool {
        matches!(self, Ty::Pointer(to) if **to == Ty::Void)
    }

    /// Whether it is a struct that may be an element of an array.
    pub fn is_record(&self) -> bool {
        matches!(self, Ty::Record(..) | Ty::Mixed(..))
    }

    pub fn as_scalar(&self) -> Option<ScalarType> {
        match self {
            Ty::Scalar(s) => Some(*s),
            _ => None,
        }
    }

    pub fn as_class(&self) -> Option<Class> {
        match self {
            Ty::Class(class) => Some(class.clone()),
            _ => None,
        }
    }
}

/// C's integer promotion, for targets whose `int` has 32 bits.
pub(super) fn promote(t: ScalarType) -> ScalarType {
    if t.is_int() && t.bits() < 32 {
        ScalarType::I32
    } else {
        t
    }
}

/// C's usual arithmetic conversions. Rank plays no part: types of one width differ in their sign
/// only, and there the unsigned one wins.
pub(super) fn usual(a: ScalarType, b: ScalarType) -> ScalarType {
    use ScalarType::*;
    if a == F64 || b == F64 {
        return F64;
    }
    if a == F32 || b == F32 {
        return F32;
    }
    let (a, b) = (promote(a), promote(b));
    match a.bits().cmp(&b.bits()) {
        std::cmp::Ordering::Greater => a,
        std::cmp::Ordering::Less => b,
        std::cmp::Ordering::Equal if a.is_signed() => b,
        std::cmp::Ordering::Equal => a,
    }
}

/// Whether the elements below all array layers are `const`, with all that is in them.
pub(super) fn const_elements(t: Type<'_>) -> bool {
    let (mut element, mut is_const) = (t, t.is_const());
    while matches!(
        element.kind(),
        CXType_ConstantArray | CXType_VariableArray | CXType_IncompleteArray
    ) {
        element = element.array_element();
        is_const |= element.is_const();
    }
    is_const && !super::flatten::has_mutable(element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType::*;

    #[test]
    fn conversions_of_c() {
        assert_eq!(usual(U8, U8), I32);
        assert_eq!(usual(I1, I8), I32);
        assert_eq!(usual(U32, I32), U32);
        assert_eq!(usual(U32, I64), I64);
        assert_eq!(usual(I64, U64), U64);
        assert_eq!(usual(I64, F32), F32);
    }
}
