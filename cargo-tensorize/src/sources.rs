//! The C and C++ files below a folder, and how each is compiled: as the build script says, as `compile_commands.json`
//! says, or plainly.

pub mod cc_calls;
mod compile_commands;
mod ignore_files;

use crate::commands::from_current_dir;
use crate::diagnostics::Diagnostic;
use crate::source::Source;
use compile_commands::CompileCommands;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use tensorize_build::Settings;

/// Which files are looked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Globs as in a `.gitignore`: a file must match one of these, if there are any, and none that starts with `!`.
    pub globs: Vec<String>,
    /// The compilation database; looked for in the folder and in its `build/` if there is none.
    pub compile_commands: Option<PathBuf>,
    /// How files are compiled of which nothing else says it.
    pub flags: Vec<String>,
    /// Files elsewhere as well that the compilation database names.
    pub elsewhere: bool,
}

/// Endings of C and C++ sources.
const ENDINGS: [&str; 6] = ["c", "cc", "cpp", "cxx", "c++", "C"];

/// Whether a file is a C or C++ source by its name.
pub fn is_source(path: &Path) -> bool {
    path.extension()
        .is_some_and(|e| ENDINGS.iter().any(|known| e == *known))
}

/// Every source below the folder, in order, then those elsewhere if they are wanted. What ignore files name, hidden files and cargo's build folders are left
/// out. `known` are files, by absolute path, of which it is known how they are compiled.
pub fn find(
    root: &Path,
    wanted: &Wanted,
    known: &BTreeMap<PathBuf, Settings>,
) -> Result<Vec<Source>, Box<Diagnostic>> {
    let database = |path: &Path| {
        CompileCommands::read(path).map_err(|why| {
            let message = format!("{} cannot be read: {why}", path.display());
            let help = "mend or remove it, or name another one with --compile-commands";
            Box::new(Diagnostic::error("TZ0110", message).help(help))
        })
    };
    let database = match &wanted.compile_commands {
        Some(path) => database(path)?,
        None => ["compile_commands.json", "build/compile_commands.json"]
            .iter()
            .map(|at| root.join(at))
            .find(|path| path.exists())
            .map_or_else(|| Ok(CompileCommands::default()), |path| database(&path))?,
    };
    let mut found = Vec::new();
    let mut files = walk(root, globs(root, &wanted.globs)?)?;
    if wanted.elsewhere {
        let here = absolute(root);
        let named = database.files().filter(|file| !file.starts_with(&here));
        files.extend(
            named
                .filter(|file| is_source(file) && file.is_file())
                .map(Path::to_owned),
        );
    }
    for file in files {
        let absolute = absolute(&file);
        let plain = || Settings {
            dir: root.to_owned(),
            flags: wanted.flags.clone(),
            ..Settings::default()
        };
        let settings = known
            .get(&absolute)
            .cloned()
            .or_else(|| database.settings(&absolute))
            .unwrap_or_else(plain);
        found.push(Source {
            file: from_current_dir(&file),
            settings,
        });
    }
    Ok(found)
}

/// The path without links, so that one file has one name.
pub fn absolute(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn globs(root: &Path, globs: &[String]) -> Result<Override, Box<Diagnostic>> {
    let mut builder = OverrideBuilder::new(root);
    for glob in globs {
        let bad = |e: ignore::Error| {
            Box::new(Diagnostic::error(
                "TZ0105",
                format!("the glob `{glob}`: {e}"),
            ))
        };
        builder.add(glob).map_err(bad)?;
    }
    let bad = |e: ignore::Error| Box::new(Diagnostic::error("TZ0105", e.to_string()));
    builder.build().map_err(bad)
}

fn walk(root: &Path, globs: Override) -> Result<Vec<PathBuf>, Box<Diagnostic>> {
    // Those of the folders around count, too.
    absolute(root)
        .ancestors()
        .try_for_each(ignore_files::check)?;
    let refused = Arc::new(Mutex::new(None));
    let refuse = refused.clone();
    let mut files: Vec<PathBuf> = WalkBuilder::new(root)
        .overrides(globs)
        // A project that was unpacked and not cloned has its ignore files, too.
        .require_git(false)
        .filter_entry(move |entry| {
            if is_build_folder(entry) {
                return false;
            }
            if !entry.file_type().is_some_and(|t| t.is_dir()) {
                return true;
            }
            // Before they are read.
            match ignore_files::check(entry.path()) {
                Ok(()) => true,
                Err(d) => {
                    *refuse.lock().unwrap_or_else(PoisonError::into_inner) = Some(d);
                    false
                }
            }
        })
        .build()
        .flatten()
        .filter(|e| e.file_type().is_some_and(|t| t.is_file()))
        .map(DirEntry::into_path)
        .filter(|p| is_source(p))
        .collect();
    files.sort();
    let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
    refused.take().map_or(Ok(files), Err)
}

/// Cargo and others mark what they can make again.
fn is_build_folder(entry: &DirEntry) -> bool {
    entry.depth() > 0
        && entry.file_type().is_some_and(|t| t.is_dir())
        && entry.path().join("CACHEDIR.TAG").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn names(root: &Path, globs: &[&str]) -> Vec<String> {
        let wanted = Wanted {
            globs: globs.iter().map(|g| (*g).to_owned()).collect(),
            ..Wanted::default()
        };
        let found = find(root, &wanted, &BTreeMap::new()).unwrap();
        let name = |s: &Source| s.file.strip_prefix(root).unwrap().display().to_string();
        found.iter().map(name).collect()
    }

    #[test]
    fn ignore_files_globs_and_build_folders_count() {
        let dir = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("a.c", ""),
            ("b.h", ""),
            ("sub/c.cpp", ""),
            ("sub/gen/d.c", ""),
            ("vendor/e.cc", ""),
            ("out/CACHEDIR.TAG", ""),
            ("out/f.c", ""),
            (".hidden/g.c", ""),
            (".gitignore", "/vendor\n"),
            ("sub/.ignore", "gen/\n"),
        ] {
            let path = dir.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        assert_eq!(names(dir.path(), &[]), ["a.c", "sub/c.cpp"]);
        assert_eq!(names(dir.path(), &["*.c"]), ["a.c"]);
        assert_eq!(names(dir.path(), &["!sub/**"]), ["a.c"]);
        let wanted = Wanted {
            globs: vec!["a{".into()],
            ..Wanted::default()
        };
        assert!(find(dir.path(), &wanted, &BTreeMap::new()).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_the_folder_itself_ends() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.c"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
        assert_eq!(names(dir.path(), &[]), ["a.c"]);
    }
}
