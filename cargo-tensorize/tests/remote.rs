//! The remote cache, in a real S3 server on this machine (moto's): what somebody has proven and signed others have without a
//! proof, and what nobody signed whom they trust is not used.

mod common;

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
        let page = include_str!("../../docs/store.md");
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

/// In a module of its own, since the server is not everywhere.
mod s3 {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::{Child, Stdio};
    use std::time::{Duration, Instant};

    /// The server wants to know who it is, and takes everybody's word.
    const LOGIN: &str = "Authorization: AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, \
                         SignedHeaders=host, Signature=0";

    struct Server {
        process: Child,
        address: String,
    }

    impl Drop for Server {
        fn drop(&mut self) {
            self.process.kill().ok();
            self.process.wait().ok();
        }
    }

    impl Server {
        fn new() -> Server {
            let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
            let data = data.unwrap_or_else(|| std::env::home_dir().unwrap().join(".local/share"));
            let program = data.join("cargo-tensorize/venv/bin/moto_server");
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = free.local_addr().unwrap().port();
            drop(free);
            let process = Command::new(&program)
                .args(["-H", "127.0.0.1", "-p", &port.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap_or_else(|e| {
                    panic!(
                        "{}: {e}; `cargo xtask setup` installs it",
                        program.display()
                    )
                });
            let address = format!("127.0.0.1:{port}");
            let server = Server { process, address };
            let start = Instant::now();
            while TcpStream::connect(&server.address).is_err() {
                assert!(
                    start.elapsed() < Duration::from_secs(60),
                    "the server does not start"
                );
                std::thread::sleep(Duration::from_millis(50));
            }
            server.request("PUT", "/team", "");
            server
        }

        /// As somebody would who got at the store without our programs.
        fn request(&self, method: &str, path: &str, body: &str) -> String {
            let mut stream = TcpStream::connect(&self.address).unwrap();
            let length = body.len();
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{LOGIN}\r\nContent-Length: {length}\r\n\r\n{body}",
                self.address
            )
            .unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            let (head, body) = answer.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(" 200 "), "{method} {path}: {answer}");
            body.to_owned()
        }

        fn keys(&self) -> Vec<String> {
            let listed = self.request("GET", "/team?list-type=2", "");
            let keys = listed.split("<Key>").skip(1);
            keys.map(|k| k.split("</Key>").next().unwrap().to_owned())
                .collect()
        }

        /// A machine of somebody who trusts these.
        fn machine(&self, trusted: &str, secret: Option<&Person>) -> (TempDir, Output) {
            on_a_new_machine("s3://team/results", |c| {
                c.env("AWS_ENDPOINT", format!("http://{}", self.address))
                    .env("AWS_ALLOW_HTTP", "true")
                    .env("TENSORIZE_REMOTE_KEYS", trusted);
                if let Some(secret) = secret {
                    c.env("TENSORIZE_REMOTE_KEY_FILE", secret.secret());
                }
            })
        }
    }

    #[test]
    fn signed_results_are_shared_and_no_others_are_used() {
        let server = Server::new();
        let (alice, mallory) = (Person::new(), Person::new());
        // Who has no key gives nothing.
        let (_, out) = server.machine(&alice.public, None);
        assert_eq!((cached(&out), complaints(&out)), (0, 0), "{}", stderr(&out));
        assert_eq!(server.keys(), Vec::<String>::new());

        let (first, out) = server.machine("", Some(&alice));
        assert_eq!((cached(&out), complaints(&out)), (0, 0), "{}", stderr(&out));
        let keys = server.keys();
        assert_eq!(keys.len(), 2);
        assert!(
            keys.iter().all(|k| k.starts_with("results/v1/")),
            "{keys:?}"
        );
        let (second, out) = server.machine(&alice.public, None);
        assert_eq!((cached(&out), complaints(&out)), (2, 0), "{}", stderr(&out));
        assert_eq!(entries(second.path()), entries(first.path()));

        let path = |key: &str| format!("/team/{key}");
        let [one, other] = [0, 1].map(|n| server.request("GET", &path(&keys[n]), ""));
        let (head, body) = one.split_once("\n{").unwrap();
        let last = one.len() - 1;
        let unsigned = format!("{}\n{{{body}", head.lines().next().unwrap());
        // What the writer of another key would have: all that is needed but the right signature.
        let by_mallory = one.replace(&alice.public, &mallory.public);
        for (what, text, says) in [
            ("a digit of the code", one.replacen("n ", "m ", 1), None),
            (
                "one bit at the end",
                format!("{} ", &one[..last]),
                Some("signature is wrong"),
            ),
            (
                "truncated",
                one[..one.len() / 2].to_owned(),
                Some("signature is wrong"),
            ),
            ("truncated in its head", one[..40].to_owned(), None),
            ("empty", String::new(), Some("no signed entry")),
            ("unsigned", unsigned, Some("not signed")),
            ("another's name", by_mallory, Some("not trusted")),
            ("in another's place", other, Some("it is for")),
        ] {
            assert_ne!(text, one, "{what}");
            server.request("PUT", &path(&keys[0]), &text);
            let (dir, out) = server.machine(&alice.public, None);
            let told = stderr(&out);
            assert_eq!((cached(&out), complaints(&out)), (1, 1), "{what}: {told}");
            assert!(told.contains(says.unwrap_or_default()), "{what}: {told}");
            assert_eq!(entries(dir.path()).len(), 2, "{what}");
        }

        // A proper signature of somebody who is not trusted.
        for key in &keys {
            server.request("PUT", &path(key), "");
        }
        let (_, out) = server.machine("", Some(&mallory));
        assert_eq!(cached(&out), 0);
        let (_, out) = server.machine(&alice.public, None);
        assert_eq!((cached(&out), complaints(&out)), (0, 1), "{}", stderr(&out));
        assert!(stderr(&out).contains("not trusted"), "{}", stderr(&out));
        // Those who trust both have them; and the writer replaces what it could not use.
        let both = format!("{},{}", alice.public, mallory.public);
        let (_, out) = server.machine(&both, None);
        assert_eq!((cached(&out), complaints(&out)), (2, 0), "{}", stderr(&out));
    }
}
