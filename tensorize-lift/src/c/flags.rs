//! Compiler flags: what libclang should see, and what they do to floating point.

use tensorize_ir::loopir::Overflow;

/// What the compiler may do with floating point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FloatSemantics {
    /// `a * b + c` may be rounded once only.
    pub contract: bool,
    /// Sums may be re-associated, NaN and infinities assumed away.
    pub fast_math: bool,
}

/// Reads the compiler's arguments; the last of two that contradict each other wins. `target` is the
/// triple that is compiled for, the host's if it is empty.
///
/// Where the flags are silent, GCC contracts if the machine can: any but the x86 baseline.
pub fn float_semantics(args: &[String], target: &str) -> FloatSemantics {
    let arch = match target.split('-').next() {
        Some("") | None => std::env::consts::ARCH,
        Some(arch) => arch,
    };
    let x86 = matches!(
        arch,
        "x86_64" | "x86" | "i386" | "i486" | "i586" | "i686" | "amd64"
    );
    // What `-fno-unsafe-math-optimizations` takes back is not all that `-ffast-math` gives: NaNs stay assumed away.
    let (mut fast, mut regrouped, mut contract) = (false, false, None);
    let mut machine_has_fma = !x86;
    // The x87 computes with more precision than the types have. GCC takes it for 32 bits unless it is told otherwise,
    // also with -msse2.
    let mut x87 = x86 && arch != "x86_64" && arch != "amd64";
    for arg in args {
        match arg.as_str() {
            "-ffast-math" | "-Ofast" => (fast, contract) = (true, Some(true)),
            "-funsafe-math-optimizations"
            | "-fassociative-math"
            | "-freciprocal-math"
            | "-fno-signed-zeros" => regrouped = true,
            "-ffinite-math-only"
            | "-ffp-model=fast"
            | "-ffp-model=aggressive"
            | "-fexcess-precision=fast"
            | "/fp:fast"
            | "-fapprox-func"
            | "-fno-honor-nans"
            | "-fno-honor-infinities"
            | "-fsingle-precision-constant"
            | "-mdaz-ftz" => fast = true,
            // clang goes back to what it does without any flag, which is to contract, GCC to what was said last.
            "-fno-fast-math" => {
                if fast || regrouped {
                    contract = Some(true);
                }
                (fast, regrouped) = (false, false);
            }
            "-ffp-model=strict" => (fast, regrouped, contract) = (false, false, Some(false)),
            "-ffp-model=precise" => (fast, regrouped, contract) = (false, false, Some(true)),
            "-fno-unsafe-math-optimizations" => regrouped = false,
            "-ffp-contract=off" => contract = Some(false),
            "-ffp-contract=on" | "-ffp-contract=fast" | "-ffp-contract=fast-honor-pragmas" => {
                contract = Some(true);
            }
            a if a.starts_with("-mrecip") || a.starts_with("-fdenormal-fp-math=") => fast = true,
            // Functions of vectors round otherwise than those of one number.
            "-fveclib=none" => {}
            a if a.starts_with("-fveclib=") || a.starts_with("-mveclibabi=") => fast = true,
            "-m32" => x87 = x86,
            "-mfpmath=sse" => x87 = false,
            a if a.starts_with("-mfpmath=") => x87 = x86,
            "-mfma" | "-mfma4" => machine_has_fma = true,
            "-march=x86-64" | "-march=x86-64-v2" => machine_has_fma = !x86,
            a if a.starts_with("-march=") || a.starts_with("-mcpu=") => machine_has_fma = true,
            _ => {}
        }
    }
    FloatSemantics {
        // What is asked for counts on any machine: that one can is nothing that a kernel's hash says.
        contract: contract.unwrap_or(machine_has_fma),
        fast_math: fast || regrouped || x87,
    }
}

/// What signed overflow means under these flags.
pub(super) fn overflow(args: &[String]) -> Overflow {
    let mut overflow = Overflow::Undefined;
    for arg in args {
        match arg.as_str() {
            "-fwrapv" | "-fno-strict-overflow" => overflow = Overflow::Wraps,
            "-fno-wrapv" | "-fstrict-overflow" | "-ftrapv" => overflow = Overflow::Undefined,
            _ => {}
        }
    }
    overflow
}

/// Whether signed overflow ends the program: a meaning that C does not give it, but somebody relies on.
pub(super) fn traps(args: &[String]) -> bool {
    let mut traps = false;
    for arg in args {
        match arg.as_str() {
            "-ftrapv" => traps = true,
            // The last one of these counts.
            "-fno-trapv" | "-fwrapv" => traps = false,
            _ => {}
        }
    }
    traps
}

/// Whether the compiler acts on pragmas of OpenMP.
pub(super) fn openmp(args: &[String]) -> bool {
    let mut on = false;
    for arg in args {
        match arg.as_str() {
            "-fopenmp" | "-fopenmp-simd" | "-qopenmp" | "-qopenmp-simd" | "/openmp" => on = true,
            a if a.starts_with("-fopenmp=") => on = true,
            "-fno-openmp" | "-fno-openmp-simd" => on = false,
            _ => {}
        }
    }
    on
}

/// The arguments that libclang understands and that matter for the meaning.
///
/// GCC has flags that clang takes for mistakes, so those that choose optimisations and warnings are left
/// out, and those that choose the language, the target and the headers stay.
pub(super) fn for_libclang(args: &[String]) -> Vec<String> {
    const LANGUAGE: &[&str] = &[
        "-fsigned-char",
        "-funsigned-char",
        "-fno-signed-char",
        "-fno-unsigned-char",
        "-fshort-enums",
        "-fno-short-enums",
        "-fshort-wchar",
        "-ffreestanding",
        "-fno-builtin",
        "-fgnu89-inline",
        "-fms-extensions",
        "-ffast-math",
        "-ffinite-math-only",
    ];
    let mut kept = Vec::new();
    let mut rest = args.iter();
    while let Some(a) = rest.next() {
        match a.as_str() {
            "-o" | "-MF" | "-MT" | "-MQ" => {
                rest.next();
            }
            a if a.starts_with("-f") => {
                kept.extend(LANGUAGE.contains(&a).then(|| a.to_string()));
            }
            // `-W…` are warnings, but `-Wp,-D…` are for the preprocessor.
            a if a.starts_with("-Wp,") => kept.push(a.to_string()),
            a if [
                "-c",
                "-S",
                "-E",
                "-pipe",
                "-w",
                "-pedantic",
                "-pedantic-errors",
                "-s",
            ]
            .contains(&a) => {}
            a if ["-W", "-O", "-g", "-M", "-L", "-l"]
                .iter()
                .any(|p| a.starts_with(p)) => {}
            a => kept.push(a.to_string()),
        }
    }
    if openmp(args) {
        kept.push("-fopenmp".into());
    }
    // A limit would hide errors.
    kept.extend(["-ferror-limit=0", "-Wno-everything"].map(String::from));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str], target: &str) -> (bool, bool) {
        let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
        let s = float_semantics(&args, target);
        (s.contract, s.fast_math)
    }

    #[test]
    fn flags_decide_float_semantics() {
        assert_eq!(read(&["-O2"], "x86_64-unknown-linux-gnu"), (false, false));
        assert_eq!(
            read(&["-O2", "-march=native"], "x86_64-unknown-linux-gnu"),
            (true, false)
        );
        assert_eq!(read(&["-O2"], "aarch64-unknown-linux-gnu"), (true, false));
        assert_eq!(
            read(&["-ffp-contract=off"], "aarch64-linux"),
            (false, false)
        );
        assert_eq!(read(&["-Ofast"], "x86_64-linux"), (true, true));
        // As clang has it; GCC goes back to what it does without.
        assert_eq!(
            read(&["-ffast-math", "-fno-fast-math"], "x86_64-linux"),
            (true, false)
        );
    }

    #[test]
    fn the_last_word_on_signed_overflow_counts() {
        let of = |flags: &str| {
            let args: Vec<String> = flags.split(' ').map(str::to_owned).collect();
            (traps(&args), overflow(&args))
        };
        assert_eq!(of("-O2"), (false, Overflow::Undefined));
        assert_eq!(of("-ftrapv"), (true, Overflow::Undefined));
        assert_eq!(of("-ftrapv -fwrapv"), (false, Overflow::Wraps));
        assert_eq!(of("-fwrapv -ftrapv"), (true, Overflow::Undefined));
        assert_eq!(of("-ftrapv -fno-trapv"), (false, Overflow::Undefined));
        assert_eq!(of("-fno-strict-overflow"), (false, Overflow::Wraps));
    }

    #[test]
    fn what_a_flag_takes_back_is_not_more_than_compilers_take_back() {
        let of = |flags: &str| {
            let args: Vec<&str> = flags.split(' ').collect();
            read(&args, "x86_64-unknown-linux-gnu")
        };
        // GCC goes on to assume that there are no NaNs.
        let nans = "-ffast-math -fno-unsafe-math-optimizations";
        assert_eq!(of(nans), (true, true));
        let regrouped = "-fassociative-math -fno-unsafe-math-optimizations";
        assert_eq!(of(regrouped), (false, false));
        // clang contracts again.
        for flags in [
            "-ffp-contract=off -mfma -ffast-math -fno-fast-math",
            "-ffp-contract=off -mfma -ffp-model=precise",
        ] {
            assert_eq!(of(flags), (true, false), "{flags}");
        }
        assert_eq!(of("-ffp-contract=off -mfma -fno-fast-math"), (false, false));
        assert_eq!(of("-ffp-contract=fast"), (true, false));
        assert_eq!(of("-mfma -ffp-model=strict"), (false, false));
        // The x87, and functions of vectors.
        for flags in ["-mfpmath=387", "-mfpmath=sse,387", "-m32", "-m32 -msse2"] {
            assert_eq!(of(flags), (false, true), "{flags}");
        }
        assert_eq!(of("-m32 -msse2 -mfpmath=sse"), (false, false));
        assert_eq!(read(&["-msse2"], "i686-unknown-linux-gnu"), (false, true));
        assert_eq!(of("-fveclib=libmvec"), (false, true));
        assert_eq!(of("-fveclib=none"), (false, false));
    }
}
