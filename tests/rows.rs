//! Is every row of the target `opencl` tested? As for the others in `backends/tests/rows.rs`, on the driver that a program
//! would take. A changed row may end the process, so that each piece of code runs in one of its own.

extern crate backends as tensorize_backends;

#[path = "../backends/tests/common/mod.rs"]
mod common;

mod opencl {
    use crate::common::mutants::Manner;
    use crate::common::python::Run;
    use crate::common::survivors::{Bench, Found, NOT_COMPILED, none_survives, simt_with};
    use crate::common::{corpus, footprints, inside, outcomes, returned};
    use backends::simt::OPENCL;
    use cargo_tensorize::device::{Call, Loaded};
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;
    use std::process::{Command, Stdio};
    use tensorize_ir::loopir::Param;
    use tensorize_ir::memory::{Buffer, Inputs};
    use tensorize_ir::scalar::{Scalar, ScalarType};
    use tensorize_ir::tensir::Function;

    /// Names the folder that a process of its own finds its code in.
    const PIECE: &str = "TENSORIZE_PIECE_OF_CODE";

    /// After that many seconds code hangs.
    const LONGEST: &str = "60";

    #[test]
    fn rows() {
        if let Some(folder) = std::env::var_os(PIECE) {
            return answer(Path::new(&folder));
        }
        let mut corpus = corpus::operators();
        corpus.extend(inside::apart());
        corpus.extend(corpus::tiles());
        for item in &mut corpus {
            item.footprints = footprints(&item.function, &item.calls[0]);
        }
        none_survives(&Bench {
            manner: Manner {
                target: "opencl",
                stars: true,
                expressions: true,
                only_last: false,
            },
            tables: OPENCL.dialect.c.rows,
            with: &|rows| simt_with(&OPENCL, rows),
            corpus,
            run: &|runs| runs.iter().map(in_a_process).collect(),
        });
    }

    fn in_a_process(run: &Run) -> Found {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), text).expect("a writable folder");
        };
        write("function", &run.function.to_string());
        write("source", &run.generated.files[0].1);
        write("entry", &run.generated.entry);
        let calls: Vec<String> = run.calls.iter().map(|c| given(run.function, c)).collect();
        write("calls", &calls.concat());
        let this = std::env::current_exe().expect("this program");
        let status = Command::new("timeout")
            .arg(LONGEST)
            .arg(this)
            .args(["--exact", "opencl::rows"])
            .env(PIECE, folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .expect("it starts");
        let done = |name: &str| fs::read_to_string(folder.path().join(name));
        match (done("results"), done("why")) {
            (Ok(text), _) if status.success() => Ok(outcomes(run.function, run.calls, &text)),
            (_, Ok(why)) if why.contains("does not compile") => Err(NOT_COMPILED.into()),
            (_, Ok(why)) => Err(why),
            _ => Err(status.to_string()),
        }
    }

    /// What such a process does.
    fn answer(folder: &Path) {
        match computed(folder) {
            Ok(results) => fs::write(folder.join("results"), results),
            Err(why) => fs::write(folder.join("why"), why),
        }
        .expect("a writable folder");
    }

    fn computed(folder: &Path) -> Result<String, String> {
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it was written");
        let function: Function = read("function").parse().expect("a function");
        let calls = taken(&function, &read("calls"));
        let footprints = footprints(&function, &calls[0]);
        let loaded = Loaded::new(&function.name, &read("source"), &read("entry"), "opencl");
        let mut text = String::new();
        for inputs in &calls {
            let found = loaded.run(&Call {
                params: &function.params,
                ret: returned(&function),
                footprints: &footprints,
                inputs,
            })?;
            for p in &function.params {
                if let Param::Array { name, .. } = p {
                    line(&mut text, &found.arrays[name].data);
                }
            }
            if let Some(v) = found.returned {
                line(&mut text, &[v]);
            }
        }
        Ok(text)
    }

    fn line(text: &mut String, values: &[Scalar]) {
        for v in values {
            write!(text, "{:x} ", v.bits).expect("a string");
        }
        text.push('\n');
    }

    /// Arguments, a parameter a line.
    fn given(function: &Function, call: &Inputs) -> String {
        let mut text = String::new();
        for p in &function.params {
            match p {
                Param::Scalar { name, .. } => line(&mut text, &[call.scalars[name]]),
                Param::Array { name, .. } => line(&mut text, &call.arrays[name].data),
            }
        }
        text
    }

    fn taken(function: &Function, text: &str) -> Vec<Inputs> {
        let lines: Vec<&str> = text.lines().collect();
        let values = |ty: ScalarType, line: &str| -> Vec<Scalar> {
            let words = line.split_whitespace();
            let bits = words.map(|w| u64::from_str_radix(w, 16).expect("hexadecimal"));
            bits.map(|bits| Scalar { ty, bits }).collect()
        };
        let one = |lines: &[&str]| {
            let mut inputs = Inputs::default();
            for (p, line) in function.params.iter().zip(lines) {
                match p {
                    Param::Scalar { name, ty } => {
                        inputs.scalars.insert(name.clone(), values(*ty, line)[0]);
                    }
                    Param::Array { name, elem, .. } => {
                        let buffer = Buffer::new(*elem, values(*elem, line));
                        inputs.arrays.insert(name.clone(), buffer);
                    }
                }
            }
            inputs
        };
        lines.chunks(function.params.len()).map(one).collect()
    }
}
