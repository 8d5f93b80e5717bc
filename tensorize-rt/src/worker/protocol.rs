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
#[path = "../../../tests/fuzz/replies.rs"]
mod replies;

#[cfg(test)]
mod tests {
    use super::replies::{answers, check};
    use super::*;
    use proptest::prelude::*;

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

        #[test]
        fn near_replies(input in near::near(near::corpus("replies"))) {
            check(&input);
        }
    }
}
