//! The tables against processors: every intrinsic that a machine has, on random and on awkward inputs.

mod aarch64;
mod x86;

use super::table::{self, Body, Intrinsic, Type, c_type};
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// In the names of lines that are wrong on purpose.
const PLANTED: &str = "planted_";
const ROUNDS: usize = 60;
/// Bytes of an argument, and of a result.
const SPACE: usize = 128;

/// A processor, and how its registers are filled and read in C.
trait Machine {
    /// What `#include` names.
    const HEADER: &'static str;
    /// A compiler and its arguments; the sources and the program's name follow.
    const COMPILER: &'static [&'static str];
    /// What runs the program, if the machine at hand can't.
    const RUNNER: Option<&'static str>;

    /// Why its programs can't be built and run here.
    fn missing() -> Option<&'static str>;
    /// Whether this intrinsic is one of its own.
    fn has(i: &Intrinsic) -> bool;
    /// Of these no comparison would say anything, or the machine at hand hasn't got them.
    fn left_out(i: &Intrinsic) -> bool;
    /// Values for the parameter that has to be a constant.
    fn constants(i: &Intrinsic) -> Vec<i32>;
    /// What stands before a function that calls it.
    fn attribute(i: &Intrinsic) -> String;
    /// A register filled from this array.
    fn load(t: Type, array: &str) -> String;
    /// The statement that puts a register into `out`.
    fn store(t: Type, value: &str) -> String;
}

/// What random bytes are made into.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bits,
    /// Of this type; `true`: small whole numbers only, on which nothing is rounded.
    Float(ScalarType, bool),
}

struct Case {
    intrinsic: &'static Intrinsic,
    /// The function's name in the test program.
    name: String,
    kinds: Vec<Kind>,
    out: ScalarType,
}

fn elem(t: Type) -> ScalarType {
    match t {
        Type::Vector(e, _) | Type::Registers(e, ..) | Type::Scalar(e) | Type::Pointer(e) => e,
        Type::Mask(_) => ScalarType::U64,
        Type::PointerToBits(16) => ScalarType::I16,
        _ => ScalarType::I32,
    }
}

fn c_elem(e: ScalarType) -> String {
    c_type(Type::Scalar(e), false, false)
}

/// A C function around an intrinsic, which takes and gives arrays.
fn wrapped<M: Machine>(i: &'static Intrinsic, k: Option<i32>) -> (String, Case) {
    let name = match k {
        Some(k) => format!("t{}_{k}", i.name),
        None => format!("t{}", i.name),
    };
    let (mut params, mut args, mut kinds) = (vec![], vec![], vec![]);
    let mut out_elem = ScalarType::I32;
    for (t, _) in &i.params {
        let n = kinds.len();
        let e = elem(*t);
        let (arg, stored) = match *t {
            Type::Constant => {
                args.push(k.unwrap_or(0).to_string());
                continue;
            }
            Type::Vector(..) | Type::Registers(..) | Type::Bits(_) => {
                (M::load(*t, &format!("in{n}")), false)
            }
            Type::Mask(_) => (format!("({})in{n}[0]", c_type(*t, false, false)), false),
            Type::Scalar(_) => (format!("in{n}[0]"), false),
            Type::Pointer(_) | Type::PointerToBits(_) if i.result.is_none() => {
                ("(void *)out".to_string(), true)
            }
            Type::Pointer(_) => (format!("in{n}"), false),
            Type::PointerToBits(_) => (format!("(void const *)in{n}"), false),
        };
        args.push(arg);
        if stored {
            out_elem = e;
            continue;
        }
        params.push(format!("const {} *in{n}", c_elem(e)));
        kinds.push(if e.is_float() {
            Kind::Float(e, i.fused)
        } else {
            Kind::Bits
        });
    }
    let call = format!("{}({})", i.name, args.join(", "));
    let body = match i.result {
        None => format!("{call};"),
        Some(t) => {
            out_elem = elem(t);
            match t {
                Type::Vector(..) | Type::Registers(..) | Type::Bits(_) => M::store(t, &call),
                _ => format!("out[0] = {call};"),
            }
        }
    };
    params.push(format!("{} *out", c_elem(out_elem)));
    let text = format!(
        "{}void {name}({}) {{ {body} }}\n",
        M::attribute(i),
        params.join(", ")
    );
    let case = Case {
        intrinsic: i,
        name,
        kinds,
        out: out_elem,
    };
    (text, case)
}

/// The next number of a pseudo-random sequence (xorshift64).
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

fn awkward(kind: Kind, seed: &mut u64, bytes: &mut [u8]) {
    let mut next = || next(seed);
    // Zeros count twice: two that differ have to meet.
    const SPECIAL: [f64; 20] = [
        0.0,
        -0.0,
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.5,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        2147483648.0,
        -2147483648.0,
        2147483520.0,
        1e-40,
        3e9,
        5e9,
        9.3e18,
        -9.3e18,
        2e19,
    ];
    match kind {
        Kind::Bits => bytes.iter_mut().for_each(|b| {
            let v = next() >> 20;
            *b = if v & 7 == 0 {
                [0, 255, 127, 128][(v >> 3) as usize & 3]
            } else {
                (v >> 3) as u8
            };
        }),
        Kind::Float(ty, whole) => {
            for chunk in bytes.chunks_mut(ty.bytes()) {
                let v = next() >> 11;
                let value = if whole {
                    (v % 17) as f64 - 8.0
                } else if v % 2 == 0 {
                    SPECIAL[(v / 2) as usize % SPECIAL.len()]
                } else {
                    (v as f64 / 1e13 - 400.0) * if v % 4 == 1 { 1.0 } else { 1e3 }
                };
                match ty {
                    ScalarType::F32 => chunk.copy_from_slice(&(value as f32).to_le_bytes()),
                    _ => chunk.copy_from_slice(&value.to_le_bytes()),
                }
            }
        }
    }
}

/// Makes some lanes the same as another argument's, or the same but for the sign: what an operation does with equal
/// numbers, or with 0 and -0, chance alone would hardly show.
fn like(kind: Kind, other: &[u8], seed: &mut u64, bytes: &mut [u8]) {
    let size = match kind {
        Kind::Bits => 4,
        Kind::Float(ty, _) => ty.bytes(),
    };
    for (own, other) in bytes.chunks_mut(size).zip(other.chunks(size)) {
        match (next(seed) >> 11) % 8 {
            0 | 1 => own.copy_from_slice(other),
            2 | 3 => {
                own.copy_from_slice(other);
                own[size - 1] ^= 0x80;
            }
            _ => {}
        }
    }
}

fn buffer(e: ScalarType, bytes: &[u8]) -> Buffer {
    let data = bytes
        .chunks(e.bytes())
        .map(|c| {
            let mut word = [0u8; 8];
            word[..c.len()].copy_from_slice(c);
            Scalar {
                ty: e,
                bits: u64::from_le_bytes(word),
            }
        })
        .collect();
    Buffer::new(e, data)
}

fn same(a: Scalar, b: Scalar) -> bool {
    a.bits == b.bits || a.ty.is_float() && a.as_f64().is_nan() && b.as_f64().is_nan()
}

/// A machine's lines, or those of them that are wrong on purpose, by name. Empty where nothing can be compared.
fn lines_about<M: Machine>(planted: bool) -> Vec<&'static Intrinsic> {
    if let Some(what) = M::missing() {
        println!("skipped: no {what}");
        return vec![];
    }
    let mut all: Vec<&'static Intrinsic> = table::intrinsics()
        .values()
        .filter(|i| M::has(i) && i.name.contains(PLANTED) == planted)
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

fn the_processor_agrees<M: Machine>() {
    let all = lines_about::<M>(false);
    if all.is_empty() {
        return;
    }
    let (cases, wrong) = compare::<M>(&all);
    assert!(cases > 1000, "{cases}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

fn wrong_lines_are_found<M: Machine>() {
    let differs = |w: &String| w.contains(" is ") && w.contains(" and not ");
    let passes = |i: &&'static Intrinsic| !compare::<M>(&[i]).1.iter().any(differs);
    let found: Vec<&str> = lines_about::<M>(true)
        .into_iter()
        .filter(|i| !M::left_out(i))
        .filter(passes)
        .map(|i| i.name.as_str())
        .collect();
    assert!(found.is_empty(), "wrong lines pass: {found:?}");
}

/// Compares lines of the table with the processor: how many programs were run, and what was wrong.
fn compare<M: Machine>(lines: &[&'static Intrinsic]) -> (usize, Vec<String>) {
    let (mut text, mut cases) = (format!("#include <{}>\n", M::HEADER), Vec::new());
    for &i in lines {
        if i.body == Body::Nothing || M::left_out(i) {
            println!("{} is left out", i.name);
            continue;
        }
        let i: &'static Intrinsic = Box::leak(Box::new(i.declared()));
        let constant = i.params.iter().any(|(t, _)| *t == Type::Constant);
        let ks = if constant {
            M::constants(i).into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        for k in ks {
            let (function, case) = wrapped::<M>(i, k);
            text.push_str(&function);
            cases.push(case);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let kernels = dir.path().join("kernels.c");
    std::fs::write(&kernels, &text).unwrap();
    let mut main = text.replace(PLANTED, "");
    main.push_str("#include <stdio.h>\n#include <string.h>\nint main(void) {\n  _Alignas(64) static unsigned char in[64][128], out[128];\n");
    for c in &cases {
        let args: Vec<String> = (0..c.kinds.len())
            .map(|n| format!("(void *)in[{n}]"))
            .collect();
        let _ = writeln!(
            main,
            "  for (int r = 0; r < {ROUNDS}; r++) {{ fread(in, 128, {}, stdin); memset(out, 0, 128); {}({}(void *)out); fwrite(out, 128, 1, stdout); }}",
            c.kinds.len(),
            c.name.replace(PLANTED, ""),
            args.iter().map(|a| format!("{a}, ")).collect::<String>(),
        );
    }
    main.push_str("  return 0; }\n");
    let source = dir.path().join("main.c");
    std::fs::write(&source, main).unwrap();
    let program = dir.path().join("main");
    let built = Command::new(M::COMPILER[0])
        .args(&M::COMPILER[1..])
        .args(["-O1", "-ffp-contract=off", "-w", "-o"])
        .arg(&program)
        .arg(&source)
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    let mut inputs = Vec::new();
    for c in &cases {
        for _ in 0..ROUNDS {
            let mut before: Option<(Kind, Vec<u8>)> = None;
            for kind in &c.kinds {
                let mut bytes = vec![0u8; SPACE];
                awkward(*kind, &mut seed, &mut bytes);
                if let Some((_, other)) = before.as_ref().filter(|(k, _)| k == kind) {
                    like(*kind, other, &mut seed, &mut bytes);
                }
                inputs.extend(&bytes);
                before = Some((*kind, bytes));
            }
        }
    }
    let mut command = match M::RUNNER {
        Some(runner) => Command::new(runner),
        None => Command::new(&program),
    };
    if M::RUNNER.is_some() {
        command.arg(&program);
    }
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let sent = inputs.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent));
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(out.status.success());
    let parsed = crate::c::parse(&kernels, &[]).unwrap();
    let (mut wrong, mut from) = (Vec::new(), 0);
    for (number, c) in cases.iter().enumerate() {
        let f = parsed.iter().find(|f| f.name == c.name).unwrap();
        let kernel = match f.lowered.as_ref() {
            Ok(kernel) => kernel,
            Err(p) => {
                wrong.push(format!("{}: {}", c.name, p.message));
                from += ROUNDS * SPACE * c.kinds.len();
                continue;
            }
        };
        let program = Program::new(kernel).unwrap_or_else(|e| panic!("{}: {e}\n{kernel}", c.name));
        for round in 0..ROUNDS {
            let mut given = Inputs::default();
            for n in 0..c.kinds.len() {
                let e = kernel.array_elem(&format!("in{n}")).unwrap();
                given.arrays.insert(
                    format!("in{n}").as_str().into(),
                    buffer(e, &inputs[from..from + SPACE]),
                );
                from += SPACE;
            }
            given
                .arrays
                .insert("out".into(), buffer(c.out, &[0; SPACE]));
            let start = (number * ROUNDS + round) * SPACE;
            let expected = buffer(c.out, &out.stdout[start..start + SPACE]);
            if let Err(stop) = program.run(&mut given, 10_000) {
                wrong.push(format!("{}: {stop}", c.name));
                break;
            }
            let found = &given.arrays["out"].data;
            if let Some(at) = (0..found.len()).find(|&k| !same(found[k], expected.data[k])) {
                wrong.push(format!(
                    "{} ({}): lane {at} is {} and not {}",
                    c.name, c.intrinsic.name, found[at], expected.data[at]
                ));
                from += (ROUNDS - 1 - round) * SPACE * c.kinds.len();
                break;
            }
        }
    }
    (cases.len(), wrong)
}
