//! What a picture shows, in words within it: for those who cannot see it, and for those who search.

use std::fmt::Write;

use super::text::is_not_drawn;
use crate::chart::Chart;

/// An SVG with a title and a description of its own, which readers of screens read.
pub(super) fn described(svg: &str, charts: &[&Chart]) -> String {
    let Some((before, rest)) = svg.split_once("<svg ") else {
        return svg.to_owned();
    };
    let Some((attributes, body)) = rest.split_once('>') else {
        return svg.to_owned();
    };
    let mut words = String::new();
    let join = |of: fn(&Chart) -> String| {
        let all: Vec<String> = charts.iter().map(|chart| of(chart)).collect();
        escaped(all.join(" ").trim())
    };
    let title = join(|chart| match chart.title.as_str() {
        "" => String::new(),
        title => format!("{title}."),
    });
    let title = title.trim_end_matches('.');
    for (tag, text) in [("title", title), ("desc", &join(Chart::caption))] {
        if !text.is_empty() {
            let _ = write!(words, "\n<{tag}>{text}</{tag}>");
        }
    }
    let of = if words.contains("<title>") {
        format!(" aria-label=\"{title}\"")
    } else {
        String::new()
    };
    // The join of lines comes first: what is drawn depends on it.
    format!("{before}<svg {attributes} role=\"img\"{of}>{words}{body}")
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            c if is_not_drawn(c) => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
