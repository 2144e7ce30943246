//! Warnings and errors by their codes: what each means, why it matters, and what to do.
//!
//! A code is for good: it is never given to another message. The texts are in [`warnings`] and [`errors`]; which code a
//! finding of a library has is in [`codes`].

pub(crate) mod codes;
mod errors;
mod warnings;

use std::fmt::Write;

pub(crate) use errors::Error;
pub(crate) use warnings::Warning;

use super::style::Tone;

/// A message that can be looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// A letter, `W` for a warning and `E` for an error, and three digits.
    pub(crate) code: &'static str,
    /// What happened, in a few words.
    pub(crate) title: &'static str,
    /// What it means.
    pub(crate) means: &'static str,
    /// Why it matters.
    pub(crate) matters: &'static str,
    /// What to do.
    pub(crate) remedy: &'static str,
    /// A command that applies the remedy, or the text that causes the message.
    pub(crate) example: &'static str,
}

/// Declares the messages of a kind: an enum with a variant for each, so that none is without a text.
macro_rules! messages {
    ($(#[$doc:meta])* $kind:ident: $($name:ident = $code:literal $title:literal
        { $means:literal $matters:literal $remedy:literal $example:literal })+) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(clippy::doc_markdown, reason = "titles are shown as they are, without backticks")]
        pub(crate) enum $kind {
            $(#[doc = $title] $name,)+
        }

        impl $kind {
            /// All, in the order of their codes.
            pub(crate) const MESSAGES: &'static [$crate::render::messages::Message] = &[
                $($crate::render::messages::Message {
                    code: $code,
                    title: $title,
                    means: $means,
                    matters: $matters,
                    remedy: $remedy,
                    example: $example,
                },)+
            ];

            /// Its code.
            pub(crate) const fn code(self) -> &'static str {
                Self::MESSAGES[self as usize].code
            }
        }
    };
}
use messages;

impl Warning {
    /// `warning[W012]: text`.
    pub(crate) fn headed(self, text: &str) -> String {
        let head = format!("warning[{}]:", self.code());
        format!("{} {text}", Tone::Doubtful.of(&head))
    }

    /// ` [W012]`, for the end of a line that is a warning itself.
    pub(crate) fn tag(self) -> String {
        format!(" [{}]", self.code())
    }
}

/// `warning[W012]: text` for a code that another program gave, if there is such a warning.
pub(crate) fn headed(code: &str, text: &str) -> String {
    let known = Warning::MESSAGES.iter().find(|of| of.code == code);
    let code = known.map_or_else(String::new, |of| format!("[{}]", of.code));
    let head = Tone::Doubtful.of(&format!("warning{code}:"));
    format!("{head} {text}")
}

/// All messages: warnings, then errors.
pub(crate) fn all() -> impl Iterator<Item = &'static Message> {
    Warning::MESSAGES.iter().chain(Error::MESSAGES)
}

/// The message with this code, in capitals or not.
pub(crate) fn find(code: &str) -> Option<&'static Message> {
    all().find(|message| message.code.eq_ignore_ascii_case(code))
}

/// The code that `code` may have been meant for.
pub(crate) fn nearest(code: &str) -> Option<&'static Message> {
    let wanted = code.to_ascii_uppercase();
    let number = |code: &str| {
        let digits: String = code.chars().filter(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    };
    let is_error = wanted.starts_with('E');
    let wanted_number = number(&wanted)?;
    let distance = |message: &&Message| {
        let other = message.code.starts_with('E') != is_error;
        let number = number(message.code).unwrap_or_default();
        (other, number.abs_diff(wanted_number))
    };
    all().min_by_key(distance)
}

/// A message with its explanation.
pub(crate) fn explained(message: &Message) -> String {
    let heading = |text: &str| Tone::Strong.of(text);
    let mut text = format!(
        "{}\n",
        heading(&format!("{}: {}", message.code, message.title))
    );
    for (name, part) in [
        ("Meaning", message.means),
        ("Why it matters", message.matters),
        ("What to do", message.remedy),
        ("Example", message.example),
    ] {
        let _ = write!(text, "\n{}\n", heading(name));
        for line in part.lines() {
            let _ = writeln!(text, "  {line}");
        }
    }
    text
}

/// All codes with their titles.
pub(crate) fn listed() -> String {
    let mut text = String::new();
    for (heading, messages) in [("Warnings", Warning::MESSAGES), ("Errors", Error::MESSAGES)] {
        let _ = writeln!(text, "{}", Tone::Strong.of(heading));
        for message in messages {
            let _ = writeln!(text, "  {}  {}", message.code, message.title);
        }
        text.push('\n');
    }
    text + "'iosonar explain CODE' explains a message.\n"
}

/// The tables of the manual's page.
#[cfg(test)]
fn manual(messages: &[Message]) -> String {
    let mut text = String::new();
    for message in messages {
        let _ = write!(
            text,
            "### {}: {}\n\n{} {}\n\nWhat to do: {}\n\n```text\n{}\n```\n\n",
            message.code,
            message.title,
            message.means,
            message.matters,
            message.remedy,
            message.example
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn codes_are_unique_and_in_order_and_of_one_form() {
        let codes: Vec<&str> = all().map(|message| message.code).collect();
        assert!(Warning::MESSAGES.is_sorted_by(|a, b| a.code < b.code));
        assert!(Error::MESSAGES.is_sorted_by(|a, b| a.code < b.code));
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
        for code in codes {
            let (letter, number) = code.split_at(1);
            assert!(["W", "E"].contains(&letter), "{code}");
            assert!(number.len() == 3 && number.parse::<u16>().is_ok(), "{code}");
        }
    }

    #[test]
    fn every_message_is_explained_in_sentences() {
        for message in all() {
            for part in [message.means, message.matters, message.remedy] {
                assert!(part.ends_with('.'), "{}: {part}", message.code);
                assert!(
                    part.starts_with(|c: char| !c.is_lowercase()),
                    "{}: {part}",
                    message.code
                );
            }
            assert!(
                !message.title.ends_with('.') && message.title.len() <= 66,
                "{}",
                message.title
            );
            assert!(!message.example.is_empty(), "{}", message.code);
            for line in message.example.lines() {
                assert!(line.len() <= 76, "{}: {line}", message.code);
            }
        }
    }

    #[test]
    fn every_command_of_an_example_is_one() {
        let mut seen = 0;
        for message in all() {
            let commands = message.example.lines();
            let commands = commands.map(|line| line.strip_prefix("sudo ").unwrap_or(line));
            for line in commands.filter(|line| line.starts_with("iosonar ")) {
                let words = line
                    .split('\'')
                    .enumerate()
                    .flat_map(|(i, part)| match i % 2 {
                        0 => part.split_whitespace().map(str::to_owned).collect(),
                        _ => vec![part.to_owned()],
                    });
                let parsed = crate::low::command(80, crate::Build::default())
                    .try_get_matches_from(words.collect::<Vec<_>>());
                if let Err(error) = parsed {
                    assert!(!error.use_stderr(), "{}: {line}: {error}", message.code);
                }
                seen += 1;
            }
        }
        assert!(seen > 40, "{seen}");
    }

    #[test]
    fn a_code_is_found_in_any_case_and_the_nearest_is_named() {
        assert_eq!(find("w001").map(|m| m.code), Some("W001"));
        assert_eq!(find("W999"), None);
        assert_eq!(nearest("W1").map(|m| m.code), Some("W001"));
        assert_eq!(nearest("E0").map(|m| m.code), Some("E001"));
        assert_eq!(nearest("sonar"), None);
    }

    /// `UPDATE_MANUAL=1 cargo test -p iosonar-cli the_manual` writes the page anew.
    #[test]
    fn the_manual_has_every_message() {
        let path = root().join("docs/src/messages.md");
        let page = std::fs::read_to_string(&path).expect("the page of messages");
        let mut fresh = page.clone();
        for (name, messages) in [("warnings", Warning::MESSAGES), ("errors", Error::MESSAGES)] {
            let (begin, end) = (
                format!("<!-- {name} -->\n"),
                format!("<!-- end of {name} -->"),
            );
            let (before, rest) = fresh.split_once(&begin).expect("the begin mark");
            let (_, after) = rest.split_once(&end).expect("the end mark");
            fresh = format!("{before}{begin}\n{}{end}{after}", manual(messages));
        }
        if std::env::var_os("UPDATE_MANUAL").is_some() {
            std::fs::write(&path, &fresh).expect("the page is written");
        } else {
            assert!(
                page == fresh,
                "UPDATE_MANUAL=1 brings docs/src/messages.md up to date"
            );
        }
    }

    /// The codes between brackets in tests and in the manual.
    fn mentioned(text: &str) -> impl Iterator<Item = &str> {
        text.split('[').skip(1).filter_map(|part| {
            let (code, _) = part.split_once(']')?;
            let is_code = code.len() == 4
                && code.starts_with(['W', 'E'])
                && code[1..].bytes().all(|b| b.is_ascii_digit());
            is_code.then_some(code)
        })
    }

    #[test]
    fn every_code_in_tests_and_in_the_manual_exists() {
        let mut seen = 0;
        for folder in ["tests", "docs/src", "docs/src/tutorials"] {
            for entry in std::fs::read_dir(root().join(folder)).expect("a folder") {
                let path = entry.expect("an entry").path();
                let Ok(text) = std::fs::read_to_string(&path) else {
                    continue;
                };
                for code in mentioned(&text) {
                    seen += 1;
                    assert!(find(code).is_some(), "{}: {code}", path.display());
                }
            }
        }
        assert!(seen > 0, "no test shows a code");
        assert_eq!(
            mentioned("[W0x1] [W1] warning[E999]").collect::<Vec<_>>(),
            ["E999"]
        );
    }
}
