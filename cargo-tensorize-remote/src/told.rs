//! What went wrong, in one line that a person can do something with.

use std::error::Error;

/// Stores answer with pages, and errors tell the texts of their causes again.
pub fn in_a_line(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    let code = code(&text).map(|code| format!(" ({code})"));
    let line = text.lines().next().unwrap_or_default();
    let line = line.split(": <").next().unwrap_or_default();
    let hint = line
        .contains("certificate")
        .then_some("; SSL_CERT_FILE can name a file of certificates to trust");
    format!(
        "{line}{}{}",
        code.unwrap_or_default(),
        hint.unwrap_or_default()
    )
}

/// What the store itself calls it.
pub fn code(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("<Code>")?;
    let (code, _) = rest.split_once("</Code>")?;
    code.chars().all(char::is_alphanumeric).then_some(code)
}
