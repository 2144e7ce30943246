//! What a search for the highest rate found.

use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_study::highest_rate::{Answer, Confirmed, Limit, PRECISION, Try, TryOutcome};
use serde_json::{Value, json};

use super::table::Table;
use iosonar_stats::Output;

pub(crate) fn outcome_name(of: TryOutcome) -> &'static str {
    match of {
        TryOutcome::Holds => "holds",
        TryOutcome::TooSlow => "beyond the limit",
        TryOutcome::DeviceLimited => "device-limited",
        TryOutcome::ModelLimited => "model-limited",
        TryOutcome::InFlightLimited => "in-flight-limited",
        TryOutcome::ReplayerLimited => "replayer-limited",
        TryOutcome::Failed => "requests failed",
        TryOutcome::Interrupted => "stopped by the user",
        TryOutcome::TooFew => "too few requests",
    }
}

/// A speed with four digits, as `--speed` takes it.
pub(crate) fn digits(speed: f64) -> String {
    let decimals = (3.0 - speed.max(1e-6).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{speed:.decimals$}")
}

/// What a search found.
pub(crate) struct Found<'a> {
    pub(crate) limit: Limit,
    /// How much faster than recorded the load is that was sped up.
    pub(crate) own_speed: f64,
    pub(crate) answer: &'a Answer,
    pub(crate) tries: &'a [Try],
}

impl Found<'_> {
    pub(crate) fn text(&self) -> String {
        let (limit, answer, tries) = (self.limit, self.answer, self.tries);
        let mut table = Table::new(&["speed", "requests/s wanted", "reached", "value", "outcome"]);
        for t in tries {
            table.row(vec![
                digits(self.own_speed * t.factor),
                format!("{:.1}", t.wanted),
                format!("{:.1}", t.reached),
                t.value.to_string(),
                outcome_name(t.outcome).to_owned(),
            ]);
        }
        let spread = |of: &Confirmed| {
            let [median, least, most] = of.reached;
            let [low, high] = of.values;
            format!(
                "{median:.1} requests/s with {limit} (--speed {}, within {:.0} %)\n  repetitions   {} of {} met the limit: {least:.1} to {most:.1} requests/s, {low} to {high}\n",
                digits(self.own_speed * of.factor),
                100.0 * PRECISION,
                of.held,
                of.repetitions
            )
        };
        table.text()
        + &match answer {
            Answer::Highest(of) => format!("  highest rate  {}", spread(of)),
            Answer::ReplayerLimited(of) => format!(
                "  rate reached  {}  replayer-limited: this machine is too slow or too busy to submit more; \
                 the device may sustain a higher rate\n",
                spread(of)
            ),
            Answer::AtAnySpeed => format!("  {limit} is met even at the highest speed tried\n"),
            Answer::AtNoSpeed(last) => format!(
                "  no rate was found: {limit} is missed even at {:.1} requests/s, the lowest rate tried ({}, \
                 {}); a longer --find-time allows lower rates\n",
                last.wanted,
                last.value,
                outcome_name(last.outcome)
            ),
            Answer::TooFew(last) => format!(
                "  no rate was found: the trial at {:.1} requests/s completed {} requests, too few for a verdict; use \
                 a longer --find-time\n",
                last.wanted, last.completed
            ),
            Answer::TooNoisy => "  this machine is too noisy for an answer: rates that met the limit at first \
                                 missed it when repeated, even at half the rate; try again when the \
                                 machine is idle, or with a longer --find-time\n"
                .to_owned(),
            Answer::Interrupted => "  stopped by the user before a rate was found\n".to_owned(),
        }
    }

    pub(crate) fn json(&self) -> Output {
        let (limit, answer, tries) = (self.limit, self.answer, self.tries);
        let mut json = Output::new("replay --find-rate");
        let (name, confirmed) = match answer {
            Answer::Highest(of) => ("highest", Some(of)),
            Answer::ReplayerLimited(of) => ("replayer-limited", Some(of)),
            Answer::AtAnySpeed => ("at any speed", None),
            Answer::AtNoSpeed(_) => ("at no speed", None),
            Answer::TooFew(_) => ("too few requests", None),
            Answer::TooNoisy => ("too noisy", None),
            Answer::Interrupted => ("interrupted", None),
        };
        json.set("limit", json!(limit.to_string()));
        json.set("answer", json!(name));
        json.set(
            "speed",
            json!(confirmed.map(|of| self.own_speed * of.factor)),
        );
        json.set("repetitions", json!(confirmed.map(|of| of.repetitions)));
        json.set("repetitions_held", json!(confirmed.map(|of| of.held)));
        let tries: Vec<Value> = tries
            .iter()
            .map(|t| {
                json!({
                    "speed": self.own_speed * t.factor,
                    "wanted_per_s": t.wanted,
                    "reached_per_s": t.reached,
                    "completed": t.completed,
                    "value_s": t.value.as_secs_f64(),
                    "outcome": outcome_name(t.outcome),
                })
            })
            .collect();
        json.set("tries", Value::Array(tries));
        let none = Labels::default();
        let [median, least, most] = confirmed.map_or([f64::NAN; 3], |of| of.reached);
        // The device's highest rate is known only if it was the limit.
        let highest = match answer {
            Answer::Highest(_) => median,
            _ => f64::NAN,
        };
        json.figure("highest_rate", &none, MetricUnit::PerSecond, highest);
        json.figure("rate_reached", &none, MetricUnit::PerSecond, median);
        json.figure(
            "rate_reached",
            &Labels::of("of", "least"),
            MetricUnit::PerSecond,
            least,
        );
        json.figure(
            "rate_reached",
            &Labels::of("of", "most"),
            MetricUnit::PerSecond,
            most,
        );
        json
    }
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn the_speed_to_type_has_four_digits() {
        for (speed, text) in [
            (60.0 * 3.2781, "196.7"),
            (0.012_345, "0.01235"),
            (123_456.7, "123457"),
        ] {
            assert_eq!(digits(speed), text);
        }
    }
}
