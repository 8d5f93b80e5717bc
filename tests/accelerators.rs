//! A project whose kernels run on accelerators: lifted, generated, built and run. The devices are emulated.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, ExitCode};

use backends::magic::Magic;
use tensorize_e2e::{build, cargo, copy, root, succeed, target_dir};
use tensorize_prove::solver::{self, Answer, Solver};

/// The project built for `targets`, and what it prints for each of the modes.
fn printed(name: &str, targets: &str, modes: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&root().join("tests/projects/accelerators"), folder.path());
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text
        .replace("../../..", &root().to_string_lossy())
        .replace("name = \"accelerators\"", &format!("name = \"{name}\""))
        .replace("[\"gemmini\"]", targets);
    fs::write(&manifest, text).expect("a writable copy");
    // The first build tells the tool what there is.
    let mut first = cargo();
    first
        .args(["build", "--release", "--manifest-path"])
        .arg(&manifest)
        .env("TENSORIZE_BIN", "")
        .env("CARGO_TARGET_DIR", target_dir());
    tensorize_e2e::run(&mut first);
    let arguments = ["cargo-tensorize", "--manifest-path"].map(OsString::from);
    let code = cargo_tensorize::main(arguments.into_iter().chain([manifest.into()]));
    assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::SUCCESS));
    let program = build(cargo().env("TENSORIZE_STRICT", "1"), folder.path(), name);
    let run = |mode: &&str| succeed(Command::new(&program).env("TENSORIZE", mode));
    modes.iter().map(run).collect()
}

fn line<'a>(printed: &'a str, kernel: &str) -> &'a str {
    printed
        .lines()
        .find(|l| l.starts_with(&format!("{kernel} ")))
        .unwrap_or_else(|| panic!("no line of {kernel} in:\n{printed}"))
}

#[test]
fn a_program_computes_on_gemmini() {
    let printed = printed(
        "on-gemmini",
        "[\"cpu\", \"gemmini\"]",
        &["gemmini", "auto", "off"],
    );
    for kernel in ["matmul8", "linear_dodge", "scaled_difference", "screen"] {
        let on_gemmini = line(&printed[0], kernel);
        assert!(
            on_gemmini.contains("ran on gemmini: 0 by the original, 1 by a target")
                && on_gemmini.contains("emulated"),
            "{on_gemmini}"
        );
        // An emulated device is never faster than the machine itself.
        assert!(
            !line(&printed[1], kernel).contains("gemmini"),
            "{}",
            printed[1]
        );
        assert!(
            line(&printed[2], kernel).contains("ran on original"),
            "{}",
            printed[2]
        );
    }
    let average = line(&printed[0], "average");
    assert!(
        average.contains("ran on original") && average.contains("gemmini: nothing of it"),
        "{average}"
    );
}

#[test]
fn a_program_computes_on_gaudi() {
    let printed = printed(
        "on-gaudi",
        "[\"cpu\", \"gaudi\"]",
        &["gaudi", "shadow=gaudi"],
    );
    for kernel in ["linear_dodge", "scaled_difference", "screen"] {
        let on_gaudi = line(&printed[0], kernel);
        assert!(
            on_gaudi.contains("ran on gaudi: 0 by the original, 1 by a target")
                && on_gaudi.contains("emulated"),
            "{on_gaudi}"
        );
    }
    for kernel in ["matmul8", "average"] {
        let by_original = line(&printed[0], kernel);
        assert!(
            by_original.contains("ran on original") && by_original.contains("PyTorch"),
            "{by_original}"
        );
    }
}

#[test]
fn the_solver_confirms_divisions_and_sees_wrong_ones() {
    let mut solver = Solver::new(solver::find()).expect("Z3 4.13.3 or later");
    for divisor in [1, 2, 3, 7, 255, 641, 65535, 0x7fff_ffff, 0x8000_0000] {
        for most in [255, 65025, 0x7fff_ffff, 0x8000_0000] {
            let magic = Magic::find(divisor, most).expect("a multiplier");
            assert_eq!(solver.check(&magic.theorem()), Answer::Unsat, "{magic:?}");
            // One less is too little for the first multiple of the divisor, if there is one.
            let wrong = Magic {
                multiplier: magic.multiplier - 1,
                ..magic
            };
            if divisor <= most {
                assert_eq!(solver.check(&wrong.theorem()), Answer::Sat, "{wrong:?}");
            }
        }
    }
    // Right for bytes, and not for all that fits a word.
    let narrow = Magic::find(7, 255).expect("a multiplier");
    let wide = Magic {
        most: 0x7fff_ffff,
        ..narrow
    };
    assert_eq!(solver.check(&wide.theorem()), Answer::Sat, "{wide:?}");
}
