/* Calls a kernel from another file, as C programs do. */
#include <stdint.h>

void multiply_blend(const uint8_t *base, const uint8_t *active, uint8_t *out, int rows, int cols);
int dot_product(const int *a, const int *b, int n);

int call_from_c(const uint8_t *base, const uint8_t *active, uint8_t *out, int rows, int cols)
{
    static const int numbers[4] = {1, 2, 3, 4};

    multiply_blend(base, active, out, rows, cols);
    return dot_product(numbers, numbers, 4);
}
