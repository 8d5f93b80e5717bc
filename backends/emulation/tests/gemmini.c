/* What each instruction does, by itself and against plain loops. Run with the name of a mistake, it makes that. */
#include "gemmini.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

#define ACCUMULATOR (UINT32_C(1) << 31)
#define ADDS (UINT32_C(1) << 30)
#define FULL (UINT32_C(1) << 29)

static uint32_t seed = 12345;

static uint32_t random_bits(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    return seed ^= seed << 5;
}

/* Small enough that float sums of products are exact. */
static elem_t random_elem(void) { return (elem_t)((int)(random_bits() % 256) - 128); }

static void stores(size_t stride) { gemmini_config_st(stride); }

static void strides_and_blocks(void) {
    enum { COLS = 2 * DIM + 3, ROWS = DIM };
    static elem_t in[ROWS][COLS + 5], out[ROWS][DIM];
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < COLS + 5; j++) {
            in[i][j] = random_elem();
        }
    }
    gemmini_config_ld(sizeof in[0]);
    gemmini_extended_mvin(in, 100, COLS, ROWS);
    stores(sizeof out[0]);
    for (int block = 0; block < 3; block++) {
        int cols = block < 2 ? DIM : 3;
        gemmini_extended_mvout(out, 100 + block * DIM, cols, ROWS);
        for (int i = 0; i < ROWS; i++) {
            for (int j = 0; j < cols; j++) {
                CHECK(out[i][j] == in[i][block * DIM + j]);
            }
        }
    }
    /* A block stride of its own, a stride of zero, zeros from nowhere. */
    gemmini_extended4_config_ld(0, MVIN_SCALE_IDENTITY, false, 50, 1);
    gemmini_extended_mvin2(in[3], 200, 2 * DIM, 4);
    gemmini_extended_mvout(out, 250, DIM, 4);
    CHECK(out[0][1] == in[3][DIM + 1] && out[3][DIM - 1] == in[3][2 * DIM - 1]);
    gemmini_extended_mvin2(NULL, 250, DIM, 4);
    gemmini_extended_mvout(out, 250, DIM, 4);
    CHECK(out[2][2] == 0);
}

static void the_accumulator_adds_and_wraps(void) {
    acc_t in[DIM], out[DIM];
    for (int j = 0; j < DIM; j++) {
        in[j] = (acc_t)(j * 1000);
    }
    gemmini_config_ld(sizeof in);
    gemmini_extended_mvin(in, ACCUMULATOR | 7, DIM, 1);
    gemmini_extended_mvin(in, ACCUMULATOR | ADDS | 7, DIM, 1);
    stores(sizeof out);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL | 7, DIM, 1);
    CHECK(out[3] == 6000);
    gemmini_extended_mvin(in, ACCUMULATOR | 7, DIM, 1);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL | 7, DIM, 1);
    CHECK(out[3] == 3000);
#ifndef GEMMINI_FP32
    in[0] = INT32_MAX;
    gemmini_extended_mvin(in, ACCUMULATOR | 7, DIM, 1);
    in[0] = 1;
    gemmini_extended_mvin(in, ACCUMULATOR | ADDS | 7, DIM, 1);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL | 7, DIM, 1);
    CHECK(out[0] == INT32_MIN);
#endif
}

static void every_pair_in_shrunk_loads(void) {
#ifndef GEMMINI_FP32
    static int8_t a[256][16], b[256][16], narrow[16][16];
    static int32_t wide[16][16];
    for (int base = 0; base < 256; base += 16) {
        for (int i = 0; i < 256; i++) {
            for (int j = 0; j < 16; j++) {
                a[i][j] = (int8_t)i;
                b[i][j] = (int8_t)(base + j);
            }
        }
        for (int i = 0; i < 256; i += 16) {
            gemmini_extended3_config_ld(16, MVIN_SCALE_IDENTITY, true, 0);
            gemmini_mvin(a[i], ACCUMULATOR);
            gemmini_mvin(b[i], ACCUMULATOR | ADDS);
            stores(64);
            gemmini_mvout(wide, ACCUMULATOR | FULL);
            stores(16);
            gemmini_mvout(narrow, ACCUMULATOR);
            for (int r = 0; r < 16; r++) {
                for (int j = 0; j < 16; j++) {
                    int sum = a[i + r][j] + b[i + r][j];
                    CHECK(wide[r][j] == sum);
                    CHECK((uint8_t)wide[r][j] == (uint8_t)(i + r + base + j));
                    CHECK(narrow[r][j] == (sum > 127 ? 127 : sum < -128 ? -128 : sum));
                }
            }
        }
    }
#endif
}

/* What a wrapping add of bytes must not be made of. */
static void the_residual_add_saturates(void) {
#ifndef GEMMINI_FP32
    static uint8_t a[32][32], b[32][32], c[32][32];
    int differ = 0, saturated = 0;
    for (int i = 0; i < 32 * 32; i++) {
        (&a[0][0])[i] = (uint8_t)random_bits();
        (&b[0][0])[i] = (uint8_t)random_bits();
    }
    tiled_resadd_auto(32, 32, 1, 1, 1, (int8_t *)a, (int8_t *)b, (int8_t *)c, false, WS);
    for (int i = 0; i < 32; i++) {
        for (int j = 0; j < 32; j++) {
            int sum = (int8_t)a[i][j] + (int8_t)b[i][j];
            int expected = sum > 127 ? 127 : sum < -128 ? -128 : sum;
            CHECK((int8_t)c[i][j] == expected);
            saturated += sum != expected;
            differ += c[i][j] != (uint8_t)(a[i][j] + b[i][j]);
        }
    }
    CHECK(differ == saturated && differ > 200 && differ < 320);
#endif
}

static void scales_and_activations(void) {
#ifdef GEMMINI_FP32
    float in[4] = {1.5f, -2.25f, 1e30f, -0.0f}, out[4];
    gemmini_extended3_config_ld(sizeof in, -3.0f, true, 0);
    gemmini_extended_mvin(in, ACCUMULATOR, 4, 1);
    gemmini_extended_config_st(sizeof out, RELU, 0.5f);
    gemmini_extended_mvout(out, ACCUMULATOR, 4, 1);
    CHECK(out[0] == 0 && out[1] == 3.375f && out[2] == 0);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL, 4, 1);
    CHECK(out[0] == -4.5f && out[1] == 6.75f);
#else
    /* Halves round to even, and everything saturates. */
    int8_t in[16] = {1, 3, 5, -1, -3, -5, 127, -128, 100, -100}, out[16];
    gemmini_extended3_config_ld(16, 0.5f, true, 0);
    gemmini_extended_mvin(in, ACCUMULATOR, 16, 1);
    stores(16);
    gemmini_extended_mvout(out, ACCUMULATOR, 16, 1);
    CHECK(out[0] == 0 && out[1] == 2 && out[2] == 2 && out[3] == 0 && out[4] == -2 && out[5] == -2);
    CHECK(out[6] == 64 && out[7] == -64);
    gemmini_extended3_config_ld(16, 2.0f, false, 2);
    gemmini_extended_mvin3(in, 5, 16, 1);
    gemmini_extended_mvout(out, 5, 16, 1);
    CHECK(out[6] == 127 && out[7] == -128 && out[8] == 127 && out[9] == -128 && out[1] == 6);
    int32_t wide[16] = {1000, -1000, 250, -250, 254};
    gemmini_config_ld(64);
    gemmini_extended_mvin(wide, ACCUMULATOR, 16, 1);
    gemmini_extended_config_st(16, RELU, 0.5f);
    gemmini_extended_mvout(out, ACCUMULATOR, 16, 1);
    CHECK(out[0] == 127 && out[1] == 0 && out[2] == 125 && out[3] == 0 && out[4] == 127);
    /* All of a row of the accumulator is moved as it is. */
    gemmini_extended_config_st(64, RELU, 0.5f);
    gemmini_extended_mvout(wide, ACCUMULATOR | FULL, 16, 1);
    CHECK(wide[1] == -1000);
    /* A shift in output-stationary flow rounds to nearest, halves to even. */
    for (int v = -64; v < 64; v++) {
        CHECK(gemmini_shift_(v, 2) == (int)rint(v / 4.0));
    }
#endif
}

static void products(bool ws, bool transpose_A, bool transpose_B) {
    static elem_t a[DIM][DIM], b[DIM][DIM], d[DIM][DIM], narrow[DIM][DIM];
    static acc_t wide[DIM][DIM];
    for (int round = 0; round < 20; round++) {
        uint32_t I = 1 + random_bits() % DIM, J = 1 + random_bits() % DIM, K = 1 + random_bits() % DIM;
        for (int i = 0; i < DIM * DIM; i++) {
            (&a[0][0])[i] = random_elem();
            (&b[0][0])[i] = random_elem();
            (&d[0][0])[i] = random_elem();
        }
        gemmini_extended_config_ex(ws ? WEIGHT_STATIONARY : OUTPUT_STATIONARY, NO_ACTIVATION, 0, 1, transpose_A,
                                   transpose_B);
        gemmini_config_ld(sizeof a[0]);
        gemmini_mvin(a, 0);
        gemmini_mvin(b, DIM);
        gemmini_mvin(d, 2 * DIM);
        for (int to_scratchpad = 0; to_scratchpad < 2; to_scratchpad++) {
            uint32_t c = to_scratchpad ? 3 * DIM : ACCUMULATOR;
            if (ws) {
                gemmini_extended_preload(DIM, c, J, K, J, I);
                gemmini_extended_compute_preloaded(0, 2 * DIM, K, I, J, I);
            } else {
                gemmini_extended_preload(2 * DIM, c, J, I, J, I);
                gemmini_extended_compute_preloaded(0, DIM, K, I, J, K);
            }
            stores(to_scratchpad ? sizeof narrow[0] : sizeof wide[0]);
            gemmini_extended_mvout(to_scratchpad ? (void *)narrow : (void *)wide, to_scratchpad ? c : c | FULL, J, I);
        }
        for (uint32_t i = 0; i < I; i++) {
            for (uint32_t j = 0; j < J; j++) {
                acc_t sum = d[i][j];
                for (uint32_t k = 0; k < K; k++) {
                    sum += (acc_t)(transpose_A ? a[k][i] : a[i][k]) * (transpose_B ? b[j][k] : b[k][j]);
                }
                CHECK(wide[i][j] == sum);
                CHECK(narrow[i][j] == gemmini_saturate_(sum));
            }
        }
    }
}

/* Weights, and sums, stay in the array until the next preload. */
static void what_stays_in_the_array(void) {
    static elem_t a[DIM][DIM], b[DIM][DIM];
    static acc_t out[DIM][DIM];
    for (int i = 0; i < DIM; i++) {
        for (int j = 0; j < DIM; j++) {
            a[i][j] = (elem_t)(i + j);
            b[i][j] = (elem_t)(i == j);
        }
    }
    gemmini_config_ld(sizeof a[0]);
    gemmini_mvin(a, 0);
    gemmini_mvin(b, DIM);
    stores(sizeof out[0]);
    gemmini_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0);
    gemmini_preload(DIM, ACCUMULATOR);
    gemmini_compute_preloaded(0, GARBAGE_ADDR);
    gemmini_preload(GARBAGE_ADDR, ACCUMULATOR | ADDS);
    gemmini_compute_accumulated(0, GARBAGE_ADDR);
    gemmini_mvout(out, ACCUMULATOR | FULL);
    CHECK(out[1][2] == 6 && out[3][3] == 12);
    gemmini_config_ex(OUTPUT_STATIONARY, NO_ACTIVATION, 0);
    gemmini_preload_zeros(GARBAGE_ADDR);
    gemmini_compute_preloaded(0, DIM);
    gemmini_preload(GARBAGE_ADDR, ACCUMULATOR);
    gemmini_compute_accumulated(0, DIM);
    gemmini_mvout(out, ACCUMULATOR | FULL);
    CHECK(out[1][2] == 6 && out[3][3] == 12);
}

/* Strides in the scratchpad, shift and activation on the way to it, and what lies outside of an operand. */
static void settings_of_computation(void) {
    static elem_t a[2 * DIM][DIM], b[DIM][DIM], out[2 * DIM][DIM];
    for (int i = 0; i < 2 * DIM * DIM; i++) {
        (&a[0][0])[i] = (elem_t)(random_bits() % 7 - 3);
    }
    for (int i = 0; i < DIM * DIM; i++) {
        (&b[0][0])[i] = (elem_t)(random_bits() % 7 - 3);
    }
    gemmini_config_ld(sizeof a[0]);
    gemmini_mvin(a, 0);
    gemmini_mvin(a[DIM], DIM);
    gemmini_mvin(b, 2 * DIM);
    stores(sizeof out[0]);
    for (int ws = 0; ws < 2; ws++) {
        enum { INNER = DIM - 2 };
        int shift = ws ? 0 : 2;
        gemmini_extended3_config_ex(ws, RELU, 2, ACC_SCALE_IDENTITY, 2, 2, false, false, false);
        /* Only the strides of this one count. */
        gemmini_extended3_config_ex(!ws, NO_ACTIVATION, 0, ACC_SCALE_IDENTITY, 2, 2, true, false, true);
        gemmini_extended_preload(ws ? 2 * DIM : GARBAGE_ADDR, 4 * DIM, DIM, INNER, DIM, DIM);
        gemmini_extended_compute_preloaded(0, ws ? GARBAGE_ADDR : 2 * DIM, DIM, DIM, DIM, INNER);
        gemmini_mvout(out, 4 * DIM);
        gemmini_mvout(out[DIM], 5 * DIM);
        for (int i = 0; i < DIM; i++) {
            for (int j = 0; j < DIM; j++) {
                acc_t sum = 0;
                for (int k = 0; k < INNER; k++) {
                    sum += (acc_t)a[2 * i][k] * b[k][j];
                }
                sum = (acc_t)gemmini_shift_(sum, shift);
                CHECK(out[2 * i][j] == (sum > 0 ? sum : 0));
            }
        }
    }
}

static void loads_of_the_accumulators_width_scale_floats_only(void) {
    acc_t in[DIM], out[DIM];
    for (int j = 0; j < DIM; j++) {
        in[j] = (acc_t)(j + 1);
    }
    gemmini_extended3_config_ld(sizeof in, 2.0f, false, 0);
    gemmini_extended_mvin(in, ACCUMULATOR, DIM, 1);
    stores(sizeof out);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL, DIM, 1);
    for (int j = 0; j < DIM; j++) {
        CHECK(out[j] == in[j] * (sizeof(elem_t) == 4 ? 2 : 1));
    }
}

static void a_bias_of_elements(void) {
    static elem_t a[DIM][DIM], b[DIM][DIM], d[DIM][2 * DIM];
    static acc_t out[DIM][2 * DIM];
    for (int i = 0; i < 2 * DIM * DIM; i++) {
        (&d[0][0])[i] = random_elem();
    }
    tiled_matmul_auto(DIM, 2 * DIM, 1, &a[0][0], &b[0][0], d, out, DIM, 2 * DIM, 2 * DIM, 2 * DIM, MVIN_SCALE_IDENTITY,
                      MVIN_SCALE_IDENTITY, 1, NO_ACTIVATION, ACC_SCALE_IDENTITY, 0, false, false, false, true, true, 0,
                      WS);
    for (int i = 0; i < 2 * DIM * DIM; i++) {
        CHECK((&out[0][0])[i] == (&d[0][0])[i]);
    }
}

/* C = A B + D in tiles, with odd sizes and strides. */
static void tiled(enum tiled_matmul_type_t type, bool transpose_A, bool transpose_B, bool full, bool with_D) {
    enum { MOST = 3 * DIM };
    static elem_t a[MOST][MOST], b[MOST][MOST], narrow[MOST][MOST];
    static acc_t d[MOST][MOST], wide[MOST][MOST];
    for (int round = 0; round < 8; round++) {
        size_t I = 1 + random_bits() % MOST, J = 1 + random_bits() % MOST, K = 1 + random_bits() % MOST;
        for (int i = 0; i < MOST * MOST; i++) {
            (&a[0][0])[i] = random_elem();
            (&b[0][0])[i] = random_elem();
            (&d[0][0])[i] = (acc_t)(random_bits() % 1000);
        }
        bool repeating = round % 2;
        tiled_matmul_auto(I, J, K, &a[0][0], &b[0][0], with_D ? d : NULL, full ? (void *)wide : (void *)narrow, MOST,
                          MOST, MOST, MOST, MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, 1, NO_ACTIVATION,
                          ACC_SCALE_IDENTITY, 0, repeating, transpose_A, transpose_B, full, false, 0, type);
        for (size_t i = 0; i < I; i++) {
            for (size_t j = 0; j < J; j++) {
                acc_t sum = with_D ? d[repeating ? 0 : i][j] : 0;
                for (size_t k = 0; k < K; k++) {
                    sum += (acc_t)(transpose_A ? a[k][i] : a[i][k]) * (transpose_B ? b[j][k] : b[k][j]);
                }
                CHECK(full ? wide[i][j] == sum : narrow[i][j] == gemmini_saturate_(sum));
            }
        }
    }
}

static void *on_another_thread(void *unused) {
    (void)unused;
    acc_t zero[DIM], out[DIM];
    memset(zero, 0, sizeof zero);
    gemmini_config_ld(sizeof zero);
    gemmini_extended_mvin(zero, ACCUMULATOR | 9, DIM, 1);
    stores(sizeof out);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL | 9, DIM, 1);
    CHECK(out[0] == 0);
    return NULL;
}

static void threads_have_a_core_each(void) {
    acc_t one[DIM], out[DIM];
    for (int j = 0; j < DIM; j++) {
        one[j] = 1;
    }
    gemmini_config_ld(sizeof one);
    gemmini_extended_mvin(one, ACCUMULATOR | 9, DIM, 1);
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, on_another_thread, NULL));
    CHECK(!pthread_join(thread, NULL));
    stores(sizeof out);
    gemmini_extended_mvout(out, ACCUMULATOR | FULL | 9, DIM, 1);
    CHECK(out[0] == 1);
}

static void mistake(const char *which) {
    static elem_t data[DIM][64];
    if (!strcmp(which, "row")) {
        gemmini_mvin(data, BANK_NUM * BANK_ROWS - DIM + 1);
    } else if (!strcmp(which, "accumulator-row")) {
        gemmini_mvin(data, ACCUMULATOR | ACC_ROWS);
    } else if (!strcmp(which, "rows")) {
        gemmini_extended_mvin(data, 0, DIM, DIM + 1);
    } else if (!strcmp(which, "blocks")) {
        gemmini_extended_mvin(data, ACCUMULATOR, MAX_BLOCK_LEN_ACC * DIM + 1, 1);
    } else if (!strcmp(which, "transposes-ws")) {
        gemmini_extended_config_ex(WEIGHT_STATIONARY, NO_ACTIVATION, 0, 1, true, true);
    } else if (!strcmp(which, "transpose-os")) {
        gemmini_extended_config_ex(OUTPUT_STATIONARY, NO_ACTIVATION, 0, 1, false, true);
    } else if (!strcmp(which, "operand")) {
        gemmini_preload(0, ACCUMULATOR);
        gemmini_compute_preloaded(ACCUMULATOR, GARBAGE_ADDR);
    } else if (!strcmp(which, "empty")) {
        tiled_matmul_auto(0, 1, 1, &data[0][0], &data[0][0], NULL, data, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, false, false,
                          false, false, false, 0, WS);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) {
        mistake(argv[1]);
        return 0;
    }
    strides_and_blocks();
    the_accumulator_adds_and_wraps();
    every_pair_in_shrunk_loads();
    the_residual_add_saturates();
    scales_and_activations();
    products(true, false, false);
    products(true, true, false);
    products(true, false, true);
    products(false, false, false);
    products(false, true, false);
    products(false, true, true);
    what_stays_in_the_array();
    settings_of_computation();
    loads_of_the_accumulators_width_scale_floats_only();
    a_bias_of_elements();
    for (int bits = 0; bits < 4; bits++) {
        tiled(WS, false, false, bits & 1, bits & 2);
        tiled(WS, true, false, bits & 1, bits & 2);
        tiled(WS, false, true, bits & 1, bits & 2);
        tiled(OS, false, false, bits & 1, bits & 2);
        tiled(OS, true, false, bits & 1, bits & 2);
        tiled(OS, true, true, bits & 1, bits & 2);
    }
    threads_have_a_core_each();
    return 0;
}
