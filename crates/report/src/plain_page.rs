//! Pages of tables and charts that need nothing but themselves: no script, no other file.

use iosonar_plot::{Chart, Format, PlotError, Size, Theme, render};

use crate::page::{STYLE, colours, escaped};
use crate::words::tool;

const PLAIN: &str = include_str!("page/plain.css");

/// A page with this body, in HTML.
pub(crate) fn page(title: &str, body: &str) -> String {
    let (title, tool, colours) = (escaped(title), tool(), colours());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         img-src data:\">\n\
         <meta name=\"generator\" content=\"{tool}\">\n<title>{title}</title>\n<style>\n{colours}{STYLE}{PLAIN}\
         </style>\n</head>\n<body>\n<header><h1>{title}</h1></header>\n<main>\n{body}</main>\n\
         <footer>{tool}</footer>\n</body>\n</html>\n"
    )
}

/// A chart as a page has it: title, text, SVG.
///
/// # Errors
/// If it cannot be drawn.
pub fn in_page(chart: &Chart) -> Result<(String, String, String), PlotError> {
    let svg = render(&[chart], Format::Svg, Size::default(), Theme::Light)?;
    let svg = String::from_utf8_lossy(&svg).into_owned();
    Ok((chart.title.clone(), chart.caption(), svg))
}

/// Charts as (title, text, SVG).
pub(crate) fn figures(charts: &[(String, String, String)]) -> String {
    let mut body = String::new();
    for (name, about, svg) in charts {
        let svg = svg.find("<svg").map_or("", |at| &svg[at..]);
        body += &format!(
            "<figure aria-label=\"{}\">\n{svg}\n<figcaption>{}</figcaption></figure>\n",
            escaped(name),
            escaped(about)
        );
    }
    body
}

/// How a row of a table is marked, beside the words in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMark {
    /// Not at all.
    #[default]
    Plain,
    /// The one to take.
    Best,
    /// It does what is demanded.
    Meets,
    /// It does not.
    Misses,
}

impl RowMark {
    /// The class of a row, with a space before it.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Best => " class=\"best meets\"",
            Self::Meets => " class=\"meets\"",
            Self::Misses => " class=\"misses\"",
        }
    }
}

/// A page that begins with its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AnswerPage {
    /// The question.
    pub title: String,
    /// The answer, a paragraph each.
    pub answer: Vec<String>,
    /// The names of the columns.
    pub header: Vec<String>,
    /// The cells of each row, as many as there are columns.
    pub rows: Vec<Vec<String>>,
    /// How each row is marked; rows without one are not.
    pub marks: Vec<RowMark>,
    /// What is to be known besides, a paragraph each.
    pub notes: Vec<String>,
    /// Charts as (title, text, SVG).
    pub charts: Vec<(String, String, String)>,
}

impl AnswerPage {
    /// The page in HTML.
    pub fn text(&self) -> String {
        let paragraphs = |of: &[String]| {
            let one = |text: &String| format!("<p>{}</p>\n", escaped(text));
            of.iter().map(one).collect::<String>()
        };
        let cells = |tag: &str, of: &[String]| {
            let name = tag.split(' ').next().unwrap_or(tag);
            let one = |text: &String| format!("<{tag}>{}</{name}>", escaped(text));
            of.iter().map(one).collect::<String>()
        };
        let head = cells("th scope=\"col\"", &self.header);
        let marks = self
            .marks
            .iter()
            .copied()
            .chain(std::iter::repeat(RowMark::Plain));
        let rows = self.rows.iter().zip(marks);
        let rows: Vec<_> = rows
            .map(|(row, mark)| format!("<tr{}>{}</tr>", mark.class(), cells("td", row)))
            .collect();
        let body = format!(
            "{}<div class=\"study\"><table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{}\n</tbody></table></div>\n{}{}",
            paragraphs(&self.answer),
            rows.join("\n"),
            figures(&self.charts),
            paragraphs(&self.notes),
        );
        page(&self.title, &body)
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerPage, RowMark};

    #[test]
    fn the_answer_comes_first_and_text_stays_text() {
        let page = AnswerPage {
            title: "Which?".to_owned(),
            answer: vec!["a < b".to_owned()],
            header: vec!["name".to_owned()],
            rows: vec![vec!["<script>".to_owned()], vec!["b".to_owned()]],
            marks: vec![RowMark::Best],
            ..AnswerPage::default()
        };
        let text = page.text();
        assert!(text.find("a &lt; b").unwrap() < text.find("<table>").unwrap());
        assert!(
            text.contains("<tr class=\"best meets\"><td>&lt;script&gt;</td>"),
            "{text}"
        );
        assert!(text.contains("<tr><td>b</td>"), "{text}");
        assert!(text.contains("<th scope=\"col\">name</th>"), "{text}");
    }
}
