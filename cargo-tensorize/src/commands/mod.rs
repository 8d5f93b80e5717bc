//! The verbs.

mod doctor;
mod explain;
mod init;
mod known;
mod lift;
mod locked;
mod package;
mod prove;
mod report;
mod scan;
mod shell;
mod targets;
mod tune;
mod watch;

pub(crate) use package::from_current_dir;

use crate::cli::{Cli, Common, Project, SecondSolver, Verb};
use crate::diagnostics::Diagnostic;
use crate::exit::Code;
use crate::output::Output;
use crate::project::{self, Package};
use crate::proposer::{self, Proposer};
use crate::scratch::Scratch;
use crate::second::Second;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

/// Does what the command line asks for.
pub fn run(cli: &Cli) -> Code {
    set_color(cli.common.color);
    let out = Output::new(cli.common.message_format);
    let code = verb(cli, &out);
    out.finish(code);
    code
}

fn verb(cli: &Cli, out: &Output) -> Code {
    if cli.verb.is_some() && cli.project != Project::default() {
        out.diagnostic(&Diagnostic::error(
            "TZ0105",
            "options that choose packages and targets go after the command",
        ));
        return Code::Usage;
    }
    let common = &cli.common;
    match &cli.verb {
        None => package::run(
            &cli.project,
            &SecondSolver::default(),
            common,
            package::Mode::Store,
            out,
        ),
        // What is stored is looked at, unless it is to be proven again.
        Some(Verb::Check {
            project,
            second,
            min_tier,
        }) if project.locked && !project.force && second.name.is_none() => {
            locked::run(project, common, *min_tier, out)
        }
        Some(Verb::Check {
            project,
            second,
            min_tier,
        }) => package::run(
            project,
            second,
            common,
            package::Mode::Check(*min_tier),
            out,
        ),
        Some(Verb::Prove {
            function: (file, name),
            summary,
            clang_args,
        }) => prove::run((file, name), summary, clang_args, common, out),
        Some(Verb::Lift(args)) => lift::run(args, common, out),
        Some(Verb::Init(args)) => init::run(args, out),
        Some(Verb::Watch(args)) => watch::run(args, common, out),
        Some(Verb::Scan(args)) => scan::run(args, common, out),
        Some(Verb::Completions { shell }) => shell::completions(*shell),
        Some(Verb::Man { dir }) => shell::man(dir, out),
        Some(Verb::Doctor) => doctor::run(out),
        Some(Verb::Targets) => targets::run(out),
        Some(Verb::Explain(args)) => explain::run(args, out),
        Some(Verb::Report(args)) => report::run(args, out),
        Some(Verb::Tune(args)) => tune::run(args, out),
    }
}

/// The packages that the command line chooses; what is wrong with them is told.
fn packages(project: &Project, out: &Output) -> Result<Vec<Package>, Code> {
    project::packages(project).map_err(|d| {
        out.diagnostic(&d);
        Code::CouldNotRun
    })
}

fn set_color(choice: clap::ColorChoice) {
    match choice {
        clap::ColorChoice::Auto => anstream::ColorChoice::Auto,
        clap::ColorChoice::Always => anstream::ColorChoice::Always,
        clap::ColorChoice::Never => anstream::ColorChoice::Never,
    }
    .write_global();
}

fn threads(common: &Common) -> NonZeroUsize {
    common
        .jobs
        .or_else(|| std::thread::available_parallelism().ok())
        .unwrap_or(NonZeroUsize::MIN)
}

/// What a kernel may take, if neither command line nor configuration says.
const TIME_LIMIT_S: f64 = 10.0;

/// What a kernel may take: the command line's word, else the configuration's.
fn time_limit(common: &Common, configured: Option<f64>) -> Duration {
    time_limit_of(common.time_limit.or(configured))
}

/// As many seconds, or what a kernel may take if nobody says.
fn time_limit_of(seconds: Option<f64>) -> Duration {
    let seconds = seconds.unwrap_or(TIME_LIMIT_S);
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX / 4)
}

/// The user's proposer, if there is one.
fn proposer(
    command: Vec<String>,
    dir: &Path,
    first: bool,
    time_limit: Option<f64>,
) -> Option<Proposer> {
    let limit = time_limit.and_then(|s| Duration::try_from_secs_f64(s).ok());
    (!command.is_empty()).then(|| Proposer {
        command,
        dir: dir.to_owned(),
        first,
        time_limit: limit.unwrap_or(proposer::TIME_LIMIT),
    })
}

/// The second solver that was asked for, and the folder of its files, if that is a temporary one.
fn second_solver(
    asked: &SecondSolver,
) -> Result<(Option<Second>, Option<Scratch>), Box<Diagnostic>> {
    let Some(name) = &asked.name else {
        return Ok((None, None));
    };
    if let Some(dir) = &asked.smt_dir {
        return Ok((Some(Second::find(name, dir.clone())?), None));
    }
    let folder = Scratch::new().map_err(|e| {
        let message = format!("cannot make a temporary folder: {e}");
        Box::new(Diagnostic::error("TZ0703", message))
    })?;
    let second = Second::find(name, folder.path().to_path_buf())?;
    Ok((Some(second), Some(folder)))
}

/// Under another name first: whoever reads it meanwhile, or is interrupted, has the old one or the new one.
fn write_whole(path: &Path, text: &str) -> std::io::Result<()> {
    let dir = path.parent().filter(|d| !d.as_os_str().is_empty());
    let dir = dir.unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As it was, else what a file has by default, not what a temporary one has.
        let mode = path.metadata().map_or(0o644, |m| m.permissions().mode());
        let mode = std::fs::Permissions::from_mode(mode);
        file.as_file().set_permissions(mode)?;
    }
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}
