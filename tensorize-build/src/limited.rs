//! Programs that are to end, and to say no more than can be held: macros and headers may expand into more and more.

use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// What a program may take.
#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) time: Duration,
    /// On each of its outputs.
    pub(crate) bytes: usize,
    /// Of each of its processes: a file that is included may have no end. Held to where there is a shell that can.
    pub(crate) memory: u64,
}

/// Runs the command; an error if it takes more than that.
pub(crate) fn output(command: &mut Command, limits: Limits) -> io::Result<Output> {
    let mut child = spawn(command, limits.memory)?;
    // The compiler's driver has children, which a kill does not reach. That nobody reads what they say any more does.
    let stop = Arc::new(AtomicBool::new(false));
    let out = child
        .stdout
        .take()
        .map(|pipe| read(pipe, limits.bytes, &stop));
    let err = child
        .stderr
        .take()
        .map(|pipe| read(pipe, limits.bytes, &stop));
    let start = Instant::now();
    let collect = |from: Option<mpsc::Receiver<io::Result<Vec<u8>>>>| {
        let Some(from) = from else {
            return Ok(vec![]);
        };
        let left = limits.time.saturating_sub(start.elapsed());
        from.recv_timeout(left).unwrap_or_else(|_| {
            let why = format!("it takes more than {} s", limits.time.as_secs_f64());
            Err(io::Error::new(io::ErrorKind::TimedOut, why))
        })
    };
    let all = collect(out).and_then(|stdout| Ok((stdout, collect(err)?)));
    if all.is_err() {
        stop.store(true, Ordering::Relaxed);
        child.kill().ok();
    }
    let status = child.wait()?;
    let (stdout, stderr) = all?;
    if let Some(kind) = not_started(status) {
        return Err(kind.into());
    }
    Ok(Output {
        status,
        stdout,
        stderr,
    })
}

/// Starts it through a shell, which can limit what it starts.
fn spawn(command: &mut Command, memory: u64) -> io::Result<Child> {
    let piped = |command: &mut Command| {
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    if !Path::new(SHELL).exists() {
        return piped(command);
    }
    let mut limited = Command::new(SHELL);
    // Where the user has set a lower limit, that one stays.
    let script = format!("ulimit -v {} 2>/dev/null; exec \"$@\"", memory >> 10);
    limited
        .args(["-c", &script, "sh"])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(dir) = command.get_current_dir() {
        limited.current_dir(dir);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    piped(&mut limited)
}

const SHELL: &str = "/bin/sh";

/// What the shell says of a program that it could not start.
fn not_started(status: ExitStatus) -> Option<ErrorKind> {
    match status.code() {
        Some(126) => Some(ErrorKind::PermissionDenied),
        Some(127) => Some(ErrorKind::NotFound),
        _ => None,
    }
}

/// Reads it on a thread of its own.
fn read(
    mut pipe: impl Read + Send + 'static,
    most: usize,
    stop: &Arc<AtomicBool>,
) -> mpsc::Receiver<io::Result<Vec<u8>>> {
    let (send, receive) = mpsc::channel();
    let stop = stop.clone();
    std::thread::spawn(move || {
        let mut all = Vec::new();
        let mut piece = vec![0; 1 << 16];
        let result = loop {
            match pipe.read(&mut piece) {
                Ok(0) => break Ok(all),
                Ok(_) if stop.load(Ordering::Relaxed) => break Ok(all),
                Ok(n) if all.len() + n > most => {
                    let why = format!("it says more than {} MiB", most >> 20);
                    break Err(io::Error::other(why));
                }
                Ok(n) => all.extend_from_slice(&piece[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => break Err(e),
            }
        };
        // Before the answer, so that the writer is stopped when it is known.
        drop(pipe);
        send.send(result).ok();
    });
    receive
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Limits = Limits {
        time: Duration::from_millis(300),
        bytes: 1 << 20,
        memory: 1 << 30,
    };

    fn shell(script: &str) -> io::Result<Output> {
        output(Command::new("sh").args(["-c", script]), SMALL)
    }

    #[test]
    fn what_ends_is_whole() {
        let long = Limits {
            time: Duration::from_secs(60),
            ..SMALL
        };
        let out = output(
            Command::new("sh").args(["-c", "echo a; echo b >&2; exit 3"]),
            long,
        )
        .unwrap();
        assert_eq!((out.stdout, out.stderr), (b"a\n".to_vec(), b"b\n".to_vec()));
        assert_eq!(out.status.code(), Some(3));
    }

    #[test]
    fn what_can_not_be_started_is_told() {
        let kind = |program: &str| {
            output(&mut Command::new(program), SMALL)
                .unwrap_err()
                .kind()
        };
        assert_eq!(kind("/nowhere/cc"), ErrorKind::NotFound);
        assert_eq!(kind("/dev/null"), ErrorKind::PermissionDenied);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_takes_all_memory_is_stopped() {
        let long = Limits {
            time: Duration::from_secs(60),
            ..SMALL
        };
        let limit = output(Command::new("sh").args(["-c", "ulimit -v"]), long).unwrap();
        assert_eq!(limit.stdout, b"1048576\n");
    }

    #[test]
    fn what_does_not_end_is_ended() {
        assert!(
            shell("while :; do :; done")
                .unwrap_err()
                .to_string()
                .contains("more than 0.3 s")
        );
        let long = Limits {
            time: Duration::from_secs(60),
            ..SMALL
        };
        let endless = output(
            Command::new("sh").args(["-c", "while echo aaaaaaaaaaaaaaaa; do :; done; true"]),
            long,
        );
        assert!(endless.unwrap_err().to_string().contains("more than 1 MiB"));
        assert!(shell("(while echo a; do :; done) & wait").is_err());
    }
}
