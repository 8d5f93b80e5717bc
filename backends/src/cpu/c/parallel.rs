//! Parallel loops: a function that runs some of the rounds, and a loop over the threads that calls it.

use super::scope::{self, Node, Place};
use super::walk::{assigned_in, count_nodes, counted, has_loop, inner_loops, is_slow, used_names};
use super::{Printer, Text, product};
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::Expr;

/// From how many innermost rounds on a second core is worth its start-up: some 10 microseconds on an
/// idle machine, milliseconds on a busy one.
const WORTH_A_TEAM: u32 = 1 << 20;

/// The same for rounds that call the C library.
const WORTH_A_TEAM_IF_SLOW: u32 = 1 << 16;

impl Printer<'_> {
    /// Whether all that a loop assigns is declared in it.
    pub(super) fn separable(&self, node: &Node, number: usize) -> bool {
        let Node::For { body, looped, .. } = node else {
            return false;
        };
        let last = number + count_nodes(body);
        let mut assigned = Vec::new();
        assigned_in(&looped.body, &mut assigned);
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
        let name = self.names.fresh(&format!("{}_rounds", self.function.name));
        // What it uses, in the order of declaration.
        let mut inside = Vec::new();
        assigned_in(&looped.body, &mut inside);
        let mut used = used_names(&looped.body);
        let product = self.product(looped.id);
        used.extend(product.iter().flat_map(product::used_by));
        let inside: Vec<Sym> = inside.into_iter().cloned().collect();
        let mut params = Vec::new();
        let mut args = Vec::new();
        for p in &self.function.params {
            if used.contains(p.name()) {
                params.push(self.param(p));
                args.push(self.expr.name(p.name()));
            }
        }
        for array in self
            .function
            .arrays
            .iter()
            .filter(|a| used.contains(&a.name))
        {
            let qualifier = if array.init.is_some() { "const " } else { "" };
            params.push(format!(
                "{qualifier}{} *{}",
                array.elem.c_name(),
                self.expr.name(&array.name)
            ));
            args.push(self.expr.name(&array.name));
        }
        let is_param = |v: &Sym| self.function.params.iter().any(|p| p.name() == v);
        for (var, ty) in &self.types {
            if used.contains(var) && !inside.contains(var) && !is_param(var) {
                params.push(format!("{} {}", ty.c_name(), self.expr.name(var)));
                args.push(self.expr.name(var));
            }
        }
        let rounds = operand(self.expr.print(bound));
        let work = self.work(node, &inside);
        let worth = if is_slow(&looped.body) {
            WORTH_A_TEAM_IF_SLOW
        } else {
            WORTH_A_TEAM
        };

        let mut worker = Text::new(1);
        if !has_loop(body) {
            worker.line("TZ_PRAGMA(omp simd)");
        }
        self.head_and_body(node, number, Some(("begin", "end")), &mut worker);
        let params = [
            params.as_slice(),
            &["int64_t begin".into(), "int64_t end".into()],
        ]
        .concat();
        self.workers.push(format!(
            "TZ_CLONES\nstatic void {name}({}) {{\n{}}}\n",
            params.join(", "),
            worker.s
        ));

        let call = |begin: &str, end: &str| {
            let args = [args.as_slice(), &[begin.into(), end.into()]].concat();
            format!("{name}({});", args.join(", "))
        };
        out.line("#if defined(_OPENMP)");
        out.line(&format!("if ({work} > {worth}) {{"));
        // A product is packed anew in each chunk.
        let chunks = match product {
            Some(_) => "omp_get_max_threads()",
            None => "64",
        };
        out.line(&format!(
            "    int64_t chunk = ({rounds} - 1) / {chunks} + 1;"
        ));
        out.line("    TZ_PRAGMA(omp parallel for schedule(static))");
        out.line(&format!(
            "    for (int64_t begin = 0; begin < {rounds}; begin += chunk) {{"
        ));
        out.line(&format!(
            "        {}",
            call(
                "begin",
                &format!("{rounds} - begin > chunk ? begin + chunk : {rounds}")
            )
        ));
        out.line("    }");
        out.line("} else");
        out.line("#endif");
        out.line(&call("0", &rounds));
    }

    /// A rough count of innermost rounds, as a C expression that cannot overflow.
    fn work(&mut self, node: &Node, inside: &[Sym]) -> String {
        let mut factors = Vec::new();
        self.factors(node, inside, &mut factors);
        match factors.as_slice() {
            [one] => operand(one.clone()),
            _ => {
                let mut work = String::from("(double)");
                for (i, f) in factors.iter().enumerate() {
                    let simple = f.chars().all(|c| c.is_alphanumeric() || c == '_');
                    let f = if simple { f.clone() } else { format!("({f})") };
                    work += &if i == 0 { f } else { format!(" * {f}") };
                }
                work
            }
        }
    }

    fn factors(&mut self, node: &Node, inside: &[Sym], out: &mut Vec<String>) {
        let Node::For { body, .. } = node else { return };
        if let Some(bound) = counted(node) {
            let mut fixed = true;
            scope::for_each_var(bound, &mut |v, _| fixed &= !inside.contains(v));
            if fixed {
                out.push(self.expr.print(bound));
            }
        }
        let mut deepest = Vec::new();
        for inner in inner_loops(body) {
            let mut factors = Vec::new();
            self.factors(inner, inside, &mut factors);
            if factors.len() > deepest.len() {
                deepest = factors;
            }
        }
        out.append(&mut deepest);
    }
}

/// Something to compare, add to or subtract from: in parentheses if it has an operator that binds looser.
fn operand(text: String) -> String {
    match text.contains(['?', '<', '>', '=', '&', '|', '^']) {
        true => format!("({text})"),
        false => text,
    }
}
