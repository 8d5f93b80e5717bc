//! The shim of a C++ function.

use super::cpp::numbers;
use super::shim::{Parts, first_byte};
use super::{Adaptor, I64};
use std::fmt::Write as _;
use tensorize_ir::signature::Shape;

/// Vectors that get their length at the end: the dispatcher asks for room, and says how much was used.
#[derive(Default)]
struct Growing {
    /// Declarations of what the room is in.
    declare: String,
    /// The addresses of these.
    addresses: Vec<String>,
    allocate: String,
    settle: String,
}

impl Adaptor<'_> {
    /// As [`Adaptor::shim`].
    pub(super) fn cpp_shim(&self, shim: &str, dispatcher: &str) -> Result<String, String> {
        let mut parts = Parts::default();
        let mut growing = Growing::default();
        let mut params = Vec::new();
        let mut addresses = Vec::new();
        let slot = self.source.params.len();
        for (i, p) in self.source.params.iter().enumerate() {
            let a = format!("a{i}");
            params.push(format!("{} {a}", self.param_type(i)));
            addresses.push(format!("const_cast<char *>({})", first_byte(&a)));
            self.take_apart(&p.shape, &a, &p.name, &mut parts)?;
            let bare = format!("tensorize::bare<{}>", p.ty);
            let of = format!("static_cast<{bare} *>(arguments[{i}])");
            self.grows(&p.shape, &bare, &of, false, &mut growing)?;
        }
        self.take_globals(&mut parts)?;
        let returns = format!("tensorize::bare<{}>", self.source.returns);
        let ret = self.ret();
        let mut back = ret.to_string();
        let mut result = "    char result = 0;\n".to_string();
        let is_optional = matches!(self.source.result, Some(Shape::Optional { .. }));
        let given_back = self.given_back();
        if given_back.is_some() {
            back = format!("tensorize::same<{}>", self.source.returns);
        } else if let Some(shape) = &self.source.result {
            if has_place(shape) {
                self.take_apart(shape, "result.value", "result", &mut parts)?;
            } else {
                // The dispatcher asks for them.
                let names = shape.flat().into_iter();
                parts
                    .flat
                    .extend(names.map(|name| (name.to_string(), "0".into())));
            }
            back = format!("tensorize::same<{}>", self.source.returns);
            result = format!("    tensorize::result<{returns}> result{{}};\n");
            if is_optional {
                result += "    bool given = false;\n    \
                           tensorize::result<tensorize::bare<decltype(*result.value)>> held{};\n";
            }
            self.begin(shape, "result.value", &mut result);
            let of =
                format!("&static_cast<tensorize::result<{returns}> *>(arguments[{slot}])->value");
            self.grows(shape, &returns, &of, true, &mut growing)?;
        }
        addresses.extend(["&result".to_string(), "&failed".to_string()]);
        addresses.append(&mut growing.addresses);
        let mut c = format!(
            "extern \"C\" {ret} {dispatcher}(const tensorize_call *{});\nextern \"C\" {back} {shim}({}) {{\n",
            self.flat_params(),
            params.join(", ")
        );
        c += "    std::exception_ptr failed;\n";
        c += &result;
        c += &growing.declare;
        writeln!(c, "    void *arguments[] = {{ {} }};", addresses.join(", ")).ok();
        writeln!(
            c,
            "    tensorize_call call = {{ arguments, nullptr, 0, nullptr,\n        \
             [](void *const *arguments, {I64} which, {I64} count, {I64} pitch) -> void * {{ (void)arguments; (void)which; (void)count; (void)pitch; {}return nullptr; }},\n        \
             [](void *const *arguments, {I64} which, {I64} rows, {I64} size, {I64} pitch) {{ (void)arguments; (void)which; (void)rows; (void)size; (void)pitch; {}}}, nullptr, 0 }};",
            growing.allocate, growing.settle
        )
        .ok();
        let run = match self.ret {
            Some(_) => format!("{ret} answer{{}};\n    auto run = [&] {{\n"),
            None => "auto run = [&] {\n".into(),
        };
        write!(c, "    {run}").ok();
        self.finish(&mut c, &parts, dispatcher)?;
        c += "    };\n";
        c += match self.ret {
            Some(_) => "    answer = run();\n",
            None => "    run();\n",
        };
        c += "    if (failed) std::rethrow_exception(failed);\n";
        if is_optional {
            c += "    if (given) result.value = held.value;\n";
        }
        if let Some(value) = given_back {
            writeln!(c, "    return {value};").ok();
        } else if self.source.result.is_some() {
            c += "    return std::move(result.value);\n";
        } else if self.ret.is_some() {
            c += "    return answer;\n";
        }
        c += "}\n";
        Ok(c)
    }

    /// What is returned, if it is a parameter or a part of one.
    fn given_back(&self) -> Option<String> {
        match self.source.result.as_ref()? {
            Shape::Argument { number } => {
                let refers = self.source.returns.ends_with('&');
                let points = matches!(
                    self.source.params[*number].shape,
                    Shape::Struct { pointer: true, .. } | Shape::Behind { .. }
                );
                let of = if refers && points { "*" } else { "" };
                Some(format!("{of}a{number}"))
            }
            Shape::Member { number, part } => Some(self.part_of(part, &format!("a{number}"))),
            _ => None,
        }
    }

    /// The one member of a value of this shape, or its one member.
    fn part_of(&self, shape: &Shape, value: &str) -> String {
        let Shape::Struct {
            pointer,
            ty,
            fields,
        } = shape
        else {
            return value.into();
        };
        let object = match pointer {
            true => format!("(({ty} *)({value}))"),
            false => format!("({value})"),
        };
        fields.first().map_or_else(
            || value.into(),
            |f| self.part_of(&f.shape, &self.member(&object, *pointer, ty, f)),
        )
    }

    /// Begins the lives of the vectors in what is returned, if nothing else does.
    fn begin(&self, shape: &Shape, value: &str, c: &mut String) {
        let Shape::Struct { ty, fields, .. } = shape else {
            return;
        };
        for f in fields {
            let member = self.member(value, false, ty, f);
            match &f.shape {
                Shape::Vector { .. } => {
                    writeln!(c, "    tensorize::begin(result, {member});").ok();
                }
                inner => self.begin(inner, &member, c),
            }
        }
    }

    /// `of` is an expression for the address of a parameter of type `ty`, or of what is returned, or of a part of these.
    fn grows(
        &self,
        shape: &Shape,
        ty: &str,
        of: &str,
        is_result: bool,
        growing: &mut Growing,
    ) -> Result<(), String> {
        let at = self.source.params.len() + 2 + growing.addresses.len();
        let (to, nested) = match shape {
            Shape::Vector {
                to,
                resized: Some(_),
                ..
            } => (to, false),
            Shape::Nested {
                to,
                resized: Some(_),
                ..
            } => (to, true),
            Shape::Struct {
                pointer,
                ty: own,
                fields,
            } => {
                let object = if *pointer { "**" } else { "*" };
                // A member may be one that changes where the object is const.
                let object = format!("const_cast<{own} &>({object}{of})");
                for f in fields {
                    let member = self.member(&object, false, own, f);
                    let held = format!("tensorize::bare<decltype(({member}))>");
                    self.grows(&f.shape, &held, &format!("&{member}"), is_result, growing)?;
                }
                return Ok(());
            }
            Shape::Behind { object } => {
                let held = format!("std::remove_pointer<{ty}>::type");
                return self.grows(object, &held, &format!("*{of}"), is_result, growing);
            }
            Shape::Vector { .. } | Shape::Nested { .. } if is_result => {
                return Err("a result without a size".into());
            }
            _ => return Ok(()),
        };
        let (n, elem) = (self.array_number(to), self.type_of(to)?);
        let block = format!("std::vector<{elem}>");
        writeln!(growing.declare, "    {block} block{at};").ok();
        growing.addresses.push(format!("&block{at}"));
        // It may get no other length than it has, and what is not written stays.
        let (room, keep) = if nested {
            let keep = "tensorize::copy_out(b->data(), *v, pitch, 0, count);";
            ("count".into(), keep.to_string())
        } else {
            let (here, held) = numbers("(*v)", elem);
            let keep = format!("tensorize::copy(b->data(), {here}, 0, room, {held});");
            (format!("count > {held} ? count : {held}"), keep)
        };
        let (get, get_block) = (
            format!("{ty} *v = {of};"),
            format!("auto *b = static_cast<{block} *>(arguments[{at}]);"),
        );
        write!(
            growing.allocate,
            "if (which == {n}) {{ {get} {get_block} {I64} room = {room}; b->resize(room > 0 ? room : 0); {keep} return b->data(); }} "
        )
        .ok();
        let set = if nested {
            "v->resize(rows); for (auto &row : *v) row.resize(size); tensorize::copy_in(*v, b->data(), pitch, 0, (__INT64_TYPE__)b->size());"
        } else {
            "tensorize::assign(*v, b->data(), size);"
        };
        write!(
            growing.settle,
            "if (which == {n}) {{ {get} {get_block} {set} }} "
        )
        .ok();
        Ok(())
    }
}

/// Whether a result lies where it has to be before the call: it is no vector.
fn has_place(shape: &Shape) -> bool {
    matches!(
        shape,
        Shape::Place { .. } | Shape::Struct { .. } | Shape::Optional { .. }
    )
}
