//! LoopIR: a kernel as a machine runs it.
//!
//! Typed scalars, arrays, loops, branches and assignments, with C's arithmetic
//! spelled out: every promotion and conversion is a node, every pointer is an
//! array and an offset in elements. Expressions have no side effects.
//!
//! [`Function`]'s `Display` is the text form, which its `FromStr` reads back.

use crate::index::Sym;
use crate::op::{BinOp, CmpOp, UnOp};
use crate::scalar::{Scalar, ScalarType};

pub mod interp;
mod lexer;
pub mod parse;
mod text;
mod validate;
mod visit;

pub use visit::{
    Visited, each_expr_mut, each_stmt_mut, nesting, rename_arrays, rename_variables, stored_in,
    visit,
};

#[cfg(test)]
mod tests;

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// The C name.
    pub name: String,
    /// In C's order.
    pub params: Vec<Param>,
    /// The type of the returned value, if there is one.
    pub ret: Option<ScalarType>,
    /// What integer overflow means.
    pub overflow: Overflow,
    /// Some float operations have results that the text doesn't fix: they are rounded together (a fused
    /// multiply-add), or C leaves the result open (`fmax` of two zeros). Nothing that is proven of it is better
    /// than `real`.
    pub fused: bool,
    /// Arrays, in pairs, that begin in different places: the text has asked (`if (in != out)`), and the answer is in the body.
    pub apart: Vec<(Sym, Sym)>,
    /// Local arrays, uninitialised, and constant tables.
    pub arrays: Vec<LocalArray>,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Param {
    /// Passed by value; a variable that the body may assign.
    Scalar {
        /// C name.
        name: Sym,
        /// Type.
        ty: ScalarType,
    },
    /// A pointer to elements, never reassigned. Negative indices are allowed.
    Array {
        /// C name.
        name: Sym,
        /// Element type.
        elem: ScalarType,
        /// Points to `const`: the kernel does not write through it.
        is_const: bool,
        /// Declared `restrict`: it overlaps with no other pointer through which is written.
        restrict: bool,
    },
}

impl Param {
    /// The C name.
    pub fn name(&self) -> &Sym {
        match self {
            Param::Scalar { name, .. } | Param::Array { name, .. } => name,
        }
    }
}

/// An array that the function owns.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalArray {
    /// Name, different from all others.
    pub name: Sym,
    /// Element type.
    pub elem: ScalarType,
    /// How many elements it has.
    pub len: Len,
    /// The values of a constant table; a local array without any starts uninitialised at each call.
    pub init: Option<Vec<Scalar>>,
}

/// How many elements a local array has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Len {
    /// So many.
    Fixed(usize),
    /// As many as the function touches: C's arrays of variable length, and memory that it allocates for itself.
    Touched,
    /// So many, by the scalar parameters at the call; none if it is negative. Generated code asks for such memory.
    Of(Expr),
}

impl Len {
    /// The number, if it is always the same.
    pub fn fixed(&self) -> Option<usize> {
        match self {
            Len::Fixed(n) => Some(*n),
            Len::Touched | Len::Of(_) => None,
        }
    }
}

/// What the overflow of signed `+`, `-`, `*` and negation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// C's: undefined. A proof may take it for granted that there is none.
    Undefined,
    /// Wraps. Generated code is of this kind, and is compiled so.
    Wraps,
}

/// An expression. Variables and arrays are named; names are unique within the function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expr {
    /// A literal.
    Const(Scalar),
    /// A scalar variable or parameter.
    Var(Sym, ScalarType),
    /// `array[index]`, with an `i64` index in elements.
    Load {
        /// The array.
        array: Sym,
        /// Its element type.
        elem: ScalarType,
        /// In elements.
        index: Box<Expr>,
    },
    /// One operand; the result has its type.
    Unary(UnOp, Box<Expr>),
    /// Two operands of one type, which is also the result's. Shift counts are converted to it.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// Two operands of one type; the result is `i1`.
    Compare(CmpOp, Box<Expr>, Box<Expr>),
    /// A C cast, implicit or written.
    Convert(ScalarType, Box<Expr>),
    /// The same bits as another type of the same width (`memcpy`, a union).
    Bitcast(ScalarType, Box<Expr>),
    /// `c ? t : f`, where `c` is `i1`. Only the selected one is evaluated: this is also `&&` and `||`.
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub enum Stmt {
    /// `var = value`. A variable exists from its first assignment on; `ty` is its type.
    Assign {
        /// The variable.
        var: Sym,
        /// Its type, and `value`'s.
        ty: ScalarType,
        /// The new value.
        value: Expr,
    },
    /// `array[index] = value`.
    Store {
        /// The array.
        array: Sym,
        /// In elements, an `i64`.
        index: Expr,
        /// Of the element type.
        value: Expr,
    },
    /// `if (cond) { then } else { otherwise }`, where `cond` is `i1`.
    If {
        /// `i1`
        cond: Expr,
        /// Where `cond` holds.
        then: Vec<Stmt>,
        /// Where it doesn't.
        otherwise: Vec<Stmt>,
    },
    /// A loop.
    Loop(Loop),
    /// Ends the function.
    Return(Option<Expr>),
    /// Ends the program, or throws. Only the original does that, so that no call that is answered otherwise may get here.
    Trap,
}

/// `while (cond) { body }`, or `do { body } while (cond)`. A C `for` has its increment at the end of
/// `body`.
#[derive(Clone, Debug, PartialEq)]
pub struct Loop {
    /// Unique within the function.
    pub id: u32,
    /// `i1`
    pub cond: Expr,
    /// Whether `cond` is tested before the first round, too.
    pub test_first: bool,
    /// One round.
    pub body: Vec<Stmt>,
    /// How the rounds may run.
    pub mode: LoopMode,
    /// Line in the source; 0 for generated code.
    pub line: u32,
}

/// How the rounds of a loop may run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LoopMode {
    /// One after the other: C's meaning.
    Sequential,
    /// In any order and at the same time, on several cores (`omp parallel for`). The prover shows that
    /// the rounds are independent.
    Parallel,
    /// Vectorised (`omp simd`), the named variables being accumulated in any order with this operator;
    /// other rounds are independent.
    Simd {
        /// Accumulators: `acc = acc ∘ e`. Of floats, a maximum or minimum may also be `if (e > acc) acc = e`: over the
        /// real numbers its order does not matter, bit for bit it does.
        reductions: Vec<(BinOp, Sym)>,
    },
}

impl Expr {
    /// The type of the value.
    pub fn ty(&self) -> ScalarType {
        match self {
            Expr::Const(v) => v.ty,
            Expr::Var(_, ty) | Expr::Load { elem: ty, .. } => *ty,
            Expr::Convert(ty, _) | Expr::Bitcast(ty, _) => *ty,
            Expr::Unary(_, a) | Expr::Binary(_, a, _) => a.ty(),
            Expr::Compare(..) => ScalarType::I1,
            Expr::Select(_, t, _) => t.ty(),
        }
    }

    /// The integer `value` of type `ty`.
    pub fn int(ty: ScalarType, value: i128) -> Expr {
        Expr::Const(Scalar::int(ty, value))
    }

    /// A variable.
    pub fn var(name: impl Into<Sym>, ty: ScalarType) -> Expr {
        Expr::Var(name.into(), ty)
    }

    /// `array[index]`.
    pub fn load(array: impl Into<Sym>, elem: ScalarType, index: Expr) -> Expr {
        Expr::Load {
            array: array.into(),
            elem,
            index: Box::new(index),
        }
    }

    /// `a op b`.
    pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
        Expr::Binary(op, Box::new(a), Box::new(b))
    }

    /// `a op b`.
    pub fn compare(op: CmpOp, a: Expr, b: Expr) -> Expr {
        Expr::Compare(op, Box::new(a), Box::new(b))
    }

    /// `(to)a`; nothing if `a` has that type.
    pub fn convert(to: ScalarType, a: Expr) -> Expr {
        if a.ty() == to {
            a
        } else {
            Expr::Convert(to, Box::new(a))
        }
    }

    /// The operands, in order.
    pub fn children(&self) -> Vec<&Expr> {
        match self {
            Expr::Const(_) | Expr::Var(..) => vec![],
            Expr::Load { index, .. } => vec![index],
            Expr::Unary(_, a) | Expr::Convert(_, a) | Expr::Bitcast(_, a) => vec![a],
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => vec![a, b],
            Expr::Select(c, t, f) => vec![c, t, f],
        }
    }

    /// The operands, in order.
    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Expr::Const(_) | Expr::Var(..) => vec![],
            Expr::Load { index, .. } => vec![index],
            Expr::Unary(_, a) | Expr::Convert(_, a) | Expr::Bitcast(_, a) => vec![a],
            Expr::Binary(_, a, b) | Expr::Compare(_, a, b) => vec![a, b],
            Expr::Select(c, t, f) => vec![c, t, f],
        }
    }
}

impl Function {
    /// Whether what it gives depends on how floats are rounded and compared. Loading and storing them doesn't.
    pub fn computes_with_floats(&self) -> bool {
        let mut found = false;
        visit(&self.body, &mut |part| {
            found |= match part {
                Visited::Expr(e @ (Expr::Unary(..) | Expr::Binary(..))) => e.ty().is_float(),
                Visited::Expr(Expr::Convert(ty, a)) => ty.is_float() || a.ty().is_float(),
                Visited::Expr(Expr::Compare(_, a, _)) => a.ty().is_float(),
                _ => false,
            };
        });
        found
    }

    /// The element type of a parameter or local array.
    pub fn array_elem(&self, name: &str) -> Option<ScalarType> {
        let param = self.params.iter().find_map(|p| match p {
            Param::Array { name: n, elem, .. } if &**n == name => Some(*elem),
            _ => None,
        });
        param.or_else(|| {
            self.arrays
                .iter()
                .find(|a| &*a.name == name)
                .map(|a| a.elem)
        })
    }
}
