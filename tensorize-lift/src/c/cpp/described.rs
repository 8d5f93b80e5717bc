//! How the source's function is called, beside its flat form.

use super::super::ffi::Cursor;
use tensorize_ir::signature::{self, Shape};

/// What a source function's flat form is made of.
#[derive(Default)]
pub(in super::super) struct Described {
    pub params: Vec<signature::Param>,
    pub globals: Vec<signature::Global>,
    pub result: Option<Shape>,
    /// A static variable that the function uses.
    pub shared: Option<String>,
    /// Elements of vectors whose length it sets are reached by number.
    pub reaches_into_growing: bool,
    /// Places in a table of rows are compared that may be in two of them.
    pub compares_rows: bool,
}

/// The description of a source function; `None` if C can call it as it is.
pub(in super::super) fn describe(
    f: Cursor<'_>,
    described: Described,
    expression: Option<String>,
) -> Option<signature::Source> {
    let Described {
        params,
        globals,
        result,
        shared,
        reaches_into_growing,
        compares_rows,
    } = described;
    let symbol = f.mangling();
    let plain = |s: &Shape| matches!(s, Shape::Scalar { .. } | Shape::Pointer { given: None, .. });
    let own = globals.is_empty() && result.is_none();
    if symbol == f.spelling() && own && params.iter().all(|p| plain(&p.shape)) {
        return None;
    }
    let mut scopes = super::class::scopes(f);
    scopes.push(expression.unwrap_or_else(|| f.spelling()));
    scopes.retain(|s| !s.is_empty());
    Some(signature::Source {
        language: signature::Language::Cpp,
        call: scopes.join("::"),
        symbol,
        returns: f.ty().result().written(),
        result,
        params,
        globals,
        shared,
        reaches_into_growing,
        compares_rows,
    })
}
