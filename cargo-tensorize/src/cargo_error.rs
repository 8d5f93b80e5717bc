//! What cargo said when it failed: the first error, whole, and nothing else.

/// More would not be read.
const LINES: usize = 40;

/// An error of cargo's, of a compiler's that it called, or of a build script's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CargoError {
    /// Its first line.
    pub first: String,
    /// All others, with the file and the line.
    pub rest: String,
}

impl CargoError {
    /// The first one in what cargo wrote.
    pub fn first_in(log: &str) -> CargoError {
        let mut lines = log.lines().skip_while(|l| !l.starts_with("error"));
        let Some(first) = lines.next() else {
            return CargoError::plain("cargo check failed");
        };
        // What a build script says by `cargo::error` is an error a line: `error: NAME@VERSION: `.
        let said = first.strip_prefix("error: ").and_then(|said| {
            let (package, _) = said.split_once(": ")?;
            let is_package = package.contains('@') && !package.contains(' ');
            is_package.then(|| format!("error: {package}: "))
        });
        let rest: Vec<&str> = match &said {
            Some(prefix) => lines.map_while(|l| l.strip_prefix(&**prefix)).collect(),
            None => lines.take_while(|l| !is_next(l)).collect(),
        };
        let mut shown: Vec<&str> = rest
            .into_iter()
            .filter(|l| !l.starts_with("note: To improve backtraces"))
            .collect();
        if shown.len() > LINES {
            shown.truncate(LINES);
            shown.push("…");
        }
        CargoError {
            first: first.to_owned(),
            rest: shown
                .join("\n")
                .trim_start_matches('\n')
                .trim_end()
                .to_owned(),
        }
    }

    /// One without more lines.
    pub fn plain(why: impl Into<String>) -> CargoError {
        CargoError {
            first: why.into(),
            rest: String::new(),
        }
    }

    /// Whether `--locked` is what was in the way.
    pub fn is_about_the_lock_file(&self) -> bool {
        self.first.contains("--locked")
    }
}

/// Where an error's own lines end.
fn is_next(line: &str) -> bool {
    let ends = [
        "error",
        "warning",
        "For more information about",
        "Some errors have detailed",
    ];
    ends.iter().any(|e| line.starts_with(e)) || line.trim() == "stack backtrace:"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(log: &str, first: &str, rest: &str) {
        let found = CargoError::first_in(log);
        assert_eq!((&*found.first, &*found.rest), (first, rest));
    }

    #[test]
    fn the_first_error_has_its_place_and_the_second_is_left_out() {
        check(
            "warning: unused\nerror[E0308]: mismatched types\n --> src/lib.rs:1:16\n  |\n1 | fn f() -> u8 { \"x\" }\n\n\
             error[E0425]: cannot find `h`\n --> src/lib.rs:2:10\n",
            "error[E0308]: mismatched types",
            " --> src/lib.rs:1:16\n  |\n1 | fn f() -> u8 { \"x\" }",
        );
    }

    #[test]
    fn what_a_build_script_says_is_one_error() {
        check(
            "error: p@0.1.0: c/k.c:1:2: error: x\nerror: p@0.1.0:   here\nerror: failed to run custom build command\n",
            "error: p@0.1.0: c/k.c:1:2: error: x",
            "  here",
        );
        check(
            "error: failed to run custom build command for `p`\nnote: To improve backtraces, set\n\nCaused by:\n  \
             thread 'main' panicked at build.rs:1:13:\n  no\n  stack backtrace:\n     0: __rustc\n",
            "error: failed to run custom build command for `p`",
            "Caused by:\n  thread 'main' panicked at build.rs:1:13:\n  no",
        );
    }

    #[test]
    fn what_says_nothing_is_told_as_that() {
        check("", "cargo check failed", "");
    }
}
