//! Everything on one page: a file of HTML that needs nothing else.
//!
//! The page begins with the answer: a conclusion, what it rests on, four pictures. All other charts and tables are
//! folded, and printed only where they are open. The page holds the numbers behind its charts (lines thinned out,
//! clouds as cells of a grid), packed by `data`; a script draws them, zooms, and says what is under the pointer.

mod assumptions;
pub(crate) mod conclusion;
mod data;
pub(crate) mod difference;
mod live;
mod summary;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use iosonar_plot::{Chart, Colour, Rgb, Theme};
use iosonar_units::is_harmful;

use crate::catalogue::{Arrange, CATALOGUE, Entry, Group, find};
use crate::measure::{Measured, Quantity};
use crate::targets;
use crate::words::tool;
use conclusion::Pace;
use data::Payload;
pub(crate) use live::live_needs;
pub use live::{Beside, LivePage, RunState};

pub(crate) const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

/// A heading, and the charts that stand first below it.
type Room = (&'static str, &'static [&'static str]);

/// The pictures of what was measured.
const OF_OUTCOMES: [Room; 4] = [
    ("Response times", &["cdf"]),
    ("Every request", &["sonar"]),
    ("Throughput and queue", &["throughput", "in-flight"]),
    ("Load of each device", &["device-load"]),
];
/// The pictures of a load alone.
const OF_LOADS: [Room; 4] = [
    ("Throughput", &["throughput-intended"]),
    ("Every request", &["addresses"]),
    ("Sizes", &["sizes"]),
    ("Load of each device", &["device-load", "positions"]),
];

/// A page of inputs.
pub struct Page<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// What is on it; the first is what the others are compared with.
    pub inputs: &'a [Measured],
    /// Whether everything is open, and so printed.
    pub is_all: bool,
}

impl Page<'_> {
    /// The page in HTML.
    pub fn text(&self) -> String {
        let mut payload = Payload::default();
        let mut body = self.conclusion() + &self.targets() + &self.assumptions();
        let rooms = self.rooms();
        for (i, (heading, names)) in rooms.iter().enumerate() {
            let charts = names.iter().filter_map(|name| find(name));
            let charts: Vec<Chart> = charts.flat_map(|entry| self.charts(entry)).collect();
            if !charts.is_empty() {
                body += &section(
                    &format!("picture-{i}"),
                    heading,
                    &figures(&mut payload, &charts),
                );
            }
        }
        let is_first = |entry: &&Entry| rooms.iter().any(|(_, names)| names.contains(&entry.name));
        body += "<section aria-label=\"All other charts\">\n";
        body += &self.folded("All figures", &summary::figures_and_times(self.inputs));
        let mut group: Option<Group> = None;
        for entry in CATALOGUE {
            if group.replace(entry.group) == Some(entry.group) {
                continue;
            }
            let of_group = CATALOGUE.iter().filter(|other| other.group == entry.group);
            let rest = of_group.filter(|entry| !is_first(entry));
            let charts: Vec<Chart> = rest.flat_map(|entry| self.charts(entry)).collect();
            if !charts.is_empty() {
                let name = format!("{} ({})", entry.group.name(), charts.len());
                body += &self.folded(&name, &figures(&mut payload, &charts));
            }
        }
        body += "</section>\n";
        document(self.title, &body, payload)
    }

    fn charts(&self, entry: &Entry) -> Vec<Chart> {
        entry.charts(self.inputs, Arrange::Panels)
    }

    /// What stands first depends on whether anything was measured.
    fn rooms(&self) -> &'static [Room] {
        let is_measured = |input: &Measured| input.longest(Quantity::Latency).is_some();
        match self.inputs.iter().any(is_measured) {
            true => &OF_OUTCOMES,
            false => &OF_LOADS,
        }
    }

    /// What was measured, whether it can be trusted, and how the others differ from the first.
    fn conclusion(&self) -> String {
        let mut text = String::new();
        for input in self.inputs {
            if self.inputs.len() > 1 {
                text += &format!("<h3>{}</h3>\n", escaped(&input.name));
            }
            for warning in input.warnings() {
                text += &format!("<p class=\"warning\">{}</p>\n", escaped(&warning));
            }
            let sentences = conclusion::sentences(input);
            let (pace, others) = sentences.split_last().expect("there is always one");
            let class = if Pace::of(input).is_good() {
                "good"
            } else {
                "warning"
            };
            let others = escaped(&others.join(" "));
            text += &format!(
                "<p>{others} <span class=\"{class}\">{}</span></p>\n",
                escaped(pace)
            );
            if let Some(verdicts) = targets::sentence(input) {
                text += &format!("<p>{}</p>\n", escaped(&verdicts));
            }
        }
        if let [first, others @ ..] = self.inputs {
            for other in others {
                let name = format!("{} against {}", other.name, first.name);
                text += &format!("<h3>{}</h3>\n", escaped(&name));
                text += &format!("<p>{}</p>\n", escaped(&difference::sentences(first, other)));
                if let Some(of) = difference::table(first, other) {
                    text += &summary::table("", &of);
                }
            }
        }
        section("conclusion", "Conclusion", &text)
    }

    /// Whether each target is met, by how much, and how sure that is; nothing without targets.
    fn targets(&self) -> String {
        let mut rows = String::new();
        for input in self.inputs {
            for verdict in targets::verdicts(input) {
                let cells = [
                    input.name.clone(),
                    verdict.value(),
                    verdict.interval(),
                    verdict.distance(),
                ];
                let cells = cells.iter().map(|of| format!("<td>{}</td>", escaped(of)));
                rows += &format!(
                    "<tr><th scope=\"row\">{}</th>{}<td class=\"{}\">{}</td></tr>\n",
                    escaped(&verdict.target.to_string()),
                    cells.collect::<String>(),
                    verdict.word.class(),
                    verdict.word.name(),
                );
            }
        }
        if rows.is_empty() {
            return rows;
        }
        let head = [
            "input",
            "value",
            "95 % interval",
            "distance to limit",
            "verdict",
        ];
        let head = head.map(|name| format!("<th scope=\"col\">{name}</th>"));
        let table = format!(
            "<div class=\"wide\"><table>\n<thead><tr><td></td>{}</tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n",
            head.concat()
        );
        section("targets", "Targets", &table)
    }

    /// What the figures rest on.
    fn assumptions(&self) -> String {
        let mut text = String::new();
        for input in self.inputs {
            if self.inputs.len() > 1 {
                text += &format!("<h3>{}</h3>\n", escaped(&input.name));
            }
            let sentences = assumptions::sentences(input);
            let items = sentences
                .iter()
                .map(|of| format!("<li>{}</li>\n", escaped(of)));
            text += &format!("<ul>\n{}</ul>\n", items.collect::<String>());
        }
        section("assumptions", "Assumptions", &text)
    }

    /// What is open only where it is wanted.
    fn folded(&self, name: &str, body: &str) -> String {
        let open = if self.is_all { " open" } else { "" };
        format!(
            "<details{open}>\n<summary>{}</summary>\n{body}</details>\n",
            escaped(name)
        )
    }
}

fn section(id: &str, heading: &str, body: &str) -> String {
    format!(
        "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{}</h2>\n{body}</section>\n",
        escaped(heading)
    )
}

fn figures(payload: &mut Payload, charts: &[Chart]) -> String {
    let one = |chart: &Chart| {
        let number = payload.add(chart, chart.name == "sonar");
        summary::figure(chart, number)
    };
    charts.iter().map(one).collect()
}

/// The whole file.
fn document(title: &str, body: &str, payload: Payload) -> String {
    let (title, tool, colours) = (escaped(title), tool(), colours());
    let data = BASE64_STANDARD.encode(payload.packed());
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"generator\" content=\"{tool}\">\n<title>{title}</title>\n\
         <style>\n{colours}{STYLE}</style>\n</head>\n<body>\n\
         <header>\n<h1>{title}</h1>\n\
         <div class=\"tools\"><button type=\"button\" id=\"reset\">Full time range</button>\n\
         <button type=\"button\" id=\"theme\">Dark</button></div>\n</header>\n\
         <main>\n\
         <noscript><p class=\"warning\">The charts need JavaScript, which is switched off. All \
         tables and numbers are still shown.</p></noscript>\n\
         <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n{body}\
         <p class=\"help\">Drag across a chart to zoom in and double-click to reset, or use the buttons below the \
         chart. While a chart has the focus, + and − zoom, the arrow keys move, and 0 resets. Charts with \
         the same time axis move together.</p>\n</main>\n\
         <footer>{tool}</footer>\n\
         <script type=\"application/octet-stream\" id=\"data\">{data}</script>\n\
         <script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// The colours of the light theme, by which a page names them; a script may choose others.
pub(crate) fn colours() -> String {
    let named = Colour::NAMED.map(|colour| (colour.name(), Theme::Light.rgb(colour)));
    let surfaces = Theme::Light.surfaces();
    let surfaces = surfaces.map(|(name, rgb)| (name.to_owned(), rgb));
    let all = named.into_iter().chain(surfaces);
    let one = |(name, [r, g, b]): (String, Rgb)| format!("--{name}: rgb({r},{g},{b}); ");
    format!(":root {{ {}}}\n", all.map(one).collect::<String>())
}

/// Whether nothing speaks against the pace of what was measured.
pub(crate) fn keeps_up(measured: &Measured) -> bool {
    Pace::of(measured).is_good()
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
            c if is_harmful(c) && c != '\n' => escaped.push('\u{fffd}'),
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
        let page = Page {
            title: "A & B",
            inputs: &[look.finish()],
            is_all: false,
        };
        let page = page.text();
        assert!(page.contains("<h1>A &amp; B</h1>"));
        assert!(!page.contains("<script>alert"));
        for address in ["http://", "https://", "src=\"", "@import", "url("] {
            assert!(!page.contains(address), "{address}");
        }
        assert!(page.matches("<canvas").count() > 20);
        assert!(page.contains("<th scope=\"row\">"));
        // The answer comes first, and what it rests on; then pictures; and all other charts are folded.
        let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
        let order = [
            "id=\"conclusion\"",
            "id=\"assumptions\"",
            "id=\"picture-0\"",
            "<details>",
        ];
        assert!(order.map(place).is_sorted());
        let before = &page[..place("<details>")];
        assert_eq!(before.matches("<canvas").count(), 5);
        assert!(!page.contains("<details open>"));
    }
}
