//! The protocol of a preprocessor of `mdBook`: a book as JSON comes in, and goes out with its pages changed.

use serde_json::Value;

use crate::math::{self, MathError};

/// A book that cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum BookError {
    /// The input is not JSON.
    #[error("the input must be a book as JSON, as mdbook passes it to preprocessors: {0}")]
    Json(#[from] serde_json::Error),
    /// The input has no book.
    #[error("the input must be an array of a context and a book")]
    NoBook,
    /// A page has an equation that cannot be converted.
    #[error("{page}: {error}")]
    Math {
        /// The page's path, or its title.
        page: String,
        /// What is wrong.
        error: MathError,
    },
}

/// The book of the input, with all equations converted.
///
/// # Errors
///
/// If the input is no book, or an equation cannot be converted.
pub fn preprocess(input: &str) -> Result<String, BookError> {
    let mut input: Value = serde_json::from_str(input)?;
    let book = input.get_mut(1).ok_or(BookError::NoBook)?;
    convert_chapters(book)?;
    Ok(serde_json::to_string(book)?)
}

/// Converts every chapter below a value, at whatever depth.
fn convert_chapters(value: &mut Value) -> Result<(), BookError> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(convert_chapters),
        Value::Object(fields) => {
            let page = ["path", "name"]
                .iter()
                .find_map(|key| fields.get(*key)?.as_str())
                .unwrap_or_default()
                .to_owned();
            if let Some(Value::String(content)) = fields.get_mut("content") {
                *content =
                    math::convert(content).map_err(|error| BookError::Math { page, error })?;
            }
            fields.values_mut().try_for_each(convert_chapters)
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOK: &str = r#"[{"root": "/", "renderer": "html"}, {"items": [
        {"Chapter": {"name": "One", "path": "one.md", "content": "EQUATION", "sub_items": [
            {"Chapter": {"name": "Two", "path": "two.md", "content": "\\\\(b^2\\\\)", "sub_items": []}}]}},
        "Separator"]}]"#;

    #[test]
    fn chapters_at_every_depth_are_converted() {
        let book = preprocess(&BOOK.replace("EQUATION", r"\\\\(a_1\\\\)")).expect("a book");
        assert_eq!(book.matches("<math").count(), 2, "{book}");
        assert!(book.contains("<msup>") && book.contains("<msub>"), "{book}");
        assert!(
            book.starts_with(r#"{"items":["#),
            "the context is left out: {book}"
        );
    }

    #[test]
    fn a_wrong_equation_is_named_with_its_page() {
        let error = preprocess(&BOOK.replace("EQUATION", r"\\\\(a")).expect_err("no end");
        assert!(error.to_string().starts_with("one.md: line 1: "), "{error}");
    }

    #[test]
    fn what_is_no_book_is_refused() {
        assert!(matches!(preprocess("{"), Err(BookError::Json(_))));
        assert!(matches!(preprocess("[{}]"), Err(BookError::NoBook)));
    }
}
