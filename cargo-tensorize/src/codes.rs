//! The codes of diagnostics, all in one table. `cargo tensorize explain CODE` prints a row.

use serde::Serialize;

/// A row.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Code {
    /// `TZ` and four digits.
    pub code: &'static str,
    /// A few words.
    pub title: &'static str,
    /// What it means and what to do.
    pub explanation: &'static str,
    /// What helps with a kernel of which that is said, in a line. The front end has words of its own for each.
    pub help: Option<&'static str>,
}

impl Code {
    const fn helps(self, help: &'static str) -> Code {
        Code {
            help: Some(help),
            ..self
        }
    }

    /// What it means, and what helps.
    pub fn text(&self) -> String {
        let help = self.help.map(|help| format!("\n\nWhat helps: {help}."));
        self.explanation.to_owned() + &help.unwrap_or_default()
    }
}

/// The row of a code, in any case.
pub fn find(code: &str) -> Option<Code> {
    all().find(|c| c.code.eq_ignore_ascii_case(code))
}

const fn row(code: &'static str, title: &'static str, explanation: &'static str) -> Code {
    Code {
        code,
        title,
        explanation,
        help: None,
    }
}

/// All codes but the front end's (02), which stand where they are used. 01 tools and command line, 03 summaries, 04 prover, 05 differential run,
/// 06 targets, 07 configuration and stored results.
pub const CODES: &[Code] = &[
    row(
        "TZ0101",
        "Z3 not found",
        "The prover asks Z3. It is looked for in TENSORIZE_Z3, then where `cargo xtask setup` puts it, then on \
         PATH. Install it with `cargo xtask setup`, or with `pip install z3-solver`.",
    ),
    row(
        "TZ0102",
        "Z3 too old",
        "Z3 4.13.3 or later is needed; older ones, such as Debian 12's, are refused. Install a newer one with \
         `cargo xtask setup`, or `pip install z3-solver` and set TENSORIZE_Z3.",
    ),
    row(
        "TZ0103",
        "no C compiler",
        "The compiled original is run against its summary, which takes a C compiler. CC names it; else `cc` is \
         looked for on PATH.",
    ),
    row(
        "TZ0104",
        "a bug in cargo-tensorize",
        "Something happened that should not. The kernel is left as it is. Please report it with the kernel's \
         source.",
    ),
    row(
        "TZ0105",
        "wrong use of the command line",
        "See `cargo tensorize --help`.",
    ),
    row(
        "TZ0106",
        "no kernels",
        "No function to work on was found. A kernel is marked with TENSORIZE_KERNEL (from `tensorize.h`) before \
         its definition, or named in `[package.metadata.tensorize]`.",
    ),
    row(
        "TZ0107",
        "the C file does not preprocess",
        "The C compiler could not preprocess the file with the flags of the build script, so it has no hash. Its own \
         message says why.",
    ),
    row(
        "TZ0108",
        "a summary can't be read",
        "The file of `--summary` must hold one TensIR function in text form: `cargo tensorize lift FILE.c --summary` \
         prints such functions.",
    ),
    row(
        "TZ0109",
        "the second solver does not work",
        "--solver names a solver that is missing, or that does not answer a trial rightly. `cargo xtask setup` installs \
         cvc5; TENSORIZE_CVC5 names a cvc5 of your own.",
    ),
    row(
        "TZ0110",
        "a compilation database can't be read",
        "--compile-commands names a file that is not a JSON compilation database as CMake, Meson and Bear write it.",
    ),
    row(
        "TZ0111",
        "init can't prepare this crate",
        "The manifest or the build script can't be read as what they are, or can't be written, or the manifest wants no build script. The message says which.",
    ),
    row(
        "TZ0112",
        "a file can't be written",
        "What was asked for could not be written where it was to go. The message says why.",
    ),
    row(
        "TZ0113",
        "the build script could not be asked",
        "Which C files are compiled, and how, is what the build script says while `cargo check` runs it. That failed, and \
         with --locked an older note is not trusted. --locked asks for a Cargo.lock that is committed and up to date, too: \
         `cargo generate-lockfile` writes one.",
    ),
    row(
        "TZ0114",
        "nothing could be measured",
        "`cargo tensorize tune` runs a program that calls the kernels, `cargo run --release` or what stands after `--`. It \
         could not be run, failed, or called no kernel that there is code for.",
    ),
    row(
        "TZ0115",
        "a file that says what is ignored can't be read",
        "`.gitignore`, `.ignore` or git's own list is a pipe, a device or far too large, so nobody can tell which files are to be \
         left out. Remove it, or restore it with git.",
    ),
    row(
        "TZ0116",
        "a program's report can't be read",
        "--report of `cargo tensorize explain`, or TENSORIZE_REPORT, names what a program wrote when it ended; it is not there, cut \
         short, changed by hand, or of another version. Run the program with TENSORIZE_REPORT=FILE once more, to its end.",
    ),
    row(
        "TZ0301",
        "no summary was found",
        "The kernel's loops have no closed form that we can find: a loop without a bound that can be seen before it \
         starts, a value that depends on all earlier rounds in a way that is not a reduction, a place in memory that \
         is not a polynomial of the loop counters. The message says which. The original goes on to run.",
    )
    .helps(
        "loops lift whose counters step by a constant up to a size, at places that are sums and products of counters and \
         sizes; move what is of another kind to a function of its own, or state its summary, which \
         `cargo tensorize prove --summary FILE.tir FILE.c::FUNCTION` proves",
    ),
    row(
        "TZ0302",
        "a function without a result",
        "It neither writes to an array nor returns a value, so there is nothing to compute.",
    )
    .helps(
        "return the result, or store it through a pointer",
    ),
    row(
        "TZ0303",
        "rows of different length",
        "What the kernel writes is not a rectangle: an inner loop's bound depends on an outer loop's counter.",
    )
    .helps(
        "write all of the rectangle, or make one row, or each part, a function of its own",
    ),
    row(
        "TZ0304",
        "a value that could not be followed",
        "The kernel reads memory that it has written before, and it could not be decided which write it sees.",
    )
    .helps(
        "keep what is read again in a local variable, or write to an array of its own and copy it afterwards",
    ),
    row(
        "TZ0305",
        "a result without a form over tensors",
        "Its size or its place depends on the data: how many elements are written is known only while they are.",
    )
    .helps(
        "find out how many there are, or where they go, in a function of its own, and pass that as a parameter",
    ),
    row(
        "TZ0311",
        "a summary of another function",
        "A summary has the same parameters as the C function: names, types, order, `const` and `restrict`.",
    ),
    row(
        "TZ0312",
        "a summary that is not well-formed",
        "Shapes or element types do not fit together. If it is one that we proposed ourselves, please report it.",
    ),
    row(
        "TZ0313",
        "nothing came of the external proposer",
        "The program that `proposer` in `[package.metadata.tensorize]` (or --proposer) names failed, took too long, or \
         answered with nothing that is proven; the message says which. docs/proposer.md says what it has to answer. The \
         kernel is as if nobody had been asked.",
    ),
    row(
        "TZ0401",
        "the summary is wrong",
        "There are inputs for which the C function and its summary give different results; they are shown. The kernel \
         is not swapped in.",
    ),
    row(
        "TZ0402",
        "not proven",
        "The prover could neither prove nor refute the summary; the message says what is left open. This is no error \
         in the C. The original goes on to run. With --strict it is a failure.",
    )
    .helps(
        "the original goes on to run; an assertion on the sizes before the loop becomes a guard, and --time-limit gives \
         the solver longer",
    ),
    row(
        "TZ0403",
        "the second solver disagrees",
        "What Z3 shows and the proof rests on, another solver finds to be wrong. The SMT-LIB files are named; with \
         --smt-dir they are kept. The kernel is not swapped in. Please report it.",
    ),
    row(
        "TZ0404",
        "not confirmed by the second solver",
        "The second solver gave up on some of what the proof rests on, or ran out of time. The proof stands as before; \
         with --strict this is a failure. The SMT-LIB files are named; with --smt-dir they are kept.",
    ),
    row(
        "TZ0405",
        "the time limit was reached",
        "Finding a summary and proving it took longer than --time-limit (or `time_limit` in \
         `[package.metadata.tensorize]`) allows, 10 s if nobody says otherwise. The message says what was being worked \
         on. The original goes on to run. With --strict it is a failure.",
    ),
    row(
        "TZ0406",
        "equal over the real numbers",
        "The kernel is proven with tier real and not exact: the operations that are named are in another order in the \
         summary, or rounded at other places, so that the last bits may differ. Or C itself leaves the bits open, or the \
         compiler's flags do. Where the same bits are needed, say `tier = \"exact\"` in `[package.metadata.tensorize]`: \
         then a summary with the same bits is looked for, and the original runs where there is none.",
    ),
    row(
        "TZ0501",
        "the compiled original differs",
        "The summary was proven, but the original, as the C compiler compiles it, gives something else on the inputs \
         that are shown. This is a bug in cargo-tensorize. The kernel is not swapped in. Please report it.",
    ),
    row(
        "TZ0502",
        "the original was not run",
        "The compiled original could not be run against its summary; the message says why. The proof stands, but nothing is \
         swapped in without this second check. If it uses instructions that this machine does not have, run \
         `cargo tensorize` on a machine that has them.",
    ),
    row(
        "TZ0601",
        "no such target",
        "`cargo tensorize targets` lists those that there are.",
    ),
    row(
        "TZ0602",
        "generated code that is not proven",
        "A target generated code, and the prover could not show that it computes the summary. It is not stored; other \
         targets are not affected.",
    ),
    row(
        "TZ0603",
        "generated code that differs",
        "Generated code gives something else than the compiled original on the inputs that are shown. This is a bug in \
         cargo-tensorize. The code is not stored. Please report it.",
    ),
    row(
        "TZ0604",
        "generated code that could not be run",
        "Generated code is run against the original before it is stored. For Python targets that takes a Python with \
         NumPy and the target's framework: TENSORIZE_PYTHON, else the one that `cargo xtask setup` installs, else `python3`. \
         For `opencl` and `cuda` it takes a device with its driver; PoCL makes one of the machine's own cores. \
         Where `targets` in `[package.metadata.tensorize]` is not set, code for NumPy that could not be run is no failure.",
    ),
    row(
        "TZ0701",
        "wrong configuration",
        "`[package.metadata.tensorize]` in Cargo.toml knows: kernels = [\"FILE.c::FUNCTION\"], tier = \"real\" or \
         \"exact\", targets, least_share (from 0 to 1: how much of a kernel a target has to compute for the rest to be left \
         to the machine; 0.5 by default), files, include, define, flags. A `[workspace.metadata.tensorize]` is refused: a package \
         that is built from a registry has no workspace, and would have other settings there. Each package has its own.",
    ),
    row(
        "TZ0702",
        "no Cargo project",
        "`cargo metadata` failed, or the workspace has no such package. C files without a project are for \
         `cargo tensorize lift FILE.c`.",
    ),
    row(
        "TZ0703",
        "results can't be stored",
        "`.tensorize/` beside the manifest could not be written: the disk is full, the folder is read-only, or it is no folder \
         but a file or a link. What was stored before is as it was.",
    ),
    row(
        "TZ0704",
        "stored results are out of date",
        "A kernel changed, or the tool did, after `cargo tensorize` stored its results. Run it again, and commit \
         `.tensorize/`.",
    ),
    row(
        "TZ0705",
        "two kernels of one name",
        "Results are stored by the kernel's name, so a package can't have two of the same. Rename one.",
    ),
    row(
        "TZ0706",
        "a stored result that is not used",
        "An entry of `.tensorize/` is damaged, was edited, or is of another version. It counts as absent, and the next run \
         replaces it; one of a later version is not replaced: update cargo-tensorize.",
    ),
    row(
        "TZ0707",
        "a tier that is too low",
        "`check --locked` found a kernel that is proven, but with a lower tier than `tier` in \
         `[package.metadata.tensorize]` or --min-tier allows: `real` where `exact` is asked for.",
    ),
    row(
        "TZ0708",
        "the shared cache is not used",
        "Results of other checkouts could not be read, or new ones not be given to them: TENSORIZE_CACHE names a folder \
         that everybody may write to, the disk is full, or files there can't be locked. Everything is proven here instead, \
         and stored as always; TENSORIZE_CACHE=off does without the cache.",
    ),
    row(
        "TZ0709",
        "the remote cache is not used",
        "Results of others could not be had from the store that TENSORIZE_REMOTE names, or new ones not be given to them: it is \
         out of reach, `cargo-tensorize-remote` is not installed, or an entry is not signed by anybody who is trusted. \
         Everything is proven here instead, and stored as always; without TENSORIZE_REMOTE nobody is asked.",
    ),
    row(
        "TZ0710",
        "a flag that is refused",
        "A file of the project wants the C compiler to load a plugin, run a program or write a file (`-fplugin`, `-B`, `-specs`, \
         `-wrapper`, `@FILE`, `-o`, …), or names a C file that would be taken for a flag. Projects may be a stranger's, so \
         these are not passed on; CFLAGS and what is typed are.",
    ),
];

/// All rows: those above and the front end's.
pub fn all() -> impl Iterator<Item = Code> {
    let front_end = tensorize_lift::c::CODES
        .iter()
        .map(|(c, t, e)| row(c, t, e));
    let (before, after): (Vec<Code>, Vec<Code>) = CODES.iter().partition(|c| c.code < "TZ0200");
    before.into_iter().chain(front_end).chain(after)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn codes_are_unique_and_in_order() {
        let codes: Vec<&str> = all().map(|c| c.code).collect();
        assert!(codes.windows(2).all(|w| w[0] < w[1]), "{codes:?}");
    }

    /// Every code that some source of ours mentions, tests and fixtures left aside, has a row, and every
    /// row's code is used.
    #[test]
    fn sources_and_table_agree() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut used = BTreeSet::new();
        for krate in [
            "cargo-tensorize",
            "tensorize-lift",
            "tensorize-prove",
            "tensorize-build",
            "backends",
        ] {
            scan(&root.join(krate).join("src"), &mut used);
        }
        let known: BTreeSet<String> = all().map(|c| c.code.to_owned()).collect();
        assert_eq!(
            used.difference(&known).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "no row"
        );
        let own: BTreeSet<String> = CODES.iter().map(|c| c.code.to_owned()).collect();
        assert_eq!(
            own.difference(&used).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "not used"
        );
    }

    fn scan(dir: &Path, used: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                scan(&path, used);
            } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("src/codes.rs")
            {
                let text = std::fs::read_to_string(&path).unwrap();
                for (at, _) in text.match_indices("\"TZ") {
                    let code: String = text[at + 1..].chars().take(6).collect();
                    if code[2..].chars().all(|c| c.is_ascii_digit()) && code.len() == 6 {
                        used.insert(code);
                    }
                }
            }
        }
    }
}
