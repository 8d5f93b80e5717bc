/* Arrays of pointers in a struct, and one of the file's own. */
#include "planes.h"
#include "tensorize.h"

float *shared[2];

TENSORIZE_KERNEL
void mixed_down(const planes *p, float *out)
{
    for (int i = 0; i < p->count; i++)
        out[i] = p->data[0][i] + p->data[1][i] + p->data[2][i];
}

TENSORIZE_KERNEL
void faded(planes p, int which, float by)
{
    for (int i = 0; i < p.count; i++)
        p.data[which][i] *= by;
}

TENSORIZE_KERNEL
void shared_sum(float *out, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = shared[0][i] + shared[1][i];
}
