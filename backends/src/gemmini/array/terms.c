/* A matrix that is added: elements of the array's width, which may be scaled on the way, or of the accumulator's. */
struct term {
    const void *at;
    size_t pitch; /* from row to row, in bytes */
    size_t step;  /* from column to column, in bytes; 0 if every column has the value of the first */
    float scale;
    bool narrow;
};

#define ACCUMULATOR (UINT32_C(1) << 31)
#define ADDS (UINT32_C(1) << 30)
#define FULL (UINT32_C(1) << 29)
/* Columns that one move into the accumulator takes. */
#define COLS (DIM * MAX_BLOCK_LEN_ACC)

static size_t at_most(size_t n, size_t limit) { return n < limit ? n : limit; }

/* Adds a tile of a term, from row i and column j on, to the first rows of the accumulator, or puts it there. */
static void load_term(const struct term *t, bool adds, size_t i, size_t j, size_t rows, size_t cols) {
    gemmini_extended3_config_ld(t->pitch, t->scale, t->narrow, 0);
    gemmini_extended_mvin((const char *)t->at + i * t->pitch + j * t->step, ACCUMULATOR | (adds ? ADDS : 0), cols, rows);
}

/* Moves a tile out of the accumulator at full width. */
static void store_tile(acc_t *out, size_t pitch, size_t rows, size_t cols) {
    gemmini_config_st(pitch * sizeof(acc_t));
    for (size_t j = 0; j < cols; j += DIM) {
        gemmini_extended_mvout(out + j, ACCUMULATOR | FULL | j, at_most(cols - j, DIM), rows);
    }
}
