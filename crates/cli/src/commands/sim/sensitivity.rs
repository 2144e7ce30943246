//! How much an answer depends on each plausible choice, as a table.

use iosonar_scenario::sensitivity::Choice;
use iosonar_scenario::{ControllerLike, Overrides};
use iosonar_stats::metric::MetricUnit;
use iosonar_stats::{Labels, Output};
use iosonar_study::sensitivity::{
    Influence, MUCH, Nothing, Tried, base, factors, figures, moves_much, sensitivity,
};
use iosonar_units::Nanos;

use super::checks::{refuse_output_of_one, refuse_outputs_of_one};
use super::{Named, overrides, prepared};
use crate::exit::{Ending, Usage, print, print_data};
use crate::low::Sim;
use crate::render::sim::{assumed, headline};
use crate::render::table::Table;

/// What is compared, as labels name it.
const FIGURES: [&str; 2] = ["mean", "p99"];

pub(super) fn run(args: &Sim, all: &[Named], threads: usize) -> anyhow::Result<Ending> {
    check(args)?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()?;
    let overrides = overrides(args, args.set.clone())?;
    let mut json = Output::new("sim --sensitivity");
    let mut text = String::new();
    let mut is_known = true;
    for named in all {
        let other = |alternative| {
            let overrides = Overrides {
                alternative: Some(alternative),
                ..overrides.clone()
            };
            prepared(args, &named.path, &overrides)
        };
        let tried = pool.install(|| sensitivity(&named.simulation, other, args.unstable))?;
        is_known &= matches!(Influence::of(&tried), Influence::Matter { .. });
        match args.output.json {
            true => add_to(&mut json, &named.name, &tried),
            false => text += &described(named, &tried),
        }
    }
    match args.output.json {
        true => print_data(&json.text())?,
        false => print(&text)?,
    }
    Ok(if is_known {
        Ending::Done
    } else {
        Ending::Flagged
    })
}

fn check(args: &Sim) -> Result<(), Usage> {
    const WHY: &str = "--sensitivity runs several";
    for (given, option) in [
        (args.varying.csv.is_some(), "--csv"),
        (args.varying.curve.is_some(), "--curve"),
        (args.varying.data.is_some(), "--data"),
        (args.cdf.is_some(), "--cdf"),
        (args.cdf_data.is_some(), "--cdf-data"),
    ] {
        refuse_output_of_one(given, option, WHY)?;
    }
    refuse_outputs_of_one(args, WHY)
}

/// Why there is no result.
fn why_nothing(why: &Nothing) -> String {
    match why {
        Nothing::Unsteady(why) => why.to_string(),
        Nothing::NotApplicable(why) => why.clone(),
    }
}

/// What the answers say together.
fn conclusion(of: Influence) -> String {
    match of {
        Influence::NoBase => {
            "the unchanged scenario has no result, so there is nothing to compare with".to_owned()
        }
        Influence::NothingTried => {
            "there are no alternatives to try, so it is not known how much the answer depends on its assumptions"
                .to_owned()
        }
        Influence::Matter {
            choices: 0,
            tried: 1,
        } => format!(
            "the only other choice changes neither the mean nor the p99 by more than a factor of {MUCH}"
        ),
        Influence::Matter { choices: 0, tried } => format!(
            "none of {tried} choices changes the mean or the p99 by more than a factor of {MUCH}"
        ),
        Influence::Matter { choices, tried } => format!(
            "{choices} of {tried} choices {} the mean or the p99 by more than a factor of {MUCH}, or {} no result: verify \
                 {} on the real system",
            if choices == 1 { "changes" } else { "change" },
            if choices == 1 { "has" } else { "have" },
            if choices == 1 { "it" } else { "them" },
        ),
    }
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

/// The answers, and what they say together.
pub(crate) fn table(tried: &[Tried]) -> String {
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
                reasons += &format!("  {name}: {}\n", why_nothing(why));
                let [mean, p99, of_mean, of_p99] = ["-", "-", "no result", ""].map(str::to_owned);
                table.row(vec![name, mean, p99, of_mean, of_p99]);
            }
        }
    }
    format!(
        "{}{reasons}  {}\n",
        table.text(),
        conclusion(Influence::of(tried))
    )
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
                serde_json::json!({ "labels": labels, "why": why_nothing(why) }),
            ),
        }
    }
}

fn name(choice: Choice) -> &'static str {
    match choice {
        Choice::Scattered => "data spread over the disks (--scatter)",
        Choice::PapersDisk => "papers' disk: random, FCFS, no cache",
        Choice::GivenPlaces => "addresses as they are (positional disk)",
        Choice::InOrder => "FCFS in the drive",
        Choice::ShortestPositioning => "SPTF (queue depth 32) in the drive",
        Choice::NoBuffer => "no drive cache",
        Choice::WriteThrough => "write-through drive cache",
        Choice::Controller(ControllerLike::Nothing) => "no controller",
        Choice::Controller(ControllerLike::Hba) => "controller hba (no cache)",
        Choice::Controller(ControllerLike::RaidCard) => "controller raid-card-1GiB-bbu",
        Choice::NoWriteCache => "no write cache in the SSD",
    }
}
