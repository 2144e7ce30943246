//! Equations: LaTeX in a page becomes `MathML`.
//!
//! `\\( x \\)` is an equation within a line, `\\[ x \\]` one of its own. Code is not changed. The result is `CommonMark`
//! again, with the equations as inline HTML; characters that Markdown would interpret are written as references.

use pulldown_latex::{
    Parser, RenderConfig, Storage, config::DisplayMode, event::Event, push_mathml,
};

/// An equation that cannot be converted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MathError {
    /// There is no end to it.
    #[error(
        "line {line}: an equation that begins with `{opening}` must end with `{closing}` in the same paragraph"
    )]
    Open {
        /// The line on which it begins.
        line: usize,
        /// What it begins with.
        opening: &'static str,
        /// What it must end with.
        closing: &'static str,
    },
    /// It is not LaTeX that can be converted.
    #[error("line {line}: cannot convert the equation `{equation}`: {problem}")]
    Latex {
        /// The line on which it begins.
        line: usize,
        /// Its LaTeX.
        equation: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// How equations are marked, and whether they stand on a line of their own.
const MARKS: [(&str, &str, DisplayMode); 2] = [
    (r"\\(", r"\\)", DisplayMode::Inline),
    (r"\\[", r"\\]", DisplayMode::Block),
];

/// The page with its equations as `MathML`.
///
/// # Errors
///
/// If an equation has no end, or is not valid LaTeX.
pub fn convert(page: &str) -> Result<String, MathError> {
    let mut converted = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(next) = next_mark(rest) {
        let line = 1 + page[..page.len() - rest.len() + next.start]
            .matches('\n')
            .count();
        let (opening, closing, mode) = next.mark;
        let body = &rest[next.start + opening.len()..];
        let paragraph = body.find("\n\n").unwrap_or(body.len());
        let Some(length) = body[..paragraph].find(closing) else {
            return Err(MathError::Open {
                line,
                opening,
                closing,
            });
        };
        converted.push_str(&rest[..next.start]);
        converted.push_str(&equation(&body[..length], mode, line)?);
        rest = &body[length + closing.len()..];
    }
    converted.push_str(rest);
    Ok(converted)
}

/// The number of equations of a page.
pub fn equations(page: &str) -> usize {
    let mut rest = page;
    let mut found = 0;
    while let Some(next) = next_mark(rest) {
        rest = &rest[next.start + next.mark.0.len()..];
        found += 1;
    }
    found
}

/// Where the next equation begins, and how it is marked.
struct Next {
    start: usize,
    mark: (&'static str, &'static str, DisplayMode),
}

/// The first opening mark outside of code.
fn next_mark(text: &str) -> Option<Next> {
    let mut at = 0;
    while at < text.len() {
        let here = &text[at..];
        if here.starts_with('`') {
            let fence = here.len() - here.trim_start_matches('`').len();
            at += fence;
            // Without an end these are plain back quotes.
            at += end_of_code(&text[at..], fence).unwrap_or(0);
        } else if let Some(&mark) = MARKS.iter().find(|mark| here.starts_with(mark.0)) {
            return Some(Next { start: at, mark });
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    None
}

/// Behind the run of exactly this number of back quotes.
fn end_of_code(text: &str, fence: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let run = text.len() - start - text[start..].trim_start_matches('`').len();
        at = start + run;
        if run == fence {
            return Some(at);
        }
    }
    None
}

fn equation(latex: &str, mode: DisplayMode, line: usize) -> Result<String, MathError> {
    let failed = |problem: &dyn ToString| MathError::Latex {
        line,
        equation: latex.trim().to_owned(),
        problem: problem.to_string(),
    };
    let storage = Storage::new();
    let events: Vec<Event> = Parser::new(latex, &storage)
        .collect::<Result<_, _>>()
        .map_err(|error| failed(&error))?;
    let mut mathml = String::new();
    let config = RenderConfig {
        display_mode: mode,
        ..RenderConfig::default()
    };
    let events = events.into_iter().map(Ok::<_, std::convert::Infallible>);
    push_mathml(&mut mathml, events, config).map_err(|error| failed(&error))?;
    Ok(without_markdown(&mathml))
}

/// The same with the characters between tags that Markdown interprets written as references.
fn without_markdown(mathml: &str) -> String {
    let mut safe = String::with_capacity(mathml.len());
    let mut inside_tag = false;
    for character in mathml.chars() {
        match character {
            '<' => inside_tag = true,
            '>' if inside_tag => inside_tag = false,
            '\n' => continue,
            '*' | '_' | '[' | ']' | '`' | '\\' | '~' | '|' | '>' | '!' if !inside_tag => {
                safe.push_str(&format!("&#{};", u32::from(character)));
                continue;
            }
            _ => {}
        }
        safe.push(character);
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_equation_becomes_mathml_and_the_text_stays() {
        let page = convert(r"a *mean* \\(\frac{a}{b}\\) of 1").expect("valid LaTeX");
        assert!(page.starts_with("a *mean* <math"), "{page}");
        assert!(page.ends_with("</math> of 1"), "{page}");
        assert!(page.contains("<mfrac>"), "{page}");
        assert!(!page.contains(r"\\("), "{page}");
    }

    #[test]
    fn an_equation_of_its_own_is_a_block() {
        let block = convert(r"\\[ a \\]").expect("valid LaTeX");
        let inline = convert(r"\\( a \\)").expect("valid LaTeX");
        assert!(block.contains("display=\"block\""), "{block}");
        assert!(!inline.contains("display=\"block\""), "{inline}");
    }

    #[test]
    fn code_keeps_its_backslashes() {
        for page in [
            r"`\\(a\\)` and ``\\(`a\\)``",
            "```text\n\\\\( `x \\\\)\n```\n",
        ] {
            assert_eq!(convert(page).as_deref(), Ok(page));
            assert_eq!(equations(page), 0);
        }
        let after = convert("`a` \\\\(b\\\\)").expect("valid LaTeX");
        assert!(after.contains("<math"), "{after}");
    }

    #[test]
    fn what_markdown_interprets_is_escaped() {
        let page = convert(r"\\(a_* [b_i] c_j > d < e\\)").expect("valid LaTeX");
        let html: Vec<_> = pulldown_cmark::Parser::new(&page).collect();
        let kinds_are_plain = html.iter().all(|event| {
            use pulldown_cmark::{Event, Tag, TagEnd};
            matches!(
                event,
                Event::Text(_)
                    | Event::InlineHtml(_)
                    | Event::Start(Tag::Paragraph)
                    | Event::End(TagEnd::Paragraph)
            )
        });
        assert!(kinds_are_plain, "{html:?}");
    }

    #[test]
    fn what_cannot_be_converted_is_named_with_its_line() {
        let open = convert("one\n\ntwo \\\\(a\n\n\\\\)");
        assert!(
            matches!(open, Err(MathError::Open { line: 3, .. })),
            "{open:?}"
        );
        let unknown = convert("one\n\\\\(\\unheardof{a}\\\\)").expect_err("an unknown command");
        let text = unknown.to_string();
        assert!(text.starts_with("line 2: cannot convert"), "{text}");
    }
}
