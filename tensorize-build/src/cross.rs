//! Builds for another machine than the one that compiles.
//!
//! Results are found out on the machine that compiles, and hold for another one if C means the same there:
//! [`crate::current`] decides that by hashes. Here is what cargo says of the two, and what to tell the user.

use std::env;

/// The two machines, as cargo tells a build script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cross {
    host: String,
    target: String,
    /// `32` or `64`.
    pointer_width: String,
    /// `little` or `big`.
    endian: String,
    /// Such as `windows`.
    os: String,
}

impl Cross {
    /// `None` if they are the same.
    pub(crate) fn of_cargo() -> Option<Cross> {
        let var = |name: &str| env::var(name).ok();
        let of_target = |name: &str| var(&format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
        let cross = Cross {
            host: var("HOST")?,
            target: var("TARGET")?,
            pointer_width: of_target("POINTER_WIDTH"),
            endian: of_target("ENDIAN"),
            os: of_target("OS"),
        };
        (cross.host != cross.target).then_some(cross)
    }

    /// Whether numbers are as large there as on all machines that `cargo tensorize` runs on, and lie in memory in the same
    /// way.
    pub(crate) fn has_like_numbers(&self) -> bool {
        self.difference().is_none()
    }

    fn difference(&self) -> Option<&'static str> {
        match (&*self.pointer_width, &*self.endian, &*self.os) {
            (_, "big", _) => Some("the bytes of a number lie in the other order"),
            (width, ..) if width != "64" => Some("pointers and `long` have other sizes"),
            (.., "windows") if !self.host.contains("windows") => Some("`long` has 32 bits"),
            _ => None,
        }
    }

    /// What to say of these kernels, which have no result that holds there.
    pub(crate) fn without_result(&self, kernels: &str) -> String {
        let target = &self.target;
        let originals = format!("for {target} the original C of {kernels} is compiled alone");
        match self.difference() {
            Some(why) => format!(
                "{originals}: results are found out on {}, and on {target} {why}",
                self.host
            ),
            None => format!(
                "{originals}: there is no result that holds there; run `cargo tensorize`, and if that changes nothing, \
                 the kernel is not proven, or it is other C there (`#if`, plain `char`)"
            ),
        }
    }

    /// Flags that mean the machine that compiles.
    pub(crate) fn objection_to(&self, flags: &[String]) -> Option<String> {
        let native = flags.iter().find(|f| f.ends_with("=native"))?;
        Some(format!(
            "the flag {native} means the processor of the machine that compiles, and this is a build for {}: in build.rs, \
             add it only where the environment's HOST and TARGET are the same",
            self.target
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(target: &str, pointer_width: &str, endian: &str) -> Cross {
        Cross {
            host: "x86_64-unknown-linux-gnu".into(),
            target: target.into(),
            pointer_width: pointer_width.into(),
            endian: endian.into(),
            os: if target.contains("windows") {
                "windows"
            } else {
                "linux"
            }
            .into(),
        }
    }

    #[test]
    fn machines_with_other_numbers_are_told_apart() {
        let said = |target, width, endian| to(target, width, endian).without_result("k.c::f");
        assert!(to("aarch64-unknown-linux-gnu", "64", "little").has_like_numbers());
        for (target, width, endian, why) in [
            ("i686-unknown-linux-gnu", "32", "little", "other sizes"),
            ("s390x-unknown-linux-gnu", "64", "big", "the other order"),
            (
                "x86_64-pc-windows-gnu",
                "64",
                "little",
                "`long` has 32 bits",
            ),
        ] {
            let said = said(target, width, endian);
            assert!(said.contains(target) && said.contains(why), "{said}");
            assert!(!said.contains("run `cargo tensorize`"), "{said}");
        }
    }

    #[test]
    fn native_is_a_word_for_one_machine() {
        let cross = to("aarch64-unknown-linux-gnu", "64", "little");
        let flags = |list: &[&str]| list.iter().map(|f| f.to_string()).collect::<Vec<_>>();
        let objection = cross.objection_to(&flags(&["-O3", "-march=native"]));
        assert!(objection.is_some_and(|o| o.contains("-march=native")));
        assert_eq!(cross.objection_to(&flags(&["-march=armv8-a"])), None);
    }
}
