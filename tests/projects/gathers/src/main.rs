//! Calls kernels whose indices are read from memory. Prints the result of each call, who answered, and why.

#![allow(unsafe_code)]

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

use kernels::sys;

/// What comes of a call, and who answered it.
fn show(what: &str, call: impl FnOnce() -> String) {
    let before = tensorize_rt::report();
    let mut line = format!("{what}: {}", call());
    for (b, a) in before.iter().zip(tensorize_rt::report()) {
        if a.calls != b.calls {
            line += &format!(
                " | original {} target {} {}",
                a.calls.0 - b.calls.0,
                a.calls.1 - b.calls.1,
                a.why.unwrap_or_default()
            );
        }
    }
    println!("{line}");
}

fn safe() {
    let table: Vec<f64> = (0..8).map(|i| f64::from(i) * 10.0).collect();
    let mut out = [0f64; 4];
    let mut take = |what: &str, index: &[i32]| {
        show(what, || {
            let result = kernels::take(index.len() as i32, index, &table, &mut out);
            format!("{:?} {:?}", out, result.map_err(|e| e.to_string()))
        });
    };
    take("within", &[7, 0, 3, 3]);
    take("nothing", &[]);
    take("beyond", &[7, 8, 0, 0]);
    take("negative", &[7, -1, 0, 0]);

    let mut out = [0f64; 3];
    // What is not selected may lead anywhere.
    show("selected", || {
        let result = kernels::selected(3, &[1, 0, 2], &[7, 900, 1], &table, &mut out);
        format!("{out:?} {:?}", result.map_err(|e| e.to_string()))
    });

    let floats = [0f32, 1., 2., 3.];
    let mut out = [0f32; 2];
    show("twice", || {
        let result = kernels::twice(2, &[2, 0], &[3, 9, 1], &floats, &mut out);
        format!("{out:?} {:?}", result.map_err(|e| e.to_string()))
    });
    show("twice, the first beyond", || {
        let result = kernels::twice(2, &[2, 3], &[3, 9, 1], &floats, &mut out);
        format!("{:?}", result.map_err(|e| e.to_string()))
    });
    show("twice, the second beyond", || {
        let result = kernels::twice(2, &[2, 1], &[3, 9, 1], &floats, &mut out);
        format!("{:?}", result.map_err(|e| e.to_string()))
    });

    let mut out = [0f32; 4];
    show("rows", || {
        let result = kernels::rows(2, 2, &[1, 0], &floats, &mut out);
        format!("{out:?} {:?}", result.map_err(|e| e.to_string()))
    });
    show("rows, too far", || {
        let result = kernels::rows(2, 2, &[1, i64::MAX / 2], &floats, &mut out);
        format!("{}", result.is_err())
    });

    let mut sums = [9f64; 3];
    let mut histogram = |what: &str, bin: &[i32], bins: i32| {
        show(what, || {
            let result = kernels::histogram(bin.len() as i32, bin, &table, bins, &mut sums);
            format!("{sums:?} {:?}", result.map_err(|e| e.to_string()))
        });
    };
    histogram("counted", &[1, 0, 1, 1], 2);
    histogram("counted nowhere", &[], 0);
    histogram("counted beyond", &[0, 2], 2);
    histogram("counted before", &[0, -1], 2);

    let mut counts = [9i32; 3];
    let mut binned = |what: &str, x: &[f64], width: f64| {
        show(what, || {
            let result = kernels::binned(x.len() as i32, x, -1.0, width, 3, &mut counts);
            format!("{counts:?} {:?}", result.map_err(|e| e.to_string()))
        });
    };
    binned("binned", &table, 30.0);
    binned("binned beyond", &table, 20.0);
    // No integer stands for these, whatever the machine makes of them.
    binned("binned, no number", &[5.0, f64::NAN], 30.0);
    binned("binned, too large a number", &[5.0, 1e30], 30.0);

    let mut y = [0f64; 3];
    show("csr", || {
        let (start, column) = ([0i64, 2, 2, 3], [0, 3, 1]);
        let result = kernels::csr(3, &start, &column, &[1., 2., 3.], &table, &mut y);
        format!("{y:?} {:?}", result.map_err(|e| e.to_string()))
    });
    show("csr, rows that end before they begin", || {
        let (start, column) = ([2i64, 0, 2, 3], [0, 3, 1]);
        let result = kernels::csr(3, &start, &column, &[1., 2., 3.], &table, &mut y);
        format!("{y:?} {:?}", result.map_err(|e| e.to_string()))
    });

    for (call, end) in [
        ("csr by size", 3),
        ("csr by size, a row that takes for ever", 1 << 62),
        ("csr by size, a row that ends beyond all addresses", 1 << 63),
        ("csr by size, a row that ends at the last number", usize::MAX),
    ] {
        let mut y = [0f64; 3];
        show(call, || {
            let (start, column) = ([0, 2, 2, end], [0, 3, 1]);
            let result = kernels::csr_by_size(3, &start, &column, &[1., 2., 3.], &table, &mut y);
            format!("{y:?} {:?}", result.map_err(|e| e.to_string()))
        });
    }
}

/// Results that go where the data says.
fn placed() {
    let x = [1f64, -2., 3., 4.];
    for (call, at) in [
        ("added", [2, 0, 2, 1]),
        ("added beyond", [2, 0, 3, 1]),
        ("added before", [2, 0, -1, 1]),
    ] {
        let mut y = [10f64; 3];
        show(call, || {
            let result = kernels::add_at(4, &at, &x, &mut y);
            format!("{y:?} {:?}", result.map_err(|e| e.to_string()))
        });
    }
    for (call, room) in [("kept", 4), ("kept with less room than may be needed", 3)] {
        let mut out = [0f64; 4];
        show(call, || {
            let result = kernels::keep_positive(4, &x, &mut out[..room]);
            format!("{out:?} {:?}", result.map_err(|e| e.to_string()))
        });
    }
}

/// Sizes alone that make an index wrap.
fn wrapped() {
    for (call, by) in [("turned", 1), ("turned, by too many", i32::MAX - 1)] {
        let mut memory = [0f32; 12];
        show(call, || {
            let result = kernels::turned(&[1., 2., 3., 4.], &mut memory[4..8], 4, by);
            format!("{memory:?} {:?}", result.map_err(|e| e.to_string()))
        });
    }
}

/// As C calls them: pointers into the middle, and memory that overlaps or nearly does.
fn raw() {
    let mut memory: Vec<f64> = (0..12).map(f64::from).collect();
    let at = memory.as_mut_ptr();
    // SAFETY: all of it lies in `memory`.
    unsafe {
        let index = [-2i32, 1, 0];
        show("before the pointer", || {
            let mut out = [0f64; 3];
            sys::take(3, index.as_ptr(), at.add(4), out.as_mut_ptr());
            format!("{out:?}")
        });
        let (bin, mut sums) = ([0i32, 2], [9f64; 3]);
        show("counted beyond the cleared ones", || {
            sys::histogram(2, bin.as_ptr(), at.add(1), 2, sums.as_mut_ptr());
            format!("{sums:?}")
        });
        let index = [4i32, 1, 0];
        show("up to the output", || {
            sys::take(3, index.as_ptr(), at, at.add(5));
            format!("{:?}", std::slice::from_raw_parts(at, 12))
        });
        let index = [5i32, 5, 6];
        show("into the output", || {
            sys::take(3, index.as_ptr(), at, at.add(5));
            format!("{:?}", std::slice::from_raw_parts(at, 12))
        });
    }
}

fn main() {
    safe();
    placed();
    wrapped();
    raw();
}
