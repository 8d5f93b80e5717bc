#ifndef WAVES_H
#define WAVES_H
#include <complex.h>

struct mixer {
    float complex at, by;
    int count;
};

double complex correlated(const double complex *a, const double complex *b, int n);
void mixed(struct mixer *m, float complex *x, float complex gain);
void turned(float complex *x, int n, const float complex *by);

#endif
