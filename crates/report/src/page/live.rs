//! A page that grows while a run goes on.
//!
//! The page itself is a frame without content. What it shows is a *state*: the same text and charts that a report has,
//! packed; its script fetches a new state whenever there is one, and keeps what the viewer has zoomed into.

use super::data::Payload;
use super::{Page, Room, SCRIPT, STYLE, colours, escaped, section, summary};
use crate::catalogue::{Arrange, find};
use crate::measure::{Measured, Needs};
use crate::study::Link;
use crate::words::tool;

/// The charts of a run that goes on.
const OF_RUNS: [Room; 5] = [
    ("Response times", &["cdf"]),
    ("Every request", &["sonar"]),
    ("Response times over time", &["quantiles"]),
    ("Throughput and queue", &["throughput", "in-flight"]),
    ("Start delay", &["delay"]),
];

/// What must be looked at for them.
pub(crate) fn live_needs() -> Needs {
    let names = OF_RUNS.iter().flat_map(|(_, names)| *names);
    let entries = names.filter_map(|name| find(name));
    entries.fold(Needs::NONE, |all, entry| all.and(entry.needs))
}

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunState {
    /// It has not written anything yet.
    Waiting,
    /// It goes on.
    Running,
    /// It came to its end.
    Complete,
    /// It ended before all was written.
    Broken,
}

impl RunState {
    /// As programs read it.
    pub fn label(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Broken => "incomplete",
        }
    }

    /// As it is shown.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for the first requests",
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Broken => "incomplete: the run ended before all records were written",
        }
    }
}

/// What a live page says beside the run: where it looks, and what it cannot show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// What is missing.
    pub warnings: Vec<String>,
    /// What is to be known.
    pub sentences: Vec<String>,
    /// Other pages of the same server.
    pub links: Vec<Link>,
}

impl Beside {
    fn text(&self) -> String {
        let warnings = self.warnings.iter();
        let warnings = warnings.map(|of| format!("<p class=\"warning\">{}</p>\n", escaped(of)));
        let sentences = self.sentences.iter();
        let sentences = sentences.map(|of| format!("<p>{}</p>\n", escaped(of)));
        let links = self.links.iter().map(|link| {
            let (to, text) = (escaped(&link.to), escaped(&link.text));
            format!("<p><a href=\"{to}\">{text}</a></p>\n")
        });
        let all: String = warnings.chain(sentences).chain(links).collect();
        format!("<div>{all}</div>\n")
    }
}

/// The frame of a live page.
pub struct LivePage<'a> {
    /// What stands above it.
    pub title: &'a str,
    /// Whether it has a button that stops the run.
    pub has_stop: bool,
}

impl LivePage<'_> {
    /// The frame, in HTML; it needs `live.js`, `live.css`, `data` and `events` beside it.
    pub fn text(&self) -> String {
        let (title, tool) = (escaped(self.title), tool());
        let stop = match self.has_stop {
            true => "<button type=\"button\" id=\"stop\">Stop the run</button>\n",
            false => "",
        };
        format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"generator\" content=\"{tool}\">\n<title>{title}</title>\n\
             <link rel=\"icon\" href=\"data:,\">\n\
             <link rel=\"stylesheet\" href=\"live.css\">\n</head>\n<body>\n\
             <header>\n<h1>{title}</h1>\n<p id=\"run\" role=\"status\">connecting</p>\n\
             <div class=\"tools\">{stop}<button type=\"button\" id=\"reset\">Full time range</button>\n\
             <button type=\"button\" id=\"theme\">Dark</button></div>\n</header>\n\
             <main>\n<noscript><p class=\"warning\">A live page needs JavaScript, which is switched off.</p></noscript>\n\
             <p id=\"said\" class=\"unseen\" aria-live=\"polite\"></p>\n<div id=\"live\"></div>\n\
             <p class=\"help\">Drag across a chart to zoom in, double-click to reset. A zoomed range stays in view \
             while the run continues. Requests appear when they complete.</p>\n</main>\n\
             <footer>{tool}</footer>\n<script src=\"live.js\"></script>\n</body>\n</html>\n"
        )
    }

    /// Its script.
    pub fn script() -> &'static str {
        SCRIPT
    }

    /// Its style.
    pub fn style() -> String {
        colours() + STYLE
    }

    /// What it shows of a run by now.
    pub fn state(state: RunState, measured: Measured, beside: &Beside) -> Vec<u8> {
        let mut payload = Payload::default();
        let records = measured.records();
        let page = Page {
            title: "",
            inputs: &[measured],
            is_all: false,
        };
        let mut body = beside.text();
        if records > 0 {
            body += &page.conclusion();
            body += &page.targets();
            for (i, (heading, names)) in OF_RUNS.iter().enumerate() {
                let entries = names.iter().filter_map(|name| find(name));
                let charts = entries.flat_map(|of| of.charts(page.inputs, Arrange::Panels));
                let charts: Vec<_> = charts.collect();
                if !charts.is_empty() {
                    let figures = super::figures(&mut payload, &charts);
                    body += &section(&format!("picture-{i}"), heading, &figures);
                }
            }
            body += &page.folded("All figures", &summary::figures_and_times(page.inputs));
            body += &page.assumptions();
        }
        payload.packed_with(&body, state.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Growing, LookOptions};
    use iosonar_trace::{Metadata, Outcome, Record};
    use iosonar_units::Nanos;
    use std::io::Read;

    fn unpacked(state: &[u8]) -> serde_json::Value {
        let mut all = Vec::new();
        let mut decoder = flate2::read::DeflateDecoder::new(state);
        decoder.read_to_end(&mut all).unwrap();
        let length = u32::from_le_bytes(all[..4].try_into().unwrap()) as usize;
        serde_json::from_slice(&all[4..4 + length]).unwrap()
    }

    #[test]
    fn the_frame_has_no_inline_script_and_says_strange_titles_as_they_are() {
        let page = LivePage {
            title: "<img src=x onerror=alert(1)>",
            has_stop: false,
        };
        let text = page.text();
        assert!(text.contains("<title>&lt;img src=x"), "{text}");
        assert!(!text.contains("<img"));
        assert_eq!(text.matches("<script").count(), 1);
        assert!(!text.contains("id=\"stop\""));
        let with_stop = LivePage {
            has_stop: true,
            ..page
        };
        assert!(with_stop.text().contains("id=\"stop\""));
    }

    #[test]
    fn a_state_has_the_charts_of_a_run_and_no_markup_of_others() {
        let hostile = "</script><script>alert(1)</script>";
        let mut growing = Growing::new(hostile, &LookOptions::default());
        let state = LivePage::state(RunState::Waiting, growing.measured(), &Beside::default());
        let empty = unpacked(&state);
        assert_eq!(empty["charts"].as_array().unwrap().len(), 0);
        assert_eq!(empty["status"], "waiting for the first requests");
        let mut metadata = Metadata::default();
        metadata.notices.push(format!("FAKE: {hostile}"));
        metadata
            .about
            .insert(hostile.to_owned(), hostile.to_owned());
        metadata.devices.push(hostile.to_owned());
        growing.about(&metadata);
        for i in 0..1000 {
            let mut record = Record {
                outcome: Outcome::done(Nanos::from_micros(i), Nanos::from_micros(100 + i)),
                ..Record::default()
            };
            record.request.start = Nanos::from_millis(i);
            growing.add(&record);
        }
        let beside = Beside {
            warnings: vec![hostile.to_owned()],
            sentences: vec![hostile.to_owned()],
            links: Vec::new(),
        };
        let state = LivePage::state(RunState::Running, growing.measured(), &beside);
        let state = unpacked(&state);
        let charts = state["charts"].as_array().unwrap();
        let names: Vec<_> = charts
            .iter()
            .map(|of| of["name"].as_str().unwrap())
            .collect();
        let wanted = [
            "cdf",
            "sonar",
            "quantiles",
            "throughput",
            "in-flight",
            "delay",
        ];
        assert_eq!(names, wanted);
        let body = state["body"].as_str().unwrap();
        assert!(!body.contains("<script"), "{body}");
        assert!(body.contains("&lt;script&gt;alert"), "{body}");
    }
}
