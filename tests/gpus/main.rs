//! Kernels for GPUs: a project that is lifted, generated, built and run, what every operator gives there, and what of it
//! NVIDIA's compiler takes. No GPU is needed for that: PoCL makes an OpenCL device of the machine's own cores. With the
//! feature `nvidia`, the same tests run by CUDA on an NVIDIA GPU, and fail where there is none.

extern crate backends as tensorize_backends;

#[path = "../../backends/tests/common/mod.rs"]
mod common;
mod device;
mod program;

/// The tests of one target: `hidden` is the environment that hides its driver or device, `why` what is said then.
macro_rules! on_a_device {
    ($target:expr, hidden: $hidden:expr, why: $why:expr) => {
        use super::device;
        use super::program::Programs;
        use backends::Target;
        use std::sync::LazyLock;

        static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| Programs::of($target.name()));

        #[test]
        fn a_program_computes_there() {
            PROGRAMS.computes_there();
        }

        #[test]
        fn a_program_without_it_says_so() {
            PROGRAMS.says_that_it_was_built_without();
        }

        #[test]
        fn a_machine_without_it_says_so() {
            PROGRAMS.says_that_there_is_none($hidden, $why);
        }

        #[test]
        fn operators() {
            device::operators(&$target);
        }

        #[test]
        fn wrong_tiles_and_wrong_sums_are_seen() {
            device::wrong_tiles_and_wrong_sums_are_seen(&$target);
        }

        #[test]
        fn wrong_code_is_not_stored() {
            device::wrong_code_is_not_stored(&$target);
        }

        #[test]
        fn fixtures_run() {
            device::fixtures_run(&$target);
        }

        #[test]
        fn all_benchmarks_run() {
            device::all_benchmarks_run(&$target);
        }
    };
}

mod opencl {
    use backends::simt::OPENCL;

    on_a_device!(OPENCL, hidden: ("OCL_ICD_VENDORS", "/nowhere"), why: "there is no OpenCL driver");
}

/// `cargo test -p tensorize-e2e --features nvidia --test gpus nvidia::`, on a machine with such a GPU.
#[cfg(feature = "nvidia")]
mod nvidia {
    use backends::simt::CUDA;

    on_a_device!(CUDA, hidden: ("CUDA_VISIBLE_DEVICES", ""), why: "there is no CUDA device");
}

/// Compiled by NVRTC, and not run: there is no emulation, and a test may not count on a GPU.
mod cuda {
    use super::common::{self, summary, tries};
    use backends::simt::CUDA;
    use std::io::Write;
    use std::process::{Command, Stdio};
    use tensorize_ir::guard::Tier;

    const SCRIPT: &str = include_str!("nvrtc.py");

    /// What NVRTC says of each source; empty if it takes it.
    fn compile(sources: &[String]) -> Vec<String> {
        let mut child = Command::new(cargo_tensorize::tools::find_python())
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a Python");
        let separated = sources.join("\0");
        let mut input = child.stdin.take().expect("piped");
        input
            .write_all(separated.as_bytes())
            .expect("it reads all of it");
        drop(input);
        let output = child.wait_with_output().expect("its output");
        assert!(
            output.status.success(),
            "NVRTC could not be asked: {}",
            output.status
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.split('\0').map(|s| s.trim().to_owned()).collect()
    }

    #[test]
    fn nvidias_compiler_takes_it() {
        let mut sources = Vec::new();
        for t in tries::operators(&CUDA)
            .0
            .iter()
            .chain(&tries::insides(&CUDA))
        {
            sources.push(t.generated.files[0].1.clone());
        }
        for name in ["matmul", "softmax", "center_rows", "burn"] {
            let g = common::generate(&CUDA, &summary(name), Tier::Real);
            sources.push(g.files[0].1.clone());
        }
        let wrong = sources[0].replace("int64_t item", "int64_t no_item");
        assert_ne!(wrong, sources[0]);
        sources.push(wrong);
        let said = compile(&sources);
        assert_eq!(said.len(), sources.len());
        let (last, others) = said.split_last().expect("one for each");
        assert!(last.contains("undefined"), "{last}");
        for (source, said) in sources.iter().zip(others) {
            assert!(said.is_empty(), "{said}\n{source}");
        }
    }
}
