//! The one place that says what colours mean.
//!
//! Only the colours that every terminal has, and of these only those that can be read on white and on black: no
//! yellow, no blue, no white. What they say is always in the words, too.

use clap::builder::styling::{AnsiColor, Color, Style};
use iosonar_analysis::objective::Judgement;
use iosonar_report::Word;
use iosonar_units::is_harmful;

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
        Word::Misses | Word::Failed => Tone::Bad,
        Word::Unclear
        | Word::NoInterval
        | Word::TooShort
        | Word::Incomplete
        | Word::Fake
        | Word::Unknown => Tone::Doubtful,
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

/// `text` with a replacement character for whatever could do more to a terminal than set a colour or begin a line: names
/// of files, devices, processes and hosts may have such characters.
pub(crate) fn harmless(text: &str) -> String {
    harmless_but(text, false)
}

/// The same of a picture, whose colours are not only those of [`Tone`]. It has no names that were not checked.
pub(crate) fn harmless_picture(text: &str) -> String {
    harmless_but(text, true)
}

fn harmless_but(text: &str, has_true_colours: bool) -> String {
    let may_act = |c: char| is_harmful(c) && !matches!(c, '\n' | '\t');
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find(may_act) {
        let (before, from) = rest.split_at(at);
        shown += before;
        let (kept, length) = match length_of_colour(from, has_true_colours) {
            Some(length) => (&from[..length], length),
            None => ("\u{fffd}", from.chars().next().map_or(0, char::len_utf8)),
        };
        shown += kept;
        rest = &from[length..];
    }
    shown + rest
}

/// The length in bytes of the sequence at the beginning of `text` if that sets a colour.
fn length_of_colour(text: &str, has_true_colours: bool) -> Option<usize> {
    let parameters = text.strip_prefix(ESCAPE)?;
    let end = parameters.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let codes = &parameters[..end];
    // Those of tones and of the parser. Others hide text, or let it blink.
    let is_ours = matches!(codes, "0" | "1" | "4" | "31" | "32" | "33" | "35")
        || has_true_colours && is_true_colour(codes);
    (is_ours && parameters[end..].starts_with('m')).then_some(ESCAPE.len() + end + 1)
}

/// Whether these are the codes of a foreground or background in red, green and blue.
fn is_true_colour(codes: &str) -> bool {
    let parts = codes.strip_prefix("38;2;").or(codes.strip_prefix("48;2;"));
    parts.is_some_and(|rgb| {
        rgb.split(';').count() == 3 && rgb.split(';').all(|part| part.parse::<u8>().is_ok())
    })
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
    fn a_name_can_set_no_title_and_move_no_cursor() {
        let colour = Tone::Bad.painted("misses");
        for (hostile, shown) in [
            ("\x1b]0;title\x07", "\u{fffd}]0;title\u{fffd}"),
            ("\x1b[2J\x1b[H", "\u{fffd}[2J\u{fffd}[H"),
            ("a\rb\u{9b}31m", "a\u{fffd}b\u{fffd}31m"),
            ("\u{202e}txt.exe", "\u{fffd}txt.exe"),
            ("\x1b[", "\u{fffd}["),
            // Hidden, blinking, reversed, and hidden besides a colour.
            ("\x1b[8mx", "\u{fffd}[8mx"),
            ("\x1b[5mx", "\u{fffd}[5mx"),
            ("\x1b[7mx", "\u{fffd}[7mx"),
            ("\x1b[31;8mx", "\u{fffd}[31;8mx"),
            // In the colour of the background, and hidden behind a colour.
            ("\x1b[38;2;0;0;0mx", "\u{fffd}[38;2;0;0;0mx"),
            ("\x1b[38;2;0;0;0;8mx", "\u{fffd}[38;2;0;0;0;8mx"),
            ("a\tb\nc é µ", "a\tb\nc é µ"),
        ] {
            assert_eq!(harmless(hostile), shown);
            let beside = format!("{colour}{hostile}{colour}");
            assert_eq!(harmless(&beside), format!("{colour}{shown}{colour}"));
        }
    }

    #[test]
    fn only_pictures_have_all_colours_and_nothing_but_colours() {
        for (text, is_kept) in [
            ("\x1b[38;2;1;20;255mx\x1b[0m", true),
            ("\x1b[48;2;0;0;0mx", true),
            ("\x1b[38;2;0;0;0;8mx", false),
            ("\x1b[38;2;0;0mx", false),
            ("\x1b[38;2;0;0;256mx", false),
            ("\x1b[8mx", false),
        ] {
            assert_eq!(harmless_picture(text) == text, is_kept, "{text:?}");
        }
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
