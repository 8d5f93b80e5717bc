//! Calls every kernel and compares with Rust; then says who answered.

tensorize_rt::include_kernels!("kernels");

fn main() {
    const N: usize = 1000;
    const LONG: &str = "slices that are long enough";
    let bytes = |seed: usize| -> Vec<u8> { (0..N).map(|i| (i * seed + i / 7) as u8).collect() };
    let (base, active) = (bytes(37), bytes(101));
    let mut out = vec![0; N];
    screen(&base, &active, &mut out, 25, 40).expect(LONG);
    for i in 0..N {
        let (b, a) = (i32::from(base[i]), i32::from(active[i]));
        assert_eq!(out[i], (b + a - b * a / 255) as u8, "{i}");
    }

    // Neither is a multiple of what a group computes.
    let (rows, cols, depth) = (20, 33, 45);
    let floats = |seed: usize, n: usize| -> Vec<f32> { (0..n).map(|i| (i * seed % 97) as f32 / 8.0 - 5.0).collect() };
    let (a, b) = (floats(31, rows * depth), floats(17, depth * cols));
    let mut product = vec![0.0; rows * cols];
    matmul(&a, &b, &mut product, rows as i32, cols as i32, depth as i32).expect(LONG);
    for (at, found) in product.iter().enumerate() {
        let (i, j) = (at / cols, at % cols);
        let sum: f32 = (0..depth).map(|k| a[i * depth + k] * b[k * cols + j]).fold(0.0, |s, x| s + x);
        assert_eq!(*found, sum, "({i}, {j})");
    }

    let mut shares = floats(13, 300);
    let exponentials: Vec<f32> = shares.iter().map(|x| (x - 7.0).exp()).collect();
    let sum: f32 = exponentials.iter().sum();
    softmax(&mut shares, 300).expect(LONG);
    for (found, e) in shares.iter().zip(&exponentials) {
        assert!((found - e / sum).abs() < 1e-5, "{found} {}", e / sum);
    }

    let numbers: Vec<i32> = (0..N as i32).map(|i| i * 7919 - 4_000_000).collect();
    let expected = numbers.iter().fold(0, |s: i32, x| s.wrapping_add(x.wrapping_mul(*x)));
    assert_eq!(dot(&numbers, &numbers, N as i32), Ok(expected));

    let x: Vec<i16> = (0..40).collect();
    let mut y = vec![-1; 40];
    every_other(&x, &mut y, 15).expect(LONG);
    for (i, found) in y.iter().enumerate() {
        let written = i >= 5 && i % 2 == 1 && i < 35;
        assert_eq!(*found, if written { i as i16 - 1 } else { -1 }, "{i}");
    }

    for r in tensorize_rt::report() {
        let why = r.why.unwrap_or_default();
        println!("{} ran on {}: {} by the original, {} by a target; {why}", r.name, r.target, r.calls.0, r.calls.1);
    }
}
