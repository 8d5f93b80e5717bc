//! A library with kernels, for a program that links it.

/// The kernels.
pub mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

unsafe extern "C" {
    pub fn halve_from_the_same_file(i: *const u8, o: *mut u8, rows: i32, cols: i32);
    pub fn halve_from_another_file(i: *const u8, o: *mut u8, rows: i32, cols: i32);
}
