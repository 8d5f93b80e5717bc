fn main() -> Result<(), tensorize_build::Error> {
    // The original is to be as fast as its compiler can make it.
    tensorize_build::Build::new()
        .file("kernels/speed.c")
        .flag("-O3")
        .flag("-march=native")
        .compile("kernels")
}
