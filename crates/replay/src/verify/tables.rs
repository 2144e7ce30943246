//! Which writes were started, and which must have arrived, by sector.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use iosonar_linux::memory::Mapping;
use iosonar_trace::{Op, Request};
use iosonar_units::Bytes;

/// What is known of a sector; all zero if it was never written. Numbers count writes from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The last write that was started.
    pub(crate) started: u32,
    /// The oldest write that the sector may hold now: the last one that is complete, or the first of
    /// several that overlapped in time; 0 if nothing is sure.
    pub(crate) floor: u32,
    /// The write that must survive a loss of power; 0 if none must.
    pub(crate) durable: u32,
    /// When `floor` became so, counted in completed writes.
    order: u32,
    /// The first of the writes that are in flight together.
    group: u32,
    /// How many are in flight.
    in_flight: u32,
}

/// An entry in memory: its numbers in the order of its fields.
type EntryWords = [u32; 6];

impl From<EntryWords> for Entry {
    #[inline]
    fn from([started, floor, durable, order, group, in_flight]: EntryWords) -> Self {
        Self {
            started,
            floor,
            durable,
            order,
            group,
            in_flight,
        }
    }
}

impl From<Entry> for EntryWords {
    #[inline]
    fn from(entry: Entry) -> Self {
        [
            entry.started,
            entry.floor,
            entry.durable,
            entry.order,
            entry.group,
            entry.in_flight,
        ]
    }
}

const CHUNK_SECTORS: u64 = 1024;
const CHUNK_BYTES: usize = CHUNK_SECTORS as usize * size_of::<EntryWords>();
/// The number of chunks per piece of memory: 48 MiB.
const EXTENT_CHUNKS: usize = 2048;
const EXTENT_BYTES: usize = EXTENT_CHUNKS * CHUNK_BYTES;

/// Chunks from one on, all of whose sectors have the same entry: only what covers all of them has touched them, such as a
/// discard of the whole device.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// The first chunk behind them.
    end: u64,
    entry: Entry,
}

/// The chunks that a range covers as a whole.
fn whole_chunks(range: &Range<u64>) -> Range<u64> {
    range.start.div_ceil(CHUNK_SECTORS)..range.end / CHUNK_SECTORS
}

/// The chunks that it covers in part, of which there are at most two.
fn partial_chunks(range: &Range<u64>) -> impl Iterator<Item = u64> {
    let is_partial = |sector: &u64| !sector.is_multiple_of(CHUNK_SECTORS);
    let [first, last] = [range.start, range.end].map(|sector| {
        Some(sector)
            .filter(is_partial)
            .map(|sector| sector / CHUNK_SECTORS)
    });
    first.into_iter().chain(last.filter(|_| first != last))
}

/// Those of the chunks that are in a map, in any order, with their places.
fn among(map: &HashMap<u64, usize>, chunks: Range<u64>) -> impl Iterator<Item = (u64, usize)> {
    let (looked_up, gone_through) = match chunks.end - chunks.start <= map.len() as u64 {
        true => (chunks.clone(), None),
        false => (0..0, Some(map)),
    };
    let looked_up = looked_up.filter_map(|chunk| Some((chunk, *map.get(&chunk)?)));
    let gone_through = gone_through.into_iter().flatten();
    let gone_through = gone_through.map(|(&chunk, &index)| (chunk, index));
    looked_up.chain(gone_through.filter(move |(chunk, _)| chunks.contains(chunk)))
}

/// The entries of the sectors of chunks, in memory up to a limit, then in files without a name in a folder.
struct Chunks {
    extents: Vec<Mapping>,
    used: usize,
    memory: Bytes,
    directory: PathBuf,
}

impl Chunks {
    fn get(&self, index: usize) -> &[EntryWords] {
        let (entries, _) = self.extents[index / EXTENT_CHUNKS].words().as_chunks();
        let first = index % EXTENT_CHUNKS * CHUNK_SECTORS as usize;
        &entries[first..first + CHUNK_SECTORS as usize]
    }

    fn get_mut(&mut self, index: usize) -> &mut [EntryWords] {
        let extent = &mut self.extents[index / EXTENT_CHUNKS];
        let (entries, _) = extent.words_mut().as_chunks_mut();
        let first = index % EXTENT_CHUNKS * CHUNK_SECTORS as usize;
        &mut entries[first..first + CHUNK_SECTORS as usize]
    }

    /// Makes room for a chunk, all of whose sectors have this entry.
    fn add(&mut self, entry: Entry) -> io::Result<usize> {
        if self.used == self.extents.len() * EXTENT_CHUNKS {
            let all = (self.extents.len() + 1) * EXTENT_BYTES;
            let spilled = all as u64 > self.memory.get();
            self.extents.push(match spilled {
                true => Mapping::in_file(&self.directory, EXTENT_BYTES).map_err(|e| {
                    let folder = self.directory.display();
                    let problem = format!("{folder}: cannot create a file for the tables: {e}");
                    io::Error::new(e.kind(), problem)
                })?,
                false => Mapping::anonymous(EXTENT_BYTES)?,
            });
        }
        let index = self.used;
        self.used += 1;
        // New memory is zero, as the default is.
        if entry != Entry::default() {
            self.get_mut(index).fill(entry.into());
        }
        Ok(index)
    }
}

/// Tables of the sectors that were touched: 24 bytes each, in memory up to a limit, then in a file. Chunks of sectors that
/// were only touched together share one entry.
pub struct Tables {
    /// Where the entries of a chunk are whose sectors have one each.
    stored: HashMap<u64, usize>,
    /// The others, by their first chunk. They do not overlap.
    alike: BTreeMap<u64, Run>,
    chunks: Chunks,
    writes: u32,
    completed: u32,
    /// Writes completed up to here are on the medium.
    flushed: u32,
    disturbances: u64,
}

impl std::fmt::Debug for Tables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tables")
            .field("sectors", &self.sectors())
            .field("writes", &self.writes)
            .finish_non_exhaustive()
    }
}

impl Tables {
    /// Empty tables that take at most `memory`, and spill to nameless files in `directory`.
    pub fn new(memory: Bytes, directory: PathBuf) -> Self {
        Self {
            stored: HashMap::new(),
            alike: BTreeMap::new(),
            chunks: Chunks {
                extents: Vec::new(),
                used: 0,
                memory,
                directory,
            },
            writes: 0,
            completed: 0,
            flushed: 0,
            disturbances: 0,
        }
    }

    /// How often the contents of some sectors became unknown: a discard, or a write that failed.
    pub(crate) fn disturbances(&self) -> u64 {
        self.disturbances
    }

    /// How many sectors have a place in the tables.
    pub fn sectors(&self) -> u64 {
        let alike: u64 = self.alike.iter().map(|(first, run)| run.end - first).sum();
        (self.stored.len() as u64 + alike) * CHUNK_SECTORS
    }

    /// How many places there are, each of a chunk or of several that are alike.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.stored.len() + self.alike.len()
    }

    /// The run that a chunk is in, with its first chunk.
    fn run_of(&self, chunk: u64) -> Option<(u64, Run)> {
        let (&first, &run) = self.alike.range(..=chunk).next_back()?;
        (chunk < run.end).then_some((first, run))
    }

    /// Divides the run that has this chunk in it, so that one begins there.
    fn divide(&mut self, at: u64) {
        if let Some((first, run)) = self.run_of(at)
            && first < at
        {
            self.alike.insert(first, Run { end: at, ..run });
            self.alike.insert(at, run);
        }
    }

    /// Gives each sector of a chunk an entry of its own, unless it has one.
    fn store(&mut self, chunk: u64) -> io::Result<()> {
        if self.stored.contains_key(&chunk) {
            return Ok(());
        }
        self.divide(chunk);
        self.divide(chunk + 1);
        let entry = self.alike.get(&chunk).map(|run| run.entry);
        let index = self.chunks.add(entry.unwrap_or_default())?;
        self.alike.remove(&chunk);
        self.stored.insert(chunk, index);
        Ok(())
    }

    /// Makes places for a range. No run goes beyond it from then on.
    fn make(&mut self, range: &Range<u64>) -> io::Result<()> {
        assert!(!range.is_empty(), "what is written has sectors");
        for chunk in partial_chunks(range) {
            self.store(chunk)?;
        }
        let whole = whole_chunks(range);
        if whole.is_empty() {
            return Ok(());
        }
        self.divide(whole.start);
        self.divide(whole.end);
        let runs = self.alike.range(whole.clone());
        let runs = runs.map(|(&first, run)| (first, run.end));
        let stored = among(&self.stored, whole.clone()).map(|(chunk, _)| (chunk, chunk + 1));
        let mut places: Vec<(u64, u64)> = runs.chain(stored).collect();
        places.sort_unstable();
        places.push((whole.end, whole.end));
        let mut chunk = whole.start;
        for (first, end) in places {
            if chunk < first {
                let entry = Entry::default();
                self.alike.insert(chunk, Run { end: first, entry });
            }
            chunk = end;
        }
        Ok(())
    }

    /// Looks at every sector of a range.
    pub(crate) fn entries(&self, range: Range<u64>, mut look: impl FnMut(u64, Entry)) {
        let mut sector = range.start;
        while sector < range.end {
            let chunk = sector / CHUNK_SECTORS;
            let end = range.end.min((chunk + 1) * CHUNK_SECTORS);
            if let Some(&index) = self.stored.get(&chunk) {
                let entries = self.chunks.get(index);
                for sector in sector..end {
                    look(sector, entries[(sector % CHUNK_SECTORS) as usize].into());
                }
            } else {
                let entry = self.run_of(chunk).map(|(_, run)| run.entry);
                let entry = entry.unwrap_or_default();
                (sector..end).for_each(|sector| look(sector, entry));
            }
            sector = end;
        }
    }

    /// Changes the entries of a range that have a place. No run may go beyond it.
    fn change(&mut self, request: &Request, mut change: impl FnMut(&mut Entry)) {
        let range = request.sector.get()..request.end().get();
        let touched = range.start / CHUNK_SECTORS..range.end.div_ceil(CHUNK_SECTORS);
        for (chunk, index) in among(&self.stored, touched.clone()) {
            let base = chunk * CHUNK_SECTORS;
            let from = range.start.saturating_sub(base) as usize;
            let to = (range.end - base).min(CHUNK_SECTORS) as usize;
            for words in &mut self.chunks.get_mut(index)[from..to] {
                let mut entry = Entry::from(*words);
                change(&mut entry);
                *words = entry.into();
            }
        }
        let undivided = "a run is divided before a part of it changes";
        let before = self.alike.range(..touched.start).next_back();
        assert!(
            before.is_none_or(|(_, run)| run.end <= touched.start),
            "{undivided}"
        );
        let whole = whole_chunks(&range);
        for (&first, run) in self.alike.range_mut(touched) {
            assert!(whole.start <= first && run.end <= whole.end, "{undivided}");
            change(&mut run.entry);
        }
    }

    /// A write, discard or write-zeroes is submitted. Returns its number.
    ///
    /// # Errors
    /// If there have been too many to count, or there is no more room for tables.
    pub(crate) fn write_starts(&mut self, request: &Request) -> io::Result<u32> {
        self.make(&(request.sector.get()..request.end().get()))?;
        self.writes = self
            .writes
            .checked_add(1)
            .ok_or_else(|| io::Error::other("verification counts at most 4 294 967 295 writes"))?;
        let number = self.writes;
        let is_write = request.op == Op::Write;
        self.disturbances += u64::from(!is_write);
        self.change(request, |entry| {
            entry.started = number;
            if entry.in_flight == 0 {
                entry.group = number;
            }
            if !is_write {
                (entry.floor, entry.group, entry.durable) = (0, 0, 0);
            }
            entry.in_flight += 1;
        });
        Ok(number)
    }

    /// Gets ready for the end of a request of a log, which may be damaged: its beginning may be missing.
    ///
    /// # Errors
    /// If there is no more room for tables.
    pub(crate) fn prepare_end(&mut self, request: &Request) -> io::Result<()> {
        self.make(&(request.sector.get()..request.end().get()))
    }

    /// It is over.
    pub(crate) fn write_ends(&mut self, _: u32, request: &Request, done: bool, durable: bool) {
        self.completed += 1;
        let (now, flushed) = (self.completed, self.flushed);
        let unknown = !done && request.op == Op::Write;
        self.disturbances += u64::from(unknown);
        self.change(request, |entry| {
            if unknown {
                (entry.floor, entry.group, entry.durable) = (0, 0, 0);
            }
            entry.in_flight = entry.in_flight.saturating_sub(1);
            if entry.in_flight > 0 {
                return;
            }
            if entry.floor > 0 && entry.order <= flushed {
                entry.durable = entry.floor;
            }
            entry.floor = entry.group;
            entry.order = now;
            if durable {
                entry.durable = entry.floor;
            }
        });
    }

    /// A flush is submitted: writes complete by now are on the medium when it ends.
    /// Returns its number.
    pub(crate) fn flush_starts(&self) -> u32 {
        self.completed
    }

    /// It is done.
    pub(crate) fn flush_ends(&mut self, began: u32) {
        self.flushed = self.flushed.max(began);
    }

    /// What must survive a loss of power.
    pub(crate) fn durable(&self, entry: &Entry) -> u32 {
        match entry.floor > 0 && entry.order <= self.flushed {
            true => entry.floor,
            false => entry.durable,
        }
    }

    /// The ranges of sectors whose contents are known, in order and as long as they are.
    pub(crate) fn known(&self) -> Vec<Range<u64>> {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        let mut add = |range: Range<u64>| match ranges.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => ranges.push(range),
        };
        let alike = self.alike.iter().map(|(&first, run)| (first, run.end));
        let stored = self.stored.keys().map(|&first| (first, first + 1));
        let mut pieces: Vec<(u64, u64)> = alike.chain(stored).collect();
        pieces.sort_unstable();
        for (first, end) in pieces {
            let range = first * CHUNK_SECTORS..end * CHUNK_SECTORS;
            match self.alike.get(&first) {
                Some(run) if run.entry.floor == 0 => {}
                Some(_) => add(range),
                None => self.entries(range, |sector, entry| {
                    if entry.floor > 0 {
                        add(sector..sector + 1);
                    }
                }),
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::request;
    fn tables() -> Tables {
        Tables::new(Bytes::new(1 << 30), std::env::temp_dir())
    }

    #[test]
    fn places_are_made_for_1024_sectors_at_a_time() {
        let mut tables = tables();
        assert_eq!(tables.sectors(), 0);
        for (sector, sectors, places) in [
            (8, 8, 1024),
            (1016, 8, 1024),
            (1020, 8, 2048),
            // The sectors between have no places.
            (10_240, 1025, 4096),
        ] {
            tables
                .write_starts(&request(Op::Write, sector, sectors))
                .unwrap();
            assert_eq!(tables.sectors(), places, "{sector}");
        }
        let shown = format!("{tables:?}");
        assert!(shown.contains("sectors: 4096, writes: 4"), "{shown}");
    }

    #[test]
    fn a_discarded_device_takes_one_entry() {
        let mut tables = tables();
        let all = request(Op::Discard, 0, 1 << 24);
        let number = tables.write_starts(&all).unwrap();
        tables.write_ends(number, &all, true, false);
        assert_eq!((tables.sectors(), tables.chunks.used), (1 << 24, 0));
        assert_eq!(tables.alike.len(), 1);
        assert!(tables.known().is_empty());
        // What touches a part of a chunk gives its sectors an entry each.
        let write = request(Op::Write, 1020, 8);
        let number = tables.write_starts(&write).unwrap();
        tables.write_ends(number, &write, true, false);
        assert_eq!((tables.sectors(), tables.chunks.used), (1 << 24, 2));
        assert_eq!(tables.alike.len(), 1);
        assert_eq!(
            tables.known(),
            vec![Range {
                start: 1020,
                end: 1028
            }]
        );
    }

    /// Of the same requests a sector further, hardly any covers a whole chunk.
    #[test]
    fn entries_of_whole_chunks_are_those_of_their_sectors() {
        let mut random = 1_u64;
        let mut below = |end: u64| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (random >> 33) % end
        };
        let (mut chunks, mut parts) = (tables(), tables());
        let mut running: Vec<(u32, Request, Request)> = Vec::new();
        for step in 0..4_000 {
            if running.len() < 4 && below(2) == 0 {
                let unit = [1024, 256, 1][below(3) as usize];
                let most = 4 * 1024 / unit;
                let first = below(most);
                let sectors = (1 + below(most - first)) * unit;
                let op = [Op::Write, Op::Discard, Op::WriteZeroes][below(3) as usize];
                let [here, further] =
                    [0, 1].map(|by| request(op, first * unit + by, sectors as u32));
                let number = chunks.write_starts(&here).unwrap();
                assert_eq!(parts.write_starts(&further).unwrap(), number);
                running.push((number, here, further));
            } else if !running.is_empty() {
                let at = below(running.len() as u64) as usize;
                let (number, here, further) = running.swap_remove(at);
                let (done, durable) = (below(8) > 0, below(4) == 0);
                chunks.write_ends(number, &here, done, durable);
                parts.write_ends(number, &further, done, durable);
            } else {
                let began = chunks.flush_starts();
                chunks.flush_ends(began);
                parts.flush_ends(began);
            }
            if step % 100 != 0 {
                continue;
            }
            let mut expected = Vec::new();
            parts.entries(1..4 * 1024 + 1, |sector, entry| {
                expected.push((sector - 1, entry));
            });
            let mut found = Vec::new();
            chunks.entries(0..4 * 1024, |sector, entry| found.push((sector, entry)));
            assert_eq!(found, expected, "{step}");
            let known: Vec<u64> = chunks.known().into_iter().flatten().collect();
            let expected: Vec<u64> = expected
                .iter()
                .filter_map(|(sector, entry)| (entry.floor > 0).then_some(*sector))
                .collect();
            assert_eq!(known, expected, "{step}");
        }
        assert!(chunks.chunks.used < parts.chunks.used);
    }

    #[test]
    fn what_makes_contents_unknown_is_counted() {
        let mut tables = tables();
        let mut expected = 0;
        for (op, done, at_start, at_end) in [
            (Op::Write, true, 0, 0),
            (Op::Write, false, 0, 1),
            (Op::Discard, true, 1, 0),
            (Op::WriteZeroes, true, 1, 0),
            (Op::Discard, false, 1, 0),
        ] {
            let request = request(op, 8, 8);
            let number = tables.write_starts(&request).unwrap();
            expected += at_start;
            assert_eq!(tables.disturbances(), expected, "{op:?}");
            tables.write_ends(number, &request, done, false);
            expected += at_end;
            assert_eq!(tables.disturbances(), expected, "{op:?} {done}");
        }
    }

    #[test]
    fn tables_spill_when_the_next_piece_of_memory_exceeds_their_limit() {
        let extent = EXTENT_CHUNKS as u64 * CHUNK_SECTORS;
        // What cannot be spilled, as there is no such folder, fails.
        for (memory, makes_one, makes_two) in [
            (EXTENT_BYTES - 1, false, false),
            (EXTENT_BYTES, true, false),
            (2 * EXTENT_BYTES - 1, true, false),
            (2 * EXTENT_BYTES, true, true),
        ] {
            let nowhere = PathBuf::from("/nowhere/at/all");
            let mut tables = Tables::new(Bytes::new(memory as u64), nowhere);
            let mut write = |sector| match tables.write_starts(&request(Op::Write, sector, 1)) {
                Ok(_) => true,
                Err(error) => {
                    let message = error.to_string();
                    let expected = "/nowhere/at/all: cannot create a file for the tables: ";
                    assert!(message.starts_with(expected), "{message}");
                    false
                }
            };
            // The last sector of each chunk is the last of the piece of memory, too.
            let mut lasts = (CHUNK_SECTORS - 1..extent).step_by(CHUNK_SECTORS as usize);
            assert_eq!(lasts.all(&mut write), makes_one, "{memory}");
            assert_eq!(write(extent), makes_two, "{memory}");
        }
    }

    #[test]
    fn a_flush_makes_durable_what_was_complete_when_it_began() {
        let mut tables = tables();
        let write = request(Op::Write, 8, 1);
        let durable = |tables: &Tables| {
            let mut all = Vec::new();
            tables.entries(8..9, |_, entry| all.push(tables.durable(&entry)));
            all[0]
        };
        let complete = |tables: &mut Tables| {
            let number = tables.write_starts(&write).unwrap();
            tables.write_ends(number, &write, true, false);
        };
        let before = tables.flush_starts();
        complete(&mut tables);
        tables.flush_ends(before);
        assert_eq!(durable(&tables), 0, "the flush began first");
        complete(&mut tables);
        assert_eq!(durable(&tables), 0, "neither write was flushed");
        let behind_both = tables.flush_starts();
        complete(&mut tables);
        tables.flush_ends(behind_both);
        assert_eq!(
            durable(&tables),
            0,
            "the second was overwritten before it was known"
        );
        let behind_all = tables.flush_starts();
        tables.flush_ends(behind_all);
        assert_eq!(durable(&tables), 3);
        // A flush that began earlier and ends later takes nothing back.
        tables.flush_ends(behind_both);
        complete(&mut tables);
        assert_eq!(durable(&tables), 3, "until the fourth is flushed");
    }

    #[test]
    fn of_writes_that_overlap_in_time_the_first_may_stay_until_all_are_done() {
        let mut tables = tables();
        let write = request(Op::Write, 8, 1);
        let seen = |tables: &Tables| {
            let mut all = Vec::new();
            tables.entries(8..9, |_, entry| all.push((entry.floor, entry.started)));
            all[0]
        };
        let [first, second] = [(); 2].map(|()| tables.write_starts(&write).unwrap());
        assert_eq!((first, second), (1, 2));
        tables.write_ends(second, &write, true, false);
        assert_eq!(seen(&tables), (0, 2), "nothing is sure yet");
        tables.write_ends(first, &write, true, false);
        assert_eq!(seen(&tables), (1, 2));
        let third = tables.write_starts(&write).unwrap();
        assert_eq!(seen(&tables), (1, 3));
        tables.write_ends(third, &write, true, false);
        assert_eq!(seen(&tables), (3, 3));
    }
}
