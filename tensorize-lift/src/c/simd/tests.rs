//! The table of x86 against the processor: every intrinsic that this machine has, on random and on awkward inputs.

use super::table::{self, Body, Intrinsic, Type, c_type};
use std::fmt::Write;
use std::io::Write as _;
use std::process::{Command, Stdio};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

/// In the names of lines that are wrong on purpose.
const PLANTED: &str = "_planted_";
const ROUNDS: usize = 40;
/// Bytes of an argument, and of a result.
const SPACE: usize = 128;

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

/// Values for an argument that has to be a constant.
fn constants(name: &str) -> Vec<i32> {
    let has = |words: &[&str]| words.iter().any(|w| name.contains(w));
    match name {
        _ if has(&["_cmp_"]) => (0..32).collect(),
        _ if has(&["permute2"]) => vec![0x20, 0x31, 0x13, 0x08, 0x80],
        _ if has(&[
            "extract_epi64",
            "m256_extractf",
            "m256_extracti",
            "insertf128",
            "inserti128",
        ]) =>
        {
            vec![0, 1]
        }
        _ if has(&["512_extractf64", "512_extracti64"]) => vec![0, 1],
        _ if has(&["round"]) => vec![0, 1, 2, 3, 8, 9, 10, 11],
        _ if has(&["alignr"]) => vec![0, 1, 5, 15, 16, 20],
        _ if has(&["slli", "srli", "srai"]) => vec![0, 1, 7, 15, 31],
        _ if has(&[
            "shuffle_epi32",
            "shuffle_ps",
            "shufflelo",
            "shufflehi",
            "permute4x64",
            "dp_ps",
        ]) =>
        {
            vec![0, 27, 228, 177, 255]
        }
        _ => vec![0, 1, 2, 3],
    }
}

fn features(name: &str) -> &'static str {
    if name.starts_with("_mm512") {
        "avx512f,avx512bw,avx512dq,avx512vl"
    } else {
        "avx2,fma"
    }
}

fn elem(t: Type) -> ScalarType {
    match t {
        Type::Vector(e, _) | Type::Scalar(e) | Type::Pointer(e) => e,
        Type::Mask(_) => ScalarType::U64,
        _ => ScalarType::I32,
    }
}

fn c_elem(e: ScalarType) -> String {
    c_type(Type::Scalar(e), false, false)
}

/// A C function around an intrinsic, which takes and gives arrays.
fn wrapped(i: &'static Intrinsic, k: Option<i32>) -> (String, Case) {
    let name = match k {
        Some(k) => format!("t{}_{k}", i.name),
        None => format!("t{}", i.name),
    };
    let (mut params, mut args, mut kinds) = (vec![], vec![], vec![]);
    let mut out_elem = ScalarType::I32;
    for (t, _) in &i.params {
        let n = kinds.len();
        let e = elem(*t);
        let read = |load: &str, cast: &str| format!("{load}(({cast} const *)in{n})");
        let (arg, stored) = match *t {
            Type::Constant => {
                args.push(k.unwrap_or(0).to_string());
                continue;
            }
            Type::Vector(e, lanes) => (vector_load(e, lanes * e.bits() as usize, n), false),
            Type::Bits(width) => (vector_load(ScalarType::I32, width, n), false),
            Type::Mask(_) => (format!("({})in{n}[0]", c_type(*t, false, false)), false),
            Type::Scalar(_) => (format!("in{n}[0]"), false),
            Type::Pointer(_) | Type::PointerToBits(_) if i.result.is_none() => {
                ("out".to_string(), true)
            }
            Type::Pointer(_) => (format!("in{n}"), false),
            Type::PointerToBits(width) => (read("", &format!("__m{width}i")), false),
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
        Some(Type::Vector(e, n)) => {
            out_elem = e;
            vector_store(e, n * e.bits() as usize, &call)
        }
        Some(Type::Bits(width)) => vector_store(ScalarType::I32, width, &call),
        Some(t) => {
            out_elem = elem(t);
            format!("out[0] = {call};")
        }
    };
    params.push(format!("{} *out", c_elem(out_elem)));
    let text = format!(
        "__attribute__((target(\"{}\"))) void {name}({}) {{ {body} }}\n",
        features(&i.name),
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

fn prefix(width: usize) -> String {
    if width == 128 {
        "_mm".into()
    } else {
        format!("_mm{width}")
    }
}

fn vector_load(e: ScalarType, width: usize, n: usize) -> String {
    let p = prefix(width);
    match e {
        ScalarType::F32 => format!("{p}_loadu_ps(in{n})"),
        ScalarType::F64 => format!("{p}_loadu_pd(in{n})"),
        _ => format!("{p}_loadu_si{width}((__m{width}i const *)in{n})"),
    }
}

fn vector_store(e: ScalarType, width: usize, value: &str) -> String {
    let p = prefix(width);
    match e {
        ScalarType::F32 => format!("{p}_storeu_ps(out, {value});"),
        ScalarType::F64 => format!("{p}_storeu_pd(out, {value});"),
        _ => format!("{p}_storeu_si{width}((__m{width}i *)out, {value});"),
    }
}

/// The machine's features, as Linux names them.
fn machine_has(feature: &str) -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    feature
        .split(',')
        .all(|f| text.split_whitespace().any(|w| w == f))
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
    const SPECIAL: [f64; 14] = [
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

/// Every line about x86, or every one that is wrong on purpose, by name. Empty without the processor for them.
fn about_x86(planted: bool) -> Vec<&'static Intrinsic> {
    if !cfg!(target_arch = "x86_64") || !machine_has("avx2,fma") {
        println!("skipped: no x86 with AVX2");
        return vec![];
    }
    let mut all: Vec<&'static Intrinsic> = table::intrinsics()
        .values()
        .filter(|i| !i.neon && i.name.contains(PLANTED) == planted)
        .collect();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    all
}

#[test]
fn the_processor_agrees_with_the_table() {
    let all = about_x86(false);
    if all.is_empty() {
        return;
    }
    let (cases, wrong) = compare(&all);
    assert!(cases > 400, "{cases}");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_wrong_line_is_found() {
    let differs = |w: &String| w.contains(" is ") && w.contains(" and not ");
    let passes = |i: &&'static Intrinsic| !compare(&[i]).1.iter().any(differs);
    let planted = about_x86(true);
    let found: Vec<&str> = planted
        .into_iter()
        .filter(passes)
        .map(|i| i.name.as_str())
        .collect();
    assert!(found.is_empty(), "wrong lines pass: {found:?}");
}

/// Compares lines of the table with the processor: how many programs were run, and what was wrong.
fn compare(lines: &[&'static Intrinsic]) -> (usize, Vec<String>) {
    let with_512 = machine_has("avx512f,avx512bw,avx512dq,avx512vl");
    let (mut text, mut cases) = (String::from("#include <immintrin.h>\n"), Vec::new());
    for &i in lines {
        // Aligned accesses are the unaligned ones' twins; what is undefined has no result.
        let skip = i.body == Body::Nothing
            || i.name.contains("undefined")
            || i.name.contains("castps128_ps256")
            || i.name.contains("castsi128_si256")
            || i.name.contains("stream")
            || i.name.contains("_load_")
            || i.name.contains("_store_")
            || i.name.contains("storer_")
            || i.name.contains("loadr_")
            || i.name.contains("store1_")
            || i.name.contains("store_ps1");
        if skip || i.name.starts_with("_mm512") && !with_512 {
            println!("{} is left out", i.name);
            continue;
        }
        let i: &'static Intrinsic = Box::leak(Box::new(i.declared()));
        let constant = i.params.iter().any(|(t, _)| *t == Type::Constant);
        let ks = if constant {
            constants(&i.name).into_iter().map(Some).collect()
        } else {
            vec![None]
        };
        for k in ks {
            let (function, case) = wrapped(i, k);
            text.push_str(&function);
            cases.push(case);
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let kernels = dir.path().join("kernels.c");
    std::fs::write(&kernels, &text).unwrap();
    let mut main = text.replace(PLANTED, "_");
    main.push_str("#include <stdio.h>\n#include <string.h>\nint main(void) {\n  static unsigned char in[8][128], out[128];\n");
    for c in &cases {
        let args: Vec<String> = (0..c.kinds.len())
            .map(|n| format!("(void *)in[{n}]"))
            .collect();
        let _ = writeln!(
            main,
            "  for (int r = 0; r < {ROUNDS}; r++) {{ fread(in, 128, {}, stdin); memset(out, 0, 128); {}({}(void *)out); fwrite(out, 128, 1, stdout); }}",
            c.kinds.len(),
            c.name.replace(PLANTED, "_"),
            args.iter().map(|a| format!("{a}, ")).collect::<String>(),
        );
    }
    main.push_str("  return 0; }\n");
    let source = dir.path().join("main.c");
    std::fs::write(&source, main).unwrap();
    let program = dir.path().join("main");
    let built = Command::new("gcc")
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
            let mut before: Option<Vec<u8>> = None;
            for kind in &c.kinds {
                let mut bytes = vec![0u8; SPACE];
                awkward(*kind, &mut seed, &mut bytes);
                if let Some(other) = &before {
                    like(*kind, other, &mut seed, &mut bytes);
                }
                inputs.extend(&bytes);
                before = Some(bytes);
            }
        }
    }
    let mut child = Command::new(&program)
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
