//! Registers of NEON and x86, masks of AVX-512: an intrinsic is not its neighbour.

use super::{Case, refuses_them};

#[test]
fn registers_of_neon() {
    let headers = "#include <arm_neon.h>\n";
    refuses_them("neon", "c", headers, NEON);
}

#[test]
fn registers_of_x86() {
    let headers = "#include <immintrin.h>\n#include <stdint.h>\n";
    refuses_them("x86", "c", headers, X86);
}

#[test]
fn masks_in_registers() {
    let headers = "#include <immintrin.h>\n#include <stdint.h>\n";
    refuses_them("masks", "c", headers, MASKS);
}

const NEON: &[Case] = &[
    (
        "void f(const uint8_t *a, const uint8_t *b, uint8_t *c, int n) { for (int i = 0; i + 16 <= n; i += 16) vst1q_u8(c + i, vqaddq_u8(vld1q_u8(a + i), vld1q_u8(b + i))); }",
        &[
            ("vqaddq_u8", "vaddq_u8"),
            ("vqaddq_u8", "vqsubq_u8"),
            ("vqaddq_u8", "vrhaddq_u8"),
        ],
    ),
    // NaN, and the signs of zeros.
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i + 4 <= n; i += 4) vst1q_f32(c + i, vmaxq_f32(vld1q_f32(a + i), vld1q_f32(b + i))); }",
        &[
            ("vmaxq_f32", "vmaxnmq_f32"),
            ("vmaxq_f32", "vminq_f32"),
            ("i + 4 <= n", "i + 3 <= n"),
        ],
    ),
    (
        "void f(float *x, int n) { for (int i = 0; i + 4 <= n; i += 4) { float32x4_t v = vld1q_f32(x + i); vst1q_f32(x + i, vbslq_f32(vcgtzq_f32(v), v, vdupq_n_f32(0))); } }",
        &[
            ("vcgtzq_f32", "vcgezq_f32"),
            ("v, vdupq_n_f32(0)", "vdupq_n_f32(0), v"),
            (
                "vbslq_f32(vcgtzq_f32(v)",
                "vbslq_f32(vmvnq_u32(vcgtzq_f32(v))",
            ),
        ],
    ),
    // What is rounded, cut off, or as much as there is room for.
    (
        "void f(const int32_t *a, int16_t *b, int n) { for (int i = 0; i + 4 <= n; i += 4) vst1_s16(b + i, vqrshrn_n_s32(vld1q_s32(a + i), 3)); }",
        &[
            ("vqrshrn_n_s32", "vqshrn_n_s32"),
            ("vqrshrn_n_s32", "vrshrn_n_s32"),
            ("a + i), 3", "a + i), 2"),
        ],
    ),
    (
        "unsigned f(const uint8_t *a, int n) { uint32x4_t s = vdupq_n_u32(0); for (int i = 0; i + 16 <= n; i += 16) s = vpadalq_u16(s, vpaddlq_u8(vld1q_u8(a + i))); return vaddvq_u32(s); }",
        &[
            ("vaddvq_u32", "vmaxvq_u32"),
            ("vdupq_n_u32(0)", "vdupq_n_u32(1)"),
            (
                "vpaddlq_u8(vld1q_u8(a + i))",
                "vreinterpretq_u16_u8(vld1q_u8(a + i))",
            ),
            ("vpaddlq_u8(vld1q_u8(a + i))", "vmovl_u8(vld1_u8(a + i))"),
        ],
    ),
    (
        "int f(const int8_t *a, const int8_t *b, int n) { int32x4_t s = vdupq_n_s32(0); for (int i = 0; i + 16 <= n; i += 16) s = vdotq_s32(s, vld1q_s8(a + i), vld1q_s8(b + i)); return vaddvq_s32(s); }",
        &[
            ("vdotq_s32(s,", "vdotq_s32(vdupq_n_s32(0),"),
            ("vld1q_s8(b + i)", "vld1q_s8(a + i)"),
        ],
    ),
    // Registers that belong together.
    (
        "void f(const float *a, float *x, float *y, int n) { for (int i = 0; i + 4 <= n; i += 4) { float32x4x2_t v = vld2q_f32(a + 2 * i); vst1q_f32(x + i, v.val[0]); vst1q_f32(y + i, v.val[1]); } }",
        &[
            ("v.val[0]", "v.val[1]"),
            ("vld2q_f32(a + 2 * i)", "vld2q_f32(a + i)"),
            ("vld2q_f32", "vld1q_f32_x2"),
            ("vst1q_f32(x + i", "v.val[1] = v.val[0]; vst1q_f32(x + i"),
        ],
    ),
    (
        "void f(const float *x, const float *y, float *a, int n) { for (int i = 0; i + 4 <= n; i += 4) { float32x4x2_t v, w; v.val[0] = vld1q_f32(x + i); v.val[1] = vld1q_f32(y + i); w = v; vst2q_f32(a + 2 * i, w); } }",
        &[
            ("v.val[1] =", "v.val[0] ="),
            ("w = v;", "w = v; w.val[0] = v.val[1];"),
            ("vst2q_f32", "vst1q_f32_x2"),
        ],
    ),
    (
        "void f(const uint8_t *a, uint8_t *o, int n) { for (int i = 0; i + 8 <= n; i += 8) { uint8x8x3_t p = vld3_u8(a + 3 * i); uint16x8_t s = vmull_u8(p.val[0], vdup_n_u8(77)); s = vmlal_u8(s, p.val[1], vdup_n_u8(150)); vst1_u8(o + i, vshrn_n_u16(s, 8)); } }",
        &[
            ("p.val[1]", "p.val[2]"),
            ("vshrn_n_u16", "vrshrn_n_u16"),
            ("vmlal_u8", "vmlsl_u8"),
        ],
    ),
];

const X86: &[Case] = &[
    // Signs of bytes, and which of two.
    (
        "void f(const uint8_t *a, const uint8_t *b, uint8_t *c, int n) { for (int i = 0; i + 32 <= n; i += 32) { __m256i x = _mm256_loadu_si256((const __m256i *)(a + i)), y = _mm256_loadu_si256((const __m256i *)(b + i)); _mm256_storeu_si256((__m256i *)(c + i), _mm256_max_epu8(x, y)); } }",
        &[
            ("_mm256_max_epu8", "_mm256_max_epi8"),
            ("_mm256_max_epu8", "_mm256_min_epu8"),
            ("_mm256_max_epu8", "_mm256_adds_epu8"),
        ],
    ),
    (
        "void f(const int16_t *a, const int16_t *b, int16_t *c, int n) { for (int i = 0; i + 16 <= n; i += 16) { __m256i x = _mm256_loadu_si256((const __m256i *)(a + i)), y = _mm256_loadu_si256((const __m256i *)(b + i)); _mm256_storeu_si256((__m256i *)(c + i), _mm256_blendv_epi8(x, y, _mm256_cmpgt_epi16(x, y))); } }",
        &[
            ("blendv_epi8(x, y,", "blendv_epi8(y, x,"),
            ("cmpgt_epi16(x, y)", "cmpgt_epi8(x, y)"),
            ("cmpgt_epi16(x, y)", "cmpeq_epi16(x, y)"),
        ],
    ),
    // The sign of the mask decides, that of zero too.
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i + 4 <= n; i += 4) { __m128 x = _mm_loadu_ps(a + i), y = _mm_loadu_ps(b + i); _mm_storeu_ps(c + i, _mm_blendv_ps(x, y, x)); } }",
        &[
            ("blendv_ps(x, y, x)", "blendv_ps(y, x, x)"),
            ("blendv_ps(x, y, x)", "blendv_ps(x, y, y)"),
            (
                "blendv_ps(x, y, x)",
                "blendv_ps(x, y, _mm_cmplt_ps(x, _mm_setzero_ps()))",
            ),
        ],
    ),
    // NaN, where the second is taken.
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i + 16 <= n; i += 16) { __m512 x = _mm512_loadu_ps(a + i), y = _mm512_loadu_ps(b + i); _mm512_storeu_ps(c + i, _mm512_max_ps(x, y)); } }",
        &[
            ("max_ps(x, y)", "max_ps(y, x)"),
            ("_mm512_max_ps", "_mm512_min_ps"),
        ],
    ),
    // Cut off, or rounded.
    (
        "void f(const float *a, int32_t *b, int n) { for (int i = 0; i + 8 <= n; i += 8) { _mm256_storeu_si256((__m256i *)(b + i), _mm256_cvttps_epi32(_mm256_loadu_ps(a + i))); } }",
        &[
            ("_mm256_cvttps_epi32", "_mm256_cvtps_epi32"),
            ("_mm256_cvttps_epi32", "_mm256_castps_si256"),
        ],
    ),
    (
        "void f(const uint8_t *a, uint16_t *b, int n) { for (int i = 0; i + 16 <= n; i += 16) { _mm256_storeu_si256((__m256i *)(b + i), _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(a + i)))); } }",
        &[("_mm256_cvtepu8_epi16", "_mm256_cvtepi8_epi16")],
    ),
    (
        "void f(const int16_t *a, uint8_t *b, int n) { for (int i = 0; i + 8 <= n; i += 8) { __m128i x = _mm_loadu_si128((const __m128i *)(a + i)); _mm_storel_epi64((__m128i *)(b + i), _mm_packus_epi16(x, x)); } }",
        &[
            ("_mm_packus_epi16", "_mm_packs_epi16"),
            (
                "_mm_packus_epi16(x, x)",
                "_mm_shuffle_epi8(x, _mm_setr_epi8(0, 2, 4, 6, 8, 10, 12, 14, 0, 0, 0, 0, 0, 0, 0, 0))",
            ),
        ],
    ),
    // Neighbours, or what lies across.
    (
        "void f(const float *a, float *b, int n) { for (int i = 0; i + 4 <= n; i += 4) { __m128 x = _mm_loadu_ps(a + i); _mm_storeu_ps(b + i, _mm_hadd_ps(x, x)); } }",
        &[
            ("_mm_hadd_ps", "_mm_add_ps"),
            ("_mm_hadd_ps", "_mm_hsub_ps"),
        ],
    ),
    (
        "void f(const int16_t *a, const int16_t *b, int16_t *c, int n) { for (int i = 0; i + 8 <= n; i += 8) { __m128i x = _mm_loadu_si128((const __m128i *)(a + i)), y = _mm_loadu_si128((const __m128i *)(b + i)); _mm_storeu_si128((__m128i *)(c + i), _mm_srai_epi16(_mm_mulhi_epi16(x, y), 1)); } }",
        &[
            ("_mm_mulhi_epi16", "_mm_mulhi_epu16"),
            ("_mm_mulhi_epi16", "_mm_mulhrs_epi16"),
            ("_mm_srai_epi16", "_mm_srli_epi16"),
        ],
    ),
];

const MASKS: &[Case] = &[
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i + 8 <= n; i += 8) { __m256 x = _mm256_loadu_ps(a + i), y = _mm256_loadu_ps(b + i); _mm256_storeu_ps(c + i, _mm256_mask_add_ps(x, _mm256_cmp_ps_mask(x, y, _CMP_LT_OQ), x, y)); } }",
        &[
            ("_mm256_mask_add_ps(x, ", "_mm256_maskz_add_ps("),
            ("_CMP_LT_OQ", "_CMP_NGE_UQ"),
            ("_mm256_mask_add_ps(x,", "_mm256_mask_add_ps(y,"),
        ],
    ),
    (
        "void f(const uint8_t *a, uint8_t *b, int n) { for (int i = 0; i + 16 <= n; i += 16) { __m128i x = _mm_loadu_si128((const __m128i *)(a + i)); _mm_mask_storeu_epi8(b + i, _mm_cmpgt_epu8_mask(x, _mm_set1_epi8(9)), x); } }",
        &[
            ("_mm_cmpgt_epu8_mask", "_mm_cmpgt_epi8_mask"),
            ("_mm_cmpgt_epu8_mask", "_mm_cmpge_epu8_mask"),
            (
                "_mm_mask_storeu_epi8(b + i, _mm_cmpgt_epu8_mask(x, _mm_set1_epi8(9)), x)",
                "_mm_storeu_si128((__m128i *)(b + i), x)",
            ),
        ],
    ),
    (
        "int f(const int *a, int n) { __m512i s = _mm512_setzero_si512(); for (int i = 0; i + 16 <= n; i += 16) s = _mm512_add_epi32(s, _mm512_loadu_si512(a + i)); return _mm512_reduce_add_epi32(s); }",
        &[
            ("_mm512_reduce_add_epi32", "_mm512_reduce_max_epi32"),
            ("_mm512_reduce_add_epi32", "_mm512_reduce_or_epi32"),
            ("_mm512_add_epi32", "_mm512_sub_epi32"),
        ],
    ),
];
