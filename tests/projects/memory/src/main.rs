//! Transposes a small square and one of the size that is asked for, and prints who answered.

#![allow(unsafe_code)]

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

unsafe extern "C" {
    fn of_square(a: *mut f32, n: i32) -> f32;
}

fn show(what: &str, n: usize, call: impl Fn(*mut f32, i32) -> f32) {
    let mut square: Vec<f32> = (0..n * n).map(|i| i as f32).collect();
    let before = tensorize_rt::report();
    let corner = call(square.as_mut_ptr(), n as i32);
    let right = (0..n * n).all(|i| square[i] == ((i % n) * n + i / n) as f32);
    let after = tensorize_rt::report();
    let (b, a) = before
        .iter()
        .zip(&after)
        .find(|(b, a)| a.calls != b.calls)
        .expect("a call that was counted");
    println!(
        "{what} {}: right {right} {corner} original {} target {} {}",
        if n < 1000 { "small" } else { "large" },
        a.calls.0 - b.calls.0,
        a.calls.1 - b.calls.1,
        a.why.clone().unwrap_or_default()
    );
}

fn main() {
    let large = std::env::args().nth(1).and_then(|n| n.parse().ok());
    // SAFETY: there are as many elements.
    for n in [60, large.expect("a size")] {
        show("flat", n, |a, n| unsafe {
            kernels::sys::transpose(a, n);
            0.0
        });
        show("square", n, |a, n| unsafe { of_square(a, n) });
    }
}
