//! What is wrong with a value of a file, without the types of the program that read it.

/// The last line of a message of serde (of TOML or JSON), or its only one, for people who write the file: what was
/// seen, what was expected, and where that is clear what to write instead. What comes before stays as it is.
///
/// ```
/// use iosonar_units::plain_complaint;
///
/// assert_eq!(
///     plain_complaint("invalid type: floating point `5.0`, expected usize"),
///     "is 5.0, expected a whole number of at least 0: write 5"
/// );
/// ```
pub fn plain_complaint(message: &str) -> String {
    let trimmed = message.trim_end();
    let (before, last) = match trimmed.rfind('\n') {
        Some(at) => trimmed.split_at(at + 1),
        None => ("", trimmed),
    };
    match plain(last) {
        Some(plain) => {
            let suggestion = suggestion(last).unwrap_or_default();
            format!("{before}{plain}{suggestion}{}", &message[trimmed.len()..])
        }
        None => message.to_owned(),
    }
}

/// The key or word that was probably meant, where one of those that are known is nearer than the others.
fn suggestion(line: &str) -> Option<String> {
    if !line.starts_with("unknown ") {
        return None;
    }
    let mut words = line.split('`').skip(1).step_by(2);
    let seen = words.next()?;
    let known: Vec<&str> = words.collect();
    let word = nearest(seen, &known)?;
    let quote = if line.starts_with("unknown field") {
        '\''
    } else {
        '"'
    };
    Some(format!("; did you mean {quote}{word}{quote}?"))
}

fn letters(word: &str) -> String {
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// How many letters and digits must be changed, inserted, removed or swapped to turn one word into the other.
pub fn distance_of_words(one: &str, other: &str) -> usize {
    strsim::damerau_levenshtein(&letters(one), &letters(other))
}

/// The one of the known words that is probably meant by `seen`: `raid10` by `RAID 10`. `None` if none is near, or
/// several are equally near.
pub fn nearest<'a>(seen: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |word: &&str| distance_of_words(seen, word);
    let least = known.iter().map(distance).min()?;
    let mut nearest = known.iter().filter(|word| distance(word) == least);
    match (nearest.next(), nearest.next()) {
        (Some(word), None) if least <= 1 + letters(seen).len() / 3 => Some(word),
        _ => None,
    }
}

fn plain(line: &str) -> Option<String> {
    if let Some(rest) = line.strip_prefix("wanted ") {
        return Some(format!("has the wrong type, expected {}", kinds(rest)));
    }
    if let Some(rest) = line.strip_prefix("missing field `") {
        let (key, rest) = rest.split_once('`')?;
        return Some(format!("'{key}' is missing{rest}"));
    }
    if let Some(rest) = line.strip_prefix("unknown field `") {
        let (key, rest) = rest.split_once('`')?;
        return Some(format!("unknown key '{key}'{}", rest.replace('`', "'")));
    }
    if let Some(rest) = line.strip_prefix("unknown variant `") {
        let (value, rest) = rest.split_once('`')?;
        return Some(format!("is \"{value}\"{}", rest.replace('`', "\"")));
    }
    let rest = line
        .strip_prefix("invalid type: ")
        .or_else(|| line.strip_prefix("invalid value: "))?;
    let at = rest.rfind(", expected ")?;
    let (seen, expected) = (seen(&rest[..at]), &rest[at + ", expected ".len()..]);
    // What follows a type, such as ` at line 1 column 5` of JSON or a suggestion, stays.
    let end = expected
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(expected.len());
    let (word, tail) = expected.split_at(end);
    Some(match word {
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => {
            let (number, most) = (whole(&seen), most_of(word));
            if number.is_some_and(|n| n > most) {
                return Some(format!(
                    "is {seen}, expected a whole number from 0 to {most}{tail}"
                ));
            }
            let remedy = number.filter(|n| *n >= 0).map(write).unwrap_or_default();
            format!("is {seen}, expected a whole number of at least 0{remedy}{tail}")
        }
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => {
            let remedy = whole(&seen).map(write).unwrap_or_default();
            format!("is {seen}, expected a whole number{remedy}{tail}")
        }
        "f32" | "f64" => {
            let number = seen.trim_matches('"').trim().parse::<f64>().ok();
            let remedy = number.map(|x| write(format!("{x:?}"))).unwrap_or_default();
            format!("is {seen}, expected a number{remedy}{tail}")
        }
        _ => format!("is {seen}, expected {}", kinds(expected)),
    })
}

/// The largest number of a type without a sign, as far as files can have it.
fn most_of(word: &str) -> i64 {
    match word {
        "u8" => u8::MAX.into(),
        "u16" => u16::MAX.into(),
        "u32" => u32::MAX.into(),
        _ => i64::MAX,
    }
}

fn write(value: impl std::fmt::Display) -> String {
    format!(": write {value}")
}

/// A value that serde describes, as a file has it.
fn seen(described: &str) -> String {
    for (kind, closes) in [("string \"", '"'), ("character `", '`')] {
        if described.starts_with(kind) && described.ends_with(closes) {
            return format!("\"{}\"", &described[kind.len()..described.len() - 1]);
        }
    }
    match (described.find('`'), described) {
        (Some(at), _) if described.ends_with('`') => {
            described[at + 1..].trim_end_matches('`').into()
        }
        (_, "map") => "a table".to_owned(),
        (_, "sequence") => "a list".to_owned(),
        (_, "unit value" | "null" | "Option value") => "empty".to_owned(),
        (_, other) => other.to_owned(),
    }
}

/// The whole number that is meant by `5.0`, `1e5` or `"5"`.
fn whole(seen: &str) -> Option<i64> {
    let number: f64 = seen.trim_matches('"').trim().parse().ok()?;
    (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
}

/// Kinds of values as a file has them.
fn kinds(expected: &str) -> String {
    if let Some(name) = expected
        .strip_prefix("struct ")
        .or(expected.strip_prefix("enum "))
    {
        let end = name
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(name.len());
        return format!("a table{}", &name[end..]);
    }
    let words = [
        ("a string", "a quoted string"),
        ("string or table", "a quoted string, or a table"),
        ("string", "a quoted string"),
        ("a boolean", "true or false"),
        ("a sequence", "a list"),
        ("a map", "a table"),
        ("map", "a table"),
        ("a borrowed string", "a quoted string"),
        ("exactly 1 element, more than 1 element", "one key only"),
        ("exactly 1 element, less than 1 element", "a key"),
    ];
    for (serde, plain) in words {
        if let Some(rest) = expected.strip_prefix(serde) {
            return format!("{plain}{rest}");
        }
    }
    expected
        .replace("floating point", "number")
        .replace("integer", "whole number")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_complaint_names_a_type_of_the_program() {
        for (message, expected) in [
            (
                "invalid type: floating point `100000.0`, expected u64",
                "is 100000.0, expected a whole number of at least 0: write 100000",
            ),
            (
                "invalid type: floating point `2.5`, expected u64",
                "is 2.5, expected a whole number of at least 0",
            ),
            (
                "invalid value: integer `1000000000000`, expected u32",
                "is 1000000000000, expected a whole number from 0 to 4294967295",
            ),
            (
                "invalid value: integer `-1`, expected u64",
                "is -1, expected a whole number of at least 0",
            ),
            (
                "invalid type: string \"5\", expected usize",
                "is \"5\", expected a whole number of at least 0: write 5",
            ),
            (
                "invalid type: string \"20\", expected f64",
                "is \"20\", expected a number: write 20.0",
            ),
            (
                "invalid type: string \"fast\", expected f64",
                "is \"fast\", expected a number",
            ),
            (
                "invalid type: integer `8`, expected a string; a size has a unit, such as \"128KiB\"",
                "is 8, expected a quoted string; a size has a unit, such as \"128KiB\"",
            ),
            (
                "invalid type: boolean `true`, expected u32 at line 1 column 8",
                "is true, expected a whole number of at least 0 at line 1 column 8",
            ),
            (
                "invalid type: integer `1`, expected a boolean",
                "is 1, expected true or false",
            ),
            (
                "invalid type: sequence, expected struct DataSheet",
                "is a list, expected a table",
            ),
            ("missing field `level`", "'level' is missing"),
            (
                "wanted exactly 1 element, more than 1 element",
                "has the wrong type, expected one key only",
            ),
            (
                "unknown field `disk`, expected one of `level`, `disks`, `layout`",
                "unknown key 'disk', expected one of 'level', 'disks', 'layout'; did you mean 'disks'?",
            ),
            (
                "unknown field `colour`, expected one of `level`, `disks`",
                "unknown key 'colour', expected one of 'level', 'disks'",
            ),
            (
                "unknown variant `RAID 10`, expected one of `raid1`, `raid10`",
                "is \"RAID 10\", expected one of \"raid1\", \"raid10\"; did you mean \"raid10\"?",
            ),
            (
                "unknown variant `raid7`, expected one of `raid0`, `raid1`",
                "is \"raid7\", expected one of \"raid0\", \"raid1\"",
            ),
            (
                "TOML parse error at line 2\n  |\n2 | x = 5.0\ninvalid type: floating point `5.0`, expected u8\n",
                "TOML parse error at line 2\n  |\n2 | x = 5.0\nis 5.0, expected a whole number of at least 0: write 5\n",
            ),
            ("anything else", "anything else"),
        ] {
            assert_eq!(plain_complaint(message), expected);
        }
    }
}
