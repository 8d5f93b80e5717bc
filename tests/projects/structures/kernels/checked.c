#include "checked.h"
#include "tensorize.h"

TENSORIZE_KERNEL
int until_negative(const int *x, int *y, int n) {
    for (int i = 0; i < n; i++) {
        if (x[i] < 0) return i;
        y[i] = 2 * x[i];
    }
    return n;
}

TENSORIZE_KERNEL
int count_until_unknown(const unsigned short *label, int n, unsigned *bins, int labels) {
    for (int k = 0; k < labels; k++)
        bins[k] = 0;
    for (int i = 0; i < n; i++) {
        if (label[i] >= labels) return i;
        bins[label[i]]++;
    }
    return n;
}
