//! Runs that are wanted, by patterns of their paths.

use super::{Run, SweepError};

/// The runs whose path is like one of the patterns: `*` any characters, `?` one of them; a pattern without either is a part
/// of the path. All runs if there is no pattern.
///
/// # Errors
/// If no run has such a path.
pub fn only(patterns: &[String], mut runs: Vec<Run>) -> Result<Vec<Run>, SweepError> {
    if patterns.is_empty() {
        return Ok(runs);
    }
    runs.retain(|run| {
        let path = run.path.to_string_lossy();
        patterns.iter().any(|pattern| is_like(&path, pattern))
    });
    if runs.is_empty() {
        let patterns = patterns.join(" --only ");
        let problem = format!("--only {patterns}: no run matches");
        return Err(SweepError::Source(problem));
    }
    Ok(runs)
}

/// Whether a text is like a pattern: '*' any characters, '?' one of them; without either the text contains it.
fn is_like(text: &str, pattern: &str) -> bool {
    if !pattern.contains(['*', '?']) {
        return text.contains(pattern);
    }
    let (text, pattern): (Vec<char>, Vec<char>) =
        (text.chars().collect(), pattern.chars().collect());
    // The last '*' takes one character more whenever what follows it does not fit.
    let (mut t, mut p, mut star) = (0, 0, None);
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((t, p));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                t += 1;
                p += 1;
            }
            _ => match star {
                Some((at, of)) => {
                    star = Some((at + 1, of));
                    (t, p) = (at + 1, of + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::is_like;

    #[test]
    fn patterns_are_looked_for_as_in_a_shell() {
        for (text, pattern, expected) in [
            ("disks=04/level=raid5", "raid5", true),
            ("disks=04/level=raid5", "raid6", false),
            ("disks=04/level=raid5", "disks=04*", true),
            ("disks=04/level=raid5", "*level=raid?", true),
            ("disks=04/level=raid5", "*raid", false),
            ("disks=04/level=raid5/rep=02", "*raid5*02", true),
            ("aab", "*ab", true),
            ("", "*", true),
            ("", "?", false),
        ] {
            assert_eq!(is_like(text, pattern), expected, "{text} {pattern}");
        }
    }
}
