//! What OpenCL C and CUDA C++ spell differently.

use crate::cpu::c;
use crate::names::CPP_WORDS;
use crate::rows;
use tensorize_ir::scalar::ScalarType;

/// A language for kernels.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// The target's name.
    pub name: &'static str,
    /// For people.
    pub describe: &'static str,
    /// The ending of a file.
    pub extension: &'static str,
    /// Expressions and statements; among its rows, the words for items of work.
    pub c: c::Dialect,
    /// Before a kernel's name.
    pub kernel: &'static str,
    /// Before the type of what a group shares, where it is declared.
    pub shared: &'static str,
    /// The same in a parameter.
    pub local: &'static str,
    /// What makes C's names known.
    pub preamble: &'static str,
}

/// OpenCL C 1.2.
pub(super) static OPENCL: Dialect = Dialect {
    name: "opencl",
    describe: "kernels in OpenCL C for a GPU, or whatever has an OpenCL driver, compiled by it",
    extension: "cl",
    c: c::Dialect {
        rows: &[c::ROWS, c::CAREFUL, include_str!("opencl.txt")],
        function: "static inline ",
        suffixes: false,
        space: "__global ",
        restrict: "restrict ",
        wraps: false,
        memcpy: false,
        openmp: false,
        words: &[OPENCL_WORDS],
    },
    kernel: "__kernel __attribute__((reqd_work_group_size(256, 1, 1)))\nvoid ",
    shared: "__local ",
    local: "__local ",
    preamble: include_str!("opencl.h"),
};

/// CUDA C++, for NVRTC.
pub(super) static CUDA: Dialect = Dialect {
    name: "cuda",
    describe: "kernels in CUDA C++ for a GPU of NVIDIA's, compiled by NVRTC",
    extension: "cu",
    c: c::Dialect {
        rows: &[c::ROWS, c::CAREFUL, include_str!("cuda.txt")],
        function: "static __device__ inline ",
        suffixes: true,
        space: "",
        restrict: "__restrict__ ",
        wraps: false,
        memcpy: false,
        openmp: false,
        words: &[CPP_WORDS, CUDA_WORDS],
    },
    kernel: "extern \"C\" __global__ __launch_bounds__(256)\nvoid ",
    shared: "__shared__ ",
    local: "",
    preamble: include_str!("cuda.h"),
};

impl Dialect {
    /// A word for items of work.
    pub(super) fn word(&self, name: &str) -> &'static str {
        rows::form(self.c.rows, name, ScalarType::I64)
    }

    /// Where an item is in its group: its number, the group's, and how many groups there are.
    pub(super) fn in_group(&self) -> impl Iterator<Item = String> {
        ["item_in_group", "group", "groups"]
            .map(|name| self.word(name).to_owned())
            .into_iter()
    }

    /// The statement with which the items of a group wait for one another.
    pub(super) fn barrier(&self) -> String {
        format!("{};", self.word("barrier"))
    }

    /// What the code asks of a device, as lines of the file: of one that can't do it, the compiler says so.
    pub(super) fn demands(&self, code: &Needs) -> String {
        let mut text = String::new();
        if self.name != "opencl" {
            return text;
        }
        if code.double {
            text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
        }
        let mut demand = |macro_: &str, why: &str| {
            text += &format!("#ifndef {macro_}\n#error {why}\n#endif\n");
        };
        if code.exact_float {
            demand(
                "TZ_SUBNORMALS",
                "this device does not keep subnormal floats",
            );
        }
        if code.exact_divide {
            demand(
                "TZ_ROUNDED_DIVIDE",
                "this device does not round quotients and square roots correctly",
            );
        }
        text
    }
}

/// What some devices don't have.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// Numbers of 64 bits with a fraction.
    pub double: bool,
    /// The same bits as IEEE 754 for arithmetic of `float`.
    pub exact_float: bool,
    /// The same for quotients and roots.
    pub exact_divide: bool,
}

/// A kernel's parameter of this type; a truth value is passed as a byte.
pub(super) fn passed(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::I1 => ScalarType::U8,
        other => other,
    }
}

/// Keywords, and functions that generated code calls; a variable may have the name of any other function.
const OPENCL_WORDS: &[&str] = &[
    "kernel",
    "__kernel",
    "global",
    "__global",
    "local",
    "__local",
    "constant",
    "__constant",
    "private",
    "__private",
    "generic",
    "read_only",
    "write_only",
    "read_write",
    "uniform",
    "pipe",
    "half",
    "uchar",
    "ushort",
    "uint",
    "ulong",
    "size_t",
    "ptrdiff_t",
    "intptr_t",
    "uintptr_t",
    "bool2",
    "char2",
    "char3",
    "char4",
    "char8",
    "char16",
    "uchar2",
    "uchar3",
    "uchar4",
    "uchar8",
    "uchar16",
    "short2",
    "short3",
    "short4",
    "short8",
    "short16",
    "ushort2",
    "ushort3",
    "ushort4",
    "ushort8",
    "ushort16",
    "int2",
    "int3",
    "int4",
    "int8",
    "int16",
    "uint2",
    "uint3",
    "uint4",
    "uint8",
    "uint16",
    "long2",
    "long3",
    "long4",
    "long8",
    "long16",
    "ulong2",
    "ulong3",
    "ulong4",
    "ulong8",
    "ulong16",
    "float2",
    "float3",
    "float4",
    "float8",
    "float16",
    "double2",
    "double3",
    "double4",
    "double8",
    "double16",
    "half2",
    "half3",
    "half4",
    "half8",
    "half16",
    "quad",
    "complex",
    "imaginary",
    "event_t",
    "sampler_t",
    "image2d_t",
    "image3d_t",
    "get_global_id",
    "get_global_size",
    "get_group_id",
    "get_num_groups",
    "get_local_id",
    "barrier",
    "isnan",
    "signbit",
    "M_E",
    "M_PI",
    "MAXFLOAT",
    "HUGE_VAL",
    "HUGE_VALF",
    "CHAR_BIT",
    "INT_MAX",
    "INT_MIN",
    "LONG_MAX",
    "LONG_MIN",
    "UINT_MAX",
    "ULONG_MAX",
    "FLT_MAX",
    "FLT_MIN",
    "FLT_EPSILON",
    "DBL_MAX",
    "DBL_MIN",
    "DBL_EPSILON",
];

const CUDA_WORDS: &[&str] = &[
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "warpSize",
    "isnan",
    "signbit",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The printer asks for these without a way to be refused.
    #[test]
    fn there_is_a_word_for_all_that_items_do() {
        for dialect in [&OPENCL, &CUDA] {
            assert_eq!(dialect.in_group().count(), 3);
            for word in ["item", "items", "barrier"] {
                assert!(!dialect.word(word).is_empty(), "{word}");
            }
        }
    }
}
