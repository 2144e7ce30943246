//! Records by the names of their fields: what CSV and JSON lines share.
//!
//! A time is named with its unit (`time_ns`, `latency_us`, `delay_s`), a position and a length are in
//! sectors (`sector`, `sectors`) or bytes (`offset_bytes`, `length_bytes`).

mod csv_file;
mod json_lines;

pub(crate) use csv_file::Csv;
pub(crate) use json_lines::JsonLines;

use iosonar_units::{Nanos, Sector, Sectors};

use crate::text::{Context, Line, direction, op_of_letters, possible};
use crate::{Batch, Flags, Op, Record, Status, TraceError};

/// The names under which we write.
const WRITTEN: [&str; 13] = [
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

const COLUMNS: &str = "time, delay, latency, think (_ns, _us, _ms or _s), sector or offset_bytes, sectors or \
                       length_bytes, op, flags, device, class, group, status, pushed_back";

const LOSES: &str = "wall clock, notices and other metadata of the trace";

/// A field of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    /// A time in units of this number of nanoseconds.
    Start(u64),
    Delay(u64),
    Latency(u64),
    Think(u64),
    Sector,
    OffsetBytes,
    Sectors,
    LengthBytes,
    Op,
    Flags,
    Device,
    Class,
    Group,
    Status,
    PushedBack,
}

impl Field {
    /// The field called `name`.
    fn of(name: &str) -> Option<Self> {
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
                match stem {
                    "time" | "start" => Self::Start(unit),
                    "delay" => Self::Delay(unit),
                    "latency" => Self::Latency(unit),
                    "think" => Self::Think(unit),
                    _ => return None,
                }
            }
        })
    }
}

impl Field {
    /// Whether both say the same of a request, perhaps in other units.
    fn means_the_same(self, other: Self) -> bool {
        let kind = |field| match field {
            Self::OffsetBytes => std::mem::discriminant(&Self::Sector),
            Self::LengthBytes => std::mem::discriminant(&Self::Sectors),
            field => std::mem::discriminant(&field),
        };
        kind(self) == kind(other)
    }
}

/// A record that comes into being field by field.
#[derive(Default)]
struct Building {
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
    fn take(
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
        match field {
            Field::Start(unit) => {
                request.start = line.time(name, text, unit)?;
                self.seen_start = true;
            }
            Field::Delay(unit) => outcome.delay = Some(line.time(name, text, unit)?),
            Field::Latency(unit) => outcome.latency = Some(line.time(name, text, unit)?),
            Field::Think(unit) => self.think = Some(line.time(name, text, unit)?),
            Field::Sector => {
                request.sector = Sector::new(line.sector(name, text)?);
                self.seen_sector = true;
            }
            Field::OffsetBytes => {
                self.offset = Some(line.offset_bytes(name, text)?);
                self.seen_sector = true;
            }
            Field::Sectors => {
                request.sectors = Sectors::new(line.sectors(name, text)?);
                self.seen_length = true;
            }
            Field::LengthBytes => {
                self.bytes = Some(line.length_bytes(name, text)?);
                self.seen_length = true;
            }
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
            }
            Field::Flags => request.flags = request.flags.with(flags_named(line, name, text)?),
            Field::Device => request.device = context.device(line, text)?,
            Field::Class => {
                request.class = line.number_up_to(name, text, u64::from(u16::MAX))? as u16;
            }
            Field::Group => {
                request.group = line.number_up_to(name, text, u64::from(u32::MAX))? as u32;
            }
            Field::Status => outcome.status = status_named(line, name, text)?,
            Field::PushedBack => {
                outcome.pushed_back = match text {
                    b"1" | b"true" => true,
                    b"0" | b"false" => false,
                    _ => return Err(line.wrong(name, text, "0 or 1")),
                }
            }
        }
        Ok(())
    }

    fn done(
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

fn op_named(text: &[u8]) -> Option<Op> {
    Op::ALL
        .into_iter()
        .find(|op| op.name().as_bytes().eq_ignore_ascii_case(text))
        .or_else(|| direction(text).filter(|_| text.len() > 1))
}

const FLAG_NAMES: [(&str, Flags); 4] = [
    ("sync", Flags::SYNC),
    ("fua", Flags::FUA),
    ("meta", Flags::META),
    ("read-ahead", Flags::READ_AHEAD),
];

fn flags_named(line: &Line<'_>, name: &str, text: &[u8]) -> Result<Flags, TraceError> {
    text.split(|&b| b == b'+')
        .try_fold(Flags::NONE, |flags, word| {
            let known = FLAG_NAMES.iter().find(|(n, _)| n.as_bytes() == word);
            match known {
                Some((_, flag)) => Ok(flags.with(*flag)),
                None => Err(line.wrong(name, word, "sync, fua, meta and read-ahead, joined by +")),
            }
        })
}

fn flags_text(flags: Flags) -> String {
    let set = FLAG_NAMES.iter().filter(|(_, f)| flags.contains(*f));
    set.map(|(name, _)| *name).collect::<Vec<_>>().join("+")
}

const STATUS_NAMES: [(&str, Status); 7] = [
    ("done", Status::Done),
    ("short", Status::Short),
    ("dropped", Status::Dropped),
    ("skipped", Status::Skipped),
    ("missed", Status::Missed),
    ("cancelled", Status::Cancelled),
    ("verify", Status::VerifyFailed),
];

/// The word for an error, with its number behind a colon.
const ERROR: &str = "error:";

fn status_named(line: &Line<'_>, name: &str, text: &[u8]) -> Result<Status, TraceError> {
    if let Some(number) = text.strip_prefix(ERROR.as_bytes()) {
        let errno = line.number_up_to(name, number, u64::from(u16::MAX))?;
        return Ok(Status::Error(errno as u16));
    }
    let known = STATUS_NAMES.iter().find(|(n, _)| n.as_bytes() == text);
    known.map(|(_, status)| *status).ok_or_else(|| {
        line.wrong(
            name,
            text,
            "done, error:ERRNO, short, dropped, skipped, missed, cancelled or verify",
        )
    })
}

fn status_text(status: Status) -> String {
    match status {
        Status::Error(errno) => format!("{ERROR}{errno}"),
        status => {
            let known = STATUS_NAMES.iter().find(|(_, s)| *s == status);
            known.map_or("done", |(name, _)| name).to_owned()
        }
    }
}

/// The values of row `row`, as texts in the order of [`WRITTEN`]; empty where there is nothing.
fn texts(batch: &Batch, row: usize, device: impl Fn(u16) -> String) -> [String; 13] {
    let Record { request, outcome } = batch.record(row);
    let time = |t: Option<Nanos>| t.map_or_else(String::new, |t| t.get().to_string());
    let number = |n: u32| if n == 0 { String::new() } else { n.to_string() };
    [
        request.start.get().to_string(),
        request.sector.to_string(),
        request.sectors.to_string(),
        request.op.name().to_owned(),
        flags_text(request.flags),
        device(request.device),
        number(u32::from(request.class)),
        number(request.group),
        time(outcome.delay),
        time(outcome.latency),
        time(batch.think(row)),
        status_text(outcome.status),
        if outcome.pushed_back { "1" } else { "" }.to_owned(),
    ]
}

/// The names of the devices as they are written: none for the only one without a name, so that it stays
/// the only one.
fn device_text(devices: &[String], number: u16) -> String {
    match devices.get(usize::from(number)) {
        Some(name) => name.clone(),
        None if number == 0 && devices.is_empty() => String::new(),
        None => number.to_string(),
    }
}
