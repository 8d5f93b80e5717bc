//! `lift --emit`: the targets' code, in files.

use super::{code, stderr, tensorize_in};
use std::fs;

const SUM: &str = "float total(int n, const float *x) {
    float s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
";

#[test]
fn code_lies_in_the_folder_by_kernel_and_target() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("k.c"), SUM).unwrap();
    let lift = ["lift", "k.c", "--no-differential", "--emit", "out/code"];
    let out = tensorize_in(
        dir.path(),
        &[&lift[..], &["--target", "cpu", "--target", "numpy"]].concat(),
    );
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let read = |name: &str| fs::read_to_string(dir.path().join("out/code").join(name)).unwrap();
    assert!(read("total.cpu.c").contains("float total__tensorize_cpu("));
    assert!(read("total.numpy.py").contains("def total("));
    // Without a target there is no code.
    assert_eq!(code(&tensorize_in(dir.path(), &lift)), 2);
}

#[test]
fn what_has_no_place_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("k.c"), SUM).unwrap();
    fs::write(dir.path().join("l.c"), SUM).unwrap();
    let lift = ["lift", "--no-differential", "--target", "cpu", "k.c"];
    let out = tensorize_in(dir.path(), &[&lift[..], &["--emit", "k.c"]].concat());
    let text = stderr(&out);
    assert!(
        text.contains("error[TZ0112]") && text.contains("--emit"),
        "{text}"
    );
    let out = tensorize_in(dir.path(), &[&lift[..], &["l.c", "--emit", "out"]].concat());
    let text = stderr(&out);
    assert!(text.contains("two functions called `total`"), "{text}");
    assert_ne!(code(&out), 0);
    assert!(!dir.path().join("out").exists());
}
