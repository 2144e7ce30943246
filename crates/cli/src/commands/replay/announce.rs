//! What is said before a replay begins.

use std::cell::RefCell;

use indicatif::ProgressBar;
use iosonar_guard::Host;
use iosonar_replay::{Style, ThreadPriority, Writes, advice};
use iosonar_report::counted;
use iosonar_study::replay::{Preparer, Preparing, ReplayPlan, speed_is_changed};

use crate::exit::{note, warn};
use crate::render::messages::{Warning, codes};
use crate::render::progress::bar;
use crate::render::replay::notes::{of_advice, of_target};
use crate::signals;

/// Shows how a replay is prepared, and stops it at a signal.
pub(crate) struct Shown {
    quiet: bool,
    bar: RefCell<ProgressBar>,
}

impl Shown {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            bar: RefCell::new(ProgressBar::hidden()),
        }
    }
}

impl Preparer for Shown {
    fn see(&self, event: Preparing<'_>) {
        match event {
            Preparing::Fills(size) => {
                // Where they cannot be watched, a signal ends the program.
                let _ = signals::watch();
                let template =
                    "filling the target {bar:30} {bytes} of {total_bytes}, {bytes_per_sec}";
                if let Ok(new) = bar(self.quiet, size.get(), template) {
                    self.bar.replace(new);
                }
            }
            Preparing::Filled(written) => self.bar.borrow().set_position(written),
            Preparing::FillEnds => self.bar.borrow().finish_and_clear(),
            Preparing::CommonMode => warn(
                Warning::CommonMode,
                "the targets replay the same load at the same time, so their peaks coincide \
                 (common mode); --delta TIME staggers them",
            ),
            Preparing::Unmapped { devices, of } => warn(
                Warning::DevicesUnmapped,
                &format!(
                    "requests to {devices} of the {of} devices in the trace are left out: --map does not name them"
                ),
            ),
            Preparing::Waiting { .. } if self.quiet => {}
            Preparing::Waiting { target, most } => warn(
                Warning::WaitingForTarget,
                &format!(
                    "{} is opened exclusively by another process: waiting up to {} s for it \
                 (a killed replay may hold its device for a short time)",
                    target.display(),
                    most.as_secs()
                ),
            ),
        }
    }

    fn is_stopped(&self) -> bool {
        signals::count() > 0
    }
}

/// Says what is about to be done, and what to think of it.
pub(super) fn announce(plan: &ReplayPlan) {
    for (load, target) in plan.loads.iter().zip(&plan.targets) {
        let scan = &load.scan;
        let writes = scan.requests - scan.harmless;
        let engine = plan.options.engine;
        let does_writes = plan.options.writes == Writes::Do;
        let what = match (writes, does_writes) {
            _ if !scan.is_known => "the load is read as it arrives".to_owned(),
            (_, true) if !engine.is_real() => "nothing is read or written".to_owned(),
            (0, _) => "read-only".to_owned(),
            (n, true) => format!("{} to it", counted(n, ["of them WRITES", "of them WRITE"])),
            (n, false) => format!("{} left out", counted(n, ["write is", "writes are"])),
        };
        let on = match target.is_imaginary() {
            true => format!("with engine {} and no target", engine.name()),
            false => format!(
                "on {} ({}, blocks of {})",
                target.path().display(),
                target.size(),
                target.block()
            ),
        };
        note(&format!(
            "replaying {} of {} {on}; {what}",
            if scan.is_known {
                counted(scan.requests, ["request", "requests"])
            } else {
                "the requests".to_owned()
            },
            load.path.display(),
        ));
        for fake in target.fakes() {
            warn(Warning::Fake, &format!("FAKE: {fake}"));
        }
        for note in target.notes() {
            warn(codes::of_target(note), &of_target(note));
        }
        if plan.options.engine.is_real() {
            advice(scan, target, &plan.options, &Host::default())
                .iter()
                .for_each(|of| warn(Warning::TargetAdvice, &of_advice(of)));
        }
        if speed_is_changed(&load.reading) {
            warn(
                Warning::SpeedChanged,
                "--speed changes the timing of a recorded load: its original clients would have adapted to the \
                 response times of the storage, but the replay does not",
            );
        }
    }
    if plan.options.pacing.priority == ThreadPriority::Fifo
        && plan.options.pacing.style == Style::Spin
    {
        warn(
            Warning::SpinningFifo,
            "busy waiting with SCHED_FIFO reaches the kernel's limit for real-time threads \
                 (950 ms per second): expect a stall of 50 ms each second",
        );
    }
}
