//! Many objects as one library.

use crate::builder::Error;
use crate::store::{Keep, write_atomic};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Makes `lib{name}.a` of these in `out` and has cargo link it; what could not be put there is left to `cc`.
///
/// `cc` appends some thirty objects at a time, and each time `ar` copies what is there: of thousands, that is a thousand
/// megabytes. Told by a file of arguments, as GNU's and LLVM's `ar` can be, it does it at once. What can't is asked in vain.
pub fn at_once(objects: Vec<PathBuf>, name: &str, out: &Path) -> Result<Vec<PathBuf>, Error> {
    let microsofts = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|e| e == "msvc");
    if objects.is_empty() || microsofts {
        return Ok(objects);
    }
    let library = out.join(format!("lib{name}.a"));
    let list = out.join(format!("{name}.objects"));
    let told: OsString = [OsString::from("@"), list.clone().into()]
        .into_iter()
        .collect();
    write_atomic(&list, quoted(&objects).as_bytes(), Keep::IfNothingHappens)
        .map_err(|source| Error::Write { path: list, source })?;
    std::fs::remove_file(&library).ok();
    let made = crate::compiler::asked()
        .try_get_archiver()
        .ok()
        .and_then(|mut ar| {
            ar.env("ZERO_AR_DATE", "1")
                .arg("qcsD")
                .arg(&library)
                .arg(told);
            ar.output().ok()
        })
        .is_some_and(|out| out.status.success());
    if !made || !library.is_file() {
        return Ok(objects);
    }
    println!("cargo::rustc-link-lib=static={name}");
    println!("cargo::rustc-link-search=native={}", out.display());
    Ok(vec![])
}

/// A line each, with what files of arguments want before special characters.
fn quoted(objects: &[PathBuf]) -> String {
    let mut text = String::new();
    for object in objects {
        for c in object.to_string_lossy().chars() {
            if c.is_whitespace() || matches!(c, '\\' | '"' | '\'') {
                text.push('\\');
            }
            text.push(c);
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_may_have_any_name() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("a b's \"c\" \\");
        std::fs::create_dir(&out).unwrap();
        let object = out.join("o.o");
        std::fs::write(&object, "").unwrap();
        let list = out.join("list");
        std::fs::write(&list, quoted(&[object])).unwrap();
        let told: OsString = [OsString::from("@"), list.into()].into_iter().collect();
        let library = out.join("l.a");
        let mut ar = std::process::Command::new("ar");
        let done = ar.arg("qcsD").arg(&library).arg(told).output().unwrap();
        assert!(done.status.success(), "{done:?}");
        assert!(library.is_file());
    }
}
