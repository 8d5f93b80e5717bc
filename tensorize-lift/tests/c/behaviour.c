// Kernels in many styles. c_behaviour.rs runs each one as compiled C and as lowered LoopIR.
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define CLAMP(x, lo, hi) ((x) < (lo) ? (lo) : (x) > (hi) ? (hi) : (x))
#define FOR(i, n) for (int i = 0; i < (n); ++i)
typedef float real;
typedef unsigned char byte;
enum mode { ADD, SUB = 5, MUL };
static const int WEIGHTS[2][3] = {{1, 2, 1}, {0, -1}};
static const double SCALE = 1.5;

static inline int mul255(int a, int b) { return (a * b + 127) / 255; }
static int sign(int x) {
    if (x < 0) return -1;
    if (x > 0) return 1;
    return 0;
}
static int first_negative(const int *a, int n) {
    for (int i = 0; i < n; i++)
        if (a[i] < 0) return i;
    return -1;
}
static void bounds(const int *a, int n, int *lo, int *hi) {
    *lo = *hi = a[0];
    for (int i = 1; i < n; i++) {
        if (a[i] < *lo) *lo = a[i];
        if (a[i] > *hi) *hi = a[i];
    }
}
static float square(float x) { return x * x; }

void promotions(const uint8_t *a, const int8_t *b, const uint16_t *c, int32_t *out, int n) {
    for (int i = 0; i < n; i++) out[i] = (a[i] + b[i]) * 3 - (c[i] >> 2) + ~a[i] + -b[i] + !c[i];
}
void unsigned_mix(const uint32_t *a, const int32_t *b, int64_t *out, int n) {
    for (int i = 0; i < n; i++) out[i] = (a[i] + b[i]) + (b[i] < a[i]) + (int64_t)a[i] * b[i];
}
void narrow_stores(uint8_t *a, int8_t *b, uint16_t *c, _Bool *d, int n, int k) {
    for (int i = 0; i < n; i++) {
        a[i] += k;
        b[i] = a[i];
        c[i] -= a[i] * 300u;
        d[i] = a[i];
    }
}
void compound(uint8_t *a, short *s, unsigned *u, long long *l, int n) {
    for (int i = 0; i < n; i++) {
        a[i] *= 7;
        a[i] ^= 0x55;
        s[i] &= ~3;
        s[i] |= a[i];
        u[i] <<= 3;
        u[i] >>= 1;
        s[i] >>= 2;
        l[i] %= 1000;
        l[i] /= 7;
    }
}
void float_compound(float *x, double *y, uint8_t *b, int n) {
    for (int i = 0; i < n; i++) {
        x[i] += y[i] * 0.5;
        y[i] /= x[i] + 1;
        b[i] = b[i] * 0.25f;
        x[i] -= 1;
        x[i]++;
    }
}
void blend(const byte *base, const byte *active, byte *out, int rows, int cols) {
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) {
            const byte b = base[r * cols + c], a = active[r * cols + c];
            if (2 * b >= 255)
                out[r * cols + c] = 255 - mul255(2 * (255 - a), 255 - b);
            else
                out[r * cols + c] = mul255(2 * a, b);
        }
}
float dot_walk(const float *a, const float *b, size_t n) {
    float s = 0;
    while (n--) s += *a++ * *b++;
    return s;
}
int sum_do(const short *p, int n) {
    int s = 0;
    if (n <= 0) return 0;
    do {
        s += *p++;
    } while (--n);
    return s;
}
void copy_backwards(const int *src, int *dst, int n) {
    const int *s = src + n;
    int *d = dst;
    while (s > src) *d++ = *--s;
}
long pointer_distance(const int *a, int n) {
    const int *p = a, *end = &a[n];
    while (p != end && *p >= 0) p++;
    return p - a;
}
void two_pointers(float *x, int n) {
    float *lo = x, *hi = x + n - 1;
    while (lo < hi) {
        float t = *lo;
        *lo++ = *hi;
        *hi-- = t;
    }
}
int search(const int *a, int n, int x) {
    for (int i = 0; i < n; i++)
        if (a[i] == x) return i;
    return -1;
}
int jumps(const int *a, int n) {
    int s = 0;
    for (int i = 0; i < n; i++) {
        if (a[i] % 3 == 0) continue;
        if (a[i] == 127) break;
        for (int j = 0; j < i; j++) {
            if (j == 5) break;
            if ((j ^ a[i]) & 1) continue;
            s += j;
        }
        s ^= i;
    }
    return s;
}
int nested_break(const int *a, int n) {
    int found = -1, i = 0;
    for (;;) {
        if (i >= n) break;
        int j = 0;
        while (1) {
            if (j > i) break;
            if (a[i] == j) {
                found = i * 10 + j;
                break;
            }
            j++;
        }
        if (found >= 0) break;
        i++;
    }
    return found + i;
}
int continue_in_do(int n) {
    int s = 0, i = 0;
    do {
        i++;
        if (i & 1) continue;
        s += i;
        if (s > 12) break;
    } while (i < n);
    return s * 100 + i;
}
int helper_returns(const int *a, int n) {
    int k = first_negative(a, n);
    return k * 10 + sign(a[0]) + sign(k);
}
int out_parameters(const int *a, int n) {
    int lo, hi;
    if (n < 1) return 0;
    bounds(a, n, &lo, &hi);
    return (hi >> 1) - (lo >> 1);
}
void switches(const uint8_t *op, int32_t *x, int n) {
    for (int i = 0; i < n; i++) {
        switch (op[i] % 6) {
        case ADD: x[i] = (x[i] >> 1) + 1; break;
        case 1:
        case 2: {
            if (x[i] & 1) break;
            x[i] ^= 3;
            break;
        }
        case SUB: continue;
        default: x[i] = 9;
        }
        x[i] |= 64;
    }
}
void conditional(const int *a, int *b, int n) {
    FOR (i, n) {
        b[i] = a[i] > 3 && (b[i] & 1) || a[i] < -3 ? CLAMP(a[i], -9, 99) : !a[i];
        a[i] & 1 ? (b[i] ^= 1) : (b[i] ^= 2);
    }
}
int short_circuit(const int *a, int n) {
    int i = 0, steps = 0;
    while (i < n && (steps++, a[i] != 7)) i++;
    if (i > 2 || steps++ > 1) steps += 100;
    return steps * 1000 + i;
}
int increments(int *a, int n) {
    int i = 0, j = 5, s = 0;
    while (i < n) {
        a[i++] = j--;
        s += i++ - --j;
        s = s + (j++, j);
    }
    return s + i * j;
}
void matrix(int n, int m, const float a[n][m], const float *x, float y[]) {
    for (int i = 0; i < n; i++) {
        y[i] = 0.0f;
        for (int j = 0; j < m; j++) y[i] += a[i][j] * x[j];
    }
}
void fixed_matrix(int (*a)[3], const int b[][3], int n) {
    int t[3][3] = {{0}};
    for (int i = 0; i < n && i < 3; i++)
        for (int j = 0; j < 3; j++) t[j][i] = a[i][j] >> 8;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) a[i][j] = t[i][j] + WEIGHTS[i & 1][j] + (b[i][j] >> 4);
}
void row_pointers(const float *a, float *out, int n, int m) {
    for (int i = 0; i < n; i++) {
        const float *row = a + (size_t)i * m;
        float best = row[0];
        for (int j = 1; j < m; j++)
            if (row[j] > best) best = row[j];
        out[i] = best;
    }
}
void maths(const float *x, const double *y, float *f, double *d, int n) {
    for (int i = 0; i < n; i++) {
        f[i] = fabsf(x[i]) + sqrtf(fabsf(x[i])) + fmaxf(x[i], 1.0f) * fminf(x[i], 2.f) + square(x[i]);
        d[i] = floor(y[i]) + ceil(y[i] / 2) + trunc(y[i]) * 0x1.8p1 + fabs(y[i]) + SCALE;
        if (isnan(x[i])) f[i] = -1;
        if (isinf(y[i])) d[i] = 2;
    }
}
void integers(const int *a, int *b, int64_t *c, int n) {
    for (int i = 0; i < n; i++) {
        b[i] = abs(a[i] >> 1) + (int)sizeof(a[0]) + 'A' + '\xff' + 0x7fff + 010;
        c[i] = a[i] * 3000000000LL + (a[i] << 2 & 0xff) + (b[i] ? 1ull << 40 : 1);
    }
}
void casts(const float *x, const double *y, int *a, uint8_t *b, float *f, int n) {
    for (int i = 0; i < n; i++) {
        float v = x[i] > 200 ? 200 : x[i] < 0 ? 0 : x[i];
        if (v != v) v = 0;
        b[i] = (uint8_t)(v + 0.5f);
        a[i] = (int)v * 2 + (signed char)a[i];
        f[i] = (float)y[i] + (float)a[i] + (real)(char)b[i];
        f[i] = (double)f[i] / 3;
    }
}
void moments(const float *x, int n, float *mean, float *var) {
    double s = 0, q = 0;
    for (int i = n - 1; i >= 0; --i) {
        s += x[i];
        q += (double)x[i] * x[i];
    }
    *mean = n ? s / n : 0;
    *var = n ? q / n - (double)*mean * *mean : 0;
}
void memory(int32_t *a, const int32_t *b, float *f, const uint32_t *u, int n) {
    if (n <= 0) return;
    memcpy(a, b, n * sizeof *a);
    memset(f, 0, sizeof(float) * n);
    memcpy(f, u, 4);
    memset(a + 1, 255, 4);
}
void strides(const int16_t *x, int16_t *y, int n, int stride) {
    for (int i = 0, j = 0; i < n; i += 2, j += stride) y[i] = x[j] + x[i + 1];
}
bool all_equal(const int *a, int n) {
    bool same = true;
    for (int i = 1; i < n; i++) same = same && a[i] == a[0];
    return same;
}
unsigned hash(const uint8_t *p, unsigned n) {
    unsigned h = 2166136261u;
    for (unsigned i = 0; i != n; ++i) {
        h ^= p[i];
        h *= 16777619;
    }
    return h;
}
void macro_loop(float *x, int n) {
#define STEP(v) do { float t_ = (v) * 2; if (t_ > 8) break; (v) = t_ + 1; } while (0)
    for (int i = 0; i < n; i++) STEP(x[i]);
}
int comma(int a, int b) {
    int c;
    return (c = a & 15, c += b & 7, c) * (a, b) % 17;
}
void sign_view(uint8_t *a, int n) {
    signed char *s = (signed char *)a;
    for (int i = 0; i < n; i++) s[i] = s[i] / 2;
}

/* Pointers that change places: the loop's own test and step read through them, too, and they have moved before. */
void take_turns(int *a, int *b, int n)
{
    int *now = a, *next = b, *old;
    for (int t = 0; t < n && t < 20 && now[t] < 500; t += 1 + (now[0] & 1)) {
        for (int i = 1; i < 20; i++)
            next[i] = now[i - 1] / 2 + now[i] / 4;
        old = now;
        now = next;
        next = old;
    }
    now[3] = next[2] / 3;
}

void three_in_turn(int *a, int *b, int *c, int n)
{
    int *prev = a + 2, *now = b, *next = c + 1;
    int rounds = n & 7;
    while (rounds-- > 0) {
        int *t = prev;
        for (int i = 1; i < 9; i++)
            next[i] = now[i - 1] / 2 - prev[i + 1] / 4;
        if (now[2] > 3)
            next[0] = 1;
        prev = now;
        now = next;
        next = t;
    }
    prev[5] = 7;
    next[6] = 8;
}

/* Inside of another loop, and first in the body. */
int nested_turns(int *a, int *b, int n)
{
    int sum = 0;
    for (int k = 0; k < (n & 3); k++) {
        int *p = a, *q = b;
        for (int t = 0; t < 3 + k; t++) {
            int *old = p;
            p = q, q = old;
            p[t + k] = q[t] / 2 + k;
            sum ^= p[k];
        }
        sum += q[1] / 2 - p[2] / 2;
    }
    return sum;
}

/* Loops that end by data or by a count, looked at after a round. */
int do_data_then_count(const int *a, int *b, int n) {
    int it = 0, x = n;
    do {
        x += a[it] % 5;
        b[it] = x;
    } while (x < 20 && ++it < 9);
    return it * 100 + x;
}
int do_count_then_data(const float *a, int *b, int n) {
    int i = 0;
    float s = n;
    do {
        if (a[i] < -50) { i += 2; continue; }
        if (a[i] > 60) break;
        s += a[i];
        b[i] = i * 3;
        i++;
    } while (i < 10 && s < 30 && a[i + 1] < 40);
    return i;
}
int do_count_of_the_caller(const double *a, int *b, int most) {
    int it = 0, sum = 0;
    double step;
    do {
        step = a[it] / 2;
        sum += step > 0;
        b[it % 4] = sum;
    } while (it++ < most && (step > 1 || step < -1));
    return sum * 1000 + it;
}
int do_both_ways(const int *a, const int *b, int *out, int n) {
    int i = 9, steps = 0;
    do {
        out[i] = a[i] - b[i];
        steps++;
    } while (a[i] != b[i] && --i > 2 && b[i] % 3 != n);
    return steps * 16 + i;
}
int do_unknown_start(const int *a, int n, int most) {
    int i = n & 3, hits = 0;
    do {
        hits += a[i] > 3;
        i++;
    } while (i < most && a[i] > 0);
    return hits * 32 + i;
}
int do_inside(const float *a, float *b, int n) {
    int worst = 0;
    for (int k = 0; k < (n & 7); k++) {
        float x = a[k], dx;
        int it = 0;
        do {
            dx = x / 4;
            x -= dx;
        } while ((dx > 1 || dx < -1) && ++it < 6);
        b[k] = x;
        if (it > worst) worst = it;
    }
    return worst;
}
