#include "tensorize.h"
#include <math.h>
#include <stdint.h>

TENSORIZE_KERNEL
void screen(const uint8_t *base, const uint8_t *active, uint8_t *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = base[i] + active[i] - base[i] * active[i] / 255;
}

TENSORIZE_KERNEL
void scale_add(float a, const float *x, const float *y, float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = a * x[i] + y[i];
}

TENSORIZE_KERNEL
void blend_twice(const float *base, const float *active, const float *mask, float *out, int n)
{
    for (int i = 0; i < n; i++) {
        float screened = base[i] + active[i] - base[i] * active[i];
        float multiplied = screened * base[i];
        out[i] = mask[i] * multiplied + (1.0f - mask[i]) * base[i];
    }
}

TENSORIZE_KERNEL
float dot(const float *x, const float *y, int n)
{
    float sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

TENSORIZE_KERNEL
void rmsnorm(float *out, const float *x, const float *weight, int n)
{
    float ss = 0;
    for (int i = 0; i < n; i++)
        ss += x[i] * x[i];
    ss = 1.0f / sqrtf(ss / n + 1e-5f);
    for (int i = 0; i < n; i++)
        out[i] = weight[i] * (ss * x[i]);
}

TENSORIZE_KERNEL
void softmax(const float *x, float *out, int n)
{
    float max = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > max)
            max = x[i];
    float sum = 0;
    for (int i = 0; i < n; i++) {
        out[i] = expf(x[i] - max);
        sum += out[i];
    }
    for (int i = 0; i < n; i++)
        out[i] /= sum;
}

TENSORIZE_KERNEL
void matvec(const float *w, const float *x, float *out, int rows, int cols)
{
    for (int i = 0; i < rows; i++) {
        float sum = 0;
        for (int j = 0; j < cols; j++)
            sum += w[i * cols + j] * x[j];
        out[i] = sum;
    }
}

TENSORIZE_KERNEL
void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int p = 0; p < k; p++)
                sum += a[i * k + p] * b[p * n + j];
            c[i * n + j] = sum;
        }
}

TENSORIZE_KERNEL
void attention(const float *q, const float *k, const float *v, float *out, int tokens, int width)
{
    float score[1024];
    if (tokens > 1024)
        return;
    for (int i = 0; i < tokens; i++) {
        float largest = -INFINITY;
        for (int j = 0; j < tokens; j++) {
            float s = 0;
            for (int d = 0; d < width; d++)
                s += q[i * width + d] * k[j * width + d];
            score[j] = s / sqrtf(width);
            if (score[j] > largest)
                largest = score[j];
        }
        float sum = 0;
        for (int j = 0; j < tokens; j++) {
            score[j] = expf(score[j] - largest);
            sum += score[j];
        }
        for (int d = 0; d < width; d++) {
            float mean = 0;
            for (int j = 0; j < tokens; j++)
                mean += score[j] / sum * v[j * width + d];
            out[i * width + d] = mean;
        }
    }
}
