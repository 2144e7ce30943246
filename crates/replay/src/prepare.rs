//! Before a replay: a target whose every block holds data, or has been read once.

use std::os::unix::fs::FileExt;

use iosonar_linux::memory::Buffer;
use iosonar_units::{Bytes, Nanos};

use crate::buffers::Unique;
use crate::pacing::monotonic;
use crate::{ReplayError, Target};

/// The size of a piece in bytes.
const PIECE: u64 = 1 << 20;

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Bytes written or read.
    pub bytes: Bytes,
    /// In this time.
    pub elapsed: Nanos,
    /// Whether it came to the end of the target.
    pub is_whole: bool,
}

/// Writes random data all over `target`, `compressible_percent` of each page zeros, so that reads reach
/// the storage: no holes, no blocks that a thin volume never got, nothing to compress or deduplicate.
/// `progress` receives the bytes done, and ends it with `false`.
///
/// # Errors
/// [`ReplayError::Refused`] if it has zones that must be written in order, or an error if something cannot be written.
pub fn fill(
    target: &Target,
    compressible_percent: u8,
    progress: impl FnMut(u64) -> bool,
) -> Result<Prepared, ReplayError> {
    if target.has_sequential_zones() {
        return Err(ReplayError::Refused(format!(
            "{} has zones that must be written sequentially, which 'fill' does not support: replay a sequential \
             load on it (with --reset-zones)",
            target.path().display()
        )));
    }
    let stamp = crate::verify::new_run();
    let failed = |source| ReplayError::Io {
        path: target.path().to_owned(),
        action: "fill it",
        source,
    };
    let mut unique = Unique::new(1);
    let prepared = each_piece(target, progress, |file, buffer, offset, bytes| {
        let number = stamp.wrapping_add(offset);
        unique.make(buffer, bytes, number, compressible_percent);
        file.write_all_at(&buffer[..bytes], offset)
    })
    .map_err(failed)?;
    if let Some(file) = target.data() {
        file.sync_all().map_err(failed)?;
    }
    Ok(prepared)
}

/// Reads all of `target` once, so that what maps, promotes or checks at the first access has done so.
/// `progress` receives the bytes done, and ends it with `false`.
///
/// # Errors
/// If something cannot be read.
pub fn slurp(target: &Target, progress: impl FnMut(u64) -> bool) -> Result<Prepared, ReplayError> {
    each_piece(target, progress, |file, buffer, offset, bytes| {
        file.read_exact_at(&mut buffer[..bytes], offset)
    })
    .map_err(|source| ReplayError::Io {
        path: target.path().to_owned(),
        action: "read the whole target",
        source,
    })
}

fn each_piece(
    target: &Target,
    mut progress: impl FnMut(u64) -> bool,
    mut work: impl FnMut(&std::fs::File, &mut Buffer, u64, usize) -> std::io::Result<()>,
) -> std::io::Result<Prepared> {
    let Some(file) = target.data() else {
        return Err(std::io::Error::other("it has not been opened"));
    };
    let mut buffer = Buffer::new(PIECE as usize)?;
    // Whole blocks: a file may end within one.
    let size = target.size().get() / target.block().get() * target.block().get();
    let begin = monotonic();
    let mut done = 0;
    let mut is_whole = true;
    while done < size {
        let bytes = PIECE.min(size - done);
        work(file, &mut buffer, done, bytes as usize).map_err(|e| {
            std::io::Error::new(e.kind(), format!("{bytes} bytes at byte {done}: {e}"))
        })?;
        done += bytes;
        if !progress(done) {
            is_whole = done == size;
            break;
        }
    }
    Ok(Prepared {
        bytes: Bytes::new(done),
        elapsed: monotonic() - begin,
        is_whole,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: u64 = PIECE / 2;

    /// The pieces, and what was done, of a target of this size, until `most` bytes are done.
    fn pieces(size: u64, most: u64) -> (Vec<(u64, usize)>, Prepared) {
        let (size, block) = (Bytes::new(size), Bytes::new(4096));
        let file = tempfile::tempfile().unwrap();
        let target = Target::simulated(file, size, block, false);
        let mut pieces = Vec::new();
        let prepared = each_piece(
            &target,
            |done| done < most,
            |_, _, offset, bytes| {
                pieces.push((offset, bytes));
                Ok(())
            },
        );
        (pieces, prepared.unwrap())
    }

    #[test]
    fn a_target_is_done_in_pieces_up_to_its_last_whole_block() {
        let (whole, half) = (PIECE as usize, HALF as usize);
        let all = vec![(0, whole), (PIECE, whole), (2 * PIECE, half)];
        for size in [2 * PIECE + HALF, 2 * PIECE + HALF + 4095] {
            let (pieces, prepared) = pieces(size, u64::MAX);
            assert_eq!(pieces, all);
            assert_eq!(prepared.bytes, Bytes::new(2 * PIECE + HALF));
            assert!(prepared.is_whole);
        }
        assert_eq!(pieces(PIECE, u64::MAX).0, [(0, whole)]);
        assert_eq!(pieces(4095, u64::MAX).0, []);
    }

    #[test]
    fn whoever_watches_may_end_it() {
        let begin = monotonic();
        for (most, count, is_whole) in [(1, 1, false), (2 * PIECE, 2, false), (3 * PIECE, 3, true)]
        {
            let (pieces, prepared) = pieces(3 * PIECE, most);
            assert_eq!((pieces.len(), prepared.is_whole), (count, is_whole));
            assert_eq!(prepared.bytes.get(), count as u64 * PIECE);
            assert!(prepared.elapsed <= monotonic() - begin);
        }
    }

    #[test]
    fn a_failure_names_its_place() {
        let file = tempfile::tempfile().unwrap();
        let target = Target::simulated(file, Bytes::new(8192), Bytes::new(512), false);
        // The file is shorter than it was.
        let failed = slurp(&target, |_| true).unwrap_err().to_string();
        assert!(failed.contains("8192 bytes at byte 0"), "{failed}");
    }

    #[test]
    fn what_is_filled_is_data_all_over() {
        let mut file = tempfile::tempfile().unwrap();
        let size = Bytes::new(3 * 4096);
        let target = Target::simulated(file.try_clone().unwrap(), size, Bytes::new(512), false);
        let prepared = fill(&target, 0, |_| true).unwrap();
        assert_eq!((prepared.bytes, prepared.is_whole), (size, true));
        let mut data = Vec::new();
        std::io::Read::read_to_end(&mut file, &mut data).unwrap();
        assert_eq!(data.len(), 3 * 4096);
        assert!(
            data.chunks(512)
                .all(|sector| sector.iter().any(|byte| *byte != 0))
        );
        assert!(slurp(&target, |_| true).unwrap().is_whole);
    }
}
