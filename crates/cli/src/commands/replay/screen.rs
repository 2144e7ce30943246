//! The sonar diagram of a replay while it runs.
//!
//! The records pass by here on their way to the file; once a second the diagram of the records so far
//! is drawn on the terminal, over the previous one.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use iosonar_plot::{Terminal, Theme};
use iosonar_report::{Arrange, Entry, Look, LookOptions, find};
use iosonar_trace::{Batch, Metadata, TraceError, TraceWriter};

use crate::exit::write_error;
use crate::render::screen::screen as output;
use crate::render::terminal;

/// What is seen of a replay.
#[derive(Clone)]
pub(super) struct Screen {
    look: Arc<Mutex<Look>>,
    entry: &'static Entry,
}

/// How often it is drawn.
const EVERY: Duration = Duration::from_secs(1);

impl Screen {
    /// A screen for the replay of `name`; `None` without a chart to draw.
    pub(super) fn new(name: &str) -> Option<Self> {
        let entry = find("sonar")?;
        let look = Look::new(name, entry.needs, &LookOptions::default());
        Some(Self {
            look: Arc::new(Mutex::new(look)),
            entry,
        })
    }

    /// Passes records on to `writer`, if there is one, and looks at them.
    pub(super) fn seeing(
        &self,
        writer: Option<Box<dyn TraceWriter>>,
        metadata: &Metadata,
    ) -> Box<dyn TraceWriter> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        look.about(metadata);
        drop(look);
        Box::new(Seen {
            writer,
            look: Arc::clone(&self.look),
        })
    }

    /// The diagram so far, as text; `None` before the first request is complete.
    fn text(&self, status: &str) -> Option<String> {
        let look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        let measured = look.so_far();
        drop(look);
        let charts = self.entry.charts(&[measured], Arrange::default());
        let (columns, lines) = terminal::size();
        let err = output().err;
        let screen = Terminal {
            columns,
            // The cursor needs a line, the status another.
            lines: lines.saturating_sub(3),
            has_colour: err.has_colour && !err.is_ascii,
            theme: Theme::Dark,
        };
        let mut text = screen.draw(&[charts.first()?]);
        if !status.is_empty() {
            let status: String = status.chars().take(columns).collect();
            let _ = writeln!(text, "{status}");
        }
        Some(text)
    }
}

/// Draws the screen from time to time.
pub(super) struct Painter {
    screen: Screen,
    last: Instant,
    lines: usize,
    can_redraw: bool,
}

impl Painter {
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            screen,
            last: Instant::now(),
            lines: 0,
            can_redraw: output().err.can_redraw,
        }
    }

    /// Draws if it is time to.
    pub(super) fn show(&mut self, status: impl FnOnce() -> String) {
        if self.can_redraw && self.last.elapsed() >= EVERY {
            self.paint(&status());
            self.last = Instant::now();
        }
    }

    /// Draws a last time: this one stays.
    pub(super) fn end(&mut self) {
        self.paint("");
    }

    fn paint(&mut self, status: &str) {
        let Some(text) = self.screen.text(status) else {
            return;
        };
        // Over the one before: up, and clear to the end.
        let over = match self.lines {
            0 => String::new(),
            n => format!("\x1b[{n}A\x1b[J"),
        };
        write_error(&format!("{over}{}", output().err.picture(&text)));
        self.lines = text.lines().count();
    }
}

struct Seen {
    writer: Option<Box<dyn TraceWriter>>,
    look: Arc<Mutex<Look>>,
}

impl TraceWriter for Seen {
    fn write(&mut self, batch: &Batch) -> Result<(), TraceError> {
        let mut look = self.look.lock().unwrap_or_else(PoisonError::into_inner);
        batch.records().for_each(|record| look.add(&record));
        drop(look);
        self.writer.as_mut().map_or(Ok(()), |w| w.write(batch))
    }

    fn update(&mut self, metadata: &Metadata) {
        if let Some(writer) = &mut self.writer {
            writer.update(metadata);
        }
    }

    fn left_out(&self) -> u64 {
        self.writer.as_ref().map_or(0, |w| w.left_out())
    }

    fn flush(&mut self) -> Result<(), TraceError> {
        self.writer.as_mut().map_or(Ok(()), |w| w.flush())
    }

    fn finish(self: Box<Self>) -> Result<(), TraceError> {
        self.writer.map_or(Ok(()), TraceWriter::finish)
    }
}
