//! Saturation, and the cheapest form that comes out of it.

use super::lang::{Graph, Term};
use super::rules::elementwise;
use super::structure::{by_stride, structural};
use egg::{CostFunction, Extractor, Id, Rewrite, Runner, SimpleScheduler};
use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;
use tensorize_ir::tensir::{Function, NodeId, Op, TensorType};

/// Functions with more operators than this are left as they are.
const LARGEST_FUNCTION: usize = 2_000;
/// Terms in the graph, beyond a multiple of what it starts with.
const MOST_TERMS: usize = 2_000;
/// Rounds of rewriting. The longest chain of rules that matters is half of it.
const ROUNDS: usize = 8;
/// A safety net only: answers must not depend on the machine's load, so the limits above come first.
const LONGEST: Duration = Duration::from_secs(2);

static RULES: LazyLock<Vec<Rewrite<Term, super::lang::Facts>>> = LazyLock::new(|| {
    let mut rules = elementwise();
    rules.extend(structural());
    rules
});

/// An equal function, as cheap as the rules make it.
pub fn cheapest(function: Function) -> Function {
    if function.nodes.len() > LARGEST_FUNCTION {
        return function;
    }
    let mut graph = Graph::default();
    let mut classes: Vec<Id> = Vec::with_capacity(function.nodes.len());
    for (number, node) in function.nodes.iter().enumerate() {
        let op = match &node.op {
            Op::Generic(_) => stand_in(number),
            op => op.clone(),
        };
        let args = node.args.iter().map(|&a| classes[a]).collect();
        let mut term = Term::new(op, args, &node.ty);
        if matches!(node.op, Op::Generic(_)) {
            term.ty = super::lang::Carried::All(node.ty.clone());
        }
        classes.push(graph.add(term));
    }
    let graph = Runner::default()
        .with_egraph(graph)
        .with_scheduler(SimpleScheduler)
        .with_iter_limit(ROUNDS)
        .with_node_limit(MOST_TERMS + 8 * function.nodes.len())
        .with_time_limit(LONGEST)
        .run(RULES.iter())
        .egraph;

    let extractor = Extractor::new(&graph, Cost { graph: &graph });
    let roots: Vec<Id> = function
        .outputs
        .iter()
        .map(|o| classes[o.value()])
        .collect();
    // Beyond this, costs are no longer strictly larger than those of their parts.
    if roots
        .iter()
        .any(|&r| extractor.find_best_cost(r) > u64::MAX / 4)
    {
        return function;
    }
    let mut out = Builder {
        graph: &graph,
        extractor: &extractor,
        from: &function,
        into: super::empty(&function.name, &function.params),
        done: HashMap::new(),
    };
    for (output, root) in function.outputs.iter().zip(roots) {
        let value = out.node(root);
        out.into.outputs.push(output.with_value(value));
    }
    out.into
}

/// The name under which raw index notation passes through the graph.
fn stand_in(number: NodeId) -> Op {
    Op::Param(format!("%{number}").into())
}

trait WithValue {
    fn with_value(&self, value: NodeId) -> Self;
}

impl WithValue for tensorize_ir::tensir::Output {
    fn with_value(&self, value: NodeId) -> Self {
        let mut output = self.clone();
        match &mut output {
            Self::Store { value: v, .. } | Self::Return { value: v } => *v = value,
        }
        output
    }
}

struct Builder<'a, 'g> {
    graph: &'g Graph,
    extractor: &'a Extractor<'g, Cost<'g>, Term, super::lang::Facts>,
    from: &'a Function,
    into: Function,
    done: HashMap<Id, NodeId>,
}

impl Builder<'_, '_> {
    fn node(&mut self, class: Id) -> NodeId {
        let class = self.graph.find(class);
        if let Some(&n) = self.done.get(&class) {
            return n;
        }
        let best = self.extractor.find_best_node(class);
        let args: Vec<NodeId> = best.args.iter().map(|&a| self.node(a)).collect();
        let op = match &best.op {
            Op::Param(name) => match name.strip_prefix('%').and_then(|n| n.parse().ok()) {
                Some::<NodeId>(n) => self.from.nodes[n].op.clone(),
                None => best.op.clone(),
            },
            op => op.clone(),
        };
        let ty = TensorType::clone(&self.graph[class].data.ty);
        let n = self.into.add(op, args, ty);
        self.done.insert(class, n);
        n
    }
}

/// Elements computed and moved, roughly: library operators below chains of elementwise ones, lower
/// ranks below higher ones, narrow types below wide ones.
struct Cost<'a> {
    graph: &'a Graph,
}

impl CostFunction<Term> for Cost<'_> {
    type Cost = u64;

    fn cost<C: FnMut(Id) -> u64>(&mut self, term: &Term, mut costs: C) -> u64 {
        let rank = |i: usize| {
            term.args
                .get(i)
                .map_or(0, |&a| self.graph[a].data.ty.rank())
        };
        let bytes = term
            .args
            .iter()
            .map(|&a| self.graph[a].data.ty.elem.bytes())
            .max();
        let bytes = bytes.unwrap_or(1);
        let own = match &term.op {
            Op::Constant(_) | Op::Param(_) | Op::Size(_) => 1,
            Op::View(v) => 4 + 2 * disorder(v, term),
            Op::Generic(_) | Op::Table(_) | Op::Iota { .. } => 4,
            Op::BroadcastInDim { .. } => 3,
            Op::Convert | Op::BitcastConvert | Op::Unary(_) => 8 * (rank(0) + 1) + bytes,
            Op::Binary(_) | Op::Compare(_) => 8 * (rank(0) + 1) + bytes,
            Op::Select => 8 * (rank(1) + 1) + bytes,
            Op::Reduce { .. } | Op::Scan { .. } | Op::ArgReduce { .. } => 12 * (rank(0) + 1),
            // As many loops as the operands have dimensions between them.
            Op::DotGeneral { batch, contracting } => {
                12 * (rank(0) + rank(1) - batch.len() - contracting.len() + 1)
            }
            _ => 6 * (rank(0) + 1),
        } as u64;
        term.args
            .iter()
            .fold(own, |sum, &a| sum.saturating_add(costs(a)))
    }
}

/// How far a view's dimensions are from memory's order.
fn disorder(view: &tensorize_ir::tensir::View, term: &Term) -> usize {
    let super::lang::Carried::All(ty) = &term.ty else {
        return 0;
    };
    by_stride(&view.index, ty.rank()).map_or(0, |order| usize::from(!order.is_sorted()))
}
