//! Everything that was written is read again.

use std::ops::{Range, RangeInclusive};

use super::findings::kind_of;
use super::{Findings, Kind, Tables, found, is_of_same_replay};
use crate::Target;
use iosonar_guard::tag::{Found, Tag};
use iosonar_linux::memory::Buffer;

/// The longest read, in sectors.
const LARGE: u64 = 2048;

/// How far a pass has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassProgress {
    /// Sectors checked.
    pub done: u64,
    /// Sectors to check.
    pub all: u64,
}

/// What is expected of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expect {
    /// Only what had been made durable must be there (after a crash), not everything that was complete.
    pub only_durable: bool,
    /// The tables know of every write that was started.
    pub all_known: bool,
}

/// What a check after a crash distinguishes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survival {
    /// Sectors that hold the last write that was complete, or a later one.
    pub newest: u64,
    /// Sectors that hold an older write than the last complete one, which nothing made durable: no fault. Their tag
    /// decodes and names them, and an earlier write of this run or of another one.
    pub not_guaranteed: u64,
    /// Sectors that are zero, where nothing made the first write durable: it may never have arrived, which is not a fault.
    pub never_arrived: u64,
    /// Sectors that hold anything else, of which no write had been made durable. They are among the findings.
    pub damaged_not_durable: u64,
    /// Sectors of which a write had been made durable: those that can be lost.
    pub durable: u64,
    /// Those of them that are zero. They are among the findings.
    pub durable_zeros: u64,
    /// Sectors that cannot be read, of which no write had been made durable. Like all that cannot be read they are
    /// among the findings.
    pub unreadable_not_durable: u64,
}

impl Survival {
    /// The count of what may be in a sector of which no write was made durable; none for what may not.
    fn may_be_there(
        &mut self,
        what: Found,
        is_older: impl FnOnce(Tag) -> bool,
    ) -> Option<&mut u64> {
        match what {
            Found::Zeros => Some(&mut self.never_arrived),
            Found::Tagged(tag) if is_older(tag) => Some(&mut self.not_guaranteed),
            _ => None,
        }
    }
}

/// What is read again.
pub(crate) trait Contents {
    /// Sectors of a block.
    fn block(&self) -> u64;

    /// Fills `data` from this sector on.
    fn read(&self, sector: u64, data: &mut [u8]) -> std::io::Result<()>;
}

impl Contents for Target {
    fn block(&self) -> u64 {
        (Self::block(self).get() / 512).max(1)
    }

    fn read(&self, sector: u64, data: &mut [u8]) -> std::io::Result<()> {
        use std::os::unix::fs::FileExt;
        let file = self.data();
        let file = file.ok_or_else(|| std::io::Error::other("it is not open"))?;
        file.read_exact_at(data, sector * 512)
    }
}

/// Reads every sector whose contents are known, in large reads of whole blocks of the target, and where
/// one fails block by block. `progress` is called now and then.
///
/// # Errors
/// If there is no memory for a buffer.
pub fn check_again(
    target: &Target,
    run: u64,
    tables: &Tables,
    expect: Expect,
    findings: &mut Findings,
    progress: impl FnMut(PassProgress) -> bool,
) -> std::io::Result<Survival> {
    check_contents(target, run, tables, expect, findings, progress)
}

/// The same for any contents.
pub(crate) fn check_contents(
    target: &impl Contents,
    run: u64,
    tables: &Tables,
    expect: Expect,
    findings: &mut Findings,
    mut progress: impl FnMut(PassProgress) -> bool,
) -> std::io::Result<Survival> {
    let known = tables.known();
    let all = known.iter().map(|range| range.end - range.start).sum();
    let mut state = PassProgress { done: 0, all };
    let mut survival = Survival::default();
    let block = target.block();
    let mut buffer = Buffer::new(((LARGE + 2 * block) * 512) as usize)?;
    for range in known.into_iter().flat_map(pieces) {
        let (first, last) = (
            range.start / block * block,
            range.end.next_multiple_of(block),
        );
        let mut examine = |from: u64, data: Option<&[u8]>, to: u64| {
            let mut sectors = data.map(|data| data.chunks_exact(512));
            tables.entries(from..to, |sector, entry| {
                let data = sectors.as_mut().and_then(Iterator::next);
                if !range.contains(&sector) || entry.floor == 0 {
                    return;
                }
                let durable = tables.durable(&entry);
                survival.durable += u64::from(durable > 0);
                let Some(data) = data else {
                    survival.unreadable_not_durable += u64::from(durable == 0);
                    findings.checked += 1;
                    findings.add(Kind::Unreadable, sector, entry.floor, None);
                    return;
                };
                // A write that began after the log ended is not in it.
                let newest = if expect.all_known {
                    entry.started
                } else {
                    u32::MAX
                };
                let bounds = entry.floor..=newest;
                if !expect.only_durable || is_right(data, run, sector, &bounds) {
                    if findings.examine(data, run, sector, &bounds) {
                        survival.newest += 1;
                    }
                } else if durable == 0 {
                    let older = |tag| is_older(tag, run, sector, newest);
                    if let Some(count) = survival.may_be_there(found(data), older) {
                        *count += 1;
                        findings.checked += 1;
                    } else {
                        survival.damaged_not_durable += 1;
                        findings.examine(data, run, sector, &bounds);
                    }
                } else if findings.examine(data, run, sector, &(durable..=newest)) {
                    survival.not_guaranteed += 1;
                } else {
                    survival.durable_zeros += u64::from(found(data) == Found::Zeros);
                }
            });
            findings.end_of_read();
        };
        match read(target, &mut buffer, first, last) {
            Some(data) => examine(first, Some(data), last),
            None => {
                for at in (first..last).step_by(block as usize) {
                    let data = read(target, &mut buffer, at, at + block);
                    examine(at, data, at + block);
                }
            }
        }
        state.done += range.end - range.start;
        if !progress(state) {
            break;
        }
    }
    Ok(survival)
}

/// What is read at a time of a range.
fn pieces(range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let firsts = range.clone().step_by(LARGE as usize);
    firsts.map(move |first| first..range.end.min(first + LARGE))
}

/// Whether the tag is that of a write to this sector that may have come before those of the tables.
fn is_older(tag: Tag, run: u64, sector: u64, newest: u32) -> bool {
    let may_precede = match tag.run == run {
        true => (1..=u64::from(newest)).contains(&tag.number),
        false => !is_of_same_replay(tag.run, run),
    };
    tag.sector == sector && may_precede
}

fn is_right(data: &[u8], run: u64, sector: u64, bounds: &RangeInclusive<u32>) -> bool {
    let what: Found = found(data);
    kind_of(what, run, sector, bounds).is_none()
}

/// The sectors from `first` to before `last`, if they can be read.
fn read<'a>(
    target: &impl Contents,
    buffer: &'a mut Buffer,
    first: u64,
    last: u64,
) -> Option<&'a [u8]> {
    let data = &mut buffer[..((last - first) * 512) as usize];
    target.read(first, data).ok()?;
    Some(data)
}
