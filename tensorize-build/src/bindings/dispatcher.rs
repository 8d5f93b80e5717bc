//! One kernel's dispatcher: the function that has the C function's name, checks the guards and calls what
//! is to run.

use super::{
    Binding, Code, Proven, can_jump, elem, function_name, kernel_static, original_name,
    parameter_name,
};
use crate::arithmetic::{self, Names};
use crate::prototype::rust_type;
use crate::record::{Param, Prototype};
use std::fmt::Write as _;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::index::Idx;
use tensorize_ir::scalar::ScalarType;

/// Writes one kernel's code.
pub(super) struct Writer<'a> {
    pub(super) b: &'a Binding,
    pub(super) prototype: &'a Prototype,
    pub(super) params: Vec<RustParam<'a>>,
    pub(super) ret: Option<String>,
}

pub(super) struct RustParam<'a> {
    pub(super) c: &'a Param,
    pub(super) name: String,
    /// Of the value, or of what is pointed to.
    pub(super) ty: String,
    pub(super) scalar: ScalarType,
}

pub(super) struct Dispatched {
    pub(super) helpers: String,
    pub(super) dispatcher: String,
}

/// Lists of parameters, each followed by a comma.
#[derive(Default)]
pub(super) struct Passed {
    /// As the arguments of a call, the pointers taken from an array.
    pub(super) arguments: String,
    /// What each of them is, for the run time.
    pub(super) descriptions: String,
    /// The elements of that array.
    pub(super) pointers: String,
    /// How many there are.
    pub(super) count: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(b: &'a Binding) -> Option<Writer<'a>> {
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
    pub(super) fn raw_params(&self) -> String {
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

    pub(super) fn arrow(&self) -> String {
        self.ret
            .as_ref()
            .map_or(String::new(), |r| format!(" -> {r}"))
    }

    pub(super) fn names(&self) -> String {
        self.params
            .iter()
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    }

    pub(super) fn raw(&self) -> String {
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

    /// Calls `f` with what the parameters are called where they are raw ones.
    pub(super) fn with_names<T>(&self, f: impl FnOnce(&Names<'_>) -> T) -> T {
        f(&Names {
            integer: &|s| self.integer(s),
            float: &|s| self.float(s),
            pointer: &|s| self.array(s).ok(),
        })
    }

    /// How often the data leads on before the guard can be checked, or the extent be known.
    pub(super) fn depth(&self, proven: &Proven, ends: &[&Idx]) -> usize {
        let extent_of = |array: &str| {
            let mut all = proven.footprints.iter();
            let found = all.find(|f| *f.extent.array == *array)?;
            Some((found.extent.lo.clone(), found.extent.hi.clone()))
        };
        let all = ends.iter().map(|i| arithmetic::depth(i, &extent_of));
        all.max().unwrap_or(0)
    }

    pub(super) fn guard_depth(&self, proven: &Proven, guard: &Guard) -> usize {
        match guard {
            Guard::NonNegative(i) | Guard::Fits(i, _) => self.depth(proven, &[i]),
            Guard::Disjoint(a, b) => self.depth(proven, &[&a.lo, &a.hi, &b.lo, &b.hi]),
        }
    }

    pub(super) fn integer(&self, name: &str) -> Option<String> {
        let p = self.params.iter().find(|p| p.c.name == name)?;
        (!p.c.pointer && p.scalar.is_int()).then(|| p.name.clone())
    }

    pub(super) fn float(&self, name: &str) -> Option<String> {
        let p = self.params.iter().find(|p| p.c.name == name)?;
        (!p.c.pointer && p.scalar.is_float()).then(|| p.name.clone())
    }

    /// `let n = rt::int(n)?;` for each integer parameter that is mentioned.
    pub(super) fn lets(&self, guards: &[&Guard], footprints: &[&Footprint]) -> String {
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

    pub(super) fn proven(&self) -> Result<&'a Proven, String> {
        self.b.proven.as_ref().map_err(Clone::clone)
    }

    pub(super) fn footprint(&self, proven: &'a Proven, param: &RustParam) -> Option<&'a Footprint> {
        proven
            .footprints
            .iter()
            .find(|f| *f.extent.array == *param.c.name)
    }

    pub(super) fn all(&self) -> Result<Dispatched, String> {
        let proven = self.proven()?;
        for f in &proven.footprints {
            let known = |p: &RustParam| p.c.pointer && *f.extent.array == *p.c.name;
            if !self.params.iter().any(known) {
                return Err(format!("`{}` is no array parameter", f.extent.array));
            }
        }
        for f in &proven.footprints {
            let depth = self.depth(proven, &[&f.extent.lo, &f.extent.hi]);
            if depth > 1 && self.described().is_some() || depth >= arithmetic::MOST_STEPS {
                return Err(format!(
                    "how far `{}` reaches is known too late",
                    f.extent.array
                ));
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

    /// A function of all parameters: `Some(())` if the guards hold; and one that names the guard that doesn't, out of the way of calls
    /// that pass.
    pub(super) fn guards(&self, proven: &Proven) -> Result<String, String> {
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
        // What the data says may be looked at where the guards before it hold.
        guards.sort_by_key(|g| self.guard_depth(proven, g));
        let (mut body, mut named) = (self.lets(&guards, &[]), String::new());
        // To ask the data once more might take as long as the kernel.
        let (sizes, data): (Vec<&Guard>, Vec<&Guard>) =
            (guards.iter()).partition(|g| self.guard_depth(proven, g) == 0);
        for guard in guards {
            let condition = self.condition(guard)?;
            write!(body, "// {guard}\nif !({condition}) {{ return None; }}\n").ok();
            if sizes.contains(&guard) {
                let why = format!("a guard does not hold: {guard}");
                writeln!(
                    named,
                    "if (|| {{ {}Some({condition}) }})() != Some(true) {{ return {why:?}; }}",
                    self.lets(&[guard], &[]).replace('\n', " ")
                )
                .ok();
            }
        }
        let data: Vec<String> = data.iter().map(ToString::to_string).collect();
        let last = match data.is_empty() {
            true => "its sizes are too large".to_owned(),
            false => format!("a guard does not hold: {}", data.join(", or ")),
        };
        let (name, params) = (&self.b.name, self.raw_params());
        Ok(format!(
            "#[inline(always)]\nfn guards_{name}({params}) -> Option<()> {{\n{body}Some(())\n}}\n\n\
             #[cold]\n#[inline(never)]\nfn failing_{name}({params}) -> &'static str {{\n{named}{last:?}\n}}\n\n",
        ))
    }

    /// A guard as a condition in Rust.
    fn condition(&self, guard: &Guard) -> Result<String, String> {
        self.with_names(|names| match arithmetic::size_guard(guard, names) {
            Some(condition) => condition,
            None => {
                let Guard::Disjoint(a, b) = guard else {
                    return Err(format!("`{guard}` can't be checked"));
                };
                let side = |e: &tensorize_ir::guard::Extent| {
                    let array = self.array(&e.array)?;
                    let (lo, hi) = arithmetic::extent(e, names)?;
                    Ok::<_, String>(format!("{array}, {lo}, {hi}"))
                };
                Ok(format!("rt::apart({}, {})?", side(a)?, side(b)?))
            }
        })
    }

    pub(super) fn array(&self, name: &str) -> Result<String, String> {
        let param = self.params.iter().find(|p| p.c.pointer && p.c.name == name);
        param
            .map(|p| format!("{}.cast_const()", p.name_as_mut()))
            .ok_or_else(|| format!("`{name}` is no array parameter"))
    }

    /// A function of all parameters: the arrays with their footprints.
    pub(super) fn arrays(&self, proven: &Proven) -> Result<String, String> {
        let mut body = self.lets(&[], &proven.footprints.iter().collect::<Vec<_>>());
        let arrays: Vec<&RustParam> = self.params.iter().filter(|p| p.c.pointer).collect();
        write!(body, "Some([").ok();
        for p in &arrays {
            let footprint = self.footprint(proven, p);
            let (lo, hi) = match footprint {
                Some(f) => self.with_names(|names| arithmetic::extent(&f.extent, names))?,
                None => ("0".into(), "0".into()),
            };
            let writes = footprint.is_some_and(|f| f.writes);
            let members = self.described().and_then(|s| s.members(&p.c.name));
            let members = members.map_or("None".into(), |m| {
                format!(
                    "Some(rt::Members {{ stride: {}, at: &{:?} }})",
                    m.stride, m.at
                )
            });
            let depends =
                footprint.is_some_and(|f| f.reads_depend_on_data || f.writes_depend_on_data);
            write!(
                body,
                "\nrt::Array {{ name: {:?}, pointer: {}.cast(), elem: rt::Elem::{}, lo: {lo}, hi: {hi}, writes: {writes}, \
                 depends_on_data: {depends}, members: {members} }},",
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
    pub(super) fn size(&self, proven: &Proven) -> Result<String, String> {
        // To ask the data would take as long as the kernel.
        let by_sizes = proven.footprints.iter().filter(|f| !f.extent.hi.reads());
        let by_sizes: Vec<&Footprint> = by_sizes.collect();
        let mut body = self.lets(&[], &by_sizes);
        let mut sum = "0i64".to_string();
        for f in by_sizes {
            let (lo, hi) = self.with_names(|names| arithmetic::extent(&f.extent, names))?;
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

    /// The parameters where the pointers among them are elements of an array of this name.
    pub(super) fn passed(&self, array: &str) -> Passed {
        let mut passed = Passed::default();
        for p in &self.params {
            if p.c.pointer {
                write!(passed.arguments, "{array}[{}].cast(), ", passed.count).ok();
                write!(passed.pointers, "{}.cast(), ", p.name_as_mut()).ok();
                passed.descriptions += "rt::Argument::Array, ";
                passed.count += 1;
            } else {
                write!(passed.arguments, "{}, ", p.name).ok();
                write!(passed.descriptions, "rt::Argument::of({}), ", p.name).ok();
            }
        }
        passed
    }

    pub(super) fn dispatcher(&self) -> String {
        let name = &self.b.name;
        let (params, arrow, names) = (self.raw_params(), self.arrow(), self.names());
        let original = original_name(name);
        let Passed {
            arguments,
            descriptions,
            pointers,
            ..
        } = self.passed("p");
        let (linked, arms) = self.b.linked(
            &params,
            &arrow,
            &arguments,
            &format!("return unsafe {{ {original}({arguments}) }};"),
        );
        let without = format!("kernel.count_no_memory(); return unsafe {{ {original}({names}) }};");
        let foreign = format!("fn {original}({params}){arrow};\n{linked}");
        let (native, timed) = match self.b.native_call(&names, &without) {
            Some(call) => (
                format!(
                    "}} else if route == rt::Route::Native {{\nkernel.count_native();\n\
                     return {call};\n"
                ),
                format!(
                    "if route == rt::Route::Faster {{\n\
                     return kernel.run_faster(\nsuper::size_{name}({names}),\n\
                     || {call},\n\
                     || unsafe {{ {original}({names}) }},\n);\n}}\n"
                ),
            ),
            None => (String::new(), String::new()),
        };
        format!(
            "unsafe extern \"C\" {{\n{foreign}}}\n\n\
             /// `{name}` in {file}: the original, or code that was generated from its proven summary.\n\
             ///\n/// # Safety\n/// As in C.\n\
             #[unsafe(export_name = {name:?})]\n\
             pub unsafe extern \"C\" fn {rust_name}({params}){arrow} {{\n\
             // Before all else: a call that is too small for generated code shall cost no more than that.\n\
             if super::{kernel}.is_for_original(super::size_{name}({names})) {{\n\
             return unsafe {{ {original}({names}) }};\n}}\n\
             unsafe {{ {otherwise}({names}) }}\n}}\n\n\
             #[inline(never)]\n\
             unsafe extern \"C\" fn {otherwise}({params}){arrow} {{\n\
             let kernel = &super::{kernel};\n\
             let mut route = kernel.route();\n\
             if route == rt::Route::Faster {{ route = kernel.faster(super::size_{name}({names})); }}\n\
             if route != rt::Route::Original {{\n\
             if super::guards_{name}({names}).is_none() {{\n\
             kernel.count_guard_failed(super::failing_{name}({names}));\n\
             {native}\
             }} else {{\n\
             return unsafe {{ {longer}(route, {names}) }};\n\
             }}\n}}\n\
             kernel.count_original();\n\
             unsafe {{ {original}({names}) }}\n}}\n\n\
             // What takes its time, out of the way of what doesn't.\n\
             #[cold]\n#[inline(never)]\n\
             unsafe fn {longer}({unused}route: rt::Route, {params}){arrow} {{\n\
             let kernel = &super::{kernel};\n\
             {timed}\
             let arrays = super::arrays_{name}({names});\n\
             unsafe {{\nrt::run_elsewhere(\n\
             kernel,\nrt::Extent {{ size: super::size_{name}({names}), movable: true }},\narrays.as_ref().map(|a| a.as_slice()),\n&[{descriptions}],\n\
             |p| unsafe {{ {original}({arguments}) }},\n\
             |target, p| match target {{\n{arms}_ => unsafe {{ {original}({arguments}) }},\n}},\n\
             &[{pointers}],\n)\n}}\n}}\n",
            otherwise = format_args!("{name}__tensorize_otherwise"),
            longer = format_args!("{name}__tensorize_longer"),
            unused = if timed.is_empty() { "_" } else { "" },
            file = self.b.file,
            rust_name = function_name(name),
            kernel = kernel_static(name),
        )
    }
}

impl RustParam<'_> {
    /// The pointer as `*mut`.
    pub(super) fn name_as_mut(&self) -> String {
        if self.c.is_const {
            format!("{}.cast_mut()", self.name)
        } else {
            self.name.clone()
        }
    }
}
