//! The two dependencies.

use super::edits::read;
use super::origin::Origin;
use std::path::{Path, PathBuf};
use toml_edit::{DocumentMut, InlineTable, Item, Table, Value};

/// The manifest with our crates among the dependencies.
pub(super) struct Manifest {
    pub(super) path: PathBuf,
    pub(super) old: String,
    /// What was there stays as it is, down to its comments.
    pub(super) new: String,
    /// A folder of this machine that it names.
    pub(super) only_here: Option<PathBuf>,
}

impl Manifest {
    /// Of the crate in this folder.
    pub(super) fn with_dependencies(dir: &Path) -> Result<Manifest, String> {
        let path = dir.join("Cargo.toml");
        let old = read(&path)?.ok_or_else(|| format!("{} is not there", path.display()))?;
        let mut manifest: DocumentMut = old
            .parse()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        let origin = Origin::of(dir);
        let mut only_here = None;
        let mut is_new = false;
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
                dependencies.insert(name, Item::Value(dependency(name, &origin)));
                is_new = true;
                if let Origin::Here(folder) = &origin {
                    only_here = Some(folder.clone());
                }
            }
        }
        // Written anew, its lines may end otherwise.
        let new = if is_new {
            manifest.to_string()
        } else {
            old.clone()
        };
        Ok(Manifest {
            path,
            old,
            new,
            only_here,
        })
    }
}

/// The build script of the crate in this folder, relative to that, whether it is there or not; `None` if there is to be none.
pub(super) fn build_script(dir: &Path) -> Result<Option<String>, String> {
    let path = dir.join("Cargo.toml");
    let text = read(&path)?.unwrap_or_default();
    let manifest: DocumentMut = text
        .parse()
        .map_err(|e| format!("{}: {e}", path.display()))?;
    let key = manifest.get("package").and_then(|p| p.get("build"));
    Ok(match key.map(|k| (k.as_bool(), k.as_str())) {
        Some((Some(false), _)) => None,
        Some((_, Some(path))) => Some(path.to_owned()),
        _ => Some("build.rs".into()),
    })
}

/// The crate of this program's own version. The version stands there in any case: without one, cargo makes no package.
fn dependency(name: &str, origin: &Origin) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    let mut table = InlineTable::new();
    table.insert("version", version.into());
    match origin {
        Origin::Git { url, rev } => {
            table.insert("git", url.into());
            table.insert("rev", rev.into());
        }
        Origin::Beside(folder) | Origin::Here(folder) => {
            // Cargo takes `/` everywhere.
            let path = folder.join(name).display().to_string();
            table.insert("path", path.replace('\\', "/").into());
        }
        Origin::Registry => return version.into(),
    }
    table.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_says_where_it_is_and_which_version() {
        let check = |origin: Origin, expected: &str| {
            let written = dependency("tensorize-rt", &origin).to_string();
            let expected = expected.replace("VERSION", env!("CARGO_PKG_VERSION"));
            assert_eq!(written, expected);
        };
        let git = Origin::Git {
            url: "https://example.org/t".into(),
            rev: "abc".into(),
        };
        check(
            git,
            "{ version = \"VERSION\", git = \"https://example.org/t\", rev = \"abc\" }",
        );
        check(
            Origin::Beside("../t".into()),
            "{ version = \"VERSION\", path = \"../t/tensorize-rt\" }",
        );
        check(Origin::Registry, "\"VERSION\"");
    }
}
