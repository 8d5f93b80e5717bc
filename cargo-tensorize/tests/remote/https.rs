//! Plain HTTP behind TLS, with a certificate that the machine trusts and with others.

use super::server::{Server, beside, results_are_shared};
use super::*;

#[test]
fn results_are_shared_over_tls_with_whom_the_machine_trusts() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start("bin/python3", |port| {
        let folder = folder.path().to_str().unwrap().to_owned();
        vec![beside("https.py"), port.to_owned(), folder]
    });
    let machine = |authority: Option<&str>, trusted: &str, secret: Option<&Person>| {
        on_a_new_machine(&format!("https://{}/results", server.address), |c| {
            c.env_remove("SSL_CERT_DIR")
                .env_remove("SSL_CERT_FILE")
                .env("TENSORIZE_REMOTE_KEYS", trusted);
            if let Some(authority) = authority {
                c.env("SSL_CERT_FILE", folder.path().join(authority));
            }
            if let Some(secret) = secret {
                c.env("TENSORIZE_REMOTE_KEY_FILE", secret.secret());
            }
        })
    };
    results_are_shared(|trusted, secret| machine(Some("ours.pem"), trusted, secret));
    let somebody = Person::new();
    // One of the same name, and those that are on the machine.
    for authority in [Some("other.pem"), None] {
        let (_, out) = machine(authority, "", Some(&somebody));
        let told = stderr(&out);
        assert_eq!((cached(&out), complaints(&out)), (0, 1), "{told}");
        assert!(told.contains("certificate"), "{told}");
        assert!(told.contains("SSL_CERT_FILE"), "{told}");
    }
}
