//! The builders of C in a build script, `cc`'s and ours: what is called on each, and under which conditions.

use super::crates::{Crates, Whose};
use crate::sources::cc_calls::string;
use std::collections::BTreeMap;
use std::ops::Range;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Expr, ExprMethodCall, FnArg, Pat, ReturnType, Stmt};

/// One `cc::Build`, or one of ours.
#[derive(Debug)]
pub(super) struct Builder {
    pub(super) whose: Whose,
    /// The line on which it is made.
    pub(super) line: usize,
    /// What it is called, if it has a name.
    pub(super) variable: Option<String>,
    /// `cc::Build::new()….compile(…)`, where it is one expression.
    pub(super) chain: Option<Range<usize>>,
    /// What is around the place where it is made.
    pub(super) within: Vec<Within>,
    pub(super) calls: Vec<Call>,
    /// Whether copies of it are made, which have its calls.
    pub(super) is_copied: bool,
    /// Whether it is one.
    is_copy: bool,
}

impl Builder {
    /// The calls that compile what it has until then.
    pub(super) fn compiles(&self) -> impl Iterator<Item = &Call> {
        self.calls.iter().filter(|c| c.compiles())
    }
}

/// One call on a builder.
#[derive(Clone, Debug)]
pub(super) struct Call {
    /// Empty if the builder is handed to a function.
    pub(super) method: String,
    /// As they stand there; for a function that gets the builder, the whole call.
    pub(super) arguments: String,
    /// The only argument, if it is a string.
    pub(super) literal: Option<String>,
    pub(super) within: Vec<Within>,
    /// Whether the script may not come to it: it may have ended before, or not call the function that this is in.
    pub(super) uncertain: bool,
}

impl Call {
    /// Whether it makes the library.
    pub(super) fn compiles(&self) -> bool {
        matches!(self.method.as_str(), "compile" | "try_compile")
    }

    /// Whether nothing is in the way of its being run.
    pub(super) fn is_unconditional(&self) -> bool {
        self.within.is_empty() && !self.uncertain
    }
}

/// What decides whether, and how often, something is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Within {
    /// `if …` or `for …`, to be written before a block; and where that stands, as two may be the same.
    Head(String, usize),
    /// What can only be told.
    Other(String),
}

/// All builders of a script, in their order.
pub(super) fn find(text: &str, file: &syn::File, crates: &Crates) -> Vec<Builder> {
    let mut reader = Reader {
        text,
        crates,
        makers: makers(file, crates),
        builders: Vec::new(),
        variables: BTreeMap::new(),
        within: Vec::new(),
        uncertain: false,
    };
    reader.visit_file(file);
    reader.builders
}

/// The functions that return a builder.
fn makers(file: &syn::File, crates: &Crates) -> BTreeMap<String, Whose> {
    let mut makers = BTreeMap::new();
    for item in &file.items {
        if let syn::Item::Fn(f) = item
            && let ReturnType::Type(_, returned) = &f.sig.output
            && let Some(whose) = builder_type(returned, crates)
        {
            makers.insert(f.sig.ident.to_string(), whose);
        }
    }
    makers
}

/// Whose builder a type is, or a reference to one.
fn builder_type(of: &syn::Type, crates: &Crates) -> Option<Whose> {
    match of {
        syn::Type::Reference(r) => builder_type(&r.elem, crates),
        syn::Type::Path(p) => {
            let names = names(&p.path);
            crates.builder(&names.iter().map(String::as_str).collect::<Vec<_>>())
        }
        _ => None,
    }
}

fn names(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|s| s.ident.to_string()).collect()
}

struct Reader<'a> {
    text: &'a str,
    crates: &'a Crates,
    makers: BTreeMap<String, Whose>,
    builders: Vec<Builder>,
    /// The builder that a name stands for.
    variables: BTreeMap<String, usize>,
    within: Vec<Within>,
    uncertain: bool,
}

impl Reader<'_> {
    fn text(&self, of: &impl Spanned) -> &str {
        self.text.get(of.span().byte_range()).unwrap_or_default()
    }

    fn owned(&self, of: &impl Spanned) -> String {
        self.text(of).to_owned()
    }

    fn new_builder(&mut self, whose: Whose, at: &impl Spanned) -> usize {
        self.builders.push(Builder {
            whose,
            line: at.span().start().line,
            variable: None,
            chain: None,
            within: self.within.clone(),
            calls: Vec::new(),
            is_copied: false,
            is_copy: false,
        });
        self.builders.len() - 1
    }

    fn copy(&mut self, of: usize, at: &impl Spanned) -> usize {
        let new = self.new_builder(self.builders[of].whose, at);
        self.builders[of].is_copied = true;
        self.builders[new].is_copy = true;
        self.builders[new].calls = self.builders[of].calls.clone();
        self.builders[new].within = self.builders[of].within.clone();
        new
    }

    /// The builder that an expression is about, with what is called on it noted.
    fn builder(&mut self, e: &Expr) -> Option<usize> {
        match e {
            Expr::Reference(r) => self.builder(&r.expr),
            Expr::Paren(p) => self.builder(&p.expr),
            Expr::Path(p) => {
                let name = p.path.get_ident()?.to_string();
                self.variables.get(&name).copied()
            }
            Expr::Call(call) => {
                let Expr::Path(path) = &*call.func else {
                    return None;
                };
                let names = names(&path.path);
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                match &names[..] {
                    [of @ .., "new" | "default"] => {
                        let whose = self.crates.builder(of)?;
                        Some(self.new_builder(whose, call))
                    }
                    [name] => {
                        let whose = *self.makers.get(*name)?;
                        let made = self.new_builder(whose, call);
                        let arguments = self.owned(call);
                        self.note(made, String::new(), arguments, None);
                        Some(made)
                    }
                    _ => None,
                }
            }
            Expr::MethodCall(call) => {
                let builder = self.builder(&call.receiver)?;
                // What is called on what is left of it then is no business of the builder's.
                if is_on_the_result(call) {
                    return Some(builder);
                }
                if call.method == "clone" {
                    return Some(self.copy(builder, call));
                }
                call.args.iter().for_each(|a| self.visit_expr(a));
                let arguments: Vec<&str> = call.args.iter().map(|a| self.text(a)).collect();
                let arguments = arguments.join(", ");
                let is_only = call.args.len() == 1;
                let literal = call.args.first().filter(|_| is_only).and_then(string);
                self.note(builder, call.method.to_string(), arguments, literal);
                Some(builder)
            }
            _ => None,
        }
    }

    fn note(&mut self, of: usize, method: String, arguments: String, literal: Option<String>) {
        let (within, uncertain) = (self.within.clone(), self.uncertain);
        self.builders[of].calls.push(Call {
            method,
            arguments,
            literal,
            within,
            uncertain,
        });
    }

    fn inside(&mut self, within: Within, visit: impl FnOnce(&mut Self)) {
        self.within.push(within);
        visit(self);
        self.within.pop();
    }
}

/// Whether a method is called on what a builder has made, or answered.
fn is_on_the_result(call: &ExprMethodCall) -> bool {
    const ENDS: [&str; 9] = [
        "compile",
        "compile_intermediates",
        "expand",
        "get_compiler",
        "get_files",
        "is_flag_supported",
        "try_compile",
        "try_expand",
        "try_get_compiler",
    ];
    let mut receiver = &*call.receiver;
    while let Expr::MethodCall(before) = receiver {
        if ENDS.contains(&&*before.method.to_string()) {
            return true;
        }
        receiver = &before.receiver;
    }
    false
}

/// Whether it is `std::process::exit`, or one like it.
fn ends_the_script(call: &syn::ExprCall) -> bool {
    let Expr::Path(path) = &*call.func else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|s| s.ident == "exit" || s.ident == "abort")
}

fn at(of: &impl Spanned) -> usize {
    of.span().byte_range().start
}

/// What stands between the parentheses of `#[cfg(…)]`, if a text begins with that.
fn cfg(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("#[cfg(")?;
    let end = rest.find(")]")?;
    Some(&rest[..end])
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let before = self.builders.len();
        let whole = Expr::MethodCall(call.clone());
        let Some(found) = self.builder(&whole) else {
            visit::visit_expr_method_call(self, call);
            return;
        };
        // One expression, from its making to its end.
        let is_whole = found >= before && !self.builders[found].is_copy;
        if is_whole && call.method == "compile" {
            self.builders[found].chain = Some(call.span().byte_range());
        }
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        if self.builder(&Expr::Call(call.clone())).is_some() {
            return;
        }
        for argument in &call.args {
            let name = match argument {
                Expr::Reference(r) => &*r.expr,
                other => other,
            };
            let handed_on = matches!(name, Expr::Path(_)).then(|| self.builder(name));
            if let Some(builder) = handed_on.flatten() {
                let arguments = self.owned(call);
                self.note(builder, String::new(), arguments, None);
            }
        }
        visit::visit_expr_call(self, call);
        self.uncertain |= ends_the_script(call);
    }

    fn visit_impl_item_fn(&mut self, f: &'ast syn::ImplItemFn) {
        let outside = std::mem::replace(&mut self.uncertain, true);
        visit::visit_impl_item_fn(self, f);
        self.uncertain = outside;
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        let Some(init) = &local.init else { return };
        if let Some((_, otherwise)) = &init.diverge {
            let within = Within::Other("the pattern of a `let` does not fit".into());
            self.inside(within, |r| r.visit_expr(otherwise));
        }
        let ends = matches!(&*init.expr, Expr::MethodCall(m) if m.method == "compile");
        let found = (!ends).then(|| self.builder(&init.expr)).flatten();
        match (found, &local.pat) {
            (Some(builder), Pat::Ident(name)) => {
                let name = name.ident.to_string();
                self.builders[builder].variable.get_or_insert(name.clone());
                self.variables.insert(name, builder);
            }
            (Some(_), _) => {}
            (None, _) => self.visit_expr(&init.expr),
        }
    }

    fn visit_item_fn(&mut self, f: &'ast syn::ItemFn) {
        let outside = (std::mem::take(&mut self.variables), self.uncertain);
        // Who calls it, and when, is not looked into.
        self.uncertain = f.sig.ident != "main";
        for argument in &f.sig.inputs {
            if let FnArg::Typed(typed) = argument
                && let Pat::Ident(name) = &*typed.pat
                && let Some(whose) = builder_type(&typed.ty, self.crates)
            {
                let builder = self.new_builder(whose, typed);
                let name = name.ident.to_string();
                self.builders[builder].variable = Some(name.clone());
                self.variables.insert(name, builder);
            }
        }
        match f.attrs.iter().find_map(|a| cfg(self.text(a))) {
            Some(condition) => {
                let within = Within::Head(format!("if cfg!({condition})"), at(f));
                self.inside(within, |r| visit::visit_item_fn(r, f));
            }
            None => visit::visit_item_fn(self, f),
        }
        (self.variables, self.uncertain) = outside;
    }

    fn visit_stmt(&mut self, stmt: &'ast Stmt) {
        let is_item = matches!(stmt, Stmt::Item(_));
        match cfg(self.text(stmt)).filter(|_| !is_item) {
            Some(condition) => {
                let within = Within::Head(format!("if cfg!({condition})"), at(stmt));
                self.inside(within, |r| visit::visit_stmt(r, stmt));
            }
            None => visit::visit_stmt(self, stmt),
        }
    }

    fn visit_expr_if(&mut self, e: &'ast syn::ExprIf) {
        self.visit_expr(&e.cond);
        let condition = self.owned(&e.cond);
        let then = Within::Head(format!("if {condition}"), at(&e.then_branch));
        self.inside(then, |r| r.visit_block(&e.then_branch));
        if let Some((_, otherwise)) = &e.else_branch {
            let within = match condition.contains("let ") {
                true => Within::Other(format!("the else of `if {condition}`")),
                false => Within::Head(format!("if !({condition})"), at(otherwise)),
            };
            self.inside(within, |r| r.visit_expr(otherwise));
        }
    }

    fn visit_expr_match(&mut self, e: &'ast syn::ExprMatch) {
        self.visit_expr(&e.expr);
        for arm in &e.arms {
            let (of, pattern) = (self.owned(&e.expr), self.owned(&arm.pat));
            let within = Within::Other(format!("`match {of}` has `{pattern}`"));
            self.inside(within, |r| r.visit_arm(arm));
        }
    }

    fn visit_expr_for_loop(&mut self, e: &'ast syn::ExprForLoop) {
        self.visit_expr(&e.expr);
        let (pattern, over) = (self.owned(&e.pat), self.owned(&e.expr));
        let within = Within::Head(format!("for {pattern} in {over}"), at(e));
        self.inside(within, |r| r.visit_block(&e.body));
    }

    fn visit_expr_while(&mut self, e: &'ast syn::ExprWhile) {
        self.visit_expr(&e.cond);
        let within = Within::Head(format!("while {}", self.owned(&e.cond)), at(e));
        self.inside(within, |r| r.visit_block(&e.body));
    }

    fn visit_expr_closure(&mut self, e: &'ast syn::ExprClosure) {
        let uncertain = self.uncertain;
        let within = Within::Other("a closure is called".into());
        self.inside(within, |r| visit::visit_expr_closure(r, e));
        self.uncertain = uncertain;
    }

    fn visit_expr_return(&mut self, e: &'ast syn::ExprReturn) {
        visit::visit_expr_return(self, e);
        self.uncertain = true;
    }
}
