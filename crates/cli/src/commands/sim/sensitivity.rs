//! How much an answer depends on each plausible choice, changed one at a time.

use std::iter;

use iosonar_scenario::sensitivity::{Alternative, Choice};
use iosonar_scenario::{ControllerLike, SimulationResult};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::Nanos;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::checks::{refuse_output_of_one, refuse_outputs_of_one};
use super::{Named, load_otherwise, steady};
use crate::exit::{Ending, Usage, message, print};
use crate::low::Sim;
use crate::render::json::Output;
use crate::render::sim::{assumed, headline};
use crate::render::table::Table;

/// A choice moves an answer much if it makes it longer or shorter by more than this factor.
const MUCH: f64 = 2.0;

/// A simulation with one choice made otherwise; `None` is the scenario itself.
struct Tried {
    choice: Option<Choice>,
    result: Result<Box<SimulationResult>, Nothing>,
}

/// Why there is no result.
enum Nothing {
    /// There is no steady state.
    Unsteady(String),
    /// The choice does not go with the rest of the scenario.
    NotApplicable(String),
}

impl Nothing {
    fn why(&self) -> &str {
        match self {
            Self::Unsteady(why) | Self::NotApplicable(why) => why,
        }
    }
}

pub(super) fn run(args: &Sim, all: &[Named], threads: usize) -> anyhow::Result<Ending> {
    check(args)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let mut json = Output::new("sim --sensitivity");
    let mut text = String::new();
    let mut has_bases = true;
    for named in all {
        let tried = pool.install(|| try_all(args, named))?;
        has_bases &= base(&tried).is_some();
        match args.json {
            true => add_to(&mut json, &named.name, &tried),
            false => text += &table(named, &tried),
        }
    }
    print(&if args.json { json.text() } else { text })?;
    Ok(if has_bases {
        Ending::Done
    } else {
        Ending::Flagged
    })
}

fn check(args: &Sim) -> Result<(), Usage> {
    const WHY: &str = "--sensitivity makes several";
    for (given, option) in [
        (args.csv.is_some(), "--csv"),
        (args.curve.is_some(), "--curve"),
    ] {
        refuse_output_of_one(given, option, WHY)?;
    }
    refuse_outputs_of_one(args, WHY)
}

fn try_all(args: &Sim, named: &Named) -> anyhow::Result<Vec<Tried>> {
    let choices = named.simulation.alternatives();
    let all: Vec<_> = iter::once(None)
        .chain(choices.into_iter().map(Some))
        .collect();
    let simulate = |alternative: Option<Alternative>| -> anyhow::Result<_> {
        if alternative.is_none() {
            return Ok(steady(args, &named.simulation)?);
        }
        let other = load_otherwise(args, &named.path, args.set.clone(), alternative)?;
        Ok(steady(args, &other.simulation)?)
    };
    let one = |alternative: Option<Alternative>| {
        let choice = alternative.as_ref().map(|of| of.choice);
        let result = match simulate(alternative) {
            Ok(result) => result
                .map(Box::new)
                .map_err(|why| Nothing::Unsteady(why.to_string())),
            Err(error) if choice.is_some() => Err(Nothing::NotApplicable(message(&error))),
            Err(error) => return Err(error),
        };
        Ok(Tried { choice, result })
    };
    all.into_par_iter().map(one).collect()
}

/// The mean and the 99 % quantile in milliseconds.
fn figures(result: &SimulationResult) -> [f64; 2] {
    [result.mean_ms.mean, result.quantile_ms(0.99).mean]
}

/// The larger of the two factors between an answer and another, as the farther from 1; `None` if there is no other.
fn factor(of: [f64; 2], base: Option<[f64; 2]>) -> Option<f64> {
    let base = base?;
    let factors = of.iter().zip(base).map(|(x, base)| x / base);
    let far = |x: &f64| x.ln().abs();
    factors
        .filter(|x| x.is_finite() && *x > 0.0)
        .max_by(|a, b| far(a).total_cmp(&far(b)))
}

fn moves_much(factor: f64) -> bool {
    !(1.0 / MUCH..=MUCH).contains(&factor)
}

/// What the answers say together.
fn verdict(tried: &[Tried], base: Option<[f64; 2]>) -> String {
    if base.is_none() {
        return "the scenario as given has no result, so there is nothing to compare with"
            .to_owned();
    }
    // What has no steady state moves an answer more than any factor.
    let is_much = |tried: &&Tried| match &tried.result {
        Ok(result) => factor(figures(result), base).is_some_and(moves_much),
        Err(Nothing::Unsteady(_)) => true,
        Err(Nothing::NotApplicable(_)) => false,
    };
    match tried.iter().filter(is_much).count() {
        0 => {
            format!("no single choice changes the mean or the p99 by more than a factor of {MUCH}")
        }
        1 => format!(
            "one choice changes the mean or the p99 by more than a factor of {MUCH}, or has no result: verify it on the real \
             system"
        ),
        n => format!(
            "{n} choices change the mean or the p99 by more than a factor of {MUCH}, or have no result: verify them on the \
             real system"
        ),
    }
}

/// The answer as given.
fn base(tried: &[Tried]) -> Option<[f64; 2]> {
    let given = tried.iter().find(|tried| tried.choice.is_none())?;
    given.result.as_ref().ok().map(|result| figures(result))
}

fn table(named: &Named, tried: &[Tried]) -> String {
    let mut table = Table::new(&["", "mean", "p99", "factor"]);
    let base = base(tried);
    let mut reasons = String::new();
    for Tried { choice, result } in tried {
        let name = choice.map_or("as given", name).to_owned();
        match result {
            Ok(result) => {
                let times = figures(result);
                let factor = factor(times, base).filter(|_| choice.is_some());
                let factor = factor.map_or(String::new(), |factor| {
                    let mark = match factor {
                        _ if !moves_much(factor) => "",
                        1.0.. => "  > 2x",
                        _ => "  < 1/2",
                    };
                    format!("{factor:.2}{mark}")
                });
                let [mean, p99] = times.map(|ms| Nanos::from_millis_f64(ms).to_string());
                table.row(vec![name, mean, p99, factor]);
            }
            Err(why) => {
                reasons += &format!("  {name}: {}\n", why.why());
                table.row(vec![
                    name,
                    "-".to_owned(),
                    "-".to_owned(),
                    "no result".to_owned(),
                ]);
            }
        }
    }
    format!(
        "{}: {}\n  assuming {}\n\n{}{reasons}  {}\n",
        named.name,
        headline(&named.simulation),
        assumed::line(&named.simulation),
        table.text(),
        verdict(tried, base)
    )
}

fn add_to(json: &mut Output, scenario: &str, tried: &[Tried]) {
    let base = base(tried);
    for Tried { choice, result } in tried {
        let labels =
            Labels::of("scenario", scenario).with("choice", choice.map_or("as given", name));
        match result {
            Ok(result) => {
                json.metric(result.response_time_metric(&labels));
                let factor = factor(figures(result), base).unwrap_or(f64::NAN);
                json.figure("factor", &labels, MetricUnit::One, factor);
            }
            Err(why) => json.append(
                "no_result",
                serde_json::json!({ "labels": labels, "why": why.why() }),
            ),
        }
    }
}

fn name(choice: Choice) -> &'static str {
    match choice {
        Choice::RandomPlaces => "random addresses (sampled disk)",
        Choice::InOrder => "FCFS in the drive",
        Choice::ShortestPositioning => "SPTF of 32 in the drive",
        Choice::NoBuffer => "no drive cache",
        Choice::WriteThrough => "write-through drive cache",
        Choice::Controller(ControllerLike::Nothing) => "no controller",
        Choice::Controller(ControllerLike::Hba) => "controller hba (no cache)",
        Choice::Controller(ControllerLike::RaidCard) => "controller raid-card-1GiB-bbu",
        Choice::NoWriteCache => "no write cache in the SSD",
    }
}

#[cfg(test)]
mod tests {
    use super::{factor, moves_much};

    #[test]
    fn what_moves_an_answer_much_moves_its_mean_or_its_p99() {
        for (of, much) in [
            ([1.0, 10.0], false),
            ([1.9, 5.1], false),
            ([2.1, 10.0], true),
            ([1.0, 4.9], true),
            ([0.4, 11.0], true),
        ] {
            let factor = factor(of, Some([1.0, 10.0])).unwrap();
            assert_eq!(moves_much(factor), much, "{of:?}");
        }
        assert_eq!(factor([1.0, 10.0], None), None);
    }
}
