//! One pass over records: distributions and charts.

use iosonar_plot::{CdfChart, Curve, Series, Sonar};
use iosonar_stats::{BandPoint, Distribution};
use iosonar_trace::{Batch, Op, Outcome, Record, Status, TraceError, TraceReader};
use iosonar_units::Nanos;

/// Which time of a request is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quantity {
    /// From handing over to completion.
    #[default]
    Latency,
    /// From the intended start to handing over.
    Delay,
    /// From the intended start to completion.
    ResponseTime,
}

impl Quantity {
    /// Its name, as on axes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Delay => "delay",
            Self::ResponseTime => "response time",
        }
    }

    fn of(self, outcome: &Outcome) -> Option<Nanos> {
        match self {
            Self::Latency => outcome.latency,
            Self::Delay => outcome.delay,
            Self::ResponseTime => outcome.response_time(),
        }
    }
}

/// How a line above the records begins that says why they are not of the storage.
pub const FAKE_NOTICE: &str = "# FAKE: ";

/// No record says how long it took, so there is nothing to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingMeasured {
    /// How many records there were.
    pub records: u64,
    /// How many of them tell of requests that failed or never ran.
    pub not_done: u64,
}

impl std::fmt::Display for NothingMeasured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.records == 0 {
            return f.write_str("there is no request in it, so there is nothing to draw");
        }
        if self.not_done == self.records {
            return write!(
                f,
                "all of its {} requests failed or never ran, so there is nothing to draw",
                self.records
            );
        }
        write!(
            f,
            "none of its {} requests has a measured time, so there is nothing to draw: it is a \
             load. Simulate or replay it first, and draw the records",
            self.records
        )
    }
}

impl std::error::Error for NothingMeasured {}

/// Distributions and charts of records.
#[derive(Clone, Debug)]
pub struct Look {
    name: String,
    quantity: Quantity,
    reads: Distribution,
    writes: Distribution,
    sonar: Sonar,
    records: u64,
    skipped: u64,
    failed: u64,
    fakes: Vec<String>,
}

impl Look {
    /// Nothing seen yet. `name` says in titles what is looked at.
    pub fn new(name: &str, quantity: Quantity) -> Self {
        let title = format!("Sonar diagram: {name}");
        let axis = "time at which the request was handed over [s]";
        Self {
            name: name.to_owned(),
            quantity,
            reads: Distribution::default(),
            writes: Distribution::default(),
            sonar: Sonar::new(&title, axis, quantity.name()),
            records: 0,
            skipped: 0,
            failed: 0,
            fakes: Vec::new(),
        }
    }

    /// Goes through all records of `reader`.
    ///
    /// # Errors
    /// If the records cannot be read.
    pub fn read(&mut self, reader: &mut dyn TraceReader) -> Result<(), TraceError> {
        let fakes = reader.metadata().notices.iter();
        self.fakes
            .extend(fakes.filter_map(|line| Some(line.strip_prefix(FAKE_NOTICE)?.to_owned())));
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            batch.records().for_each(|record| self.add(&record));
        }
        Ok(())
    }

    /// Looks at one record.
    pub fn add(&mut self, record: &Record) {
        let Record { request, outcome } = record;
        self.records += 1;
        match outcome.status {
            Status::Done => {}
            Status::Skipped => {
                self.skipped += 1;
                return;
            }
            _ => {
                self.failed += 1;
                return;
            }
        }
        let Some(time) = self.quantity.of(outcome) else {
            return;
        };
        let (distribution, series) = match request.op {
            Op::Read => (&mut self.reads, Series::Read),
            _ => (&mut self.writes, Series::Write),
        };
        distribution.push(time);
        let handed_over = request
            .start
            .saturating_add(outcome.delay.unwrap_or_default());
        self.sonar
            .push(series, handed_over.as_secs_f64(), time.as_secs_f64());
    }

    /// The times of the reads.
    pub fn reads(&self) -> &Distribution {
        &self.reads
    }

    /// The times of all other requests.
    pub fn writes(&self) -> &Distribution {
        &self.writes
    }

    /// The times of all requests.
    pub fn all(&self) -> Distribution {
        let mut all = self.reads.clone();
        all.merge(&self.writes);
        all
    }

    /// What must be said below a title: results that are fake, requests that are not shown.
    pub fn caveats(&self) -> String {
        let mut caveats: Vec<String> = self.fakes.iter().map(|f| format!("FAKE: {f}")).collect();
        if self.skipped > 0 {
            caveats.push(format!("{} left out on purpose", grouped(self.skipped)));
        }
        if self.failed > 0 {
            caveats.push(format!("{} failed or never ran", grouped(self.failed)));
        }
        caveats.join("; ")
    }

    /// Whether anything was measured.
    ///
    /// # Errors
    /// [`NothingMeasured`] if not.
    pub fn check(&self) -> Result<(), NothingMeasured> {
        if self.reads.count() + self.writes.count() == 0 {
            return Err(NothingMeasured {
                records: self.records,
                not_done: self.skipped + self.failed,
            });
        }
        Ok(())
    }

    /// The sonar diagram, with the caveats below its title.
    pub fn into_sonar(mut self) -> Sonar {
        let caveats = self.caveats();
        for (series, name, distribution) in [
            (Series::Read, "reads", &self.reads),
            (Series::Write, "writes", &self.writes),
        ] {
            if distribution.count() > 0 {
                self.sonar.set_legend(series, &describe(name, distribution));
            }
        }
        self.sonar.subtitle(&caveats).footer(&footer())
    }

    /// The CDF of all requests, labelled with the name.
    pub fn curve(&self) -> Curve {
        curve(&self.name, &self.all())
    }
}

/// `name: 1 234, mean 5 ms, p99 20 ms, max 31 ms`; a p99 that rests on too few has a `~`.
pub fn describe(name: &str, distribution: &Distribution) -> String {
    let time = |t: Option<Nanos>| t.unwrap_or_default().to_string();
    format!(
        "{name}: {}, mean {}, p99 {}{}, max {}",
        grouped(distribution.count()),
        Nanos::new(distribution.moments.mean().round() as u64),
        if distribution.histogram.supports_quantile(0.99) {
            ""
        } else {
            "~"
        },
        time(distribution.histogram.quantile(0.99)),
        time(distribution.moments.max()),
    )
}

/// The CDF of `distribution`; the legend gets its count and quantiles.
pub fn curve(name: &str, distribution: &Distribution) -> Curve {
    Curve {
        label: describe(name, distribution),
        points: distribution
            .histogram
            .cdf()
            .map(|point| (point.value.as_secs_f64(), point.share))
            .collect(),
        band: Vec::new(),
    }
}

/// The CDF of `distribution` with its 95 % band; points without a known width make none.
pub fn curve_with_band(name: &str, distribution: &Distribution, band: &[BandPoint]) -> Curve {
    let known = band.iter().filter(|point| point.half_width.is_finite());
    let edges = |point: &BandPoint| {
        let value = point.value.as_secs_f64();
        (
            value,
            point.share - point.half_width,
            point.share + point.half_width,
        )
    };
    Curve {
        band: known.map(edges).collect(),
        ..curve(name, distribution)
    }
}

/// A chart of these curves.
pub fn cdf_chart(
    title: &str,
    quantity: Quantity,
    curves: impl IntoIterator<Item = Curve>,
) -> CdfChart {
    let mut chart = CdfChart::new(title, quantity.name()).footer(&footer());
    curves.into_iter().for_each(|curve| chart.push(curve));
    chart
}

fn footer() -> String {
    format!("iosonar {}", env!("CARGO_PKG_VERSION"))
}

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

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_load_has_nothing_to_draw_and_says_so() {
        let mut look = Look::new("load", Quantity::Latency);
        look.add(&Record::default());
        let message = look.check().unwrap_err().to_string();
        assert!(message.contains("none of its 1 requests"), "{message}");
    }

    #[test]
    fn failed_requests_have_no_latency() {
        let mut look = Look::new("errors", Quantity::Latency);
        look.add(&Record {
            outcome: Outcome {
                status: Status::Error(5),
                ..Outcome::done(Nanos::ZERO, Nanos::SECOND)
            },
            ..Record::default()
        });
        assert_eq!(
            (look.caveats().as_str(), look.reads().count()),
            ("1 failed or never ran", 0)
        );
    }
}
