/* Structs that keep what they are about behind a `void *`. */
#include "vectors.h"
#include "tensorize.h"
#include <stddef.h>
#include <string.h>

#define CONTENT(v) ((struct on_the_heap *)(v->content))

TENSORIZE_KERNEL
void linear_sum(double a, vector x, double b, vector y, vector z)
{
    double *xd, *yd, *zd;
    xd = yd = zd = NULL;
    long n = CONTENT(x)->length;
    xd = CONTENT(x)->data;
    yd = CONTENT(y)->data;
    zd = CONTENT(z)->data;
    for (long i = 0; i < n; i++) zd[i] = a * xd[i] + b * yd[i];
}

TENSORIZE_KERNEL
double sum_squares(void *content)
{
    struct on_the_heap *v = content;
    double sum = 0;
    for (long i = 0; i < v->length; i++) sum += v->data[i] * v->data[i];
    return sum;
}

TENSORIZE_KERNEL
void smooth(struct effect *e, const float *in, float *out, int n)
{
    struct smoother *s = (struct smoother *)e->priv;
    for (int i = 0; i < n; i++) {
        s->last = s->keep * s->last + in[i];
        out[i] = s->last;
    }
}

TENSORIZE_KERNEL
void brighter(const struct plane *from, struct plane *to)
{
    for (long i = 0; i < from->height; i++) {
        const float *x = (const float *)((const char *)from->data + i * from->step);
        float *y = (float *)((char *)to->data + i * to->step);
        for (long j = 0; j < from->width; j++) y[j] = x[j] + 1;
    }
}

TENSORIZE_KERNEL
void louder_copy(const float *in, float *out, int n)
{
    if (in != out) memcpy(out, in, n * sizeof *in);
    for (int i = 0; i < n; i++) out[i] *= 2;
}
