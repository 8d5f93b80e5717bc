fn main() -> Result<(), tensorize_build::Error> {
    const FILE: &str = "kernels/speed.c";
    // The original is to be as fast as its compiler can make it.
    tensorize_build::Build::new()
        .file(FILE)
        .flag("-O3")
        .flag("-march=native")
        .compile("kernels")?;
    // What is compared with: the same file without us, under names of its own.
    let mut plain = cc::Build::new();
    plain.file(FILE).flag("-O3").flag("-march=native");
    plain.include(tensorize_build::include_dir());
    for kernel in KERNELS {
        plain.define(kernel, Some(&*format!("plain_{kernel}")));
    }
    plain.compile("plain");
    Ok(())
}

const KERNELS: [&str; 9] = [
    "screen",
    "scale_add",
    "blend_twice",
    "dot",
    "rmsnorm",
    "softmax",
    "matvec",
    "matmul",
    "attention",
];
