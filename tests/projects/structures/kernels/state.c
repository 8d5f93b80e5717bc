/* Kernels that work on variables of their file, and of others. */
#include "state.h"
#include "tensorize.h"

struct filter filter;
struct filter *current = &filter;
int seen;
double table[4][TAPS], sums[TAPS];
static double bias[TAPS] = {0, 0, 0, 0, 1};
static int width = 3;
/* `limit` and `line` are those of state_caller.c. */

TENSORIZE_KERNEL
float weighted(void) {
    float s = 0;
    for (int i = 0; i < current->channels; i++) s += current->weights[i] * current->history[i];
    return s;
}

TENSORIZE_KERNEL
void amplify(const float *x, float *y) {
    for (int i = 0; i < filter.channels; i++) y[i] = x[i] * filter.gain;
}

TENSORIZE_KERNEL
void age(float by) {
    for (int i = 0; i < TAPS; i++) filter.history[i] *= by;
}

TENSORIZE_KERNEL
void clip(int *x, int n) {
    for (int i = 0; i < n; i++) x[i] = x[i] > limit ? limit : x[i];
}

TENSORIZE_KERNEL
void count_all(const int *x, int n) {
    for (int i = 0; i < n; i++) seen += x[i] > limit;
}

TENSORIZE_KERNEL
void column_sums(void) {
    for (int j = 0; j < TAPS; j++) {
        sums[j] = bias[j];
        for (int i = 0; i < 4; i++) sums[j] += table[i][j];
    }
}

TENSORIZE_KERNEL
void draw(short value) {
    for (int i = 0; i < width; i++) line[i] = value;
}
