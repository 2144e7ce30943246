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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_begins_with_a_digit_a_point_or_a_minus() {
        for (word, expected) in [
            ("5", Some(Value::Int(5))),
            ("-5", Some(Value::Int(-5))),
            ("007", Some(Value::Int(7))),
            ("0x1f", Some(Value::Int(31))),
            ("1.5", Some(Value::Float(1.5))),
            (".5", Some(Value::Float(0.5))),
            ("-.5", Some(Value::Float(-0.5))),
            ("2.", Some(Value::Float(2.0))),
            ("1e3", Some(Value::Float(1000.0))),
            ("25E-1", Some(Value::Float(2.5))),
            // Beyond whole numbers of 64 bits.
            ("9999999999999999999", Some(Value::Float(1e19))),
            // Words.
            ("+5", None),
            ("e5", None),
            ("0xg", None),
            ("1-2", None),
            ("--5", None),
            ("1k", None),
            ("inf", None),
            ("-inf", None),
            ("NaN", None),
            ("1e999", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(number(word), expected, "{word}");
        }
    }

    #[test]
    fn marks_separate_words_and_comments_end_with_their_line() {
        let path = Arc::from(Path::new("x"));
        let text = "a b={c # d\n e,f]:g;h?i[\tj}\n\u{1}k";
        let seen: Vec<(String, usize)> = tokens(text, &path)
            .into_iter()
            .map(|(token, at)| (token.to_string(), at.line))
            .collect();
        let line = |line: usize, words: &[&str]| -> Vec<(String, usize)> {
            words
                .iter()
                .map(|word| (format!("'{word}'"), line))
                .collect()
        };
        let expected = [
            line(1, &["a", "b", "=", "{", "c"]),
            line(2, &["e", ",", "f", "]", "g", "h", "i", "[", "j", "}"]),
            line(3, &["k"]),
        ];
        assert_eq!(seen, expected.concat());
    }
}
