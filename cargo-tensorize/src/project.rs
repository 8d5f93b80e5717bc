//! A Cargo project's kernels: which packages, which files with which flags, which functions.

use crate::cargo_error::CargoError;
use crate::cli::Project;
use crate::commands::from_current_dir;
use crate::diagnostics::Diagnostic;
use crate::flags;
use crate::progress::Progress;
use cargo_metadata::{CargoOpt, Metadata, MetadataCommand};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;
use tensorize_build::compiler::in_build_script;
use tensorize_build::config::{self, BuildManifest, Library, relative_to};
use tensorize_build::{Settings, guarded};

/// A package whose kernels are looked at.
#[derive(Clone, Debug)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// The folder of its manifest.
    pub dir: PathBuf,
    /// Its build script, if it has one.
    pub script: Option<PathBuf>,
    /// `[package.metadata.tensorize]`.
    pub metadata: config::Metadata,
    /// What its build script compiles.
    pub libraries: Vec<Library>,
    /// The build script, which was asked, compiles something else than was noted.
    pub was_noted_wrongly: bool,
}

impl Package {
    /// Every file that is compiled, relative to the manifest where it is below it, with how that is done.
    pub fn files(&self) -> Vec<(String, Settings)> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        for library in &self.libraries {
            let how = Settings::of(&self.dir, library);
            let new = library.files.iter().filter(|f| seen.insert((*f).clone()));
            files.extend(new.map(|file| (file.clone(), how.clone())));
        }
        files
    }

    /// Whether somebody has asked for the targets that there are, which are the default ones else.
    pub fn asks_for_targets(&self, project: &Project) -> bool {
        self.metadata.targets.is_some() || !project.targets.is_empty()
    }

    /// What to generate code for: what the command line says, else the configuration.
    pub fn wanted_targets(&self, project: &Project) -> Vec<String> {
        let mut targets = if project.targets.is_empty() {
            self.metadata.targets()
        } else {
            project.targets.clone()
        };
        let mut seen = BTreeSet::new();
        targets.retain(|t| seen.insert(t.clone()));
        targets
    }
}

/// The packages that the command line chooses. Where it is not known what their build scripts compile, these are run.
pub fn packages(project: &Project) -> Result<Vec<Package>, Box<Diagnostic>> {
    found(project, true)
}

/// The same, but nothing is run: what the build scripts noted some time ago is all that is known of them.
pub fn packages_as_noted(project: &Project) -> Result<Vec<Package>, Box<Diagnostic>> {
    found(project, false)
}

fn found(project: &Project, may_run: bool) -> Result<Vec<Package>, Box<Diagnostic>> {
    let metadata = cargo_metadata(project)?;
    settings_of_packages(&metadata)?;
    let mut found = Vec::new();
    for p in chosen(&metadata, project)? {
        let Some(dir) = p.manifest_path.parent().map(|d| d.as_std_path().to_owned()) else {
            continue;
        };
        let table = config::Metadata::load(&dir).map_err(|why| {
            let help = "see `[package.metadata.tensorize]` in the documentation of cargo-tensorize";
            Box::new(Diagnostic::error("TZ0701", why).help(help))
        })?;
        let depends = p.dependencies.iter().any(|d| d.name == "tensorize-build");
        let uses_build_script = may_run && depends;
        let text = || guarded::bytes(&BuildManifest::path(&dir), guarded::SMALL).ok();
        let before = text();
        let ran = if uses_build_script {
            run_build_script(&p.name, &dir, noted(&dir)?, project)
        } else {
            Ok(())
        };
        let noted = noted(&dir)?;
        // What was noted some time ago is good enough to work with, but not to be a gate.
        if let Err(why) = ran
            && (project.locked || (noted.is_none() && table.files.is_empty()))
        {
            let has_lock = metadata.workspace_root.join("Cargo.lock").exists();
            return Err(Box::new(not_asked(&p.name, why, has_lock)));
        }
        if uses_build_script
            && noted.is_none()
            && table.files.is_empty()
            && let Err(e) = has_a_store(&dir)
        {
            let shown = dir.join(".tensorize");
            let message = format!("cannot write {}: {e}", shown.display());
            let help = "the build script notes there what it compiles, and results are stored there: see that it is a folder, \
                        and that it can be written to";
            return Err(Box::new(Diagnostic::error("TZ0703", message).help(help)));
        }
        let was_noted_wrongly = before.is_some() && before != text();
        let noted = noted.map(|m| m.libraries).unwrap_or_default();
        let libraries = if noted.is_empty() {
            table.as_library().into_iter().collect()
        } else {
            noted
        };
        libraries.iter().try_for_each(|l| harmless(&dir, l))?;
        let script = p.targets.iter().find(|t| t.is_custom_build());
        found.push(Package {
            name: p.name.to_string(),
            script: script.map(|t| t.src_path.as_std_path().to_owned()),
            dir,
            metadata: table,
            libraries,
            was_noted_wrongly,
        });
    }
    Ok(found)
}

/// Of a package whose build script could not be run.
fn not_asked(name: &str, why: CargoError, has_lock: bool) -> Diagnostic {
    let help = match (why.is_about_the_lock_file(), has_lock) {
        (true, false) => {
            "there is no Cargo.lock, and --locked writes none: run `cargo generate-lockfile` and commit Cargo.lock (take it out of \
             .gitignore if it stands there), so that all build the same"
        }
        (true, true) => {
            "Cargo.lock is not that of the manifests, and --locked leaves it as it is: run `cargo check` without --locked, and commit \
             Cargo.lock"
        }
        (false, _) => {
            "`cargo check` has to succeed, so that it is known which C files are compiled, and how"
        }
    };
    let first = why.first.strip_prefix("error: ").unwrap_or(&why.first);
    let message = format!("the build script of `{name}` could not be asked: {first}");
    let d = Diagnostic::error("TZ0113", message).help(help);
    match why.rest.is_empty() || why.is_about_the_lock_file() {
        true => d,
        false => d.note(why.rest),
    }
}

fn cargo_metadata(project: &Project) -> Result<Metadata, Box<Diagnostic>> {
    let mut command = MetadataCommand::new();
    command.features(CargoOpt::AllFeatures).no_deps();
    if let Some(path) = &project.manifest_path {
        command.manifest_path(path);
    }
    command.other_options(cargo_flags(project));
    command.exec().map_err(|e| {
        let why = match e {
            cargo_metadata::Error::CargoMetadata { stderr } => stderr.trim().to_owned(),
            e => e.to_string(),
        };
        let help = "run it where a Cargo.toml is, or name one with --manifest-path; C files without a project \
                    are for `cargo tensorize lift FILE.c`";
        Box::new(Diagnostic::error("TZ0702", format!("cargo metadata: {why}")).help(help))
    })
}

/// An error for settings of a whole workspace, which would hold here and not where one of its packages is built from a registry.
fn settings_of_packages(metadata: &Metadata) -> Result<(), Box<Diagnostic>> {
    if metadata.workspace_metadata.get("tensorize").is_none() {
        return Ok(());
    }
    let manifest = from_current_dir(metadata.workspace_root.join("Cargo.toml").as_std_path());
    let message = format!(
        "{} has `[workspace.metadata.tensorize]`, which no package has where it is built from a registry",
        manifest.display()
    );
    let help =
        "write its keys under `[package.metadata.tensorize]` of each package that shall have them";
    Err(Box::new(Diagnostic::error("TZ0701", message).help(help)))
}

fn cargo_flags(project: &Project) -> Vec<String> {
    let flags = [(project.offline, "--offline"), (project.locked, "--locked")];
    let asked = flags
        .into_iter()
        .filter(|(on, _)| *on)
        .map(|(_, flag)| flag);
    // What cargo says is read here, whatever CARGO_TERM_COLOR wants.
    let plain = ["--color", "never"];
    plain.into_iter().chain(asked).map(str::to_owned).collect()
}

/// As cargo chooses: `-p`, `--workspace`, else the package of the manifest, else the default members.
fn chosen<'a>(
    metadata: &'a Metadata,
    project: &Project,
) -> Result<Vec<&'a cargo_metadata::Package>, Box<Diagnostic>> {
    let members = metadata.workspace_packages();
    if project.workspace {
        return Ok(members);
    }
    let mut found = Vec::new();
    for name in &project.packages {
        let Some(p) = members.iter().find(|p| *p.name == *name) else {
            let message = format!("the workspace has no package `{name}`");
            let names: Vec<&str> = members.iter().map(|p| p.name.as_str()).collect();
            let help = format!("there are: {}", names.join(", "));
            return Err(Box::new(Diagnostic::error("TZ0702", message).help(help)));
        };
        found.push(*p);
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let manifest = project
        .manifest_path
        .as_ref()
        .and_then(|p| p.canonicalize().ok());
    let here = std::env::current_dir().and_then(|d| d.canonicalize()).ok();
    // The innermost member that the current folder lies in.
    let contains = |p: &&&cargo_metadata::Package| match (&manifest, &here) {
        (Some(m), _) => p.manifest_path.as_std_path() == m,
        (None, Some(h)) => p
            .manifest_path
            .parent()
            .is_some_and(|d| h.starts_with(d.as_std_path())),
        (None, None) => false,
    };
    let depth = |p: &&&cargo_metadata::Package| p.manifest_path.as_str().len();
    Ok(match members.iter().filter(contains).max_by_key(depth) {
        Some(p) => vec![p],
        None => metadata.workspace_default_packages(),
    })
}

/// What the build script has noted.
fn noted(dir: &Path) -> Result<Option<BuildManifest>, Box<Diagnostic>> {
    BuildManifest::load(dir).map_err(|e| {
        let path = from_current_dir(&BuildManifest::path(dir));
        let message = format!("{} cannot be read: {e}", path.display());
        let help = "remove it: the build script writes it anew";
        Box::new(Diagnostic::error("TZ0706", message).help(help))
    })
}

/// An error for what would make the compiler do more than compile.
fn harmless(dir: &Path, library: &Library) -> Result<(), Box<Diagnostic>> {
    let refuse = |message: String, help: &str| {
        Err(Box::new(Diagnostic::error("TZ0710", message).help(help)))
    };
    for flag in &library.flags {
        if let Some(why) = flags::objection_to(flag) {
            return refuse(
                format!(
                    "the flag `{flag}` of `{}` {why}, and is refused",
                    library.name
                ),
                "take it out of `[package.metadata.tensorize]`, the build script or `.tensorize/build-script.toml`, wherever it is; \
                 what you set in CFLAGS yourself is not asked about",
            );
        }
    }
    // As the compiler is told of it, so without a `./` before it.
    let told = |file: &&String| relative_to(dir, Path::new(file));
    let is_flag = |file: &&String| flags::is_taken_for_a_flag(&told(file));
    match library.files.iter().find(is_flag) {
        Some(file) => refuse(
            format!("`{file}` of `{}` would be taken for a flag", library.name),
            "rename the file, or put it into a folder",
        ),
        None => Ok(()),
    }
}

/// Whether there is a folder for results, or can be one.
fn has_a_store(dir: &Path) -> std::io::Result<()> {
    let store = dir.join(".tensorize");
    if store.is_dir() {
        return Ok(());
    }
    std::fs::create_dir(&store)?;
    std::fs::remove_dir(&store)
}

/// Words that were not used before.
fn asked_now() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let nanos = now.map_or(0, |d| d.as_nanos());
    format!("{}.{nanos}", std::process::id())
}

/// Lets cargo run the build script, which notes what it compiles, if it may have changed since it did, or if what it
/// noted is not to be trusted.
///
/// When cargo runs us from a build script, it holds its locks: nothing is run then, and the script has
/// made its notes.
fn run_build_script(
    name: &str,
    dir: &Path,
    noted: Option<BuildManifest>,
    project: &Project,
) -> Result<(), CargoError> {
    let up_to_date = noted.as_ref().is_some_and(|n| n.is_of_script(dir));
    let nested = std::env::var_os("TENSORIZE_NESTED").is_some() || in_build_script();
    let features = project.feature_flags();
    if (up_to_date && !project.locked && features.is_empty()) || nested {
        return Ok(());
    }
    if noted.is_none() {
        std::fs::remove_file(BuildManifest::path(dir)).ok();
    }
    let _shown = Progress::waiting(format!(
        "cargo check: the build script of `{name}` says what it compiles"
    ));
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .arg("check")
        .arg("--quiet")
        .arg("--manifest-path")
        .arg(dir.join("Cargo.toml"))
        .args(cargo_flags(project))
        .args(&features)
        // Its notes are wanted, not that it calls us. Unless something is missing, cargo is not told of this variable, so that
        // the user's next build finds its work done.
        .env("TENSORIZE_NESTED", "1")
        // That notes are damaged or gone, or about other features, is no change that cargo sees; that nobody had asked for
        // them in these words is one.
        .envs((noted.is_none() || !features.is_empty()).then(|| ("TENSORIZE_NOTES", asked_now())))
        .stdin(Stdio::null())
        .output()
        .map_err(|e| CargoError::plain(format!("cargo can't be started: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let log = String::from_utf8_lossy(&output.stderr);
    Err(CargoError::first_in(&log))
}
