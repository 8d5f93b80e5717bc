//! What a device, its driver or its compiler may do wrong: whatever it is, the original answers and the program goes on.

#![allow(unsafe_code)]

use std::ffi::c_void;
use std::process::Command;
use tensorize_rt::{
    Api, Argument, Array, Code, Elem, Extent, Kernel, KernelReport, Library, Target, Tier,
    run_elsewhere,
};

/// Each test is a process of its own, since a driver that failed is not tried again.
fn alone(name: &str, target: &str, env: &[(&str, &str)], test: impl FnOnce()) {
    if std::env::var("ALONE").is_ok_and(|n| n == name) {
        return test();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env("ALONE", name)
        .env("TENSORIZE", target)
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
    ($name:literal, $api:ident, $source:expr, $kernels:expr) => {{
        const NAME: &str = match Api::$api {
            Api::OpenCl => "opencl",
            Api::Cuda => "cuda",
        };
        static KERNEL: Kernel = Kernel::new(
            $name,
            ("test.c", 1),
            Some(Tier::Exact),
            &[],
            None,
            &[Target {
                name: NAME,
                tier: Tier::Exact,
                code: Code::Device {
                    api: Api::$api,
                    source: $source,
                    kernels: $kernels,
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
    // SAFETY: `call` says so.
    unsafe {
        (0..len as usize).for_each(|i| *x.add(i) += a);
        *x
    }
}

/// Calls it for four elements, of which `len` might be touched.
fn call(kernel: &'static Kernel, x: *mut u8, len: i64) -> u8 {
    let array = Array {
        name: "x",
        pointer: x.cast(),
        elem: Elem::U8,
        lo: 0,
        hi: len,
        writes: true,
        depends_on_data: false,
        members: None,
    };
    let f = |p: &[*mut c_void]| original(p[0].cast(), 4, 10);
    // SAFETY: `x` has as many elements.
    unsafe {
        run_elsewhere(
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
    assert_eq!(call(kernel, x.as_mut_ptr(), 4), 11);
    assert_eq!(x, [11, 12, 13, 14, 5]);
}

fn report(kernel: &Kernel) -> KernelReport {
    let mut reports = tensorize_rt::report().into_iter();
    reports.find(|r| r.name == kernel.name).unwrap()
}

/// The original answered all of so many calls, for this reason.
fn by_the_original(kernel: &Kernel, calls: u64, expected: &str) {
    let r = report(kernel);
    let why = r.why.unwrap_or_default();
    assert_eq!(r.calls, (calls, 0), "{why}");
    assert!(why.contains(expected), "{why}");
}

#[cfg(not(feature = "opencl"))]
#[test]
fn built_without_opencl() {
    alone("built_without_opencl", "opencl", &[], || {
        let k = kernel!("without", OpenCl, "", &["f"]);
        answers(k);
        by_the_original(k, 1, "built without the feature `opencl`");
    });
}

#[cfg(not(feature = "cuda"))]
#[test]
fn built_without_cuda() {
    alone("built_without_cuda", "cuda", &[], || {
        let k = kernel!("without", Cuda, "", &["f"]);
        answers(k);
        by_the_original(k, 1, "built without the feature `cuda`");
    });
}

/// On a machine without NVIDIA's driver, and on one where its devices are hidden.
#[cfg(feature = "cuda")]
#[test]
fn no_cuda_device() {
    let hidden = [("CUDA_VISIBLE_DEVICES", "")];
    alone("no_cuda_device", "cuda", &hidden, || {
        let k = kernel!("nowhere", Cuda, "", &["f"]);
        answers(k);
        answers(k);
        by_the_original(k, 2, "CUDA");
    });
}

#[cfg(feature = "opencl")]
#[test]
fn an_opencl_library_that_is_none() {
    let folder = std::env::temp_dir().join(format!("no-opencl-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("libOpenCL.so.1"), "no library").unwrap();
    let env = [("LD_LIBRARY_PATH", folder.to_str().unwrap())];
    alone("an_opencl_library_that_is_none", "opencl", &env, || {
        let k = kernel!("without", OpenCl, "", &["f"]);
        answers(k);
        by_the_original(k, 1, "the OpenCL library can't be loaded");
    });
    std::fs::remove_dir_all(&folder).ok();
}

/// These need a driver: PoCL's will do.
#[cfg(feature = "opencl")]
mod opencl {
    use super::*;
    use tensorize_rt::Route;

    /// `x[i] += a`, and the first of them, in two kernels.
    const GOOD: &str = "
        __kernel void add_to_all(__global uchar *x, long origin, uchar a, __global long *kept, __global uchar *result)
        {
            if (get_global_id(0) == 0) { for (int i = 0; i < 4; i++) x[i] += a; kept[5] = x[0]; }
        }
        __kernel void first_of_all(__global uchar *x, long origin, uchar a, __global long *kept, __global uchar *result)
        {
            if (get_global_id(0) == 0) result[0] = kept[5];
        }";

    fn good() -> &'static Kernel {
        kernel!("good", OpenCl, GOOD, &["add_to_all", "first_of_all"])
    }

    #[test]
    fn it_answers() {
        alone("opencl::it_answers", "opencl", &[], || {
            (0..3).for_each(|_| answers(good()));
            let r = report(good());
            assert_eq!(r.calls, (0, 3), "{:?}", r.why);
            assert_eq!(r.target, "opencl");
        });
    }

    #[test]
    fn it_is_ready_ahead_of_time() {
        alone("opencl::it_is_ready_ahead_of_time", "opencl", &[], || {
            let broken = kernel!("broken", OpenCl, "__kernel void f(", &["f"]);
            good();
            tensorize_rt::warm_up();
            answers(broken);
            by_the_original(broken, 1, "it does not compile");
            answers(good());
            assert_eq!(report(good()).calls, (0, 1));
        });
    }

    /// `auto` has it where somebody has measured that it wins, and the program has had it started.
    #[test]
    fn it_is_chosen_where_it_was_measured_to_be_the_fastest() {
        let name = "opencl::it_is_chosen_where_it_was_measured_to_be_the_fastest";
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tuned");
        std::fs::write(&file, "good - 3 original 90 opencl 10\n").unwrap();
        let known = [("TENSORIZE_TUNED", file.to_str().unwrap())];
        alone(name, "auto", &known, || {
            assert_eq!(good().route(), Route::Original);
            answers(good());
            assert_eq!(report(good()).calls.1, 0);
            tensorize_rt::warm_up();
            assert_eq!(good().route(), Route::Faster);
            answers(good());
            let r = report(good());
            assert_eq!((r.target, r.calls.1), ("opencl", 1), "{:?}", r.why);
        });
    }

    #[test]
    fn code_that_is_none_takes_out_its_kernel_alone() {
        let name = "opencl::code_that_is_none_takes_out_its_kernel_alone";
        alone(name, "opencl", &[], || {
            let broken = kernel!(
                "broken",
                OpenCl,
                "__kernel void f(__global int *x) { x[0] = nonsense; }",
                &["f"]
            );
            let demanding = kernel!(
                "demanding",
                OpenCl,
                "#error this device is too small\n",
                &["f"]
            );
            let other = kernel!(
                "other",
                OpenCl,
                "__kernel void g(__global uchar *x) { x[0] = 99; }",
                &["f"]
            );
            let short = kernel!(
                "short",
                OpenCl,
                "__kernel void f(__global uchar *x) { x[0] = 99; }",
                &["f"]
            );
            for (k, expected) in [
                (broken, "nonsense"),
                (demanding, "this device is too small"),
                (other, "a kernel is not there"),
                (short, "it does not take its argument 1"),
            ] {
                answers(k);
                answers(k);
                by_the_original(k, 2, expected);
            }
            answers(good());
            assert_eq!(report(good()).calls, (0, 1));
        });
    }

    /// What the driver refuses is a command, not the code.
    #[test]
    fn a_command_that_fails() {
        alone("opencl::a_command_that_fails", "opencl", &[], || {
            let refused = kernel!(
                "refused",
                OpenCl,
                "__kernel __attribute__((reqd_work_group_size(7, 1, 1)))
                void f(__global uchar *x, long origin, uchar a, __global long *kept, __global uchar *result)
                {
                    x[0] = 99;
                }",
                &["f"]
            );
            answers(refused);
            answers(refused);
            by_the_original(refused, 2, "WORK_GROUP_SIZE");
            // A device that failed is asked nothing more.
            answers(good());
            by_the_original(good(), 1, "WORK_GROUP_SIZE");
        });
    }

    #[test]
    fn no_driver() {
        let env = [
            ("OCL_ICD_VENDORS", "/nowhere"),
            ("OPENCL_VENDOR_PATH", "/nowhere"),
        ];
        alone("opencl::no_driver", "opencl", &env, || {
            answers(good());
            answers(good());
            by_the_original(good(), 2, "there is no OpenCL driver");
        });
    }

    #[test]
    fn no_such_device() {
        let env = [("TENSORIZE_OPENCL_DEVICE", "abacus")];
        alone("opencl::no_such_device", "opencl", &env, || {
            answers(good());
            by_the_original(good(), 1, "no OpenCL device's name has `abacus` in it");
        });
    }

    /// What does not come to an end is waited for once, and the program ends in spite of it.
    #[test]
    fn it_hangs() {
        let env = [("TENSORIZE_TIMEOUT", "2")];
        alone("opencl::it_hangs", "opencl", &env, || {
            let endless = kernel!(
                "endless",
                OpenCl,
                "__kernel void f(__global uchar *x, long origin, uchar a, __global long *kept, __global uchar *result)
                {
                    volatile __global uchar *y = x;
                    while (y[0] != 0) y[1] = 99;
                }",
                &["f"]
            );
            answers(good());
            answers(endless);
            answers(endless);
            by_the_original(endless, 2, "no answer within 2 s");
            // The device is still at it.
            answers(good());
            let r = report(good());
            assert_eq!(r.calls, (1, 1), "{:?}", r.why);
        });
    }

    /// The call that is too large is the original's, and the next one is the device's again.
    #[test]
    fn out_of_memory() {
        let env = [("POCL_MEMORY_LIMIT", "1")];
        alone("opencl::out_of_memory", "opencl", &env, || {
            let mut x = vec![0u8; 3 << 27];
            x[..4].copy_from_slice(&[1, 2, 3, 4]);
            assert_eq!(call(good(), x.as_mut_ptr(), x.len() as i64), 11);
            assert_eq!(x[..5], [11, 12, 13, 14, 0]);
            by_the_original(good(), 1, "the device has not enough memory");
            answers(good());
            assert_eq!(report(good()).calls, (1, 1));
        });
    }
}
