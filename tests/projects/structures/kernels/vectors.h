#ifndef VECTORS_H
#define VECTORS_H

/* What a vector is, its kind of vectors knows. */
struct on_the_heap {
    long length;
    double *data;
};
typedef struct {
    void *content;
} *vector;

void linear_sum(double a, vector x, double b, vector y, vector z);
double sum_squares(void *content);

struct smoother {
    float keep, last;
};
struct effect {
    void *priv;
    int rounds;
};
void smooth(struct effect *e, const float *in, float *out, int n);

struct plane {
    long width, height;
    unsigned long step;
    void *data;
};
void brighter(const struct plane *from, struct plane *to);

void louder_copy(const float *in, float *out, int n);

#endif
