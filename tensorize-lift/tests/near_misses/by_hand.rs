//! Unrolled, tiled, with several sums: what was optimised by hand is not what lies beside it.

use super::{Case, refuses_them};

#[test]
fn what_was_optimised_by_hand() {
    refuses_them("by_hand", "c", HEADERS, BY_HAND);
}

const HEADERS: &str = "#include <math.h>\n#include <stddef.h>\n#include <stdint.h>\n";

const BY_HAND: &[Case] = &[
    // Floats in four sums, put together in another order than that of a plain loop.
    (
        "float f(const float *x, const float *y, int n) { float a = 0, b = 0, c = 0, d = 0; int i = 0; for (; i + 3 < n; i += 4) { a += x[i] * y[i]; b += x[i + 1] * y[i + 1]; c += x[i + 2] * y[i + 2]; d += x[i + 3] * y[i + 3]; } for (; i < n; i++) a += x[i] * y[i]; return a + b + c + d; }",
        &[
            ("y[i + 2]", "y[i + 1]"),
            ("int i = 0", "int i = 1"),
            ("return a + b + c + d", "return a + b + c - d"),
            ("; i < n; i++", "; i < n - 1; i++"),
        ],
    ),
    // Eight at a time, and a tail.
    (
        "void f(const int *a, int *o, int n) { int i = 0; for (; i + 7 < n; i += 8) { o[i] = a[i] + 1; o[i + 1] = a[i + 1] + 1; o[i + 2] = a[i + 2] + 1; o[i + 3] = a[i + 3] + 1; o[i + 4] = a[i + 4] + 1; o[i + 5] = a[i + 5] + 1; o[i + 6] = a[i + 6] + 1; o[i + 7] = a[i + 7] + 1; } for (; i < n; i++) o[i] = a[i] + 1; }",
        &[
            ("a[i + 6] + 1", "a[i + 6]"),
            ("o[i + 5] = a[i + 5]", "o[i + 4] = a[i + 5]"),
            ("for (; i < n; i++) o[i] = a[i] + 1;", ""),
        ],
    ),
    // Four sums.
    (
        "int f(const int *a, int n) { int s0 = 0, s1 = 0, s2 = 0, s3 = 0, i; for (i = 0; i + 3 < n; i += 4) { s0 += a[i]; s1 += a[i + 1]; s2 += a[i + 2]; s3 += a[i + 3]; } for (; i < n; i++) s0 += a[i]; return s0 + s1 + s2 + s3; }",
        &[
            ("s0 + s1 + s2 + s3", "s0 + s1 + s2 + s2"),
            ("s1 = 0", "s1 = 1"),
            ("s2 += a[i + 2]", "s2 += a[i + 1]"),
        ],
    ),
    // Products in tiles, and in another order.
    (
        "void f(const float *a, const float *b, float *c, int n) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) c[i * n + j] = 0; for (int jj = 0; jj < n; jj += 16) for (int kk = 0; kk < n; kk += 16) for (int i = 0; i < n; i++) for (int k = kk; k < (kk + 16 < n ? kk + 16 : n); k++) for (int j = jj; j < (jj + 16 < n ? jj + 16 : n); j++) c[i * n + j] += a[i * n + k] * b[k * n + j]; }",
        &[
            ("b[k * n + j]", "b[j * n + k]"),
            ("kk + 16 < n ? kk + 16 : n", "kk + 15 < n ? kk + 15 : n"),
            ("c[i * n + j] = 0", "c[i * n + j] = 1"),
        ],
    ),
    (
        "void f(const float *a, const float *b, float *c, int m, int n, int k) { for (int i = 0; i < m; i++) { for (int j = 0; j < n; j++) c[i * n + j] = 0; for (int p = 0; p < k; p++) for (int j = 0; j < n; j++) c[i * n + j] += a[i * k + p] * b[p * n + j]; } }",
        &[
            ("a[i * k + p]", "a[i * n + p]"),
            ("b[p * n + j]", "b[j * k + p]"),
            ("c[i * n + j] = 0", "c[i * n + j] = 1"),
        ],
    ),
    // Loads one round ahead.
    (
        "void f(const float *a, float *o, int n) { if (n <= 0) return; float next = a[0]; for (int i = 0; i < n - 1; i++) { float now = next; next = a[i + 1]; o[i] = now * 2; } o[n - 1] = next * 2; }",
        &[
            ("o[i] = now * 2", "o[i] = next * 2"),
            ("o[n - 1] = next * 2", "o[n - 1] = next"),
            ("next = a[i + 1]", "next = a[i]"),
        ],
    ),
    // Vectors, and a tail that goes on with the same counter.
    (
        "#include <immintrin.h>\nvoid f(const float *a, const float *b, float *c, int n) { int i = 0;\n#ifdef __SSE2__\n for (; i + 4 <= n; i += 4) _mm_storeu_ps(c + i, _mm_max_ps(_mm_loadu_ps(a + i), _mm_loadu_ps(b + i)));\n#endif\n for (; i < n; i++) c[i] = a[i] > b[i] ? a[i] : b[i]; }",
        &[
            ("_mm_max_ps", "_mm_min_ps"),
            (
                "_mm_loadu_ps(a + i), _mm_loadu_ps(b + i)",
                "_mm_loadu_ps(b + i), _mm_loadu_ps(a + i)",
            ),
            (
                "c[i] = a[i] > b[i] ? a[i] : b[i]",
                "c[i] = a[i] >= b[i] ? a[i] : b[i]",
            ),
            ("a[i] > b[i]", "a[i] < b[i]"),
        ],
    ),
    (
        "#include <immintrin.h>\n__attribute__((target(\"avx2\"))) int f(const int *a, int n) { __m256i s = _mm256_setzero_si256(); int i = 0, t = 0; for (; i + 8 <= n; i += 8) s = _mm256_add_epi32(s, _mm256_loadu_si256((const __m256i *)(a + i))); int p[8]; _mm256_storeu_si256((__m256i *)p, s); for (int j = 0; j < 8; j++) t += p[j]; for (; i < n; i++) t += a[i]; return t; }",
        &[
            ("j < 8", "j < 7"),
            ("_mm256_add_epi32", "_mm256_sub_epi32"),
            ("_mm256_add_epi32", "_mm256_add_epi16"),
        ],
    ),
    (
        "#include <immintrin.h>\n__attribute__((target(\"avx512f\"))) void f(const float *a, float *b, int n) { for (int i = 0; i + 16 <= n; i += 16) { __m512 x = _mm512_loadu_ps(a + i); __mmask16 m = _mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ); _mm512_storeu_ps(b + i, _mm512_maskz_mov_ps(m, x)); } }",
        &[("_CMP_GT_OQ", "_CMP_LT_OQ"), ("i + 16 <= n", "i + 8 <= n")],
    ),
    (
        "#include <immintrin.h>\nvoid f(const uint8_t *a, const uint8_t *b, uint8_t *c, int n) { for (int i = 0; i + 16 <= n; i += 16) _mm_storeu_si128((__m128i *)(c + i), _mm_adds_epu8(_mm_loadu_si128((const __m128i *)(a + i)), _mm_loadu_si128((const __m128i *)(b + i)))); }",
        &[
            ("_mm_adds_epu8", "_mm_add_epi8"),
            ("_mm_adds_epu8", "_mm_adds_epi8"),
            ("_mm_adds_epu8", "_mm_subs_epu8"),
        ],
    ),
];
