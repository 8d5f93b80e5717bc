//! Entries as they lie in the store, signed with Ed25519 (RFC 8032).
//!
//! Three lines and the entry:
//!
//! ```text
//! tensorize-entry 1 KEY
//! signer PUBLIC KEY
//! signature SIGNATURE
//! {"record": "…", "sources": {…}}
//! ```
//!
//! The signature is over the first line and the entry, so that it is for this key alone: what was signed for one kernel
//! can't be put in the place of another one.

use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use serde_json::Value;
use std::fmt::Write;

const FORMAT: &str = "tensorize-entry 1";

/// The text of an entry.
pub fn seal(entry: &Value, key: &str, secret: &SigningKey) -> String {
    let first = format!("{FORMAT} {key}\n");
    let body = entry.to_string();
    let signature = secret.sign(format!("{first}{body}").as_bytes());
    format!(
        "{first}signer {}\nsignature {}\n{body}",
        hex(secret.verifying_key().as_bytes()),
        hex(&signature.to_bytes())
    )
}

/// The entry, if one of these has signed it for this key; else why it is not used.
pub fn open(text: &[u8], key: &str, trusted: &[VerifyingKey]) -> Result<Value, String> {
    let text = str::from_utf8(text).map_err(|_| "it is no text".to_owned())?;
    let mut parts = text.splitn(4, '\n');
    let mut part = |name: &str| {
        let line = parts.next()?;
        line.strip_prefix(name)?.strip_prefix(' ')
    };
    let first = part(FORMAT).ok_or("it is no signed entry of this format")?;
    let signer = part("signer").ok_or("it is not signed")?;
    let signature = part("signature").ok_or("it is not signed")?;
    let body = parts.next().ok_or("it is cut short")?;
    if first != key {
        return Err(format!("it is for {first}"));
    }
    let signer = unhex(signer).ok_or("its signer is no key")?;
    let signer = trusted.iter().find(|t| t.as_bytes() == &signer);
    let signer = signer.ok_or("it is signed with a key that is not trusted")?;
    let signature = unhex(signature).ok_or("its signature is none")?;
    let signed = format!("{FORMAT} {key}\n{body}");
    signer
        .verify_strict(signed.as_bytes(), &Signature::from_bytes(&signature))
        .map_err(|_| "its signature is wrong: it was changed after it was signed")?;
    serde_json::from_str(body).map_err(|e| format!("it can't be read: {e}"))
}

/// As lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, b| {
        let _ = write!(text, "{b:02x}");
        text
    })
}

/// As many bytes as are asked for, no more and no fewer.
pub fn unhex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(c.to_digit(16)?).ok())
        .collect();
    let digits = digits.filter(|d| d.len() == 2 * N)?;
    let bytes: Vec<u8> = digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect();
    bytes.try_into().ok()
}
