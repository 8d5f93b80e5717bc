/* Calls the kernels of state.c as C does, and says what came of it. */
#include "state.h"
#include <string.h>

int limit = 4;
short *line;

/* Not zero if something went wrong. */
int calls_on_state(int which)
{
    static const float ones[TAPS] = {1, 1, 1, 1, 1};
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0};
    int n[4] = {3, 4, 5, 6};
    filter = (struct filter){2, 3, {1, 2, 3, 4, 5}, ones};
    current = &filter;
    switch (which) {
    case 0: return weighted() != 6;
    case 1: {
        struct filter other = {0, TAPS, {1, 2, 3, 4, 5}, x};
        current = &other;
        float sum = weighted();
        current = &filter;
        return sum != 55;
    }
    case 2: amplify(x, y); return y[0] != 2 || y[2] != 6 || y[3] != 0;
    /* it writes what it multiplies by */
    case 3: filter.channels = 1; amplify(x + 2, &filter.gain); return filter.gain != 6;
    case 4: age(0.5f); return filter.history[0] != 0.5f || filter.history[4] != 2.5f || filter.gain != 2;
    case 5: clip(n, 4); return n[1] != 4 || n[3] != 4 || limit != 4;
    case 6: clip(&limit, 1); return limit != 4;
    case 7: seen = 10; count_all(n, 4); count_all(n, 3); return seen != 13;
    /* what it counts in is what it looks at */
    case 8: seen = 10; count_all(&seen, 1); return seen != 11;
    case 9:
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < TAPS; j++) table[i][j] = i * 10 + j;
        column_sums();
        return sums[0] != 60 || sums[4] != 77 || table[1][4] != 14;
    case 10: {
        short s[5] = {0};
        line = s + 1;
        draw(7);
        return s[0] != 0 || s[1] != 7 || s[3] != 7 || s[4] != 0;
    }
    }
    return -1;
}
