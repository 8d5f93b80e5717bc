//! Gemmini: C on `gemmini.h`. What the array can't do stays in C, in the same function.
//!
//! * `piece`: what the array can compute of a kernel.
//! * `plan`: in what order the array and the core compute the parts.
//! * `text`: the C of the function that calls them; `rows.txt`: what it makes of a sum's terms.
//! * `array/`: what the generated code calls: loops of moves and products over tiles.
//!
//! The core's own parts are printed as the target `cpu` prints them. A kernel whose elements are bytes or
//! words is for a core of the default configuration, one of floats for one that was built for floats: the
//! generated file says which, and does not compile for another.

mod piece;
mod plan;
mod text;

use crate::rows::Tables;
use crate::{Generated, Kernel, Target, Unsupported};
use piece::Elements;
use std::borrow::Cow;
use tensorize_ir::guard::Tier;
use tensorize_ir::op::BinOp;
use tensorize_ir::scalar::Scalar;
use tensorize_ir::tensir::{Function, Node, NodeId, Op, Output};

/// The target `gemmini`.
pub struct Gemmini {
    /// The least share of a kernel's elementwise operators that makes it worth moving the data, where nobody asks for
    /// another. Products and totals are always worth it.
    pub least_share: f64,
    /// How terms of sums are spelt.
    pub rows: Tables,
}

impl Default for Gemmini {
    fn default() -> Gemmini {
        Gemmini::new()
    }
}

impl Gemmini {
    /// At least half of the operators.
    pub const fn new() -> Gemmini {
        Gemmini {
            least_share: 0.5,
            rows: &[include_str!("rows.txt")],
        }
    }
}

impl Target for Gemmini {
    fn name(&self) -> &'static str {
        "gemmini"
    }

    fn describe(&self) -> &'static str {
        "C for a Gemmini systolic array; run on an emulated core"
    }

    fn is_emulated(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        crate::summary::check(kernel.function)?;
        crate::scatter::refuse(kernel.function)?;
        // The array's sums start from zero; what they start from is added afterwards.
        let function = from_zero(kernel.function, kernel.tier);
        let from_zero = kernel.with(&function);
        // Where both would do something, the one that does more; on a tie, the default.
        let plans: Vec<_> = [Elements::Int8, Elements::Fp32]
            .into_iter()
            .map(|e| plan::plan(&from_zero, e))
            .collect();
        let best = plans
            .iter()
            .flatten()
            .rev()
            .max_by_key(|p| p.work.on_array());
        let Some(plan) = best else {
            return Err(plans
                .into_iter()
                .find_map(Result::err)
                .unwrap_or_else(|| Unsupported::new("nothing of it is work for the array")));
        };
        let work = &plan.work;
        let least = kernel.least_share.unwrap_or(self.least_share);
        let share = work.array_operators as f64 >= work.operators() as f64 * least;
        if !work.heavy && !share {
            return Err(Unsupported::new(format!(
                "the array could compute {} of {} operators, which is not worth moving the data",
                work.array_operators,
                work.operators()
            )));
        }
        text::generate(kernel, plan, self.rows)
    }
}

/// The same with products of floats whose sums start from zero, where sums may be taken in any order. (Those of integers are
/// raised so.)
fn from_zero(f: &Function, allowed: Tier) -> Cow<'_, Function> {
    let starts_elsewhere = |node: &Node| {
        let is_product = matches!(node.op, Op::DotGeneral { .. }) && node.ty.elem.is_float();
        is_product && allowed == Tier::Real && !f.is_zero(node.args[2])
    };
    if !f.nodes.iter().any(starts_elsewhere) {
        return Cow::Borrowed(f);
    }
    let mut out = Function {
        nodes: vec![],
        ..f.clone()
    };
    let mut now: Vec<NodeId> = Vec::with_capacity(f.nodes.len());
    for node in &f.nodes {
        let ty = &node.ty;
        let mut args: Vec<NodeId> = node.args.iter().map(|&a| now[a]).collect();
        if !starts_elsewhere(node) {
            now.push(out.add(node.op.clone(), args, ty.clone()));
            continue;
        }
        let start = args[2];
        args[2] = out.constant(Scalar::zero(ty.elem));
        let product = out.add(node.op.clone(), args, ty.clone());
        let dimensions = vec![];
        let start = match out.nodes[start].ty == *ty {
            true => start,
            false => out.add(Op::BroadcastInDim { dimensions }, vec![start], ty.clone()),
        };
        now.push(out.add(Op::Binary(BinOp::Add), vec![start, product], ty.clone()));
    }
    for output in &mut out.outputs {
        let (Output::Store { value, .. } | Output::Return { value }) = output;
        *value = now[*value];
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    /// A misspelt row would never be found.
    #[test]
    fn rows_are_ones_that_the_printer_asks_for() {
        let others = ["number", "weight", "copy", "total"];
        crate::rows::check("gemmini", super::Gemmini::new().rows, &others);
    }
}
