//! Calls kernels, some of which are other C on another machine. Prints the results, and who answered.

#![allow(unsafe_code)]

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

unsafe extern "C" {
    fn call_from_c(n: i32, a: *const u8, b: *const u8, out: *mut u8, pixels: *mut f32);
    fn below_zero(n: i32, text: *const u8) -> i32;
    fn widen(n: i32, text: *const u8, out: *mut i32);
    fn larger(n: i32, a: *const i32, b: *const i32, out: *mut i32);
}

fn main() {
    let a: Vec<u8> = (0..=255).collect();
    let b: Vec<u8> = (0..=255).map(|i: u8| i.wrapping_mul(37)).collect();
    let mut out = vec![0u8; 256];
    kernels::blend(256, &a, &b, &mut out).expect("slices that are long enough");
    let sum = |bytes: &[u8]| bytes.iter().map(|b| u64::from(*b)).sum::<u64>();
    println!("blend {}", sum(&out));

    let mut again = vec![0u8; 256];
    let mut pixels = [1.0f32, 2.0, 3.0, 4.0];
    // SAFETY: as long as `n` and the image of two by two say, and apart from each other.
    unsafe {
        call_from_c(256, a.as_ptr(), b.as_ptr(), again.as_mut_ptr(), pixels.as_mut_ptr());
    }
    println!("from C {} {pixels:?}", again == out);

    let mut wide = [0; 4];
    let mut most = [0; 2];
    // SAFETY: as long as `n` says, and apart from each other.
    let below = unsafe {
        widen(4, a[126..].as_ptr(), wide.as_mut_ptr());
        larger(2, [-1, 5].as_ptr(), [1, 3].as_ptr(), most.as_mut_ptr());
        below_zero(256, a.as_ptr())
    };
    println!("below zero {below}, widened {wide:?}, larger {most:?}");
    for kernel in tensorize_rt::report() {
        let (original, target) = kernel.calls;
        println!("ran {} original {original} target {target}", kernel.name);
    }
}
