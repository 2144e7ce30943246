//! What happens to requests beyond the end of what they go to: the same for a replay and a simulation.

use clap::Args;
use iosonar_trace::fit::Beyond;

#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct BeyondArgs {
    /// Move requests beyond the target's end to where their sector modulo its size lies
    #[arg(long, group = "beyond")]
    wrap: bool,
    /// Cut requests off at the target's end, and leave out those beyond it
    #[arg(long, group = "beyond")]
    clip: bool,
    /// Scale all positions so that a load that reaches beyond the target's end fills it
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
