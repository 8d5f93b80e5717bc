//! All cores of the machine at hand: TensIR to LoopIR to C.
//!
//! * [`lower`]: TensIR to loops, by way of the element view. The result is proven by the caller.
//! * `value`, `fold`, `search`: a term's value, accumulations, and loops that look for an index.
//! * `between`: accumulations that count in unsigned numbers, from one place to another.
//! * `branches`: stores under conditions that read what others of the same round overwrite.
//! * `loops`: loops and their counters.
//! * `indices`: index polynomials as machine arithmetic.
//! * `nest`: which loops, in what order.
//! * `together`: results of one shape, which share their loops.
//! * `interchange`: accumulations whose innermost loop runs over the results.
//! * `kept`: what is computed once into memory, and not in each round of a loop.
//! * [`contraction`]: products of matrices, which a library computes.
//! * `scatter`: results of which the data says where each round goes.
//! * [`outlook`]: what there is to win, without running anything.
//! * `overwritten`: results of which a later one writes a part again.
//! * `sparing`: places that the original touches on some data only.
//! * `wait`: results that are computed into memory before they are stored.
//! * `rounds`: loops over time.
//! * `stages`: results that others are computed from.
//! * `tables`: elements of constant tables.
//! * `running`: folds that grow with a loop's counter, as prefix sums do.
//! * `term`: facts about index notation that decide what may be moved where.
//! * [`c`]: LoopIR, printed as C. It prints any LoopIR function, also a front end's.

mod between;
mod branches;
pub mod c;
pub mod contraction;
mod entries;
mod fold;
mod indices;
mod interchange;
mod kept;
mod loops;
pub mod lower;
mod nest;
pub mod outlook;
mod overwritten;
mod rounds;
mod running;
mod scatter;
mod search;
mod sparing;
mod stages;
mod tables;
mod term;
mod together;
mod value;
mod wait;

use crate::{Generated, Kernel, Target, Unsupported};
use c::vector_math;
use lower::{Locals, Lowered, Machine};
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir;

/// The target `cpu`.
pub struct Cpu {
    /// What its C is like.
    pub dialect: &'static c::Dialect,
}

/// The target `cpu`.
pub static CPU: Cpu = Cpu { dialect: &c::C };

/// What the C compiler needs to be told for generated code to mean what its LoopIR means, and to be fast.
pub const CFLAGS: &[&str] = &[
    "-std=c11",
    "-O3",
    "-fwrapv",
    "-ffp-contract=off",
    "-fno-math-errno",
];

/// The flag that uses all cores; without it the code runs on one.
pub const OPENMP_FLAG: &str = "-fopenmp";

/// C that stands in for the library of products where generated code is tested.
pub const PRODUCTS: &str = include_str!("products.c");

impl Target for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn describe(&self) -> &'static str {
        "C for all cores of this machine (OpenMP), compiled by cc"
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn has_state(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        Ok(self.print(kernel, lowered(kernel)?))
    }
}

impl Cpu {
    /// The C for a kernel's loops.
    fn print(&self, kernel: &Kernel, lowered: Lowered) -> Generated {
        let entry = format!("{}__tensorize_cpu", kernel.function.name);
        let mut function = lowered.function;
        function.name = entry.clone();
        let mut inexact = Vec::new();
        if lowered.tier == Tier::Real {
            inexact.push("float sums are re-associated");
        }
        let vector_math = kernel.tier == Tier::Real && !vector_math::used(&function).is_empty();
        if vector_math {
            inexact.push(
                "functions may be the C library's for vectors, exact to 4 units in the last place",
            );
        }
        let tier = if inexact.is_empty() {
            Tier::Exact
        } else {
            Tier::Real
        };
        let text = c::print(
            &function,
            &header_with(kernel, tier, &inexact.join("; ")),
            c::Style {
                disjoint: true,
                vector_math,
                dialect: self.dialect,
            },
            &lowered.contractions,
        );
        Generated {
            files: vec![(format!("{}.cpu.c", kernel.function.name), text)],
            entry,
            tier,
            loopir: Some(function),
            eager_reads: false,
            split: None,
            theorems: vec![],
        }
    }
}

/// A kernel's loops.
fn lowered(kernel: &Kernel) -> Result<Lowered, Unsupported> {
    let Kernel {
        function,
        tier,
        footprints,
        guards,
        plain,
        ..
    } = kernel;
    let locals = match plain {
        true => Locals::Waiting,
        false => Locals::Kept,
    };
    let proven = lower::Proven { footprints, guards };
    lower::lower_for(Machine::Cores, function, *tier, proven, locals)
}

/// What stands at the top of a generated C file.
pub(crate) fn header(kernel: &Kernel, tier: Tier) -> String {
    header_with(kernel, tier, "float sums are re-associated")
}

/// The same, where something else makes the code one of tier real.
pub(crate) fn header_with(kernel: &Kernel, tier: Tier, inexact: &str) -> String {
    let Kernel {
        function,
        source,
        signature,
        ..
    } = kernel;
    let params: Vec<_> = signature
        .params
        .iter()
        .map(|(name, ty)| spell(ty, name))
        .collect();
    let ret = signature.ret.as_deref().unwrap_or("void");
    let mut text = format!("Generated by cargo tensorize from {source}; do not edit.\n\n");
    if !signature.params.is_empty() {
        text += &format!(
            "    {}({})\n\n",
            spell(ret, &function.name),
            params.join(", ")
        );
    }
    text += &match tier {
        Tier::Exact => "Tier exact: the same bits as the summary.\n".to_owned(),
        Tier::Real => format!("Tier real: {inexact}.\n"),
    };
    text += "\nSummary:\n\n";
    for line in crate::summary_lines(function) {
        text += &format!("    {line}\n");
    }
    text
}

/// The function without parameters that it doesn't use.
pub(crate) fn without_unused(mut function: loopir::Function) -> loopir::Function {
    let used = c::used_names(&function.body);
    function.params.retain(|p| used.contains(p.name()));
    function
}

/// `name` as a C declaration of type `ty`.
fn spell(ty: &str, name: &str) -> String {
    if ty.ends_with('*') {
        format!("{ty}{name}")
    } else {
        format!("{ty} {name}")
    }
}
