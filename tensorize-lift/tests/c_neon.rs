//! NEON on any machine: its header is ours, so that kernels for another processor can be read.

use std::path::Path;
use tensorize_ir::loopir::interp::run;
use tensorize_ir::memory::{Buffer, Inputs};
use tensorize_ir::scalar::{Scalar, ScalarType};

const SOURCE: &str = r#"
#include <arm_neon.h>
void saturated(const uint8_t *a, const uint8_t *b, uint8_t *c) {
    vst1q_u8(c, vqaddq_u8(vld1q_u8(a), vld1q_u8(b)));
}
void scaled(const int16_t *a, int16_t *c, int16_t v) {
    int16x8_t x = vld1q_s16(a);
    int32x4_t lo = vmull_n_s16(vget_low_s16(x), v), hi = vmull_n_s16(vget_high_s16(x), v);
    vst1q_s16(c, vcombine_s16(vshrn_n_s32(lo, 15), vshrn_n_s32(hi, 15)));
}
float dot(const float *a, const float *b) {
    return vaddvq_f32(vmlaq_f32(vdupq_n_f32(1), vld1q_f32(a), vld1q_f32(b)));
}
"#;

fn ints(ty: ScalarType, values: &[i128]) -> Buffer {
    Buffer::new(ty, values.iter().map(|v| Scalar::int(ty, *v)).collect())
}

fn floats(values: &[f32]) -> Buffer {
    Buffer::new(
        ScalarType::F32,
        values.iter().map(|v| Scalar::f32(*v)).collect(),
    )
}

#[test]
fn neon_means_what_its_table_says() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("neon.c");
    std::fs::write(&file, SOURCE).unwrap();
    let all = tensorize_lift::c::parse(Path::new(&file), &[]).unwrap();
    let kernel = |name: &str| {
        let f = all.iter().find(|f| f.name == name).unwrap();
        f.lowered
            .as_ref()
            .unwrap_or_else(|p| panic!("{}", p.message))
    };
    let mut inputs = Inputs::default();
    inputs
        .arrays
        .insert("a".into(), ints(ScalarType::U8, &[200; 16]));
    inputs
        .arrays
        .insert("b".into(), ints(ScalarType::U8, &[100; 16]));
    inputs
        .arrays
        .insert("c".into(), ints(ScalarType::U8, &[0; 16]));
    run(kernel("saturated"), &mut inputs, 1000).unwrap();
    assert_eq!(inputs.arrays["c"], ints(ScalarType::U8, &[255; 16]));

    let mut inputs = Inputs::default();
    let a = [32767, -32768, 1, 2, 16384, -16384, 0, 3];
    inputs.arrays.insert("a".into(), ints(ScalarType::I16, &a));
    inputs
        .arrays
        .insert("c".into(), ints(ScalarType::I16, &[0; 8]));
    inputs
        .scalars
        .insert("v".into(), Scalar::int(ScalarType::I16, 16384));
    run(kernel("scaled"), &mut inputs, 1000).unwrap();
    let halves: Vec<i128> = a.iter().map(|x| (x * 16384) >> 15).collect();
    assert_eq!(inputs.arrays["c"], ints(ScalarType::I16, &halves));

    let mut inputs = Inputs::default();
    inputs
        .arrays
        .insert("a".into(), floats(&[1.0, 2.0, 3.0, 4.0]));
    inputs
        .arrays
        .insert("b".into(), floats(&[2.0, 2.0, 2.0, 2.0]));
    let dot = kernel("dot");
    assert!(dot.fused);
    assert_eq!(
        run(dot, &mut inputs, 1000).unwrap(),
        Some(Scalar::f32(24.0))
    );
}
