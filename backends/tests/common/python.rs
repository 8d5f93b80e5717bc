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

/// A Python that imports NumPy: ours, or the system's.
pub fn python() -> Option<PathBuf> {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".local/share")));
    let ours = data.map(|d| d.join("cargo-tensorize/venv/bin/python3"));
    let named = std::env::var_os("TENSORIZE_PYTHON").map(PathBuf::from);
    let found = named
        .into_iter()
        .chain(ours)
        .chain(["python3".into()])
        .find(|p| {
            let run = Command::new(p).args(["-c", "import numpy"]).output();
            run.is_ok_and(|o| o.status.success())
        });
    if found.is_none() {
        let missing = "no Python with NumPy; 'cargo xtask setup' installs one";
        assert!(std::env::var_os("CI").is_none(), "{missing}");
        eprintln!("SKIPPED: {missing}");
    }
    found
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

/// Writes the module and a script that makes the calls, and runs it; a warning is an error.
pub fn run_python(python: &Path, f: &Function, g: &Generated, calls: &[Inputs]) -> Vec<Outputs> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("kernel.py"), &g.files[0].1).unwrap();
    let mut s = String::from(
        "import numpy as np\nimport warnings\nimport kernel\nwarnings.simplefilter('error')\n",
    );
    s += "def show(a):\n    a = np.atleast_1d(a)\n    print(*[format(v, 'x') for v in a.view(f'u{a.itemsize}').tolist()])\n";
    for call in calls {
        let mut args = Vec::new();
        for p in &f.params {
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
                    let bits: Vec<_> = call.arrays[name]
                        .data
                        .iter()
                        .map(|v| v.bits.to_string())
                        .collect();
                    writeln!(
                        s,
                        "{name}_ = np.array([{}], np.uint{}).view({})",
                        bits.join(","),
                        elem.bytes() * 8,
                        np(*elem)
                    )
                    .unwrap();
                    args.push(format!("{name}_"));
                }
            }
        }
        writeln!(s, "returned = kernel.{}({})", g.entry, args.join(", ")).unwrap();
        for p in &f.params {
            if let Param::Array { name, .. } = p {
                writeln!(s, "show({name}_)").unwrap();
            }
        }
        if let Some(ty) = returned(f) {
            writeln!(
                s,
                "assert returned.dtype == {}, returned.dtype\nshow(returned)",
                np(ty)
            )
            .unwrap();
        }
    }
    let script = dir.path().join("run.py");
    std::fs::write(&script, s).unwrap();
    let output = Command::new(python).arg(&script).output().unwrap();
    assert!(
        output.status.success(),
        "{}:\n{}\n{}",
        f.name,
        String::from_utf8_lossy(&output.stderr),
        g.files[0].1
    );
    outcomes(f, calls, &String::from_utf8(output.stdout).unwrap())
}
