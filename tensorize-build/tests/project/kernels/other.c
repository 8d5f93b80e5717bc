#include "halve.h"
#include "tensorize.h"

void halve_from_another_file(const uint8_t *in, uint8_t *out, int rows, int cols)
{
    halve(in, out, rows, cols);
}

/* Named in the manifest; nothing is proven of it. */
void twice(float *x, int n)
{
    for (int i = 0; i < n; i++)
        x[i] *= 2;
}
