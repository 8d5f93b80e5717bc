//! A Rust file, and the text in which places in it are counted.

/// A file that is Rust.
pub(super) struct Parsed<'a> {
    /// A byte order mark and a `#!` line: places are counted from after them.
    pub(super) prefix: &'a str,
    /// What follows.
    pub(super) text: &'a str,
    pub(super) file: syn::File,
}

impl Parsed<'_> {
    /// An `Err` is what is no Rust.
    pub(super) fn of(text: &str) -> Result<Parsed<'_>, String> {
        let file = syn::parse_file(text).map_err(|e| e.to_string())?;
        let mark = text
            .strip_prefix('\u{feff}')
            .map_or(0, |_| '\u{feff}'.len_utf8());
        let shebang = file.shebang.as_ref().map_or(0, String::len);
        let (prefix, text) = text.split_at_checked(mark + shebang).unwrap_or(("", text));
        Ok(Parsed { prefix, text, file })
    }
}
