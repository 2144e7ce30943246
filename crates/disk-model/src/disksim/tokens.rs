//! Words and marks of a text, without its comments.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use super::tree::{At, Value};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Mark(u8),
    End,
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "'{word}'"),
            Self::Mark(mark) => write!(f, "'{}'", char::from(*mark)),
            Self::End => f.write_str("the end of the file"),
        }
    }
}

/// Splits a text into words and marks.
pub(super) fn tokens(text: &str, path: &Arc<Path>) -> Vec<(Token, At)> {
    let mut tokens = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let at = || At {
            path: Arc::clone(path),
            line: number + 1,
        };
        let line = line.split('#').next().unwrap_or_default();
        let mut word = String::new();
        let flush = |word: &mut String, tokens: &mut Vec<(Token, At)>| {
            if !word.is_empty() {
                tokens.push((Token::Word(std::mem::take(word)), at()));
            }
        };
        for c in line.chars() {
            match c {
                '{' | '}' | '[' | ']' | ',' | '=' => {
                    flush(&mut word, &mut tokens);
                    tokens.push((Token::Mark(c as u8), at()));
                }
                ':' | '?' | ';' => flush(&mut word, &mut tokens),
                c if c.is_whitespace() || c.is_control() => flush(&mut word, &mut tokens),
                c => word.push(c),
            }
        }
        flush(&mut word, &mut tokens);
    }
    tokens
}

/// A word that is a number.
pub(super) fn number(word: &str) -> Option<Value> {
    if let Some(digits) = word.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok().map(Value::Int);
    }
    let digits = word.strip_prefix('-').unwrap_or(word);
    let plain = |c: u8| c.is_ascii_digit() || matches!(c, b'.' | b'e' | b'E' | b'+' | b'-');
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.bytes().all(plain) {
        return None;
    }
    if let Ok(whole) = word.parse() {
        return Some(Value::Int(whole));
    }
    let number: f64 = word.parse().ok()?;
    number.is_finite().then_some(Value::Float(number))
}
