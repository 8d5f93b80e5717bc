//! The tokens of LoopIR's text form.

use super::text::{is_name_char, is_name_start};
use crate::scalar::ScalarType;

/// A token.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A word, quoted or not, with the type that directly follows it (`x:f32`).
    Name {
        text: String,
        quoted: bool,
        ty: Option<ScalarType>,
    },
    /// A number without its sign, with its type.
    Number {
        text: String,
        ty: Option<ScalarType>,
    },
    /// An operator or a bracket.
    Sign(&'static str),
    /// The end of the text.
    End,
}

impl Token {
    /// As an error message shows it.
    pub(super) fn describe(&self) -> String {
        match self {
            Token::Name { text, .. } | Token::Number { text, .. } => format!("'{text}'"),
            Token::Sign(s) => format!("'{s}'"),
            Token::End => "the end of the text".into(),
        }
    }
}

/// Longer ones first.
const SIGNS: &[&str] = &[
    ">>>", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", ";",
    "?", ":", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">", "=", "#", "@",
];

/// The tokens with their byte offsets, the last of them [`Token::End`]; or what is wrong, and where.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, (String, usize)> {
    let mut out = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start();
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        let at = text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            out.push((Token::End, at));
            return Ok(out);
        };
        let token = if is_name_start(first) {
            let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            let name = rest[..end].to_owned();
            rest = &rest[end..];
            Token::Name {
                text: name,
                quoted: false,
                ty: suffix(&mut rest),
            }
        } else if first == '`' {
            let end = rest[1..]
                .find('`')
                .ok_or(("a '`' without its partner".to_owned(), at))?;
            let name = rest[1..=end].to_owned();
            rest = &rest[end + 2..];
            Token::Name {
                text: name,
                quoted: true,
                ty: suffix(&mut rest),
            }
        } else if first.is_ascii_digit() {
            let end = number_end(rest);
            let number = rest[..end].to_owned();
            rest = &rest[end..];
            Token::Number {
                text: number,
                ty: suffix(&mut rest),
            }
        } else if let Some(sign) = SIGNS.iter().find(|s| rest.starts_with(**s)) {
            rest = &rest[sign.len()..];
            Token::Sign(sign)
        } else {
            return Err((format!("'{first}' has no place in LoopIR"), at));
        };
        out.push((token, at));
    }
}

/// `:f32`, directly after a word. `a ? b :c` and `a ? b : c` are told apart by the space.
fn suffix(rest: &mut &str) -> Option<ScalarType> {
    let after = rest.strip_prefix(':')?;
    let end = after
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(after.len());
    let ty = after[..end].parse().ok()?;
    *rest = &after[end..];
    Some(ty)
}

fn number_end(text: &str) -> usize {
    let bytes = text.as_bytes();
    if text.starts_with("0x") {
        let digits = bytes[2..]
            .iter()
            .take_while(|b| b.is_ascii_hexdigit())
            .count();
        return 2 + digits;
    }
    let mut end = 0;
    while end < bytes.len() {
        let sign_of_exponent = matches!(bytes[end], b'+' | b'-') && bytes[end - 1] == b'e';
        if !(bytes[end].is_ascii_digit() || matches!(bytes[end], b'.' | b'e') || sign_of_exponent) {
            break;
        }
        end += 1;
    }
    end
}
