//! The pages of the kernel's ring buffer (`Documentation/trace/ring-buffer-design.rst`, and
//! `include/linux/ring_buffer.h` for the types of entries).
//!
//! A page begins with a time and the length of what is in it; then come entries, each with its type
//! in five bits and the time since the one before in 27.

use super::layout::little_endian;

/// Where things are in a page, as `events/header_page` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageLayout {
    commit_at: usize,
    commit_bytes: usize,
    data_at: usize,
}

/// Events are missing before this page.
const MISSED: u64 = 1 << 31;
/// How many, is stored behind the data.
const MISSED_STORED: u64 = 1 << 30;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of a time difference in an entry.
const TIME_BITS: u32 = 27;

impl PageLayout {
    /// From the text of `events/header_page`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let field = |name: &str| {
            let line = text
                .lines()
                .find(|line| line.contains(&format!(" {name};")))?;
            let number = |key: &str| {
                let rest = &line[line.find(key)? + key.len()..];
                rest.split(';').next()?.trim().parse::<usize>().ok()
            };
            Some((number("offset:")?, number("size:")?))
        };
        let (commit_at, commit_bytes) = field("commit")?;
        let (data_at, _) = field("data")?;
        Some(Self {
            commit_at,
            commit_bytes,
            data_at,
        })
    }

    /// Reports every event of a page: its time and its data. Returns how many are missing before the page,
    /// as far as the kernel reports: at least one if it only reports that some are.
    pub(super) fn events(self, page: &[u8], mut tell: impl FnMut(u64, &[u8])) -> u64 {
        let word = |at: usize, bytes: usize| {
            let bytes = page.get(at..at + bytes)?;
            Some(little_endian(bytes))
        };
        let (Some(mut time), Some(commit)) = (word(0, 8), word(self.commit_at, self.commit_bytes))
        else {
            return 0;
        };
        let length = (commit & 0xf_ffff) as usize;
        let data = &page[self.data_at.min(page.len())..];
        let missed = if commit & MISSED == 0 {
            0
        } else if commit & MISSED_STORED != 0 {
            word(self.data_at + length, 8).unwrap_or(1)
        } else {
            1
        };
        let data = &data[..length.min(data.len())];
        let half = |at: usize| {
            let bytes = data.get(at..at + 4)?;
            Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        };
        let mut at = 0;
        while let Some(header) = half(at) {
            let (kind, delta) = (header & 31, u64::from(header >> 5));
            at += 4;
            match kind {
                PADDING => {
                    // Nothing follows an empty time; otherwise an event was taken back.
                    let (Some(skip), true) = (half(at), delta != 0) else {
                        break;
                    };
                    time += delta;
                    at += skip as usize;
                }
                TIME_EXTEND | TIME_STAMP => {
                    let Some(high) = half(at) else { break };
                    let value = u64::from(high) << TIME_BITS | delta;
                    time = match kind {
                        TIME_EXTEND => time + value,
                        // The highest five bits are those of the page.
                        _ => time & !((1 << 59) - 1) | value,
                    };
                    at += 4;
                }
                _ => {
                    time += delta;
                    let bytes = match kind {
                        0 => {
                            let Some(all) = half(at) else { break };
                            at += 4;
                            (all as usize).saturating_sub(4)
                        }
                        words => words as usize * 4,
                    };
                    let Some(event) = data.get(at..at + bytes) else {
                        break;
                    };
                    tell(time, event);
                    at += bytes.next_multiple_of(4);
                }
            }
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn page(time: u64, flags: u64, entries: &[Vec<u8>]) -> Vec<u8> {
        let data: Vec<u8> = entries.concat();
        let mut page = time.to_le_bytes().to_vec();
        page.extend((data.len() as u64 | flags).to_le_bytes());
        page.extend(data);
        page.extend(7_u64.to_le_bytes());
        page
    }

    fn entry(kind: u32, delta: u32, rest: &[u8]) -> Vec<u8> {
        let mut bytes = (delta << 5 | kind).to_le_bytes().to_vec();
        bytes.extend(rest);
        bytes
    }

    fn told(page: &[u8]) -> (Vec<(u64, Vec<u8>)>, u64) {
        let layout = PageLayout::parse(HEADER).unwrap();
        let mut all = Vec::new();
        let missed = layout.events(page, |time, data| all.push((time, data.to_vec())));
        (all, missed)
    }

    #[test]
    fn entries_of_every_kind_are_told_apart() {
        let (all, missed) = told(&page(
            1000,
            0,
            &[
                entry(1, 10, b"abcd"),
                entry(0, 5, &[&8_u32.to_le_bytes()[..], b"long"].concat()),
                entry(TIME_EXTEND, 3, &2_u32.to_le_bytes()),
                entry(2, 1, b"12345678"),
                entry(PADDING, 4, &[&8_u32.to_le_bytes()[..], b"gone"].concat()),
                entry(1, 1, b"last"),
                entry(PADDING, 0, b"rest of the page"),
            ],
        ));
        let extended = 1015 + (2 << 27) + 3;
        assert_eq!(
            all,
            [
                (1010, b"abcd".to_vec()),
                (1015, b"long".to_vec()),
                (extended + 1, b"12345678".to_vec()),
                (extended + 6, b"last".to_vec()),
            ]
        );
        assert_eq!(missed, 0);
    }

    #[test]
    fn missing_events_are_counted() {
        assert_eq!(told(&page(0, MISSED | MISSED_STORED, &[])).1, 7);
        assert_eq!(told(&page(0, MISSED, &[])).1, 1);
    }

    #[test]
    fn pages_of_any_content_do_no_harm() {
        let mut noise = 1_u64;
        for length in 0..300 {
            let page: Vec<u8> = (0..length)
                .map(|_| {
                    noise = noise
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    (noise >> 33) as u8
                })
                .collect();
            told(&page);
        }
    }
}
