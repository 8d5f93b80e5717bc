//! What the front end lowers, run by LoopIR's interpreter, against the same C as `cc` compiles it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use tensorize_ir::loopir::{Function, Param, interp};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

const LEN: usize = 96;
const CASES: usize = 60;
/// Fewer than this many defined runs test nothing.
const ENOUGH: usize = 12;

struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn element(&mut self, ty: ScalarType, wild: bool) -> Scalar {
        if ty.is_float() {
            let v = match self.below(if wild { 12 } else { 9 }) {
                9 => f64::INFINITY,
                10 => f64::NAN,
                11 => -0.0,
                _ => (self.below(4001) as f64 - 2000.0) / 16.0,
            };
            return if ty == ScalarType::F32 {
                Scalar::f32(v as f32)
            } else {
                Scalar::f64(v)
            };
        }
        let small = Scalar::int(ty, i128::from(self.below(21)) - 10);
        match self.below(if wild { 6 } else { 4 }) {
            4 => Scalar::int(ty, ty.max_value() - i128::from(self.below(2))),
            5 => Scalar::int(ty, ty.min_value()),
            0 | 1 => small,
            _ => Scalar::int(ty, i128::from(self.next() & 0x7fff)),
        }
    }
}

fn inputs(f: &Function, rng: &mut Rng) -> Inputs {
    let wild = rng.below(3) == 0;
    let mut inputs = Inputs::default();
    for p in &f.params {
        match p {
            Param::Scalar { name, ty } if ty.is_int() => {
                let v = if rng.below(9) == 0 && ty.is_signed() {
                    -1
                } else {
                    rng.below(9).into()
                };
                inputs.scalars.insert(name.clone(), Scalar::int(*ty, v));
            }
            Param::Scalar { name, ty } => {
                inputs.scalars.insert(name.clone(), rng.element(*ty, wild));
            }
            Param::Array { name, elem, .. } => {
                let data = (0..LEN).map(|_| rng.element(*elem, wild)).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    inputs
}

fn c_type(ty: ScalarType) -> &'static str {
    match ty {
        ScalarType::I1 => "_Bool",
        ScalarType::I8 => "int8_t",
        ScalarType::I16 => "int16_t",
        ScalarType::I32 => "int32_t",
        ScalarType::I64 => "int64_t",
        ScalarType::U8 => "uint8_t",
        ScalarType::U16 => "uint16_t",
        ScalarType::U32 => "uint32_t",
        ScalarType::U64 => "uint64_t",
        ScalarType::F32 => "float",
        ScalarType::F64 => "double",
    }
}

/// A function that reads inputs, calls the kernel, and prints all that it leaves behind.
fn driver(number: usize, f: &Function, cases: &[Inputs], out: &mut String) {
    writeln!(
        out,
        "static void run{number}(void) {{ for (int t = 0; t < {}; t++) {{",
        cases.len()
    )
    .unwrap();
    let (mut args, mut prints) = (Vec::new(), String::new());
    for (i, p) in f.params.iter().enumerate() {
        match p {
            Param::Scalar { ty, .. } => {
                writeln!(out, "  {} a{i}; fetch(&a{i}, sizeof a{i});", c_type(*ty)).unwrap();
                args.push(format!("a{i}"));
            }
            Param::Array { elem, .. } => {
                let each = format!("for (int i = 0; i < {LEN}; i++)");
                writeln!(
                    out,
                    "  {} a{i}[{LEN}]; {each} fetch(a{i} + i, sizeof *a{i});",
                    c_type(*elem)
                )
                .unwrap();
                writeln!(prints, "  {each} show(a{i} + i, sizeof *a{i});").unwrap();
                args.push(format!("(void *)a{i}"));
            }
        }
    }
    let call = format!("{}({})", f.name, args.join(", "));
    match f.ret {
        Some(ty) => writeln!(out, "  {} r = {call}; show(&r, sizeof r);", c_type(ty)).unwrap(),
        None => writeln!(out, "  {call};").unwrap(),
    }
    writeln!(out, "{prints}  puts(\"\"); }} }}").unwrap();
}

/// The inputs of a call, in the order that [`driver`] reads them.
fn words(f: &Function, inputs: &Inputs, out: &mut String) {
    for p in &f.params {
        match p {
            Param::Scalar { name, .. } => writeln!(out, "{:x}", inputs.scalars[name].bits).unwrap(),
            Param::Array { name, .. } => {
                for v in &inputs.arrays[name].data {
                    writeln!(out, "{:x}", v.bits).unwrap();
                }
            }
        }
    }
}

fn compiled(source: &Path, kernels: &[(&Function, Vec<Inputs>)]) -> Vec<Vec<u64>> {
    let dir = tempfile::tempdir().unwrap();
    let mut c = format!(
        "#include \"{}\"\n",
        source.canonicalize().unwrap().display()
    );
    c.push_str(
        "#include <stdio.h>
static void fetch(void *p, size_t n) {
  unsigned long long v;
  if (scanf(\"%llx\", &v) != 1) exit(1);
  memcpy(p, &v, n);
}
static void show(const void *p, size_t n) {
  unsigned long long v = 0;
  memcpy(&v, p, n);
  printf(\"%llx \", v);
}
",
    );
    let mut input = String::new();
    for (i, (f, cases)) in kernels.iter().enumerate() {
        driver(i, f, cases, &mut c);
        cases.iter().for_each(|case| words(f, case, &mut input));
    }
    c.push_str("int main(void) {\n");
    (0..kernels.len()).for_each(|i| writeln!(c, "  run{i}();").unwrap());
    c.push_str("}\n");
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("driver.c"), c).unwrap();
    std::fs::write(path("input"), input).unwrap();
    let out = Command::new("cc")
        .args(["-O1", "-w", "-ffp-contract=off", "-o"])
        .args([path("driver"), path("driver.c")])
        .arg("-lm")
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    let stdin = std::fs::File::open(path("input")).unwrap();
    let out = Command::new(path("driver")).stdin(stdin).output().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .map(|l| {
            l.split_whitespace()
                .map(|w| u64::from_str_radix(w, 16).unwrap())
                .collect()
        })
        .collect()
}

#[test]
fn lowered_kernels_do_what_compiled_ones_do() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/behaviour.c");
    let parsed = tensorize_lift::c::parse(&source, &[]).unwrap();
    let refused: Vec<String> = parsed
        .iter()
        .filter_map(|p| {
            p.lowered
                .as_ref()
                .err()
                .map(|e| format!("{}: {} {:?}", p.name, e.message, e.span))
        })
        .collect();
    assert!(refused.is_empty(), "{refused:#?}");
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let mut kernels: Vec<(&Function, Vec<Inputs>)> = Vec::new();
    let mut expected: Vec<(String, Inputs, Vec<Scalar>)> = Vec::new();
    let mut counts = BTreeMap::new();
    for p in parsed.iter().filter(|p| !p.is_static) {
        let f = p.lowered.as_ref().unwrap();
        f.validate()
            .unwrap_or_else(|e| panic!("{}: {e}\n{f}", p.name));
        let text = f.to_string();
        assert_eq!(text.parse::<Function>().as_ref(), Ok(f), "{text}");
        let mut cases = Vec::new();
        let mut last = None;
        for _ in 0..CASES {
            let before = inputs(f, &mut rng);
            let mut after = before.clone();
            // A run that C leaves undefined says nothing.
            match interp::run(f, &mut after, 100_000) {
                Ok(returned) => {
                    let mut values: Vec<Scalar> = returned.into_iter().collect();
                    for p in &f.params {
                        if let Param::Array { name, .. } = p {
                            values.extend(&after.arrays[name].data);
                        }
                    }
                    expected.push((p.name.clone(), before.clone(), values));
                    cases.push(before);
                }
                Err(stop) => last = Some(stop),
            }
        }
        assert!(
            cases.len() >= ENOUGH,
            "{}: only {} defined runs, {last:?}\n{f}",
            p.name,
            cases.len()
        );
        counts.insert(p.name.clone(), cases.len());
        kernels.push((f, cases));
    }
    let results = compiled(&source, &kernels);
    assert_eq!(results.len(), expected.len());
    for ((name, inputs, values), got) in expected.iter().zip(results) {
        assert_eq!(values.len(), got.len(), "{name}");
        for (i, (v, bits)) in values.iter().zip(got).enumerate() {
            let c = Scalar { ty: v.ty, bits };
            assert!(
                v.same(c),
                "{name}: value {i} is {v} in LoopIR and {c} in C, for {inputs:?}"
            );
        }
    }
    println!("{counts:?}");
}
