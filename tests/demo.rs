//! The demo project: nothing differs in shadow mode, and its stored results are those of the sources.

use std::process::Command;

use tensorize_e2e::{build, cargo, copy_of_demo, succeed};

#[test]
fn shadow_mode_finds_no_difference() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy_of_demo(folder.path(), "demo-shadow");
    let program = build(
        cargo().env("TENSORIZE_STRICT", "1"),
        folder.path(),
        "demo-shadow",
    );
    for mode in ["shadow", "shadow=numpy"] {
        let mut command = Command::new(&program);
        command
            .env("TENSORIZE", mode)
            .arg("--out")
            .arg(folder.path().join("out"));
        let printed = succeed(&mut command);
        // kernel, tier, compared, differ
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .skip_while(|line| !line.starts_with("kernel "))
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(rows.len() >= 28, "every kernel of the demo:\n{printed}");
        for row in &rows {
            assert!(row.len() == 4 && row[3] == "0", "{mode}: {row:?}");
        }
        let never = rows.iter().filter(|row| row[2] == "0").count();
        assert_eq!(
            never, 0,
            "{mode}: kernels that were never compared:\n{printed}"
        );
    }
}
