//! The C front end.

use std::path::{Path, PathBuf};
use tensorize_ir::loopir;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file as it was named, or as an `#include` found it.
    pub file: PathBuf,
    /// 1-based.
    pub line: u32,
    /// 1-based, in bytes.
    pub column: u32,
    /// First byte in the file.
    pub start: usize,
    /// One past the last byte in the file.
    pub end: usize,
}

/// Why a function can't be lifted, or a file not be read. Never a panic, never a silent skip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// A code that the command line explains, such as `TZ0203`.
    pub code: &'static str,
    /// What is wrong, in one line, naming the construct.
    pub message: String,
    /// Where.
    pub span: Option<Span>,
    /// What to do.
    pub help: Option<String>,
}

/// A parameter as C declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CParam {
    /// Its name; `arg0`, `arg1`, … where C gives none.
    pub name: String,
    /// Its type as C spells it, typedefs kept, such as `const uint8_t *`.
    pub c_type: String,
    /// Its scalar type, or that of what it points to.
    pub scalar: tensorize_ir::scalar::ScalarType,
    /// A pointer, or an array that decays to one.
    pub pointer: bool,
    /// A pointer to `const`.
    pub is_const: bool,
    /// Declared `restrict`.
    pub restrict: bool,
}

/// The C prototype of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// In order.
    pub params: Vec<CParam>,
    /// The result's C spelling and scalar type; `None` for `void`.
    pub ret: Option<(String, tensorize_ir::scalar::ScalarType)>,
}

/// A function definition of the parsed file (not of the headers it includes).
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The C name.
    pub name: String,
    /// From its type to its closing brace.
    pub span: Span,
    /// Marked with `TENSORIZE_KERNEL`.
    pub annotated: bool,
    /// `static`: no other file can call it.
    pub is_static: bool,
    /// The prototype, if all its types are ones we know.
    pub signature: Option<Signature>,
    /// The kernel, or why not.
    pub lowered: Result<loopir::Function, Problem>,
}

/// Parses one C file. `args` are the compiler's (`-I`, `-D`, `-std`, `-target`, …). An `Err` is a missing
/// libclang or an unreadable file; a syntax error in one function spoils that function alone, if libclang
/// recovers.
pub fn parse(_file: &Path, _args: &[String]) -> Result<Vec<Parsed>, Problem> {
    Ok(Vec::new())
}
