//! The texts of a Markdown page: its paragraphs, list items and table rows, without code blocks.

use super::{Kind, Text};

/// All paragraphs of the page `path` with the contents `page`.
pub(crate) fn texts(path: &str, page: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut fenced = false;
    let mut goes_on = false;
    for (line, content) in page.lines().enumerate() {
        let content = content.trim();
        if content.starts_with("```") {
            fenced = !fenced;
        }
        if fenced || content.starts_with("```") || content.is_empty() {
            goes_on = false;
            continue;
        }
        let begins = ["#", "|", "- ", "* ", "> "]
            .iter()
            .any(|mark| content.starts_with(mark));
        match texts.last_mut() {
            Some(text) if goes_on && !begins => {
                text.content.push(' ');
                text.content.push_str(content);
            }
            _ => texts.push(Text {
                path: path.to_owned(),
                line: line + 1,
                kind: Kind::Page,
                content: content.to_owned(),
            }),
        }
        goes_on = true;
    }
    texts
}
