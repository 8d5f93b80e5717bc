//! The project that `cargo xtask bench run` measures, at small sizes: what it computes, and that the library for
//! products of matrices is linked in.

use std::process::Command;

use tensorize_e2e::{lifted, succeed};

#[test]
fn a_program_has_the_library_that_generated_code_calls() {
    let (_folder, program) = lifted("speed");
    let symbols = succeed(Command::new("nm").arg(&program));
    assert!(
        symbols.contains(" T tensorize_scaled_gemm_f32"),
        "{symbols}"
    );

    // Up to products of 32 x 32, for which the library is worth it.
    let printed = succeed(Command::new(&program).arg("4096"));
    let source = include_str!("projects/speed/kernels/speed.c");
    let kernels = source.matches("TENSORIZE_KERNEL\n").count();
    // 64 and 1024 elements, and at last as many as were asked for.
    assert_eq!(printed.lines().count(), 3 * kernels, "{printed}");
    let last = printed.lines().last().expect("a line");
    assert!(last.contains("\"elements\":4096,"), "{last}");
    for line in printed.lines() {
        assert!(line.contains("\"differed\":false"), "{line}");
        assert!(line.contains("\"copy_bandwidth\":"), "{line}");
    }
}
