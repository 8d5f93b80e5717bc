//! Calls kernels whose parameters are structs, tables of rows and objects, as C and C++ do and from Rust.
//!
//! Prints for each call whether it was right, and for each kernel that it called who answered, and why.

#![allow(unsafe_code)]

mod kernels {
    tensorize_rt::include_kernels!("kernels");
}

unsafe extern "C" {
    fn calls_from_c(which: i32) -> i32;
    fn calls_on_state(which: i32) -> i32;
    fn calls_from_cpp(which: i32) -> i32;
}

fn calls(language: &str, count: i32, call: unsafe extern "C" fn(i32) -> i32) {
    for which in 0..count {
        let before = tensorize_rt::report();
        // SAFETY: it calls kernels on arrays of its own.
        let wrong = unsafe { call(which) };
        let verdict = if wrong == 0 { "ok" } else { "wrong" };
        let mut line = format!("{language} {which} {verdict}");
        for (b, a) in before.iter().zip(tensorize_rt::report()) {
            if a.calls != b.calls {
                line += &format!(
                    " {} original {} target {} compared {} differed {} {}",
                    a.name,
                    a.calls.0 - b.calls.0,
                    a.calls.1 - b.calls.1,
                    a.compared - b.compared,
                    a.differed,
                    a.why.unwrap_or_default()
                );
            }
        }
        println!("{line}");
    }
}

fn main() {
    calls("C", 43, calls_from_c);
    calls("C state", 11, calls_on_state);
    calls("C++", 47, calls_from_cpp);
    println!("rust {}", kernels::age(2., &mut [1.; 5]).expect_err("others may use it"));
    let mut m = vec![1f32, 2., 3., 4., 5., 6.];
    kernels::scale_matrix(2, 2, &mut m, 3, 2.).expect("two rows of three");
    println!("rust {m:?}");
    println!(
        "rust {:?}",
        kernels::scale_matrix(2, 4, &mut m, 4, 2.).is_err()
    );
    println!("rust {:?}", kernels::sum_range(&m, 3));
    println!("rust {:?}", kernels::mean_over(2, 1, &[1., 2.]));
    let mut y = [0f32; 2];
    kernels::add_bias(Some(&mut y), Some(&[1., 2.]), None, 2).expect("no bias");
    println!("rust {y:?}");
    kernels::add_bias(Some(&mut y), Some(&[1., 2.]), Some(&[5., 5.]), 2).expect("a bias");
    println!(
        "rust {y:?} {:?}",
        kernels::add_bias(None, Some(&[1., 2.]), None, 2)
    );
    let (mut lo, mut hi, mut many) = ([0f32], [0f32], [0i32]);
    kernels::range_of(&[2., 1., 3.], 3, &mut lo, &mut hi, &mut many).expect("three of them");
    println!("rust {lo:?} {hi:?} {many:?}");
    let (mut r, mut n) = (vec![0i32; 3], [0i64; 1]);
    kernels::add(&[1, 2, 3], 3, &[4, 5, 6], 3, &mut r, &mut n).expect("as many");
    println!("rust {r:?} {n:?}");
    println!(
        "rust {:?}",
        kernels::add(&[1, 2, 3], 3, &[4, 5, 6], 2, &mut r, &mut n).is_err()
    );
    // The members of one type of two structs of 48 bytes each.
    let mut alive = [0i8; 48 * 2];
    (alive[24], alive[24 + 48]) = (1, 3);
    let mut floats: Vec<f32> = (0..24).map(|i| i as f32 - 14.).collect();
    let mut weights = [2f64; 6 * 2];
    println!(
        "rust {:?}",
        kernels::advance(&mut alive, &mut floats, &mut weights, 2, 2.)
    );
    let moved = (&floats[..3], &floats[12..15]);
    println!("rust {} {} {moved:?} {weights:?}", alive[24], alive[24 + 48]);
    // Orders of 24 bytes, in a span and in a vector.
    let (mut prices, mut amounts, mut open) = ([3.; 6], [5i16; 24], [true; 48]);
    println!("rust {:?}", kernels::worth(&open, &prices, &amounts, 2));
    println!(
        "rust {:?}",
        kernels::close_all(&mut prices, &mut open, &mut amounts, 2, 1.)
    );
    println!("rust {} {} {:?}", open[18], open[19], &amounts[7..10]);
    println!(
        "rust {:?}",
        kernels::worth(&open, &prices, &amounts, 3).map_err(|e| e.to_string())
    );
    let (mut is, mut at) = ([false], [7]);
    let found = kernels::place_of(&[4, 5], 2, 5, &mut is, &mut at);
    println!("rust {found:?} {is:?} {at:?}");
    let none = kernels::place_of(&[4, 5], 1, 5, &mut is, &mut at);
    println!("rust {none:?} {is:?} {at:?}");
    prices[4] = 7.;
    let gain = |many| kernels::gain(&prices, many).map_err(|e| e.to_string());
    println!("rust {:?} {:?}", gain(2), gain(1));
    // Appending stays inside of what there is; what is reached by its number may not be there any more.
    let (mut to, mut size, mut doubled) = ([1, 0, 0], [0], [0; 2]);
    let done = kernels::appended(&[7, 8], 2, &mut to, 1, &mut size, &mut doubled).is_ok();
    println!("rust {done} {to:?} {size:?} {doubled:?}");
    let refused = kernels::scaled_without_last(&mut to, 3, &mut size, 2).map_err(|e| e.to_string());
    println!("rust {refused:?} {to:?}");
    let (mut planes, mut out) = ([1f32, 2., 3., 4., 5., 6.], [0f32; 2]);
    kernels::mixed_down(&planes, 2, 2, &mut out).expect("three planes of two");
    println!("rust {out:?}");
    let mut faded = |which| {
        kernels::faded(&mut planes, 2, 2, which, 0.5).map_err(|why| why.to_string())
    };
    println!("rust {:?} {:?} {planes:?}", faded(2), faded(3));
    let mut whole = [1, 2, 3];
    kernels::raise_twice_int(&mut whole, 2, 3).expect("three");
    println!("rust {:?} {:?} {whole:?}", kernels::total_double(&[1.5, 2.], 2), kernels::total_int(&whole, 3));
}
