//! StableHLO text, which jaxlib parses, compiles and runs: on the CPU, or on a GPU where it has one.
//!
//! TensIR's operators have StableHLO's names, so most of them are a line each. What StableHLO has no word for (a fold in
//! order, a running fold, index notation) is made of its loops and of tensors of indices.
//!
//! * `program`: types, values, lines.
//! * `node`: operators of TensIR.
//! * `scalar_op`: scalar operators, with C's meaning; `rows.txt`: what they are called.
//! * `element`: index notation, over whole tensors at once.
//! * `fold`: reductions, running folds and those that keep a place.
//! * `scatter`: results of which the data says where each round goes.
//! * `run.py`: compiles a program for the sizes of a call, and runs it.
//!
//! Shapes are StableHLO's static ones: the sizes of a call take the place of `${size}` in the text, and it is compiled
//! once for each of them. Arrays are read and stored as for the frameworks (see [`crate::array`]).

mod element;
mod fold;
mod node;
mod program;
mod scalar_op;
mod scatter;

use crate::array::dialect::{Boundary, Dialect};
use crate::array::{Begun, lines, named_round};
use crate::rows::Tables;
use crate::{Generated, Kernel, Target, Unsupported};
use program::Program;
use tensorize_ir::guard::Tier;

/// The target `stablehlo`.
pub struct StableHlo {
    /// Its elementwise operators.
    pub rows: Tables,
}

/// The target `stablehlo`.
pub static STABLEHLO: StableHlo = StableHlo {
    rows: &[include_str!("rows.txt")],
};

/// Reads and stores, with NumPy.
static HOST: Dialect = Dialect {
    target: "stablehlo",
    package: "jax",
    describe: "StableHLO text, compiled and run by jaxlib in a worker process",
    title: "StableHLO",
    module: "np",
    imports: "import functools\nimport string\n\nimport jax\nimport numpy as np\nfrom jaxlib import xla_client\n\n\
              # C's types as they are: JAX would narrow to 32 bits what it hands over.\n\
              jax.config.update(\"jax_enable_x64\", True)\n",
    rows: crate::frameworks::NUMPY.rows,
    helpers: &[
        crate::frameworks::NUMPY.helpers[0],
        crate::frameworks::NUMPY.helpers[1],
        include_str!("run.py"),
    ],
    boundary: Some(Boundary {
        enter: "{x}",
        leave: "np.asarray({x})",
        jit: None,
        jit_rounds: false,
    }),
    inexact_floats: crate::frameworks::JAX.inexact_floats,
};

impl Target for StableHlo {
    fn name(&self) -> &'static str {
        HOST.target
    }

    fn describe(&self) -> &'static str {
        HOST.describe
    }

    fn python_package(&self) -> Option<&'static str> {
        Some(HOST.package)
    }

    fn has_rounds(&self) -> bool {
        true
    }

    fn generate(&self, kernel: &Kernel) -> Result<Generated, Unsupported> {
        if let Some(round) = kernel.function.round() {
            let round = self.generate(&kernel.with(&named_round(round)))?;
            return HOST.in_rounds(kernel, round);
        }
        let Begun {
            emitter,
            entry,
            params,
        } = HOST.begin(kernel)?;
        let mut program = Program::new(emitter, kernel.function, self.rows);
        let text = program.text(&entry)?;
        let mut host = program.host;
        let results = host.fetch()?;
        host.store(&results)?;
        let begun = Begun {
            emitter: host,
            entry,
            params,
        };
        let (host, tier) = (&begun.emitter, begun.emitter.tier);
        let core = format!(
            "def {}(*tensors, **sizes):\n    \"\"\"{} as StableHLO, tier {tier}.\"\"\"\n    program = \"\"\"\n\
             {text}    \"\"\"\n    return _run(program, tensors, sizes)\n\n\n",
            host.boundary.core,
            plain(kernel.source),
        );
        let head = comment(kernel, tier);
        let core = core.replacen(
            "program = \"\"\"\n",
            &format!("program = \"\"\"\n{head}"),
            1,
        );
        let functions = core + &begun.head() + &lines(&host.boundary.lines, "    ");
        Ok(Generated {
            files: vec![(
                format!("{}.{}.py", kernel.function.name, self.name()),
                HOST.generated_module(&functions),
            )],
            tier,
            entry: begun.entry,
            loopir: None,
            eager_reads: true,
            split: None,
            theorems: vec![],
        })
    }
}

/// What stands above the program: the kernel's place, the promise, and the summary.
fn comment(kernel: &Kernel, tier: Tier) -> String {
    let tier = match tier {
        Tier::Exact => "exact: the same bits as the summary",
        Tier::Real => {
            "real: subnormal floats are zero, products are contracted with sums, and sums have no order"
        }
    };
    let mut text = format!("    // {}, tier {tier}\n    //\n", kernel.source);
    for line in crate::summary_lines(kernel.function) {
        text += &format!("    //   {line}\n");
    }
    // Between the quotes of Python, where sizes are put after a dollar.
    plain(&text).replace('$', "$$")
}

/// Text that ends no string of Python's. What the source's path is made of is not ours to choose.
fn plain(text: &str) -> String {
    text.replace('\\', "/").replace('"', "'")
}

#[cfg(test)]
mod tests {
    /// A misspelt row would never be found.
    #[test]
    fn rows_are_ones_that_the_printer_asks_for() {
        let others = ["select", "convert", "bitcast_convert"];
        crate::rows::check("stablehlo", super::STABLEHLO.rows, &others);
    }
}
