//! All words around the data with their places, before any is drawn: none is drawn that has no place here.

use plotters::prelude::DrawingBackend;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontDesc, FontFamily, FontStyle, FontTransform, IntoFont, TextStyle};

use super::labels::Rectangle;
use super::{Area, PlotError, fit, rgb, text};
use crate::theme::{Colour, Palette, Rgb};

/// What words around the data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// What the chart shows.
    Title,
    /// What follows from the data.
    Conclusion,
    /// Of what, how measured.
    Subtitle,
    /// What must be known before the chart is believed.
    Warning,
    /// An entry of the legend.
    Legend,
    /// The verdict on a limit.
    Verdict,
    /// The label of a tick.
    Tick,
    /// The name of the x axis.
    XName,
    /// The name of the y axis.
    YName,
    /// A remark below the chart.
    Note,
    /// A cell of the table.
    Cell,
    /// Load, target, tool.
    Footer,
    /// A value that is named within the plotting area.
    Callout,
}

/// Words with their place.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// What they are.
    pub part: Part,
    /// What they say, as far as there is room.
    pub text: String,
    /// Where they stand.
    pub area: Rectangle,
}

/// How words are written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Style {
    /// The size of the letters in pixels.
    pub(super) size: f64,
    pub(super) is_bold: bool,
    pub(super) ink: Ink,
}

/// The colour of words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    Text,
    Muted,
    Warning,
    Good,
}

impl Ink {
    pub(super) fn of(self, palette: &Palette) -> Rgb {
        match self {
            Self::Text => palette.text,
            Self::Muted => palette.muted,
            Self::Warning => palette.warning,
            Self::Good => palette.good,
        }
    }
}

impl From<Colour> for Ink {
    fn from(colour: Colour) -> Self {
        match colour {
            Colour::Met => Self::Good,
            Colour::Missed => Self::Warning,
            _ => Self::Text,
        }
    }
}

/// Words, ready to be drawn.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) label: Label,
    style: Style,
    /// Whether they go from bottom to top.
    is_upright: bool,
}

/// Where words stand relative to a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Anchor {
    /// The point is their left end.
    Left,
    /// The point is their middle.
    Centre,
    /// The point is their right end.
    Right,
}

impl Written {
    /// Words in a line below a point, shortened to `room` pixels; `None` without words.
    pub(super) fn below(
        part: Part,
        words: &str,
        (x, top): (f64, f64),
        anchor: Anchor,
        style: Style,
        room: f64,
    ) -> Option<Self> {
        let text = fit::shortened(words, style.size, style.is_bold, room);
        if text.is_empty() {
            return None;
        }
        let width = text::width(&text, style.size, style.is_bold);
        let left = match anchor {
            Anchor::Left => x,
            Anchor::Centre => x - width / 2.0,
            Anchor::Right => x - width,
        };
        let area = Rectangle {
            left,
            top,
            right: left + width,
            bottom: top + text::height(style.size),
        };
        Some(Self::at(part, text, area, style))
    }

    /// Words that have their place already.
    pub(super) fn at(part: Part, text: String, area: Rectangle, style: Style) -> Self {
        Self {
            label: Label { part, text, area },
            style,
            is_upright: false,
        }
    }

    /// Words from bottom to top, at the right of a point that is their middle.
    pub(super) fn upright(
        part: Part,
        words: &str,
        (left, middle): (f64, f64),
        style: Style,
        room: f64,
    ) -> Option<Self> {
        // Long names are written smaller before they are shortened.
        let whole = text::width(words, style.size, style.is_bold);
        let size = style.size * (room / whole.max(1.0)).clamp(0.75, 1.0);
        let style = Style { size, ..style };
        let text = fit::shortened(words, size, style.is_bold, room);
        if text.is_empty() {
            return None;
        }
        let half = text::width(&text, size, style.is_bold) / 2.0;
        let area = Rectangle {
            left,
            top: middle - half,
            right: left + text::height(size),
            bottom: middle + half,
        };
        Some(Self {
            is_upright: true,
            ..Self::at(part, text, area, style)
        })
    }

    pub(super) fn draw<B: DrawingBackend>(
        &self,
        area: &Area<B>,
        palette: &Palette,
    ) -> Result<(), PlotError> {
        let Style { size, is_bold, ink } = self.style;
        let style = match is_bold {
            true => TextStyle::from(FontDesc::new(FontFamily::SansSerif, size, FontStyle::Bold)),
            false => TextStyle::from(("sans-serif", size).into_font()),
        };
        let style = TextStyle {
            color: plotters_backend_colour(ink.of(palette)),
            ..style
        };
        let Label {
            text, area: place, ..
        } = &self.label;
        let at = |x: f64, y: f64| (x.round() as i32, y.round() as i32);
        let (style, at) = if self.is_upright {
            let style = style.transform(FontTransform::Rotate270);
            let style = style.pos(Pos::new(HPos::Center, VPos::Top));
            (
                style,
                at(place.left, f64::midpoint(place.top, place.bottom)),
            )
        } else {
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            (
                style,
                at(place.left, f64::midpoint(place.top, place.bottom)),
            )
        };
        area.draw_text(&text::drawable(text), &style, at)
            .map_err(PlotError::new)
    }
}

fn plotters_backend_colour(colour: Rgb) -> plotters_backend::BackendColor {
    use plotters::style::Color;
    rgb(colour).to_backend_color()
}
