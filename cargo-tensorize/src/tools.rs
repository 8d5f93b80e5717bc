//! Finds the programs that the subcommand needs. (The front end finds libclang itself.)

use crate::diagnostics::{Diagnostic, line_span};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::time::Duration;
use tensorize_prove::solver::{Solver, SolverError, data_dir};
use wait_timeout::ChildExt;

/// What to do about a missing or old Z3.
const Z3_HELP: &str = "`cargo tensorize doctor` names the command that installs it; TENSORIZE_Z3 can name a `z3` that lies elsewhere";

/// The C compiler, or why there is none: `CC`, else `cc` on `PATH`.
pub fn find_cc() -> Result<PathBuf, Box<Diagnostic>> {
    let named = std::env::var_os("CC").filter(|v| !v.is_empty());
    let name = named.clone().unwrap_or_else(|| "cc".into());
    // `CC` may hold arguments, such as "ccache gcc"; that is the user's business.
    if named.is_some_and(|n| n.to_string_lossy().contains(' ')) || on_path(&name).is_some() {
        return Ok(name.into());
    }
    let message = format!("no C compiler: `{}` is not on PATH", name.to_string_lossy());
    let help = "install one (Debian: `apt install gcc`), or set CC to its path";
    Err(Box::new(Diagnostic::error("TZ0103", message).help(help)))
}

/// Why a file could not be preprocessed; an `Err` is what no file of the project gets over, that there is no compiler.
pub fn not_preprocessed(why: String, file: &Path) -> Result<Box<Diagnostic>, Box<Diagnostic>> {
    find_cc()?;
    Ok(Diagnostic::error("TZ0107", why)
        .at(Some(line_span(file, 1)))
        .into())
}

/// The Python that runs generated modules: `TENSORIZE_PYTHON`, else the one of our set-up, else `python3`.
pub fn find_python() -> PathBuf {
    if let Some(path) = std::env::var_os("TENSORIZE_PYTHON").filter(|v| !v.is_empty()) {
        return path.into();
    }
    let ours = data_dir()
        .map(|d| d.join("venv/bin/python3"))
        .filter(|p| p.is_file());
    ours.unwrap_or_else(|| "python3".into())
}

/// Waits for a child, and ends it if it takes too long.
pub fn wait(child: &mut Child, limit: Duration) -> std::io::Result<ExitStatus> {
    if let Some(status) = child.wait_timeout(limit)? {
        return Ok(status);
    }
    child.kill()?;
    child.wait()?;
    Err(std::io::Error::new(
        std::io::ErrorKind::TimedOut,
        "it does not end",
    ))
}

/// A solver, or what to do to get one.
pub fn solver(z3: &Path) -> Result<Solver, Box<Diagnostic>> {
    Solver::new(z3).map_err(|e| {
        let code = match &e {
            SolverError::NotFound { .. } => "TZ0101",
            SolverError::TooOld { .. } => "TZ0102",
        };
        Box::new(Diagnostic::error(code, e.to_string()).help(Z3_HELP))
    })
}

/// The program of this name on `PATH`.
pub fn on_path(name: impl AsRef<OsStr>) -> Option<PathBuf> {
    let name = Path::new(name.as_ref());
    if name.components().count() > 1 {
        return name.is_file().then(|| name.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|p| p.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_solver_comes_with_its_remedy() {
        let Err(d) = solver(Path::new("/nowhere/z3")) else {
            panic!("there is no Z3 at /nowhere");
        };
        assert_eq!(d.code, Some("TZ0101"));
        assert!(d.help.is_some_and(|h| h.contains("TENSORIZE_Z3")));
    }
}
