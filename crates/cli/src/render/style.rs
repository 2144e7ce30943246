//! The one place that says what colours mean.
//!
//! Only the colours that every terminal has, and of these only those that can be read on white and on black: no
//! yellow, no blue, no white. What they say is always in the words, too.

use clap::builder::styling::{AnsiColor, Color, Style};
use iosonar_analysis::objective::Judgement;
use iosonar_report::Word;

use super::screen::screen;

/// What a word deserves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// A target that is met, a replay that kept up.
    Good,
    /// A target that is missed, an error.
    Bad,
    /// What is not certain, or deserves a look.
    Doubtful,
    /// A heading, a name.
    Strong,
}

impl Tone {
    const fn style(self) -> Style {
        let colour = match self {
            Self::Good => Some(Color::Ansi(AnsiColor::Green)),
            Self::Bad => Some(Color::Ansi(AnsiColor::Red)),
            Self::Doubtful => Some(Color::Ansi(AnsiColor::Magenta)),
            Self::Strong => None,
        };
        Style::new().bold().fg_color(colour)
    }

    /// `text` in this tone, where some output has colours.
    pub(crate) fn of(self, text: &str) -> String {
        let screen = screen();
        match screen.out.has_colour || screen.err.has_colour {
            true => self.painted(text),
            false => text.to_owned(),
        }
    }

    fn painted(self, text: &str) -> String {
        let style = self.style();
        format!("{style}{text}{style:#}")
    }
}

/// The outcome of a target, in its colour.
pub(crate) fn judgement(of: Judgement) -> String {
    let tone = match of {
        Judgement::Meets => Tone::Good,
        Judgement::Misses | Judgement::Unstable => Tone::Bad,
        Judgement::Unclear | Judgement::TooShort => Tone::Doubtful,
    };
    tone.of(of.name())
}

/// What a recording says of a target, in its colour.
pub(crate) fn word(of: Word) -> String {
    let tone = match of {
        Word::Meets => Tone::Good,
        Word::Misses => Tone::Bad,
        Word::Unclear | Word::Incomplete | Word::Fake | Word::Unknown => Tone::Doubtful,
    };
    tone.of(of.name())
}

/// Where a sequence that sets a colour begins.
const ESCAPE: &str = "\x1b[";

/// `text` without colours.
pub(crate) fn stripped(text: &str) -> String {
    let mut parts = text.split(ESCAPE);
    let mut bare = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| c.is_ascii_alphabetic());
        bare += end.map_or("", |end| &part[end + 1..]);
    }
    bare
}

/// How many columns `text` takes.
pub(crate) fn width(text: &str) -> usize {
    match text.contains(ESCAPE) {
        true => stripped(text).chars().count(),
        false => text.chars().count(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_takes_no_room_and_can_be_taken_away() {
        let text = format!("a {} b", Tone::Good.painted("meets"));
        assert_ne!(text, "a meets b");
        assert_eq!(stripped(&text), "a meets b");
        assert_eq!(width(&text), 9);
    }

    #[test]
    fn no_tone_is_hard_to_read_on_white_or_on_black() {
        for tone in [Tone::Good, Tone::Bad, Tone::Doubtful, Tone::Strong] {
            let text = tone.painted("x");
            let codes: Vec<&str> = text
                .split("\x1b[")
                .filter_map(|part| part.split_once('m'))
                .map(|(code, _)| code)
                .collect();
            for code in codes {
                // Yellow, blue and white, all bright ones, and those of 256 or more colours.
                assert!(
                    ["0", "1", "31", "32", "35"].contains(&code),
                    "{tone:?}: {code}"
                );
            }
        }
    }
}
