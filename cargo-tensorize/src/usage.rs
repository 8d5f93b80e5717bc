//! How much memory this took.

use nix::sys::resource::{UsageWho, getrusage};
use std::fs;

/// The most memory that this process and its children held, in bytes. The solvers run at the same time
/// as we do and are added (`solvers`, from [`peak_of`]); a compiler runs after them, so of all
/// children that are gone only the largest counts.
pub fn peak_rss_bytes(solvers: u64) -> u64 {
    rss(UsageWho::RUSAGE_SELF) + solvers.max(rss(UsageWho::RUSAGE_CHILDREN))
}

fn rss(who: UsageWho) -> u64 {
    // Linux counts in KiB, macOS in bytes.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    getrusage(who).map_or(0, |u| u.max_rss().max(0).unsigned_abs() * unit)
}

/// The peak of another process that still runs; 0 where `/proc` doesn't tell.
pub fn peak_of(pid: u32) -> u64 {
    high_water(pid).unwrap_or(0)
}

fn high_water(pid: u32) -> Option<u64> {
    kib(
        &fs::read_to_string(format!("/proc/{pid}/status")).ok()?,
        "VmHWM:",
    )
}

/// The number of KiB that Linux says of something, in bytes.
pub(crate) fn kib(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_some_memory() {
        assert!(peak_rss_bytes(0) > 1 << 20);
    }
}
