//! The hash of a kernel as the compiler sees it.
//!
//! It covers what the file and the headers of the project hold after preprocessing, but for functions that the kernel
//! has nothing to do with ([`parts`]), the sizes of C's types, and the flags that change the meaning of arithmetic. It does
//! not cover the C library's own headers, whose text differs between machines; what their macros expand to stands in the
//! project's text and is covered, and so is what number a name of theirs is the type of ([`system_types`]), and the structs,
//! constants and bodies of theirs that the kernel uses ([`system_items`]). Comments, blank lines and indentation don't count.

mod parts;
mod signs;
mod system_items;
mod system_types;

pub use signs::Signs;

use crate::adaptor::language_of;
use crate::compiler::{Settings, arguments};
use crate::guarded;
use crate::limited::{self, Limits};
use crate::record::short_hash;
use parts::{Parts, names};
use std::collections::{BTreeSet, HashMap};
use std::env;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use system_items::SystemItems;
use system_types::SystemTypes;

/// A C file after preprocessing.
#[derive(Clone, Debug)]
pub struct Preprocessed {
    /// Over what the compiler was told, and how large its types are: all but the text.
    dialect: blake3::Hash,
    /// The same for a compiler whose [`Signs`] are the other ones.
    other_dialect: blake3::Hash,
    /// The signs of characters here.
    pub signs: Signs,
    parts: Parts,
    system_items: SystemItems,
    system_types: SystemTypes,
    predefined: HashMap<String, String>,
    /// The project's own text, one space between tokens. [`MARKER`] stands where `TENSORIZE_KERNEL` was.
    pub text: String,
    /// Over all that the compiler proper sees, the machine's headers and the compiler's own macros included. `None` if it may
    /// read other files than these.
    pub(crate) whole: Option<String>,
    /// The file and the project's headers that it includes.
    pub inputs: Vec<PathBuf>,
    /// The compiler's `__VERSION__`. It is no part of any hash: what is proven is proven of C.
    pub compiler: String,
}

/// The hashes of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hashes {
    /// As the compiler in use sees it.
    pub here: String,
    /// As one sees it for which `char` and `wchar_t` have the other signs, and all else is the same.
    pub under_other_signs: String,
}

/// What `TENSORIZE_KERNEL` becomes, so that annotated functions are seen without a parser.
pub const MARKER: &str = "__tensorize_kernel__";

impl Preprocessed {
    /// The hash of a kernel of this file.
    pub fn hash_of(&self, kernel: &str) -> String {
        self.hash_under(&self.dialect, kernel)
    }

    /// That, and the one under the other signs.
    pub fn hashes_of(&self, kernel: &str) -> Hashes {
        Hashes {
            here: self.hash_of(kernel),
            under_other_signs: self.hash_under(&self.other_dialect, kernel),
        }
    }

    fn hash_under(&self, dialect: &blake3::Hash, kernel: &str) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(dialect.as_bytes());
        let mut mentioned = Vec::new();
        for about in self.parts.about(kernel) {
            part(&mut hasher, &about.place.to_string(), about.text);
            mentioned.extend(about.mentions.iter().map(String::as_str));
        }
        let (texts, names) = self.system_items.used_by(mentioned.into_iter());
        for text in texts {
            part(&mut hasher, "system", text);
        }
        let types = self.system_types.of(names.into_iter(), &self.predefined);
        for (name, meaning) in types {
            part(&mut hasher, "member", &format!("{name} {meaning}"));
        }
        hasher.finalize().to_hex()[..32].to_string()
    }
}

/// Adds a value under a name, so that no other names and values add up to the same.
fn part(hasher: &mut blake3::Hasher, name: &str, value: &str) {
    for bytes in [name.as_bytes(), value.as_bytes()] {
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
}

/// The hash of a kernel of a C file (relative to the manifest's folder) under these settings.
pub fn kernel_hash(settings: &Settings, file: &Path, kernel: &str) -> Result<String, String> {
    Ok(preprocess(settings, file)?.hash_of(kernel))
}

/// What preprocessing a file may take.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(60),
    bytes: 256 << 20,
    memory: 4 << 30,
};

/// Runs the C preprocessor.
pub fn preprocess(settings: &Settings, file: &Path) -> Result<Preprocessed, String> {
    preprocess_within(LIMITS, settings, file)
}

fn preprocess_within(
    limits: Limits,
    settings: &Settings,
    file: &Path,
) -> Result<Preprocessed, String> {
    let tool_error = |e: cc::Error| format!("no C compiler: {e}");
    // Of a file that is not there, the compiler says so.
    if let Err(e) = guarded::check(&settings.dir.join(file), guarded::SOURCE)
        && e.kind() == ErrorKind::InvalidData
    {
        return Err(format!("{} does not preprocess: {e}", file.display()));
    }
    let build = settings.cc(language_of(file));
    let tool = build.try_get_compiler().map_err(tool_error)?;
    let mut command = settings.command(&build).map_err(tool_error)?;
    command
        .args(["-E", "-dD", "-v"])
        .arg(format!("-DTENSORIZE_KERNEL={MARKER}"))
        .arg(file);
    let output = limited::output(&mut command, limits).map_err(|e| {
        let (tool, file) = (tool.path().display(), file.display());
        match e.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                format!("{tool} can't be started: {e}")
            }
            _ => format!(
                "{file} does not preprocess: {e}; macros and headers that expand into more and more are the usual cause"
            ),
        }
    })?;
    let log = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let mut errors: Vec<&str> = log
            .lines()
            .filter(|l| l.contains("error:"))
            .take(5)
            .collect();
        if errors.is_empty() {
            // As where its memory ends.
            errors.extend(log.lines().last());
        }
        return Err(format!(
            "{} does not preprocess: {}",
            file.display(),
            errors.join("; ")
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let reads_more = ["incbin", "#embed"].iter().any(|w| text.contains(w));
    let whole = (!reads_more).then(|| short_hash(&output.stdout));
    let flags = arguments(&tool);
    let system = system_dirs(&log, &settings.dir, &given_dirs(&flags, &settings.dir));
    let scanned = Scanned::new(&text, &settings.dir, &system);

    let mut hasher = blake3::Hasher::new();
    part(&mut hasher, "contract", "3");
    for name in DATA_MODEL {
        let value = scanned.predefined.get(*name).map_or("", String::as_str);
        part(&mut hasher, name, value);
    }
    for flag in flags.iter().filter(|f| changes_meaning(f)) {
        part(&mut hasher, "flag", flag);
    }
    let system_types = (scanned.system_types).of(names(&scanned.text), &scanned.predefined);
    for (name, meaning) in system_types {
        part(&mut hasher, "type", &format!("{name} {meaning}"));
    }
    let mut inputs: BTreeSet<PathBuf> = scanned
        .inputs
        .iter()
        .map(|p| settings.dir.join(p))
        .collect();
    inputs.insert(settings.dir.join(file));
    let signs = Signs::of(&scanned.predefined);
    let with = |signs: Signs| {
        let mut hasher = hasher.clone();
        part(&mut hasher, "signs", &signs.text());
        hasher.finalize()
    };
    Ok(Preprocessed {
        dialect: with(signs),
        other_dialect: with(signs.others()),
        signs,
        parts: Parts::of(&scanned.text, language_of(file)),
        system_items: SystemItems::of(&scanned.system_text),
        system_types: scanned.system_types,
        text: scanned.text,
        whole,
        inputs: inputs.into_iter().collect(),
        compiler: scanned
            .predefined
            .get("__VERSION__")
            .cloned()
            .unwrap_or_default(),
        predefined: scanned.predefined,
    })
}

/// Predefined macros that tell the sizes of types and the mode of arithmetic.
const DATA_MODEL: &[&str] = &[
    "__SIZEOF_SHORT__",
    "__SIZEOF_INT__",
    "__SIZEOF_LONG__",
    "__SIZEOF_LONG_LONG__",
    "__SIZEOF_POINTER__",
    "__SIZEOF_LONG_DOUBLE__",
    "__BYTE_ORDER__",
    "__FLT_EVAL_METHOD__",
    "__FAST_MATH__",
    "__FINITE_MATH_ONLY__",
];

/// Whether a flag may change what a kernel computes. Too many are better than too few.
fn changes_meaning(flag: &str) -> bool {
    const PARTS: &[&str] = &[
        "math",
        "fp",
        "fast",
        "wrapv",
        "trapv",
        "overflow",
        "char",
        "enum",
        "precision",
        "rounding",
        "zeros",
        "builtin",
        "freestanding",
        "openmp",
        "denormal",
        "ftz",
        "pack",
        "alias",
        "std=",
        "long-double",
        "honor",
        "approx",
        "recip",
        "veclib",
        "wchar",
        "-include",
        "-imacros",
    ];
    flag.starts_with('-')
        && !flag.starts_with("-D")
        && !flag.starts_with("-I")
        && PARTS.iter().any(|p| flag.contains(p))
}

/// The folders of headers that the user names, by flag or environment: they belong to the project.
fn given_dirs(flags: &[String], dir: &Path) -> Vec<PathBuf> {
    const OPTIONS: &[&str] = &["-isystem", "-idirafter", "-iquote", "-I"];
    let mut given = Vec::new();
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        let Some(option) = OPTIONS.iter().find(|o| flag.starts_with(**o)) else {
            continue;
        };
        let rest = &flag[option.len()..];
        let path = if rest.is_empty() {
            flags.next().map(String::as_str)
        } else {
            Some(rest)
        };
        given.extend(path.map(|p| dir.join(p)));
    }
    for name in ["CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"] {
        if let Some(paths) = env::var_os(name) {
            given.extend(env::split_paths(&paths).map(|p| dir.join(p)));
        }
    }
    given
}

/// The compiler's own folders, from what it prints under `-v`.
fn system_dirs(log: &str, dir: &Path, given: &[PathBuf]) -> Vec<PathBuf> {
    let real = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_path_buf());
    let given: Vec<PathBuf> = given.iter().map(|p| real(p)).collect();
    log.lines()
        .skip_while(|l| !l.starts_with("#include <...>"))
        .skip(1)
        .take_while(|l| l.starts_with(' '))
        .map(|l| real(&dir.join(l.trim().trim_end_matches(" (framework directory)"))))
        .filter(|p| !given.contains(p))
        .collect()
}

#[derive(Default)]
struct Scanned {
    text: String,
    inputs: BTreeSet<PathBuf>,
    predefined: HashMap<String, String>,
    system_types: SystemTypes,
    /// What headers of libraries say that are not the project's. The compiler's own are left out: what it has of types
    /// and intrinsics, the front end knows by name.
    system_text: String,
}

impl Scanned {
    fn new(output: &str, dir: &Path, system: &[PathBuf]) -> Scanned {
        let mut scanned = Scanned::default();
        // A marker is "of the system" also where a system macro is expanded in a file of the project:
        // what counts is whose file it is.
        let mut owners: HashMap<String, Owner> = HashMap::new();
        let mut owner = Owner::Project;
        let mut built_in = false;
        for line in output.lines() {
            if let Some((file, flags)) = line_marker(line) {
                built_in = file.starts_with('<');
                owner = *owners.entry(file).or_insert_with_key(|file| {
                    let path = dir.join(file);
                    let real = path.canonicalize().unwrap_or(path);
                    match flags.contains(&3) && system.iter().any(|d| real.starts_with(d)) {
                        true => Owner::of_system(&real),
                        false => Owner::Project,
                    }
                });
                continue;
            }
            let dropping = owner != Owner::Project;
            if let Some(rest) = line.strip_prefix("#define ").filter(|_| built_in) {
                let (name, value) = rest.split_once(' ').unwrap_or((rest, ""));
                scanned.predefined.insert(name.into(), value.into());
            }
            let directive = line.starts_with('#') && !line.starts_with("#pragma");
            if dropping && !directive {
                scanned.system_types.line(line);
                if owner == Owner::Library {
                    push_tokens(&mut scanned.system_text, line);
                    if line.starts_with('#') {
                        scanned.system_text.push('\n');
                    }
                }
            }
            if dropping || built_in || directive {
                continue;
            }
            push_tokens(&mut scanned.text, line);
            if line.starts_with('#') {
                scanned.text.push('\n');
            }
        }
        scanned.inputs = owners
            .into_iter()
            .filter(|(file, owner)| {
                *owner == Owner::Project && !file.starts_with('<') && !file.ends_with('/')
            })
            .map(|(file, _)| PathBuf::from(file))
            .collect();
        scanned
    }
}

/// Whose a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Project,
    /// It lies in a folder of the machine.
    Library,
    Compiler,
}

impl Owner {
    fn of_system(file: &Path) -> Owner {
        let parts: Vec<_> = file.components().map(|c| c.as_os_str()).collect();
        let compilers = |name: &OsStr| ["gcc", "gcc-cross", "clang"].iter().any(|c| name == *c);
        match parts
            .windows(2)
            .any(|w| w[0].to_string_lossy().starts_with("lib") && compilers(w[1]))
        {
            true => Owner::Compiler,
            false => Owner::Library,
        }
    }
}

/// `# 12 "path" 1 3`: the path and the flags.
fn line_marker(line: &str) -> Option<(String, Vec<u32>)> {
    let rest = line
        .strip_prefix("# ")
        .or_else(|| line.strip_prefix("#line "))?;
    let quote = rest.find('"')?;
    rest[..quote].trim().parse::<u64>().ok()?;
    let mut path = String::new();
    let mut chars = rest[quote + 1..].char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => path.push(chars.next()?.1),
            '"' => {
                let flags = &rest[quote + 1 + at + 1..];
                return Some((
                    path,
                    flags
                        .split_whitespace()
                        .filter_map(|f| f.parse().ok())
                        .collect(),
                ));
            }
            _ => path.push(c),
        }
    }
    None
}

/// Appends a line with one space for each run of blanks outside of literals.
fn push_tokens(text: &mut String, line: &str) {
    let mut literal = None;
    let mut chars = line.trim().chars();
    if chars.as_str().is_empty() {
        return;
    }
    if !text.is_empty() && !text.ends_with(['\n', ' ']) {
        text.push(' ');
    }
    while let Some(c) = chars.next() {
        match (literal, c) {
            (Some(_), '\\') => {
                text.push(c);
                text.extend(chars.next());
                continue;
            }
            (Some(quote), _) if c == quote => literal = None,
            (None, '"' | '\'') => literal = Some(c),
            (None, _) if c.is_whitespace() => {
                if !text.ends_with(' ') {
                    text.push(' ');
                }
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
}

#[cfg(test)]
mod tests;
