/* Calls the kernels as C does, and says what came of it. */
#include "checked.h"
#include "filters.h"
#include "matrix.h"
#include "particles.h"
#include "planes.h"
#include "waves.h"
#include "vectors.h"
#include "volumes.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static float pool[4096];
static const float complex a_quarter = I;

/* `gap` elements between the rows; negative: the last row first; 1000: rows that overlap; 2000: uneven ones. */
static void make(matrix *m, int rows, int cols, int gap, float *at)
{
    m->rows = rows;
    m->cols = cols;
    m->vals = malloc((rows + 1) * sizeof(float *));
    for (int i = 0; i < rows; i++) {
        int k = gap < 0 ? rows - 1 - i : i;
        int pitch = gap == 1000 ? cols - 1 : gap == 2000 ? cols : cols + abs(gap);
        m->vals[i] = at + k * pitch + (gap == 2000 && i > 1 ? 3 : 0);
    }
}

static int check(int rows, int cols, int gap, float *expect)
{
    matrix m, n;
    make(&m, rows, cols, gap, pool);
    make(&n, rows, cols, gap, expect);
    for (int i = 0; i < 4096; i++) pool[i] = expect[i] = i % 17 + 1;
    scale_matrix(&m, 2);
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) n.vals[i][j] *= 2;
    free(m.vals);
    free(n.vals);
    return memcmp(pool, expect, sizeof pool) == 0;
}

enum { PLANES = 4, ROWS = 5, COLS = 6, EVEN, ANYWHERE, WITHOUT_CORNERS, SHARED };

static double volume_of(int i, int j, int k)
{
    return i * 100 + j * 10 + k;
}

/* A volume in `at`, from the back unless it is even. */
static double ***volume(double *at, int how)
{
    double ***v = malloc(PLANES * sizeof(double **));
    for (int i = 0; i < PLANES; i++) {
        v[i] = malloc(ROWS * sizeof(double *));
        for (int j = 0; j < ROWS; j++) {
            int row = i * ROWS + j, corner = (i == 0 || i == PLANES - 1) && (j == 0 || j == ROWS - 1);
            v[i][j] = at + COLS * (how == EVEN ? row : PLANES * ROWS - 1 - row);
            for (int k = 0; k < COLS; k++) v[i][j][k] = volume_of(i, j, k);
            if (corner && how == WITHOUT_CORNERS) v[i][j] = NULL;
        }
    }
    return v;
}

static int spreads(int how)
{
    static double from[PLANES * ROWS * COLS], to[PLANES * ROWS * COLS];
    double ***in = volume(from, how), ***out = volume(to, how);
    int wrong = 0;
    if (how == SHARED) out[1][2] = out[2][2] = in[0][2];
    spread(in, out, PLANES, ROWS, COLS);
    for (int i = 0; i < PLANES; i++)
        for (int j = 0; j < ROWS; j++)
            for (int k = 0; k < COLS && out[i][j]; k++) {
                int inside = i > 0 && i < PLANES - 1 && j > 0 && j < ROWS - 1;
                wrong |= how != SHARED && out[i][j][k] != (inside ? 4 : 1) * volume_of(i, j, k);
            }
    /* Of the two that lie in one place, and in the volume that is read, the second one is left there. */
    if (how == SHARED) wrong = in[0][2][1] != 4 * volume_of(2, 2, 1);
    for (int i = 0; i < PLANES; i++) free(in[i]), free(out[i]);
    free(in), free(out);
    return wrong;
}

/* What is written is where the pointer to the next number is. */
static int counts_pointers(void)
{
    static unsigned char numbers[256] __attribute__((aligned(256)));
    for (int i = 0; i < 256; i++) numbers[i] = i + 10;
    unsigned char *from[1] = {numbers + 3}, *to[1] = {(unsigned char *)from}, **v[2] = {from, to};
    counted(v, 1, 2);
    return to[0][0] != 14 || to[0][1] != 26;
}

/* A bit for each thing that went wrong. */
int calls_from_c(int which)
{
    static float expect[4096];
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8], b[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    switch (which) {
    case 0: return !check(5, 7, 3, expect);
    case 1: return !check(5, 7, -3, expect);
    case 2: return !check(5, 7, 1000, expect);
    case 3: return !check(5, 7, 2000, expect);
    case 4: return !check(0, 7, 0, expect) | 2 * !check(3, 0, 0, expect) | 4 * !check(1, 9, 0, expect);
    case 5: return add_bias(y, x, b, 8) != 0 || y[7] != 9;
    case 6: return add_bias(y, x, NULL, 8) != 0 || y[7] != 8;
    case 7: return add_bias(NULL, x, b, 8) != -1;
    case 8: return sum_range(x, x + 8) != 36 || sum_range(x, x) != 0 || sum_range(NULL, NULL) != 0;
    case 9: {
        struct stats s = {2, 8, -1};
        total(&s, x);
        if (s.sum != 72 || s.n != 8) return 1;
        /* the sum goes where it is summed from */
        union { struct stats s; float f[3]; } u = {{1, 3, 5}};
        total(&u.s, u.f);
        return 0;
    }
    case 10: {
        image m = {2, 2, 2, x};
        scale_image(m, 3);
        return x[0] != 3 || x[7] != 24;
    }
    case 11: {
        matrix m, n;
        make(&m, 2, 2, 0, x);
        make(&n, 2, 2, 0, b);
        matrix_add_matrix(m, n);
        matrix_add_matrix(m, m);
        return b[3] != 5 || x[3] != 8;
    }
    case 12: {
        /* rows of two matrices, one after the other */
        matrix m = {2, 2, NULL}, n = m;
        float *rows[] = {x, b, x + 4, b + 4};
        float *first[] = {x, x + 4}, *second[] = {x + 2, x + 6};
        (void)rows;
        m.vals = first;
        n.vals = second;
        matrix_add_matrix(m, n);
        return x[2] != 4 || x[7] != 14;
    }
    case 13: {
        x[3] = -2;
        struct range r = range_of(x, 8);
        return r.lo != -2 || r.hi != 8 || r.n != 8;
    }
    case 14: {
        int n = 3;
        double alpha = 2, from[] = {1, 1, 1}, to[] = {2, 3, 4, 5};
        daxpy_(&n, &alpha, from, to);
        return to[0] != 4 || to[2] != 6 || to[3] != 5;
    }
    case 15: {
        /* what it multiplies by is what it writes */
        int n = 3;
        double from[] = {1, 1, 1}, to[] = {2, 3, 4};
        daxpy_(&n, to, from, to);
        return to[0] != 4 || to[1] != 7 || to[2] != 8;
    }
    case 16: {
        long dims[] = {4, -1, 2};
        return mean_over(dims, x) != 4.5f;
    }
    case 17: {
        struct particle other, p[] = {
            {{0, 1, 2}, {1, -4, 3}, 1, 9, &other},
            {{5, 6, 7}, {1, 1, 1}, 0, 8, NULL},
            {{0, 9, 2}, {2, 2, 2}, 7, 7, &p[1]},
        };
        advance(p, 3, 0.5f);
        if (p[0].at[0] != 0.5f || p[0].at[1] != -1 || p[0].alive || p[0].weight != 8.5) return 1;
        if (p[0].next != &other || p[0].by[2] != 3 || p[1].at[0] != 5 || p[1].weight != 8) return 1;
        return p[2].at[2] != 3 || p[2].alive != 7 || p[2].weight != 6.5 || p[2].next != &p[1];
    }
    case 24:
    case 25:
    case 26: {
        /* apart, the one is the other, and one whose length is written over */
        double xs[] = {1, 2, 3}, ys[] = {10, 20, 30}, zs[] = {0, 0, 0, 9};
        struct on_the_heap xc = {3, xs}, yc = {3, ys}, zc = {3, zs};
        struct { void *content; } xv = {&xc}, yv = {&yc}, zv = {&zc};
        vector x = (vector)&xv, y = (vector)&yv, z = (vector)&zv;
        if (which == 24) {
            linear_sum(2, x, 1, y, z);
            return zs[0] != 12 || zs[2] != 36 || zs[3] != 9 || sum_squares(y->content) != 1400;
        }
        if (which == 25) {
            linear_sum(2, x, 1, x, x);
            return xs[0] != 3 || xs[2] != 9;
        }
        union { struct on_the_heap v; double bits[2]; } u = {{2, xs}};
        double before = u.bits[1];
        xv.content = &u.v;
        zc.data = u.bits;
        xs[0] = 1.5;
        zc.length = 1;
        u.v.length = 1;
        linear_sum(0, x, 0, y, z);
        return u.bits[0] != 0 || u.bits[1] != before || u.v.data != xs;
    }
    case 27: {
        struct smoother s = {0.5f, 2};
        struct effect e = {&s, 7};
        float in[] = {1, 2, 4}, out[3];
        smooth(&e, in, out, 3);
        if (out[0] != 2 || out[1] != 3 || out[2] != 5.5f || s.last != 5.5f || e.rounds != 7) return 1;
        /* what it keeps lies in what it writes */
        union { struct smoother s; float f[4]; } u = {{0.5f, 2}};
        e.priv = &u.s;
        smooth(&e, in, u.f, 2);
        return u.f[0] != 2 || u.f[1] != 6;
    }
    case 28: {
        float a[6] = {1, 2, 0, 3, 4, 0}, b[4] = {0};
        struct plane from = {2, 2, 3 * sizeof(float), a}, to = {2, 2, 2 * sizeof(float), b};
        brighter(&from, &to);
        if (b[0] != 2 || b[1] != 3 || b[2] != 4 || b[3] != 5) return 1;
        /* every row is the first one */
        to.step = 0;
        brighter(&from, &to);
        return b[0] != 4 || b[1] != 5 || b[2] != 4;
    }
    case 23: {
        int at[7] = {0};
        struct block b = {{2, 99, 3}, at}, itself = {{3, 99, 2}, itself.dims};
        fill_block(&b, 5);
        /* the second size changes, and with it what is still to be done */
        fill_block(&itself, 1);
        if (at[0] != 5 || at[5] != 5 || at[6]) return 1;
        return itself.dims[0] != 1 || itself.dims[1] != 1 || itself.dims[2] != 2;
    }
    case 21:
    case 22: {
        /* what is added is one of the numbers that it is added to; rows one after the other, or anywhere */
        int b[] = {1, 2, 3, 4, 5, 6}, by = 1, *one[] = {b, b + 3}, *other[] = {b + 3, b};
        shift_rows(one, 2, 3, &by);
        shift_rows(which == 21 ? one : other, 2, 3, &b[1]);
        if (which == 21) return b[0] != 5 || b[1] != 6 || b[2] != 10 || b[3] != 11 || b[5] != 13;
        return b[0] != 5 || b[1] != 6 || b[2] != 10 || b[3] != 8 || b[5] != 10;
    }
    case 20: {
        short s[] = {1, -2, 20000};
        if (louder(s, 3) != s || louder(NULL, 3) || louder(s + 1, 0) != s + 1) return 1;
        return s[0] != 2 || s[1] != -4 || s[2] != (short)40000;
    }
    case 18:
    case 19: {
        /* apart, and each to the next one */
        struct particle p[8] = {{{1}, {0}, 2, 3, NULL}, {{4}, {5}, 6, 7, NULL}};
        int by = which == 18 ? 4 : 1;
        shifted(p + by, p, 2);
        if (by == 4) return p[4].at[0] != 2 || p[4].weight != 6 || p[5].at[0] != 5 || p[5].weight != 42 || p[5].alive;
        return p[1].at[0] != 2 || p[1].weight != 6 || p[1].alive != 6 || p[2].at[0] != 3 || p[2].weight != 36;
    }
    case 29: {
        double complex a[] = {1, 2 * I, 3 - I}, b[] = {I, 1, 1 + I};
        float complex u[] = {1, 2 + I, -3};
        struct mixer m = {1, 2 + I, 3};
        if (correlated(a, b, 3) != 2 - 3 * I || correlated(a, b, 0) != 0) return 1;
        mixed(&m, u, 2 + I);
        if (u[0] != 5 + 2 * I || u[2] != 1 + 2 * I || m.at != 3 + I || m.by != 2 + I) return 1;
        turned(u, 3, &a_quarter);
        if (u[0] != -2 + 5 * I || u[1] != -3 + 6 * I) return 1;
        /* what it multiplies by is one of the numbers that change */
        turned(u, 3, &u[0]);
        return u[0] != -21 - 20 * I || u[1] == (-3 + 6 * I) * (-2 + 5 * I);
    }
    case 30: {
        float a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, b[] = {10, 20, 30}, out[3];
        planes even = {{a, a + 3, a + 6}, 3}, anywhere = {{b, a, a + 6}, 3};
        mixed_down(&even, out);
        if (out[0] != 12 || out[2] != 18) return 1;
        mixed_down(&anywhere, out);
        if (out[0] != 18 || out[2] != 42) return 1;
        faded(anywhere, 0, 0.5f);
        faded(even, 2, 2);
        if (b[0] != 5 || b[2] != 15 || a[6] != 14 || a[5] != 6) return 1;
        shared[0] = b;
        shared[1] = a + 1;
        shared_sum(out, 3);
        return out[0] != 7 || out[2] != 19 || shared[0] != b;
    }
    case 32: {
        /* into another array, and in place */
        float a[] = {1, 2, 3}, b[] = {0, 0, 0};
        louder_copy(a, b, 3);
        louder_copy(a, a, 2);
        return b[0] != 2 || b[2] != 6 || a[0] != 2 || a[1] != 4 || a[2] != 3;
    }
    case 31: {
        /* what is written is one of the pointers that say where to read */
        float a[] = {1, 2, 3, 4};
        planes p = {{a, a, a}, 1};
        mixed_down(&p, (float *)&p.data[1]);
        return *(float *)&p.data[1] != 3;
    }
    case 33: {
        /* what ends it is the last number before memory that nobody may read, whatever size is given */
        static int y[1000];
        long page = sysconf(_SC_PAGESIZE);
        char *pages = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE)) return 1;
        int *x = (int *)(pages + page) - 4;
        x[0] = 1, x[1] = 2, x[2] = 3, x[3] = -1;
        int wrong = until_negative(x, y, 1000) != 3 || y[2] != 6 || y[3] != 0;
        x[3] = 4;
        wrong |= until_negative(x, y, 4) != 4 || y[3] != 8;
        munmap(pages, 2 * page);
        return wrong;
    }
    case 42: {
        /* the same, of a kernel of which the original answers each call that ends early */
        static unsigned bins[70000];
        long page = sysconf(_SC_PAGESIZE);
        char *pages = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE)) return 1;
        unsigned short *label = (unsigned short *)(pages + page) - 4;
        label[0] = 1, label[1] = 0, label[2] = 1, label[3] = 3;
        int wrong = count_until_unknown(label, 1000, bins, 3) != 3 || bins[0] != 1 || bins[1] != 2 || bins[2] != 0;
        wrong |= count_until_unknown(label, 4, bins, 4) != 4 || bins[1] != 2 || bins[3] != 1;
        munmap(pages, 2 * page);
        return wrong;
    }
    case 34: return spreads(EVEN);
    case 35: return spreads(ANYWHERE);
    case 36: return spreads(WITHOUT_CORNERS);
    case 37: return spreads(SHARED);
    case 38: return counts_pointers();
    case 41: {
        float x[] = {1, 2, 3, 4, 5};
        short y[] = {1, 2, 3, 4, 5};
        louder_window(x, 2, 2);
        louder_window(x + 4, 0, 3);
        levels[0] = 2, levels[7] = 3;
        if (levels_total() != 5) return 1;
        float low[3] = {0}, high[3] = {0};
        wavelet(x, low, high, 2);
        if (low[0] != 3 || low[1] != 7 || low[2] != 0 || high[1] != -1 || high[2] != 0) return 1;
        unsigned char b[] = {1, 2, 3, 4, 5, 6, 7}, thin[3] = {0};
        thinned_out(b, thin, 7, 1);
        if (thin[0] != 1 || thin[1] != 3 || thin[2] != 5) return 1;
        return x[0] != 2 || x[3] != 8 || x[4] != 15 || power_sum(y, 2) != 10 || power_sum(y + 4, 0) != 5;
    }
    case 40: {
        float l[] = {1, 2}, r[] = {3, 6}, a[2], b[2], *in[] = {l, r}, *out[] = {b, a}, *onto[] = {(float *)&in[1], a};
        mid_side(in, out, 2);
        if (b[0] != 2 || b[1] != 4 || a[0] != -1 || a[1] != -2) return 1;
        /* the second one reads what the first one wrote */
        mid_side(in, in, 2);
        if (l[0] != 2 || l[1] != 4 || r[0] != -0.5f || r[1] != -1) return 1;
        /* what is written is a pointer */
        mid_side(in, onto, 2);
        if (*(float *)&in[1] != 0.75f || a[1] != 2.5f) return 1;
        /* no channels, of which nothing is asked */
        return likeness(out, 2) != 12.5f || likeness(NULL, 0) != 0;
    }
    case 39: {
        float state[] = {1, 2, 3}, out[3];
        struct { float before[8]; struct lowpass low; } at = {{0}, {{5}, 3, 2, state}};
        struct filter_chain c = {8, &at.low.base};
        lowpass_run(&at.low.base, x, out);
        chain_run(&c, x);
        if (out[0] != 8 || out[2] != 14 || x[0] != 7 || x[7] != 21) return 1;
        /* what is written is the kind itself */
        c.width = 9;
        chain_run(&c, at.before);
        return at.before[0] != 5 || at.low.base.kind == 5;
    }
    }
    return -1;
}
