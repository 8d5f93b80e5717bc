//! Parallel loops: a function that runs some of the rounds, and a loop over the threads that calls it.

use super::pieces::STORES;
use super::scope::{self, Node, Place};
use super::walk::{
    assigned_in, bytes_of_a_round, count_nodes, counted, has_loop, inner_loops, used_names,
};
use super::{Printer, Text, memory, product};
use std::collections::BTreeSet;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;
use tensorize_ir::op::{BinOp, CmpOp};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// How many parts of a loop's rounds are accumulated apart. The number is fixed, so that a sum depends neither on how many
/// threads there are nor on which of them is done first.
const PARTS: u32 = 32;

/// A function that runs some of a loop's rounds.
struct Worker {
    name: String,
    result: Option<&'static str>,
    params: Vec<String>,
    /// What its parameters are where the loop stands.
    args: Vec<String>,
}

impl Worker {
    fn call(&self, more: &[&str]) -> String {
        let more = more.iter().map(|a| (*a).to_owned());
        let args: Vec<String> = self.args.iter().cloned().chain(more).collect();
        format!("{}({});", self.name, args.join(", "))
    }
}

impl Printer<'_> {
    /// Whether all that a loop assigns, but for its accumulator, is declared in it.
    pub(super) fn separable(&self, node: &Node, number: usize, acc: Option<&Sym>) -> bool {
        let Node::For { body, looped, .. } = node else {
            return false;
        };
        let last = number + count_nodes(body);
        let mut assigned = Vec::new();
        assigned_in(&looped.body, &mut assigned);
        assigned.retain(|v| Some(*v) != acc);
        assigned.iter().all(|v| match self.places.get(*v) {
            Some(Place::At(n) | Place::Before(n)) => (number..=last).contains(n),
            _ => false,
        })
    }

    pub(super) fn parallel(&mut self, node: &Node, bound: &Expr, out: &mut Text) {
        let Node::For { looped, body, .. } = node else {
            return;
        };
        let number = self.next - 1;
        let product = self.product(looped.id);
        let mut used = used_names(&looped.body);
        used.extend(product.iter().flat_map(product::used_by));
        let worker = self.worker(node, &used);
        let worth = self.worth_a_team(node, product.is_some());
        let rounds = operand(self.expr.print(bound));

        let mut text = Text::new(1);
        if !has_loop(body) {
            text.line("TZ_PRAGMA(omp simd)");
        }
        self.inside_of_worker(|p| {
            p.side_by_side(node, number, &mut text);
            p.head_and_body(node, number, Some(("begin", "end")), &mut text);
        });
        self.define(&worker, &text);

        out.line("#if defined(_OPENMP)");
        out.line(&format!("if ({worth}) {{"));
        out.line(&format!(
            "    int64_t chunk = ({rounds} - 1) / omp_get_max_threads() + 1;"
        ));
        out.line("    TZ_PRAGMA(omp parallel for schedule(static))");
        out.line(&format!(
            "    for (int64_t begin = 0; begin < {rounds}; begin += chunk) {{"
        ));
        let end = end_of_chunk(&rounds);
        out.line(&format!("        {}", worker.call(&["begin", &end])));
        out.line("    }");
        out.line("} else");
        out.line("#endif");
        out.line(&worker.call(&["0", &rounds]));
    }

    /// A loop that accumulates in one variable: each part of its rounds in one of its own.
    pub(super) fn parallel_sum(
        &mut self,
        node: &Node,
        bound: &Expr,
        (op, acc): &(BinOp, Sym),
        pragma: &str,
        out: &mut Text,
    ) {
        let Node::For { looped, .. } = node else {
            return;
        };
        let number = self.next - 1;
        let mut used = used_names(&looped.body);
        used.remove(acc);
        let mut worker = self.worker(node, &used);
        let ty = self.types[acc];
        let name = self.expr.name(acc);
        worker.result = Some(ty.c_name());
        worker.params.push(format!("{} {name}", ty.c_name()));
        let worth = self.worth_a_team(node, false);
        let rounds = operand(self.expr.print(bound));

        let mut text = Text::new(1);
        text.line(&format!("TZ_PRAGMA({pragma})"));
        self.inside_of_worker(|p| {
            p.head_and_body(node, number, Some(("begin", "end")), &mut text);
        });
        text.line(&format!("return {name};"));
        self.define(&worker, &text);

        let parts = self.names.fresh(&format!("{name}_of"));
        let start = self.start_of_part(*op, acc, ty);
        let part: Sym = format!("{parts}[part]").into();
        self.expr.names.insert(part.clone(), part.to_string());
        let both = together(*op, Expr::Var(acc.clone(), ty), Expr::Var(part, ty));
        let both = self.expr.print(&both);
        let each = format!("for (int part = 0; part < {PARTS}; part++) {{");
        let end = end_of_chunk(&rounds);
        out.line("#if defined(_OPENMP)");
        out.line(&format!("if ({worth}) {{"));
        out.line(&format!("    {} {parts}[{PARTS}];", ty.c_name()));
        out.line(&format!(
            "    int64_t chunk = ({rounds} - 1) / {PARTS} + 1;"
        ));
        out.line("    TZ_PRAGMA(omp parallel for schedule(static))");
        out.line(&format!("    {each}"));
        out.line("        int64_t begin = part * chunk;");
        let call = worker.call(&[&start, "begin", &end]);
        out.line(&format!("        {parts}[part] = {call}"));
        out.line("    }");
        out.line(&format!("    {each}"));
        out.line(&format!("        {name} = {both};"));
        out.line("    }");
        out.line("} else");
        out.line("#endif");
        let call = worker.call(&[&name, "0", &rounds]);
        out.line(&format!("{name} = {call}"));
    }

    /// What a part accumulates on top of.
    fn start_of_part(&mut self, op: BinOp, acc: &Sym, ty: ScalarType) -> String {
        let start = match op {
            BinOp::Add | BinOp::Xor => Expr::Const(Scalar::zero(ty)),
            BinOp::Multiply => Expr::convert(ty, Expr::int(ScalarType::I32, 1)),
            // What is taken twice changes nothing.
            _ => Expr::Var(acc.clone(), ty),
        };
        self.expr.print(&start)
    }

    /// A function for rounds of a loop, with what the loop uses as parameters, in the order of declaration.
    fn worker(&mut self, node: &Node, used: &BTreeSet<Sym>) -> Worker {
        let name = self.names.fresh(&format!("{}_rounds", self.function.name));
        let (mut params, mut args) = (Vec::new(), Vec::new());
        for p in &self.function.params {
            if used.contains(p.name()) {
                params.push(self.param(p));
                args.push(self.expr.name(p.name()));
            }
        }
        for array in &self.function.arrays {
            if used.contains(&array.name) {
                let qualifier = if array.init.is_some() { "const " } else { "" };
                let name = self.expr.name(&array.name);
                params.push(match memory::is_asked_for(array) {
                    true => self.memory_param(array),
                    false => format!("{qualifier}{} *{name}", array.elem.c_name()),
                });
                args.push(name);
            }
        }
        let inside = assigned_inside(node);
        let is_param = |v: &Sym| self.function.params.iter().any(|p| p.name() == v);
        for (var, ty) in &self.types {
            if used.contains(var) && !inside.contains(var) && !is_param(var) {
                params.push(format!("{} {}", ty.c_name(), self.expr.name(var)));
                args.push(self.expr.name(var));
            }
        }
        Worker {
            name,
            result: None,
            params,
            args,
        }
    }

    fn inside_of_worker(&mut self, print: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.in_worker, true);
        print(self);
        self.in_worker = before;
    }

    fn define(&mut self, worker: &Worker, body: &Text) {
        let range = ["int64_t begin".to_owned(), "int64_t end".to_owned()];
        let params = [worker.params.as_slice(), range.as_slice()].concat();
        self.workers.push(format!(
            "TZ_CLONES\nstatic {} {}({}) {{\n{STORES}{}}}\n",
            worker.result.unwrap_or("void"),
            worker.name,
            params.join(", "),
            body.s
        ));
    }

    /// Whether a loop is worth a team, as a C expression.
    fn worth_a_team(&mut self, node: &Node, product: bool) -> String {
        let mut work = Work::default();
        self.work(node, &assigned_inside(node), &mut work);
        // A library takes no more time for a product than other loops for a byte.
        let bytes = if product { 1 } else { work.bytes.max(1) };
        let rounds = match work.rounds.as_slice() {
            [one] => one.clone(),
            several => {
                let factors: Vec<String> = several.iter().map(|f| factor(f)).collect();
                format!("(double){}", factors.join(" * "))
            }
        };
        format!("TZ_TEAM({rounds}, {bytes})")
    }

    /// The work of a loop and of the deepest nest in it.
    fn work(&mut self, node: &Node, inside: &BTreeSet<Sym>, out: &mut Work) {
        let Node::For { body, looped, .. } = node else {
            return;
        };
        if let Some(bound) = counted(node) {
            let mut fixed = true;
            scope::for_each_var(bound, &mut |v, _| fixed &= !inside.contains(v));
            if fixed {
                out.rounds.push(self.expr.print(bound));
            }
        }
        let (_step, round) = looped.body.split_last().unzip();
        out.bytes = bytes_of_a_round(round.unwrap_or_default());
        let mut deepest = Work::default();
        for inner in inner_loops(body) {
            let mut work = Work::default();
            self.work(inner, inside, &mut work);
            if work.rounds.len() > deepest.rounds.len() {
                deepest = work;
            }
        }
        if !deepest.rounds.is_empty() {
            out.rounds.append(&mut deepest.rounds);
            out.bytes = deepest.bytes;
        }
    }
}

/// How much a loop has to do, roughly.
#[derive(Default)]
struct Work {
    /// How many rounds the loops of a nest have, as C expressions.
    rounds: Vec<String>,
    /// What an innermost round reads, computes and writes.
    bytes: u32,
}

fn assigned_inside(node: &Node) -> BTreeSet<Sym> {
    let mut inside = Vec::new();
    if let Node::For { looped, .. } = node {
        assigned_in(&looped.body, &mut inside);
    }
    inside.into_iter().cloned().collect()
}

/// What two parts make. A maximum or minimum of floats keeps one by comparing: no other is accumulated in any order.
fn together(op: BinOp, acc: Expr, part: Expr) -> Expr {
    let cmp = match op {
        BinOp::Maximum if acc.ty().is_float() => CmpOp::Gt,
        BinOp::Minimum if acc.ty().is_float() => CmpOp::Lt,
        _ => return Expr::binary(op, acc, part),
    };
    let taken = Expr::compare(cmp, part.clone(), acc.clone());
    Expr::Select(Box::new(taken), Box::new(part), Box::new(acc))
}

/// Where the chunk ends that starts at `begin`, without an overflow.
fn end_of_chunk(rounds: &str) -> String {
    format!("{rounds} - begin > chunk ? begin + chunk : {rounds}")
}

/// Something to multiply.
fn factor(text: &str) -> String {
    match text.chars().all(|c| c.is_alphanumeric() || c == '_') {
        true => text.to_owned(),
        false => format!("({text})"),
    }
}

/// Something to compare, add to or subtract from: in parentheses if it has an operator that binds looser.
fn operand(text: String) -> String {
    match text.contains(['?', '<', '>', '=', '&', '|', '^']) {
        true => format!("({text})"),
        false => text,
    }
}
