//! `iosonar serve`: a live page of a run that is under way, or of one that is complete.

use std::fs;
use std::path::Path;
use std::thread::sleep;

use iosonar_report::LookOptions;
use iosonar_trace::appended::{current, writer_of};
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
            "{}: there are no records here, and none are being written; name records, a folder with records, or the folder of a sweep",
            path.display()
        );
        return Err(Usage(problem).into());
    };
    if args.control && path.is_dir() {
        let problem =
            "--control needs the name of the records that are being written, not a folder";
        return Err(Usage(problem.to_owned()).into());
    }
    let title = args.title.clone().unwrap_or_else(|| title_of(path));
    signals::watch()?;
    let records = path.to_owned();
    let stop = args
        .control
        .then(|| Box::new(move || interrupt_writer(&records)) as Box<_>);
    let mut live = Live::start_with(&title, args.address, stop)?;
    if args.open {
        desktop::show_url(&live.url());
    }
    yield_to_others();
    while signals::count() == 0 {
        live.follow(&mut feed);
        sleep(EVERY);
    }
    // Ctrl-C is how it is meant to end.
    Ok(Ending::Done)
}

fn title_of(path: &Path) -> String {
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let name = whole.file_name().unwrap_or(whole.as_os_str());
    name.to_string_lossy().into_owned()
}

/// Sends SIGINT to the process that writes these records, if it is one of this machine.
fn interrupt_writer(records: &Path) {
    let Some(part) = current(records) else {
        return;
    };
    let Some(process) = writer_of(&part).filter(|process| has_open(*process, &part)) else {
        return;
    };
    if let Some(process) = Pid::from_raw(process as i32) {
        let _ = kill_process(process, Signal::INT);
    }
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
