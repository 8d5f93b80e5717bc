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

/// The error function, and one less it.
pub(crate) trait ErrorFunction {
    fn error_function(self) -> Self;
    fn error_function_rest(self) -> Self;
}

impl ErrorFunction for f32 {
    fn error_function(self) -> f32 {
        erff(self)
    }

    fn error_function_rest(self) -> f32 {
        erfcf(self)
    }
}

impl ErrorFunction for f64 {
    fn error_function(self) -> f64 {
        erf(self)
    }

    fn error_function_rest(self) -> f64 {
        erfc(self)
    }
}
