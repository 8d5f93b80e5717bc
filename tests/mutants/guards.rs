//! Before a call, guards look at what the kernel would look at in it, and at nothing else: there may be no more memory.

use super::{Proven, kernels};
use std::cell::RefCell;
use std::collections::BTreeSet;
use tensorize_e2e::parallel::on_all_cores;
use tensorize_ir::index::Sym;
use tensorize_ir::inputs::{Palette, Rng, Spec};
use tensorize_ir::loopir::Param;
use tensorize_ir::loopir::interp::{Program, Stop};
use tensorize_ir::memory::{Buffer, Inputs};

/// Of each array; a kernel that goes further says nothing.
const LENGTH: u64 = 64;
const INPUTS: u64 = 200;
const STEPS: u64 = 20_000;

/// Small numbers, so that sizes fit the arrays, data lead to places in them, and some end a loop early.
fn inputs(params: &[Param], rng: &mut Rng) -> Inputs {
    let mut number = |ty| Palette::Tame.value(ty, rng);
    let mut inputs = Inputs::default();
    for p in params {
        match p {
            Param::Scalar { name, ty } => {
                inputs.scalars.insert(name.clone(), number(*ty));
            }
            Param::Array { name, elem, .. } => {
                let data = (0..LENGTH).map(|_| number(*elem)).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    inputs
}

/// What became of the inputs of one kernel.
#[derive(Default)]
struct Looks {
    /// On so many, its guards looked at data.
    looked: usize,
    /// On so many of those, they did not hold.
    refused: usize,
    /// What they looked at, and the kernel did not.
    wrong: Option<String>,
}

fn looks(p: &Proven) -> Looks {
    let spec = Spec::known(&p.kernel.params, &p.proof.guards, &[]);
    let program = Program::new(&p.kernel).expect("a well-formed kernel");
    let mut looks = Looks::default();
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
        let holds = spec.admits_data(&inputs.scalars, &read);
        let by_guards = by_guards.into_inner();
        looks.looked += usize::from(!by_guards.is_empty());
        looks.refused += usize::from(!holds);
        let more = (by_guards.iter()).find(|(array, at)| !by_kernel.contains(&(array, *at)));
        if let Some((array, at)) = more {
            let guards: Vec<String> = p.proof.guards.iter().map(|g| g.to_string()).collect();
            let name = &p.kernel.name;
            looks.wrong = Some(format!("{name}: {array}[{at}] at {guards:?}, {inputs:?}"));
            break;
        }
    }
    looks
}

#[test]
fn guards_look_at_what_the_kernel_looks_at() {
    let all: Vec<&Proven> = (kernels().iter())
        .filter(|p| p.proof.guards.iter().any(|g| g.looks_at_data()))
        .collect();
    let found = on_all_cores(all.len(), || (), |(), at| looks(all[at]));
    let (mut looked, mut refused, mut untried) = (0, 0, Vec::new());
    for (p, looks) in all.iter().zip(&found) {
        looked += looks.looked;
        refused += looks.refused;
        if looks.looked == 0 {
            untried.push(&*p.kernel.name);
        }
    }
    println!(
        "guards of {} kernels look at data, on {looked} inputs, and refuse {refused} of these",
        all.len()
    );
    println!("on no input: {}", untried.join(", "));
    let wrong: Vec<&str> = found.iter().filter_map(|l| l.wrong.as_deref()).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(
        untried.len() * 5 < all.len(),
        "{untried:?} of {}",
        all.len()
    );
    assert!(
        refused > 500 && looked > 2 * refused,
        "{refused} of {looked}"
    );
}
