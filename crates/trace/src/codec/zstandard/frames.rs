//! Streams over the frames of `ruzstd`, which reads and packs one frame at a time.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Cursor, Read, Write};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use ruzstd::encoding::{CompressionLevel, FrameCompressor, compress_to_vec};

use crate::whole_file::Output;

/// The largest window that is accepted, as in the C library: a frame needs as much memory.
const LARGEST_WINDOW: u64 = 128 << 20;

/// A frame is packed whenever this much has been written: larger ones pack little better.
const FRAME: usize = 1 << 20;

/// The plain bytes of all frames; skippable ones are skipped.
pub(super) struct Reader<R> {
    packed: BufReader<R>,
    decoder: FrameDecoder,
    is_in_frame: bool,
    /// Why the frame cannot be read further than what is decoded.
    cut_off: Option<io::Error>,
}

impl<R: Read> Reader<R> {
    pub(super) fn new(packed: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(LARGEST_WINDOW);
        Self {
            packed: BufReader::with_capacity(1 << 17, packed),
            decoder,
            is_in_frame: false,
            cut_off: None,
        }
    }

    /// Whether there is a further frame; its header is read then.
    fn begin_frame(&mut self) -> io::Result<bool> {
        while !self.packed.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.packed) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let skipped = io::copy(&mut (&mut self.packed).take(length), &mut io::sink())?;
                    if skipped < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io_error(error)),
            }
        }
        Ok(false)
    }

    /// The decoder keeps a window of what it has decoded until its frame ends: it is given an end where the input is cut
    /// off, so that the rest can be read before the error.
    fn cut_off(&mut self, error: io::Error) -> io::Result<()> {
        /// The header of an empty last block that is not packed, and room for a checksum.
        const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        if error.kind() != io::ErrorKind::UnexpectedEof || self.cut_off.is_some() {
            return Err(error);
        }
        let all = BlockDecodingStrategy::All;
        self.decoder
            .decode_blocks(&END[..], all)
            .map_err(io_error)?;
        self.cut_off = Some(error);
        Ok(())
    }

    /// Compares the checksum behind a frame, if it has one, with its content.
    fn end_frame(&self) -> io::Result<()> {
        match self.decoder.get_checksum_from_data() {
            Some(stored) if self.decoder.get_calculated_checksum() != Some(stored) => Err(
                io::Error::new(io::ErrorKind::InvalidData, "the checksum does not match"),
            ),
            _ => Ok(()),
        }
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.is_in_frame {
                if !self.begin_frame()? {
                    return Ok(0);
                }
                self.is_in_frame = true;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                if let Err(error) = self.decoder.decode_blocks(&mut self.packed, one) {
                    self.cut_off(io_error(error))?;
                }
            }
            let n = self.decoder.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            if let Some(error) = self.cut_off.take() {
                return Err(error);
            }
            self.end_frame()?;
            self.is_in_frame = false;
        }
    }
}

/// The error of the input if that is why a frame could not be read, to distinguish its end and its
/// failures from damage.
fn io_error(error: FrameDecoderError) -> io::Error {
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return match error.raw_os_error() {
                Some(code) => io::Error::from_raw_os_error(code),
                None => io::Error::new(error.kind(), error.to_string()),
            };
        }
        cause = error.source();
    }
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// Packs what is written into frames of [`FRAME`] plain bytes, each with a checksum. A flush ends a frame.
pub(super) struct Writer<W> {
    output: W,
    /// What is not packed yet.
    plain: Vec<u8>,
    compressor: FrameCompressor<Cursor<Vec<u8>>, Vec<u8>, ruzstd::encoding::MatchGeneratorDriver>,
    /// Reads each frame back to verify it.
    decoder: FrameDecoder,
    read_back: Vec<u8>,
    /// Nothing has been packed yet.
    is_empty: bool,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(output: W) -> Self {
        Self {
            output,
            plain: Vec::with_capacity(FRAME),
            compressor: FrameCompressor::new(CompressionLevel::Fastest),
            decoder: FrameDecoder::new(),
            read_back: Vec::new(),
            is_empty: true,
        }
    }

    fn pack(&mut self) -> io::Result<()> {
        let plain = std::mem::take(&mut self.plain);
        self.compressor.set_source(Cursor::new(plain));
        self.compressor.set_drain(Vec::new());
        self.compressor.compress();
        let mut packed = self.compressor.take_drain().expect("it was set above");
        let source = self.compressor.take_source().expect("it was set above");
        self.plain = source.into_inner();
        // A measurement cannot be repeated: what cannot be read again is stored unpacked.
        if !self.is_read_back(&packed) {
            packed = compress_to_vec(&self.plain[..], CompressionLevel::Uncompressed);
        }
        self.plain.clear();
        self.is_empty = false;
        self.output.write_all(&packed)
    }

    fn is_read_back(&mut self, packed: &[u8]) -> bool {
        self.read_back.resize(self.plain.len(), 0);
        let length = self.decoder.decode_all(packed, &mut self.read_back);
        length.is_ok_and(|length| length == self.plain.len()) && self.read_back == self.plain
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(FRAME - self.plain.len());
        self.plain.extend_from_slice(&bytes[..n]);
        if self.plain.len() == FRAME {
            self.pack()?;
        }
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.plain.is_empty() {
            self.pack()?;
        }
        self.output.flush()
    }
}

impl<W: Output> Output for Writer<W> {
    fn close(mut self: Box<Self>) -> io::Result<()> {
        // A file without a frame would not be recognised as compressed.
        if self.is_empty || !self.plain.is_empty() {
            self.pack()?;
        }
        Box::new(self.output).close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(parts: &[&[u8]]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        for part in parts {
            writer.write_all(part).unwrap();
            writer.flush().unwrap();
        }
        writer.output
    }

    /// Keeps what it gets.
    #[derive(Clone, Default)]
    struct Kept(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Output for Kept {
        fn close(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    fn read(packed: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Reader::new(packed).read_to_end(&mut plain)?;
        Ok(plain)
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let long: Vec<u8> = (0..3 * FRAME + 17).map(|i| (i / 7 % 251) as u8).collect();
        let whole = packed(&[&long, b"tail"]);
        assert!(whole.len() < long.len() / 2, "{}", whole.len());
        assert_eq!(read(&whole).unwrap(), [&long[..], b"tail"].concat());
        assert_eq!(read(&[]).unwrap(), b"");
    }

    #[test]
    fn skippable_frames_are_skipped_and_their_end_is_missed() {
        let skippable = [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat();
        let whole = [&skippable[..], &packed(&[b"plain"]), &skippable].concat();
        assert_eq!(read(&whole).unwrap(), b"plain");
        let error = read(&whole[..whole.len() - 1]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn the_end_is_missed_wherever_a_frame_is_cut() {
        let whole = packed(&[b"a frame with some bytes in it, cut anywhere"]);
        for cut in 1..whole.len() {
            let error = read(&whole[..cut]).unwrap_err();
            assert_eq!(
                error.kind(),
                io::ErrorKind::UnexpectedEof,
                "at {cut}: {error}"
            );
        }
    }

    #[test]
    fn what_precedes_a_cut_is_read() {
        // Incompressible, in blocks of 128 KiB.
        let plain: Vec<u8> = (0..FRAME as u64)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        let whole = compress_to_vec(&plain[..], CompressionLevel::Uncompressed);
        for (cut, least) in [(1, FRAME - (128 << 10)), (300 << 10, FRAME - (500 << 10))] {
            let mut read = Vec::new();
            let packed = &whole[..whole.len() - cut];
            let error = Reader::new(packed).read_to_end(&mut read).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            assert!(read.len() >= least, "{} bytes", read.len());
            assert_eq!(read, plain[..read.len()]);
        }
    }

    #[test]
    fn blocks_that_hardly_compress_are_read_back() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state >> 33
        };
        for share in [0, 1, 2, 4, 8, 64] {
            let bytes = (0..2 * FRAME).map(|_| match random() % 64 < share {
                true => 0,
                false => random() as u8,
            });
            let plain: Vec<u8> = bytes.collect();
            assert!(read(&packed(&[&plain])).unwrap() == plain, "{share} of 64");
        }
    }

    #[test]
    fn a_changed_byte_is_noticed() {
        let whole = packed(&[b"incompressible: 8f3a1c5e9b7d2046"]);
        // Behind the magic number, the descriptor and the size of the window, which may be larger without harm.
        for at in 6..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            assert!(read(&damaged).is_err(), "byte {at}");
        }
    }

    /// How many frames there are; none has the magic number within.
    fn frames(packed: &[u8]) -> usize {
        let magic = |bytes: &&[u8]| **bytes == [0x28, 0xb5, 0x2f, 0xfd];
        packed.windows(4).filter(magic).count()
    }

    #[test]
    fn a_file_has_a_frame_whatever_is_written_and_none_without_content_behind_others() {
        for (parts, flushes, expected) in [
            (&[][..], false, 1),
            (&[&b""[..]][..], true, 1),
            (&[b"one"], false, 1),
            (&[b"one"], true, 1),
            (&[b"one", b"two"], false, 1),
            (&[b"one", b"two"], true, 2),
        ] {
            let kept = Kept::default();
            let mut writer = Box::new(Writer::new(kept.clone()));
            for part in parts {
                writer.write_all(part).unwrap();
                if flushes {
                    writer.flush().unwrap();
                }
            }
            writer.close().unwrap();
            let packed = kept.0.lock().unwrap();
            assert_eq!(frames(&packed), expected, "{parts:?} {flushes}");
            assert_eq!(read(&packed).unwrap(), parts.concat());
        }
    }

    #[test]
    fn a_frame_is_packed_when_it_has_its_length() {
        let mut writer = Writer::new(Vec::new());
        let zeros = vec![0; 3 * FRAME];
        for (bytes, waiting, packed) in [
            (FRAME - 1, FRAME - 1, 0),
            (1, 0, 1),
            (7, 7, 1),
            (FRAME - 8, FRAME - 1, 1),
            (2, 1, 2),
            (2 * FRAME, 1, 4),
            (0, 1, 4),
        ] {
            writer.write_all(&zeros[..bytes]).unwrap();
            assert_eq!(writer.plain.len(), waiting, "{bytes}");
            assert_eq!(frames(&writer.output), packed, "{bytes}");
        }
    }

    #[test]
    fn a_frame_is_read_back_if_it_has_the_same_content() {
        let mut writer = Writer::new(Vec::new());
        writer.plain = b"the same content".to_vec();
        let mut is_read_back = |plain: &[u8]| {
            let packed = compress_to_vec(plain, CompressionLevel::Fastest);
            writer.is_read_back(&packed)
        };
        assert!(is_read_back(b"the same content"));
        for other in [
            &b"the same Content"[..],
            b"the same conten",
            b"the same contents",
            b"",
        ] {
            assert!(!is_read_back(other));
        }
        let packed = compress_to_vec(&b"the same content"[..], CompressionLevel::Fastest);
        assert!(!writer.is_read_back(&packed[..packed.len() - 1]));
        assert!(!writer.is_read_back(b"no frame"));
        // What was read back before is not taken for it.
        assert!(!writer.is_read_back(&[]));
    }

    /// Fails behind its bytes.
    struct Failing<'a>(&'a [u8]);

    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.is_empty() {
                true => Err(io::ErrorKind::TimedOut.into()),
                false => self.0.read(buffer),
            }
        }
    }

    #[test]
    fn a_failure_of_the_input_is_not_its_end() {
        let whole = packed(&[b"a frame with some bytes in it", b"another"]);
        for cut in [0, 1, 3, 10, whole.len() / 2, whole.len()] {
            let mut reader = Reader::new(Failing(&whole[..cut]));
            let mut plain = Vec::new();
            let error = reader.read_to_end(&mut plain).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{cut}: {error}");
            // The rest of a frame is given only where that is all there is.
            assert!(reader.cut_off.is_none());
            if cut == 10 {
                assert_eq!(plain, b"");
            }
        }
    }
}
