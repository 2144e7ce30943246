//! Which copy a read comes from.

use iosonar_device::Observable;
use iosonar_units::Sector;

use super::Mirrored;

/// Which copy a block of a read comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorRead {
    /// The first half of the blocks (the larger, if they are odd) from a random side, the rest from
    /// the other; with more copies in as many parts.
    #[default]
    Halves,
    /// Round-robin over all disks, from a random first side.
    RoundRobin,
    /// The sides alternate with each row of blocks, from a random first side.
    AlternatingRows,
    /// A random side for each block.
    RandomPerBlock,
    /// A random copy for each request and column.
    Random,
    /// The copies of a column take turns.
    Turns,
    /// The copy with the shortest queue; of equal ones the first.
    ShorterQueue,
    /// The copy whose arm is nearest; of equal ones the one with the shorter queue.
    NearerArm,
}

/// The constructor checked it, and so is each disk that is lost later.
const ALIVE: &str = "each column has a working disk";

/// A block of a request.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// Its number within the request.
    pub(super) number: u64,
    /// How many blocks the request has.
    pub(super) of: u64,
    pub(super) column: u64,
    /// `None` at a random place.
    pub(super) stripe: Option<u64>,
    pub(super) sector: Sector,
}

impl Mirrored {
    /// The side from which a block is read. `first` is the request's first side, `offset` the column
    /// of its first block.
    #[inline]
    pub(super) fn side<D: Observable>(
        &mut self,
        block: Block,
        first: u64,
        offset: u64,
        devices: &[D],
    ) -> u64 {
        let (copies, columns) = (self.copies, self.columns());
        let (number, column, stripe) = (block.number, block.column, block.stripe);
        let side = match self.read {
            MirrorRead::Halves => first + number / block.of.div_ceil(copies),
            MirrorRead::RoundRobin => first + (offset + number) / columns,
            MirrorRead::AlternatingRows => first + number / columns,
            MirrorRead::RandomPerBlock => self.random_living(column, stripe),
            _ => match self.chosen[column as usize] {
                Some(side) => side,
                None => self.choose(block, devices),
            },
        };
        let alive = |&side: &u64| !self.lost.contains(self.disk(side, column), stripe);
        let side = (0..copies).map(|i| (side + i) % copies).find(alive);
        side.expect(ALIVE)
    }

    /// The sides of a column whose disks are well.
    pub(super) fn living(
        &self,
        column: u64,
        stripe: Option<u64>,
    ) -> impl Iterator<Item = u64> + '_ {
        (0..self.copies).filter(move |&s| !self.lost.contains(self.disk(s, column), stripe))
    }

    /// A random one of them.
    fn random_living(&mut self, column: u64, stripe: Option<u64>) -> u64 {
        let living = self.living(column, stripe).count() as u64;
        let chosen = self.side.below(living) as usize;
        self.living(column, stripe).nth(chosen).expect(ALIVE)
    }

    /// The copy of a column that this request reads from.
    fn choose<D: Observable>(&mut self, block: Block, devices: &[D]) -> u64 {
        let (column, stripe) = (block.column, block.stripe);
        let device = |side: u64| {
            let disk = self.disk(side, column);
            &devices[self.lost.device(disk, stripe, self.geometry.disks)]
        };
        let queue = |side: u64| device(side).occupancy().jobs();
        let side = match self.read {
            MirrorRead::Turns => {
                let living = self.living(column, stripe).count();
                let turn = (self.turns[column as usize] + 1) % living as u32;
                self.turns[column as usize] = turn;
                self.living(column, stripe).nth(turn as usize)
            }
            MirrorRead::ShorterQueue => self.living(column, stripe).min_by_key(|&side| queue(side)),
            MirrorRead::NearerArm => self
                .living(column, stripe)
                .min_by_key(|&side| (device(side).distance(block.sector), queue(side))),
            _ => Some(self.random_living(column, stripe)),
        };
        let side = side.expect(ALIVE);
        self.chosen[column as usize] = Some(side);
        side
    }
}
