//! What the user asks for: `[package.metadata.tensorize]`, and `.tensorize/build-script.toml`, in which a build
//! script notes what it compiles so that `cargo tensorize` sees the same.

use crate::guarded;
use crate::record::short_hash;
use crate::store::{Keep, lock, write_atomic};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tensorize_ir::guard::Tier;

/// `[package.metadata.tensorize]` of a manifest. Everything has a default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metadata {
    /// Kernels without an annotation: `"kernels/blend.c::screen_blend"`.
    pub kernels: Vec<String>,
    /// The weakest tier that may be swapped in: `real` (default) or `exact`.
    #[serde(alias = "min-tier")]
    pub tier: Option<TierName>,
    /// What to generate: `["cpu", "numpy"]` by default.
    pub targets: Option<Vec<String>>,
    /// The least share of a kernel's elementwise operators that a target has to compute for the rest to be left to the
    /// machine's cores: 0.5 for `gemmini` by default.
    #[serde(alias = "least-share")]
    pub least_share: Option<f64>,
    /// C files to look at when no build script has noted any.
    pub files: Vec<String>,
    /// Folders for `#include`, relative to the manifest.
    pub include: Vec<String>,
    /// `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
    /// More arguments of the C compiler.
    pub flags: Vec<String>,
    /// How long finding a summary and proving it may take for one kernel, in seconds.
    pub time_limit: Option<f64>,
    /// A program that proposes summaries, and its arguments.
    pub proposer: Vec<String>,
    /// Ask it before our own proposers, not where they fail.
    pub proposer_first: bool,
    /// How long it may take for one kernel, in seconds.
    pub proposer_time_limit: Option<f64>,
}

/// A tier's name in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TierName {
    /// The same bits.
    Exact,
    /// Equal over the real numbers.
    Real,
}

impl Metadata {
    /// The weakest tier that may be swapped in.
    pub fn tier(&self) -> Tier {
        match self.tier {
            Some(TierName::Exact) => Tier::Exact,
            Some(TierName::Real) | None => Tier::Real,
        }
    }

    /// What to generate.
    pub fn targets(&self) -> Vec<String> {
        self.targets
            .clone()
            .unwrap_or_else(|| vec!["cpu".into(), "numpy".into()])
    }

    /// The kernels that are named for this file (relative to the manifest, with `/`).
    pub fn kernels_of<'a>(&'a self, file: &'a str) -> impl Iterator<Item = &'a str> {
        self.kernels.iter().filter_map(move |k| {
            let (f, name) = k.rsplit_once("::")?;
            (clean_path(f) == clean_path(file)).then_some(name)
        })
    }

    /// Reads the table from the manifest in `dir`; all defaults if there is none.
    pub fn load(dir: &Path) -> Result<Metadata, String> {
        let path = dir.join("Cargo.toml");
        let text = guarded::text(&path, guarded::SMALL)
            .map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        Metadata::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
    }

    fn parse(manifest: &str) -> Result<Metadata, String> {
        #[derive(Deserialize)]
        struct Manifest {
            package: Option<Package>,
        }
        #[derive(Deserialize)]
        struct Package {
            metadata: Option<Tools>,
        }
        #[derive(Deserialize)]
        struct Tools {
            tensorize: Option<Metadata>,
        }
        let manifest: Manifest = toml::from_str(manifest).map_err(|e| e.to_string())?;
        let metadata = manifest
            .package
            .and_then(|p| p.metadata)
            .and_then(|m| m.tensorize);
        let metadata = metadata.unwrap_or_default();
        if let Some(share) = metadata.least_share.filter(|s| !(0.0..=1.0).contains(s)) {
            return Err(format!(
                "[package.metadata.tensorize] least_share: {share} should be from 0 to 1"
            ));
        }
        match metadata.kernels.iter().find(|k| !k.contains("::")) {
            Some(k) => Err(format!(
                "[package.metadata.tensorize] kernels: '{k}' should be \"FILE.c::FUNCTION\""
            )),
            None => Ok(metadata),
        }
    }

    /// What the table itself says is to be compiled, if it names files.
    pub fn as_library(&self) -> Option<Library> {
        (!self.files.is_empty()).then(|| Library {
            name: "metadata".into(),
            files: self.files.clone(),
            include: self.include.clone(),
            define: self.define.clone(),
            flags: self.flags.clone(),
            pic: None,
        })
    }
}

/// What one `Build::compile` compiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Library {
    /// Its name.
    pub name: String,
    /// C files, relative to the manifest where they are below it.
    pub files: Vec<String>,
    /// Folders for `#include`, likewise.
    pub include: Vec<String>,
    /// `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
    /// More arguments of the C compiler.
    pub flags: Vec<String>,
    /// Whether it is code that can lie anywhere, if the script says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pic: Option<bool>,
}

/// `.tensorize/build-script.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildManifest {
    /// The hash of the `build.rs` that made these notes, if that is the script's name. Not its time, which a copy, a
    /// checkout or a clock that was wrong says anything about.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    /// Over everything else: half of a list would be taken for kernels that are gone.
    checksum: String,
    /// Every library that the build script compiles.
    #[serde(rename = "library")]
    pub libraries: Vec<Library>,
}

/// No C name, so no kernel's record can be called so.
const BUILD_MANIFEST: &str = "build-script.toml";

/// Whether a file of a store is the build manifest and no record.
pub(crate) fn is_build_manifest(path: &Path) -> bool {
    path.file_name().is_some_and(|n| n == BUILD_MANIFEST)
}

impl BuildManifest {
    /// Where it is, for the manifest in `dir`.
    pub fn path(dir: &Path) -> PathBuf {
        dir.join(".tensorize").join(BUILD_MANIFEST)
    }

    /// Reads it; `None` if there is none or it is damaged. An `Err` is what no build script has written, such as a pipe.
    pub fn load(dir: &Path) -> io::Result<Option<BuildManifest>> {
        let text = match guarded::bytes(&BuildManifest::path(dir), guarded::SMALL) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::InvalidData => return Err(e),
            Err(_) => return Ok(None),
        };
        let manifest: Option<BuildManifest> = toml::from_slice(&text).ok();
        Ok(manifest.filter(|m| m.checksum == m.expected_checksum()))
    }

    /// Whether the build script is still the one that made these notes.
    pub fn is_of_script(&self, dir: &Path) -> bool {
        self.script == script_hash(dir)
    }

    /// Notes a library, in the place of an older one of that name. Nothing is written if nothing changed.
    pub fn note(dir: &Path, library: &Library) -> io::Result<()> {
        let path = BuildManifest::path(dir);
        if let Some(store) = path.parent() {
            fs::create_dir_all(store)?;
        }
        // Another build may add another library to what is read here.
        let _lock = path.parent().and_then(lock);
        let mut manifest = BuildManifest::load(dir)?.unwrap_or_default();
        manifest.script = script_hash(dir);
        if !manifest.libraries.contains(library) {
            manifest.libraries.retain(|l| l.name != library.name);
            manifest.libraries.push(library.clone());
            manifest.libraries.sort_by(|a, b| a.name.cmp(&b.name));
        }
        manifest.checksum = manifest.expected_checksum();
        let text = toml::to_string_pretty(&manifest).map_err(io::Error::other)?;
        let text =
            format!("# What the build script compiles; it keeps this file up to date.\n{text}");
        write_atomic(&path, text.as_bytes(), Keep::Always)
    }

    fn expected_checksum(&self) -> String {
        let bare = BuildManifest {
            checksum: String::new(),
            ..self.clone()
        };
        toml::to_string(&bare).map_or_else(|e| e.to_string(), |text| short_hash(text.as_bytes()))
    }
}

fn script_hash(dir: &Path) -> Option<String> {
    let text = guarded::bytes(&dir.join("build.rs"), guarded::SMALL).ok()?;
    Some(short_hash(&text))
}

/// Whether `FILE.c::NAME` speaks of this file.
pub fn is_in(kernel: &str, file: &str) -> bool {
    kernel
        .rsplit_once("::")
        .is_some_and(|(f, _)| clean_path(f) == clean_path(file))
}

/// `a/./b` and `a\b` as `a/b`.
pub(crate) fn clean_path(path: &str) -> String {
    let parts = path.split(['/', '\\']).filter(|p| *p != ".");
    parts.collect::<Vec<_>>().join("/")
}

/// `path` relative to `dir` if it is below it, with `/`; else as it is.
pub fn relative_to(dir: &Path, path: &Path) -> String {
    let path = path.strip_prefix(dir).unwrap_or(path);
    clean_path(&path.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read() {
        let m = Metadata::parse(
            "[package]\nname = 'x'\n[package.metadata.tensorize]\nkernels = ['./a/b.c::f']\ntier = 'exact'\n",
        )
        .unwrap();
        assert_eq!(m.kernels_of("a/b.c").collect::<Vec<_>>(), ["f"]);
        assert_eq!(m.kernels_of("a/c.c").count(), 0);
        assert_eq!(m.tier(), Tier::Exact);
        assert_eq!(
            Metadata::parse("[package]\nname = 'x'\n").unwrap(),
            Metadata::default()
        );
    }

    #[test]
    fn a_mistake_in_metadata_is_an_error() {
        let head = "[package]\nname = 'x'\n[package.metadata.tensorize]\n";
        assert!(Metadata::parse(&format!("{head}kernel = []\n")).is_err());
        assert!(Metadata::parse(&format!("{head}tier = 'quick'\n")).is_err());
        assert!(Metadata::parse(&format!("{head}least_share = 1.5\n")).is_err());
        assert!(Metadata::parse(&format!("{head}least_share = 'half'\n")).is_err());
        assert!(
            Metadata::parse(&format!("{head}kernels = ['f']\n"))
                .unwrap_err()
                .contains("FILE.c")
        );
    }

    #[test]
    fn a_library_is_noted_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut lib = Library {
            name: "k".into(),
            files: vec!["k.c".into()],
            ..Library::default()
        };
        BuildManifest::note(dir.path(), &lib).unwrap();
        lib.define.push("N=1".into());
        BuildManifest::note(dir.path(), &lib).unwrap();
        let notes = BuildManifest::load(dir.path()).unwrap().unwrap();
        assert_eq!(notes.libraries, [lib]);
    }

    #[test]
    fn half_of_the_notes_are_none() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let library = Library {
                name: name.into(),
                ..Library::default()
            };
            BuildManifest::note(dir.path(), &library).unwrap();
        }
        let path = BuildManifest::path(dir.path());
        let text = fs::read_to_string(&path).unwrap();
        let (first, _) = text.rsplit_once("[[library]]").unwrap();
        fs::write(&path, first).unwrap();
        assert!(toml::from_str::<toml::Table>(first).is_ok(), "{first}");
        assert_eq!(BuildManifest::load(dir.path()).unwrap(), None);
    }

    #[test]
    fn notes_are_of_a_script_whatever_its_time_is() {
        let dir = tempfile::tempdir().unwrap();
        let script = dir.path().join("build.rs");
        let future = std::time::SystemTime::now() + std::time::Duration::from_secs(1_000_000);
        let write = |text: &str, time| {
            fs::write(&script, text).unwrap();
            fs::File::options()
                .write(true)
                .open(&script)
                .unwrap()
                .set_modified(time)
                .unwrap();
        };
        write("fn main() {}", future);
        BuildManifest::note(dir.path(), &Library::default()).unwrap();
        let notes = BuildManifest::load(dir.path()).unwrap().unwrap();
        assert!(notes.is_of_script(dir.path()));
        write("fn main() { }", std::time::SystemTime::UNIX_EPOCH);
        assert!(!notes.is_of_script(dir.path()));
    }
}
