//! Text from files and other machines, where it is to be a part of a line.

/// Whether a character may begin a line, do something to a terminal, or change the direction of what follows it: control
/// characters, also those beyond ASCII (U+0080 to U+009F), separators of lines, and marks of direction.
pub fn is_harmful(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// `text` with a replacement character for all that is [harmful](is_harmful).
///
/// ```
/// assert_eq!(iosonar_units::one_line("sda\nmeets \u{9b}31m"), "sda\u{fffd}meets \u{fffd}31m");
/// ```
pub fn one_line(text: &str) -> String {
    let shown = |c: char| if is_harmful(c) { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// Reads a text of one line, for `deserialize_with`.
///
/// # Errors
/// If it has a [harmful](is_harmful) character.
#[cfg(feature = "serde")]
pub fn text_in_one_line<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<String, D::Error> {
    use serde::de::Error;
    let text: String = serde::Deserialize::deserialize(deserializer)?;
    match text.chars().any(is_harmful) {
        true => Err(D::Error::custom(format!(
            "is \"{}\", expected one line without control characters",
            text.escape_debug()
        ))),
        false => Ok(text),
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn a_text_that_could_begin_a_line_or_act_on_a_terminal_is_refused() {
        for (text, is_fine) in [
            ("Exos X18, 18 TB · µm", true),
            ("", true),
            ("a\nb", false),
            ("a\r", false),
            ("a\tb", false),
            ("\u{1b}[2J", false),
            ("\u{7f}", false),
            ("\u{9b}31m", false),
            ("a\u{85}b", false),
            ("a\u{2028}b", false),
            ("\u{202e}txt.exe", false),
            ("\u{61c}1", false),
        ] {
            let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
            match text_in_one_line(deserializer) {
                Ok(read) => assert!(is_fine && read == text, "{text:?}"),
                Err(error) => assert!(
                    !is_fine && error.to_string().contains("one line"),
                    "{error}"
                ),
            }
            assert_eq!(one_line(text) == text, is_fine, "{text:?}");
        }
    }
}
