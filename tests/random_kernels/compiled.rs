//! Kernels as the C compilers make them: one program for many kernels and all their inputs.

use crate::generate::{LEN, PRELUDE};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tensorize_ir::loopir::{Function, Param};
use tensorize_ir::memory::Inputs;
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::signature::{Number, Shape, Source};

/// A compiler and how it optimises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    pub compiler: &'static str,
    pub level: &'static str,
}

/// All four, if both compilers are there.
pub const SETTINGS: [Setting; 4] = [
    Setting {
        compiler: "gcc",
        level: "-O0",
    },
    Setting {
        compiler: "gcc",
        level: "-O2",
    },
    Setting {
        compiler: "clang",
        level: "-O0",
    },
    Setting {
        compiler: "clang",
        level: "-O2",
    },
];

/// Flags that change what C means; the front end gets them, too.
pub fn meaning(wraps: bool) -> Vec<String> {
    let mut flags = vec!["-std=gnu11".into(), "-ffp-contract=off".into()];
    flags.extend(wraps.then(|| "-fwrapv".into()));
    flags
}

/// A kernel with the inputs to run it on.
pub struct Job<'a> {
    pub text: String,
    pub lowered: &'a Function,
    /// What the text's parameters are to the lowered one, if they are others.
    pub source: Option<&'a Source>,
    pub cases: &'a [Inputs],
}

const READ_AND_WRITE: &str = "
#include <stdio.h>
#include <string.h>
static void fetch(void *p, size_t n) { if (fread(p, 1, n, stdin) != n) exit(9); }
static void show(const void *p, size_t n) { fwrite(p, 1, n, stdout); }
";

/// Compiles the jobs and runs them all. For each job and case: the returned value, then every element of every array
/// parameter. `Err` is a compiler or a program that failed.
pub fn run(
    jobs: &[Job],
    setting: Setting,
    wraps: bool,
    folder: &Path,
) -> Result<Vec<Vec<Vec<Scalar>>>, String> {
    let mut source = String::from(PRELUDE) + READ_AND_WRITE;
    let mut input = Vec::new();
    for (number, job) in jobs.iter().enumerate() {
        // Compiled as users compile it, without its driver in sight: gcc 12 takes some functions that store at strides
        // for ones that store nothing, and drops the call.
        let _ = write!(source, "__attribute__((noinline, noipa)) {}", job.text);
        driver(number, job, &mut source);
        for case in job.cases {
            encode(job.lowered, case, &mut input);
        }
    }
    source.push_str("int main(void) {\n");
    for number in 0..jobs.len() {
        let _ = writeln!(source, "  run{number}();");
    }
    source.push_str("  return 0;\n}\n");
    let stem = format!("{}{}", setting.compiler, setting.level);
    let [c, program, stdin, stdout] =
        ["c", "run", "in", "out"].map(|e| folder.join(format!("{stem}.{e}")));
    let io = |e: std::io::Error| e.to_string();
    fs::write(&c, source).map_err(io)?;
    fs::write(&stdin, input).map_err(io)?;
    let done = Command::new(setting.compiler)
        .args([setting.level, "-w"])
        .args(meaning(wraps))
        .arg("-o")
        .args([&program, &c])
        .arg("-lm")
        .output()
        .map_err(|e| format!("{}: {e}", setting.compiler))?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into_owned());
    }
    let mut child = Command::new(&program)
        .stdin(fs::File::open(&stdin).map_err(io)?)
        .stdout(fs::File::create(&stdout).map_err(io)?)
        .stderr(Stdio::null())
        .spawn()
        .map_err(io)?;
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(io)? {
            break status;
        }
        if started.elapsed() > Duration::from_secs(30) {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the compiled program does not end".into());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    if !status.success() {
        return Err(format!("the compiled program failed: {status}"));
    }
    let bytes = fs::read(&stdout).map_err(io)?;
    let mut rest = bytes.as_slice();
    let mut take = |ty: ScalarType| -> Result<Scalar, String> {
        let (head, tail) = rest
            .split_at_checked(ty.bytes())
            .ok_or("too little output")?;
        rest = tail;
        let mut word = [0; 8];
        word[..head.len()].copy_from_slice(head);
        Ok(Scalar {
            ty,
            bits: u64::from_le_bytes(word),
        })
    };
    jobs.iter()
        .map(|job| {
            job.cases
                .iter()
                .map(|_| types_of(job.lowered).map(&mut take).collect())
                .collect()
        })
        .collect()
}

/// What a run leaves behind.
fn types_of(f: &Function) -> impl Iterator<Item = ScalarType> + '_ {
    f.ret.into_iter().chain(f.params.iter().flat_map(|p| {
        let array = match p {
            Param::Array { elem, .. } => Some(*elem),
            Param::Scalar { .. } => None,
        };
        array
            .into_iter()
            .flat_map(|ty| std::iter::repeat_n(ty, LEN as usize))
    }))
}

fn encode(f: &Function, case: &Inputs, out: &mut Vec<u8>) {
    let mut put = |v: Scalar| out.extend(&v.bits.to_le_bytes()[..v.ty.bytes()]);
    for p in &f.params {
        match p {
            Param::Scalar { name, .. } => put(case.scalars[name]),
            Param::Array { name, .. } => case.arrays[name].data.iter().copied().for_each(&mut put),
        }
    }
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

/// A function that reads inputs, calls the kernel and writes what it leaves behind.
fn driver(number: usize, job: &Job, out: &mut String) {
    let (mut args, mut after) = (BTreeMap::new(), String::new());
    let _ = writeln!(
        out,
        "static void run{number}(void) {{ for (int t = 0; t < {}; t++) {{",
        job.cases.len()
    );
    for (i, p) in job.lowered.params.iter().enumerate() {
        match p {
            Param::Scalar { ty, .. } => {
                let _ = writeln!(out, "  {} a{i}; fetch(&a{i}, sizeof a{i});", c_type(*ty));
                args.insert(&**p.name(), (*ty, format!("a{i}")));
            }
            Param::Array { elem, .. } => {
                let ty = c_type(*elem);
                let _ = writeln!(out, "  {ty} a{i}[{LEN}]; fetch(a{i}, sizeof a{i});");
                let _ = write!(after, "  show(a{i}, sizeof a{i});");
                args.insert(&**p.name(), (*elem, format!("(void *)a{i}")));
            }
        }
    }
    let args: Vec<String> = match job.source {
        None => {
            let names = job.lowered.params.iter().map(|p| &**p.name());
            names.map(|name| args[name].1.clone()).collect()
        }
        Some(source) => {
            let shapes = source.params.iter().map(|p| &p.shape);
            shapes.map(|shape| argument(shape, &args)).collect()
        }
    };
    let call = format!("{}({})", job.lowered.name, args.join(", "));
    let _ = match job.lowered.ret {
        Some(ty) => writeln!(out, "  {} r = {call}; show(&r, sizeof r);", c_type(ty)),
        None => writeln!(out, "  {call};"),
    };
    let _ = writeln!(out, "{after} }} }}");
}

/// An argument of the text's, from the lowered one's by their names.
fn argument(shape: &Shape, args: &BTreeMap<&str, (ScalarType, String)>) -> String {
    match shape {
        Shape::Scalar { to } | Shape::Pointer { to, given: None } => args[to.as_str()].1.clone(),
        Shape::Numbers { at, .. } => {
            let ty = c_type(args[at[0].to.as_str()].0);
            let set = |n: &Number| format!("[{}] = {}", n.index, args[n.to.as_str()].1);
            let set: Vec<String> = at.iter().map(set).collect();
            format!("(void *)({ty}[{LEN}]) {{ {} }}", set.join(", "))
        }
        other => panic!("no random kernel has {other}"),
    }
}
