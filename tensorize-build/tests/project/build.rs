fn main() -> Result<(), tensorize_build::Error> {
    tensorize_build::Build::new()
        .file("kernels/halve.c")
        .file("kernels/other.c")
        .include("kernels")
        .define("HALF", "2")
        .compile("kernels")
}
