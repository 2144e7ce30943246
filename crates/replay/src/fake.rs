//! Why latencies are not those of the storage.

use std::fmt;
use std::path::PathBuf;

/// Why latencies are not, or may not be, those of the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fake {
    /// The page cache was asked for.
    PageCache,
    /// The file system cannot bypass the page cache for the file.
    NotDirect,
    /// The file system is in memory.
    InMemory,
    /// The file has holes.
    Holes,
    /// The loop device goes through the page cache.
    LoopPageCache,
    /// The file behind the loop device has holes.
    LoopHoles,
    /// All reads returned nothing but zeros, as a mapped device (a thin volume, flash after a discard, zram) answers
    /// for what was never written.
    OnlyZeros {
        /// At how many places at least.
        places: usize,
    },
    /// The engine accesses no target.
    NoTarget {
        /// Its name.
        engine: &'static str,
    },
}

/// A [`Fake`] of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeOf {
    /// Of which target, where there are several.
    pub target: Option<PathBuf>,
    /// Why.
    pub fake: Fake,
}

impl fmt::Display for Fake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PageCache => "the page cache is used (--no-direct)",
            Self::NotDirect => "the file system cannot bypass the page cache for this file",
            Self::InMemory => "the file system is in memory",
            Self::Holes => {
                "the file has holes, and reading them never reaches the storage; fill it with data first"
            }
            Self::LoopPageCache => {
                "the loop device goes through the page cache (losetup --direct-io=on)"
            }
            Self::LoopHoles => {
                "the file behind the loop device has holes, and reading them never reaches the storage"
            }
            Self::OnlyZeros { places } => {
                return write!(
                    f,
                    "reads returned only zeros, at {places} or more locations: blocks that were never written are \
                     returned without an access to the medium (iosonar prepare fill writes all blocks)"
                );
            }
            Self::NoTarget { engine } => {
                return write!(f, "no target was accessed (engine {engine})");
            }
        })
    }
}

impl fmt::Display for FakeOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.target {
            Some(target) => write!(f, "{}: {}", target.display(), self.fake),
            None => self.fake.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fake_says_why_and_of_which_target() {
        for (fake, part) in [
            (Fake::PageCache, "--no-direct"),
            (Fake::NotDirect, "cannot bypass the page cache"),
            (Fake::InMemory, "in memory"),
            (Fake::Holes, "the file has holes"),
            (Fake::LoopPageCache, "losetup --direct-io=on"),
            (Fake::LoopHoles, "behind the loop device has holes"),
            (Fake::OnlyZeros { places: 9 }, "only zeros, at 9 or more"),
            (Fake::NoTarget { engine: "dry" }, "(engine dry)"),
        ] {
            let text = fake.to_string();
            assert!(text.contains(part), "{text}");
            let of = |target| FakeOf { target, fake }.to_string();
            assert_eq!(of(None), text);
            assert_eq!(of(Some(PathBuf::from("/dev/x"))), format!("/dev/x: {text}"));
        }
    }
}
