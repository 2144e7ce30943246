//! Words that fit into their room: shortened in the middle, and still different from each other.

use iosonar_units::one_line;

use super::text;

/// A text as far as it has room: without its middle where it is too wide.
pub(super) fn shortened(words: &str, size: f64, is_bold: bool, room: f64) -> String {
    let clean = one_line(words);
    // Letters are at most as wide as high: a short text needs no measuring.
    let surely_fits = clean.chars().count() as f64 * size < room;
    if surely_fits || text::width(&clean, size, is_bold) <= room {
        return clean;
    }
    without_middle(&clean, "", "", |text| {
        text::width(text, size, is_bold) <= room
    })
}

/// Several texts that each have this room. Those that are too wide lose their middle; where that would make two of them
/// the same, they keep what they differ in.
pub(super) fn all_shortened(words: &[String], size: f64, room: f64) -> Vec<String> {
    let fits = |text: &str| text::width(text, size, false) <= room;
    let plain: Vec<String> = words
        .iter()
        .map(|words| shortened(words, size, false, room))
        .collect();
    let is_twice = |i: usize| {
        let mut others = plain.iter().enumerate();
        others.any(|(k, other)| k != i && *other == plain[i] && words[k] != words[i])
    };
    if !(0..words.len()).any(is_twice) {
        return plain;
    }
    let long: Vec<Vec<char>> = words
        .iter()
        .zip(&plain)
        .filter(|(words, plain)| words != plain)
        .map(|(words, _)| one_line(words).chars().collect())
        .collect();
    let same = |of: &dyn Fn(&[char], usize) -> char| {
        let shortest = long.iter().map(Vec::len).min().unwrap_or(0);
        let first = &long[0];
        let is_same = |i: &usize| long.iter().all(|text| of(text, *i) == of(first, *i));
        (0..shortest).take_while(is_same).count()
    };
    let before = same(&|text, i| text[i]);
    let after = same(&|text, i| text[text.len() - 1 - i]);
    let of = |(words, plain): (&String, String)| {
        if *words == plain {
            return plain;
        }
        let text: Vec<char> = one_line(words).chars().collect();
        around(&text, before, text.len().saturating_sub(after), &fits)
    };
    words.iter().zip(plain).map(of).collect()
}

/// What stands from `from` to `to` in a text, with as much around it as fits.
fn around(text: &[char], from: usize, to: usize, fits: &dyn Fn(&str) -> bool) -> String {
    let (mut from, mut to) = (from.min(text.len()), to.max(from).min(text.len()));
    let written = |from: usize, to: usize| {
        let before = if from > 0 { "…" } else { "" };
        let after = if to < text.len() { "…" } else { "" };
        let middle: String = text[from..to].iter().collect();
        format!("{before}{middle}{after}")
    };
    if !fits(&written(from, to)) {
        let core: String = text[from..to].iter().collect();
        let before = if from > 0 { "…" } else { "" };
        let after = if to < text.len() { "…" } else { "" };
        return without_middle(&core, before, after, fits);
    }
    loop {
        let mut has_grown = false;
        if from > 0 && fits(&written(from - 1, to)) {
            from -= 1;
            has_grown = true;
        }
        if to < text.len() && fits(&written(from, to + 1)) {
            to += 1;
            has_grown = true;
        }
        if !has_grown {
            return written(from, to);
        }
    }
}

/// The most of a text that fits without its middle, between what stands before and after it.
fn without_middle(words: &str, before: &str, after: &str, fits: impl Fn(&str) -> bool) -> String {
    let text: Vec<char> = words.chars().collect();
    let written = |kept: usize| {
        let (head, tail) = (kept.div_ceil(2), kept / 2);
        let head: String = text[..head].iter().collect();
        let tail: String = text[text.len() - tail..].iter().collect();
        let (head, tail) = (head.trim_end(), tail.trim_start());
        format!("{before}{head}…{tail}{after}")
    };
    let (mut fitting, mut too_many) = (0, text.len());
    while too_many - fitting > 1 {
        let kept = fitting.midpoint(too_many);
        if fits(&written(kept)) {
            fitting = kept;
        } else {
            too_many = kept;
        }
    }
    written(fitting)
}

/// A text in lines of at most this width, broken between words; the last of at most `most` lines is shortened.
pub(super) fn lines(words: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let clean = one_line(words);
    let mut lines: Vec<String> = Vec::new();
    let mut rest = clean.as_str();
    while !rest.is_empty() && lines.len() + 1 < most {
        if text::width(rest, size, false) <= room {
            break;
        }
        let spaces = rest.match_indices(' ').map(|(at, _)| at);
        let fitting = spaces.take_while(|&at| text::width(&rest[..at], size, false) <= room);
        let Some(end) = fitting.last().filter(|&end| end > 0) else {
            break;
        };
        lines.push(rest[..end].to_owned());
        rest = rest[end..].trim_start();
    }
    if !rest.is_empty() {
        lines.push(shortened(rest, size, false, room));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loses_its_middle_and_no_more_than_it_must() {
        let room = text::width("RAID 5 of four…7200 rpm", 16.0, false);
        let short = shortened(
            "RAID 5 of four large disks with 7200 rpm",
            16.0,
            false,
            room,
        );
        assert!(
            short.starts_with("RAID 5 of") && short.ends_with("7200 rpm"),
            "{short}"
        );
        assert_eq!(short.matches('…').count(), 1);
        assert!(text::width(&short, 16.0, false) <= room);
        assert_eq!(shortened("short", 16.0, false, room), "short");
    }

    #[test]
    fn names_that_differ_in_the_middle_still_differ_when_they_are_short() {
        let name =
            |n: u32| format!("an array of the long evaluation with {n} disks of the same kind");
        let names: Vec<String> = [4, 6, 8].map(name).to_vec();
        let room = text::width("an array of the same kind", 16.0, false);
        let short = all_shortened(&names, 16.0, room);
        for (i, one) in short.iter().enumerate() {
            assert!(text::width(one, 16.0, false) <= room, "{one}");
            assert!(!short[..i].contains(one), "{short:?}");
        }
        // Without their middle they would all be the same.
        let plain: Vec<String> = names
            .iter()
            .map(|n| shortened(n, 16.0, false, room))
            .collect();
        assert!(plain.windows(2).all(|pair| pair[0] == pair[1]), "{plain:?}");
    }

    #[test]
    fn lines_are_broken_between_words_and_the_last_is_shortened() {
        let text = "one two three four five six seven eight nine ten";
        let room = text::width("one two three", 16.0, false);
        let all = lines(text, 16.0, room, 9);
        assert_eq!(all.join(" "), text);
        assert!(all.len() > 3 && all[0] == "one two three");
        let two = lines(text, 16.0, room, 2);
        assert_eq!(two.len(), 2);
        assert!(two[1].contains('…') && two[1].ends_with("ten"), "{two:?}");
    }
}
