/*
 * A Gemmini core, emulated instruction by instruction under the names of `gemmini.h`
 * (ucb-bar/gemmini-rocc-tests).
 *
 * Two configurations: the default one (16 x 16 array, int8_t elements, int32_t accumulators), and with
 * GEMMINI_FP32 defined before inclusion the one called FP32DefaultConfig (4 x 4 array, all float).
 *
 * What is emulated: scratchpad and accumulator with the address bits 31 (accumulator), 30 (accumulate)
 * and 29 (full width), the three load states with stride, scale, shrunk loads and block stride, moves in
 * and out, preload and compute in both dataflows with transposes, shift, activation and saturation.
 * What is not: time, pooling, normalisation, the loops in hardware, counters. What a core would not do
 * (an address out of range, a matrix larger than the array, transposes that it lacks) ends the process
 * with a message.
 *
 * Additions to the accumulator wrap, as those of 32-bit registers do. Every thread has a core of its own.
 */
#ifndef TENSORIZE_EMULATED_GEMMINI_H
#define TENSORIZE_EMULATED_GEMMINI_H

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORIZE_EMULATED 1

/* Parameters. */

#define ADDR_LEN 32
#define BANK_NUM 4
#define MAX_BYTES 64

#ifdef GEMMINI_FP32
#define DIM 4
#define BANK_ROWS 4096
#define ACC_ROWS 4096
#define ELEM_T_IS_FLOAT
#define HAS_MVIN_ACC_SCALE
typedef float elem_t;
typedef float acc_t;
typedef double full_t;
typedef float scale_acc_t;
#else
#define DIM 16
#define BANK_ROWS 4096
#define ACC_ROWS 1024
typedef int8_t elem_t;
typedef int32_t acc_t;
typedef int64_t full_t;
typedef int32_t scale_acc_t;
#endif

#define HAS_MVIN_SCALE
typedef float scale_t;
typedef float acc_scale_t;
#define MVIN_SCALE_IDENTITY 1.0f
#define ACC_SCALE_IDENTITY 1.0f

#define MAX_BLOCK_LEN (MAX_BYTES / (DIM * sizeof(elem_t)))
#define MAX_BLOCK_LEN_ACC (MAX_BYTES / (DIM * sizeof(acc_t)) > 0 ? MAX_BYTES / (DIM * sizeof(acc_t)) : 1)
#define row_align(blocks) __attribute__((aligned((blocks) * DIM * sizeof(elem_t))))
#define row_align_acc(blocks) __attribute__((aligned((blocks) * DIM * sizeof(acc_t))))

#define GARBAGE_ADDR ((uint32_t)-1)
#define OUTPUT_STATIONARY 0
#define WEIGHT_STATIONARY 1
#define NO_ACTIVATION 0
#define RELU 1

enum tiled_matmul_type_t { OS, WS, CPU };

#define GEMMINI_FN static __attribute__((unused))

/* The core. */

struct gemmini_load {
    uint64_t stride;
    scale_t scale;
    bool shrunk;
    uint32_t block_stride;
};

struct gemmini_core {
    elem_t scratchpad[BANK_NUM * BANK_ROWS][DIM];
    acc_t accumulator[ACC_ROWS][DIM];
    struct gemmini_load load[3];
    /* Of moves out. */
    uint32_t store_stride;
    int store_activation;
    acc_scale_t store_scale;
    /* Of computation. */
    int dataflow, activation, shift;
    uint32_t a_stride, c_stride;
    bool a_transpose, b_transpose;
    uint32_t preload_address, preload_cols, preload_rows;
    uint32_t output_address, output_cols, output_rows;
    /* Weights, or sums that stay in the array. */
    acc_t array[DIM][DIM];
};

static pthread_key_t gemmini_key_;
static pthread_once_t gemmini_once_ = PTHREAD_ONCE_INIT;

GEMMINI_FN void gemmini_make_key_(void) {
    pthread_key_create(&gemmini_key_, free);
}

GEMMINI_FN void gemmini_trap_(const char *why, unsigned long long value) {
    fprintf(stderr, "gemmini: %s (%llu)\n", why, value);
    abort();
}

/* This thread's core. */
GEMMINI_FN struct gemmini_core *gemmini_core_(void) {
    pthread_once(&gemmini_once_, gemmini_make_key_);
    struct gemmini_core *core = pthread_getspecific(gemmini_key_);
    if (!core) {
        core = calloc(1, sizeof *core);
        if (!core || pthread_setspecific(gemmini_key_, core)) {
            gemmini_trap_("no memory for the core", sizeof *core);
        }
        for (int i = 0; i < 3; i++) {
            core->load[i] = (struct gemmini_load){DIM * sizeof(elem_t), MVIN_SCALE_IDENTITY, false, DIM};
        }
        core->store_stride = DIM * sizeof(elem_t);
        core->store_scale = ACC_SCALE_IDENTITY;
        core->a_stride = core->c_stride = 1;
    }
    return core;
}

/* Numbers. */

GEMMINI_FN elem_t gemmini_saturate_(full_t x) {
#ifdef ELEM_T_IS_FLOAT
    return (elem_t)x;
#else
    return (elem_t)(x > INT8_MAX ? INT8_MAX : x < INT8_MIN ? INT8_MIN : x);
#endif
}

GEMMINI_FN elem_t gemmini_scale_(acc_t x, float scale) {
#ifdef ELEM_T_IS_FLOAT
    return x * scale;
#else
    /* The product is a float, rounded to the nearest integer, halves to even. */
    float y = rintf((float)x * scale);
    return (elem_t)(y > INT8_MAX ? INT8_MAX : y < INT8_MIN ? INT8_MIN : y);
#endif
}

/* A shift to the right that rounds to nearest, halves to even. */
GEMMINI_FN full_t gemmini_shift_(acc_t x, int shift) {
#ifdef ELEM_T_IS_FLOAT
    (void)shift;
    return x;
#else
    if (shift <= 0) {
        return x;
    }
    int64_t floor = (int64_t)x >> shift, rest = x - (floor << shift), half = INT64_C(1) << (shift - 1);
    return floor + (rest > half || (rest == half && (floor & 1)));
#endif
}

GEMMINI_FN elem_t gemmini_activate_(elem_t x, int activation) {
    return activation == RELU && !(x > 0) ? 0 : x;
}

GEMMINI_FN acc_t gemmini_add_(acc_t a, acc_t b) {
#ifdef ELEM_T_IS_FLOAT
    return a + b;
#else
    return (acc_t)((uint32_t)a + (uint32_t)b);
#endif
}

/* One step of an element of the array: floats are multiplied and added with one rounding. */
GEMMINI_FN acc_t gemmini_mac_(acc_t sum, elem_t a, acc_t b) {
#ifdef ELEM_T_IS_FLOAT
    return fmaf(a, b, sum);
#else
    return gemmini_add_(sum, (acc_t)a * b);
#endif
}

/* Addresses. */

GEMMINI_FN bool gemmini_is_accumulator_(uint32_t address) { return address >> 31; }

GEMMINI_FN uint32_t gemmini_row_(uint32_t address, uint64_t more) {
    bool accumulator = gemmini_is_accumulator_(address);
    uint64_t row = (address & (accumulator ? UINT32_C(0x1fffffff) : UINT32_C(0x7fffffff))) + more;
    if (row >= (accumulator ? ACC_ROWS : BANK_NUM * BANK_ROWS)) {
        gemmini_trap_(accumulator ? "no such row of the accumulator" : "no such row of the scratchpad", row);
    }
    return (uint32_t)row;
}

GEMMINI_FN void gemmini_limit_(const char *what, uint64_t value, uint64_t limit) {
    if (value > limit) {
        gemmini_trap_(what, value);
    }
}

/* Moves. */

GEMMINI_FN void gemmini_mvin_(int id, const void *dram, uint32_t address, uint32_t cols, uint32_t rows) {
    struct gemmini_core *core = gemmini_core_();
    struct gemmini_load load = core->load[id];
    bool accumulator = gemmini_is_accumulator_(address), adds = address >> 30 & 1;
    bool full = accumulator && !load.shrunk;
    gemmini_limit_("mvin of too many rows", rows, DIM);
    gemmini_limit_("mvin of too many columns", cols, DIM * (full ? MAX_BLOCK_LEN_ACC : MAX_BLOCK_LEN));
    for (uint32_t i = 0; i < rows; i++) {
        const char *from = (const char *)((uintptr_t)dram + i * (uintptr_t)load.stride);
        for (uint32_t j = 0; j < cols; j++) {
            uint32_t row = gemmini_row_(address, i + (uint64_t)(j / DIM) * load.block_stride);
            acc_t value = 0;
            if (dram && full) {
                memcpy(&value, from + j * sizeof(acc_t), sizeof value);
#ifdef HAS_MVIN_ACC_SCALE
                value *= load.scale;
#endif
            } else if (dram) {
                elem_t element;
                memcpy(&element, from + j * sizeof(elem_t), sizeof element);
                value = gemmini_scale_(element, load.scale);
            }
            if (accumulator) {
                acc_t *to = &core->accumulator[row][j % DIM];
                *to = adds ? gemmini_add_(*to, value) : value;
            } else {
                core->scratchpad[row][j % DIM] = (elem_t)value;
            }
        }
    }
}

GEMMINI_FN void gemmini_mvout_(void *dram, uint32_t address, uint32_t cols, uint32_t rows) {
    struct gemmini_core *core = gemmini_core_();
    bool accumulator = gemmini_is_accumulator_(address), full = accumulator && (address >> 29 & 1);
    gemmini_limit_("mvout of too many rows", rows, DIM);
    gemmini_limit_("mvout of too many columns", cols, DIM);
    for (uint32_t i = 0; i < rows; i++) {
        char *to = (char *)dram + i * (size_t)core->store_stride;
        uint32_t row = gemmini_row_(address, i);
        for (uint32_t j = 0; j < cols; j++) {
            if (full) {
                memcpy(to + j * sizeof(acc_t), &core->accumulator[row][j], sizeof(acc_t));
                continue;
            }
            elem_t value = core->scratchpad[accumulator ? 0 : row][j];
            if (accumulator) {
                value = gemmini_scale_(core->accumulator[row][j], core->store_scale);
                value = gemmini_activate_(value, core->store_activation);
            }
            memcpy(to + j * sizeof(elem_t), &value, sizeof value);
        }
    }
}

#define gemmini_extended_mvin(dram, sp, cols, rows) gemmini_mvin_(0, dram, sp, cols, rows)
#define gemmini_extended_mvin2(dram, sp, cols, rows) gemmini_mvin_(1, dram, sp, cols, rows)
#define gemmini_extended_mvin3(dram, sp, cols, rows) gemmini_mvin_(2, dram, sp, cols, rows)
#define gemmini_block_mvin(dram, sp, blocks) gemmini_extended_mvin(dram, sp, (blocks) * DIM, DIM)
#define gemmini_mvin(dram, sp) gemmini_extended_mvin(dram, sp, DIM, DIM)
#define gemmini_extended_mvout(dram, sp, cols, rows) gemmini_mvout_(dram, sp, cols, rows)
#define gemmini_mvout(dram, sp) gemmini_extended_mvout(dram, sp, DIM, DIM)

/* Configuration. */

GEMMINI_FN void gemmini_config_ld_(uint64_t stride, scale_t scale, bool shrunk, uint32_t block_stride, int id) {
    if (id < 0 || id > 2) {
        gemmini_trap_("no such load state", (unsigned)id);
    }
    gemmini_core_()->load[id] = (struct gemmini_load){stride, scale, shrunk, block_stride};
}

GEMMINI_FN void gemmini_config_st_(uint32_t stride, int activation, acc_scale_t scale) {
    struct gemmini_core *core = gemmini_core_();
    if (activation != NO_ACTIVATION && activation != RELU) {
        gemmini_trap_("this activation is not emulated", (unsigned)activation);
    }
    core->store_stride = stride;
    core->store_activation = activation;
    core->store_scale = scale;
}

GEMMINI_FN void gemmini_config_ex_(int dataflow, int activation, int shift, uint32_t c_stride, uint32_t a_stride,
                                   bool a_transpose, bool b_transpose, bool only_strides) {
    struct gemmini_core *core = gemmini_core_();
    core->a_stride = a_stride;
    core->c_stride = c_stride;
    if (only_strides) {
        return;
    }
    if (dataflow == WEIGHT_STATIONARY ? a_transpose && b_transpose : b_transpose && !a_transpose) {
        gemmini_trap_("this dataflow has no such transposes", (unsigned)dataflow);
    }
    if (activation != NO_ACTIVATION && activation != RELU) {
        gemmini_trap_("this activation is not emulated", (unsigned)activation);
    }
    core->dataflow = dataflow;
    core->activation = activation;
    core->shift = shift;
    core->a_transpose = a_transpose;
    core->b_transpose = b_transpose;
}

#define gemmini_extended4_config_ld(stride, scale, shrunk, block_stride, id) \
    gemmini_config_ld_(stride, scale, shrunk, block_stride, id)
#define gemmini_extended3_config_ld(stride, scale, shrunk, id) \
    gemmini_extended4_config_ld(stride, scale, shrunk, DIM, id)
#define gemmini_extended2_config_ld(stride, scale, shrunk) gemmini_extended3_config_ld(stride, scale, shrunk, 0)
#define gemmini_extended_config_ld(stride, scale) gemmini_extended2_config_ld(stride, scale, false)
#define gemmini_config_ld(stride) gemmini_extended_config_ld(stride, MVIN_SCALE_IDENTITY)

#define gemmini_extended_config_st(stride, activation, scale) gemmini_config_st_(stride, activation, scale)
#define gemmini_config_st(stride) gemmini_extended_config_st(stride, NO_ACTIVATION, ACC_SCALE_IDENTITY)

#define gemmini_extended3_config_ex(dataflow, activation, shift, scale, c_stride, a_stride, a_t, b_t, only_strides) \
    gemmini_config_ex_(dataflow, activation, shift, c_stride, a_stride, a_t, b_t, only_strides)
#define gemmini_extended2_config_ex(dataflow, activation, shift, a_stride, a_t, b_t) \
    gemmini_extended3_config_ex(dataflow, activation, shift, ACC_SCALE_IDENTITY, 1, a_stride, a_t, b_t, false)
#define gemmini_extended_config_ex(dataflow, activation, shift, a_stride, a_t, b_t) \
    gemmini_extended2_config_ex(dataflow, activation, shift, a_stride, a_t, b_t)
#define gemmini_config_ex(dataflow, activation, shift) \
    gemmini_extended_config_ex(dataflow, activation, shift, 1, 0, 0)

/* Computation. */

GEMMINI_FN void gemmini_preload_(uint32_t bd, uint32_t c, uint32_t bd_cols, uint32_t bd_rows, uint32_t c_cols,
                                 uint32_t c_rows) {
    struct gemmini_core *core = gemmini_core_();
    gemmini_limit_("preload of a matrix larger than the array", bd_rows > bd_cols ? bd_rows : bd_cols, DIM);
    gemmini_limit_("a result larger than the array", c_rows > c_cols ? c_rows : c_cols, DIM);
    core->preload_address = bd;
    core->preload_cols = bd_cols;
    core->preload_rows = bd_rows;
    core->output_address = c;
    core->output_cols = c_cols;
    core->output_rows = c_rows;
}

/* An element of a matrix in the scratchpad; zero outside of it, and all of it at the garbage address. */
GEMMINI_FN elem_t gemmini_operand_(uint32_t address, uint64_t row, uint32_t col, bool inside) {
    if (address == GARBAGE_ADDR || !inside) {
        return 0;
    }
    if (gemmini_is_accumulator_(address)) {
        gemmini_trap_("an operand in the accumulator is not emulated", address);
    }
    return gemmini_core_()->scratchpad[gemmini_row_(address, row)][col];
}

GEMMINI_FN void gemmini_compute_(bool preloaded, uint32_t a, uint32_t bd, uint32_t a_cols, uint32_t a_rows,
                                 uint32_t bd_cols, uint32_t bd_rows) {
    struct gemmini_core *core = gemmini_core_();
    bool ws = core->dataflow == WEIGHT_STATIONARY;
    gemmini_limit_("an operand larger than the array", a_rows > a_cols ? a_rows : a_cols, DIM);
    gemmini_limit_("an operand larger than the array", bd_rows > bd_cols ? bd_rows : bd_cols, DIM);
    for (uint32_t i = 0; preloaded && i < DIM; i++) {
        for (uint32_t j = 0; j < DIM; j++) {
            bool across = ws && core->b_transpose;
            bool inside = i < core->preload_rows && j < core->preload_cols;
            core->array[i][j] = gemmini_operand_(core->preload_address, across ? j : i, across ? i : j, inside);
        }
    }
    elem_t left[DIM][DIM], right[DIM][DIM];
    for (uint32_t i = 0; i < DIM; i++) {
        for (uint32_t k = 0; k < DIM; k++) {
            bool across = core->a_transpose, inside = i < a_rows && k < a_cols;
            uint64_t row = (uint64_t)core->a_stride * (across ? k : i);
            left[i][k] = gemmini_operand_(a, row, across ? i : k, inside);
            across = !ws && core->b_transpose;
            inside = i < bd_rows && k < bd_cols;
            right[i][k] = gemmini_operand_(bd, across ? k : i, across ? i : k, inside);
        }
    }
    acc_t result[DIM][DIM];
    for (uint32_t i = 0; i < DIM; i++) {
        for (uint32_t j = 0; j < DIM; j++) {
            acc_t sum = ws ? (acc_t)right[i][j] : core->array[i][j];
            for (uint32_t k = 0; k < DIM; k++) {
                sum = gemmini_mac_(sum, left[i][k], ws ? core->array[k][j] : (acc_t)right[k][j]);
            }
            result[i][j] = sum;
        }
    }
    if (!ws) {
        memcpy(core->array, result, sizeof result);
    }
    if (core->output_address == GARBAGE_ADDR) {
        return;
    }
    bool accumulator = gemmini_is_accumulator_(core->output_address), adds = core->output_address >> 30 & 1;
    for (uint32_t i = 0; i < core->output_rows; i++) {
        uint32_t row = gemmini_row_(core->output_address, (uint64_t)core->c_stride * i);
        for (uint32_t j = 0; j < core->output_cols; j++) {
            if (accumulator) {
                acc_t *to = &core->accumulator[row][j];
                *to = adds ? gemmini_add_(*to, result[i][j]) : result[i][j];
            } else {
                elem_t value = gemmini_saturate_(gemmini_shift_(result[i][j], ws ? 0 : core->shift));
                core->scratchpad[row][j] = gemmini_activate_(value, core->activation);
            }
        }
    }
}

#define gemmini_extended_preload(bd, c, bd_cols, bd_rows, c_cols, c_rows) \
    gemmini_preload_(bd, c, bd_cols, bd_rows, c_cols, c_rows)
#define gemmini_preload(bd, c) gemmini_extended_preload(bd, c, DIM, DIM, DIM, DIM)
#define gemmini_preload_zeros(c) gemmini_preload(GARBAGE_ADDR, c)
#define gemmini_extended_compute_preloaded(a, bd, a_cols, a_rows, bd_cols, bd_rows) \
    gemmini_compute_(true, a, bd, a_cols, a_rows, bd_cols, bd_rows)
#define gemmini_extended_compute_accumulated(a, bd, a_cols, a_rows, bd_cols, bd_rows) \
    gemmini_compute_(false, a, bd, a_cols, a_rows, bd_cols, bd_rows)
#define gemmini_compute_preloaded(a, bd) gemmini_extended_compute_preloaded(a, bd, DIM, DIM, DIM, DIM)
#define gemmini_compute_accumulated(a, bd) gemmini_extended_compute_accumulated(a, bd, DIM, DIM, DIM, DIM)

#define gemmini_flush(skip) ((void)(skip))
#define gemmini_fence() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Library functions, in instructions. */

GEMMINI_FN size_t gemmini_at_most_(size_t n) { return n < DIM ? n : DIM; }

/* One block of the result, at (i0, j0). */
GEMMINI_FN void gemmini_matmul_block_(size_t i0, size_t j0, size_t rows, size_t cols, size_t dim_K, const elem_t *A,
                                      const elem_t *B, const void *D, void *C, size_t stride_A, size_t stride_B,
                                      size_t stride_D, size_t stride_C, bool repeating_bias, bool transpose_A,
                                      bool transpose_B, bool full_C, bool low_D, bool ws) {
    const uint32_t a = 0, b = DIM, c = UINT32_C(1) << 31, adds = UINT32_C(1) << 30, full = UINT32_C(1) << 29;
    if (D) {
        size_t at = (repeating_bias ? 0 : i0 * stride_D) + j0;
        const char *from = (const char *)D + at * (low_D ? sizeof(elem_t) : sizeof(acc_t));
        gemmini_extended_mvin3(from, c, cols, rows);
    }
    for (size_t k0 = 0; k0 < dim_K; k0 += DIM) {
        size_t depth = gemmini_at_most_(dim_K - k0);
        bool last = k0 + DIM >= dim_K;
        if (transpose_A) {
            gemmini_extended_mvin(A + k0 * stride_A + i0, a, rows, depth);
        } else {
            gemmini_extended_mvin(A + i0 * stride_A + k0, a, depth, rows);
        }
        if (transpose_B) {
            gemmini_extended_mvin2(B + j0 * stride_B + k0, b, depth, cols);
        } else {
            gemmini_extended_mvin2(B + k0 * stride_B + j0, b, cols, depth);
        }
        if (ws) {
            gemmini_extended_preload(b, c | (D || k0 ? adds : 0), cols, depth, cols, rows);
            gemmini_extended_compute_preloaded(a, GARBAGE_ADDR, depth, rows, cols, rows);
        } else {
            uint32_t out = !last ? GARBAGE_ADDR : c | (D ? adds : 0);
            gemmini_extended_preload(GARBAGE_ADDR, out, cols, rows, cols, rows);
            if (k0) {
                gemmini_extended_compute_accumulated(a, b, depth, rows, cols, depth);
            } else {
                gemmini_extended_compute_preloaded(a, b, depth, rows, cols, depth);
            }
        }
    }
    char *to = (char *)C + (i0 * stride_C + j0) * (full_C ? sizeof(acc_t) : sizeof(elem_t));
    gemmini_extended_mvout(to, c | (full_C ? full : 0), cols, rows);
}

GEMMINI_FN void tiled_matmul_auto(size_t dim_I, size_t dim_J, size_t dim_K, const elem_t *A, const elem_t *B,
                                  const void *D, void *C, size_t stride_A, size_t stride_B, size_t stride_D,
                                  size_t stride_C, scale_t A_scale, scale_t B_scale, scale_acc_t D_scale, int act,
                                  acc_scale_t scale, acc_scale_t bert_scale, bool repeating_bias, bool transpose_A,
                                  bool transpose_B, bool full_C, bool low_D, uint8_t weightA,
                                  enum tiled_matmul_type_t type) {
    (void)bert_scale, (void)weightA;
    if (type == CPU) {
        gemmini_trap_("tiled_matmul_auto on the CPU is not emulated", type);
    }
    if (!dim_I || !dim_J || !dim_K) {
        gemmini_trap_("tiled_matmul_auto of an empty matrix", 0);
    }
    gemmini_extended_config_ex(type == WS ? WEIGHT_STATIONARY : OUTPUT_STATIONARY, NO_ACTIVATION, 0, 1, transpose_A,
                               transpose_B);
    gemmini_extended_config_st(stride_C * (full_C ? sizeof(acc_t) : sizeof(elem_t)), act, scale);
    gemmini_extended3_config_ld(stride_A * sizeof(elem_t), A_scale, false, 0);
    gemmini_extended3_config_ld(stride_B * sizeof(elem_t), B_scale, false, 1);
    size_t sizeof_D = low_D ? sizeof(elem_t) : sizeof(acc_t);
    gemmini_extended3_config_ld(repeating_bias ? 0 : stride_D * sizeof_D, (scale_t)D_scale, low_D, 2);
    for (size_t i = 0; i < dim_I; i += DIM) {
        for (size_t j = 0; j < dim_J; j += DIM) {
            gemmini_matmul_block_(i, j, gemmini_at_most_(dim_I - i), gemmini_at_most_(dim_J - j), dim_K, A, B, D, C,
                                  stride_A, stride_B, stride_D, stride_C, repeating_bias, transpose_A, transpose_B,
                                  full_C, low_D, type == WS);
        }
    }
    gemmini_fence();
}

GEMMINI_FN void tiled_resadd_auto(size_t I, size_t J, scale_t A_scale, scale_t B_scale, acc_scale_t C_scale,
                                  const elem_t *A, const elem_t *B, elem_t *C, bool relu,
                                  enum tiled_matmul_type_t type) {
    (void)type;
    const uint32_t c = UINT32_C(1) << 31, adds = UINT32_C(1) << 30;
    gemmini_extended_config_st(J * sizeof(elem_t), relu ? RELU : NO_ACTIVATION, C_scale);
    gemmini_extended3_config_ld(J * sizeof(elem_t), A_scale, true, 0);
    gemmini_extended3_config_ld(J * sizeof(elem_t), B_scale, true, 1);
    for (size_t i = 0; i < I; i += DIM) {
        for (size_t j = 0; j < J; j += DIM) {
            size_t rows = gemmini_at_most_(I - i), cols = gemmini_at_most_(J - j), at = i * J + j;
            gemmini_extended_mvin(A + at, c, cols, rows);
            gemmini_extended_mvin2(B + at, c | adds, cols, rows);
            gemmini_extended_mvout(C + at, c, cols, rows);
        }
    }
    gemmini_fence();
}

#endif
