//! A crate that has C and C++ sources, and no build script.

use crate::common::{MANIFEST, code, project, stderr, tensorize, write};
use std::fs;

#[test]
fn a_crate_without_build_script_gets_one_for_its_sources() {
    let p = project("int f(int a) { return a; }\n");
    write(p.path(), "c/test.c", "int main(void) { return 0; }\n");
    write(p.path(), "old/ignored.c", "int g(int a) { return a; }\n");
    write(p.path(), ".gitignore", "old\n");
    let commands = serde_json::json!([{
        "directory": p.path(), "file": "c/k.c", "command": "cc -Iinclude -DN=2 -DX -O3 -c c/k.c"
    }]);
    write(p.path(), "compile_commands.json", &commands.to_string());
    let out = tensorize(p.path(), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let script = fs::read_to_string(p.path().join("build.rs")).unwrap();
    let expected = "fn main() -> Result<(), Box<dyn std::error::Error>> {
    tensorize_build::Build::new()
        .file(\"c/k.c\")
        .include(\"include\")
        .define(\"N\", \"2\")
        .define(\"X\", None)
        .compile(\"kernels\")?;
    Ok(())
}
";
    assert_eq!(script, expected);
    let root = fs::read_to_string(p.path().join("src/lib.rs")).unwrap();
    assert!(root.contains("pub mod kernels;"), "{root}");
}

/// As in a tree of C++ with a crate in it: the database says what belongs to it.
#[test]
fn a_compilation_database_names_sources_beside_the_crate() {
    let tree = tempfile::tempdir().unwrap();
    write(
        tree.path(),
        "rust/Cargo.toml",
        &MANIFEST.replace("[\"c/k.c::named\"]", "[]"),
    );
    write(tree.path(), "rust/src/lib.rs", "");
    write(tree.path(), "rust/c/k.c", "int f(int a) { return a; }\n");
    write(
        tree.path(),
        "src/mix.cpp",
        "#include \"mix.h\"\nint g(int a) { return a * BY; }\n",
    );
    write(tree.path(), "include/mix.h", "#define BY 3\n");
    let entry = |file: &str| {
        serde_json::json!({
            "directory": tree.path(), "file": file, "command": format!("c++ -Iinclude -I/usr/include -c {file}")
        })
    };
    // What is gone, and what is no source, is no part of it; the machine's folders are where they are.
    let commands = ["src/mix.cpp", "rust/c/k.c", "src/gone.cpp", "include/mix.h"].map(entry);
    let commands = serde_json::json!(commands).to_string();
    write(tree.path(), "rust/compile_commands.json", &commands);
    let out = tensorize(&tree.path().join("rust"), &["init", "--offline", "--yes"]);
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    let script = fs::read_to_string(tree.path().join("rust/build.rs")).unwrap();
    let expected = "        .file(\"c/k.c\")
        .file(\"../src/mix.cpp\")
        .include(\"../include\")
        .include(\"/usr/include\")
        .compile(\"kernels\")?;
";
    assert!(script.contains(expected), "{script}");
}
