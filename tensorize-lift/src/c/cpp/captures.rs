//! What a lambda copies when it is made, and what its names stand for while it is called.

use super::super::codes;
use super::super::ffi::Cursor;
use super::super::flatten::{Path, may_change};
use super::super::lower::{Binding, Lower, Result, problem};
use super::super::types::{self, Ty};
use super::class::Class;
use super::lambda::Callable;
use clang_sys::*;
use tensorize_ir::loopir::Expr;
use tensorize_ir::scalar::ScalarType;

/// What a name stands for in a lambda that has copied it.
#[derive(Clone)]
pub(in super::super) enum Copied<'u> {
    Bound(Binding<'u>),
    /// A struct of numbers.
    Record(Path<'u>),
}

impl<'u> Lower<'u, '_> {
    /// Takes the copies that a lambda takes when it is made.
    pub(super) fn lambda(&mut self, e: Cursor<'u>) -> Result<Callable<'u>> {
        let tokens: Vec<String> = e.tokens().into_iter().map(|t| t.1).collect();
        let close = closing(&tokens)
            .ok_or_else(|| problem(codes::OPERATOR, "a lambda that is hidden in a macro", e))?;
        let captures = &tokens[1..close];
        if tokens[close..].iter().any(|t| t == "mutable") {
            return Err(problem(
                codes::FUNCTION_POINTER,
                "a mutable lambda keeps a state from call to call",
                e,
            ));
        }
        if !is_plain(captures, e) {
            let mut p = problem(
                codes::EXPRESSION,
                "this capture of a lambda is not supported",
                e,
            );
            p.help = Some("capture variables by their names, or with [=] or [&]".into());
            return Err(p);
        }
        let by_default = captures.first().is_some_and(|t| t == "=");
        let listed = |name: &str, by_reference: bool| {
            captures
                .iter()
                .enumerate()
                .any(|(i, t)| t == name && (i > 0 && captures[i - 1] == "&") == by_reference)
        };
        let mut copied: Vec<(Cursor<'u>, Copied<'u>)> = Vec::new();
        let mut pending = e.children();
        while let Some(c) = pending.pop() {
            pending.extend(c.children());
            if c.kind() != CXCursor_DeclRefExpr {
                continue;
            }
            let Some(d) = c.referenced() else { continue };
            let name = d.spelling();
            let copies = listed(&name, false) || by_default && !listed(&name, true);
            if !copies || copied.iter().any(|(known, _)| *known == d) {
                continue;
            }
            if self.names_a_record(d) {
                let copy = self.captured_record(d, c)?;
                copied.extend(copy.map(|path| (d, Copied::Record(path))));
                continue;
            }
            let Some(binding) = self.bindings.get(&d).cloned() else {
                continue;
            };
            // A reference is copied as what it refers to.
            let binding = match binding {
                Binding::Scalar(var, ty) => self.copied(Expr::Var(var, ty), ty)?,
                Binding::Alias(place) => {
                    let v = self.load(place, c)?;
                    let ty = v.ty();
                    self.copied(v, ty)?
                }
                // The copy of a view, or of a pointer, leads to the same elements.
                Binding::Seq(s)
                    if matches!(
                        types::of(d).referred(),
                        Ty::Class(Class::Span(..)) | Ty::Pointer(_)
                    ) =>
                {
                    Binding::Seq(s)
                }
                Binding::Seq(s) => {
                    let array = s.start.target.array.clone();
                    let at = super::super::lower::span(e);
                    self.cpp.copies.push((array, name, at));
                    Binding::Seq(self.settled_seq(s)?)
                }
                Binding::Array(..) => {
                    return Err(problem(
                        codes::EXPRESSION,
                        format!("the lambda copies the array '{name}'"),
                        e,
                    ));
                }
                Binding::Pointer(_) | Binding::VectorVariable(..) if self.assigned.contains(&d) => {
                    return Err(may_change(&name, e));
                }
                other => other,
            };
            copied.push((d, Copied::Bound(binding)));
        }
        // By `[&]`, `[=]` or `[this]`: the object itself, and no copy.
        let this = self.frames.last().and_then(|f| f.this.clone());
        Ok(Callable::Lambda(e, copied, this))
    }

    fn copied(&mut self, value: Expr, ty: ScalarType) -> Result<Binding<'u>> {
        Ok(match self.settled("copy", value)? {
            Expr::Var(var, ty) => Binding::Scalar(var, ty),
            Expr::Const(v) => Binding::Constant(v),
            value => {
                let var = self.fresh("copy");
                self.assign_var(var.clone(), value)?;
                Binding::Scalar(var, ty)
            }
        })
    }

    /// Has names stand for a lambda's copies; what they stood for.
    pub(super) fn with_copies(
        &mut self,
        lambda: Cursor<'u>,
        copied: &[(Cursor<'u>, Copied<'u>)],
    ) -> Vec<(Cursor<'u>, Option<Copied<'u>>)> {
        let mut saved = Vec::new();
        for (d, copy) in copied {
            self.cpp.copied_now.push((lambda, *d));
            let before = match copy {
                Copied::Bound(b) => self.bindings.insert(*d, b.clone()).map(Copied::Bound),
                Copied::Record(path) => self.swap_record(*d, path.clone()).map(Copied::Record),
            };
            saved.push((*d, before));
        }
        saved
    }

    pub(super) fn without_copies(&mut self, saved: Vec<(Cursor<'u>, Option<Copied<'u>>)>) {
        for (d, before) in saved {
            self.cpp.copied_now.pop();
            match before {
                Some(Copied::Bound(b)) => {
                    self.bindings.insert(d, b);
                }
                Some(Copied::Record(path)) => {
                    self.swap_record(d, path);
                }
                // It is out of sight where the lambda is called.
                None => {
                    self.bindings.remove(&d);
                    self.forget_record(d);
                }
            }
        }
    }
}

/// Whether there is nothing between the brackets but `&` or `=`, and names, some after a `&`. A macro may stand for anything: the
/// names have to be those of the variables that are captured.
fn is_plain(captures: &[String], lambda: Cursor<'_>) -> bool {
    let mut names = Vec::new();
    let items = captures.split(|t| t == ",");
    let plain = items.enumerate().all(|(i, item)| match item {
        [] => captures.is_empty(),
        [default] if default == "&" || default == "=" => i == 0,
        [this] if this == "this" => true,
        [_] => {
            names.extend_from_slice(item);
            true
        }
        [by, name] if by == "&" => {
            names.push(name.clone());
            true
        }
        _ => false,
    });
    let children = lambda.children().into_iter();
    let mut captured: Vec<String> = children
        .filter(|c| c.kind() == CXCursor_VariableRef)
        .map(|c| c.spelling())
        .collect();
    names.sort();
    captured.sort();
    plain && names == captured
}

/// Where the brackets of a lambda close.
fn closing(tokens: &[String]) -> Option<usize> {
    (tokens.first()? == "[").then_some(())?;
    tokens.iter().position(|t| t == "]")
}
