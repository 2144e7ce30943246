//! Charts from numbers: this crate knows no trace and no device.
//!
//! A [`Chart`] is data: axes, and what is drawn on them ([`Mark`]): clouds of points, curves, bands,
//! histograms, heat maps. It becomes a picture ([`render`]: PNG or SVG, light or dark; fonts are embedded),
//! coloured text ([`Terminal`]), or numbers ([`Chart::csv`]). A [`Cloud`] takes any number of points in
//! bounded memory: points while they are few, density beyond, with the slowest always visible.
//!
//! ```
//! use iosonar_plot::{Axis, Chart, Cloud, Colour, Format, Kind, Mark, Size, Theme, Unit, render};
//!
//! let (x, y) = (Axis::time("time"), Axis::log("latency", Unit::Seconds));
//! let name = "reads".to_owned();
//! let reads = Kind { label: name.clone(), name, colour: Colour::Read };
//! let mut cloud = Cloud::new(x.grid(), y.grid(), vec![reads]);
//! for i in 0..100 {
//!     cloud.push(0, f64::from(i) * 0.01, 1e-3 * (1.0 + f64::from(i % 7)));
//! }
//! let title = "A burst".to_owned();
//! let chart = Chart { title, x, y, marks: vec![Mark::Cloud(cloud)], ..Chart::default() };
//! let png = render(&[&chart], Format::Png, Size::default(), Theme::Light).unwrap();
//! assert!(png.starts_with(b"\x89PNG"));
//! ```

mod chart;
mod cloud;
mod extent;
mod picture;
mod scale;
mod tables;
mod terminal;
mod theme;
mod units;

pub use chart::{
    Axis, Band, Bars, Callout, Chart, Dash, Estimates, Guide, Heat, LegendEntry, Limit, Line, Mark,
    Marker, Named, Shape, Table,
};
pub use cloud::{Cell, CellEdges, CellGrid, Cloud, GridKind, Kind, Point, Resolution};
pub use iosonar_units::{counted, grouped};
pub use picture::{
    Format, Label, Layout, Panels, Part, PixelScale, PlotError, Rectangle, Scaled, Side, Size,
    TickLabel,
};
pub use picture::{layout, render, render_frame};
pub use tables::{csv_of, table_of};
pub use terminal::Terminal;
pub use theme::{Colour, Rgb, Theme};
pub use units::{Unit, seconds, significant};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
