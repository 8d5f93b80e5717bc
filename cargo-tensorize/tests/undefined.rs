//! What C leaves undefined: `docs/soundness.md` says what the tool does about each, and `fixtures/undefined` shows it.
//!
//! ```text
//! // expect: FUNCTION STATUS TIER "part of a guard"
//! // defined: FUNCTION(n = 2, a = [1, 2]) = RESULT
//! // undefined: FUNCTION(n = 2, a = [1]) part of the reason
//! ```

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use tensorize_ir::loopir::{Function, Param, interp};
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

fn files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/undefined");
    let listed = std::fs::read_dir(folder).unwrap().flatten();
    let mut files: Vec<PathBuf> = listed.map(|e| e.path()).collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}

fn lines<'a>(text: &'a str, tag: &str) -> Vec<&'a str> {
    let tag = format!("// {tag}: ");
    text.lines().filter_map(|l| l.strip_prefix(&tag)).collect()
}

fn scalar(ty: ScalarType, text: &str) -> Scalar {
    let text = text.trim();
    let float = || {
        text.parse::<f64>()
            .unwrap_or_else(|e| panic!("{text}: {e}"))
    };
    match ty {
        ScalarType::F32 => Scalar::f32(float() as f32),
        ScalarType::F64 => Scalar::f64(float()),
        _ => Scalar::int(ty, text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))),
    }
}

/// `name(n = 2, a = [1, 2]) rest`
fn call<'a>(line: &'a str, kernels: &'a [Function]) -> (&'a Function, Inputs, &'a str) {
    let (name, rest) = line.split_once('(').expect(line);
    let (args, rest) = rest.split_once(')').expect(line);
    let f = kernels.iter().find(|f| f.name == name).expect(line);
    let mut inputs = Inputs::default();
    for p in &f.params {
        // A name stands after the start or a space, and before ` = `.
        let at = format!(" {} = ", p.name());
        let padded = format!(" {args}");
        let (_, value) = padded
            .split_once(&at)
            .unwrap_or_else(|| panic!("{line}: {}", p.name()));
        match p {
            Param::Scalar { name, ty } => {
                let value = value.split(',').next().unwrap_or_default();
                inputs.scalars.insert(name.clone(), scalar(*ty, value));
            }
            Param::Array { name, elem, .. } => {
                let inner = value.strip_prefix('[').and_then(|v| v.split_once(']'));
                let (inner, _) = inner.unwrap_or_else(|| panic!("{line}: {name} is an array"));
                let items = inner.split(',').filter(|t| !t.trim().is_empty());
                let data = items.map(|t| scalar(*elem, t)).collect();
                inputs.arrays.insert(name.clone(), Buffer::new(*elem, data));
            }
        }
    }
    (f, inputs, rest.trim())
}

#[test]
fn runs_are_defined_or_not_as_the_fixtures_say() {
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let parsed = tensorize_lift::c::parse(&file, &[]).unwrap();
        let kernels: Vec<Function> = parsed.into_iter().filter_map(|p| p.lowered.ok()).collect();
        for line in lines(&text, "defined") {
            let (f, mut inputs, result) = call(line, &kernels);
            let returned = interp::run(f, &mut inputs, 10_000);
            let returned = returned.unwrap_or_else(|stop| panic!("{file:?}: {line}: {stop}"));
            if let Some(expected) = result.strip_prefix("= ") {
                let ty = f.ret.expect(line);
                assert_eq!(returned, Some(scalar(ty, expected)), "{file:?}: {line}");
            }
        }
        let undefined = lines(&text, "undefined");
        assert!(!undefined.is_empty(), "{file:?}");
        for line in undefined {
            let (f, mut inputs, why) = call(line, &kernels);
            match interp::run(f, &mut inputs, 10_000) {
                Ok(v) => panic!("{file:?}: {line}: it gives {v:?}"),
                Err(stop) => assert!(stop.to_string().contains(why), "{file:?}: {line}: {stop}"),
            }
        }
    }
}

#[test]
fn the_tool_does_what_the_fixtures_say() {
    for file in files() {
        let text = std::fs::read_to_string(&file).unwrap();
        let done = Command::new(env!("CARGO_BIN_EXE_cargo-tensorize"))
            .args(["lift", "--message-format", "json", "--target", "cpu"])
            .arg(&file)
            .output()
            .unwrap();
        let reports: Vec<Value> = String::from_utf8_lossy(&done.stdout)
            .lines()
            .map(|l| serde_json::from_str(l).unwrap())
            .collect();
        for line in lines(&text, "expect") {
            let (head, guard) = line.split_once('"').unwrap_or((line, ""));
            let words: Vec<&str> = head.split_whitespace().collect();
            let k = reports.iter().find(|r| r["name"] == words[0]).expect(line);
            assert_eq!(k["status"], words[1], "{line}: {k}");
            assert_eq!(k["tier"].as_str().unwrap_or("-"), words[2], "{line}: {k}");
            if words[1] == "proven" {
                // The differential run has passed, too.
                assert_eq!(k["targets"]["cpu"]["status"], "generated", "{line}: {k}");
            }
            let guards = k["guards"].to_string();
            assert!(guards.contains(guard.trim_end_matches('"')), "{line}: {k}");
        }
    }
}

/// Every fixture is named where the page says what is done.
#[test]
fn the_page_names_every_fixture() {
    let page = include_str!("../../docs/soundness.md");
    for file in files() {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(
            page.contains(&format!("fixtures/undefined/{name}")),
            "{name}"
        );
    }
}
