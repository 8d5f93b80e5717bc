//! The command line.

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use tensorize_ir::guard::Tier;

/// What a command's `--help` ends with.
macro_rules! examples {
    ($first:literal $(, $more:literal)*) => {
        concat!("Examples:\n  cargo tensorize ", $first $(, "\n  cargo tensorize ", $more)*)
    };
}

/// Lifts a crate's C kernels, proves what they compute, and generates code for other targets.
///
/// Without a command: finds the kernels of the package, and stores what is proven in `.tensorize/`.
#[derive(Debug, Parser)]
#[command(
    name = "cargo-tensorize",
    bin_name = "cargo tensorize",
    version,
    after_help = crate::exit::Code::table(),
    subcommand_value_name = "COMMAND"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub verb: Option<Verb>,
    /// Options of every command.
    #[command(flatten)]
    pub common: Common,
    /// Which packages, when there is no command.
    #[command(flatten)]
    pub project: Project,
}

/// Options of every command.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct Common {
    /// How to report: a table and diagnostics (with annotations in a workflow of GitHub's), one JSON object a line, or
    /// a document for code scanning or test reports
    #[arg(
        long,
        global = true,
        value_enum,
        default_value_t,
        value_name = "FORMAT"
    )]
    pub message_format: MessageFormat,
    /// When to use colours
    #[arg(long, global = true, default_value_t, value_name = "WHEN")]
    pub color: ColorChoice,
    /// How many kernels to work on at a time [default: the number of cores]
    #[arg(long, short, global = true, value_name = "N")]
    pub jobs: Option<std::num::NonZeroUsize>,
    /// How long finding a summary and proving it may take for one kernel, in seconds [default: the configuration's,
    /// or 10]
    #[arg(long, global = true, value_name = "SECONDS")]
    pub time_limit: Option<f64>,
    /// A kernel that is not proven, or generated code that fails, is a failure
    #[arg(long, global = true)]
    pub strict: bool,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum MessageFormat {
    /// A table and diagnostics.
    #[default]
    Human,
    /// One JSON object a line.
    Json,
    /// SARIF 2.1.0, for code scanning.
    Sarif,
    /// JUnit's XML, for test reports.
    Junit,
    /// As `human`, and annotations for GitHub.
    Github,
}

/// A tier's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// The same bits.
    Exact,
    /// Equal over the real numbers.
    Real,
}

impl From<TierName> for Tier {
    fn from(name: TierName) -> Tier {
        match name {
            TierName::Exact => Tier::Exact,
            TierName::Real => Tier::Real,
        }
    }
}

/// Which packages and targets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args)]
pub struct Project {
    /// Generate code for this target; may be given several times [default: the configuration's, or
    /// cpu and numpy]
    #[arg(long = "target", short, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Only this package; may be given several times
    #[arg(long = "package", short, value_name = "NAME")]
    pub packages: Vec<String>,
    /// All packages of the workspace
    #[arg(long, conflicts_with = "packages")]
    pub workspace: bool,
    /// The package's Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Features of the package under which its build script is asked what it compiles; separated by blanks or commas
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// All features of the package
    #[arg(long)]
    pub all_features: bool,
    /// Without the package's default features
    #[arg(long)]
    pub no_default_features: bool,
    /// Let cargo use no network
    #[arg(long)]
    pub offline: bool,
    /// Cargo.lock must not change; with `check`, results that are missing, out of date or edited are a failure
    #[arg(long)]
    pub locked: bool,
    /// Prove again what is stored already
    #[arg(long, visible_alias = "reprove")]
    pub force: bool,
}

impl Project {
    /// What cargo is told of features.
    pub fn feature_flags(&self) -> Vec<String> {
        let mut flags = Vec::new();
        for features in &self.features {
            flags.extend(["--features".to_owned(), features.clone()]);
        }
        let all = self.all_features.then(|| "--all-features".to_owned());
        let none = self
            .no_default_features
            .then(|| "--no-default-features".to_owned());
        flags.extend(all.into_iter().chain(none));
        flags
    }
}

/// A command.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Report on the package's kernels, and write nothing; with --locked, look only at what is stored
    #[command(after_help = examples!("check --locked", "check --locked --reprove --solver cvc5", "check --locked --message-format sarif"))]
    Check {
        /// Which packages.
        #[command(flatten)]
        project: Project,
        /// A kernel of a lower tier is a failure [default: the configuration's `tier`, or real]
        #[arg(long, value_name = "TIER")]
        min_tier: Option<TierName>,
        /// Another solver.
        #[command(flatten)]
        second: SecondSolver,
    },
    /// Prove or refute somebody's summary of one function
    #[command(after_help = examples!("prove kernels/blend.c::screen --summary screen.tir"))]
    Prove {
        /// The function, as FILE.c::NAME
        #[arg(value_name = "FILE.c::FUNCTION", value_parser = file_and_function)]
        function: (PathBuf, String),
        /// The summary, a TensIR function in text form
        #[arg(long, value_name = "FILE.tir")]
        summary: PathBuf,
        /// Arguments for the C front end, such as -I and -D
        #[arg(last = true, value_name = "CLANG-ARGS")]
        clang_args: Vec<String>,
    },
    /// Lift and prove every function of some C files, annotated or not
    #[command(after_help = examples!("lift kernels/blend.c", "lift --summary --target cpu fir.c -- -Iinclude -DTAPS=8", "lift --target numpy --emit out fir.c"))]
    Lift(Lift),
    /// Prepare an existing crate: dependencies, build script, bindings; what would change is shown first
    #[command(after_help = examples!("init", "init -p mixer --yes"))]
    Init(Init),
    /// Show the kernels' state while you edit them
    #[command(after_help = examples!("watch", "watch --poll 1"))]
    Watch(Watch),
    /// See what would lift: every function of the project's C and C++ sources, annotated or not
    #[command(after_help = examples!("scan", "scan vendor --glob '!*_test.c' --lifting"))]
    Scan(Scan),
    /// List the targets that code can be generated for
    #[command(after_help = examples!("targets"))]
    Targets,
    /// List what this program works with, and for each that is missing the command that mends it
    #[command(after_help = examples!("doctor", "doctor --message-format json"))]
    Doctor,
    /// Print completions for a shell
    #[command(after_help = examples!("completions bash"))]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write the manual's pages
    #[command(after_help = examples!("man ~/.local/share/man/man1"))]
    Man {
        /// Where to
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
    /// Explain a kernel, a diagnostic's code, such as TZ0203, or an exit code
    #[command(after_help = examples!("explain TZ0203", "explain matmul --target cpu", "explain matmul --report target/run.json"))]
    Explain(Explain),
    /// Write what is known of all stored kernels as one page for a browser
    #[command(after_help = examples!("report", "report --output target/kernels.html --source-url 'https://example.com/mixer/blob/main/{file}#L{line}'"))]
    Report(Report),
    /// Measure what is the fastest on this machine, at the sizes that a program has: TENSORIZE=auto goes by it
    #[command(after_help = examples!("tune", "tune -- cargo bench", "tune -- target/release/mixer --demo"))]
    Tune(Tune),
}

/// What to measure.
#[derive(Clone, Debug, Args)]
pub struct Tune {
    /// A program that calls the kernels, with its arguments [default: cargo run --release]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<std::ffi::OsString>,
}

/// What to lift.
#[derive(Clone, Debug, Args)]
pub struct Lift {
    /// C files
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Only this function; may be given several times
    #[arg(long = "function", short, value_name = "NAME")]
    pub functions: Vec<String>,
    /// See whether code for this target can be generated; may be given several times
    #[arg(long = "target", short, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// Print each kernel's summary
    #[arg(long, short)]
    pub summary: bool,
    /// Write the targets' code into this folder, a file for each kernel and target
    #[arg(long, value_name = "DIR", requires = "targets")]
    pub emit: Option<PathBuf>,
    /// Do not compile and run the original
    #[arg(long)]
    pub no_differential: bool,
    /// A program that proposes summaries where ours fail, see docs/proposer.md
    #[arg(long, value_name = "PROGRAM")]
    pub proposer: Option<String>,
    /// How long it may take for one kernel, in seconds
    #[arg(long, value_name = "SECONDS", requires = "proposer")]
    pub proposer_time_limit: Option<f64>,
    /// Another solver.
    #[command(flatten)]
    pub second: SecondSolver,
    /// Arguments for the C front end and compiler, such as -I and -D
    #[arg(last = true, value_name = "CLANG-ARGS")]
    pub clang_args: Vec<String>,
}

/// What to explain.
#[derive(Clone, Debug, Args)]
pub struct Explain {
    /// A code, or a kernel as NAME or FILE.c::NAME; all codes are listed if there is none
    #[arg(value_name = "WHAT")]
    pub what: Option<String>,
    /// Show the kernel's code for this target; may be given several times
    #[arg(long = "target", short, value_name = "TARGET")]
    pub targets: Vec<String>,
    /// What a program wrote that ran with TENSORIZE_REPORT=PLACE: who answered the kernel's calls, and why. A file, or a folder
    /// with several [default: the variable's, if there is something]
    #[arg(long, value_name = "PLACE")]
    pub report: Option<PathBuf>,
    /// Look in this package; may be given several times
    #[arg(long = "package", short, value_name = "NAME")]
    pub packages: Vec<String>,
    /// The package's Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// What to report on.
#[derive(Clone, Debug, Args)]
pub struct Report {
    /// The file to write
    #[arg(
        long,
        short,
        value_name = "FILE",
        default_value = "tensorize-report.html"
    )]
    pub output: PathBuf,
    /// Where a line of a source can be seen, with {file}, from the package's folder, and {line} in it
    #[arg(long, value_name = "URL")]
    pub source_url: Option<String>,
    /// Only this package; may be given several times
    #[arg(long = "package", short, value_name = "NAME")]
    pub packages: Vec<String>,
    /// All packages of the workspace
    #[arg(long, conflicts_with = "packages")]
    pub workspace: bool,
    /// The package's Cargo.toml
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
}

/// Which crate to prepare.
#[derive(Clone, Debug, Args)]
pub struct Init {
    /// Write without asking
    #[arg(long, short)]
    pub yes: bool,
    /// Which package.
    #[command(flatten)]
    pub project: Project,
}

/// What to watch.
#[derive(Clone, Debug, Args)]
pub struct Watch {
    /// Look every so many seconds, for file systems that tell nothing, such as shares of a network
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub poll: Option<f64>,
    /// Which packages.
    #[command(flatten)]
    pub project: Project,
}

/// Where to look for functions.
#[derive(Clone, Debug, Args)]
pub struct Scan {
    /// Folders [default: those of the packages, or the current one]
    #[arg(value_name = "DIR")]
    pub folders: Vec<PathBuf>,
    /// Only files that this glob matches, written as in a .gitignore; with `!` before it, none that it matches; may be
    /// given several times
    #[arg(long = "glob", short, value_name = "GLOB")]
    pub globs: Vec<String>,
    /// How files are compiled [default: compile_commands.json in the folder or its build/]
    #[arg(long, value_name = "FILE")]
    pub compile_commands: Option<PathBuf>,
    /// Show only functions that would lift
    #[arg(long)]
    pub lifting: bool,
    /// Which packages.
    #[command(flatten)]
    pub project: Project,
}

/// Have proofs checked by another solver.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Second solver")]
pub struct SecondSolver {
    /// Have everything that the proofs rest on confirmed by this solver: `cvc5`, or a program that takes an SMT-LIB
    /// file; what is stored is proven again
    #[arg(long = "solver", value_name = "SOLVER")]
    pub name: Option<String>,
    /// Keep the SMT-LIB files here
    #[arg(long, value_name = "DIR", requires = "name")]
    pub smt_dir: Option<PathBuf>,
}

fn seconds(s: &str) -> Result<f64, String> {
    match s.parse::<f64>() {
        Ok(n) if n > 0.0 && n < 1e6 => Ok(n),
        _ => Err("a number of seconds, more than 0".into()),
    }
}

fn file_and_function(s: &str) -> Result<(PathBuf, String), String> {
    match s.rsplit_once("::") {
        Some((file, name)) if !file.is_empty() && !name.is_empty() => {
            Ok((file.into(), name.to_owned()))
        }
        _ => Err("write it as FILE.c::FUNCTION".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    /// Every command shows at least one, and all of them are understood.
    #[test]
    fn every_example_is_one() {
        for verb in Cli::command().get_subcommands() {
            let help = verb.get_after_help().map(ToString::to_string);
            let help = help.unwrap_or_else(|| panic!("{} has no example", verb.get_name()));
            let mut examples = 0;
            for line in help.lines().filter_map(|l| l.trim().strip_prefix("cargo ")) {
                let words = shlex::split(line).unwrap();
                assert_eq!(words[1], verb.get_name(), "{line}");
                if let Err(e) = Cli::try_parse_from(words) {
                    panic!("{line}: {e}");
                }
                examples += 1;
            }
            assert!(examples > 0, "{}: {help}", verb.get_name());
        }
    }

    #[test]
    fn a_function_is_named_after_its_file() {
        assert_eq!(
            file_and_function("a/b.c::f"),
            Ok(("a/b.c".into(), "f".into()))
        );
        assert!(file_and_function("b.c").is_err());
        assert!(file_and_function("b.c::").is_err());
    }
}
