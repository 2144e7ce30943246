//! What happens to requests beyond the end of what they go to: the same for a replay and a simulation.

use clap::Args;
use iosonar_trace::fit::Beyond;

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BeyondArgs {
    /// Wrap requests beyond the target's end around to its start
    ///
    /// A request accesses its sector number modulo the target's size.
    #[arg(long, group = "beyond")]
    wrap: bool,
    /// Cut requests off at the target's end, and drop those beyond it
    #[arg(long, group = "beyond")]
    clip: bool,
    /// Scale positions down so that the load fits the target
    #[arg(long, group = "beyond")]
    fit: bool,
}

impl BeyondArgs {
    pub(crate) fn beyond(self) -> Beyond {
        match (self.wrap, self.clip, self.fit) {
            (true, ..) => Beyond::Wrap,
            (_, true, _) => Beyond::Clip,
            (.., true) => Beyond::Scale,
            _ => Beyond::Refuse,
        }
    }
}
