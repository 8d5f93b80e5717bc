//! Calls every kernel and compares with Rust; then says who answered.

tensorize_rt::include_kernels!("kernels");

fn main() {
    const N: usize = 1000;
    let bytes = |seed: usize| -> Vec<u8> { (0..N).map(|i| (i * seed + i / 7) as u8).collect() };
    let (base, active) = (bytes(37), bytes(101));

    let (rows, cols, depth) = (20, 33, 40);
    let signed = |v: &[u8], n: usize| -> Vec<i8> { v[..n].iter().map(|b| *b as i8).collect() };
    let a = signed(&[base.clone(), active.clone()].concat(), rows * depth);
    let b = signed(&[active.clone(), base.clone()].concat(), depth * cols);
    let mut product = vec![0; rows * cols];
    matmul8(&a, &b, &mut product, rows as i32, cols as i32, depth as i32).expect("slices that are long enough");
    for (at, found) in product.iter().enumerate() {
        let (i, j) = (at / cols, at % cols);
        let sum: i32 = (0..depth)
            .map(|k| i32::from(a[i * depth + k]) * i32::from(b[k * cols + j]))
            .sum();
        assert_eq!(*found, sum, "({i}, {j})");
    }

    let mut out = vec![0; N];
    linear_dodge(&base, &active, &mut out, N as i32).expect("slices that are long enough");
    for i in 0..N {
        assert_eq!(out[i], base[i].wrapping_add(active[i]), "{i}");
    }
    screen(&base, &active, &mut out, N as i32).expect("slices that are long enough");
    for i in 0..N {
        let (b, a) = (i32::from(base[i]), i32::from(active[i]));
        assert_eq!(out[i], (b + a - b * a / 255) as u8, "{i}");
    }

    let x: Vec<f32> = base.iter().map(|b| f32::from(*b) / 3.0).collect();
    let y: Vec<f32> = active.iter().map(|b| f32::from(*b) / 7.0).collect();
    let mut out = vec![0.0; N];
    scaled_difference(&x, &y, 1.1, &mut out, N as i32).expect("slices that are long enough");
    for i in 0..N {
        assert_eq!(out[i], 1.1 * x[i] - y[i], "{i}");
    }
    // Exact in any order: all are quarters, and small.
    let quarters: Vec<f32> = base.iter().map(|b| f32::from(*b % 16) / 4.0).collect();
    let squares: f32 = quarters.iter().map(|q| q * q).sum();
    assert_eq!(dot(&quarters, &quarters, N as i32), Ok(squares));
    let values = [1.0, 2.0, 6.0];
    assert_eq!(average(&values, 3), Ok(3.0));

    for r in tensorize_rt::report() {
        let why = r.why.unwrap_or_default();
        println!(
            "{} ran on {}: {} by the original, {} by a target; {} compared, {} differ; {why}",
            r.name, r.target, r.calls.0, r.calls.1, r.compared, r.differed
        );
    }
}
