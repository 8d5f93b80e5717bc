/* A struct that begins with the one that it extends. */
#include "filters.h"
#include "tensorize.h"

TENSORIZE_KERNEL
void lowpass_run(struct filter *self, const float *in, float *out)
{
    struct lowpass *f = (struct lowpass *)self;
    for (int i = 0; i < f->n; i++)
        out[i] = f->gain * in[i] + f->state[i] + self->kind;
}

TENSORIZE_KERNEL
void chain_run(struct filter_chain *c, float *x)
{
    struct lowpass *f = (struct lowpass *)c->first;
    for (int i = 0; i < c->width; i++)
        x[i] = f->gain * x[i] + c->first->kind;
}

/* Channels, each of which lies anywhere. */
TENSORIZE_KERNEL
void mid_side(float **in, float **out, int n)
{
    const float *l = in[0], *r = in[1];
    for (int i = 0; i < n; i++) {
        out[0][i] = 0.5f * (l[i] + r[i]);
        out[1][i] = 0.5f * (l[i] - r[i]);
    }
}

TENSORIZE_KERNEL
float likeness(float **x, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += x[0][i] * x[1][i];
    return s;
}

/* As many as a power of two says, as in a transform. */
TENSORIZE_KERNEL
void louder_window(float *x, int order, float by)
{
    int n = 1 << order;
    for (int i = 0; i < n; i++)
        x[i] *= by;
}

TENSORIZE_KERNEL
int power_sum(const short *x, unsigned order)
{
    int s = 0;
    for (unsigned i = 0; i < 1u << order; i++)
        s += x[i];
    return s;
}

TENSORIZE_KERNEL
void thinned_out(const unsigned char *x, unsigned char *y, unsigned n, unsigned by)
{
    for (unsigned i = 0; i < n >> by; i++)
        y[i] = x[i << by];
}

TENSORIZE_KERNEL
void wavelet(const float *x, float *low, float *high, int levels)
{
    int n = 1 << levels;
    for (int i = 0; i < n / 2; i++) {
        low[i] = (x[2 * i] + x[2 * i + 1]) * 0.5f;
        high[i] = (x[2 * i] - x[2 * i + 1]) * 0.5f;
    }
}

int levels[8];

/* Of old: nothing between the brackets. */
TENSORIZE_KERNEL
int levels_total()
{
    int s = 0, i;
    for (i = 0; i < 8; i++)
        s += levels[i];
    return s;
}
