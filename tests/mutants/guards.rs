//! Before a call, guards look at what the kernel would look at in it, and at nothing else: there may be no more memory.

use super::{Proven, kernels};
use std::cell::RefCell;
use std::collections::BTreeSet;
use tensorize_e2e::parallel::on_all_cores;
use tensorize_ir::index::Sym;
use tensorize_ir::inputs::{Rng, Spec};
use tensorize_ir::loopir::Param;
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// Of each array; a kernel that goes further says nothing.
const LENGTH: u64 = 64;
const INPUTS: u64 = 200;
const STEPS: u64 = 20_000;

/// Small numbers, so that sizes fit the arrays, data lead to places in them, and some end a loop early.
fn number(ty: ScalarType, rng: &mut Rng) -> Scalar {
    let n = match rng.below(8) {
        0 => -(rng.below(3) as i128),
        _ => rng.below(7) as i128,
    };
    match ty {
        ScalarType::I1 => Scalar::bool(n > 0),
        ScalarType::F32 => Scalar::f32(n as f32 / 2.0),
        ScalarType::F64 => Scalar::f64(n as f64 / 2.0),
        _ if ty.is_signed() => Scalar::int(ty, n),
        _ => Scalar::int(ty, n.abs()),
    }
}

fn inputs(params: &[Param], rng: &mut Rng) -> Inputs {
    let mut inputs = Inputs::default();
    for p in params {
        match p {
            Param::Scalar { name, ty } => {
                inputs.scalars.insert(name.clone(), number(*ty, rng));
            }
            Param::Array { name, elem, .. } => {
                let data = (0..LENGTH).map(|_| number(*elem, rng)).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    inputs
}

/// On how many inputs the guards looked at data, and at what they should not have.
fn looks(p: &Proven) -> (usize, Option<String>) {
    let spec = Spec::known(&p.kernel.params, &p.proof.guards, &[]);
    let program = Program::new(&p.kernel).expect("a well-formed kernel");
    let mut looked = 0;
    for seed in 0..INPUTS {
        let inputs = inputs(&p.kernel.params, &mut Rng::new(seed));
        if !spec.admits(&inputs.scalars) {
            continue;
        }
        let (end, trace) = program.run_traced(&mut inputs.clone(), STEPS);
        // What ends the program has read until then; of what C leaves undefined nothing is known.
        if !matches!(end, Ok(_) | Err(Stop::Trap)) {
            continue;
        }
        let by_kernel: BTreeSet<(&Sym, i128)> =
            (trace.iter().map(|a| (&a.array, i128::from(a.index)))).collect();
        let by_guards = RefCell::new(BTreeSet::new());
        let read = |array: &Sym, at: i128| {
            by_guards.borrow_mut().insert((array.clone(), at));
            inputs.arrays.get(array)?.get(at)
        };
        spec.admits_data(&inputs.scalars, &read);
        let by_guards = by_guards.into_inner();
        looked += usize::from(!by_guards.is_empty());
        let more = (by_guards.iter()).find(|(array, at)| !by_kernel.contains(&(array, *at)));
        if let Some((array, at)) = more {
            let guards: Vec<String> = p.proof.guards.iter().map(|g| g.to_string()).collect();
            let why = format!("{array}[{at}] at {:?}, {inputs:?}", guards);
            return (looked, Some(format!("{}: {why}", p.kernel.name)));
        }
    }
    (looked, None)
}

#[test]
fn guards_look_at_what_the_kernel_looks_at() {
    let all: Vec<&Proven> = (kernels().iter())
        .filter(|p| p.proof.guards.iter().any(|g| g.looks_at_data()))
        .collect();
    let found = on_all_cores(all.len(), || (), |(), at| looks(all[at]));
    let looked = found.iter().filter(|(looked, _)| *looked > 0).count();
    let wrong: Vec<&str> = found.iter().filter_map(|(_, why)| why.as_deref()).collect();
    println!(
        "guards of {} kernels look at data; of {looked} of them, on some of {INPUTS} inputs each",
        all.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(looked > 50, "{looked}");
}
