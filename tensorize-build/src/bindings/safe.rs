//! The safe wrappers: slices that are long enough, by the proven footprints.

use super::{Proven, RustParam, Writer, function_name};
use crate::arithmetic::{self, Names};
use std::fmt::Write as _;
use tensorize_ir::guard::{Footprint, Guard};
use tensorize_ir::signature::{Members, Shape, Source};

impl Writer<'_> {
    /// The safe wrapper.
    pub(super) fn safe(&self) -> String {
        let checks = self
            .proven()
            .and_then(|proven| Ok((proven, self.checks(proven)?)))
            .and_then(|checked| match self.described() {
                Some(_) if !self.b.is_dispatched() => {
                    Err("nothing that was generated can run".to_string())
                }
                _ => Ok(checked),
            });
        let (name, rust) = (&self.b.name, function_name(&self.b.name));
        let ret = self.ret.as_deref().unwrap_or("()");
        let shared = self.described().and_then(|s| {
            let globals = s.globals.iter().map(|g| &g.name);
            globals.chain(&s.shared).next()
        });
        let checks = match shared {
            None => checks.map_err(|why| format!("NotProven {{ kernel: {name:?}, why: {why:?} }}")),
            Some(variable) => Err(format!(
                "Shared {{ kernel: {name:?}, variable: {variable:?} }}"
            )),
        };
        match checks {
            Ok((proven, checks)) => {
                let writes = |p: &RustParam| self.footprint(proven, p).is_some_and(|f| f.writes);
                // Of the wrapper, of what it calls, and of the function that checks: lists of parameters and what is passed.
                let (mut params, mut arguments) = (Vec::new(), Vec::new());
                let (mut checked, mut shown) = (Vec::new(), Vec::new());
                let mut passed_on = Vec::new();
                for p in &self.params {
                    let (n, ty) = (&p.name, &p.ty);
                    if self.tested_by(&p.c.name).is_some() {
                        let (of, get) = match writes(p) {
                            true => (format!("&mut [{ty}]"), "as_mut_ptr()"),
                            false => (format!("&[{ty}]"), "as_ptr().cast_mut()"),
                        };
                        let cast = if p.c.is_const { ".cast_const()" } else { "" };
                        let by = if writes(p) { "as_mut" } else { "as_ref" };
                        let bind = if writes(p) { "mut " } else { "" };
                        params.push(format!("{bind}{n}: Option<{of}>"));
                        arguments.push(format!(
                            "{n}.{by}().map_or(::core::ptr::null_mut(), |s| s.{get}){cast}"
                        ));
                        checked.push(format!("{n}: Option<&[{ty}]>"));
                        shown.push(format!("{n}.as_deref()"));
                    } else if let Some(pointer) = self.test_of(&p.c.name) {
                        arguments.push(format!("{pointer}.is_some()"));
                        continue;
                    } else if !p.c.pointer {
                        params.push(format!("{n}: {ty}"));
                        arguments.push(n.clone());
                        checked.push(format!("{n}: {ty}"));
                        shown.push(n.clone());
                    } else {
                        let (of, get) = match writes(p) {
                            true => ("&mut ", "as_mut_ptr()"),
                            false if p.c.is_const => ("&", "as_ptr()"),
                            false => ("&", "as_ptr().cast_mut()"),
                        };
                        params.push(format!("{n}: {of}[{ty}]"));
                        arguments.push(format!("{n}.{get}"));
                        checked.push(format!("{n}: &[{ty}]"));
                        shown.push(n.clone());
                    }
                    passed_on.push(n.as_str());
                }
                let [params, arguments, checked, shown] =
                    [params, arguments, checked, shown].map(|list| list.join(", "));
                let call = format!(
                    "// SAFETY: the slices hold every element that the kernel touches at these sizes, and those that\n\
                     // are written overlap with no other.\n\
                     Ok(unsafe {{ sys::{rust}({arguments}) }})\n"
                );
                format!(
                    "/// `{name}` on slices, whose lengths are checked against what is proven that it touches.\n\
                     {structs}#[inline]\n\
                     pub fn {rust}({params}) -> Result<{ret}, rt::Error> {{\n\
                     if {name}__tensorize_check::<rt::AtAGlance>({shown}).is_err() {{\n\
                     return {in_full}({passed_on});\n}}\n\
                     {call}}}\n\n\
                     // Of what does not pass at a glance, some passes all the same, and for the rest there is an error.\n\
                     #[cold]\n#[inline(never)]\n\
                     fn {in_full}({params}) -> Result<{ret}, rt::Error> {{\n\
                     {name}__tensorize_check::<rt::InFull>({shown})?;\n\
                     {call}}}\n\n\
                     #[inline(always)]\n\
                     fn {name}__tensorize_check<C: rt::Check>({checked}) -> Result<(), C::Error> {{\n\
                     {checks}Ok(())\n}}\n\n",
                    structs = self.described().map(of_structs).unwrap_or_default(),
                    in_full = format_args!("{name}__tensorize_in_full"),
                    passed_on = passed_on.join(", "),
                )
            }
            Err(refusal) => {
                let params = self.params.iter().map(|p| match p.c.pointer {
                    true => format!("{}: impl rt::AnySlice<{}>", p.name, p.ty),
                    false => format!("{}: {}", p.name, p.ty),
                });
                format!(
                    "/// `{name}` can't be called safely.\n\
                     pub fn {rust}({}) -> Result<{ret}, rt::Error> {{\n\
                     Err(rt::Error::{refusal})\n}}\n\n",
                    params.collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    /// Pointers that may be null, with the flat parameter that says whether they aren't.
    fn nullable(&self) -> Vec<(&str, &str)> {
        let leaves = self.described().map(|s| s.leaves()).unwrap_or_default();
        let given = leaves.into_iter().filter_map(|leaf| match leaf {
            Shape::Pointer {
                to,
                given: Some(given),
            }
            | Shape::Rows {
                to,
                given: Some(given),
                ..
            } => Some((to.as_str(), given.as_str())),
            _ => None,
        });
        given.collect()
    }

    fn tested_by(&self, pointer: &str) -> Option<&str> {
        let mut all = self.nullable().into_iter();
        all.find(|(to, _)| *to == pointer).map(|(_, given)| given)
    }

    /// The Rust name of the pointer that a parameter is about.
    fn test_of(&self, given: &str) -> Option<&str> {
        let (to, _) = self.nullable().into_iter().find(|(_, g)| *g == given)?;
        let found = self.params.iter().find(|p| p.c.name == to);
        found.map(|p| p.name.as_str())
    }

    /// Guards and lengths: first those that the sizes decide, then those that the data decides in arrays that are
    /// long enough.
    fn checks(&self, proven: &Proven) -> Result<String, String> {
        let mut checks = String::new();
        for p in &self.params {
            // Guards may speak of it.
            if let Some(pointer) = self.test_of(&p.c.name) {
                writeln!(checks, "let {} = {pointer}.is_some();", p.name).ok();
            }
        }
        let never = |g: &Guard| match g {
            Guard::NonNegative(i) => i.as_constant().is_some_and(|c| c < 0),
            _ => false,
        };
        if proven.within_objects.iter().any(never) {
            return Err("the sizes alone don't say whether all that it reaches is there".into());
        }
        let guards = proven.guards.iter().chain(&proven.within_objects);
        let extents = (proven.footprints.iter()).map(|f| self.extent_depth(proven, f));
        // A guard may look at the data where no extent does, as of `hist[a[i]]++` on a `hist` of a known length.
        let asked = guards.clone().map(|g| self.guard_depth(proven, g));
        for depth in 0..=extents.chain(asked).max().unwrap_or(0) {
            for guard in guards.clone() {
                if self.guard_depth(proven, guard) == depth {
                    checks += &self.hold(guard)?;
                }
            }
            for p in self.params.iter().filter(|p| p.c.pointer) {
                let footprint = self.footprint(proven, p);
                if let Some(f) = footprint.filter(|f| self.extent_depth(proven, f) == depth) {
                    checks += &self.fit(p, f)?;
                }
            }
        }
        Ok(checks)
    }

    fn extent_depth(&self, proven: &Proven, f: &Footprint) -> usize {
        self.depth(proven, &[&f.extent.lo, &f.extent.hi])
    }

    /// Calls `f` with what the parameters are called where arrays are slices.
    fn with_slices<T>(&self, f: impl FnOnce(&Names<'_>) -> T) -> T {
        f(&Names {
            integer: &|s| self.integer(s),
            float: &|s| self.float(s),
            pointer: &|s| {
                let mut arrays = self.params.iter().filter(|p| p.c.pointer);
                let found = arrays.find(|p| p.c.name == s && self.tested_by(s).is_none())?;
                Some(format!("{}.as_ptr()", found.name))
            },
        })
    }

    /// The check of a guard; nothing for those that slices meet anyway.
    fn hold(&self, guard: &Guard) -> Result<String, String> {
        let Some(condition) = self.with_slices(|names| arithmetic::size_guard(guard, names)) else {
            return Ok(String::new());
        };
        let text = format!("{:?}", guard.to_string());
        Ok(format!(
            "C::hold({:?}, {text}, (|| {{\n{}Some({})\n}})())?;\n",
            self.b.name,
            self.lets(&[guard], &[]),
            condition?
        ))
    }

    /// The check that a slice is long enough.
    fn fit(&self, p: &RustParam, f: &Footprint) -> Result<String, String> {
        let (lo, hi) = self.with_slices(|names| arithmetic::extent(&f.extent, names))?;
        let (open, close) = match self.tested_by(&p.c.name) {
            Some(_) => (format!("if let Some({0}) = &{0} {{\n", p.name), "}\n"),
            None => (String::new(), ""),
        };
        Ok(format!(
            "{open}// {}\nC::fit({:?}, {:?}, (|| {{\n{}Some(({lo}, {hi}))\n}})(), {}.len())?;\n{close}",
            f.extent,
            self.b.name,
            p.c.name,
            self.lets(&[], &[f]),
            p.name
        ))
    }
}

/// What slices hold that are members of structs, as documentation.
fn of_structs(source: &Source) -> String {
    let mut text = String::new();
    for leaf in source.leaves() {
        let Shape::Records { ty, members, .. } = leaf else {
            continue;
        };
        for Members { to, stride, at } in members {
            let at: Vec<String> = at.iter().map(|(a, b)| format!("{a} .. {b}")).collect();
            let at = at.join(", ");
            writeln!(
                text,
                "///\n/// `{to}` is the memory of structs `{ty}`, seen as numbers of one type: of every {stride} elements, {at} are \
                 members that it uses."
            )
            .ok();
        }
    }
    text
}
