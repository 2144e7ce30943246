//! The tables of a page, and what stands around its charts.

use iosonar_plot::{Chart, Table, grouped};
use iosonar_units::{Nanos, SECTOR_BYTES};

use super::escaped;
use crate::measure::{Measured, Quantity};
use crate::words::quantile_table;

/// All figures of the inputs, and the quantiles of their times.
pub(super) fn figures_and_times(inputs: &[Measured]) -> String {
    let mut text = table("Figures", &side_by_side(inputs));
    let mut rows = Vec::new();
    for input in inputs {
        let prefix = if inputs.len() > 1 {
            format!("{}: ", input.name)
        } else {
            String::new()
        };
        for quantity in [Quantity::Latency, Quantity::Delay] {
            for (name, of) in [
                ("reads", input.reads(quantity)),
                (input.name_of_others(), input.writes(quantity)),
            ] {
                let is_zero = of.moments.max().is_none_or(|max| max == Nanos::ZERO);
                if of.count() > 0 && !(quantity == Quantity::Delay && is_zero) {
                    rows.push((format!("{prefix}{} of {name}", quantity.name()), of));
                }
            }
        }
    }
    if !rows.is_empty() {
        let rows = rows.iter().map(|(name, of)| (name.as_str(), *of));
        text += &table("Times", &quantile_table(rows));
    }
    text
}

/// The figures of all inputs, a column each.
fn side_by_side(inputs: &[Measured]) -> Table {
    let mut rows: Vec<Vec<String>> = Vec::new();
    for (column, input) in inputs.iter().enumerate() {
        for (name, value) in figures(input) {
            let known = rows.iter().position(|row| row[0] == name);
            let at = known.unwrap_or_else(|| {
                let mut row = vec![String::new(); inputs.len() + 1];
                row[0] = name;
                rows.push(row);
                rows.len() - 1
            });
            rows[at][column + 1] = value;
        }
    }
    let names = inputs.iter().map(|input| input.name.clone());
    Table {
        header: std::iter::once(String::new()).chain(names).collect(),
        rows,
    }
}

/// What is known of an input, by name.
fn figures(input: &Measured) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, value: String| rows.push((name.to_owned(), value));
    add("requests", grouped(input.records()));
    for (failure, n) in input.failures() {
        add(failure.name(), grouped(*n));
    }
    let (first, last, end) = input.span();
    add(
        "first and last intended start",
        format!("{first} to {last}"),
    );
    if end > Nanos::ZERO {
        add("last completion", end.to_string());
    }
    if let Some(load) = input.load() {
        let bytes =
            |sectors: u64| iosonar_plot::Unit::Bytes.text(sectors as f64 * SECTOR_BYTES as f64);
        add(
            "reads",
            format!(
                "{}, {}",
                grouped(load.reads.requests),
                bytes(load.reads.sectors)
            ),
        );
        add(
            "writes",
            format!(
                "{}, {}",
                grouped(load.writes.requests),
                bytes(load.writes.sectors)
            ),
        );
        if load.requests_per_s.is_finite() {
            add(
                "requests per second, on average",
                format!("{:.1}", load.requests_per_s),
            );
        }
        add("working set", bytes(load.distinct_sectors));
        add("end of the accessed range", bytes(load.end_sector));
    }
    if let Some(outcome) = input.outcome() {
        add(
            "requests in flight",
            format!(
                "mean {:.2}, maximum {}",
                outcome.in_flight, outcome.most_in_flight
            ),
        );
    }
    for (key, value) in &input.metadata().about {
        add(key, value.clone());
    }
    rows
}

/// A table of HTML, the first cell of each row its heading.
pub(super) fn table(caption: &str, table: &Table) -> String {
    // Words stand to the left, numbers to the right.
    let of_words = table
        .rows
        .iter()
        .flat_map(|row| &row[1..])
        .any(|cell| is_long(cell));
    let class = if of_words { " class=\"words\"" } else { "" };
    let mut text = format!(
        "<div class=\"wide\"><table{}>\n<caption>{}</caption>\n",
        class,
        escaped(caption)
    );
    if table.header.iter().any(|cell| !cell.is_empty()) {
        let cells = table.header.iter().enumerate();
        let cells: String = cells
            .map(|(i, cell)| match i {
                0 => format!("<td>{}</td>", escaped(cell)),
                _ => format!("<th scope=\"col\">{}</th>", escaped(cell)),
            })
            .collect();
        text += &format!("<thead><tr>{cells}</tr></thead>\n");
    }
    text += "<tbody>\n";
    for row in &table.rows {
        let cells: String = row
            .iter()
            .enumerate()
            .map(|(i, cell)| match i {
                0 => format!("<th scope=\"row\">{}</th>", escaped(cell)),
                _ if is_long(cell) => format!("<td class=\"long\">{}</td>", escaped(cell)),
                _ => format!("<td>{}</td>", escaped(cell)),
            })
            .collect();
        text += &format!("<tr>{cells}</tr>\n");
    }
    text + "</tbody></table></div>\n"
}

/// Whether a cell is a text of several lines, rather than a name or a figure.
fn is_long(cell: &str) -> bool {
    cell.chars().count() > 24
}

/// What is read to those who cannot see a chart: its title, what follows from it, how to read it, what its colours mean.
fn alternative_text(chart: &Chart) -> String {
    let legend = chart.legend();
    let said: Vec<&str> = legend.iter().map(|entry| entry.text.as_str()).collect();
    let text = format!("{}. {} {}", chart.title, chart.caption(), said.join("; "));
    text.trim_end().to_owned()
}

/// The place of a chart, with all that is said around it.
pub(super) fn figure(chart: &Chart, number: usize) -> String {
    let legend = chart.legend();
    let label = alternative_text(chart);
    let mut text = format!(
        "<figure id=\"chart-{number}\">\n<figcaption>{}</figcaption>\n",
        escaped(&chart.title)
    );
    if !chart.conclusion.is_empty() {
        text += &format!("<p class=\"finding\">{}</p>\n", escaped(&chart.conclusion));
    }
    if !chart.subtitle.is_empty() {
        text += &format!("<p class=\"muted\">{}</p>\n", escaped(&chart.subtitle));
    }
    for warning in &chart.warnings {
        text += &format!("<p class=\"warning\">{}</p>\n", escaped(warning));
    }
    text += "<ul class=\"legend\">\n";
    for entry in &legend {
        let swatch = entry.colour.map_or_else(String::new, |colour| {
            let (class, dash) = match entry.dash {
                Some(dash) => {
                    // The swatch is 2 em wide.
                    let dash = dash.in_legend(32.0);
                    let lengths = format!(";--on:{}px;--off:{}px", dash.on, dash.off);
                    (" class=\"dashed\"", lengths)
                }
                None => ("", String::new()),
            };
            let colour = colour.name();
            // A letter that is not read aloud.
            let marker = entry.marker.map_or_else(String::new, |marker| {
                format!("<b aria-hidden=\"true\">{}</b>", marker.letter())
            });
            format!("<i{class} style=\"--swatch:var(--{colour}){dash}\">{marker}</i>")
        });
        text += &format!("<li>{swatch}{}</li>\n", escaped(&entry.text));
    }
    if let Some(limit) = &chart.limit {
        let class = if limit.is_kept { "good" } else { "warning" };
        text += &format!("<li class=\"{class}\">{}</li>\n", escaped(&limit.text));
    }
    text += "</ul>\n";
    text += &format!(
        "<canvas tabindex=\"0\" role=\"img\" aria-label=\"{}\"></canvas>\n",
        escaped(&label)
    );
    text += "<div class=\"zoom\">\
        <button type=\"button\" data-do=\"in\" aria-label=\"Zoom in\">+</button>\
        <button type=\"button\" data-do=\"out\" aria-label=\"Zoom out\">−</button>\
        <button type=\"button\" data-do=\"left\" aria-label=\"Earlier\">←</button>\
        <button type=\"button\" data-do=\"right\" aria-label=\"Later\">→</button>\
        <button type=\"button\" data-do=\"all\">All</button>\
        <output></output></div>\n";
    if let Some(words) = &chart.table {
        text += &table("In numbers", words);
    }
    text += &format!("<p class=\"about\">{}</p>\n", escaped(&chart.about));
    if !chart.footer.is_empty() {
        text += &format!("<p class=\"muted small\">{}</p>\n", escaped(&chart.footer));
    }
    text + "</figure>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_described_to_those_who_cannot_see_it() {
        use iosonar_plot::{Colour, Line, Mark, Marker};
        let line = Line {
            marker: Some(Marker::Square),
            ..Line::new("reads & \"writes\"", Colour::Read, vec![(0.0, 1.0)])
        };
        let chart = Chart {
            title: "Latency: a".to_owned(),
            conclusion: "1 % took longer than 9 ms.".to_owned(),
            about: "Left is good.".to_owned(),
            marks: vec![Mark::Line(line)],
            ..Chart::default()
        };
        let text = figure(&chart, 3);
        let label = "role=\"img\" aria-label=\"Latency: a. 1 % took longer than 9 ms. Left is good. \
                     reads &amp; &quot;writes&quot;\"";
        assert!(text.contains(label), "{text}");
        assert!(text.contains("<p class=\"finding\">1 % took longer than 9 ms.</p>"));
        assert!(include_str!("page.css").contains("p.finding {"));
        // The shape of the markers is in the legend, and not read aloud.
        assert!(text.contains("<b aria-hidden=\"true\">■</b>"), "{text}");
    }

    #[test]
    fn only_long_texts_of_a_table_are_broken_and_only_between_words() {
        let words = Table {
            header: vec![String::new(), "database-server".to_owned()],
            rows: vec![
                vec!["requests".to_owned(), "25 700".to_owned()],
                vec![
                    "source".to_owned(),
                    "simulated with a disk of 7200 rpm".to_owned(),
                ],
            ],
        };
        let text = table("Summary", &words);
        assert!(text.contains("<td>25 700</td>"), "{text}");
        assert!(text.contains("<td class=\"long\">simulated"), "{text}");
        assert!(text.starts_with("<div class=\"wide\">"), "{text}");
        let style = include_str!("page.css");
        for line in style.lines().filter(|line| line.starts_with(['t', '.'])) {
            let is_of_cells = line.contains("td") || line.contains("th ") || line.contains("table");
            assert!(!is_of_cells || !line.contains("anywhere"), "{line}");
        }
        assert!(style.contains(".wide { overflow-x: auto; }"));
    }
}
