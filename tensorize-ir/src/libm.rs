//! What the C library computes and Rust's has no function for, or another one.

#![allow(unsafe_code)]

use std::ffi::{c_double, c_float};
use std::sync::LazyLock;

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

/// `cbrt` as the machine's C library has it, and so the original. Rust links one of its own under that name, which may round
/// otherwise; the library's is looked for where the program is loaded. Where it is not found (on Windows, in a program
/// without shared libraries), it is Rust's.
pub(crate) trait CubeRoot {
    fn cube_root(self) -> Self;
}

macro_rules! cube_root {
    ($float:ty, $c:ty, $name:literal) => {
        impl CubeRoot for $float {
            fn cube_root(self) -> $float {
                static FUNCTION: LazyLock<Option<extern "C" fn($c) -> $c>> =
                    LazyLock::new(|| shared($name));
                match *FUNCTION {
                    Some(f) => f(self),
                    None => self.cbrt(),
                }
            }
        }
    };
}

cube_root!(f32, c_float, c"cbrtf");
cube_root!(f64, c_double, c"cbrt");

#[cfg(unix)]
fn shared<F: Copy>(name: &std::ffi::CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut std::ffi::c_void>()) };
    // Safety: the name ends with a zero.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    // Safety: the names above are those of C's functions, whose types the macro's uses give. What they are in stays loaded.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

#[cfg(not(unix))]
fn shared<F: Copy>(_name: &std::ffi::CStr) -> Option<F> {
    None
}
