#pragma OPENCL FP_CONTRACT OFF

/* OpenCL's types have the same width everywhere. */
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define _Bool bool
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807L - 1)
#define INT64_C(x) x##L
#define UINT64_C(x) x##UL
