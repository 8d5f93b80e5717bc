//! Devices on which very many items run the same kernel: GPUs, by way of OpenCL or CUDA.
//!
//! * [`crate::cpu::lower`] makes loops of a summary, which the caller proves.
//! * `schedule`: the loops, cut into kernels; `loops`: which of them items share; `statements`: what walks statements.
//! * `dialect`: OpenCL C and CUDA C++.
//! * `tile`: contractions in local memory.
//! * `group`: sums over whole arrays, by a group of items.
//! * `print`: a file of kernels.
//!
//! A kernel runs in groups of 256 items and does the same work whatever the number of groups is. Its parameters are the
//! original's, in order, each array followed by the number of the element that it starts with; then an array of 64 numbers
//! for what one kernel leaves to the next, and, if the original returns something, an array for that. Kernels between `[` and
//! `]` in the list of their names are run in rounds: as many as the last of the 64 numbers says when the first of these
//! kernels would start, and there is one more parameter, the number of the round. For each `+8` (or another size in bytes)
//! there is one more, too, room for as many such elements as the number before that one says, and so on.

pub mod dialect;
mod group;
mod loops;
mod print;
mod schedule;
mod statements;
mod tile;

#[cfg(test)]
mod tests;

use crate::cpu::lower::{Locals, Machine, Proven, lower_for};
use crate::rows::{self, Row, Tables};
use crate::{Generated, Kernel, Target, Unsupported};
use dialect::{Dialect, Needs};
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::{self, Expr, Param, Stmt, Visited};
use tensorize_ir::op::{BinOp, UnOp};
use tensorize_ir::scalar::ScalarType;

/// The targets `opencl` and `cuda`.
#[derive(Debug)]
pub struct Simt {
    /// The language.
    pub dialect: &'static Dialect,
}

/// The target `opencl`.
pub static OPENCL: Simt = Simt {
    dialect: &dialect::OPENCL,
};

/// The target `cuda`.
pub static CUDA: Simt = Simt {
    dialect: &dialect::CUDA,
};

impl Target for Simt {
    fn name(&self) -> &'static str {
        self.dialect.name
    }

    fn describe(&self) -> &'static str {
        self.dialect.describe
    }

    fn runs_on_device(&self) -> bool {
        true
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        let name = &kernel.function.name;
        let of_truth_values = |p: &&Param| {
            matches!(
                p,
                Param::Array {
                    elem: ScalarType::I1,
                    ..
                }
            )
        };
        if let Some(p) = kernel.function.params.iter().find(of_truth_values) {
            return Err(Unsupported::new(format!(
                "{} is an array of _Bool, which a kernel can't have; uint8_t would do",
                p.name()
            )));
        }
        crate::scatter::refuse(kernel.function)?;
        let locals = match kernel.plain {
            true => Locals::None,
            false => Locals::Results,
        };
        let lowered = lower_for(
            Machine::Items,
            kernel.function,
            kernel.tier,
            Proven {
                footprints: kernel.footprints,
                guards: kernel.guards,
            },
            locals,
        )?;
        let mut tier = lowered.tier;
        if let Some(function) = rounds_freely(&lowered.function, self.dialect.c.rows) {
            if kernel.tier == Tier::Exact {
                return Err(Unsupported::new(format!(
                    "`{function}` is rounded as the device likes; allow tier real"
                )));
            }
            tier = Tier::Real;
        }
        let starts_at_zero = |array: &Sym| {
            let mut all = kernel
                .footprints
                .iter()
                .filter(|f| f.extent.array == *array);
            all.all(|f| f.extent.lo.as_constant() == Some(0))
        };
        let schedule = schedule::schedule(&lowered.function, &starts_at_zero)?;
        let mut function = lowered.function;
        function.name = format!("{name}__tensorize_{}", self.dialect.name);
        let needs = needs(&function, tier);
        let file = print::file(self.dialect, kernel, &function, &schedule, tier, &needs);
        Ok(Generated {
            files: vec![(
                format!("{name}.{}.{}", self.dialect.name, self.dialect.extension),
                file.text,
            )],
            entry: file.kernels.join(" "),
            tier,
            loopir: Some(function),
            eager_reads: true,
            split: None,
            theorems: vec![],
        })
    }
}

/// A function of the mathematical library that devices may round as they like, if one is called.
fn rounds_freely(function: &loopir::Function, rows: Tables) -> Option<&'static str> {
    let mut found = None;
    loopir::visit(&function.body, &mut |part| {
        let (name, ty) = match part {
            Visited::Expr(Expr::Unary(op, a)) => (op.name(), a.ty()),
            Visited::Expr(Expr::Binary(op, a, _)) => (op.name(), a.ty()),
            _ => return,
        };
        let row = rows::find(rows, name, ty, false);
        found = found.or(row.filter(Row::own_rounding).map(|_| name));
    });
    found
}

fn needs(function: &loopir::Function, tier: Tier) -> Needs {
    let mut needs = Needs::default();
    let mut see = |ty: ScalarType| needs.double |= ty == ScalarType::F64;
    for p in &function.params {
        match p {
            Param::Scalar { ty, .. } | Param::Array { elem: ty, .. } => see(*ty),
        }
    }
    function.arrays.iter().for_each(|a| see(a.elem));
    function.ret.iter().for_each(|ty| see(*ty));
    loopir::visit(&function.body, &mut |part| match part {
        Visited::Expr(e) => {
            let float = e.ty() == ScalarType::F32;
            needs.double |= e.ty() == ScalarType::F64;
            if tier == Tier::Exact {
                let computes = matches!(e, Expr::Unary(..) | Expr::Binary(..) | Expr::Convert(..));
                let divides = matches!(
                    e,
                    Expr::Unary(UnOp::Sqrt, _) | Expr::Binary(BinOp::Divide, ..)
                );
                let compares = matches!(e, Expr::Compare(_, a, _) if a.ty() == ScalarType::F32);
                needs.exact_float |= (float && computes) || compares;
                needs.exact_divide |= float && divides;
            }
        }
        Visited::Stmt(Stmt::Assign { ty, .. }) => needs.double |= *ty == ScalarType::F64,
        Visited::Stmt(_) => {}
    });
    needs
}
