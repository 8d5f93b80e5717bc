//! Runs generated Python.

use super::{outcomes, returned};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use tensorize_backends::Generated;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// A Python that imports NumPy and a package: ours, or the system's. A person may lack one; then it says so.
pub fn python_with(package: &str) -> Option<PathBuf> {
    // Some packages take seconds to load.
    static KNOWN: Mutex<BTreeMap<String, Option<PathBuf>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known.entry(package.into());
    let found = found.or_insert_with(|| find_python_with(package)).clone();
    drop(known);
    if found.is_none() {
        let missing =
            format!("no Python with {package}; 'cargo xtask test --frameworks all' installs one");
        let wanted = std::env::var_os("CI").is_some() && package == "numpy";
        assert!(!wanted, "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    found
}

fn find_python_with(package: &str) -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    let ours = data.map(|d| d.join("cargo-tensorize/venv/bin/python3"));
    let named = std::env::var_os("TENSORIZE_PYTHON").map(PathBuf::from);
    // What is found must also load: a package may lack a library.
    let import = format!("import numpy, {package}");
    let mut all = named.into_iter().chain(ours).chain(["python3".into()]);
    all.find(|p| {
        let run = Command::new(p).args(["-c", &import]).output();
        run.is_ok_and(|o| o.status.success())
    })
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
    run_modules(Command::new(python), &[run]).swap_remove(0)
}

/// What a script begins with.
pub fn head() -> String {
    // Hexadecimal numbers. Formatted one by one, they would take longer than most frameworks take to compute them.
    let show = "def show(a):\n    a = np.atleast_1d(a)\n    big_endian = a.view(f'u{a.itemsize}').byteswap().tobytes()\n    \
                print(big_endian.hex(' ', -a.itemsize))\n";
    format!("import numpy as np\nimport warnings\n{show}")
}

/// After the imports, a warning is an error. What Dask's threads warn of is NumPy's overflows and divisions by zero.
pub const WARNINGS: &str = "warnings.simplefilter('error')\n\
    warnings.filterwarnings('ignore', category=RuntimeWarning, module='dask')\n";

/// Python, which takes MLX's operators one by one, and does not compile each function as C++ of its own: that takes most of a
/// second. What its compiler makes of operators and of summaries, the tests of these see.
pub fn uncompiled(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.env("MLX_DISABLE_COMPILE", "1");
    command
}

/// Writes the modules and a script that makes the calls, and runs it; a warning is an error.
pub fn run_modules(mut python: Command, runs: &[Run]) -> Vec<Vec<Outputs>> {
    let dir = tempfile::tempdir().unwrap();
    let (mut s, mut arrays) = (head(), Arrays::in_folder(dir.path()));
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
            write_call(&mut s, &mut arrays, i, run, call);
        }
        s += "print('---')\n";
    }
    arrays.write();
    let script = dir.path().join("run.py");
    std::fs::write(&script, s).unwrap();
    let output = python.arg(&script).output().unwrap();
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

/// What calls are made with, in one file: thousands of small ones take a file system longer than the calls take.
pub struct Arrays {
    file: PathBuf,
    bytes: Vec<u8>,
}

impl Arrays {
    pub fn in_folder(dir: &Path) -> Arrays {
        Arrays {
            file: dir.join("arrays"),
            bytes: Vec::new(),
        }
    }

    /// Adds an array. Where it begins.
    pub fn push(&mut self, elem: ScalarType, data: &[Scalar]) -> usize {
        let offset = self.bytes.len();
        for v in data {
            self.bytes
                .extend_from_slice(&v.bits.to_le_bytes()[..elem.bytes()]);
        }
        offset
    }

    /// The C that opens the file.
    pub fn open(&self) -> String {
        format!("FILE *given = fopen({:?}, \"rb\");", self.file)
    }

    /// Adds an array. The Python that reads it.
    fn add(&mut self, elem: ScalarType, data: &[Scalar]) -> String {
        let offset = self.push(elem, data);
        let (file, dtype, count) = (&self.file, np(elem), data.len());
        format!("np.fromfile({file:?}, {dtype}, count={count}, offset={offset})")
    }

    pub fn write(&self) {
        std::fs::write(&self.file, &self.bytes).unwrap();
    }
}

/// Makes a call and prints what it leaves.
pub fn write_call(s: &mut String, arrays: &mut Arrays, module: usize, run: &Run, call: &Inputs) {
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
                let read = arrays.add(*elem, &call.arrays[name].data);
                writeln!(s, "{name}_ = {read}").unwrap();
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
