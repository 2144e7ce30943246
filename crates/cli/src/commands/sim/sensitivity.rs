//! How much an answer depends on each plausible choice, changed one at a time.

use std::iter;

use iosonar_scenario::sensitivity::{Alternative, Choice};
use iosonar_scenario::{ControllerLike, Prepared, SimulationResult};
use iosonar_stats::Labels;
use iosonar_stats::metric::MetricUnit;
use iosonar_units::Nanos;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::checks::{refuse_output_of_one, refuse_outputs_of_one};
use super::{Named, load_otherwise, steady};
use iosonar_units::with_causes;

use crate::exit::{Ending, Usage, print};
use crate::low::Sim;
use crate::render::sim::{assumed, headline};
use crate::render::table::Table;
use iosonar_stats::Output;

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
    let mut is_known = true;
    for named in all {
        let other = |alternative| {
            let named = load_otherwise(args, &named.path, args.set.clone(), Some(alternative))?;
            Ok(named.simulation)
        };
        let tried = pool.install(|| try_all(&named.simulation, other, args.unstable))?;
        is_known &= matches!(Verdict::of(&tried), Verdict::Matter { .. });
        match args.json {
            true => add_to(&mut json, &named.name, &tried),
            false => text += &described(named, &tried),
        }
    }
    print(&if args.json { json.text() } else { text })?;
    Ok(if is_known {
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

/// How much the answer of a simulation depends on each choice, as a table and what it says; `other` prepares the same with
/// a choice made otherwise.
pub(crate) fn of(
    simulation: &Prepared,
    other: impl Fn(Alternative) -> anyhow::Result<Prepared> + Sync,
) -> anyhow::Result<String> {
    Ok(table(&try_all(simulation, other, true)?))
}

fn try_all(
    simulation: &Prepared,
    other: impl Fn(Alternative) -> anyhow::Result<Prepared> + Sync,
    unstable: bool,
) -> anyhow::Result<Vec<Tried>> {
    let choices = simulation.alternatives();
    let all: Vec<_> = iter::once(None)
        .chain(choices.into_iter().map(Some))
        .collect();
    let simulate = |alternative: Option<Alternative>| -> anyhow::Result<_> {
        Ok(match alternative {
            None => steady(simulation, unstable)?,
            Some(alternative) => steady(&other(alternative)?, unstable)?,
        })
    };
    let one = |alternative: Option<Alternative>| {
        let choice = alternative.as_ref().map(|of| of.choice);
        let result = match simulate(alternative) {
            Ok(result) => result
                .map(Box::new)
                .map_err(|why| Nothing::Unsteady(why.to_string())),
            Err(error) if choice.is_some() => {
                Err(Nothing::NotApplicable(with_causes(error.as_ref())))
            }
            Err(error) => return Err(error),
        };
        Ok(Tried { choice, result })
    };
    all.into_par_iter().map(one).collect()
}

/// What is compared, as labels name it.
const FIGURES: [&str; 2] = ["mean", "p99"];

/// The mean and the 99 % quantile in milliseconds.
fn figures(result: &SimulationResult) -> [f64; 2] {
    [result.mean_ms.mean, result.quantile_ms(0.99).mean]
}

/// The factors between the figures of two answers; NaN where one has none.
fn factors(of: [f64; 2], base: [f64; 2]) -> [f64; 2] {
    std::array::from_fn(|i| match (of[i], base[i]) {
        (of, base) if of == base => 1.0,
        (of, base) => of / base,
    })
}

/// Whether a factor, which may be 0 or infinite, is of a choice that matters.
fn moves_much(factor: f64) -> bool {
    !factor.is_nan() && !(1.0 / MUCH..=MUCH).contains(&factor)
}

/// What the answers say together.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    /// The scenario as given has no result.
    NoBase,
    /// No choice could be made otherwise.
    NothingTried,
    /// This number of the choices that were tried matters.
    Matter { choices: usize, tried: usize },
}

impl Verdict {
    fn of(tried: &[Tried]) -> Self {
        let Some(base) = base(tried) else {
            return Self::NoBase;
        };
        let others = tried.iter().filter(|tried| tried.choice.is_some());
        // What has no steady state moves an answer more than any factor.
        let matters: Vec<bool> = others
            .filter_map(|tried| match &tried.result {
                Ok(result) => Some(factors(figures(result), base).into_iter().any(moves_much)),
                Err(Nothing::Unsteady(_)) => Some(true),
                Err(Nothing::NotApplicable(_)) => None,
            })
            .collect();
        match matters.len() {
            0 => Self::NothingTried,
            tried => Self::Matter {
                choices: matters.into_iter().filter(|&much| much).count(),
                tried,
            },
        }
    }

    fn text(&self) -> String {
        match *self {
            Self::NoBase => {
                "the scenario as given has no result, so there is nothing to compare with"
                    .to_owned()
            }
            Self::NothingTried => {
                "no choice could be made otherwise: how much the answer depends on them is unknown"
                    .to_owned()
            }
            Self::Matter {
                choices: 0,
                tried: 1,
            } => format!(
                "the only other choice changes neither the mean nor the p99 by more than a factor of {MUCH}"
            ),
            Self::Matter { choices: 0, tried } => format!(
                "none of {tried} choices changes the mean or the p99 by more than a factor of {MUCH}"
            ),
            Self::Matter { choices, tried } => format!(
                "{choices} of {tried} choices {} the mean or the p99 by more than a factor of {MUCH}, or {} no result: verify \
                 {} on the real system",
                if choices == 1 { "changes" } else { "change" },
                if choices == 1 { "has" } else { "have" },
                if choices == 1 { "it" } else { "them" },
            ),
        }
    }
}

/// The answer as given.
fn base(tried: &[Tried]) -> Option<[f64; 2]> {
    let given = tried.iter().find(|tried| tried.choice.is_none())?;
    given.result.as_ref().ok().map(|result| figures(result))
}

fn described(named: &Named, tried: &[Tried]) -> String {
    format!(
        "{}: {}\n  assuming {}\n\n{}",
        named.name,
        headline(&named.simulation),
        assumed::line(&named.simulation),
        table(tried)
    )
}

fn table(tried: &[Tried]) -> String {
    let mut table = Table::new(&["", "mean", "p99", "x mean", "x p99"]);
    let base = base(tried);
    let mut reasons = String::new();
    for Tried { choice, result } in tried {
        let name = choice.map_or("as given", name).to_owned();
        match result {
            Ok(result) => {
                let times = figures(result);
                let [mean, p99] = times.map(|ms| Nanos::from_millis_f64(ms).to_string());
                let [of_mean, of_p99] = match base {
                    Some(base) if choice.is_some() => factors(times, base).map(marked),
                    _ => [const { String::new() }; 2],
                };
                table.row(vec![name, mean, p99, of_mean, of_p99]);
            }
            Err(why) => {
                reasons += &format!("  {name}: {}\n", why.why());
                let [mean, p99, of_mean, of_p99] = ["-", "-", "no result", ""].map(str::to_owned);
                table.row(vec![name, mean, p99, of_mean, of_p99]);
            }
        }
    }
    format!("{}{reasons}  {}\n", table.text(), Verdict::of(tried).text())
}

fn marked(factor: f64) -> String {
    let mark = match factor {
        _ if !moves_much(factor) => "",
        1.0.. => "  > 2x",
        _ => "  < 1/2",
    };
    format!("{factor:.2}{mark}")
}

fn add_to(json: &mut Output, scenario: &str, tried: &[Tried]) {
    let base = base(tried);
    for Tried { choice, result } in tried {
        let labels =
            Labels::of("scenario", scenario).with("choice", choice.map_or("as given", name));
        match result {
            Ok(result) => {
                json.metric(result.response_time_metric(&labels));
                let factors = base.map_or([f64::NAN; 2], |base| factors(figures(result), base));
                for (of, factor) in FIGURES.into_iter().zip(factors) {
                    let labels = labels.clone().with("of", of);
                    json.figure("factor", &labels, MetricUnit::One, factor);
                }
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
        Choice::Scattered => "data all over the disks (--scatter)",
        Choice::PapersDisk => "papers' disk: random places, FCFS, no cache",
        Choice::GivenPlaces => "addresses as they are (positional disk)",
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
    use super::{Choice, Nothing, Tried, Verdict, factors, moves_much};

    #[test]
    fn what_moves_an_answer_much_moves_its_mean_or_its_p99() {
        for (of, much) in [
            ([1.0, 10.0], [false, false]),
            ([1.9, 5.1], [false, false]),
            ([2.1, 10.0], [true, false]),
            ([1.0, 4.9], [false, true]),
            ([0.4, 11.0], [true, false]),
            ([0.0, 10.0], [true, false]),
            ([f64::NAN, 10.0], [false, false]),
        ] {
            assert_eq!(factors(of, [1.0, 10.0]).map(moves_much), much, "{of:?}");
        }
        assert_eq!(factors([0.0, 1.0], [0.0, 0.0]), [1.0, f64::INFINITY]);
        assert!(moves_much(f64::INFINITY));
    }

    #[test]
    fn without_a_base_nothing_is_compared() {
        let nothing = |choice| Tried {
            choice,
            result: Err(Nothing::NotApplicable(String::new())),
        };
        let of_ssd = nothing(Some(Choice::NoWriteCache));
        assert_eq!(Verdict::of(&[nothing(None), of_ssd]), Verdict::NoBase);
    }
}
