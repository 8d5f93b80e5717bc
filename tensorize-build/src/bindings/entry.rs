//! The dispatcher of a kernel whose own parameters are others than the flat ones: the shim calls it with the
//! original's arguments at hand, Rust with flat ones alone.

use super::{Passed, Proven, Writer, function_name, kernel_static, original_name};
use crate::adaptor::{Adaptor, Flat};
use crate::arithmetic;
use std::fmt::Write as _;
use tensorize_ir::signature::{Shape, Source};

/// The shim's name; a jump to it has the original's.
pub fn shim_name(name: &str) -> String {
    format!("{name}__tensorize_shim")
}

/// The name of what the shim calls.
pub fn entry_name(name: &str) -> String {
    format!("{name}__tensorize_entry")
}

/// The name of the place that has the original's name, too.
pub fn trampoline_name(name: &str) -> String {
    format!("{name}__tensorize_trampoline")
}

/// The name of the original itself, as the source has it.
pub fn source_name(name: &str) -> String {
    format!("{name}__tensorize_source")
}

/// An array that needs something done before a call from a shim, and after.
enum Special {
    /// A table of row pointers, or of tables of them.
    Rows {
        to: String,
        pitch: String,
        per_plane: Option<String>,
    },
    /// Vectors of one length.
    Nested {
        to: String,
        rows: String,
        pitch: String,
    },
    /// The kernel decides how long it gets; it may have rows.
    Grown {
        to: String,
        resized: String,
        pitch: Option<String>,
        /// The rows' length where it is given, if there are rows.
        rows: Option<String>,
    },
}

fn specials(source: &Source) -> Vec<Special> {
    fn of(shape: &Shape, into: &mut Vec<Special>) {
        match shape {
            Shape::Rows {
                to,
                pitch,
                per_plane,
                ..
            } => into.push(Special::Rows {
                to: to.clone(),
                pitch: pitch.clone(),
                per_plane: per_plane.clone(),
            }),
            Shape::Struct { fields, .. } => {
                fields.iter().for_each(|f| of(&f.shape, into));
            }
            Shape::Pointers { at } => at.iter().for_each(|e| of(&e.shape, into)),
            Shape::Behind { object } => of(object, into),
            Shape::Vector {
                to,
                resized: Some(r),
                ..
            } => into.push(Special::Grown {
                to: to.clone(),
                resized: r.clone(),
                pitch: None,
                rows: None,
            }),
            Shape::Nested {
                to,
                rows,
                pitch,
                resized: Some(r),
            } => into.push(Special::Grown {
                to: to.clone(),
                resized: r.clone(),
                pitch: Some(pitch.clone()),
                rows: rows.clone(),
            }),
            Shape::Nested {
                to,
                rows: Some(rows),
                pitch,
                ..
            } => into.push(Special::Nested {
                to: to.clone(),
                rows: rows.clone(),
                pitch: pitch.clone(),
            }),
            _ => {}
        }
    }
    let mut all = Vec::new();
    let shapes = source.given().chain(&source.result);
    shapes.for_each(|shape| of(shape, &mut all));
    all
}

impl Writer<'_> {
    /// How the source's parameters become the flat ones, if they are others.
    pub(super) fn described(&self) -> Option<&Source> {
        self.prototype.source.as_ref()
    }

    /// The kernel's flat form, for shim and thunk.
    pub(super) fn with_adaptor<T>(&self, source: &Source, f: impl FnOnce(&Adaptor<'_>) -> T) -> T {
        let flat: Vec<Flat> = self
            .params
            .iter()
            .map(|p| Flat {
                name: p.c.name.clone(),
                scalar: p.scalar,
                array: p.c.pointer,
                is_const: p.c.is_const,
            })
            .collect();
        let ret = self.prototype.ret.as_ref();
        f(&Adaptor {
            source,
            flat: &flat,
            ret: ret.and_then(|r| r.scalar.parse().ok()),
        })
    }

    /// The C or C++ beside the original.
    pub(super) fn native_code(&self, source: &Source) -> Result<String, String> {
        let name = &self.b.name;
        self.with_adaptor(source, |adaptor| {
            Ok(adaptor.globals()
                + &adaptor.alias(&source_name(name))?
                + &adaptor.thunk(&original_name(name), &source_name(name))?
                + &adaptor.shim(&shim_name(name), &entry_name(name))?)
        })
    }

    /// `(lo, hi)` of an array as the body of a closure that gives an `Option`.
    pub(super) fn extent_of(&self, proven: &Proven, array: &str) -> Result<String, String> {
        let Some(f) = proven.footprints.iter().find(|f| *f.extent.array == *array) else {
            return Ok("Some((0, 0))".into());
        };
        if f.extent.hi.reads() {
            return Err(format!("the data decides how far `{array}` reaches"));
        }
        let (lo, hi) = self.with_names(|names| arithmetic::extent(&f.extent, names))?;
        Ok(format!("{}Some(({lo}, {hi}))", self.lets(&[], &[f])))
    }

    pub(super) fn rust_name(&self, name: &str) -> String {
        let found = self.params.iter().find(|p| p.c.name == name);
        found.map_or(name.to_string(), |p| p.name.clone())
    }

    fn array_number(&self, name: &str) -> usize {
        let mut arrays = self.params.iter().filter(|p| p.c.pointer);
        arrays.position(|p| p.c.name == name).unwrap_or(0)
    }

    /// A function of all parameters: for each array the bounds of what is touched, in rows for a table.
    fn bounds(&self, proven: &Proven, specials: &[Special]) -> Result<String, String> {
        let count = self.params.iter().filter(|p| p.c.pointer).count();
        let name = &self.b.name;
        let mut body = format!(
            "let arrays = arrays_{name}({})?;\nlet mut bounds = [0i64; {}];\n\
             for (i, a) in arrays.iter().enumerate() {{ bounds[2 * i] = a.lo; bounds[2 * i + 1] = a.hi; }}\n",
            self.names(),
            2 * count
        );
        for s in specials {
            if let Special::Rows { to, pitch, .. } = s {
                let n = self.array_number(to);
                write!(
                    body,
                    "let range = rt::row_range(&|{}: i64| {{\n{}\n}})?;\nbounds[{}] = range.lo;\nbounds[{}] = range.hi;\n",
                    self.rust_name(pitch),
                    self.extent_of(proven, to)?,
                    2 * n,
                    2 * n + 1
                )
                .ok();
            }
        }
        Ok(format!(
            "fn bounds_{name}({}) -> Option<[i64; {}]> {{\n{body}Some(bounds)\n}}\n\n",
            self.raw_params(),
            2 * count
        ))
    }

    /// Helpers and dispatcher.
    pub(super) fn entry(&self, source: &Source) -> Result<(String, String), String> {
        self.native_code(source)?;
        let proven = self.proven()?;
        let specials = specials(source);
        let helpers = self.bounds(proven, &specials)?;
        let name = &self.b.name;
        let (params, arrow, names) = (self.raw_params(), self.arrow(), self.names());
        let (original, entry) = (original_name(name), entry_name(name));
        let (mut declare, mut prepare, mut room) = (String::new(), String::new(), String::new());
        let (mut finish, mut refresh) = (String::new(), String::new());
        let (mut tables, mut planes) = (String::new(), String::new());
        let mut blocks = Vec::new();
        let mut gathered = Vec::new();
        let mut sometimes = Vec::new();
        let mut grows = false;
        for (i, s) in specials.iter().enumerate() {
            match s {
                Special::Rows {
                    to,
                    pitch,
                    per_plane,
                } => {
                    let table = match per_plane {
                        None => self.prepared_table(i, to, pitch)?,
                        Some(rows) => self.prepared_planes(i, to, pitch, rows)?,
                    };
                    declare += &table.declare;
                    prepare += &table.prepare;
                    match per_plane {
                        None => write!(tables, "(__table_{i}, __range_{i}), ").ok(),
                        Some(_) => write!(planes, "&*__planes_{i}.borrow(), ").ok(),
                    };
                    if table.may_be_copied {
                        writeln!(finish, "unsafe {{ __block_{i}.borrow().scatter() }};").ok();
                        writeln!(refresh, "unsafe {{ __block_{i}.borrow_mut().refresh() }};").ok();
                        blocks.push(format!("&*__block_{i}.borrow()"));
                        sometimes.push(self.array_number(to));
                    }
                }
                Special::Nested { to, rows, pitch } => {
                    let (a, r, p) = (
                        self.rust_name(to),
                        self.rust_name(rows),
                        self.rust_name(pitch),
                    );
                    let writes = proven
                        .footprints
                        .iter()
                        .any(|f| *f.extent.array == **to && f.writes);
                    let size = self.size_of(to)?;
                    writeln!(
                        declare,
                        "let __block_{i} = ::core::cell::RefCell::new(rt::Block::default());"
                    )
                    .ok();
                    writeln!(
                        prepare,
                        "{a} = unsafe {{ __block_{i}.borrow_mut().gather({a} as *const *mut ::core::ffi::c_void, {r}, {p}, {size}, {writes}) }}?.cast();"
                    )
                    .ok();
                    writeln!(finish, "unsafe {{ __block_{i}.borrow().scatter() }};").ok();
                    writeln!(refresh, "unsafe {{ __block_{i}.borrow_mut().refresh() }};").ok();
                    blocks.push(format!("&*__block_{i}.borrow()"));
                    gathered.push(self.array_number(to));
                }
                Special::Grown {
                    to,
                    resized,
                    pitch,
                    rows,
                } => {
                    grows = true;
                    let (a, n) = (self.rust_name(to), self.array_number(to));
                    let p = pitch.as_ref().map(|p| self.rust_name(p));
                    if let Some(p) = &p {
                        let empty = rows.as_ref().map_or("true".to_string(), |r| {
                            format!("{} == 0", self.rust_name(r))
                        });
                        write!(
                            prepare,
                            "if {empty} {{\n{p} = rt::row_range(&|{p}: i64| {{\n{}\n}}).ok_or(\"the length of its rows is not known\")?.pitch;\n}}\n",
                            self.extent_of(proven, to)?
                        )
                        .ok();
                    }
                    let r = self.rust_name(resized);
                    writeln!(declare, "let mut __size_{i} = [0i64; 2];").ok();
                    writeln!(prepare, "{r} = __size_{i}.as_mut_ptr();").ok();
                    let p = p.unwrap_or("0".into());
                    let read = |k: usize| format!("unsafe {{ {r}.add({k}).read() }}");
                    let sizes = match pitch {
                        Some(_) => format!("{}, {}", read(0), read(1)),
                        None => format!("0, {}", read(0)),
                    };
                    writeln!(finish, "unsafe {{ __call.settle({n}, {sizes}, {p}) }};").ok();
                    write!(
                        room,
                        "let __end = (|| {{\n{}\n}})().map_or(-1, |(_, hi): (i64, i64)| hi);\n\
                         {a} = unsafe {{ __call.allocate({n}, __end, {p}) }}?.cast();\n",
                        self.extent_of(proven, to)?
                    )
                    .ok();
                }
            }
        }
        let Passed {
            arguments,
            descriptions,
            pointers,
            count,
        } = self.passed("__p");
        let others: Vec<String> = (0..count)
            .filter(|n| !gathered.contains(n) && !sometimes.contains(n))
            .map(|n| format!("&__arrays[{n}]"))
            .collect();
        let more: String = sometimes
            .iter()
            .map(|n| format!("if !__gather {{ __others.push(&__arrays[{n}]); }}\n"))
            .collect();
        let borrowed = blocks.join(", ");
        let apart = match blocks.is_empty() {
            true => String::new(),
            false => format!(
                "let mut __others: Vec<&rt::Array> = vec![{}];\n{more}rt::rows_apart(&[{}], &__others)?;\n",
                others.join(", "),
                borrowed
            ),
        };
        let with_bounds = "__bounds.as_ref().map_or(::core::ptr::null(), |b| b.as_ptr())";
        let run_original =
            format!("unsafe {{ {original}(__call.arguments, {with_bounds}, {names}) }}");
        let mut mutable = String::new();
        for p in &self.params {
            let star = match (p.c.pointer, p.c.is_const) {
                (false, _) => "",
                (true, true) => "*const ",
                (true, false) => "*mut ",
            };
            write!(mutable, "mut {}: {star}{}, ", p.name, p.ty).ok();
        }
        let mut foreign = format!(
            "fn {original}(arguments: *const *mut ::core::ffi::c_void, bounds: *const i64, {params}){arrow};\n\
             fn {}();\n",
            trampoline_name(name)
        );
        let on_copies = format!(
            "let __r = unsafe {{ {original}(__call.arguments, {with_bounds}, {arguments}) }};\n\
             if __call.from_source() {{\n{refresh}}}\n__by_original.set(true);\n"
        );
        let (declared, arms) = self.b.linked(
            &params,
            &arrow,
            &arguments,
            &format!("{on_copies}return __r;"),
        );
        let otherwise = format!("__kernel.count_no_memory(); return {run_original};");
        foreign += &declared;
        let linked = match self.b.native_call(&names, &otherwise) {
            Some(native) => format!(
                "let __native = || {{\nlet __r = {native};\nif __call.from_source() {{ __finish(); }}\n__r\n}};\n\
                 if __route == rt::Route::Faster {{ __route = __kernel.faster(super::size_{name}({names})); }}\n\
                 if __route == rt::Route::Faster {{\n\
                 return __kernel.run_faster(super::size_{name}({names}), __native, || {run_original});\n}}\n\
                 if __route == rt::Route::Original {{\n__kernel.count_original();\nreturn {run_original};\n}}\n\
                 if __route == rt::Route::Native {{\n__kernel.count_native();\nreturn __native();\n}}\n"
            ),
            None => String::new(),
        };
        let bounds_of = format!("super::bounds_{name}({names})");
        let source_bounds = match grows {
            // The thunk copies what the original gives to where the flat form would have put it.
            true => bounds_of.clone(),
            false => "None".into(),
        };
        // The rows may lie anywhere, or others between them.
        let again = match sometimes.is_empty() {
            true => "",
            false => {
                "let __prepared = match __prepared {\n\
                 Err(why) if __call.from_source() && __call.fits().is_ok() => __prepare(true).map_err(|more| format!(\"{why}; copied, {more}\").into()),\n\
                 other => other,\n};\n"
            }
        };
        // How large a call is is known before anything is looked at, if the arguments say it as they are.
        let at_once = match specials.is_empty() {
            true => format!(
                "// Before all else: a call that is too small for generated code shall cost no more than that.\n\
                 if let Some(__arguments) = unsafe {{ rt::Call::arguments(__call) }} {{\n\
                 if super::{}.is_for_original(super::size_{name}({names})) {{\n\
                 return unsafe {{ {original}(__arguments, ::core::ptr::null(), {names}) }};\n}}\n}}\n",
                kernel_static(name)
            ),
            false => String::new(),
        };
        let dispatcher = format!(
            "unsafe extern \"C\" {{\n{foreign}}}\n\n\
             /// Has the name of `{name}` for C, and leads to its shim.\n\
             #[used]\nstatic __TRAMPOLINE_{name}: unsafe extern \"C\" fn() = {};\n\n\
             /// `{name}` in {file}, with the parameters of its flat form: the original, or code that was\n\
             /// generated from its proven summary.\n\
             ///\n/// # Safety\n/// As in C.\n\
             pub unsafe extern \"C\" fn {rust}({params}){arrow} {{\n\
             unsafe {{ {entry}(::core::ptr::null(), {names}) }}\n}}\n\n\
             #[unsafe(export_name = {entry:?})]\n\
             unsafe extern \"C\" fn {entry}(__call: *const rt::Call, {params}){arrow} {{\n\
             {at_once}\
             unsafe {{ {otherwise}(__call, {names}) }}\n}}\n\n\
             #[inline(never)]\n\
             unsafe extern \"C\" fn {otherwise}(__call: *const rt::Call, {mutable}){arrow} {{\n\
             let __kernel = &super::{kernel};\n\
             let __call = unsafe {{ rt::Call::of(__call) }};\n\
             let mut __route = __kernel.route();\n\
             let mut __bounds = None;\n\
             {declare}\
             if __route != rt::Route::Original {{\n\
             let mut __prepare = |__gather: bool| -> Result<(), rt::Misfit> {{\n\
             __call.fits()?;\n\
             if __call.from_source() {{\n{prepare}\
             super::guards_{name}({names}).ok_or_else(|| super::failing_{name}({names}))?;\n\
             {room}\
             let __arrays = super::arrays_{name}({names}).ok_or(\"its sizes are too large\")?;\n\
             __call.keeps_apart(&__arrays, &[{tables}], &[{planes}], &[{borrowed}])?;\n\
             {apart}\
             __bounds = {source_bounds};\n\
             }} else {{\n\
             super::guards_{name}({names}).ok_or_else(|| super::failing_{name}({names}))?;\n\
             __bounds = {bounds_of};\n\
             }}\n\
             Ok(())\n\
             }};\n\
             let __prepared = __prepare(false);\n\
             {again}\
             match __prepared {{\n\
             Err(why) => __kernel.count_misfit(why),\n\
             Ok(()) => {{\n\
             let __finish = || {{\n{finish}}};\n\
             {linked}\
             let __arrays = super::arrays_{name}({names});\n\
             let __by_original = ::core::cell::Cell::new(false);\n\
             let __r = unsafe {{\nrt::run_elsewhere(\n\
             __kernel,\nrt::Extent {{ size: super::size_{name}({names}), movable: !__call.from_source() }},\n__arrays.as_ref().map(|a| a.as_slice()),\n&[{descriptions}],\n\
             |__p| {{\n{on_copies}__r\n}},\n\
             |__target, __p| match __target {{\n{arms}_ => unreachable!(),\n}},\n\
             &[{pointers}],\n)\n}};\n\
             if __call.from_source() && !__by_original.get() {{ __finish(); }}\n\
             return __r;\n\
             }}\n}}\n}}\n\
             __kernel.count_original();\n\
             if !__call.from_source() && __bounds.is_none() {{ __bounds = {bounds_of}; }}\n\
             {run_original}\n}}\n",
            trampoline_name(name),
            otherwise = format_args!("{name}__tensorize_otherwise"),
            file = self.b.file,
            rust = function_name(name),
            kernel = kernel_static(name),
        );
        Ok((helpers, dispatcher))
    }

    pub(super) fn size_of(&self, array: &str) -> Result<usize, String> {
        let found = self.params.iter().find(|p| p.c.name == array);
        let param = found.ok_or_else(|| format!("`{array}` is no array parameter"))?;
        Ok(param.scalar.bytes())
    }
}
