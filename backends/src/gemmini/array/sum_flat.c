/* The same for n elements one after the other. */
static void sum_of_flat_terms(acc_t *out, const struct term *terms, int count, size_t n) {
    struct term rows[count];
    size_t rest = n % COLS;
    for (int t = 0; t < count; t++) {
        rows[t] = in_rows(terms[t], 0);
    }
    sum_of_terms(out, COLS, rows, count, n / COLS, COLS);
    for (int t = 0; t < count; t++) {
        rows[t] = in_rows(terms[t], n - rest);
    }
    sum_of_terms(out + n - rest, COLS, rows, count, 1, rest);
}
