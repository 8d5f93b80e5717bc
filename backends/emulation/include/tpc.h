/*
 * Gaudi's tensor processor cores, emulated for C++ under the names of TPC-C: vectors, intrinsics, tensors
 * that are read and written by coordinates, and index spaces; and a host that looks at the glue code of a
 * kernel, as the graph compiler would, and launches it.
 *
 * What is emulated: the intrinsics below with switches, income, predicate and polarity; loads outside of a
 * tensor, which give zeros, and stores outside, which do nothing; the access patterns that the glue code
 * promises. An access outside of these ends the process with a message. What is not: time, local memory,
 * the order in which index-space members run, bfloat16, the precision of special functions.
 *
 * Taken for granted, and never seen on a device: lane i of a vector is byte i * size of its memory; a product
 * of 32-bit integers has its low words in v1 and its high words in v2; float arithmetic is IEEE 754's; a byte of a
 * shuffle's second operand counts from the start of its dual group, and does nothing without its highest bit.
 */
#ifndef TENSORIZE_EMULATED_TPC_H
#define TENSORIZE_EMULATED_TPC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TENSORIZE_EMULATED 1

/* Vectors. */

/* The same memory may be seen as a vector of another type. */
template <class T, int N> struct __attribute__((may_alias)) tpc_vector {
    T lane[N];
    tpc_vector() : lane() {}
    tpc_vector(T all) {
        for (int i = 0; i < N; i++) {
            lane[i] = all;
        }
    }
    T &operator[](int i) { return lane[i]; }
    const T &operator[](int i) const { return lane[i]; }
};

typedef tpc_vector<float, 64> float64;
typedef tpc_vector<int32_t, 64> int64;
typedef tpc_vector<uint32_t, 64> uint64;
typedef tpc_vector<int16_t, 128> short128;
typedef tpc_vector<uint16_t, 128> ushort128;
typedef tpc_vector<int8_t, 256> char256;
typedef tpc_vector<uint8_t, 256> uchar256;

struct int128 { int64 v1, v2; };
struct uint128 { uint64 v1, v2; };
struct float128 { float64 v1, v2; };
struct int256 { int64 v1, v2, v3, v4; };
struct uint256 { uint64 v1, v2, v3, v4; };

struct int5 {
    int32_t at[5];
    int32_t &operator[](int i) { return at[i]; }
    const int32_t &operator[](int i) const { return at[i]; }
};

static inline int5 operator+(int5 a, const int5 &b) {
    for (int i = 0; i < 5; i++) {
        a[i] += b[i];
    }
    return a;
}

typedef int8_t tensor;

/* Switches. */

#define SW_SAT 1
#define SW_RHNE 0
#define SW_RZ (1 << 16)
#define SW_RU (2 << 16)
#define SW_RD (3 << 16)
#define SW_WR_LOWER_GROUP (1 << 12)
#define SW_WR_UPPER_GROUP (1 << 13)

/* The device, one for each thread. */

struct tpc_access {
    int dim;         /* of the index space; -1 if the tensor's dimension does not depend on it */
    int64_t a;       /* member i reads or writes from a * i + start on … */
    int64_t start, end; /* … to a * i + end */
};

struct tpc_tensor {
    void *data;
    int64_t size[5], stride[5]; /* in elements, the fastest dimension first */
    int element;                /* bytes */
    bool writes;
    tpc_access pattern[5];
};

struct tpc_state {
    tpc_tensor tensors[16];
    int count;
    int5 offset, size;
};

static inline tpc_state &tpc() {
    static thread_local tpc_state state;
    return state;
}

static inline void tpc_trap(const char *why, long long value) {
    fprintf(stderr, "tpc: %s (%lld)\n", why, value);
    abort();
}

static inline int5 get_index_space_offset() { return tpc().offset; }
static inline int5 get_index_space_size() { return tpc().size; }

static inline tpc_tensor &tpc_tensor_of(int t) {
    if (t < 0 || t >= tpc().count) {
        tpc_trap("no such tensor", t);
    }
    return tpc().tensors[t];
}

static inline uint32_t get_dim_size(int32_t dim, uint32_t t) { return (uint32_t)tpc_tensor_of(t).size[dim]; }

/* The element at these coordinates, `more` further on; null outside of the tensor. */
static inline void *tpc_element(tpc_tensor &t, const int5 &at, int more) {
    int64_t index = 0;
    for (int d = 0; d < 5; d++) {
        int64_t c = (int64_t)at[d] + (d == 0 ? more : 0);
        const tpc_access &p = t.pattern[d];
        int64_t low = p.start, high = p.end;
        if (p.dim >= 0) {
            int64_t first = tpc().offset[p.dim], last = first + tpc().size[p.dim] - 1;
            low += p.a * first;
            high += p.a * last;
        }
        if (c < low || c > high) {
            tpc_trap("an access outside of the pattern that the glue code promises, in dimension", d);
        }
        if (c < 0 || c >= t.size[d]) {
            return nullptr;
        }
        index += c * t.stride[d];
    }
    return (char *)t.data + index * t.element;
}

template <class T, int N> static inline tpc_vector<T, N> tpc_load(const int5 &at, int number) {
    tpc_tensor &t = tpc_tensor_of(number);
    if (t.element != (int)sizeof(T)) {
        tpc_trap("a load of another element size", t.element);
    }
    tpc_vector<T, N> v;
    for (int i = 0; i < N; i++) {
        if (const void *from = tpc_element(t, at, i)) {
            memcpy(&v[i], from, sizeof(T));
        }
    }
    return v;
}

template <class T, int N> static inline void tpc_store(const int5 &at, int number, const tpc_vector<T, N> &v) {
    tpc_tensor &t = tpc_tensor_of(number);
    if (t.element != (int)sizeof(T) || !t.writes) {
        tpc_trap("a store to a tensor of another element size, or to an input", t.element);
    }
    for (int i = 0; i < N; i++) {
        if (void *to = tpc_element(t, at, i)) {
            memcpy(to, &v[i], sizeof(T));
        }
    }
}

/* Arithmetic: integers wrap, or saturate with SW_SAT. */

template <class T> struct tpc_is_float { static const bool value = false; };
template <> struct tpc_is_float<float> { static const bool value = true; };

template <class T> static inline T tpc_fit(int64_t x, int switches) {
    const int bits = 8 * (int)sizeof(T);
    const bool is_signed = (T)-1 < (T)0;
    const int64_t low = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    const int64_t high = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
    if (switches & SW_SAT) {
        x = x < low ? low : x > high ? high : x;
    }
    return (T)x;
}

static inline float tpc_add(float a, float b, int) { return a + b; }
static inline float tpc_sub(float a, float b, int) { return a - b; }
template <class T> static inline T tpc_add(T a, T b, int sw) { return tpc_fit<T>((int64_t)a + b, sw); }
template <class T> static inline T tpc_sub(T a, T b, int sw) { return tpc_fit<T>((int64_t)a - b, sw); }
template <class T> static inline T tpc_max(T a, T b, int) { return a > b ? a : b; }
template <class T> static inline T tpc_min(T a, T b, int) { return a < b ? a : b; }
template <class T> static inline T tpc_and(T a, T b, int) { return a & b; }
template <class T> static inline T tpc_or(T a, T b, int) { return a | b; }
template <class T> static inline T tpc_xor(T a, T b, int) { return a ^ b; }

/* A count of the width or more shifts everything out. */
template <class T> static inline T tpc_shl(T a, int32_t n) {
    return n < 0 || n >= 8 * (int)sizeof(T) ? 0 : (T)((uint64_t)a << n);
}
static inline uint32_t tpc_shr(uint32_t a, int32_t n) { return n < 0 || n >= 32 ? 0 : a >> n; }

/* V is the vector, N its lanes; every intrinsic leaves the income where the predicate doesn't hold. */

#define TPC_TAIL(V) int switches = 0, V income = V(), bool predicate = 1, bool polarity = 0
#define TPC_BINARY(name, V, N, op) \
    static inline V name(const V &a, const V &b, TPC_TAIL(V)) { \
        if (predicate != polarity) { \
            for (int i = 0; i < N; i++) { \
                income[i] = op(a[i], b[i], switches); \
            } \
        } \
        return income; \
    }
#define TPC_MEMORY(T, V, N, E) \
    static inline V v_##T##_ld_tnsr_b(const int5 &at, int t, TPC_TAIL(V)) { \
        (void)switches; \
        return predicate != polarity ? tpc_load<E, N>(at, t) : income; \
    } \
    static inline void v_##T##_st_tnsr(const int5 &at, int t, const V &v, int switches = 0, bool predicate = 1, \
                                       bool polarity = 0) { \
        (void)switches; \
        if (predicate != polarity) { \
            tpc_store<E, N>(at, t, v); \
        } \
    }
#define TPC_SELECT_BY(R, VR, T, V, N, name, sign) \
    static inline VR v_##R##_sel_##name##_##T##_b(const V &a, const V &b, const VR &c, const VR &d, TPC_TAIL(VR)) { \
        (void)switches; \
        if (predicate != polarity) { \
            for (int i = 0; i < N; i++) { \
                income[i] = a[i] sign b[i] ? c[i] : d[i]; \
            } \
        } \
        return income; \
    }
#define TPC_SELECT(R, VR, T, V, N) \
    TPC_SELECT_BY(R, VR, T, V, N, less, <) \
    TPC_SELECT_BY(R, VR, T, V, N, leq, <=) \
    TPC_SELECT_BY(R, VR, T, V, N, grt, >) \
    TPC_SELECT_BY(R, VR, T, V, N, geq, >=) \
    TPC_SELECT_BY(R, VR, T, V, N, eq, ==) \
    TPC_SELECT_BY(R, VR, T, V, N, neq, !=)
#define TPC_NUMBERS(T, V, N, E) \
    TPC_MEMORY(T, V, N, E) \
    TPC_BINARY(v_##T##_add_b, V, N, tpc_add) \
    TPC_BINARY(v_##T##_sub_b, V, N, tpc_sub) \
    TPC_BINARY(v_##T##_max_b, V, N, tpc_max) \
    TPC_BINARY(v_##T##_min_b, V, N, tpc_min) \
    TPC_SELECT(T, V, T, V, N)

TPC_NUMBERS(f32, float64, 64, float)
TPC_NUMBERS(i32, int64, 64, int32_t)
TPC_NUMBERS(u32, uint64, 64, uint32_t)
TPC_NUMBERS(i16, short128, 128, int16_t)
TPC_NUMBERS(u16, ushort128, 128, uint16_t)
TPC_NUMBERS(i8, char256, 256, int8_t)
TPC_NUMBERS(u8, uchar256, 256, uint8_t)

/* A comparison of one type that selects among values of another of the same width. */
TPC_SELECT(f32, float64, i32, int64, 64)
TPC_SELECT(f32, float64, u32, uint64, 64)
TPC_SELECT(i32, int64, f32, float64, 64)
TPC_SELECT(i32, int64, u32, uint64, 64)
TPC_SELECT(u32, uint64, f32, float64, 64)
TPC_SELECT(u32, uint64, i32, int64, 64)

/* `and`, `or`, `xor` and `not` are operators of C++, which can't be pasted. */
TPC_BINARY(v_i32_and_b, int64, 64, tpc_and)
TPC_BINARY(v_i32_or_b, int64, 64, tpc_or)
TPC_BINARY(v_i32_xor_b, int64, 64, tpc_xor)
TPC_BINARY(v_u32_and_b, uint64, 64, tpc_and)
TPC_BINARY(v_u32_or_b, uint64, 64, tpc_or)
TPC_BINARY(v_u32_xor_b, uint64, 64, tpc_xor)
TPC_BINARY(v_i16_and_b, short128, 128, tpc_and)
TPC_BINARY(v_i16_or_b, short128, 128, tpc_or)
TPC_BINARY(v_i16_xor_b, short128, 128, tpc_xor)
TPC_BINARY(v_i8_and_b, char256, 256, tpc_and)
TPC_BINARY(v_i8_or_b, char256, 256, tpc_or)
TPC_BINARY(v_i8_xor_b, char256, 256, tpc_xor)
TPC_BINARY(v_u8_and_b, uchar256, 256, tpc_and)
TPC_BINARY(v_u8_or_b, uchar256, 256, tpc_or)
TPC_BINARY(v_u8_xor_b, uchar256, 256, tpc_xor)

static inline float tpc_mul(float a, float b, int) { return a * b; }
TPC_BINARY(v_f32_mul_b, float64, 64, tpc_mul)

/* Lane by lane, one operand. */
#define TPC_UNARY(name, R, V, N, value) \
    static inline R name(const V &a, TPC_TAIL(R)) { \
        (void)switches; \
        if (predicate != polarity) { \
            for (int i = 0; i < N; i++) { \
                income[i] = value; \
            } \
        } \
        return income; \
    }

static inline int32_t tpc_to_int(float x, int switches) {
    int way = switches >> 16 & 3;
    double y = way == 0 ? nearbyint(x) : way == 1 ? trunc(x) : way == 2 ? ceil(x) : floor(x);
    return x != x ? 0 : y > INT32_MAX ? INT32_MAX : y < INT32_MIN ? INT32_MIN : (int32_t)y;
}

TPC_UNARY(v_i32_not_b, int64, int64, 64, ~a[i])
TPC_UNARY(v_u32_not_b, uint64, uint64, 64, ~a[i])
TPC_UNARY(v_convert_i32_to_f32_b, float64, int64, 64, (float)a[i])
TPC_UNARY(v_convert_f32_to_i32_b, int64, float64, 64, tpc_to_int(a[i], switches))
TPC_UNARY(v_reciprocal_f32, float64, float64, 64, 1 / a[i])
TPC_UNARY(v_exp_f32, float64, float64, 64, expf(a[i]))
TPC_UNARY(v_log_f32, float64, float64, 64, logf(a[i]))
TPC_UNARY(v_sqrt_f32, float64, float64, 64, sqrtf(a[i]))
TPC_UNARY(v_rsqrt_f32, float64, float64, 64, 1 / sqrtf(a[i]))
TPC_UNARY(v_tanh_f32, float64, float64, 64, tanhf(a[i]))
TPC_UNARY(v_sin_f32, float64, float64, 64, sinf(a[i]))
TPC_UNARY(v_cos_f32, float64, float64, 64, cosf(a[i]))

static inline int64 v_i32_shl_b(int64 a, const int64 &n, TPC_TAIL(int64)) {
    (void)switches;
    for (int i = 0; i < 64; i++) {
        a[i] = tpc_shl(a[i], n[i]);
    }
    return predicate != polarity ? a : income;
}

/* Logical: the sign is a bit like others. */
static inline int64 v_i32_shr_b(int64 a, const int64 &n, TPC_TAIL(int64)) {
    (void)switches;
    for (int i = 0; i < 64; i++) {
        a[i] = (int32_t)tpc_shr((uint32_t)a[i], n[i]);
    }
    return predicate != polarity ? a : income;
}

static inline uint64 v_u32_shr_b(uint64 a, const int64 &n, TPC_TAIL(uint64)) {
    (void)switches;
    for (int i = 0; i < 64; i++) {
        a[i] = tpc_shr(a[i], n[i]);
    }
    return predicate != polarity ? a : income;
}

/* Products of integers have twice the width. */
static inline int128 v_i32_mul_b(const int64 &a, const int64 &b, TPC_TAIL(int128)) {
    (void)switches;
    for (int i = 0; i < 64 && predicate != polarity; i++) {
        long long product = (long long)a[i] * b[i];
        income.v1[i] = (int32_t)product;
        income.v2[i] = (int32_t)(product >> 32);
    }
    return income;
}

static inline uint128 v_u32_mul_b(const uint64 &a, const uint64 &b, TPC_TAIL(uint128)) {
    (void)switches;
    for (int i = 0; i < 64 && predicate != polarity; i++) {
        unsigned long long product = (unsigned long long)a[i] * b[i];
        income.v1[i] = (uint32_t)product;
        income.v2[i] = (uint32_t)(product >> 32);
    }
    return income;
}

/* Lanes change places. A dual group is 64 bytes, a quarter of a vector; a group is half of one. */

static inline int64 read_lane_id_4b_b(TPC_TAIL(int64)) {
    (void)switches;
    for (int i = 0; i < 64 && predicate != polarity; i++) {
        income[i] = i;
    }
    return income;
}

/* A byte of `by` says which byte of the same dual group comes there, if its highest bit is set. */
static inline uchar256 v_u8_shuffle_b(const uchar256 &a, const uchar256 &by, TPC_TAIL(uchar256)) {
    (void)switches;
    for (int i = 0; i < 256 && predicate != polarity; i++) {
        if (by[i] & 0x80) {
            income[i] = a[i / 64 * 64 + (by[i] & 0x3f)];
        }
    }
    return income;
}

/* One dual group of `a` gets into another one of the income: those of its groups that the switches name, and in these
   the bytes whose bits are set. */
static inline int64 v_i32_mov_dual_group_b(const int64 &a, uint32_t bytes, int from, int to, TPC_TAIL(int64)) {
    if (from < 0 || from > 3 || to < 0 || to > 3) {
        tpc_trap("no such dual group", from);
    }
    for (int i = 0; i < 64 && predicate != polarity; i++) {
        if ((switches & (i < 32 ? SW_WR_LOWER_GROUP : SW_WR_UPPER_GROUP)) && (bytes >> (i % 32) & 1)) {
            ((uint8_t *)income.lane)[64 * to + i] = ((const uint8_t *)a.lane)[64 * from + i];
        }
    }
    return income;
}

/* All lanes of the result have the value. */
#define TPC_REDUCE(name, V, E, step) \
    static inline V name(const V &a) { \
        E all = a[0]; \
        for (int i = 1; i < 64; i++) { \
            all = step; \
        } \
        return V(all); \
    }
TPC_REDUCE(v_f32_reduce_add, float64, float, all + a[i])
TPC_REDUCE(v_f32_reduce_mul, float64, float, all *a[i])
TPC_REDUCE(v_f32_reduce_min, float64, float, a[i] < all ? a[i] : all)
TPC_REDUCE(v_f32_reduce_max, float64, float, a[i] > all ? a[i] : all)
TPC_REDUCE(v_i32_reduce_add, int64, int32_t, (int32_t)((uint32_t)all + (uint32_t)a[i]))
TPC_REDUCE(v_i32_reduce_max, int64, int32_t, a[i] > all ? a[i] : all)

/* The host: glue code, under the names of Habana's interface, as far as kernels here need it. */

namespace tpc_lib_api {

enum GlueCodeReturn { GLUE_SUCCESS, GLUE_INCOMPATIBLE_INPUT_COUNT, GLUE_INCOMPATIBLE_OUTPUT_COUNT };

struct Geometry { uint64_t maxSizes[5]; uint32_t dims; };
struct Tensor { Geometry geometry; };
struct HabanaKernelParams {
    Tensor inputTensors[16];
    uint32_t inputTensorNr;
    Tensor outputTensors[16];
    uint32_t outputTensorNr;
};
struct Mapping { int32_t indexSpaceDim; int64_t a, start_b, end_b; };
struct TensorAccessPattern { Mapping mapping[5]; };
struct HabanaKernelInstantiation {
    uint32_t indexSpaceRank;
    uint64_t indexSpaceGeometry[5];
    TensorAccessPattern inputTensorAccessPattern[16];
    TensorAccessPattern outputTensorAccessPattern[16];
};

} // namespace tpc_lib_api

/* A tensor on the host: sizes and strides in elements, the fastest dimension first. */
struct tpc_host_tensor {
    const void *data;
    int element;
    int64_t size[5], stride[5];
};

static inline tpc_tensor tpc_bind(const tpc_host_tensor &t, bool writes, const tpc_lib_api::TensorAccessPattern &p) {
    tpc_tensor bound = {};
    bound.data = const_cast<void *>(t.data);
    bound.element = t.element;
    bound.writes = writes;
    for (int d = 0; d < 5; d++) {
        bound.size[d] = t.size[d];
        bound.stride[d] = t.stride[d];
        bound.pattern[d] = tpc_access{p.mapping[d].indexSpaceDim, p.mapping[d].a, p.mapping[d].start_b, p.mapping[d].end_b};
    }
    return bound;
}

/* Asks the glue code for an index space, cuts it into parts, and runs the kernel on each. */
template <class Glue, class Kernel>
static inline bool tpc_launch(Glue glue, Kernel kernel, const tpc_host_tensor *inputs, int input_count,
                              const tpc_host_tensor *outputs, int output_count) {
    tpc_lib_api::HabanaKernelParams params = {};
    tpc_lib_api::HabanaKernelInstantiation out = {};
    if (input_count > 16 || output_count > 16 || input_count + output_count > 16) {
        return false;
    }
    params.inputTensorNr = (uint32_t)input_count;
    params.outputTensorNr = (uint32_t)output_count;
    for (int d = 0; d < 5; d++) {
        for (int i = 0; i < input_count; i++) {
            params.inputTensors[i].geometry.maxSizes[d] = (uint64_t)inputs[i].size[d];
        }
        for (int i = 0; i < output_count; i++) {
            params.outputTensors[i].geometry.maxSizes[d] = (uint64_t)outputs[i].size[d];
        }
    }
    if (glue(&params, &out) != tpc_lib_api::GLUE_SUCCESS) {
        return false;
    }
    tpc_state &state = tpc();
    state.count = input_count + output_count;
    for (int i = 0; i < input_count; i++) {
        state.tensors[i] = tpc_bind(inputs[i], false, out.inputTensorAccessPattern[i]);
    }
    for (int i = 0; i < output_count; i++) {
        state.tensors[input_count + i] = tpc_bind(outputs[i], true, out.outputTensorAccessPattern[i]);
    }
    /* Eight processors share the first dimension. */
    int64_t members = (int64_t)out.indexSpaceGeometry[0], share = (members + 7) / 8;
    for (int64_t first = 0; first < members; first += share) {
        int5 offset = {{0, 0, 0, 0, 0}}, size = {{1, 1, 1, 1, 1}};
        for (uint32_t d = 1; d < out.indexSpaceRank; d++) {
            size[(int)d] = (int32_t)out.indexSpaceGeometry[d];
        }
        offset[0] = (int32_t)first;
        size[0] = (int32_t)(first + share < members ? share : members - first);
        state.offset = offset;
        state.size = size;
        kernel();
    }
    return true;
}

#endif
