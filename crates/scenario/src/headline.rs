//! What is simulated, in a line.

use iosonar_workload::TimeLaw;

use crate::prepared::Fleet;
use crate::{LoadModel, Prepared};

impl Prepared {
    /// The array and its load, in a line.
    pub fn headline(&self) -> String {
        let load = match &self.load {
            LoadModel::Trace { path, .. } => path.display().to_string(),
            LoadModel::Alone { .. } => "of requests that never overlap".to_owned(),
            LoadModel::Closed {
                outstanding, think, ..
            } => {
                let users = if *outstanding == 1 { "user" } else { "users" };
                let law = match think {
                    TimeLaw::Exponential(_) => String::new(),
                    TimeLaw::Constant(_) => " (constant)".to_owned(),
                    TimeLaw::Other { times, .. } => {
                        format!(" ({})", times.intervals().name().replace('_', "-"))
                    }
                };
                format!("{outstanding} {users}, think time {}{law}", think.mean())
            }
            LoadModel::Synthetic { .. } => {
                let rate = self.load.requests_per_s().unwrap_or(f64::NAN);
                format!("{} requests/s", short(rate))
            }
        };
        let several = match self.fleet() {
            Some(_) => format!("{} x ", self.arrays),
            None => String::new(),
        };
        let load = match self.fleet() {
            Some(Fleet::Alike) => format!("{load} each"),
            Some(Fleet::OfTrace) => format!("{load}, one device each"),
            None => load,
        };
        format!(
            "{several}{}, stripe unit {}, load {load}",
            self.array,
            self.array.stripe_unit.bytes(),
        )
    }
}

/// A rate without the digits that rounding leaves behind.
fn short(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
