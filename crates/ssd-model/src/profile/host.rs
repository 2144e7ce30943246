//! From the application to the device: driver, rings and queues, PCIe.

use serde::{Deserialize, Serialize};

/// How the host submits requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// One ring, with blocks of descriptors.
    BlockQueue,
    /// Pairs of submission and completion queues.
    Nvme,
}

/// The CPU time of the driver, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DriverProfile {
    /// The time to create a descriptor or command from a bio (`t_bio`).
    pub submit_us: f64,
    /// The time to complete a bio (`t_complete`).
    pub complete_us: f64,
    /// The time from an interrupt to the end of its handler.
    pub interrupt_us: f64,
    /// The time to choose the next block.
    #[serde(default)]
    pub select_us: f64,
    /// The time to write the doorbell register.
    pub doorbell_us: f64,
}

/// The ring of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct BlockQueueProfile {
    /// The number of descriptors in the ring, a power of two.
    pub ring: u32,
    /// When a block is submitted: static blocks wait until they are full; dynamic blocks take the pending descriptors.
    pub dispatch: Dispatch,
    /// The number of descriptors in a static block, or the maximum number in a dynamic block.
    pub block: u32,
    /// How descriptors are returned.
    #[serde(rename = "return")]
    pub strategy: ReturnStrategy,
    /// The number of descriptors that are returned together, with `"subsets"`.
    pub subset: u32,
    /// Whether a separate DMA engine returns descriptors.
    pub descriptor_engine: bool,
    /// The number of descriptors of the next block that are prefetched; they start while a block is returned.
    pub prefetch: u32,
    /// Whether a block may continue from the end of the ring to its beginning; otherwise it ends there.
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

/// When a block is submitted to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dispatch {
    /// When `block` descriptors are waiting.
    Static,
    /// When the device is free, with all waiting descriptors up to `block`.
    Dynamic,
}

/// How descriptors are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReturnStrategy {
    /// The whole block at once, with one interrupt.
    CompleteBlock,
    /// Each descriptor when it is complete, with its own interrupt.
    OneByOne,
    /// `subset` descriptors at a time, with one interrupt.
    Subsets,
}

/// Pairs of submission and completion queues.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct NvmeProfile {
    /// The number of queue pairs, each with its own CPU.
    pub queues: u32,
    /// The maximum number of commands in each queue pair.
    pub depth: u32,
    /// The queue pair to which a request is assigned.
    pub assign: Assignment,
    /// The submission queue from which the device fetches next.
    pub arbitration: Arbitration,
    /// The number of commands fetched from one queue at a time.
    pub burst: u32,
    /// The number of commands fetched from each queue at a time, with `"weighted"`.
    pub weights: Vec<u32>,
    /// The maximum number of commands in the device.
    pub most_commands: u32,
    /// The maximum size of a command.
    #[serde(deserialize_with = "super::size")]
    pub most_transfer: String,
    /// How the host is notified of completions.
    pub notification: Notification,
    /// Interrupt coalescing: the number of completions that an interrupt waits for ...
    pub coalesce: u32,
    /// ... and the longest wait; 0 disables coalescing.
    pub coalesce_us: f64,
    /// The polling interval, with `"polling"`; with 0, the host polls all the time.
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

/// The queue pair to which a request is assigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Requests are assigned to the pairs in turn.
    Turns,
    /// The pair is the class of the request modulo the number of pairs.
    Class,
}

/// The submission queue from which the device fetches next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arbitration {
    /// The queues in turn, `burst` commands from each.
    RoundRobin,
    /// The queues in turn, from each the number of commands given by its weight.
    Weighted,
}

/// How the host is notified of completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notification {
    /// The device interrupts the host.
    Interrupt,
    /// The host polls the completion queues.
    Polling,
}

/// The PCIe link between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PcieProfile {
    /// The setup time of a DMA transfer of descriptors or commands.
    pub descriptor_setup_us: f64,
    /// The setup time of a DMA transfer of data to the host.
    pub to_host_setup_us: f64,
    /// The setup time of a DMA transfer of data from the host, which begins with a read request.
    pub from_host_setup_us: f64,
    /// The rate of data transfers to the host.
    pub to_host_mb_per_s: f64,
    /// The rate of data transfers from the host; reads of host memory need more packets.
    pub from_host_mb_per_s: f64,
    /// The number of simultaneous data transfers.
    #[serde(default = "super::one")]
    pub data_engines: u32,
}
