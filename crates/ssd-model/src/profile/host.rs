//! From the application to the device: driver, rings and queues, PCIe.

use serde::{Deserialize, Serialize};

/// How the host submits requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// One ring, in blocks of descriptors.
    BlockQueue,
    /// Pairs of submission and completion queues.
    Nvme,
}

/// The CPU time of the driver, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DriverProfile {
    /// To make a descriptor or command of a bio (`t_bio`).
    pub submit_us: f64,
    /// To complete a bio (`t_complete`).
    pub complete_us: f64,
    /// From the interrupt to its handler's end.
    pub interrupt_us: f64,
    /// To choose the next block.
    #[serde(default)]
    pub select_us: f64,
    /// To write the doorbell register.
    pub doorbell_us: f64,
}

/// The ring of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockQueueProfile {
    /// How many descriptors the ring has: a power of two.
    pub ring: u32,
    /// Static blocks wait until they are full, dynamic ones take the pending descriptors.
    pub dispatch: Dispatch,
    /// How many descriptors a block has; at most, where it is dynamic.
    pub block: u32,
    /// How descriptors come back.
    #[serde(rename = "return")]
    pub strategy: ReturnStrategy,
    /// How many come back together with `"subsets"`.
    pub subset: u32,
    /// Whether a DMA engine of their own brings descriptors back.
    pub descriptor_engine: bool,
    /// How many descriptors of the next block the device has while a block goes back.
    pub prefetch: u32,
    /// Whether a block may wrap around the ring's end; else it is cut there.
    pub wrap: bool,
    /// The size of a descriptor.
    pub descriptor_bytes: u32,
}

impl Default for BlockQueueProfile {
    fn default() -> Self {
        Self {
            ring: 1024,
            dispatch: Dispatch::Dynamic,
            block: 16,
            strategy: ReturnStrategy::CompleteBlock,
            subset: 4,
            descriptor_engine: false,
            prefetch: 0,
            wrap: false,
            descriptor_bytes: 32,
        }
    }
}

/// When a block goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// When `block` descriptors wait.
    Static,
    /// When the device is free, with as many as wait.
    Dynamic,
}

/// How descriptors come back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnStrategy {
    /// All at once, with one interrupt.
    CompleteBlock,
    /// Each when it is done, with an interrupt of its own.
    OneByOne,
    /// `subset` at a time, with one interrupt.
    Subsets,
}

/// Pairs of submission and completion queues.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct NvmeProfile {
    /// How many pairs, each with a CPU of its own.
    pub queues: u32,
    /// How many commands each pair takes.
    pub depth: u32,
    /// Which pair a request goes to.
    pub assign: Assignment,
    /// Which submission queue is fetched from next.
    pub arbitration: Arbitration,
    /// How many commands are fetched from one queue at a time.
    pub burst: u32,
    /// The burst of each queue, with `"weighted"`.
    pub weights: Vec<u32>,
    /// How many commands the device has at most.
    pub most_commands: u32,
    /// The largest command.
    #[serde(deserialize_with = "super::size")]
    pub most_transfer: String,
    /// How the host learns of completions.
    pub notification: Notification,
    /// Interrupt coalescing: how many completions one interrupt waits for ...
    pub coalesce: u32,
    /// ... but no longer than this.
    pub coalesce_us: f64,
    /// The polling interval, with `"polling"`; 0: all the time.
    pub poll_us: f64,
    /// The size of a command.
    pub command_bytes: u32,
    /// The size of a completion.
    pub completion_bytes: u32,
}

impl Default for NvmeProfile {
    fn default() -> Self {
        Self {
            queues: 4,
            depth: 256,
            assign: Assignment::Turns,
            arbitration: Arbitration::RoundRobin,
            burst: 8,
            weights: Vec::new(),
            most_commands: 1024,
            most_transfer: "128KiB".to_owned(),
            notification: Notification::Interrupt,
            coalesce: 1,
            coalesce_us: 0.0,
            poll_us: 0.0,
            command_bytes: 64,
            completion_bytes: 16,
        }
    }
}

/// Which pair a request goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// The pairs in turn.
    Turns,
    /// That of its class, modulo the number of pairs.
    Class,
}

/// Which submission queue is fetched from next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// In turn, `burst` commands each.
    RoundRobin,
    /// In turn, as many commands as each one's weight.
    Weighted,
}

/// How the host learns of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// The device interrupts it.
    Interrupt,
    /// It polls the completion queues.
    Polling,
}

/// Between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PcieProfile {
    /// Until a DMA that moves descriptors or commands begins to move.
    pub descriptor_setup_us: f64,
    /// Until a DMA of data to the host begins to move.
    pub to_host_setup_us: f64,
    /// Until a DMA of data from the host begins to move: a read request goes first.
    pub from_host_setup_us: f64,
    /// How fast data go to the host.
    pub to_host_mb_per_s: f64,
    /// How fast data come from the host: reads of host memory need more packets.
    pub from_host_mb_per_s: f64,
    /// How many data transfers there are at once.
    #[serde(default = "super::one")]
    pub data_engines: u32,
}
