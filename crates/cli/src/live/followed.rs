//! Records in a file, as far as they are written.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use iosonar_report::{Growing, LookOptions, Origin, RunState};
use iosonar_trace::appended::{Appended, Progress, current, name_of, progress};
use iosonar_trace::{Batch, ReadOptions, TraceError, input};

use crate::render::looks;

/// What was read is shown after this time, even where there is more to be read.
const AT_ONCE: Duration = Duration::from_secs(1);
/// A file that must be read from its beginning each time is read for a tenth of the time.
const PAUSE: u32 = 9;

/// Records in a file that is complete, is being written, or is not there yet.
pub(super) struct Followed {
    /// What it is, or will be, called.
    name: PathBuf,
    options: LookOptions,
    growing: Growing,
    source: Option<Source>,
    state: RunState,
}

enum Source {
    /// The binary format.
    Appended(Box<Appended>),
    /// Others are read again when they have changed.
    Whole {
        seen: Option<(u64, SystemTime)>,
        next: Instant,
    },
}

impl Followed {
    pub(super) fn of(path: &Path, options: &LookOptions) -> Self {
        let name = name_of(path);
        Self {
            growing: new(&name, options),
            name,
            options: options.clone(),
            source: None,
            state: RunState::Waiting,
        }
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn growing(&self) -> &Growing {
        &self.growing
    }

    pub(super) fn state(&self) -> RunState {
        self.state
    }

    /// Has the next look at the file read all of it.
    pub(super) fn hurry(&mut self) {
        if let Some(Source::Whole { next, .. }) = &mut self.source {
            *next = Instant::now();
        }
    }

    /// Reads what is new; whether there was anything.
    pub(super) fn advance(&mut self) -> Result<bool, TraceError> {
        let before = self.state;
        let Some(path) = current(&self.name) else {
            // What there was is shown, and will not be complete.
            if self.source.is_some() {
                self.state = RunState::Broken;
            }
            return Ok(self.state != before);
        };
        if let Some(Source::Appended(appended)) = &self.source
            && !appended.is_of(&path)
        {
            // Another run of this name.
            *self = Self::of(&self.name, &self.options);
        }
        if self.source.is_none() {
            self.source = source(&path)?;
        }
        let Some(source) = &mut self.source else {
            return Ok(false);
        };
        let is_new = match source {
            Source::Appended(appended) => {
                // Asked first: what is written meanwhile is read.
                let progress = appended.progress();
                let (is_new, is_all) = append(appended, &mut self.growing)?;
                if is_all {
                    self.state = state(match appended.progress() {
                        Progress::Complete => Progress::Complete,
                        _ => progress,
                    });
                } else {
                    self.state = RunState::Running;
                }
                is_new
            }
            Source::Whole { seen, next } => {
                let progress = progress(&path);
                let now = path.metadata().ok();
                let now = now.and_then(|of| Some((of.len(), of.modified().ok()?)));
                let is_new = *seen != now && Instant::now() >= *next;
                if is_new {
                    let begin = Instant::now();
                    self.growing = whole(&path, &self.name, &self.options)?;
                    *seen = now;
                    *next = Instant::now() + PAUSE * begin.elapsed();
                    self.state = state(progress);
                } else if *seen == now {
                    self.state = state(progress);
                }
                is_new
            }
        };
        Ok(is_new || self.state != before)
    }
}

fn state(progress: Progress) -> RunState {
    match progress {
        Progress::Written => RunState::Running,
        Progress::Complete => RunState::Complete,
        Progress::Abandoned => RunState::Broken,
    }
}

fn new(name: &Path, options: &LookOptions) -> Growing {
    let mut growing = Growing::new(&looks::name_of(name), options);
    growing.origin(Origin {
        files: vec![(name.display().to_string(), None)],
        changes: Vec::new(),
    });
    growing
}

/// How the file is read; `None` while that is not known.
fn source(path: &Path) -> Result<Option<Source>, TraceError> {
    if let Some(appended) = Appended::open(path)? {
        return Ok(Some(Source::Appended(Box::new(appended))));
    }
    let is_begun = path.metadata().is_ok_and(|of| of.len() > 0);
    Ok(is_begun.then(|| Source::Whole {
        seen: None,
        next: Instant::now(),
    }))
}

/// Adds what was appended: whether there was anything, and whether that was all.
fn append(appended: &mut Appended, growing: &mut Growing) -> Result<(bool, bool), TraceError> {
    let (begin, before) = (Instant::now(), growing.records());
    let mut batch = Batch::default();
    let is_all = loop {
        if appended.next_batch(&mut batch)? == 0 {
            break true;
        }
        batch.records().for_each(|record| growing.add(&record));
        if begin.elapsed() > AT_ONCE {
            break false;
        }
    };
    growing.about(appended.metadata());
    Ok((growing.records() > before, is_all))
}

/// All that is in a file by now.
fn whole(path: &Path, name: &Path, options: &LookOptions) -> Result<Growing, TraceError> {
    let reading = ReadOptions {
        lenient: true,
        ..ReadOptions::default()
    };
    let mut growing = new(name, options);
    let mut reader = input::open_with(path, &reading)?;
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        batch.records().for_each(|record| growing.add(&record));
    }
    let mut metadata = reader.metadata().clone();
    // That it stops early is what is to be expected.
    metadata.remarks.clear();
    growing.about(&metadata);
    Ok(growing)
}
