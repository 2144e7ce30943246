//! How lines are laid out: broken where the terminal ends, in characters that it has, and without columns for readers
//! that cannot see them.

use std::fmt::Write;

use super::style::width;

/// A value begins no further to the right than this, or lines that it goes on in are indented little.
const FURTHEST: usize = 32;

/// `text` in lines of at most `columns`, where its words allow that. A line goes on below its value.
pub(crate) fn broken(text: &str, columns: Option<usize>) -> String {
    let Some(columns) = columns.filter(|&columns| columns >= 20) else {
        return text.to_owned();
    };
    if text.lines().all(|line| width(line) <= columns) {
        return text.to_owned();
    }
    let mut broken = String::new();
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        match width(line) <= columns {
            true => broken += line,
            false => break_line(&mut broken, line, columns),
        }
        broken += end;
    }
    broken
}

fn break_line(broken: &mut String, line: &str, columns: usize) {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let below = match value_at(line) {
        Some(at) if at <= FURTHEST.min(columns / 2) => at,
        _ => (indent + 2).min(columns / 2),
    };
    let mut at = 0;
    let mut is_first = true;
    // Blanks before a word belong to it: they are what aligns values.
    for word in words(line) {
        let (blanks, word) = word.split_at(word.len() - word.trim_start_matches(' ').len());
        let room = width(blanks) + width(word);
        if !is_first && at + room > columns {
            let _ = write!(broken, "\n{:below$}{word}", "");
            at = below + width(word);
        } else {
            *broken += blanks;
            *broken += word;
            at += room;
        }
        is_first = false;
    }
}

/// The words of a line, each with the blanks before it; a number and its unit are one.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = end_of_word(rest, 0);
        while rest[..end].ends_with(|c: char| c.is_ascii_digit()) {
            let next = end_of_word(rest, end);
            if !is_glued(&rest[end..next]) {
                break;
            }
            end = next;
        }
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Where the word of `text` ends that begins at `from`, or after the blanks there.
fn end_of_word(text: &str, from: usize) -> usize {
    let blanks = text[from..].len() - text[from..].trim_start_matches(' ').len();
    let begin = from + blanks;
    text[begin..].find(' ').map_or(text.len(), |at| begin + at)
}

/// Whether a word with the blanks before it is a unit or a group of digits of the number before it.
fn is_glued(word: &str) -> bool {
    let Some(word) = word.strip_prefix(' ') else {
        return false;
    };
    let bare = word.trim_end_matches([',', ';', '.', ')', ':']);
    let is_group = bare.len() == 3 && bare.bytes().all(|b| b.is_ascii_digit());
    is_group || UNITS.contains(&bare)
}

/// What stands behind numbers in texts.
const UNITS: &[&str] = &[
    "%", "ns", "µs", "us", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB",
    "GB", "TB",
];

/// The column of a value that stands beside its label, at least two blanks to the right of it.
fn value_at(line: &str) -> Option<usize> {
    let (label, value) = label_and_value(line)?;
    Some(width(line) - width(value)).filter(|_| !label.is_empty())
}

fn label_and_value(line: &str) -> Option<(&str, &str)> {
    let label = line.trim_start_matches(' ');
    let (label, value) = label.split_once("  ")?;
    let value = value.trim_start_matches(' ');
    (!value.is_empty()).then_some((label, value))
}

/// `text` without the runs of blanks that align values with each other: `label: value`.
pub(crate) fn without_alignment(text: &str) -> String {
    let mut plain = String::new();
    for line in text.split_inclusive('\n') {
        let end = if line.ends_with('\n') { "\n" } else { "" };
        let line = line.trim_end_matches('\n').trim_start_matches(' ');
        plain += &match label_and_value(line) {
            Some((label, value)) => {
                let value: Vec<&str> = value.split_whitespace().collect();
                format!("{}: {}", label.trim_end_matches(':'), value.join(" "))
            }
            None => line.to_owned(),
        };
        plain += end;
    }
    plain
}

/// `text` in ASCII. Letters that it lacks are shown by their numbers.
pub(crate) fn in_ascii(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let text = text.replace("×/÷", "within a factor of");
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\0'..='\x7f' => ascii.push(c),
            'µ' | 'μ' => ascii.push('u'),
            '×' => ascii.push('x'),
            '÷' | '⁄' => ascii.push('/'),
            '±' => ascii += "+/-",
            '≤' => ascii += "<=",
            '≥' => ascii += ">=",
            '≈' => ascii.push('~'),
            '–' | '—' | '‑' | '−' | '─' | '━' => ascii.push('-'),
            '…' => ascii += "...",
            '→' => ascii += "->",
            '‘' | '’' => ascii.push('\''),
            '“' | '”' => ascii.push('"'),
            '·' | '•' => ascii.push('*'),
            '│' | '┃' => ascii.push('|'),
            '┌' | '┐' | '└' | '┘' | '├' | '┤' | '┬' | '┴' | '┼' => {
                ascii.push('+');
            }
            '█' | '▀' | '▄' => ascii.push('#'),
            '\u{a0}' | '\u{202f}' | '\u{2009}' => ascii.push(' '),
            '²' => ascii += "^2",
            // In names of files: a letter like it would be another name.
            _ => ascii.extend(c.escape_unicode()),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_below_its_value() {
        let line = "  start delay   99.10 % within 10 us, 99.90 % within 100 us, all within 1 ms\n";
        assert_eq!(
            broken(line, Some(50)),
            "  start delay   99.10 % within 10 us, 99.90 %\n                within 100 us, all within 1 ms\n"
        );
        assert_eq!(broken(line, None), line);
    }

    #[test]
    fn prose_goes_on_a_little_to_the_right() {
        assert_eq!(
            broken("error: one two three four five", Some(20)),
            "error: one two three\n  four five"
        );
    }

    #[test]
    fn a_word_that_is_longer_than_the_line_is_not_broken() {
        let path = "/a/path/that/is/much/longer/than/twenty/columns";
        assert_eq!(
            broken(&format!("read {path} again"), Some(20)),
            format!("read\n  {path}\n  again")
        );
    }

    #[test]
    fn a_number_is_not_parted_from_its_unit_nor_its_digits_from_each_other() {
        assert_eq!(
            broken("hits of 1 MiB: 100.0 %, 4 MiB: 25 %", Some(20)),
            "hits of 1 MiB:\n  100.0 %, 4 MiB:\n  25 %"
        );
        assert_eq!(
            broken("after a while 12 345 requests", Some(20)),
            "after a while 12 345\n  requests"
        );
        assert_eq!(
            broken("after a day or 12 345 requests", Some(20)),
            "after a day or\n  12 345 requests"
        );
    }

    #[test]
    fn colours_do_not_count_when_lines_are_broken() {
        let line = "\u{1b}[1mabcdefgh\u{1b}[0m abcdefgh";
        assert_eq!(broken(line, Some(20)), line);
    }

    #[test]
    fn labels_and_values_need_no_alignment() {
        assert_eq!(
            without_alignment("name\n  mean          5 ms\n  wait   for   it\n"),
            "name\nmean: 5 ms\nwait: for it\n"
        );
        assert_eq!(without_alignment("a sentence.\n"), "a sentence.\n");
    }

    #[test]
    fn units_and_signs_are_readable_in_ascii() {
        assert_eq!(in_ascii("5 µs ± 2 × 3 – 4 …"), "5 us +/- 2 x 3 - 4 ...");
        assert_eq!(in_ascii("5 ms ×/÷ 3"), "5 ms within a factor of 3");
        assert_eq!(in_ascii("Größe.ios"), "Gr\\u{f6}\\u{df}e.ios");
        assert!(in_ascii("└──┬ ▀ 日本").is_ascii());
    }
}
