#include "tensorize.h"
#include "waves.h"

TENSORIZE_KERNEL
double complex correlated(const double complex *a, const double complex *b, int n)
{
    double complex sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * conj(b[i]);
    return sum;
}

TENSORIZE_KERNEL
void mixed(struct mixer *m, float complex *x, float complex gain)
{
    for (int i = 0; i < m->count; i++)
        x[i] = x[i] + m->by * crealf(gain);
    m->at += m->by * cimagf(gain);
}

TENSORIZE_KERNEL
void turned(float complex *x, int n, const float complex *by)
{
    for (int i = 0; i < n; i++)
        x[i] *= *by;
}
