fn main() -> Result<(), tensorize_build::Error> {
    tensorize_build::Build::new()
        .file("kernels/kernels.c")
        .compile("kernels")
}
