//! The texts in a Rust source file: its string literals, documentation and comments, each with its line.
//!
//! A small lexer is enough: it knows comments, strings with their escapes, raw strings, characters and lifetimes, and
//! follows brackets far enough to leave out what is compiled for tests only.

use super::{Kind, Text};

/// Macros and methods whose texts are read by somebody who debugs the program, not by its user.
const INVARIANTS: [&str; 13] = [
    "expect",
    "expect_err",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "unreachable",
    "panic",
    "todo",
    "cfg",
    "env",
];

/// Attributes whose strings are not prose.
const ATTRIBUTES: [&str; 8] = [
    "serde", "cfg", "cfg_attr", "allow", "expect", "deny", "path", "must_use",
];

/// All texts of the Rust file `path` with the contents `source`, in their order.
pub(crate) fn texts(path: &str, source: &str) -> Vec<Text> {
    let mut lexer = Lexer {
        path,
        source: source.as_bytes(),
        at: 0,
        line: 1,
        open: Vec::new(),
        word: String::new(),
        texts: Vec::new(),
    };
    lexer.run();
    joined(lexer.texts)
}

/// A bracket that is open, with the name before it.
struct Open {
    name: String,
    attribute: bool,
}

struct Lexer<'a> {
    path: &'a str,
    source: &'a [u8],
    at: usize,
    line: usize,
    open: Vec<Open>,
    word: String,
    texts: Vec<Text>,
}

impl Lexer<'_> {
    fn run(&mut self) {
        while self.at < self.source.len() {
            self.token();
        }
    }

    /// Reads one token; a comment and a string are one.
    fn token(&mut self) {
        let byte = self.source[self.at];
        match byte {
            b'/' if self.rest().starts_with(b"//") => self.comment(),
            b'"' => {
                self.at += 1;
                self.string();
            }
            b'r' if self.raw_hashes(1).is_some() => self.raw_string(1),
            b'b' if self.rest().starts_with(b"br") && self.raw_hashes(2).is_some() => {
                self.raw_string(2);
            }
            b'\'' => self.character(),
            b'#' if self.rest().starts_with(b"#[cfg(test)]") => self.skip_test_item(),
            b'(' | b'[' | b'{' => {
                let attribute =
                    byte == b'[' && self.at > 0 && matches!(self.source[self.at - 1], b'#' | b'!');
                let name = std::mem::take(&mut self.word);
                self.open.push(Open { name, attribute });
                self.at += 1;
            }
            b')' | b']' | b'}' => {
                self.open.pop();
                self.word.clear();
                self.at += 1;
            }
            _ if byte.is_ascii_alphanumeric() || byte == b'_' => self.identifier(),
            _ => {
                self.line += usize::from(byte == b'\n');
                if !matches!(byte, b'!' | b' ') {
                    self.word.clear();
                }
                self.at += 1;
            }
        }
    }

    fn rest(&self) -> &[u8] {
        &self.source[self.at..]
    }

    fn identifier(&mut self) {
        let length = self
            .rest()
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        self.word = String::from_utf8_lossy(&self.rest()[..length]).into_owned();
        self.at += length;
    }

    fn comment(&mut self) {
        let length = self
            .rest()
            .iter()
            .take_while(|byte| **byte != b'\n')
            .count();
        let line = String::from_utf8_lossy(&self.rest()[..length]).into_owned();
        let (kind, text) = if let Some(text) = line.strip_prefix("//!") {
            (Kind::Documentation, text)
        } else if let Some(text) = line.strip_prefix("///") {
            (
                if self.path.starts_with("crates/cli/src/low") {
                    Kind::Help
                } else {
                    Kind::Documentation
                },
                text,
            )
        } else {
            (Kind::Comment, line.strip_prefix("//").unwrap_or_default())
        };
        self.push(kind, text.trim().to_owned(), self.line);
        self.at += length;
    }

    fn string(&mut self) {
        let first = self.line;
        let mut text = Vec::new();
        while let Some(&byte) = self.source.get(self.at) {
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => {
                    let escaped = self.source.get(self.at).copied().unwrap_or_default();
                    self.at += 1;
                    if escaped == b'\n' {
                        self.line += 1;
                        while self
                            .source
                            .get(self.at)
                            .is_some_and(u8::is_ascii_whitespace)
                        {
                            self.line += usize::from(self.source[self.at] == b'\n');
                            self.at += 1;
                        }
                    } else {
                        text.push(match escaped {
                            b'n' | b't' | b'r' => b' ',
                            other => other,
                        });
                    }
                }
                _ => {
                    self.line += usize::from(byte == b'\n');
                    text.push(byte);
                }
            }
        }
        self.literal(&text, first);
    }

    fn raw_hashes(&self, prefix: usize) -> Option<usize> {
        if self.at > 0
            && (self.source[self.at - 1].is_ascii_alphanumeric()
                || self.source[self.at - 1] == b'_')
        {
            return None;
        }
        let rest = &self.rest()[prefix..];
        let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
        (rest.get(hashes) == Some(&b'"')).then_some(hashes)
    }

    fn raw_string(&mut self, prefix: usize) {
        let hashes = self.raw_hashes(prefix).expect("a raw string begins here");
        let first = self.line;
        let close = format!("\"{}", "#".repeat(hashes));
        let begin = self.at + prefix + hashes + 1;
        let length = self.source[begin..]
            .windows(close.len())
            .position(|window| window == close.as_bytes())
            .unwrap_or(0);
        let text = self.source[begin..begin + length].to_vec();
        self.line += String::from_utf8_lossy(&text).matches('\n').count();
        self.at = begin + length + close.len();
        self.literal(&text, first);
    }

    fn literal(&mut self, text: &[u8], line: usize) {
        let text = String::from_utf8_lossy(text).into_owned();
        let attribute = self.open.iter().position(|open| open.attribute);
        let within = |names: &[&str]| {
            self.open
                .iter()
                .any(|open| names.contains(&open.name.as_str()))
        };
        let kind = match attribute.and_then(|at| self.open.get(at + 1)) {
            Some(open) if ATTRIBUTES.contains(&open.name.as_str()) => return,
            Some(open) if open.name == "error" => Kind::Error,
            _ if within(&INVARIANTS) => Kind::Invariant,
            _ => Kind::String,
        };
        self.push(kind, text, line);
    }

    /// `'x'`, `'\n'`, or a lifetime.
    fn character(&mut self) {
        let rest = self.rest();
        let length = if rest.get(1) == Some(&b'\\') {
            2 + rest[3..].iter().take_while(|byte| **byte != b'\'').count() + 2
        } else {
            let character = std::str::from_utf8(&rest[1..rest.len().min(5)])
                .map_or_else(
                    |error| std::str::from_utf8(&rest[1..=error.valid_up_to()]).ok(),
                    Some,
                )
                .and_then(|text| text.chars().next())
                .map_or(1, char::len_utf8);
            if rest.get(1 + character) == Some(&b'\'') {
                character + 2
            } else {
                1
            }
        };
        self.at += length;
    }

    /// Leaves out the item after `#[cfg(test)]`: up to its closing brace, or its semicolon.
    fn skip_test_item(&mut self) {
        let (depth, kept) = (self.open.len(), self.texts.len());
        self.at += "#[cfg(test)]".len();
        while let Some(&byte) = self.source.get(self.at) {
            let inside = self.open.len() > depth;
            self.token();
            let closed = byte == b'}' && inside && self.open.len() == depth;
            if closed || (byte == b';' && !inside) {
                break;
            }
        }
        self.texts.truncate(kept);
    }

    fn push(&mut self, kind: Kind, text: String, line: usize) {
        self.texts.push(Text {
            path: self.path.to_owned(),
            line,
            kind,
            content: text,
        });
    }
}

/// Puts the lines of one comment together.
fn joined(texts: Vec<Text>) -> Vec<Text> {
    let mut paragraphs: Vec<(Text, usize)> = Vec::new();
    for text in texts {
        let follows = |(before, last): &(Text, usize)| {
            text.kind == before.kind
                && text.kind.is_comment()
                && *last + 1 == text.line
                && !text.content.is_empty()
        };
        match paragraphs.last_mut() {
            Some(paragraph) if follows(paragraph) => {
                paragraph.0.content.push(' ');
                paragraph.0.content.push_str(&text.content);
                paragraph.1 = text.line;
            }
            _ => {
                let line = text.line;
                paragraphs.push((text, line));
            }
        }
    }
    paragraphs.into_iter().map(|(text, _)| text).collect()
}
