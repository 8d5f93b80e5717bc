//! `cargo tensorize`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_tensorize::main(std::env::args_os())
}
