//! Words and numbers as charts and tables say them.

use iosonar_plot::{Table, grouped};
use iosonar_stats::Distribution;
use iosonar_trace::{Metadata, Remark};
use iosonar_units::Nanos;

/// `name: 1 234, mean 5 ms, p99 20 ms, max 31 ms`; a p99 that rests on too few has a `~`.
pub fn describe(name: &str, distribution: &Distribution) -> String {
    if distribution.count() == 0 {
        return format!("{name}: none");
    }
    let p99 = quantile(distribution, 0.99);
    let max = distribution.moments.max().unwrap_or_default();
    format!(
        "{name}: {}, mean {}, p99 {p99}, max {max}",
        grouped(distribution.count()),
        mean(distribution),
    )
}

pub(crate) fn mean(distribution: &Distribution) -> Nanos {
    Nanos::new(distribution.moments.mean().round() as u64)
}

/// A quantile; one that rests on too few samples has a `~`.
pub(crate) fn quantile(distribution: &Distribution, p: f64) -> String {
    let value = distribution.histogram.quantile(p).unwrap_or_default();
    let sign = if distribution.histogram.supports_quantile(p) {
        ""
    } else {
        "~"
    };
    format!("{sign}{value}")
}

/// How many times a figure is another one: `2.1 times`.
pub(crate) fn times(first: f64, second: f64) -> String {
    let ratio = second / first;
    match ratio {
        ..9.95 => format!("{ratio:.1} times"),
        ..999.5 => format!("{ratio:.0} times"),
        _ => format!("{} times", grouped(ratio as u64)),
    }
}

/// Count, mean and quantiles of several distributions.
pub(crate) fn quantile_table<'a>(
    rows: impl IntoIterator<Item = (&'a str, &'a Distribution)>,
) -> Table {
    let header = [
        "", "requests", "mean", "p50", "p90", "p99", "p99.9", "p99.99", "max",
    ];
    let row = |(name, of): (&str, &Distribution)| {
        let mut cells = vec![name.to_owned(), grouped(of.count())];
        if of.count() == 0 {
            cells.resize(header.len(), String::new());
            return cells;
        }
        cells.push(mean(of).to_string());
        cells.extend([0.5, 0.9, 0.99, 0.999, 0.9999].map(|p| quantile(of, p)));
        cells.push(of.moments.max().unwrap_or_default().to_string());
        cells
    };
    Table {
        header: header.map(str::to_owned).to_vec(),
        rows: rows.into_iter().map(row).collect(),
    }
}

/// What happened to some rows while they were read, in a line.
pub fn remark(remark: &Remark) -> String {
    let (count, what) = (grouped(remark.count), remark.happened());
    if remark.example.is_empty() {
        return format!("{count} {what}");
    }
    format!("{count} {what} (the first: {})", remark.example)
}

/// `a`, `a and b`, `a, b and c`.
pub fn joined(names: &[String]) -> String {
    match names.split_last() {
        None => String::new(),
        Some((one, [])) => one.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// The tool and its version.
pub(crate) fn tool() -> String {
    format!("iosonar {}", env!("CARGO_PKG_VERSION"))
}

/// What was measured, on what, with what.
pub(crate) fn footer(metadata: &Metadata) -> String {
    let of = |key: &str, word: &str| {
        let value = metadata.about.get(key)?;
        Some(format!("{word} {value}"))
    };
    let parts = [
        of("replayed", "load"),
        of("simulated", "simulated"),
        of("target", "target"),
        of("host", "host"),
        Some(tool()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn names_are_joined_as_in_a_sentence() {
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(joined(&names), "a, b and c");
        assert_eq!(joined(&names[..2]), "a and b");
        assert_eq!(joined(&names[..1]), "a");
    }
}
