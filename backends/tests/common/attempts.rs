//! Runs modules that may well fail: many in one process, each on its own.

use super::outcomes;
use super::python::{Arrays, Run, head, uncompiled, write_call};
use std::fmt::Write as _;
use std::path::Path;
use tensorize_ir::memory::Outputs;

/// After that many seconds a module hangs.
const LONGEST: usize = 60;

/// What each module computes, or how it failed.
pub fn attempt(python: &Path, runs: &[Run]) -> Vec<Result<Vec<Outputs>, String>> {
    let mut done: Vec<Result<Vec<Outputs>, String>> = Vec::new();
    // How often in turn the process has ended before the module at hand.
    let mut ended = 0;
    while done.len() < runs.len() {
        let rest = &runs[done.len()..];
        let (found, why) = one_process(python, rest);
        ended = if found.is_empty() { ended + 1 } else { 0 };
        let complete = found.len() == rest.len();
        done.extend(found);
        // A process may end for reasons of its own; twice at the same place, it is the module.
        if !complete && ended == 2 {
            done.push(Err(why));
            ended = 0;
        }
    }
    done
}

/// What came of the first modules, and how the process ended.
fn one_process(python: &Path, runs: &[Run]) -> (Vec<Result<Vec<Outputs>, String>>, String) {
    let dir = tempfile::tempdir().unwrap();
    let (mut s, mut arrays) = (head(), Arrays::in_folder(dir.path()));
    s += "import faulthandler\n";
    for (i, run) in runs.iter().enumerate() {
        let file = dir.path().join(format!("kernel{i}.py"));
        std::fs::write(file, &run.generated.files[0].1).unwrap();
        let mut body = format!("import kernel{i}\n");
        for call in run.calls {
            write_call(&mut body, &mut arrays, i, run, call);
        }
        writeln!(
            s,
            "faulthandler.dump_traceback_later({LONGEST}, exit=True)\ntry:"
        )
        .unwrap();
        body.lines().for_each(|l| writeln!(s, "    {l}").unwrap());
        s += "except Exception as error:\n    print('raised', repr(error)[:200].replace('\\n', ' '))\n";
        s += "print('---', flush=True)\n";
    }
    arrays.write();
    let script = dir.path().join("run.py");
    std::fs::write(&script, s).unwrap();
    let output = uncompiled(python).arg(&script).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let parts: Vec<&str> = printed.split("---\n").collect();
    // What follows the last line of dashes is of a module that did not end.
    let whole = &parts[..parts.len() - 1];
    let found = runs.iter().zip(whole).map(|(run, text)| {
        match text.lines().find_map(|l| l.strip_prefix("raised ")) {
            Some(why) => Err(why.to_owned()),
            None => Ok(outcomes(run.function, run.calls, text)),
        }
    });
    let said = String::from_utf8_lossy(&output.stderr);
    let why = format!("{}: {}", output.status, said.lines().last().unwrap_or(""));
    (found.collect(), why)
}
