//! Which engine a replay uses.

use serde::{Deserialize, Serialize};

/// Which engine a replay uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineKind {
    /// Synchronous calls where the device answers within microseconds and the ring would need kernel
    /// workers; NVMe commands for the character device of a namespace; else `io_uring` where the kernel permits it, else the thread pool.
    #[default]
    Auto,
    /// `io_uring`.
    #[serde(alias = "io-uring")]
    IoUring,
    /// One thread with pread and pwrite, one request at a time.
    Sync,
    /// A pool of threads with pread and pwrite.
    Threads,
    /// NVMe commands through `io_uring`, past the block layer.
    Passthrough,
    /// Nothing is submitted; everything is complete at once.
    Dry,
    /// A model of a device completes requests, in real time.
    Simulate,
}

impl EngineKind {
    /// All of them, with their names.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Auto, "auto"),
        (Self::IoUring, "io_uring"),
        (Self::Sync, "sync"),
        (Self::Threads, "threads"),
        (Self::Passthrough, "passthrough"),
        (Self::Dry, "dry"),
        (Self::Simulate, "simulate"),
    ];

    /// What it is called.
    pub fn name(self) -> &'static str {
        let named = Self::ALL.into_iter().find(|(kind, _)| *kind == self);
        named.map_or("", |(_, name)| name)
    }

    /// Whether a target is really accessed.
    pub const fn is_real(self) -> bool {
        !matches!(self, Self::Dry | Self::Simulate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_are_called_as_they_are_written() {
        for (kind, name) in EngineKind::ALL {
            assert_eq!(kind.name(), name);
            assert_eq!(serde_json::to_value(kind).unwrap(), name);
        }
    }
}
