//! What the worker may do wrong: whatever it is, the original answers and the program goes on.

#![cfg(unix)]
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::process::Command;
use tensorize_rt::{
    Argument, Array, Code, Elem, Extent, Kernel, KernelReport, Library, Target, Tier,
};

/// Each test is a process of its own, since a worker that failed is not started again.
fn alone(name: &str, env: &[(&str, &str)], test: impl FnOnce()) {
    if std::env::var("ALONE").is_ok_and(|n| n == name) {
        return test();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env("ALONE", name)
        .env("TENSORIZE", "numpy")
        .envs(env.iter().copied())
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&text)
    );
}

macro_rules! kernel {
    ($name:literal, $source:literal) => {{
        static KERNEL: Kernel = Kernel::new(
            $name,
            ("test.c", 1),
            Some(Tier::Exact),
            &[],
            None,
            &[Target {
                name: "numpy",
                tier: Tier::Exact,
                code: Code::Python {
                    source: concat!("import os, time\nimport numpy as np\n", $source),
                    entry: "f",
                },
            }],
        );
        static LIBRARY: Library = Library::new(&[&KERNEL]);
        LIBRARY.register();
        &KERNEL
    }};
}

/// What the original does: `x[i] += a`, and it returns the first.
fn original(x: *mut u8, len: i64, a: u8) -> u8 {
    (0..len as usize).for_each(|i| unsafe { *x.add(i) += a });
    unsafe { *x }
}

fn call(kernel: &'static Kernel, x: *mut u8, len: i64, depends_on_data: bool) -> u8 {
    let array = Array {
        name: "x",
        pointer: x.cast(),
        elem: Elem::U8,
        lo: 0,
        hi: len,
        writes: true,
        depends_on_data,
        members: None,
    };
    let f = |p: &[*mut c_void]| original(p[0].cast(), 4, 10);
    unsafe {
        tensorize_rt::run_elsewhere(
            kernel,
            Extent {
                size: len,
                movable: true,
            },
            Some(&[array]),
            &[Argument::Array, Argument::of(10u8)],
            f,
            |_, p| f(p),
            &[x.cast()],
        )
    }
}

/// Calls it on `[1, 2, 3, 4]`; the result must be right whoever answers.
fn answers(kernel: &'static Kernel) {
    let mut x = [1, 2, 3, 4, 5];
    assert_eq!(call(kernel, x.as_mut_ptr(), 4, false), 11);
    assert_eq!(x, [11, 12, 13, 14, 5]);
}

fn report(kernel: &Kernel) -> KernelReport {
    tensorize_rt::report()
        .into_iter()
        .find(|r| r.name == kernel.name)
        .unwrap()
}

fn why(kernel: &Kernel) -> String {
    report(kernel).why.unwrap_or_default()
}

fn good() -> &'static Kernel {
    kernel!(
        "good",
        "def f(x, a):\n    print('noise')\n    x += np.uint8(a)\n    return x[0]\n"
    )
}

#[test]
fn it_answers() {
    alone("it_answers", &[], || {
        (0..3).for_each(|_| answers(good()));
        assert_eq!(report(good()).calls, (0, 3), "{}", why(good()));
    });
}

#[test]
fn killed_in_the_middle() {
    alone("killed_in_the_middle", &[], || {
        let k = kernel!(
            "suicide",
            "def f(x, a):\n    x[:2] = 99\n    os.kill(os.getpid(), 9)\n"
        );
        answers(k);
        answers(k);
        answers(good());
        assert_eq!(report(k).calls, (2, 0));
        assert!(why(k).contains("signal 9"), "{}", why(k));
        assert!(why(good()).contains("signal 9"), "{}", why(good()));
    });
}

#[test]
fn it_hangs() {
    alone("it_hangs", &[("TENSORIZE_TIMEOUT", "3")], || {
        let k = kernel!(
            "sleepy",
            "def f(x, a):\n    x[:2] = 99\n    time.sleep(1000)\n"
        );
        answers(k);
        assert!(why(k).contains("no answer within 3 s"), "{}", why(k));
    });
}

#[test]
fn an_exception_takes_out_one_kernel() {
    alone("an_exception_takes_out_one_kernel", &[], || {
        let k = kernel!(
            "raising",
            "def f(x, a):\n    x[:2] = 99\n    raise ValueError('of no use')\n"
        );
        answers(k);
        answers(k);
        answers(good());
        assert!(why(k).contains("ValueError: of no use"), "{}", why(k));
        assert_eq!(report(good()).target, "numpy");
    });
}

#[test]
fn out_of_memory() {
    alone("out_of_memory", &[], || {
        let k = kernel!(
            "greedy",
            "import resource\ndef f(x, a):\n    x[:2] = 99\n    resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))\n    \
             x += np.ones(1 << 32, np.uint8)[:4]\n    return x[0]\n"
        );
        answers(k);
        assert_eq!(report(k).calls, (1, 0));
        assert!(why(k).contains("MemoryError"), "{}", why(k));
    });
}

#[test]
fn a_framework_that_is_not_there_takes_out_its_kernels_alone() {
    let name = "a_framework_that_is_not_there_takes_out_its_kernels_alone";
    alone(name, &[], || {
        let k = kernel!(
            "elsewhere",
            "import no_such_framework\ndef f(x, a):\n    return x[0]\n"
        );
        answers(k);
        assert!(
            why(k).contains("No module named 'no_such_framework'"),
            "{}",
            why(k)
        );
        answers(good());
        assert_eq!(report(good()).target, "numpy");
    });
}

#[test]
fn modules_that_are_none() {
    alone("modules_that_are_none", &[], || {
        let broken = kernel!("broken", "def f(x, a:\n");
        let other = kernel!("other", "def g(x, a):\n    return x[0]\n");
        let wide = kernel!("wide", "def f(x, a):\n    return 11\n");
        for (k, expected) in [
            (broken, "SyntaxError"),
            (other, "KeyError"),
            (wide, "TypeError: returned int64"),
        ] {
            answers(k);
            assert!(why(k).contains(expected), "{}", why(k));
        }
        answers(good());
        assert_eq!(report(good()).target, "numpy");
    });
}

#[test]
fn no_numpy() {
    alone(
        "no_numpy",
        &[(
            "PYTHONPATH",
            concat!(env!("CARGO_MANIFEST_DIR"), "/tests/no_numpy"),
        )],
        || {
            answers(good());
            assert!(
                why(good()).contains("ImportError: not today"),
                "{}",
                why(good())
            );
        },
    );
}

/// The original would not read all of it; to try is no crash, and the next call is the worker's again.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_is_not_there() {
    alone("memory_that_is_not_there", &[], || {
        let mut x = [1, 2, 3, 4];
        assert_eq!(call(good(), x.as_mut_ptr(), 1 << 28, true), 11);
        assert_eq!(x, [11, 12, 13, 14]);
        assert!(!why(good()).is_empty());
        answers(good());
        assert_eq!(report(good()).calls, (1, 1));
    });
}

#[test]
fn a_shadow_run_finds_a_difference_and_the_original_answers() {
    let name = "a_shadow_run_finds_a_difference_and_the_original_answers";
    alone(name, &[("TENSORIZE", "shadow=numpy")], || {
        let k = kernel!(
            "wrong",
            "def f(x, a):\n    x += np.uint8(a)\n    x[1] = 0\n    return x[1]\n"
        );
        answers(k);
        answers(good());
        let r = report(k);
        assert_eq!((r.compared, r.differed), (1, 1));
        assert_eq!(
            r.differences[0],
            "numpy: x[1] is 0.0 and 12.0 in the original"
        );
        assert_eq!(
            r.differences[1],
            "numpy: the result is 0.0 and 11.0 in the original"
        );
        assert_eq!(report(good()).differed, 0);
    });
}
