//! Files of a checkout, which a stranger may have made: no pipe that nobody writes to, nothing endless.
//!
//! Whoever reads one goes through here, so that what hangs or fills the memory is an error that can be told.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// No record, manifest, build script or generated source comes near to this, in bytes.
pub const SMALL: u64 = 16 << 20;

/// The largest C file that is read, in bytes.
pub const SOURCE: u64 = 32 << 20;

/// An error for what is no file, or is larger than this. It does not name the file.
pub fn check(path: &Path, most: u64) -> io::Result<()> {
    let meta = fs::metadata(path)?;
    if !meta.is_file() {
        let what = if meta.is_dir() {
            "a folder"
        } else {
            "a pipe or a device"
        };
        return Err(invalid(format!("it is no file but {what}")));
    }
    if meta.len() > most {
        return Err(too_large(most));
    }
    Ok(())
}

/// What the file holds.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    check(path, most)?;
    let mut all = Vec::new();
    // It may grow meanwhile, and some files have no length.
    File::open(path)?.take(most + 1).read_to_end(&mut all)?;
    if all.len() as u64 > most {
        return Err(too_large(most));
    }
    Ok(all)
}

/// The same of a text.
pub fn text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(bytes(path, most)?).map_err(|_| invalid("it is no UTF-8".into()))
}

fn too_large(most: u64) -> io::Error {
    invalid(format!("it is larger than {} MiB", most >> 20))
}

fn invalid(why: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let why = |path: &Path| bytes(path, 1 << 20).unwrap_err().to_string();
        assert_eq!(why(dir.path()), "it is no file but a folder");
        let long = dir.path().join("long");
        File::create(&long).unwrap().set_len(1 << 40).unwrap();
        assert_eq!(why(&long), "it is larger than 1 MiB");
        let short = dir.path().join("short");
        fs::write(&short, b"caf\xe9").unwrap();
        assert_eq!(bytes(&short, SMALL).unwrap(), b"caf\xe9");
        assert!(
            text(&short, SMALL)
                .unwrap_err()
                .to_string()
                .contains("UTF-8")
        );
    }

    #[cfg(unix)]
    #[test]
    fn nor_what_has_no_beginning() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        for path in [pipe, link] {
            let why = bytes(&path, SMALL).unwrap_err().to_string();
            assert_eq!(why, "it is no file but a pipe or a device");
        }
    }
}
