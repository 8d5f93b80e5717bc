//! `cargo xtask`: sets up the machine, shows the demo, runs the tests and the benchmarks.

mod bench;
mod book;
mod demo;
mod fuzz;
mod process;
mod setup;
mod side_by_side;
mod test;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Install what is missing: z3, cvc5, libclang, NumPy and others in a Python environment of their own, gcc and clang
    Setup {
        /// Only report what is there and what is missing
        #[arg(long)]
        check: bool,
        /// Which frameworks for arrays
        #[arg(long, default_value = "small")]
        frameworks: setup::Frameworks,
    },
    /// Build and run the demo project as it was and tensorized, compare the two, show the pictures and the table
    Demo {
        /// Two pictures (PNG) to blend; without them the program draws two
        #[arg(num_args = 2, value_names = ["BASE", "ACTIVE"])]
        pictures: Vec<std::path::PathBuf>,
    },
    /// Run every test
    Test {
        /// Which frameworks for arrays to install; tests of others are left out
        #[arg(long, default_value = "small")]
        frameworks: setup::Frameworks,
        /// Passed on to `cargo test`, which then runs one test program after the other
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Measure: lifting and proving, cost against size, a dispatched call, watching, whole projects, or the demo's kernels
    Bench {
        /// What to measure
        what: bench::What,
        /// Print one JSON object instead of a table
        #[arg(long)]
        json: bool,
        /// For `run`: write docs/speed.md and its picture, too
        #[arg(long)]
        update: bool,
        /// How many cold runs to take the median of
        #[arg(long, default_value_t = 5)]
        runs: usize,
        /// For `project`: how many kernels, in place of 10, 100 and 1,000
        #[arg(long, value_delimiter = ',')]
        kernels: Vec<usize>,
    },
    /// Run every kernel on every target: the 69 benchmarks and the demo's; prints a JSON object a cell
    Targets {
        /// Which frameworks for arrays to install; what is not there is named, and does not run
        #[arg(long, default_value = "small")]
        frameworks: setup::Frameworks,
        /// Write docs/targets.md
        #[arg(long)]
        update: bool,
        /// For `--update`: what `cargo xtask targets TARGET` printed on another machine; fills what can't run on this one
        #[arg(long, value_name = "FILE", requires = "update")]
        elsewhere: Option<std::path::PathBuf>,
        /// Only these
        #[arg(value_name = "TARGET", conflicts_with = "update")]
        targets: Vec<String>,
    },
    /// Change every row of every target's tables of operators, one at a time, and print those that no test notices
    MutateRows {
        /// Which frameworks for arrays to install; the rows of others are left out
        #[arg(long, default_value = "small")]
        frameworks: setup::Frameworks,
        /// Only these
        #[arg(value_name = "TARGET")]
        targets: Vec<String>,
    },
    /// Write docs/coverage.md: which of the 69 benchmarks are proven, in which form, and how fast
    Coverage,
    /// Fuzz the readers of summaries, stored results and the worker's answers, guided by coverage (libFuzzer); what is found
    /// is in target/fuzz
    Fuzz {
        /// How long each of them
        #[arg(long, default_value_t = 60)]
        seconds: u32,
        /// Only these
        #[arg(value_name = "READER", value_parser = fuzz::READERS)]
        readers: Vec<String>,
    },
    /// Make a book of the pages of docs/, with mdBook, which is installed into the target folder if it is not there
    Book,
    /// Check formatting and run clippy, warnings being errors
    Lint,
}

fn main() -> ExitCode {
    let done: Result<()> = match Cli::parse().verb {
        Verb::Setup { check: true, .. } => setup::check(),
        Verb::Setup { frameworks, .. } => setup::run(frameworks),
        Verb::Demo { pictures } => demo::run(&pictures),
        Verb::Test { frameworks, args } => test::run(frameworks, &args),
        Verb::Bench {
            what,
            json,
            update,
            runs,
            kernels,
        } => bench::run(what, json, update, runs.max(1), &kernels),
        Verb::Targets {
            frameworks,
            update,
            elsewhere,
            targets,
        } => test::targets(frameworks, update, elsewhere.as_deref(), &targets),
        Verb::MutateRows {
            frameworks,
            targets,
        } => test::mutate_rows(frameworks, &targets),
        Verb::Coverage => test::coverage(),
        Verb::Fuzz { seconds, readers } => fuzz::run(seconds, &readers),
        Verb::Book => book::run(),
        Verb::Lint => test::lint(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// The commands `cargo xtask …` of a page: lines of listings, and what stands between backticks.
    fn commands(page: &str) -> Vec<String> {
        let parts = page.split('`').chain(page.lines());
        let typed = parts.filter_map(|part| {
            let part = part.trim().trim_start_matches("$ ");
            let words = part.split(" #").next()?.strip_prefix("cargo xtask ")?;
            (!words.contains(['`', '…', '\n'])).then(|| words.trim().to_owned())
        });
        typed.collect()
    }

    /// The commands of which one is written, as `bench lift|run`.
    fn each(command: &str) -> Vec<String> {
        let choice = command.split(' ').find(|word| word.contains('|'));
        let choice = choice.unwrap_or_default();
        choice
            .split('|')
            .map(|one| command.replacen(choice, one, 1))
            .collect()
    }

    #[test]
    fn every_command_of_the_docs_is_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let docs = std::fs::read_dir(root.join("docs")).expect("docs");
        let pages = docs.flatten().map(|entry| entry.path());
        let pages = pages.filter(|p| p.extension().is_some_and(|e| e == "md"));
        let (mut seen, mut wrong) = (0, Vec::new());
        for page in pages.chain([root.join("README.md")]) {
            let text = std::fs::read_to_string(&page).expect("a page");
            for command in commands(&text).iter().flat_map(|c| each(c)) {
                let words = ["xtask"].into_iter().chain(command.split_whitespace());
                if let Err(e) = Cli::try_parse_from(words)
                    && e.use_stderr()
                {
                    wrong.push(format!("{}: {command}: {e}", page.display()));
                }
                seen += 1;
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 30, "only {seen} commands were found");
        assert!(Cli::try_parse_from(["xtask", "tset"]).is_err());
    }
}
