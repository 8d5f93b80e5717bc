//! What a dispatched call costs more than a direct one: `cargo run --release --example dispatch_overhead`.
//!
//! Prints the median in nanoseconds. The bindings are those that a golden test of `tensorize-build` holds
//! the generator to.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

/// The bindings of a kernel `halve`, with a guard of each kind.
mod kernels {
    include!("../../tensorize-build/tests/golden/bindings.rs");
}

type Halve = unsafe extern "C" fn(*const u8, *mut u8, i32, i32);

#[inline(always)]
fn halve(input: *const u8, out: *mut u8, rows: i32, cols: i32) {
    for i in 0..(rows * cols) as usize {
        // SAFETY: the caller's arrays are that long.
        unsafe { *out.add(i) = *input.add(i) / 2 };
    }
}

#[unsafe(no_mangle)]
extern "C" fn halve__tensorize_original(input: *const u8, out: *mut u8, rows: i32, cols: i32) {
    halve(input, out, rows, cols);
}

#[unsafe(no_mangle)]
extern "C" fn halve__cpu(input: *const u8, out: *mut u8, rows: i32, cols: i32) {
    halve(input, out, rows, cols);
}

#[unsafe(no_mangle)]
extern "C" fn twice(_: *mut f32, _: usize) {}

/// Nanoseconds for one call, over a thousand.
fn time(f: Halve) -> f64 {
    const CALLS: u32 = 1000;
    let (input, mut out) = ([8u8; 4], [0u8; 4]);
    let start = Instant::now();
    for _ in 0..CALLS {
        // SAFETY: four elements each.
        unsafe { black_box(f)(black_box(input.as_ptr()), black_box(out.as_mut_ptr()), 2, 2) };
    }
    start.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

fn main() {
    tensorize_rt::warm_up();
    let mut differences: Vec<f64> = (0..2001)
        // One after the other, so that both see the same machine.
        .map(|_| (time(halve__tensorize_original), time(kernels::sys::halve)))
        .map(|(direct, dispatched)| dispatched - direct)
        .collect();
    differences.sort_by(f64::total_cmp);
    let at = |part: f64| differences[(part * (differences.len() - 1) as f64) as usize];
    println!(
        "dispatch overhead: median {:.1} ns, 90 % below {:.1} ns",
        at(0.5),
        at(0.9)
    );
}
