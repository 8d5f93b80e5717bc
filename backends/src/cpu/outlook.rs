//! What there is to win for a kernel on this machine's cores, as far as its code tells: without proving, compiling or running
//! any of it.

use super::c::{TEAM, calls_library, vector_math};
use super::{CPU, lowered};
use crate::{Kernel, Unsupported};
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{self, LoopMode, Stmt, Visited};

/// What kind of work it is, and so what bounds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Products of matrices, which a library computes.
    Products,
    /// Sums of floats, which the original's compiler has to leave in their order.
    Sums,
    /// Functions of the C library that there are for vectors.
    Functions,
    /// Rounds that follow each other, each with work of its own.
    Rounds,
    /// Elements that have loops of their own.
    Nested,
    /// Elements that do not: memory is what bounds it.
    Elements,
    /// Loops that keep their order.
    InOrder,
    /// There is no loop.
    Nothing,
}

/// What there is to win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outlook {
    /// Where it would come from.
    pub work: Work,
    /// Of the code.
    pub tier: Tier,
    /// More rounds than this, of all loops of a nest together, are for all cores. Nothing if one core does it all.
    pub alone: Option<u64>,
}

/// What the code for a kernel tells of itself.
///
/// # Errors
/// If there is none.
pub fn outlook(kernel: &Kernel) -> Result<Outlook, Unsupported> {
    let code = lowered(kernel)?;
    let body = &code.function.body;
    let work = if !has_loop(body) {
        Work::Nothing
    } else if !code.contractions.is_empty() {
        Work::Products
    } else if kernel.tier == Tier::Real && !vector_math::used(&code.function).is_empty() {
        Work::Functions
    } else if code.tier == Tier::Real {
        Work::Sums
    } else if !any_order(body) {
        Work::InOrder
    } else if kernel.function.rounds.is_some() {
        Work::Rounds
    } else if nested(body) || calls_library(body) {
        Work::Nested
    } else {
        Work::Elements
    };
    let generated = CPU.print(kernel, code);
    let text = generated.files.iter().map(|(_, text)| text.as_str());
    Ok(Outlook {
        work,
        tier: generated.tier,
        alone: text.filter_map(alone).min(),
    })
}

fn loops<'a>(stmts: &'a [Stmt], each: &mut dyn FnMut(&'a loopir::Loop)) {
    loopir::visit(stmts, &mut |part| {
        if let Visited::Stmt(Stmt::Loop(looped)) = part {
            each(looped);
        }
    });
}

fn has_loop(stmts: &[Stmt]) -> bool {
    let mut found = false;
    loops(stmts, &mut |_| found = true);
    found
}

/// Whether the rounds of some loop may run in any order.
fn any_order(stmts: &[Stmt]) -> bool {
    let mut found = false;
    loops(stmts, &mut |l| found |= l.mode != LoopMode::Sequential);
    found
}

/// Whether a loop accumulates, or keeps its order, within another one.
fn nested(stmts: &[Stmt]) -> bool {
    let mut found = false;
    loops(stmts, &mut |outer| {
        loops(&outer.body, &mut |inner| {
            found |= match &inner.mode {
                LoopMode::Sequential => true,
                LoopMode::Parallel => false,
                LoopMode::Simd { reductions } => !reductions.is_empty(),
            };
        });
    });
    found
}

/// The least number of rounds for which the text has a team, less one.
fn alone(text: &str) -> Option<u64> {
    let asked = text.split("if (TZ_TEAM(").skip(1);
    let bytes = asked.filter_map(|rest| {
        let (asked, _) = rest.split_once(")) {")?;
        asked.rsplit_once(", ")?.1.parse::<u64>().ok()
    });
    bytes.map(|bytes| TEAM / bytes.max(1)).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tensorize_ir::tensir::Function;

    fn of(summary: &str, tier: Tier) -> Outlook {
        let function: Function = summary.parse().unwrap();
        let kernel = Kernel {
            function: &function,
            tier,
            footprints: &[],
            guards: &[],
            plain: false,
            least_share: None,
            source: "k.c:1",
            signature: crate::Signature::default(),
        };
        outlook(&kernel).unwrap()
    }

    #[test]
    fn the_kind_of_work_is_that_of_the_code() {
        let sum = "func @f(a: const ptr<f32>, n: i64) {
            %0 = view a[#0] : tensor<n x f32>
            %1 = constant 0:f32 : tensor<f32>
            %2 = reduce %0, %1, reducer = add, dimensions = [0] : tensor<f32>
            return %2
        }";
        let real = of(sum, Tier::Real);
        assert_eq!((real.work, real.tier), (Work::Sums, Tier::Real));
        assert_eq!(
            real.alone,
            Some(TEAM / 8),
            "4 bytes are read and added to 4"
        );
        assert_eq!(of(sum, Tier::Exact).work, Work::InOrder);
        let map = "func @f(a: const ptr<f32>, out: ptr<f32>, n: i64) {
            %0 = view a[#0] : tensor<n x f32>
            %1 = add %0, %0 : tensor<n x f32>
            store out[#0] = %1
        }";
        let map = of(map, Tier::Real);
        assert_eq!((map.work, map.tier), (Work::Elements, Tier::Exact));
        assert!(map.alone.is_some());
        let none = "func @f(n: i32) {\n%0 = constant 1:i32 : tensor<i32>\nreturn %0\n}";
        assert_eq!(of(none, Tier::Real).work, Work::Nothing);
    }

    /// The number that is told is the one that is compared.
    #[test]
    fn a_team_is_worth_what_the_code_says() {
        let text = super::super::c::print_static(&[], Default::default());
        assert!(text.contains(&format!("> {TEAM} / (bytes)")), "{text}");
    }
}
