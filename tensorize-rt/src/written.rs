//! The report as a file, for `cargo tensorize explain`: `TENSORIZE_REPORT` names it, and it is written when the program ends.
//!
//! It is JSON. `format` says of which form; whoever changes what stands in it counts it up.

use crate::choice::choice;
use crate::kernel::{Kernel, is_forked, kernels};
use crate::pace::{Paced, Turn};
use crate::report::{KernelReport, one};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, io, process};

/// The form of what is written.
const FORMAT: u32 = 1;

/// Writes what is known of all kernels, as `TENSORIZE_REPORT` has it done when the program ends: for programs that don't end.
///
/// In a folder it gets a file of its own, named after the program and the process.
///
/// # Errors
/// If the file can't be written.
pub fn write_report(to: impl AsRef<Path>) -> io::Result<()> {
    let to = to.as_ref();
    let program = env::current_exe().unwrap_or_default();
    let file = match to.is_dir() {
        true => {
            let name = program.file_stem().unwrap_or_default().to_string_lossy();
            to.join(format!("{name}-{}.json", process::id()))
        }
        false => to.to_owned(),
    };
    // Nobody shall read half of it.
    let unfinished = file.with_extension(format!("{}.tmp", process::id()));
    fs::write(&unfinished, text(&program))?;
    fs::rename(&unfinished, &file).inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

/// Has the report written when the program ends, if the environment asks for it.
pub(crate) fn when_the_program_ends() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Some(to) = env::var_os("TENSORIZE_REPORT").filter(|to| !to.is_empty()) else {
            return;
        };
        // Programs change their folder.
        let to = PathBuf::from(to);
        WHERE_TO.set(std::path::absolute(&to).unwrap_or(to)).ok();
        at_exit();
    });
}

static WHERE_TO: OnceLock<PathBuf> = OnceLock::new();

#[allow(unsafe_code)]
fn at_exit() {
    unsafe extern "C" {
        /// Of C's library, on every system.
        fn atexit(run: extern "C" fn()) -> std::ffi::c_int;
    }
    extern "C" fn run() {
        // A child tells of its parent's calls; and there is nobody to unwind to.
        if !is_forked() {
            std::panic::catch_unwind(write_where_it_is_asked_for).ok();
        }
    }
    // SAFETY: the function is there for as long as the program runs.
    unsafe { atexit(run) };
}

fn write_where_it_is_asked_for() {
    if let Some(to) = WHERE_TO.get()
        && let Err(why) = write_report(to)
    {
        let to = to.display();
        eprintln!(
            "tensorize: the report can't be written to {to}: {why}; TENSORIZE_REPORT has to name a file in a folder that is there"
        );
    }
}

fn text(program: &Path) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut all: Vec<&'static Kernel> = kernels().collect();
    all.sort_by_key(|k| (k.file, k.line, k.name));
    let all: Vec<String> = all.into_iter().map(of_kernel).collect();
    format!(
        "{{\"format\":{FORMAT},\"program\":{},\"ended\":{},\"choice\":{},\"kernels\":[\n{}\n]}}\n",
        quoted(&program.to_string_lossy()),
        now.map_or(0, |t| t.as_secs()),
        quoted(&choice().to_string()),
        all.join(",\n"),
    )
}

fn of_kernel(kernel: &'static Kernel) -> String {
    let KernelReport {
        name,
        file,
        line,
        answered,
        fell_back,
        compared,
        differed,
        ..
    } = one(kernel);
    let answered = list(&answered, |(who, calls)| {
        format!("{{\"by\":{},\"calls\":{calls}}}", quoted(who))
    });
    let fell_back = list(&fell_back, |f| {
        let (cause, why) = (quoted(f.cause.name()), quoted(&f.why));
        format!("{{\"cause\":{cause},\"why\":{why},\"calls\":{}}}", f.calls)
    });
    let sizes = list(&kernel.paced(), |p| of_sizes(kernel, p));
    let hash = quoted(kernel.hash);
    let why = kernel.why.map_or("null".into(), quoted);
    format!(
        "{{\"name\":{},\"file\":{},\"line\":{line},\"hash\":{hash},\"why\":{why},\"answered\":{answered},\
         \"fell_back\":{fell_back},\"sizes\":{sizes},\"compared\":{compared},\"differed\":{differed}}}",
        quoted(name),
        quoted(file),
    )
}

/// Sizes from 2 to the power of one less than the first class's bits on.
fn of_sizes(kernel: &Kernel, paced: &Paced) -> String {
    let native = || {
        let native = |t: &&crate::Target| matches!(t.code, crate::Code::Native);
        kernel.targets.iter().find(native).map_or("-", |t| t.name)
    };
    let by = match paced.turn {
        Turn::Original => "original",
        Turn::Native => native(),
        Turn::Elsewhere(number) => kernel
            .targets
            .get(usize::from(number))
            .map_or("-", |t| t.name),
        Turn::Trial { .. } => "both",
    };
    let (first, last) = paced.classes;
    let mut text = format!(
        "{{\"bits\":[{first},{last}],\"by\":{},\"because\":{}",
        quoted(by),
        quoted(paced.because)
    );
    if let Some((original, code)) = paced.ns {
        write!(text, ",\"original_ns\":{original},\"code_ns\":{code}").ok();
    }
    text + "}"
}

fn list<T>(items: &[T], text: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(text).collect();
    format!("[{}]", items.join(","))
}

/// A string of JSON's.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted += "\\\"",
            '\\' => quoted += "\\\\",
            c if c < ' ' => {
                write!(quoted, "\\u{:04x}", u32::from(c)).ok();
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_those_of_json() {
        assert_eq!(quoted("a \"b\" \\ ü\n"), "\"a \\\"b\\\" \\\\ ü\\u000a\"");
    }
}
