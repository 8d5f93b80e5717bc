//! What the tests that read sources have in common.

use tensorize_lift::c::{Parsed, parse};

/// The functions of a source, from a file of its own: tests run side by side. `name` ends as its language asks for.
pub fn parsed(name: &str, source: &str, args: &[&str]) -> Vec<Parsed> {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join(name);
    std::fs::write(&file, source).unwrap();
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    parse(&file, &args).unwrap_or_else(|p| panic!("{}", p.message))
}
