//! What the worker answers, read by somebody who doesn't trust it.

use super::{Trouble, timeout};
use std::io::{self, BufRead, Read};

/// An answer's first line is a word of 16 digits, or a name with a version.
const LINE: u64 = 256;

/// No module has more to say about what went wrong.
const MESSAGE: u64 = 16 << 20;

/// As much of it as is shown.
const SHOWN: usize = 1 << 20;

/// `ok WORD\n`, or `error LENGTH\n` and a text. All of an answer is taken from the stream, and nothing beyond it, or the
/// worker is given up.
pub(super) fn reply(stream: &mut impl BufRead) -> Result<String, Trouble> {
    let mut line = Vec::new();
    stream
        .take(LINE)
        .read_until(b'\n', &mut line)
        .map_err(broken)?;
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(match line.len() as u64 {
            LINE => nonsense(),
            _ => Trouble::Worker("it ended".into()),
        });
    };
    let line = str::from_utf8(line).map_err(|_| nonsense())?;
    match line.split_once(' ') {
        Some(("ok", word)) => Ok(word.to_string()),
        Some(("error", length)) => {
            let length = length.parse().ok().filter(|l| *l <= MESSAGE);
            let length: u64 = length.ok_or_else(nonsense)?;
            let mut text = Vec::new();
            stream.take(length).read_to_end(&mut text).map_err(broken)?;
            if text.len() as u64 != length {
                return Err(Trouble::Worker("it ended".into()));
            }
            text.truncate(SHOWN);
            Err(Trouble::Module(String::from_utf8_lossy(&text).into_owned()))
        }
        _ => Err(nonsense()),
    }
}

fn nonsense() -> Trouble {
    Trouble::Worker("it answers nonsense".into())
}

fn broken(e: io::Error) -> Trouble {
    Trouble::Worker(match e.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("no answer within {} s", timeout().as_secs())
        }
        _ => format!("it does not answer ({e})"),
    })
}

#[cfg(test)]
#[path = "../../../tests/fuzz/near.rs"]
mod near;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The answers that a stream holds, up to the first one that makes the worker one to give up.
    fn answers(mut stream: &[u8]) -> (Vec<Result<String, Trouble>>, &[u8]) {
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

    #[test]
    fn a_line_without_an_end_is_not_read_to_it() {
        let mut endless = io::BufReader::new(io::repeat(b'o'));
        assert_eq!(reply(&mut endless), Err(nonsense()));
        let mut large: &[u8] = b"error 18446744073709551615\nx";
        assert_eq!(reply(&mut large), Err(nonsense()));
    }

    /// What follows a long message is not a part of it, and nothing of the message is taken for an answer.
    #[test]
    fn after_a_long_message_comes_the_next_answer() {
        let message = "ok 0\n".repeat(1 << 19);
        let stream = format!("error {}\n{message}ok 7\n", message.len());
        let (all, _) = answers(stream.as_bytes());
        let [
            Err(Trouble::Module(shown)),
            Ok(word),
            Err(Trouble::Worker(_)),
        ] = &all[..]
        else {
            panic!("{} answers", all.len());
        };
        assert_eq!((shown.len(), &**word), (SHOWN, "7"));
    }

    proptest! {
        #![proptest_config(near::config(4000))]

        /// What is understood is what stands there, byte for byte: no answer is made of a part of another one.
        #[test]
        fn replies(input in near::near(near::corpus("replies"))) {
            let (all, _) = answers(&input);
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
            prop_assert!(input.starts_with(&said), "{input:?} is read as {all:?}");
        }
    }
}
