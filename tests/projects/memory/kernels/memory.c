#include "tensorize.h"

/* What is still to be read is overwritten: generated code asks for memory. */

struct square {
    float *at;
    int n;
};

TENSORIZE_KERNEL
void transpose(float *a, int n)
{
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++) {
            float t = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = t;
        }
}

TENSORIZE_KERNEL
float transpose_square(struct square *s)
{
    float corner = s->at[0];
    for (int i = 0; i < s->n; i++)
        for (int j = i + 1; j < s->n; j++) {
            float t = s->at[i * s->n + j];
            s->at[i * s->n + j] = s->at[j * s->n + i];
            s->at[j * s->n + i] = t;
        }
    return corner;
}

float of_square(float *a, int n)
{
    struct square s = {a, n};
    return transpose_square(&s);
}
