//! Time and space, as types.
//!
//! Everything in iosonar speaks four units: [`Nanos`] for instants and durations, [`Sector`] for a
//! position on a device, [`Sectors`] for a length on it, [`Bytes`] at the edges where people and
//! files speak of bytes. They are integers, so that arithmetic is exact and results are the same
//! on every machine; floating point begins where statistics begin.
//!
//! Each unit is read from and written for people: `"60s".parse::<Nanos>()`,
//! `"128KiB".parse::<Bytes>()`, `println!("{}", Nanos::from_micros(1500))`.
//!
//! ```
//! use iosonar_units::{Nanos, Sector, Sectors};
//!
//! let end = Sector::new(1000) + Sectors::new(8);
//! assert_eq!(end, Sector::new(1008));
//! assert_eq!("1.5ms".parse::<Nanos>().unwrap().to_string(), "1.5 ms");
//! ```

mod bytes;
#[cfg(feature = "serde")]
mod complaint;
mod counted;
mod csv;
mod decimal;
mod error_text;
mod folder;
mod nanos;
mod one_line;
#[cfg(feature = "serde")]
mod scalar;
mod sector;
mod table;
mod text_file;
mod values;

pub use bytes::Bytes;
#[cfg(feature = "serde")]
pub use complaint::{distance_of_words, nearest, plain_complaint};
pub use counted::{counted, grouped};
pub use csv::csv_field;
pub use decimal::ParseUnitError;
pub use error_text::with_causes;
pub use folder::{OutputFolder, folder_of, with_ending};
pub use nanos::Nanos;
#[cfg(feature = "serde")]
pub use one_line::text_in_one_line;
pub use one_line::{is_harmful, one_line};
#[cfg(feature = "serde")]
pub use scalar::{one_or_many, scalar};
pub use sector::{SECTOR_BYTES, Sector, Sectors};
pub use table::{Cell, Column, ColumnUnit, ColumnValues, Row, Table, TimeScale};
pub use text_file::read_text_file;
pub use values::{Kind, Share, Spacing, Values, by_magnitude, magnitude, spread};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
