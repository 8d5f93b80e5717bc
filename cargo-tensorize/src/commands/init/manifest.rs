//! The two dependencies.

use super::edits::read;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// The manifest's path, its text, and its text with our crates among the dependencies. What is there stays as it is,
/// down to its comments.
pub(super) fn with_dependencies(dir: &Path) -> Result<(PathBuf, String, String), String> {
    let path = dir.join("Cargo.toml");
    let old = read(&path)?.ok_or_else(|| format!("{} is not there", path.display()))?;
    let mut manifest: DocumentMut = old
        .parse()
        .map_err(|e| format!("{}: {e}", path.display()))?;
    for (table, name) in [
        ("dependencies", "tensorize-rt"),
        ("build-dependencies", "tensorize-build"),
    ] {
        let dependencies = manifest
            .entry(table)
            .or_insert_with(|| Item::Table(Table::new()));
        let dependencies = dependencies
            .as_table_like_mut()
            .ok_or_else(|| format!("{}: `{table}` is no table", path.display()))?;
        if !dependencies.contains_key(name) {
            dependencies.insert(name, Item::Value(dependency(name)));
        }
    }
    let new = manifest.to_string();
    Ok((path, old, new))
}

/// The crate of this program's own version: from its sources, where it was built from sources that are still there. The version
/// stands there in any case: without one, cargo makes no package.
fn dependency(name: &str) -> Value {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    match sources.canonicalize() {
        Ok(path) => {
            let mut table = InlineTable::new();
            table.insert("version", env!("CARGO_PKG_VERSION").into());
            table.insert("path", path.display().to_string().into());
            table.into()
        }
        Err(_) => env!("CARGO_PKG_VERSION").into(),
    }
}
