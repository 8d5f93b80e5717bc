/* What generated code leaves to a library, done plainly, so that its calls can be tested without one. Every other
 * call is declined, so that the loops are tested, too. */
#include <stdatomic.h>
#include <stdint.h>

#define PRODUCT(name, type)                                                                                        \
    _Bool name(int64_t rows, int64_t columns, int64_t depth, const type *left, int64_t left_row,                   \
               int64_t left_column, const type *right, int64_t right_row, int64_t right_column, type *result,      \
               int64_t result_row, int64_t result_column, type alpha, type beta) {                                 \
        static atomic_uint calls;                                                                                  \
        if (atomic_fetch_add(&calls, 1) % 2 == 1) return 0;                                                        \
        for (int64_t i = 0; i < rows; i++)                                                                         \
            for (int64_t j = 0; j < columns; j++) {                                                                \
                type *at = &result[i * result_row + j * result_column], sum = 0;                                   \
                for (int64_t k = 0; k < depth; k++)                                                                \
                    sum += left[i * left_row + k * left_column] * right[k * right_row + j * right_column];         \
                *at = alpha * sum + (beta == 0 ? 0 : beta * *at);                                                  \
            }                                                                                                      \
        return 1;                                                                                                  \
    }

PRODUCT(tensorize_scaled_gemm_f32, float)
PRODUCT(tensorize_scaled_gemm_f64, double)
