/* What each intrinsic does, by itself. Run with the name of a mistake, it makes that. */
#include "tpc.h"

#define CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            exit(1); \
        } \
    } while (0)

/* A kernel as the vendor's examples write them: y = max(x, 0), two rows of 70. */
static void relu(tensor input, tensor output) {
    const int5 start = get_index_space_offset(), end = get_index_space_size() + start;
    int5 at = {0, 0, 0, 0, 0};
    for (int row = start[1]; row < end[1]; row++) {
        at[1] = row;
        for (int d = start[0] * 64; d < end[0] * 64; d += 64) {
            at[0] = d;
            float64 x = v_f32_ld_tnsr_b(at, input);
            v_f32_st_tnsr(at, output, v_f32_max_b(x, 0));
        }
    }
}

static int64_t promised = 63;

static tpc_lib_api::GlueCodeReturn glue(tpc_lib_api::HabanaKernelParams *in, tpc_lib_api::HabanaKernelInstantiation *out) {
    if (in->inputTensorNr != 1) {
        return tpc_lib_api::GLUE_INCOMPATIBLE_INPUT_COUNT;
    }
    out->indexSpaceRank = 2;
    out->indexSpaceGeometry[0] = (in->outputTensors[0].geometry.maxSizes[0] + 63) / 64;
    out->indexSpaceGeometry[1] = in->outputTensors[0].geometry.maxSizes[1];
    tpc_lib_api::TensorAccessPattern p = {{{0, 64, 0, promised}, {1, 1, 0, 0}, {-1, 0, 0, 0}, {-1, 0, 0, 0}, {-1, 0, 0, 0}}};
    out->inputTensorAccessPattern[0] = out->outputTensorAccessPattern[0] = p;
    return tpc_lib_api::GLUE_SUCCESS;
}

static void a_kernel_with_partial_vectors() {
    enum { ROWS = 3, COLS = 1000, PITCH = COLS + 9 };
    static float x[ROWS][PITCH], y[ROWS][PITCH];
    for (int i = 0; i < ROWS * PITCH; i++) {
        (&x[0][0])[i] = (float)(i % 7 - 3);
        (&y[0][0])[i] = 42;
    }
    tpc_host_tensor in = {x, 4, {COLS, ROWS, 1, 1, 1}, {1, PITCH, 0, 0, 0}};
    tpc_host_tensor out = {y, 4, {COLS, ROWS, 1, 1, 1}, {1, PITCH, 0, 0, 0}};
    CHECK(tpc_launch(glue, [] { relu(0, 1); }, &in, 1, &out, 1));
    for (int i = 0; i < ROWS; i++) {
        for (int j = 0; j < PITCH; j++) {
            CHECK(y[i][j] == (j >= COLS ? 42 : x[i][j] > 0 ? x[i][j] : 0));
        }
    }
    CHECK(!tpc_launch(glue, [] { relu(0, 1); }, &in, 0, &out, 1));
}

static void bytes() {
    uchar256 a;
    char256 c;
    for (int i = 0; i < 256; i++) {
        a[i] = (uint8_t)i;
        c[i] = (int8_t)(i - 128);
    }
    for (int b = 0; b < 256; b++) {
        uchar256 sum = v_u8_add_b(a, (uint8_t)b), full = v_u8_add_b(a, (uint8_t)b, SW_SAT);
        uchar256 less = v_u8_sel_less_u8_b(a, (uint8_t)b, 1, 2), smallest = v_u8_min_b(a, (uint8_t)b);
        uchar256 rest = v_u8_sub_b(a, (uint8_t)b, SW_SAT);
        char256 difference = v_i8_sub_b(c, (int8_t)(b - 128)), held = v_i8_sub_b(c, (int8_t)(b - 128), SW_SAT);
        for (int i = 0; i < 256; i++) {
            CHECK(sum[i] == (uint8_t)(i + b) && full[i] == (i + b > 255 ? 255 : i + b));
            CHECK(less[i] == (i < b ? 1 : 2) && smallest[i] == (i < b ? i : b));
            CHECK(rest[i] == (i < b ? 0 : i - b));
            CHECK(difference[i] == (int8_t)(i - b));
            CHECK(held[i] == (i - b > 127 ? 127 : i - b < -128 ? -128 : i - b));
        }
    }
    CHECK(v_u8_xor_b(a, 255)[3] == 252 && v_u8_and_b(a, 6)[15] == 6 && v_u8_or_b(a, 1)[4] == 5);
}

static void words() {
    const int32_t edges[] = {0, 1, -1, 2, 255, 65535, 65536, INT32_MAX, INT32_MIN, INT32_MIN + 1, 123456789, -987654321};
    for (int32_t x : edges) {
        for (int32_t y : edges) {
            int64 a = x, b = y;
            CHECK(v_i32_add_b(a, b)[5] == (int32_t)((uint32_t)x + (uint32_t)y));
            CHECK(v_i32_sub_b(a, b, SW_SAT)[0] == ((long long)x - y > INT32_MAX   ? INT32_MAX
                                                  : (long long)x - y < INT32_MIN ? INT32_MIN
                                                                                 : x - y));
            int128 p = v_i32_mul_b(a, b);
            CHECK((((long long)p.v2[7] << 32) | (uint32_t)p.v1[7]) == (long long)x * y);
            uint128 u = v_u32_mul_b((uint32_t)x, (uint32_t)y);
            CHECK((((unsigned long long)u.v2[7] << 32) | u.v1[7]) == (unsigned long long)(uint32_t)x * (uint32_t)y);
            CHECK(v_i32_sel_less_i32_b(a, b, 1, 0)[9] == (x < y) && v_i32_sel_geq_u32_b((uint32_t)x, (uint32_t)y, 1, 0)[9] == ((uint32_t)x >= (uint32_t)y));
            CHECK(v_i32_sel_leq_i32_b(a, b, 1, 0)[9] == (x <= y) && v_i32_sel_grt_i32_b(a, b, 1, 0)[9] == (x > y));
            CHECK(v_i32_sel_eq_i32_b(a, b, 1, 0)[9] == (x == y) && v_f32_sel_neq_i32_b(a, b, 1, 0)[9] == (x != y));
            CHECK(v_i32_max_b(a, b)[1] == (x > y ? x : y) && v_i32_xor_b(a, b)[1] == (x ^ y));
        }
        CHECK(v_i32_shr_b(x, 4)[0] == (int32_t)((uint32_t)x >> 4) && v_i32_shr_b(x, 32)[0] == 0);
        CHECK(v_i32_shl_b(x, 31)[0] == (int32_t)((uint32_t)x << 31) && v_i32_not_b(x)[0] == ~x);
        CHECK(v_u32_shr_b((uint32_t)x, 31)[0] == (uint32_t)x >> 31);
    }
    int64 counting;
    for (int i = 0; i < 64; i++) {
        counting[i] = i - 20;
    }
    CHECK(v_i32_reduce_add(counting)[63] == 64 * 63 / 2 - 64 * 20 && v_i32_reduce_max(counting)[0] == 43);
    /* The income stays where the predicate doesn't hold. */
    CHECK(v_i32_add_b(counting, 1, 0, counting, 0)[3] == counting[3] && v_i32_add_b(counting, 1, 0, counting, 0, 1)[3] == counting[3] + 1);
}

static void floats() {
    const float nan = NAN;
    CHECK(v_f32_sel_less_f32_b(nan, 1.0f, 1, 2)[0] == 2 && v_f32_sel_neq_f32_b(nan, nan, 1, 2)[0] == 1);
    CHECK(v_f32_mul_b(3.0f, 0.1f)[5] == 3.0f * 0.1f && v_f32_sub_b(1.0f, 0.9f)[5] == 1.0f - 0.9f);
    const float halves[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.49f, -2.51f};
    const int expected[4][7] = {{0, 2, 2, 0, -2, 2, -3}, {0, 1, 2, 0, -1, 2, -2}, {1, 2, 3, 0, -1, 3, -2}, {0, 1, 2, -1, -2, 2, -3}};
    for (int way = 0; way < 4; way++) {
        for (int i = 0; i < 7; i++) {
            CHECK(v_convert_f32_to_i32_b(halves[i], way << 16)[0] == expected[way][i]);
        }
    }
    CHECK(v_convert_i32_to_f32_b(16777217)[0] == 16777216.0f);
    float64 x;
    for (int i = 0; i < 64; i++) {
        x[i] = (float)(i + 1);
    }
    CHECK(v_f32_reduce_add(x)[9] == 64 * 65 / 2 && v_f32_reduce_max(x)[0] == 64 && v_f32_reduce_min(x)[0] == 1);
    CHECK(v_exp_f32(0.0f)[0] == 1 && v_reciprocal_f32(4.0f)[0] == 0.25f && v_sqrt_f32(9.0f)[0] == 3);
}

static void places() {
    int64 words;
    uchar256 bytes, by;
    for (int i = 0; i < 64; i++) {
        words[i] = 1000 + i;
        CHECK(read_lane_id_4b_b()[i] == i);
    }
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        by[i] = (uint8_t)(i % 2 ? 0x80 | (63 - i % 64) : 5);
    }
    /* Inside of each dual group; what has no highest bit leaves the income. */
    uchar256 shuffled = v_u8_shuffle_b(bytes, by, 0, 7);
    CHECK(shuffled[0] == 7 && shuffled[1] == 62 && shuffled[65] == 126 && shuffled[255] == 192 && shuffled[254] == 7);
    const int both = SW_WR_LOWER_GROUP | SW_WR_UPPER_GROUP;
    int64 moved = v_i32_mov_dual_group_b(words, 0xffffffff, 1, 3, both, -1);
    CHECK(moved[48] == 1016 && moved[63] == 1031 && moved[47] == -1 && moved[0] == -1);
    moved = v_i32_mov_dual_group_b(words, 0xffffffff, 2, 0, SW_WR_UPPER_GROUP, -1);
    CHECK(moved[7] == -1 && moved[8] == 1040 && moved[15] == 1047 && moved[16] == -1);
    moved = v_i32_mov_dual_group_b(words, 0xf0, 0, 0, SW_WR_LOWER_GROUP, -1);
    CHECK(moved[0] == -1 && moved[1] == 1001 && moved[2] == -1);
}

int main(int argc, char **) {
    if (argc > 1) {
        /* The glue code promises less than the kernel reads. */
        promised = 62;
    }
    a_kernel_with_partial_vectors();
    bytes();
    words();
    floats();
    places();
    return 0;
}
