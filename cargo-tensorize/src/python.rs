//! Generated Python modules against the lifted loop, on the inputs that the compiled original gets, too.
//!
//! One interpreter serves all kernels of a file and a target. A person may not have one: then there is no evidence, and
//! nothing for these targets is stored.

use crate::cases::{Cases, Verdict};
use crate::generate::Artefact;
use crate::pipeline::{Kernel, Proven};
use crate::tools;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tensorize_ir::loopir::Param;
use tensorize_ir::memory::{Buffer, Inputs, Outputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

const SCRIPT: &str = include_str!("python/run.py");
/// An interpreter that takes longer hangs: to import a framework, and for each module, which some compile for each size.
const LIMIT: Duration = Duration::from_secs(120);
const LIMIT_A_MODULE: Duration = Duration::from_secs(30);

/// What came of a run.
#[derive(Debug)]
pub struct Ran {
    /// Of each module.
    pub verdicts: Vec<Verdict>,
    /// The framework and its version.
    pub on: String,
}

/// Runs the modules of these kernels, in order, where `package` can be imported. An `Err` says why none could be run.
pub fn check(work: &[(&Kernel, &Artefact)], package: &str) -> Result<Ran, String> {
    let prepared: Vec<Prepared> = work
        .iter()
        .filter_map(|(k, a)| Some(Prepared::new(k.proven.as_ref()?, a)))
        .collect();
    let modules: Vec<&Module> = prepared.iter().map(|p| &p.module).collect();
    let said = run(&modules, package)?;
    if said.modules.len() != prepared.len() {
        return Err("Python gave no answer for some modules".into());
    }
    let both = prepared.iter().zip(&said.modules);
    Ok(Ran {
        verdicts: both.map(|(p, r)| p.compare(r)).collect(),
        on: said.ran_on,
    })
}

#[derive(Serialize)]
struct Module {
    source: String,
    entry: String,
    calls: Vec<Vec<Argument>>,
}

#[derive(Serialize)]
struct Argument {
    kind: &'static str,
    dtype: String,
    value: String,
    writeable: bool,
}

#[derive(Deserialize)]
struct Said {
    ran_on: String,
    modules: Vec<Vec<Answer>>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    arrays: Vec<String>,
    #[serde(default)]
    returned: Option<String>,
    #[serde(default)]
    dtype: Option<String>,
}

struct Prepared<'a> {
    cases: Cases<'a>,
    module: Module,
}

impl<'a> Prepared<'a> {
    fn new(proven: &'a Proven, artefact: &Artefact) -> Prepared<'a> {
        let cases = Cases::of(proven, artefact);
        let calls = (cases.inputs())
            .map(|inputs| arguments(&proven.function.params, inputs))
            .collect();
        let module = Module {
            source: artefact.text.clone(),
            entry: artefact.entry.clone(),
            calls,
        };
        Prepared { cases, module }
    }

    fn compare(&self, answers: &[Answer]) -> Verdict {
        let found = (self.cases.inputs())
            .zip(answers)
            .map(|(inputs, answer)| self.outputs(inputs, answer));
        self.cases.compare(found)
    }

    fn outputs(&self, inputs: &Inputs, answer: &Answer) -> Result<Outputs, String> {
        if let Some(e) = &answer.error {
            return Err(e.clone());
        }
        let function = &self.cases.proven.function;
        let names = function.params.iter().filter_map(|p| match p {
            Param::Array { name, .. } => Some(name),
            Param::Scalar { .. } => None,
        });
        let mut arrays = BTreeMap::new();
        for (name, hex) in names.zip(&answer.arrays) {
            let before = inputs.arrays.get(name).ok_or("an array is missing")?;
            let data = scalars(hex, before.elem).ok_or("its answer can't be read")?;
            arrays.insert(
                name.clone(),
                Buffer {
                    data,
                    ..before.clone()
                },
            );
        }
        let returned = match (&answer.returned, function.ret) {
            (Some(hex), Some(ty)) => {
                let is = answer.dtype.as_deref().unwrap_or_default();
                if is != dtype(ty) {
                    return Err(format!("it returns {is} instead of {}", dtype(ty)));
                }
                scalars(hex, ty).and_then(|v| v.first().copied())
            }
            _ => None,
        };
        Ok(Outputs { arrays, returned })
    }
}

fn arguments(params: &[Param], inputs: &Inputs) -> Vec<Argument> {
    let none = Buffer::zeros(ScalarType::U8, 0);
    let argument = |p: &Param| match p {
        Param::Scalar { name, ty } => {
            let value = inputs
                .scalars
                .get(name)
                .copied()
                .unwrap_or(Scalar::zero(*ty));
            let float = ty.is_float();
            Argument {
                kind: if float { "float" } else { "int" },
                dtype: dtype(*ty),
                value: if float {
                    hex(&[value])
                } else {
                    value.as_int().to_string()
                },
                writeable: false,
            }
        }
        Param::Array {
            name,
            elem,
            is_const,
            ..
        } => Argument {
            kind: "array",
            dtype: dtype(*elem),
            value: hex(&inputs.arrays.get(name).unwrap_or(&none).data),
            writeable: !is_const,
        },
    };
    params.iter().map(argument).collect()
}

/// NumPy's name of a type.
fn dtype(ty: ScalarType) -> String {
    match ty {
        ScalarType::I1 => "bool".into(),
        ScalarType::F32 | ScalarType::F64 => format!("float{}", ty.bits()),
        _ if ty.is_signed() => format!("int{}", ty.bits()),
        _ => format!("uint{}", ty.bits()),
    }
}

fn hex(values: &[Scalar]) -> String {
    let bytes = values
        .iter()
        .flat_map(|v| v.bits.to_ne_bytes_of(v.ty.bytes()));
    bytes.map(|b| format!("{b:02x}")).collect()
}

trait NeBytes {
    fn to_ne_bytes_of(self, size: usize) -> Vec<u8>;
}

impl NeBytes for u64 {
    fn to_ne_bytes_of(self, size: usize) -> Vec<u8> {
        let mut bytes = self.to_le_bytes()[..size].to_vec();
        if cfg!(target_endian = "big") {
            bytes.reverse();
        }
        bytes
    }
}

fn scalars(hex: &str, ty: ScalarType) -> Option<Vec<Scalar>> {
    let digits = hex.as_bytes();
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    let value = |chunk: &[u8]| {
        let add = |bits: u64, b: &u8| bits << 8 | u64::from(*b);
        let bits = if cfg!(target_endian = "big") {
            chunk.iter().fold(0, add)
        } else {
            chunk.iter().rev().fold(0, add)
        };
        Scalar { ty, bits }
    };
    Some(bytes?.chunks(ty.bytes()).map(value).collect())
}

/// Whether the interpreter finds a package. It is asked once, and nothing is imported.
pub fn has(package: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let ask = || {
        let looks =
            "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)";
        let asked = Command::new(tools::find_python())
            .args(["-c", looks, package])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        asked.is_ok_and(|mut child| tools::wait(&mut child, LIMIT).is_ok_and(|s| s.success()))
    };
    *known.entry(package.to_owned()).or_insert_with(ask)
}

fn run(modules: &[&Module], package: &str) -> Result<Said, String> {
    let python = tools::find_python();
    let name = python.display();
    let mut output = tempfile::tempfile().map_err(|e| format!("no temporary file: {e}"))?;
    let errors = output
        .try_clone()
        .map_err(|e| format!("no temporary file: {e}"))?;
    let results = tempfile::NamedTempFile::new().map_err(|e| format!("no temporary file: {e}"))?;
    let to = results
        .reopen()
        .map_err(|e| format!("no temporary file: {e}"))?;
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT, package])
        .stdin(Stdio::piped())
        .stdout(to)
        .stderr(errors)
        .spawn()
        .map_err(|e| format!("{name} can't be started: {e}"))?;
    // It reads all of this before it writes anything.
    if let Some(mut input) = child.stdin.take() {
        let text = serde_json::to_vec(modules).map_err(|e| e.to_string())?;
        // An interpreter without NumPy is gone already; its status says so.
        let _ = input.write_all(&text);
    }
    let status = tools::wait(&mut child, LIMIT + LIMIT_A_MODULE * modules.len() as u32)
        .map_err(|e| format!("{name}: {e}"))?;
    if !status.success() {
        let mut log = String::new();
        let _ = std::io::Seek::rewind(&mut output);
        let _ = std::io::Read::read_to_string(&mut output, &mut log);
        let last = log.lines().last().unwrap_or("it said nothing");
        return Err(format!("{name} failed: {last}"));
    }
    let text = std::fs::read(results.path()).map_err(|e| e.to_string())?;
    serde_json::from_slice(&text).map_err(|e| format!("{name}: its answer can't be read: {e}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_read_back() {
        let values = [
            Scalar::int(ScalarType::I16, -2),
            Scalar::int(ScalarType::I16, 300),
        ];
        assert_eq!(scalars(&hex(&values), ScalarType::I16).unwrap(), values);
        let one = [Scalar::f32(1.5)];
        assert_eq!(scalars(&hex(&one), ScalarType::F32).unwrap(), one);
    }

    #[test]
    fn numpy_knows_the_types_under_these_names() {
        assert_eq!(dtype(ScalarType::U8), "uint8");
        assert_eq!(dtype(ScalarType::I64), "int64");
        assert_eq!(dtype(ScalarType::F32), "float32");
        assert_eq!(dtype(ScalarType::I1), "bool");
    }
}
