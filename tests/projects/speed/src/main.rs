//! Times kernels of several kinds and sizes, original and generated code in turn, one JSON object a line.
//!
//! `speed [LARGEST [KERNEL]]`: sizes go from 64 to so many elements (2^24 if it is not said), by factors of 16; of all
//! kernels, or of one.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

use kernels as k;
use tensorize_rt::{Choice, Error, set_choice};

/// One kernel at one size.
struct Work<'a> {
    kernel: &'static str,
    elements: usize,
    /// Read and written, if each array passes once.
    bytes: usize,
    flops: usize,
    call: Box<dyn FnMut() -> Result<(), Error> + 'a>,
}

/// Numbers around a half, from a linear congruence: the same in each run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 24) as f32
    };
    (0..count).map(|_| next()).collect()
}

fn works(
    n: usize,
    only: Option<&str>,
    arrays: &mut [Vec<f32>; 4],
    bytes: &mut [Vec<u8>; 3],
) -> Vec<f64> {
    let [x, y, z, out] = arrays.each_mut().map(|a| &mut a[..n]);
    let [base, active, blended] = bytes.each_mut().map(|a| &mut a[..n]);
    let (x, y, z, count) = (&*x, &*y, &*z, n as i32);
    let mut checks = Vec::new();
    // Square, and no longer than a second in the original.
    let side = n.isqrt().min(1024);
    let [mut o1, mut o2, mut o3, mut o4, mut o5, mut o6, mut o7] = std::array::from_fn(|_| out.to_vec());
    let mut dot = 0.0;
    let all = [
        Work {
            kernel: "screen",
            elements: n,
            bytes: 3 * n,
            flops: 3 * n,
            call: Box::new(|| k::screen(base, active, blended, count)),
        },
        Work {
            kernel: "scale_add",
            elements: n,
            bytes: 12 * n,
            flops: 2 * n,
            call: Box::new(|| k::scale_add(1.5, x, y, &mut o1, count)),
        },
        Work {
            kernel: "blend_twice",
            elements: n,
            bytes: 16 * n,
            flops: 8 * n,
            call: Box::new(|| k::blend_twice(x, y, z, &mut o2, count)),
        },
        Work {
            kernel: "dot",
            elements: n,
            bytes: 8 * n,
            flops: 2 * n,
            call: Box::new(|| k::dot(x, y, count).map(|d| dot = black_box(d))),
        },
        Work {
            kernel: "rmsnorm",
            elements: n,
            bytes: 12 * n,
            flops: 4 * n,
            call: Box::new(|| k::rmsnorm(&mut o3, x, y, count)),
        },
        Work {
            kernel: "softmax",
            elements: n,
            bytes: 8 * n,
            flops: 4 * n,
            call: Box::new(|| k::softmax(x, &mut o4, count)),
        },
        Work {
            kernel: "matvec",
            elements: side * side,
            bytes: 4 * (side * side + 2 * side),
            flops: 2 * side * side,
            call: Box::new(|| {
                k::matvec(
                    &x[..side * side],
                    &y[..side],
                    &mut o5[..side],
                    side as i32,
                    side as i32,
                )
            }),
        },
        Work {
            kernel: "matmul",
            elements: side * side,
            bytes: 12 * side * side,
            flops: 2 * side * side * side,
            call: Box::new(|| {
                let s = side as i32;
                let square = side * side;
                k::matmul(&x[..square], &y[..square], &mut o6[..square], s, s, s)
            }),
        },
        Work {
            kernel: "attention",
            elements: side * side,
            bytes: 16 * side * side,
            flops: 4 * side * side * side,
            call: Box::new(|| {
                let (s, square) = (side as i32, side * side);
                let [q, keys, v] = [x, y, z].map(|a| &a[..square]);
                k::attention(q, keys, v, &mut o7[..square], s, s)
            }),
        },
    ];
    for mut work in all {
        if only.is_none_or(|kernel| kernel == work.kernel) {
            measure(&mut work);
        }
    }
    for o in [&o1, &o2, &o3, &o4, &o5, &o6, &o7] {
        checks.push(o.iter().map(|v| f64::from(*v)).sum());
    }
    checks
}

/// Rounds of one kind take turns with rounds of the others, so that whatever else the machine does hits all alike.
fn measure(work: &mut Work) {
    let choices = [Choice::Off, Choice::Target("cpu".into()), Choice::Auto];
    let elements = work.elements;
    let mut time = |choice: &Choice, calls: u32| {
        set_choice(choice.clone());
        let start = Instant::now();
        for _ in 0..calls {
            (work.call)().expect("the slices are long enough");
        }
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    // Once both, compared; sums of more floats than that, taken one after the other, have lost too many bits.
    let mut differed = false;
    if elements <= 1 << 16 {
        time(&Choice::Shadow(Some("cpu".into())), 1);
        differed = tensorize_rt::report().iter().any(|r| r.differed > 0);
    }
    // Pages are touched, threads started, and what is faster is found out.
    let once = choices.each_ref().map(|c| time(c, 1));
    let warm = (5e7 / once[0]).clamp(1.0, 8.0) as u32;
    let once = choices.each_ref().map(|c| time(c, warm));
    let calls = (2e6 / once[0].min(once[1])).clamp(1.0, 10_000.0) as u32;
    let mut rounds: [Vec<f64>; 3] = Default::default();
    for _ in 0..9 {
        for (choice, taken) in choices.iter().zip(&mut rounds) {
            taken.push(time(choice, calls));
        }
    }
    let [original, cpu, auto] = rounds.map(|mut taken| {
        taken.sort_by(f64::total_cmp);
        let spread = (taken[6] - taken[2]) / taken[4];
        (taken[4], spread)
    });
    let Work {
        kernel,
        elements,
        bytes,
        flops,
        ..
    } = work;
    println!(
        "{{\"kernel\":\"{kernel}\",\"elements\":{elements},\"bytes\":{bytes},\"flops\":{flops},\
         \"original_ns\":{:.0},\"original_spread\":{:.3},\"cpu_ns\":{:.0},\"cpu_spread\":{:.3},\
         \"auto_ns\":{:.0},\"auto_spread\":{:.3},\"differed\":{differed}}}",
        original.0, original.1, cpu.0, cpu.1, auto.0, auto.1
    );
}

fn main() {
    let largest = std::env::args().nth(1).map_or(1 << 24, |text| {
        text.parse().expect("LARGEST is a number of elements")
    });
    let only = std::env::args().nth(2);
    let mut arrays = [(); 4].map(|()| numbers(largest));
    let mut bytes = [(); 3].map(|()| (0..largest).map(|i| i as u8).collect());
    let mut n = 64;
    while n <= largest {
        black_box(works(n, only.as_deref(), &mut arrays, &mut bytes));
        n *= 16;
    }
}
