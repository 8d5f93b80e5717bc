//! Every operator of TensIR: its two definitions agree, its text reads back.
//!
//! Functions are made at random around one operator, with shapes that include 0 and 1, operands that
//! are themselves operators, and data with the edges of each type. The seed is what proptest varies.

mod random;

use proptest::prelude::*;
use random::{Case, KINDS, kind};
use tensorize_ir::element::{Env, Evaluator};
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::memory::Inputs;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::Scalar;
use tensorize_ir::tensir::{
    Function, Op, Output, Sampling, dim, evaluate, interpret, positions, sample,
};

/// The inputs, and the dimensions `#0`, `#1`, … of a position.
struct At<'a>(&'a mut Inputs, &'a [i128]);

impl Env for At<'_> {
    fn sym(&self, name: &Sym) -> Option<i128> {
        match name.strip_prefix('#') {
            Some(d) => self.1.get(d.parse::<usize>().ok()?).copied(),
            None => self.0.sym(name),
        }
    }
    fn param(&self, name: &Sym) -> Option<Scalar> {
        self.0.param(name)
    }
    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        self.0.read(array, index)
    }
}

/// How many elements were compared, and how many were not defined.
#[derive(Default)]
struct Count {
    compared: usize,
    undefined: usize,
}

/// The interpreter's value of every node is the element view's, at concrete positions and at symbolic
/// ones, however that is evaluated; where it has none, a side condition says so.
fn both_definitions_agree(case: &Case) -> Count {
    let Case {
        function: f,
        inputs,
        ..
    } = case;
    let mut inputs = inputs.clone();
    let values = evaluate(f, &inputs).unwrap_or_else(|e| panic!("{e}\n{f}"));
    let mut count = Count::default();
    let mut broken = vec![false; f.nodes.len()];
    for condition in f.side_conditions(&mut Fresh::default()) {
        for position in positions(&values[condition.node].shape) {
            let holds = condition.holds.eval(&mut At(&mut inputs, &position));
            broken[condition.node] |= !holds.is_some_and(Scalar::is_true);
        }
    }
    for (id, node) in f.nodes.iter().enumerate() {
        broken[id] |= node.args.iter().any(|&a| broken[a]);
        let symbols: Vec<_> = (0..node.ty.rank()).map(|d| Idx::sym(dim(d))).collect();
        let symbolic = f.element(id, &symbols, &mut Fresh::default());
        let names: Vec<Sym> = (0..node.ty.rank()).map(dim).collect();
        let at_once = inputs.clone();
        let mut evaluator = Evaluator::new(&symbolic, &names, &at_once);
        for (position, value) in positions(&values[id].shape).zip(&values[id].data) {
            let Some(value) = value else {
                assert!(
                    broken[id],
                    "%{id} at {position:?} is not defined, for no reason\n{f}"
                );
                count.undefined += 1;
                continue;
            };
            let constants: Vec<_> = position.iter().map(|&p| Idx::constant(p)).collect();
            let concrete = f.element(id, &constants, &mut Fresh::default());
            for e in [&concrete, &symbolic] {
                assert_eq!(e.ty(), node.ty.elem);
                let viewed = e.eval(&mut At(&mut inputs, &position));
                assert!(
                    viewed.is_some_and(|v| v.same(*value)),
                    "%{id} at {position:?}: {value} by definition, {viewed:?} as {e}\n{f}\n{inputs:?}",
                );
            }
            let found = evaluator.at(&position, &mut u64::MAX.clone());
            assert!(
                found.is_ok_and(|v| v.same(*value)),
                "%{id} at {position:?}: {value} by definition, {found:?} as {symbolic}\n{f}\n{inputs:?}",
            );
            count.compared += 1;
        }
    }
    count
}

fn text_reads_back(f: &Function) {
    let text = f.to_string();
    let back: Function = text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(back, *f, "{text}");
    let json = serde_json::to_string(f).unwrap();
    assert_eq!(
        serde_json::from_str::<Function>(&json).unwrap(),
        *f,
        "{text}"
    );
}

/// Results end up where their views say, and nothing else changes.
fn results_are_stored(case: &Case) {
    let Case {
        function: f,
        inputs,
        ..
    } = case;
    let values = evaluate(f, inputs).unwrap();
    let Some(Output::Store { value, view }) = f.outputs.first() else {
        return;
    };
    let tensor = &values[*value];
    let outputs = match interpret(f, inputs) {
        Ok(outputs) => outputs,
        Err(e) => {
            assert!(tensor.data.contains(&None), "{e}\n{f}");
            return;
        }
    };
    let mut expected = inputs.arrays.clone();
    let buffer = expected.get_mut(&view.array).unwrap();
    for (i, v) in tensor.data.iter().enumerate() {
        buffer.data[i] = v.unwrap();
    }
    assert_eq!(outputs.arrays, expected);
    let how = Sampling {
        seed: 1,
        places: 5,
        steps: u64::MAX,
        patience: u64::MAX,
    };
    let sampled = sample(f, inputs, &how).unwrap();
    assert!(sampled.count() >= tensor.data.len().min(5) as u64, "{f}");
    let returned = outputs.returned.zip(sampled.returned);
    assert!(returned.is_none_or(|(a, b)| a.same(b)), "{f}");
    for (array, i, v) in &sampled.stored {
        assert!(outputs.arrays[array].get(*i).unwrap().same(*v), "{f}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_operator_means_one_thing(seed in any::<u64>()) {
        for kind in KINDS {
            let case = Case::new(kind, seed);
            both_definitions_agree(&case);
            results_are_stored(&case);
        }
    }

    #[test]
    fn damaged_text_is_an_error_or_a_function(
        seed in any::<u64>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8), 1..4),
    ) {
        for kind in KINDS {
            let mut text: Vec<char> = Case::new(kind, seed).function.to_string().chars().collect();
            for (index, how) in &damage {
                // All of it may be gone.
                if text.is_empty() {
                    break;
                }
                let at = index.index(text.len());
                match how {
                    0 => drop(text.remove(at)),
                    1 => text.insert(at, 'é'),
                    2 => text.truncate(at + 1),
                    3 => text.insert(at, text[text.len() / 2]),
                    _ => text.swap(at, at / 2),
                }
            }
            let text: String = text.into_iter().collect();
            match text.parse::<Function>() {
                // What still reads is well-formed and reads back.
                Ok(f) => text_reads_back(&f),
                Err(e) => prop_assert!(e.line >= 1 && e.offset <= text.len(), "{}", e),
            }
        }
    }

    #[test]
    fn every_operator_reads_back(seed in any::<u64>()) {
        for kind in KINDS {
            text_reads_back(&Case::new(kind, seed).function);
        }
    }
}

#[test]
fn no_operator_is_left_out() {
    for name in KINDS {
        let mut total = Count::default();
        for seed in 0..300 {
            let case = Case::new(name, seed);
            let made = case
                .function
                .nodes
                .iter()
                .filter(|n| kind(&n.op) == *name)
                .count();
            assert!(made > 0, "no {name} in\n{}", case.function);
            let count = both_definitions_agree(&case);
            total.compared += count.compared;
            total.undefined += count.undefined;
        }
        assert!(total.compared >= 300, "{name}: {} elements", total.compared);
        let can_fail = ["slice", "gather", "reshape", "concatenate"].contains(name);
        assert_eq!(
            total.undefined > 0,
            can_fail,
            "{name}: {} undefined",
            total.undefined
        );
    }
}

#[test]
fn every_scalar_operator_is_tried() {
    let (mut unary, mut binary, mut compare) = (vec![], vec![], vec![]);
    for seed in 0..400 {
        for kind in ["unary", "binary", "compare"] {
            for node in Case::new(kind, seed).function.nodes {
                match node.op {
                    Op::Unary(op) => unary.push(op),
                    Op::Binary(op) => binary.push(op),
                    Op::Compare(op) => compare.push(op),
                    _ => {}
                }
            }
        }
    }
    assert!(UnOp::ALL.iter().all(|op| unary.contains(op)));
    assert!(BinOp::ALL.iter().all(|op| binary.contains(op)));
    assert!(CmpOp::ALL.iter().all(|op| compare.contains(op)));
}
