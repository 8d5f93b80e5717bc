/* Marks a function as a kernel for `cargo tensorize`:
 *
 *     TENSORIZE_KERNEL
 *     void scale(float *x, float a, int n) { ... }
 *
 * A C compiler sees nothing. */
#ifndef TENSORIZE_H
#define TENSORIZE_H

#ifndef TENSORIZE_KERNEL
#ifdef __clang__
#define TENSORIZE_KERNEL __attribute__((annotate("tensorize")))
#else
#define TENSORIZE_KERNEL
#endif
#endif

#endif
