//! Why a safe wrapper did not call its kernel.

use std::fmt;

/// Why a safe wrapper did not call its kernel. Nothing was read or written then.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A slice is shorter than what the kernel touches.
    TooShort {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        array: &'static str,
        /// How many elements the kernel touches at these sizes.
        needed: i64,
        /// How many there are.
        given: usize,
    },
    /// The kernel touches elements before the slice.
    BeforeStart {
        /// The kernel.
        kernel: &'static str,
        /// The parameter.
        array: &'static str,
        /// The first element that it touches, less than 0.
        first: i64,
    },
    /// The sizes are none for which it is known what the kernel touches.
    Guard {
        /// The kernel.
        kernel: &'static str,
        /// What does not hold.
        guard: &'static str,
    },
    /// Nothing is proven of the kernel, so it is not known how long the slices have to be.
    NotProven {
        /// The kernel.
        kernel: &'static str,
        /// Why.
        why: &'static str,
    },
    /// The kernel works on a variable of its file, and nobody knows which other threads do.
    Shared {
        /// The kernel.
        kernel: &'static str,
        /// The variable, as C or C++ names it.
        variable: &'static str,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::TooShort {
                kernel,
                array,
                needed,
                given,
            } => {
                write!(
                    f,
                    "{kernel}: `{array}` has {given} elements and needs {needed} at these sizes"
                )
            }
            Error::BeforeStart {
                kernel,
                array,
                first,
            } => write!(
                f,
                "{kernel}: it touches `{array}[{first}]`, before the start of a slice; call it by way of `sys`"
            ),
            Error::Guard { kernel, guard } => {
                write!(
                    f,
                    "{kernel}: with these sizes, `{guard}` does not hold, so that it is not known what it touches; call it by way \
                     of `sys`"
                )
            }
            Error::NotProven { kernel, why } => write!(
                f,
                "{kernel}: it is not known how long the slices have to be ({why}); run `cargo tensorize`, or call \
                 the kernel by way of `sys`"
            ),
            Error::Shared { kernel, variable } => write!(
                f,
                "{kernel}: it works on `{variable}` of its file, which other threads may use, too; call it as C does, \
                 where none can"
            ),
        }
    }
}

impl std::error::Error for Error {}
