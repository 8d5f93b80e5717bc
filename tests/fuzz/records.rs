//! Where nobody edited it, an input is a record as it was written.

use tensorize_build::record::Record;

/// Fails for an input that is read, and written as something else; also of one whose checksum was made to fit.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    read(&text);
    if let Some(text) = forged(&text) {
        read(&text);
    }
}

/// The record, if there is one.
pub fn read(text: &str) -> Option<Record> {
    let record = Record::from_toml(text).ok()?;
    let again = record.to_toml().expect("what was read can be written");
    let again = Record::from_toml(&again);
    // Debug text, since a measured error that is no number is like no other.
    assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ()>(&record)));
    Some(record)
}

/// The record with the checksum that a forger would give it.
pub fn forged(text: &str) -> Option<String> {
    let line = text.lines().find(|l| l.starts_with("checksum = "))?;
    let head = format!("{}\n", text.replacen(line, "checksum = \"\"", 1));
    let mut value: toml::Table = toml::from_str(&head).ok()?;
    value.remove("checksum");
    let mut record: Record = value.try_into().ok()?;
    record.seal();
    record.to_toml().ok()
}
