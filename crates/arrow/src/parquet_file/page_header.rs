//! The lengths in the header of a page, before the library takes memory for them.
//!
//! A header is a struct in the compact protocol of Thrift: each field is a byte with the distance of its number from the
//! last one's and its type, then its value; integers are varints of seven bits a byte.

use std::io::{self, Read};

/// No page of any writer is larger: the usual size is 1 MiB.
const LARGEST: u64 = 256 << 20;
/// A file of any size may have pages of this size: runs of one value shrink to nothing.
const ANY_FILE: u64 = 16 << 20;
/// What the usual compressions make of a byte at most.
const RATIO: u64 = 1024;
/// Structs within each other.
const DEEPEST: u32 = 16;

/// The numbers of fields, of a page's header and of that of a dictionary.
const UNCOMPRESSED: i64 = 2;
const DICTIONARY: i64 = 7;
const VALUES: i64 = 1;

/// What a page takes in memory.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sizes {
    uncompressed: i64,
    /// The values of a dictionary.
    values: i64,
}

/// Checks the page whose header `input` begins with, in a file of this number of bytes.
pub(super) fn check(input: impl Read, file_bytes: u64) -> io::Result<()> {
    let Sizes {
        uncompressed,
        values,
    } = Header { input }.sizes()?;
    let most = RATIO.saturating_mul(file_bytes).saturating_add(ANY_FILE);
    let most = most.min(LARGEST);
    if u64::try_from(uncompressed).is_ok_and(|bytes| bytes > most) {
        return Err(implausible(format!(
            "a page of {uncompressed} bytes when decompressed, expected at most {most} in a file of {file_bytes} bytes"
        )));
    }
    // Each takes a byte at least, and the library reserves memory for all.
    if values > uncompressed {
        return Err(implausible(format!(
            "a dictionary of {values} values in {uncompressed} bytes, expected at most one value per byte"
        )));
    }
    Ok(())
}

fn implausible(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A header as it is read.
struct Header<R> {
    input: R,
}

/// The types of fields.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I16: u8 = 4;
const I32: u8 = 5;
const I64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const STRUCT: u8 = 12;

impl<R: Read> Header<R> {
    fn sizes(&mut self) -> io::Result<Sizes> {
        let mut sizes = Sizes::default();
        let mut last = 0;
        while let Some((number, of)) = self.field(&mut last)? {
            match (number, of) {
                (UNCOMPRESSED, I32) => sizes.uncompressed = self.integer()?,
                (DICTIONARY, STRUCT) => {
                    let mut last = 0;
                    while let Some((number, of)) = self.field(&mut last)? {
                        match (number, of) {
                            (VALUES, I32) => sizes.values = self.integer()?,
                            _ => self.skip(of, DEEPEST)?,
                        }
                    }
                }
                _ => self.skip(of, DEEPEST)?,
            }
        }
        Ok(sizes)
    }

    /// The number and the type of the next field of a struct, behind the field `last`; `None` at its end.
    fn field(&mut self, last: &mut i64) -> io::Result<Option<(i64, u8)>> {
        let byte = self.byte()?;
        let (distance, of) = (byte >> 4, byte & 0xf);
        if of == 0 {
            return Ok(None);
        }
        *last = match distance {
            0 => self.integer()?,
            distance => last.saturating_add(i64::from(distance)),
        };
        Ok(Some((*last, of)))
    }

    fn skip(&mut self, of: u8, deepest: u32) -> io::Result<()> {
        let Some(deeper) = deepest.checked_sub(1) else {
            return Err(implausible(format!(
                "the structs in the page header are nested more than {DEEPEST} levels deep"
            )));
        };
        match of {
            TRUE | FALSE => Ok(()),
            BYTE => self.pass(1),
            I16 | I32 | I64 => self.integer().map(drop),
            DOUBLE => self.pass(8),
            BINARY => {
                let bytes = self.varint()?;
                self.pass(bytes)
            }
            LIST | SET => {
                let byte = self.byte()?;
                let items = match byte >> 4 {
                    15 => self.varint()?,
                    items => u64::from(items),
                };
                for _ in 0..items {
                    match byte & 0xf {
                        // Within a list, they take a byte.
                        TRUE | FALSE => self.pass(1)?,
                        of => self.skip(of, deeper)?,
                    }
                }
                Ok(())
            }
            STRUCT => {
                let mut last = 0;
                while let Some((_, of)) = self.field(&mut last)? {
                    self.skip(of, deeper)?;
                }
                Ok(())
            }
            other => Err(implausible(format!(
                "the page header contains a field of unknown type {other}"
            ))),
        }
    }

    fn pass(&mut self, bytes: u64) -> io::Result<()> {
        let passed = io::copy(&mut self.input.by_ref().take(bytes), &mut io::sink())?;
        match passed == bytes {
            true => Ok(()),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn byte(&mut self) -> io::Result<u8> {
        let mut byte = [0];
        self.input.read_exact(&mut byte)?;
        Ok(byte[0])
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(implausible(
            "the page header contains a number longer than 64 bits".to_owned(),
        ))
    }

    /// A number whose lowest bit is its sign.
    fn integer(&mut self) -> io::Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn varint(mut number: u64, bytes: &mut Vec<u8>) {
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    /// A page of a dictionary.
    fn dictionary(uncompressed: u64, values: u64) -> Vec<u8> {
        let mut bytes = vec![0x15];
        varint(2 * 2, &mut bytes);
        bytes.push(0x15);
        varint(2 * uncompressed, &mut bytes);
        bytes.push(0x15);
        varint(2 * 10, &mut bytes);
        // Field 5 is that of a data page: a struct with an integer, a text, a list of two booleans and a struct.
        bytes.extend([
            0x2c, 0x15, 0x02, 0x18, 3, b'a', b'b', b'c', 0x19, 0x21, 1, 2, 0x1c, 0x11, 0, 0,
        ]);
        bytes.extend([0x2c, 0x15]);
        varint(2 * values, &mut bytes);
        // The encoding, and the ends of both structs.
        bytes.extend([0x15, 0, 0, 0]);
        bytes
    }

    #[test]
    fn lengths_are_found_behind_fields_of_all_types() {
        let bytes = dictionary(1000, 7);
        let sizes = Header { input: &*bytes }.sizes().unwrap();
        let expected = Sizes {
            uncompressed: 1000,
            values: 7,
        };
        assert_eq!(sizes, expected);
        for length in 0..bytes.len() {
            assert!(
                Header {
                    input: &bytes[..length]
                }
                .sizes()
                .is_err()
            );
        }
    }

    #[test]
    fn pages_and_dictionaries_that_take_much_more_memory_than_the_file_are_refused() {
        let of = |uncompressed, values, file_bytes| {
            let checked = check(&*dictionary(uncompressed, values), file_bytes);
            checked.map_err(|error| error.to_string())
        };
        assert_eq!(of(ANY_FILE, 1, 0), Ok(()));
        assert_eq!(of(LARGEST, 1, u64::MAX), Ok(()));
        let error = of(i32::MAX as u64, 1, 1000).unwrap_err();
        assert_eq!(
            error,
            "a page of 2147483647 bytes when decompressed, expected at most 17801216 in a file of 1000 bytes"
        );
        assert!(of(LARGEST + 1, 1, u64::MAX).is_err());
        assert_eq!(of(100, 100, 1000), Ok(()));
        let error = of(100, 101, 1000).unwrap_err();
        assert!(error.contains("101 values in 100 bytes"), "{error}");
    }

    #[test]
    fn structs_within_structs_do_not_take_the_stack() {
        let error = check(&*vec![0x1c; 1 << 20], 1 << 20).unwrap_err();
        assert!(error.to_string().contains("nested more than"), "{error}");
    }
}
