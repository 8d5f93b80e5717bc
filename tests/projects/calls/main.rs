//! Calls that are hard to get right, each made to the kernel and to the original on the same memory.
//!
//! Prints a line for each group of calls, `ok NAME` or `differs NAME …`, and fails if one differs. The kernels are the
//! demo's, with its stored results; `TENSORIZE` says where they run.

#![allow(unsafe_code)]

use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}
use kernels::sys;

/// The originals, under the names that the build script gave them.
mod original {
    unsafe extern "C" {
        #[link_name = "multiply_blend__tensorize_original"]
        pub fn multiply_blend(base: *const u8, active: *const u8, out: *mut u8, rows: i32, cols: i32);
        #[link_name = "overlay_blend__tensorize_original"]
        pub fn overlay_blend(base: *const u8, active: *const u8, out: *mut u8, rows: i32, cols: i32);
        #[link_name = "n_real_updates__tensorize_original"]
        pub fn n_real_updates(a: *const i32, b: *const i32, c: *const i32, d: *mut i32, n: i32);
        #[link_name = "mat1x3__tensorize_original"]
        pub fn mat1x3(h: *const i32, x: *const i32, y: *mut i32);
        #[link_name = "dot_product__tensorize_original"]
        pub fn dot_product(a: *const i32, b: *const i32, n: i32) -> i32;
    }
}
unsafe extern "C" {
    fn kill(pid: i32, signal: i32) -> i32;
    fn call_from_c(base: *const u8, active: *const u8, out: *mut u8, rows: i32, cols: i32) -> i32;
}

static DIFFERENT: AtomicUsize = AtomicUsize::new(0);

/// Makes the same call twice on equal copies of `memory` and compares all of it afterwards.
fn same<T: Clone + PartialEq>(
    what: &str,
    memory: &[T],
    kernel: impl Fn(*mut T),
    original: impl Fn(*mut T),
) {
    let (mut ours, mut theirs) = (memory.to_vec(), memory.to_vec());
    kernel(ours.as_mut_ptr());
    original(theirs.as_mut_ptr());
    if ours != theirs {
        let at = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        println!("differs {what}, first at element {at:?}");
        DIFFERENT.fetch_add(1, Ordering::Relaxed);
    }
}

fn bytes(n: usize, seed: u64) -> Vec<u8> {
    let mut state = seed;
    let step = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(step).take(n).collect()
}

const ROWS: usize = 23;
const COLS: usize = 37;
const SIZE: usize = ROWS * COLS;

/// `base`, `active` and `out` at these offsets of one buffer.
fn blends(what: &str, [base, active, out]: [usize; 3], rows: i32, cols: i32) {
    let memory = bytes(4 * SIZE, 1 + (base + 3 * active + 7 * out) as u64);
    same(
        &format!("multiply {what}"),
        &memory,
        |m| unsafe { sys::multiply_blend(m.add(base), m.add(active), m.add(out), rows, cols) },
        |m| unsafe { original::multiply_blend(m.add(base), m.add(active), m.add(out), rows, cols) },
    );
    same(
        &format!("overlay {what}"),
        &memory,
        |m| unsafe { sys::overlay_blend(m.add(base), m.add(active), m.add(out), rows, cols) },
        |m| unsafe { original::overlay_blend(m.add(base), m.add(active), m.add(out), rows, cols) },
    );
}

fn aliasing() {
    let (r, c) = (ROWS as i32, COLS as i32);
    blends("apart", [0, SIZE, 2 * SIZE], r, c);
    blends("out == base", [0, SIZE, 0], r, c);
    blends("out == active", [0, SIZE, SIZE], r, c);
    blends("all the same", [SIZE, SIZE, SIZE], r, c);
    blends("out one row below base", [0, 2 * SIZE, COLS], r, c);
    blends("out one row above base", [COLS, 2 * SIZE, 0], r, c);
    blends("out one byte after active", [2 * SIZE, 0, 1], r, c);
    blends("out one byte before active", [2 * SIZE, 1, 0], r, c);
    blends("out ends where base begins", [SIZE, 2 * SIZE, 0], r, c);

    let memory: Vec<i32> = bytes(400, 5).into_iter().map(i32::from).collect();
    for (what, [a, b, cc, d]) in [
        ("apart", [0, 100, 200, 300]),
        ("d == c", [0, 100, 200, 200]),
        ("d one after a", [0, 100, 200, 1]),
        ("d one before c", [0, 100, 201, 200]),
        ("d within b", [0, 100, 200, 150]),
    ] {
        // Small, so that the recurrence that an overlap makes does not overflow.
        let small: Vec<i32> = memory.iter().map(|x| x % 2).collect();
        same(
            &format!("n_real_updates {what}"),
            &small,
            |m| unsafe { sys::n_real_updates(m.add(a), m.add(b), m.add(cc), m.add(d), 90) },
            |m| unsafe { original::n_real_updates(m.add(a), m.add(b), m.add(cc), m.add(d), 90) },
        );
    }
    // The result is read again while it is summed up, and then as an input.
    let small: Vec<i32> = memory[..16].iter().map(|x| x % 5).collect();
    for (what, [h, x, y]) in [("apart", [0, 9, 12]), ("y in h", [0, 9, 4]), ("y == x", [0, 9, 9])] {
        same(
            &format!("mat1x3 {what}"),
            &small,
            |m| unsafe { sys::mat1x3(m.add(h), m.add(x), m.add(y)) },
            |m| unsafe { original::mat1x3(m.add(h), m.add(x), m.add(y)) },
        );
    }
}

fn sizes() {
    for (rows, cols) in [(0, 5), (5, 0), (0, 0), (-1, 5), (5, -1), (-3, -4), (i32::MIN, 1), (1, 1), (1, 13), (13, 1)] {
        blends(&format!("{rows} x {cols}"), [0, SIZE, 2 * SIZE], rows, cols);
    }
    let numbers: Vec<i32> = bytes(64, 9).into_iter().map(i32::from).collect();
    for n in [0, -1, i32::MIN, 1, 2, 31] {
        let (a, b) = (numbers.as_ptr(), numbers[32..].as_ptr());
        let (ours, theirs) = unsafe { (sys::dot_product(a, b, n), original::dot_product(a, b, n)) };
        if ours != theirs {
            println!("differs dot_product of {n}: {ours} and {theirs}");
            DIFFERENT.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn from_c() {
    let memory = bytes(3 * SIZE, 77);
    let (r, c) = (ROWS as i32, COLS as i32);
    let swapped = || calls_of("multiply_blend");
    let before = swapped();
    same(
        "call from C",
        &memory,
        |m| unsafe {
            assert_eq!(call_from_c(m, m.add(SIZE), m.add(2 * SIZE), r, c), 30);
        },
        |m| unsafe { original::multiply_blend(m, m.add(SIZE), m.add(2 * SIZE), r, c) },
    );
    println!("from C: {} by a target", swapped().1 - before.1);
}

fn calls_of(name: &str) -> (u64, u64) {
    let report = tensorize_rt::report().into_iter().find(|r| r.name == name);
    report.map_or((0, 0), |r| r.calls)
}

fn threads() {
    let (r, c) = (ROWS as i32, COLS as i32);
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            scope.spawn(move || {
                for round in 0..40 {
                    let memory = bytes(3 * SIZE, thread * 1000 + round);
                    same(
                        "threads",
                        &memory,
                        |m| unsafe { sys::multiply_blend(m, m.add(SIZE), m.add(2 * SIZE), r, c) },
                        |m| unsafe { original::multiply_blend(m, m.add(SIZE), m.add(2 * SIZE), r, c) },
                    );
                }
            });
        }
    });
}

/// Ends every child process, as `kill -9` does, and says how many there were.
fn kill_children() -> usize {
    let own = std::process::id().to_string();
    let mut killed = 0;
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else { continue };
        // PID (NAME) STATE PARENT …
        let Some((_, rest)) = stat.rsplit_once(") ") else { continue };
        if rest.split(' ').nth(1) == Some(&own) {
            let pid = entry.file_name().to_string_lossy().parse().expect("the first word of stat is its number");
            // SAFETY: a child of ours, not waited for yet, so its number is its own.
            killed += usize::from(unsafe { kill(pid, 9) } == 0);
        }
    }
    killed
}

fn main() -> ExitCode {
    for (name, group) in
        [("aliasing", aliasing as fn()), ("sizes", sizes), ("from C", from_c), ("threads", threads)]
    {
        let before = DIFFERENT.load(Ordering::Relaxed);
        group();
        if DIFFERENT.load(Ordering::Relaxed) == before {
            println!("ok {name}");
        }
    }
    println!("killed {} workers", kill_children());
    let before = DIFFERENT.load(Ordering::Relaxed);
    aliasing();
    sizes();
    threads();
    if DIFFERENT.load(Ordering::Relaxed) == before {
        println!("ok after the kill");
    }
    for r in tensorize_rt::report().iter().filter(|r| r.calls != (0, 0) || r.compared > 0) {
        println!("ran {} original {} target {} compared {} differed {}", r.name, r.calls.0, r.calls.1, r.compared, r.differed);
    }
    ExitCode::from(u8::from(DIFFERENT.load(Ordering::Relaxed) > 0))
}
