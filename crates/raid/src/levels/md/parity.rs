//! RAID 5 and 6 of md.
//!
//! **Reads** go to the disks that hold the data, cut at chunks. **Writes** are cut into pages of
//! 4 KiB; the pages of one sector on all disks are a *row*. A page that is written in part is read
//! first, and written whole. Then a row counts the pages that it would have to read:
//!
//! - for a *read-modify-write* the parity, and the pages that are written whole;
//! - for a *reconstruct-write* the pages of data that are not written.
//!
//! It takes the way with fewer of them; of equal ones the reconstruct-write, unless
//! [`RmwLevel::Preferred`] says otherwise. Pages that are up to date in the [stripe
//! cache](super::cache) do not count, and those of a lost disk count for more than all others. Where
//! neither way would do, all that is left of the row is read.
//!
//! If a disk is lost, **reads** go through the stripe cache, too: in whole pages, and if one of them
//! is lost, all that is left of the row is read, both parities included.
//!
//! The rows of a request that are written in the same way are one stage here: their reads, merged
//! where they follow on each other, then their writes. md handles each row by itself, but in batches,
//! and the block layer merges what they send.

use std::ops::Range;

use iosonar_device::{Access, Observable};
use iosonar_trace::{Op, Request};
use iosonar_units::{Sector, Sectors};

use super::cache::{Disks, StripeCache};
use crate::levels::Lost;
use crate::levels::parity::{ParityLayout, Rotation};
use crate::{ArrayShape, GeometryError, Planner, RequestPlan, StageKind, StripeGeometry};

/// The sectors of a page.
const PAGE: u32 = 8;

/// md's `rmw_level`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RmwLevel {
    /// 0: writes are reconstruct-writes.
    Never,
    /// 1: read-modify-write where it reads less.
    #[default]
    Allowed,
    /// 2: read-modify-write where it reads no more.
    Preferred,
}

/// How stripes are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripeHandling {
    /// The choice between read-modify-write and reconstruct-write.
    pub rmw_level: RmwLevel,
    /// How many rows of pages the stripe cache holds: md's `stripe_cache_size`.
    pub cache_rows: usize,
}

impl Default for StripeHandling {
    fn default() -> Self {
        Self {
            rmw_level: RmwLevel::default(),
            cache_rows: 256,
        }
    }
}

/// RAID 5 or 6.
#[derive(Clone, Debug)]
pub struct MdParity {
    geometry: StripeGeometry,
    rotation: Rotation,
    rmw_level: RmwLevel,
    lost: Lost,
    cache: StripeCache,
    /// The part of a request in the stripe at hand: disks, and which of their sectors in the chunk.
    touched: Vec<(u64, Range<u32>)>,
    /// What the rows of the request at hand do; their memory is kept.
    runs: Vec<Run>,
}

/// Rows that follow on each other and do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    /// Pages of each disk, from its begin.
    rows: Range<u64>,
    action: Action,
}

/// What a row of pages does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Action {
    way: Way,
    reads: Disks,
    writes: Disks,
    /// How many pages lost ones that are read are computed from: 0 if none is.
    computed_from: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Nothing comes first.
    Direct,
    ReadModifyWrite,
    ReconstructWrite,
}

/// The disks of a row, by what they hold.
#[derive(Clone, Copy)]
struct Row {
    data: Disks,
    parity: Disks,
    lost: Disks,
}

impl MdParity {
    /// The most disks of an array.
    pub const MOST_DISKS: usize = Disks::BITS as usize;

    /// RAID 5 (`parities` = 1) of at least three disks, or RAID 6 (2) of at least four.
    ///
    /// # Errors
    /// If the array cannot have this shape, or has lost more disks than it has parities.
    ///
    /// # Panics
    /// If `parities` is neither 1 nor 2, or the chunk is not a whole number of pages.
    pub fn new(
        parities: u8,
        shape: ArrayShape,
        layout: ParityLayout,
        handling: StripeHandling,
        lost: Lost,
    ) -> Result<Self, GeometryError> {
        assert!(shape.stripe_unit.get().is_multiple_of(PAGE), "whole pages");
        let (level, least, most) = match parities {
            1 => ("RAID 5", 3, "one disk"),
            2 => ("RAID 6", 4, "two disks"),
            _ => panic!("RAID 5 has one parity, RAID 6 two"),
        };
        let geometry = StripeGeometry::new(level, least, shape)?;
        if shape.disks > Self::MOST_DISKS {
            return Err(GeometryError::Disks {
                level,
                least,
                seen: shape.disks,
            });
        }
        if lost.disks().len() > usize::from(parities) {
            return Err(GeometryError::Lost {
                level,
                seen: lost.disks().to_vec(),
                most,
            });
        }
        Ok(Self {
            geometry,
            rotation: Rotation {
                disks: shape.disks as u64,
                parities: u64::from(parities),
                layout,
            },
            rmw_level: handling.rmw_level,
            lost,
            cache: StripeCache::new(handling.cache_rows),
            touched: Vec::new(),
            runs: Vec::new(),
        })
    }

    pub(super) fn lost(&self) -> &Lost {
        &self.lost
    }

    /// The sectors of each disk that hold data and parity.
    pub(super) fn disk_sectors(&self) -> u64 {
        self.geometry.stripes() * u64::from(self.geometry.stripe_unit.get())
    }

    /// The sectors of each disk that a write comes to.
    pub(super) fn rows_of(&self, request: &Request) -> impl Iterator<Item = Range<u64>> + use<> {
        let (unit, data_disks) = (
            u64::from(self.geometry.stripe_unit.get()),
            self.data_disks(),
        );
        self.geometry.pieces(request).map(move |piece| {
            let begin = piece.unit / data_disks * unit;
            begin + u64::from(piece.offset)..begin + u64::from(piece.end())
        })
    }

    fn data_disks(&self) -> u64 {
        self.rotation.disks - self.rotation.parities
    }

    fn all(&self) -> Disks {
        Disks::MAX >> (Disks::BITS - self.rotation.disks as u32)
    }

    /// The disks of the rows of a stripe.
    fn row(&self, stripe: u64) -> Row {
        let first = self.rotation.stripe_at(stripe).parity;
        let parity = (first..first + self.rotation.parities)
            .fold(0, |set, disk| set | bit(disk % self.rotation.disks));
        let lost = self.lost.disks().iter();
        let lost = lost.filter(|&&disk| self.lost.contains(disk, Some(stripe)));
        Row {
            data: self.all() & !parity,
            parity,
            lost: lost.fold(0, |set, &disk| set | bit(disk as u64)),
        }
    }

    /// Calls `each` with every stripe of a request, and its parts there in `self.touched`.
    fn for_each_stripe(&mut self, request: &Request, mut each: impl FnMut(&mut Self, u64)) {
        let data_disks = self.data_disks();
        let mut pieces = self.geometry.pieces(request).peekable();
        while let Some(piece) = pieces.next() {
            let stripe = piece.unit / data_disks;
            let lies = self.rotation.stripe_at(stripe);
            let disk = self.rotation.disk_of(lies, piece.unit % data_disks);
            self.touched.push((disk, piece.offset..piece.end()));
            if pieces
                .peek()
                .is_none_or(|next| next.unit / data_disks != stripe)
            {
                each(self, stripe);
                self.touched.clear();
            }
        }
    }

    /// Reads from the disks, past the stripe cache.
    fn read_around_cache(&mut self, request: &Request, plan: &mut RequestPlan) {
        self.for_each_stripe(request, |this, stripe| {
            for (disk, range) in &this.touched {
                let sector = this.geometry.disk_sector(stripe, range.start);
                let device = this
                    .lost
                    .device(*disk as usize, Some(stripe), this.geometry.disks);
                plan.add(device, sector, Sectors::new(range.end - range.start));
            }
        });
        plan.direct(Access::Read, 0);
    }

    /// Decides what the rows of a request do.
    fn handle_rows(&mut self, request: &Request, access: Access) {
        self.runs.clear();
        let rows_per_chunk = u64::from(self.geometry.stripe_unit.get() / PAGE);
        self.for_each_stripe(request, |this, stripe| {
            let row = this.row(stripe);
            let first = this.touched.iter().map(|(_, r)| r.start / PAGE).min();
            let last = this.touched.iter().map(|(_, r)| r.end.div_ceil(PAGE)).max();
            for page in first.unwrap_or(0)..last.unwrap_or(0) {
                let (mut touched, mut whole) = (0, 0);
                for (disk, range) in &this.touched {
                    let begin = range.start.max(page * PAGE);
                    let end = range.end.min((page + 1) * PAGE);
                    if begin < end {
                        touched |= bit(*disk);
                    }
                    if begin + PAGE == end {
                        whole |= bit(*disk);
                    }
                }
                if touched == 0 {
                    continue;
                }
                let number = stripe * rows_per_chunk + u64::from(page);
                let known = this.cache.use_row(number);
                let action = match access {
                    Access::Read => row.read(touched, known),
                    Access::Write | Access::Discard | Access::Flush => {
                        row.write(touched, whole, known, this.rmw_level)
                    }
                };
                match this.runs.last_mut() {
                    Some(run) if run.action == action && run.rows.end == number => {
                        run.rows.end += 1;
                    }
                    _ => this.runs.push(Run {
                        rows: number..number + 1,
                        action,
                    }),
                }
            }
        });
    }

    /// Adds the pages of all runs that go one way, disk by disk, merged where they follow on each
    /// other.
    fn add_pages(&self, way: Way, plan: &mut RequestPlan, pages: impl Fn(&Action) -> Disks) {
        let runs = || self.runs.iter().filter(|run| run.action.way == way);
        let mut disks = runs().fold(0, |set, run| set | pages(&run.action));
        while disks != 0 {
            let disk = u64::from(disks.trailing_zeros());
            disks &= disks - 1;
            // Pages of a lost disk are here only if they have been rebuilt, which begins with the first stripe.
            let device = self
                .lost
                .device(disk as usize, Some(0), self.geometry.disks);
            let mut open: Option<Range<u64>> = None;
            for run in runs().filter(|run| pages(&run.action) & bit(disk) != 0) {
                match &mut open {
                    Some(rows) if rows.end == run.rows.start => rows.end = run.rows.end,
                    _ => {
                        if let Some(rows) = open.replace(run.rows.clone()) {
                            add_rows(plan, device, &rows);
                        }
                    }
                }
            }
            if let Some(rows) = open {
                add_rows(plan, device, &rows);
            }
        }
    }

    /// The sectors that go through the exclusive-or to make what is lost and read.
    fn sectors_computed_from(&self) -> u64 {
        let pages =
            |run: &Run| (run.rows.end - run.rows.start) * u64::from(run.action.computed_from);
        self.runs.iter().map(pages).sum::<u64>() * u64::from(PAGE)
    }

    fn write(&mut self, request: &Request, plan: &mut RequestPlan) {
        self.handle_rows(request, Access::Write);
        let begin = plan.len();
        self.add_pages(Way::Direct, plan, |action| action.writes);
        plan.direct(Access::Write, begin);
        plan.with_xor(sectors_of(plan, begin));
        for (way, kind) in [
            (Way::ReadModifyWrite, StageKind::ReadModifyWrite),
            (Way::ReconstructWrite, StageKind::ReconstructWrite),
        ] {
            let begin = plan.len();
            self.add_pages(way, plan, |action| action.reads);
            let writes = plan.len();
            self.add_pages(way, plan, |action| action.writes);
            if plan.len() > begin {
                plan.partial_write(kind, begin, writes);
                plan.with_xor(sectors_of(plan, begin));
            }
        }
    }
}

fn bit(disk: u64) -> Disks {
    1 << disk
}

fn add_rows(plan: &mut RequestPlan, device: usize, rows: &Range<u64>) {
    let sector = Sector::new(rows.start * u64::from(PAGE));
    let sectors = Sectors::new((rows.end - rows.start) as u32 * PAGE);
    plan.add(device, sector, sectors);
}

/// What is read and written from a sub-request on goes through the exclusive-or.
fn sectors_of(plan: &RequestPlan, begin: usize) -> u64 {
    let subs = plan.sub_requests()[begin..].iter();
    subs.map(|sub| u64::from(sub.sectors.get())).sum()
}

impl Row {
    /// Reads pages of a row, of which `known` are up to date.
    fn read(self, touched: Disks, known: &mut Disks) -> Action {
        let all = self.data | self.parity;
        let missing = touched & !*known;
        let (reads, up_to_date) = if missing == 0 {
            (0, 0)
        } else if touched & self.lost != 0 {
            (all & !self.lost & !*known, all)
        } else {
            (missing, missing)
        };
        *known |= up_to_date;
        // As many pages as hold data determine the others of their row.
        let computed_from = match missing & self.lost {
            0 => 0,
            _ => self.data.count_ones(),
        };
        Action {
            way: Way::Direct,
            reads,
            writes: 0,
            computed_from,
        }
    }

    /// Writes pages of a row, of which `known` are up to date, `whole` or in part.
    fn write(self, touched: Disks, whole: Disks, known: &mut Disks, level: RmwLevel) -> Action {
        let all = self.data | self.parity;
        let missing = |pages: Disks| pages & !*known;
        let changes = missing((touched & whole) | self.parity);
        let stays = missing(self.data & !touched);
        let needs_all = self.needs_all(touched, whole, *known, level);
        let (way, reads) = if needs_all {
            (Way::ReconstructWrite, missing(all & !self.lost))
        } else {
            // A lost page cannot be read: it outweighs all others.
            let weight = |pages: Disks| {
                let lost = (pages & self.lost).count_ones();
                pages.count_ones() + all.count_ones() * lost
            };
            let (modify, reconstruct) = (weight(changes), weight(stays));
            let in_part = missing(touched & !whole & !self.lost);
            let modifies = match level {
                RmwLevel::Never => false,
                RmwLevel::Allowed => modify < reconstruct,
                RmwLevel::Preferred => modify <= reconstruct,
            };
            if modifies {
                (Way::ReadModifyWrite, in_part | (changes & !self.lost))
            } else {
                (Way::ReconstructWrite, in_part | (stays & !self.lost))
            }
        };
        *known |= if needs_all {
            all
        } else {
            reads | touched | self.parity
        };
        Action {
            way: if reads == 0 { Way::Direct } else { way },
            reads,
            writes: (touched | self.parity) & !self.lost,
            computed_from: 0,
        }
    }

    /// Whether neither way is possible because of lost disks, so that all other data must be read.
    fn needs_all(self, touched: Disks, whole: Disks, known: Disks, level: RmwLevel) -> bool {
        let lost = self.lost & !known;
        if lost & touched & !whole != 0 {
            return true;
        }
        let reconstructs = level == RmwLevel::Never || lost & (touched | self.parity) != 0;
        reconstructs && lost & self.data & !whole != 0
    }
}

impl Planner for MdParity {
    fn plan<D: Observable>(&mut self, request: &Request, _: &[D], plan: &mut RequestPlan) {
        match request.op {
            Op::Read if self.lost.missing() > 0 => {
                self.handle_rows(request, Access::Read);
                self.add_pages(Way::Direct, plan, |action| action.reads);
                plan.direct(Access::Read, 0);
                plan.with_xor(self.sectors_computed_from());
            }
            Op::Read => self.read_around_cache(request, plan),
            Op::Write | Op::WriteZeroes => self.write(request, plan),
            Op::Flush | Op::Discard => {}
        }
    }

    fn disks(&self) -> usize {
        self.geometry.disks
    }

    fn data_sectors(&self) -> u64 {
        let unit = u64::from(self.geometry.stripe_unit.get());
        self.geometry.stripes() * self.data_disks() * unit
    }

    fn issues_at_once(&self, op: Op, _: Option<Sectors>) -> bool {
        !matches!(op, Op::Write | Op::WriteZeroes)
    }

    fn stripes_to_rebuild(&self) -> u64 {
        self.lost.to_rebuild(&self.geometry)
    }

    fn plan_rebuild(&mut self, stripe: u64, plan: &mut RequestPlan) {
        let disks = self.geometry.disks;
        for disk in 0..disks {
            if !self.lost.contains(disk, Some(stripe)) {
                let device = self.lost.device(disk, Some(stripe), disks);
                self.geometry.add_unit(plan, device, stripe);
            }
        }
        self.lost.write_spares(plan, stripe, &self.geometry);
    }

    fn rebuilt(&mut self, stripes: u64) {
        self.lost.rebuilt(stripes, self.geometry.stripes());
    }

    fn fail(&mut self, disk: usize) -> bool {
        let tolerates = (self.lost.missing() as u64) < self.rotation.parities;
        if tolerates {
            self.lost.add(disk);
        }
        tolerates
    }
}

#[cfg(test)]
mod tests;
