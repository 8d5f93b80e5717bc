#include <stdint.h>

float total__cpu(const float *x, uint64_t n)
{
    float sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += x[i];
    return sum;
}
