//! What README and docs show is what is in the repository.

use std::fs;
use std::path::Path;

use cargo_tensorize::cli::Cli;
use cargo_tensorize::{codes, exit};
use clap::Parser;
use tensorize_build::config::Metadata;
use tensorize_e2e::root;
use tensorize_ir::tensir;

fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_readme_shows_the_demos_build_script() {
    let script = text("fixtures/demo/build.rs");
    assert!(
        script.lines().count() <= 10,
        "a build script has at most ten lines"
    );
    assert!(
        text("README.md").contains(&format!("```rust\n{script}```")),
        "README and build.rs differ"
    );
}

#[test]
fn the_readme_shows_a_kernel_of_the_demo() {
    let readme = text("README.md");
    let (_, after) = readme
        .split_once("```c\n#include \"tensorize.h\"\n\n")
        .expect("README shows a kernel");
    let (kernel, _) = after.split_once("```").expect("the block ends");
    assert!(
        text("fixtures/demo/kernels/blend.c").contains(kernel),
        "README and blend.c differ"
    );
}

#[test]
fn ci_runs_the_command_of_the_readme() {
    assert!(text("README.md").contains("\n$ cargo xtask test\n"));
    assert!(
        text(".ci/run")
            .lines()
            .any(|line| line == "cargo xtask test")
    );
}

/// The pages of `docs/`.
fn pages() -> Vec<String> {
    let listed = fs::read_dir(root().join("docs")).expect("the folder is there");
    let names = listed.map(|e| e.expect("a page").file_name());
    let mut pages: Vec<String> = names.filter_map(|n| n.into_string().ok()).collect();
    pages.retain(|name| name.ends_with(".md"));
    pages.sort();
    pages
}

/// Where the links of a page lead to within the repository, without the place in the page.
fn links(page: &str) -> Vec<String> {
    let text = text(page);
    let links = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next());
    let ours = links.filter(|l| !l.starts_with("http") && !l.starts_with('#'));
    ours.map(|l| l.split('#').next().unwrap_or(l).to_owned())
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let docs = pages().into_iter().map(|p| format!("docs/{p}"));
    for page in docs.chain(["README.md".into()]) {
        let folder = root().join(&page);
        let folder = folder.parent().expect("a file has a folder");
        for link in links(&page) {
            assert!(folder.join(&link).exists(), "{page}: {link}");
        }
    }
    assert!(links("docs/architecture.md").contains(&"store.md".to_owned()));
}

/// `mdbook build` shows what the summary names, and nothing else.
#[test]
fn the_book_has_every_page_once() {
    let mut named = links("docs/SUMMARY.md");
    let mut pages = pages();
    pages.retain(|page| page != "SUMMARY.md");
    named.sort();
    assert_eq!(named, pages);
}

/// What a page tells the reader to type: lines of listings, and code within sentences.
fn commands(page: &str) -> Vec<String> {
    let text = text(page);
    let mut all = Vec::new();
    for (n, part) in text.split("```").enumerate() {
        if n % 2 == 1 {
            all.extend(part.lines().map(|l| l.trim().to_owned()));
        } else {
            all.extend(part.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    let command = |line: &String| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.trim_start_matches("$ ").trim_start_matches("- run: ");
        let (line, _) = line.split_once(" > ").unwrap_or((line, ""));
        line.starts_with("cargo tensorize").then(|| line.to_owned())
    };
    all.iter().filter_map(command).collect()
}

/// An option that was renamed, a command that is gone: the page says so no longer.
#[test]
fn the_program_understands_every_command_of_the_docs() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    let docs = pages().into_iter().map(|p| format!("docs/{p}"));
    for page in docs.chain(["README.md".into()]) {
        for command in commands(&page) {
            // Of what stands for something else only this must be one of a few.
            let words = command
                .split(' ')
                .map(|w| if w == "SHELL" { "bash" } else { w });
            if let Err(e) = Cli::try_parse_from(words.skip(1))
                && e.use_stderr()
            {
                wrong.push(format!("{page}: {command}: {e}"));
            }
            seen += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 40, "only {seen} commands were found");
    let unknown = ["tensorize", "check", "--no-such-option"];
    assert!(Cli::try_parse_from(unknown).is_err());
}

/// `UPDATE_GOLDEN=1` writes them anew.
#[test]
fn troubleshooting_tells_of_every_code() {
    const PAGE: &str = "docs/troubleshooting.md";
    let mut told = String::from("## Exit codes\n\n");
    for (code, meaning) in exit::Code::ALL {
        told += &format!("* {}: {meaning}\n", code as u8);
    }
    told += "\n## Codes\n";
    for code in codes::all() {
        let text = code.text();
        told += &format!("\n### {}: {}\n\n{text}\n", code.code, code.title);
    }
    let page = text(PAGE);
    let by_hand = page.split("## Exit codes\n").next().unwrap_or(&page);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(root().join(PAGE), by_hand.to_owned() + &told).expect("a writable page");
        return;
    }
    assert!(
        page.ends_with(&told) && page.len() == by_hand.len() + told.len(),
        "{PAGE} tells of other codes than the program has: UPDATE_GOLDEN=1 cargo test -p tensorize-e2e --test documents"
    );
}

/// The listings in a language, of all pages: the page, and the text.
fn listings(language: &str) -> Vec<(String, String)> {
    let fence = format!("```{language}\n");
    let mut all = Vec::new();
    for page in pages() {
        let text = text(format!("docs/{page}"));
        let parts = text.split(&fence).skip(1);
        let listing = |part: &str| part.split("```").next().unwrap_or(part).to_owned();
        all.extend(parts.map(|part| (page.clone(), listing(part))));
    }
    all
}

#[test]
fn summaries_in_the_docs_are_read() {
    let mut read = 0;
    for (page, listing) in listings("text") {
        if listing.contains("func @") {
            let summary: Result<tensir::Function, _> = listing.parse();
            summary.unwrap_or_else(|e| panic!("{page}: {e}\n{listing}"));
            read += 1;
        }
    }
    assert!(read >= 2, "only {read} summaries were found");
}

/// As builds and the subcommand read them: of a table of ours, no key is unknown.
#[test]
fn settings_in_the_docs_are_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let listings = listings("toml");
    let ours = listings
        .iter()
        .filter(|(_, l)| l.contains("[package.metadata.tensorize]"));
    let mut read = 0;
    for (page, listing) in ours {
        fs::write(folder.path().join("Cargo.toml"), listing).expect("a writable folder");
        let settings = Metadata::load(folder.path()).unwrap_or_else(|e| panic!("{page}: {e}"));
        assert_ne!(settings, Metadata::default(), "{page}: {listing}");
        read += 1;
    }
    assert!(read >= 2, "only {read} manifests were found");
}

/// Whether each line of a listing is one of the text, in order. Comments are the page's own, and `...` or `…` is left out.
fn is_sketch_of(listing: &str, text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let listing = listing.lines().map(|l| l.split("  #").next().unwrap_or(l));
    let mut wanted = listing.map(|l| l.trim().replace("...", "…"));
    wanted.all(|line| {
        let parts: Vec<&str> = line.split('…').collect();
        let [first, between @ .., last] = &parts[..] else {
            return lines.any(|l| l == line);
        };
        lines.any(|l| {
            let rest = l.strip_prefix(first).and_then(|l| l.strip_suffix(last));
            let after = |rest: &str, part: &&str| Some(rest.split_once(part)?.1.to_owned());
            rest.is_some_and(|rest| {
                let begin = Some(rest.to_owned());
                between.iter().fold(begin, |r, p| after(&r?, p)).is_some()
            })
        })
    })
}

#[test]
fn sketches_of_generated_code_are_of_generated_code() {
    for (language, target) in [("python", "jax"), ("mlir", "stablehlo")] {
        let golden = text(format!("backends/tests/golden/screen.{target}.py"));
        let listings = listings(language);
        assert!(!listings.is_empty(), "no page shows {language}");
        for (page, listing) in listings {
            assert!(is_sketch_of(&listing, &golden), "{page}: {listing}");
            assert!(!is_sketch_of(&listing.replace("base", "bass"), &golden));
        }
    }
}

/// What one types to have the cross compiler is what set-up installs, and what one types to build and run is what the test does.
#[test]
fn builds_for_another_machine_are_made_as_the_test_makes_them() {
    let (setup, test) = (text("xtask/src/setup.rs"), text("tests/cross.rs"));
    let listings = listings("console");
    let typed = listings.iter().filter(|(page, _)| page == "cross.md");
    let mut words = 0;
    for line in typed.flat_map(|(_, l)| l.lines()) {
        let line = line.trim_start_matches("$ ");
        let (done_by, names) = match line.split_once("apt-get install ") {
            Some((_, packages)) => (&setup, packages),
            None => (&test, line),
        };
        let names = names.split([' ', '=']);
        // Names of things on the other machine; what else stands there is cargo's.
        for name in names.filter(|n| n.to_lowercase().contains("aarch64") || n.contains("qemu")) {
            let path = name.starts_with("target/");
            assert!(
                path || done_by.contains(&format!("\"{name}\"")),
                "{line}: {name}"
            );
            words += 1;
        }
    }
    assert!(words >= 8, "only {words} names were found");
}

/// Whose business each listing is, by its page and what its first line begins with: the test that runs it, or that holds it
/// against what is run.
const LISTINGS: &[(&str, &str, &str, &str)] = &[
    (
        "README.md",
        "#include",
        "tests/documents.rs",
        "the_readme_shows_a_kernel_of_the_demo",
    ),
    (
        "README.md",
        "fn main",
        "tests/documents.rs",
        "the_readme_shows_the_demos_build_script",
    ),
    (
        "README.md",
        "$ cargo xtask demo",
        "tests/documents.rs",
        "ci_runs_the_command_of_the_readme",
    ),
    (
        "README.md",
        "kernel  ",
        "tests/demo.rs",
        "shadow_mode_finds_no_difference",
    ),
    (
        "adding-a-target.md",
        "use std::process",
        "tests/documents.rs",
        "the_target_of_ones_own_is_the_one_that_is_tested",
    ),
    (
        "ci.md",
        "name: tensorize",
        "cargo-tensorize/tests/formats.rs",
        "the_workflow_of_the_documentation_is_valid",
    ),
    (
        "commands.md",
        "$ cargo tensorize tune",
        "cargo-tensorize/tests/tune.rs",
        "the_page_shows_what_is_printed",
    ),
    (
        "commands.md",
        "$ echo 'source <(cargo tensorize completions bash)'",
        "cargo-tensorize/tests/terminal.rs",
        "completions_are_scripts_that_their_shell_takes",
    ),
    (
        "cross.md",
        "$ cargo tensorize",
        "tests/cross.rs",
        "what_was_proven_here_runs_there_where_it_is_the_same_c",
    ),
    (
        "cross.md",
        "$ sudo apt-get",
        "tests/documents.rs",
        "builds_for_another_machine_are_made_as_the_test_makes_them",
    ),
    (
        "frameworks.md",
        "@jax.jit",
        "tests/documents.rs",
        "sketches_of_generated_code_are_of_generated_code",
    ),
    (
        "frameworks.md",
        "func.func",
        "tests/documents.rs",
        "sketches_of_generated_code_are_of_generated_code",
    ),
    (
        "gpus.md",
        "[package.metadata",
        "tests/documents.rs",
        "settings_in_the_docs_are_read",
    ),
    (
        "packaging.md",
        "$ git add",
        "tests/everyday.rs",
        "a_packaged_crate_builds_with_the_results_that_are_in_it",
    ),
    (
        "packaging.md",
        "# packaging.toml",
        "tests/everyday.rs",
        "a_packaged_crate_builds_with_the_results_that_are_in_it",
    ),
    (
        "packaging.md",
        "$ cargo tensorize --features",
        "tests/everyday.rs",
        "a_feature_may_add_kernels",
    ),
    (
        "proposer.md",
        "[package.metadata",
        "tests/documents.rs",
        "settings_in_the_docs_are_read",
    ),
    (
        "proposer.md",
        "{",
        "cargo-tensorize/tests/proposer.rs",
        "the_page_shows_what_is_asked_and_answered",
    ),
    (
        "start.md",
        "$ cargo xtask setup",
        "tests/documents.rs",
        "what_is_installed_by_a_path_lies_there",
    ),
    (
        "start.md",
        "$ cargo tensorize init",
        "tests/documents.rs",
        "the_first_commands_are_those_of_the_transcript",
    ),
    (
        "store.md",
        "$ cargo-tensorize-remote key",
        "cargo-tensorize/tests/remote/s3.rs",
        "signed_results_are_shared_and_no_others_are_used",
    ),
    (
        "tensir.md",
        "",
        "tests/documents.rs",
        "summaries_in_the_docs_are_read",
    ),
];

/// A new listing has to be somebody's business.
#[test]
fn every_listing_has_a_test() {
    let mut used = vec![false; LISTINGS.len()];
    let docs = pages()
        .into_iter()
        .map(|p| (p.clone(), format!("docs/{p}")));
    for (page, path) in docs.chain([("README.md".into(), "README.md".into())]) {
        let text = text(&path);
        for part in text.split("```").skip(1).step_by(2) {
            let (language, listing) = part.split_once('\n').unwrap_or(("", part));
            // A drawing.
            if language.is_empty() {
                continue;
            }
            let fits = |l: &&(&str, &str, &str, &str)| l.0 == page && listing.starts_with(l.1);
            let Some(at) = LISTINGS.iter().position(|l| fits(&l)) else {
                panic!("{page}: no test is named for\n{listing}");
            };
            used[at] = true;
        }
    }
    for ((page, begin, file, test), used) in LISTINGS.iter().zip(used) {
        assert!(used, "{page} has no listing that begins with {begin}");
        assert!(
            text(file).contains(&format!("fn {test}()")),
            "{page}: {file} has no test {test}"
        );
    }
}

#[test]
fn the_target_of_ones_own_is_the_one_that_is_tested() {
    let bare = |text: &str| text.split_whitespace().collect::<String>();
    let source = bare(&text("tests/projects/own_target/src/main.rs"));
    let [(_, listing)] = &listings("rust")[..] else {
        panic!("one page shows a target");
    };
    let mut seen = 0;
    for line in listing.lines() {
        // Of what is only hinted at, the head.
        let line = bare(line.split("{ /*").next().unwrap_or(line));
        let says = ["fn", "impl", "cargo_tensorize", "struct"];
        if says.iter().any(|w| line.starts_with(w)) {
            assert!(source.contains(&line), "{line}");
            seen += 1;
        }
    }
    assert!(seen >= 7, "only {seen} lines were compared");
}

#[test]
fn what_is_installed_by_a_path_lies_there() {
    let mut seen = 0;
    for page in pages() {
        for rest in text(format!("docs/{page}"))
            .split("cargo install --path ")
            .skip(1)
        {
            let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '/');
            let path = rest.split(end).next().unwrap_or(rest);
            let manifest = text(format!("{path}/Cargo.toml"));
            assert!(
                manifest.contains(&format!("name = \"{path}\"")),
                "{page}: {path}"
            );
            seen += 1;
        }
    }
    assert!(seen >= 2, "only {seen} were found");
}

/// What somebody types first is what the transcript of a day shows, step by step, and a test runs that.
#[test]
fn the_first_commands_are_those_of_the_transcript() {
    let transcript = text("cargo-tensorize/tests/day/transcript.txt");
    let mut typed = transcript.lines().filter(|l| l.starts_with("$ "));
    let mut listings = listings("console");
    listings.retain(|(page, _)| page == "start.md");
    let [(_, tools), (page, start)] = &listings[..] else {
        panic!("start.md shows what to type in a checkout, and what in a crate")
    };
    // A new user is there after five.
    assert!(tools.lines().count() + start.lines().count() <= 5);
    for line in tools.lines() {
        let known = [
            "$ cargo xtask setup",
            "$ cargo install --path cargo-tensorize",
        ];
        assert!(known.contains(&line), "{line}");
    }
    for command in start.lines() {
        // A workspace names the package, and running builds.
        let begin = command.replace("$ cargo build", "$ TENSORIZE=cpu cargo run");
        assert!(
            typed.any(|line| line.starts_with(&begin)),
            "{page}: {command} is not typed there, or not in this order"
        );
    }
}

#[test]
fn the_architecture_page_names_every_member() {
    let manifest = text("Cargo.toml");
    let (_, members) = manifest.split_once("members = [").expect("a workspace");
    let (members, _) = members.split_once(']').expect("the list ends");
    let page = text("docs/architecture.md");
    for member in members.split('"').skip(1).step_by(2) {
        assert!(
            page.contains(&format!("**`{member}`**")),
            "docs/architecture.md says nothing of {member}"
        );
    }
}
