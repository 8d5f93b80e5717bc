//! What the user says in the environment.

use crate::signed;
use anyhow::{Context, Result, bail};
use ed25519_dalek::{SigningKey, VerifyingKey};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use url::Url;

/// Where entries are, and who is trusted.
pub struct Settings {
    /// The folder of the store, `TENSORIZE_REMOTE`.
    pub url: Url,
    /// Whose entries are used: `TENSORIZE_REMOTE_KEYS`, and the user's own.
    pub trusted: Vec<VerifyingKey>,
    /// The user's key, from `TENSORIZE_REMOTE_KEY_FILE`; without one nothing is written.
    pub secret: Option<SigningKey>,
}

/// Reads them; an error names the variable.
pub fn of_user() -> Result<Settings> {
    let url = env::var("TENSORIZE_REMOTE").context("TENSORIZE_REMOTE is not set")?;
    let url = Url::parse(&url).with_context(|| format!("TENSORIZE_REMOTE is `{url}`"))?;
    let secret = match env::var_os("TENSORIZE_REMOTE_KEY_FILE") {
        Some(file) if !file.is_empty() => Some(secret(&PathBuf::from(file))?),
        _ => None,
    };
    let keys = env::var("TENSORIZE_REMOTE_KEYS").unwrap_or_default();
    let keys = keys.split(|c: char| c == ',' || c.is_whitespace());
    let mut trusted = Vec::new();
    for text in keys.filter(|k| !k.is_empty()) {
        let key = signed::unhex(text).and_then(|bytes| VerifyingKey::from_bytes(&bytes).ok());
        let Some(key) = key else {
            bail!("TENSORIZE_REMOTE_KEYS: `{text}` is no public key of 64 hexadecimal digits");
        };
        trusted.push(key);
    }
    trusted.extend(secret.as_ref().map(SigningKey::verifying_key));
    if trusted.is_empty() {
        bail!(
            "nobody is trusted, so no entry can be used: TENSORIZE_REMOTE_KEYS names the public keys of those who are"
        );
    }
    Ok(Settings {
        url,
        trusted,
        secret,
    })
}

fn secret(file: &Path) -> Result<SigningKey> {
    let named = || format!("TENSORIZE_REMOTE_KEY_FILE, {}", file.display());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(file).with_context(named)?.permissions().mode();
        if mode & 0o077 != 0 {
            bail!("{}: others may read it: `chmod 600` it", named());
        }
    }
    let text = fs::read_to_string(file).with_context(named)?;
    let Some(bytes) = signed::unhex(text.trim()) else {
        bail!("{}: it holds no key of 64 hexadecimal digits", named());
    };
    Ok(SigningKey::from_bytes(&bytes))
}
