//! The numbers behind a page's charts, packed.
//!
//! One block of JSON, then one of bytes that it points into; both deflated. Clouds lie among the bytes: points
//! as 32-bit floats relative to the first, cells column by column as differences in variable-length integers.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use iosonar_plot::{
    Axis, Band, Bars, Callout, CellEdges, Chart, Cloud, Colour, Estimates, GridKind, Guide, Heat,
    Line, Mark, Marker, Named, Rgb, Shape, Theme,
};
use serde_json::{Value, json};

/// The number of cells of the main sonar diagram on a page, and of every other cloud.
const MAIN_CELLS: usize = 1 << 19;
const OTHER_CELLS: usize = 1 << 15;
/// Points of a line: more are thinned out.
const LINE_POINTS: usize = 2000;

/// What a page's script reads.
#[derive(Default)]
pub(super) struct Payload {
    charts: Vec<Value>,
    bytes: Vec<u8>,
}

impl Payload {
    /// Adds a chart; its number is what the page calls it by.
    pub(super) fn add(&mut self, chart: &Chart, is_main: bool) -> usize {
        let marks = chart.marks.iter();
        let marks: Vec<Value> = marks.map(|mark| self.mark(mark, chart, is_main)).collect();
        self.charts.push(json!({
            "name": chart.name,
            "title": chart.title,
            "x": axis(&chart.x),
            "y": axis(&chart.y),
            "marks": marks,
            "limit": chart.limit.as_ref().map(|l| json!({ "at": l.at, "kept": l.is_kept })),
            "guides": chart.guides.iter().map(of_guide).collect::<Vec<_>>(),
            "callouts": chart.callouts.iter().map(of_callout).collect::<Vec<_>>(),
        }));
        self.charts.len() - 1
    }

    fn mark(&mut self, mark: &Mark, chart: &Chart, is_main: bool) -> Value {
        match mark {
            Mark::Line(line) => of_line(line, chart),
            Mark::Cloud(cloud) => self.cloud(cloud, is_main),
            Mark::Band(band) => of_band(band),
            Mark::Bars(bars) => of_bars(bars),
            Mark::Heat(heat) => of_heat(heat),
            Mark::Estimates(estimates) => of_estimates(estimates),
        }
    }

    fn cloud(&mut self, cloud: &Cloud, is_main: bool) -> Value {
        let kinds = cloud.kinds().iter().zip(cloud.counts());
        let kinds: Vec<Value> = kinds
            .map(|(kind, n)| json!({ "colour": kind.colour.name(), "name": kind.name, "count": n }))
            .collect();
        let mut value = json!({ "kind": "cloud", "kinds": kinds });
        value["rangeX"] = json!(cloud.x_range());
        value["rangeY"] = json!(cloud.y_range());
        let from = self.bytes.len();
        if let Some(points) = cloud.points() {
            let origin = points.iter().map(|p| p.x).fold(f64::INFINITY, f64::min);
            let origin = if origin.is_finite() { origin } else { 0.0 };
            for p in points {
                self.bytes.extend(((p.x - origin) as f32).to_le_bytes());
            }
            for p in points {
                self.bytes.extend((p.y as f32).to_le_bytes());
            }
            self.bytes.extend(points.iter().map(|p| p.kind));
            value["points"] = json!({ "at": from, "count": points.len(), "origin": origin });
        } else {
            let most = if is_main { MAIN_CELLS } else { OTHER_CELLS };
            let Some(grid) = cloud.grid(most) else {
                return value;
            };
            let mut before = (0, 0);
            for &(column, ..) in &grid.cells {
                varint(&mut self.bytes, column - before.0);
                before.0 = column;
            }
            for &(_, row, ..) in &grid.cells {
                let row = i64::from(row);
                let difference = row - before.1;
                varint(
                    &mut self.bytes,
                    ((difference << 1) ^ (difference >> 63)) as u64,
                );
                before.1 = row;
            }
            let kinds = cloud.kinds().len() as u64;
            for &(_, _, kind, count) in &grid.cells {
                varint(
                    &mut self.bytes,
                    u64::from(count - 1) * kinds + u64::from(kind),
                );
            }
            value["cells"] = json!({
                "at": from, "bytes": self.bytes.len() - from, "count": grid.cells.len(),
                "x": edges(grid.x), "y": edges(grid.y),
            });
        }
        value
    }

    /// All of it, deflated: the length of the JSON in four bytes, the JSON, the bytes.
    pub(super) fn packed(self) -> Vec<u8> {
        let all = json!({ "charts": self.charts, "themes": themes() });
        packed(&all, &self.bytes)
    }

    /// The same, with the text around the charts, and how far a run is.
    pub(super) fn packed_with(self, body: &str, status: &str) -> Vec<u8> {
        let all =
            json!({ "charts": self.charts, "themes": themes(), "body": body, "status": status });
        packed(&all, &self.bytes)
    }
}

fn packed(all: &Value, bytes: &[u8]) -> Vec<u8> {
    let json = all.to_string();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
    let length = (json.len() as u32).to_le_bytes();
    for part in [&length[..], json.as_bytes(), bytes] {
        encoder.write_all(part).expect("memory takes everything");
    }
    encoder.finish().expect("memory takes everything")
}

fn varint(bytes: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        bytes.push(n as u8 | 0x80);
        n >>= 7;
    }
    bytes.push(n as u8);
}

fn edges(edges: CellEdges) -> Value {
    json!({ "log": edges.kind == GridKind::Log, "step": edges.step, "origin": edges.origin })
}

fn axis(axis: &Axis) -> Value {
    json!({
        "name": axis.name,
        "unit": axis.unit.name(),
        "log": axis.is_log,
        "time": axis.is_shared_time,
        "include": axis.include,
        "range": axis.range,
    })
}

/// Seven digits are more than a screen shows.
fn short(value: f64) -> Value {
    rounded(value, 6)
}

/// A place to the right, which may be far from zero: times since 1970 have ten digits before the point.
fn place(value: f64) -> Value {
    rounded(value, 15)
}

fn rounded(value: f64, digits: usize) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let rounded: f64 = format!("{value:.digits$e}").parse().unwrap_or(value);
    json!(rounded)
}

/// Of many points the first, the lowest, the highest and the last of each of some hundred groups.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    if points.len() <= LINE_POINTS {
        return points.to_vec();
    }
    let size = points.len().div_ceil(LINE_POINTS / 4);
    let mut thin = Vec::with_capacity(LINE_POINTS);
    for group in points.chunks(size) {
        let of = |better: fn(f64, f64) -> bool| {
            let mut best = 0;
            for (i, p) in group.iter().enumerate() {
                if better(p.1, group[best].1) || group[best].1.is_nan() {
                    best = i;
                }
            }
            best
        };
        let mut keep = [0, of(|a, b| a < b), of(|a, b| a > b), group.len() - 1];
        keep.sort_unstable();
        let mut last = None;
        for i in keep {
            if last != Some(i) {
                thin.push(group[i]);
                last = Some(i);
            }
        }
    }
    thin
}

fn of_line(line: &Line, chart: &Chart) -> Value {
    let marker = line.marker.filter(|_| !chart.has_marked_estimates(line));
    let points = thinned(&line.points);
    json!({
        "kind": "line",
        "name": line.name(),
        "colour": line.colour().name(),
        "steps": line.shape == Shape::Steps,
        "dash": line.dash.map(|dash| [dash.on, dash.off, dash.phase]),
        "dot": line.dot(),
        "together": line.turn.1 > 1,
        "marker": marker.map(Marker::name),
        "turn": line.turn_of_markers(),
        "x": points.iter().map(|p| place(p.0)).collect::<Vec<_>>(),
        "y": points.iter().map(|p| short(p.1)).collect::<Vec<_>>(),
    })
}

fn of_guide(guide: &Guide) -> Value {
    json!({ "at": guide.at, "text": guide.text })
}

fn of_callout(of: &Callout) -> Value {
    let (is_line, marker) = match of.named {
        Named::Line => (true, None),
        Named::Point(marker) => (false, marker),
    };
    json!({
        "x": place(of.at.0),
        "y": short(of.at.1),
        "text": of.text,
        "colour": of.colour.name(),
        "isLine": is_line,
        "marker": marker.unwrap_or(Marker::Disc).name(),
    })
}

fn of_band(band: &Band) -> Value {
    json!({
        "kind": "band",
        "colour": band.colour.name(),
        "steps": band.shape == Shape::Steps,
        "x": band.points.iter().map(|p| place(p.0)).collect::<Vec<_>>(),
        "low": band.points.iter().map(|p| short(p.1)).collect::<Vec<_>>(),
        "high": band.points.iter().map(|p| short(p.2)).collect::<Vec<_>>(),
    })
}

fn of_bars(bars: &Bars) -> Value {
    json!({
        "kind": "bars",
        "name": bars.name,
        "colour": bars.colour.name(),
        "bins": bars.bins.iter().map(|b| [b.0, b.1, b.2, b.3].map(short)).collect::<Vec<_>>(),
    })
}

fn of_estimates(of: &Estimates) -> Value {
    let point = |p: &(f64, f64, f64, f64)| json!([place(p.0), short(p.1), short(p.2), short(p.3)]);
    json!({
        "kind": "estimates",
        "name": of.name,
        "colour": of.colour.name(),
        "marker": of.marker.map(Marker::name),
        "points": of.points.iter().map(point).collect::<Vec<_>>(),
    })
}

fn of_heat(heat: &Heat) -> Value {
    let cell = |c: &iosonar_plot::Cell| {
        let [x0, x1, y0, y1] = [c.x.0, c.x.1, c.y.0, c.y.1].map(short);
        json!([x0, x1, y0, y1, c.count])
    };
    json!({ "kind": "heat", "cells": heat.cells.iter().map(cell).collect::<Vec<_>>() })
}

/// All colours, light and dark.
fn themes() -> Value {
    let css = |[r, g, b]: Rgb| format!("rgb({r},{g},{b})");
    let theme = |theme: Theme| {
        let colours = Colour::NAMED.into_iter().chain((0..7).map(Colour::Curve));
        let mut of = serde_json::Map::new();
        let mut ramps = serde_json::Map::new();
        for colour in colours {
            of.insert(colour.name(), json!(css(theme.rgb(colour))));
            ramps.insert(colour.name(), json!(theme.ramp(colour)));
        }
        for (name, colour) in theme.surfaces() {
            of.insert(name.to_owned(), json!(css(colour)));
        }
        json!({ "colours": of, "ramps": ramps, "heat": theme.heat() })
    };
    json!({ "light": theme(Theme::Light), "dark": theme(Theme::Dark) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_extremes_and_the_ends() {
        let points: Vec<(f64, f64)> = (0..100_000)
            .map(|i| (f64::from(i), f64::from(i * 7919 % 10_007)))
            .collect();
        let thin = thinned(&points);
        assert!(thin.len() <= LINE_POINTS);
        assert_eq!(
            (thin[0], *thin.last().unwrap()),
            (points[0], points[99_999])
        );
        let most = |points: &[(f64, f64)]| points.iter().map(|p| p.1).fold(0.0, f64::max);
        assert_eq!(most(&thin), most(&points));
    }

    #[test]
    fn numbers_are_written_in_seven_bits_at_a_time() {
        let mut bytes = Vec::new();
        [0, 127, 128, 300, u64::MAX]
            .iter()
            .for_each(|n| varint(&mut bytes, *n));
        assert_eq!(&bytes[..6], &[0, 127, 0x80, 1, 0xac, 2]);
        assert_eq!(bytes.len(), 6 + 10);
    }
}
