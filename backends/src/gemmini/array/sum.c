/* out = the sum of the terms: rows x cols elements of the accumulator's width. */
static void sum_of_terms(acc_t *out, size_t pitch, const struct term *terms, int count, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows; i += DIM) {
        for (size_t j = 0; j < cols; j += COLS) {
            size_t height = at_most(rows - i, DIM), width = at_most(cols - j, COLS);
            for (int t = 0; t < count; t++) {
                load_term(&terms[t], t > 0, i, j, height, width);
            }
            store_tile(out + i * pitch + j, pitch, height, width);
        }
    }
    gemmini_fence();
}
