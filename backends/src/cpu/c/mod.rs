//! LoopIR, printed as C11.
//!
//! Any LoopIR function prints, a front end's too. Integer arithmetic wraps, so the file has to be
//! compiled with `-fwrapv` (see [`super::CFLAGS`]); division and shifts are total, as LoopIR's are.
//!
//! A parallel loop becomes a function of its own that runs a range of rounds: a compiler that can
//! make versions of a function for several instruction sets (`target_clones`) then makes them of the
//! loop, which it doesn't for the body of an OpenMP construct.

mod dialect;
mod expr;
mod for_loop;
mod helper;
mod memory;
mod parallel;
mod pieces;
mod product;
mod scope;
mod side_by_side;
pub(crate) mod vector_math;
mod walk;

use super::contraction::Contraction;
use crate::names::Names;
pub use dialect::{C, Dialect};
pub(crate) use dialect::{CAREFUL, ROWS};
use expr::ExprPrinter;
pub(crate) use pieces::{Pieces, Printed, definition, together};
use scope::{Node, Place};
use std::collections::BTreeMap;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{Expr, Function, LocalArray, Param, Stmt, Visited, visit};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;
pub(crate) use walk::calls_library;
pub(crate) use walk::used_names;

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Declare every pointer `restrict`. Only if whoever calls has checked that what is written overlaps
    /// with nothing else.
    pub disjoint: bool,
    /// Let the compiler call the C library's functions for vectors, which are less exact.
    pub vector_math: bool,
    /// The language.
    pub dialect: &'static Dialect,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            disjoint: false,
            vector_math: false,
            dialect: &C,
        }
    }
}

/// The whole file, with `header` as its first comment. What `contractions` names is left to a library, if there is one.
pub fn print(
    function: &Function,
    header: &str,
    style: Style,
    contractions: &[Contraction],
) -> String {
    let mut file = comment(header);
    file += INCLUDES;
    file.push('\n');
    file += &preamble(&[function]);
    if !contractions.is_empty() {
        file += product::DECLARATIONS;
    }
    if function.arrays.iter().any(memory::is_asked_for) {
        file += memory::DECLARATIONS;
    }
    if !walk::makes_integers_of_floats(&function.body) {
        file += NO_TRAPS;
    }
    if style.vector_math {
        file += &vector_math::declarations(function);
    }
    let printed = definition(function, "", style, contractions);
    file += &together(&[printed], style);
    file
}

/// The whole file, but for includes and a first comment, for functions that the rest of a file calls.
pub(crate) fn print_static(functions: &[&Function], style: Style) -> String {
    let printed = functions
        .iter()
        .map(|f| definition(f, "static ", style, &[]));
    preamble(functions) + &together(&printed.collect::<Vec<_>>(), style)
}

/// What definitions need.
pub(crate) const INCLUDES: &str = "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n";

/// What functions with loops need.
fn preamble(functions: &[&Function]) -> String {
    let by_conditions = |f: &&Function| walk::reads_under_conditions(&f.body);
    let versions = match functions.iter().any(by_conditions) {
        false => VERSIONS.to_owned(),
        true => format!(
            "#if __GNUC__ < 14 /* With AVX-512, gcc 12 reads where a condition says not to. */\n\
             {VERSIONS_WITHOUT_AVX512}#else\n{VERSIONS}#endif\n"
        ),
    };
    format!("{TEAMS}{WHERE_THERE_ARE_VERSIONS}{versions}{ELSEWHERE}")
}

const VERSIONS: &str = "\
#define TZ_CLONES __attribute__((target_clones(\"arch=x86-64-v4\", \"arch=x86-64-v3\", \"default\")))
";

const VERSIONS_WITHOUT_AVX512: &str = "\
#define TZ_CLONES __attribute__((target_clones(\"arch=x86-64-v3\", \"default\")))
";

/// What a second core is worth, in bytes that are read, computed and written: as [`TEAMS`] has it.
pub(crate) const TEAM: u64 = 1_048_576;

const TEAMS: &str = "\
#if defined(_OPENMP)
#include <omp.h>
#define TZ_PRAGMA(...) _Pragma(#__VA_ARGS__)
/* Whether so many rounds, each reading, computing and writing so many bytes, are worth the start of a second core. */
#define TZ_TEAM(rounds, bytes) ((rounds) > 1048576 / (bytes) && omp_get_max_threads() > 1)
#else
#define TZ_PRAGMA(...)
#endif
";

const WHERE_THERE_ARE_VERSIONS: &str = "
/* Versions for several instruction sets, chosen when the program is loaded. */
#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) \\
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
";

const ELSEWHERE: &str = "\
#else
#define TZ_CLONES
#endif

/* gcc 12 takes some functions that store at strides for ones that store nothing, and drops their calls. This tells it. */
#if defined(__GNUC__) && !defined(__clang__)
#define TZ_STORES __asm__ volatile (\"\" ::: \"memory\")
#else
#define TZ_STORES
#endif
";

/// Nobody asks whether a division or a comparison of floats raised an exception. Told so, gcc makes vectors of more loops,
/// but gcc 12 also takes `(float)(int)x` for `truncf(x)`, which is -0 for -0.5: this is for files without such a thing.
const NO_TRAPS: &str = "
/* Nobody asks whether arithmetic on floats raised an exception. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize (\"no-trapping-math\")
#endif
";

struct Text {
    s: String,
    depth: usize,
}

impl Text {
    fn new(depth: usize) -> Text {
        Text {
            s: String::new(),
            depth,
        }
    }

    fn line(&mut self, line: &str) {
        self.s += &"    ".repeat(self.depth);
        self.s += line;
        self.s += "\n";
    }
}

struct Printer<'a> {
    function: &'a Function,
    expr: ExprPrinter,
    types: BTreeMap<Sym, ScalarType>,
    places: BTreeMap<Sym, Place>,
    names: Names,
    /// Number of the next node, as `scope` counts them.
    next: usize,
    /// Functions that run ranges of parallel loops.
    workers: Vec<String>,
    /// What is printed now is such a function.
    in_worker: bool,
    style: Style,
    contractions: &'a [Contraction],
}

/// Whether there are products of floats, and both sums and differences of floats.
fn adds_and_subtracts_products(body: &[Stmt]) -> bool {
    let (mut products, mut sums, mut differences) = (false, false, false);
    visit(body, &mut |v| match v {
        Visited::Expr(Expr::Binary(op, a, _)) if a.ty().is_float() => match op {
            BinOp::Multiply => products = true,
            BinOp::Add => sums = true,
            BinOp::Subtract => differences = true,
            _ => {}
        },
        Visited::Expr(Expr::Unary(UnOp::Negate, a)) if a.ty().is_float() => differences = true,
        _ => {}
    });
    products && sums && differences
}

impl<'a> Printer<'a> {
    fn new(function: &'a Function, style: Style, contractions: &'a [Contraction]) -> Printer<'a> {
        let mut names = style.dialect.names();
        names.reserve(&function.name);
        let mut p = Printer {
            function,
            expr: ExprPrinter::new(style.dialect),
            types: BTreeMap::new(),
            places: BTreeMap::new(),
            names,
            next: 0,
            workers: Vec::new(),
            in_worker: false,
            style,
            contractions,
        };
        p.expr.rounds = style.dialect.openmp && adds_and_subtracts_products(&function.body);
        for param in &function.params {
            p.declare(param.name());
            if let Param::Scalar { name, ty } = param {
                p.types.insert(name.clone(), *ty);
            }
        }
        for array in &function.arrays {
            p.declare(&array.name);
        }
        p.collect(&function.body);
        p
    }

    /// The function's body.
    fn body(&mut self) -> String {
        let function = self.function;
        let nodes = scope::recognise(&function.body);
        self.places = scope::declarations(&nodes);
        for param in &function.params {
            self.places.remove(param.name());
        }
        let mut body = Text::new(1);
        for array in &function.arrays {
            match memory::is_asked_for(array) {
                true => {}
                false => self.local_array(array, &mut body),
            }
        }
        for (var, ty) in self.at_top() {
            body.line(&format!("{} {};", ty.c_name(), self.expr.name(&var)));
        }
        self.block(&nodes, &mut body);
        body.s
    }

    /// Finds a C name.
    fn declare(&mut self, name: &Sym) {
        if self.expr.names.contains_key(name) {
            return;
        }
        let is_helper = |name: &str| looks_like_helper(name, self.style.dialect);
        let c_name = self.names.fresh_in_c(name, is_helper);
        self.expr.names.insert(name.clone(), c_name);
    }

    fn collect(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            match s {
                Stmt::Assign { var, ty, .. } => {
                    self.types.insert(var.clone(), *ty);
                    self.declare(var);
                }
                Stmt::If {
                    then, otherwise, ..
                } => {
                    self.collect(then);
                    self.collect(otherwise);
                }
                Stmt::Loop(l) => self.collect(&l.body),
                _ => {}
            }
        }
    }

    fn at_top(&self) -> Vec<(Sym, ScalarType)> {
        let top = self.places.iter().filter(|(_, p)| **p == Place::Top);
        top.map(|(v, _)| (v.clone(), self.types[v])).collect()
    }

    fn params(&self) -> String {
        let mut params: Vec<_> = self.function.params.iter().map(|p| self.param(p)).collect();
        params.extend(self.memory().map(|a| self.memory_param(a)));
        if params.is_empty() {
            "void".into()
        } else {
            params.join(", ")
        }
    }

    fn param(&self, param: &Param) -> String {
        match param {
            Param::Scalar { name, ty } => format!("{} {}", ty.c_name(), self.expr.name(name)),
            Param::Array {
                name,
                elem,
                is_const,
                restrict,
            } => {
                let qualifier = if *is_const { "const " } else { "" };
                let restrict = if *restrict || self.style.disjoint {
                    self.style.dialect.restrict
                } else {
                    ""
                };
                format!(
                    "{}{qualifier}{} *{restrict}{}",
                    self.style.dialect.space,
                    elem.c_name(),
                    self.expr.name(name)
                )
            }
        }
    }

    fn local_array(&mut self, array: &LocalArray, out: &mut Text) {
        let (ty, name) = (array.elem.c_name(), self.expr.name(&array.name));
        // Generated code has no scratch of unknown length.
        let len = array.len.fixed().unwrap_or(0).max(1);
        match &array.init {
            None => out.line(&format!("{ty} {name}[{len}];")),
            Some(values) => {
                out.line(&format!("static const {ty} {name}[{len}] = {{"));
                for chunk in values.chunks(8) {
                    let values: Vec<_> = chunk
                        .iter()
                        .map(|v| self.expr.print(&Expr::Const(*v)))
                        .collect();
                    out.line(&format!("    {},", values.join(", ")));
                }
                out.line("};");
            }
        }
    }

    fn block(&mut self, nodes: &[Node], out: &mut Text) {
        for node in nodes {
            let number = self.next;
            self.next += 1;
            for (var, place) in self.places.clone() {
                if place == Place::Before(number) {
                    out.line(&format!(
                        "{} {};",
                        self.types[&var].c_name(),
                        self.expr.name(&var)
                    ));
                }
            }
            match node {
                Node::Plain(stmt) => self.plain(stmt, number, out),
                Node::If {
                    cond,
                    then,
                    otherwise,
                } => {
                    out.line(&format!("if ({}) {{", self.expr.print(cond)));
                    self.nested(then, out);
                    if !otherwise.is_empty() {
                        out.line("} else {");
                    }
                    // Also when empty: it has its number.
                    self.nested(otherwise, out);
                    out.line("}");
                }
                Node::For { .. } => self.for_loop(node, number, out),
                Node::While { looped, body } => {
                    let cond = self.expr.print(&looped.cond);
                    match looped.test_first {
                        true => out.line(&format!("while ({cond}) {{")),
                        false => out.line("do {"),
                    }
                    self.nested(body, out);
                    match looped.test_first {
                        true => out.line("}"),
                        false => out.line(&format!("}} while ({cond});")),
                    }
                }
            }
        }
    }

    fn nested(&mut self, nodes: &[Node], out: &mut Text) {
        out.depth += 1;
        self.block(nodes, out);
        out.depth -= 1;
    }

    fn plain(&mut self, stmt: &Stmt, number: usize, out: &mut Text) {
        match stmt {
            Stmt::Assign { var, ty, value } => {
                let declared = self.places.get(var) == Some(&Place::At(number));
                let ty = if declared {
                    format!("{} ", ty.c_name())
                } else {
                    String::new()
                };
                let value = self.expr.print(value);
                out.line(&format!("{ty}{} = {value};", self.expr.name(var)));
            }
            Stmt::Store {
                array,
                index,
                value,
            } => {
                let (index, value) = (self.expr.print_index(index), self.expr.print(value));
                out.line(&format!("{}[{index}] = {value};", self.expr.name(array)));
            }
            Stmt::Trap => out.line("__builtin_trap();"),
            Stmt::Return(None) => out.line("return;"),
            Stmt::Return(Some(e)) => out.line(&format!("return {};", self.expr.print(e))),
            Stmt::If { .. } | Stmt::Loop(_) => {}
        }
    }
}

fn looks_like_helper(name: &str, dialect: &Dialect) -> bool {
    let total = [
        "abs_", "div_", "rem_", "shl_", "shr_", "sar_", "max_", "min_", "bits_",
    ];
    let wrapping: &[&str] = match dialect.wraps {
        true => &[],
        false => &["add_", "sub_", "mul_", "neg_"],
    };
    let mut stems = total.iter().chain(wrapping);
    stems.any(|p| name.strip_prefix(p).is_some_and(|t| t.len() <= 7))
}

/// The text as a comment.
pub(crate) fn comment(header: &str) -> String {
    let mut out = String::from("/*\n");
    for line in header.trim_end().lines() {
        // The text may hold the end of a comment.
        let line = line.replace("*/", "* /");
        out += format!(" * {line}").trim_end();
        out += "\n";
    }
    out + " */\n"
}
