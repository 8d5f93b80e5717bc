//! Networks that say nothing: nobody waits for them longer than for one answer.

use super::*;
use std::net::TcpListener;

/// Everything is proven here, and one line says why.
fn is_told_once(out: &Output, dir: &Path) {
    let told = stderr(out);
    assert_eq!((cached(out), complaints(out)), (0, 1), "{told}");
    assert!(told.contains("no answer within 3 s"), "{told}");
    assert_eq!(entries(dir).len(), 2, "{told}");
}

#[test]
fn a_host_that_takes_a_call_and_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/results", silent.local_addr().unwrap());
    let somebody = Person::new();
    let (dir, out) = on_a_new_machine(&url, |c| {
        c.env("TENSORIZE_REMOTE_KEY_FILE", somebody.secret());
    });
    is_told_once(&out, dir.path());
}

/// The time was up, and then the program waited for the address all the same, until it was killed.
#[test]
fn a_name_whose_address_nobody_tells() {
    let folder = tempfile::tempdir().unwrap();
    let source = "#include <unistd.h>\nint getaddrinfo(void) { sleep(1000); return 1; }\n";
    fs::write(folder.path().join("names.c"), source).unwrap();
    let made = Command::new("cc")
        .args([
            "-shared",
            "-fPIC",
            "-fno-builtin",
            "names.c",
            "-o",
            "names.so",
        ])
        .current_dir(&folder)
        .status();
    assert!(made.unwrap().success());
    // For the program that asks the network, and no other.
    let script = format!(
        "LD_PRELOAD={} exec {} \"$@\"",
        folder.path().join("names.so").display(),
        PROGRAM.display()
    );
    let program = common::program(folder.path(), "remote", &script);
    let somebody = Person::new();
    let (dir, out) = on_a_new_machine("http://results.example.org/results", |c| {
        c.env("TENSORIZE_REMOTE_KEY_FILE", somebody.secret())
            .env("TENSORIZE_REMOTE_BIN", &program);
    });
    is_told_once(&out, dir.path());
}
