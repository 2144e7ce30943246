//! What stands above the data: title, conclusion, warnings, legend, verdict.

use plotters::prelude::{DrawingBackend, Rectangle};
use plotters::style::Color;

use super::legend::{Legend, MOST, Of, Placed, SWATCH};
use super::marker;
use super::words::{Anchor, Ink, Part, Style, Written};
use super::{Area, PlotError, fit, labels, rgb};
use crate::chart::{Chart, LegendEntry};
use crate::theme::Palette;

const TITLE: f64 = 26.0;
const SUBTITLE: f64 = 16.0;
/// Lines that a conclusion may have.
const CONCLUSION_LINES: usize = 2;

/// The words above the data of a chart, or of several.
pub(super) struct Head {
    written: Vec<Written>,
    legend: Legend,
    /// The upper left corner of the legend.
    corner: (f64, f64),
    height: f64,
    zoom: f64,
}

/// The place of a head in its picture.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Where its words begin.
    pub(super) left: f64,
    /// The size of the picture.
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) zoom: f64,
}

impl Place {
    fn room(self) -> f64 {
        self.width - self.left - 20.0 * self.zoom
    }
}

impl Head {
    /// Of a chart, with a legend that need not be the chart's own.
    pub(super) fn new(chart: &Chart, legend: Vec<LegendEntry>, place: Place) -> Self {
        let zoom = place.zoom;
        let px = |n: f64| (n * zoom).round();
        let room = place.room();
        let mut written = Vec::new();
        let mut y = px(18.0);
        let style = |size: f64, is_bold, ink| Style {
            size: size * zoom,
            is_bold,
            ink,
        };
        let mut line = |part, words: &str, y: f64, style| {
            let at = (place.left, y);
            written.extend(Written::below(part, words, at, Anchor::Left, style, room));
        };
        let bold = style(TITLE, true, Ink::Text);
        line(Part::Title, &chart.title, y, bold);
        y += px(TITLE + 8.0);
        let plain = style(SUBTITLE, false, Ink::Text);
        for words in fit::lines(&chart.conclusion, plain.size, room, CONCLUSION_LINES) {
            line(Part::Conclusion, &words, y, plain);
            y += px(SUBTITLE + 6.0);
        }
        if !chart.subtitle.is_empty() {
            line(
                Part::Subtitle,
                &chart.subtitle,
                y,
                style(SUBTITLE, false, Ink::Muted),
            );
            y += px(SUBTITLE + 6.0);
        }
        for warning in &chart.warnings {
            line(
                Part::Warning,
                warning,
                y,
                style(SUBTITLE, true, Ink::Warning),
            );
            y += px(SUBTITLE + 6.0);
        }
        y += px(3.0);
        let most = MOST * place.height;
        let legend = Legend::new(legend, chart.limit.as_ref(), (room, most), zoom);
        let corner = (place.left, y);
        for entry in &legend.entries {
            let style = Style {
                size: legend.letters,
                is_bold: matches!(entry.of, Of::Verdict(_)),
                ink: match entry.of {
                    Of::Series(_) => Ink::Text,
                    Of::Verdict(true) => Ink::Good,
                    Of::Verdict(false) => Ink::Warning,
                    Of::More => Ink::Muted,
                },
            };
            let part = match entry.of {
                Of::Verdict(_) => Part::Verdict,
                Of::Series(_) | Of::More => Part::Legend,
            };
            let area = entry.area.moved(corner.0, corner.1);
            written.push(Written::at(part, entry.text.clone(), area, style));
        }
        let height = y + legend.height;
        Self {
            written,
            legend,
            corner,
            height,
            zoom,
        }
    }

    /// Of a panel: its title only.
    pub(super) fn of_panel(chart: &Chart, place: Place) -> Self {
        let zoom = place.zoom;
        let style = Style {
            size: SUBTITLE * zoom,
            is_bold: true,
            ink: Ink::Text,
        };
        let at = (place.left, (8.0 * zoom).round());
        let title = Written::below(
            Part::Title,
            &chart.title,
            at,
            Anchor::Left,
            style,
            place.room(),
        );
        Self {
            written: title.into_iter().collect(),
            legend: Legend::new(Vec::new(), None, (place.width, 0.0), zoom),
            corner: at,
            height: ((8.0 + SUBTITLE + 6.0) * zoom).round(),
            zoom,
        }
    }

    /// How high it is, in pixels.
    pub(super) fn height(&self) -> i32 {
        self.height.round() as i32
    }

    /// Its words with their places.
    pub(super) fn written(&self) -> &[Written] {
        &self.written
    }

    /// The part of the picture that the legend takes.
    pub(super) fn legend_area(&self, width: f64) -> labels::Rectangle {
        labels::Rectangle {
            left: self.corner.0,
            top: self.corner.1,
            right: width,
            bottom: self.corner.1 + self.legend.height,
        }
    }

    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
    ) -> Result<(), PlotError> {
        for words in &self.written {
            words.draw(area, palette)?;
        }
        for entry in &self.legend.entries {
            if let Of::Series(of) = &entry.of {
                self.draw_swatch(area, palette, entry, of)?;
            }
        }
        Ok(())
    }

    /// The colour of an entry: a bar, two dashes of a broken line, with the marker of its line on them.
    fn draw_swatch<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
        entry: &Placed,
        of: &LegendEntry,
    ) -> Result<(), PlotError> {
        let Some(colour) = of.colour else {
            return Ok(());
        };
        let colour = palette.rgb(colour);
        let px = |n: f64| (n * self.zoom).round() as i32;
        let left = (self.corner.0 + entry.corner.0).round() as i32;
        let middle = self.corner.1 + entry.corner.1 + self.legend.letters / 2.0;
        let middle = middle.round() as i32;
        let half = px(if of.marker.is_some() { 2.0 } else { 5.0 });
        let pieces = match of.dash {
            Some(dash) => dash.in_legend(SWATCH).pieces(SWATCH),
            None => vec![(0.0, SWATCH)],
        };
        for (from, to) in pieces {
            let corners = [
                (left + px(from), middle - half),
                (left + px(to), middle + half),
            ];
            area.draw(&Rectangle::new(corners, rgb(colour).filled()))
                .map_err(PlotError::new)?;
        }
        if let Some(marker) = of.marker {
            let at = (left + px(SWATCH / 2.0), middle);
            marker::draw(
                area,
                marker,
                at,
                5.0 * self.zoom,
                (colour, palette.background),
            )?;
        }
        Ok(())
    }
}
