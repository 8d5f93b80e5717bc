//! A call of `Build` for sources of which no build script says how they are compiled.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use tensorize_build::Settings;
use tensorize_build::config::relative_to;

/// A call of `Build`, to be written.
#[derive(Debug, Default)]
pub(super) struct Chain {
    pub(super) files: Vec<String>,
    include: Vec<String>,
    define: Vec<String>,
    /// Each with its value, if that is an argument of its own.
    flags: Vec<Vec<String>>,
    /// The ways in which files are compiled.
    ways: BTreeSet<Vec<String>>,
}

impl Chain {
    /// Takes over what a file is compiled with. How much is optimised goes by the profile.
    pub(super) fn add_flags(&mut self, settings: &Settings, dir: &Path) {
        self.ways.insert(settings.flags.clone());
        let mut flags = settings.flags.iter().peekable();
        while let Some(flag) = flags.next() {
            let mut value = |option: &str| {
                let rest = flag.strip_prefix(option)?;
                if rest.is_empty() {
                    flags.next().cloned()
                } else {
                    Some(rest.to_owned())
                }
            };
            if let Some(folder) = value("-I") {
                let path = crate::sources::absolute(&settings.dir.join(folder));
                add(&mut self.include, written_from(dir, &path));
            } else if let Some(define) = value("-D") {
                add(&mut self.define, define);
            } else if !flag.starts_with("-O") {
                let value = flags.next_if(|f| !f.starts_with('-'));
                let whole = [flag].into_iter().chain(value).cloned().collect();
                add(&mut self.flags, whole);
            }
        }
    }

    /// What to know of it, as comments.
    pub(super) fn remarks(&self, indent: usize) -> String {
        if self.ways.len() < 2 {
            return String::new();
        }
        let line = "// The compilation database has other flags for some files: these are those of all, merged.";
        format!("{:1$}{line}\n", "", indent)
    }

    /// As Rust, from `tensorize_build` to the parenthesis after `compile(…`.
    pub(super) fn text(&self, name: &str, indent: usize) -> String {
        let mut text = "tensorize_build::Build::new()".to_owned();
        let mut call = |arguments: String| {
            let _ = write!(text, "\n{:1$}.{arguments}", "", indent + 4);
        };
        self.files.iter().for_each(|f| call(format!("file({f:?})")));
        self.include
            .iter()
            .for_each(|i| call(format!("include({i:?})")));
        for define in &self.define {
            call(match define.split_once('=') {
                Some((name, value)) => format!("define({name:?}, {value:?})"),
                None => format!("define({define:?}, None)"),
            });
        }
        let flags = self.flags.iter().flatten();
        flags.for_each(|f| call(format!("flag({f:?})")));
        call(format!("compile({name:?})"));
        text
    }
}

/// A path as it is written in a build script: from the package's folder, as long as both lie in one tree.
pub(super) fn written_from(dir: &Path, path: &Path) -> String {
    let shared = dir.ancestors().find(|a| path.starts_with(a));
    match shared.filter(|a| a.parent().is_some()) {
        Some(shared) => {
            let ups = dir
                .strip_prefix(shared)
                .map_or(0, |p| p.components().count());
            "../".repeat(ups) + &relative_to(shared, path)
        }
        None => relative_to(dir, path),
    }
}

fn add<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
