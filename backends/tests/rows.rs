//! Is every row of every target tested? Each is changed in turn so that the generated code computes something else, or
//! promises something else, and a test has to notice. `cargo xtask mutate-rows` does so for all rows, the tests for a few.
//!
//! What the tests have targets compute is `common/corpus.rs`, and for those in C `common/inside.rs` and `common/terms.rs`.
//! The rows of `opencl` are changed in `tests/rows.rs` of the workspace, where there is a driver's run time.

mod common;

use common::attempts::attempt;
use common::corpus::{self, Item};
use common::mutants::Manner;
use common::native::{Failed, try_c, try_cpp, try_cuda};
use common::operators::of_library;
use common::python::{Run, python_with};
use common::survivors::{Bench, Found, NOT_COMPILED, none_survives, simt_with};
use common::{inside, terms};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use tensorize_backends::array::dialect::Dialect;
use tensorize_backends::cpu::{CPU, Cpu, c};
use tensorize_backends::gaudi::{CORES, Cores, HPU};
use tensorize_backends::gemmini::Gemmini;
use tensorize_backends::rows::{self, Tables};
use tensorize_backends::simt::{CUDA, OPENCL};
use tensorize_backends::stablehlo::{STABLEHLO, StableHlo};
use tensorize_backends::{Generated, Target, frameworks};
use tensorize_ir::memory::Outputs;

/// A target in Python. `limits` ends each module: what a device refuses that the package computes on this machine.
fn python_rows(
    manner: Manner,
    package: &str,
    tables: Tables,
    with: &dyn Fn(Tables) -> Box<dyn Target>,
    limits: &str,
) {
    let Some(python) = python_with(package) else {
        return;
    };
    none_survives(&Bench {
        manner,
        tables,
        with,
        corpus: corpus::all(),
        run: &|runs| attempt_within(limits, &python, runs),
    });
}

fn attempt_within(limits: &str, python: &Path, runs: &[Run]) -> Vec<Found> {
    let limited = |r: &Run| {
        let mut generated = r.generated.clone();
        generated.files[0].1 += limits;
        generated
    };
    let generated: Vec<Generated> = runs.iter().map(limited).collect();
    let pairs = runs.iter().zip(&generated);
    let runs: Vec<Run> = pairs
        .map(|(r, generated)| Run { generated, ..*r })
        .collect();
    attempt(python, &runs)
}

/// A target in C: each piece of code is a program.
fn native_rows(
    target: &'static str,
    stars: bool,
    tables: Tables,
    with: &dyn Fn(Tables) -> Box<dyn Target>,
    corpus: Vec<Item>,
    run: &(dyn Fn(&Run) -> Result<Vec<Outputs>, Failed> + Sync),
) {
    let manner = Manner {
        target,
        stars,
        expressions: true,
        only_last: false,
    };
    let one = |r: &Run| {
        run(r).map_err(|failed| match failed {
            Failed::NotCompiled(_) => NOT_COMPILED.to_owned(),
            Failed::NotRun(why) => why,
        })
    };
    none_survives(&Bench {
        manner,
        tables,
        with,
        corpus,
        run: &|runs| on_all_cores(runs, &one),
    });
}

fn in_c(r: &Run, flags: &[&str]) -> Result<Vec<Outputs>, Failed> {
    let (entry, text) = (&r.generated.entry, &r.generated.files[0].1);
    try_c(r.function, entry, text, r.calls, flags)
}

fn on_all_cores(runs: &[Run], one: &(dyn Fn(&Run) -> Found + Sync)) -> Vec<Found> {
    let next = AtomicUsize::new(0);
    let done: Vec<Mutex<Option<Found>>> = runs.iter().map(|_| Mutex::new(None)).collect();
    let work = || loop {
        let at = next.fetch_add(1, Ordering::Relaxed);
        let Some(run) = runs.get(at) else { return };
        *done[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(one(run));
    };
    std::thread::scope(|s| {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        (0..cores).for_each(|_| drop(s.spawn(work)));
    });
    let found = done
        .into_iter()
        .map(|d| d.into_inner().unwrap_or_else(PoisonError::into_inner));
    found.map(|f| f.expect("it was run")).collect()
}

fn framework(target: &str) {
    let dialect = frameworks::ALL
        .iter()
        .find(|d| d.target == target)
        .expect("a framework");
    dialect_rows(dialect, false, "");
}

fn dialect_rows(dialect: &'static Dialect, only_last: bool, limits: &str) {
    let with = |rows: Tables| -> Box<dyn Target> {
        Box::new(Dialect {
            rows,
            boundary: dialect.boundary.clone(),
            ..*dialect
        })
    };
    let manner = Manner {
        target: dialect.target,
        stars: dialect.inexact_floats.is_none(),
        expressions: false,
        only_last,
    };
    python_rows(manner, dialect.package, dialect.rows, &with, limits);
}

/// What targets in C are asked for, one thing at a time.
fn compiled() -> Vec<Item> {
    let mut all = corpus::operators();
    for item in &mut all {
        let operators = item.function.nodes.iter().map(|n| n.op.name());
        item.of_library = operators.into_iter().any(of_library);
    }
    all.extend(inside::apart());
    all
}

fn include() -> String {
    format!("-I{}", tensorize_emulation::include_dir().display())
}

/// A table that no test here changes is one that nobody knows to be right. Those of `opencl` are changed in the workspace's
/// `tests/rows.rs`.
#[test]
fn every_row_of_every_table_is_changed() {
    let mut all: Vec<Tables> = frameworks::ALL.iter().map(|d| d.rows).collect();
    all.extend([STABLEHLO.rows, CPU.dialect.rows, CORES.rows, HPU.rows]);
    all.extend([CUDA.dialect.c.rows, OPENCL.dialect.c.rows]);
    all.push(Gemmini::new().rows);
    let changed: BTreeSet<&str> = all.into_iter().flat_map(rows::in_use).collect();
    let files = tables(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    assert!(files.len() > 10, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a table");
        let rows = text
            .lines()
            .filter(|l| !l.is_empty() && !l.starts_with('#'));
        for row in rows {
            assert!(changed.contains(row), "{}: {row}", file.display());
        }
    }
}

/// The text files of a folder and of those in it.
fn tables(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).expect("a folder");
    let paths = listed.map(|entry| entry.expect("an entry").path());
    let found = paths.flat_map(|path| match path.is_dir() {
        true => tables(&path),
        false => vec![path],
    });
    found
        .filter(|p| p.extension().is_some_and(|e| e == "txt"))
        .collect()
}

mod stablehlo {
    use super::*;

    #[test]
    fn rows() {
        let with = |rows: Tables| -> Box<dyn Target> { Box::new(StableHlo { rows }) };
        let manner = Manner {
            target: "stablehlo",
            stars: false,
            expressions: false,
            only_last: false,
        };
        let package = STABLEHLO.python_package().expect("a target in Python");
        python_rows(manner, package, STABLEHLO.rows, &with, "");
    }
}

mod cpu {
    use super::*;

    #[test]
    fn rows() {
        let with = |rows: Tables| -> Box<dyn Target> {
            let dialect = Box::leak(Box::new(c::Dialect { rows, ..c::C }));
            Box::new(Cpu { dialect })
        };
        let run = |r: &Run| in_c(r, &[]);
        native_rows("cpu", false, CPU.dialect.rows, &with, compiled(), &run);
    }
}

mod gaudi {
    use super::*;

    #[test]
    fn rows() {
        let with = |rows: Tables| -> Box<dyn Target> { Box::new(Cores { rows }) };
        let include = tensorize_emulation::include_dir();
        let run = |r: &Run| try_cpp(r.function, r.generated, r.calls, &include, &[]);
        let mut corpus = compiled();
        corpus.push(inside::saturating());
        native_rows("gaudi", true, CORES.rows, &with, corpus, &run);
    }

    /// Its part in PyTorch. What it has of PyTorch's rows is changed there.
    mod pytorch {
        use super::HPU;

        /// The matrix engine multiplies floats alone.
        const ENGINE: &str = r#"

def _of_floats(product):
    def call(*arguments):
        if any(isinstance(a, torch.Tensor) and not a.is_floating_point() for a in arguments):
            raise TypeError("a product of integers")
        return product(*arguments)

    return call


torch.einsum = _of_floats(torch.einsum)
torch.Tensor.__matmul__ = _of_floats(torch.Tensor.__matmul__)
"#;

        #[test]
        fn rows() {
            crate::dialect_rows(&HPU, true, ENGINE);
        }
    }
}

/// On the machine's own cores: no GPU runs it.
mod cuda {
    use super::*;

    #[test]
    fn rows() {
        let with = |rows| simt_with(&CUDA, rows);
        let run = |r: &Run| try_cuda(r.function, r.generated, r.calls);
        let mut corpus = compiled();
        corpus.extend(corpus::tiles());
        native_rows("cuda", true, CUDA.dialect.c.rows, &with, corpus, &run);
    }
}

mod gemmini {
    use super::*;

    #[test]
    fn rows() {
        let own = Gemmini::new();
        let with = |rows: Tables| -> Box<dyn Target> {
            Box::new(Gemmini {
                rows,
                ..Gemmini::new()
            })
        };
        let include = include();
        let run = |r: &Run| in_c(r, &[&include, "-pthread"]);
        native_rows("gemmini", false, own.rows, &with, terms::all(), &run);
    }
}

macro_rules! frameworks {
    ($($name:ident),*) => { $(
        mod $name {
            #[test]
            fn rows() {
                super::framework(stringify!($name));
            }
        }
    )* };
}

frameworks!(numpy, jax, pytorch, tensorflow, mlx, dask);
