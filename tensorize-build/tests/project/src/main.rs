//! Runs what the arguments name, and prints what came out and what ran.

use project::kernels::{self, sys};
use project::{halve_from_another_file, halve_from_the_same_file};

type Halve = unsafe extern "C" fn(*const u8, *mut u8, i32, i32);

fn run(halve: Halve) {
    let input: Vec<u8> = (0..=255).collect();
    let mut out = vec![0; 256];
    unsafe { halve(input.as_ptr(), out.as_mut_ptr(), 16, 16) };
    assert!(out.iter().zip(&input).all(|(o, i)| *o == i / 2), "{out:?}");
}

fn main() {
    for verb in std::env::args().skip(1) {
        match verb.as_str() {
            "raw" => run(sys::halve),
            "same-file" => run(halve_from_the_same_file),
            "other-file" => run(halve_from_another_file),
            "safe" => {
                let mut out = [0; 6];
                kernels::halve(&[2, 4, 6, 8, 10, 12], &mut out, 2, 3).unwrap();
                assert_eq!(out, [1, 2, 3, 4, 5, 6]);
                println!("{}", kernels::halve(&[2; 5], &mut out, 2, 3).unwrap_err());
                println!("{}", kernels::halve(&[2; 6], &mut out[..1], 2, 3).unwrap_err());
                println!("{}", kernels::halve(&[2; 6], &mut out, i32::MAX, i32::MAX).unwrap_err());
                println!("total {}", kernels::total(&[1.5, 2.5], 2).unwrap());
            }
            "unproven" => {
                let mut x = [1.0f32, 2.0];
                println!("{}", kernels::twice(&mut x, 2).unwrap_err());
                unsafe { sys::twice(x.as_mut_ptr(), 2) };
                assert_eq!(x, [2.0, 4.0]);
            }
            // What C does when the guard fails: each row sees what the one before has written.
            "overlap" => {
                let mut x: Vec<u8> = (0..12).map(|i| i * 20).collect();
                let mut expected = x.clone();
                (0..8).for_each(|i| expected[i + 4] = expected[i] / 2);
                unsafe { sys::halve(x.as_ptr(), x.as_mut_ptr().add(4), 2, 4) };
                assert_eq!(x, expected);
            }
            "no-size" => unsafe {
                sys::halve(std::ptr::null(), std::ptr::null_mut(), 0, 7);
                sys::halve(std::ptr::null(), std::ptr::null_mut(), -3, -7);
                sys::halve(std::ptr::null(), std::ptr::null_mut(), -3, 7);
            },
            "threads" => std::thread::scope(|s| {
                (0..8).for_each(|_| drop(s.spawn(|| (0..200).for_each(|_| run(sys::halve)))));
            }),
            "kill" => {
                let status = std::process::Command::new("pkill")
                    .args(["-9", "-P", &std::process::id().to_string()])
                    .status();
                println!("killed: {}", status.unwrap().success());
            }
            "warm-up" => tensorize_rt::warm_up(),
            "forked" => fork(),
            other => panic!("{other}?"),
        }
    }
    for r in tensorize_rt::report() {
        println!(
            "{} {} {} original={} target={} guard_failed={} differed={} why={}",
            r.name,
            r.tier.unwrap_or("-"),
            r.target,
            r.calls.0,
            r.calls.1,
            r.guard_failed,
            r.differed,
            r.why.unwrap_or_default()
        );
    }
}

fn fork() {
    unsafe extern "C" {
        fn fork() -> i32;
        fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
        fn exit(status: i32) -> !;
    }
    unsafe {
        let child = fork();
        if child == 0 {
            run(sys::halve);
            // With all that is to be done at the end of a program.
            exit(7);
        }
        let mut status = 0;
        waitpid(child, &mut status, 0);
        assert_eq!(status >> 8, 7);
    }
}
