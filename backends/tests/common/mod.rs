//! Kernels as test data, and a way to run what is generated.

#![allow(dead_code)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use tensorize_backends::{Generated, Kernel, Signature, Target};
use tensorize_ir::element::{Elem, ElemRef, Env};
use tensorize_ir::guard::{Extent, Footprint, Tier};
use tensorize_ir::index::{Fresh, Idx, Sym};
use tensorize_ir::loopir::Param;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::{self, Function, Output, at};

pub mod kernels;

/// One call's arguments.
#[derive(Clone, Debug)]
pub struct Call {
    pub scalars: BTreeMap<Sym, Scalar>,
    pub arrays: BTreeMap<Sym, Vec<Scalar>>,
}

/// What a call leaves behind.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub arrays: BTreeMap<Sym, Vec<Scalar>>,
    pub ret: Option<Scalar>,
}

impl Env for Call {
    fn sym(&self, name: &Sym) -> Option<i128> {
        self.scalars.get(name).map(|v| v.as_int())
    }
    fn param(&self, name: &Sym) -> Option<Scalar> {
        self.scalars.get(name).copied()
    }
    fn read(&mut self, array: &Sym, index: i128) -> Option<Scalar> {
        self.arrays
            .get(array)?
            .get(usize::try_from(index).ok()?)
            .copied()
    }
}

/// What the summary says, by its element view.
pub fn expected(function: &Function, call: &Call) -> Outcome {
    let mut out = Outcome {
        arrays: call.arrays.clone(),
        ret: None,
    };
    for output in &function.outputs {
        let shape = &function.nodes[output.value()].ty.shape;
        let extents: Vec<i128> = shape
            .iter()
            .map(|e| e.eval_sizes(&|s| call.sym(s)).unwrap().max(0))
            .collect();
        for position in positions(&extents) {
            let position: Vec<Idx> = position.into_iter().map(Idx::constant).collect();
            let mut fresh = Fresh::default();
            let e = element(function, output.value(), &position, &mut fresh);
            let value = e
                .eval(&mut call.clone())
                .expect("the element view has a value");
            match output {
                Output::Return { .. } => out.ret = Some(value),
                Output::Store { view, .. } => {
                    let at = at(&view.index, &position)
                        .eval_sizes(&|s| call.sym(s))
                        .unwrap();
                    out.arrays.get_mut(&view.array).unwrap()[at as usize] = value;
                }
            }
        }
    }
    out
}

fn element(f: &Function, node: usize, position: &[Idx], _fresh: &mut Fresh) -> ElemRef {
    match &f.nodes[node].op {
        tensir::Op::Generic(e) => tensir::elem_at(e, position),
        other => panic!("{other:?}"),
    }
}

fn positions(extents: &[i128]) -> Vec<Vec<i128>> {
    let mut out = vec![vec![]];
    for &n in extents {
        out = out
            .into_iter()
            .flat_map(|p| (0..n).map(move |i| p.iter().copied().chain([i]).collect()))
            .collect();
    }
    out
}

/// Footprints that cover the arrays of a call.
pub fn footprints(function: &Function, call: &Call) -> Vec<Footprint> {
    let written = |name: &Sym| {
        function
            .outputs
            .iter()
            .any(|o| matches!(o, Output::Store { view, .. } if view.array == *name))
    };
    call.arrays
        .iter()
        .map(|(name, values)| Footprint {
            extent: Extent {
                array: name.clone(),
                lo: Idx::constant(0),
                hi: Idx::constant(values.len() as i128),
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
    try_generate(target, function, tier).unwrap_or_else(|why| panic!("{}: {why}", function.name))
}

pub fn try_generate(
    target: &dyn Target,
    function: &Function,
    tier: Tier,
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
    let ret = function.outputs.iter().find_map(|o| match o {
        Output::Return { value } => Some(function.nodes[*value].ty.elem.c_name().to_string()),
        Output::Store { .. } => None,
    });
    let signature = Signature {
        params: params.collect(),
        ret,
    };
    let kernel = Kernel {
        function,
        tier,
        footprints: &[],
        source: "kernels/test.c:1",
        signature,
    };
    target.generate(&kernel).map_err(|u| u.why)
}

/// Compiles generated C with a driver that makes the calls, and runs it.
pub fn run_c(function: &Function, entry: &str, c: &str, calls: &[Call]) -> Vec<Outcome> {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, driver, exe) = (
        dir.path().join("kernel.c"),
        dir.path().join("driver.c"),
        dir.path().join("run"),
    );
    std::fs::write(&kernel, c).unwrap();
    std::fs::write(&driver, driver_text(function, entry, calls)).unwrap();
    compile(&[&kernel, &driver], &exe, &["-Wall", "-Wextra", "-Werror"]);
    let output = Command::new(&exe).output().unwrap();
    assert!(
        output.status.success(),
        "{}: {:?}\n{c}",
        function.name,
        output.status
    );
    outcomes(function, calls, &String::from_utf8(output.stdout).unwrap())
}

/// Compiles with the flags that generated code needs.
pub fn compile(files: &[&Path], exe: &Path, more: &[&str]) {
    let mut cc = Command::new("cc");
    cc.args(tensorize_backends::cpu::CFLAGS)
        .arg(tensorize_backends::cpu::OPENMP_FLAG)
        .args(more);
    cc.args(files).arg("-o").arg(exe).arg("-lm");
    let output = cc.output().expect("a C compiler");
    let listing = std::fs::read_to_string(files[0]).unwrap();
    assert!(
        output.status.success(),
        "cc failed:\n{}\n{listing}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn hex(values: &[Scalar]) -> Vec<String> {
    values.iter().map(|v| format!("0x{:x}", v.bits)).collect()
}

fn driver_text(function: &Function, entry: &str, calls: &[Call]) -> String {
    let mut s = String::from("#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n");
    let ret = function.outputs.iter().find_map(|o| match o {
        Output::Return { value } => Some(function.nodes[*value].ty.elem),
        Output::Store { .. } => None,
    });
    let params: Vec<_> = function
        .params
        .iter()
        .map(|p| match p {
            Param::Scalar { ty, .. } => ty.c_name().to_string(),
            Param::Array { elem, is_const, .. } => {
                format!(
                    "{}{} *",
                    if *is_const { "const " } else { "" },
                    elem.c_name()
                )
            }
        })
        .collect();
    let c_ret = ret.map_or("void", ScalarType::c_name);
    writeln!(s, "{c_ret} {entry}({});", params.join(", ")).unwrap();
    let bits = |ty: ScalarType| format!("uint{}_t", ty.bytes() * 8);
    let mut body = String::new();
    for (n, call) in calls.iter().enumerate() {
        let mut args = Vec::new();
        for p in &function.params {
            let name = p.name();
            let (ty, values) = match p {
                Param::Scalar { ty, .. } => (*ty, vec![call.scalars[name]]),
                Param::Array { elem, .. } => (*elem, call.arrays[name].clone()),
            };
            let values = if values.is_empty() {
                vec![Scalar::zero(ty)]
            } else {
                values
            };
            writeln!(
                s,
                "static {} a{n}_{name}[] = {{{}}};",
                bits(ty),
                hex(&values).join(",")
            )
            .unwrap();
            match p {
                Param::Scalar { ty, .. } => {
                    writeln!(
                        body,
                        "  {} v{n}_{name}; memcpy(&v{n}_{name}, a{n}_{name}, sizeof v{n}_{name});",
                        ty.c_name()
                    )
                    .unwrap();
                    args.push(format!("v{n}_{name}"));
                }
                Param::Array { elem, .. } => args.push(format!("({} *)a{n}_{name}", elem.c_name())),
            }
        }
        let result = if ret.is_some() {
            format!("{c_ret} r{n} = ")
        } else {
            String::new()
        };
        writeln!(body, "  {result}{entry}({});", args.join(", ")).unwrap();
        for p in &function.params {
            if let Param::Array { name, .. } = p {
                let (name, len) = (name, call.arrays[name].len());
                writeln!(body, "  for (int i = 0; i < {len}; i++) printf(\"%llx \", (unsigned long long)a{n}_{name}[i]);").unwrap();
                writeln!(body, "  puts(\"\");").unwrap();
            }
        }
        if let Some(ty) = ret {
            let b = bits(ty);
            writeln!(body, "  {{ {b} r = 0; memcpy(&r, &r{n}, sizeof r); printf(\"%llx\\n\", (unsigned long long)r); }}").unwrap();
        }
    }
    s + &format!("int main(void) {{\n{body}  return 0;\n}}\n")
}

/// Reads what a run printed: an array a line, then the result, for each call.
pub fn outcomes(function: &Function, calls: &[Call], stdout: &str) -> Vec<Outcome> {
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
    for _ in calls {
        let mut arrays = BTreeMap::new();
        for p in &function.params {
            if let Param::Array { name, elem, .. } = p {
                arrays.insert(name.clone(), read(*elem));
            }
        }
        let ret = function.outputs.iter().find_map(|o| match o {
            Output::Return { value } => Some(read(function.nodes[*value].ty.elem)[0]),
            Output::Store { .. } => None,
        });
        out.push(Outcome { arrays, ret });
    }
    out
}

/// Compares, bit for bit or, for tier real, with a tolerance.
pub fn assert_same(name: &str, tier: Tier, got: &Outcome, want: &Outcome) {
    let close = |a: Scalar, b: Scalar| {
        a.same(b)
            || (tier == Tier::Real && a.ty.is_float() && {
                let (x, y) = (a.as_f64(), b.as_f64());
                (x - y).abs() <= 1e-4 * (1.0 + x.abs().max(y.abs()))
            })
    };
    for (array, want) in &want.arrays {
        let got = &got.arrays[array];
        assert_eq!(got.len(), want.len(), "{name}: length of {array}");
        for (i, (g, w)) in got.iter().zip(want).enumerate() {
            assert!(close(*g, *w), "{name}: {array}[{i}] is {g}, should be {w}");
        }
    }
    match (got.ret, want.ret) {
        (Some(g), Some(w)) => assert!(close(g, w), "{name} gives {g}, should give {w}"),
        (g, w) => assert_eq!(g, w, "{name}"),
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
        let edge = self.next() % 8 == 0;
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

/// Whether `e` is a literal; keeps `Elem` in use for the kernels.
pub fn is_literal(e: &ElemRef) -> bool {
    matches!(&**e, Elem::Const(_))
}
