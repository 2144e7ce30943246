//! What the demo shows: a table, what follows from it, where to look, and what to do next.

use std::fmt::Write as _;
use std::path::Path;

use iosonar_report::{Measured, Quantity};
use iosonar_stats::Distribution;
use iosonar_study::check_model::ModelCheck;
use iosonar_units::Nanos;

use super::check_model::sentence;
use super::table::{Table, significant};

/// What the demo has to show.
pub(crate) struct Shows<'a> {
    /// The array, the file and, if there is one, the model of the file.
    pub(crate) looks: &'a [Measured],
    /// How well the model of the file predicts it.
    pub(crate) check: Option<&'a ModelCheck>,
    /// Whether the replay started requests late because this machine was busy.
    pub(crate) is_busy: bool,
    pub(crate) folder: &'a Path,
    pub(crate) page: &'a Path,
    /// Without their endings.
    pub(crate) pictures: &'a [&'a str],
}

/// What a replay on a busy machine is worth.
const BUSY: &str = "This machine was busy during the replay, so the measured times reflect its other work\n  \
                    as much as the file. Run the demo again when the machine is idle.";

/// All of it, as it is printed.
pub(crate) fn text(shows: &Shows<'_>) -> String {
    let quantity = Quantity::Latency;
    let mut table = Table::of_times("latency");
    for (name, look) in ["array", "file", "model"].into_iter().zip(shows.looks) {
        table.times(&format!("{name}, reads"), look.reads(quantity));
        table.times(&format!("{name}, writes"), look.writes(quantity));
    }
    let mut text = format!(
        "\nThe replayed part of the load had these latencies on the simulated array, on a file on this machine, and on \
         the model of that file:\n\n{}\n",
        table.text()
    );
    if let [array, file, ..] = shows.looks
        && let Some(how) = array_and_file(&array.all(quantity), &file.all(quantity))
    {
        let _ = writeln!(text, "array and file\n  Two different devices: {how}.");
    }
    if let Some(check) = shows.check {
        let _ = writeln!(text, "file and model\n  {}.", sentence(check));
    }
    if shows.is_busy {
        let _ = writeln!(text, "  {BUSY}");
    }
    text + &look_at(shows) + &next(shows.folder)
}

/// How the array and the file compare: two devices that need not be alike.
fn array_and_file(array: &Distribution, file: &Distribution) -> Option<String> {
    let median = |of: &Distribution| of.histogram.quantile(0.5).filter(|t| *t > Nanos::ZERO);
    let (array, file) = (median(array)?.as_secs_f64(), median(file)?.as_secs_f64());
    let times = |ratio: f64| match significant(ratio, 2) {
        equal if equal.parse() == Ok(1.0) => None,
        factor => Some(factor),
    };
    let how = if array >= file {
        times(array / file).map(|factor| format!("the array's median is {factor} times the file's"))
    } else {
        times(file / array).map(|factor| format!("the file's median is {factor} times the array's"))
    };
    Some(how.unwrap_or_else(|| "their medians are about the same".to_owned()))
}

fn look_at(shows: &Shows<'_>) -> String {
    let mut text = format!(
        "\nLook at\n  {}  (all charts, in a browser)\n",
        shows.page.display()
    );
    for name in shows.pictures {
        let _ = writeln!(text, "  {}.png", shows.folder.join(name).display());
    }
    text
}

/// What to do with a load of one's own.
fn next(folder: &Path) -> String {
    let scenario = folder.join("raid10-database.toml");
    format!(
        "\nNext, try a load of your own\n  \
         record the requests to a block device, as root:\n    \
         iosonar record /dev/sdX -o mine.ios --duration 60s\n  \
         or use an existing trace (blktrace, fio, MSR, CSV ...), and see what it contains:\n    \
         iosonar info mine.ios\n  \
         simulate it on this array, and look at all charts:\n    \
         iosonar sim --trace mine.ios --fit {} --records out.ios\n    \
         iosonar report out.ios --open\n\n\
         The demo is complete.\n",
        scenario.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_and_the_file_are_compared_by_their_medians() {
        let of = |ms: u64| {
            let mut times = Distribution::default();
            (0..100).for_each(|_| times.push(Nanos::from_millis(ms)));
            times
        };
        let text = |array, file| array_and_file(&of(array), &of(file)).unwrap();
        for (array, file, how) in [
            (40, 2, "the array's median is 20 times the file's"),
            (2, 40, "the file's median is 20 times the array's"),
            (7, 7, "their medians are about the same"),
        ] {
            assert_eq!(text(array, file), how);
        }
        assert_eq!(array_and_file(&of(1), &Distribution::default()), None);
    }
}
