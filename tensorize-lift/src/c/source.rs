//! A parsed file: its functions, and where clang complained.

use super::ffi::{Cursor, Included, Unit};
use super::lower::{problem, span, span_between};
use super::simd;
use super::types::{self, Ty};
use super::{CParam, Parsed, Problem, Signature, bounds, codes, cpp, flags, openmp, pragmas};
use clang_sys::*;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use tensorize_ir::loopir::{self, Function, Overflow, Param};
use tensorize_ir::signature;

/// A parsed file.
pub(super) struct Source<'u> {
    unit: &'u Unit,
    /// The definitions in all files, headers included; and the expression that names one, if it is not
    /// its name.
    functions: Vec<(Cursor<'u>, Option<String>)>,
    included: Vec<Included>,
    /// Whether the file is C++.
    pub cpp: bool,
    errors: Vec<Complaint>,
    /// What signed overflow means under the flags.
    pub overflow: Overflow,
    /// Whether pragmas or attributes in the file let the compiler round otherwise than its flags do.
    pub rounds_otherwise: bool,
    /// Whether the first byte of a number is the lowest one.
    pub little_endian: bool,
    /// Whether signed overflow ends the program.
    traps: bool,
    /// Whether the compiler acts on pragmas of OpenMP.
    openmp: bool,
}

/// An error of the compiler.
struct Complaint {
    /// Spoils every function: where it is, clang guesses types from there on.
    everywhere: bool,
    problem: Problem,
    file: PathBuf,
    offset: usize,
}

impl<'u> Source<'u> {
    /// `text` is the file's, and `args` are the compiler's.
    pub fn new(
        unit: &'u Unit,
        text: &str,
        args: &[String],
        cpp: Option<&cpp::Instances>,
    ) -> Source<'u> {
        let functions = match cpp {
            Some(instances) => cpp::definitions(unit, instances),
            None => unit
                .root()
                .children()
                .into_iter()
                .filter(|c| c.kind() == CXCursor_FunctionDecl && c.is_definition())
                .map(|f| (f, None))
                .collect(),
        };
        let included = unit.included();
        let files: BTreeMap<_, _> = included.iter().map(|i| (&i.file, i)).collect();
        let texts = files.into_values().map(|i| unit.text_of(i));
        let text = texts.fold(text.to_owned(), |all, text| all + "\n" + &text);
        // What was added to the file is our own.
        let end = cpp.and_then(|i| i.end);
        let mut diagnostics = unit.errors();
        diagnostics.retain(|d| {
            let added = d.place.as_ref().zip(end).is_some_and(|(p, end)| {
                p.offset > end
                    && functions.iter().any(|(f, _)| {
                        f.extent()
                            .is_some_and(|e| e.0.file == p.file && f.in_main_file())
                    })
            });
            !added
        });
        let extents: Vec<_> = if diagnostics.is_empty() {
            vec![]
        } else {
            functions.iter().filter_map(|f| f.0.extent()).collect()
        };
        let errors = diagnostics
            .into_iter()
            .map(|d| {
                let inside = d.place.as_ref().is_some_and(|p| {
                    extents.iter().any(|(start, end)| {
                        start.file == p.file && start.offset <= p.offset && p.offset <= end.offset
                    })
                });
                let (file, offset) = d
                    .place
                    .as_ref()
                    .map_or_else(Default::default, |p| (p.file.clone(), p.offset));
                let unknown = simd::unknown_intrinsic(&d.message);
                Complaint {
                    everywhere: d.fatal || !inside,
                    problem: Problem {
                        code: unknown.map_or(codes::SYNTAX, |_| codes::VECTOR),
                        message: match unknown {
                            Some(name) => format!("the intrinsic '{name}' is not known"),
                            None => d.message.clone(),
                        },
                        span: d.place.map(|p| {
                            let end = p.offset;
                            span_between(p, end)
                        }),
                        help: Some(match unknown {
                            Some(_) => codes::help(codes::VECTOR).into(),
                            None => {
                                "fix the C, or pass the include paths and definitions that it needs"
                                    .into()
                            }
                        }),
                    },
                    file,
                    offset,
                }
            })
            .collect();
        Source {
            unit,
            functions,
            included,
            errors,
            overflow: pragmas::overflow(&text, flags::overflow(args)),
            rounds_otherwise: pragmas::round_otherwise(&text, args),
            little_endian: is_little_endian(&unit.triple()),
            traps: flags::traps(args) || pragmas::traps(&text),
            openmp: flags::openmp(args),
            cpp: cpp.is_some(),
        }
    }

    /// The compiler's first error, if it found any.
    pub fn first_error(&self) -> Option<&Problem> {
        self.errors.first().map(|e| &e.problem)
    }

    /// The definitions that are the file's, and the expression that names each.
    fn own_functions(&self) -> impl Iterator<Item = &(Cursor<'u>, Option<String>)> {
        self.functions.iter().filter(|f| is_own(f.0))
    }

    /// What the front end makes of the definitions that are the file's.
    pub fn lower_all(&self) -> Vec<Parsed> {
        let own: Vec<_> = self.own_functions().cloned().collect();
        let names = if self.cpp {
            cpp::unique_names(&own)
        } else {
            own.iter().map(|f| f.0.spelling()).collect()
        };
        let mut seen = HashMap::new();
        own.into_iter()
            .zip(names)
            .map(|((f, expression), name)| {
                let line = self.line_of(f, &mut seen);
                self.lower(f, expression, name, line)
            })
            .collect()
    }

    /// The line of the file that has a function, or that includes it. `seen` counts those that stand in the same place, as
    /// the functions of a file do that is included once for each type.
    fn line_of(&self, f: Cursor<'u>, seen: &mut HashMap<(PathBuf, usize), usize>) -> u32 {
        let Some((start, _)) = f.extent() else {
            return 0;
        };
        if f.in_main_file() {
            return start.line;
        }
        let before = seen.entry((start.file.clone(), start.offset)).or_default();
        *before += 1;
        let lines = self.included.iter().filter(|i| i.file == start.file);
        let lines: Vec<u32> = lines.map(|i| i.line).collect();
        let which = lines.get(*before - 1).or(lines.last());
        which.copied().unwrap_or(1)
    }

    /// The compiler's complaint about this function, or about everything.
    pub fn complaint(&self, f: Cursor<'u>) -> Option<&Problem> {
        let (start, end) = f.extent()?;
        self.errors
            .iter()
            .find(|e| {
                e.everywhere
                    || e.file == start.file && start.offset <= e.offset && e.offset <= end.offset
            })
            .map(|e| &e.problem)
    }

    fn lower(&self, f: Cursor<'u>, expression: Option<String>, name: String, line: u32) -> Parsed {
        let lowered = bounds::in_time(f, || match self.complaint(f) {
            Some(p) => Err(p.clone()),
            None if self.traps => {
                let message = "signed overflow ends the program here (-ftrapv), which generated code would not do";
                Err(problem(codes::TRAPS, message, f))
            }
            None if bounds::is_too_deep(f) => {
                let message = format!("'{name}' is nested too deeply");
                Err(problem(codes::TOO_LARGE, message, f))
            }
            None => super::lower::Lower::function(self, f, &name).and_then(|lowered| {
                // With those of the functions that it calls.
                bounds::check_nesting(loopir::nesting(&lowered.0.body), f)?;
                Ok(lowered)
            }),
        });
        let (signature, lowered) = match lowered {
            Ok((function, Some(parts))) => {
                let source = match self.cpp {
                    true => cpp::describe(f, parts, expression),
                    false => Some(described(f, parts)),
                };
                (flat_signature(f, &function, source), Ok(function))
            }
            Ok((function, None)) => (signature(f), Ok(function)),
            Err(p) => (signature(f), Err(p)),
        };
        let notes = match self.openmp {
            true => vec![],
            false => openmp::ignored(f).into_iter().collect(),
        };
        Parsed {
            line,
            notes,
            span: span(f).unwrap_or_else(|| super::Span {
                file: PathBuf::new(),
                line: 0,
                column: 0,
                start: 0,
                end: 0,
            }),
            annotated: is_annotated(f),
            is_static: f.storage() == CX_SC_Static
                || f.canonical().storage() == CX_SC_Static
                || self.cpp && f.is_of_this_file(),
            signature,
            name,
            lowered,
        }
    }

    /// The target triple.
    pub fn triple(&self) -> String {
        self.unit.triple()
    }

    /// Checks what the conversions of the front end rest on.
    pub fn check_target(&self) -> Result<(), Problem> {
        let small = ["avr", "msp430"];
        let triple = self.triple();
        if small.iter().any(|s| triple.starts_with(s)) {
            return Err(Problem {
                code: codes::TYPE,
                message: format!("the target {triple} has an int of 16 bits"),
                span: None,
                help: Some("targets with an int of 32 bits are supported".into()),
            });
        }
        Ok(())
    }
}

/// Whether a definition is one of the file's: it stands there, it is an instance that the file asks for, or it stands in a
/// file of the project that is included and makes it a function of the object that is compiled. What headers define for
/// everybody (`inline`, or `static`) is none, unless it is annotated.
fn is_own(f: Cursor<'_>) -> bool {
    let of_everybody = || {
        let local = f.storage() == CX_SC_Static || f.canonical().storage() == CX_SC_Static;
        f.is_inline() || local
    };
    let in_header = || f.extent().is_none_or(|(start, _)| is_header(&start.file));
    f.in_main_file()
        || !f.in_system_header() && (is_annotated(f) || !of_everybody() || !in_header())
}

/// Whether a file's name is that of a header, and not of a part of a source that several include.
fn is_header(file: &Path) -> bool {
    let extension = file.extension().unwrap_or_default().to_string_lossy();
    extension.starts_with(['h', 'H']) || matches!(&*extension, "" | "inl" | "ipp" | "tpp" | "tcc")
}

/// Whether it is known of a target that the first byte of a number is the lowest one.
fn is_little_endian(triple: &str) -> bool {
    let architecture = triple.split('-').next().unwrap_or_default();
    let known = ["x86_64", "i386", "i486", "i586", "i686", "aarch64", "arm64"];
    known.contains(&architecture)
        || architecture.starts_with("riscv")
        || architecture.starts_with("armv")
}

/// The compound statement of a definition.
pub(super) fn body(f: Cursor<'_>) -> Option<Cursor<'_>> {
    f.children()
        .into_iter()
        .find(|c| c.kind() == CXCursor_CompoundStmt)
}

pub(super) fn is_annotated(f: Cursor<'_>) -> bool {
    [f, f.canonical()].iter().any(|f| {
        f.children()
            .iter()
            .any(|c| c.kind() == CXCursor_AnnotateAttr && c.spelling() == "tensorize")
    })
}

/// A parameter's type as it can stand in a prototype: a declared array is the pointer that it means.
pub(super) fn parameter_spelling(p: Cursor<'_>) -> String {
    let mut t = p.ty();
    let array = |t: super::ffi::Type<'_>| {
        matches!(
            t.kind(),
            CXType_ConstantArray | CXType_VariableArray | CXType_IncompleteArray
        )
    };
    if !array(t.canonical()) {
        return t.spelling();
    }
    if !array(t) {
        t = t.canonical();
    }
    while array(t) {
        t = t.array_element();
    }
    format!("{} *", t.spelling())
}

/// How the source's function is called.
fn described(f: Cursor<'_>, parts: cpp::Described) -> signature::Source {
    signature::Source {
        language: signature::Language::C,
        call: f.spelling(),
        symbol: f.spelling(),
        returns: f.ty().result().spelling(),
        result: parts.result,
        params: parts.params,
        globals: parts.globals,
        shared: parts.shared,
        reaches_into_growing: parts.reaches_into_growing,
        compares_rows: parts.compares_rows,
    }
}

/// The prototype that LoopIR's parameters make.
fn flat_signature(
    f: Cursor<'_>,
    function: &Function,
    source: Option<signature::Source>,
) -> Option<Signature> {
    let params = function.params.iter().map(|p| match p {
        Param::Scalar { name, ty } => CParam {
            name: name.to_string(),
            c_type: ty.c_name().into(),
            scalar: *ty,
            pointer: false,
            is_const: false,
            restrict: false,
        },
        Param::Array {
            name,
            elem,
            is_const,
            restrict,
        } => CParam {
            name: name.to_string(),
            c_type: format!(
                "{}{} *{}",
                if *is_const { "const " } else { "" },
                elem.c_name(),
                if *restrict { "restrict" } else { "" }
            ),
            scalar: *elem,
            pointer: true,
            is_const: *is_const,
            restrict: *restrict,
        },
    });
    Some(Signature {
        params: params.collect(),
        ret: function.ret.map(|ty| (f.ty().result().spelling(), ty)),
        source,
    })
}

fn signature(f: Cursor<'_>) -> Option<Signature> {
    let params = f
        .arguments()
        .into_iter()
        .enumerate()
        .map(|(i, p)| {
            let name = p.spelling();
            let (scalar, pointer) = match types::of(p) {
                Ty::Pointer(inner) => (inner.flatten().0.as_scalar()?, true),
                t => (t.as_scalar()?, false),
            };
            let (is_const, restrict) = if pointer {
                super::parameter::qualifiers(p)
            } else {
                (false, false)
            };
            Some(CParam {
                name: if name.is_empty() {
                    format!("arg{i}")
                } else {
                    name
                },
                c_type: parameter_spelling(p),
                scalar,
                pointer,
                is_const,
                restrict,
            })
        })
        .collect::<Option<Vec<_>>>()?;
    let result = f.ty().result();
    let ret = match types::read(result) {
        Ty::Void => None,
        t => Some((result.spelling(), t.as_scalar()?)),
    };
    (!f.ty().is_variadic()).then_some(Signature {
        params,
        ret,
        source: None,
    })
}

/// Refuses what a file asks for and does not get: nothing was defined, and something was wrong.
pub(super) fn nothing_defined(source: &Source<'_>) -> Option<Problem> {
    if source.own_functions().next().is_some() {
        return None;
    }
    source.first_error().cloned()
}

/// Refuses `void f(void) __asm__("g");`, whose name leads elsewhere.
pub(super) fn check_name(source: &Source<'_>, f: Cursor<'_>) -> super::lower::Result<()> {
    let (called, for_linker) = (f.spelling(), f.mangling());
    let for_linker = for_linker.trim_start_matches('\u{1}');
    if source.cpp || for_linker == called || for_linker.strip_prefix('_') == Some(&called) {
        return Ok(());
    }
    let message = format!("'{called}' has another name, '{for_linker}', for the linker");
    Err(super::lower::problem(codes::INLINE_ASM, message, f))
}
