// Builds the decoder that came with the hardware.
fn main() {
    println!("cargo:rerun-if-changed=native");
    cc::Build::new()
        .file("native/pcm.c")
        .file("native/huff.c")
        .include("native")
        .define("PCM_SHIFT", "2")
        .warnings(false)
        .compile("pcm");
}
