//! Which system to take: the answer in a sentence, the table, the page.

mod programs;

use std::collections::BTreeSet;
use std::path::Path;

use iosonar_analysis::objective::{Attained, Judgement, Objective, Objectives};
use iosonar_report::{AnswerPage, RowMark, counted, joined};
use iosonar_study::choose::{Conclusion, Considered, Evaluation, Growth};
use iosonar_study::plan::{Bound, Caveat, GrowBy, TargetOutcome};
use iosonar_trace::Requests;
use iosonar_trace::fit::Fitted;

pub(crate) use programs::{as_json, as_table};

use super::caveat;
use super::messages::Warning;
use super::objective::{data_loss, milliseconds};
use super::remarks;
use super::sim::{assumed, is_scattered, reach_of, why_not_steady};
use super::table::{Table, WEAK};
use iosonar_report::{found_of, interval_of, value_of};

/// What was asked, and what came out.
pub(crate) struct Answer<'a> {
    pub(crate) load: &'a Path,
    pub(crate) targets: &'a Objectives,
    pub(crate) all: &'a [Considered],
    pub(crate) conclusion: Conclusion,
}

/// The outcome of a candidate, in a few words.
pub(crate) fn judged(considered: &Considered) -> String {
    match &considered.outcome {
        Ok(of) => of.verdict().name().to_owned(),
        Err(error) => format!("cannot be simulated: {error}"),
    }
}

/// An amount of money, to the hundredth where it is not whole.
fn amount(price: f64) -> String {
    match price.fract() == 0.0 {
        true => format!("{price:.0}"),
        false => format!("{price:.2}"),
    }
}

/// A factor of growth, rounded down: it is a promise.
fn times(factor: f64) -> String {
    let digits = (2 - factor.abs().max(1e-9).log10().floor() as i32).clamp(0, 9);
    let unit = 10_f64.powi(digits);
    format!("{:.*}", digits as usize, (factor * unit).floor() / unit)
}

/// A number of copies.
fn copies(number: f64) -> String {
    match number {
        1.0 => "1 copy".to_owned(),
        _ => format!("{number:.0} copies"),
    }
}

/// How much a load may grow.
fn amount_of(growth: &Growth, factor: f64) -> String {
    match growth.by {
        GrowBy::Speed => format!("{}x", times(factor)),
        GrowBy::Copies => copies(factor),
    }
}

/// Why it is not known how much more a load may grow.
fn why_at_least(growth: &Growth) -> &'static str {
    match growth.found.bound {
        Some(Bound::Number | Bound::Memory) => "larger numbers of copies were not tried",
        Some(Bound::Space) => {
            "more copies would reach beyond its end; --fit or --wrap makes them fit"
        }
        None if growth.is_unclear() => {
            "more growth is too close to call; raise --replications, or use a longer load"
        }
        Some(Bound::Recording) | None => {
            "the load is too short to show how much further it can grow"
        }
    }
}

impl Answer<'_> {
    fn target(&self) -> &Objective {
        &self.targets.0[0]
    }

    /// What the first target is about, as a candidate has it.
    fn value(&self, candidate: usize) -> String {
        let value = self.all[candidate].value();
        value.map_or("no steady state".to_owned(), |value| {
            value_of(self.target(), value)
        })
    }

    fn name(&self, candidate: usize) -> &str {
        &self.all[candidate].name
    }

    /// The answer in a sentence or two.
    pub(crate) fn conclusion(&self) -> String {
        let of = &self.conclusion;
        let mut text = match of.meet.split_first() {
            None if of.unclear.is_empty() && of.unknown.is_empty() => {
                format!("No candidate meets {}.", self.targets)
            }
            None => format!("No candidate is known to meet {}.", self.targets),
            Some((&best, [])) => {
                format!(
                    "{} meets {}{}.",
                    self.name(best),
                    self.targets,
                    self.aside(best)
                )
            }
            Some((&best, others)) => {
                let others: Vec<_> = others
                    .iter()
                    .map(|&i| format!("{}{}", self.name(i), self.aside(i)))
                    .collect();
                format!(
                    "{} meets {}{}. So {} {}.",
                    self.name(best),
                    self.targets,
                    self.aside(best),
                    if others.len() == 1 { "does" } else { "do" },
                    joined(&others)
                )
            }
        };
        if !of.miss.is_empty() {
            let missed = |&i: &usize| format!("{} ({})", self.name(i), self.missed(i));
            let missed: Vec<_> = of.miss.iter().map(missed).collect();
            text += &format!(
                " {} {}.",
                joined(&missed),
                if missed.len() == 1 {
                    "does not"
                } else {
                    "do not"
                }
            );
        }
        let doubts: BTreeSet<_> = of.unclear.iter().map(|&i| self.doubt(i)).collect();
        for doubt in doubts {
            let of_this = of.unclear.iter().filter(|&&i| self.doubt(i) == doubt);
            let names: Vec<_> = of_this.map(|&i| self.name(i).to_owned()).collect();
            text += &format!(" {}: not certain: {doubt}.", joined(&names));
        }
        if !of.unknown.is_empty() {
            let names: Vec<_> = of
                .unknown
                .iter()
                .map(|&i| self.name(i).to_owned())
                .collect();
            text += &format!(" {}: cannot be simulated with this load.", joined(&names));
        }
        text
    }

    /// Why it is not certain whether a candidate meets the targets, and what to do about it.
    fn doubt(&self, candidate: usize) -> &'static str {
        let Ok(of) = &self.all[candidate].outcome else {
            return "it cannot be simulated";
        };
        let worst = of.now.worst_target().map(|i| &of.now.outcomes[i]);
        let attained = worst.and_then(TargetOutcome::attained);
        let is_known = attained.is_some_and(|of| of.interval_95.is_some());
        match of.verdict() {
            Judgement::TooShort => {
                "the load is too short for a result that does not depend on its length; use a longer load"
            }
            _ if is_known => "the limit lies within the 95 % interval; raise --replications",
            _ => "too few requests for a confidence interval; use a longer load",
        }
    }

    /// The first target that a candidate misses, and its value.
    fn missed(&self, candidate: usize) -> String {
        let outcomes = self.all[candidate].outcome.iter();
        let outcomes = outcomes.flat_map(|of| &of.now.outcomes);
        let is_missed = |of: &TargetOutcome| {
            matches!(of.verdict(), Some(Judgement::Misses | Judgement::Unstable))
        };
        let mut outcomes = self.targets.0.iter().zip(outcomes);
        match outcomes.find(|(_, outcome)| is_missed(outcome)) {
            Some((target, outcome)) => match outcome.attained() {
                Some(of) => data_loss(of).unwrap_or_else(|| {
                    format!("{} {}", target.name(), value_of(target, of.estimate.mean))
                }),
                None => "no steady state".to_owned(),
            },
            None => "-".to_owned(),
        }
    }

    /// What is worth knowing of one that meets the targets: its value, its growth, its price.
    fn aside(&self, candidate: usize) -> String {
        let considered = &self.all[candidate];
        let mut parts = vec![self.value(candidate)];
        if let Some(growth) = considered.growth()
            && let Some(factor) = growth.factor()
        {
            parts[0] += " now";
            let least = if growth.is_at_least() {
                "at least "
            } else {
                ""
            };
            let credit = on_credit_too(growth);
            parts.push(match growth.by {
                GrowBy::Speed => {
                    format!("up to {least}{} times this load{credit}", times(factor))
                }
                GrowBy::Copies => format!("up to {least}{} of this load{credit}", copies(factor)),
            });
        }
        if let Some(price) = considered.price {
            parts.push(format!("costs {}", amount(price)));
        }
        format!(" ({})", parts.join(", "))
    }

    fn header(&self) -> Vec<String> {
        let mut header = vec!["candidate".to_owned(), "verdict".to_owned()];
        header.extend(self.targets.0.iter().map(Objective::name));
        header.extend(self.quantiles().map(|(name, ..)| name.to_owned()));
        header.push("busiest device".to_owned());
        if self.has_growth() {
            header.push("growth".to_owned());
        }
        header.push("data".to_owned());
        if self.has_prices() {
            header.push("price".to_owned());
        }
        header
    }

    /// What is in the table besides what the targets are about.
    fn quantiles(&self) -> impl Iterator<Item = (&'static str, Requests, f64)> {
        let all = [
            ("read p50", Requests::Reads, 0.5),
            ("read p99", Requests::Reads, 0.99),
            ("write p50", Requests::Writes, 0.5),
            ("write p99", Requests::Writes, 0.99),
        ];
        all.into_iter()
            .filter(|(name, ..)| self.targets.0.iter().all(|of| of.name() != *name))
    }

    /// How much a load may grow, and which of several targets is missed first beyond that.
    fn growth(&self, growth: Option<&Growth>) -> String {
        let Some(growth) = growth else {
            return "-".to_owned();
        };
        let Some(factor) = growth.factor() else {
            return match growth.may_be_possible() {
                true => "unclear".to_owned(),
                false => "none".to_owned(),
            };
        };
        let amount = amount_of(growth, factor) + on_credit_too(growth);
        match self.named_first(growth) {
            _ if growth.is_at_least() => format!(">= {amount}"),
            Some(first) => format!("{amount} ({})", first.name()),
            None => amount,
        }
    }

    /// The target that is missed first, where that is not the only one.
    fn named_first(&self, growth: &Growth) -> Option<&Objective> {
        let first = growth.missed_first()?;
        (self.targets.0.len() > 1).then(|| &self.targets.0[first])
    }

    fn has_growth(&self) -> bool {
        self.all.iter().any(|of| of.growth().is_some())
    }

    fn has_prices(&self) -> bool {
        self.all.iter().any(|of| of.price.is_some())
    }

    fn rows(&self) -> Vec<Vec<String>> {
        self.all.iter().map(|of| self.row(of)).collect()
    }

    fn row(&self, considered: &Considered) -> Vec<String> {
        let mut row = vec![considered.name.clone()];
        match &considered.outcome {
            Err(_) => {
                row.push("cannot be simulated".to_owned());
                row.resize(
                    self.header().len() - usize::from(self.has_prices()),
                    "-".to_owned(),
                );
            }
            Ok(of) => {
                row.push(of.verdict().name().to_owned());
                for outcome in &of.now.outcomes {
                    row.push(outcome.attained().map_or("-".to_owned(), with_interval));
                }
                row.extend(
                    self.quantiles()
                        .map(|(_, requests, p)| quantile(of, requests, p)),
                );
                row.push(busiest(of));
                if self.has_growth() {
                    row.push(self.growth(of.growth.as_ref()));
                }
                row.push(of.capacity.to_string());
            }
        }
        if self.has_prices() {
            let price = considered.price.map(amount);
            row.push(price.unwrap_or_else(|| "-".to_owned()));
        }
        row
    }

    /// How to spread a load that lies within a small part of a candidate: over what all of them hold, as it is the same load.
    fn advice(&self) -> Option<String> {
        let known = || self.all.iter().filter_map(|of| of.outcome.as_ref().ok());
        let over = known().filter_map(|of| Some(of.simulation.scatter()?.over()));
        let over = over.min()?;
        let is_narrow = |of: &Evaluation| {
            let result = of.result.as_ref();
            result.is_ok_and(|result| {
                let is_spread = is_scattered(&of.simulation, over)
                    || result.span.is_some_and(|span| span.sectors() > over / 2);
                !is_spread && reach_of(&of.simulation, result).is_some()
            })
        };
        known().any(|of| is_narrow(of)).then(|| {
            format!("--scatter {over} spreads the load over the capacity of the smallest candidate")
        })
    }

    /// The remarks on the load, which is the same for all candidates, and what was changed in it to fit each.
    pub(crate) fn remarks(&self) -> Vec<(Warning, String)> {
        let results = self.all.iter().filter_map(|of| {
            let evaluation = of.outcome.as_ref().ok()?;
            Some((&of.name, evaluation.result.as_ref().ok()?))
        });
        let mut all = Vec::new();
        for (name, result) in results {
            for of in remarks::warnings_of_load(&result.remarks, &Fitted::default()) {
                if !all.contains(&of) {
                    all.push(of);
                }
            }
            let changed = remarks::warnings_of_load(&[], &result.fitted);
            all.extend(
                changed
                    .into_iter()
                    .map(|(of, text)| (of, format!("{name}: {text}"))),
            );
        }
        all
    }

    /// What else there is to know of a growth.
    fn notes_of_growth(&self, name: &str, growth: &Growth) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(factor) = growth.factor() {
            let amount = amount_of(growth, factor);
            notes.extend(growth.found.caveats().map(|of| {
                let (label, why) = (caveat::label(of), caveat::why(of));
                format!("{name}: growth of {amount}: {label}: {why}")
            }));
        }
        if growth.may_be_possible() {
            let all = match self.targets.0.len() {
                1 => "the target",
                _ => "all targets",
            };
            notes.push(format!(
                "{name}: growth unclear: of the loads that were tried, none is known to meet {all}, and not all are known not \
                 to; raise --replications, or use a longer load"
            ));
        }
        notes
    }

    /// Why candidates could not be simulated, what the results rest on, and what the words of the table mean.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for of in self.all {
            notes.push(match &of.outcome {
                Ok(evaluation) => {
                    format!("{}: {}", of.name, assumed::line(&evaluation.simulation))
                }
                Err(error) => format!("{}: {error}", of.name),
            });
            if let Ok(evaluation) = &of.outcome
                && let Ok(result) = &evaluation.result
                && let Some(reach) = reach_of(&evaluation.simulation, result)
            {
                notes.push(format!("{}: {reach}", of.name));
            }
            let results = of.outcome.iter().flat_map(|of| &of.result);
            let left_out: u64 = results.map(|result| result.fitted.left_out).sum();
            if left_out > 0 {
                notes.push(format!(
                    "{}: LEFT OUT: {} not simulated",
                    of.name,
                    counted(
                        left_out,
                        [
                            "request lies beyond the end of this candidate and was",
                            "requests lie beyond the end of this candidate and were"
                        ]
                    )
                ));
            }
            let outcome = of.outcome.as_ref().ok();
            let result = outcome.and_then(|of| of.result.as_ref().ok());
            if let Some(not_steady) = result.and_then(|result| result.not_steady) {
                let why = why_not_steady(not_steady);
                notes.push(format!("{}: NOT STEADY: {why}", of.name));
            }
            for caveat in outcome.iter().flat_map(|of| of.now.caveats()) {
                let (label, why) = (caveat::label(caveat), caveat::why(caveat));
                notes.push(format!("{}: {label}: {why}", of.name));
            }
        }
        notes.extend(self.advice());
        for of in self.all {
            if let Some(growth) = of.growth() {
                notes.extend(self.notes_of_growth(&of.name, growth));
            }
            let growth = of.growth().filter(|growth| growth.is_at_least());
            if let Some(growth) = growth
                && let Some(factor) = growth.factor()
            {
                let amount = match growth.found.ruled_out() {
                    Some(most) => format!(
                        "from {} to {}",
                        amount_of(growth, factor),
                        amount_of(growth, most)
                    ),
                    None => format!(">= {}", amount_of(growth, factor)),
                };
                notes.push(format!(
                    "{}: growth {amount}: {}",
                    of.name,
                    why_at_least(growth)
                ));
            }
        }
        let growths = || self.all.iter().filter_map(Considered::growth);
        if let Some(growth) = growths().next() {
            let what = match growth.by {
                GrowBy::Speed => "the largest factor that was found to meet",
                GrowBy::Copies => "the largest number of copies of the load that was found to meet",
            };
            let first = match growths().any(|of| self.named_first(of).is_some()) {
                false => "",
                true => "; the target in brackets is the first that a larger load misses",
            };
            notes.push(format!("growth: {what} all targets{first}"));
        }
        notes
    }
}

/// That the largest load lasts only as long as credits, after its amount.
fn on_credit_too(growth: &Growth) -> &'static str {
    let is_on_credit = |of| matches!(of, Caveat::OnCredit(_));
    match growth.found.caveats().any(is_on_credit) {
        true => " on credit",
        false => "",
    }
}

fn with_interval(of: &Attained) -> String {
    let value = found_of(of);
    match interval_of(of) {
        None => format!("~{value}"),
        Some(interval) => format!("{value} ({interval})"),
    }
}

/// With `~` where it rests on too few requests.
fn quantile(of: &Evaluation, requests: Requests, p: f64) -> String {
    let Some(estimate) = of.quantile_ms(requests, p) else {
        return "-".to_owned();
    };
    let few = if estimate.stderr.is_nan() { "~" } else { "" };
    format!("{few}{}", milliseconds(estimate.mean))
}

fn busiest(of: &Evaluation) -> String {
    of.busiest().map_or("-".to_owned(), |(device, share)| {
        let name = of.simulation.array().station(device);
        format!("{name} {:.1} %", 100.0 * share)
    })
}

/// The answer for people.
pub(crate) fn text(answer: &Answer<'_>) -> String {
    let header = answer.header();
    let header: Vec<_> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let rows = answer.rows();
    // The first cell is a name.
    let mut figures = rows.iter().flat_map(|row| row.iter().skip(1));
    let is_weak = figures.any(|cell| cell.starts_with('~'));
    for row in rows {
        table.row(row);
    }
    let mut text = format!("{}\n\n{}", answer.conclusion(), table.text());
    if is_weak {
        text += WEAK;
    }
    for note in answer.notes() {
        text += &format!("  {note}\n");
    }
    text
}

/// A page that begins with the answer, and a table with the best candidate first.
pub(crate) fn page(answer: &Answer<'_>, charts: Vec<(String, String, String)>) -> AnswerPage {
    let of = &answer.conclusion;
    let groups = [
        (&of.meet, RowMark::Meets),
        (&of.unclear, RowMark::Plain),
        (&of.miss, RowMark::Misses),
        (&of.unknown, RowMark::Plain),
    ];
    let all = answer.rows();
    let (mut rows, mut marks) = (Vec::new(), Vec::new());
    for (group, mark) in groups {
        for &candidate in group {
            let mut row = all[candidate].clone();
            let is_best = of.meet.first() == Some(&candidate);
            if is_best {
                row[0] += " (best)";
            }
            rows.push(row);
            marks.push(if is_best { RowMark::Best } else { mark });
        }
    }
    AnswerPage {
        title: format!("Which system suits {}?", answer.load.display()),
        answer: vec![answer.conclusion()],
        header: answer.header(),
        rows,
        marks,
        notes: answer.notes(),
        charts,
    }
}

#[cfg(test)]
mod tests {
    use super::times;

    #[test]
    fn a_growth_is_rounded_down() {
        assert_eq!(times(309.97), "309");
        assert_eq!(times(12.39), "12.3");
        assert_eq!(times(1.0399), "1.03");
        assert_eq!(times(0.06391), "0.0639");
    }
}
