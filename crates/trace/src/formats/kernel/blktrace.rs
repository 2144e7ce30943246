//! The binary files of `blktrace`: one per processor, merged by time.
//!
//! A record of version 7 has 48 bytes, one of version 8 has 64, in the byte order of the recording
//! machine, and a payload behind it.

mod merged;

use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};

use iosonar_units::folder_of;

use super::event::{Action, Event, errno_of};
use super::pairing::Paired;
use crate::decompress::read_error;
use crate::error::{Place, byte_offset};
use crate::limits::LIMIT;
use crate::text::skipped;
use crate::{
    Flags, Format, Metadata, Op, ReadOptions, RemarkKind, Source, TraceError, TraceReader,
};
use merged::Merged;

/// The binary files of `blktrace`.
pub(crate) struct Blktrace;

const MAGIC: u32 = 0x6561_7400;

impl Format for Blktrace {
    fn name(&self) -> &'static str {
        "blktrace"
    }

    fn description(&self) -> &'static str {
        "blktrace binary, one file per processor, given as a prefix, a folder or one of the files"
    }

    fn columns(&self) -> &'static str {
        "events with time (ns), sector, bytes, action, device; paired into requests by --start-event"
    }

    fn recognises(&self, head: &[u8]) -> bool {
        head.first_chunk::<4>()
            .is_some_and(|magic| Order::of(*magic).is_some())
    }

    fn reader(
        &self,
        source: Source,
        options: &ReadOptions,
    ) -> Result<Box<dyn TraceReader>, TraceError> {
        Ok(open_set(vec![source], options))
    }
}

/// Reads several files as one recording.
pub(crate) fn open_set(sources: Vec<Source>, options: &ReadOptions) -> Box<dyn TraceReader> {
    let merged = Merged::new(sources, options.lenient);
    Box::new(Paired::new(merged, options))
}

/// The files of the set that `path` names: a prefix, a folder, or one of the files. Empty without
/// any.
pub(crate) fn set_of(path: &Path) -> io::Result<Vec<PathBuf>> {
    let is_one = |name: &str| processor_of(name).is_some();
    if path.is_dir() {
        return files_in(path, |name| is_one(name));
    }
    let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
        return Ok(Vec::new());
    };
    let prefix = match processor_of(name) {
        Some(prefix) => prefix,
        None if !path.exists() => name,
        None => return Ok(Vec::new()),
    };
    let folder = folder_of(path);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    files_in(folder, |name| processor_of(name) == Some(prefix))
}

fn files_in(folder: &Path, fits: impl Fn(&str) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|n| n.to_str());
        if name.is_some_and(&fits) && path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The prefix of `PREFIX.blktrace.N`, perhaps with a compression's ending.
fn processor_of(name: &str) -> Option<&str> {
    let plain = [".gz", ".zst", ".xz", ".bz2"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    let (prefix, number) = plain.rsplit_once(".blktrace.")?;
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some(prefix)
}

/// Byte order and version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Order {
    big: bool,
    version: u8,
}

impl Order {
    fn of(magic: [u8; 4]) -> Option<Self> {
        [false, true].into_iter().find_map(|big| {
            let number = if big {
                u32::from_be_bytes(magic)
            } else {
                u32::from_le_bytes(magic)
            };
            let version = (number & 0xff) as u8;
            (number & !0xff == MAGIC && matches!(version, 7 | 8)).then_some(Self { big, version })
        })
    }

    fn u16(self, bytes: &[u8]) -> u16 {
        self.number(bytes, 2) as u16
    }

    fn u32(self, bytes: &[u8]) -> u32 {
        self.number(bytes, 4) as u32
    }

    fn u64(self, bytes: &[u8]) -> u64 {
        self.number(bytes, 8)
    }

    fn number(self, bytes: &[u8], width: usize) -> u64 {
        let bytes = &bytes[..width];
        let join = |n: u64, b: &u8| n << 8 | u64::from(*b);
        if self.big {
            bytes.iter().fold(0, join)
        } else {
            bytes.iter().rev().fold(0, join)
        }
    }

    fn header(self) -> usize {
        if self.version == 7 { 48 } else { 64 }
    }
}

/// The fields of a record that matter.
struct Raw {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: u32,
    error: u16,
    payload: usize,
}

impl Raw {
    fn of(order: Order, h: &[u8]) -> Self {
        let seven = order.version == 7;
        let (action, device, error) = if seven { (28, 36, 44) } else { (32, 40, 48) };
        Self {
            time: order.u64(&h[8..]),
            sector: order.u64(&h[16..]),
            bytes: order.u32(&h[24..]),
            action: if seven {
                u64::from(order.u32(&h[action..]))
            } else {
                order.u64(&h[action..])
            },
            device: order.u32(&h[device..]),
            error: order.u16(&h[error..]),
            payload: usize::from(order.u16(&h[error + 2..])),
        }
    }

    fn has(&self, category: u32) -> bool {
        self.action >> (16 + category) & 1 == 1
    }

    /// The event of this record, if it has to do with data.
    fn event(&self, place: u64) -> Option<Event> {
        let action = match self.action & 0xff {
            1 => Action::Queue,
            2 => Action::BackMerge,
            3 => Action::FrontMerge,
            4 => Action::Get,
            6 => Action::Requeue,
            7 => Action::Issue,
            8 => Action::Complete,
            12 => Action::Insert,
            _ => return None,
        };
        // A command to the drive, not of a file system.
        if self.has(PC) {
            return None;
        }
        let mut flags = Flags::NONE;
        for (category, flag) in [
            (SYNC, Flags::SYNC),
            (META, Flags::META),
            (AHEAD, Flags::READ_AHEAD),
        ] {
            if self.has(category) {
                flags = flags.with(flag);
            }
        }
        let sectors = self.bytes / 512;
        let op = if self.has(DISCARD) {
            Op::Discard
        } else if self.has(WRITE_ZEROES) {
            Op::WriteZeroes
        } else if self.has(FLUSH) && sectors == 0 {
            Op::Flush
        } else if self.has(WRITE) {
            Op::Write
        } else {
            Op::Read
        };
        if sectors == 0 && op != Op::Flush {
            return None;
        }
        if op == Op::Write && (self.has(FLUSH) || self.has(FUA)) {
            flags = flags.with(Flags::FUA);
        }
        Some(Event {
            time: self.time,
            action,
            device: (self.device >> 20, self.device & 0xf_ffff),
            sector: self.sector,
            sectors,
            op,
            flags,
            errno: errno_of(i64::from(self.error)),
            place,
        })
    }
}

const WRITE: u32 = 1;
const FLUSH: u32 = 2;
const SYNC: u32 = 3;
const PC: u32 = 9;
const NOTIFY: u32 = 10;
const AHEAD: u32 = 11;
const META: u32 = 12;
const DISCARD: u32 = 13;
const FUA: u32 = 15;
const WRITE_ZEROES: u32 = 22;
/// The low bits of a notification that carries the time.
const TIMESTAMP: u64 = 1;
/// The payload begins with the number of a control group.
const CGROUP: u64 = 1 << 8;

/// The records of one file.
struct FileEvents {
    input: io::BufReader<Box<dyn Read + Send>>,
    path: PathBuf,
    offset: u64,
    payload: Vec<u8>,
    /// The beginning of a record that was found while looking for one.
    found: Option<[u8; 4]>,
    wall_clock: Option<(u64, u64)>,
}

impl FileEvents {
    fn damaged(&self, problem: String) -> TraceError {
        TraceError::Damaged {
            place: Place::of(&self.path, byte_offset(self.offset)),
            problem,
        }
    }

    /// Fills as much of `bytes` as there is.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, TraceError> {
        let mut n = 0;
        while n < bytes.len() {
            match self.input.read(&mut bytes[n..]) {
                Ok(0) => break,
                Ok(more) => n += more,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(read_error(&self.path, e)),
            }
        }
        Ok(n)
    }

    /// The next event; `None` at the end.
    fn next(
        &mut self,
        metadata: &mut Metadata,
        lenient: bool,
    ) -> Result<Option<Event>, TraceError> {
        loop {
            match self.record(metadata, lenient) {
                Ok(Next::Event(event)) => return Ok(Some(event)),
                Ok(Next::Other) => {}
                Ok(Next::End) => return Ok(None),
                // Without checksums, what is in a damaged stream may be wrong from anywhere on.
                Err(error @ TraceError::DamagedStream { .. }) => return Err(error),
                Err(error) if lenient => {
                    skipped(metadata, &error);
                    if !matches!(error, TraceError::Damaged { .. }) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Goes on byte by byte, from four bytes that begin no record, to where one begins.
    fn look_for_record(&mut self, mut window: [u8; 4]) -> Result<(), TraceError> {
        loop {
            let bytes = match self.input.fill_buf() {
                Ok([]) => return Ok(()),
                Ok(bytes) => bytes,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(read_error(&self.path, e)),
            };
            let found = bytes.iter().position(|&byte| {
                window = [window[1], window[2], window[3], byte];
                Order::of(window).is_some()
            });
            let passed = found.map_or(bytes.len(), |last| last + 1);
            self.input.consume(passed);
            self.offset += passed as u64;
            if found.is_some() {
                self.found = Some(window);
                return Ok(());
            }
        }
    }

    /// The error for data that lie on no device.
    #[cold]
    fn beyond(&self, event: &Event, way_out: &str) -> TraceError {
        TraceError::Damaged {
            place: Place::of(&self.path, event.place),
            problem: format!(
                "field 'sector' is {}, expected at most 2^63 - 1: the file is damaged here{way_out}",
                event.sector
            ),
        }
    }

    fn record(&mut self, metadata: &mut Metadata, lenient: bool) -> Result<Next, TraceError> {
        // Nothing, where it is done already.
        let way_out = |way_out: &'static str| if lenient { "" } else { way_out };
        let mut header = [0; 64];
        let n = match self.found.take() {
            Some(magic) => {
                header[..4].copy_from_slice(&magic);
                4
            }
            None => self.fill(&mut header[..4])?,
        };
        if n == 0 {
            return Ok(Next::End);
        }
        let order = if n == 4 {
            Order::of([header[0], header[1], header[2], header[3]])
        } else {
            None
        };
        let Some(order) = order else {
            let seen: String = header[..n].iter().map(|b| format!("{b:02x} ")).collect();
            let error = self.damaged(format!(
                "field 'magic' is '{}', expected 07 74 61 65 or 08 74 61 65 (or byte-swapped) \
                 at the start of a record: the file is damaged here or still being written{}",
                seen.trim(),
                way_out("; --lenient looks for the next record")
            ));
            if n == 4 {
                self.look_for_record([header[0], header[1], header[2], header[3]])?;
            }
            return Err(error);
        };
        let rest = order.header() - 4;
        let n = self.fill(&mut header[4..][..rest])?;
        let raw = Raw::of(order, &header);
        let (wanted, mut got) = (rest + raw.payload, n);
        if n == rest {
            let mut payload = std::mem::take(&mut self.payload);
            payload.resize(raw.payload, 0);
            got += self.fill(&mut payload)?;
            self.payload = payload;
        }
        if got < wanted {
            let error = self.damaged(format!(
                "the file ends after {} of the {} bytes of a record: it is truncated or still being written{}",
                got + 4,
                wanted + 4,
                way_out("; --lenient reads the complete records")
            ));
            return Err(error);
        }
        let place = byte_offset(self.offset);
        self.offset += 4 + wanted as u64;
        if raw.has(NOTIFY) {
            let skip = if raw.action & CGROUP == 0 { 0 } else { 8 };
            let payload = self.payload.get(skip..).unwrap_or_default();
            if raw.action & 0xff == TIMESTAMP && payload.len() >= 8 {
                let (s, ns) = (order.u32(payload), order.u32(&payload[4..]));
                let wall = u64::from(s) * 1_000_000_000 + u64::from(ns);
                self.wall_clock = Some((raw.time, wall));
            }
            return Ok(Next::Other);
        }
        let event = raw.event(place);
        if let Some(event) = event.filter(|of| of.sectors > 0 && of.sector >= LIMIT) {
            return Err(self.beyond(&event, way_out("; --lenient leaves the record out")));
        }
        if raw.has(PC) && raw.action & 0xff == 8 {
            metadata.remark(
                RemarkKind::NoData,
                [
                    "drive command without data was left out",
                    "drive commands without data were left out",
                ],
                || format!("byte {}", self.offset),
            );
        }
        Ok(event.map_or(Next::Other, Next::Event))
    }
}

enum Next {
    Event(Event),
    /// A record that is of no matter here.
    Other,
    End,
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    const READ: u32 = 1 << 16;
    const NOTIFIES: u32 = 1 << (16 + NOTIFY);

    /// A record of version 7, in the byte order of small machines.
    fn record(time: u64, action: u32, bytes: u32, payload: &[u8]) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend((MAGIC | 7).to_le_bytes());
        record.extend(0_u32.to_le_bytes());
        record.extend(time.to_le_bytes());
        record.extend(800_u64.to_le_bytes());
        record.extend(bytes.to_le_bytes());
        record.extend(action.to_le_bytes());
        record.extend(42_u32.to_le_bytes());
        record.extend((8_u32 << 20 | 1).to_le_bytes());
        record.extend(0_u32.to_le_bytes());
        record.extend(0_u16.to_le_bytes());
        record.extend((payload.len() as u16).to_le_bytes());
        assert_eq!(record.len(), 48);
        record.extend(payload);
        record
    }

    /// Gives pieces of a file, and is interrupted before each.
    struct Interrupted(VecDeque<u8>, bool);

    impl Read for Interrupted {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            self.1 = !self.1;
            if self.1 {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let n = buffer.len().min(13);
            self.0.read(&mut buffer[..n])
        }
    }

    fn file(records: &[Vec<u8>]) -> FileEvents {
        let input: Box<dyn Read + Send> = Box::new(Interrupted(records.concat().into(), false));
        FileEvents {
            input: io::BufReader::new(input),
            path: PathBuf::from("x"),
            offset: 0,
            payload: Vec::new(),
            found: None,
            wall_clock: None,
        }
    }

    fn events(file: &mut FileEvents, metadata: &mut Metadata) -> Vec<Event> {
        std::iter::from_fn(|| file.next(metadata, false).unwrap()).collect()
    }

    #[test]
    fn actions_have_the_numbers_of_the_kernel() {
        // As in include/uapi/linux/blktrace_api.h; those without data are of no matter.
        let actions = [
            (1, Some(Action::Queue)),
            (2, Some(Action::BackMerge)),
            (3, Some(Action::FrontMerge)),
            (4, Some(Action::Get)),
            (5, None),
            (6, Some(Action::Requeue)),
            (7, Some(Action::Issue)),
            (8, Some(Action::Complete)),
            (9, None),
            (11, None),
            (12, Some(Action::Insert)),
            (15, None),
        ];
        for (number, action) in actions {
            let mut file = file(&[record(5, number | READ, 4096, b"")]);
            let events = events(&mut file, &mut Metadata::default());
            let seen = events
                .first()
                .map(|e| (e.action, e.time, e.sector, e.sectors));
            assert_eq!(seen, action.map(|action| (action, 5, 800, 8)), "{number}");
        }
    }

    #[test]
    fn records_are_read_however_few_bytes_come_at_once() {
        let queued = |time| record(time, 1 | READ, 512, b"payload");
        let mut file = file(&[queued(1), queued(2), queued(3)]);
        let events = events(&mut file, &mut Metadata::default());
        let times: Vec<(u64, u64)> = events.iter().map(|e| (e.time, e.place)).collect();
        let at = |record: u64| byte_offset(record * 55);
        assert_eq!(times, [(1, at(0)), (2, at(1)), (3, at(2))]);
    }

    #[test]
    fn a_notification_of_the_time_sets_the_clock_and_no_other_does() {
        let time = [3_u32.to_le_bytes(), 7_u32.to_le_bytes()].concat();
        let of_group = [&[9; 8][..], &time].concat();
        let group = CGROUP as u32;
        for (action, payload, is_clock) in [
            (NOTIFIES | 1, &time, true),
            (NOTIFIES | group | 1, &of_group, true),
            // The name of a process, a message, and a time that is cut off.
            (NOTIFIES, &time, false),
            (NOTIFIES | 2, &time, false),
            (NOTIFIES | 1, &time[..7].to_vec(), false),
        ] {
            let mut file = file(&[record(50, action, 0, payload)]);
            assert!(events(&mut file, &mut Metadata::default()).is_empty());
            let clock = is_clock.then_some((50, 3_000_000_007));
            assert_eq!(file.wall_clock, clock, "{action:x}");
        }
    }

    #[test]
    fn commands_to_the_drive_are_counted_once_each() {
        let command = READ | 1 << (16 + PC);
        let mut file = file(&[
            record(1, 1 | command, 512, b""),
            record(2, 8 | command, 512, b""),
            record(3, 8 | command, 0, b""),
            record(4, 8 | READ, 512, b""),
            // The completion of a read without sectors is not counted.
            record(5, 8 | READ, 0, b""),
        ]);
        let mut metadata = Metadata::default();
        assert_eq!(events(&mut file, &mut metadata).len(), 1);
        let counts: Vec<u64> = metadata.remarks.iter().map(|r| r.count).collect();
        assert_eq!(counts, [2]);
    }

    #[test]
    fn the_time_of_day_of_the_beginning_is_right_at_any_time() {
        const WALL: [u32; 2] = [3, 7];
        let payload = WALL.map(u32::to_le_bytes).concat();
        for (clock, start, origin) in [
            (1000, 500, Some(3_000_000_007 - 500)),
            (1000, 1 << 63, Some((1 << 63) + 3_000_000_007 - 1000)),
            (u64::MAX, 1 << 63, None),
            (0, u64::MAX, None),
        ] {
            let bytes = [
                record(clock, NOTIFIES | TIMESTAMP as u32, 0, &payload),
                record(start, READ | 1, 4096, &[]),
            ]
            .concat();
            let options = ReadOptions {
                format: Some("blktrace".to_owned()),
                ..ReadOptions::default()
            };
            let input = Box::new(io::Cursor::new(bytes));
            let mut reader = crate::input::read_from(input, Path::new("x"), &options).unwrap();
            let mut batch = crate::Batch::default();
            assert_eq!(reader.next_batch(&mut batch).unwrap(), 1);
            assert_eq!(reader.metadata().origin_ns, origin, "{clock} {start}");
        }
    }

    #[test]
    fn a_magic_number_says_the_byte_order_and_the_version() {
        for (magic, order) in [
            ([7, 0x74, 0x61, 0x65], Some((false, 7, 48))),
            ([8, 0x74, 0x61, 0x65], Some((false, 8, 64))),
            ([0x65, 0x61, 0x74, 7], Some((true, 7, 48))),
            ([0x65, 0x61, 0x74, 8], Some((true, 8, 64))),
            ([6, 0x74, 0x61, 0x65], None),
            ([9, 0x74, 0x61, 0x65], None),
            ([7, 0x75, 0x61, 0x65], None),
            ([7, 0, 0, 0], None),
            ([0, 0, 0, 7], None),
        ] {
            let seen = Order::of(magic).map(|of| (of.big, of.version, of.header()));
            assert_eq!(seen, order, "{magic:x?}");
            assert_eq!(Blktrace.recognises(&magic), order.is_some());
        }
        assert!(!Blktrace.recognises(&[7, 0x74, 0x61]));
        let (small, big) = (
            Order::of([7, 0x74, 0x61, 0x65]),
            Order::of([0x65, 0x61, 0x74, 7]),
        );
        let bytes = [1, 2, 3, 4, 5, 6, 7, 8, 9];
        assert_eq!(small.unwrap().u64(&bytes), 0x0807_0605_0403_0201);
        assert_eq!(big.unwrap().u64(&bytes), 0x0102_0304_0506_0708);
        assert_eq!(
            (small.unwrap().u16(&bytes), big.unwrap().u32(&bytes)),
            (0x0201, 0x0102_0304)
        );
    }

    #[test]
    fn a_file_of_a_set_is_named_by_its_prefix_and_processor() {
        for (name, prefix) in [
            ("sda.blktrace.0", Some("sda")),
            ("sda.blktrace.12.gz", Some("sda")),
            ("a.blktrace.b.blktrace.3.zst", Some("a.blktrace.b")),
            ("sda.blktrace.0.xz", Some("sda")),
            ("sda.blktrace.0.bz2", Some("sda")),
            (".blktrace.0", Some("")),
            ("sda.blktrace.", None),
            ("sda.blktrace.a", None),
            ("sda.blktrace.1a", None),
            ("sda.blktrace.0.zip", None),
            ("sda.blktrace", None),
            ("sda", None),
        ] {
            assert_eq!(processor_of(name), prefix, "{name}");
        }
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "a.blktrace.1",
            "a.blktrace.0",
            "b.blktrace.0.gz",
            "b",
            "c.txt",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        // A folder with the name of a file.
        std::fs::create_dir(dir.path().join("a.blktrace.2")).unwrap();
        let set = |name: &str| -> Vec<String> {
            let files = set_of(&dir.path().join(name)).unwrap();
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            files.iter().map(name).collect()
        };
        let (a, b) = (["a.blktrace.0", "a.blktrace.1"], ["b.blktrace.0.gz"]);
        assert_eq!(set(""), [&a[..], &b].concat());
        assert_eq!(set("a"), a);
        assert_eq!(set("a.blktrace.1"), a);
        assert_eq!(set("b.blktrace.0.gz"), b);
        // Another file with the name of a prefix is itself.
        for other in ["b", "c.txt", "d", "d.blktrace.0", "absent/a"] {
            assert_eq!(set(other), [""; 0], "{other}");
        }
    }

    #[test]
    fn the_kind_of_an_event_is_in_its_categories() {
        let (w, r) = (1 << (16 + WRITE), READ);
        let has = |category: u32| 1 << (16 + category);
        // Discards and writes of zeros are in categories of their own.
        let zeroes = 1_u64 << (16 + WRITE_ZEROES);
        for (categories, bytes, kind) in [
            (r.into(), 512, Some((Op::Read, Flags::NONE))),
            (w.into(), 512, Some((Op::Write, Flags::NONE))),
            (u64::from(r | has(SYNC)), 512, Some((Op::Read, Flags::SYNC))),
            (
                u64::from(w | has(META)),
                512,
                Some((Op::Write, Flags::META)),
            ),
            (
                u64::from(r | has(AHEAD)),
                512,
                Some((Op::Read, Flags::READ_AHEAD)),
            ),
            (u64::from(w | has(FUA)), 512, Some((Op::Write, Flags::FUA))),
            (
                u64::from(w | has(FLUSH)),
                512,
                Some((Op::Write, Flags::FUA)),
            ),
            (u64::from(r | has(FUA)), 512, Some((Op::Read, Flags::NONE))),
            (
                u64::from(w | has(DISCARD)),
                512,
                Some((Op::Discard, Flags::NONE)),
            ),
            (
                u64::from(w) | zeroes,
                512,
                Some((Op::WriteZeroes, Flags::NONE)),
            ),
            (u64::from(w | has(FLUSH)), 0, Some((Op::Flush, Flags::NONE))),
            (has(FLUSH).into(), 511, Some((Op::Flush, Flags::NONE))),
            // Nothing is read, written or discarded.
            (r.into(), 0, None),
            (w.into(), 511, None),
            (u64::from(w | has(DISCARD)), 0, None),
            (u64::from(r | has(PC)), 512, None),
        ] {
            let raw = Raw {
                time: 1,
                sector: 8,
                bytes,
                action: categories | 7,
                device: 259 << 20 | 0xf_ffff,
                error: 5,
                payload: 0,
            };
            let event = raw.event(3);
            let seen = event.map(|event| (event.op, event.flags));
            assert_eq!(seen, kind, "{categories:x} {bytes}");
            if let Some(event) = event {
                assert_eq!(event.device, (259, 0xf_ffff));
                assert_eq!(
                    (event.errno, event.sectors, event.place),
                    (5, bytes / 512, 3)
                );
            }
        }
    }

    /// Gives one result after the other.
    struct Results(VecDeque<io::Result<Vec<u8>>>);

    impl Read for Results {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.0.pop_front().unwrap_or_else(|| Ok(Vec::new()))?;
            buffer[..bytes.len()].copy_from_slice(&bytes);
            Ok(bytes.len())
        }
    }

    /// What is read of a file that gives these results: times of events with their places, the error, and the remarks.
    fn read(
        results: impl IntoIterator<Item = io::Result<Vec<u8>>>,
        lenient: bool,
    ) -> (Vec<(u64, u64)>, Option<String>, Vec<u64>) {
        let input: Box<dyn Read + Send> = Box::new(Results(results.into_iter().collect()));
        let mut file = FileEvents {
            input: io::BufReader::new(input),
            ..file(&[])
        };
        let (mut metadata, mut seen) = (Metadata::default(), Vec::new());
        let error = loop {
            match file.next(&mut metadata, lenient) {
                Ok(Some(event)) => seen.push((event.time, event.place)),
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
            }
        };
        let counts = metadata.remarks.iter().map(|r| r.count).collect();
        (seen, error, counts)
    }

    #[test]
    fn behind_damage_the_next_record_is_found_at_its_place() {
        let one = |time| record(time, 1 | READ, 512, b"");
        for garbage in [&b"four"[..], b"five.", &[b'x'; 1000], &[7, 0x74, 0x61, 7]] {
            let file = [&one(1)[..], garbage, &one(2), &one(3)].concat();
            // In pieces, too, so that a record begins across their ends.
            for piece in [file.len(), 7, 1] {
                let pieces = || file.chunks(piece).map(|piece| Ok(piece.to_vec()));
                let (seen, error, remarks) = read(pieces(), false);
                assert_eq!((seen, remarks), (vec![(1, byte_offset(0))], vec![]));
                let error = error.unwrap();
                assert!(error.starts_with("x: byte 48: field 'magic'"), "{error}");
                let (seen, error, remarks) = read(pieces(), true);
                let behind = 48 + garbage.len() as u64;
                let places = [(1, 0), (2, behind), (3, behind + 48)];
                assert_eq!(seen, places.map(|(time, at)| (time, byte_offset(at))));
                assert_eq!((error, remarks), (None, vec![1]));
            }
        }
        // A damaged end, and one that is cut off.
        let whole = [one(1), one(2)].concat();
        for cut in 1..48 {
            let end = &whole[..whole.len() - cut];
            let (seen, error, remarks) = read([Ok(end.to_vec())], false);
            assert_eq!((seen.len(), remarks.len()), (1, 0));
            let error = error.unwrap();
            assert!(error.starts_with("x: byte 48: "), "{cut}: {error}");
            let words = match cut {
                45.. => "field 'magic'".to_owned(),
                _ => format!("the file ends after {} of the 48 bytes", 48 - cut),
            };
            assert!(error.contains(&words), "{cut}: {error}");
            let (seen, error, remarks) = read([Ok(end.to_vec())], true);
            assert_eq!((seen.len(), error, remarks), (1, None, vec![1]));
        }
        let file = [&one(1)[..], b"0123456789"].concat();
        let (seen, error, remarks) = read([Ok(file)], true);
        assert_eq!((seen.len(), error, remarks), (1, None, vec![1]));
    }

    #[test]
    fn an_interruption_is_no_failure_and_a_failure_is_no_interruption() {
        let one = |time| record(time, 1 | READ, 512, b"payload");
        let parts = [&one(1)[..10], &one(1)[10..], b"garbage", &one(2)].map(<[u8]>::to_vec);
        let with = |kind: io::ErrorKind, at: usize| {
            let mut results: Vec<_> = parts.iter().cloned().map(Ok).collect();
            results.insert(at, Err(kind.into()));
            read(results, true)
        };
        for at in 0..=parts.len() {
            let (seen, error, remarks) = with(io::ErrorKind::Interrupted, at);
            assert_eq!((seen.len(), error, remarks), (2, None, vec![1]), "{at}");
            // Nothing is read behind it.
            let (seen, error, remarks) = with(io::ErrorKind::TimedOut, at);
            let before = [0, 0, 1, 1, 2][at];
            assert_eq!((seen.len(), error), (before, None), "{at}");
            assert_eq!(remarks.len(), 1, "{at}");
        }
        let failing = || [Ok(one(1)), Err(io::ErrorKind::TimedOut.into()), Ok(one(2))];
        let (seen, error, _) = read(failing(), false);
        assert!(error.unwrap().starts_with("x: "));
        assert_eq!(seen.len(), 1);
    }

    #[test]
    fn data_lie_below_sector_2_to_63_and_a_flush_may_lie_nowhere() {
        let at = |sector: u64, action: u32, bytes: u32| {
            let mut record = record(1, action, bytes, b"");
            record[16..24].copy_from_slice(&sector.to_le_bytes());
            record
        };
        let flush = 1 << (16 + WRITE) | 1 << (16 + FLUSH) | 1;
        for (record, is_fine) in [
            (at((1 << 63) - 1, READ | 1, 512), true),
            (at(1 << 63, READ | 1, 512), false),
            (at(u64::MAX, READ | 8, 512), false),
            (at(u64::MAX, flush, 0), true),
            // No event of a request.
            (at(u64::MAX, READ | 1, 0), true),
        ] {
            let file = [&record[..], &self::record(2, READ | 1, 512, b"")].concat();
            let (seen, error, remarks) = read([Ok(file.clone())], false);
            assert_eq!(error.is_none(), is_fine, "{error:?}");
            assert!(remarks.is_empty());
            if let Some(error) = error {
                assert!(seen.is_empty());
                assert!(
                    error.starts_with("x: byte 0: field 'sector' is "),
                    "{error}"
                );
            }
            let (seen, error, remarks) = read([Ok(file)], true);
            assert_eq!(seen.last(), Some(&(2, byte_offset(48))));
            assert_eq!((error, remarks.len()), (None, usize::from(!is_fine)));
        }
    }
}
