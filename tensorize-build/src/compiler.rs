//! The C compiler with the settings in use: the same in a build script and in the subcommand.

use crate::config::Library;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use tensorize_ir::signature::Language;

/// What decides how a C file is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The manifest's folder. The compiler runs there, so that relative paths mean the same to everybody.
    pub dir: PathBuf,
    /// Folders for `#include`.
    pub include: Vec<String>,
    /// `NAME` or `NAME=VALUE`.
    pub define: Vec<String>,
    /// More arguments.
    pub flags: Vec<String>,
    /// Whether the code can lie anywhere; as the platform has it by default.
    pub pic: Option<bool>,
    /// The target's triple; by default the build script's, or the host's outside of one.
    pub target: Option<String>,
}

/// A build that shares with all others what `cc` has asked the compiler: otherwise it would ask for each file anew, by three
/// processes. It prints nothing to cargo; what shall do so is another one's, since `cc` prints the same line only once.
pub(crate) fn asked() -> cc::Build {
    static ASKED: LazyLock<cc::Build> = LazyLock::new(cc::Build::new);
    let mut build = ASKED.clone();
    build.cargo_metadata(false).cargo_warnings(false);
    build
}

/// The folder of `tensorize.h`.
pub fn include_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

impl Settings {
    /// The settings of a library of the crate in `dir`.
    pub fn of(dir: &Path, library: &Library) -> Settings {
        Settings {
            dir: dir.to_path_buf(),
            include: library.include.clone(),
            define: library.define.clone(),
            flags: library.flags.clone(),
            pic: library.pic,
            target: None,
        }
    }

    /// The `cc` build with these settings. It prints nothing to cargo.
    pub fn cc(&self, language: Language) -> cc::Build {
        self.applied(self.plain(language), language)
    }

    /// The same, with what it tells cargo of the variables that count.
    pub(crate) fn cc_for_cargo(&self, language: Language) -> cc::Build {
        let mut build = self.applied(self.set_up(cc::Build::new(), language), language);
        build
            .cargo_metadata(true)
            .cargo_warnings(true)
            .emit_rerun_if_env_changed(true);
        build
    }

    fn applied(&self, mut build: cc::Build, language: Language) -> cc::Build {
        // A level below 2 would make the comparison with generated code unfair.
        let release = in_build_script() && env::var("OPT_LEVEL").is_ok_and(|l| l == "3");
        build.opt_level(if release { 3 } else { 2 });
        // Part of the contract: without it a compiler may fuse `a*b + c`, and bits differ. The user's
        // own flags come later, and are part of a file's hash.
        build.flag("-ffp-contract=off");
        for dir in &self.include {
            build.include(dir);
        }
        build.include(include_dir());
        for define in &self.define {
            match define.split_once('=') {
                Some((name, value)) => build.define(name, value),
                None => build.define(define, None),
            };
        }
        build.flags(&self.flags);
        if let Some(pic) = self.pic {
            build.pic(pic);
        }
        if language == Language::Cpp {
            build.flags(standard_besides(&self.flags));
        }
        build
    }

    /// Whether the compiler of this language takes a flag.
    pub(crate) fn takes_flag(&self, language: Language, flag: &str) -> bool {
        let build = self.plain(language);
        build.is_flag_supported(flag).unwrap_or(false)
    }

    fn plain(&self, language: Language) -> cc::Build {
        self.set_up(asked(), language)
    }

    fn set_up(&self, mut build: cc::Build, language: Language) -> cc::Build {
        build
            .cpp(language == Language::Cpp)
            .cargo_metadata(false)
            .cargo_warnings(false)
            .warnings(false);
        if !in_build_script() {
            build
                .host(env!("TENSORIZE_HOST"))
                .target(env!("TENSORIZE_HOST"));
            build.debug(false).out_dir(env::temp_dir());
        }
        if let Some(target) = &self.target {
            build.target(target);
        }
        build
    }

    /// What the environment tells the compiler besides, as CFLAGS and `CC="gcc -m32"` do. `cc` puts it behind all other
    /// arguments, so that it counts where they contradict each other.
    pub fn from_environment(&self, language: Language) -> Vec<String> {
        let speaks = |name: &str| ["CC", "CXX", "CFLAGS"].iter().any(|v| name.contains(v));
        if !env::vars_os().any(|(name, _)| name.to_str().is_some_and(speaks)) {
            return vec![];
        }
        let mut build = self.plain(language);
        let tool = build.no_default_flags(true).opt_level(2).try_get_compiler();
        let mut args = tool.map(|t| arguments(&t)).unwrap_or_default();
        args.retain(|a| a != "-w");
        args
    }

    /// The compiler as a command in the manifest's folder, with all arguments but the files.
    pub fn command(&self, build: &cc::Build) -> Result<Command, cc::Error> {
        let mut command = build.try_get_compiler()?.to_command();
        command.current_dir(&self.dir).env("LC_ALL", "C");
        Ok(command)
    }
}

/// What C++ with these flags is compiled as besides, behind them: what the front end reads it as, if they name no standard;
/// C++11, if they name an older one, in which nobody can write what passes on an exception. Programs of that age mean the same
/// in C++11, and what does not compile as such is an error.
pub fn standard_besides(flags: &[String]) -> Option<&'static str> {
    let named = |f: &String| f == "-ansi" || f.trim_start_matches('-').starts_with("std=");
    let Some(standard) = flags.iter().rfind(|f| named(f)) else {
        return Some("-std=c++20");
    };
    match standard.trim_start_matches('-') {
        "std=gnu++98" | "std=gnu++03" => Some("-std=gnu++11"),
        "std=c++98" | "std=c++03" | "ansi" => Some("-std=c++11"),
        _ => None,
    }
}

/// What a compiler is told before the files, also by `CC="gcc -m32"`.
pub(crate) fn arguments(tool: &cc::Tool) -> Vec<String> {
    let command = tool.to_command();
    let args = command.get_args().filter(|a| *a != tool.path().as_os_str());
    args.map(|a| a.to_string_lossy().into_owned()).collect()
}

/// Whether cargo runs this process as a build script. `cargo run` and `cargo test` give their programs `OUT_DIR`, too.
pub fn in_build_script() -> bool {
    ["OUT_DIR", "TARGET"]
        .iter()
        .all(|v| env::var_os(v).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn besides(flags: &[&str]) -> Option<&'static str> {
        let flags: Vec<String> = flags.iter().map(|f| f.to_string()).collect();
        standard_besides(&flags)
    }

    #[test]
    fn the_standard_that_cpp_is_compiled_as() {
        assert_eq!(besides(&["-O2", "-DN=1"]), Some("-std=c++20"));
        assert_eq!(besides(&["-std=c++98"]), Some("-std=c++11"));
        assert_eq!(besides(&["-std=gnu++03", "-O2"]), Some("-std=gnu++11"));
        assert_eq!(besides(&["--std=c++98"]), Some("-std=c++11"));
        assert_eq!(besides(&["-ansi"]), Some("-std=c++11"));
        // The last one counts.
        assert_eq!(besides(&["-std=c++98", "-std=c++14"]), None);
        assert_eq!(besides(&["-std=c++17"]), None);
    }

    #[test]
    fn a_build_names_it_behind_the_users_flags() {
        let settings = Settings {
            flags: vec!["-std=c++98".into()],
            ..Settings::default()
        };
        let standards = |language| {
            let build = settings.cc(language);
            let mut args = arguments(&build.get_compiler());
            args.retain(|a| a.starts_with("-std="));
            args
        };
        assert_eq!(standards(Language::Cpp), ["-std=c++98", "-std=c++11"]);
        assert_eq!(standards(Language::C), ["-std=c++98"]);
    }
}
