//! A program that is given a question on its standard input and answers on its standard output: a proposer of the user's,
//! or the one that knows the remote cache. It may hang, write without an end, or leave processes behind.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What the program writes to its standard output, if it ends well, within the limit, and with no more than so many bytes.
pub fn answer(
    command: &mut Command,
    question: Vec<u8>,
    limit: Duration,
    most_bytes: u64,
) -> Result<Vec<u8>, String> {
    let end = Instant::now() + limit;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        // With all that it starts, it can be killed together.
        .process_group(0)
        .spawn()
        .map_err(|e| format!("it can't be started: {e}"))?;
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
    let mut guard = Running {
        child,
        ended: false,
    };
    let (Some(mut stdin), Some(stdout)) = (stdin, stdout) else {
        return Err("it has no pipes".into());
    };
    // A program that reads nothing, or writes before it reads, must not hold us up.
    std::thread::spawn(move || {
        let _ = stdin.write_all(&question);
    });
    let (send, receive) = channel();
    std::thread::spawn(move || {
        let mut text = Vec::new();
        let read = stdout.take(most_bytes + 1).read_to_end(&mut text);
        let _ = send.send(read.map(|_| text));
    });
    let left = || end.saturating_duration_since(Instant::now());
    let too_long = || format!("it takes longer than {} s", limit.as_secs_f64());
    let text = receive
        .recv_timeout(left())
        .map_err(|_| too_long())?
        .map_err(|e| format!("its answer can't be read: {e}"))?;
    if text.len() as u64 > most_bytes {
        return Err(format!("it answers with more than {most_bytes} bytes"));
    }
    // It has closed its output; now it has to end.
    let status = loop {
        if let Some(status) = guard.ended()? {
            break status;
        }
        if left().is_zero() {
            return Err(too_long());
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    if !status.success() {
        return Err(format!("it failed ({status})"));
    }
    Ok(text)
}

/// A process that does not outlive us, nor do those that it started.
struct Running {
    child: Child,
    /// It was waited for: its number may be somebody else's.
    ended: bool,
}

impl Running {
    fn ended(&mut self) -> Result<Option<ExitStatus>, String> {
        let status = self.child.try_wait().map_err(|e| e.to_string())?;
        self.ended = status.is_some();
        Ok(status)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, killpg};
        if self.ended {
            return;
        }
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(nix::unistd::Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
