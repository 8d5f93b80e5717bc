//! The generated Rust: raw names, dispatchers, safe wrappers.

mod dispatcher;
pub(crate) mod entry;
mod safe;
mod tables;

use dispatcher::{Passed, RustParam, Writer};

use crate::record::Prototype;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::Idx;
use tensorize_ir::scalar::ScalarType;

/// What is to be generated for one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Binding {
    /// The C name.
    pub name: String,
    /// Its source, for the report.
    pub file: String,
    /// The line of its definition.
    pub line: u32,
    /// Confirmed by the C compiler.
    pub prototype: Option<Prototype>,
    /// Of what it was lifted from, as it is stored; `-` if it isn't.
    pub hash: String,
    /// What is proven, if that may be relied on; else why not.
    pub proven: Result<Proven, String>,
    /// What was generated for the targets.
    pub targets: Vec<TargetCode>,
}

/// What is proven of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Proven {
    /// `exact` or `real`.
    pub tier: String,
    /// What has to hold at a call.
    pub guards: Vec<Guard>,
    /// What has to hold besides when the arguments are flat.
    pub within_objects: Vec<Guard>,
    /// What is touched.
    pub footprints: Vec<Footprint>,
    /// Of tables of rows, by the array.
    pub tables: BTreeMap<String, Table>,
}

/// Which part of a table of rows is touched: the first and one past the last, where that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Of the elements of each row.
    pub columns: Option<(Idx, Idx)>,
    /// Of the rows of each plane, if it is a table of tables.
    pub rows: Option<(Idx, Idx)>,
    /// Of the planes, if it is a table of tables.
    pub planes: Option<(Idx, Idx)>,
}

/// A target's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetCode {
    /// `cpu`, `numpy`, …
    pub target: String,
    /// `exact` or `real`.
    pub tier: String,
    /// What has to hold at a call beyond the kernel's guards.
    pub guards: Vec<Guard>,
    /// Where it is.
    pub code: Code,
}

/// Where a target's code is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// A C function that is linked in.
    Native {
        /// Its name.
        entry: String,
        /// Whether it leaves products of matrices to the run-time crate.
        products: bool,
        /// Whether it asks for memory, and says whether there was any.
        memory: bool,
    },
    /// A C function that is linked in, with what stands in for its device.
    Emulated {
        /// Its name.
        entry: String,
    },
    /// A Python module.
    Python {
        /// The module's file, relative to `OUT_DIR`.
        file: String,
        /// The function in it.
        entry: String,
    },
    /// Kernels for a device.
    Device {
        /// The file that they are in, relative to `OUT_DIR`.
        file: String,
        /// Their names, in the order in which they run.
        kernels: Vec<String>,
        /// The variant of `tensorize_rt::Api` that runs them.
        api: &'static str,
    },
    /// None, and why.
    Absent(String),
}

impl Code {
    /// Kernels in OpenCL C, their names separated by spaces.
    pub fn opencl(file: String, kernels: &str) -> Code {
        Code::device(file, kernels, "OpenCl")
    }

    /// Kernels in CUDA C++, their names separated by spaces.
    pub fn cuda(file: String, kernels: &str) -> Code {
        Code::device(file, kernels, "Cuda")
    }

    fn device(file: String, kernels: &str, api: &'static str) -> Code {
        let kernels = kernels.split_whitespace().map(String::from).collect();
        Code::Device { file, kernels, api }
    }
}

impl Binding {
    /// Whether the C symbol is to be the dispatcher.
    pub fn is_dispatched(&self) -> bool {
        self.proven.is_ok()
            && self.prototype.as_ref().is_some_and(|p| !p.is_static)
            && self
                .targets
                .iter()
                .any(|t| !matches!(t.code, Code::Absent(_)))
            && Writer::new(self).is_some_and(|w| w.all().is_ok())
    }

    /// The C or C++ that stands behind the original in its file, if its parameters need any.
    pub fn native_code(&self) -> Option<String> {
        let writer = Writer::new(self)?;
        writer.native_code(writer.described()?).ok()
    }

    /// The call of the generated C function for the machine's own cores, if there is one. Without the memory that it asks
    /// for, `otherwise` has to return.
    fn native_call(&self, arguments: &str, otherwise: &str) -> Option<String> {
        self.targets.iter().find_map(|t| match &t.code {
            Code::Native { entry, memory, .. } => Some(call(entry, arguments, *memory, otherwise)),
            _ => None,
        })
    }

    /// Declarations of all generated C functions, and the arms of a `match` on a target's name that call them.
    fn linked(
        &self,
        params: &str,
        arrow: &str,
        arguments: &str,
        otherwise: &str,
    ) -> (String, String) {
        let (mut foreign, mut arms) = (String::new(), String::new());
        for t in &self.targets {
            let (entry, memory) = match &t.code {
                Code::Native { entry, memory, .. } => (entry, *memory),
                Code::Emulated { entry } => (entry, false),
                _ => continue,
            };
            let last = if memory { ", there_was: *mut bool" } else { "" };
            writeln!(foreign, "fn {entry}({params}{last}){arrow};").ok();
            let call = call(entry, arguments, memory, otherwise);
            writeln!(arms, "{:?} => {call},", t.target).ok();
        }
        (foreign, arms)
    }

    /// Whether the source's parameters are others than the flat ones.
    pub fn is_described(&self) -> bool {
        self.prototype.as_ref().is_some_and(|p| p.source.is_some())
    }
}

/// Whether a jump to the shim can be written for the machine.
fn can_jump() -> bool {
    let of = |name: &str, host: &str| std::env::var(name).unwrap_or_else(|_| host.into());
    let (arch, os) = (
        of("CARGO_CFG_TARGET_ARCH", std::env::consts::ARCH),
        of("CARGO_CFG_TARGET_OS", std::env::consts::OS),
    );
    ["x86_64", "x86", "aarch64", "riscv64"].contains(&arch.as_str())
        && !["windows", "macos", "ios"].contains(&os.as_str())
}

/// The name under which the original stays reachable.
pub fn original_name(name: &str) -> String {
    format!("{name}__tensorize_original")
}

/// The whole file.
pub fn write(bindings: &[Binding]) -> String {
    let mut kernels = String::new();
    let (mut sys, mut safe, mut list) = (String::new(), String::new(), String::new());
    for b in bindings {
        write!(list, "&{}, ", kernel_static(&b.name)).ok();
        kernels += &kernel(b);
        let Some(writer) = Writer::new(b) else {
            continue;
        };
        match writer.all().ok().filter(|_| b.is_dispatched()) {
            Some(code) => {
                kernels += &code.helpers;
                sys += &code.dispatcher;
            }
            None if writer.prototype.is_static => continue,
            // What it would be in Rust is not known.
            None if writer.described().is_some() => {}
            None => sys += &writer.raw(),
        }
        safe += &writer.safe();
    }
    // Its C takes them if they are linked in, and nothing else here mentions them.
    let calls = |t: &TargetCode| matches!(t.code, Code::Native { products: true, .. });
    let products = match bindings.iter().flat_map(|b| &b.targets).any(calls) {
        true => {
            "#[used]\nstatic __PRODUCTS: (rt::gemm::OfF32, rt::gemm::OfF64) = \
             (rt::gemm::tensorize_scaled_gemm_f32, rt::gemm::tensorize_scaled_gemm_f64);\n\n"
        }
        false => "",
    };
    indented(&format!(
        "// Written by tensorize-build.\n\
         #[allow(unsafe_code, missing_docs, dead_code, non_snake_case, non_upper_case_globals, unused, clippy::all)]\n\
         mod generated {{\n\
         use ::tensorize_rt as rt;\n\n\
         {kernels}\
         static __LIBRARY: rt::Library = rt::Library::new(&[{list}]);\n\n\
         {products}\
         #[used]\n\
         #[cfg_attr(all(unix, not(target_vendor = \"apple\")), unsafe(link_section = \".init_array\"))]\n\
         #[cfg_attr(target_vendor = \"apple\", unsafe(link_section = \"__DATA,__mod_init_func\"))]\n\
         #[cfg_attr(windows, unsafe(link_section = \".CRT$XCU\"))]\n\
         static __REGISTER: extern \"C\" fn() = {{\n\
         extern \"C\" fn register() {{ __LIBRARY.register(); }}\n\
         register\n\
         }};\n\n\
         /// The C functions under their own names.\n\
         pub mod sys {{\n\
         use super::rt;\n\
         {sys}}}\n\n\
         {safe}}}\n\
         // A program may call its kernels from C alone.\n\
         #[allow(unused_imports)]\n\
         pub use generated::*;\n"
    ))
}

/// Indents by brackets, one step a line, which is all that generated code needs to be read.
fn indented(text: &str) -> String {
    let mut out = String::new();
    // For each line that a bracket is open from: how many.
    let mut open: Vec<usize> = Vec::new();
    fn close(open: &mut Vec<usize>, mut count: usize) {
        while let Some(last) = open.last_mut().filter(|_| count > 0) {
            let closed = count.min(*last);
            *last -= closed;
            count -= closed;
            if *last == 0 {
                open.pop();
            }
        }
    }
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or("");
        let leading = code.chars().take_while(|c| ")]}".contains(*c)).count();
        close(&mut open, leading);
        if !line.is_empty() {
            out += &"    ".repeat(open.len());
            out += line;
        }
        out.push('\n');
        let count = |set: &str| {
            code.chars()
                .skip(leading)
                .filter(|c| set.contains(*c))
                .count()
        };
        let (opened, closed) = (count("([{"), count(")]}"));
        if opened > closed {
            open.push(opened - closed);
        } else {
            close(&mut open, closed - opened);
        }
    }
    out
}

/// A call of a generated C function; `otherwise` returns, for one that asks for memory when there is none.
fn call(entry: &str, arguments: &str, memory: bool, otherwise: &str) -> String {
    if !memory {
        return format!("unsafe {{ {entry}({arguments}) }}");
    }
    let arguments = arguments.trim_end_matches(", ");
    format!(
        "{{\nlet mut __there_was = false;\n\
         let __r = unsafe {{ {entry}({arguments}, &mut __there_was) }};\n\
         if !__there_was {{ {otherwise} }}\n__r\n}}"
    )
}

fn kernel_static(name: &str) -> String {
    format!("__KERNEL_{name}")
}

fn tier(name: &str) -> &'static str {
    if name == "exact" {
        "rt::Tier::Exact"
    } else {
        "rt::Tier::Real"
    }
}

fn kernel(b: &Binding) -> String {
    let (proven, why) = match &b.proven {
        Ok(p) => (Some(p), None),
        Err(why) => (None, Some(why.clone())),
    };
    let why = why.or_else(|| {
        (!b.is_dispatched()).then(|| match Writer::new(b) {
            None => "its prototype has a type that is not handled".into(),
            Some(w) if w.prototype.is_static => "it is static".to_string(),
            Some(w) => match w.all() {
                Err(why) => format!("its guards can't be checked: {why}"),
                Ok(_) => absent_reasons(&b.targets),
            },
        })
    });
    let guards: Vec<String> = proven.map_or(vec![], |p| {
        p.guards
            .iter()
            .map(|g| format!("{:?}", g.to_string()))
            .collect()
    });
    let targets: Vec<String> = b
        .targets
        .iter()
        .map(|t| {
            let code = match &t.code {
                Code::Native { .. } => "rt::Code::Native".to_string(),
                Code::Emulated { .. } => "rt::Code::Emulated".to_string(),
                Code::Python { file, entry } => format!(
                    "rt::Code::Python {{ source: include_str!(concat!(env!(\"OUT_DIR\"), {:?})), entry: {entry:?} }}",
                    format!("/{file}")
                ),
                Code::Device { file, kernels, api } => format!(
                    "rt::Code::Device {{ api: rt::Api::{api}, source: include_str!(concat!(env!(\"OUT_DIR\"), {:?})), kernels: &{kernels:?} }}",
                    format!("/{file}")
                ),
                Code::Absent(why) => format!("rt::Code::Absent {{ why: {why:?} }}"),
            };
            format!("rt::Target {{ name: {:?}, tier: {}, code: {code} }}", t.target, tier(&t.tier))
        })
        .collect();
    format!(
        "static {}: rt::Kernel = rt::Kernel::new(\n{:?}, ({:?}, {}), {},\n&[{}],\n{},\n&[{}],\n).with_hash({:?});\n\n",
        kernel_static(&b.name),
        b.name,
        b.file,
        b.line,
        proven.map_or("None".into(), |p| format!("Some({})", tier(&p.tier))),
        guards.join(", "),
        why.map_or("None".into(), |w| format!("Some({w:?})")),
        targets.join(",\n"),
        b.hash,
    )
}

fn absent_reasons(targets: &[TargetCode]) -> String {
    let reasons: Vec<String> = targets
        .iter()
        .filter_map(|t| match &t.code {
            Code::Absent(why) => Some(format!("{}: {why}", t.target)),
            _ => None,
        })
        .collect();
    if reasons.is_empty() {
        "no code was generated".into()
    } else {
        reasons.join("; ")
    }
}

fn elem(scalar: ScalarType) -> String {
    scalar.rust_name().replace("bool", "i1").to_uppercase()
}

/// A C function's name as a Rust one.
fn function_name(name: &str) -> String {
    const RAW: &[&str] = &[
        "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "do",
        "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl", "in",
        "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
        "return", "static", "struct", "trait", "true", "try", "type", "typeof", "unsafe",
        "unsized", "use", "virtual", "where", "while", "yield",
    ];
    match name {
        "self" | "Self" | "super" | "crate" | "_" => format!("{name}_"),
        _ if RAW.contains(&name) => format!("r#{name}"),
        _ => name.to_string(),
    }
}

/// A C parameter's name as a Rust one: also not a name that the generated code uses itself.
fn parameter_name(name: &str) -> String {
    match name {
        "Some" | "None" | "Ok" | "Err" | "kernel" | "route" | "arrays" | "p" | "rt" => {
            format!("{name}_")
        }
        _ => function_name(name),
    }
}

#[cfg(test)]
mod tests;
