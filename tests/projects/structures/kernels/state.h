/* What the kernels of state.c work on. */
#include <stddef.h>

enum { TAPS = 5 };

struct filter {
    float gain;
    int channels;
    float history[TAPS];
    const float *weights;
};

extern struct filter filter;
extern struct filter *current;
extern int limit;
extern int seen;
extern double table[4][TAPS], sums[TAPS];
extern short *line;

float weighted(void);
void amplify(const float *x, float *y);
void age(float by);
void clip(int *x, int n);
void count_all(const int *x, int n);
void column_sums(void);
void draw(short value);
