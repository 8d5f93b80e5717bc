#include "halve.h"
#include "tensorize.h"

TENSORIZE_KERNEL
void halve(const uint8_t *restrict in, uint8_t *out, int rows, int cols)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++)
            out[i * cols + j] = in[i * cols + j] / HALF;
}

TENSORIZE_KERNEL
float total(const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}

/* Not inlined away: this goes to the dispatcher, too. */
void halve_from_the_same_file(const uint8_t *in, uint8_t *out, int rows, int cols)
{
    halve(in, out, rows, cols);
}
