//! Charts from numbers: this crate knows no trace and no device.
//!
//! - [`Sonar`]: latency over time, every request: points while they are few, density beyond, so
//!   that any number of them stays legible in bounded memory.
//! - [`CdfChart`]: distribution functions, several on one chart.
//!
//! A chart is drawn by [`render`] as PNG or SVG. The font is embedded: no system font or library
//! is needed.
//!
//! ```
//! use iosonar_plot::{Kind, Series, Size, Sonar, render};
//!
//! let mut sonar = Sonar::new("A burst", "time [s]", "latency");
//! for i in 0..100 {
//!     sonar.push(Series::Read, f64::from(i) * 0.01, 1e-3 * (1.0 + f64::from(i % 7)));
//! }
//! let png = render(&sonar, Kind::Png, Size::default()).unwrap();
//! assert!(png.starts_with(b"\x89PNG"));
//! ```

mod canvas;
mod cdf;
mod density;
mod frame;
mod raster;
mod scale;
mod sonar;
mod theme;
mod units;

pub use canvas::{Area, Chart, Kind, PlotError, Size, render};
pub use cdf::{CdfChart, Curve};
pub use sonar::{Series, Sonar};
pub use units::seconds;
