//! What the points of a study have in common, in words.

use super::{Point, Varied};

impl Varied {
    /// What all points were simulated with.
    pub(super) fn subject(&self) -> String {
        let array = |point: &Point| point.array.clone();
        let arrays: Vec<String> = self.points.iter().map(array).collect();
        in_common(&arrays).unwrap_or_else(|| self.scenarios.join(", "))
    }
}

/// What descriptions have in common: numbers that differ become a range. `None` if other words differ, or the
/// level, which is a name.
fn in_common(descriptions: &[String]) -> Option<String> {
    let words: Vec<Vec<&str>> = descriptions
        .iter()
        .map(|d| d.split(' ').collect())
        .collect();
    let first = words.first()?;
    if words.iter().any(|words| words.len() != first.len()) {
        return None;
    }
    let common = |i: usize| {
        let all = || words.iter().map(|words| words[i]);
        if all().all(|word| word == first[i]) {
            return Some(first[i].to_owned());
        }
        if i > 0 && first[i - 1] == "RAID" {
            return None;
        }
        let numbers: Vec<u64> = all().map(|word| word.parse().ok()).collect::<Option<_>>()?;
        Some(format!(
            "{} to {}",
            numbers.iter().min()?,
            numbers.iter().max()?
        ))
    };
    let words: Option<Vec<String>> = (0..first.len()).map(common).collect();
    Some(words?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::in_common;

    #[test]
    fn descriptions_that_differ_in_a_number_have_a_range_in_common() {
        let of = |disks: &[u32]| {
            let text = |n: &u32| format!("RAID 5 of {n} x a disk");
            in_common(&disks.iter().map(text).collect::<Vec<_>>())
        };
        assert_eq!(of(&[4, 4]).as_deref(), Some("RAID 5 of 4 x a disk"));
        assert_eq!(
            of(&[8, 4, 12]).as_deref(),
            Some("RAID 5 of 4 to 12 x a disk")
        );
        let levels = ["RAID 5 of 4 x a disk", "RAID 0 of 4 x a disk"];
        assert_eq!(in_common(&levels.map(str::to_owned)), None);
    }
}
