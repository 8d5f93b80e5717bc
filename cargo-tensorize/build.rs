//! Gives results in the shared cache the mark of the sources that proved them: of two programs of one version, as they
//! are while one works on this program, neither takes the other's word. In a package from a registry, where the other
//! crates lie elsewhere, the version alone tells programs apart.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Whatever takes part in finding, proving, generating and storing a result.
const CRATES: [&str; 6] = [
    "tensorize-ir",
    "tensorize-prove",
    "tensorize-lift",
    "tensorize-build",
    "backends",
    "cargo-tensorize",
];

fn main() {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_PKG_VERSION").hash(&mut hasher);
    for name in CRATES {
        let folder = Path::new("..").join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        for path in files(&folder) {
            path.hash(&mut hasher);
            fs::read(&path).unwrap_or_default().hash(&mut hasher);
        }
    }
    println!(
        "cargo::rustc-env=TENSORIZE_SOURCES={:016x}",
        hasher.finish()
    );
}

fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all = BTreeSet::new();
    for path in entries.map(|e| e.path()) {
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => {
                all.insert(path);
            }
        }
    }
    all
}
