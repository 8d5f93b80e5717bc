/* Structs with members of several types, in arrays. */
#include "particles.h"
#include "tensorize.h"

TENSORIZE_KERNEL
void advance(struct particle *p, int n, float dt)
{
    for (int i = 0; i < n; i++) {
        if (!p[i].alive) continue;
        for (int k = 0; k < 3; k++) p[i].at[k] += p[i].by[k] * dt;
        p[i].weight -= 0.5;
        if (p[i].at[1] < 0) p[i].alive = 0;
    }
}

TENSORIZE_KERNEL
void shifted(struct particle *to, const struct particle *from, int n)
{
    for (; n > 0; n--, to++, from++) {
        to->at[0] = from->at[0] + 1;
        to->weight = from->weight * from->alive;
    }
}

TENSORIZE_KERNEL
void *louder(void *samples, int n)
{
    short *s = samples;
    if (!samples) return samples;
    for (int i = 0; i < n; i++) s[i] = (short)(2 * s[i]);
    return samples;
}
