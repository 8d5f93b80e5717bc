#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "tensorize.h"

/* The same everywhere. */
TENSORIZE_KERNEL
void blend(int n, const uint8_t *restrict a, const uint8_t *restrict b, uint8_t *restrict out) {
    for (int i = 0; i < n; i++)
        out[i] = (uint8_t)(a[i] + b[i] - a[i] * b[i] / 255);
}

struct image {
    int width, height;
    float *pixels;
};

/* Callers come here by way of a jump in the language of the machine. */
TENSORIZE_KERNEL
void brighten(struct image *image, float by) {
    for (int i = 0; i < image->width * image->height; i++)
        image->pixels[i] += by;
}

/* Bytes of 128 and more are negative on x86-64, and not on AArch64. */
TENSORIZE_KERNEL
int below_zero(int n, const char *text) {
    int count = 0;
    for (int i = 0; i < n; i++)
        if (text[i] < 0)
            count++;
    return count;
}

/* A name for a character that doesn't show what it is. */
typedef char letter;

TENSORIZE_KERNEL
void widen(int n, const letter *text, int *restrict out) {
    for (int i = 0; i < n; i++)
        out[i] = text[i];
}

/* The larger of two is another one if they have no sign. */
TENSORIZE_KERNEL
void larger(int n, const wchar_t *restrict a, const wchar_t *restrict b, wchar_t *restrict out) {
    for (int i = 0; i < n; i++)
        out[i] = a[i] > b[i] ? a[i] : b[i];
}

void call_from_c(int n, const uint8_t *a, const uint8_t *b, uint8_t *out, float *pixels) {
    struct image image = {2, 2, pixels};
    blend(n, a, b, out);
    brighten(&image, 0.5f);
}
