use std::env;

fn main() {
    let mut b = cc::Build::new();
    b.file("c/scale.c").include("c");
    if env::var_os("CARGO_FEATURE_HQ").is_some() {
        b.define("HQ", None);
    }
    b.compile("scale");
}
