//! S3, as moto's server speaks it; and what whoever gets at a store can do with it.

use super::server::Server;
use super::*;
use std::io::{Read, Write};
use std::net::TcpStream;

/// The server wants to know who it is, and takes everybody's word.
const LOGIN: &str = "Authorization: AWS4-HMAC-SHA256 Credential=somebody/20260101/us-east-1/s3/aws4_request, \
                     SignedHeaders=host, Signature=0";

struct Bucket {
    server: Server,
}

impl Bucket {
    fn new() -> Bucket {
        let server = Server::start("bin/moto_server", |port| {
            ["-H", "127.0.0.1", "-p", port].map(str::to_owned).to_vec()
        });
        let store = Bucket { server };
        store.request("PUT", "/team", "");
        store
    }

    /// As somebody would who got at the store without our programs.
    fn request(&self, method: &str, path: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.server.address).unwrap();
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{LOGIN}\r\nContent-Length: {length}\r\n\r\n{body}",
            self.server.address
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
            c.env("AWS_ENDPOINT", format!("http://{}", self.server.address))
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
    let server = Bucket::new();
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
