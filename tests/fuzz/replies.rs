//! What is understood of a worker's answers is what stands there, byte for byte: none is made of a part of another one.

use super::{Trouble, reply};

/// Fails for a stream that is read as something else.
pub fn check(input: &[u8]) {
    let (all, _) = answers(input);
    let mut said = Vec::new();
    for answer in &all {
        match answer {
            Ok(word) => said.extend(format!("ok {word}\n").into_bytes()),
            // Its length can be written in several ways, and its text be no text.
            Err(Trouble::Module(_)) => {
                let rest = &input[said.len()..];
                let line = rest.iter().position(|b| *b == b'\n').unwrap() + 1;
                let digits = str::from_utf8(&rest[b"error ".len()..line - 1]).unwrap();
                let length: usize = digits.parse().unwrap();
                said.extend(&rest[..line + length]);
            }
            Err(Trouble::Worker(_) | Trouble::Call(_)) => {}
        }
    }
    assert!(input.starts_with(&said), "{input:?} is read as {all:?}");
}

/// The answers that a stream holds, up to the first one that makes the worker one to give up.
pub fn answers(mut stream: &[u8]) -> (Vec<Result<String, Trouble>>, &[u8]) {
    let mut all = Vec::new();
    loop {
        let answer = reply(&mut stream);
        let is_last = matches!(answer, Err(Trouble::Worker(_)));
        all.push(answer);
        if is_last {
            return (all, stream);
        }
    }
}
