//! Every operator on every type, edges included, in C against the interpreter: natively, and on emulated cores of Gaudi's.
//! What a target refuses is written down, with the reason.

mod common;

use common::corpus::Item;
use common::native::{WARNINGS, run_c, try_cpp, try_cuda};
use common::tries::{self, Try};
use common::{assert_same, cases, corpus, expected, golden, inside, operators, try_generate};
use tensorize_backends::cpu::CPU;
use tensorize_backends::gaudi::CORES;
use tensorize_backends::simt::{CUDA, OPENCL};
use tensorize_ir::guard::Tier;
use tensorize_ir::memory::Outputs;
use tensorize_ir::scalar::ScalarType;

fn check(tries: &[Try], run: &dyn Fn(&Try) -> Vec<Outputs>) {
    for t in tries {
        for (call, got) in t.calls.iter().zip(run(t)) {
            let name = format!("{}\n{}", t.function.name, t.generated.files[0].1);
            assert_same(&name, t.generated.tier, &got, &expected(&t.function, call));
        }
    }
}

#[test]
fn in_c() {
    let mut tries = tries::insides(&CPU);
    let (folds, not_folded) = tries::folds(&CPU, &ScalarType::ALL);
    assert_eq!(not_folded, "");
    tries.extend(folds);
    for (function, tier) in operators::all() {
        let generated = try_generate(&CPU, &function, tier, &[]).unwrap();
        // The interpreter's library is Rust's.
        let library = generated.files[0].1.contains("TZ_VECTORS;");
        assert_eq!(library, tier == Tier::Real, "{}", generated.files[0].1);
        let ty = function.nodes[0].ty.elem;
        let calls = vec![cases::inputs(&function, ty, tier)];
        tries.push(Try {
            function,
            generated,
            calls,
        });
    }
    check(&tries, &|t| {
        run_c(
            &t.function,
            &t.generated.entry,
            &t.generated.files[0].1,
            &t.calls,
        )
    });
}

#[test]
fn on_tensor_processor_cores() {
    let Item {
        function, calls, ..
    } = inside::saturating();
    let generated = try_generate(&CORES, &function, Tier::Exact, &[]).unwrap();
    let saturating = Try {
        function,
        generated,
        calls,
    };
    let (mut tries, refused) = tries::operators(&CORES);
    golden("operators.gaudi.txt", &refused);
    tries.extend(tries::insides(&CORES));
    tries.push(saturating);
    let include = tensorize_emulation::include_dir();
    check(&tries, &|t| {
        try_cpp(&t.function, &t.generated, &t.calls, &include, &WARNINGS)
            .unwrap_or_else(|why| panic!("{}: {why}", t.function.name))
    });
}

/// What NVIDIA's compiler and a GPU make of it is tested in `tests/gpus` of the workspace, the latter where there is one.
#[test]
fn in_cuda_on_this_machine() {
    let (mut tries, _) = tries::operators(&CUDA);
    tries.extend(tries::insides(&CUDA));
    // Of floats alone: headers are compiled for each type.
    let (folds, not_folded) = tries::folds(&CUDA, &[ScalarType::F32, ScalarType::F64]);
    assert_eq!(not_folded, "");
    tries.extend(folds);
    for item in corpus::tiles() {
        tries.push(Try {
            generated: try_generate(&CUDA, &item.function, Tier::Exact, &item.footprints).unwrap(),
            function: item.function,
            calls: item.calls,
        });
    }
    check(&tries, &|t| {
        try_cuda(&t.function, &t.generated, &t.calls)
            .unwrap_or_else(|why| panic!("{}: {why}", t.function.name))
    });
}

/// What devices round as they like is the same for both languages. What it computes is tested where there are drivers.
#[test]
fn what_devices_refuse() {
    let (_, refused) = tries::operators(&OPENCL);
    golden("operators.opencl.txt", &refused);
    assert_eq!(tries::operators(&CUDA).1, refused);
}
