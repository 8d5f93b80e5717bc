//! Notes the host's triple: outside of a build script nobody else tells it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!(
        "cargo::rustc-env=TENSORIZE_HOST={}",
        std::env::var("TARGET").unwrap_or_default()
    );
}
