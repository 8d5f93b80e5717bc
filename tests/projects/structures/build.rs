fn main() -> Result<(), tensorize_build::Error> {
    tensorize_build::Build::new()
        .file("kernels/matrix.c")
        .file("kernels/particles.c")
        .file("kernels/waves.c")
        .file("kernels/planes.c")
        .file("kernels/vectors.c")
        .file("kernels/caller.c")
        .file("kernels/state.c")
        .file("kernels/state_caller.c")
        .file("kernels/objects.cpp")
        .file("kernels/caller.cpp")
        .compile("kernels")
}
