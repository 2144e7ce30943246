//! `iosonar serve`: a live page of a run that is under way, or of one that is complete.

use std::fs;
use std::path::Path;
use std::thread::sleep;

use iosonar_report::LookOptions;
use iosonar_serve::Stop;
use iosonar_trace::appended::{current, name_of, writer_of};
use iosonar_trace::{Batch, ReadOptions, TraceError, input};
use rustix::process::{Pid, Signal, kill_process};

use crate::desktop;
use crate::exit::{Ending, Usage};
use crate::live::{EVERY, Feed, Live, yield_to_others};
use crate::low::Serve;
use crate::signals;

pub(crate) fn run(args: &Serve) -> anyhow::Result<Ending> {
    let options = LookOptions {
        targets: args.target.clone().map_or_else(Vec::new, |of| of.0),
        ..LookOptions::default()
    };
    let path = args.path.as_path();
    let Some(mut feed) = Feed::of(path, &options) else {
        let problem = format!(
            "{}: no records found, and no command is writing any here: give a file of records, a folder with records, \
             or the folder of a sweep",
            path.display()
        );
        return Err(Usage(problem).into());
    };
    if args.control && path.is_dir() {
        let problem =
            "--control needs the name of the records file that is being written, not a folder";
        return Err(Usage(problem.to_owned()).into());
    }
    check_readable(path)?;
    let title = args.title.clone().unwrap_or_else(|| title_of(path));
    signals::watch()?;
    let records = path.to_owned();
    let stop = args
        .control
        .then(|| Box::new(move || interrupt_writer(&records)) as Stop);
    let mut live = Live::start(&title, args.address, stop)?;
    let _opened = args.open.then(|| desktop::show_url(&live.url()));
    yield_to_others();
    while signals::count() == 0 {
        live.follow(&mut feed);
        sleep(EVERY);
    }
    // Ctrl-C is how it is meant to end.
    Ok(Ending::Done)
}

/// A file that is complete must hold records; one that is being written may not have any yet.
fn check_readable(path: &Path) -> Result<(), TraceError> {
    if !path.is_file() || name_of(path) != path {
        return Ok(());
    }
    let reading = ReadOptions {
        lenient: true,
        ..ReadOptions::default()
    };
    let mut reader = input::open_with(path, &reading)?;
    reader.next_batch(&mut Batch::default()).map(drop)
}

fn title_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Sends SIGINT to the process that writes these records, if it is one of this machine; whether there is one.
fn interrupt_writer(records: &Path) -> bool {
    let Some(part) = current(records) else {
        return false;
    };
    let writer = writer_of(&part).filter(|process| has_open(*process, &part));
    let process = writer.and_then(|process| Pid::from_raw(process as i32));
    process.is_some_and(|process| kill_process(process, Signal::INT).is_ok())
}

/// Whether a process has a file open: on a file system of a network, the number may be that of another machine's.
fn has_open(process: u32, file: &Path) -> bool {
    let Ok(file) = file.canonicalize() else {
        return false;
    };
    let open = fs::read_dir(format!("/proc/{process}/fd"));
    let mut open = open.into_iter().flatten().flatten();
    open.any(|fd| fs::read_link(fd.path()).is_ok_and(|of| of == file))
}
