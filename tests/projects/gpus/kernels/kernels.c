/* Kernels for a GPU: one for every pixel, a contraction, reductions before and instead of elements. */
#include <math.h>
#include <stdint.h>

void screen(const uint8_t *base, const uint8_t *active, uint8_t *out, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = base[i * cols + j] + active[i * cols + j]
                - base[i * cols + j] * active[i * cols + j] / 255;
}

void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            float sum = 0.0f;
            for (int l = 0; l < k; l++)
                sum += a[i * k + l] * b[l * n + j];
            c[i * n + j] = sum;
        }
}

void softmax(float *x, int n)
{
    float most = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > most)
            most = x[i];
    float sum = 0.0f;
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - most);
        sum += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

int dot(const int *a, const int *b, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Does not start with the first element. */
void every_other(const short *x, short *y, int n)
{
    for (int i = 0; i < n; i++)
        y[2 * i + 5] = x[2 * i + 3] + 1;
}
