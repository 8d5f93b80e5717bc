//! The thunk: flat arguments, and the original's own if there are any.

use super::{Adaptor, Around, I64, c_type, local};
use std::fmt::Write as _;
use tensorize_ir::signature::{Holder, Language, Members, Number, Shape};

impl Adaptor<'_> {
    /// A declaration of the original under a name of our own, which stays when its name leads elsewhere.
    pub fn alias(&self, alias: &str) -> Result<String, String> {
        let symbol = &self.source.symbol;
        if self.language() == Language::C {
            return Ok(format!(
                "extern __typeof__({}) {alias} __attribute__((alias(\"{symbol}\")));\n",
                self.source.call
            ));
        }
        let params: Vec<String> = (0..self.source.params.len())
            .map(|i| self.param_type(i))
            .collect();
        Ok(format!(
            "extern \"C\" tensorize::same<{}> {alias}({}) __attribute__((alias(\"{symbol}\")));\n",
            self.source.returns,
            params.join(", ")
        ))
    }

    /// A function `entry(arguments, extents, flat…)` that calls `target`: with the original's arguments, to
    /// which `arguments` points, or if that is null with ones that are built from the flat ones. Of each array
    /// `extents` has the first element that is there and one past the last; of a table of rows, the same
    /// for rows.
    pub fn thunk(&self, entry: &str, target: &str) -> Result<String, String> {
        let mut around = Around::default();
        let mut built = Vec::new();
        for p in &self.source.params {
            built.push(self.argument(&p.shape, &p.ty, &mut around)?);
        }
        for (i, g) in self.source.globals.iter().enumerate() {
            self.lend(&g.shape, &self.global(i), &mut around)?;
        }
        let given = (0..self.source.params.len())
            .map(|i| self.given_argument(i))
            .collect::<Vec<_>>();
        let linkage = match self.language() {
            Language::C => "",
            Language::Cpp => "extern \"C\" ",
        };
        let mut c = format!(
            "{linkage}{} {entry}(void *const *arguments, const {I64} *extents{}) {{\n    (void)arguments; (void)extents;\n",
            self.ret(),
            self.flat_params()
        );
        // The arguments of a template are written as they are where it stands.
        if let Some((name, _)) = target.split_once('<')
            && let Some((scopes, own)) = name.rsplit_once("::")
            && own != "operator"
        {
            let ends = scopes.match_indices("::").map(|(at, _)| at);
            for end in ends.chain([scopes.len()]).filter(|end| *end > 0) {
                writeln!(c, "    using namespace {};", &scopes[..end]).ok();
            }
        }
        let (store, back) = match self.ret {
            Some(_) => (
                format!("{0} tensorize_r = ({0})", self.ret()),
                "    return tensorize_r;\n",
            ),
            None => (String::new(), "    return;\n"),
        };
        let mut with_context = self.call(target, &given, &store)?;
        // A vector that has grown is not where the flat form would have put it.
        for (i, p) in self.source.params.iter().enumerate() {
            let held = format!(
                "(*static_cast<tensorize::bare<{}> *>(arguments[{i}]))",
                p.ty
            );
            with_context += &self.grown(&p.shape, &held);
        }
        write!(c, "    if (arguments) {{\n{with_context}{back}    }}\n").ok();
        c += &around.before;
        if self.source.result.is_some() {
            c += &self.call(target, &built, &store)?;
        } else {
            writeln!(c, "    {store}{};", self.invoked(target, &built)).ok();
        }
        c += &around.after;
        if self.ret.is_some() {
            c += back;
        }
        c += "}\n";
        Ok(c)
    }

    /// The original's argument, from where it was put.
    fn given_argument(&self, i: usize) -> String {
        match self.language() {
            Language::C => format!("*({}*)arguments[{i}]", self.param_type(i)),
            Language::Cpp => {
                let ty = &self.source.params[i].ty;
                format!("tensorize::forward<{ty}>(arguments[{i}])")
            }
        }
    }

    /// A call of the original: by a name of ours or, for a member function, as the source writes it, whose first
    /// argument is the object.
    fn invoked(&self, target: &str, arguments: &[String]) -> String {
        match arguments {
            [this, rest @ ..] if self.source.is_method() && target == self.source.call => {
                format!("({this})->{target}({})", rest.join(", "))
            }
            all => format!("{target}({})", all.join(", ")),
        }
    }

    fn call(&self, target: &str, arguments: &[String], store: &str) -> Result<String, String> {
        let invoked = self.invoked(target, arguments);
        // Whoever has the arguments knows a result that is one of them.
        let result = self.source.result.as_ref();
        match result.filter(|r| !matches!(r, Shape::Argument { .. } | Shape::Member { .. })) {
            None if self.language() == Language::Cpp => {
                // Nothing unwinds through the dispatcher.
                let zero = if self.ret.is_some() {
                    " tensorize_r{};"
                } else {
                    ""
                };
                let declare = if self.ret.is_some() { self.ret() } else { "" };
                // An enumeration may be one that is converted to nothing unasked.
                let assign = match self.ret {
                    Some(_) => format!("tensorize_r = ({})", self.ret()),
                    None => String::new(),
                };
                let slot = self.source.params.len();
                Ok(format!(
                    "        {declare}{zero}\n        tensorize::caught(arguments, {slot}, [&] {{ {assign}{invoked}; }});\n"
                ))
            }
            None => Ok(format!("        {store}{invoked};\n")),
            Some(shape) if self.language() == Language::Cpp => self.result(shape, &invoked),
            Some(shape) => {
                let (ty, slot) = (&self.source.returns, self.source.params.len());
                let mut store = String::new();
                self.stored_members(shape, "tensorize_v", &mut store)?;
                Ok(format!(
                    "        {{ {ty} tensorize_v = {invoked};\n        \
                     if (extents) {{ {store}}}\n        \
                     if (arguments) __builtin_memcpy(arguments[{slot}], &tensorize_v, sizeof tensorize_v); }}\n"
                ))
            }
        }
    }

    /// Copies the numbers of a struct that was returned to their arrays.
    fn stored_members(&self, shape: &Shape, v: &str, store: &mut String) -> Result<(), String> {
        match shape {
            Shape::Struct { ty, fields, .. } => fields.iter().try_for_each(|f| {
                self.stored_members(&f.shape, &self.member(v, false, ty, f), store)
            }),
            Shape::Place { to, .. } => {
                let n = self.array_number(to);
                write!(
                    store,
                    "if (extents[{}] < extents[{}]) *{} = {v}; ",
                    2 * n,
                    2 * n + 1,
                    local(to)
                )
                .ok();
                Ok(())
            }
            other => Err(format!("a result that is {other} is not supported in C")),
        }
    }

    /// The expression of an argument that is built from flat ones.
    fn argument(&self, shape: &Shape, ty: &str, around: &mut Around) -> Result<String, String> {
        if self.language() == Language::Cpp {
            return self.cpp_argument(
                shape,
                ty,
                &mut around.before,
                &mut around.after,
                &mut around.count,
            );
        }
        Ok(match shape {
            Shape::Unused if ty.contains('*') => "0".into(),
            Shape::Unused => zeroed(ty, around),
            Shape::Scalar { to } => local(to),
            Shape::Numbers { at, .. } => format!(
                "(void *){}",
                self.numbers(at, &mut around.before, &mut around.count)?
            ),
            Shape::Pointer { to, given } => pointer(to, given.as_deref()),
            Shape::Pointers { at } => format!("(void *){}", self.pointers(at, around)?),
            Shape::End { of, count } => format!("(void *)({} + {})", local(of), local(count)),
            Shape::Place { to, .. } => format!("(void *){}", local(to)),
            Shape::Rows { .. } => self.table(shape, around)?,
            Shape::Struct { pointer, ty, .. } => {
                let v = zeroed(ty, around);
                self.fill(shape, &v, around)?;
                if *pointer { format!("&{v}") } else { v }
            }
            Shape::Records {
                holder: Holder::Pointer,
                ..
            } => self.structs(shape, around)?.0,
            Shape::Vector { .. }
            | Shape::Span { .. }
            | Shape::Nested { .. }
            | Shape::Optional { .. }
            | Shape::Argument { .. }
            | Shape::Member { .. }
            | Shape::Behind { .. }
            | Shape::Records { .. } => {
                return Err("C has no vectors".into());
            }
        })
    }

    /// An array of numbers; those that nobody reads are zero.
    pub(super) fn numbers(
        &self,
        at: &[Number],
        before: &mut String,
        count: &mut usize,
    ) -> Result<String, String> {
        let last = at.last().ok_or("no number behind a pointer")?;
        *count += 1;
        let (ty, v) = (self.type_of(&last.to)?, format!("tensorize_v{count}"));
        write!(before, "    {ty} {v}[{}] = {{0}};", last.index + 1).ok();
        for Number { index, to } in at {
            write!(before, " {v}[{index}] = {};", local(to)).ok();
        }
        before.push('\n');
        Ok(v)
    }

    /// Structs with the members that the flat arrays have, in memory of our own: expressions for where the struct of
    /// number 0 is, and for how many there are.
    pub(super) fn structs(
        &self,
        shape: &Shape,
        around: &mut Around,
    ) -> Result<(String, String), String> {
        let Shape::Records {
            ty, members, size, ..
        } = shape
        else {
            return Err("only structs lie in such an array".into());
        };
        around.count += 1;
        let v = format!("tensorize_v{}", around.count);
        let mut c = self.same_size(ty, members)?;
        // Those whose members are there, or as many as the holder says.
        write!(c, "    {I64} {v}_lo = 0, {v}_hi = 0;").ok();
        if let Some(size) = size {
            write!(c, " {v}_hi = {0} > 0 ? {0} : 0;", local(size)).ok();
        } else {
            for Members { to, stride, .. } in members {
                let (a, b) = self.ends(to);
                let floor = |e: &str| format!("({e}) / {stride} - (({e}) % {stride} < 0)");
                write!(
                    c,
                    "\n    if ({a} < {b}) {{ {I64} lo = {}, hi = {} + 1; \
                     if ({v}_lo == {v}_hi) {{ {v}_lo = lo; {v}_hi = hi; }} \
                     if (lo < {v}_lo) {v}_lo = lo; if (hi > {v}_hi) {v}_hi = hi; }}",
                    floor(&a),
                    floor(&format!("{b} - 1")),
                )
                .ok();
            }
        }
        write!(
            c,
            "\n    char *{v} = (char *)__builtin_calloc((__SIZE_TYPE__)({v}_hi - {v}_lo) + 1, sizeof({ty}));\n\
             \x20   if (!{v}) __builtin_trap();\n"
        )
        .ok();
        for Members { to, stride, at } in members {
            let ((a, b), flat, array) = (self.ends(to), self.find(to)?, local(to));
            let number = self.type_of(to)?;
            for (first, end) in at {
                // The same walk over the members before the call and, with what the call has written, after it.
                let walk = |to: &str, from: &str| {
                    format!(
                        "    for ({I64} tensorize_i = {v}_lo; tensorize_i < {v}_hi; tensorize_i++) \
                         for ({I64} k = {first}, at = tensorize_i * {stride} + k; k < {end}; k++, at++) {{\n\
                         \x20       char *member = {v} + (tensorize_i - {v}_lo) * ({I64})sizeof({ty}) + k * ({I64})sizeof({number});\n\
                         \x20       if ({a} <= at && at < {b}) __builtin_memcpy({to}, {from}, sizeof({number}));\n    }}\n"
                    )
                };
                let element = format!("(void *)({array} + at)");
                c += &walk("member", &element);
                if !flat.is_const {
                    around.after += &walk(&element, "member");
                }
            }
        }
        around.before += &c;
        writeln!(around.after, "    __builtin_free({v});").ok();
        Ok((
            format!("(void *)({v} - {v}_lo * ({I64})sizeof({ty}))"),
            format!("({v}_hi - {v}_lo)"),
        ))
    }

    /// A check by the compiler: so many numbers fill a struct.
    pub(super) fn same_size(&self, ty: &str, members: &[Members]) -> Result<String, String> {
        let mut c = String::new();
        for Members { to, stride, .. } in members {
            let number = self.type_of(to)?;
            writeln!(
                c,
                "    (void)sizeof(char[sizeof({ty}) == {stride} * sizeof({number}) ? 1 : -1]);"
            )
            .ok();
        }
        Ok(c)
    }

    /// The first element of an array that is there, and one past the last.
    fn ends(&self, to: &str) -> (String, String) {
        let n = self.array_number(to);
        (
            format!("extents[{}]", 2 * n),
            format!("extents[{}]", 2 * n + 1),
        )
    }

    /// Sets the fields of a struct that has been zeroed.
    pub(super) fn fill_struct(
        &self,
        shape: &Shape,
        v: &str,
        before: &mut String,
        after: &mut String,
        count: &mut usize,
    ) -> Result<(), String> {
        let mut around = Around {
            count: *count,
            ..Around::default()
        };
        self.fill(shape, v, &mut around)?;
        *before += &around.before;
        *after += &around.after;
        *count = around.count;
        Ok(())
    }

    fn fill(&self, shape: &Shape, v: &str, around: &mut Around) -> Result<(), String> {
        let Shape::Struct { ty, fields, .. } = shape else {
            return Err("only a struct has fields".into());
        };
        for f in fields {
            let place = self.member(v, false, ty, f);
            if let (Some(kept), Shape::Struct { ty: of, .. }) =
                (self.reference(v, false, f), &f.shape)
            {
                around.count += 1;
                let inner = format!("tensorize_v{}", around.count);
                let made = self.zeroed(of, &inner);
                writeln!(around.before, "    {made}").ok();
                self.fill(&f.shape, &inner, around)?;
                writeln!(
                    around.before,
                    "    {{ void *tensorize_p = (void *)&{inner}; \
                     __builtin_memcpy((void *){kept}, &tensorize_p, sizeof tensorize_p); }}"
                )
                .ok();
                continue;
            }
            let value = match &f.shape {
                Shape::Place { to, .. } => {
                    self.copied(&place, to, around)?;
                    continue;
                }
                Shape::Scalar { .. } => {
                    let value = self.built(&f.shape, &place, around)?;
                    let set = self.set_number(&place, &value);
                    writeln!(around.before, "    {set}").ok();
                    continue;
                }
                Shape::Rows {
                    to,
                    pitch,
                    held: Some(n),
                    ..
                } => {
                    self.fill_table(&place, to, pitch, *n, around);
                    continue;
                }
                Shape::Vector { .. }
                | Shape::Span { .. }
                | Shape::Nested { .. }
                | Shape::Records {
                    holder: Holder::Vector | Holder::Span,
                    ..
                } => {
                    self.made(&f.shape, &place, around)?;
                    continue;
                }
                Shape::Struct { pointer: false, .. } => {
                    self.fill(&f.shape, &place, around)?;
                    continue;
                }
                Shape::Numbers { pointer: false, at } => {
                    let start = match self.language() {
                        Language::C => format!("(char *)&{place}"),
                        Language::Cpp => format!("(char *)({})", super::shim::first_byte(&place)),
                    };
                    for Number { index, to } in at {
                        let (ty, value) = (self.type_of(to)?, local(to));
                        writeln!(
                            around.before,
                            "    __builtin_memcpy({start} + {index} * sizeof({ty}), &{value}, sizeof({ty}));"
                        )
                        .ok();
                    }
                    continue;
                }
                shape => self.built(shape, &place, around)?,
            };
            // A field may be `const`.
            writeln!(
                around.before,
                "    {{ void *tensorize_p = (void *)({value}); __builtin_memcpy((void *)&{place}, &tensorize_p, sizeof tensorize_p); }}"
            )
            .ok();
        }
        Ok(())
    }

    /// The value of a field or of a variable, a number or a pointer.
    fn built(&self, shape: &Shape, place: &str, around: &mut Around) -> Result<String, String> {
        Ok(match shape {
            Shape::Scalar { to } => local(to),
            Shape::Struct {
                pointer: true, ty, ..
            } => {
                around.count += 1;
                let inner = format!("tensorize_v{}", around.count);
                let made = self.zeroed(ty, &inner);
                writeln!(around.before, "    {made}").ok();
                self.fill(shape, &inner, around)?;
                format!("&{inner}")
            }
            Shape::Pointer { to, given } => pointer(to, given.as_deref()),
            Shape::Records {
                holder: Holder::Pointer,
                ..
            } => self.structs(shape, around)?.0,
            Shape::Rows { .. } => self.table(shape, around)?,
            _ => return Err(format!("`{place}`, which is {shape}, can't be built")),
        })
    }

    /// Lets a variable of the file hold the flat form's values for the time of the call.
    fn lend(&self, shape: &Shape, place: &str, around: &mut Around) -> Result<(), String> {
        match shape {
            Shape::Unused => Ok(()),
            Shape::Place { to, .. } => self.swapped(place, to, around),
            Shape::Struct {
                pointer: false,
                ty,
                fields,
            } => {
                for f in fields {
                    self.lend(&f.shape, &self.member(place, false, ty, f), around)?;
                }
                Ok(())
            }
            Shape::Vector { .. }
            | Shape::Nested { .. }
            | Shape::Records {
                holder: Holder::Vector,
                ..
            } => self.exchanged(shape, place, around),
            _ => {
                around.count += 1;
                let saved = format!("tensorize_v{}", around.count);
                writeln!(
                    around.before,
                    "    char {saved}[sizeof {place}]; __builtin_memcpy({saved}, (const void *)&{place}, sizeof {place});"
                )
                .ok();
                if let Shape::Rows {
                    to,
                    pitch,
                    held: Some(n),
                    ..
                } = shape
                {
                    self.fill_table(place, to, pitch, *n, around);
                } else {
                    let value = self.built(shape, place, around)?;
                    writeln!(
                        around.before,
                        "    {{ __typeof__({place}) tensorize_p = (__typeof__({place}))({value}); __builtin_memcpy((void *)&{place}, &tensorize_p, sizeof tensorize_p); }}"
                    )
                    .ok();
                }
                writeln!(
                    around.after,
                    "    __builtin_memcpy((void *)&{place}, {saved}, sizeof {place});"
                )
                .ok();
                Ok(())
            }
        }
    }

    /// Exchanges the elements that are there with those of a place, before the call and after it.
    fn swapped(&self, place: &str, to: &str, around: &mut Around) -> Result<(), String> {
        let (size, n) = (self.type_of(to)?, self.array_number(to));
        let swap = format!(
            "    for ({I64} i = extents[{}]; i < extents[{}]; i++) {{\n        \
             {size} *p = ({size} *)&{place} + i, *q = {} + i; char t[sizeof({size})];\n        \
             __builtin_memcpy(t, p, sizeof t); __builtin_memcpy(p, q, sizeof t); __builtin_memcpy(q, t, sizeof t);\n    }}\n",
            2 * n,
            2 * n + 1,
            local(to)
        );
        around.before += &swap;
        // The last one that was lent is the first one to come back.
        around.after.insert_str(0, &swap);
        Ok(())
    }

    /// Copies the elements that are there into a place, and what has become of them back.
    fn copied(&self, place: &str, to: &str, around: &mut Around) -> Result<(), String> {
        let flat = self.find(to)?;
        let (size, n, array) = (
            c_type(flat.scalar, self.language()),
            self.array_number(to),
            local(to),
        );
        let (lo, hi) = (
            format!("extents[{}]", 2 * n),
            format!("extents[{}]", 2 * n + 1),
        );
        let copy = |a: &str, b: &str| {
            format!(
                "    if ({hi} > {lo}) __builtin_memcpy({a}, {b}, ({hi} - {lo}) * sizeof({size}));\n"
            )
        };
        let here = format!("(void *)(({size} *)&{place} + {lo})");
        let there = format!("(void *)({array} + {lo})");
        around.before += &copy(&here, &there);
        if !flat.is_const {
            around.after += &copy(&there, &here);
        }
        Ok(())
    }
}

/// A new variable of this type, all of it zero.
fn zeroed(ty: &str, around: &mut Around) -> String {
    around.count += 1;
    let v = format!("tensorize_v{}", around.count);
    writeln!(
        around.before,
        "    {ty} {v}; __builtin_memset(&{v}, 0, sizeof {v});"
    )
    .ok();
    v
}

fn pointer(to: &str, given: Option<&str>) -> String {
    match given {
        Some(g) => format!("({} ? (void *){} : (void *)0)", local(g), local(to)),
        None => format!("(void *){}", local(to)),
    }
}
