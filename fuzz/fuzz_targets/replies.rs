#![no_main]

use protocol::reply;
use std::time::Duration;

// The reader itself, which is nobody's but the worker's.
#[path = "../../tensorize-rt/src/worker/protocol.rs"]
mod protocol;
#[path = "../../tests/fuzz/replies.rs"]
#[allow(dead_code)]
mod replies;

/// As `tensorize_rt::worker` has it.
#[derive(Debug)]
enum Trouble {
    Worker(String),
    Module(String),
    #[allow(dead_code)]
    Call(String),
}

fn timeout() -> Duration {
    Duration::from_secs(1)
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| replies::check(input));
