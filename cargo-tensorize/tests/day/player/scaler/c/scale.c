#include <stdint.h>

// Halves a row of pixels.
void halve_row(const uint8_t* in, uint8_t* out, int w)
{
  for (int x = 0; x < w / 2; x++)
  {
#ifdef HQ
    out[x] = (in[2 * x] + in[2 * x + 1] + 1) >> 1;
#else
    out[x] = in[2 * x];
#endif
  }
}

// The mean of a row.
float row_mean(const float* row, int w)
{
  float sum = 0;
  for (int x = 0; x < w; x++)
    sum += row[x];
  return sum / w;
}
