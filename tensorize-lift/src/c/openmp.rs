//! OpenMP.
//!
//! Without the compiler's flag its pragmas mean nothing; they are ignored, and the report says so. Under the flag a
//! function that has any is refused: libclang does not show what is inside of a directive.

use super::Problem;
use super::codes;
use super::ffi::Cursor;
use super::lower::{problem, span_between};
use clang_sys::*;

/// Says that the pragmas in a function are ignored, if there are any.
pub(super) fn ignored(f: Cursor<'_>) -> Option<Problem> {
    let tokens = f.tokens();
    let words = |at: usize| tokens[at..].iter().map(|t| t.1.as_str());
    let first = (0..tokens.len()).find(|&at| words(at).take(3).eq(["#", "pragma", "omp"]))?;
    let mut place = f.extent()?.0;
    let start = tokens[first].2;
    let text = std::fs::read(&place.file).ok()?;
    let before = text.get(place.offset..start)?;
    place.line += before.iter().filter(|b| **b == b'\n').count() as u32;
    let line = text[..start].iter().rposition(|b| *b == b'\n');
    place.column = (start - line.map_or(0, |at| at + 1)) as u32 + 1;
    place.offset = start;
    let rest = text[start..].iter().position(|b| *b == b'\n');
    let end = rest.map_or(text.len(), |n| start + n);
    Some(Problem {
        code: codes::OPENMP,
        message: "the OpenMP pragmas are ignored: without the compiler's flag they mean nothing"
            .into(),
        span: Some(span_between(place, end)),
        help: None,
    })
}

/// Whether a statement is one of OpenMP's directives.
pub(super) fn is_directive(kind: CXCursorKind) -> bool {
    (CXCursor_OMPParallelDirective..350).contains(&kind)
        && !matches!(kind, CXCursor_SEHLeaveStmt | CXCursor_BuiltinBitCastExpr)
}

/// What is said of a directive.
pub(super) fn refused(c: Cursor<'_>) -> Problem {
    let message = "the compiler acts on this pragma of OpenMP, whose meaning is not read";
    problem(codes::OPENMP, message, c)
}
