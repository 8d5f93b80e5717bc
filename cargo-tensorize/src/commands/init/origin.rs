//! Where a crate can have our two crates from, so that all who build it find them there.

use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use tensorize_build::guarded;
use toml_edit::DocumentMut;

/// Where they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A repository that others can reach.
    Git { url: String, rev: String },
    /// A folder that comes with the crate, relative to it.
    Beside(PathBuf),
    /// A folder of this machine.
    Here(PathBuf),
    /// Nothing is known, but the version.
    Registry,
}

impl Origin {
    /// For the crate in this folder.
    pub(super) fn of(dir: &Path) -> Origin {
        let program = std::env::current_exe().unwrap_or_default();
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        Origin::find(&program, &sources, dir)
    }

    fn find(program: &Path, sources: &Path, dir: &Path) -> Origin {
        if let Some(found) = installed(program) {
            return found;
        }
        let Ok(sources) = sources.canonicalize() else {
            return Origin::Registry;
        };
        if !sources.join("tensorize-rt/Cargo.toml").is_file() {
            return Origin::Registry;
        }
        let dir = crate::sources::absolute(dir);
        if sources.starts_with(shared(&dir)) {
            return Origin::Beside(from(&dir, &sources));
        }
        published(&sources).unwrap_or(Origin::Here(sources))
    }
}

/// What cargo has noted of a program that it installed from a repository.
fn installed(program: &Path) -> Option<Origin> {
    let notes = program.parent()?.parent()?.join(".crates.toml");
    let notes: DocumentMut = guarded::text(&notes, guarded::SMALL).ok()?.parse().ok()?;
    let ours = concat!("cargo-tensorize ", env!("CARGO_PKG_VERSION"), " (git+");
    let mut keys = notes.get("v1")?.as_table_like()?.iter().map(|(k, _)| k);
    let found = keys.find_map(|k| k.strip_prefix(ours))?;
    let (url, rev) = found.strip_suffix(')')?.rsplit_once('#')?;
    let url = url.split('?').next().unwrap_or(url);
    Some(Origin::Git {
        url: reachable(url)?,
        rev: rev.to_owned(),
    })
}

/// The folder's remote, if that has what is checked out here.
fn published(sources: &Path) -> Option<Origin> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(sources).args(args).stdin(Stdio::null());
        let out = git.output().ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    };
    let url = reachable(&git(&["remote", "get-url", "origin"])?)?;
    let rev = git(&["rev-parse", "HEAD"])?;
    let is_there = !git(&["branch", "--remotes", "--contains", &rev])?.is_empty();
    let is_all = git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty();
    (is_there && is_all).then_some(Origin::Git { url, rev })
}

/// An address as cargo takes it, without anybody's password; `None` for a folder of this machine.
fn reachable(url: &str) -> Option<String> {
    match url.split_once("://") {
        Some(("file", _)) => None,
        Some((scheme @ ("http" | "https"), rest)) => {
            let (host, path) = rest.split_once('/')?;
            let host = host.rsplit('@').next().unwrap_or(host);
            Some(format!("{scheme}://{host}/{path}"))
        }
        Some(_) => Some(url.to_owned()),
        // `git@host:path`, unless the colon belongs to a path.
        None => {
            let (host, path) = url.split_once(':')?;
            let is_host = host.len() > 1 && !host.contains(['/', '\\']);
            is_host.then(|| format!("ssh://{host}/{}", path.trim_start_matches('/')))
        }
    }
}

/// The folder that whoever has the crate has, too: its repository, or its workspace.
fn shared(dir: &Path) -> &Path {
    let repository = dir.ancestors().find(|d| d.join(".git").exists());
    let is_workspace = |d: &&Path| {
        let manifest = guarded::text(&d.join("Cargo.toml"), guarded::SMALL);
        manifest.is_ok_and(|m| m.lines().any(|l| l.trim() == "[workspace]"))
    };
    repository
        .or_else(|| dir.ancestors().find(is_workspace))
        .unwrap_or(dir)
}

/// The way from one folder to another.
fn from(dir: &Path, to: &Path) -> PathBuf {
    let shared = dir.components().zip(to.components());
    let shared = shared.take_while(|(a, b)| a == b).count();
    let up = dir.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn folder(root: &Path, files: &[&str]) {
        for file in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }

    fn git(dir: &Path, args: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=n", "-c", "user.email=e@example.org"]);
        let out = git.arg("-C").arg(dir).args(args).output().unwrap();
        assert!(out.status.success(), "{out:?}");
    }

    #[test]
    fn what_cargo_installed_from_a_repository_is_there() {
        let dir = tempfile::tempdir().unwrap();
        folder(dir.path(), &["bin/cargo-tensorize"]);
        let program = dir.path().join("bin/cargo-tensorize");
        let find = |source: &str| {
            let version = env!("CARGO_PKG_VERSION");
            let text = format!(
                "[v1]\n\"other 1.0.0 (git+https://example.org/o#1)\" = [\"o\"]\n\
                 \"cargo-tensorize {version} ({source})\" = [\"cargo-tensorize\"]\n"
            );
            fs::write(dir.path().join(".crates.toml"), text).unwrap();
            Origin::find(&program, Path::new("/nowhere"), dir.path())
        };
        let expected = Origin::Git {
            url: "https://example.org/t".into(),
            rev: "abc".into(),
        };
        assert_eq!(find("git+https://example.org/t?branch=main#abc"), expected);
        assert_eq!(find("git+https://me:secret@example.org/t#abc"), expected);
        assert_eq!(find("path+file:///somewhere"), Origin::Registry);
    }

    #[test]
    fn a_folder_that_comes_with_the_crate_is_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        folder(&root, &["a/x/Cargo.toml", "a/t/tensorize-rt/Cargo.toml"]);
        let nobody = Path::new("");
        let find = || Origin::find(nobody, &root.join("a/t"), &root.join("a/x"));
        assert_eq!(find(), Origin::Here(root.join("a/t")));
        fs::write(root.join("a/Cargo.toml"), "[workspace]\n").unwrap();
        assert_eq!(find(), Origin::Beside("../t".into()));
        // Of two repositories neither has the other.
        fs::create_dir(root.join("a/x/.git")).unwrap();
        assert_eq!(find(), Origin::Here(root.join("a/t")));
    }

    #[test]
    fn a_remote_counts_if_it_has_what_is_checked_out() {
        let dir = tempfile::tempdir().unwrap();
        let sources = dir.path().canonicalize().unwrap().join("t");
        folder(&sources, &["tensorize-rt/Cargo.toml"]);
        let elsewhere = tempfile::tempdir().unwrap();
        let find = || Origin::find(Path::new(""), &sources, elsewhere.path());
        let here = Origin::Here(sources.clone());
        git(&sources, &["init", "-q"]);
        git(&sources, &["add", "."]);
        git(&sources, &["commit", "-q", "-m", "all"]);
        assert_eq!(find(), here);
        git(
            &sources,
            &["remote", "add", "origin", "git@example.org:me/t.git"],
        );
        assert_eq!(find(), here, "nobody has pushed it");
        git(
            &sources,
            &["update-ref", "refs/remotes/origin/main", "HEAD"],
        );
        let found = find();
        let Origin::Git { url, rev } = &found else {
            panic!("{found:?}")
        };
        assert_eq!(url, "ssh://git@example.org/me/t.git");
        assert_eq!(rev.len(), 40);
        fs::write(sources.join("tensorize-rt/Cargo.toml"), "# changed\n").unwrap();
        assert_eq!(find(), here);
    }

    #[test]
    fn an_address_that_only_this_machine_has_is_none() {
        assert_eq!(reachable("file:///srv/t"), None);
        assert_eq!(reachable("/srv/t"), None);
        assert_eq!(reachable("../t:1"), None);
        assert_eq!(reachable("C:\\t"), None);
        assert_eq!(reachable("ssh://h/t"), Some("ssh://h/t".into()));
    }
}
