//! Which blocks are in the media cache, and where in its log.

use std::collections::BTreeMap;
use std::ops::Range;

/// Consecutive sectors of the host at consecutive places of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u64,
    pub(crate) sectors: u64,
    pub(crate) place: u64,
}

impl Extent {
    #[inline]
    fn end(&self) -> u64 {
        self.first + self.sectors
    }
}

/// The extents that are in the cache, by sector and by place. No two of them overlap.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    by_sector: BTreeMap<u64, (u64, u64)>,
    by_place: BTreeMap<u64, u64>,
}

impl Extents {
    pub(crate) fn len(&self) -> usize {
        self.by_sector.len()
    }

    /// The extent that has been in the log for longest.
    pub(crate) fn oldest(&self) -> Option<(u64, u64)> {
        let (&place, &first) = self.by_place.first_key_value()?;
        Some((place, first))
    }

    /// The last extent that begins at or before a sector.
    fn before(&self, sector: u64) -> Option<Extent> {
        let (&first, &(sectors, place)) = self.by_sector.range(..=sector).next_back()?;
        Some(Extent {
            first,
            sectors,
            place,
        })
    }

    /// The place of a sector in the log, if it is there, and how many sectors from it on are there, or are not.
    pub(crate) fn at(&self, sector: u64) -> (Option<u64>, u64) {
        if let Some(extent) = self.before(sector).filter(|extent| sector < extent.end()) {
            let passed = sector - extent.first;
            return (Some(extent.place + passed), extent.sectors - passed);
        }
        let next = self.by_sector.range(sector..).next();
        (None, next.map_or(u64::MAX, |(&first, _)| first - sector))
    }

    /// The extents that begin in a range; those of a band lie within it, as none goes beyond the end of a band.
    pub(crate) fn within(&self, range: Range<u64>) -> impl Iterator<Item = Extent> {
        let all = self.by_sector.range(range);
        all.map(|(&first, &(sectors, place))| Extent {
            first,
            sectors,
            place,
        })
    }

    /// These sectors are at this place now, and nowhere else. Where they go on with the extent before, `joins` says
    /// whether they may become part of it.
    pub(crate) fn insert(&mut self, extent: Extent, joins: bool) {
        self.remove(extent.first..extent.end());
        let before = self
            .before(extent.first)
            .filter(|before| joins && before.end() == extent.first)
            .filter(|before| before.place + before.sectors == extent.place);
        match before {
            Some(before) => {
                let sectors = before.sectors + extent.sectors;
                self.by_sector.insert(before.first, (sectors, before.place));
            }
            None => self.put(extent),
        }
    }

    fn put(&mut self, extent: Extent) {
        let Extent {
            first,
            sectors,
            place,
        } = extent;
        if sectors > 0 {
            self.by_sector.insert(first, (sectors, place));
            self.by_place.insert(place, first);
        }
    }

    fn take(&mut self, extent: &Extent) {
        self.by_sector.remove(&extent.first);
        self.by_place.remove(&extent.place);
    }

    /// These sectors are not in the cache any more.
    pub(crate) fn remove(&mut self, range: Range<u64>) {
        // The last one that begins before the end, until it ends before the range.
        while let Some(extent) = range
            .end
            .checked_sub(1)
            .and_then(|last| self.before(last))
            .filter(|extent| extent.end() > range.start)
        {
            self.take(&extent);
            let kept = range.start.saturating_sub(extent.first);
            self.put(Extent {
                sectors: kept,
                ..extent
            });
            let cut = extent.end().min(range.end) - extent.first;
            self.put(Extent {
                first: extent.first + cut,
                sectors: extent.sectors - cut,
                place: extent.place + cut,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn a_map_of_extents_is_one_of_sectors() {
        let mut random = Seed::new(5).stream("test", "extents");
        let (mut extents, mut sectors) = (Extents::default(), vec![None; 300]);
        let mut head = 0;
        for step in 0..4000 {
            let first = random.below(280);
            let n = 1 + random.below(20);
            if step % 5 == 0 {
                extents.remove(first..first + n);
                sectors[first as usize..(first + n) as usize].fill(None);
            } else {
                let extent = Extent {
                    first,
                    sectors: n,
                    place: head,
                };
                extents.insert(extent, step % 2 == 0);
                (0..n).for_each(|i| sectors[(first + i) as usize] = Some(head + i));
                head += n;
            }
            for sector in 0..300_u64 {
                let (place, run) = extents.at(sector);
                assert_eq!(place, sectors[sector as usize], "{step} {sector}");
                for i in 0..run.min(300 - sector) {
                    let expected = place.map(|place| place + i);
                    assert_eq!(sectors[(sector + i) as usize], expected, "{step} {sector}");
                }
            }
            let oldest = sectors.iter().flatten().min().copied();
            assert_eq!(extents.oldest().map(|(place, _)| place), oldest);
            assert_eq!(extents.by_sector.len(), extents.by_place.len());
        }
    }

    #[test]
    fn an_extent_joins_the_one_before_it_if_it_goes_on_there_in_both_orders() {
        let extent = |first, sectors, place| Extent {
            first,
            sectors,
            place,
        };
        for (next, joins, len) in [
            (extent(110, 5, 57), true, 1),
            (extent(110, 5, 57), false, 2),
            // Elsewhere in the log, or after a gap.
            (extent(110, 5, 58), true, 2),
            (extent(111, 5, 57), true, 2),
            (extent(111, 5, 58), true, 2),
        ] {
            let mut extents = Extents::default();
            extents.insert(extent(100, 10, 47), true);
            extents.insert(next, joins);
            assert_eq!(extents.len(), len, "{next:?}");
            assert_eq!(extents.at(100), (Some(47), if len == 1 { 15 } else { 10 }));
            assert_eq!(extents.at(next.first + 1), (Some(next.place + 1), 4));
            assert_eq!(extents.oldest(), Some((47, 100)));
        }
    }
}
