//! The operations that flash has done, and its wear.

use super::server::Kind;

/// The operations that flash has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlashCounts {
    /// Pages read for the host.
    pub reads: u64,
    /// Pages programmed for the host.
    pub programs: u64,
    /// Pages read by cleaning.
    pub cleaning_reads: u64,
    /// Pages programmed by cleaning.
    pub cleaning_programs: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks among them that were rewritten after many reads or a long time.
    pub refreshed: u64,
    /// Pages among those programmed for the host that hold parts of the map.
    pub map_programs: u64,
    /// Programs and erases that were suspended for a read.
    pub suspensions: u64,
    /// Those that the command of another plane executed too.
    pub joined: Joined,
}

/// Operations beyond the first one of commands for several planes of a die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// Pages read.
    pub reads: u64,
    /// Pages programmed.
    pub programs: u64,
    /// Blocks erased.
    pub erases: u64,
}

impl Joined {
    /// The sum over all kinds.
    pub fn operations(&self) -> u64 {
        self.reads + self.programs + self.erases
    }
}

impl FlashCounts {
    /// A command of this kind begins, on this many planes beyond the first.
    #[inline]
    pub(super) fn begin(&mut self, kind: Kind, more: u64) {
        match kind {
            Kind::Read => {
                self.reads += 1 + more;
                self.joined.reads += more;
            }
            Kind::Program => {
                self.programs += 1 + more;
                self.joined.programs += more;
            }
            Kind::Copy { read, program } => {
                self.cleaning_reads += u64::from(read);
                self.cleaning_programs += u64::from(program);
            }
            Kind::Erase => {
                self.erases += 1 + more;
                self.joined.erases += more;
            }
        }
    }

    /// The sum over all kinds of operations.
    pub fn operations(&self) -> u64 {
        self.reads + self.programs + self.cleaning_reads + self.cleaning_programs + self.erases
    }

    /// Pages programmed with the host's data.
    pub fn data_programs(&self) -> u64 {
        self.programs.saturating_sub(self.map_programs)
    }

    /// All programmed pages by those with the host's data; 1 is the best. NaN if there were none.
    pub fn write_amplification(&self) -> f64 {
        (self.programs + self.cleaning_programs) as f64 / self.data_programs() as f64
    }

    /// Adds the counts of another device.
    pub fn merge(&mut self, other: &Self) {
        self.reads += other.reads;
        self.programs += other.programs;
        self.cleaning_reads += other.cleaning_reads;
        self.cleaning_programs += other.cleaning_programs;
        self.erases += other.erases;
        self.refreshed += other.refreshed;
        self.map_programs += other.map_programs;
        self.suspensions += other.suspensions;
        self.joined.reads += other.joined.reads;
        self.joined.programs += other.joined.programs;
        self.joined.erases += other.joined.erases;
    }
}

/// How often blocks were erased.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wear {
    /// The block with the fewest erases.
    pub least: u32,
    /// The block with the most erases.
    pub most: u32,
    /// All erases.
    pub erases: u64,
    /// All blocks.
    pub blocks: u64,
}

impl Wear {
    /// The mean over the blocks.
    pub fn mean(&self) -> f64 {
        self.erases as f64 / self.blocks as f64
    }

    /// Adds the wear of another device or run.
    pub fn merge(&mut self, other: &Self) {
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
        self.erases += other.erases;
        self.blocks += other.blocks;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_operation_counts_once() {
        let joined = Joined {
            reads: 1,
            programs: 20,
            erases: 300,
        };
        assert_eq!(joined.operations(), 321);
        let counts = FlashCounts {
            reads: 1,
            programs: 20,
            cleaning_reads: 300,
            cleaning_programs: 4_000,
            erases: 50_000,
            // These are among those above.
            refreshed: 5,
            map_programs: 4,
            suspensions: 3,
            joined,
        };
        assert_eq!(counts.operations(), 54_321);
        assert_eq!(counts.data_programs(), 16);
        assert!((counts.write_amplification() - 4_020.0 / 16.0).abs() < 1e-12);
    }

    #[test]
    fn mean_wear_is_erases_by_blocks() {
        let wear = Wear {
            least: 0,
            most: 4,
            erases: 6,
            blocks: 4,
        };
        assert!((wear.mean() - 1.5).abs() < 1e-12);
    }
}
