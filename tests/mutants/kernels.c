/* Kernels whose mutants are near-misses: in place, strided, unrolled, nested, conditional. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

void gemm(int m, int n, int k, const float *a, const float *b, float *c)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float s = 0;
            for (int p = 0; p < k; p++)
                s += a[i * k + p] * b[p * n + j];
            c[i * n + j] = s;
        }
}

void column_sums(const int *a, int *out, int rows, int cols)
{
    for (int j = 0; j < cols; j++)
        out[j] = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[j] += a[i * cols + j];
}

void transpose(const int16_t *a, int16_t *b, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            b[j * rows + i] = a[i * cols + j];
}

void relu(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (x[i] < 0)
            x[i] = 0;
}

void reverse(const int *a, int *b, int n)
{
    for (int i = n - 1; i >= 0; i--)
        b[n - 1 - i] = a[i];
}

void unrolled_add(const int *a, const int *b, int *c, int n)
{
    int i;
    for (i = 0; i + 1 < n; i += 2) {
        c[i] = a[i] + b[i];
        c[i + 1] = a[i + 1] + b[i + 1];
    }
    for (; i < n; i++)
        c[i] = a[i] + b[i];
}

void softmax(float *x, int n)
{
    float m = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > m)
            m = x[i];
    float s = 0;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - m);
        s += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= s;
}

int count_positive(const int *a, int n)
{
    int c = 0;
    for (int i = 0; i < n; i++)
        if (a[i] > 0)
            c++;
    return c;
}

void blur(const uint8_t *a, uint8_t *b, int n)
{
    for (int i = 1; i < n - 1; i++)
        b[i] = (a[i - 1] + 2 * a[i] + a[i + 1]) >> 2;
}

void scale_rows(float *a, const float *s, int n, int m, int ld)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            a[i * ld + j] *= s[i];
}
