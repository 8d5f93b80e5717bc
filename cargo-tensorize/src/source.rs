//! A C file and how it is compiled.

use std::path::{Path, PathBuf};
use tensorize_build::Settings;
use tensorize_ir::guard::Tier;
use tensorize_lift::c::float_semantics;

/// A C file and how it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As the user named it, from the current folder.
    pub file: PathBuf,
    /// How it is compiled.
    pub settings: Settings,
}

impl Source {
    /// A file without a project, compiled with these arguments in the current folder.
    pub fn alone(file: &Path, args: &[String]) -> Source {
        let dir = std::env::current_dir().unwrap_or_default();
        let settings = Settings {
            dir,
            flags: args.to_vec(),
            ..Settings::default()
        };
        Source {
            file: file.to_owned(),
            settings,
        }
    }

    /// What the front end has to be told. As the C compiler gets it: contraction is off unless the user's
    /// own flags turn it on, `tensorize.h` is found, and what the environment says comes last.
    pub fn front_end_args(&self) -> Vec<String> {
        let s = &self.settings;
        let here = |p: &str| s.dir.join(p).display().to_string();
        let mut args = vec!["-ffp-contract=off".to_owned()];
        args.extend(s.include.iter().map(|i| format!("-I{}", here(i))));
        args.push(format!("-I{}", tensorize_build::include_dir().display()));
        args.extend(s.define.iter().map(|d| format!("-D{d}")));
        args.extend(s.target.iter().map(|t| format!("--target={t}")));
        let environment = s.from_environment(tensorize_build::adaptor::language_of(&self.file));
        let mut flags = s.flags.iter().chain(&environment);
        while let Some(flag) = flags.next() {
            match ["-isystem", "-iquote", "-idirafter", "-include", "-I"]
                .iter()
                .find(|o| flag.starts_with(**o))
            {
                Some(option) if flag == option => {
                    args.push(flag.clone());
                    args.extend(flags.next().map(|path| relative_to(&s.dir, option, path)));
                }
                Some(option) => {
                    args.push(format!(
                        "{option}{}",
                        relative_to(&s.dir, option, &flag[option.len()..])
                    ));
                }
                None => args.push(flag.clone()),
            }
        }
        args
    }

    /// The file, wherever the current folder is.
    pub fn absolute(&self) -> PathBuf {
        std::env::current_dir().unwrap_or_default().join(&self.file)
    }

    /// What the C compiler has to be told, when it runs in the folder of the settings.
    pub fn compiler_args(&self) -> Vec<String> {
        self.front_end_args()
    }

    /// The strongest tier that floating-point arithmetic can have under the flags: a compiler that may fuse
    /// or re-associate operations gives other bits than C's abstract machine.
    pub fn float_tier(&self) -> Tier {
        let target = self.settings.target.as_deref().unwrap_or_default();
        let semantics = float_semantics(&self.front_end_args(), target);
        if semantics.contract || semantics.fast_math {
            Tier::Real
        } else {
            Tier::Exact
        }
    }
}

/// The C compiler runs in the manifest's folder, the front end does not. A header that `-include` names may
/// also be on the search path.
fn relative_to(dir: &Path, option: &str, path: &str) -> String {
    let joined = dir.join(path);
    if option == "-include" && !joined.exists() {
        path.to_owned()
    } else {
        joined.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(flags: &[&str]) -> Source {
        let mut s = Source::alone(Path::new("k.c"), &flags.map_to_strings());
        s.settings.dir = "/p".into();
        s
    }

    trait MapToStrings {
        fn map_to_strings(&self) -> Vec<String>;
    }

    impl MapToStrings for [&str] {
        fn map_to_strings(&self) -> Vec<String> {
            self.iter().map(|s| (*s).to_owned()).collect()
        }
    }

    #[test]
    fn paths_are_those_of_the_manifest() {
        let mut s = source(&["-Ia", "-isystem", "b", "-I", "/c", "-O2"]);
        s.settings.include = vec!["inc".into()];
        s.settings.define = vec!["N=1".into()];
        let args = s.front_end_args();
        assert!(
            args.contains(&"-I/p/inc".into()) && args.contains(&"-DN=1".into()),
            "{args:?}"
        );
        let tail = ["-I/p/a", "-isystem", "/p/b", "-I", "/c", "-O2"].map_to_strings();
        assert!(args.ends_with(&tail), "{args:?}");
    }

    #[test]
    fn a_compiler_that_may_fuse_is_not_exact() {
        assert_eq!(
            source(&["-O3", "-ffp-contract=off"]).float_tier(),
            Tier::Exact
        );
        assert_eq!(source(&["-Ofast"]).float_tier(), Tier::Real);
        assert_eq!(
            source(&["-mfma", "-ffp-contract=fast"]).float_tier(),
            Tier::Real
        );
    }
}
