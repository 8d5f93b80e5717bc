//! A store's server, and what every store must do.

use super::*;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// Ends with the test.
pub struct Server {
    process: Child,
    /// Host and port.
    pub address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

impl Server {
    /// Starts this program of our set-up's environment, with arguments for the port that it is to have.
    pub fn start(program: &str, arguments: impl FnOnce(&str) -> Vec<String>) -> Server {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let program = installed(program);
        let process = Command::new(&program)
            .args(arguments(&port.to_string()))
            .stdin(Stdio::null())
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
        server
    }
}

/// A file of the environment that our set-up makes.
pub fn installed(file: &str) -> PathBuf {
    let data = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.unwrap_or_else(|| std::env::home_dir().unwrap().join(".local/share"));
    data.join("cargo-tensorize/venv").join(file)
}

/// A file beside this one.
pub fn beside(file: &str) -> String {
    format!("{}/tests/remote/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// One gives, and others have it, if they trust them. A machine trusts these keys, and may have a secret of its own.
pub fn results_are_shared(machine: impl Fn(&str, Option<&Person>) -> (TempDir, Output)) {
    let (alice, mallory) = (Person::new(), Person::new());
    let none = |trusted: &str, secret: Option<&Person>| {
        let (dir, out) = machine(trusted, secret);
        assert_eq!((cached(&out), complaints(&out)), (0, 0), "{}", stderr(&out));
        dir
    };
    // Nothing is there, and who has no key gives nothing.
    none(&alice.public, None);
    none(&alice.public, None);
    let first = none("", Some(&alice));
    let (second, out) = machine(&alice.public, None);
    assert_eq!((cached(&out), complaints(&out)), (2, 0), "{}", stderr(&out));
    assert_eq!(entries(second.path()), entries(first.path()));
    // Others don't take it.
    let (_, out) = machine(&mallory.public, None);
    assert_eq!((cached(&out), complaints(&out)), (0, 1), "{}", stderr(&out));
    assert!(stderr(&out).contains("not trusted"), "{}", stderr(&out));
    // What is there already can be replaced.
    let (_, out) = machine("", Some(&mallory));
    assert_eq!(cached(&out), 0, "{}", stderr(&out));
    let (_, out) = machine(&mallory.public, None);
    assert_eq!((cached(&out), complaints(&out)), (2, 0), "{}", stderr(&out));
}
