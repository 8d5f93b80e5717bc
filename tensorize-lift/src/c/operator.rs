//! Which operator a node is: libclang 17 and later say so; for older ones we look at the tokens.

use super::codes;
use super::expr::Arith;
use super::ffi::Cursor;
use super::lower::{Result, operands, problem};
use clang_sys::*;
use tensorize_ir::op::{BinOp, CmpOp};

/// A binary operator of C.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Binary {
    Arithmetic(Arith),
    Compare(CmpOp),
    And,
    Or,
    Comma,
    Assign,
}

/// A unary operator of C.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Unary {
    Plus,
    Minus,
    Not,
    LogicalNot,
    Deref,
    AddressOf,
    /// `++` and `--`
    Step {
        by: i128,
        prefix: bool,
    },
    Extension,
    /// `__real__` and `__imag__`
    Part(usize),
}

/// The operator of a `BinaryOperator` node.
pub(super) fn binary(c: Cursor<'_>) -> Result<Binary> {
    let text = match c.binary_operator() {
        Some(kind) => binary_text(kind),
        None => between(c),
    };
    use BinOp::*;
    let plain = |op| Binary::Arithmetic(Arith::Plain(op));
    Ok(match text.as_deref() {
        Some("+") => plain(Add),
        Some("-") => plain(Subtract),
        Some("*") => plain(Multiply),
        Some("/") => plain(Divide),
        Some("%") => plain(Remainder),
        Some("&") => plain(And),
        Some("|") => plain(Or),
        Some("^") => plain(Xor),
        Some("<<") => plain(ShiftLeft),
        Some(">>") => Binary::Arithmetic(Arith::ShiftRight),
        Some("<") => Binary::Compare(CmpOp::Lt),
        Some("<=") => Binary::Compare(CmpOp::Le),
        Some(">") => Binary::Compare(CmpOp::Gt),
        Some(">=") => Binary::Compare(CmpOp::Ge),
        Some("==") => Binary::Compare(CmpOp::Eq),
        Some("!=") => Binary::Compare(CmpOp::Ne),
        Some("&&") => Binary::And,
        Some("||") => Binary::Or,
        Some(",") => Binary::Comma,
        Some("=") => Binary::Assign,
        _ => return Err(unnamed(c)),
    })
}

/// The operator of a `CompoundAssignOperator` node, without its `=`.
pub(super) fn compound(c: Cursor<'_>) -> Result<Arith> {
    let text = match c.binary_operator() {
        Some(kind) => binary_text(kind),
        None => between(c),
    };
    use BinOp::*;
    Ok(match text.as_deref() {
        Some("+=") => Arith::Plain(Add),
        Some("-=") => Arith::Plain(Subtract),
        Some("*=") => Arith::Plain(Multiply),
        Some("/=") => Arith::Plain(Divide),
        Some("%=") => Arith::Plain(Remainder),
        Some("&=") => Arith::Plain(And),
        Some("|=") => Arith::Plain(Or),
        Some("^=") => Arith::Plain(Xor),
        Some("<<=") => Arith::Plain(ShiftLeft),
        Some(">>=") => Arith::ShiftRight,
        _ => return Err(unnamed(c)),
    })
}

fn binary_text(kind: CXBinaryOperatorKind) -> Option<String> {
    Some(
        match kind {
            CXBinaryOperator_Mul => "*",
            CXBinaryOperator_Div => "/",
            CXBinaryOperator_Rem => "%",
            CXBinaryOperator_Add => "+",
            CXBinaryOperator_Sub => "-",
            CXBinaryOperator_Shl => "<<",
            CXBinaryOperator_Shr => ">>",
            CXBinaryOperator_LT => "<",
            CXBinaryOperator_GT => ">",
            CXBinaryOperator_LE => "<=",
            CXBinaryOperator_GE => ">=",
            CXBinaryOperator_EQ => "==",
            CXBinaryOperator_NE => "!=",
            CXBinaryOperator_And => "&",
            CXBinaryOperator_Xor => "^",
            CXBinaryOperator_Or => "|",
            CXBinaryOperator_LAnd => "&&",
            CXBinaryOperator_LOr => "||",
            CXBinaryOperator_Assign => "=",
            CXBinaryOperator_MulAssign => "*=",
            CXBinaryOperator_DivAssign => "/=",
            CXBinaryOperator_RemAssign => "%=",
            CXBinaryOperator_AddAssign => "+=",
            CXBinaryOperator_SubAssign => "-=",
            CXBinaryOperator_ShlAssign => "<<=",
            CXBinaryOperator_ShrAssign => ">>=",
            CXBinaryOperator_AndAssign => "&=",
            CXBinaryOperator_XorAssign => "^=",
            CXBinaryOperator_OrAssign => "|=",
            CXBinaryOperator_Comma => ",",
            _ => return None,
        }
        .to_string(),
    )
}

/// The operator of a `UnaryOperator` node.
pub(super) fn unary(c: Cursor<'_>) -> Result<Unary> {
    let step = |by, prefix| Ok(Unary::Step { by, prefix });
    if let Some(kind) = c.unary_operator() {
        return match kind {
            CXUnaryOperator_PostInc => step(1, false),
            CXUnaryOperator_PostDec => step(-1, false),
            CXUnaryOperator_PreInc => step(1, true),
            CXUnaryOperator_PreDec => step(-1, true),
            CXUnaryOperator_AddrOf => Ok(Unary::AddressOf),
            CXUnaryOperator_Deref => Ok(Unary::Deref),
            CXUnaryOperator_Plus => Ok(Unary::Plus),
            CXUnaryOperator_Minus => Ok(Unary::Minus),
            CXUnaryOperator_Not => Ok(Unary::Not),
            CXUnaryOperator_LNot => Ok(Unary::LogicalNot),
            CXUnaryOperator_Extension => Ok(Unary::Extension),
            CXUnaryOperator_Real => Ok(Unary::Part(0)),
            CXUnaryOperator_Imag => Ok(Unary::Part(1)),
            _ => Err(unnamed(c)),
        };
    }
    if !c.is_spelled_out() {
        return Err(unnamed(c));
    }
    let tokens = c.tokens();
    let (start, end) = match operands(c)[..] {
        [inner] if inner.is_spelled_out() => inner.extent().ok_or_else(|| unnamed(c))?,
        _ => return Err(unnamed(c)),
    };
    let before = tokens
        .iter()
        .find(|t| t.2 < start.offset)
        .map(|t| t.1.as_str());
    let after = tokens
        .iter()
        .find(|t| t.2 >= end.offset)
        .map(|t| t.1.as_str());
    match (before, after) {
        (Some("++"), _) => step(1, true),
        (Some("--"), _) => step(-1, true),
        (Some("&"), _) => Ok(Unary::AddressOf),
        (Some("*"), _) => Ok(Unary::Deref),
        (Some("+"), _) => Ok(Unary::Plus),
        (Some("-"), _) => Ok(Unary::Minus),
        (Some("~"), _) => Ok(Unary::Not),
        (Some("!"), _) => Ok(Unary::LogicalNot),
        (Some("__extension__"), _) => Ok(Unary::Extension),
        (Some("__real__" | "__real"), _) => Ok(Unary::Part(0)),
        (Some("__imag__" | "__imag"), _) => Ok(Unary::Part(1)),
        (None, Some("++")) => step(1, false),
        (None, Some("--")) => step(-1, false),
        _ => Err(unnamed(c)),
    }
}

/// The one token that stands between the two operands.
fn between(c: Cursor<'_>) -> Option<String> {
    let [l, r] = operands(c)[..] else { return None };
    // Inside of a macro all places are that of the macro's use.
    if ![c, l, r].iter().all(|c| c.is_spelled_out()) {
        return None;
    }
    let (from, to) = (l.extent()?.1.offset, r.extent()?.0.offset);
    let tokens = c.tokens();
    let mut inside = tokens.iter().filter(|t| t.2 >= from && t.2 < to);
    let one = inside.next()?;
    inside.next().is_none().then(|| one.1.clone())
}

fn unnamed(c: Cursor<'_>) -> super::Problem {
    problem(
        codes::OPERATOR,
        "this libclang does not say which operator this is",
        c,
    )
}
