// Written by tensorize-build.
#[allow(unsafe_code, missing_docs, dead_code, non_snake_case, non_upper_case_globals, unused, clippy::all)]
mod generated {
    use ::tensorize_rt as rt;

    static __KERNEL_halve: rt::Kernel = rt::Kernel::new(
        "halve", ("kernels/halve.c", 5), Some(rt::Tier::Exact),
        &["cols*rows >= 0", "cols*rows fits i32", "out[0 .. cols*rows] disjoint in[0 .. cols*rows]"],
        None,
        &[rt::Target { name: "cpu", tier: rt::Tier::Exact, code: rt::Code::Native },
            rt::Target { name: "numpy", tier: rt::Tier::Exact, code: rt::Code::Absent { why: "it has no \"halves\"" } }],
    ).with_hash("6b1c");

    #[inline(always)]
    fn guards_halve(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> Option<()> {
        let cols = rt::int(cols)?;
        let rows = rt::int(rows)?;
        // cols*rows >= 0
        if !(cols.checked_mul(rows)? >= 0) { return None; }
        // cols*rows fits i32
        if !({ let value = cols.checked_mul(rows)?; value >= -2147483648 && value <= 2147483647 }) { return None; }
        // out[0 .. cols*rows] disjoint in[0 .. cols*rows]
        if !(rt::apart(out.cast_const(), 0i64, cols.checked_mul(rows)?, r#in.cast_mut().cast_const(), 0i64, cols.checked_mul(rows)?)?) { return None; }
        // cols*rows - 1 fits i64
        if !(cols.checked_mul(rows)?.checked_sub(1i64)? >= i64::MIN) { return None; }
        Some(())
    }

    #[cold]
    #[inline(never)]
    fn failing_halve(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> &'static str {
        if (|| { let cols = rt::int(cols)?; let rows = rt::int(rows)?; Some(cols.checked_mul(rows)? >= 0) })() != Some(true) { return "a guard does not hold: cols*rows >= 0"; }
        if (|| { let cols = rt::int(cols)?; let rows = rt::int(rows)?; Some({ let value = cols.checked_mul(rows)?; value >= -2147483648 && value <= 2147483647 }) })() != Some(true) { return "a guard does not hold: cols*rows fits i32"; }
        if (|| { let cols = rt::int(cols)?; let rows = rt::int(rows)?; Some(rt::apart(out.cast_const(), 0i64, cols.checked_mul(rows)?, r#in.cast_mut().cast_const(), 0i64, cols.checked_mul(rows)?)?) })() != Some(true) { return "a guard does not hold: out[0 .. cols*rows] disjoint in[0 .. cols*rows]"; }
        if (|| { let cols = rt::int(cols)?; let rows = rt::int(rows)?; Some(cols.checked_mul(rows)?.checked_sub(1i64)? >= i64::MIN) })() != Some(true) { return "a guard does not hold: cols*rows - 1 fits i64"; }
        "its sizes are too large"
    }

    #[inline(always)]
    fn size_halve(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> i64 {
        let size = || -> Option<i64> {
            let cols = rt::int(cols)?;
            let rows = rt::int(rows)?;
            Some(cols.checked_mul(rows)?.checked_add(cols.checked_mul(rows)?)?)
        };
        size().unwrap_or(i64::MAX)
    }

    fn arrays_halve(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> Option<[rt::Array; 2]> {
        let cols = rt::int(cols)?;
        let rows = rt::int(rows)?;
        Some([
            rt::Array { name: "in", pointer: r#in.cast_mut().cast(), elem: rt::Elem::U8, lo: 0i64, hi: cols.checked_mul(rows)?, writes: false, depends_on_data: false, members: None },
            rt::Array { name: "out", pointer: out.cast(), elem: rt::Elem::U8, lo: 0i64, hi: cols.checked_mul(rows)?, writes: true, depends_on_data: false, members: None },
        ])
    }

    static __KERNEL_twice: rt::Kernel = rt::Kernel::new(
        "twice", ("kernels/halve.c", 20), None,
        &[],
        Some("it has changed since it was proven"),
        &[],
    ).with_hash("6b1c");

    static __LIBRARY: rt::Library = rt::Library::new(&[&__KERNEL_halve, &__KERNEL_twice, ]);

    #[used]
    #[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    #[cfg_attr(windows, unsafe(link_section = ".CRT$XCU"))]
    static __REGISTER: extern "C" fn() = {
        extern "C" fn register() { __LIBRARY.register(); }
        register
    };

    /// The C functions under their own names.
    pub mod sys {
        use super::rt;
        unsafe extern "C" {
            fn halve__tensorize_original(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int);
            fn halve__cpu(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int);
        }

        /// `halve` in kernels/halve.c: the original, or code that was generated from its proven summary.
        ///
        /// # Safety
        /// As in C.
        #[unsafe(export_name = "halve")]
        pub unsafe extern "C" fn halve(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) {
            // Before all else: a call that is too small for generated code shall cost no more than that.
            if super::__KERNEL_halve.is_for_original(super::size_halve(r#in, out, rows, cols)) {
                return unsafe { halve__tensorize_original(r#in, out, rows, cols) };
            }
            unsafe { halve__tensorize_otherwise(r#in, out, rows, cols) }
        }

        #[inline(never)]
        unsafe extern "C" fn halve__tensorize_otherwise(r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) {
            let kernel = &super::__KERNEL_halve;
            let mut route = kernel.route();
            if route == rt::Route::Faster { route = kernel.faster(super::size_halve(r#in, out, rows, cols)); }
            if route != rt::Route::Original {
                if super::guards_halve(r#in, out, rows, cols).is_none() {
                    kernel.count_guard_failed(super::failing_halve(r#in, out, rows, cols));
                } else if route == rt::Route::Native {
                    kernel.count_native();
                    return unsafe { halve__cpu(r#in, out, rows, cols) };
                } else {
                    return unsafe { halve__tensorize_longer(route, r#in, out, rows, cols) };
                }
            }
            kernel.count_original();
            unsafe { halve__tensorize_original(r#in, out, rows, cols) }
        }

        // What takes its time, out of the way of what doesn't.
        #[cold]
        #[inline(never)]
        unsafe fn halve__tensorize_longer(route: rt::Route, r#in: *const u8, out: *mut u8, rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) {
            let kernel = &super::__KERNEL_halve;
            if route == rt::Route::Faster {
                return kernel.run_faster(
                    super::size_halve(r#in, out, rows, cols),
                    || unsafe { halve__cpu(r#in, out, rows, cols) },
                    || unsafe { halve__tensorize_original(r#in, out, rows, cols) },
                );
            }
            let arrays = super::arrays_halve(r#in, out, rows, cols);
            unsafe {
                rt::run_elsewhere(
                    kernel,
                    rt::Extent { size: super::size_halve(r#in, out, rows, cols), movable: true },
                    arrays.as_ref().map(|a| a.as_slice()),
                    &[rt::Argument::Array, rt::Argument::Array, rt::Argument::of(rows), rt::Argument::of(cols), ],
                    |p| unsafe { halve__tensorize_original(p[0].cast(), p[1].cast(), rows, cols, ) },
                    |target, p| match target {
                        "cpu" => unsafe { halve__cpu(p[0].cast(), p[1].cast(), rows, cols, ) },
                        _ => unsafe { halve__tensorize_original(p[0].cast(), p[1].cast(), rows, cols, ) },
                    },
                    &[r#in.cast_mut().cast(), out.cast(), ],
                )
            }
        }
        unsafe extern "C" {
            /// `twice` in kernels/halve.c.
            #[link_name = "twice"]
            pub fn twice(x: *mut f32, n: usize);
        }
    }

    /// `halve` on slices, whose lengths are checked against what is proven that it touches.
    #[inline]
    pub fn halve(r#in: &[u8], out: &mut [u8], rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> Result<(), rt::Error> {
        if halve__tensorize_check::<rt::AtAGlance>(r#in, out, rows, cols).is_err() {
            return halve__tensorize_in_full(r#in, out, rows, cols);
        }
        // SAFETY: the slices hold every element that the kernel touches at these sizes, and those that
        // are written overlap with no other.
        Ok(unsafe { sys::halve(r#in.as_ptr(), out.as_mut_ptr(), rows, cols) })
    }

    // Of what does not pass at a glance, some passes all the same, and for the rest there is an error.
    #[cold]
    #[inline(never)]
    fn halve__tensorize_in_full(r#in: &[u8], out: &mut [u8], rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> Result<(), rt::Error> {
        halve__tensorize_check::<rt::InFull>(r#in, out, rows, cols)?;
        // SAFETY: the slices hold every element that the kernel touches at these sizes, and those that
        // are written overlap with no other.
        Ok(unsafe { sys::halve(r#in.as_ptr(), out.as_mut_ptr(), rows, cols) })
    }

    #[inline(always)]
    fn halve__tensorize_check<C: rt::Check>(r#in: &[u8], out: &[u8], rows: ::core::ffi::c_int, cols: ::core::ffi::c_int) -> Result<(), C::Error> {
        C::hold("halve", "cols*rows >= 0", (|| {
            let cols = rt::int(cols)?;
            let rows = rt::int(rows)?;
            Some(cols.checked_mul(rows)? >= 0)
            })())?;
        C::hold("halve", "cols*rows fits i32", (|| {
            let cols = rt::int(cols)?;
            let rows = rt::int(rows)?;
            Some({ let value = cols.checked_mul(rows)?; value >= -2147483648 && value <= 2147483647 })
            })())?;
        // in[0 .. cols*rows]
        C::fit("halve", "in", (|| {
            let cols = rt::int(cols)?;
            let rows = rt::int(rows)?;
            Some((0i64, cols.checked_mul(rows)?))
            })(), r#in.len())?;
        // out[0 .. cols*rows]
        C::fit("halve", "out", (|| {
            let cols = rt::int(cols)?;
            let rows = rt::int(rows)?;
            Some((0i64, cols.checked_mul(rows)?))
            })(), out.len())?;
        Ok(())
    }

    /// `twice` can't be called safely.
    pub fn twice(x: impl rt::AnySlice<f32>, n: usize) -> Result<(), rt::Error> {
        Err(rt::Error::NotProven { kernel: "twice", why: "it has changed since it was proven" })
    }

}
// A program may call its kernels from C alone.
#[allow(unused_imports)]
pub use generated::*;
