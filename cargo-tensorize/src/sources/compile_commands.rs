//! Clang's compilation database: <https://clang.llvm.org/docs/JSONCompilationDatabase.html>.

use crate::flags;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tensorize_build::{Settings, guarded};

/// Databases of the largest projects have some hundred MiB, in bytes.
const LARGEST: u64 = 1 << 30;

/// How files are compiled, by absolute path.
#[derive(Clone, Debug, Default)]
pub(super) struct CompileCommands(BTreeMap<PathBuf, Settings>);

#[derive(Deserialize)]
struct Entry {
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    command: String,
}

impl CompileCommands {
    /// Reads a database. Of several commands for a file, the first counts.
    pub(super) fn read(path: &Path) -> Result<CompileCommands, String> {
        let text = guarded::bytes(path, LARGEST).map_err(|e| e.to_string())?;
        let entries: Vec<Entry> = serde_json::from_slice(&text).map_err(|e| e.to_string())?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let mut all = BTreeMap::new();
        for entry in entries {
            let dir = super::absolute(&folder.join(&entry.directory));
            let args = if entry.arguments.is_empty() {
                shlex::split(&entry.command).unwrap_or_default()
            } else {
                entry.arguments
            };
            let file = super::absolute(&dir.join(&entry.file));
            all.entry(file).or_insert_with(|| Settings {
                flags: meaning(args.get(1..).unwrap_or_default()),
                dir,
                ..Settings::default()
            });
        }
        Ok(CompileCommands(all))
    }

    /// The absolute paths of all files that it names, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.keys().map(PathBuf::as_path)
    }

    /// How the file at this absolute path is compiled.
    pub(super) fn settings(&self, file: &Path) -> Option<Settings> {
        self.0.get(file).cloned()
    }
}

/// The arguments that decide what the C means. Others are left out, and so are those by which a database from
/// somebody else could load code into the compiler.
pub(super) fn meaning(args: &[String]) -> Vec<String> {
    /// With their value as the next argument, or at once.
    const WITH_VALUE: [&str; 9] = [
        "-isystem",
        "-iquote",
        "-idirafter",
        "-include",
        "-isysroot",
        "-I",
        "-D",
        "-U",
        "-target",
    ];
    const PLAIN: [&str; 8] = [
        "-std=",
        "--std=",
        "--sysroot=",
        "--target=",
        "-f",
        "-m",
        "-O",
        "-nostdinc",
    ];
    let mut kept = Vec::new();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if flags::objection_to(arg).is_some() {
            continue;
        }
        if WITH_VALUE.contains(&arg.as_str()) {
            let Some(value) = args.next() else { break };
            kept.extend([arg.clone(), value.clone()]);
        } else if WITH_VALUE.iter().chain(&PLAIN).any(|p| arg.starts_with(p)) {
            kept.push(arg.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_commands_are_read_and_plugins_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for file in ["a.c", "b.c"] {
            std::fs::write(root.join(file), "").unwrap();
        }
        let json = serde_json::json!([
            {"directory": ".", "file": "a.c", "arguments":
                ["gcc", "-c", "-I", "inc", "-DN=1", "-std=c11", "-Xclang", "-load", "-Xclang", "x.so",
                 "-fplugin=x.so", "-Wall", "-o", "a.o", "a.c"]},
            {"directory": root, "file": root.join("b.c"),
                "command": "cc -D'NAME=\"a b\"' -include pre.h -ffast-math -c b.c"},
        ]);
        let path = root.join("compile_commands.json");
        std::fs::write(&path, json.to_string()).unwrap();
        let database = CompileCommands::read(&path).unwrap();
        let a = database.settings(&root.join("a.c")).unwrap();
        assert_eq!(a.flags, ["-I", "inc", "-DN=1", "-std=c11"]);
        assert_eq!(a.dir, root);
        let b = database.settings(&root.join("b.c")).unwrap();
        assert_eq!(
            b.flags,
            ["-DNAME=\"a b\"", "-include", "pre.h", "-ffast-math"]
        );
        std::fs::write(&path, "{").unwrap();
        assert!(CompileCommands::read(&path).is_err());
    }
}
