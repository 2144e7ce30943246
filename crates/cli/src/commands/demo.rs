//! `iosonar demo`: the whole loop once.
//!
//! A load is simulated on an array, a part of it is replayed on a scratch file, a model of that file is fitted to one half of
//! the replay and judged by the other, and all is drawn and compared.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::thread::available_parallelism;

use anyhow::Context;
use iosonar_guard::Host;
use iosonar_plot::{Chart, Scaled, Size, Theme};
use iosonar_replay::{Intent, Load, Options, ReplayError, Summary, Target, Verdict, Writes};
use iosonar_report::{
    Arrange, CATALOGUE, Entry, LookOptions, Measured, Page, find, grouped, needs_of,
};
use iosonar_scenario::{OutputFiles, Overrides, Prepared};
use iosonar_study::calibrate::{CalibrateError, Observed, Start};
use iosonar_study::check_model::{ModelCheck, check_model};
use iosonar_study::replay::{RecordsTo, ReplayPlan, create};
use iosonar_study::sensitivity::sensitivity;
use iosonar_trace::{Reading, input};
use iosonar_units::{Bytes, Nanos};
use rustix::process::geteuid;

use crate::Assets;
use crate::commands::replay::{Shown, carry_out, ending};
use crate::commands::{report, sim};
use crate::desktop;
use crate::exit::{Ending, Usage, note, output_folder, print, write_file};
use crate::low::Demo;
use crate::render::demo::{Shows, text};
use crate::render::sim::{headline, per_second};
use crate::render::{check_model as render_check, looks, picture};

/// The part of the load that is replayed begins here: the default duration holds a checkpoint, and requests enough to
/// judge a model by.
const REPLAY_FROM: Nanos = Nanos::from_secs(220);
const SCRATCH_SIZE: Bytes = Bytes::new(512 << 20);
/// How often it is replayed at most, where this machine is busy with something else.
const ATTEMPTS: u32 = 2;
/// The page with all charts.
const PAGE: &str = "demo.html";
/// The pictures, without their endings.
const PICTURES: [&str; 3] = ["sonar-simulated", "sonar-replayed", "cdf"];

pub(crate) fn run(args: &Demo, assets: &Assets) -> anyhow::Result<Ending> {
    if args.duration == Nanos::ZERO {
        return Err(Usage("--duration must be greater than 0".to_owned()).into());
    }
    let dir = &args.dir;
    make_folder(dir)?;
    let files = Files::in_folder(dir);
    fs::write(&files.load, assets.demo_load)
        .and_then(|()| fs::write(&files.scenario, assets.demo_scenario))
        .with_context(|| format!("{}: cannot write into the folder", dir.display()))?;

    simulate(args, &files)?;
    let part = Reading::window(REPLAY_FROM, REPLAY_FROM.saturating_add(args.duration));
    let summary = replay(args, &files, &part)?;
    if summary.early.is_some() || summary.completed == 0 {
        return Ok(ending(&summary));
    }
    let check = model(args, &files, &part)?;
    say(args, "5. drawing");
    print(&draw(args, &files, check.as_ref(), &part, &summary)?)?;
    if args.open {
        desktop::show(&files.page);
    }
    Ok(match ending(&summary) {
        // The demo shows what a replay is like: that this machine was busy is reported above, and is not a failure.
        Ending::Flagged => Ending::Done,
        other => other,
    })
}

/// What the demo writes.
struct Files {
    folder: PathBuf,
    load: PathBuf,
    scenario: PathBuf,
    simulated: PathBuf,
    scratch: PathBuf,
    replayed: PathBuf,
    profile: PathBuf,
    modelled: PathBuf,
    page: PathBuf,
}

impl Files {
    fn in_folder(folder: &Path) -> Self {
        let in_folder = |name: &str| folder.join(name);
        Self {
            folder: folder.to_owned(),
            load: in_folder("database-server.load.gz"),
            scenario: in_folder("raid10-database.toml"),
            simulated: in_folder("simulated.ios"),
            scratch: in_folder("scratch"),
            replayed: in_folder("replayed.ios"),
            profile: in_folder("this-file.toml"),
            modelled: in_folder("modelled.ios"),
            page: in_folder(PAGE),
        }
    }
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
    // Another user's folder may have links at the names that the demo writes to.
    let is_anothers = fs::metadata(dir).is_ok_and(|of| of.uid() != geteuid().as_raw());
    if in_use && is_anothers {
        return Err(Usage(format!(
            "{} belongs to another user: choose another folder with --dir",
            dir.display()
        ))
        .into());
    }
    let _folder = output_folder(dir)?;
    let marker = dir.join(MARKER);
    fs::write(&marker, "Everything in this folder can be regenerated.\n")
        .with_context(|| format!("{}: cannot write", marker.display()))
}

fn say(args: &Demo, text: &str) {
    if !args.output.quiet {
        note(text);
    }
}

fn simulate(args: &Demo, files: &Files) -> anyhow::Result<()> {
    say(
        args,
        "1. the load: five minutes of a database server, with a checkpoint every 45 s",
    );
    let overrides = Overrides {
        trace: Some(files.load.clone()),
        seed: args.seed,
        ..Overrides::default()
    };
    let simulation = Prepared::read(&files.scenario, &overrides)?;
    say(args, &format!("2. the array: {}", headline(&simulation)));
    let threads = available_parallelism().map_or(1, usize::from);
    let outputs = OutputFiles {
        records: Some(&files.simulated),
        ..OutputFiles::default()
    };
    let result = sim::simulate(&simulation, threads, &outputs, false)?;
    let seconds = result.elapsed.as_secs_f64();
    let rate = grouped(per_second(result.requests, &result));
    say(
        args,
        &format!(
            "   {} requests simulated in {seconds:.2} s ({rate} requests/s), hash {}",
            grouped(result.requests),
            result.hash
        ),
    );
    let other = |alternative| {
        let overrides = Overrides {
            alternative: Some(alternative),
            ..overrides.clone()
        };
        Prepared::read(&files.scenario, &overrides)
    };
    let tried = sensitivity(&simulation, other, true)?;
    let sensitivity = sim::sensitivity_table(&tried);
    say(
        args,
        &format!(
            "   how much this result depends on each assumption, changed one at a time:\n{sensitivity}"
        ),
    );
    Ok(())
}

fn replay(args: &Demo, files: &Files, part: &Reading) -> anyhow::Result<Summary> {
    let text = format!(
        "3. the device: a scratch file on this machine; the reads and writes of a section of the load ({}, starting at \
         {REPLAY_FROM}) are replayed at their original times",
        args.duration
    );
    say(args, &text);
    for attempt in 1.. {
        let summary = replay_on_scratch(files, part, args.output.quiet)?;
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

/// Fits a model of the file to the first half of its replay, judges it by the other, and simulates the same part on it;
/// nothing where the replay is too short for that.
fn model(args: &Demo, files: &Files, part: &Reading) -> anyhow::Result<Option<ModelCheck>> {
    let mut records = input::open(&files.replayed)?;
    let observed = match Observed::read(&mut *records) {
        Ok(observed) => observed,
        Err(CalibrateError::Records(why)) => {
            say(args, &format!("4. the model: skipped: {why}"));
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    say(
        args,
        "4. the model: fitted to the first half of the replay, judged by the second",
    );
    let capacity = Some(SCRATCH_SIZE.get());
    let check = check_model(&observed, records.metadata(), &Start::Ssd, capacity)?;
    let provenance = format!(
        "Fitted to the first half of {}.\n{}.",
        files.replayed.display(),
        render_check::sentence(&check)
    );
    let profile = check.fitted.text("a file on this machine", &provenance);
    write_file(&files.profile, &profile, "write the profile")?;
    let scenario = files.folder.join("modelled.toml");
    write_file(
        &scenario,
        "[ssd]\nprofile = \"this-file.toml\"\n",
        "write the scenario",
    )?;
    let overrides = Overrides {
        trace: Some(files.load.clone()),
        reading: part.clone(),
        seed: args.seed,
        ..Overrides::default()
    };
    let simulation = Prepared::read(&scenario, &overrides)?;
    let outputs = OutputFiles {
        records: Some(&files.modelled),
        ..OutputFiles::default()
    };
    sim::simulate(&simulation, 1, &outputs, false)?;
    say(
        args,
        &format!(
            "   {}; it is in {}",
            render_check::model(&check.fitted),
            files.profile.display()
        ),
    );
    Ok(Some(check))
}

/// What the records in the file `path` that belong to `part` of the load show.
fn look(path: &Path, name: &str, part: &Reading) -> anyhow::Result<Measured> {
    let options = report::of_page(LookOptions::default());
    let needs = needs_of(CATALOGUE);
    let (measured, _) = looks::measure_one(&[path.to_owned()], name, needs, part, &options)?;
    measured.check()?;
    Ok(measured)
}

fn chart(name: &str) -> anyhow::Result<&'static Entry> {
    find(name).with_context(|| format!("unknown chart '{name}'"))
}

/// Draws everything; returns the text to print.
fn draw(
    args: &Demo,
    files: &Files,
    check: Option<&ModelCheck>,
    part: &Reading,
    summary: &Summary,
) -> anyhow::Result<String> {
    let everything = Reading::default();
    let title = "database server on a simulated RAID 10 of eight disks";
    let stem = |name: &str| files.folder.join(name);
    let size = Size::default().at(args.pixels.scale());
    let all = look(&files.simulated, title, &everything)?;
    save("sonar", &stem(PICTURES[0]), size, &[all])?;
    let title = "database server replayed on a file on this machine";
    let mut device = look(&files.replayed, title, part)?;
    save("sonar", &stem(PICTURES[1]), size, from_ref(&device))?;
    "a file here (replayed)".clone_into(&mut device.name);

    // Like with like: the table, the distributions and the page are of the part that was replayed.
    let mut looks = vec![look(&files.simulated, "RAID 10 (simulated)", part)?, device];
    if check.is_some() {
        looks.push(look(&files.modelled, "its model (simulated)", &everything)?);
    }
    save("cdf", &stem(PICTURES[2]), size, &looks)?;
    let page = Page {
        title: "A database server: simulated, replayed, modelled",
        inputs: &looks,
        is_all: false,
    };
    write_file(&files.page, &page.text(), "write the page")?;
    Ok(text(&Shows {
        looks: &looks,
        check,
        is_busy: how_busy(&summary.verdict).is_some(),
        folder: &files.folder,
        page: &files.page,
        pictures: &PICTURES,
    }))
}

/// Saves a chart as PNG and as SVG, whose names begin with `stem`.
fn save(kind: &str, stem: &Path, size: Scaled, inputs: &[Measured]) -> anyhow::Result<()> {
    let charts = chart(kind)?.charts(inputs, Arrange::default());
    let charts: Vec<&Chart> = charts.iter().collect();
    for ending in ["png", "svg"] {
        picture::save(&charts, &stem.with_extension(ending), size, Theme::Light)?;
    }
    Ok(())
}

/// Replays on a scratch file that is removed afterwards.
fn replay_on_scratch(files: &Files, reading: &Reading, quiet: bool) -> anyhow::Result<Summary> {
    let scratch = files.scratch.as_path();
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
        ..Intent::default()
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
    let load = Load::scanned(&files.load, reading, options.writes)?;
    load.scan.fits(&target, options.fit)?;
    let records = RecordsTo {
        path: &files.replayed,
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
}
