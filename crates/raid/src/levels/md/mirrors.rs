//! RAID 1 and 10 of md.
//!
//! RAID 10 lays `near` copies of each chunk on neighbouring disks, from disk to disk and row to row;
//! with an odd number of disks copies go on in the next row. `far` copies of all that lie further
//! behind: half a disk away (far), or in the next row (offset), each `near` disks further on.
//!
//! ```text
//!  near 2, 3 disks     far 2, 3 disks     offset 2, 3 disks
//!  0  0  1             0  1  2            0  1  2
//!  1  2  2             3  4  5            2  0  1
//!  3  3  4             ...                3  4  5
//!  4  5  5             2  0  1            5  3  4
//!                      5  3  4
//! ```
//!
//! Which copy is read:
//!
//! - of **RAID 1** the one where this read goes on, or whose last request ended here; else the first
//!   one with the fewest requests; but where disks rotate and all are busy, the one whose last request
//!   ended nearest;
//! - of **RAID 10** the first one with the fewest requests; where disks rotate, the first idle one
//!   (near), the one with the lowest address (far, offset), or the nearest.
//!
//! The place of a disk's last request is that of the last one that has ended: of those that were sent to
//! a disk, as many have ended, in their order, as are not there any more.

use std::collections::VecDeque;

use iosonar_device::{Access, Observable};
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use crate::levels::Lost;
use crate::levels::striped::access_of;
use crate::{ArrayShape, GeometryError, Planner, RequestPlan, StripeGeometry};

/// Where the copies of RAID 10 lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLayout {
    /// Copies on neighbouring disks.
    pub near: usize,
    /// Copies of those, further behind.
    pub far: usize,
    /// Whether they are in the next row, instead of in another part of the disk.
    pub offset: bool,
}

/// RAID 1 or 10.
#[derive(Clone, Debug)]
pub struct MdMirrors {
    geometry: StripeGeometry,
    /// `None`: RAID 1.
    layout: Option<CopyLayout>,
    rotating: bool,
    lost: Lost,
    /// Chunks on a disk.
    chunks: u64,
    /// Where the last request to each disk ended.
    heads: Vec<u64>,
    /// Where those end that may still be there, by disk.
    sent: Vec<VecDeque<u64>>,
    /// Where the next read would go on with the last that was sent to each disk, of RAID 1.
    next: Vec<u64>,
}

impl MdMirrors {
    /// RAID 1 (`layout` is `None`) of at least two disks, or RAID 10 of at least as many disks as
    /// copies. Reads are balanced as for disks that rotate, or not.
    ///
    /// # Errors
    /// If the array cannot have this shape, or has lost all copies of something.
    pub fn new(
        shape: ArrayShape,
        layout: Option<CopyLayout>,
        rotating: bool,
        lost: Lost,
    ) -> Result<Self, GeometryError> {
        let disks = shape.disks;
        let (level, copies) = match layout {
            None => ("RAID 1", disks),
            Some(CopyLayout { near, far, .. }) => ("RAID 10", near.saturating_mul(far)),
        };
        if copies < 2 || copies > disks {
            return Err(GeometryError::Copies {
                level,
                copies,
                seen: disks,
            });
        }
        let geometry = StripeGeometry::new(level, copies, shape)?;
        let mut mirrors = Self {
            chunks: geometry.stripes(),
            geometry,
            layout,
            rotating,
            lost,
            heads: vec![0; disks],
            sent: vec![VecDeque::new(); disks],
            next: vec![u64::MAX; disks],
        };
        if let Some(CopyLayout { near, far, .. }) = layout {
            // As md counts: whole rows of chunks, then as many on each disk as those take.
            let (disks, near, far) = (disks as u64, near as u64, far as u64);
            let data = mirrors.chunks / far * disks / near;
            mirrors.chunks = (data * near * far).div_ceil(disks);
        }
        if !mirrors.has_all() {
            return Err(GeometryError::Lost {
                level,
                seen: mirrors.lost.disks().to_vec(),
                most: "all but one copy of each block",
            });
        }
        Ok(mirrors)
    }

    /// Whether a copy of each block is well.
    fn has_all(&self) -> bool {
        let unit = u64::from(self.geometry.stripe_unit.get());
        // As many chunks as disks have their copies in every possible way.
        (0..self.geometry.disks as u64).all(|chunk| {
            let mut copies = self.copies(chunk * unit);
            copies.any(|(disk, _)| !self.lost.contains(disk, None))
        })
    }

    pub(super) fn lost(&self) -> &Lost {
        &self.lost
    }

    /// The disks and sectors where the copies of a sector of the array lie, in md's order.
    fn copies(&self, sector: u64) -> impl Iterator<Item = (usize, u64)> + use<> {
        let disks = self.geometry.disks as u64;
        let unit = u64::from(self.geometry.stripe_unit.get());
        let (near, far, stride, first, place) = match self.layout {
            None => (disks, 1, 0, 0, sector),
            Some(CopyLayout { near, far, offset }) => {
                let (near, far) = (near as u64, far as u64);
                let chunk = sector / unit * near;
                let row = chunk / disks * if offset { far } else { 1 };
                let stride = if offset { 1 } else { self.chunks / far };
                (
                    near,
                    far,
                    stride * unit,
                    chunk % disks,
                    row * unit + sector % unit,
                )
            }
        };
        (0..near).flat_map(move |copy| {
            let disk = first + copy;
            let place = place + disk / disks * unit;
            (0..far).map(move |f| {
                let disk = (disk + f * near) % disks;
                (disk as usize, place + f * stride)
            })
        })
    }

    /// Moves the heads to where they are now.
    fn move_heads<D: Observable>(&mut self, devices: &[D]) {
        for (disk, (head, sent)) in self.heads.iter_mut().zip(&mut self.sent).enumerate() {
            let there = devices.get(disk).map_or(0, |d| d.occupancy().jobs());
            let ended = sent.len().saturating_sub(there);
            if let Some(last) = sent.drain(..ended).next_back() {
                *head = last;
            }
        }
    }

    /// The copy that a read comes from.
    fn choose<D: Observable>(
        &self,
        sector: u64,
        devices: &[D],
        plan: &RequestPlan,
    ) -> (usize, u64) {
        // What the parts of this request before this one wait for counts as well.
        let pending = |disk: usize| {
            let own = plan.sub_requests().iter().filter(|s| s.disk == disk);
            own.count() + devices.get(disk).map_or(0, |d| d.occupancy().jobs())
        };
        let distance = |(disk, place): (usize, u64)| self.heads[disk].abs_diff(place);
        let copies = || {
            let copies = self.copies(sector);
            copies.filter(|&(disk, _)| !self.lost.contains(disk, None))
        };
        let fewest = || copies().min_by_key(|&(disk, _)| pending(disk));
        let chosen = match self.layout {
            None => {
                let goes_on = |&(disk, place): &(usize, u64)| {
                    self.next[disk] == place || self.heads[disk] == place
                };
                copies().find(goes_on).or_else(|| {
                    fewest()
                        .filter(|&(disk, _)| !self.rotating || pending(disk) == 0)
                        .or_else(|| copies().min_by_key(|&copy| distance(copy)))
                })
            }
            Some(_) if !self.rotating => fewest(),
            Some(CopyLayout { near, far, .. }) => copies().min_by_key(|&(disk, place)| {
                if near > 1 && pending(disk) == 0 {
                    0
                } else if far > 1 {
                    place
                } else {
                    distance((disk, place))
                }
            }),
        };
        chosen.expect("a copy of each block is well")
    }

    fn plan_part<D: Observable>(
        &mut self,
        access: Access,
        (sector, sectors): (u64, u32),
        devices: &[D],
        plan: &mut RequestPlan,
    ) {
        if access == Access::Read {
            let (disk, place) = self.choose(sector, devices, plan);
            plan.add(disk, Sector::new(place), Sectors::new(sectors));
            self.next[disk] = place + u64::from(sectors);
            return;
        }
        for (disk, place) in self.copies(sector) {
            if !self.lost.contains(disk, None) {
                plan.add(disk, Sector::new(place), Sectors::new(sectors));
            }
        }
    }
}

impl Planner for MdMirrors {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        self.move_heads(devices);
        let begin = plan.len();
        if self.layout.is_none() {
            let whole = (request.sector.get(), request.sectors.get());
            self.plan_part(access, whole, devices, plan);
        } else {
            let unit = u64::from(self.geometry.stripe_unit.get());
            for piece in self.geometry.pieces(request) {
                let sector = piece.unit * unit + u64::from(piece.offset);
                self.plan_part(access, (sector, piece.sectors), devices, plan);
            }
        }
        for sub in &plan.sub_requests()[begin..] {
            self.sent[sub.disk].push_back(sub.sector.get() + u64::from(sub.sectors.get()));
        }
        plan.direct(access, begin);
    }

    fn disks(&self) -> usize {
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        let unit = u64::from(self.geometry.stripe_unit.get());
        match self.layout {
            None => self.geometry.disk_sectors,
            Some(CopyLayout { near, far, .. }) => {
                let disks = self.geometry.disks as u64;
                self.geometry.stripes() / far as u64 * disks / near as u64 * unit
            }
        }
    }

    fn issues_at_once(&self, op: Op, _: Option<Sectors>) -> bool {
        op != Op::Read
    }

    fn fail(&mut self, disk: usize) -> bool {
        self.lost.add(disk);
        let tolerates = self.has_all();
        if !tolerates {
            self.lost.take_back();
        }
        tolerates
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Placement;
    use iosonar_device::Occupancy;

    /// A device with so many jobs.
    struct Busy(usize);

    impl Observable for Busy {
        fn occupancy(&self) -> Occupancy {
            Occupancy {
                waiting: self.0,
                ..Occupancy::default()
            }
        }
    }

    fn mirrors(layout: Option<CopyLayout>, rotating: bool) -> MdMirrors {
        let shape = ArrayShape {
            disks: 3,
            stripe_unit: Sectors::new(8),
            disk_sectors: 80_000,
            placement: Placement::Addressed,
        };
        MdMirrors::new(shape, layout, rotating, Lost::none()).unwrap()
    }

    /// The disk that a read of this sector goes to.
    fn disk(mirrors: &mut MdMirrors, sector: u64, jobs: [usize; 3]) -> usize {
        let request = Request {
            sector: Sector::new(sector),
            sectors: Sectors::new(8),
            ..Request::default()
        };
        let mut plan = RequestPlan::default();
        mirrors.plan(&request, &jobs.map(Busy), &mut plan);
        plan.sub_requests()[0].disk
    }

    #[test]
    fn raid_1_reads_where_the_fewest_requests_are_or_it_goes_on() {
        let mut ssds = mirrors(None, false);
        assert_eq!(disk(&mut ssds, 800, [2, 1, 1]), 1);
        assert_eq!(disk(&mut ssds, 808, [0, 5, 0]), 1, "it goes on there");
        assert_eq!(disk(&mut ssds, 1600, [0, 5, 0]), 0);
        let mut disks = mirrors(None, true);
        assert_eq!(disk(&mut disks, 40_000, [1, 0, 1]), 1, "idle");
        assert_eq!(disk(&mut disks, 0, [0; 3]), 0, "all were idle");
        assert_eq!(
            disk(&mut disks, 50_000, [1, 3, 1]),
            1,
            "all busy: the nearest"
        );
        assert_eq!(disk(&mut disks, 4000, [1, 3, 1]), 0);
    }

    #[test]
    fn raid_10_reads_an_idle_copy_of_near_ones_and_the_lowest_of_far_ones() {
        let near = CopyLayout {
            near: 2,
            far: 1,
            offset: false,
        };
        let mut disks = mirrors(Some(near), true);
        assert_eq!(disk(&mut disks, 24, [1, 0, 0]), 1);
        assert_eq!(
            disk(&mut disks, 32, [0, 0, 1]),
            0,
            "the copy in the next row"
        );
        let far = CopyLayout {
            near: 1,
            far: 2,
            offset: false,
        };
        let mut disks = mirrors(Some(far), true);
        assert_eq!(disk(&mut disks, 0, [5, 0, 0]), 0, "however many wait there");
        let mut ssds = mirrors(Some(far), false);
        assert_eq!(disk(&mut ssds, 0, [5, 0, 0]), 1);
    }

    fn raid10(
        disks: usize,
        (near, far, offset): (usize, usize, bool),
        lost: &[usize],
    ) -> Result<MdMirrors, GeometryError> {
        let shape = ArrayShape {
            disks,
            stripe_unit: Sectors::new(8),
            disk_sectors: 96 + 5,
            placement: Placement::Addressed,
        };
        let layout = CopyLayout { near, far, offset };
        MdMirrors::new(shape, Some(layout), false, Lost::new(lost.to_vec()))
    }

    fn places(
        mirrors: &mut MdMirrors,
        op: Op,
        sector: u64,
        sectors: u32,
    ) -> Vec<(usize, u64, u32)> {
        let plan = crate::levels::tests::plan_of(mirrors, op, sector, sectors);
        let subs = plan.sub_requests().iter();
        subs.map(|s| (s.disk, s.sector.get(), s.sectors.get()))
            .collect()
    }

    /// A disk has 12 chunks. The places are those of the figure above, chunk by chunk.
    #[test]
    fn the_copies_of_raid_10_lie_as_in_the_figure() {
        for (layout, chunks, expected) in [
            // 36 places for 18 chunks.
            (
                (2, 1, false),
                18,
                [[(0, 0), (1, 0)], [(2, 0), (0, 8)], [(1, 8), (2, 8)]],
            ),
            // Half of the disk further on: six rows.
            (
                (1, 2, false),
                18,
                [[(0, 0), (1, 48)], [(1, 0), (2, 48)], [(2, 0), (0, 48)]],
            ),
            (
                (1, 2, true),
                18,
                [[(0, 0), (1, 8)], [(1, 0), (2, 8)], [(2, 0), (0, 8)]],
            ),
        ] {
            let mut three = raid10(3, layout, &[]).unwrap();
            assert_eq!((three.disks(), three.data_sectors()), (3, 8 * chunks));
            for (chunk, copies) in (0..).zip(expected) {
                let mut seen = places(&mut three, Op::Write, 8 * chunk + 3, 2);
                seen.sort_unstable();
                let mut copies = copies.map(|(disk, sector)| (disk, sector + 3, 2));
                copies.sort_unstable();
                assert_eq!(seen, copies, "{layout:?}, chunk {chunk}");
            }
            // The fourth chunk begins the next row, or the one after next.
            let row = if layout.1 == 1 || !layout.2 { 8 } else { 16 };
            let first = places(&mut three, Op::Read, 24, 8)[0];
            assert_eq!(
                first,
                if layout.0 == 2 {
                    (0, 16, 8)
                } else {
                    (0, row, 8)
                }
            );
            // No two share a place, and all is on the disks.
            let mut all: Vec<_> = (0..chunks)
                .flat_map(|chunk| places(&mut three, Op::Write, 8 * chunk, 8))
                .collect();
            assert!(all.iter().all(|place| place.1 + 8 <= 96));
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len() as u64, 2 * chunks);
        }
        // Three near copies on four disks, of which the last has one left over: 48 / 3.
        assert_eq!(
            raid10(4, (3, 1, false), &[]).unwrap().data_sectors(),
            8 * 16
        );
        // Two near ones, twice, on five disks: 6 * 5 / 2 of them.
        assert_eq!(
            raid10(5, (2, 2, false), &[]).unwrap().data_sectors(),
            8 * 15
        );
    }

    #[test]
    fn copies_are_at_least_two_and_no_more_than_disks_and_one_of_each_is_well() {
        let copies = |disks, layout| match raid10(disks, layout, &[]) {
            Err(GeometryError::Copies { copies, seen, .. }) => Some((copies, seen)),
            Err(error) => panic!("{error}"),
            Ok(_) => None,
        };
        assert_eq!(copies(4, (1, 1, false)), Some((1, 4)));
        assert_eq!(copies(3, (2, 2, false)), Some((4, 3)));
        assert_eq!(copies(4, (2, 2, false)), None);
        assert_eq!(copies(2, (2, 1, false)), None);
        // Disks 0 and 1 hold the same.
        for (lost, is_well) in [(&[0, 1][..], false), (&[2, 3], false), (&[1, 2], true)] {
            assert_eq!(raid10(4, (2, 1, false), lost).is_ok(), is_well, "{lost:?}");
        }
        let mut near = raid10(4, (2, 1, false), &[]).unwrap();
        assert_eq!([1, 0, 2].map(|disk| near.fail(disk)), [true, false, true]);
        assert_eq!(places(&mut near, Op::Write, 0, 16), [(0, 0, 8), (3, 0, 8)]);
        assert_eq!(near.lost().disks(), [1, 2]);
        let mut two = raid10(2, (2, 1, false), &[]).unwrap();
        assert!(places(&mut two, Op::Flush, 0, 0).is_empty());
    }

    /// Where a disk's last request ended is known when it has ended.
    #[test]
    fn the_head_is_where_the_last_request_has_ended() {
        let mut disks = mirrors(None, true);
        // Two reads go to disk 0, and one beside them to disk 1.
        assert_eq!(disk(&mut disks, 40_000, [0, 1, 1]), 0);
        assert_eq!(disk(&mut disks, 40_008, [1, 0, 1]), 0, "it goes on there");
        assert_eq!(disks.sent[0], [40_008, 40_016]);
        assert_eq!(disks.heads[0], 0);
        // One of them has ended: the head is there, and the other one will be.
        assert_eq!(disk(&mut disks, 70_000, [1, 0, 1]), 1);
        assert_eq!((disks.heads[0], disks.sent[0].len()), (40_008, 1));
        // All are busy, and the nearest is the one whose last one has ended.
        assert_eq!(disk(&mut disks, 39_000, [1, 1, 1]), 0);
        assert_eq!(disks.heads, [40_008, 0, 0]);
        // Both have: where they did.
        assert_eq!(disk(&mut disks, 70_008, [0, 1, 1]), 1, "it goes on there");
        assert_eq!(disks.heads, [39_008, 0, 0]);
    }
}
