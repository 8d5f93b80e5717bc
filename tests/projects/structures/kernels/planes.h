#ifndef PLANES_H
#define PLANES_H

typedef struct {
    float *data[3];
    int count;
} planes;

extern float *shared[2];

void mixed_down(const planes *p, float *out);
void faded(planes p, int which, float by);
void shared_sum(float *out, int n);

#endif
