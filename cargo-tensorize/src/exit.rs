//! What the program's exit code means. These numbers are part of its interface.

use std::fmt::Write;
use std::process::ExitCode;

/// Why the program ended. The larger number is not the graver one: see [`Code::worse`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Code {
    /// Everything that was asked for is done, and nothing is refuted.
    Clean = 0,
    /// The arguments make no sense.
    Usage = 2,
    /// No kernel was found.
    NoKernels = 4,
    /// A summary is wrong.
    Refuted = 100,
    /// The work could not be done: a tool is missing, a file can't be read, a bug in this program.
    CouldNotRun = 101,
    /// Under `--strict` or `--locked`: something is not proven, of too low a tier, or generated code failed.
    NotProven = 102,
    /// A kernel uses what is not supported.
    Unsupported = 103,
    /// `check --locked`: what is stored is missing, out of date or edited.
    OutOfDate = 104,
}

impl Code {
    /// All of them, with what they mean.
    pub const ALL: [(Code, &'static str); 8] = [
        (
            Code::Clean,
            "clean: everything was done, nothing is refuted",
        ),
        (Code::Usage, "usage: the arguments make no sense"),
        (Code::NoKernels, "no kernels were found"),
        (Code::Refuted, "a summary is refuted"),
        (
            Code::CouldNotRun,
            "the work could not be done (tool missing, unreadable file, bug)",
        ),
        (
            Code::NotProven,
            "with --strict or --locked: a kernel is not proven, of too low a tier, or its code failed",
        ),
        (
            Code::Unsupported,
            "a kernel is not supported; the others were done",
        ),
        (
            Code::OutOfDate,
            "check --locked: stored results are missing, out of date or edited",
        ),
    ];

    fn gravity(self) -> u8 {
        match self {
            Code::Clean => 0,
            Code::NoKernels => 1,
            Code::OutOfDate => 2,
            Code::Unsupported => 3,
            Code::NotProven => 4,
            Code::Refuted => 5,
            Code::CouldNotRun => 6,
            Code::Usage => 7,
        }
    }

    /// The graver of two.
    pub fn worse(self, other: Code) -> Code {
        if other.gravity() > self.gravity() {
            other
        } else {
            self
        }
    }

    /// The list that `--help` ends with.
    pub fn table() -> String {
        Code::ALL
            .iter()
            .fold("Exit codes:\n".to_owned(), |mut s, (code, what)| {
                let _ = writeln!(s, "  {:>3}  {what}", *code as u8);
                s
            })
    }
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> ExitCode {
        ExitCode::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_unique_and_stay_as_they_are() {
        let numbers: Vec<u8> = Code::ALL.iter().map(|(c, _)| *c as u8).collect();
        assert_eq!(numbers, [0, 2, 4, 100, 101, 102, 103, 104]);
    }

    #[test]
    fn a_missing_tool_hides_no_refutation_but_a_refutation_hides_unsupported() {
        assert_eq!(Code::Unsupported.worse(Code::Refuted), Code::Refuted);
        assert_eq!(Code::Refuted.worse(Code::Unsupported), Code::Refuted);
        assert_eq!(Code::Refuted.worse(Code::CouldNotRun), Code::CouldNotRun);
        assert_eq!(Code::Clean.worse(Code::Unsupported), Code::Unsupported);
    }
}
