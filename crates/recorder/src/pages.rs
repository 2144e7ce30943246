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
                let number = rest.split(';').next()?.trim().parse::<u32>().ok()?;
                Some(number as usize)
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
    /// as far as the kernel reports: at least one if it only reports that some are. One more is missing if the page cannot
    /// be read to its end.
    pub(super) fn events(self, page: &[u8], report: impl FnMut(u64, &[u8])) -> u64 {
        let word = |at: usize, bytes: usize| {
            let bytes = page.get(at..at + bytes)?;
            Some(little_endian(bytes))
        };
        let (Some(time), Some(commit)) = (word(0, 8), word(self.commit_at, self.commit_bytes))
        else {
            return 1;
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
        let is_read = entries(time, &data[..length.min(data.len())], report).is_some();
        let is_whole = is_read && length <= data.len();
        missed.saturating_add(u64::from(!is_whole))
    }
}

/// Reports the events of a page that begins at `time`. `None` where an entry is not as the kernel writes it, and the
/// rest cannot be read.
fn entries(mut time: u64, data: &[u8], mut report: impl FnMut(u64, &[u8])) -> Option<()> {
    let half = |at: usize| {
        let bytes = data.get(at..at + 4)?;
        Some(little_endian(bytes) as u32)
    };
    let mut at = 0;
    while at < data.len() {
        let header = half(at)?;
        let (kind, delta) = (header & 31, u64::from(header >> 5));
        at += 4;
        match kind {
            // Nothing follows an empty time; otherwise an event was taken back.
            PADDING if delta == 0 => break,
            PADDING => {
                time = time.checked_add(delta)?;
                at += half(at)? as usize;
                if at > data.len() {
                    return None;
                }
            }
            TIME_EXTEND => {
                let value = u64::from(half(at)?) << TIME_BITS | delta;
                time = time.checked_add(value)?;
                at += 4;
            }
            TIME_STAMP => {
                let value = u64::from(half(at)?) << TIME_BITS | delta;
                // The highest five bits are those of the page.
                time = time & !((1 << 59) - 1) | value;
                at += 4;
            }
            _ => {
                time = time.checked_add(delta)?;
                let bytes = match kind {
                    0 => {
                        let all = half(at)?;
                        at += 4;
                        (all as usize).saturating_sub(4)
                    }
                    words => words as usize * 4,
                };
                report(time, data.get(at..at + bytes)?);
                at += bytes.next_multiple_of(4);
            }
        }
    }
    Some(())
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

    fn reported(page: &[u8]) -> (Vec<(u64, Vec<u8>)>, u64) {
        let layout = PageLayout::parse(HEADER).unwrap();
        let mut all = Vec::new();
        let missed = layout.events(page, |time, data| all.push((time, data.to_vec())));
        (all, missed)
    }

    #[test]
    fn entries_of_every_kind_are_told_apart() {
        let (all, missed) = reported(&page(
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
        assert_eq!(reported(&page(0, MISSED | MISSED_STORED, &[])).1, 7);
        assert_eq!(reported(&page(0, MISSED, &[])).1, 1);
    }

    #[test]
    fn an_event_is_missing_where_a_page_cannot_be_read_to_its_end() {
        let first = || entry(1, 10, b"abcd");
        for (name, time, last) in [
            ("longer than the page", 0, entry(28, 1, b"abcd")),
            ("without its length", 0, entry(0, 1, b"")),
            ("padding without its length", 0, entry(PADDING, 1, b"")),
            (
                "padding beyond the page",
                0,
                entry(PADDING, 1, &[5, 0, 0, 0]),
            ),
            (
                "a time without its second half",
                0,
                entry(TIME_EXTEND, 1, b""),
            ),
            ("half an entry", 0, vec![0; 2]),
            ("later than time ends", u64::MAX - 10, entry(1, 1, b"abcd")),
            (
                "padding later than time ends",
                u64::MAX - 10,
                entry(PADDING, 1, &[4, 0, 0, 0]),
            ),
            (
                "extended beyond the end of time",
                u64::MAX - 10,
                entry(TIME_EXTEND, 0, &[1, 0, 0, 0]),
            ),
        ] {
            let expected = vec![(time + 10, b"abcd".to_vec())];
            assert_eq!(
                reported(&page(time, 0, &[first(), last.clone()])),
                (expected, 1),
                "{name}"
            );
        }
        assert_eq!(reported(&page(0, MISSED, &[entry(0, 1, b"")])).1, 2);
        assert_eq!(reported(b"short"), (vec![], 1));
        // Its commit count says that there are twelve bytes more than the page has.
        let mut cut = page(0, 0, &[first(), vec![0; 12]]);
        cut.truncate(cut.len() - 8 - 12);
        assert_eq!(reported(&cut), (vec![(10, b"abcd".to_vec())], 1));
    }

    #[test]
    fn times_of_two_halves_keep_the_highest_bits_of_the_page() {
        let high = 3 << 59;
        let (all, missed) = reported(&page(
            high + 77,
            0,
            &[
                entry(TIME_STAMP, 5, &9_u32.to_le_bytes()),
                entry(1, 1, b"abcd"),
            ],
        ));
        assert_eq!((all[0].0, missed), (high + (9 << 27) + 6, 0));
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
            reported(&page);
        }
    }
}
