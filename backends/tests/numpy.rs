//! The `numpy` target: what it prints, and what that computes when Python runs it.

mod common;

use common::{
    Random, assert_same, call, expected, golden, outcomes, returned, summary, try_generate,
};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use tensorize_backends::Generated;
use tensorize_backends::numpy::NumPy;
use tensorize_ir::guard::{Footprint, Tier};
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};
use tensorize_ir::tensir::Function;

/// A Python that imports NumPy: ours, or the system's.
fn python() -> Option<PathBuf> {
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

fn run_python(python: &PathBuf, f: &Function, g: &Generated, calls: &[Inputs]) -> Vec<Outputs> {
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

fn check_with(f: &Function, tier: Tier, calls: &[Inputs], footprints: &[Footprint]) -> String {
    let g = try_generate(&NumPy, f, tier, footprints).unwrap_or_else(|e| panic!("{}: {e}", f.name));
    let text = g.files[0].1.clone();
    let Some(python) = python() else { return text };
    for (call, got) in calls.iter().zip(run_python(&python, f, &g, calls)) {
        assert_same(
            &format!("{}\n{text}", f.name),
            g.tier,
            &got,
            &expected(f, call),
        );
    }
    text
}

fn check(f: &Function, tier: Tier, calls: &[Inputs]) -> String {
    check_with(f, tier, calls, &[])
}

/// All pairs of bytes.
fn all_bytes(f: &Function) -> Vec<Inputs> {
    let mut c = call(f, &[("rows", 256), ("cols", 256)], &mut Random(5), false);
    let byte = |v: usize| Scalar::int(ScalarType::U8, v as i128);
    for (name, value) in [("base", 256), ("active", 1)] {
        if let Some(b) = c.arrays.get_mut(name) {
            b.data = (0..65536).map(|i| byte(i / value % 256)).collect();
        }
    }
    vec![
        c,
        call(f, &[("rows", 0), ("cols", 3)], &mut Random(6), false),
    ]
}

fn vectors(f: &Function, tame: bool) -> Vec<Inputs> {
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

#[test]
fn blends() {
    for name in ["screen", "darken", "burn"] {
        let f = summary(name);
        golden(
            &format!("{name}.numpy.py"),
            &check(&f, Tier::Exact, &all_bytes(&f)),
        );
    }
}

#[test]
fn sums_in_order_and_in_any_order() {
    let f = summary("matvec");
    golden(
        "matvec.exact.numpy.py",
        &check(&f, Tier::Exact, &vectors(&f, false)),
    );
    golden(
        "matvec.real.numpy.py",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
}

#[test]
fn softmax() {
    let f = summary("softmax");
    golden(
        "softmax.numpy.py",
        &check(&f, Tier::Real, &vectors(&f, true)),
    );
    let refused = try_generate(&NumPy, &f, Tier::Exact, &[]).unwrap_err();
    assert!(refused.contains("np.exp"), "{refused}");
}

#[test]
fn integers_and_rows() {
    for name in ["matmul", "dot16", "center_rows", "swap_scaled"] {
        let f = summary(name);
        check(&f, Tier::Exact, &vectors(&f, false));
    }
}
