//! Messages on a stream of bytes.
//!
//! Each side first sends a greeting, a line of 16 bytes with the [version of the protocol](crate::PROTOCOL). Then
//! come frames: a byte for the kind, the length of the payload in four bytes (little endian), and the payload. `m` is a message
//! as JSON, `b` is a batch of the load or of records as a block of the binary format.

use std::io::{self, Read, Write};

use iosonar_trace::Batch;
use iosonar_trace::packed::{Packer, Unpacker};
use iosonar_units::one_line;
use serde::{Serialize, de::DeserializeOwned};

use crate::PROTOCOL;

/// The longest payload.
pub const MOST_BYTES: usize = 1 << 20;

const MESSAGE: u8 = b'm';
const BATCH: u8 = b'b';
const GREETING: usize = 16;
const NAME: &str = "iosonar agent ";
/// As much of what is not a greeting is shown.
const MOST_SHOWN: usize = 200;

/// Why what was received cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The connection failed.
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    /// The stream ended within a frame or the greeting.
    #[error("the connection ended in the middle of a message")]
    CutOff,
    /// Something else came instead of the greeting.
    #[error("expected the greeting of 'iosonar agent', got '{0}'")]
    NoGreeting(String),
    /// The other side speaks another version of the protocol.
    #[error(
        "protocol version {theirs} on the other side, but {PROTOCOL} here: install the same version of iosonar on both"
    )]
    Protocol {
        /// Its version.
        theirs: String,
    },
    /// A frame of no known kind.
    #[error("a message of unknown kind 0x{0:02x}")]
    Kind(u8),
    /// A frame that is too long.
    #[error("a message of {0} bytes, expected at most {MOST_BYTES}")]
    TooLong(u32),
    /// Bytes that are not packed records.
    #[error("records that cannot be decoded")]
    NotPacked,
    /// Bytes that are not a message.
    #[error("a message that cannot be decoded: {0}")]
    NoMessage(String),
}

/// What comes in a frame.
#[derive(Debug)]
pub enum Received<M> {
    /// A message.
    Message(M),
    /// Requests or records.
    Batch(Box<Batch>),
}

/// The greeting of this side.
fn greeting() -> [u8; GREETING] {
    let text = format!("{:<15}\n", format!("{NAME}{PROTOCOL}"));
    text.into_bytes()
        .try_into()
        .expect("the protocol's version has one digit")
}

/// What is received.
#[derive(Debug)]
pub struct Frames<R> {
    input: R,
    payload: Vec<u8>,
    unpacker: Unpacker,
}

impl<R: Read> Frames<R> {
    /// Reads the greeting; `None` if the stream ends at once.
    ///
    /// # Errors
    /// If there is another one, or none.
    pub fn greeted(mut input: R) -> Result<Option<Self>, FrameError> {
        let mut seen = Vec::new();
        let mut byte = [0];
        // Byte by byte: a text that is shorter than a greeting must not be waited for.
        while seen.len() < GREETING {
            match input.read(&mut byte) {
                Ok(0) if seen.is_empty() => return Ok(None),
                Ok(0) => return Err(FrameError::NoGreeting(shown(&seen))),
                Ok(_) => seen.push(byte[0]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e.into()),
            }
            if byte[0] == b'\n' {
                break;
            }
        }
        if seen == greeting() {
            return Ok(Some(Self {
                input,
                payload: Vec::new(),
                unpacker: Unpacker::default(),
            }));
        }
        let text = String::from_utf8_lossy(&seen);
        Err(match text.strip_prefix(NAME) {
            Some(theirs) if text.ends_with('\n') => FrameError::Protocol {
                theirs: theirs.trim().to_owned(),
            },
            _ => FrameError::NoGreeting(shown(&seen)),
        })
    }

    /// The next frame; `None` at the end of the stream.
    ///
    /// # Errors
    /// If the stream fails or ends within a frame, or it is not one that is known.
    pub fn receive<M: DeserializeOwned>(&mut self) -> Result<Option<Received<M>>, FrameError> {
        let mut head = [0; 5];
        if !filled(&mut self.input, &mut head)? {
            return Ok(None);
        }
        let [kind, length @ ..] = head;
        if kind != MESSAGE && kind != BATCH {
            return Err(FrameError::Kind(kind));
        }
        let length = u32::from_le_bytes(length);
        if length as usize > MOST_BYTES {
            return Err(FrameError::TooLong(length));
        }
        self.payload.resize(length as usize, 0);
        if !filled(&mut self.input, &mut self.payload)? && length > 0 {
            return Err(FrameError::CutOff);
        }
        if kind == BATCH {
            let mut batch = Batch::default();
            let unpacked = self.unpacker.unpack(&self.payload, &mut batch);
            if unpacked.is_err() || !batch.is_possible() {
                return Err(FrameError::NotPacked);
            }
            return Ok(Some(Received::Batch(Box::new(batch))));
        }
        let message = serde_json::from_slice(&self.payload);
        let message = message.map_err(|e| FrameError::NoMessage(e.to_string()))?;
        Ok(Some(Received::Message(message)))
    }
}

/// Fills `bytes`; `false` if the stream has ended before the first of them.
fn filled(input: &mut impl Read, bytes: &mut [u8]) -> Result<bool, FrameError> {
    let mut have = 0;
    while have < bytes.len() {
        match input.read(&mut bytes[have..]) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(FrameError::CutOff),
            Ok(n) => have += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(true)
}

/// The beginning of what is not a greeting, in printable characters.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let beginning: String = text.trim_end().chars().take(MOST_SHOWN).collect();
    one_line(&beginning)
}

/// Sends frames. Each is complete when a method returns.
#[derive(Debug)]
pub(crate) struct Sender<W> {
    output: W,
    frame: Vec<u8>,
    packer: Packer,
}

impl<W: Write> Sender<W> {
    pub(crate) fn new(output: W) -> Self {
        Self {
            output,
            frame: Vec::new(),
            packer: Packer::default(),
        }
    }

    pub(crate) fn greet(&mut self) -> io::Result<()> {
        self.output.write_all(&greeting())?;
        self.output.flush()
    }

    pub(crate) fn message(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.begin(MESSAGE);
        serde_json::to_writer(&mut self.frame, message)?;
        self.end()
    }

    /// Sends the rows of a batch, in several frames if there are many.
    pub(crate) fn batch(&mut self, batch: &Batch) -> io::Result<()> {
        let mut from = 0;
        while from < batch.len() {
            let until = batch.len().min(from + Batch::ROWS);
            self.begin(BATCH);
            self.packer.pack(batch, from..until, &mut self.frame);
            self.end()?;
            from = until;
        }
        Ok(())
    }

    fn begin(&mut self, kind: u8) {
        self.frame.clear();
        self.frame.extend_from_slice(&[kind, 0, 0, 0, 0]);
    }

    fn end(&mut self) -> io::Result<()> {
        let length = self.frame.len() - 5;
        if length > MOST_BYTES {
            let problem = format!("a message of {length} bytes, expected at most {MOST_BYTES}");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        self.frame[1..5].copy_from_slice(&(length as u32).to_le_bytes());
        self.output.write_all(&self.frame)?;
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use iosonar_trace::{Outcome, Record, Request};
    use iosonar_units::{Nanos, Sector, Sectors};
    use proptest::prelude::*;

    use super::*;
    use crate::{ToAgent, ToCoordinator};

    fn batch(rows: u64) -> Batch {
        let mut batch = Batch::default();
        for i in 0..rows {
            batch.push(&Record {
                request: Request {
                    start: Nanos::new(i * 1000),
                    sector: Sector::new(i.wrapping_mul(0x9e37_79b9) % (1 << 40)),
                    sectors: Sectors::new(8),
                    ..Request::default()
                },
                outcome: Outcome::done(Nanos::new(i % 7), Nanos::new(i % 1001)),
            });
        }
        batch
    }

    fn sent(what: impl FnOnce(&mut Sender<&mut Vec<u8>>)) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sender = Sender::new(&mut bytes);
        sender.greet().unwrap();
        what(&mut sender);
        bytes
    }

    #[test]
    fn what_is_sent_is_received_the_same() {
        let long = batch(10_000);
        let bytes = sent(|sender| {
            sender.message(&ToAgent::Start { at: u64::MAX }).unwrap();
            sender.batch(&long).unwrap();
            sender.message(&ToAgent::Goodbye).unwrap();
        });
        let mut frames = Frames::greeted(&bytes[..]).unwrap().unwrap();
        let (mut messages, mut records) = (Vec::new(), Vec::new());
        while let Some(received) = frames.receive::<ToAgent>().unwrap() {
            match received {
                Received::Message(message) => messages.push(message),
                Received::Batch(batch) => records.extend(batch.records()),
            }
        }
        assert_eq!(
            messages,
            [ToAgent::Start { at: u64::MAX }, ToAgent::Goodbye]
        );
        assert_eq!(records, long.records().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_no_greeting_is_shown() {
        let greeted = |bytes: &'static [u8]| {
            let frames = Frames::greeted(bytes).map(|frames| frames.is_some());
            frames.map_err(|e| e.to_string())
        };
        assert_eq!(greeted(b""), Ok(false));
        assert_eq!(greeted(b"iosonar agent 1\n"), Ok(true));
        for (bytes, problem) in [
            (&b"Welcome to node1!\n"[..], "got 'Welcome to node1"),
            (b"hi\n", "got 'hi'"),
            (b"iosonar ag", "got 'iosonar ag'"),
            (b"\x1b[2J\0\xff\n", "got '\u{fffd}[2J\u{fffd}\u{fffd}'"),
            (
                b"iosonar agent 7\n",
                "protocol version 7 on the other side, but 1 here",
            ),
        ] {
            let error = greeted(bytes).unwrap_err();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn a_frame_that_makes_no_sense_is_an_error() {
        let received = |bytes: &[u8]| {
            let all = [&greeting()[..], bytes].concat();
            let mut frames = Frames::greeted(&all[..]).unwrap().unwrap();
            frames.receive::<ToAgent>().unwrap_err().to_string()
        };
        for (bytes, problem) in [
            (&b"x\0\0\0\0"[..], "unknown kind 0x78"),
            (b"m\xff\xff\xff\xff", "4294967295 bytes"),
            (b"m\x05\0", "in the middle"),
            (b"m\x05\0\0\0\"Sto", "in the middle"),
            (b"m\x05\0\0\0", "in the middle"),
            (b"m\x02\0\0\0{}", "cannot be decoded"),
            (b"m\x06\0\0\0\"dash\"", "unknown variant `dash`"),
            (b"b\x03\0\0\0abc", "records that cannot be decoded"),
        ] {
            let error = received(bytes);
            assert!(error.contains(problem), "{error}");
        }
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_errors_and_never_a_panic(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            garbage in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let mut bytes = sent(|sender| {
                sender.batch(&batch(50)).unwrap();
                sender.message(&ToCoordinator::Taken).unwrap();
            });
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            bytes.extend(garbage);
            if let Ok(Some(mut frames)) = Frames::greeted(&bytes[..]) {
                while let Ok(Some(_)) = frames.receive::<ToCoordinator>() {}
                prop_assert!(frames.payload.capacity() <= 2 * MOST_BYTES);
            }
        }
    }
}
