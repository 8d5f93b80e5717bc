//! Google Cloud Storage, by an emulator; that this is what Google's own store does is `object_store`'s word.

use super::server::{Server, beside, results_are_shared};
use super::*;

#[test]
fn results_are_shared_by_google_cloud_storage() {
    let server = Server::start("bin/python3", |port| vec![beside("gcs.py"), port.into()]);
    let account = tempfile::NamedTempFile::new().unwrap();
    let base = format!("http://{}", server.address);
    fs::write(
        account.path(),
        format!(
            r#"{{"gcs_base_url": "{base}", "disable_oauth": true, "client_email": "", "private_key": "", "private_key_id": ""}}"#
        ),
    )
    .unwrap();
    let machine = |bucket: &str, trusted: &str, secret: Option<&Person>| {
        on_a_new_machine(&format!("gs://{bucket}/results"), |c| {
            c.env("GOOGLE_SERVICE_ACCOUNT", account.path())
                .env("GOOGLE_ALLOW_HTTP", "true")
                .env("TENSORIZE_REMOTE_KEYS", trusted);
            if let Some(secret) = secret {
                c.env("TENSORIZE_REMOTE_KEY_FILE", secret.secret());
            }
        })
    };
    results_are_shared(|trusted, secret| machine("team", trusted, secret));
    let (_, out) = machine("nobodys", "", Some(&Person::new()));
    assert_eq!((cached(&out), complaints(&out)), (0, 1), "{}", stderr(&out));
    assert!(stderr(&out).contains("404"), "{}", stderr(&out));
}
