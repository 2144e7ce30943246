//! What output goes to, and how the user wants it: settled once, before anything is printed.
//!
//! Everything for people passes by here on its way out: [`Stream::shown`] takes away what the terminal, the file or
//! the reader at its other end cannot use. What programs read (JSON, CSV, traces, scripts)
//! is unchanged, except on a terminal, where [`Stream::data`] replaces control characters.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::sync::OnceLock;

use clap::ValueEnum;

use super::{layout, style, terminal};

/// When output has colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// On a terminal that has them, unless `NO_COLOR` is set
    #[default]
    Auto,
    /// Always, such as for a pager that passes them on
    Always,
    /// Never
    Never,
}

/// What the command line says of all output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub(crate) colour: When,
    pub(crate) is_plain: bool,
}

impl Wanted {
    /// What unparsed words say: for help and for errors of the parser itself.
    pub(crate) fn of_words(words: &[OsString]) -> Self {
        let mut wanted = Self::default();
        let words = words
            .iter()
            .skip(1)
            .take_while(|word| word.as_os_str() != "--");
        let words: Vec<&OsStr> = words.map(OsString::as_os_str).collect();
        for (place, word) in words.iter().enumerate() {
            let Some(word) = word.to_str() else { continue };
            let value = match word {
                "--plain" => {
                    wanted.is_plain = true;
                    continue;
                }
                "--colour" | "--color" => words.get(place + 1).and_then(|value| value.to_str()),
                word => word
                    .strip_prefix("--colour=")
                    .or_else(|| word.strip_prefix("--color=")),
            };
            if let Some(Ok(when)) = value.map(|value| When::from_str(value, false)) {
                wanted.colour = when;
            }
        }
        wanted
    }
}

/// The variables that output depends on.
#[derive(Clone, Debug, Default)]
struct Environment {
    is_plain: bool,
    forbids_colour: bool,
    forces_colour: bool,
    is_dumb: bool,
    /// The locale of characters, empty if none is set.
    locale: String,
}

impl Environment {
    fn read() -> Self {
        let variable = |name: &str| {
            let value = std::env::var_os(name).unwrap_or_default();
            value.to_string_lossy().into_owned()
        };
        let locales = ["LC_ALL", "LC_CTYPE", "LANG"].map(variable);
        Self {
            is_plain: !matches!(variable("IOSONAR_PLAIN").as_str(), "" | "0"),
            forbids_colour: !variable("NO_COLOR").is_empty(),
            forces_colour: !matches!(variable("CLICOLOR_FORCE").as_str(), "" | "0"),
            is_dumb: variable("TERM") == "dumb",
            locale: locales
                .into_iter()
                .find(|name| !name.is_empty())
                .unwrap_or_default(),
        }
    }

    /// Whether characters beyond ASCII can be shown. Without a locale, as in most containers, terminals are of UTF-8.
    fn is_utf8(&self) -> bool {
        let locale = self.locale.to_ascii_lowercase();
        locale.is_empty() || locale.contains("utf-8") || locale.contains("utf8")
    }

    fn has_colour(&self, wanted: Wanted, is_terminal: bool) -> bool {
        match wanted.colour {
            _ if wanted.is_plain || self.is_plain => false,
            When::Always => true,
            When::Never => false,
            When::Auto if self.forbids_colour => false,
            When::Auto => self.forces_colour || (is_terminal && !self.is_dumb),
        }
    }
}

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stream {
    is_terminal: bool,
    pub(crate) has_colour: bool,
    /// Whether what was written can be written over.
    pub(crate) can_redraw: bool,
    /// Where lines are broken; `None` in a file or a pipe, unless `COLUMNS` is set.
    pub(crate) columns: Option<usize>,
    pub(crate) is_plain: bool,
    pub(crate) is_ascii: bool,
}

impl Stream {
    fn of(stream: &impl IsTerminal, wanted: Wanted, environment: &Environment) -> Self {
        let is_terminal = stream.is_terminal();
        let is_plain = wanted.is_plain || environment.is_plain;
        let columns = match is_terminal {
            true => terminal::reported().map(|(columns, _)| columns),
            false => None,
        };
        Self {
            is_terminal,
            has_colour: environment.has_colour(wanted, is_terminal),
            can_redraw: is_terminal && !is_plain && !environment.is_dumb,
            columns: columns.or_else(|| terminal::of("COLUMNS")),
            is_plain,
            is_ascii: is_plain || !environment.is_utf8(),
        }
    }

    /// Text for people as this stream can show it.
    pub(crate) fn shown(self, text: &str) -> String {
        let text = self.message(text);
        if self.is_plain {
            return layout::without_alignment(&text);
        }
        text
    }

    /// What programs read: unchanged, except on a terminal.
    pub(crate) fn data(self, text: &str) -> Cow<'_, str> {
        match self.is_terminal {
            true => style::harmless(text).into(),
            false => text.into(),
        }
    }

    /// A message: the same, but a name with blanks in it stays as it is.
    pub(crate) fn message(self, text: &str) -> String {
        layout::broken(&self.adapted(style::harmless(text)), self.columns)
    }

    /// The same with every line as it is: a picture.
    pub(crate) fn picture(self, text: &str) -> String {
        self.adapted(style::harmless_picture(text))
    }

    fn adapted(self, text: String) -> String {
        let text = match self.is_ascii {
            true => layout::in_ascii(&text),
            false => text,
        };
        match self.has_colour {
            true => text,
            false => style::stripped(&text),
        }
    }
}

/// Both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Screen {
    pub(crate) out: Stream,
    pub(crate) err: Stream,
}

static SCREEN: OnceLock<Screen> = OnceLock::new();

/// Settles how all output of this process looks; the first call counts.
pub(crate) fn settle(wanted: Wanted) {
    SCREEN.get_or_init(|| {
        let environment = Environment::read();
        Screen {
            out: Stream::of(&std::io::stdout(), wanted, &environment),
            err: Stream::of(&std::io::stderr(), wanted, &environment),
        }
    });
}

/// How output looks: bare text, before that is settled and in unit tests.
pub(crate) fn screen() -> Screen {
    SCREEN.get().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_are_unchanged_except_on_a_terminal() {
        let text = "{\"sda\u{9b}2J\": \"\u{7f}\"}\n";
        for (is_terminal, shown) in [(false, text), (true, "{\"sda\u{fffd}2J\": \"\u{fffd}\"}\n")] {
            let stream = Stream {
                is_terminal,
                ..Stream::default()
            };
            assert_eq!(stream.data(text), shown);
        }
    }

    fn wanted(colour: When, is_plain: bool) -> Wanted {
        Wanted { colour, is_plain }
    }

    #[test]
    fn an_option_overrides_the_environment_and_plain_overrides_both() {
        let free = Environment::default();
        let forbids = Environment {
            forbids_colour: true,
            ..free.clone()
        };
        let forces = Environment {
            forces_colour: true,
            ..free.clone()
        };
        let dumb = Environment {
            is_dumb: true,
            ..free.clone()
        };
        let auto = wanted(When::Auto, false);
        assert!(free.has_colour(auto, true) && !free.has_colour(auto, false));
        assert!(!forbids.has_colour(auto, true) && !dumb.has_colour(auto, true));
        assert!(forces.has_colour(auto, false));
        assert!(forbids.has_colour(wanted(When::Always, false), false));
        assert!(!forces.has_colour(wanted(When::Never, false), true));
        assert!(!forces.has_colour(wanted(When::Always, true), true));
    }

    #[test]
    fn a_locale_that_is_set_and_is_not_utf8_needs_ascii() {
        let of = |locale: &str| Environment {
            locale: locale.to_owned(),
            ..Environment::default()
        };
        for locale in ["", "C.UTF-8", "en_GB.utf8", "de_DE.UTF-8"] {
            assert!(of(locale).is_utf8(), "{locale}");
        }
        for locale in ["C", "POSIX", "en_GB.ISO-8859-1"] {
            assert!(!of(locale).is_utf8(), "{locale}");
        }
    }

    #[test]
    fn unparsed_words_say_how_their_error_looks() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            Wanted::of_words(&words)
        };
        assert_eq!(of("iosonar sim x.toml"), Wanted::default());
        assert!(of("iosonar sim --plain").is_plain);
        assert_eq!(of("iosonar --color always sim").colour, When::Always);
        assert_eq!(of("iosonar sim --colour=never").colour, When::Never);
        // What follows is no option.
        assert_eq!(of("iosonar sim -- --plain"), Wanted::default());
    }
}
