//! Pragmas of OpenMP, with the compiler's flag for them and without.

mod common;

use tensorize_lift::c::Parsed;

fn parsed(source: &str, args: &[&str]) -> Parsed {
    let all = common::parsed("kernel.c", source, args);
    all.into_iter().next().expect("a function")
}

/// A loop under a pragma.
fn under(pragma: &str) -> String {
    format!(
        "float f(const float *x, float *y, int n) {{\n  float s = 0; int j = 0;\n#pragma omp {pragma}\n  \
         for (int i = 0; i < n; i++) {{ s += x[i]; y[i] = s; }}\n  return s + j;\n}}\n"
    )
}

#[test]
fn without_the_flag_pragmas_are_ignored_and_that_is_said() {
    for pragma in ["parallel for", "parallel", "for private(j)", "critical"] {
        let f = parsed(&under(pragma), &["-O2"]);
        let kernel = f
            .lowered
            .unwrap_or_else(|p| panic!("{pragma}: {}", p.message));
        assert!(!kernel.fused, "{pragma}");
        let [note] = &f.notes[..] else {
            panic!("{pragma}: {:?}", f.notes)
        };
        assert!(note.message.contains("ignored"), "{}", note.message);
        let span = note.span.as_ref().expect("a place");
        assert_eq!((span.line, span.column), (3, 1), "{pragma}");
    }
    let plain = under("for").replace("#pragma omp for\n", "");
    assert_eq!(parsed(&plain, &[]).notes, []);
}

#[test]
fn under_the_flag_they_are_refused() {
    let hidden = "#define SHARED _Pragma(\"omp for\")\n";
    for pragma in [
        "for",
        "parallel",
        "parallel for reduction(+ : s)",
        "simd",
        "critical",
    ] {
        for source in [
            under(pragma),
            under(pragma).replace(
                &format!("#pragma omp {pragma}"),
                &format!("_Pragma(\"omp {pragma}\")"),
            ),
            format!(
                "{hidden}{}",
                under("for").replace("#pragma omp for", "SHARED")
            ),
        ] {
            let f = parsed(&source, &["-fopenmp"]);
            let problem = f.lowered.expect_err(&source);
            assert_eq!(problem.code, "TZ0234", "{source}: {}", problem.message);
            assert!(problem.help.expect("a remedy").contains("without the flag"));
        }
    }
    let plain = under("for").replace("#pragma omp for\n", "");
    assert!(parsed(&plain, &["-fopenmp"]).lowered.is_ok());
    assert!(
        parsed(&under("for"), &["-fopenmp", "-fno-openmp"])
            .lowered
            .is_ok()
    );
}
