//! Where the fields of an event are, as its own `format` file says.

use std::ops::Range;

use iosonar_trace::{LiveAction, LiveEvent};

/// The fields that we need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) id: u16,
    action: LiveAction,
    dev: Range<usize>,
    sector: Range<usize>,
    sectors: Range<usize>,
    letters: Range<usize>,
    error: Option<Range<usize>>,
}

impl Layout {
    /// From the text of the `format` file of an event.
    pub(super) fn parse(text: &str, action: LiveAction) -> Result<Self, String> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:"))
            .and_then(|id| id.trim().parse().ok())
            .ok_or("it has no line of the form 'ID: NUMBER'")?;
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let declared = line.trim().strip_prefix("field:")?;
                let mut parts = declared.split(';').map(str::trim);
                let word = parts.next()?.rsplit([' ', '\t']).next()?;
                let word = word.split('[').next()?;
                if word != name {
                    return None;
                }
                let mut number = |key: &str| {
                    let value = parts.next()?.strip_prefix(key)?.strip_prefix(':')?;
                    value.trim().parse::<usize>().ok()
                };
                let offset = number("offset")?;
                Some(offset..offset.checked_add(number("size")?)?)
            })
        };
        let needed = |name: &str| field(name).ok_or_else(|| format!("it has no field '{name}'"));
        Ok(Self {
            id,
            action,
            dev: needed("dev")?,
            sector: needed("sector")?,
            sectors: needed("nr_sector")?,
            letters: needed("rwbs")?,
            error: match action {
                LiveAction::Complete => Some(needed("error")?),
                _ => None,
            },
        })
    }

    /// The event in `data`, if that is long enough.
    pub(super) fn event(&self, time: u64, data: &[u8]) -> Option<LiveEvent> {
        let number = |range: &Range<usize>| {
            let bytes = data.get(range.clone())?;
            Some(little_endian(bytes))
        };
        let dev = number(&self.dev)? as u32;
        let letters_there = data.get(self.letters.clone())?;
        let mut letters = [0; 10];
        for (to, from) in letters.iter_mut().zip(letters_there) {
            *to = *from;
        }
        Some(LiveEvent {
            time,
            action: self.action,
            // The kernel's own numbers: twenty bits are the minor.
            device: (dev >> 20, dev & 0xf_ffff),
            sector: number(&self.sector)?,
            sectors: number(&self.sectors)? as u32,
            letters,
            error: match &self.error {
                Some(range) => i64::from(number(range)? as u32 as i32),
                None => 0,
            },
        })
    }
}

/// The two lowest bytes of every event: which it is.
pub(super) fn id_of(data: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes([*data.first()?, *data.get(1)?]))
}

/// At most eight bytes, the lowest first.
pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: block_rq_complete\nID: 1234\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
        \tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n";

    #[test]
    fn fields_are_where_the_format_says() {
        let layout = Layout::parse(FORMAT, LiveAction::Complete).unwrap();
        let mut data = [0; 40];
        data[..2].copy_from_slice(&1234_u16.to_le_bytes());
        data[8..12].copy_from_slice(&(7_u32 << 20 | 3).to_le_bytes());
        data[16..24].copy_from_slice(&4096_u64.to_le_bytes());
        data[24..28].copy_from_slice(&8_u32.to_le_bytes());
        data[28..32].copy_from_slice(&(-5_i32).to_le_bytes());
        data[32..34].copy_from_slice(b"WS");
        assert_eq!(id_of(&data), Some(layout.id));
        let event = layout.event(99, &data).unwrap();
        assert_eq!(event.device, (7, 3));
        assert_eq!(
            (event.time, event.sector, event.sectors, event.error),
            (99, 4096, 8, -5)
        );
        assert_eq!(&event.letters[..3], b"WS\0");
        assert_eq!(layout.event(99, &data[..30]), None);
    }

    #[test]
    fn a_field_that_ends_nowhere_is_an_error() {
        let beyond = FORMAT.replace("offset:16", &format!("offset:{}", usize::MAX));
        let problem = Layout::parse(&beyond, LiveAction::Complete).unwrap_err();
        assert!(problem.contains("'sector'"), "{problem}");
    }

    #[test]
    fn a_format_without_a_needed_field_is_an_error() {
        let without = FORMAT.replace("nr_sector", "nr_bytes");
        let problem = Layout::parse(&without, LiveAction::Complete).unwrap_err();
        assert!(problem.contains("nr_sector"), "{problem}");
    }
}
