//! What is wrong with the target's contents, summed up by range and kind.

use iosonar_units::counted;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::{Found, Tag, found, is_of_same_replay};

/// What a sector holds instead of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Zeros: the write never arrived, or was lost.
    Zeros,
    /// What an earlier write of this run put there.
    Older,
    /// An earlier write's data, while other sectors of the same read show the newer write: it arrived
    /// in part.
    Torn,
    /// The tag of another sector: data went to the wrong place, or come from it.
    Misplaced,
    /// The tag of another target of this replay: data went to the wrong device.
    OtherTarget,
    /// The tag of another run.
    Foreign,
    /// Our tag, and a checksum that does not match.
    Damaged,
    /// The tag of a write that was never started.
    Future,
    /// Data without a tag.
    Untagged,
    /// It cannot be read.
    Unreadable,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Zeros,
        Self::Older,
        Self::Torn,
        Self::Misplaced,
        Self::OtherTarget,
        Self::Foreign,
        Self::Damaged,
        Self::Future,
        Self::Untagged,
        Self::Unreadable,
    ];

    /// What it is called in tables and JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zeros => "zeros",
            Self::Older => "older version",
            Self::Torn => "torn",
            Self::Misplaced => "tag of another sector",
            Self::OtherTarget => "tag of another target",
            Self::Foreign => "foreign run",
            Self::Damaged => "damaged",
            Self::Future => "never written",
            Self::Untagged => "no tag",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A range of sectors that hold the same kind of wrong thing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The first sector.
    pub sector: u64,
    /// How many.
    pub sectors: u64,
    /// What they hold.
    pub kind: Kind,
    /// The number of the write that the first should hold (or a later one).
    pub expected: u32,
    /// The number of the write that it holds, if it is of this run.
    pub found: Option<u64>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} from {}: {}; expected write {}",
            counted(self.sectors, ["sector", "sectors"]),
            self.sector,
            self.kind.name(),
            self.expected
        )?;
        match self.found {
            Some(number) => write!(f, ", found write {number}"),
            None => Ok(()),
        }
    }
}

/// The number of ranges kept; further ones are only counted.
const MOST_RANGES: usize = 4096;

/// All that is wrong.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// Sectors that were compared.
    pub checked: u64,
    /// Sectors read about which nothing was known.
    pub unknown: u64,
    /// Faults by kind: how often a sector was found wrong.
    pub counts: BTreeMap<Kind, u64>,
    /// Ranges, by kind and first sector.
    ranges: BTreeMap<(Kind, u64), Finding>,
    /// Sectors in ranges that were not kept.
    pub not_kept: u64,
    /// Of the read under way: the writes that its sectors show and should.
    shown: Vec<u64>,
    /// Of the read under way: sectors that show an earlier write.
    older: Vec<(u64, u32, u64)>,
}

impl Findings {
    /// How often a sector was found wrong.
    pub fn faults(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The ranges, by kind and sector.
    pub fn ranges(&self) -> impl Iterator<Item = &Finding> {
        self.ranges.values()
    }

    /// A sector about which nothing is known was read.
    pub(super) fn pass_over(&mut self) {
        self.unknown += 1;
    }

    /// Compares a sector with what it may hold; whether it does.
    pub(super) fn examine(
        &mut self,
        data: &[u8],
        run: u64,
        sector: u64,
        bounds: &RangeInclusive<u32>,
    ) -> bool {
        self.checked += 1;
        let expected = *bounds.start();
        let what = found(data);
        match kind_of(what, run, sector, bounds) {
            None => {
                if let Found::Tagged(tag) = what
                    && self.shown.last() != Some(&tag.number)
                {
                    self.shown.push(tag.number);
                }
                true
            }
            Some((Kind::Older, number)) => {
                // Whether it is torn shows when the whole read has been looked at.
                self.older.push((sector, expected, number.unwrap_or(0)));
                false
            }
            Some((kind, number)) => {
                self.add(kind, sector, expected, number);
                false
            }
        }
    }

    /// All sectors of a read have been examined.
    pub(super) fn end_of_read(&mut self) {
        for (sector, expected, number) in std::mem::take(&mut self.older) {
            // Another sector of the same read shows the very write that is missing here.
            let kind = if self.shown.contains(&u64::from(expected)) {
                Kind::Torn
            } else {
                Kind::Older
            };
            self.add(kind, sector, expected, Some(number));
        }
        self.shown.clear();
    }

    /// Notes a sector that is wrong.
    pub(crate) fn add(&mut self, kind: Kind, sector: u64, expected: u32, number: Option<u64>) {
        *self.counts.entry(kind).or_default() += 1;
        if let Some((_, last)) = self.ranges.range_mut(..=(kind, sector)).next_back()
            && last.kind == kind
            && sector <= last.sector + last.sectors
        {
            last.sectors = last.sectors.max(sector + 1 - last.sector);
            return;
        }
        if self.ranges.len() == MOST_RANGES {
            self.not_kept += 1;
            return;
        }
        let finding = Finding {
            sector,
            sectors: 1,
            kind,
            expected,
            found: number,
        };
        self.ranges.insert((kind, sector), finding);
    }
}

/// What is wrong with a sector, and the number of the write of this run that it shows.
pub(super) fn kind_of(
    found: Found,
    run: u64,
    sector: u64,
    bounds: &RangeInclusive<u32>,
) -> Option<(Kind, Option<u64>)> {
    let Tag {
        run: whose,
        number,
        sector: place,
    } = match found {
        Found::Zeros => return Some((Kind::Zeros, None)),
        Found::Other => return Some((Kind::Untagged, None)),
        Found::Damaged(_) => return Some((Kind::Damaged, None)),
        Found::Tagged(tag) => tag,
    };
    if !is_of_same_replay(whose, run) {
        Some((Kind::Foreign, None))
    } else if whose != run {
        Some((Kind::OtherTarget, None))
    } else if place != sector {
        Some((Kind::Misplaced, Some(number)))
    } else if number < u64::from(*bounds.start()) {
        Some((Kind::Older, Some(number)))
    } else if number > u64::from(*bounds.end()) {
        Some((Kind::Future, Some(number)))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_says_what_is_there_and_what_should_be() {
        let finding = |sectors, found| Finding {
            sector: 8,
            sectors,
            kind: Kind::Older,
            expected: 5,
            found,
        };
        for (finding, text) in [
            (
                finding(2, Some(3)),
                "2 sectors from 8: older version; expected write 5, found write 3",
            ),
            (
                finding(1, None),
                "1 sector from 8: older version; expected write 5",
            ),
        ] {
            assert_eq!(finding.to_string(), text);
        }
    }

    #[test]
    fn neighbours_of_a_kind_are_one_range() {
        let mut findings = Findings::default();
        for (kind, sector) in [
            (Kind::Zeros, 8),
            (Kind::Zeros, 9),
            (Kind::Torn, 10),
            (Kind::Zeros, 11),
            (Kind::Zeros, 9),
            (Kind::Zeros, 12),
        ] {
            findings.add(kind, sector, 1, None);
        }
        let ranges: Vec<_> = findings
            .ranges()
            .map(|range| (range.kind, range.sector, range.sectors))
            .collect();
        let expected = [
            (Kind::Zeros, 8, 2),
            (Kind::Zeros, 11, 2),
            (Kind::Torn, 10, 1),
        ];
        assert_eq!(ranges, expected);
        // One of them was found wrong twice.
        assert_eq!(findings.counts[&Kind::Zeros], 5);
        assert_eq!(findings.faults(), 6);
    }

    #[test]
    fn ranges_beyond_those_that_are_kept_are_counted() {
        let mut findings = Findings::default();
        let all = MOST_RANGES as u64 + 3;
        (0..all).for_each(|i| findings.add(Kind::Zeros, 2 * i, 1, None));
        assert_eq!(findings.ranges().count(), MOST_RANGES);
        assert_eq!((findings.not_kept, findings.faults()), (3, all));
        // A range that was kept still grows.
        findings.add(Kind::Zeros, 1, 1, None);
        assert_eq!((findings.not_kept, findings.faults()), (3, all + 1));
    }
}
