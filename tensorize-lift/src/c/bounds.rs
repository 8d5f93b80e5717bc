//! What is not given to libclang, or not for longer: it runs in this process, recurses where C nests, and can't be
//! interrupted.
//!
//! clang itself stops at 256 nested brackets. Statements and prefix operators nest without any, so that these are
//! counted here before it sees them. What macros and headers add is not counted: for that the stack is large, and the
//! time limited.

use super::ffi::Cursor;
use super::lower::problem;
use super::{Problem, Span, codes};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tensorize_ir::limit;

/// The largest file that is read, in bytes.
const LARGEST: u64 = 32 << 20;

/// How many operators and keywords may stand without a `;`, `,` or brace between them, and how many `else` in a row.
const LONGEST: usize = 20_000;

/// How deep a function's syntax tree may be: the passes over it take time by its square.
const DEEPEST: usize = 1_000;

/// How deep loops may be nested. C asks compilers for as many blocks in one another, and whoever wrote a kernel has a few.
const MOST_LOOPS: usize = 127;

/// How long a function's C may take, after libclang is done with the file.
const TIME_FOR_A_FUNCTION: Duration = Duration::from_secs(20);

/// Only what is used of it takes memory.
const STACK: usize = 512 << 20;

/// An error for a file that is too large, or nests too deeply to be read.
pub(super) fn check(file: &Path) -> Result<(), Problem> {
    let failed = |e: std::io::Error| refused(file, 1, &e.to_string(), "see that it can be read");
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > LARGEST {
        let why = format!(
            "it has {} MiB, and files up to {} MiB are read",
            size >> 20,
            LARGEST >> 20
        );
        let help = "put the kernels into a file of their own, and data into one that is linked";
        return Err(refused(file, 1, &why, help));
    }
    let text = std::fs::read(file).map_err(failed)?;
    match nests_too_deeply(&text) {
        None => Ok(()),
        Some(line) => {
            let why = format!("more than {LONGEST} operators or statements are nested here");
            Err(refused(file, line, &why, "split it up"))
        }
    }
}

/// The line on which that is so.
fn nests_too_deeply(text: &[u8]) -> Option<u32> {
    const NESTING: [&[u8]; 6] = [b"if", b"for", b"while", b"do", b"switch", b"case"];
    let (mut run, mut elses) = (0_usize, 0_usize);
    let (mut braces, mut parentheses) = (0_usize, 0_usize);
    let mut line = 1;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let mut length = 1;
        match rest[0] {
            b'\n' => line += 1,
            b'"' | b'\'' => {
                length = literal(rest);
                line +=
                    u32::try_from(rest[..length].iter().filter(|b| **b == b'\n').count()).ok()?;
            }
            b'/' if rest.starts_with(b"//") => {
                length = rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
            }
            b'/' if rest.starts_with(b"/*") => {
                let end = rest[2..].windows(2).position(|w| w == b"*/");
                length = end.map_or(rest.len(), |e| e + 4);
                line +=
                    u32::try_from(rest[..length].iter().filter(|b| **b == b'\n').count()).ok()?;
            }
            // Those of a `for` end nothing.
            b';' | b',' if parentheses == 0 => run = 0,
            b'{' => (run, parentheses, braces) = (0, 0, braces + 1),
            b'}' => {
                (run, parentheses, braces) = (0, 0, braces.saturating_sub(1));
                if braces == 0 {
                    elses = 0;
                }
            }
            b'(' => (run, parentheses) = (run + 1, parentheses + 1),
            b')' => parentheses = parentheses.saturating_sub(1),
            b'-' | b'!' | b'~' | b'&' | b'*' | b'+' | b'[' | b'?' | b':' | b'=' => run += 1,
            b if b == b'_' || b.is_ascii_alphanumeric() => {
                let part = |b: &u8| *b == b'_' || b.is_ascii_alphanumeric();
                length = rest.iter().position(|b| !part(b)).unwrap_or(rest.len());
                let word = &rest[..length];
                run += usize::from(NESTING.contains(&word));
                elses += usize::from(word == b"else");
            }
            _ => {}
        }
        if run > LONGEST || elses > LONGEST {
            return Some(line);
        }
        at += length;
    }
    None
}

/// The length of the literal that the text begins with. One that does not end on its line is no literal of C's.
fn literal(text: &[u8]) -> usize {
    let mut escaped = false;
    for (at, b) in text.iter().enumerate().skip(1) {
        match b {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'\n' => return at,
            b if *b == text[0] => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// Whether a function's tree is deeper than the passes over it can take.
pub(super) fn is_too_deep(function: Cursor<'_>) -> bool {
    let mut open = vec![(function, 0)];
    while let Some((c, depth)) = open.pop() {
        if depth > DEEPEST {
            return true;
        }
        open.extend(c.children().into_iter().map(|child| (child, depth + 1)));
    }
    false
}

/// Works on a function. An error if that takes too long: who looks through the tree asks for the time.
pub(super) fn in_time<T>(
    function: Cursor<'_>,
    work: impl FnOnce() -> Result<T, Problem>,
) -> Result<T, Problem> {
    limit::within(TIME_FOR_A_FUNCTION, work).unwrap_or_else(|_| {
        let (name, limit) = (function.spelling(), TIME_FOR_A_FUNCTION.as_secs());
        let message = format!("'{name}' takes more than {limit} s to be read");
        Err(problem(codes::TOO_LARGE, message, function))
    })
}

/// An error for loops that are nested so deep.
pub(super) fn check_nesting(depth: usize, at: Cursor<'_>) -> Result<(), Problem> {
    if depth <= MOST_LOOPS {
        return Ok(());
    }
    let message = format!("more than {MOST_LOOPS} loops are nested in one another here");
    Err(problem(codes::TOO_LARGE, message, at))
}

/// Runs it on a thread with a large stack. If that takes longer than the limit, or half of that until the work notes that
/// libclang has expanded all that there is, the thread is left to itself.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    file: &Path,
    work: impl FnOnce(&AtomicBool) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    let (send, receive) = mpsc::channel();
    let expanded = Arc::new(AtomicBool::new(false));
    let done = expanded.clone();
    let thread = std::thread::Builder::new()
        .name("parse".into())
        .stack_size(STACK)
        .spawn(move || {
            // Nobody listens any more when it was too slow.
            send.send(work(&done)).ok();
        })
        .map_err(|e| refused(file, 1, &e.to_string(), "use fewer threads (--jobs)"))?;
    let mut received = receive.recv_timeout(limit / 2);
    let expanded = expanded.load(Ordering::Relaxed);
    if matches!(received, Err(mpsc::RecvTimeoutError::Timeout)) && expanded {
        received = receive.recv_timeout(limit - limit / 2);
    }
    match received {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => {
            let (taken, help) = match expanded {
                false => (
                    limit / 2,
                    "macros, headers and templates that expand into more and more are the usual cause",
                ),
                true => (
                    limit,
                    "libclang has read it; its functions are too many or too large: split it up",
                ),
            };
            let why = format!("it takes more than {} s", taken.as_secs_f64());
            Err(refused(file, 1, &why, help))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => Err(refused(file, 1, "its thread ended early", "try again")),
        },
    }
}

fn refused(file: &Path, line: u32, why: &str, help: &str) -> Problem {
    Problem {
        code: codes::UNREADABLE,
        message: format!("{} cannot be read: {why}", file.display()),
        span: Some(Span {
            file: file.to_owned(),
            line,
            column: 1,
            start: 0,
            end: 0,
        }),
        help: Some(help.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It said that of everything, and of structs it was not so.
    #[test]
    fn macros_are_blamed_only_while_they_are_expanded() {
        for expanded in [false, true] {
            let said = within(Duration::from_millis(100), Path::new("k.c"), move |done| {
                done.store(expanded, Ordering::Relaxed);
                std::thread::sleep(Duration::from_secs(2));
                Ok(())
            });
            let help = said.unwrap_err().help.unwrap();
            assert_eq!(help.contains("macros"), !expanded, "{help}");
        }
    }

    #[test]
    fn nesting_is_seen_and_length_is_not() {
        for deep in [
            "if (a) ",
            "- ",
            "!",
            "(int)",
            "for (;;) do ",
            "a ? b : ",
            "*",
            "a = ",
            "if (a) b; else ",
        ] {
            let text = format!("\n\nint f() {{ {} }}", deep.repeat(LONGEST + 1));
            assert_eq!(nests_too_deeply(text.as_bytes()), Some(3), "{deep}");
        }
        for long in [
            "a + 1; ",
            "-1, ",
            "if (a) { b; } else { c; } } { ",
            "/* ((( */ ",
            "\"((\\\"(\"",
            "// (((\n",
        ] {
            let text = format!("{{ {} }}", long.repeat(LONGEST + 1));
            assert_eq!(nests_too_deeply(text.as_bytes()), None, "{long}");
        }
    }
}
