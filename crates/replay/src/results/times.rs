//! The times of requests, by kind.

use iosonar_stats::{Distribution, Labels, Metric};
use iosonar_trace::{Op, Quantity};
use iosonar_units::Nanos;

/// The distributions of the times of one kind of request.
#[derive(Clone, Debug, Default)]
pub struct Times {
    /// How late requests were submitted.
    pub delay: Distribution,
    /// How long they then took.
    pub latency: Distribution,
    /// Both together.
    pub response_time: Distribution,
}

/// The times of each kind of request.
#[derive(Clone, Debug, Default)]
pub struct TimesByKind {
    /// Those of the reads.
    pub reads: Times,
    /// Those of the writes.
    pub writes: Times,
    /// Those of the flushes.
    pub flushes: Times,
    /// Those of discards and write-zeroes.
    pub others: Times,
}

impl Times {
    /// These times.
    pub fn of(&self, quantity: Quantity) -> &Distribution {
        match quantity {
            Quantity::Latency => &self.latency,
            Quantity::Delay => &self.delay,
            Quantity::ResponseTime => &self.response_time,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.delay.merge(&other.delay);
        self.latency.merge(&other.latency);
        self.response_time.merge(&other.response_time);
    }
}

impl TimesByKind {
    /// Takes a request into account.
    pub fn push(&mut self, op: Op, delay: Nanos, latency: Nanos) {
        let times = match op {
            Op::Read => &mut self.reads,
            Op::Flush => &mut self.flushes,
            Op::Write => &mut self.writes,
            Op::Discard | Op::WriteZeroes => &mut self.others,
        };
        times.delay.push(delay);
        times.latency.push(latency);
        times.response_time.push(delay + latency);
    }

    /// Takes the requests of `other` into account.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.flushes.merge(&other.flushes);
        self.others.merge(&other.others);
    }

    /// The times of each kind, with the kind's name.
    pub fn kinds(&self) -> [(&'static str, &Times); 4] {
        [
            ("read", &self.reads),
            ("write", &self.writes),
            ("flush", &self.flushes),
            ("discard", &self.others),
        ]
    }

    /// The times of all kinds together.
    pub fn all(&self) -> Times {
        let mut all = Times::default();
        for (_, times) in self.kinds() {
            all.merge(times);
        }
        all
    }

    /// The metrics of each kind, with these labels and that of the kind.
    pub fn metrics(&self, labels: &Labels) -> impl Iterator<Item = Metric> {
        self.kinds().into_iter().flat_map(move |(op, times)| {
            let labels = labels.with("op", op);
            [
                Metric::times("latency", &labels, &times.latency),
                Metric::times("delay", &labels, &times.delay),
                Metric::times("response_time", &labels, &times.response_time),
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request of each kind, whose delay is that of its place here in microseconds, and whose latency is ten times that.
    fn one_of_each() -> TimesByKind {
        let mut times = TimesByKind::default();
        let ops = [Op::Read, Op::Write, Op::Flush, Op::Discard, Op::WriteZeroes];
        for (op, i) in ops.into_iter().zip(1..) {
            times.push(op, Nanos::from_micros(i), Nanos::from_micros(10 * i));
        }
        times
    }

    fn largest(of: &Distribution) -> Option<Nanos> {
        of.moments.max()
    }

    #[test]
    fn a_request_counts_for_its_kind() {
        let times = one_of_each();
        let seen = times
            .kinds()
            .map(|(name, times)| (name, times.delay.count(), largest(&times.delay)));
        let us = |n| Some(Nanos::from_micros(n));
        let expected = [
            ("read", 1, us(1)),
            ("write", 1, us(2)),
            ("flush", 1, us(3)),
            // With the write-zeroes.
            ("discard", 2, us(5)),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_response_is_delay_and_latency_together() {
        let times = one_of_each().all();
        for (quantity, most) in [
            (Quantity::Delay, 5),
            (Quantity::Latency, 50),
            (Quantity::ResponseTime, 55),
        ] {
            let of = times.of(quantity);
            assert_eq!(of.count(), 5, "{quantity:?}");
            assert_eq!(largest(of), Some(Nanos::from_micros(most)), "{quantity:?}");
        }
    }

    #[test]
    fn times_of_two_are_merged_kind_by_kind() {
        let mut both = one_of_each();
        let mut other = one_of_each();
        other.push(Op::Read, Nanos::SECOND, Nanos::SECOND);
        both.merge(&other);
        let counts = both.kinds().map(|(_, times)| times.latency.count());
        assert_eq!(counts, [3, 2, 2, 4]);
        assert_eq!(largest(&both.reads.delay), Some(Nanos::SECOND));
        assert_eq!(largest(&both.writes.delay), Some(Nanos::from_micros(2)));
        assert_eq!(both.all().response_time.count(), 11);
    }
}
