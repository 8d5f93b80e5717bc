//! Calls every kernel on two sizes, compares with the same in Rust, and prints who answered, and why.

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

use kernels as k;

/// Numbers that repeat after a while, all bytes among them.
fn numbers(n: usize) -> Vec<i32> {
    let next = |x: &mut u32| {
        *x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(*x as i32)
    };
    std::iter::repeat_with({
        let mut x = 1;
        move || next(&mut x).unwrap_or_default()
    })
    .take(n)
    .collect()
}

fn close(a: &[f32], b: &[f32]) -> bool {
    let near = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * (1.0 + a.abs().max(b.abs()));
    a.len() == b.len() && a.iter().zip(b).all(near)
}

fn check(n: usize) -> Result<Vec<(&'static str, bool)>, tensorize_rt::Error> {
    let (rows, size) = (n / 16, n as i32);
    let x = numbers(n);
    let bytes: Vec<u8> = x.iter().map(|v| (v >> 8) as u8).collect();
    let more: Vec<u8> = x.iter().map(|v| (v >> 16) as u8).collect();
    let signed = |v: &[u8]| v.iter().map(|b| *b as i8).collect::<Vec<i8>>();
    let (a, b) = (signed(&bytes), signed(&more));
    let f: Vec<f32> = x.iter().map(|v| (v >> 20) as f32 / 512.0).collect();
    let mut checks = Vec::new();

    let mut out = vec![0u8; n];
    k::multiply_blend(&bytes, &more, &mut out, size)?;
    let both = bytes.iter().zip(&more);
    let want: Vec<u8> = both.map(|(a, b)| (u32::from(*a) * u32::from(*b) / 255) as u8).collect();
    checks.push(("multiply_blend", out == want));

    let mut out = vec![0i8; n];
    k::wrap_sum(&a, &b, &mut out, size)?;
    let want: Vec<i8> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
    checks.push(("wrap_sum", out == want));

    let mut out = vec![0i32; n];
    k::quotient(&x, &mut out, size)?;
    let want: Vec<i32> = x.iter().map(|v| v / 7 + v % 16 + (v >> 3)).collect();
    checks.push(("quotient", out == want));

    let found = k::largest(&x, size)?;
    checks.push(("largest", Some(&found) == x.iter().max()));

    let mut out = vec![0i32; rows];
    k::row_sums(&bytes, &mut out, rows as i32, 16)?;
    let want: Vec<i32> = bytes.chunks(16).map(|r| r.iter().map(|v| i32::from(*v)).sum()).collect();
    checks.push(("row_sums", out == want));

    let mut out = vec![0f32; rows];
    k::matvec(&mut out, &f[..16], &f, 16, rows as i32)?;
    let dot = |r: &[f32]| r.iter().zip(&f).map(|(a, b)| a * b).sum();
    let want: Vec<f32> = f.chunks(16).map(dot).collect();
    checks.push(("matvec", close(&out, &want)));

    let mut out = vec![0f32; n];
    k::sigmoid(&f, &mut out, size)?;
    let want: Vec<f32> = f.iter().map(|v| 1.0 / (1.0 + (-v).exp())).collect();
    checks.push(("sigmoid", close(&out, &want)));
    Ok(checks)
}

fn main() -> Result<(), tensorize_rt::Error> {
    let checks: Vec<_> = check(64)?.into_iter().chain(check(4096)?).collect();
    for r in tensorize_rt::report() {
        let right = checks.iter().filter(|(name, _)| *name == r.name).all(|(_, right)| *right);
        println!(
            "{} {} {} original {} target {} {}",
            r.name,
            if right { "ok" } else { "wrong" },
            r.target,
            r.calls.0,
            r.calls.1,
            r.why.unwrap_or_default()
        );
    }
    Ok(())
}
