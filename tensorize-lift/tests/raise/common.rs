//! Raising seen from outside: closed forms in, operators out, and the same values from both.

use tensorize_ir::inputs::Rng;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::interpret;
use tensorize_ir::tensir::{Function, Op, Output};
use tensorize_lift::raise::{Closed, raise, unraised};

/// The closed forms of a function whose nodes are all `generic`.
pub fn closed(f: &Function) -> Vec<Closed> {
    let value = |id: usize| match &f.nodes[id].op {
        Op::Generic(e) => e.clone(),
        other => panic!("{} is not index notation", other.name()),
    };
    let each = |o: &Output| match o {
        Output::Store { value: v, view } => Closed::Store {
            shape: f.nodes[*v].ty.shape.clone(),
            view: view.clone(),
            value: value(*v),
        },
        Output::Return { value: v } => Closed::Return(value(*v)),
    };
    f.outputs.iter().map(each).collect()
}

/// The raised function, after it gave what index notation gives on a number of inputs.
pub fn raised(plain: &Function) -> Function {
    let results = closed(plain);
    assert_eq!(
        unraised(&plain.name, &plain.params, &results).outputs,
        plain.outputs
    );
    let f = raise(&plain.name, &plain.params, &results);
    assert_eq!(f.verify(), Ok(()), "{f}");
    assert_eq!(
        f,
        raise(&plain.name, &plain.params, &results),
        "not deterministic"
    );
    let mut compared = 0;
    for seed in 0..16 {
        let inputs = random_inputs(&plain.params, seed);
        // Where index notation itself reads outside of an array, there is nothing to compare.
        let Ok(expected) = interpret(plain, &inputs) else {
            continue;
        };
        let found = interpret(&f, &inputs).unwrap_or_else(|e| panic!("{e}\n{plain}{f}"));
        let same = expected.arrays.iter().all(|(name, b)| {
            b.data
                .iter()
                .zip(&found.arrays[name].data)
                .all(|(x, y)| x.same(*y))
        });
        let returned = match (expected.returned, found.returned) {
            (Some(x), Some(y)) => x.same(y),
            (x, y) => x == y,
        };
        assert!(same && returned, "on {inputs:?}\n{plain}{f}");
        compared += 1;
    }
    assert!(
        compared > 3,
        "only {compared} inputs could be compared\n{plain}"
    );
    f
}

/// Small sizes, and arrays long enough for them on both sides.
pub fn random_inputs(params: &[Param], seed: u64) -> Inputs {
    let mut rng = Rng::new(seed);
    let mut inputs = Inputs::default();
    for p in params {
        inputs = match p {
            Param::Scalar { name, ty } if ty.is_float() => {
                inputs.scalar(name.clone(), value(*ty, &mut rng))
            }
            Param::Scalar { name, ty } => {
                inputs.scalar(name.clone(), Scalar::int(*ty, rng.below(6) as i128))
            }
            Param::Array { name, elem, .. } => {
                let data = (0..900).map(|_| value(*elem, &mut rng)).collect();
                inputs.array(
                    name.clone(),
                    Buffer {
                        elem: *elem,
                        origin: 300,
                        data,
                    },
                )
            }
        };
    }
    inputs
}

/// Often an edge, often equal to another one.
pub fn value(ty: ScalarType, rng: &mut Rng) -> Scalar {
    let small = rng.below(7) as i128 - 3;
    let special = [
        0.0,
        -0.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e30,
        0.1,
        -0.3,
    ];
    match (rng.below(4), ty) {
        (0, ScalarType::F32) => Scalar::f32(*rng.pick(&special) as f32),
        (0, ScalarType::F64) => Scalar::f64(*rng.pick(&special)),
        (1, ScalarType::F32) => Scalar::f32(small as f32 * 0.37),
        (1, ScalarType::F64) => Scalar::f64(small as f64 * 0.37),
        (1, _) => Scalar::int(ty, rng.bits() as i128),
        _ => Scalar::int(ty, small),
    }
}
