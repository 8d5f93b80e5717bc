// What an accelerator computes all of, some of, and none of.
#include <stdint.h>

void matmul8(const int8_t *a, const int8_t *b, int32_t *out, int rows, int cols, int depth)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            int32_t sum = 0;
            for (int k = 0; k < depth; k++)
                sum += a[i * depth + k] * b[k * cols + j];
            out[i * cols + j] = sum;
        }
}

// Wraps: 200 + 100 is 44.
void linear_dodge(const uint8_t *base, const uint8_t *active, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = base[i] + active[i];
}

void scaled_difference(const float *x, const float *y, float s, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = s * x[i] - y[i];
}

void screen(const uint8_t *base, const uint8_t *active, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = base[i] + active[i] - base[i] * active[i] / 255;
}

float dot(const float *x, const float *y, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

double average(const double *x, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    return sum / n;
}
