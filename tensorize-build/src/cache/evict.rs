//! Keeping the cache within its size: what was not used for the longest time goes first.

use super::{Cache, Held, LOCKS, is_hash};
use crate::store::list;
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How large the cache may become if nothing else is said, in bytes.
const USUAL: u64 = 1 << 30;

/// What eviction left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Bytes of all results.
    pub bytes: u64,
    /// How many there are.
    pub results: usize,
}

/// A result's folder.
struct Kept {
    folder: PathBuf,
    hash: String,
    bytes: u64,
    /// When it was last used; `None` if it has no record, which is what a killed writer leaves.
    used: Option<SystemTime>,
}

impl Cache {
    /// `TENSORIZE_CACHE_SIZE` in bytes, 1 GiB if it is not set. The error says how it is written.
    pub fn limit() -> Result<u64, String> {
        match env::var("TENSORIZE_CACHE_SIZE") {
            Ok(text) if !text.is_empty() => size(&text).ok_or_else(|| {
                format!("TENSORIZE_CACHE_SIZE is `{text}`; it is written like 500M or 2G")
            }),
            _ => Ok(USUAL),
        }
    }

    /// How large it is.
    pub fn size(&self) -> Size {
        let all = self.kept();
        Size {
            bytes: all.iter().map(|k| k.bytes).sum(),
            results: all.iter().filter(|k| k.used.is_some()).count(),
        }
    }

    /// Removes what was not used for the longest time, until a tenth less than `limit` bytes are left if it was more
    /// than that. What somebody reads or writes at this moment stays. One process at a time does it.
    pub fn evict(&self, limit: u64) -> io::Result<()> {
        let locks = self.dir.join(LOCKS);
        let Ok(alone) = File::create(locks.join("evict")) else {
            // There is no cache, or none that we may remove anything from.
            return Ok(());
        };
        let Some(_alone) = Held::alone(alone) else {
            return Ok(());
        };
        let mut all = self.kept();
        let mut bytes: u64 = all.iter().map(|k| k.bytes).sum();
        let (left_over, mut all): (Vec<Kept>, Vec<Kept>) =
            all.drain(..).partition(|k| k.used.is_none());
        for kept in left_over {
            if self.remove(&kept)? {
                bytes -= kept.bytes;
            }
        }
        if bytes <= limit {
            return Ok(());
        }
        // A clock that was ahead must not keep a result for ever.
        let now = SystemTime::now();
        all.sort_by_key(|k| k.used.filter(|used| *used <= now));
        for kept in all {
            if bytes <= limit - limit / 10 {
                break;
            }
            if self.remove(&kept)? {
                bytes -= kept.bytes;
            }
        }
        Ok(())
    }

    /// Whether it could be removed: nobody was reading or writing it.
    fn remove(&self, kept: &Kept) -> io::Result<bool> {
        let Ok(lock) = File::open(self.lock_of(&kept.hash)) else {
            return Ok(false);
        };
        let Some(_held) = Held::alone(lock) else {
            return Ok(false);
        };
        // The record first: whenever this is cut short, there is a whole result or none.
        for record in list(&kept.folder).into_iter().filter(|p| is_record(p)) {
            fs::remove_file(record)?;
        }
        fs::remove_dir_all(&kept.folder)?;
        if let Some(of_hash) = kept.folder.parent() {
            // It stays if there are others in it.
            fs::remove_dir(of_hash).ok();
        }
        Ok(true)
    }

    fn kept(&self) -> Vec<Kept> {
        let name = |p: &PathBuf| p.file_name().and_then(|n| n.to_str()).map(String::from);
        let mut all = Vec::new();
        for of_hash in list(&self.dir) {
            let Some(hash) = name(&of_hash).filter(|n| is_hash(n)) else {
                continue;
            };
            for folder in list(&of_hash) {
                let record = list(&folder).into_iter().find(|p| is_record(p));
                let used = record.and_then(|r| fs::symlink_metadata(r).ok()?.modified().ok());
                all.push(Kept {
                    bytes: bytes(&folder),
                    hash: hash.clone(),
                    used,
                    folder,
                });
            }
        }
        all
    }
}

fn is_record(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "toml")
}

/// Of the files of a result: in its folder and in those of its targets.
fn bytes(folder: &Path) -> u64 {
    let length = |p: &PathBuf| match fs::symlink_metadata(p) {
        Ok(m) if m.is_file() => m.len(),
        Ok(m) if m.is_dir() => bytes(p),
        _ => 0,
    };
    list(folder).iter().map(length).sum()
}

/// `500M` in bytes. Units are powers of 1024.
fn size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_uppercase();
    let shift = match unit
        .strip_suffix("IB")
        .or(unit.strip_suffix('B'))
        .unwrap_or(&unit)
    {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", Some(0)),
            ("17", Some(17)),
            ("17B", Some(17)),
            ("3k", Some(3 << 10)),
            ("500M", Some(500 << 20)),
            ("2 GiB", Some(2 << 30)),
            ("1TB", Some(1 << 40)),
            ("", None),
            ("M", None),
            ("-1", None),
            ("1.5G", None),
            ("2 G a day", None),
            ("99999999999T", None),
        ] {
            assert_eq!(size(text), bytes, "{text}");
        }
    }
}
