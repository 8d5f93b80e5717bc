//! What README and docs show is what is in the repository.

use std::fs;
use std::path::Path;

use tensorize_e2e::root;

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

#[test]
fn links_lead_somewhere() {
    let mut seen = 0;
    for (page, folder) in [
        ("README.md", ""),
        ("docs/architecture.md", "docs"),
        ("docs/soundness.md", "docs"),
        ("docs/ci.md", "docs"),
        ("docs/commands.md", "docs"),
        ("docs/adding-a-target.md", "docs"),
    ] {
        let page_text = text(page);
        for link in page_text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if !link.starts_with("http") && !link.starts_with('#') {
                let path = root()
                    .join(folder)
                    .join(link.split('#').next().unwrap_or(link));
                assert!(path.exists(), "{page}: {link}");
                seen += 1;
            }
        }
    }
    assert!(seen > 0, "no link was checked");
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
