//! Flags that the C compiler is not given because a file of the project says so: whoever looks at a stranger's project has not
//! agreed to run what lies in it. What the user types or sets in the environment is the user's business.

/// By these the compiler loads or runs somebody's code, or takes more flags from a file. `-Xclang` and the like need not stand
/// here: what they hand on is a word of its own.
const RUNS_CODE: [&str; 22] = [
    "-fplugin",
    "-fpass-plugin",
    "-load",
    "-plugin",
    "--plugin",
    "-add-plugin",
    "-mllvm",
    "-B",
    "-specs",
    "--specs",
    "-wrapper",
    "-ccc-",
    "-gcc-toolchain",
    "--gcc-toolchain",
    "--gcc-install-dir",
    "--ld-path",
    "-fmodule-mapper",
    "--cuda-path",
    "--ptxas-path",
    "--rocm-path",
    "--config",
    "@",
];

/// By these it writes to a file that they name.
const WRITES: [&str; 15] = [
    "-o",
    "--output",
    "-MF",
    "-MJ",
    "-aux-info",
    "-dumpdir",
    "-dumpbase",
    "-dependency-file",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "-index-store-path",
    "-ftime-trace=",
    "-foptimization-record-file",
    "-fcrash-diagnostics-dir",
    "-fdiagnostics-add-output",
];

/// Why the compiler is not given this flag.
pub fn objection_to(flag: &str) -> Option<&'static str> {
    let begins = |word: &str, with: &[&str]| with.iter().any(|w| word.starts_with(w));
    let linker = |word: &str| word.starts_with("-fuse-ld=") && word.contains('/');
    let dump = |word: &str| word.starts_with("-fdump-") && word.contains('=');
    // `-Wp,-MD,FILE`: the preprocessor's own flag takes a name.
    let told = flag.starts_with("-Wp,-M");
    // What is handed on to a part of the compiler stands between commas.
    let handed_on = begins(flag, &["-Wp,", "-Wa,", "-Wl,"]);
    let mut words = flag.split(|c| handed_on && c == ',');
    words.find_map(|word| {
        if begins(word, &RUNS_CODE) || linker(word) {
            Some("makes the compiler run code")
        } else if begins(word, &WRITES) || dump(word) || told {
            Some("makes the compiler write to a file")
        } else {
            None
        }
    })
}

/// Why no file of a project can be called so: the compiler would take the name for a flag.
pub fn is_taken_for_a_flag(file: &str) -> bool {
    file.starts_with(['-', '@'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_code_or_writes_is_refused_and_what_says_what_c_means_is_not() {
        for flag in [
            "-fplugin=./x.so",
            "-fpass-plugin=x.so",
            "-load",
            "-B.",
            "-specs=x",
            "--specs=x",
            "-wrapper",
            "@more",
            "-Wl,-plugin,x.so",
            "-Wl,--plugin=x.so",
            "-fuse-ld=./ld",
            "-fmodule-mapper=|x",
        ] {
            assert_eq!(
                objection_to(flag),
                Some("makes the compiler run code"),
                "{flag}"
            );
        }
        for flag in ["-o", "-o/tmp/x", "-Wp,-MD,x", "-MFx", "-fdump-tree-all=x"] {
            let why = Some("makes the compiler write to a file");
            assert_eq!(objection_to(flag), why, "{flag}");
        }
        for flag in [
            "-O3",
            "-DB=-B,-o",
            "-Xclang",
            "-Xpreprocessor",
            "-fopenmp",
            "-fPIC",
            "-fuse-ld=lld",
            "-march=native",
            "-Wl,--as-needed",
            "-std=c11",
            "-lm",
            "-MMD",
            "-pthread",
            "-include",
        ] {
            assert_eq!(objection_to(flag), None, "{flag}");
        }
    }
}
