//! Text as a field of CSV.

use std::borrow::Cow;

/// `text` as a field of CSV: in quotes if it has a separator, a quote or a line's end in it.
///
/// Spreadsheets run what begins with `=`, `+`, `-` or `@` as a formula, so such text gets an apostrophe in front,
/// unless it is a number.
///
/// ```
/// use iosonar_units::csv_field;
///
/// assert_eq!(csv_field("raid5"), "raid5");
/// assert_eq!(csv_field("a,b"), "\"a,b\"");
/// assert_eq!(csv_field("=1+1"), "'=1+1");
/// assert_eq!(csv_field("-1.5"), "-1.5");
/// ```
pub fn csv_field(text: &str) -> Cow<'_, str> {
    let begins_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if begins_formula && text.parse::<f64>().is_err() {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    };
    if text.contains([',', ';', '"', '\n', '\r', '\t']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        text
    }
}
