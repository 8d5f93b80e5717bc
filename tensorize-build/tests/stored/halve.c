#include <stdint.h>

void halve__cpu(const uint8_t *in, uint8_t *out, int32_t rows, int32_t cols)
{
#pragma omp parallel for
    for (int64_t k = 0; k < (int64_t)rows * cols; k++)
        out[k] = in[k] >> 1;
}
