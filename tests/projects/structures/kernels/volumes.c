/* Tables of tables of row pointers. */
#include "volumes.h"
#include "tensorize.h"

/* The corners of a volume are not touched, nor are the pointers to them. */
TENSORIZE_KERNEL
void spread(double ***in, double ***out, int n, int m, int l)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < m - 1; j++)
            for (int k = 0; k < l; k++)
                out[i][j][k] = in[i - 1][j][k] + in[i + 1][j][k] + in[i][j - 1][k] + in[i][j + 1][k];
}

TENSORIZE_KERNEL
void counted(unsigned char ***v, int m, int l)
{
    for (int j = 0; j < m; j++)
        for (int k = 0; k < l; k++)
            v[1][j][k] = v[0][j][k] + 1;
}
