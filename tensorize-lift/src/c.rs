//! The C front end.
//!
//! libclang parses, [`parse`] lowers each function of the file to LoopIR or says why it can't. What C
//! leaves to the compilation (sizes of types, the sign of `char`) comes from clang's target; what C does
//! silently (promotions, conversions, decay) is spelled out and checked against clang's types.
// libclang's names are C's.
#![allow(non_upper_case_globals)]

mod assign;
mod bounds;
mod call;
mod codes;
mod complex;
mod counted_down;
mod cpp;
mod declare;
mod do_loops;
mod early_return;
mod effects;
mod expr;
mod ffi;
mod flags;
mod flatten;
mod given_back;
mod goto;
mod headers;
mod initializer;
mod jump;
mod library;
mod loops;
mod lower;
mod math;
mod memory;
mod openmp;
mod operator;
mod parameter;
mod picked;
mod place;
mod pointer;
mod pragmas;
mod reused;
mod scalars;
mod scratch;
mod shrinking;
mod simd;
mod source;
mod statics;
mod steady;
mod stmt;
mod switch;
mod turns;
mod types;
mod unions;

pub use codes::CODES;
pub(crate) use expr::simplified;
pub use flags::{FloatSemantics, float_semantics};
pub(crate) use stmt::only_if;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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

/// Finds and loads libclang: its file and what it says of its version.
pub fn libclang() -> Result<(PathBuf, String), Problem> {
    let path = library::load()?;
    Ok((path.to_owned(), ffi::version()))
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

/// The prototype of a function, as LoopIR has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// In order.
    pub params: Vec<CParam>,
    /// The result's C spelling and scalar type; `None` for `void`.
    pub ret: Option<(String, tensorize_ir::scalar::ScalarType)>,
    /// Where the source's parameters are more than numbers and pointers: how they become `params`, which
    /// then are LoopIR's parameters. `None` if `params` are the source's own.
    pub source: Option<tensorize_ir::signature::Source>,
}

/// A function definition of the parsed file, or of one that it includes as a part of its own.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The C name.
    pub name: String,
    /// From its type to its closing brace, in the file where it is written.
    pub span: Span,
    /// Its line in the parsed file; that of the `#include` which brings it, if it is written elsewhere. 1-based.
    pub line: u32,
    /// Marked with `TENSORIZE_KERNEL`.
    pub annotated: bool,
    /// `static`: no other file can call it.
    pub is_static: bool,
    /// The prototype, if all its types are ones we know.
    pub signature: Option<Signature>,
    /// What was left aside, and is worth knowing.
    pub notes: Vec<Problem>,
    /// The kernel, or why not.
    pub lowered: Result<loopir::Function, Problem>,
}

/// How long a file may take to be read; libclang has half of that.
const TIME_LIMIT: Duration = Duration::from_secs(60);

/// Parses one C file. `args` are the compiler's (`-I`, `-D`, `-std`, `-target`, …). An `Err` is a missing
/// libclang or an unreadable file; a syntax error in one function spoils that function alone, if libclang
/// recovers.
pub fn parse(file: &Path, args: &[String]) -> Result<Vec<Parsed>, Problem> {
    parse_within(TIME_LIMIT, file, args)
}

/// [`parse`], but an error after this time. libclang can't be interrupted: it goes on by itself until the program ends.
pub fn parse_within(limit: Duration, file: &Path, args: &[String]) -> Result<Vec<Parsed>, Problem> {
    let library = library::load()?;
    if !file.is_file() {
        let why = match file.is_dir() {
            true => "it is a folder",
            false => "no such file",
        };
        return Err(unreadable(file, why));
    }
    bounds::check(file)?;
    let (path, args) = (file.to_owned(), args.to_vec());
    bounds::within(limit, file, move |expanded| {
        parse_here(library, &path, &args, expanded)
    })
}

fn parse_here(
    library: &Path,
    file: &Path,
    args: &[String],
    expanded: &AtomicBool,
) -> Result<Vec<Parsed>, Problem> {
    let mut all = flags::for_libclang(args);
    let (folder, headers) = headers::of(file);
    all.extend(folder);
    all.extend(library::resource_headers(library, args));
    let is_cpp = cpp::is_cpp(file, args);
    let bytes = std::fs::read(file).map_err(|e| unreadable(file, &e.to_string()))?;
    let own_text = String::from_utf8_lossy(&bytes).into_owned();
    let mut instances = None;
    if is_cpp {
        all.extend(cpp::language_args(args));
        instances = Some(match String::from_utf8(bytes) {
            Ok(text) => cpp::Instances::of(&text),
            Err(_) => cpp::Instances::default(),
        });
    }
    let text = instances.as_ref().and_then(|i| i.text.as_deref());
    let unit =
        ffi::Unit::parse(file, text, &all, &headers).map_err(|why| unreadable(file, &why))?;
    expanded.store(true, Ordering::Relaxed);
    let source = source::Source::new(&unit, &own_text, args, instances.as_ref());
    source.check_target()?;
    if let Some(p) = source::nothing_defined(&source) {
        return Err(p);
    }
    Ok(source.lower_all())
}

fn unreadable(file: &Path, why: &str) -> Problem {
    Problem {
        code: codes::UNREADABLE,
        message: format!("{} cannot be read: {why}", file.display()),
        span: None,
        help: Some("see that it is a file, and that it can be read".into()),
    }
}
