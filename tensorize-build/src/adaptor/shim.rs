//! The shim: the original's signature, and the flat dispatcher behind it.

use super::{Adaptor, I64, c_type};
use std::fmt::Write as _;
use tensorize_ir::signature::{Entry, Holder, Language, Number, Shape};

/// What taking the arguments apart comes to.
#[derive(Default)]
pub(super) struct Parts {
    /// Statements before the call.
    pub before: String,
    /// The flat arguments' expressions, by name.
    pub flat: Vec<(String, String)>,
    /// What the flat form has read already, so that the kernel must not write to it: address and size.
    fixed: Vec<(String, String)>,
    /// Vectors that get their elements when the call ends.
    moved: Vec<String>,
    /// All vectors whose length is read.
    vectors: Vec<String>,
    /// Conditions under which the flat form does not fit, with the reason.
    refused: Vec<(String, String)>,
    /// What is taken apart is a variable of the file, no copy.
    in_file: bool,
}

impl Parts {
    /// The flat form goes by what this holds now.
    fn fix(&mut self, value: &str) {
        self.fixed
            .push((format!("&{value}"), format!("sizeof({value})")));
    }

    /// That one vector is passed twice, one of which changes its length: the other one goes by what that was before.
    fn one_twice(&self) -> Vec<(String, String)> {
        let all = self.moved.iter().flat_map(|a| {
            let others = self.vectors.iter().filter(move |b| *b != a);
            others.map(move |b| format!("{} == {}", first_byte(a), first_byte(b)))
        });
        let why = "a vector that changes its length is passed as something else, too";
        all.map(|same| (same, why.into())).collect()
    }

    /// There is no flat form of a null pointer.
    fn not_null(&mut self, value: &str, called: &str) {
        self.refused
            .push((format!("!({value})"), format!("`{called}` is null")));
    }
}

/// Where an object lies, in C++: its class may have an `&` of its own.
pub(super) fn first_byte(value: &str) -> String {
    format!("&reinterpret_cast<const char &>({value})")
}

/// Whether the flat form works on it where it lies.
fn is_in_place(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Place { .. } | Shape::Struct { pointer: false, .. }
    )
}

impl Adaptor<'_> {
    /// A function `shim` with the original's signature that calls `dispatcher` with flat arguments.
    pub fn shim(&self, shim: &str, dispatcher: &str) -> Result<String, String> {
        if self.language() == Language::Cpp {
            return self.cpp_shim(shim, dispatcher);
        }
        let mut parts = Parts::default();
        let mut params = Vec::new();
        let mut addresses = Vec::new();
        for (i, p) in self.source.params.iter().enumerate() {
            let a = format!("a{i}");
            params.push(format!("{} {a}", self.param_type(i)));
            addresses.push(format!("(void *)&{a}"));
            self.take_apart(&p.shape, &a, &p.name, &mut parts)?;
        }
        if params.is_empty() {
            params.push("void".into());
        }
        self.take_globals(&mut parts)?;
        let (ret, mut back) = (self.ret(), self.ret());
        let (mut declare, mut end) = (String::new(), String::new());
        if let Some(shape) = &self.source.result {
            back = &self.source.returns;
            end = format!("    return {};\n", self.returned());
            if !matches!(shape, Shape::Argument { .. }) {
                declare =
                    format!("    {back} result; __builtin_memset(&result, 0, sizeof result);\n");
                addresses.push("(void *)&result".into());
                self.take_apart(shape, "result", "result", &mut parts)?;
            }
        }
        // An array has an element.
        if addresses.is_empty() {
            addresses.push("0".into());
        }
        let mut c = format!(
            "extern {ret} {dispatcher}(const struct tensorize_call *{});\n{back} {shim}({}) {{\n{declare}",
            self.flat_params(),
            params.join(", ")
        );
        writeln!(c, "    void *arguments[] = {{ {} }};", addresses.join(", ")).ok();
        c += "    struct tensorize_call call = { arguments, 0, 0, 0, 0, 0, 0, 0 };\n";
        self.finish(&mut c, &parts, dispatcher)?;
        c += &end;
        c += "}\n";
        Ok(c)
    }

    /// What a shim in C returns that has a result which is no number.
    fn returned(&self) -> String {
        match self.source.result {
            Some(Shape::Argument { number }) => format!("({})a{number}", self.source.returns),
            _ => "result".into(),
        }
    }

    /// The flat arguments that the variables of the file become.
    pub(super) fn take_globals(&self, parts: &mut Parts) -> Result<(), String> {
        for (i, g) in self.source.globals.iter().enumerate() {
            let value = self.global(i);
            if !is_in_place(&g.shape) {
                parts.fix(&value);
            }
            parts.in_file = true;
            self.take_apart(&g.shape, &value, &g.name, parts)?;
            parts.in_file = false;
        }
        Ok(())
    }

    /// The refusals and the call.
    pub(super) fn finish(
        &self,
        c: &mut String,
        parts: &Parts,
        dispatcher: &str,
    ) -> Result<(), String> {
        let returns_struct = self.language() == Language::C && self.source.result.is_some();
        let (back, end) = match self.ret {
            Some(_) => ("return ", String::new()),
            None if returns_struct => ("", format!(" return {};", self.returned())),
            None => ("", " return;".into()),
        };
        let nothing: Vec<&str> = self.flat.iter().map(|_| "0").collect();
        let nothing = nothing.join(", ");
        for (condition, why) in parts.refused.iter().chain(&parts.one_twice()) {
            writeln!(
                c,
                "    if ({condition}) {{ call.refused = {why:?}; {back}{dispatcher}(&call, {nothing});{end} }}"
            )
            .ok();
        }
        *c += &parts.before;
        if !parts.fixed.is_empty() {
            let ranges: Vec<String> = parts
                .fixed
                .iter()
                .map(|(at, size)| format!("(const char *)({at}), (const char *)({at}) + {size}"))
                .collect();
            writeln!(c, "    const void *fixed[] = {{ {} }};", ranges.join(", ")).ok();
            writeln!(
                c,
                "    call.fixed = fixed; call.fixed_count = {};",
                parts.fixed.len()
            )
            .ok();
        }
        if !parts.moved.is_empty() {
            let each =
                |v: &String| format!("{}, {v}.data(), {v}.data() + {v}.size()", first_byte(v));
            let moved: Vec<String> = parts.moved.iter().map(each).collect();
            writeln!(c, "    const void *moved[] = {{ {} }};", moved.join(", ")).ok();
            let count = parts.moved.len();
            writeln!(c, "    call.moved = moved; call.moved_count = {count};").ok();
        }
        let mut arguments = String::new();
        for f in self.flat {
            let found = parts.flat.iter().find(|(name, _)| *name == f.name);
            let (_, value) =
                found.ok_or_else(|| format!("`{}` comes from no parameter", f.name))?;
            write!(arguments, ", {value}").ok();
        }
        writeln!(c, "    {back}{dispatcher}(&call{arguments});").ok();
        Ok(())
    }

    /// Where a pointer points, or an iterator.
    fn address(&self, value: &str) -> String {
        match self.language() {
            Language::C => value.into(),
            Language::Cpp => format!("tensorize::address({value})"),
        }
    }

    /// What a vector says about itself is read at the start.
    fn fix_object(&self, value: &str, parts: &mut Parts) {
        let fixed = (first_byte(value), format!("sizeof({value})"));
        parts.fixed.push(fixed);
    }

    /// The same of one whose elements are written, which a short string has inside of itself.
    fn fix_around_elements(&self, value: &str, parts: &mut Parts) {
        let before = format!("tensorize::before({value})");
        parts.fixed.push((first_byte(value), before));
        let after = format!("tensorize::after({value})");
        let left = format!("({} + sizeof({value}) - {after})", first_byte(value));
        parts.fixed.push((after, left));
    }

    /// The flat arguments that a value becomes.
    pub(super) fn take_apart(
        &self,
        shape: &Shape,
        value: &str,
        called: &str,
        parts: &mut Parts,
    ) -> Result<(), String> {
        let array = |to: &str, e: String| -> Result<(String, String), String> {
            Ok((to.to_string(), format!("({} *)({e})", self.type_of(to)?)))
        };
        match shape {
            Shape::Unused | Shape::Argument { .. } | Shape::Member { .. } => {}
            Shape::Scalar { to } => parts.flat.push((to.clone(), value.into())),
            Shape::Numbers { pointer, at } => {
                let start = if *pointer {
                    parts.not_null(value, called);
                    format!("(const char *)({value})")
                } else if self.language() == Language::C {
                    format!("(const char *)&{value}")
                } else {
                    first_byte(value)
                };
                for Number { index, to } in at {
                    let (ty, number) = (self.type_of(to)?, format!("number{}", parts.flat.len()));
                    let place = format!("({start} + {index} * sizeof({ty}))");
                    writeln!(
                        parts.before,
                        "    {ty} {number}; __builtin_memcpy(&{number}, {place}, sizeof {number});"
                    )
                    .ok();
                    parts.fixed.push((place, format!("sizeof({ty})")));
                    parts.flat.push((to.clone(), number));
                }
            }
            Shape::Pointers { at } => {
                parts.not_null(value, called);
                for Entry { index, shape } in at {
                    let entry = format!("((void *const *)({value}))[{index}]");
                    parts.fix(&entry);
                    self.take_apart(shape, &entry, &format!("{called}[{index}]"), parts)?;
                }
            }
            Shape::Behind { object } => {
                parts.not_null(value, called);
                self.take_apart(object, &format!("(*{value})"), called, parts)?;
            }
            Shape::Pointer { to, given } | Shape::Rows { to, given, .. } => {
                parts.flat.push(array(to, self.address(value))?);
                if let Shape::Rows {
                    pitch, per_plane, ..
                } = shape
                {
                    // The dispatcher finds them.
                    let distances = [pitch].into_iter().chain(per_plane);
                    (parts.flat).extend(distances.map(|d| (d.clone(), "0".to_string())));
                }
                if let Some(given) = given {
                    parts.flat.push((given.clone(), format!("({value}) != 0")));
                }
            }
            Shape::Place { to, .. } => match self.language() {
                Language::C => parts.flat.push(array(to, format!("&{value}"))?),
                Language::Cpp => parts.flat.push(array(to, first_byte(value))?),
            },
            Shape::End { of, count } => {
                let begin = parts.flat.iter().find(|(name, _)| name == of);
                let (_, begin) = begin.ok_or_else(|| format!("`{of}` comes after its end"))?;
                let size = format!(
                    "({I64})sizeof({})",
                    c_type(self.find(of)?.scalar, self.language())
                );
                let end = self.address(value);
                let bytes = format!("(({I64})({end}) - ({I64})({begin}))");
                parts.refused.push((
                    format!("{bytes} % {size}"),
                    format!("`{called}` does not end an array that begins where `{of}` is"),
                ));
                parts
                    .flat
                    .push((count.clone(), format!("{bytes} / {size}")));
            }
            Shape::Struct {
                pointer,
                ty,
                fields,
            } => {
                let object = if *pointer {
                    parts.not_null(value, called);
                    format!("(({ty} *)({value}))")
                } else {
                    format!("({value})")
                };
                for f in fields {
                    let member = self.member(&object, *pointer, ty, f);
                    // By value it is our copy; in C++ it may be there by reference.
                    let is_copy = !parts.in_file
                        && !pointer
                        && !member.contains("->")
                        && self.language() == Language::C;
                    if !is_in_place(&f.shape) && !is_copy {
                        parts.fix(&member);
                    }
                    let called = format!("{called}{}{}", if *pointer { "->" } else { "." }, f.name);
                    self.take_apart(&f.shape, &member, &called, parts)?;
                }
            }
            // The shim declares what these are stored in, and makes the object of it.
            Shape::Optional { has_value, value } => {
                parts.flat.push((has_value.clone(), "&given".into()));
                self.take_apart(value, "held.value", called, parts)?;
            }
            // The dispatcher asks for what is returned.
            Shape::Vector { size: None, .. } => {
                let names = shape.flat().into_iter();
                let names = names.map(|name| (name.to_string(), "0".into()));
                parts.flat.extend(names);
            }
            Shape::Vector {
                to, size, resized, ..
            } => {
                let is_const = self.find(to)?.is_const;
                let start = match is_const {
                    true => format!("{value}.data()"),
                    false => format!("tensorize::written({value}, 0)"),
                };
                parts.flat.push(array(to, start)?);
                if let Some(size) = size {
                    parts
                        .flat
                        .push((size.clone(), format!("({I64}){value}.size()")));
                }
                if let Some(r) = resized {
                    parts.flat.push((r.clone(), "0".into()));
                }
                parts.vectors.push(value.into());
                match (is_const, resized) {
                    (true, _) => self.fix_object(value, parts),
                    (false, None) => self.fix_around_elements(value, parts),
                    (false, Some(_)) => {
                        self.fix_around_elements(value, parts);
                        parts.moved.push(value.into());
                    }
                }
            }
            Shape::Span { to, size, .. } => {
                parts.flat.push(array(to, format!("{value}.data()"))?);
                if let Some(size) = size {
                    parts
                        .flat
                        .push((size.clone(), format!("({I64}){value}.size()")));
                }
            }
            Shape::Records {
                holder,
                ty,
                members,
                size,
            } => {
                let start = match holder {
                    Holder::Pointer => self.address(value),
                    Holder::Vector | Holder::Span => format!("{value}.data()"),
                };
                parts.before += &self.same_size(ty, members)?;
                for m in members {
                    parts.flat.push(array(&m.to, start.clone())?);
                }
                if let Some(size) = size {
                    parts
                        .flat
                        .push((size.clone(), format!("({I64}){value}.size()")));
                }
                if *holder == Holder::Vector {
                    self.fix_object(value, parts);
                }
            }
            Shape::Nested {
                to,
                rows,
                pitch,
                resized,
            } => {
                parts.refused.push((
                    format!("!tensorize::even({value})"),
                    format!("the rows of `{called}` differ in length"),
                ));
                let table = format!("rows_{}", self.array_number(to));
                writeln!(
                    parts.before,
                    "    std::vector<const void *> {table}; for (const auto &row : {value}) {table}.push_back(row.data());"
                )
                .ok();
                parts.flat.push(array(to, format!("{table}.data()"))?);
                if let Some(rows) = rows {
                    parts
                        .flat
                        .push((rows.clone(), format!("({I64}){value}.size()")));
                }
                let length = format!("{value}.empty() ? 0 : ({I64}){value}[0].size()");
                parts.flat.push((pitch.clone(), length));
                if let Some(r) = resized {
                    parts.flat.push((r.clone(), "0".into()));
                }
                self.fix_object(value, parts);
            }
        }
        Ok(())
    }
}
