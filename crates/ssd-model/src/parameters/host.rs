//! The host's side, checked: the ring of the block queue, the queue pairs of NVMe.

use iosonar_units::{Nanos, SECTOR_BYTES};

use crate::profile::{
    Arbitration, Assignment, BlockQueueProfile, Checker, Dispatch, Notification, NvmeProfile,
    ReturnStrategy, SsdProfileError,
};

/// The ring of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockQueueParameters {
    /// Descriptors of the ring.
    pub ring: u32,
    /// When a block goes to the device.
    pub dispatch: Dispatch,
    /// Descriptors of a static block; the most of a dynamic one.
    pub block: u32,
    /// How many descriptors are returned together; `None`: the whole block.
    pub subset: Option<u32>,
    /// Whether they are returned by a DMA engine of their own.
    pub descriptor_engine: bool,
    /// How many descriptors of the next block are fetched ahead.
    pub prefetch: u32,
    /// Whether blocks wrap around the ring's end.
    pub wrap: bool,
    /// The size of a descriptor.
    pub descriptor_bytes: u32,
}

/// Pairs of submission and completion queues.
#[derive(Clone, Debug, PartialEq)]
pub struct NvmeParameters {
    /// How many commands each pair takes.
    pub depth: u32,
    /// Which pair a request goes to.
    pub assign: Assignment,
    /// The arbitration burst of each pair: how many commands are fetched from it at a time.
    pub bursts: Vec<u32>,
    /// How many commands the device has at most.
    pub most_commands: u32,
    /// The sectors of the largest command.
    pub most_sectors: u64,
    /// How the host learns of completions.
    pub notification: Notification,
    /// Interrupt coalescing: how many completions one interrupt waits for ...
    pub coalesce: u32,
    /// ... but no longer than this; zero: it does not wait.
    pub coalesce_for: Nanos,
    /// The polling interval; zero: all the time.
    pub poll: Nanos,
    /// The size of a submission queue entry.
    pub command_bytes: u32,
    /// The size of a completion queue entry.
    pub completion_bytes: u32,
}

impl BlockQueueParameters {
    pub(super) fn new(
        check: &Checker<'_>,
        queue: &BlockQueueProfile,
    ) -> Result<Self, SsdProfileError> {
        if !queue.ring.is_power_of_two() || queue.ring > 1 << 20 {
            return Err(check.wrong("block_queue.ring", queue.ring, "a power of two up to 2^20"));
        }
        if !(1..=queue.ring).contains(&queue.block) {
            let expected = format!("1 to {}, the size of the ring", queue.ring);
            return Err(check.wrong("block_queue.block", queue.block, expected));
        }
        if queue.prefetch > queue.block {
            let expected = format!("at most {}, the size of a block", queue.block);
            return Err(check.wrong("block_queue.prefetch", queue.prefetch, expected));
        }
        let count = |key, n, most| check.count(&format!("block_queue.{key}"), n, most);
        Ok(Self {
            ring: queue.ring,
            dispatch: queue.dispatch,
            block: queue.block,
            subset: match queue.strategy {
                ReturnStrategy::CompleteBlock => None,
                ReturnStrategy::OneByOne => Some(1),
                ReturnStrategy::Subsets => Some(count("subset", queue.subset, queue.block)?),
            },
            descriptor_engine: queue.descriptor_engine,
            prefetch: queue.prefetch,
            wrap: queue.wrap,
            descriptor_bytes: count("descriptor_bytes", queue.descriptor_bytes, 1 << 16)?,
        })
    }

    /// What the ring takes, and the counts of blocks of each size, in bytes.
    pub(super) fn bytes_at_start(&self) -> u64 {
        8 * (u64::from(self.ring) + u64::from(self.block) + 1)
    }
}

impl NvmeParameters {
    /// What the queue pairs take, each with its CPU, in bytes.
    pub(super) fn bytes_at_start(&self) -> u64 {
        320 * self.bursts.len() as u64
    }

    pub(super) fn new(check: &Checker<'_>, nvme: &NvmeProfile) -> Result<Self, SsdProfileError> {
        let count = |key, n, most| check.count(&format!("nvme.{key}"), n, most);
        let queues = count("queues", nvme.queues, 1 << 12)?;
        let burst = count("burst", nvme.burst, 1 << 16)?;
        let bursts = match nvme.arbitration {
            Arbitration::RoundRobin => vec![burst; queues as usize],
            Arbitration::Weighted => nvme.weights.clone(),
        };
        if bursts.len() != queues as usize || bursts.contains(&0) {
            let expected = format!("{queues} weights of at least 1, one per queue");
            return Err(check.wrong("nvme.weights", format!("{:?}", nvme.weights), expected));
        }
        let most_sectors = check.bytes("nvme.most_transfer", &nvme.most_transfer)? / SECTOR_BYTES;
        if !(8..1 << 20).contains(&most_sectors) {
            let expected = "4KiB to 512MiB";
            return Err(check.wrong("nvme.most_transfer", &nvme.most_transfer, expected));
        }
        Ok(Self {
            depth: count("depth", nvme.depth, 1 << 16)?,
            assign: nvme.assign,
            bursts,
            most_commands: count("most_commands", nvme.most_commands, 1 << 24)?,
            most_sectors,
            notification: nvme.notification,
            coalesce: count("coalesce", nvme.coalesce, 1 << 16)?,
            coalesce_for: check.micros("nvme.coalesce_us", nvme.coalesce_us)?,
            poll: check.micros("nvme.poll_us", nvme.poll_us)?,
            command_bytes: count("command_bytes", nvme.command_bytes, 1 << 16)?,
            completion_bytes: count("completion_bytes", nvme.completion_bytes, 1 << 16)?,
        })
    }
}
