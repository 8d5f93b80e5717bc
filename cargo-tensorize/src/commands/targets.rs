//! `targets`: what code can be generated for.

use super::Output;
use crate::exit::Code;

/// Lists the targets.
pub fn run(_out: &Output) -> Code {
    Code::Clean
}
