//! The safe wrappers: slices that are long enough, by the proven footprints.

use super::{Proven, RustParam, Writer, function_name};
use crate::arithmetic;
use std::fmt::Write as _;

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
        match checks {
            Ok((proven, checks)) => {
                let writes = |p: &RustParam| self.footprint(proven, p).is_some_and(|f| f.writes);
                let (mut params, mut arguments) = (Vec::new(), Vec::new());
                for p in &self.params {
                    let (n, ty) = (&p.name, &p.ty);
                    if !p.c.pointer {
                        params.push(format!("{n}: {ty}"));
                        arguments.push(n.clone());
                    } else if writes(p) {
                        params.push(format!("{n}: &mut [{ty}]"));
                        arguments.push(format!("{n}.as_mut_ptr()"));
                    } else {
                        params.push(format!("{n}: &[{ty}]"));
                        let cast = if p.c.is_const { "" } else { ".cast_mut()" };
                        arguments.push(format!("{n}.as_ptr(){cast}"));
                    }
                }
                format!(
                    "/// `{name}` on slices, whose lengths are checked against what is proven that it touches.\n\
                     pub fn {rust}({}) -> Result<{ret}, rt::Error> {{\n{checks}\
                     // SAFETY: the slices hold every element that the kernel touches at these sizes, and those that\n\
                     // are written overlap with no other.\n\
                     Ok(unsafe {{ sys::{rust}({}) }})\n}}\n\n",
                    params.join(", "),
                    arguments.join(", ")
                )
            }
            Err(why) => {
                let params = self.params.iter().map(|p| match p.c.pointer {
                    true => format!("{}: impl rt::AnySlice<{}>", p.name, p.ty),
                    false => format!("{}: {}", p.name, p.ty),
                });
                format!(
                    "/// `{name}` can't be called safely.\n\
                     pub fn {rust}({}) -> Result<{ret}, rt::Error> {{\n\
                     Err(rt::Error::NotProven {{ kernel: {name:?}, why: {why:?} }})\n}}\n\n",
                    params.collect::<Vec<_>>().join(", ")
                )
            }
        }
    }

    fn checks(&self, proven: &Proven) -> Result<String, String> {
        let name_of = |s: &str| self.integer(s);
        let mut checks = String::new();
        for guard in proven.guards.iter().chain(&proven.within_objects) {
            let Some(condition) = arithmetic::size_guard(guard, &name_of) else {
                continue;
            };
            let text = format!("{:?}", guard.to_string());
            write!(
                checks,
                "rt::hold({:?}, {text}, (|| {{\n{}Some({})\n}})())?;\n",
                self.b.name,
                self.lets(&[guard], &[]),
                condition?
            )
            .ok();
        }
        for p in self.params.iter().filter(|p| p.c.pointer) {
            let Some(f) = self.footprint(proven, p) else {
                continue;
            };
            let (lo, hi) = arithmetic::extent(&f.extent, &name_of)?;
            write!(
                checks,
                "// {}\nrt::fit({:?}, {:?}, (|| {{\n{}Some(({lo}, {hi}))\n}})(), {}.len())?;\n",
                f.extent,
                self.b.name,
                p.c.name,
                self.lets(&[], &[f]),
                p.name
            )
            .ok();
        }
        Ok(checks)
    }
}
