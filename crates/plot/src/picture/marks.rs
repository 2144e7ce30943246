//! Curves, bands and bars: what of them lies in the plotting area.

use plotters::prelude::{DrawingBackend, PathElement, Polygon, Rectangle};
use plotters::style::{Color, RGBColor};

use super::clip::Pixel;
use super::frame::Frame;
use super::{Area, PlotError, marker, rgb};
use crate::chart::{Band, Bars, Dash, Estimates, Heat, Limit, Line, Shape};
use crate::theme::{Rgb, on_ramp};

/// Farther away than any picture reaches: where a vertex would lie still farther, numbers would not fit.
const FAR: f64 = 1e6;

/// Pixels of a vertex, which may lie outside the plotting area.
fn pixel(frame: &Frame<'_>, x: f64, y: f64) -> Pixel {
    let (px, py) = frame.at(x, y);
    let limit = |v: f64| v.round().clamp(-FAR, FAR) as i32;
    (limit(px), limit(py))
}

/// What is not on a logarithmic axis, zero most of all, lies at its lower end.
fn on_axis(value: f64, is_log: bool, least: f64) -> f64 {
    if is_log && value <= 0.0 { least } else { value }
}

fn vertex(frame: &Frame<'_>, (x, y): (f64, f64)) -> Pixel {
    let x = on_axis(x, frame.chart.x.is_log, frame.x.scale.ends().0);
    let y = on_axis(y, frame.chart.y.is_log, frame.y.scale.ends().0);
    pixel(frame, x, y)
}

/// The vertices of a curve in pixels, in pieces without gaps; of many in one column of pixels, those that
/// matter: the first, the lowest, the highest, the last.
fn pieces(frame: &Frame<'_>, points: &[(f64, f64)], shape: Shape) -> Vec<Vec<Pixel>> {
    let mut pieces: Vec<Vec<Pixel>> = vec![Vec::new()];
    let mut column: Vec<Pixel> = Vec::new();
    let close = |column: &mut Vec<Pixel>, piece: &mut Vec<Pixel>| {
        if column.len() > 4 {
            let (first, last) = (column[0], column[column.len() - 1]);
            let low = column.iter().map(|p| p.1).max().unwrap_or(first.1);
            let high = column.iter().map(|p| p.1).min().unwrap_or(first.1);
            column.clear();
            column.extend([first, (first.0, low), (first.0, high), last]);
        }
        piece.append(column);
    };
    let mut before: Option<Pixel> = None;
    for &point in points {
        if !point.0.is_finite() || !point.1.is_finite() {
            let piece = pieces.last_mut().expect("there is always one");
            // The last window before a gap is as wide as the others.
            if let (Shape::Steps, Some(b), true) = (shape, before, point.0.is_finite()) {
                column.push((vertex(frame, (point.0, 1.0)).0, b.1));
            }
            close(&mut column, piece);
            if !piece.is_empty() {
                pieces.push(Vec::new());
            }
            before = None;
            continue;
        }
        let at = vertex(frame, point);
        let piece = pieces.last_mut().expect("there is always one");
        for next in [
            before
                .filter(|_| shape == Shape::Steps)
                .map(|b| (at.0, b.1)),
            Some(at),
        ]
        .into_iter()
        .flatten()
        {
            if column.first().is_some_and(|first| first.0 != next.0) {
                close(&mut column, piece);
            }
            column.push(next);
        }
        before = Some(at);
    }
    if let Some(piece) = pieces.last_mut() {
        close(&mut column, piece);
    }
    pieces.retain(|piece| !piece.is_empty());
    // What lies within one pixel as a whole is a point.
    if let [whole] = &mut pieces[..] {
        whole.dedup();
    }
    pieces
}

pub(super) fn draw_line<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    line: &Line,
) -> Result<(), PlotError> {
    let colour = frame.palette().rgb(line.colour());
    let thickness = if line.is_thin { 1.0 } else { 2.0 };
    let mut way = 0.0;
    let all = pieces(frame, &line.points, line.shape);
    for piece in all.clone() {
        let length = length(&piece);
        let dash = line.dash.map(|dash| dash.zoomed(frame.zoom).behind(way));
        way += length;
        // One point is not a line, and still must be seen; so must what (nearly) no dash falls on, and what a dot of a line
        // above would cover.
        let is_dot = piece.len() == 1
            || line.turn.1 > 1 && length < 2.0 * line.dot() * frame.zoom
            || dash.is_some_and(|dash| dash.covered(length) < 2.0 * frame.zoom);
        if is_dot {
            let within = match frame.plot.clip().path(&piece) {
                within if within.is_empty() => piece,
                mut within => within.swap_remove(0),
            };
            dot(area, frame, middle(&within), line.dot(), colour)?;
        } else {
            draw_path(area, frame, &piece, (thickness, dash), colour)?;
        }
    }
    match line.marker {
        Some(marker) if !frame.chart.has_marked_estimates(line) => {
            let turn = line.turn_of_markers();
            marker::along(area, frame, &all, (marker, turn), colour)
        }
        _ => Ok(()),
    }
}

fn distance(a: Pixel, b: Pixel) -> f64 {
    f64::from(b.0 - a.0).hypot(f64::from(b.1 - a.1))
}

fn length(path: &[Pixel]) -> f64 {
    let ends = path.windows(2);
    ends.map(|ends| distance(ends[0], ends[1])).sum()
}

/// The pixel half the way along a path.
fn middle(path: &[Pixel]) -> Pixel {
    let mut way = 0.5 * length(path);
    for ends in path.windows(2) {
        let step = distance(ends[0], ends[1]);
        if way <= step {
            let share = if step > 0.0 { way / step } else { 0.0 };
            let between = |a: i32, b: i32| a + (f64::from(b - a) * share).round() as i32;
            return (between(ends[0].0, ends[1].0), between(ends[0].1, ends[1].1));
        }
        way -= step;
    }
    path[path.len() - 1]
}

/// Draws what of a path lies in the plotting area, with its whole thickness.
fn draw_path<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    path: &[Pixel],
    (thickness, dash): (f64, Option<Dash>),
    colour: Rgb,
) -> Result<(), PlotError> {
    let width = frame.px(thickness).max(1);
    let clip = frame.plot.clip();
    // What lies on the border is drawn within it.
    let inner = clip.inset((width + 1) / 2);
    let parts = match dash {
        Some(dash) => dashes(path, dash),
        None => vec![path.to_vec()],
    };
    for part in parts {
        for within in clip.path(&part) {
            let mut within: Vec<Pixel> = within.into_iter().map(|p| inner.nearest(p)).collect();
            within.dedup();
            if let [only] = within[..] {
                dot(area, frame, only, 0.5 * thickness, colour)?;
                continue;
            }
            area.draw(&PathElement::new(
                within,
                rgb(colour).stroke_width(width as u32),
            ))
            .map_err(PlotError::new)?;
        }
    }
    Ok(())
}

/// A small square at a point, if it is in the plotting area.
fn dot<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    at: Pixel,
    radius: f64,
    colour: Rgb,
) -> Result<(), PlotError> {
    let (clip, r) = (frame.plot.clip(), frame.px(radius));
    if !clip.contains(at) {
        return Ok(());
    }
    let at = clip.inset(r).nearest(at);
    let corners = [(at.0 - r, at.1 - r), (at.0 + r, at.1 + r)];
    area.draw(&Rectangle::new(corners, rgb(colour).filled()))
        .map_err(PlotError::new)
}

/// Cuts a path into dashes.
fn dashes(path: &[Pixel], dash: Dash) -> Vec<Vec<Pixel>> {
    let whole = length(path);
    let mut pieces = dash.pieces(whole).into_iter().peekable();
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut way = 0.0;
    for ends in path.windows(2) {
        let (a, b, end) = (ends[0], ends[1], way + distance(ends[0], ends[1]));
        let at = |place: f64| {
            let share = if end > way {
                (place - way) / (end - way)
            } else {
                0.0
            };
            let between = |a: i32, b: i32| a + (f64::from(b - a) * share).round() as i32;
            (between(a.0, b.0), between(a.1, b.1))
        };
        while let Some(&(from, to)) = pieces.peek() {
            if from >= end {
                break;
            }
            if part.is_empty() {
                part.push(at(from));
            }
            if to > end {
                part.push(b);
                break;
            }
            part.push(at(to));
            parts.push(std::mem::take(&mut part));
            pieces.next();
        }
        way = end;
    }
    parts.push(part);
    parts.retain(|part| part.len() > 1);
    parts
}

pub(super) fn draw_band<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    band: &Band,
) -> Result<(), PlotError> {
    let edge = |of: fn(&(f64, f64, f64)) -> f64| -> Vec<(f64, f64)> {
        band.points.iter().map(|p| (p.0, of(p))).collect()
    };
    let upper = pieces(frame, &edge(|p| p.2), band.shape);
    let lower = pieces(frame, &edge(|p| p.1), band.shape);
    let colour = rgb(frame.palette().rgb(band.colour));
    for (upper, lower) in upper.into_iter().zip(lower) {
        let outline = upper.into_iter().chain(lower.into_iter().rev()).collect();
        let outline = frame.plot.clip().polygon(outline);
        if outline.len() < 3 {
            continue;
        }
        area.draw(&Polygon::new(outline, colour.mix(0.22).filled()))
            .map_err(PlotError::new)?;
    }
    Ok(())
}

pub(super) fn draw_bars<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    bars: &Bars,
) -> Result<(), PlotError> {
    let colour = rgb(frame.palette().rgb(bars.colour));
    // Of bars in the same columns of pixels, the highest is seen.
    let mut before: Option<[Pixel; 2]> = None;
    let draw = |bar: [Pixel; 2]| rectangle(area, frame, bar, colour);
    for &(from, to, low, high) in &bars.bins {
        if high <= low {
            continue;
        }
        let (left, top) = vertex(frame, (from, high));
        let (right, bottom) = vertex(frame, (to, low));
        let gap = i32::from(right - left > 4);
        // What is there must be seen.
        let bar = [
            (left, top.min(bottom - 1)),
            ((right - gap).max(left + 1), bottom),
        ];
        match &mut before {
            Some(last) if last[0].0 == bar[0].0 && last[1].0 == bar[1].0 => {
                last[0].1 = last[0].1.min(bar[0].1);
                last[1].1 = last[1].1.max(bar[1].1);
            }
            _ => {
                if let Some(last) = before.replace(bar) {
                    draw(last)?;
                }
            }
        }
    }
    before.map_or(Ok(()), draw)
}

pub(super) fn draw_heat<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    heat: &Heat,
) -> Result<(), PlotError> {
    let most = heat.cells.iter().map(|c| c.count).max().unwrap_or(1);
    let scale = 1.0 / (1.0 + f64::from(most)).ln();
    for cell in &heat.cells {
        let (left, top) = vertex(frame, (cell.x.0, cell.y.1));
        let (right, bottom) = vertex(frame, (cell.x.1, cell.y.0));
        let share = (1.0 + f64::from(cell.count)).ln() * scale;
        let colour: Rgb = on_ramp(&frame.palette().heat, share);
        let corners = [(left, top), (right.max(left + 1), bottom.max(top + 1))];
        rectangle(area, frame, corners, rgb(colour))?;
    }
    Ok(())
}

/// What of a rectangle lies in the plotting area, filled.
fn rectangle<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    [upper_left, lower_right]: [Pixel; 2],
    colour: RGBColor,
) -> Result<(), PlotError> {
    let clip = frame.plot.clip();
    let is_outside = lower_right.0 < clip.left
        || upper_left.0 > clip.right
        || lower_right.1 < clip.top
        || upper_left.1 > clip.bottom;
    if is_outside {
        return Ok(());
    }
    // At least a pixel, and none below the axes' lines, which would hide it.
    let within = |from: i32, to: i32, least: i32, most: i32| {
        let from = from.clamp(least, most - 1);
        (from, to.clamp(from + 1, most))
    };
    let (left, right) = within(upper_left.0, lower_right.0, clip.left + 1, clip.right);
    let (top, bottom) = within(upper_left.1, lower_right.1, clip.top, clip.bottom);
    let corners = [(left, top), (right, bottom)];
    area.draw(&Rectangle::new(corners, colour.filled()))
        .map_err(PlotError::new)
}

/// A marker at each value, and a bar with caps from one end of its interval to the other.
pub(super) fn draw_estimates<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    estimates: &Estimates,
) -> Result<(), PlotError> {
    let colour = frame.palette().rgb(estimates.colour);
    let cap = frame.px(5.0);
    for &(x, value, low, high) in &estimates.points {
        if !x.is_finite() || !value.is_finite() {
            continue;
        }
        if low.is_finite() && high.is_finite() {
            let (lower, upper) = (vertex(frame, (x, low)), vertex(frame, (x, high)));
            draw_path(area, frame, &[lower, upper], (2.0, None), colour)?;
            for end in [lower, upper] {
                let path = [(end.0 - cap, end.1), (end.0 + cap, end.1)];
                draw_path(area, frame, &path, (2.0, None), colour)?;
            }
        }
        let at = vertex(frame, (x, value));
        match estimates.marker {
            Some(_) if !frame.plot.clip().contains(at) => {}
            Some(marker) => marker::on_curve(area, frame, marker, at, colour)?,
            None => dot(area, frame, at, 3.5, colour)?,
        }
    }
    Ok(())
}

/// A line across, if the limit is on the axis.
pub(super) fn draw_limit<B: DrawingBackend>(
    area: &Area<B>,
    frame: &Frame<'_>,
    limit: &Limit,
) -> Result<(), PlotError> {
    let (from, to) = frame.y.scale.ends();
    if !(from..=to).contains(&limit.at) {
        return Ok(());
    }
    let palette = frame.palette();
    let colour = if limit.is_kept {
        palette.good
    } else {
        palette.warning
    };
    let y = frame.plot.y(frame.y.scale.share(limit.at)).round() as i32;
    let path = [(frame.plot.left, y), (frame.plot.right, y)];
    let dash = Dash {
        on: 14.0,
        ..Dash::USUAL
    };
    let dash = dash.zoomed(frame.zoom);
    draw_path(area, frame, &path, (2.0, Some(dash)), colour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dashes_follow_the_corners_of_a_path() {
        let path = [(0, 0), (12, 0), (12, 12)];
        let dash = |phase| Dash {
            on: 9.0,
            off: 6.0,
            phase,
        };
        let parts = dashes(&path, dash(0.0));
        assert_eq!(parts, [vec![(0, 0), (9, 0)], vec![(12, 3), (12, 12)]]);
        let parts = dashes(&path, dash(6.0));
        assert_eq!(
            parts,
            [vec![(6, 0), (12, 0), (12, 3)], vec![(12, 9), (12, 12)]]
        );
    }

    #[test]
    fn lines_in_turn_are_mostly_drawn_and_seen_in_the_gaps_of_those_above() {
        let usual = Some(Dash::USUAL);
        for (dash, of) in (2..6).flat_map(|of| [(None, of), (usual, of)]) {
            let line = Line {
                dash,
                ..Line::default()
            };
            let mut on_top = vec![None; 3600];
            for turn in 0..of {
                let dash = line.clone().in_turn(turn, of).dash;
                let pieces = dash.map_or_else(|| vec![(0.0, 3600.0)], |d| d.pieces(3600.0));
                let drawn: f64 = pieces.iter().map(|(from, to)| to - from).sum();
                assert!(drawn >= 0.65 * 3600.0, "{turn} of {of}: {drawn}");
                for (from, to) in pieces {
                    on_top[from as usize..to as usize].fill(Some(turn));
                }
                if let Some(dash) = dash {
                    let swatch = dash.in_legend(32.0).pieces(32.0);
                    assert_eq!(swatch.len(), 2, "{turn} of {of}: {swatch:?}");
                    assert!(swatch[1].0 - swatch[0].1 >= 2.0, "{swatch:?}");
                }
            }
            for turn in 0..of {
                let seen = on_top.iter().filter(|top| **top == Some(turn)).count();
                assert!(seen >= 3600 / (3 * of) - 40, "{turn} of {of}: {seen}");
            }
        }
    }
}
