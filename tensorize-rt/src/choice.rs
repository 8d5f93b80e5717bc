//! What the user wants to run: the environment variable `TENSORIZE`, or [`set_choice`].

use std::fmt;
use std::sync::{Mutex, Once, PoisonError};

/// What is to run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Generated code for this machine's cores where there is some, else the original.
    #[default]
    Auto,
    /// The original.
    Off,
    /// The original, and everything else beside it on copies, timed: what `cargo tensorize tune` has programs do.
    Tune,
    /// The original and a target (`cpu` if none is named), compared; the original answers.
    Shadow(Option<String>),
    /// This target where a kernel has it, else the original.
    Target(String),
}

impl Choice {
    /// Reads `auto`, `off`, `tune`, `shadow`, `shadow=TARGET` or a target's name.
    pub fn parse(text: &str) -> Choice {
        match text.trim() {
            "" | "auto" => Choice::Auto,
            "off" | "0" => Choice::Off,
            "tune" => Choice::Tune,
            "shadow" => Choice::Shadow(None),
            other => match other.strip_prefix("shadow=") {
                Some(target) => Choice::Shadow(Some(target.into())),
                None => Choice::Target(other.into()),
            },
        }
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Auto => f.write_str("auto"),
            Choice::Off => f.write_str("off"),
            Choice::Tune => f.write_str("tune"),
            Choice::Shadow(None) => f.write_str("shadow"),
            Choice::Shadow(Some(target)) => write!(f, "shadow={target}"),
            Choice::Target(target) => f.write_str(target),
        }
    }
}

static CHOICE: Mutex<Option<Choice>> = Mutex::new(None);

/// The choice in force. The environment is read once.
pub fn choice() -> Choice {
    let mut choice = CHOICE.lock().unwrap_or_else(PoisonError::into_inner);
    choice
        .get_or_insert_with(|| {
            Choice::parse(
                &std::env::var_os("TENSORIZE")
                    .unwrap_or_default()
                    .to_string_lossy(),
            )
        })
        .clone()
}

/// Overrules the environment from now on, for a program that wants to compare. Calls on their way are
/// not affected.
pub fn set_choice(choice: Choice) {
    *CHOICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(choice);
    crate::kernel::decide_anew();
}

/// After a `fork`, neither OpenMP's threads nor the worker are there: the child runs originals alone.
pub(crate) fn watch_for_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        #[cfg(unix)]
        {
            extern "C" fn in_child() {
                crate::kernel::originals_only();
            }
            #[allow(unsafe_code)]
            // SAFETY: the handler only stores to atomics, which is allowed in a forked child.
            unsafe {
                libc::pthread_atfork(None, None, Some(in_child));
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_read_back() {
        for text in [
            "auto",
            "off",
            "tune",
            "shadow",
            "shadow=numpy",
            "cpu",
            "numpy",
        ] {
            assert_eq!(Choice::parse(text).to_string(), text);
        }
        assert_eq!(Choice::parse(""), Choice::Auto);
    }
}
