//! A project whose kernels run on accelerators: lifted, generated, built and run. The devices are emulated.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use backends::magic::Magic;
use tensorize_e2e::{build, cargo, copy, lift, root, succeed};
use tensorize_prove::solver::{self, Answer, Solver};

/// The project built for `targets`.
fn program(name: &str, targets: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy(&root().join("tests/projects/accelerators"), folder.path());
    let manifest = folder.path().join("Cargo.toml");
    let text = fs::read_to_string(&manifest).expect("a manifest");
    let text = text
        .replace("../../..", &root().to_string_lossy())
        .replace("name = \"accelerators\"", &format!("name = \"{name}\""))
        .replace("[\"gemmini\"]", targets);
    fs::write(&manifest, text).expect("a writable copy");
    lift(&manifest);
    let program = build(cargo().env("TENSORIZE_STRICT", "1"), folder.path(), name);
    (folder, program)
}

/// What it prints for each of the modes.
fn printed(name: &str, targets: &str, modes: &[&str]) -> Vec<String> {
    let (_folder, program) = program(name, targets);
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
    // Of neither the cores nor PyTorch's bridge: the device has no 64-bit floats.
    let average = line(&printed[0], "average");
    assert!(
        average.contains("ran on original") && average.contains("does not compute with f64"),
        "{average}"
    );
}

mod pytorch {
    use super::{line, program};
    use std::process::Command;
    use tensorize_e2e::{root, succeed};

    /// What is not elementwise is PyTorch's. `auto` has nothing to do with what stands in for the device.
    #[test]
    fn a_program_multiplies_and_sums_on_gaudi() {
        let (_folder, program) = program("torch-on-gaudi", "[\"cpu\", \"gaudi\"]");
        let run = |mode: &str, path: &str| {
            let mut command = Command::new(&program);
            command.env("TENSORIZE", mode).env("PYTHONPATH", path);
            command.env("TENSORIZE_PYTHON", cargo_tensorize::tools::find_python());
            succeed(&mut command)
        };
        let broken = |what: &str| {
            let folder = root().join("tests/projects/broken_frameworks").join(what);
            run("gaudi", &folder.to_string_lossy())
        };
        let (on_gaudi, chosen) = (run("gaudi", ""), run("auto", ""));
        let compared = run("shadow=gaudi", "");
        let (no_torch, no_device) = (broken("pytorch"), broken("gaudi"));
        for kernel in ["matmul8", "dot"] {
            let on_gaudi = line(&on_gaudi, kernel);
            assert!(
                on_gaudi.contains("ran on gaudi: 0 by the original, 1 by a target")
                    && on_gaudi.contains("gaudi is emulated"),
                "{on_gaudi}"
            );
            let chosen = line(&chosen, kernel);
            assert!(!chosen.contains("gaudi"), "{chosen}");
            let compared = line(&compared, kernel);
            assert!(compared.contains("1 compared, 0 differ"), "{compared}");
            let without = line(&no_torch, kernel);
            assert!(
                without.contains("ran on original") && without.contains("ImportError: not today"),
                "{without}"
            );
            // A bridge that promises a device which PyTorch can't use.
            let without = line(&no_device, kernel);
            assert!(
                without.contains("ran on original") && without.contains("torch.hpu"),
                "{without}"
            );
        }
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
