//! Kernels as test data, and a way to run what is generated.

#![allow(dead_code)]

pub mod attempts;
pub mod cases;
pub mod conversions;
pub mod corpus;
pub mod folds;
pub mod inside;
pub mod mutants;
pub mod native;
pub mod operators;
pub mod python;
pub mod scatters;
pub mod survivors;
pub mod terms;
pub mod tries;

use std::path::Path;
use tensorize_backends::{Generated, Kernel, Signature, Target};
use tensorize_ir::guard::{Extent, Footprint, Tier};
use tensorize_ir::index::Idx;
use tensorize_ir::loopir::Param;
use tensorize_ir::loopir::Stmt;
use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, Function, Output};

/// A summary from `tests/summaries`.
pub fn summary(name: &str) -> Function {
    // The workspace's tests use this file, too.
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../backends/tests/summaries")
        .join(name);
    let path = path.with_extension("tir");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// What the summary says.
pub fn expected(function: &Function, inputs: &Inputs) -> Outputs {
    tensir::interpret(function, inputs).unwrap_or_else(|e| panic!("{}: {e}", function.name))
}

/// A call with these sizes and random arrays, as long as each view of them needs.
pub fn call(f: &Function, sizes: &[(&str, i128)], random: &mut Random, tame: bool) -> Inputs {
    let mut inputs = Inputs::default();
    for p in &f.params {
        if let Param::Scalar { name, ty } = p {
            let size = sizes.iter().find(|(n, _)| *n == &**name);
            let value = match size {
                Some((_, v)) => Scalar::int(*ty, *v),
                None => random.tame(*ty),
            };
            inputs.scalars.insert(name.clone(), value);
        }
    }
    for p in &f.params {
        if let Param::Array { name, elem, .. } = p {
            let len = needed(f, name, &inputs);
            let value = |_| {
                if tame {
                    random.tame(*elem)
                } else {
                    random.scalar(*elem)
                }
            };
            inputs.arrays.insert(
                name.clone(),
                Buffer::new(*elem, (0..len).map(value).collect()),
            );
        }
    }
    inputs
}

/// Calls of several sizes, whatever the kernel names them.
pub fn vectors(f: &Function, tame: bool) -> Vec<Inputs> {
    let mut r = Random(9);
    [(1, 1), (3, 5), (37, 3), (200, 70)]
        .into_iter()
        .map(|(n, d)| {
            call(
                f,
                &[
                    ("n", n),
                    ("d", d),
                    ("m", 5),
                    ("k", d),
                    ("rows", n),
                    ("cols", d),
                ],
                &mut r,
                tame,
            )
        })
        .collect()
}

/// How many elements of an array the views of it cover.
fn needed(f: &Function, array: &str, inputs: &Inputs) -> usize {
    let inner = f.nodes.iter().filter_map(|n| match &n.op {
        tensir::Op::View(v) => Some((v, &n.ty.shape)),
        _ => None,
    });
    let outer = f.outputs.iter().filter_map(|o| match o {
        Output::Store { value, view } => Some((view, &f.nodes[*value].ty.shape)),
        Output::Return { .. } => None,
    });
    // Index notation reads what it likes; twice as much as there are sizes will do for the tests.
    let product = |(n, v): (i128, &Scalar)| n * v.as_int().max(1);
    let mut len = match f
        .nodes
        .iter()
        .any(|n| matches!(n.op, tensir::Op::Generic(_)))
    {
        true => inputs.scalars.values().fold(2, |n, v| product((n, v))),
        false => 1,
    };
    for (view, shape) in inner.chain(outer).filter(|(v, _)| &*v.array == array) {
        let last: Option<Vec<Idx>> = shape
            .iter()
            .map(|e| e.eval_sizes(&|s| inputs.size(s)).filter(|n| *n > 0))
            .map(|n| n.map(|n| Idx::constant(n - 1)))
            .collect();
        if let Some(at) = last.map(|l| tensir::at(&view.index, &l)) {
            len = len.max(at.eval_sizes(&|s| inputs.size(s)).unwrap_or(0) + 1);
        }
    }
    len as usize
}

/// Footprints that cover all of the arrays.
pub fn footprints(function: &Function, inputs: &Inputs) -> Vec<Footprint> {
    let written = |name: &str| {
        function
            .outputs
            .iter()
            .any(|o| matches!(o, Output::Store { view, .. } if &*view.array == name))
    };
    inputs
        .arrays
        .iter()
        .map(|(name, b)| Footprint {
            extent: Extent {
                array: name.clone(),
                lo: Idx::constant((-b.origin).into()),
                hi: Idx::constant(b.data.len() as i128 - i128::from(b.origin)),
            },
            reads: true,
            writes: written(name),
            reads_depend_on_data: false,
            writes_depend_on_data: false,
        })
        .collect()
}

/// Runs a back end.
pub fn generate(target: &dyn Target, function: &Function, tier: Tier) -> Generated {
    try_generate(target, function, tier, &[])
        .unwrap_or_else(|why| panic!("{}: {why}", function.name))
}

pub fn try_generate(
    target: &dyn Target,
    function: &Function,
    tier: Tier,
    footprints: &[Footprint],
) -> Result<Generated, String> {
    let params = function.params.iter().map(|p| match p {
        Param::Scalar { name, ty } => (name.to_string(), ty.c_name().to_string()),
        Param::Array {
            name,
            elem,
            is_const,
            ..
        } => {
            let constant = if *is_const { "const " } else { "" };
            (name.to_string(), format!("{constant}{} *", elem.c_name()))
        }
    });
    let ret = returned(function).map(|ty| ty.c_name().to_string());
    let signature = Signature {
        params: params.collect(),
        ret,
    };
    let kernel = Kernel {
        function,
        tier,
        footprints,
        guards: &[],
        plain: false,
        least_share: None,
        source: "kernels/test.c:1",
        signature,
    };
    target.generate(&kernel).map_err(|u| u.why)
}

pub fn returned(function: &Function) -> Option<ScalarType> {
    function.outputs.iter().find_map(|o| match o {
        Output::Return { value } => Some(function.nodes[*value].ty.elem),
        Output::Store { .. } => None,
    })
}

/// Reads what a run printed: an array a line, then the result, for each call.
pub fn outcomes(function: &Function, calls: &[Inputs], stdout: &str) -> Vec<Outputs> {
    let mut lines = stdout.lines();
    let mut read = |ty: ScalarType| -> Vec<Scalar> {
        let line = lines.next().expect("a line for each array");
        line.split_whitespace()
            .map(|w| Scalar {
                ty,
                bits: u64::from_str_radix(w, 16).expect("hexadecimal"),
            })
            .collect()
    };
    let mut out = Vec::new();
    for call in calls {
        let mut outputs = Outputs {
            arrays: call.arrays.clone(),
            returned: None,
        };
        for p in &function.params {
            if let Param::Array { name, elem, .. } = p {
                outputs.arrays.get_mut(name).unwrap().data = read(*elem);
            }
        }
        outputs.returned = returned(function).map(|ty| read(ty)[0]);
        out.push(outputs);
    }
    out
}

/// Compares, bit for bit or, for tier real, with a tolerance.
pub fn assert_same(name: &str, tier: Tier, got: &Outputs, want: &Outputs) {
    if let Some(difference) = difference(tier, got, want) {
        panic!("{name}: {difference}");
    }
}

/// What is not the same, bit for bit or, for tier real, with a tolerance.
pub fn difference(tier: Tier, got: &Outputs, want: &Outputs) -> Option<String> {
    let close = |a: Scalar, b: Scalar| {
        a.same(b)
            || (tier == Tier::Real && a.ty.is_float() && {
                let (x, y) = (a.as_f64(), b.as_f64());
                (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs()))
            })
    };
    for (array, want) in &want.arrays {
        let (got, want) = (&got.arrays[array].data, &want.data);
        if got.len() != want.len() {
            return Some(format!("length of {array}"));
        }
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            if !close(*g, *w) {
                return Some(format!("{array}[{i}] is {g}, should be {w}"));
            }
        }
    }
    match (got.returned, want.returned) {
        (Some(g), Some(w)) if close(g, w) => None,
        (None, None) => None,
        (g, w) => Some(format!("gives {g:?}, should give {w:?}")),
    }
}

/// Compares with the golden file, or rewrites it if `UPDATE_GOLDEN` is set.
pub fn golden(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(file);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let want = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        text == want,
        "{file} has changed; if that is meant, run the test again with UPDATE_GOLDEN=1.\n{text}"
    );
}

/// Random values, the interesting ones often.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        // xorshift64*: small, and the same on every machine.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn scalar(&mut self, ty: ScalarType) -> Scalar {
        let edge = self.next().is_multiple_of(8);
        match ty {
            ScalarType::F32 | ScalarType::F64 => {
                let edges = [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, 1e-30, 255.0];
                let v = if edge {
                    edges[(self.next() % edges.len() as u64) as usize]
                } else {
                    (self.next() % 20000) as f64 / 1000.0 - 10.0
                };
                if ty == ScalarType::F32 {
                    Scalar::f32(v as f32)
                } else {
                    Scalar::f64(v)
                }
            }
            _ if edge => {
                let edges = [0, 1, -1, ty.min_value(), ty.max_value(), 255, 2];
                Scalar::int(ty, edges[(self.next() % edges.len() as u64) as usize])
            }
            _ => Scalar::int(ty, self.next().into()),
        }
    }

    /// Small numbers: sums of them stay comparable in any order.
    pub fn tame(&mut self, ty: ScalarType) -> Scalar {
        match ty {
            ScalarType::F32 => Scalar::f32((self.next() % 2000) as f32 / 1000.0 - 1.0),
            ScalarType::F64 => Scalar::f64((self.next() % 2000) as f64 / 1000.0 - 1.0),
            _ => Scalar::int(ty, (self.next() % 100).into()),
        }
    }
}

/// `a · b · c`; what `OUT` and `STORE` stand for is for the test to say.
pub const CHAIN: &str = "
    func @chain(a: const ptr<f64>, b: const ptr<f64>, c: const ptr<f64>, OUT d: ptr<f64>, n: i32, m: i32, l: i32) {
      %0 = view a[#0*l + #1] : tensor<n x l x f64>
      %1 = view b[#0*m + #1] : tensor<l x m x f64>
      %2 = constant 0.0:f64 : tensor<f64>
      %3 = dot_general %0, %1, %2, contracting = [1 x 0] : tensor<n x m x f64>
      %4 = view c[#0*l + #1] : tensor<m x l x f64>
      %5 = dot_general %3, %4, %2, contracting = [1 x 0] : tensor<n x l x f64>
      STORE
      store d[#0*l + #1] = %5
    }";

/// The same, where `a · b` is a result, too.
pub fn chain_with_its_first_product() -> String {
    CHAIN
        .replace("OUT ", "t: ptr<f64>, ")
        .replace("STORE", "store t[#0*m + #1] = %3")
}

/// How many loops stand in each other.
pub fn depth(stmts: &[Stmt]) -> usize {
    let deepest = stmts.iter().map(|s| match s {
        Stmt::Loop(l) => 1 + depth(&l.body),
        Stmt::If {
            then, otherwise, ..
        } => depth(then).max(depth(otherwise)),
        _ => 0,
    });
    deepest.max().unwrap_or(0)
}
