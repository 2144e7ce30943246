//! Values that are named within the plotting area, where the curves have them.
//!
//! Words keep clear of each other and of the marked places. Where not all values of a chart have room, none of them is
//! written: their places stay marked, and the table below the chart has the values.

use plotters::prelude::{DrawingBackend, PathElement, Rectangle as Filled};
use plotters::style::Color;

use super::area::PlotArea;
use super::frame::Frame;
use super::labels::Rectangle;
use super::words::{Ink, Part, Style, Written};
use super::{Area, PlotError, marker, rgb, text};
use crate::chart::{Callout, Chart, Dash, Guide, Marker, Named};
use crate::scale::Scale;
use crate::theme::Rgb;

const LETTERS: f64 = 14.0;
/// More marked places than these would be a thicket of words.
const MOST_WRITTEN: usize = 8;
/// From a marked place to its words.
const AWAY: f64 = 9.0;
/// Half the width of a marked place.
const RADIUS: f64 = 5.0;

/// A marked place, and its words where they have room.
#[derive(Clone, Debug)]
struct Place {
    at: (f64, f64),
    callout: Callout,
    words: Option<Written>,
}

/// All that is named within a plotting area.
#[derive(Clone, Debug, Default)]
pub(super) struct Callouts {
    guides: Vec<(f64, Option<Written>)>,
    places: Vec<Place>,
}

/// The plotting area with its axes.
pub(super) struct Ground<'a> {
    pub(super) plot: PlotArea,
    pub(super) x: &'a Scale,
    pub(super) y: &'a Scale,
    pub(super) zoom: f64,
}

impl Ground<'_> {
    fn whole(&self) -> Rectangle {
        Rectangle {
            left: f64::from(self.plot.left),
            top: f64::from(self.plot.top),
            right: f64::from(self.plot.right),
            bottom: f64::from(self.plot.bottom),
        }
    }

    /// Where a value is, if it is on both axes.
    fn at(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (across, up) = (self.x.share(x), self.y.share(y));
        let is_on = |share: f64| (0.0..=1.0).contains(&share);
        (is_on(across) && is_on(up)).then(|| (self.plot.x(across), self.plot.y(up)))
    }

    /// Words at a corner.
    fn words(&self, text: &str, (left, top): (f64, f64), ink: Ink) -> Written {
        let size = LETTERS * self.zoom;
        let area = Rectangle {
            left,
            top,
            right: left + text::width(text, size, false),
            bottom: top + text::height(size),
        };
        let style = Style {
            size,
            is_bold: false,
            ink,
        };
        Written::at(Part::Callout, text.to_owned(), area, style)
    }

    /// The first of these corners where words touch nothing and stay within the plotting area.
    fn first_free(
        &self,
        text: &str,
        corners: impl Iterator<Item = (f64, f64)>,
        taken: &[Rectangle],
        ink: Ink,
    ) -> Option<Written> {
        let inner = self.whole().grown(-2.0 * self.zoom);
        corners
            .map(|corner| self.words(text, corner, ink))
            .find(|words| {
                let area = words.label.area.grown(2.0 * self.zoom);
                inner.contains(&words.label.area) && !taken.iter().any(|of| of.overlaps(&area))
            })
    }
}

impl Callouts {
    /// Those of a chart.
    pub(super) fn new(chart: &Chart, ground: &Ground<'_>) -> Self {
        let mut taken: Vec<Rectangle> = Vec::new();
        let guides = chart.guides.iter();
        let guides = guides
            .filter_map(|guide| Self::guide(guide, ground, &mut taken))
            .collect();
        let mut places: Vec<Place> = Vec::new();
        for callout in &chart.callouts {
            let at = match callout.named {
                Named::Line => ground.at((callout.at.0, ground.y.ends().0)),
                Named::Point(_) => ground.at(callout.at),
            };
            places.extend(at.map(|at| Place {
                at,
                callout: callout.clone(),
                words: None,
            }));
        }
        let radius = RADIUS * ground.zoom;
        let points = places.iter().filter(|place| place.is_point());
        taken.extend(points.map(|place| dot(place.at, radius)));
        // Lines have room along their whole length: they come after the points, which have one place.
        let mut of_points = taken.clone();
        let mut is_complete =
            places.iter().filter(|place| place.is_point()).count() <= MOST_WRITTEN;
        for place in places.iter_mut().filter(|place| place.is_point()) {
            place.words = place.beside(ground, &of_points);
            match &place.words {
                Some(words) => of_points.push(words.label.area),
                None => is_complete = false,
            }
        }
        if is_complete {
            taken = of_points;
        } else {
            places
                .iter_mut()
                .filter(|place| place.is_point())
                .for_each(|place| place.words = None);
        }
        for place in places.iter_mut().filter(|place| !place.is_point()) {
            place.words = place.along(ground, &taken);
            taken.extend(place.words.iter().map(|words| words.label.area));
        }
        Self { guides, places }
    }

    fn guide(
        guide: &Guide,
        ground: &Ground<'_>,
        taken: &mut Vec<Rectangle>,
    ) -> Option<(f64, Option<Written>)> {
        let share = ground.y.share(guide.at);
        if !(0.0..=1.0).contains(&share) {
            return None;
        }
        let y = ground.plot.y(share);
        let left = f64::from(ground.plot.left) + 6.0 * ground.zoom;
        let high = text::height(LETTERS * ground.zoom);
        let gap = 3.0 * ground.zoom;
        let corners = [(left, y - gap - high), (left, y + gap)];
        let words = ground.first_free(&guide.text, corners.into_iter(), taken, Ink::Muted);
        taken.extend(words.iter().map(|words| words.label.area));
        Some((y, words))
    }

    /// The words that have room.
    pub(super) fn written(&self) -> impl Iterator<Item = &Written> {
        let guides = self.guides.iter().filter_map(|(_, words)| words.as_ref());
        let places = self.places.iter().filter_map(|place| place.words.as_ref());
        guides.chain(places)
    }

    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        frame: &Frame<'_>,
    ) -> Result<(), PlotError> {
        let palette = frame.palette();
        let dots = Dash {
            on: 2.0,
            off: 4.0,
            phase: 0.0,
        };
        for (y, _) in &self.guides {
            let y = y.round() as i32;
            let (left, end) = (f64::from(frame.plot.left), f64::from(frame.plot.right));
            let mut from = left + f64::from(frame.thin());
            let (on, period) = (dots.on * frame.zoom, (dots.on + dots.off) * frame.zoom);
            while from + on < end {
                let ends = [(from as i32, y), ((from + on) as i32, y)];
                area.draw(&PathElement::new(
                    ends.to_vec(),
                    rgb(palette.muted).stroke_width(frame.thin()),
                ))
                .map_err(PlotError::new)?;
                from += period;
            }
        }
        for place in &self.places {
            place.draw_leader(area, frame)?;
        }
        for place in self.places.iter().filter(|place| place.is_point()) {
            let colour = palette.rgb(place.callout.colour);
            let at = (place.at.0.round() as i32, place.at.1.round() as i32);
            let of = place.marker();
            let radius = frame
                .plot
                .clip()
                .inset((RADIUS * frame.zoom * 1.4).ceil() as i32);
            let at = radius.nearest(at);
            marker::draw(
                area,
                of,
                at,
                RADIUS * frame.zoom,
                (colour, palette.background),
            )?;
        }
        for words in self.written() {
            halo(area, &words.label.area, palette.background, frame.zoom)?;
            words.draw(area, palette)?;
        }
        Ok(())
    }
}

impl Place {
    fn is_point(&self) -> bool {
        matches!(self.callout.named, Named::Point(_))
    }

    fn marker(&self) -> Marker {
        match self.callout.named {
            Named::Point(Some(marker)) => marker,
            Named::Point(None) | Named::Line => Marker::Disc,
        }
    }

    /// Its words at the right or the left of the place, as near as there is room.
    fn beside(&self, ground: &Ground<'_>, taken: &[Rectangle]) -> Option<Written> {
        let size = LETTERS * ground.zoom;
        let wide = text::width(&self.callout.text, size, false);
        let high = text::height(size);
        let away = AWAY * ground.zoom;
        let (x, y) = self.at;
        let corners = (0..7).flat_map(|step| {
            let down = f64::from(step) * (high + 5.0 * ground.zoom);
            let (right, left) = (x + away, x - away - wide);
            let (below, above) = (
                y + 2.0 * ground.zoom + down,
                y - high - down - 2.0 * ground.zoom,
            );
            [(right, below), (left, above), (left, below), (right, above)]
        });
        ground.first_free(&self.callout.text, corners, taken, Ink::Text)
    }

    /// Its words beside a line from the bottom to the top of the plotting area, as low as there is room.
    fn along(&self, ground: &Ground<'_>, taken: &[Rectangle]) -> Option<Written> {
        let size = LETTERS * ground.zoom;
        let wide = text::width(&self.callout.text, size, false);
        let high = text::height(size);
        let away = AWAY * ground.zoom;
        let bottom = f64::from(ground.plot.bottom) - 8.0 * ground.zoom;
        let corners = (0..12).flat_map(|step| {
            let top = bottom - high - f64::from(step) * (high + 6.0 * ground.zoom);
            [(self.at.0 + away, top), (self.at.0 - away - wide, top)]
        });
        ground.first_free(
            &self.callout.text,
            corners,
            taken,
            self.callout.colour.into(),
        )
    }

    /// A line from the place to its words, where they are not beside it.
    fn draw_leader<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        frame: &Frame<'_>,
    ) -> Result<(), PlotError> {
        let Some(words) = self.words.as_ref().filter(|_| self.is_point()) else {
            return Ok(());
        };
        let place = &words.label.area;
        let nearest = (
            self.at.0.clamp(place.left, place.right),
            self.at.1.clamp(place.top, place.bottom),
        );
        let apart = (nearest.0 - self.at.0).hypot(nearest.1 - self.at.1);
        if apart < 16.0 * frame.zoom {
            return Ok(());
        }
        let pixel = |(x, y): (f64, f64)| (x.round() as i32, y.round() as i32);
        let ends = vec![pixel(self.at), pixel(nearest)];
        let style = rgb(frame.palette().muted).stroke_width(frame.thin());
        area.draw(&PathElement::new(ends, style))
            .map_err(PlotError::new)
    }
}

fn dot((x, y): (f64, f64), radius: f64) -> Rectangle {
    Rectangle {
        left: x - radius,
        top: y - radius,
        right: x + radius,
        bottom: y + radius,
    }
}

/// Fades what is below words.
fn halo<B: DrawingBackend>(
    area: &Area<B>,
    below: &Rectangle,
    background: Rgb,
    zoom: f64,
) -> Result<(), PlotError> {
    let of = below.grown(1.5 * zoom);
    let corners = [
        (of.left.round() as i32, of.top.round() as i32),
        (of.right.round() as i32, of.bottom.round() as i32),
    ];
    area.draw(&Filled::new(corners, rgb(background).mix(0.8).filled()))
        .map_err(PlotError::new)
}
