#include "matrix.h"
#include "tensorize.h"
#include <stddef.h>

TENSORIZE_KERNEL
void scale_matrix(matrix *m, float scale)
{
    for (int i = 0; i < m->rows; ++i)
        for (int j = 0; j < m->cols; ++j)
            m->vals[i][j] *= scale;
}

TENSORIZE_KERNEL
void matrix_add_matrix(matrix from, matrix to)
{
    for (int i = 0; i < from.rows; ++i)
        for (int j = 0; j < from.cols; ++j)
            to.vals[i][j] += from.vals[i][j];
}

TENSORIZE_KERNEL
void scale_image(image m, float s)
{
    for (int i = 0; i < m.h * m.w * m.c; ++i) m.data[i] *= s;
}

TENSORIZE_KERNEL
int add_bias(float *y, const float *x, const float *b, int n)
{
    if (!y || !x) return -1;
    for (int i = 0; i < n; i++) y[i] = x[i] + (b ? b[i] : 0);
    return 0;
}

TENSORIZE_KERNEL
float sum_range(const float *p, const float *end)
{
    float s = 0;
    for (; p != end; ++p) s += *p;
    return s;
}

TENSORIZE_KERNEL
void total(struct stats *s, const float *x)
{
    float t = 0;
    for (int i = 0; i < s->n; i++) t += x[i];
    s->sum = t * s->scale;
}

TENSORIZE_KERNEL
struct range range_of(const float *x, int n)
{
    struct range r = {x[0], x[0], n};
    for (int i = 1; i < n; i++) {
        if (x[i] < r.lo) r.lo = x[i];
        if (x[i] > r.hi) r.hi = x[i];
    }
    return r;
}

/* As Fortran calls it. */
TENSORIZE_KERNEL
void daxpy_(const int *n, const double *alpha, const double *x, double *y)
{
    if (*alpha == 0) return;
    --x;
    --y;
    for (int i = 1; i <= *n; ++i) y[i] += *alpha * x[i];
}

TENSORIZE_KERNEL
float mean_over(const long dims[], const float *x)
{
    float s = 0;
    for (long i = 0; i < dims[2]; i++)
        for (long j = 0; j < dims[0]; j++) s += x[i * dims[0] + j];
    return s / (dims[0] * dims[2]);
}

TENSORIZE_KERNEL
void shift_rows(int **m, int rows, int cols, const int *by)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) m[i][j] += *by;
}

TENSORIZE_KERNEL
void fill_block(const struct block *b, int value)
{
    for (int i = 0; i < b->dims[0]; i++)
        for (int j = 0; j < b->dims[2]; j++) b->at[i * b->dims[2] + j] = value;
}
