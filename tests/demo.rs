//! The demo project: nothing differs in shadow mode, and its stored results are those of the sources.

use std::process::Command;

use tensorize_e2e::{build, cargo, copy_of_demo, succeed};

#[test]
fn shadow_mode_finds_no_difference() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy_of_demo(folder.path());
    let program = build(cargo().env("TENSORIZE_STRICT", "1"), folder.path(), "demo");
    for mode in ["shadow", "shadow=numpy"] {
        let mut command = Command::new(&program);
        let printed = succeed(
            command
                .env("TENSORIZE", mode)
                .arg("--out")
                .arg(folder.path().join("out")),
        );
        // kernel, tier, compared, differ
        let rows: Vec<Vec<&str>> = printed
            .lines()
            .skip_while(|line| !line.starts_with("kernel "))
            .skip(1)
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert!(rows.len() >= 28, "every kernel of the demo:\n{printed}");
        for row in rows {
            assert!(row.len() == 4 && row[3] == "0", "{mode}: {row:?}");
            assert_ne!(row[2], "0", "{mode}: {} was never compared", row[0]);
        }
    }
}
