//! Which zone a sector or a cylinder lies in.

/// Finds zones by their first sectors, or cylinders: a table leads to a zone that is never behind the right one, and mostly is it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ZoneIndex {
    /// Where each zone but the first begins, ascending.
    next_begin: Box<[u64]>,
    /// For each range, the zone of its first sector.
    table: Box<[u32]>,
    /// How many low bits of a sector are ignored.
    coarse: u32,
}

impl ZoneIndex {
    /// How many entries of the table there are for a zone, at most.
    const PLACES: u64 = 4;

    /// For zones of which the first begins at 0, and each further one at one of these, ascending, below `end`.
    pub(crate) fn new(next_begin: Box<[u64]>, end: u64) -> Self {
        let places = Self::PLACES * (next_begin.len() as u64 + 1);
        let coarse = (end / places + 1).next_power_of_two().ilog2();
        let zone_at = |at: u64| next_begin.partition_point(|&begin| begin <= at);
        let places = 0..=end >> coarse;
        Self {
            table: places
                .map(|place| zone_at(place << coarse) as u32)
                .collect(),
            next_begin,
            coarse,
        }
    }

    /// The number of the zone of a sector below the end.
    #[inline]
    pub(crate) fn zone_of(&self, sector: u64) -> usize {
        let mut zone = self.table[(sector >> self.coarse) as usize] as usize;
        while self
            .next_begin
            .get(zone)
            .is_some_and(|&next| next <= sector)
        {
            zone += 1;
        }
        zone
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iosonar_sim_core::Seed;

    #[test]
    fn a_sector_lies_in_the_last_zone_that_begins_before_it() {
        let mut stream = Seed::new(1).stream("test", "zones");
        for _ in 0..200 {
            // Zones may be much longer than others.
            let most = 1 << stream.below(20);
            let mut begins = vec![0];
            for _ in 0..=stream.below(80) {
                begins.push(begins[begins.len() - 1] + 1 + stream.below(most));
            }
            let capacity = begins.pop().expect("the end of the last zone");
            let index = ZoneIndex::new(begins[1..].into(), capacity);
            let edges = begins
                .iter()
                .flat_map(|&begin| [begin.saturating_sub(1), begin]);
            let inside: Vec<u64> = (0..100).map(|_| stream.below(capacity)).collect();
            for sector in edges.chain([capacity - 1]).chain(inside) {
                let zone = index.zone_of(sector);
                assert!(begins[zone] <= sector);
                assert!(begins.get(zone + 1).is_none_or(|&next| sector < next));
            }
        }
    }
}
