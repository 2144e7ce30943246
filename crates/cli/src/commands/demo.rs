//! `iosonar demo`: the whole loop in one go.
//!
//! A load is simulated on a RAID 5 array of four disks, a few seconds of it are replayed on a
//! scratch file, a model of that file is calibrated and simulated, and all is drawn and compared.

use std::fs;
use std::path::Path;
use std::thread::available_parallelism;

use anyhow::Context;
use iosonar_guard::Host;
use iosonar_plot::{Chart, Size, Theme};
use iosonar_replay::{Intent, Load, Options, ReplayError, Summary, Target, Verdict, Writes};
use iosonar_report::{
    Arrange, Entry, Look, LookOptions, Measured, Quantity, find, grouped, needs_of,
};
use iosonar_scenario::{OutputFiles, Overrides, Prepared};
use iosonar_stats::{Distribution, ks_distance};
use iosonar_study::calibrate::{CalibrateError, Observed, Quality, SsdFit, calibrate_ssd};
use iosonar_study::sensitivity::sensitivity;
use iosonar_trace::{Reading, input};
use iosonar_units::{Bytes, Nanos};

use crate::Assets;
use crate::commands::replay::{Shown, carry_out, ending};
use crate::commands::sim;
use crate::exit::{Ending, Usage, note, print};
use crate::low::Demo;
use crate::render::picture;
use crate::render::sim::{headline, per_second};
use crate::render::table::{Table, significant};
use iosonar_study::replay::{RecordsTo, ReplayPlan, create};

/// The part of the load that is replayed begins here: shortly before a checkpoint.
const REPLAY_FROM: Nanos = Nanos::from_secs(88);
const SCRATCH_SIZE: Bytes = Bytes::new(512 << 20);
/// How often it is replayed at most, where this machine is busy with something else.
const ATTEMPTS: u32 = 2;

pub(crate) fn run(args: &Demo, assets: &Assets) -> anyhow::Result<Ending> {
    if args.duration == Nanos::ZERO {
        return Err(Usage("--duration must be greater than 0".to_owned()).into());
    }
    let dir = &args.dir;
    make_folder(dir)?;
    let in_dir = |name: &str| dir.join(name);
    let (load, scenario) = (in_dir("database-server.load.gz"), in_dir("raid5.toml"));
    fs::write(&load, assets.demo_load)
        .and_then(|()| fs::write(&scenario, assets.demo_scenario))
        .with_context(|| format!("{}: cannot write into the folder", dir.display()))?;

    let simulated = in_dir("simulated.ios");
    simulate(args, &load, &scenario, &simulated)?;
    let replayed = in_dir("replayed.ios");
    let part = Reading::window(REPLAY_FROM, REPLAY_FROM.saturating_add(args.duration));
    let summary = replay(args, &load, &part, &in_dir("scratch"), &replayed)?;
    if summary.early.is_some() || summary.completed == 0 {
        return Ok(ending(&summary));
    }
    let modelled = in_dir("modelled.ios");
    let fit = calibrate(args, &load, &part, &replayed, dir, &modelled)?;
    say(args, "4. drawing");
    let table = draw(
        dir,
        &simulated,
        &replayed,
        fit.as_ref().map(|fit| (modelled.as_path(), fit)),
        &part,
        how_busy(&summary.verdict).is_some(),
    )?;
    print(&table)?;
    Ok(match ending(&summary) {
        // The demo shows what a replay is like: that this machine was busy is reported above, and is not a failure.
        Ending::Flagged => Ending::Done,
        other => other,
    })
}

/// A file that says that a folder was made by the demo.
const MARKER: &str = "made-by-iosonar-demo";

/// Makes the folder, or uses it again if a demo made it: other files are never overwritten.
fn make_folder(dir: &Path) -> anyhow::Result<()> {
    let in_use = fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some());
    if in_use && !dir.join(MARKER).exists() {
        return Err(Usage(format!(
            "{} contains files that are not from a demo: choose another folder with --dir",
            dir.display()
        ))
        .into());
    }
    fs::create_dir_all(dir)
        .and_then(|()| {
            fs::write(
                dir.join(MARKER),
                "Everything in this folder can be generated again.\n",
            )
        })
        .with_context(|| format!("{}: cannot create the folder", dir.display()))
}

fn say(args: &Demo, text: &str) {
    if !args.quiet {
        note(text);
    }
}

fn simulate(args: &Demo, load: &Path, scenario: &Path, out: &Path) -> anyhow::Result<()> {
    let overrides = Overrides {
        trace: Some(load.to_owned()),
        seed: args.seed,
        ..Overrides::default()
    };
    let simulation = Prepared::read(scenario, &overrides)?;
    say(args, &format!("1. simulating {}", headline(&simulation)));
    let threads = available_parallelism().map_or(1, usize::from);
    let files = OutputFiles {
        records: Some(out),
        ..OutputFiles::default()
    };
    let result = sim::simulate(&simulation, threads, &files, false)?;
    let seconds = result.elapsed.as_secs_f64();
    let rate = grouped(per_second(result.requests, &result));
    say(
        args,
        &format!(
            "   {} requests in {seconds:.2} s ({rate} requests/s), hash {}",
            grouped(result.requests),
            result.hash
        ),
    );
    let other = |alternative| {
        let overrides = Overrides {
            alternative: Some(alternative),
            ..overrides.clone()
        };
        Prepared::read(scenario, &overrides)
    };
    let tried = sensitivity(&simulation, other, true)?;
    let sensitivity = sim::sensitivity_table(&tried);
    say(
        args,
        &format!("   what this result depends on, one choice at a time:\n{sensitivity}"),
    );
    Ok(())
}

fn replay(
    args: &Demo,
    load: &Path,
    part: &Reading,
    scratch: &Path,
    out: &Path,
) -> anyhow::Result<Summary> {
    let duration = args.duration;
    let text = format!(
        "2. replaying {duration} of it, starting at {REPLAY_FROM}, on a scratch file, reads and writes"
    );
    say(args, &text);
    for attempt in 1.. {
        let summary = replay_on_scratch(load, part, scratch, out, args.quiet)?;
        let completed = grouped(summary.completed);
        let Some(how_busy) = how_busy(&summary.verdict) else {
            say(
                args,
                &format!("   {completed} requests, {}", summary.verdict),
            );
            return Ok(summary);
        };
        let again = attempt < ATTEMPTS && summary.early.is_none();
        let then = if again { ": trying again" } else { "" };
        say(
            args,
            &format!("   {completed} requests, but this machine was busy: {how_busy}{then}"),
        );
        if !again {
            return Ok(summary);
        }
    }
    unreachable!("the last attempt returns")
}

/// How late requests were started because this machine was busy; `None` if it was not.
fn how_busy(verdict: &Verdict) -> Option<String> {
    match verdict {
        Verdict::ReplayerLimited { late } => Some(format!(
            "{:.1} % of them were submitted more than 100 µs late, {:.1} % more than 1 ms",
            100.0 * late[0],
            100.0 * late[1]
        )),
        _ => None,
    }
}

/// What a replay on a busy machine is worth.
const BUSY: &str = "  This machine was busy during the replay, so the measured times reflect \
                    its other load as much as the file.\n  Run the demo again when the machine is idle.\n";

/// What the distance between the file and its model says.
fn judgement(distance: f64, is_busy: bool) -> String {
    let scale =
        format!("KS distance {distance:.3} (0 for equal distributions, 1 for disjoint ones)");
    if is_busy {
        return format!("  file and model: {scale}; not meaningful here.\n{BUSY}");
    }
    if distance > Quality::POOR {
        return format!(
            "  file and model: {scale}: the model does not fit. It is fitted to one half of a short \
             replay.\n  Try a longer one (iosonar demo --duration 60s) on an otherwise idle disk.\n"
        );
    }
    format!("  file and model: {scale}: the model matches the file.\n")
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
    let how = how.unwrap_or_else(|| "their medians are about the same".to_owned());
    Some(format!("  array and file: two different devices; {how}.\n"))
}

/// Fits a model of the file to the first half of its replay, and simulates the same part on it; nothing where the
/// replay is too short for that.
fn calibrate(
    args: &Demo,
    load: &Path,
    part: &Reading,
    replayed: &Path,
    dir: &Path,
    out: &Path,
) -> anyhow::Result<Option<SsdFit>> {
    let observed = match Observed::read(&mut *input::open(replayed)?) {
        Ok(observed) => observed,
        Err(CalibrateError::Records(why)) => {
            say(args, &format!("3. calibration skipped: {why}"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    say(
        args,
        "3. calibrating a model of that file and simulating the same part on it",
    );
    let fit = calibrate_ssd(&observed, Some(SCRATCH_SIZE.get()))?;
    let provenance = format!("Fitted to the first half of {}.", replayed.display());
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        fs::write(&path, text).with_context(|| format!("{}: cannot write", path.display()))
    };
    write(
        "this-file.toml",
        &fit.text(&provenance, "a file of this machine"),
    )?;
    write("modelled.toml", "[ssd]\nprofile = \"this-file.toml\"\n")?;
    let overrides = Overrides {
        trace: Some(load.to_owned()),
        reading: part.clone(),
        seed: args.seed,
        ..Overrides::default()
    };
    let simulation = Prepared::read(&dir.join("modelled.toml"), &overrides)?;
    let files = OutputFiles {
        records: Some(out),
        ..OutputFiles::default()
    };
    sim::simulate(&simulation, 1, &files, false)?;
    say(
        args,
        &format!(
            "   {} at a time; the model is in {}",
            fit.service.channels,
            dir.join("this-file.toml").display()
        ),
    );
    Ok(Some(fit))
}

/// What the records in the file `path` that belong to `part` of the load show.
fn look(path: &Path, name: &str, part: &Reading) -> anyhow::Result<Measured> {
    let needs = needs_of([chart("sonar")?, chart("cdf")?]);
    let mut look = Look::new(name, needs, &LookOptions::default());
    let mut reader = input::open_changed(path, part)?;
    look.read(&mut reader)?;
    let measured = look.finish();
    measured.check()?;
    Ok(measured)
}

fn chart(name: &str) -> anyhow::Result<&'static Entry> {
    find(name).with_context(|| format!("unknown chart '{name}'"))
}

/// Draws everything; returns the text to print.
fn draw(
    dir: &Path,
    simulated: &Path,
    replayed: &Path,
    modelled: Option<(&Path, &SsdFit)>,
    part: &Reading,
    is_busy: bool,
) -> anyhow::Result<String> {
    let everything = Reading::default();
    let all = look(
        simulated,
        "database server on a simulated RAID 5 of four disks",
        &everything,
    )?;
    // Like with like: the table and the distributions are of the part that was replayed.
    let model = look(simulated, "RAID 5 (simulated)", part)?;
    let device = look(replayed, "a file here (replayed)", part)?;
    let fitted = modelled
        .map(|(path, _)| look(path, "its model (simulated)", &everything))
        .transpose()?;
    let caveats = [device.warnings(), device.remarks()].concat().join("; ");

    let quantity = Quantity::Latency;
    let mut table = Table::of_times("latency");
    let all_looks = [
        ("simulated", Some(&model)),
        ("replayed", Some(&device)),
        ("modelled", fitted.as_ref()),
    ];
    for (name, look) in all_looks
        .into_iter()
        .filter_map(|(name, look)| Some((name, look?)))
    {
        table.times(&format!("{name} reads"), look.reads(quantity));
        table.times(&format!("{name} writes"), look.writes(quantity));
    }
    let (simulated_all, measured) = (model.all(quantity), device.all(quantity));
    let mut text = format!(
        "\nThe replayed part of the load, simulated on the array, replayed, and simulated on the model of the file:\n\n{}{}",
        table.text(),
        array_and_file(&simulated_all, &measured).unwrap_or_default()
    );
    if let (Some((_, fit)), Some(fitted)) = (modelled, &fitted) {
        let distance = ks_distance(&fitted.all(quantity).histogram, &measured.histogram);
        text += &judgement(distance, is_busy);
        text += &format!(
            "  on the held-out half: KS distance {:.3}, demerit {} ({:.0} % of the mean)\n",
            fit.held_out.ks,
            Nanos::nearest(fit.held_out.demerit_ms * 1e6),
            100.0 * fit.held_out.relative
        );
    } else if is_busy {
        text += BUSY;
    }
    if !caveats.is_empty() {
        text += &format!("  {caveats}\n");
    }

    save("sonar", "sonar-simulated", dir, &[all])?;
    let mut looks = vec![model, device];
    looks.extend(fitted);
    save("cdf", "cdf", dir, &looks)?;
    let title = "database server replayed on a file of this machine";
    let device = look(replayed, title, part)?;
    save("sonar", "sonar-replayed", dir, &[device])?;
    text += "\nLook at\n";
    for name in ["sonar-simulated", "sonar-replayed", "cdf"] {
        text += &format!("  {}\n", dir.join(name).with_extension("png").display());
    }
    text += &format!("and the other files in {}\n", dir.display());
    Ok(text)
}

/// Saves a chart as PNG and as SVG.
fn save(kind: &str, name: &str, dir: &Path, inputs: &[Measured]) -> anyhow::Result<()> {
    let charts = chart(kind)?.charts(inputs, Arrange::default());
    let charts: Vec<&Chart> = charts.iter().collect();
    for ending in ["png", "svg"] {
        let path = dir.join(name).with_extension(ending);
        picture::save(&charts, &path, Size::default(), Theme::Light)?;
    }
    Ok(())
}

/// Replays on a scratch file that is removed afterwards.
fn replay_on_scratch(
    load: &Path,
    reading: &Reading,
    scratch: &Path,
    out: &Path,
    quiet: bool,
) -> anyhow::Result<Summary> {
    let _ = fs::remove_file(scratch);
    let removed = RemovedAtEnd(scratch);
    create(scratch, SCRATCH_SIZE, &Shown::new(quiet))?;
    let options = Options {
        writes: Writes::Do,
        ..Options::default()
    };
    let mut intent = Intent {
        write: true,
        destroy: vec![scratch.to_owned()],
        buffered: false,
    };
    let host = Host::default();
    let target = Target::open(scratch, &intent, &host).or_else(|e| match e {
        // Not every file system can do without the page cache; the results say so then.
        ReplayError::Refused(_) => {
            intent.buffered = true;
            Target::open(scratch, &intent, &host)
        }
        other => Err(other),
    })?;
    let load = Load::scanned(load, reading, options.writes)?;
    load.scan.fits(&target, options.fit)?;
    let records = RecordsTo {
        path: out,
        out_from: None,
        durable: false,
    };
    let plan = ReplayPlan::new(vec![load], vec![target], options);
    let summary = carry_out(&plan, Some(&records), quiet, false)?;
    drop(removed);
    Ok(summary)
}

struct RemovedAtEnd<'a>(&'a Path);

impl Drop for RemovedAtEnd<'_> {
    fn drop(&mut self) {
        // If it cannot be removed it stays, under a name that says what it is.
        let _ = fs::remove_file(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_close_only_where_it_is_and_the_machine_was_idle() {
        let close = "the model matches the file";
        assert!(judgement(0.05, false).contains(close));
        for (distance, is_busy, says) in [
            (0.3, false, "the model does not fit"),
            (0.05, true, "This machine was busy"),
            (0.892, true, "This machine was busy"),
        ] {
            let text = judgement(distance, is_busy);
            assert!(text.contains(says) && !text.contains(close), "{text}");
            assert!(text.contains(&format!("{distance:.3}")), "{text}");
        }
    }

    #[test]
    fn only_a_machine_that_started_requests_late_was_busy() {
        let late = [0.0397, 0.0229, 0.0, 0.0];
        let busy = how_busy(&Verdict::ReplayerLimited { late }).unwrap();
        assert!(busy.starts_with("4.0 % of them"), "{busy}");
        let from = Nanos::SECOND;
        for verdict in [
            Verdict::KeptUp,
            Verdict::NotJudged,
            Verdict::DeviceLimited { from },
        ] {
            assert_eq!(how_busy(&verdict), None);
        }
    }

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
            let text = text(array, file);
            assert!(text.ends_with(&format!("; {how}.\n")), "{text}");
        }
        assert_eq!(array_and_file(&of(1), &Distribution::default()), None);
    }
}
