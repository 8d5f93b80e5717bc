//! What the front end makes of C means what the C compiler makes of it: both are run on the same inputs,
//! without any proof in between.

use cargo_tensorize::differential::Differential;
use std::path::{Path, PathBuf};
use tensorize_ir::check::{self, Comparison};
use tensorize_ir::inputs::{Palette, Spec};
use tensorize_ir::loopir::interp::Program;
use tensorize_ir::memory::Inputs;
use tensorize_lift::c;

const NAMES: (&str, &str) = ("the lifted loop", "the compiled original");

/// Every function of the file that can be lifted; how many there were.
fn agree(file: &Path, flags: &[String]) -> usize {
    let parsed =
        c::parse(file, flags).unwrap_or_else(|p| panic!("{}: {}", file.display(), p.message));
    let liftable: Vec<_> = parsed
        .iter()
        .filter_map(|p| {
            Some((
                p.name.clone(),
                p.signature.clone()?,
                p.lowered.as_ref().ok()?,
            ))
        })
        .collect();
    let functions: Vec<_> = liftable
        .iter()
        .map(|(n, s, _)| (n.clone(), s.clone()))
        .collect();
    let folder = file.parent().unwrap();
    let compiled = Differential::build(file, folder, flags, &functions, &[]).unwrap();
    for (number, (name, _, lifted)) in liftable.iter().enumerate() {
        let text = lifted.to_string();
        assert_eq!(text.parse().as_ref(), Ok(*lifted), "{text}");
        let program = Program::new(lifted).unwrap_or_else(|stop| panic!("{name}: {stop}\n{text}"));
        let spec = Spec::unknown(&lifted.params).with_constants_of(lifted);
        let how = Comparison {
            names: NAMES,
            limit_steps: 20_000,
            shrink_runs: 200,
            ..Comparison::default()
        };
        // One process for all inputs, and once more, one by one, to make a difference small.
        let settled: Vec<_> = spec
            .sample(1, 40, Palette::All)
            .chain(spec.sample(2, 40, Palette::Tame))
            .filter_map(|case| {
                Some((
                    case.clone(),
                    check::settle(&program, &spec, &case, &how).ok()?,
                ))
            })
            .collect();
        assert!(
            settled.len() > 5,
            "{name}: almost every input is undefined\n{text}"
        );
        let job = |inputs: &Inputs| compiled.job(number, &lifted.params, inputs).unwrap();
        let jobs: Vec<_> = settled.iter().map(|(_, (inputs, _))| job(inputs)).collect();
        let outcomes = compiled.run(&jobs).unwrap();
        for ((case, (_, expected)), outcome) in settled.into_iter().zip(outcomes) {
            let same = outcome.outputs(&lifted.params).is_ok_and(|found| {
                check::first_difference(&expected, &found, &how, &mut Default::default()).is_none()
            });
            if !same {
                let mut side = |inputs: &Inputs| {
                    let outcome = compiled
                        .run(&[job(inputs)])
                        .map_err(|e| e.to_string())?
                        .remove(0);
                    outcome.outputs(&lifted.params)
                };
                let d = check::compare(&program, &mut side, &spec, [case], &how);
                panic!(
                    "{name}: {}\n{text}",
                    d.map_or_else(|d| d.text, |_| "it went away".into())
                );
            }
        }
    }
    liftable.len()
}

fn flags() -> Vec<String> {
    let include = concat!(
        "-I",
        env!("CARGO_MANIFEST_DIR"),
        "/../tensorize-build/include"
    );
    vec![include.into(), "-ffp-contract=off".into()]
}

#[test]
fn demo_kernels_mean_what_their_compiler_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/demo/kernels");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .collect();
    files.sort();
    let lifted: usize = files.iter().map(|f| agree(f, &flags())).sum();
    assert!(
        lifted >= 20,
        "only {lifted} functions of the demo were lifted"
    );
}

#[test]
fn conversions_and_promotions_mean_what_the_compiler_says() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("k.c");
    std::fs::write(&file, ODD).unwrap();
    let lifted = agree(&file, &flags());
    assert!(lifted >= 12, "only {lifted} functions were lifted");
}

/// Integers of all widths, and what C does to them without being asked.
const ODD: &str = r#"
#include <stdint.h>
#include <stddef.h>
#include <math.h>
void narrow(int n, const int *x, int8_t *out) { for (int i = 0; i < n; i++) out[i] = x[i]; }
void widen(int n, const int8_t *x, uint64_t *out) { for (int i = 0; i < n; i++) out[i] = x[i]; }
void bytes(int n, const uint8_t *a, const uint8_t *b, uint8_t *out) {
    for (int i = 0; i < n; i++) out[i] = a[i] - b[i] > 9 ? a[i] * b[i] / 255 : ~a[i];
}
void mixed(int n, const uint32_t *a, const int32_t *b, int64_t *out) {
    for (int i = 0; i < n; i++) out[i] = a[i] + b[i] < 5 ? a[i] / 3 : -(int64_t)b[i];
}
void compound(size_t n, uint8_t *x, short *y) {
    for (size_t i = 0; i < n; i++) { x[i] += 200; x[i] >>= 1; y[i] *= 3; y[i] ^= x[i]; }
}
void walk(int n, const float *x, float *out) { while (n-- > 0) *out++ = *x++ * 0.5f; }
unsigned long count(unsigned n, const _Bool *b) {
    unsigned long c = 0;
    for (unsigned i = 0; i < n; ++i) c += b[i];
    return c;
}
double mean(int n, const float *x) {
    double s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return n > 0 ? s / n : 0;
}
float norm(int n, const float *x) {
    float s = 0;
    for (int i = 0; i < n; i++) s += x[i] * x[i];
    return sqrtf(s + 1e-5f);
}
int biggest(int n, const int *x) {
    int m = x[0];
    for (int i = 1; i < n; i++) if (x[i] > m) m = x[i];
    return m;
}
void clamp(int n, const float *x, uint8_t *out) {
    for (int i = 0; i < n; i++) {
        float v = x[i] * 255.0f;
        out[i] = v > 255 ? 255 : v > 0 ? (uint8_t)v : 0;
    }
}
void shifts(int n, const int *x, unsigned *out) {
    for (int i = 0; i < n; i++) out[i] = (x[i] >> 3) + ((unsigned)x[i] >> 5) % 7 + (1u << (i & 31));
}
void libm(int n, const float *x, float *out) {
    for (int i = 0; i < n; i++) out[i] = expf(x[i]) + fabsf(x[i]) * fmaxf(x[i], 0.0f) + (float)tanh(x[i]);
}
void triangle(int n, const int *x, int *out) {
    for (int i = 0; i < n; i++) {
        int s = 0;
        for (int j = 0; j <= i; j += 2) s ^= x[j] | i;
        out[i] = s;
    }
}
void backwards(long n, const double *x, double *out) {
    for (long i = n - 1; i >= 0; --i) out[n - 1 - i] = -x[i];
}
"#;
