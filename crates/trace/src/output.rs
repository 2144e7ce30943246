//! Creating a trace: format and compression follow from its name.

use std::path::Path;

use iosonar_units::{Nanos, Sector, Sectors};

use crate::formats::by_format_name;
use crate::limits::LIMIT;
use crate::whole_file::{self, Counter};
pub use crate::whole_file::{
    Abandoned, LinkOfAnother, NoRegularFile, Output, WholeFile, WrittenByAnother, abandon_all,
    sync_folder_of, written_so_far,
};
use crate::{
    Batch, Flags, Format, Metadata, Op, Outcome, Record, Request, Sink, TraceError, TraceWriter,
    WriteOptions, formats, tables,
};

/// The format that a trace called `path` will have: what its name says; blkreplay text for `-`, which people
/// read; the binary format for a name without an ending.
///
/// # Errors
/// If the name is of no format that can be written.
pub fn format_for(path: &Path) -> Result<&'static dyn Format, TraceError> {
    if path == Path::new("-") {
        return by_format_name("blkreplay");
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if [".xz", ".bz2"].iter().any(|ending| name.ends_with(ending)) {
        return Err(TraceError::OutputName {
            path: path.to_owned(),
            endings: formats::endings(),
        });
    }
    let plain = formats::COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    if !plain.trim_start_matches('.').contains('.') {
        return by_format_name("ios");
    }
    formats::by_name(path).ok_or_else(|| match tables::feature_for(path) {
        Some(feature) => TraceError::NeedsFeature {
            path: path.to_owned(),
            feature,
        },
        None => TraceError::OutputName {
            path: path.to_owned(),
            endings: formats::endings(),
        },
    })
}

/// Creates a trace at `path`, `-` for standard output. The format follows from the name, the compression
/// from `.gz` or `.zst`.
///
/// # Errors
/// If the name is of no format that can be written, or the file cannot be created.
pub fn create(path: &Path, metadata: &Metadata) -> Result<Box<dyn TraceWriter>, TraceError> {
    create_with(path, metadata, &WriteOptions::default())
}

/// Creates a trace at `path` with options.
///
/// # Errors
/// As [`create`].
pub fn create_with(
    path: &Path,
    metadata: &Metadata,
    options: &WriteOptions,
) -> Result<Box<dyn TraceWriter>, TraceError> {
    let format = match &options.format {
        Some(name) => by_format_name(name)?,
        None => format_for(path)?,
    };
    if format.loses().is_none() {
        return Err(TraceError::NotWritable {
            path: path.to_owned(),
            format: format.name(),
            writable: formats::writable(),
        });
    }
    let output = whole_file::open(path, options).map_err(|source| TraceError::Io {
        path: path.to_owned(),
        action: "create the trace",
        source,
    })?;
    let sink = Sink {
        output,
        path: path.to_owned(),
    };
    format.writer(sink, metadata, options)
}

/// The largest values of the requests of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Largest {
    /// Intended start.
    pub start: Nanos,
    /// First sector.
    pub sector: Sector,
    /// Length.
    pub sectors: Sectors,
    /// Device.
    pub device: u16,
    /// Class.
    pub class: u16,
    /// Group.
    pub group: u32,
}

impl Largest {
    /// Takes a request into account.
    pub fn add(&mut self, request: &Request) {
        self.start = self.start.max(request.start);
        self.sector = self.sector.max(request.sector);
        self.sectors = self.sectors.max(request.sectors);
        self.device = self.device.max(request.device);
        self.class = self.class.max(request.class);
        self.group = self.group.max(request.group);
    }

    /// The larger of both in everything.
    #[must_use]
    pub fn max(mut self, other: &Self) -> Self {
        self.add(&Request {
            start: other.start,
            sector: other.sector,
            sectors: other.sectors,
            device: other.device,
            class: other.class,
            group: other.group,
            ..Request::default()
        });
        self
    }
}

/// Bytes for each record of a trace called `path`, on the safe side: what a sample takes whose values are as random as
/// values up to `largest` can be, written by the format's own writer. `None` if that cannot write it.
pub fn bytes_per_record(path: &Path, metadata: &Metadata, largest: &Largest) -> Option<f64> {
    /// Nearly all requests are started and completed sooner.
    const LONGEST_NS: u64 = 100_000_000_000;
    const SAMPLE: u64 = 1 << 14;
    let counter = Counter::default();
    let written = |rows: u64| {
        let sink = Sink {
            output: counter.of(path).ok()?,
            path: path.to_owned(),
        };
        let options = WriteOptions {
            lossy: true,
            ..WriteOptions::default()
        };
        let before = counter.bytes();
        let mut writer = format_for(path)
            .ok()?
            .writer(sink, metadata, &options)
            .ok()?;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut below = |end: u64| {
            // xorshift (Marsaglia 2003).
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % end.saturating_add(1).max(1)
        };
        let mut batch = Batch::default();
        for row in 0..rows {
            // In order, as records are but for requests in flight at once.
            let start = u128::from(largest.start.get()) * u128::from(row) / u128::from(SAMPLE);
            let request = Request {
                start: Nanos::new(start as u64),
                sector: Sector::new(below(largest.sector.get())),
                sectors: Sectors::new(below(u64::from(largest.sectors.get())).max(1) as u32),
                op: if below(1) == 0 { Op::Read } else { Op::Write },
                flags: Flags::from_bits(below(15) as u8),
                device: below(u64::from(largest.device)) as u16,
                class: below(u64::from(largest.class)) as u16,
                group: below(u64::from(largest.group)) as u32,
            };
            let (delay, latency) = (Nanos::new(below(LONGEST_NS)), Nanos::new(below(LONGEST_NS)));
            let outcome = Outcome {
                pushed_back: true,
                ..Outcome::done(delay, latency)
            };
            batch.push(&Record { request, outcome });
            if batch.len() == Batch::ROWS {
                writer.write(&batch).ok()?;
                batch.clear();
            }
        }
        writer.write(&batch).ok()?;
        writer.finish().ok()?;
        Some(counter.bytes() - before)
    };
    // Without what is written once.
    let (none, all) = (written(0)?, written(SAMPLE)?);
    Some(all.saturating_sub(none) as f64 / SAMPLE as f64)
}

/// Writes `requests` as a load with a notice above them; how many there were.
///
/// # Errors
/// As [`create`], and if they cannot be written.
pub fn write_requests(
    requests: impl Iterator<Item = Request>,
    path: &Path,
    notice: String,
    options: &WriteOptions,
) -> Result<u64, TraceError> {
    let metadata = Metadata {
        notices: vec![notice],
        ..Metadata::default()
    };
    let mut writer = create_with(path, &metadata, options)?;
    let (mut batch, mut written) = (Batch::default(), 0);
    for request in requests {
        if request.start.get() >= LIMIT {
            return Err(TraceError::Option(format!(
                "request {} would start later than after 292 years: use fewer requests, or a higher rate",
                written + 1
            )));
        }
        written += 1;
        batch.push(&Record {
            request,
            ..Record::default()
        });
        if batch.len() == Batch::ROWS {
            writer.write(&batch)?;
            batch.clear();
        }
    }
    writer.write(&batch)?;
    writer.finish()?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_format_takes_more_than_its_estimate() {
        let folder = tempfile::tempdir().unwrap();
        // Ten minutes of a large device, and a second of a small one.
        for (seconds, sectors, class) in [(600, 1 << 35, 3), (1, 1 << 13, 0)] {
            const RECORDS: u64 = 20_000;
            let mut random = 7_u64;
            let mut below = |end: u64| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 20) % end
            };
            let mut all = Batch::default();
            let mut largest = Largest::default();
            for i in 0..RECORDS {
                let request = Request {
                    start: Nanos::new(i * seconds * 1_000_000_000 / RECORDS + below(9000)),
                    sector: Sector::new(below(sectors)),
                    sectors: Sectors::new(8 + below(1016) as u32),
                    op: if i % 3 == 0 { Op::Write } else { Op::Read },
                    flags: Flags::from_bits(below(16) as u8),
                    class: below(class + 1) as u16,
                    device: (i % 2) as u16,
                    ..Request::default()
                };
                largest.add(&request);
                let outcome = Outcome::done(
                    Nanos::new(below(9_000_000_000)),
                    Nanos::new(below(50_000_000)),
                );
                all.push(&Record { request, outcome });
            }
            let metadata = Metadata {
                devices: vec!["/dev/nvme0n1".to_owned(), "/dev/nvme1n1".to_owned()],
                ..Metadata::default()
            };
            let formats = formats::ALL
                .iter()
                .filter(|format| format.loses().is_some());
            for ending in formats.flat_map(|format| format.extensions()) {
                for packed in ["", ".gz", ".zst"] {
                    let path = folder.path().join(format!("x.{ending}{packed}"));
                    let lossy = WriteOptions {
                        lossy: true,
                        ..WriteOptions::default()
                    };
                    let mut writer = create_with(&path, &metadata, &lossy).unwrap();
                    writer.write(&all).unwrap();
                    writer.finish().unwrap();
                    let real = path.metadata().unwrap().len() as f64 / RECORDS as f64;
                    let estimate = bytes_per_record(&path, &metadata, &largest).unwrap();
                    // A tenth of a byte for what is written once.
                    assert!(
                        real <= estimate + 0.1,
                        "{ending}{packed}: {real:.1} of {estimate:.1}"
                    );
                    assert!(
                        estimate < 3.0 * real,
                        "{ending}{packed}: {real:.1} of {estimate:.1}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_name_of_no_format_is_refused() {
        let error = create(Path::new("x.xlsx"), &Metadata::default())
            .err()
            .unwrap();
        assert!(error.to_string().contains(".load"), "{error}");
    }

    #[test]
    fn a_name_without_an_ending_means_the_binary_format() {
        for (name, format) in [
            ("x", "ios"),
            ("x.gz", "ios"),
            ("x.load.gz", "blkreplay"),
            ("-", "blkreplay"),
        ] {
            assert_eq!(format_for(Path::new(name)).unwrap().name(), format);
        }
    }

    #[test]
    fn the_largest_of_two_loads_is_the_larger_in_everything() {
        let with = |a: u16, b: u16| Largest {
            start: Nanos::new(a.into()),
            sector: Sector::new(b.into()),
            sectors: Sectors::new(a.into()),
            device: b,
            class: a,
            group: b.into(),
        };
        assert_eq!(with(1, 4).max(&with(2, 3)), with(2, 4));
        assert_eq!(with(2, 3).max(&with(1, 4)), with(2, 4));
    }

    #[test]
    fn requests_are_written_with_a_notice_above_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.ios");
        // A batch and some more, exactly one, and none.
        for rows in [Batch::ROWS as u64 + 2, Batch::ROWS as u64, 0] {
            let requests = (0..rows).map(|start| Request {
                start: Nanos::new(start),
                sectors: Sectors::new(1),
                ..Request::default()
            });
            let options = WriteOptions::default();
            let written = write_requests(requests, &path, "a notice".to_owned(), &options);
            assert_eq!(written.unwrap(), rows);
            let mut reader = crate::input::open(&path).unwrap();
            let (mut batch, mut starts) = (Batch::default(), Vec::new());
            while reader.next_batch(&mut batch).unwrap() > 0 {
                starts.extend_from_slice(batch.starts());
            }
            assert_eq!(reader.metadata().notices, ["a notice"]);
            assert!(starts == (0..rows).map(Nanos::new).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_sample_has_values_that_are_as_random_as_they_can_be() {
        let largest = Largest {
            // A sample has 2^14 rows.
            start: Nanos::new(1 << 14),
            sector: Sector::new(999_999),
            sectors: Sectors::new(0),
            device: 1,
            class: 9,
            group: 99,
        };
        // The mean lengths of the values, of CSV with 12 commas and a line end.
        let start = f64::from(10 + 90 * 2 + 900 * 3 + 9000 * 4 + 6384 * 5) / 16_384.0;
        let sector = f64::from(10 + 90 * 2 + 900 * 3 + 9000 * 4 + 90_000 * 5 + 900_000 * 6) / 1e6;
        // Each of sync, fua, meta and read-ahead in every second row, and a + between two.
        let flags = f64::from(4 + 3 + 4 + 10) / 2.0 + 2.0 - 15.0 / 16.0;
        let read_or_write = 4.5;
        // Nothing for the device, class and group 0.
        let (device, class, group) = (0.5, 0.9, (9.0 + 2.0 * 90.0) / 100.0);
        // Up to 10^11 ns: nine tenths have 11 digits, nine hundredths 10.
        let time = 11.0 - 1.0 / 9.0;
        let (zero_sectors, done, pushed_back) = (1.0, 4.0, 1.0);
        let expected = start
            + sector
            + zero_sectors
            + read_or_write
            + flags
            + (device + class + group)
            + 2.0 * time
            + done
            + pushed_back
            + 13.0;
        let metadata = Metadata::default();
        let estimate = bytes_per_record(Path::new("x.csv"), &metadata, &largest).unwrap();
        // The standard error of the flags is 6 / 2^7, that of the others less.
        assert!((estimate - expected).abs() < 0.15, "{estimate}: {expected}");
        for name in ["x.xlsx", "x.csv.bz2"] {
            assert_eq!(bytes_per_record(Path::new(name), &metadata, &largest), None);
        }
    }

    #[test]
    fn what_is_written_once_is_not_of_a_record() {
        let largest = Largest::default();
        let with = |notices: Vec<String>| {
            let metadata = Metadata {
                notices,
                ..Metadata::default()
            };
            bytes_per_record(Path::new("x.load"), &metadata, &largest).unwrap()
        };
        let long = "n".repeat(1 << 20);
        assert_eq!(with(vec![long]), with(Vec::new()));
    }

    #[test]
    fn a_format_that_is_only_read_is_refused_with_those_that_are_written() {
        let options = WriteOptions {
            format: Some("msr".to_owned()),
            ..WriteOptions::default()
        };
        let error = create_with(Path::new("x"), &Metadata::default(), &options);
        let error = error.err().unwrap().to_string();
        assert!(error.contains("ios, fio, csv, jsonl, blkreplay"), "{error}");
    }
}
