fn main() -> Result<(), tensorize_build::Error> {
    let mut build = tensorize_build::Build::new();
    if std::env::var_os("CARGO_FEATURE_NATIVE").is_some() {
        build = build.flag("-march=native");
    }
    build.file("kernels/cross.c").compile("kernels")
}
