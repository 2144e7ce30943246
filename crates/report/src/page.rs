//! Everything on one page: a file of HTML that needs nothing else.
//!
//! The page holds the numbers behind its charts (lines thinned out, clouds as cells of a grid), packed by
//! `data`; a script draws them, zooms, and says what is under the pointer. What `summary` says stands in the
//! page as text and tables, for everyone, with or without a script.

mod data;
mod summary;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::catalogue::{Arrange, CATALOGUE};
use crate::measure::Measured;
use crate::words::tool;
use data::Payload;

pub(crate) const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// The page of these inputs.
pub fn page(title: &str, inputs: &[Measured]) -> String {
    let mut payload = Payload::default();
    let mut body = String::new();
    let mut contents = String::new();
    let mut group = None;
    for entry in CATALOGUE {
        let charts = entry.charts(inputs, Arrange::Panels);
        if charts.is_empty() {
            continue;
        }
        if group != Some(entry.group) {
            if group.is_some() {
                body += "</section>\n";
            }
            group = Some(entry.group);
            let name = escaped(entry.group.name());
            let id = format!("group-{:?}", entry.group).to_lowercase();
            body += &format!("<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{name}</h2>\n");
            contents += &format!("<a href=\"#{id}\">{name}</a>\n");
        }
        for chart in &charts {
            let number = payload.add(chart, entry.name == "sonar");
            body += &summary::figure(chart, number);
        }
    }
    if group.is_some() {
        body += "</section>\n";
    }
    let (title, tool) = (escaped(title), tool());
    let summary = summary::summary(inputs);
    let data = BASE64_STANDARD.encode(payload.packed());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"generator\" content=\"{tool}\">\n<title>{title}</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n\
         <div class=\"tools\"><button type=\"button\" id=\"reset\">Whole time</button>\n\
         <button type=\"button\" id=\"theme\">Dark</button></div>\n</header>\n\
         <main>\n{summary}\
         <nav aria-label=\"Charts\">\n{contents}</nav>\n\
         <p class=\"help\">Drag across a chart to look closer, double-click for everything; or use the buttons \
         below it, or, when it has the focus: + and − to zoom, arrows to move, 0 for everything. Charts over the \
         same time move together.</p>\n\
         <noscript><p class=\"warning\">The charts are drawn by a script, which is switched off: tables and \
         figures are all here.</p></noscript>\n\
         <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n{body}</main>\n\
         <footer>{tool}</footer>\n\
         <script type=\"application/octet-stream\" id=\"data\">{data}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Text as HTML shows it.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            c if c.is_control() && c != '\n' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Look, LookOptions, needs_of};
    use iosonar_trace::{Outcome, Record, Request};
    use iosonar_units::{Nanos, Sector, Sectors};

    #[test]
    fn a_page_needs_nothing_else_and_says_strange_names_as_they_are() {
        let needs = needs_of(CATALOGUE);
        let mut look = Look::new("<script>alert(1)</script>", needs, &LookOptions::default());
        for i in 0..100 {
            look.add(&Record {
                request: Request {
                    start: Nanos::from_millis(i),
                    sector: Sector::new(i * 8),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::ZERO, Nanos::from_micros(100 + i)),
            });
        }
        let page = page("A & B", &[look.finish()]);
        assert!(page.contains("<h1>A &amp; B</h1>"));
        assert!(!page.contains("<script>alert"));
        for address in ["http://", "https://", "src=\"", "@import", "url("] {
            assert!(!page.contains(address), "{address}");
        }
        assert!(page.matches("<canvas").count() > 20);
        assert!(page.contains("<th scope=\"row\">"));
    }
}
