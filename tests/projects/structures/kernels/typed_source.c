/* Included once for each type. */
TENSORIZE_KERNEL
NUMBER OF_TYPE(total)(const NUMBER *x, int n) {
    NUMBER s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return s;
}

static void OF_TYPE(raise)(NUMBER *x, NUMBER by, int n) {
    for (int i = 0; i < n; i++) x[i] += by;
}

TENSORIZE_KERNEL
void OF_TYPE(raise_twice)(NUMBER *x, NUMBER by, int n) {
    OF_TYPE(raise)(x, by, n);
    OF_TYPE(raise)(x, by, n);
}
