//! The table of NEON, with Debian's cross compiler and QEMU.

use super::*;

struct Neon;

impl Machine for Neon {
    const HEADER: &'static str = "arm_neon.h";
    const COMPILER: &'static [&'static str] = &[
        "aarch64-linux-gnu-gcc",
        "-static",
        "-march=armv8.2-a+dotprod",
    ];
    const RUNNER: Option<&'static str> = Some("qemu-aarch64");

    fn missing() -> Option<&'static str> {
        [Self::COMPILER[0], "qemu-aarch64"]
            .into_iter()
            .find(|tool| {
                let asked = Command::new(tool).arg("--version").output();
                !asked.is_ok_and(|o| o.status.success())
            })
    }

    fn has(i: &Intrinsic) -> bool {
        i.neon
    }

    fn left_out(_: &Intrinsic) -> bool {
        false
    }

    /// Numbers of lanes, or counts: the ends of what there is, and what lies between.
    fn constants(i: &Intrinsic) -> Vec<i32> {
        let at = i.params.iter().position(|(t, _)| *t == Type::Constant);
        let before = at.and_then(|at| i.params.get(at.wrapping_sub(1)));
        let Some((Type::Vector(e, n), _)) = before else {
            panic!("'{}': a constant after no vector", i.name);
        };
        let (bits, n) = (e.bits() as i32, *n as i32);
        let has = |word: &str| i.name.contains(word);
        let mut all = match () {
            () if has("_lane") || has("vext") => vec![0, 1, n / 2, n - 1],
            () if has("vcvt") => vec![1, 7, 32],
            () if has("shl") => vec![0, 1, bits / 2, bits - 1],
            () if ["rn_n", "run_n", "rn_high_n", "run_high_n"]
                .into_iter()
                .any(has) =>
            {
                vec![1, 2, bits / 2]
            }
            () => vec![1, 2, bits - 1, bits],
        };
        all.retain(|k| !has("_lane") && !has("vext") || *k < n);
        all.sort_unstable();
        all.dedup();
        all
    }

    fn attribute(_: &Intrinsic) -> String {
        String::new()
    }

    fn load(t: Type, array: &str) -> String {
        let Type::Registers(e, n, k) = t else {
            return format!("vld1{}({array})", suffix(t));
        };
        let one = |r| Self::load(Type::Vector(e, n), &format!("{array} + {}", r * n));
        let all: Vec<String> = (0..k).map(one).collect();
        format!("({}){{{{{}}}}}", c_type(t, true, false), all.join(", "))
    }

    fn store(t: Type, value: &str) -> String {
        let Type::Registers(e, n, k) = t else {
            return format!("vst1{}(out, {value});", suffix(t));
        };
        let mut text = format!("{} r = {value};", c_type(t, true, false));
        for r in 0..k {
            let suffix = suffix(Type::Vector(e, n));
            text += &format!(" vst1{suffix}(out + {}, r.val[{r}]);", r * n);
        }
        text
    }
}

/// What the names of the functions for a register end with.
fn suffix(t: Type) -> String {
    let Type::Vector(e, n) = t else {
        panic!("{t:?} is no register");
    };
    let quad = if n * e.bits() as usize == 128 {
        "q"
    } else {
        ""
    };
    let kind = match e {
        e if e.is_float() => "f",
        e if e.is_signed() => "s",
        _ => "u",
    };
    format!("{quad}_{kind}{}", e.bits())
}

#[test]
fn the_processor_agrees_with_the_table() {
    the_processor_agrees::<Neon>();
}

#[test]
fn a_wrong_line_is_found() {
    wrong_lines_are_found::<Neon>();
}
