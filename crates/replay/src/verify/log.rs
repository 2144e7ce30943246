//! A file of which writes began and ended, for a check after a crash.
//!
//! A header of 64 bytes, then records of 32 bytes, each with a checksum: a log that a crash cut off
//! reads up to its last whole record. What it claims is true however much of its end is missing: it
//! then only claims less. Little-endian.
//!
//! | header | |
//! |---|---|
//! | 0..8 | `iosonarV` |
//! | 8..12 | version, 1 |
//! | 12 | 1: it was synced before each discard, so none is missing after a power failure |
//! | 16..24 | the run on this target, as in its tags |
//! | 24..32 | sectors of the target |
//! | 60..64 | CRC-32 of all before |
//!
//! | record | |
//! |---|---|
//! | 0 | 1 began, 2 ended, 3 the replay came to its end: no write is missing |
//! | 1 | operation, as in `.ios` |
//! | 2 | 1 done, 2 on the medium |
//! | 4..8 | sectors |
//! | 8..12 | number of the write; of a flush, how many writes were complete when it began |
//! | 16..24 | sector |
//! | 28..32 | CRC-32 of all before |

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use super::Tables;
use crate::os::fs::{self, File};
use crate::os::sync::{Condvar, Mutex, MutexGuard};
use crate::os::thread::{Builder, JoinHandle};
use crate::os::time::Instant;

/// What the kernel addresses, as positions in bytes are signed.
const MOST_SECTORS: u64 = i64::MAX as u64 / 512;
const MAGIC: [u8; 8] = *b"iosonarV";
const VERSION: u32 = 1;
const HEADER: usize = 64;
const RECORD: usize = 32;
const BEGAN: u8 = 1;
const ENDED: u8 = 2;
const CLOSED: u8 = 3;
const DONE: u8 = 1;
const DURABLE: u8 = 2;
/// The thread that writes the log is woken when this many bytes wait for it.
const PIECE: usize = 64 << 10;
/// The replay waits while this many bytes do.
const MOST_WAITING: usize = 4 << 20;
/// Records wait no longer than this, however few they are: a replay that is killed leaves a log of what it did until
/// then, less this time.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

/// The log that is being written.
///
/// The replay appends records to a buffer in memory, and a thread of its own swaps that for an empty one and writes it:
/// when much has gathered, when a flush or discard asks for it, and otherwise by the clock.
pub(crate) struct TableLog {
    path: PathBuf,
    /// Whether it holds a record.
    has_begun: bool,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

struct Shared {
    waiting: Mutex<Waiting>,
    for_writer: Condvar,
    for_replay: Condvar,
}

/// What waits to be written.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// It is to be written at once.
    is_urgent: bool,
    /// Some of it was taken and is being written.
    is_being_written: bool,
    /// There will be no more.
    is_closed: bool,
    /// The thread that writes has ended.
    has_ended: bool,
}

impl Waiting {
    /// Whether nothing of it has to be written before its time.
    fn is_idle(&self) -> bool {
        self.bytes.len() < PIECE && !self.is_urgent && !self.is_closed
    }
}

/// Whether a record that follows this number of bytes completes a piece, as the first one does.
fn completes_a_piece(before: usize) -> bool {
    before < PIECE && before + RECORD >= PIECE
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting
            .lock()
            .expect("no thread panics while it holds the buffer")
    }

    fn wait<'a>(
        &'a self,
        waiting: MutexGuard<'a, Waiting>,
        condition: impl FnMut(&mut Waiting) -> bool,
    ) -> MutexGuard<'a, Waiting> {
        self.for_replay
            .wait_while(waiting, condition)
            .expect("no thread panics while it holds the buffer")
    }
}

/// Marks the end of the thread that writes, whatever ends it: nothing waits for it any more.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        if let Ok(mut waiting) = self.0.waiting.lock() {
            waiting.has_ended = true;
        }
        self.0.for_replay.notify_all();
    }
}

/// Writes what waits until the log is closed. If it is `durable`, what is urgent is synced at once, the rest by the clock.
fn write_out(mut file: File, shared: &Shared, durable: bool) -> io::Result<()> {
    let _ending = Ending(shared);
    let mut bytes = Vec::with_capacity(PIECE);
    let mut synced = Instant::now();
    let mut is_dirty = false;
    loop {
        let waiting =
            shared
                .for_writer
                .wait_timeout_while(shared.lock(), LONGEST_WAIT, |waiting| waiting.is_idle());
        let (mut waiting, _) = waiting.expect("no thread panics while it holds the buffer");
        std::mem::swap(&mut bytes, &mut waiting.bytes);
        waiting.is_being_written = true;
        let is_urgent = std::mem::take(&mut waiting.is_urgent);
        let is_closed = waiting.is_closed;
        drop(waiting);
        if !bytes.is_empty() {
            file.write_all(&bytes)?;
            bytes.clear();
            is_dirty = true;
        }
        if is_closed {
            return file.sync_all();
        }
        if durable && is_dirty && (is_urgent || synced.elapsed() >= LONGEST_WAIT) {
            file.sync_data()?;
            (synced, is_dirty) = (Instant::now(), false);
        }
        shared.lock().is_being_written = false;
        shared.for_replay.notify_all();
    }
}

impl TableLog {
    /// Begins a log in a new file, which is removed if no record ever comes. If it is `durable`, what a flush covered is
    /// on the log's medium soon after.
    ///
    /// # Errors
    /// If the file exists or cannot be written.
    pub(crate) fn create(path: &Path, run: u64, sectors: u64, durable: bool) -> io::Result<Self> {
        let file = fs::create_new(path)?;
        let waiting = Waiting {
            bytes: Vec::with_capacity(PIECE),
            ..Waiting::default()
        };
        let shared = Arc::new(Shared {
            waiting: Mutex::new(waiting),
            for_writer: Condvar::new(),
            for_replay: Condvar::new(),
        });
        // From here on it removes the file if it fails.
        let mut log = Self {
            path: path.to_owned(),
            has_begun: false,
            shared,
            thread: None,
        };
        log.begin(file, run, sectors, durable)?;
        Ok(log)
    }

    /// Writes the header, and starts the thread that writes the rest.
    fn begin(&mut self, mut file: File, run: u64, sectors: u64, durable: bool) -> io::Result<()> {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12] = u8::from(durable);
        header[16..24].copy_from_slice(&run.to_le_bytes());
        header[24..32].copy_from_slice(&sectors.to_le_bytes());
        seal(&mut header);
        file.write_all(&header)?;
        file.sync_all()?;
        fs::sync_folder_of(&self.path)?;
        let shared = Arc::clone(&self.shared);
        let thread = Builder::new().name("table-log".to_owned());
        self.thread = Some(thread.spawn(move || write_out(file, &shared, durable))?);
        Ok(())
    }

    /// # Errors
    /// If it is a discard and the log cannot be written any more: it would go on to claim what the discard ends.
    pub(crate) fn started(&mut self, number: u32, request: &Request) -> io::Result<()> {
        // A discard ends what was sure, so the log must know of it before the device does.
        let is_discard = !matches!(request.op, Op::Write | Op::Flush);
        self.push(BEGAN, 0, number, request, is_discard);
        if !is_discard {
            return Ok(());
        }
        let waiting = self.shared.lock();
        let waiting = self.shared.wait(waiting, |waiting| {
            (!waiting.bytes.is_empty() || waiting.is_being_written) && !waiting.has_ended
        });
        match waiting.has_ended {
            false => Ok(()),
            true => Err(io::Error::other(
                "the log of --keep-tables cannot be written, but each discard must be logged before it is submitted",
            )),
        }
    }

    pub(crate) fn ended(&mut self, number: u32, request: &Request, done: bool, durable: bool) {
        let bits = (u8::from(done) * DONE) | (u8::from(durable) * DURABLE);
        let is_urgent = request.op == Op::Flush || durable;
        self.push(ENDED, bits, number, request, is_urgent);
    }

    fn push(&mut self, what: u8, bits: u8, number: u32, request: &Request, is_urgent: bool) {
        let mut record = [0; RECORD];
        record[0] = what;
        record[1] = request.op as u8;
        record[2] = bits;
        record[4..8].copy_from_slice(&request.sectors.get().to_le_bytes());
        record[8..12].copy_from_slice(&number.to_le_bytes());
        record[16..24].copy_from_slice(&request.sector.get().to_le_bytes());
        seal(&mut record);
        self.has_begun = true;
        let shared = &self.shared;
        let mut waiting = shared.lock();
        if waiting.bytes.len() >= MOST_WAITING {
            waiting = shared.wait(waiting, |waiting| {
                waiting.bytes.len() >= MOST_WAITING && !waiting.has_ended
            });
        }
        if waiting.has_ended {
            // It has failed; that is reported at the end.
            return;
        }
        let before = waiting.bytes.len();
        waiting.bytes.extend_from_slice(&record);
        waiting.is_urgent |= is_urgent;
        let wakes = is_urgent || completes_a_piece(before);
        drop(waiting);
        if wakes {
            shared.for_writer.notify_one();
        }
    }

    /// Writes what is left. Returns why not all could be written.
    pub(crate) fn finish(mut self) -> Option<io::Error> {
        self.push(CLOSED, 0, 0, &Request::default(), false);
        self.close()
    }

    fn close(&mut self) -> Option<io::Error> {
        let thread = self.thread.take()?;
        self.shared.lock().is_closed = true;
        self.shared.for_writer.notify_one();
        match thread.join() {
            Ok(outcome) => outcome.err(),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl Drop for TableLog {
    /// A replay that broke off keeps what it knows; one that never began leaves no log.
    fn drop(&mut self) {
        if std::thread::panicking() {
            // What it knows is written, too, but not waited for.
            if let Ok(mut waiting) = self.shared.waiting.lock() {
                waiting.is_closed = true;
            }
            self.shared.for_writer.notify_one();
        } else {
            let _ = self.close();
        }
        if !self.has_begun {
            // It is ours; nothing else can be done about a failure to remove it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn seal(bytes: &mut [u8]) {
    let at = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..at]).to_le_bytes();
    bytes[at..].copy_from_slice(&sum);
}

fn is_sealed(bytes: &[u8]) -> bool {
    let (all, sum) = bytes.split_at(bytes.len() - 4);
    crc32fast::hash(all).to_le_bytes() == sum
}

/// The contents of a log.
pub struct KeptTables {
    /// The tables as they were at its end.
    pub tables: Tables,
    /// The run whose tags are on the target.
    pub run: u64,
    /// The target's size, in sectors.
    pub sectors: u64,
    /// Writes in the log.
    pub writes: u64,
    /// Flushes that were done.
    pub flushes: u64,
    /// Discards, and writes of zeros without data, in the log.
    pub discards: u64,
    /// Whether it was on its medium before each discard.
    pub is_durable: bool,
    /// Whether the log came to its end: all writes are in it.
    pub is_complete: bool,
    /// Bytes at the end that were not read, as they do not begin with a whole record.
    pub cut_off: u64,
    /// Whole records in them: the log was not cut off there, but is damaged.
    pub not_read: u64,
}

impl KeptTables {
    /// Whether it may lack discards that the device has seen, as a power failure cut them off or they were not read: what
    /// they covered is zero.
    pub fn may_lack_discards(&self) -> bool {
        self.not_read > 0 || (self.discards > 0 && !self.is_durable && !self.is_complete)
    }
}

/// Reads a log into `tables`.
///
/// # Errors
/// If the file cannot be read, is not a log, or damaged before its end; the message says where.
pub fn read_log(path: &Path, tables: Tables) -> Result<KeptTables, String> {
    let file = std::fs::File::open(path).map_err(|e| format!("{}: {e}", path.display()))?;
    read_log_from(io::BufReader::with_capacity(1 << 20, file), path, tables)
}

/// Reads a log from `file`; `path` is for messages.
pub(crate) fn read_log_from(
    mut file: impl Read,
    path: &Path,
    tables: Tables,
) -> Result<KeptTables, String> {
    let shown = path.display();
    let unreadable = |e: io::Error| format!("{shown}: {e}");
    let mut header = [0; HEADER];
    let no_log = || {
        format!(
            "{shown} is not a log written by --keep-tables (expected 'iosonarV' and a header of {HEADER} bytes)"
        )
    };
    file.read_exact(&mut header).map_err(|_| no_log())?;
    if header[..8] != MAGIC || !is_sealed(&header) {
        return Err(no_log());
    }
    let version = u64::from(word(&header, 8, 4) as u32);
    if version != u64::from(VERSION) {
        return Err(format!(
            "{shown} has version {version}, but this program reads only version {VERSION}"
        ));
    }
    let sectors = word(&header, 24, 8);
    if sectors > MOST_SECTORS {
        return Err(format!(
            "{shown}: the header has {sectors} sectors of the target, expected at most {MOST_SECTORS}"
        ));
    }
    let mut kept = KeptTables {
        tables,
        run: word(&header, 16, 8),
        sectors,
        writes: 0,
        flushes: 0,
        discards: 0,
        is_durable: header[12] == 1,
        is_complete: false,
        cut_off: 0,
        not_read: 0,
    };
    let mut at = HEADER as u64;
    let mut record = [0; RECORD];
    loop {
        let got = read_up_to(&mut file, &mut record).map_err(unreadable)?;
        if got < RECORD {
            kept.cut_off = got as u64;
            return Ok(kept);
        }
        if !is_sealed(&record) {
            // A crash may leave a last piece of any content; what follows cannot be trusted.
            let rest = Rest::of(&mut file).map_err(unreadable)?;
            if rest.is_closed {
                return Err(format!(
                    "{shown}: byte {at}: the record is damaged, but the log goes on to its end, so no crash cut it off \
                     here: use a copy that is not damaged"
                ));
            }
            kept.cut_off = RECORD as u64 + rest.bytes;
            kept.not_read = rest.records;
            return Ok(kept);
        }
        take(&mut kept, &record).map_err(|problem| format!("{shown}: byte {at}: {problem}"))?;
        at += RECORD as u64;
    }
}

/// What follows a record that is damaged.
#[derive(Default)]
struct Rest {
    bytes: u64,
    /// Whole records.
    records: u64,
    /// Whether one of them is the end of the log, which is synced as a whole before the replay ends.
    is_closed: bool,
}

impl Rest {
    fn of(file: &mut impl Read) -> io::Result<Self> {
        let mut rest = Self::default();
        let mut record = [0; RECORD];
        loop {
            let got = read_up_to(file, &mut record)?;
            rest.bytes += got as u64;
            if got < RECORD {
                return Ok(rest);
            }
            if is_sealed(&record) {
                rest.records += 1;
                rest.is_closed |= record[0] == CLOSED;
            }
        }
    }
}

fn word(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes[at..at + length].iter().rev();
    bytes.fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn read_up_to(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match file.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

fn take(kept: &mut KeptTables, record: &[u8; RECORD]) -> Result<(), String> {
    let op = *Op::ALL
        .get(usize::from(record[1]))
        .ok_or_else(|| format!("unknown operation {}", record[1]))?;
    let request = Request {
        op,
        sector: Sector::new(word(record, 16, 8)),
        sectors: Sectors::new(word(record, 4, 4) as u32),
        ..Request::default()
    };
    let beyond = request.sector.get().checked_add(word(record, 4, 4));
    if beyond.is_none_or(|end| end > kept.sectors) {
        return Err(format!(
            "the request of {} sectors at {} lies beyond the target's {} sectors",
            request.sectors, request.sector, kept.sectors
        ));
    }
    let number = word(record, 8, 4) as u32;
    match (record[0], op) {
        (CLOSED, _) => kept.is_complete = true,
        (BEGAN | ENDED, Op::Read) => {
            return Err(
                "found a read, expected a write, flush, discard or write-zeroes".to_owned(),
            );
        }
        (BEGAN | ENDED, op) if op != Op::Flush && request.sectors.get() == 0 => {
            return Err(format!(
                "the {} at {} has 0 sectors, expected at least 1",
                op.name(),
                request.sector
            ));
        }
        (BEGAN, Op::Flush) => {}
        (BEGAN, _) => {
            let next = kept
                .tables
                .write_starts(&request)
                .map_err(|e| e.to_string())?;
            if next != number {
                return Err(format!("write {number} found, expected {next}"));
            }
            kept.writes += 1;
            kept.discards += u64::from(op != Op::Write);
        }
        (ENDED, Op::Flush) => {
            if record[2] & DONE != 0 {
                kept.tables.flush_ends(number);
                kept.flushes += 1;
            }
        }
        (ENDED, _) => {
            let (done, durable) = (record[2] & DONE != 0, record[2] & DURABLE != 0);
            kept.tables
                .prepare_end(&request)
                .map_err(|e| e.to_string())?;
            kept.tables.write_ends(number, &request, done, durable);
        }
        (other, _) => return Err(format!("unknown record kind {other}")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;

    /// Gives what it holds piece by piece, and is interrupted in between; then it fails, or ends.
    struct Pieces(Vec<io::Result<&'static [u8]>>);

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Ok(0),
                false => self.0.remove(0).map(|piece| {
                    buffer[..piece.len()].copy_from_slice(piece);
                    piece.len()
                }),
            }
        }
    }

    #[test]
    fn a_read_that_was_interrupted_goes_on() {
        let interrupted = || io::Result::Err(io::ErrorKind::Interrupted.into());
        let mut pieces = Pieces(vec![
            interrupted(),
            Ok(&b"io"[..]),
            interrupted(),
            Ok(&b"s"[..]),
        ]);
        let mut buffer = [0; 4];
        assert_eq!(read_up_to(&mut pieces, &mut buffer).unwrap(), 3);
        assert_eq!(&buffer, b"ios\0");
        let mut broken = Pieces(vec![Ok(&b"io"[..]), Err(io::ErrorKind::TimedOut.into())]);
        let error = read_up_to(&mut broken, &mut buffer).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    /// A log that nothing writes, with as much waiting as may.
    fn full(has_ended: bool) -> TableLog {
        let waiting = Waiting {
            bytes: vec![0; MOST_WAITING],
            has_ended,
            ..Waiting::default()
        };
        TableLog {
            path: PathBuf::from("/nowhere/x.tables"),
            has_begun: true,
            shared: Arc::new(Shared {
                waiting: Mutex::new(waiting),
                for_writer: Condvar::new(),
                for_replay: Condvar::new(),
            }),
            thread: None,
        }
    }

    #[test]
    fn a_log_whose_writer_has_failed_is_not_waited_for() {
        let mut log = full(true);
        log.ended(1, &Request::default(), true, true);
        assert_eq!(log.shared.lock().bytes.len(), MOST_WAITING);
    }

    #[test]
    fn a_record_waits_while_the_log_is_full() {
        let mut log = full(false);
        let shared = Arc::clone(&log.shared);
        std::thread::scope(|scope| {
            let record = scope.spawn(|| log.ended(1, &Request::default(), true, false));
            std::thread::sleep(Duration::from_millis(20));
            assert!(!record.is_finished());
            let mut waiting = shared.lock();
            assert_eq!(waiting.bytes.len(), MOST_WAITING);
            waiting.bytes.clear();
            drop(waiting);
            shared.for_replay.notify_all();
        });
        assert_eq!(log.shared.lock().bytes.len(), RECORD);
    }

    const SECTORS: u64 = 1000;

    /// A record of the table at the top.
    fn record(what: u8, op: Op, bits: u8, number: u32, sector: u64, sectors: u32) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        (bytes[0], bytes[1], bytes[2]) = (what, op as u8, bits);
        bytes[4..8].copy_from_slice(&sectors.to_le_bytes());
        bytes[8..12].copy_from_slice(&number.to_le_bytes());
        bytes[16..24].copy_from_slice(&sector.to_le_bytes());
        let sum = crc32fast::hash(&bytes[..28]);
        bytes[28..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    fn header(version: u32) -> Vec<u8> {
        header_of(version, false)
    }

    fn header_of(version: u32, durable: bool) -> Vec<u8> {
        let mut bytes = b"iosonarV".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.push(u8::from(durable));
        bytes.resize(16, 0);
        bytes.extend(0x0102_0304_0506_0708_u64.to_le_bytes());
        bytes.extend(SECTORS.to_le_bytes());
        bytes.resize(60, 0);
        let sum = crc32fast::hash(&bytes);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    #[test]
    fn a_log_is_written_as_its_table_says() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tables");
        for durable in [false, true] {
            let run = 0x0102_0304_0506_0708;
            let mut log = TableLog::create(&path, run, SECTORS, durable).unwrap();
            let write = request(Op::Write, 0x0102_0304_0506, 0x0a0b_0c0d);
            let discard = request(Op::Discard, 8, 16);
            log.started(0x1122_3344, &write).unwrap();
            for (done, durable) in [(false, false), (true, false), (false, true), (true, true)] {
                log.ended(7, &write, done, durable);
            }
            log.started(9, &discard).unwrap();
            log.ended(9, &discard, true, false);
            log.ended(5, &request(Op::Flush, 0, 0), true, false);
            assert!(log.finish().is_none());
            let (sector, sectors) = (0x0102_0304_0506, 0x0a0b_0c0d);
            let mut expected = header_of(1, durable);
            expected.extend(record(1, Op::Write, 0, 0x1122_3344, sector, sectors));
            for bits in 0..4 {
                expected.extend(record(2, Op::Write, bits, 7, sector, sectors));
            }
            expected.extend(record(1, Op::Discard, 0, 9, 8, 16));
            expected.extend(record(2, Op::Discard, 1, 9, 8, 16));
            expected.extend(record(2, Op::Flush, 1, 5, 0, 0));
            expected.extend(record(3, Op::Read, 0, 0, 0, 0));
            assert_eq!(std::fs::read(&path).unwrap(), expected);
            std::fs::remove_file(&path).unwrap();
        }
    }

    fn read(bytes: &[u8]) -> Result<KeptTables, String> {
        let tables = Tables::new(iosonar_units::Bytes::new(1 << 30), std::env::temp_dir());
        read_log_from(bytes, Path::new("x.tables"), tables)
    }

    #[test]
    fn a_log_begins_with_a_header_of_this_version() {
        let kept = read(&header(1)).unwrap();
        assert_eq!((kept.run, kept.sectors), (0x0102_0304_0506_0708, SECTORS));
        assert_eq!((kept.writes, kept.flushes, kept.cut_off), (0, 0, 0));
        assert!(!kept.is_complete);
        let mut damaged = header(1);
        damaged[30] ^= 1;
        let mut of_another = header(1);
        of_another[7] = b'W';
        let sum = crc32fast::hash(&of_another[..60]);
        of_another[60..].copy_from_slice(&sum.to_le_bytes());
        for (bytes, problem) in [
            (&header(1)[..63], "is not a log"),
            (&damaged, "is not a log"),
            (&of_another, "is not a log"),
            (
                &header(2),
                "has version 2, but this program reads only version 1",
            ),
            (&header(0x0100_0001), "has version 16777217"),
        ] {
            let found = read(bytes).err().unwrap_or_default();
            assert!(found.contains(problem), "{found}");
        }
    }

    #[test]
    fn a_record_that_cannot_be_true_is_reported_with_its_place() {
        let write = |number, sector, sectors| record(1, Op::Write, 0, number, sector, sectors);
        let mut unknown = record(1, Op::Write, 0, 2, 0, 8);
        unknown[1] = 200;
        seal(&mut unknown);
        for (second, problem) in [
            (write(2, 992, 8), None),
            (
                write(2, 993, 8),
                Some("lies beyond the target's 1000 sectors"),
            ),
            (write(2, u64::MAX, 8), Some("lies beyond")),
            (write(2, 8, 1), None),
            (
                write(2, 8, 0),
                Some("the write at 8 has 0 sectors, expected at least 1"),
            ),
            (
                record(2, Op::Discard, 1, 1, 992, 0),
                Some("the discard at 992 has 0 sectors"),
            ),
            (record(1, Op::Read, 0, 2, 0, 8), Some("found a read")),
            (record(2, Op::Read, 1, 1, 0, 8), Some("found a read")),
            (write(3, 0, 8), Some("write 3 found, expected 2")),
            (write(1, 0, 8), Some("write 1 found, expected 2")),
            (
                record(4, Op::Write, 0, 2, 0, 8),
                Some("unknown record kind 4"),
            ),
            (
                record(0, Op::Flush, 0, 2, 0, 0),
                Some("unknown record kind 0"),
            ),
            (unknown, Some("unknown operation 200")),
            (record(1, Op::Flush, 0, 9, 0, 0), None),
            (record(3, Op::Read, 0, 0, 0, 0), None),
        ] {
            let bytes = [header(1), write(1, 8, 8).to_vec(), second.to_vec()].concat();
            match (read(&bytes), problem) {
                (Ok(_), None) => {}
                (Err(found), Some(problem)) => {
                    assert!(found.starts_with("x.tables: byte 96: "), "{found}");
                    assert!(found.contains(problem), "{found}");
                }
                (read, problem) => panic!("{:?} {problem:?}", read.err()),
            }
        }
    }

    #[test]
    fn what_a_record_says_goes_into_the_tables() {
        // What is known of a sector after one write: which it may hold at least, and which must survive.
        for (bits, flush, floor, durable) in [
            (0, None, 0, 0),
            (1, None, 1, 0),
            (3, None, 1, 1),
            (1, Some((1, 1)), 1, 1),
            // It began before the write was complete, or was not done.
            (1, Some((1, 0)), 1, 0),
            (1, Some((0, 1)), 1, 0),
        ] {
            let mut bytes = header(1);
            bytes.extend(record(1, Op::Write, 0, 1, 8, 8));
            bytes.extend(record(2, Op::Write, bits, 1, 8, 8));
            if let Some((bits, complete)) = flush {
                bytes.extend(record(1, Op::Flush, 0, complete, 0, 0));
                bytes.extend(record(2, Op::Flush, bits, complete, 0, 0));
            }
            let kept = read(&bytes).unwrap();
            assert_eq!((kept.writes, kept.is_complete), (1, false));
            let done = flush.is_some_and(|(bits, _)| bits == 1);
            assert_eq!(kept.flushes, u64::from(done));
            for (sector, expected) in [
                (7, (0, 0, 0)),
                (8, (1, floor, durable)),
                (15, (1, floor, durable)),
                (16, (0, 0, 0)),
            ] {
                kept.tables.entries(sector..sector + 1, |_, entry| {
                    let durable = kept.tables.durable(&entry);
                    assert_eq!((entry.started, entry.floor, durable), expected, "{bits}");
                });
            }
        }
    }

    #[test]
    fn what_follows_a_damaged_record_is_cut_off() {
        let write = record(1, Op::Write, 0, 1, 8, 8);
        let end = record(3, Op::Read, 0, 0, 0, 0);
        let mut damaged = end;
        damaged[20] ^= 1;
        for (rest, writes, is_complete, cut_off) in [
            (vec![write, end], 1, true, 0),
            (vec![write, damaged], 1, false, 32),
            (vec![damaged, write], 0, false, 64),
        ] {
            let bytes = [header(1), rest.concat()].concat();
            let kept = read(&bytes).unwrap();
            let seen = (kept.writes, kept.is_complete, kept.cut_off);
            assert_eq!(seen, (writes, is_complete, cut_off));
        }
        let bytes = [header(1), write.to_vec(), vec![0; 5]].concat();
        assert_eq!(read(&bytes).unwrap().cut_off, 5);
    }

    #[test]
    fn numbers_are_little_endian() {
        let bytes = [0, 1, 2, 3, 4, 5, 6, 7, 0x80];
        for (at, length, value) in [
            (0, 1, 0),
            (1, 4, 0x0403_0201),
            (5, 4, 0x8007_0605),
            (1, 8, 0x8007_0605_0403_0201),
            (3, 0, 0),
        ] {
            assert_eq!(word(&bytes, at, length), value);
        }
    }

    #[test]
    fn only_what_must_be_on_the_medium_soon_is_urgent() {
        for (op, durable, is_urgent) in [
            (Op::Write, false, false),
            (Op::Write, true, true),
            (Op::Flush, false, true),
            (Op::Discard, false, false),
        ] {
            let mut log = full(false);
            log.shared.lock().bytes.clear();
            log.ended(1, &request(op, 0, 8), true, durable);
            assert_eq!(log.shared.lock().is_urgent, is_urgent, "{op:?}");
            // It stays urgent until it is written.
            log.ended(1, &request(Op::Write, 0, 8), true, false);
            let waiting = log.shared.lock();
            assert_eq!(
                (waiting.is_urgent, waiting.bytes.len()),
                (is_urgent, 2 * RECORD)
            );
        }
    }

    #[test]
    fn a_discard_that_cannot_be_logged_must_not_begin() {
        let mut log = full(true);
        for (op, begins) in [
            (Op::Write, true),
            (Op::Flush, true),
            (Op::Discard, false),
            (Op::WriteZeroes, false),
        ] {
            assert_eq!(log.started(1, &request(op, 0, 8)).is_ok(), begins, "{op:?}");
        }
    }

    #[test]
    fn the_writer_is_woken_by_what_is_urgent_or_a_piece() {
        for (bytes, is_urgent, is_closed, is_idle) in [
            (0, false, false, true),
            (PIECE - 1, false, false, true),
            (PIECE, false, false, false),
            (0, true, false, false),
            (0, false, true, false),
            (PIECE + 1, true, true, false),
        ] {
            let waiting = Waiting {
                bytes: vec![0; bytes],
                is_urgent,
                is_closed,
                ..Waiting::default()
            };
            assert_eq!(waiting.is_idle(), is_idle, "{bytes} {is_urgent}");
        }
        // One record completes a piece.
        let completing = |before: &usize| completes_a_piece(*before);
        let records = (0..MOST_WAITING).step_by(RECORD);
        assert_eq!(
            records.filter(completing).collect::<Vec<_>>(),
            [PIECE - RECORD]
        );
        for (before, completes) in [
            (PIECE - RECORD - 1, false),
            (PIECE - RECORD, true),
            (PIECE - 1, true),
            (PIECE, false),
        ] {
            assert_eq!(completes_a_piece(before), completes, "{before}");
        }
    }
}
