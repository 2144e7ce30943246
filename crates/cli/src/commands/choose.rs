//! `iosonar choose`: a load and several systems in, which of them to take out.

use std::path::PathBuf;

use anyhow::Context;
use iosonar_analysis::objective::Objective;
use iosonar_report::in_page;
use iosonar_scenario::{Overrides, SHORT_FORM, System};
use iosonar_study::choose::{Choice, ChooseSpec, Conclusion, Considered, GrowthSpec, chart};
use iosonar_trace::fit::Beyond;
use iosonar_trace::output::WholeFile;
use iosonar_trace::{Quantity, apart};

use super::model::threads;
use crate::exit::{
    Ending, Usage, check_tables, note, print_beside, print_data_beside, warn, write_table,
};
use crate::low::Choose;
use crate::render::choose::{Answer, as_json, as_table, judged, page, text};
use crate::render::picture;

pub(crate) fn run(args: &Choose) -> anyhow::Result<Ending> {
    check(args)?;
    let spec = spec(args)?;
    let choice = Choice::of(&spec)?;
    apart::refuse_overwritten(&choice.inputs(), &outputs(args))?;
    let is_quiet = args.common.output.quiet || args.common.output.json;
    let watch = |considered: &Considered| {
        if !is_quiet {
            note(&format!("{}: {}", considered.name, judged(considered)));
        }
    };
    let all = choice.consider(threads(args.common.threads), &watch)?;
    let answer = Answer {
        load: &spec.load,
        targets: &args.target,
        conclusion: Conclusion::of(&all, &spec.targets[0]),
        all: &all,
    };
    if !args.common.output.quiet {
        let remarks = answer.remarks();
        remarks.iter().for_each(|(of, text)| warn(*of, text));
    }
    match args.common.output.json {
        true => print_data_beside(args.csv.as_deref(), &as_json(&answer).text())?,
        false => print_beside(args.csv.as_deref(), &text(&answer))?,
    }
    write(args, &spec, &answer)?;
    // That nothing is known to meet the target is an answer, but not the one that was hoped for.
    Ok(match answer.conclusion.meet.is_empty() {
        true => Ending::Flagged,
        false => Ending::Done,
    })
}

/// Refuses what cannot be answered or written before anything is simulated.
fn check(args: &Choose) -> anyhow::Result<()> {
    let is_stream = std::fs::metadata(&args.load).is_ok_and(|of| !of.is_file() && !of.is_dir());
    if is_stream || args.load.as_os_str() == "-" {
        return Err(
            Usage("LOAD must be a file, because it is read several times".to_owned()).into(),
        );
    }
    if args.beyond.beyond() == Beyond::Clip {
        return Err(Usage(
            "--clip would drop requests on small candidates, so their load would be lighter: use --fit or --wrap"
                .to_owned(),
        )
        .into());
    }
    let is_no_response = |of: &&Objective| of.quantity != Quantity::ResponseTime;
    if let Some(of) = args.target.0.iter().find(is_no_response) {
        return Err(Usage(format!(
            "--target '{of}': simulations have response times only; remove 'latency' or 'delay'"
        ))
        .into());
    }
    if let Some(path) = &args.curve {
        picture::check(path, args.pixels)?;
    }
    if let Some(path) = &args.page
        && path.extension().is_none_or(|e| e != "html")
    {
        return Err(Usage(format!(
            "--page {}: the name of a page must end in .html",
            path.display()
        ))
        .into());
    }
    check_tables(&args.csv)?;
    Ok(apart::refuse_unusable(&[&args.load], &outputs(args))?)
}

fn spec(args: &Choose) -> anyhow::Result<ChooseSpec> {
    let candidates = args.candidates.iter().map(System::named);
    let candidates: Vec<_> = candidates.collect::<Result<_, _>>()?;
    for (i, candidate) in candidates.iter().enumerate() {
        if candidates[..i].iter().any(|of| of.name == candidate.name) {
            return Err(Usage(format!("'{}' is given twice", candidate.name)).into());
        }
    }
    let is_short = candidates.iter().any(|of| of.devices().is_some());
    let of_short_form = |(key, _): &&(String, String)| SHORT_FORM.contains(&key.as_str());
    if is_short && let Some((key, _)) = args.common.set.iter().find(of_short_form) {
        let problem = format!(
            "--set {key}: the short form of a candidate already sets this key; change the candidate instead"
        );
        return Err(Usage(problem).into());
    }
    Ok(ChooseSpec {
        load: args.load.clone(),
        candidates,
        targets: args.target.0.clone(),
        growth: args.growth.then(|| GrowthSpec {
            by: args.growth_by.into(),
            within: args.within,
        }),
        overrides: Overrides {
            reading: args.reading.reading()?,
            beyond: args.beyond.beyond(),
            seed: args.common.seed,
            replications: args.replications,
            set: args.common.set.clone(),
            memory: args.common.memory.at_start(),
            ..Overrides::default()
        },
        prices: args.price.clone(),
    })
}

/// The files that are written.
fn outputs(args: &Choose) -> Vec<&PathBuf> {
    let all = [&args.curve, &args.csv, &args.page];
    all.into_iter().flatten().collect()
}

/// The files that were asked for.
fn write(args: &Choose, spec: &ChooseSpec, answer: &Answer<'_>) -> anyhow::Result<()> {
    let wrote = |what: &str, path: &std::path::Path| {
        if !args.common.output.quiet {
            note(&format!("{what}: {}", path.display()));
        }
    };
    if let Some(path) = &args.csv {
        write_table(path, as_table(answer))?;
        wrote("table", path);
    }
    if args.curve.is_none() && args.page.is_none() {
        return Ok(());
    }
    let about = spec.load.display().to_string();
    let chart = chart(answer.all, &spec.targets[0], &about);
    if let Some(path) = &args.curve {
        picture::draw(&chart, path, args.pixels.scale())?;
        wrote("picture", path);
    }
    if let Some(path) = &args.page {
        let charts = match args.growth {
            true => vec![in_page(&chart)?],
            false => Vec::new(),
        };
        WholeFile::write_all(path, page(answer, charts).text().as_bytes())
            .with_context(|| format!("{}: cannot write the page", path.display()))?;
        wrote("page", path);
    }
    Ok(())
}
