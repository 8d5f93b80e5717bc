//! The generated Rust: raw names, dispatchers, safe wrappers.

pub(crate) mod entry;
mod safe;

use crate::arithmetic;
use crate::prototype::rust_type;
use crate::record::{Param, Prototype};
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
    /// Of tables of rows, by the array: the first column that is touched and one past the last.
    pub columns: BTreeMap<String, (Idx, Idx)>,
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
    },
    /// A Python module.
    Python {
        /// The module's file, relative to `OUT_DIR`.
        file: String,
        /// The function in it.
        entry: String,
    },
    /// None, and why.
    Absent(String),
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
    indented(&format!(
        "// Written by tensorize-build.\n\
         #[allow(unsafe_code, missing_docs, dead_code, non_snake_case, non_upper_case_globals, unused, clippy::all)]\n\
         mod generated {{\n\
         use ::tensorize_rt as rt;\n\n\
         {kernels}\
         static __LIBRARY: rt::Library = rt::Library::new(&[{list}]);\n\n\
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
                Code::Python { file, entry } => format!(
                    "rt::Code::Python {{ source: include_str!(concat!(env!(\"OUT_DIR\"), {:?})), entry: {entry:?} }}",
                    format!("/{file}")
                ),
                Code::Absent(why) => format!("rt::Code::Absent {{ why: {why:?} }}"),
            };
            format!("rt::Target {{ name: {:?}, tier: {}, code: {code} }}", t.target, tier(&t.tier))
        })
        .collect();
    format!(
        "static {}: rt::Kernel = rt::Kernel::new(\n{:?}, ({:?}, {}), {},\n&[{}],\n{},\n&[{}],\n);\n\n",
        kernel_static(&b.name),
        b.name,
        b.file,
        b.line,
        proven.map_or("None".into(), |p| format!("Some({})", tier(&p.tier))),
        guards.join(", "),
        why.map_or("None".into(), |w| format!("Some({w:?})")),
        targets.join(",\n"),
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

/// Writes one kernel's code.
struct Writer<'a> {
    b: &'a Binding,
    prototype: &'a Prototype,
    params: Vec<RustParam<'a>>,
    ret: Option<String>,
}

struct RustParam<'a> {
    c: &'a Param,
    name: String,
    /// Of the value, or of what is pointed to.
    ty: String,
    scalar: ScalarType,
}

struct Dispatched {
    helpers: String,
    dispatcher: String,
}

impl<'a> Writer<'a> {
    fn new(b: &'a Binding) -> Option<Writer<'a>> {
        let prototype = b.prototype.as_ref()?;
        let mut params = Vec::new();
        for c in &prototype.params {
            let scalar: ScalarType = c.scalar.parse().ok()?;
            params.push(RustParam {
                c,
                name: parameter_name(&c.name),
                ty: rust_type(&c.c, scalar),
                scalar,
            });
        }
        let ret = match &prototype.ret {
            Some(r) => Some(rust_type(&r.c, r.scalar.parse().ok()?)),
            None => None,
        };
        Some(Writer {
            b,
            prototype,
            params,
            ret,
        })
    }

    /// `a: *const u8, n: ::core::ffi::c_int`
    fn raw_params(&self) -> String {
        let params = self
            .params
            .iter()
            .map(|p| match (p.c.pointer, p.c.is_const) {
                (false, _) => format!("{}: {}", p.name, p.ty),
                (true, true) => format!("{}: *const {}", p.name, p.ty),
                (true, false) => format!("{}: *mut {}", p.name, p.ty),
            });
        params.collect::<Vec<_>>().join(", ")
    }

    fn arrow(&self) -> String {
        self.ret
            .as_ref()
            .map_or(String::new(), |r| format!(" -> {r}"))
    }

    fn names(&self) -> String {
        self.params
            .iter()
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn raw(&self) -> String {
        format!(
            "unsafe extern \"C\" {{\n/// `{}` in {}.\n#[link_name = {:?}]\npub fn {}({}){};\n}}\n",
            self.b.name,
            self.b.file,
            self.b.name,
            function_name(&self.b.name),
            self.raw_params(),
            self.arrow()
        )
    }

    fn integer(&self, name: &str) -> Option<String> {
        let p = self.params.iter().find(|p| p.c.name == name)?;
        (!p.c.pointer && p.scalar.is_int()).then(|| p.name.clone())
    }

    /// `let n = rt::int(n)?;` for each integer parameter that is mentioned.
    fn lets(&self, guards: &[&Guard], footprints: &[&Footprint]) -> String {
        let mut mentioned = Vec::new();
        for g in guards {
            match g {
                Guard::NonNegative(i) | Guard::Fits(i, _) => arithmetic::symbols(i, &mut mentioned),
                Guard::Disjoint(a, b) => {
                    for i in [&a.lo, &a.hi, &b.lo, &b.hi] {
                        arithmetic::symbols(i, &mut mentioned);
                    }
                }
            }
        }
        for f in footprints {
            arithmetic::symbols(&f.extent.lo, &mut mentioned);
            arithmetic::symbols(&f.extent.hi, &mut mentioned);
        }
        let names = mentioned.iter().filter_map(|s| self.integer(s));
        names
            .map(|n| format!("let {n} = rt::int({n})?;\n"))
            .collect()
    }

    fn proven(&self) -> Result<&'a Proven, String> {
        self.b.proven.as_ref().map_err(Clone::clone)
    }

    fn footprint(&self, proven: &'a Proven, param: &RustParam) -> Option<&'a Footprint> {
        proven
            .footprints
            .iter()
            .find(|f| *f.extent.array == *param.c.name)
    }

    fn all(&self) -> Result<Dispatched, String> {
        let proven = self.proven()?;
        for f in &proven.footprints {
            let known = |p: &RustParam| p.c.pointer && *f.extent.array == *p.c.name;
            if !self.params.iter().any(known) {
                return Err(format!("`{}` is no array parameter", f.extent.array));
            }
        }
        let mut helpers = self.guards(proven)? + &self.arrays(proven)?;
        if let Some(source) = self.described() {
            if !can_jump() {
                return Err("functions of its kind are not swapped on this machine".into());
            }
            let (more, dispatcher) = self.entry(source)?;
            helpers += &more;
            return Ok(Dispatched {
                helpers,
                dispatcher,
            });
        }
        Ok(Dispatched {
            helpers,
            dispatcher: self.dispatcher(),
        })
    }

    /// A function of all parameters: `Some(())` if the guards hold.
    fn guards(&self, proven: &Proven) -> Result<String, String> {
        let name_of = |s: &str| self.integer(s);
        // Those of all targets together: what one of them needs always holds in practice.
        let usable = self
            .b
            .targets
            .iter()
            .filter(|t| !matches!(t.code, Code::Absent(_)));
        let mut guards: Vec<&Guard> = proven.guards.iter().collect();
        for guard in usable.flat_map(|t| &t.guards) {
            if !guards.contains(&guard) {
                guards.push(guard);
            }
        }
        let mut body = self.lets(&guards, &[]);
        for guard in guards {
            let condition = match arithmetic::size_guard(guard, &name_of) {
                Some(condition) => condition?,
                None => {
                    let Guard::Disjoint(a, b) = guard else {
                        return Err(format!("`{guard}` can't be checked"));
                    };
                    let side = |e: &tensorize_ir::guard::Extent| {
                        let array = self.array(&e.array)?;
                        let (lo, hi) = arithmetic::extent(e, &name_of)?;
                        Ok::<_, String>(format!("{array}, {lo}, {hi}"))
                    };
                    format!("rt::apart({}, {})?", side(a)?, side(b)?)
                }
            };
            write!(body, "// {guard}\nif !({condition}) {{ return None; }}\n").ok();
        }
        Ok(format!(
            "#[inline(always)]\nfn guards_{}({}) -> Option<()> {{\n{body}Some(())\n}}\n\n",
            self.b.name,
            self.raw_params()
        ))
    }

    fn array(&self, name: &str) -> Result<String, String> {
        let param = self.params.iter().find(|p| p.c.pointer && p.c.name == name);
        param
            .map(|p| format!("{}.cast_const()", p.name_as_mut()))
            .ok_or_else(|| format!("`{name}` is no array parameter"))
    }

    /// A function of all parameters: the arrays with their footprints.
    fn arrays(&self, proven: &Proven) -> Result<String, String> {
        let name_of = |s: &str| self.integer(s);
        let mut body = self.lets(&[], &proven.footprints.iter().collect::<Vec<_>>());
        let arrays: Vec<&RustParam> = self.params.iter().filter(|p| p.c.pointer).collect();
        write!(body, "Some([").ok();
        for p in &arrays {
            let footprint = self.footprint(proven, p);
            let (lo, hi) = match footprint {
                Some(f) => arithmetic::extent(&f.extent, &name_of)?,
                None => ("0".into(), "0".into()),
            };
            let writes = footprint.is_some_and(|f| f.writes);
            let depends =
                footprint.is_some_and(|f| f.reads_depend_on_data || f.writes_depend_on_data);
            write!(
                body,
                "\nrt::Array {{ name: {:?}, pointer: {}.cast(), elem: rt::Elem::{}, lo: {lo}, hi: {hi}, writes: {writes}, \
                 depends_on_data: {depends} }},",
                p.c.name,
                p.name_as_mut(),
                elem(p.scalar),
            )
            .ok();
        }
        let size = self.size(proven)?;
        Ok(format!(
            "{size}fn arrays_{}({}) -> Option<[rt::Array; {}]> {{\n{body}\n])\n}}\n\n",
            self.b.name,
            self.raw_params(),
            arrays.len()
        ))
    }

    /// A function of all parameters: how many elements are touched.
    fn size(&self, proven: &Proven) -> Result<String, String> {
        let name_of = |s: &str| self.integer(s);
        let mut body = self.lets(&[], &proven.footprints.iter().collect::<Vec<_>>());
        let mut sum = "0i64".to_string();
        for f in &proven.footprints {
            let (lo, hi) = arithmetic::extent(&f.extent, &name_of)?;
            let len = if lo == "0i64" {
                hi
            } else {
                format!("{hi}.checked_sub({lo})?")
            };
            sum = if sum == "0i64" {
                len
            } else {
                format!("{sum}.checked_add({len})?")
            };
        }
        writeln!(body, "Some({sum})").ok();
        Ok(format!(
            "#[inline(always)]\nfn size_{}({}) -> i64 {{\nlet size = || -> Option<i64> {{\n{body}}};\n\
             size().unwrap_or(i64::MAX)\n}}\n\n",
            self.b.name,
            self.raw_params()
        ))
    }

    fn dispatcher(&self) -> String {
        let name = &self.b.name;
        let (params, arrow, names) = (self.raw_params(), self.arrow(), self.names());
        let original = original_name(name);
        let entry = self.b.targets.iter().find_map(|t| match &t.code {
            Code::Native { entry } => Some(entry.clone()),
            _ => None,
        });
        // With the pointers in an array `p`.
        let mut next = 0;
        let mut arguments = String::new();
        let mut descriptions = String::new();
        let mut pointers = String::new();
        for p in &self.params {
            if p.c.pointer {
                write!(arguments, "p[{next}].cast(), ").ok();
                write!(pointers, "{}.cast(), ", p.name_as_mut()).ok();
                descriptions += "rt::Argument::Array, ";
                next += 1;
            } else {
                write!(arguments, "{}, ", p.name).ok();
                write!(descriptions, "rt::Argument::of({}), ", p.name).ok();
            }
        }
        let declare = |entry: &str| format!("fn {entry}({params}){arrow};\n");
        let mut foreign = declare(&original);
        let native = match &entry {
            Some(entry) => {
                foreign += &declare(entry);
                format!(
                    "}} else if route == rt::Route::Faster {{\n\
                     return kernel.run_faster(\nsuper::size_{name}({names}),\n\
                     || unsafe {{ {entry}({names}) }},\n\
                     || unsafe {{ {original}({names}) }},\n);\n\
                     }} else if route == rt::Route::Native {{\nkernel.count_native();\n\
                     return unsafe {{ {entry}({names}) }};\n"
                )
            }
            None => String::new(),
        };
        let elsewhere = entry.as_deref().unwrap_or(&original);
        format!(
            "unsafe extern \"C\" {{\n{foreign}}}\n\n\
             /// `{name}` in {file}: the original, or code that was generated from its proven summary.\n\
             ///\n/// # Safety\n/// As in C.\n\
             #[unsafe(export_name = {name:?})]\n\
             pub unsafe extern \"C\" fn {rust_name}({params}){arrow} {{\n\
             let kernel = &super::{kernel};\n\
             let route = kernel.route();\n\
             if route != rt::Route::Original {{\n\
             if super::guards_{name}({names}).is_none() {{\n\
             kernel.count_guard_failed();\n\
             {native}\
             }} else {{\n\
             let arrays = super::arrays_{name}({names});\n\
             return unsafe {{\nrt::run_elsewhere(\n\
             kernel,\narrays.as_ref().map(|a| a.as_slice()),\n&[{descriptions}],\n\
             |p| unsafe {{ {original}({arguments}) }},\n\
             |p| unsafe {{ {elsewhere}({arguments}) }},\n\
             &[{pointers}],\n)\n}};\n\
             }}\n}}\n\
             kernel.count_original();\n\
             unsafe {{ {original}({names}) }}\n}}\n",
            file = self.b.file,
            rust_name = function_name(name),
            kernel = kernel_static(name),
        )
    }
}

impl RustParam<'_> {
    /// The pointer as `*mut`.
    fn name_as_mut(&self) -> String {
        if self.c.is_const {
            format!("{}.cast_mut()", self.name)
        } else {
            self.name.clone()
        }
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
