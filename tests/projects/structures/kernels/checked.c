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
