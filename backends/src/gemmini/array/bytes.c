/* out = the low bytes of the sum of factor * term: the accumulator holds the sums in full, and a byte of a sum
   depends on the bytes of its terms alone. A factor other than 1 is the diagonal of a matrix of weights. */
static void sum_of_bytes(uint8_t *out, size_t pitch, const struct term *terms, const int8_t *factors, int count,
                         size_t rows, size_t cols) {
    int8_t weights[DIM][DIM];
    acc_t tile[DIM][COLS];
    gemmini_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0);
    gemmini_extended3_config_ld(DIM, MVIN_SCALE_IDENTITY, false, 1);
    for (int t = 0; t < count; t++) {
        memset(weights, 0, sizeof weights);
        for (int i = 0; i < DIM; i++) {
            weights[i][i] = factors[t];
        }
        gemmini_extended_mvin2(&weights[0][0], (t + 1) * DIM, DIM, DIM);
        gemmini_fence();
    }
    for (size_t i = 0; i < rows; i += DIM) {
        for (size_t j = 0; j < cols; j += DIM) {
            size_t height = at_most(rows - i, DIM), width = at_most(cols - j, DIM);
            for (int t = 0; t < count; t++) {
                if (!terms[t].narrow || factors[t] == 1) {
                    load_term(&terms[t], t > 0, i, j, height, width);
                    continue;
                }
                gemmini_extended3_config_ld(terms[t].pitch, MVIN_SCALE_IDENTITY, false, 0);
                gemmini_extended_mvin((const char *)terms[t].at + i * terms[t].pitch + j * terms[t].step, 0, width,
                                      height);
                gemmini_extended_preload((t + 1) * DIM, ACCUMULATOR | (t ? ADDS : 0), width, width, width, height);
                gemmini_extended_compute_preloaded(0, GARBAGE_ADDR, width, height, width, height);
            }
            store_tile(&tile[0][0], COLS, height, width);
            gemmini_fence();
            for (size_t r = 0; r < height; r++) {
                for (size_t c = 0; c < width; c++) {
                    out[(i + r) * pitch + j + c] = (uint8_t)tile[r][c];
                }
            }
        }
    }
}
