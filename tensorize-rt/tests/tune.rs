//! `TENSORIZE=tune` measures, and `TENSORIZE=auto` goes by what was measured.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::process::Command;
use tensorize_rt::tuned::{self, Line};
use tensorize_rt::{
    Argument, Array, Choice, Code, Elem, Extent, Kernel, KernelReport, Library, Route, Target, Tier,
};

/// Each test is a process of its own, with what was measured in a file of its own: `known` at first. The lines after it.
fn alone(name: &str, choice: &str, known: &str, test: impl FnOnce()) -> Vec<Line> {
    if std::env::var("ALONE").is_ok_and(|n| n == name) {
        test();
        return vec![];
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuned");
    std::fs::write(&file, known).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .envs([("ALONE", name), ("TENSORIZE", choice)])
        .env("TENSORIZE_TUNED", &file)
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(output.status.success(), "{text}");
    tuned::lines(&std::fs::read_to_string(file).unwrap()).collect()
}

const ADD: Code = Code::Python {
    source: "import numpy as np\ndef f(x, a):\n    x += np.uint8(a)\n    return x[0]\n",
    entry: "f",
};
const RAISE: Code = Code::Python {
    source: "def f(x, a):\n    raise ValueError('not today')\n",
    entry: "f",
};
const DIE: Code = Code::Python {
    source: "import os\ndef f(x, a):\n    os.kill(os.getpid(), 9)\n",
    entry: "f",
};

const fn target(name: &'static str, code: Code) -> Target {
    Target {
        name,
        tier: Tier::Exact,
        code,
    }
}

macro_rules! kernel {
    ($name:literal, $targets:expr) => {{
        static KERNEL: Kernel = Kernel::new(
            $name,
            ("test.c", 1),
            Some(Tier::Exact),
            &[],
            None,
            &$targets,
        )
        .with_hash("h");
        static LIBRARY: Library = Library::new(&[&KERNEL]);
        LIBRARY.register();
        &KERNEL
    }};
}

/// `x[i] += 10`, and it returns the first.
fn add(x: *mut u8, len: i64) -> u8 {
    // SAFETY: `call` says so.
    unsafe {
        (0..len as usize).for_each(|i| *x.add(i) += 10);
        *x
    }
}

/// Calls it as a dispatcher does; the result must be right whoever answers.
fn call(kernel: &'static Kernel, len: i64) {
    call_with(kernel, len, &|| {});
}

/// The same; the kernel's C does this, too.
fn call_with(kernel: &'static Kernel, len: i64, also: &dyn Fn()) {
    let mut x = vec![1u8; len as usize + 1];
    let pointer = x.as_mut_ptr();
    if kernel.is_for_original(len) {
        add(pointer, len);
        return;
    }
    let mut route = kernel.route();
    if route == Route::Faster {
        route = kernel.faster(len);
    }
    let first = match route {
        Route::Elsewhere => {
            let array = Array {
                name: "x",
                pointer: pointer.cast(),
                elem: Elem::U8,
                lo: 0,
                hi: len,
                writes: true,
                depends_on_data: false,
                members: None,
            };
            let f = |p: &[*mut c_void]| {
                also();
                add(p[0].cast(), len)
            };
            let extent = Extent {
                size: len,
                movable: true,
            };
            // SAFETY: `x` has more elements than that.
            unsafe {
                tensorize_rt::run_elsewhere(
                    kernel,
                    extent,
                    Some(&[array]),
                    &[Argument::Array, Argument::of(10u8)],
                    f,
                    |_, p| f(p),
                    &[pointer.cast()],
                )
            }
        }
        Route::Native => {
            kernel.count_native();
            add(pointer, len)
        }
        Route::Faster => kernel.run_faster(len, || add(pointer, len), || add(pointer, len)),
        _ => {
            kernel.count_original();
            add(pointer, len)
        }
    };
    assert_eq!(first, 11);
    assert!(x[..len as usize].iter().all(|v| *v == 11) && x[len as usize] == 1);
}

fn report(kernel: &Kernel) -> KernelReport {
    let mut reports = tensorize_rt::report().into_iter();
    reports.find(|r| r.name == kernel.name).unwrap()
}

#[test]
fn every_size_is_measured_once() {
    let lines = alone("every_size_is_measured_once", "tune", "", || {
        let k = kernel!(
            "all",
            [
                target("cpu", Code::Native),
                target("board", Code::Emulated),
                target("numpy", ADD),
                target("jax", RAISE),
                target("mlx", Code::Absent { why: "it can't" }),
            ]
        );
        for len in [300, 300, 511, 5000] {
            call(k, len);
        }
        let r = report(k);
        assert_eq!(r.calls, (4, 0), "the original answers");
        let why = r.why.unwrap_or_default();
        assert!(why.contains("not today"), "{why}");
    });
    if std::env::var_os("ALONE").is_none() {
        let found: Vec<(usize, Vec<&str>)> = lines
            .iter()
            .map(|l| (l.class, l.took.iter().map(|(w, _)| w.as_str()).collect()))
            .collect();
        let all = vec!["original", "cpu", "numpy"];
        assert_eq!(found, [(9, all.clone()), (13, all)]);
        assert!(lines.iter().all(|l| l.kernel == "all" && l.hash == "h"));
        let took = lines.iter().flat_map(|l| &l.took);
        assert!(took.into_iter().any(|(_, ns)| *ns > 0));
    }
}

/// As C functions call each other: the inner one is passed over while the outer one is measured.
#[test]
fn a_kernel_that_is_measured_may_call_another() {
    let name = "a_kernel_that_is_measured_may_call_another";
    let lines = alone(name, "tune", "", || {
        let outer = kernel!("outer", [target("cpu", Code::Native)]);
        let inner = kernel!("inner", [target("cpu", Code::Native)]);
        call_with(outer, 300, &|| call(inner, 300));
        call(inner, 300);
        assert_eq!(report(outer).calls.1, 0);
    });
    if std::env::var_os("ALONE").is_none() {
        let names: Vec<&str> = lines.iter().map(|l| l.kernel.as_str()).collect();
        assert_eq!(names, ["outer", "inner"]);
    }
}

/// Somebody has measured that NumPy wins from 4096 elements on.
const NUMPY_WINS: &str = "f h 9 original 10 numpy 90\nf h 13 original 90 numpy 10\n";

#[test]
fn what_has_to_be_started_runs_after_warm_up() {
    let name = "what_has_to_be_started_runs_after_warm_up";
    alone(name, "auto", NUMPY_WINS, || {
        let k = kernel!("f", [target("numpy", ADD)]);
        assert_eq!(k.route(), Route::Original);
        call(k, 5000);
        assert_eq!(report(k).calls, (1, 0));
        tensorize_rt::warm_up();
        for len in [64, 300, 5000, 70_000] {
            call(k, len);
        }
        let r = report(k);
        assert_eq!(r.calls, (3, 2), "{:?}", r.why);
    });
}

#[test]
fn measurements_of_another_version_mean_nothing() {
    let name = "measurements_of_another_version_mean_nothing";
    let other = NUMPY_WINS.replace(" h ", " other ");
    alone(name, "auto", &other, || {
        let k = kernel!("f", [target("numpy", ADD)]);
        tensorize_rt::warm_up();
        call(k, 5000);
        assert_eq!(report(k).calls, (1, 0));
    });
}

#[test]
fn a_target_that_dies_is_no_longer_the_fastest() {
    let name = "a_target_that_dies_is_no_longer_the_fastest";
    alone(name, "auto", NUMPY_WINS, || {
        let k = kernel!("f", [target("numpy", DIE)]);
        tensorize_rt::warm_up();
        assert_eq!(
            (k.route(), k.faster(5000)),
            (Route::Faster, Route::Elsewhere)
        );
        call(k, 5000);
        call(k, 5000);
        let r = report(k);
        assert_eq!(r.calls, (2, 0));
        assert!(r.why.unwrap_or_default().contains("signal 9"));
        assert_eq!(k.route(), Route::Original);
    });
}

/// Linked-in code needs no start.
#[test]
fn linked_in_code_has_the_sizes_where_it_won() {
    let name = "linked_in_code_has_the_sizes_where_it_won";
    let known = "f h 5 original 9 cpu 5\nf h 9 original 9 cpu 5\nf h 13 original 5 cpu 9\n";
    alone(name, "auto", known, || {
        let k = kernel!("f", [target("cpu", Code::Native)]);
        assert_eq!(k.route(), Route::Faster);
        let expected = [
            // Below what was measured it is as if nobody had; few elements have the original.
            (10, Route::Original),
            (31, Route::Native),
            (100, Route::Native),
            (300, Route::Native),
            // Between two that are of several minds, and beyond where the original won.
            (600, Route::Faster),
            (5000, Route::Original),
            (10_000, Route::Faster),
        ];
        for (size, route) in expected {
            assert_eq!(k.faster(size), route, "{size}");
        }
    });
}

/// What calls see at a glance follows what is chosen and found out.
#[test]
fn small_calls_have_the_original_until_something_else_is_chosen() {
    let name = "small_calls_have_the_original_until_something_else_is_chosen";
    alone(name, "auto", "", || {
        let k = kernel!("f", [target("cpu", Code::Native)]);
        assert!(!k.is_for_original(10), "nothing is decided yet");
        (0..1000).for_each(|_| call(k, 10));
        assert!(k.is_for_original(10) && !k.is_for_original(5000));
        assert_eq!(report(k).calls, (1001, 0));
        // Large ones are tried, three times each, or more often where they take so little.
        while k.faster(5000) == Route::Faster {
            call(k, 5000);
        }
        let (by_original, by_native) = report(k).calls;
        assert!([3, 8].contains(&by_native), "{by_native}");
        let found = k.faster(5000);
        assert_eq!(by_original, 1001 + by_native);
        assert_eq!(k.is_for_original(5000), found == Route::Original);
        let before = report(k).calls;
        tensorize_rt::set_choice(Choice::Target("cpu".into()));
        (0..10).for_each(|_| call(k, 10));
        call(k, 5000);
        assert_eq!(report(k).calls, (before.0, before.1 + 11));
        tensorize_rt::set_choice(Choice::Shadow(None));
        call(k, 10);
        assert_eq!(report(k).compared, 1);
        tensorize_rt::set_choice(Choice::Off);
        call(k, 1 << 20);
        assert!(k.is_for_original(10) && k.is_for_original(1 << 20));
        assert!(!k.is_for_original(i64::MIN) || k.route() == Route::Original);
        tensorize_rt::set_choice(Choice::Auto);
        call(k, 10);
        assert!(k.is_for_original(10) && !k.is_for_original(1 << 20));
    });
}

/// A class that the original has is timed again after so many calls, and calls do not pass over that.
#[test]
fn what_the_original_won_is_timed_again() {
    let name = "what_the_original_won_is_timed_again";
    alone(name, "auto", "", || {
        let k = kernel!("f", [target("cpu", Code::Native)]);
        let slowly = || std::thread::sleep(std::time::Duration::from_millis(1));
        k.route();
        (0..16).for_each(|_| k.run_faster(5000, slowly, || ()));
        assert!(k.is_for_original(5000));
        let calls = (1..1 << 15).take_while(|_| k.is_for_original(5000)).count();
        assert!((1 << 13..1 << 14).contains(&calls), "{calls}");
        assert_eq!(k.faster(5000), Route::Original);
        k.count_original();
        assert!(!k.is_for_original(5000) && k.faster(5000) == Route::Faster);
        assert!(k.is_for_original(10), "other sizes are as they were");
        (0..16).for_each(|_| k.run_faster(5000, || (), slowly));
        assert!(!k.is_for_original(5000) && k.faster(5000) == Route::Native);
    });
}

/// A size that the original has is seen at a glance after some calls, wherever between others it lies.
#[test]
fn sizes_beyond_those_that_nobody_calls_with_are_known_at_a_glance() {
    let name = "sizes_beyond_those_that_nobody_calls_with_are_known_at_a_glance";
    alone(name, "auto", "", || {
        let k = kernel!("f", [target("cpu", Code::Native)]);
        let slowly = || std::thread::sleep(std::time::Duration::from_millis(1));
        k.route();
        (0..16).for_each(|_| k.run_faster(5000, slowly, || ()));
        assert!(k.is_for_original(5000) && !k.is_for_original(10));
        // It is forgotten, not found out anew.
        tensorize_rt::set_choice(Choice::Auto);
        call(k, 10);
        assert!(k.is_for_original(10) && !k.is_for_original(5000));
        let seen = (0..1000).take_while(|_| !k.is_for_original(5000));
        let in_full = seen.inspect(|_| call(k, 5000)).count();
        assert!((1..=256).contains(&in_full), "{in_full}");
        assert!(!k.is_for_original(1 << 20));
    });
}

/// Whoever chooses while others call has what was chosen, once it is chosen.
#[test]
fn no_call_brings_an_old_choice_back() {
    let name = "no_call_brings_an_old_choice_back";
    alone(name, "auto", "", || {
        let k = kernel!("f", [target("cpu", Code::Native)]);
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        k.route();
                        k.run_faster(5000, || (), || ());
                    }
                });
            }
            for _ in 0..2000 {
                tensorize_rt::set_choice(Choice::Auto);
                std::hint::black_box(k.is_for_original(10));
                tensorize_rt::set_choice(Choice::Target("cpu".into()));
                assert!(!k.is_for_original(10));
                assert_eq!(k.route(), Route::Native);
                assert!(!k.is_for_original(10));
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    });
}
