/* What frameworks do in their own way: division, narrow types, shifts, sums, products of matrices, functions. */
#include <math.h>
#include <stdint.h>

#include "tensorize.h"

TENSORIZE_KERNEL
void multiply_blend(const uint8_t *base, const uint8_t *active, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = base[i] * active[i] / 255;
}

TENSORIZE_KERNEL
void wrap_sum(const int8_t *a, const int8_t *b, int8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = (int8_t)(a[i] + b[i]);
}

TENSORIZE_KERNEL
void quotient(const int32_t *x, int32_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = x[i] / 7 + x[i] % 16 + (x[i] >> 3);
}

TENSORIZE_KERNEL
int32_t largest(const int32_t *x, int n)
{
    int32_t m = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > m)
            m = x[i];
    return m;
}

TENSORIZE_KERNEL
void row_sums(const uint8_t *a, int32_t *out, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        int32_t sum = 0;
        for (int j = 0; j < cols; j++)
            sum += a[i * cols + j];
        out[i] = sum;
    }
}

TENSORIZE_KERNEL
void matvec(float *out, const float *x, const float *w, int n, int d)
{
    for (int i = 0; i < d; i++) {
        float sum = 0;
        for (int j = 0; j < n; j++)
            sum += w[i * n + j] * x[j];
        out[i] = sum;
    }
}

TENSORIZE_KERNEL
void sigmoid(const float *x, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = 1.0f / (1.0f + expf(-x[i]));
}
