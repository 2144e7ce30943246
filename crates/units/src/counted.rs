//! Numbers of things, as people read them.

/// A number with its digits in groups of three.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number and what it counts, in the form for one and for any other number: `1 request was`, `1 000 requests were`.
pub fn counted(n: u64, [one, others]: [&str; 2]) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        let of = |n| counted(n, ["request was", "requests were"]);
        let [none, one, many] = [0, 1, 1000].map(of);
        assert_eq!(
            (&*none, &*one, &*many),
            ("0 requests were", "1 request was", "1 000 requests were")
        );
    }

    #[test]
    fn numbers_are_grouped_in_threes() {
        for (n, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1 000"),
            (1_234_567, "1 234 567"),
        ] {
            assert_eq!(grouped(n), text);
        }
    }
}
