/* Adds all tiles of a matrix to one in the accumulator. */
static void gather(const struct term *term, size_t rows, size_t cols) {
    for (size_t i = 0; i < rows; i += DIM) {
        for (size_t j = 0; j < cols; j += COLS) {
            load_term(term, true, i, j, at_most(rows - i, DIM), at_most(cols - j, COLS));
        }
    }
}

/* The sum of all elements of a matrix: the array adds up its tiles, and the core the elements of that sum. */
static acc_t total_of(const struct term *term, size_t rows, size_t cols, bool flat) {
    static const acc_t zeros[COLS];
    const struct term nothing = {zeros, 0, sizeof(acc_t), MVIN_SCALE_IDENTITY, false};
    acc_t tile[DIM][COLS], total = 0;
    load_term(&nothing, false, 0, 0, DIM, COLS);
    if (flat) {
        struct term full = in_rows(*term, 0), rest = in_rows(*term, cols - cols % COLS);
        gather(&full, cols / COLS, COLS);
        gather(&rest, 1, cols % COLS);
    } else {
        gather(term, rows, cols);
    }
    store_tile(&tile[0][0], COLS, DIM, COLS);
    gemmini_fence();
    for (int i = 0; i < DIM * (int)COLS; i++) {
        total += (&tile[0][0])[i];
    }
    return total;
}
