//! The parts of a schedule, run one item after the other, do what the whole does.

use super::schedule::{Part, Schedule, schedule};
use super::tile;
use crate::cpu::lower::{Locals, Machine, Proven, lower_for};
use std::path::Path;
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Sym;
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir;

fn lowered(name: &str) -> Function {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/summaries")
        .join(name);
    let text = std::fs::read_to_string(path.with_extension("tir")).unwrap();
    let summary: tensir::Function = text.parse().unwrap();
    let lowered = lower_for(
        Machine::Items,
        &summary,
        Tier::Real,
        Proven::default(),
        Locals::Results,
    )
    .unwrap();
    lowered.function
}

const ELEMENTS: usize = 4096;

fn value(ty: ScalarType, n: usize) -> Scalar {
    let small = (n * 37 % 19) as i128 - 4;
    match ty {
        ScalarType::F32 => Scalar::f32(small as f32 / 4.0),
        ScalarType::F64 => Scalar::f64(small as f64 / 4.0),
        _ => Scalar::int(ty, small.rem_euclid(ty.max_value() + 1)),
    }
}

/// Arguments with sizes of this size. Element 0 of an array stands in the middle of it.
fn inputs(function: &Function, size: i128) -> Inputs {
    let mut inputs = Inputs::default();
    for p in &function.params {
        match p {
            Param::Scalar { name, ty } if ty.is_int() => {
                inputs.scalars.insert(name.clone(), Scalar::int(*ty, size));
            }
            Param::Scalar { name, ty } => {
                inputs.scalars.insert(name.clone(), value(*ty, 3));
            }
            Param::Array { name, elem, .. } => {
                let data = (0..ELEMENTS).map(|n| value(*elem, n + name.len()));
                let mut buffer = Buffer::new(*elem, data.collect());
                buffer.origin = ELEMENTS as i64 / 2;
                inputs.arrays.insert(name.clone(), buffer);
            }
        }
    }
    inputs
}

/// What all parts leave behind, with so many items.
fn by_parts(whole: &Function, s: &Schedule, inputs: &Inputs, items: i128) -> Inputs {
    let mut memory = inputs.clone();
    let kept = Buffer::zeros(ScalarType::I64, super::schedule::KEPT);
    memory.arrays.insert(s.names.kept.clone(), kept);
    if let Some(ty) = whole.ret {
        memory
            .arrays
            .insert(s.names.result.clone(), Buffer::zeros(ty, 1));
    }
    for (room, elem) in &s.names.rooms {
        let room = (room.clone(), Buffer::zeros(*elem, ELEMENTS));
        memory.arrays.extend([room]);
    }
    // The device has what a call touches from its first element on.
    for (array, origin) in &s.names.origins {
        let buffer = memory.arrays.get_mut(array).unwrap();
        let first = Scalar::int(ScalarType::I64, (-buffer.origin).into());
        buffer.origin = 0;
        memory.scalars.insert(origin.clone(), first);
    }
    let (once, again): (Vec<&Part>, Vec<&Part>) = s.parts.iter().partition(|p| !p.repeats);
    once.iter()
        .for_each(|part| by_items(part, s, &mut memory, items));
    let trip = memory.arrays[&s.names.kept].data[super::schedule::TRIP].as_int();
    for round in 0..trip {
        let counter = s.names.round.clone().unwrap();
        let number = Scalar::int(ScalarType::I64, round);
        memory.scalars.insert(counter, number);
        again
            .iter()
            .for_each(|part| by_items(part, s, &mut memory, items));
    }
    memory
}

fn by_items(part: &Part, s: &Schedule, memory: &mut Inputs, items: i128) {
    let program = Program::new(&part.function).unwrap();
    for item in 0..items {
        let mut set = |name: &Sym, value: i128| {
            let value = Scalar::int(ScalarType::I64, value);
            memory.scalars.insert(name.clone(), value);
        };
        set(&s.names.first, item);
        set(&s.names.step, items);
        program
            .run(memory, 10_000_000)
            .unwrap_or_else(|e| panic!("{e:?}\n{}", part.function));
    }
}

fn same_by_parts(name: &str) {
    let whole = lowered(name);
    let schedule = schedule(&whole, &|_| false).unwrap();
    for size in [0, 1, 5, 9] {
        let inputs = inputs(&whole, size);
        let mut expected = inputs.clone();
        let returned = Program::new(&whole)
            .unwrap()
            .run(&mut expected, 10_000_000)
            .unwrap_or_else(|e| panic!("{e:?}\n{whole}"));
        for items in [1, 3, 300] {
            let found = by_parts(&whole, &schedule, &inputs, items);
            for (array, expected) in &expected.arrays {
                let found = &found.arrays[array].data;
                assert_eq!(
                    *found, expected.data,
                    "{name}: {array}, {size}, {items} items"
                );
            }
            if let Some(value) = returned {
                assert_eq!(found.arrays[&schedule.names.result].data, [value], "{name}");
            }
        }
    }
}

#[test]
fn any_number_of_items_does_the_same() {
    for name in [
        "burn",
        "center_rows",
        "darken",
        "dot16",
        "matmul",
        "matvec",
        "only_if",
        "over_time",
        "screen",
        "shapes",
        "softmax",
        "swap_scaled",
    ] {
        same_by_parts(name);
    }
}

/// What is done in each round is, and nothing else.
#[test]
fn a_loop_over_time_is_cut_into_kernels() {
    let s = schedule(&lowered("over_time"), &|_| true).unwrap();
    let repeats: Vec<bool> = s.parts.iter().map(|p| p.repeats).collect();
    assert_eq!(repeats, [false, true, true, true, true]);
    assert_eq!(s.names.rooms.len(), 1);
}

#[test]
fn only_what_has_two_factors_is_tiled() {
    for (name, expected) in [
        ("matmul", 1),
        ("accumulated", 1),
        ("matvec", 0),
        ("screen", 0),
        ("softmax", 0),
    ] {
        let s = schedule(&lowered(name), &|_| true).unwrap();
        let tiled = s.parts.iter().filter(|p| tile::tiled(p).is_some());
        assert_eq!(tiled.count(), expected, "{name}");
    }
}
