//! What a record has, by name: the columns of CSV, JSON lines and Arrow files.
//!
//! A time is named with its unit (`time_ns`, `latency_us`, `delay_s`), a position and a length are in
//! sectors (`sector`, `sectors`) or bytes (`offset_bytes`, `length_bytes`).
//!
//! [`mapped`] finds out which column of a table holds which [`Field`]. [`Rows`] makes records of rows of [`Cell`]s,
//! by the same rules whatever the file they come from.

mod names;

use std::path::{Path, PathBuf};

use iosonar_units::{Nanos, Sector, Sectors};

use crate::error::Place;
use crate::limits::LIMIT;
use crate::text::{Axis, Context, Line, Rebased, op_of_letters, possible};
use crate::{Metadata, ReadOptions, Record, TraceError, TraceReader};

pub use crate::text::{skipped, unreadable_row};
use names::{flags_named, op_named, status_named};
pub use names::{flags_text, status_text};

/// The names under which we write.
pub const WRITTEN: [&str; 13] = [
    "time_ns",
    "sector",
    "sectors",
    "op",
    "flags",
    "device",
    "class",
    "group",
    "delay_ns",
    "latency_ns",
    "think_ns",
    "status",
    "pushed_back",
];

/// The names that are read, for messages.
pub const COLUMNS: &str = "time, delay, latency, think (_ns, _us, _ms or _s), sector or offset_bytes, sectors or \
                           length_bytes, op, flags, device, class, group, status, pushed_back";

/// A field of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The intended start, in units of this number of nanoseconds.
    Start(u64),
    /// The delay, in such units.
    Delay(u64),
    /// The latency, in such units.
    Latency(u64),
    /// How long the user thought afterwards, in such units.
    Think(u64),
    /// The first sector.
    Sector,
    /// The same in bytes.
    OffsetBytes,
    /// The length in sectors.
    Sectors,
    /// The same in bytes.
    LengthBytes,
    /// The operation.
    Op,
    /// Its flags.
    Flags,
    /// The name of the device.
    Device,
    /// The class.
    Class,
    /// The logical request.
    Group,
    /// How it ended.
    Status,
    /// Whether it was held back.
    PushedBack,
}

impl Field {
    /// The field called `name`.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "sector" => Self::Sector,
            "offset_bytes" => Self::OffsetBytes,
            "sectors" => Self::Sectors,
            "length_bytes" => Self::LengthBytes,
            "op" => Self::Op,
            "flags" => Self::Flags,
            "device" => Self::Device,
            "class" => Self::Class,
            "group" => Self::Group,
            "status" => Self::Status,
            "pushed_back" => Self::PushedBack,
            _ => {
                let (stem, unit) = name.rsplit_once('_')?;
                let unit = match unit {
                    "ns" => 1,
                    "us" => 1_000,
                    "ms" => 1_000_000,
                    "s" => 1_000_000_000,
                    _ => return None,
                };
                return Self::of_time(stem, unit);
            }
        })
    }

    /// The time called `stem`, without a unit, in units of `unit` nanoseconds.
    pub fn of_time(stem: &str, unit: u64) -> Option<Self> {
        Some(match stem {
            "time" | "start" => Self::Start(unit),
            "delay" => Self::Delay(unit),
            "latency" => Self::Latency(unit),
            "think" => Self::Think(unit),
            _ => return None,
        })
    }

    /// In units of how many nanoseconds it is, if it is a time.
    pub fn unit(self) -> Option<u64> {
        match self {
            Self::Start(unit) | Self::Delay(unit) | Self::Latency(unit) | Self::Think(unit) => {
                Some(unit)
            }
            _ => None,
        }
    }

    /// Whether its values are words.
    pub fn is_word(self) -> bool {
        matches!(self, Self::Op | Self::Flags | Self::Device | Self::Status)
    }

    /// Whether both say the same of a request, perhaps in other units.
    pub(crate) fn means_the_same(self, other: Self) -> bool {
        let kind = |field| match field {
            Self::OffsetBytes => std::mem::discriminant(&Self::Sector),
            Self::LengthBytes => std::mem::discriminant(&Self::Sectors),
            field => std::mem::discriminant(&field),
        };
        kind(self) == kind(other)
    }
}

/// Which field each column of a table holds, `None` for those of other things. What the user says of a column
/// (`mapping`, as in [`ReadOptions::columns`]) goes before what its name says, by `field_of` the column's number and
/// the name. `wrong` makes an error about the header from what was expected in it.
///
/// # Errors
/// If the user maps a column that is not there or to what is no field, or if a field is missing or stands twice.
pub fn mapped(
    names: &[&str],
    mapping: &[(String, String)],
    field_of: impl Fn(usize, &str) -> Option<Field>,
    wrong: impl Fn(String) -> TraceError,
) -> Result<Vec<Option<(Field, String)>>, TraceError> {
    let fields = names.iter().enumerate().map(|(column, &name)| {
        let theirs = mapping.iter().find(|(_, theirs)| *theirs == name);
        let ours = theirs.map_or(name, |(ours, _)| ours.as_str());
        match field_of(column, ours) {
            Some(field) => Ok(Some((field, name.to_owned()))),
            None if theirs.is_some() => Err(no_field(ours)),
            None => Ok(None),
        }
    });
    let fields = fields.collect::<Result<Vec<_>, _>>()?;
    for (ours, theirs) in mapping {
        if !names.contains(&theirs.as_str()) {
            return Err(wrong(format!(
                "the column '{theirs}', which --columns maps to {ours}"
            )));
        }
    }
    check(&fields, wrong)?;
    Ok(fields)
}

/// Refuses a mapping to what is no field.
///
/// # Errors
/// If there is one.
pub(crate) fn refuse_unknown(mapping: &[(String, String)]) -> Result<(), TraceError> {
    match mapping.iter().find(|(ours, _)| Field::of(ours).is_none()) {
        Some((ours, _)) => Err(no_field(ours)),
        None => Ok(()),
    }
}

fn no_field(ours: &str) -> TraceError {
    TraceError::Option(format!(
        "--columns: '{ours}' is not a field, expected one of: {COLUMNS}"
    ))
}

/// Refuses a header in which something is missing, or stands twice.
fn check(
    fields: &[Option<(Field, String)>],
    wrong: impl Fn(String) -> TraceError,
) -> Result<(), TraceError> {
    for (i, (field, name)) in fields
        .iter()
        .enumerate()
        .filter_map(|(i, f)| Some((i, f.as_ref()?)))
    {
        let meant_too = fields[..i]
            .iter()
            .flatten()
            .find(|(other, _)| other.means_the_same(*field));
        if let Some((_, other)) = meant_too {
            return Err(wrong(format!(
                "only one of the columns '{other}' and '{name}', which have the same meaning"
            )));
        }
    }
    let has = |wanted: fn(&Field) -> bool| fields.iter().flatten().any(|(f, _)| wanted(f));
    for (there, name) in [
        (
            has(|f| matches!(f, Field::Start(_))),
            "time_ns, time_us, time_ms or time_s",
        ),
        (
            has(|f| matches!(f, Field::Sector | Field::OffsetBytes)),
            "sector or offset_bytes",
        ),
        (
            has(|f| matches!(f, Field::Sectors | Field::LengthBytes)),
            "sectors or length_bytes",
        ),
        (has(|f| matches!(f, Field::Op)), "op"),
    ] {
        if !there {
            return Err(wrong(format!(
                "a column {name}; use --columns to map other names, such as --columns \
                 time_s=Timestamp,offset_bytes=Offset,length_bytes=Size,op=Type"
            )));
        }
    }
    Ok(())
}

/// The value of a field in a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// A text, to be read as in CSV; an empty one is not there.
    Text(&'a [u8]),
    /// A whole number, in the unit of the field.
    Number(u64),
    /// A time, in nanoseconds whatever the unit of the field.
    Time(Nanos),
    /// The number of a device of the trace, whose name is in the metadata.
    Device(u16),
    /// True or false.
    Flag(bool),
}

/// Makes records of rows of cells, and numbers the devices whose names turn up in them.
pub struct Rows {
    context: Context,
    path: PathBuf,
}

impl Rows {
    /// For the rows of the file `path`, of which `metadata` is known already.
    pub fn new(path: &Path, metadata: Metadata, options: &ReadOptions) -> Self {
        let mut context = Context::new(options);
        context.metadata = metadata;
        Self {
            context,
            path: path.to_owned(),
        }
    }

    /// The record of the row `place`, and how long the user thought afterwards.
    ///
    /// # Errors
    /// If a cell does not have what its field expects, or is missing.
    pub fn record<'c>(
        &mut self,
        place: u64,
        cells: impl Iterator<Item = (Field, &'c str, Cell<'c>)>,
    ) -> Result<(Record, Option<Nanos>), TraceError> {
        let line = Line {
            bytes: &[],
            number: place,
            path: &self.path,
        };
        let mut building = Building::default();
        for (field, name, cell) in cells {
            let taken = match cell {
                Cell::Text(text) => building.take(field, name, text, &line, &mut self.context),
                Cell::Number(number) if field.is_word() || field == Field::PushedBack => {
                    let text = number.to_string();
                    building.take(field, name, text.as_bytes(), &line, &mut self.context)
                }
                cell => building.take_typed(field, name, cell, &line),
            };
            taken.map_err(without_column)?;
        }
        let done = building.done(&line, &mut self.context);
        done.map_err(|error| match error {
            TraceError::MissingField { place, field, .. } => TraceError::Field {
                place: Place { column: 0, ..place },
                field,
                seen: "null".to_owned(),
                expected: "a value in every row".to_owned(),
            },
            other => without_column(other),
        })
    }

    /// What is known of the trace.
    pub fn metadata(&self) -> &Metadata {
        &self.context.metadata
    }

    /// The same, to be added to.
    pub fn metadata_mut(&mut self) -> &mut Metadata {
        &mut self.context.metadata
    }
}

/// A trace whose times count from 1970, with the earliest of its first 65 536 rows at time zero and its origin in the
/// metadata.
pub fn from_1970(
    reader: Box<dyn TraceReader>,
    path: &Path,
    options: &ReadOptions,
) -> Box<dyn TraceReader> {
    let axis = Axis::Unix { ns: 0 };
    let (path, lenient) = (path.to_owned(), options.lenient);
    Box::new(Rebased::new(reader, path, axis, lenient))
}

/// Columns in bytes mean nothing where cells are not pieces of a line.
pub(crate) fn without_column(mut error: TraceError) -> TraceError {
    if let TraceError::Field { place, .. } | TraceError::MissingField { place, .. } = &mut error {
        place.column = 0;
    }
    error
}

/// A record that comes into being field by field.
#[derive(Default)]
pub(crate) struct Building {
    record: Record,
    think: Option<Nanos>,
    offset: Option<u64>,
    bytes: Option<u64>,
    seen_start: bool,
    seen_sector: bool,
    seen_length: bool,
    seen_op: bool,
}

impl Building {
    /// Takes the text of a field; an empty one is not there.
    pub(crate) fn take(
        &mut self,
        field: Field,
        name: &str,
        text: &[u8],
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<(), TraceError> {
        let text = text.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let Record { request, outcome } = &mut self.record;
        let cell = match field {
            Field::Start(unit) | Field::Delay(unit) | Field::Latency(unit) | Field::Think(unit) => {
                Cell::Time(line.time(name, text, unit)?)
            }
            Field::Sector => Cell::Number(line.sector(name, text)?),
            Field::OffsetBytes => Cell::Number(line.offset_bytes(name, text)?),
            Field::Sectors => Cell::Number(u64::from(line.sectors(name, text)?)),
            Field::LengthBytes => Cell::Number(line.length_bytes(name, text)?),
            Field::Class => Cell::Number(line.number_up_to(name, text, u64::from(u16::MAX))?),
            Field::Group => Cell::Number(line.number_up_to(name, text, u64::from(u32::MAX))?),
            Field::Device => Cell::Device(context.device(line, text)?),
            Field::PushedBack => match text {
                b"1" | b"true" => Cell::Flag(true),
                b"0" | b"false" => Cell::Flag(false),
                _ => return Err(line.wrong(name, text, "0 or 1")),
            },
            Field::Op => {
                if let Some(op) = op_named(text) {
                    request.op = op;
                } else if let Some(letters) = op_of_letters(text) {
                    request.op = letters.op;
                    request.flags = request.flags.with(letters.flags);
                    outcome.pushed_back |= letters.pushed_back;
                } else {
                    return Err(line.wrong(
                        name,
                        text,
                        "read, write, discard, flush, write-zeroes, or letters as blkparse prints them",
                    ));
                }
                self.seen_op = true;
                return Ok(());
            }
            Field::Flags => {
                request.flags = request.flags.with(flags_named(line, name, text)?);
                return Ok(());
            }
            Field::Status => {
                outcome.status = status_named(line, name, text)?;
                return Ok(());
            }
        };
        self.take_typed(field, name, cell, line)
    }

    /// Takes the value of a field that is not a word, or the number of a device.
    fn take_typed(
        &mut self,
        field: Field,
        name: &str,
        cell: Cell<'_>,
        line: &Line<'_>,
    ) -> Result<(), TraceError> {
        let Record { request, outcome } = &mut self.record;
        let wrong = |expected: String| {
            let seen = match cell {
                Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Cell::Number(number) => number.to_string(),
                Cell::Time(time) => time.to_string(),
                Cell::Device(number) => number.to_string(),
                Cell::Flag(flag) => flag.to_string(),
            };
            Err(line.wrong(name, seen.as_bytes(), expected))
        };
        let most = match field {
            Field::Sectors | Field::Group => u64::from(u32::MAX),
            Field::LengthBytes => u64::from(u32::MAX) * iosonar_units::SECTOR_BYTES,
            Field::Class => u64::from(u16::MAX),
            Field::Sector => LIMIT - 1,
            _ => u64::MAX,
        };
        let cell = match (cell, field.unit()) {
            (Cell::Number(number), Some(unit)) => match number.checked_mul(unit) {
                Some(ns) if ns < LIMIT => Cell::Time(Nanos::new(ns)),
                _ => return wrong("a time below 292 years".to_owned()),
            },
            (Cell::Number(number), None) if number > most => {
                return wrong(format!("a whole number from 0 to {most}"));
            }
            _ => cell,
        };
        match (field, cell) {
            (Field::Start(_), Cell::Time(time)) => {
                request.start = time;
                self.seen_start = true;
            }
            (Field::Delay(_), Cell::Time(time)) => outcome.delay = Some(time),
            (Field::Latency(_), Cell::Time(time)) => outcome.latency = Some(time),
            (Field::Think(_), Cell::Time(time)) => self.think = Some(time),
            (Field::Sector, Cell::Number(sector)) => {
                request.sector = Sector::new(sector);
                self.seen_sector = true;
            }
            (Field::OffsetBytes, Cell::Number(bytes)) => {
                self.offset = Some(bytes);
                self.seen_sector = true;
            }
            (Field::Sectors, Cell::Number(sectors)) => {
                request.sectors = Sectors::new(sectors as u32);
                self.seen_length = true;
            }
            (Field::LengthBytes, Cell::Number(bytes)) => {
                self.bytes = Some(bytes);
                self.seen_length = true;
            }
            (Field::Class, Cell::Number(class)) => request.class = class as u16,
            (Field::Group, Cell::Number(group)) => request.group = group as u32,
            (Field::Device, Cell::Device(number)) => request.device = number,
            (Field::PushedBack, Cell::Flag(flag)) => outcome.pushed_back = flag,
            _ => return wrong("a value of a different type".to_owned()),
        }
        Ok(())
    }

    pub(crate) fn done(
        mut self,
        line: &Line<'_>,
        context: &mut Context,
    ) -> Result<(Record, Option<Nanos>), TraceError> {
        for (seen, name) in [
            (self.seen_start, "time"),
            (self.seen_sector, "sector"),
            (self.seen_length, "sectors"),
            (self.seen_op, "op"),
        ] {
            if !seen {
                return Err(line.missing(name, COLUMNS));
            }
        }
        if self.offset.is_some() || self.bytes.is_some() {
            let request = &mut self.record.request;
            let offset = self
                .offset
                .map_or_else(|| u128::from(request.sector.get()) * 512, u128::from);
            let bytes = self
                .bytes
                .unwrap_or_else(|| u64::from(request.sectors.get()) * 512);
            let (offset, bytes) = (offset.to_string(), bytes.to_string());
            let (sector, sectors) = context.range(
                line,
                ("offset_bytes", offset.as_bytes()),
                ("length_bytes", bytes.as_bytes()),
            )?;
            (request.sector, request.sectors) = (sector, sectors);
        }
        let zero = Line {
            bytes: b"0",
            ..*line
        };
        possible(&zero, &self.record.request, zero.bytes)?;
        Ok((self.record, self.think))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Op, Status};

    type Cells<'a> = [(&'a str, Cell<'a>)];

    /// The record of row 7 with these cells, and with usual ones for what a row must have.
    fn record(cells: &Cells<'_>) -> Result<(Record, Option<Nanos>), TraceError> {
        let usual = [
            ("time_ns", Cell::Number(5)),
            ("sector", Cell::Number(8)),
            ("sectors", Cell::Number(2)),
            ("op", Cell::Text(b"write")),
        ];
        let field = |name: &str| Field::of(name).unwrap();
        let is_given = |name: &str| {
            let mut given = cells.iter();
            given.any(|(other, _)| field(other).means_the_same(field(name)))
        };
        let others = usual.iter().filter(|(name, _)| !is_given(name));
        let cells = others.chain(cells);
        rows().record(7, cells.map(|(name, cell)| (field(name), *name, *cell)))
    }

    fn rows() -> Rows {
        Rows::new(Path::new("x"), Metadata::default(), &ReadOptions::default())
    }

    fn changed(cells: &Cells<'_>, change: impl FnOnce(&mut Record)) {
        let mut expected = Record::default();
        let request = &mut expected.request;
        (request.start, request.op) = (Nanos::new(5), Op::Write);
        (request.sector, request.sectors) = (Sector::new(8), Sectors::new(2));
        change(&mut expected);
        assert_eq!(record(cells).unwrap(), (expected, None), "{cells:?}");
    }

    #[test]
    fn a_row_of_typed_cells_is_a_record() {
        changed(&[], |_| {});
        changed(&[("time_us", Cell::Number(3))], |r| {
            r.request.start = Nanos::new(3_000);
        });
        changed(&[("time_s", Cell::Time(Nanos::new(3)))], |r| {
            r.request.start = Nanos::new(3);
        });
        changed(&[("delay_ms", Cell::Number(4))], |r| {
            r.outcome.delay = Some(Nanos::new(4_000_000));
        });
        changed(&[("latency_ns", Cell::Number((1 << 63) - 1))], |r| {
            r.outcome.latency = Some(Nanos::new((1 << 63) - 1));
        });
        changed(&[("class", Cell::Number(65_535))], |r| {
            r.request.class = 65_535;
        });
        changed(&[("group", Cell::Number(4_294_967_295))], |r| {
            r.request.group = u32::MAX;
        });
        changed(&[("sectors", Cell::Number(4_294_967_295))], |r| {
            r.request.sectors = Sectors::new(u32::MAX);
        });
        changed(&[("device", Cell::Device(9))], |r| r.request.device = 9);
        changed(&[("flags", Cell::Text(b"sync+fua"))], |r| {
            r.request.flags = Flags::SYNC.with(Flags::FUA);
        });
        changed(&[("status", Cell::Text(b"error:5"))], |r| {
            r.outcome.status = Status::Error(5);
        });
        let (_, think) = record(&[("think_us", Cell::Number(6))]).unwrap();
        assert_eq!(think, Some(Nanos::new(6_000)));
    }

    #[test]
    fn a_flag_is_true_or_false_in_any_type() {
        for (cell, flag) in [
            (Cell::Flag(true), true),
            (Cell::Flag(false), false),
            (Cell::Number(1), true),
            (Cell::Number(0), false),
            (Cell::Text(b"true"), true),
            (Cell::Text(b"false"), false),
            (Cell::Text(b"0"), false),
        ] {
            changed(&[("pushed_back", cell)], |r| r.outcome.pushed_back = flag);
        }
    }

    #[test]
    fn a_range_may_be_in_sectors_and_bytes_at_once() {
        let (offset, length) = (Cell::Number(5 * 512), Cell::Number(3 * 512));
        changed(&[("offset_bytes", offset)], |r| {
            r.request.sector = Sector::new(5);
        });
        changed(&[("length_bytes", length)], |r| {
            r.request.sectors = Sectors::new(3);
        });
        changed(&[("offset_bytes", offset), ("length_bytes", length)], |r| {
            (r.request.sector, r.request.sectors) = (Sector::new(5), Sectors::new(3));
        });
    }

    #[test]
    fn a_cell_that_is_none_of_its_field_is_refused_with_its_row() {
        for (name, cell, problem) in [
            ("time_ns", Cell::Number(1 << 63), "a time below 292 years"),
            ("delay_s", Cell::Number(1 << 62), "a time below 292 years"),
            (
                "sectors",
                Cell::Number(1 << 32),
                "a whole number from 0 to 4294967295",
            ),
            (
                "group",
                Cell::Number(1 << 32),
                "a whole number from 0 to 4294967295",
            ),
            (
                "class",
                Cell::Number(1 << 16),
                "a whole number from 0 to 65535",
            ),
            (
                "sector",
                Cell::Number(1 << 63),
                "a whole number from 0 to 9223372036854775807",
            ),
            ("sector", Cell::Flag(true), "a value of a different type"),
            (
                "device",
                Cell::Time(Nanos::ZERO),
                "a value of a different type",
            ),
            ("pushed_back", Cell::Number(2), "0 or 1"),
            ("op", Cell::Number(1), "read, write, discard"),
            ("op", Cell::Text(b""), "a value in every row"),
        ] {
            let error = record(&[(name, cell)]).unwrap_err().to_string();
            assert!(error.starts_with("x:7: field "), "{error}");
            assert!(
                error.contains(&format!("'{name}'")) && error.contains(problem),
                "{error}"
            );
        }
    }

    #[test]
    fn devices_are_numbered_as_their_names_turn_up() {
        let mut rows = rows();
        rows.metadata_mut().origin_ns = Some(4);
        let usual = |name: &'static str| (Field::of(name).unwrap(), name, Cell::Number(1));
        // A number is a name, too.
        let named = [
            (Cell::Text(b"sdb"), 0),
            (Cell::Number(12), 1),
            (Cell::Text(b"sdb"), 0),
        ];
        for (device, number) in named {
            let cells = [
                usual("time_ns"),
                usual("sector"),
                usual("sectors"),
                (Field::Op, "op", Cell::Text(b"R")),
                (Field::Device, "device", device),
            ];
            let (record, _) = rows.record(1, cells.into_iter()).unwrap();
            assert_eq!(record.request.device, number);
        }
        assert_eq!(rows.metadata().devices, ["sdb", "12"]);
        assert_eq!(rows.metadata().origin_ns, Some(4));
    }

    #[test]
    fn a_length_in_bytes_is_that_of_up_to_the_most_sectors() {
        const MOST: u64 = u32::MAX as u64 * 512;
        let of = |bytes: u64| {
            let cells = [
                ("offset_bytes", Cell::Number(0)),
                ("length_bytes", Cell::Number(bytes)),
            ];
            record(&cells).map(|(record, _)| record.request.sectors.get())
        };
        assert_eq!(of(MOST).unwrap(), u32::MAX);
        for bytes in [MOST + 1, MOST + 512, u64::MAX] {
            let error = of(bytes).unwrap_err().to_string();
            assert!(error.contains("from 0 to 2199023255040"), "{error}");
        }
    }

    #[test]
    fn a_column_is_mapped_to_a_field_that_there_is() {
        let names = ["a", "sector", "sectors", "op"];
        let read = |ours: &str, theirs: &str| {
            let mapping = [(ours.to_owned(), theirs.to_owned())];
            let fields = mapped(
                &names,
                &mapping,
                |_, name| Field::of(name),
                TraceError::Option,
            );
            fields
                .map(|fields| fields[0].clone())
                .map_err(|e| e.to_string())
        };
        assert_eq!(
            read("time_ns", "a"),
            Ok(Some((Field::Start(1), "a".to_owned())))
        );
        for (ours, theirs, words) in [
            ("colour", "a", "'colour' is not a field"),
            (
                "time_ns",
                "b",
                "the column 'b', which --columns maps to time_ns",
            ),
        ] {
            let error = read(ours, theirs).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn a_lower_case_letter_marks_a_request_that_was_pushed_back() {
        for (letters, pushed_back) in [("w", true), ("W", false)] {
            changed(&[("op", Cell::Text(letters.as_bytes()))], |r| {
                r.outcome.pushed_back = pushed_back;
            });
        }
    }
}
