//! What the C library computes and Rust's has no function for.

#![allow(unsafe_code)]

use std::ffi::{c_double, c_float};

// Safety: these take and return numbers, and have no conditions.
unsafe extern "C" {
    safe fn erf(x: c_double) -> c_double;
    safe fn erff(x: c_float) -> c_float;
    safe fn erfc(x: c_double) -> c_double;
    safe fn erfcf(x: c_float) -> c_float;
}

/// `erf`, and `erfc`, which is 1 - `erf` without what the difference loses. By their names, since Rust has them as unstable ones.
pub(crate) trait ErrorFunction {
    fn error_function(self) -> Self;
    fn complementary_error_function(self) -> Self;
}

impl ErrorFunction for f32 {
    fn error_function(self) -> f32 {
        erff(self)
    }

    fn complementary_error_function(self) -> f32 {
        erfcf(self)
    }
}

impl ErrorFunction for f64 {
    fn error_function(self) -> f64 {
        erf(self)
    }

    fn complementary_error_function(self) -> f64 {
        erfc(self)
    }
}
