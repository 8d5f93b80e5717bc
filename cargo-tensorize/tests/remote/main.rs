//! The remote cache, in servers on this machine: what somebody has proven and signed others have without a proof, and what nobody
//! signed whom they trust is not used. Each kind of store is a module of its own, since its server is not everywhere.

#[path = "../common/mod.rs"]
mod common;

mod azure;
mod gcs;
mod https;
mod s3;
mod server;
mod silent;

use common::{KERNELS, code, command, project, stderr, stdout};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;
use tensorize_build::store::{Entry, Store};

/// `cargo-tensorize-remote`, which is no member of the workspace, built once.
static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| {
    let target = Path::new(env!("CARGO_BIN_EXE_cargo-tensorize"));
    let target = target.ancestors().nth(2).unwrap().join("remote");
    let manifest =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../cargo-tensorize-remote/Cargo.toml");
    let out = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", stderr(&out));
    target.join("debug/cargo-tensorize-remote")
});

/// Somebody with a key of their own.
struct Person {
    folder: TempDir,
    public: String,
}

impl Person {
    fn new() -> Person {
        let folder = tempfile::tempdir().unwrap();
        // As the page says, into another file.
        let page = include_str!("../../../docs/store.md");
        let mut listings = page.split("\n$ cargo-tensorize-remote ").skip(1);
        let typed = listings.next().and_then(|rest| rest.lines().next());
        let (verb, _file) = typed.and_then(|typed| typed.split_once(' ')).unwrap();
        let out = Command::new(&*PROGRAM)
            .arg(verb)
            .arg(folder.path().join("secret"))
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", stderr(&out));
        let public = stdout(&out).trim().to_owned();
        Person { folder, public }
    }

    fn secret(&self) -> PathBuf {
        self.folder.path().join("secret")
    }
}

/// A run on a machine that has nothing yet, with this store.
fn on_a_new_machine(url: &str, with: impl FnOnce(&mut Command)) -> (TempDir, Output) {
    let (dir, cache) = (project(KERNELS), tempfile::tempdir().unwrap());
    let mut command = command(dir.path(), &["--message-format", "json"]);
    command
        .env("TENSORIZE_CACHE", cache.path())
        .env("TENSORIZE_REMOTE", url)
        .env("TENSORIZE_REMOTE_BIN", &*PROGRAM)
        .env_remove("TENSORIZE_REMOTE_KEYS")
        .env_remove("TENSORIZE_REMOTE_KEY_FILE")
        .env("AWS_ACCESS_KEY_ID", "somebody")
        .env("AWS_SECRET_ACCESS_KEY", "secret")
        .env("AWS_REGION", "us-east-1");
    with(&mut command);
    let out = command.output().unwrap();
    assert_eq!(code(&out), 0, "{}", stderr(&out));
    (dir, out)
}

fn cached(out: &Output) -> usize {
    stdout(out).matches("\"cached\":true").count()
}

/// How often the remote cache was complained of.
fn complaints(out: &Output) -> usize {
    stderr(out).matches("warning[TZ0709]").count()
}

fn entries(dir: &Path) -> Vec<Entry> {
    Store::of_manifest(dir).load().entries
}

#[test]
fn without_a_store_everything_is_proven_and_one_line_says_so() {
    // Nobody listens there.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = closed.local_addr().unwrap();
    drop(closed);
    let somebody = Person::new();
    for (what, url, bin, says) in [
        (
            "offline",
            format!("http://{address}/results"),
            true,
            "remote cache",
        ),
        (
            "no such kind",
            "gopher://example.org/".into(),
            true,
            "gopher",
        ),
        (
            "not installed",
            "s3://results".into(),
            false,
            "cargo install",
        ),
    ] {
        let (dir, out) = on_a_new_machine(&url, |c| {
            c.env("TENSORIZE_REMOTE_KEY_FILE", somebody.secret());
            if !bin {
                c.env("TENSORIZE_REMOTE_BIN", "");
            }
        });
        let told = stdout(&out) + &stderr(&out);
        assert!(told.contains(says), "{what}: {told}");
        assert_eq!((cached(&out), complaints(&out)), (0, 1), "{what}: {told}");
        assert_eq!(entries(dir.path()).len(), 2, "{what}");
    }
    // Signatures of nobody are of no use.
    let (_, out) = on_a_new_machine("s3://results", |_| {});
    assert!(
        stderr(&out).contains("nobody is trusted"),
        "{}",
        stderr(&out)
    );
    assert_eq!(complaints(&out), 1);
    // Nor is a secret that others can read.
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(somebody.secret(), fs::Permissions::from_mode(0o644)).unwrap();
    let (_, out) = on_a_new_machine("s3://results", |c| {
        c.env("TENSORIZE_REMOTE_KEY_FILE", somebody.secret());
    });
    assert!(stderr(&out).contains("chmod 600"), "{}", stderr(&out));
}
