//! Runs generated Python.

use super::{outcomes, returned};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use tensorize_backends::Generated;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::scalar::ScalarType;
use tensorize_ir::tensir::Function;

/// A Python that imports NumPy and a package: ours, or the system's. A person may lack one; then it says so.
pub fn python_with(package: &str) -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    let ours = data.map(|d| d.join("cargo-tensorize/venv/bin/python3"));
    let named = std::env::var_os("TENSORIZE_PYTHON").map(PathBuf::from);
    // What is found must also load: a package may lack a library.
    let import = format!("import numpy, {package}");
    let found = named
        .into_iter()
        .chain(ours)
        .chain(["python3".into()])
        .find(|p| {
            let run = Command::new(p).args(["-c", &import]).output();
            run.is_ok_and(|o| o.status.success())
        });
    if found.is_none() {
        let missing =
            format!("no Python with {package}; 'cargo xtask test --frameworks all' installs one");
        let wanted = std::env::var_os("CI").is_some() && package == "numpy";
        assert!(!wanted, "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    found
}

/// A Python that imports NumPy.
pub fn python() -> Option<PathBuf> {
    python_with("numpy")
}

fn np(ty: ScalarType) -> String {
    match ty {
        ScalarType::I1 => "np.bool_".into(),
        ScalarType::F32 => "np.float32".into(),
        ScalarType::F64 => "np.float64".into(),
        _ => format!(
            "np.{}",
            ty.name()
                .replace("ui", "uint")
                .replace("i", "int")
                .replace("uintnt", "uint")
        ),
    }
}

/// A generated module and the calls to make.
pub struct Run<'a> {
    pub function: &'a Function,
    pub generated: &'a Generated,
    pub calls: &'a [Inputs],
}

/// Runs one module.
pub fn run_python(python: &Path, f: &Function, g: &Generated, calls: &[Inputs]) -> Vec<Outputs> {
    let run = Run {
        function: f,
        generated: g,
        calls,
    };
    run_modules(python, &[run]).swap_remove(0)
}

/// What a script begins with.
pub fn head() -> String {
    let show = "def show(a):\n    a = np.atleast_1d(a)\n    print(*[format(v, 'x') for v in a.view(f'u{a.itemsize}').tolist()])\n";
    format!("import numpy as np\nimport warnings\n{show}")
}

/// After the imports, a warning is an error. What Dask's threads warn of is NumPy's overflows and divisions by zero.
pub const WARNINGS: &str = "warnings.simplefilter('error')\n\
    warnings.filterwarnings('ignore', category=RuntimeWarning, module='dask')\n";

/// Writes the modules and a script that makes the calls, and runs it; a warning is an error.
pub fn run_modules(python: &Path, runs: &[Run]) -> Vec<Vec<Outputs>> {
    let dir = tempfile::tempdir().unwrap();
    let mut s = head();
    // A framework that doesn't come back says where it is, and the tests go on.
    s += "import faulthandler\nfaulthandler.dump_traceback_later(600, exit=True)\n";
    for (i, run) in runs.iter().enumerate() {
        let file = dir.path().join(format!("kernel{i}.py"));
        std::fs::write(file, &run.generated.files[0].1).unwrap();
        writeln!(s, "import kernel{i}").unwrap();
    }
    s += WARNINGS;
    for (i, run) in runs.iter().enumerate() {
        for call in run.calls {
            write_call(&mut s, dir.path(), i, run, call);
        }
        s += "print('---')\n";
    }
    let script = dir.path().join("run.py");
    std::fs::write(&script, s).unwrap();
    let output = Command::new(python).arg(&script).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let failed = printed.matches("---").count().min(runs.len() - 1);
    assert!(
        output.status.success(),
        "{}: {}\n{}\n{}",
        runs[failed].function.name,
        output.status,
        String::from_utf8_lossy(&output.stderr),
        runs[failed].generated.files[0].1
    );
    let printed = printed.split("---\n");
    runs.iter()
        .zip(printed)
        .map(|(run, text)| outcomes(run.function, run.calls, text))
        .collect()
}

/// Makes a call and prints what it leaves.
pub fn write_call(s: &mut String, dir: &Path, module: usize, run: &Run, call: &Inputs) {
    let mut args = Vec::new();
    for p in &run.function.params {
        match p {
            Param::Scalar { name, ty } if ty.is_float() => {
                let v = call.scalars[name];
                args.push(format!(
                    "float(np.array([{}], np.uint{}).view({})[0])",
                    v.bits,
                    ty.bits(),
                    np(*ty)
                ));
            }
            Param::Scalar { name, .. } => args.push(call.scalars[name].as_int().to_string()),
            Param::Array { name, elem, .. } => {
                let data = &call.arrays[name].data;
                let bytes = data.iter().flat_map(|v| {
                    let bytes = v.bits.to_le_bytes();
                    bytes.into_iter().take(elem.bytes())
                });
                let file = dir.join(format!("{module}_{name}_{}", s.len()));
                std::fs::write(&file, bytes.collect::<Vec<u8>>()).unwrap();
                writeln!(s, "{name}_ = np.fromfile({file:?}, {})", np(*elem)).unwrap();
                args.push(format!("{name}_"));
            }
        }
    }
    let (entry, f) = (&run.generated.entry, run.function);
    writeln!(s, "returned = kernel{module}.{entry}({})", args.join(", ")).unwrap();
    for p in &f.params {
        if let Param::Array { name, .. } = p {
            writeln!(s, "show({name}_)").unwrap();
        }
    }
    if let Some(ty) = returned(f) {
        let dtype = np(ty);
        writeln!(s, "assert returned.dtype == {dtype}, returned.dtype").unwrap();
        writeln!(s, "show(returned)").unwrap();
    }
}
