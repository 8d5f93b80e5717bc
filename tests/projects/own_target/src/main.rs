//! `cargo tensorize` with a target of one's own.

use std::process::ExitCode;
use tensorize_backends::cpu::{c, lower};
use tensorize_backends::{Generated, Kernel, Target, Unsupported};
use tensorize_ir::guard::Tier;
use tensorize_ir::loopir::{LoopMode, Stmt};

/// C for one core: no threads, no vectors, sums in the order in which the original takes them.
pub struct Serial;

impl Target for Serial {
    fn name(&self) -> &'static str {
        "serial"
    }

    fn describe(&self) -> &'static str {
        "C for one core, loop by loop"
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        let mut function = lower::lower(kernel.function, Tier::Exact)?.function;
        one_after_the_other(&mut function.body);
        let entry = format!("{}__serial", kernel.function.name);
        function.name = entry.clone();
        let header = format!("Generated from {} for one core.", kernel.source);
        let style = c::Style {
            disjoint: true,
            ..c::Style::default()
        };
        Ok(Generated {
            files: vec![(
                format!("{}.serial.c", kernel.function.name),
                c::print(&function, &header, style, &[]),
            )],
            entry,
            tier: Tier::Exact,
            // What is printed, so that it is proven.
            loopir: Some(function),
            eager_reads: false,
            split: None,
            theorems: vec![],
        })
    }
}

fn one_after_the_other(stmts: &mut [Stmt]) {
    for stmt in stmts {
        match stmt {
            Stmt::Loop(l) => {
                l.mode = LoopMode::Sequential;
                one_after_the_other(&mut l.body);
            }
            Stmt::If {
                then, otherwise, ..
            } => {
                one_after_the_other(then);
                one_after_the_other(otherwise);
            }
            Stmt::Assign { .. } | Stmt::Store { .. } | Stmt::Return(_) | Stmt::Trap => {}
        }
    }
}

fn main() -> ExitCode {
    cargo_tensorize::main_with(std::env::args_os(), &[&Serial])
}
