//! Every operator on every type, and every summary of the tests, in every framework that is installed, against the
//! interpreter. What a framework refuses is written down, with the reason.

mod common;

use common::corpus;
use common::python::{Run, python_with, run_modules, uncompiled};
use common::tries::{self, Try};
use common::{Random, assert_same, call, expected, golden, summary, try_generate};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use tensorize_backends::Target;
use tensorize_ir::guard::Tier;
use tensorize_ir::scalar::ScalarType;

fn check(target: &dyn Target, tries: &[Try], command: fn(&Path) -> Command) {
    let package = target.python_package().expect("a target in Python");
    let Some(python) = python_with(package) else {
        return;
    };
    let runs: Vec<Run> = tries
        .iter()
        .map(|t| Run {
            function: &t.function,
            generated: &t.generated,
            calls: &t.calls,
        })
        .collect();
    for (t, found) in tries.iter().zip(run_modules(command(&python), &runs)) {
        for (call, got) in t.calls.iter().zip(found) {
            let name = format!("{}\n{}", t.function.name, t.generated.files[0].1);
            assert_same(&name, t.generated.tier, &got, &expected(&t.function, call));
        }
    }
}

fn operators(target: &dyn Target) {
    let (mut tries, mut written) = tries::operators(target);
    let (folds, refused) = tries::folds(target, &ScalarType::ALL);
    tries.extend(folds);
    written += &refused;
    golden(&format!("operators.{}.txt", target.name()), &written);
    check(target, &tries, |python| Command::new(python));
}

/// The summaries of the tests, where the framework can do them.
fn summaries(target: &dyn Target) {
    let mut r = Random(9);
    let mut tries = Vec::new();
    let mut refused = String::new();
    for (name, tier) in corpus::SUMMARIES {
        let function = summary(name);
        let generated = match try_generate(target, &function, tier, &[]) {
            Ok(generated) => generated,
            Err(why) => {
                writeln!(refused, "{name}: {why}").unwrap();
                continue;
            }
        };
        if ["screen", "softmax"].contains(&name) {
            golden(
                &format!("{name}.{}.py", target.name()),
                &generated.files[0].1,
            );
        }
        let mut sizes = |n: i128, d: i128| {
            let sizes = [
                ("n", n),
                ("d", d),
                ("m", 5),
                ("k", d),
                ("rows", n),
                ("cols", d),
            ];
            call(&function, &sizes, &mut r, generated.tier == Tier::Real)
        };
        let calls = vec![sizes(1, 1), sizes(3, 5), sizes(37, 3), sizes(200, 70)];
        tries.push(Try {
            function,
            generated,
            calls,
        });
    }
    golden(&format!("summaries.{}.txt", target.name()), &refused);
    check(target, &tries, |python| Command::new(python));
}

/// What moves elements, index notation and running folds, where the framework can do them: with C's bits, else as it can.
fn others(target: &dyn Target) {
    let (mut tries, mut refused) = (Vec::new(), String::new());
    // Of what is refused as a whole, each result may have a form.
    let in_parts = |item: corpus::Item| -> Vec<corpus::Item> {
        let able = |f: &_| try_generate(target, f, Tier::Real, &[]).is_ok();
        if able(&item.function) || item.function.outputs.len() == 1 {
            return vec![item];
        }
        let parts = corpus::each_result(&item.function).into_iter();
        let part = |(f, by)| {
            let name = format!("{} by {by}", item.name);
            corpus::Item::new(name, f, item.calls.clone())
        };
        parts.map(part).collect()
    };
    for item in corpus::others(false).into_iter().flat_map(in_parts) {
        let exact = try_generate(target, &item.function, Tier::Exact, &[]);
        let real = try_generate(target, &item.function, Tier::Real, &[]);
        if exact.is_err() {
            let promise = corpus::promise(&exact, &real);
            writeln!(refused, "{}: {promise}", item.name).unwrap();
        }
        let mut texts = Vec::new();
        for generated in [exact, real].into_iter().flatten() {
            if !texts.contains(&generated.files[0].1) {
                texts.push(generated.files[0].1.clone());
                tries.push(Try {
                    function: item.function.clone(),
                    generated,
                    calls: item.calls.clone(),
                });
            }
        }
    }
    golden(&format!("others.{}.txt", target.name()), &refused);
    check(target, &tries, uncompiled);
}

fn target(name: &str) -> &'static dyn Target {
    let mut all = tensorize_backends::targets().into_iter();
    all.find(|t| t.name() == name).expect("a target")
}

macro_rules! frameworks {
    ($($name:ident),*) => { $(
        mod $name {
            #[test]
            fn operators() {
                super::operators(super::target(stringify!($name)));
            }

            #[test]
            fn others() {
                super::others(super::target(stringify!($name)));
            }

            #[test]
            fn summaries() {
                super::summaries(super::target(stringify!($name)));
            }
        }
    )* };
}

frameworks!(numpy, jax, pytorch, tensorflow, mlx, dask, stablehlo);

/// PyTorch's part of the target `gaudi`, where it stands in for the device.
mod hpu {
    mod pytorch {
        use tensorize_backends::gaudi::HPU;

        #[test]
        fn operators() {
            crate::operators(&HPU);
        }

        #[test]
        fn others() {
            crate::others(&HPU);
        }

        #[test]
        fn summaries() {
            crate::summaries(&HPU);
        }
    }
}
