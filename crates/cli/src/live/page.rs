//! A page that is served.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Context;
use iosonar_report::{
    Beside, EXPOSITION_TYPE, Growing, LivePage, LookOptions, RunState, exposition,
};
use iosonar_serve::{Server, Settings, Stop};
use rustix::time::{ClockId, clock_gettime};

use super::feed::{Feed, REPORT};
use crate::exit::note;

/// What is new is shown no more often than this...
const LEAST: Duration = Duration::from_millis(400);
/// ...and is drawn for a tenth of a processor's time at most. How long the thread waits for a processor does not count: behind
/// all others, that may be long, and what comes next need not wait for it.
const PAUSE: u32 = 9;
/// Viewers may fetch the last state within this time.
const PATIENCE: Duration = Duration::from_secs(2);

const DATA: &str = "application/octet-stream";
const HTML: &str = "text/html; charset=utf-8";

/// A page that is served.
pub(crate) struct Live {
    server: Server,
    /// When it may be drawn again.
    next: Instant,
    /// Whether there is something that is not drawn yet.
    is_due: bool,
}

impl Live {
    /// Serves a page without content, and prints its URL. With `stop`, it has a button that calls it.
    pub(crate) fn start(
        title: &str,
        address: SocketAddr,
        stop: Option<Stop>,
    ) -> anyhow::Result<Self> {
        let has_stop = stop.is_some();
        let settings = Settings { address, stop };
        let server = Server::start(settings)
            .with_context(|| format!("cannot serve the live page at {address}"))?;
        let page = LivePage { title, has_stop };
        server.put("index.html", HTML, page.text());
        server.put("live.css", "text/css; charset=utf-8", LivePage::style());
        server.put(
            "live.js",
            "text/javascript; charset=utf-8",
            LivePage::script(),
        );
        // Before the first viewer comes.
        let nothing = Growing::new(title, &LookOptions::default()).measured();
        let state = RunState::Waiting;
        server.put(
            "metrics",
            EXPOSITION_TYPE,
            exposition(state, &nothing, None),
        );
        let data = LivePage::state(state, nothing, &Beside::default());
        server.put("data", DATA, data);
        let live = Self {
            server,
            next: Instant::now(),
            is_due: true,
        };
        note(&format!("live page: {}", live.server.url()));
        Ok(live)
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.server.url()
    }

    /// Reads what is new, and shows it if it is time to.
    pub(crate) fn follow(&mut self, feed: &mut Feed) {
        self.is_due |= feed.advance();
        if self.is_due && Instant::now() >= self.next {
            self.show(feed);
        }
    }

    fn show(&mut self, feed: &mut Feed) {
        let begin = thread_time();
        if let Some(report) = feed.take_report() {
            self.server.put(REPORT, HTML, report);
        }
        let (state, measured) = (feed.state(), feed.measured());
        let metrics = exposition(state, &measured, feed.sweep_runs());
        self.server.put("metrics", EXPOSITION_TYPE, metrics);
        let data = LivePage::state(state, measured, &feed.beside());
        self.server.put("data", DATA, data);
        self.server.announce();
        self.is_due = false;
        self.next = Instant::now() + LEAST.max(PAUSE * thread_time().saturating_sub(begin));
    }

    /// Shows the rest, and ends when viewers have it.
    pub(crate) fn end(mut self, feed: &mut Feed) {
        feed.hurry();
        // A long file is read in several steps.
        while feed.advance() {}
        self.show(feed);
        self.server.finish(PATIENCE);
    }
}

/// The time that processors have worked for this thread.
fn thread_time() -> Duration {
    let t = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec as u32)
}

/// The work of this thread comes behind that of all others.
pub(crate) fn yield_to_others() {
    let _ = rustix::process::setpriority_process(None, 19);
}
