//! The `gaudi` target: what it prints, and what that computes on emulated cores.

mod common;

use common::native::run_cpp;
use common::{Random, assert_same, call, expected, golden, summary, try_generate};
use tensorize_backends::Generated;
use tensorize_backends::gaudi::CORES;
use tensorize_ir::guard::Tier;
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::Inputs;
use tensorize_ir::op::{BinOp, CmpOp, UnOp};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{Function, NodeId, Op, Output, TensorType, View, dim};

fn generate(f: &Function, tier: Tier) -> Result<Generated, String> {
    try_generate(&CORES, f, tier, &[])
}

/// Generates, compiles, runs on emulated cores, compares with the interpreter.
fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> Generated {
    let g = generate(f, tier).unwrap_or_else(|why| panic!("{}: {why}", f.name));
    let got = run_cpp(f, &g, calls, &tensorize_emulation::include_dir());
    for (call, got) in calls.iter().zip(got) {
        let name = format!("{}\n{}", f.name, g.files[0].1);
        assert_same(&name, g.tier, &got, &expected(f, call));
    }
    g
}

/// A kernel over vectors that is built operator by operator, each with a result of its own.
struct Operators {
    f: Function,
    ty: ScalarType,
    a: NodeId,
    b: NodeId,
}

impl Operators {
    fn new(ty: ScalarType) -> Operators {
        let array = |name: &str| Param::Array {
            name: name.into(),
            elem: ty,
            is_const: true,
            restrict: false,
        };
        let n = Param::Scalar {
            name: "n".into(),
            ty: ScalarType::I32,
        };
        let mut f = Function {
            name: format!("on_{}", ty.name()),
            params: vec![n, array("a"), array("b")],
            nodes: vec![],
            outputs: vec![],
            rounds: None,
            state: vec![],
        };
        let view = |name: &str| View {
            array: name.into(),
            index: Idx::sym(dim(0)),
        };
        let vector = TensorType::new(vec![Idx::sym("n")], ty);
        let a = f.add(Op::View(view("a")), vec![], vector.clone());
        let b = f.add(Op::View(view("b")), vec![], vector);
        Operators { f, ty, a, b }
    }

    fn of(&self, elem: ScalarType) -> TensorType {
        TensorType::new(vec![Idx::sym("n")], elem)
    }

    fn constant(&mut self, value: i128) -> NodeId {
        let c = self.f.constant(Scalar::int(self.ty, value));
        let dimensions = vec![];
        let ty = self.of(self.ty);
        self.f.add(Op::BroadcastInDim { dimensions }, vec![c], ty)
    }

    fn result(&mut self, value: NodeId) {
        let name = format!("o{}", self.f.outputs.len());
        self.f.params.push(Param::Array {
            name: name.as_str().into(),
            elem: self.f.nodes[value].ty.elem,
            is_const: false,
            restrict: false,
        });
        self.f.outputs.push(Output::Store {
            value,
            view: View {
                array: name.as_str().into(),
                index: Idx::sym(dim(0)),
            },
        });
    }

    fn binary(&mut self, op: BinOp, b: NodeId) {
        let ty = self.of(self.ty);
        let value = self.f.add(Op::Binary(op), vec![self.a, b], ty);
        self.result(value);
    }

    /// All pairs of 8-bit values; of others, random ones with many edges.
    fn calls(&self) -> Vec<Inputs> {
        let mut r = Random(21);
        if self.ty.bits() > 8 {
            return [0, 1, 63, 64, 65, 700]
                .map(|n| call(&self.f, &[("n", n)], &mut r, false))
                .into();
        }
        let mut c = call(&self.f, &[("n", 65536)], &mut r, false);
        for (name, step) in [("a", 256), ("b", 1)] {
            let byte = |i: i128| Scalar::int(self.ty, i / step % 256);
            c.arrays.get_mut(name).unwrap().data = (0..65536).map(byte).collect();
        }
        vec![c, call(&self.f, &[("n", 255)], &mut r, false)]
    }

    fn check(&self) {
        check(&self.f, Tier::Exact, &self.calls());
    }
}

const INTEGERS: [ScalarType; 5] = [
    ScalarType::U8,
    ScalarType::I8,
    ScalarType::U16,
    ScalarType::I16,
    ScalarType::I32,
];

#[test]
fn integers_wrap() {
    use BinOp::{Add, And, Maximum, Minimum, Multiply, Or, Subtract, Xor};
    for ty in INTEGERS {
        let mut o = Operators::new(ty);
        let b = o.b;
        for op in [Add, Subtract, Multiply, And, Or, Xor, Maximum, Minimum] {
            o.binary(op, b);
        }
        for op in [UnOp::Negate, UnOp::Not, UnOp::Abs] {
            let ty = o.of(ty);
            let value = o.f.add(Op::Unary(op), vec![o.a], ty);
            o.result(value);
        }
        o.check();
    }
}

#[test]
fn comparisons_select() {
    for ty in INTEGERS.into_iter().chain([ScalarType::F32]) {
        let mut o = Operators::new(ty);
        for op in CmpOp::ALL {
            let truth = o.of(ScalarType::I1);
            let vector = o.of(ty);
            let is = o.f.add(Op::Compare(*op), vec![o.a, o.b], truth);
            let value = o.f.add(Op::Select, vec![is, o.b, o.a], vector);
            o.result(value);
        }
        o.check();
    }
}

#[test]
fn shifts_by_constants() {
    for ty in INTEGERS {
        let mut o = Operators::new(ty);
        for count in [1, i128::from(ty.bits()) - 1] {
            let c = o.constant(count);
            o.binary(BinOp::ShiftLeft, c);
            if ty.is_signed() {
                o.binary(BinOp::ShiftRightArithmetic, c);
            }
            if !ty.is_signed() || ty == ScalarType::I32 {
                o.binary(BinOp::ShiftRightLogical, c);
            }
        }
        o.check();
    }
}

#[test]
fn division_by_constants_truncates() {
    for ty in INTEGERS {
        let divisors = [1, 2, 3, 7, 100, 127, 255, 641, 65535, i128::from(i32::MAX)];
        let fits = divisors.iter().filter(|d| **d <= ty.max_value());
        for few in fits.collect::<Vec<_>>().chunks(5) {
            let mut o = Operators::new(ty);
            for d in few {
                let c = o.constant(**d);
                o.binary(BinOp::Divide, c);
                o.binary(BinOp::Remainder, c);
            }
            let g = generate(&o.f, Tier::Exact).unwrap();
            assert!(!g.theorems.is_empty() && !g.files[0].1.contains("reciprocal"));
            o.check();
        }
    }
}

#[test]
fn division_of_bytes_by_bytes() {
    for ty in [ScalarType::U8, ScalarType::U16] {
        let mut o = Operators::new(ty);
        let b = o.b;
        o.binary(BinOp::Divide, b);
        o.binary(BinOp::Remainder, b);
        o.check();
    }
    let mut o = Operators::new(ScalarType::I32);
    let b = o.b;
    o.binary(BinOp::Divide, b);
    assert!(
        generate(&o.f, Tier::Real)
            .unwrap_err()
            .contains("no integer division")
    );
}

#[test]
fn conversions_follow_c() {
    use ScalarType::{F32, I1, I8, I16, I32, U8, U16};
    for (from, between) in [
        (I32, [U8, I8, U16]),
        (I32, [I16, I1, F32]),
        (U8, [I32, F32, I1]),
        (I8, [I32, F32, U8]),
        (F32, [I32, U8, I16]),
    ] {
        let mut o = Operators::new(from);
        for through in between {
            let (there, back) = (o.of(through), o.of(from));
            let value = o.f.add(Op::Convert, vec![o.a], there);
            let value = o.f.add(Op::Convert, vec![value], back);
            o.result(value);
        }
        o.check();
    }
    let mut o = Operators::new(I32);
    let (there, back) = (o.of(F32), o.of(I32));
    let value = o.f.add(Op::BitcastConvert, vec![o.a], there.clone());
    let value = o.f.add(Op::Unary(UnOp::Negate), vec![value], there);
    let value = o.f.add(Op::BitcastConvert, vec![value], back);
    o.result(value);
    // What a NaN's bits are is nobody's business.
    let mut calls = o.calls();
    for c in &mut calls {
        let finite = |v: &mut Scalar| v.bits &= 0xbf7f_ffff;
        c.arrays
            .get_mut("a")
            .unwrap()
            .data
            .iter_mut()
            .for_each(finite);
    }
    check(&o.f, Tier::Exact, &calls);
}

#[test]
fn floats_round_once() {
    let mut o = Operators::new(ScalarType::F32);
    let b = o.b;
    for op in [BinOp::Add, BinOp::Subtract, BinOp::Multiply] {
        o.binary(op, b);
    }
    let ty = o.of(ScalarType::F32);
    let value = o.f.add(Op::Unary(UnOp::Negate), vec![o.a], ty);
    o.result(value);
    o.check();
    let mut o = Operators::new(ScalarType::F32);
    o.binary(BinOp::Divide, b);
    assert!(
        generate(&o.f, Tier::Exact)
            .unwrap_err()
            .contains("approximate")
    );
    let g = generate(&o.f, Tier::Real).unwrap();
    assert_eq!(g.tier, Tier::Real);
}

#[test]
fn blends() {
    for name in ["screen", "darken", "burn"] {
        let f = summary(name);
        let mut calls = vec![call(
            &f,
            &[("rows", 256), ("cols", 256)],
            &mut Random(5),
            false,
        )];
        let byte = |v: usize| Scalar::int(ScalarType::U8, v as i128);
        for (name, step) in [("base", 256), ("active", 1)] {
            if let Some(b) = calls[0].arrays.get_mut(name) {
                b.data = (0..65536).map(|i| byte(i / step % 256)).collect();
            }
        }
        for (rows, cols) in [(0, 3), (-1, 4), (3, 5), (17, 33)] {
            let sizes = [("rows", rows), ("cols", cols)];
            calls.push(call(&f, &sizes, &mut Random(7), false));
        }
        let g = check(&f, Tier::Exact, &calls);
        golden(&format!("{name}.gaudi.cpp"), &g.files[0].1);
    }
}

/// Words of C++ are names in C.
#[test]
fn words_of_the_language() {
    let f = summary("words");
    let sizes = |or, new| [("or", or), ("new", new), ("None", 7)];
    let calls = [(3, 5), (0, 4), (17, 33)]
        .map(|(or, new)| call(&f, &sizes(or, new), &mut Random(3), false));
    check(&f, Tier::Exact, &calls);
}

#[test]
fn rows_scalars_and_in_place() {
    let f: Function =
        "func @k(a: ptr<f32>, b: const ptr<f32>, rows: i32, cols: i32, pitch: i64, tensor: f32) {
  %0 = view a[#0*pitch + #1] : tensor<rows x cols x f32>
  %1 = view b[#0*cols + #1] : tensor<rows x cols x f32>
  %2 = param tensor : tensor<f32>
  %3 = constant 1.0:f32 : tensor<f32>
  %4 = subtract %3, %2 : tensor<f32>
  %5 = broadcast_in_dim %4, dimensions = [] : tensor<rows x cols x f32>
  %6 = multiply %1, %5 : tensor<rows x cols x f32>
  %7 = add %0, %6 : tensor<rows x cols x f32>
  store a[#0*pitch + #1] = %7
}
"
        .parse()
        .unwrap();
    let mut r = Random(4);
    let calls: Vec<_> = [(1, 1), (3, 70), (5, 64), (0, 4), (2, 200)]
        .into_iter()
        .map(|(rows, cols)| {
            let sizes = [("rows", rows), ("cols", cols), ("pitch", cols + 5)];
            call(&f, &sizes, &mut r, false)
        })
        .collect();
    check(&f, Tier::Exact, &calls);
}

/// The host's function keeps a truth value that is used twice in a variable: C++ has another name for its type.
#[test]
fn truth_values_are_kept() {
    let text = "func @f(a: const ptr<i32>, o: ptr<i32>, n: i32) {
          %a = view a[#0] : tensor<n x i32>
          %c = constant 7:i32
          %cs = broadcast_in_dim %c, dimensions = [] : tensor<n x i32>
          %is = compare GT, %a, %cs
          %less = subtract %a, %cs
          %x = select %is, %less, %a
          %y = multiply %x, %x
          %z = select %is, %y, %cs
          store o[#0] = %z
        }";
    let f: Function = text.parse().unwrap();
    let mut r = Random(4);
    let calls = [1, 100].map(|n| call(&f, &[("n", n)], &mut r, false));
    let g = check(&f, Tier::Exact, &calls);
    assert!(g.files[0].1.contains("_Bool is"), "{}", g.files[0].1);
}

#[test]
fn results_that_read_each_other() {
    let f = summary("swap_scaled");
    let mut r = Random(6);
    let calls = [0, 5, 64, 333].map(|n| call(&f, &[("n", n)], &mut r, false));
    check(&f, Tier::Exact, &calls);
}

#[test]
fn what_belongs_elsewhere_is_refused() {
    for (name, why) in [("matvec", "contractions"), ("dot16", "a number")] {
        let refused = generate(&summary(name), Tier::Real);
        let said = refused.expect_err(name);
        assert!(said.contains(why), "{name}: {said}");
    }
    let shifted: Function = "func @k(a: ptr<i32>, n: i32) {
  %0 = view a[#0 + 1] : tensor<n x i32>
  %1 = negate %0 : tensor<n x i32>
  store a[#0] = %1
}
"
    .parse()
    .unwrap();
    let why = generate(&shifted, Tier::Real).unwrap_err();
    assert!(why.contains("other places"), "{why}");
}
