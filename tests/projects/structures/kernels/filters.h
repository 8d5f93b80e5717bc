#ifndef FILTERS_H
#define FILTERS_H

struct filter {
    int kind;
};

struct lowpass {
    struct filter base;
    int n;
    float gain;
    float *state;
};

struct filter_chain {
    int width;
    struct filter *first;
};

void lowpass_run(struct filter *self, const float *in, float *out);
float likeness(float **x, int n);
void mid_side(float **in, float **out, int n);
void louder_window(float *x, int order, float by);
int power_sum(const short *x, unsigned order);
void thinned_out(const unsigned char *x, unsigned char *y, unsigned n, unsigned by);
void wavelet(const float *x, float *low, float *high, int levels);
extern int levels[8];
int levels_total();
void chain_run(struct filter_chain *c, float *x);

#endif
