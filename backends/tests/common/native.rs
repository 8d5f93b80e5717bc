//! Runs generated C and C++.

use super::python::Arrays;
use super::{outcomes, returned};
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tensorize_backends::Generated;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// After that long, code hangs.
const LONGEST: Duration = Duration::from_secs(60);

/// Code that asks for less than that of warnings has not been written by us.
pub const WARNINGS: [&str; 3] = ["-Wall", "-Wextra", "-Werror"];

/// Compiles generated C with a driver that makes the calls, and runs it.
pub fn run_c(function: &Function, entry: &str, c: &str, calls: &[Inputs]) -> Vec<Outputs> {
    run_c_with(function, entry, c, calls, &[])
}

/// The same with more arguments for the compiler.
pub fn run_c_with(
    function: &Function,
    entry: &str,
    c: &str,
    calls: &[Inputs],
    more: &[&str],
) -> Vec<Outputs> {
    let flags = [&WARNINGS, more].concat();
    try_c(function, entry, c, calls, &flags)
        .unwrap_or_else(|why| panic!("{}: {why}\n{c}", function.name))
}

/// What came of it.
pub enum Failed {
    /// The compiler did not take it.
    NotCompiled(String),
    /// It ended early, or not at all.
    NotRun(String),
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Failed::NotCompiled(why) | Failed::NotRun(why)) = self;
        f.write_str(why)
    }
}

/// The same for code that may well fail.
pub fn try_c(
    function: &Function,
    entry: &str,
    c: &str,
    calls: &[Inputs],
    flags: &[&str],
) -> Result<Vec<Outputs>, Failed> {
    let dir = tempfile::tempdir().unwrap();
    let (kernel, driver, exe) = (
        dir.path().join("kernel.c"),
        dir.path().join("driver.c"),
        dir.path().join("run"),
    );
    std::fs::write(&kernel, c).unwrap();
    let mut arrays = Arrays::in_folder(dir.path());
    let asks = c.contains("_Bool *tz_there_was");
    std::fs::write(
        &driver,
        driver_text(function, entry, calls, &mut arrays, asks),
    )
    .unwrap();
    arrays.write();
    let products = dir.path().join("products.c");
    std::fs::write(&products, tensorize_backends::cpu::PRODUCTS).unwrap();
    let mut files = vec![kernel.as_path(), &driver];
    if c.contains("tensorize_scaled_gemm_") {
        files.push(&products);
    }
    compile(&files, &exe, flags)?;
    let printed = printed(&exe)?;
    Ok(outcomes(function, calls, &printed))
}

/// Compiles generated C++ with a driver in C that makes the calls, and runs it. Some warnings come of optimising alone.
pub fn run_cpp(
    function: &Function,
    generated: &Generated,
    calls: &[Inputs],
    include: &Path,
) -> Vec<Outputs> {
    let flags = [&WARNINGS[..], &["-O1"]].concat();
    try_cpp(function, generated, calls, include, &flags)
        .unwrap_or_else(|why| panic!("{}: {why}\n{}", function.name, generated.files[0].1))
}

/// The same for code that may well fail, without optimising: of functions of many operators that takes several times as long
/// as all the rest.
pub fn try_cpp(
    function: &Function,
    generated: &Generated,
    calls: &[Inputs],
    include: &Path,
    flags: &[&str],
) -> Result<Vec<Outputs>, Failed> {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut arrays = Arrays::in_folder(dir.path());
    std::fs::write(at("kernel.cpp"), &generated.files[0].1).unwrap();
    std::fs::write(
        at("driver.c"),
        driver_text(function, &generated.entry, calls, &mut arrays, false),
    )
    .unwrap();
    arrays.write();
    let mut cc = Command::new("c++");
    cc.args(["-std=gnu++17", "-O0", "-fwrapv", "-ffp-contract=off"])
        .args(["-fno-exceptions", "-fno-rtti", "-Wno-unused-parameter"])
        .args(flags)
        .args(["-c", "-I"])
        .arg(include)
        .args([at("kernel.cpp"), "-o".into(), at("kernel.o")]);
    compiled(&mut cc)?;
    compile(&[&at("driver.c"), &at("kernel.o")], &at("run"), &[])?;
    let printed = printed(&at("run"))?;
    Ok(outcomes(function, calls, &printed))
}

/// Runs generated CUDA C++ on the host's cores, as `cuda.h` has it, which needs no GPU and stands for none.
pub fn try_cuda(
    function: &Function,
    generated: &Generated,
    calls: &[Inputs],
) -> Result<Vec<Outputs>, Failed> {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let text = &generated.files[0].1;
    let mut arrays = Arrays::in_folder(dir.path());
    // The kernels' names of types are their own.
    let program = format!(
        "{}\nnamespace kernels {{\n{text}\n}}\n{}",
        include_str!("cuda.h"),
        host_text(function, generated, calls, &mut arrays)
    );
    arrays.write();
    std::fs::write(at("kernel.cpp"), program).unwrap();
    let mut cc = Command::new("c++");
    cc.args(["-std=gnu++20", "-O0", "-ffp-contract=off", "-w", "-pthread"])
        .args(text.contains("__shared__").then_some("-DITEMS_WAIT"))
        .args([at("kernel.cpp"), "-o".into(), at("run")]);
    compiled(&mut cc)?;
    let printed = printed(&at("run"))?;
    Ok(outcomes(function, calls, &printed))
}

/// A host of kernels: each array with the number of its first element, then what kernels leave to one another, then what
/// is returned.
fn host_text(
    function: &Function,
    generated: &Generated,
    calls: &[Inputs],
    arrays: &mut Arrays,
) -> String {
    let mut s = format!("int main() {{\n  {}\n", arrays.open());
    let passed = |ty: ScalarType| match ty {
        ScalarType::I1 => ScalarType::U8,
        other => other,
    };
    let spelt = |ty: ScalarType| match ty.c_name() {
        name if name.ends_with("_t") => format!("kernels::{name}"),
        keyword => keyword.to_owned(),
    };
    for call in calls {
        s += "  {\n    static long long kept[64];\n";
        let mut args = Vec::new();
        for p in &function.params {
            let name = p.name();
            let (ty, values) = match p {
                Param::Scalar { ty, .. } => (passed(*ty), vec![call.scalars[name]]),
                Param::Array { elem, .. } => (*elem, call.arrays[name].data.clone()),
            };
            let bits = format!("kernels::uint{}_t", ty.bytes() * 8);
            let c = spelt(ty);
            s += &given(arrays, &format!("{name}_"), &bits, ty, &values).concat();
            match p {
                Param::Scalar { .. } => args.push(format!("*({c} *){name}_")),
                Param::Array { .. } => {
                    args.push(format!("({c} *){name}_"));
                    args.push(format!("{}", -call.arrays[name].origin));
                }
            }
        }
        args.push("kept".into());
        if let Some(ty) = returned(function) {
            writeln!(s, "    static {} result_[1];", spelt(ty)).unwrap();
            args.push("result_".into());
        }
        if generated.entry.contains('[') {
            args.push("round".into());
            s += "    long long round = 0;\n";
        }
        let rooms = generated.entry.matches('+').count();
        args.extend((0..rooms).map(|n| format!("room{n}")));
        s += &(0..rooms)
            .map(|n| format!("    room room{n};\n"))
            .collect::<String>();
        let mut made = 0;
        let args = args.join(", ");
        for kernel in generated.entry.split_whitespace() {
            s += &match kernel {
                "[" => "    for (long long rounds = kept[63]; round < rounds; round++) {\n".into(),
                "]" => "    }\n".into(),
                size if size.starts_with('+') => {
                    made += 1;
                    let (number, place) = (made - 1, 63 - made);
                    format!("    room{number}.memory = std::malloc(kept[{place}] * {size} + 1);\n")
                }
                name => format!("    launch([&] {{ kernels::{name}({args}); }});\n"),
            };
        }
        for p in &function.params {
            let Param::Array { name, .. } = p else {
                continue;
            };
            let len = call.arrays[name].data.len();
            writeln!(s, "    for (int i = 0; i < {len}; i++) std::printf(\"%llx \", (unsigned long long){name}_[i]);\n    std::puts(\"\");").unwrap();
        }
        if let Some(ty) = returned(function) {
            let bytes = ty.bytes();
            writeln!(s, "    unsigned long long r = 0;\n    std::memcpy(&r, result_, {bytes});\n    std::printf(\"%llx\\n\", r);").unwrap();
        }
        s += "  }\n";
    }
    s + "}\n"
}

/// Compiles with the flags that generated code needs.
fn compile(files: &[&Path], exe: &Path, more: &[&str]) -> Result<(), Failed> {
    let mut cc = Command::new("cc");
    cc.args(tensorize_backends::cpu::CFLAGS)
        .arg(tensorize_backends::cpu::OPENMP_FLAG)
        .args(more);
    cc.args(files).arg("-o").arg(exe).arg("-lm");
    compiled(&mut cc)
}

fn compiled(cc: &mut Command) -> Result<(), Failed> {
    let output = cc.output().expect("a compiler");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(Failed::NotCompiled(log)),
    }
}

/// What a program prints that ends well, and in time.
fn printed(exe: &Path) -> Result<String, Failed> {
    let (out, log) = (exe.with_extension("out"), exe.with_extension("log"));
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut child = Command::new(exe)
        .stdout(file(&out))
        .stderr(file(&log))
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begin.elapsed() < LONGEST => std::thread::sleep(Duration::from_millis(5)),
            None => {
                child.kill().unwrap();
                child.wait().unwrap();
                return Err(Failed::NotRun("it does not end".into()));
            }
        }
    };
    if !status.success() {
        let log = std::fs::read_to_string(log).unwrap();
        return Err(Failed::NotRun(format!("{status}: {log}")));
    }
    Ok(std::fs::read_to_string(out).unwrap())
}

/// An array that the program reads before a call, as C declares it and as it is read.
fn given(
    given: &mut Arrays,
    name: &str,
    word: &str,
    elem: ScalarType,
    data: &[Scalar],
) -> [String; 2] {
    given.push(elem, data);
    let (room, len) = (data.len().max(1), data.len());
    [
        format!("static {word} {name}[{room}];\n"),
        format!("  if (fread({name}, sizeof {name}[0], {len}, given) != {len}) return 1;\n"),
    ]
}

fn driver_text(
    function: &Function,
    entry: &str,
    calls: &[Inputs],
    arrays: &mut Arrays,
    asks_for_memory: bool,
) -> String {
    let mut s = String::from("#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n");
    let ret = returned(function);
    let mut params: Vec<_> = function
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
    if asks_for_memory {
        params.push("_Bool *".into());
        s += "static _Bool there_was;\n";
    }
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
                Param::Array { elem, .. } => (*elem, call.arrays[name].data.clone()),
            };
            let [declared, read] = given(arrays, &format!("a{n}_{name}"), &bits(ty), ty, &values);
            s += &declared;
            body += &read;
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
        if asks_for_memory {
            args.push("&there_was".into());
        }
        let result = if ret.is_some() {
            format!("{c_ret} r{n} = ")
        } else {
            String::new()
        };
        writeln!(body, "  {result}{entry}({});", args.join(", ")).unwrap();
        if asks_for_memory {
            body += "  if (!there_was) return 1;\n";
        }
        for p in &function.params {
            if let Param::Array { name, .. } = p {
                let (name, len) = (name, call.arrays[name].data.len());
                writeln!(body, "  for (int i = 0; i < {len}; i++) printf(\"%llx \", (unsigned long long)a{n}_{name}[i]);").unwrap();
                writeln!(body, "  puts(\"\");").unwrap();
            }
        }
        if let Some(ty) = ret {
            let b = bits(ty);
            writeln!(body, "  {{ {b} r = 0; memcpy(&r, &r{n}, sizeof r); printf(\"%llx\\n\", (unsigned long long)r); }}").unwrap();
        }
    }
    s + &format!(
        "int main(void) {{\n  {}\n{body}  return 0;\n}}\n",
        arrays.open()
    )
}
