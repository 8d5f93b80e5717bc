fn main() -> Result<(), tensorize_build::Error> {
    tensorize_build::Build::new()
        .file("kernels/memory.c")
        .compile("kernels")
}
