//! Members of structs: how code at the end of the file names them, and their places in an object that it builds.

use super::shim::first_byte;
use super::{Adaptor, Around};
use std::fmt::Write as _;
use tensorize_ir::signature::{Field, Holder, Language, Shape};

impl Adaptor<'_> {
    /// What makes private members reachable: of an explicit instantiation nobody asks whether it may name them.
    pub(super) fn reaching(&self) -> impl Iterator<Item = String> + '_ {
        let hidden = self.hidden().into_iter().enumerate();
        hidden.map(|(i, Hidden { class, name, ty })| {
            let (tag, pointer) = (self.tag(i), format!("tensorize::same<{ty}> {class}::*"));
            // The tag is what finds the function.
            format!(
                "namespace tensorize {{ struct {tag} {{ friend {pointer}reached({tag}); }}; }}\n\
                 template struct tensorize::reach<tensorize::{tag}, {pointer}, &{class}::{name}>;\n"
            )
        })
    }

    fn tag(&self, i: usize) -> String {
        format!("{}_private_{i}", self.source.symbol)
    }

    /// The private members, each once.
    fn hidden(&self) -> Vec<Hidden<'_>> {
        fn collect<'a>(shape: &'a Shape, into: &mut Vec<Hidden<'a>>) {
            let (ty, fields) = match shape {
                Shape::Struct { ty, fields, .. } => (ty, fields),
                Shape::Member { part, .. } => return collect(part, into),
                _ => return,
            };
            for f in fields {
                into.extend(Hidden::of(ty, f).filter(|h| !into.contains(h)));
                collect(&f.shape, into);
            }
        }
        let mut all = Vec::new();
        let shapes = self.source.given().chain(&self.source.result);
        shapes.for_each(|shape| collect(shape, &mut all));
        all
    }

    /// A member of `object`, which is of type `ty` or points to one.
    pub(super) fn member(&self, object: &str, points: bool, ty: &str, field: &Field) -> String {
        let of = if points { "*" } else { "" };
        // Part of a tuple, or of a complex number: a function gives it.
        if field.name.contains("::") {
            return format!("{}({of}{object})", field.name);
        }
        // Of a complex number in C, an operator.
        if ["__real__", "__imag__"].contains(&field.name.as_str()) {
            return format!("({} {of}{object})", field.name);
        }
        if let (Some(kept), Shape::Struct { ty: of, .. }) =
            (self.reference(object, points, field), &field.shape)
        {
            return format!("(**({of} *const *){kept})");
        }
        let arrow = if points { "->" } else { "." };
        let object = declaring(object, points, field);
        match Hidden::of(ty, field) {
            None => format!("{object}{arrow}{}", field.name),
            Some(h) => {
                let at = self.hidden().iter().position(|k| *k == h);
                let tag = self.tag(at.unwrap_or_default());
                format!("({object}{arrow}*reached(tensorize::{tag}()))")
            }
        }
    }

    /// Where a member that is a reference keeps the address of what it refers to, which nothing can name; `None` of others.
    pub(super) fn reference(&self, object: &str, points: bool, field: &Field) -> Option<String> {
        let offset = field.reference?;
        let object = declaring(object, points, field);
        let start = match points {
            true => format!("(const char *)({object})"),
            false => first_byte(&object),
        };
        Some(format!("({start} + {offset})"))
    }

    /// Makes a variable for an object of the library of the type of what is at `place`. Also says what to do with it after the
    /// call.
    fn object_like(
        &self,
        shape: &Shape,
        place: &str,
        around: &mut Around,
    ) -> Result<(String, String), String> {
        let mut after = String::new();
        let ty = format!("tensorize::bare<decltype(({place}))> &");
        let (before, count) = (&mut around.before, &mut around.count);
        let v = self.cpp_argument(shape, &ty, before, &mut after, count)?;
        Ok((v, after))
    }

    /// Makes a member that is an object of the library, in an object that nobody has made, and takes it apart again.
    pub(super) fn made(
        &self,
        shape: &Shape,
        place: &str,
        around: &mut Around,
    ) -> Result<(), String> {
        let (v, after) = self.object_like(shape, place, around)?;
        if let Shape::Span { .. }
        | Shape::Records {
            holder: Holder::Span,
            ..
        } = shape
        {
            writeln!(around.before, "    tensorize::put({place}, {v});").ok();
            around.after += &after;
            return Ok(());
        }
        writeln!(
            around.before,
            "    tensorize::put({place}, std::move({v}));"
        )
        .ok();
        // Before it is copied back.
        around.after += &format!("    tensorize::taken({place}, {v});\n{after}");
        Ok(())
    }

    /// Lets a variable of the file that is an object of the library be another one for the time of the call.
    pub(super) fn exchanged(
        &self,
        shape: &Shape,
        place: &str,
        around: &mut Around,
    ) -> Result<(), String> {
        let (v, after) = self.object_like(shape, place, around)?;
        let swap = format!("    std::swap({place}, {v});\n");
        around.before += &swap;
        around.after.insert_str(0, &format!("{swap}{after}"));
        Ok(())
    }

    /// A declaration of a struct of zeros. In C++ it is one that nobody has made and nobody ends: what its members
    /// point to is the caller's, which a destructor might free.
    pub(super) fn zeroed(&self, ty: &str, v: &str) -> String {
        match self.language() {
            Language::C => format!("{ty} {v}; __builtin_memset((void *)&{v}, 0, sizeof {v});"),
            Language::Cpp => {
                format!("tensorize::blank<{ty}> {v}_blank; auto &{v} = {v}_blank.value;")
            }
        }
    }

    /// The statement that gives a member that is a number its value. It may be `const`, or an enumeration.
    pub(super) fn set_number(&self, place: &str, value: &str) -> String {
        match self.language() {
            Language::C => format!("{place} = {value};"),
            Language::Cpp => format!("tensorize::set({place}, {value});"),
        }
    }
}

/// An object as one of the class that declares a member.
fn declaring(object: &str, points: bool, field: &Field) -> String {
    match &field.base {
        // Such a cast may name a base class that is private.
        Some(base) => format!("(({base} {})({object}))", if points { "*" } else { "&" }),
        None => object.into(),
    }
}

/// A private member.
#[derive(PartialEq)]
struct Hidden<'a> {
    class: &'a str,
    name: &'a str,
    ty: &'a str,
}

impl<'a> Hidden<'a> {
    /// A field of a struct of this type, if it is private. (A reference is found without its name.)
    fn of(ty: &'a str, field: &'a Field) -> Option<Hidden<'a>> {
        if field.reference.is_some() {
            return None;
        }
        Some(Hidden {
            class: field.base.as_deref().unwrap_or(ty),
            name: &field.name,
            ty: field.hidden.as_deref()?,
        })
    }
}
