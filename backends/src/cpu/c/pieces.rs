//! Functions, whole or piece by piece, for whoever puts a file together.

use super::helper::Helper;
use super::{Printer, Style, Text, scope};
use crate::cpu::contraction::Contraction;
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, Stmt};
use tensorize_ir::scalar::ScalarType;

/// What functions begin with that others of the same file call for what they store.
pub(super) const STORES: &str = "    TZ_STORES;\n";

/// A printed function, and what it needs before it.
pub(crate) struct Printed {
    helpers: BTreeSet<Helper>,
    text: String,
}

/// A function, with this before it. What `contractions` names is left to a library, if there is one.
pub(crate) fn definition(
    function: &Function,
    linkage: &str,
    style: Style,
    contractions: &[Contraction],
) -> Printed {
    let clones = if style.dialect.openmp {
        "TZ_CLONES\n"
    } else {
        ""
    };
    let mut text = String::new();
    let mut p = Printer::new(function, style, contractions);
    let body = p.body();
    for worker in &p.workers {
        text += "\n";
        text += worker;
    }
    let ret = function.ret.map_or("void", ScalarType::c_name);
    let (name, params) = (&function.name, p.params());
    text += &match p.asks_for_memory(linkage) {
        None => format!("\n{clones}{linkage}{ret} {name}({params}) {{\n{body}}}\n"),
        Some((inner, asks)) => {
            let stores = if style.dialect.openmp { STORES } else { "" };
            format!("\n{clones}static {ret} {inner}({params}) {{\n{stores}{body}}}\n{asks}")
        }
    };
    Printed {
        helpers: p.expr.helpers,
        text,
    }
}

/// The functions, after the small ones that they call.
pub(crate) fn together(printed: &[Printed], style: Style) -> String {
    let helpers: BTreeSet<Helper> = printed.iter().flat_map(|p| &p.helpers).copied().collect();
    let mut out = String::new();
    for helper in &helpers {
        out += "\n";
        out += &helper.define(style.dialect);
    }
    printed.iter().for_each(|p| out += &p.text);
    out
}

/// A function's statements, printed piece by piece, for code that has something of its own between them.
pub(crate) struct Pieces<'a>(Printer<'a>);

impl<'a> Pieces<'a> {
    /// All that will be printed stands in the function's body.
    pub(crate) fn new(function: &'a Function, style: Style) -> Pieces<'a> {
        Pieces(Printer::new(function, style, &[]))
    }

    /// The parameters.
    pub(crate) fn params(&self) -> String {
        self.0.params()
    }

    /// A name that nothing has.
    pub(crate) fn fresh(&mut self, stem: &str) -> String {
        self.0.names.fresh(stem)
    }

    /// What a variable or an array is called.
    pub(crate) fn name(&self, name: &Sym) -> String {
        self.0.expr.name(name)
    }

    /// Declarations of all variables, a line each.
    pub(crate) fn variables(&self, depth: usize) -> String {
        let mut out = Text::new(depth);
        for (var, ty) in &self.0.types {
            let parameter = self.0.function.params.iter().any(|p| p.name() == var);
            if !parameter {
                out.line(&format!("{} {};", ty.c_name(), self.name(var)));
            }
        }
        out.s
    }

    /// Statements, their variables declared elsewhere.
    pub(crate) fn block(&mut self, stmts: &[Stmt], depth: usize) -> String {
        let mut out = Text::new(depth);
        self.0.block(&scope::recognise(stmts), &mut out);
        out.s
    }

    /// An expression.
    pub(crate) fn value(&mut self, e: &Expr) -> String {
        self.0.expr.print(e)
    }

    /// An expression that counts what is in memory, or compares such.
    pub(crate) fn index(&mut self, e: &Expr) -> String {
        self.0.expr.print_index(e)
    }

    /// A function that was put together from them.
    pub(crate) fn printed(self, text: String) -> Printed {
        Printed {
            helpers: self.0.expr.helpers,
            text,
        }
    }
}
