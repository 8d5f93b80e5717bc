#include "tensorize.h"
#include <stddef.h>
#include <stdint.h>

TENSORIZE_KERNEL
void take(int n, const int *index, const double *table, double *out)
{
    for (int i = 0; i < n; i++) out[i] = table[index[i]];
}

TENSORIZE_KERNEL
void selected(int n, const uint8_t *mask, const int *index, const double *table, double *out)
{
    for (int i = 0; i < n; i++) {
        if (mask[i]) out[i] = table[index[i]];
        else out[i] = -1;
    }
}

TENSORIZE_KERNEL
void twice(int n, const int *first, const int *second, const float *table, float *out)
{
    for (int i = 0; i < n; i++) out[i] = table[second[first[i]]];
}

TENSORIZE_KERNEL
void rows(int n, int d, const int64_t *ids, const float *table, float *out)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < d; j++) out[i * d + j] = table[ids[i] * d + j];
}

TENSORIZE_KERNEL
void csr(int n, const int64_t *start, const int *column, const double *value, const double *x, double *y)
{
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = start[i]; k < start[i + 1]; k++) sum += value[k] * x[column[k]];
        y[i] = sum;
    }
}

TENSORIZE_KERNEL
void histogram(int n, const int *bin, const double *weight, int bins, double *sums)
{
    for (int j = 0; j < bins; j++) sums[j] = 0;
    for (int i = 0; i < n; i++) sums[bin[i]] += weight[i];
}

TENSORIZE_KERNEL
void binned(int n, const double *x, double low, double width, int bins, int *counts)
{
    for (int j = 0; j < bins; j++) counts[j] = 0;
    for (int i = 0; i < n; i++) counts[(int)((x[i] - low) / width)]++;
}

/* The same with places as wide as addresses. */
TENSORIZE_KERNEL
void csr_by_size(size_t n, const size_t *start, const int *column, const double *a, const double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = start[i]; k < start[i + 1]; k++)
            sum += a[k] * x[column[k]];
        y[i] = sum;
    }
}

/* Which place is written is cut to what there is only after a sum that may overflow. */
TENSORIZE_KERNEL
void turned(const float *x, float *y, int n, int by)
{
    for (int i = 0; i < n; i++)
        y[(i + by) % n] = x[i];
}

/* Places that the index array names, however many there are. */
TENSORIZE_KERNEL
void add_at(int32_t n, const int32_t *at, const double *x, double *y) {
    for (int32_t i = 0; i < n; i++) y[at[i]] += x[i];
}

/* Where each goes, the ones before it say. */
TENSORIZE_KERNEL
int32_t keep_positive(int32_t n, const double *x, double *out) {
    int32_t k = 0;
    for (int32_t i = 0; i < n; i++)
        if (x[i] > 0) out[k++] = x[i];
    return k;
}
