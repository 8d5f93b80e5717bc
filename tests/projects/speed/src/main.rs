//! Times kernels of several kinds and sizes, original and generated code in turn, one JSON object a line.
//!
//! `speed [LARGEST [KERNEL]]`: sizes go from 64 by factors of 16, and the last one is so many elements (2^24 if it is not
//! said); of all kernels, or of one.

#![allow(unsafe_code)]

use std::hint::black_box;
use std::time::Instant;

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

use kernels as k;
use tensorize_rt::{Choice, Error, set_choice};

/// The same kernels without us: `build.rs` compiles them a second time, and calls to these are what the others are measured
/// against.
mod plain {
    unsafe extern "C" {
        pub fn plain_screen(base: *const u8, active: *const u8, out: *mut u8, n: i32);
        pub fn plain_scale_add(a: f32, x: *const f32, y: *const f32, out: *mut f32, n: i32);
        pub fn plain_blend_twice(
            b: *const f32,
            a: *const f32,
            mask: *const f32,
            out: *mut f32,
            n: i32,
        );
        pub fn plain_dot(x: *const f32, y: *const f32, n: i32) -> f32;
        pub fn plain_rmsnorm(out: *mut f32, x: *const f32, weight: *const f32, n: i32);
        pub fn plain_softmax(x: *const f32, out: *mut f32, n: i32);
        pub fn plain_matvec(w: *const f32, x: *const f32, out: *mut f32, rows: i32, cols: i32);
        pub fn plain_matmul(a: *const f32, b: *const f32, c: *mut f32, m: i32, n: i32, k: i32);
        pub fn plain_attention(
            q: *const f32,
            k: *const f32,
            v: *const f32,
            out: *mut f32,
            tokens: i32,
            width: i32,
        );
    }
}

/// Which function is called.
#[derive(Clone, Copy)]
enum How {
    Plain,
    Dispatched,
}

/// Calls one or the other.
macro_rules! either {
    ($how:expr, $plain:expr, $dispatched:expr) => {
        match $how {
            // SAFETY: the arrays have the elements that the sizes say, as the other call checks, and don't overlap.
            How::Plain => {
                unsafe { $plain };
                Ok(())
            }
            How::Dispatched => $dispatched,
        }
    };
}

/// One kernel at one size.
struct Work<'a> {
    kernel: &'static str,
    elements: usize,
    /// Read and written, if each array passes once.
    bytes: usize,
    flops: usize,
    /// Through the dispatcher, or the original that knows nothing of us.
    call: Box<dyn FnMut(How) -> Result<(), Error> + 'a>,
}

/// Square matrices have no longer sides than that, so that a call of the original takes no more than a few seconds.
const LONGEST_SIDE: usize = 1024;

/// Numbers around a half, from a linear congruence: the same in each run.
fn numbers(count: usize) -> Vec<f32> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1u32 << 24) as f32
    };
    (0..count).map(|_| next()).collect()
}

/// Measures the kernels on `n` elements, and those on square matrices if `side` is given: no size is measured twice.
fn works(
    n: usize,
    side: Option<usize>,
    only: Option<&str>,
    arrays: &mut [Vec<f32>; 4],
    bytes: &mut [Vec<u8>; 3],
) -> Vec<f64> {
    let [x, y, z, out] = arrays.each_mut().map(|a| &mut a[..n]);
    let [base, active, blended] = bytes.each_mut().map(|a| &mut a[..n]);
    let (x, y, z, count) = (&*x, &*y, &*z, n as i32);
    let mut checks = Vec::new();
    let squares = side.is_some();
    let side = side.unwrap_or(0);
    let [mut o1, mut o2, mut o3, mut o4] = std::array::from_fn(|_| out.to_vec());
    let [mut o5, mut o6, mut o7] = std::array::from_fn(|_| out[..side * side].to_vec());
    let mut dot = 0.0;
    let all = [
        Work {
            kernel: "screen",
            elements: n,
            bytes: 3 * n,
            flops: 3 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    plain::plain_screen(
                        base.as_ptr(),
                        active.as_ptr(),
                        blended.as_mut_ptr(),
                        count
                    ),
                    k::screen(base, active, blended, count)
                )
            }),
        },
        Work {
            kernel: "scale_add",
            elements: n,
            bytes: 12 * n,
            flops: 2 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    plain::plain_scale_add(1.5, x.as_ptr(), y.as_ptr(), o1.as_mut_ptr(), count),
                    k::scale_add(1.5, x, y, &mut o1, count)
                )
            }),
        },
        Work {
            kernel: "blend_twice",
            elements: n,
            bytes: 16 * n,
            flops: 8 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    plain::plain_blend_twice(
                        x.as_ptr(),
                        y.as_ptr(),
                        z.as_ptr(),
                        o2.as_mut_ptr(),
                        count
                    ),
                    k::blend_twice(x, y, z, &mut o2, count)
                )
            }),
        },
        Work {
            kernel: "dot",
            elements: n,
            bytes: 8 * n,
            flops: 2 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    dot = black_box(plain::plain_dot(x.as_ptr(), y.as_ptr(), count)),
                    k::dot(x, y, count).map(|d| dot = black_box(d))
                )
            }),
        },
        Work {
            kernel: "rmsnorm",
            elements: n,
            bytes: 12 * n,
            flops: 4 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    plain::plain_rmsnorm(o3.as_mut_ptr(), x.as_ptr(), y.as_ptr(), count),
                    k::rmsnorm(&mut o3, x, y, count)
                )
            }),
        },
        Work {
            kernel: "softmax",
            elements: n,
            bytes: 8 * n,
            flops: 4 * n,
            call: Box::new(|how| {
                either!(
                    how,
                    plain::plain_softmax(x.as_ptr(), o4.as_mut_ptr(), count),
                    k::softmax(x, &mut o4, count)
                )
            }),
        },
        Work {
            kernel: "matvec",
            elements: side * side,
            bytes: 4 * (side * side + 2 * side),
            flops: 2 * side * side,
            call: Box::new(|how| {
                let s = side as i32;
                let (w, v, out) = (&x[..side * side], &y[..side], &mut o5[..side]);
                either!(
                    how,
                    plain::plain_matvec(w.as_ptr(), v.as_ptr(), out.as_mut_ptr(), s, s),
                    k::matvec(w, v, out, s, s)
                )
            }),
        },
        Work {
            kernel: "matmul",
            elements: side * side,
            bytes: 12 * side * side,
            flops: 2 * side * side * side,
            call: Box::new(|how| {
                let (s, square) = (side as i32, side * side);
                let (a, b, c) = (&x[..square], &y[..square], &mut o6[..square]);
                either!(
                    how,
                    plain::plain_matmul(a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), s, s, s),
                    k::matmul(a, b, c, s, s, s)
                )
            }),
        },
        Work {
            kernel: "attention",
            elements: side * side,
            bytes: 16 * side * side,
            flops: 4 * side * side * side,
            call: Box::new(|how| {
                let (s, square) = (side as i32, side * side);
                let [q, keys, v] = [x, y, z].map(|a| &a[..square]);
                let out = &mut o7[..square];
                either!(
                    how,
                    plain::plain_attention(
                        q.as_ptr(),
                        keys.as_ptr(),
                        v.as_ptr(),
                        out.as_mut_ptr(),
                        s,
                        s
                    ),
                    k::attention(q, keys, v, out, s, s)
                )
            }),
        },
    ];
    for mut work in all {
        let square = ["matvec", "matmul", "attention"].contains(&work.kernel);
        if (squares || !square) && only.is_none_or(|kernel| kernel == work.kernel) {
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
    let choices = [
        (How::Plain, Choice::Off),
        (How::Dispatched, Choice::Target("cpu".into())),
        (How::Dispatched, Choice::Auto),
    ];
    let elements = work.elements;
    let mut time = |(how, choice): &(How, Choice), calls: u32| {
        set_choice(choice.clone());
        let start = Instant::now();
        for _ in 0..calls {
            (work.call)(*how).expect("the slices are long enough");
        }
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    // Once both, compared; sums of more floats than that, taken one after the other, have lost too many bits.
    let mut differed = false;
    if elements <= 1 << 16 {
        time(&(How::Dispatched, Choice::Shadow(Some("cpu".into()))), 1);
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
    let copied = copy_bandwidth(work.bytes, calls);
    let Work {
        kernel,
        elements,
        bytes,
        flops,
        ..
    } = work;
    println!(
        "{{\"kernel\":\"{kernel}\",\"elements\":{elements},\"bytes\":{bytes},\"flops\":{flops},\
         \"original_ns\":{:.1},\"original_spread\":{:.3},\"cpu_ns\":{:.1},\"cpu_spread\":{:.3},\
         \"auto_ns\":{:.1},\"auto_spread\":{:.3},\"copy_bandwidth\":{copied:.2},\"differed\":{differed}}}",
        original.0, original.1, cpu.0, cpu.1, auto.0, auto.1
    );
}

/// In GB/s, read and written: what the machine copies where a copy moves as many bytes as the kernel does. On one core or on
/// all, whichever is faster.
fn copy_bandwidth(bytes: usize, calls: u32) -> f64 {
    let source = vec![1u8; (bytes / 2).max(1)];
    let mut target = vec![0u8; source.len()];
    let mut of = |threads: usize| {
        let part = source.len().div_ceil(threads);
        let parts = || source.chunks(part);
        let mut taken: Vec<f64> = (0..9)
            .map(|_| {
                let start = Instant::now();
                std::thread::scope(|scope| {
                    let mut pairs = parts().zip(target.chunks_mut(part));
                    // This thread has a part of its own.
                    let own = pairs.next();
                    for (from, to) in pairs {
                        scope.spawn(|| copy(from, to, calls));
                    }
                    own.map(|(from, to)| copy(from, to, calls));
                });
                start.elapsed().as_nanos() as f64 / f64::from(calls)
            })
            .collect();
        taken.sort_by(f64::total_cmp);
        2.0 * source.len() as f64 / taken[4]
    };
    of(1).max(of(cores()))
}

fn copy(from: &[u8], to: &mut [u8], calls: u32) {
    for _ in 0..calls {
        black_box(&mut *to).copy_from_slice(black_box(from));
    }
}

/// As many as generated code takes.
fn cores() -> usize {
    let named = std::env::var("OMP_NUM_THREADS").ok();
    let named = named.and_then(|text| text.parse().ok());
    named.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from))
}

fn main() {
    let largest = std::env::args().nth(1).map_or(1 << 24, |text| {
        text.parse().expect("LARGEST is a number of elements")
    });
    let only = std::env::args().nth(2);
    let mut arrays = [(); 4].map(|()| numbers(largest));
    let mut bytes = [(); 3].map(|()| (0..largest).map(|i| i as u8).collect());
    let mut n = 64.min(largest);
    let mut last_side = 0;
    loop {
        let side = n.isqrt().min(LONGEST_SIDE);
        let new_side = (side > last_side).then_some(side);
        let only = only.as_deref();
        black_box(works(n, new_side, only, &mut arrays, &mut bytes));
        if n == largest {
            return;
        }
        last_side = side;
        n = (n * 16).min(largest);
    }
}
