//! How well a model of a device predicts it: fitted to one half of its records, judged by the other.
//!
//! The halves are the earlier and the later half of the requests, as in [`calibrate`](crate::calibrate): the model is
//! judged by what comes after all that it has seen, as it is when it is used ("last block" evaluation: Bergmeir and
//! Benítez, On the use of cross-validation for time series predictor evaluation, Information Sciences 191, 2012).
//! Blocks of time in turn would leak: queues, caches and the state of a device reach across the edges of blocks, so a model
//! would be judged by a state that it was fitted to. The price is that a load or a device that changes half way counts
//! against the model; [`ModelCheck::halves_apart`] shows it. Both halves have as many requests, not as much time: a burst
//! must not leave one of them too small to judge by.
//!
//! The model is given each request when the device got it, not when the load intended it, so that the delays of a replay
//! are not the model's errors. But a thread that submits late also sees completions late, which lengthens the latencies
//! that the model is compared with: where many requests were late beside the latencies, there is no verdict
//! ([`Submission`]). Nor is there one where requests had to wait for a place at the device, such as with an engine that
//! submits one at a time: they came when others were complete, and a model that is slower or faster just then would have
//! been asked at another time. For the same reason, a model that does not fit the records of a closed loop has no verdict.

use iosonar_stats::ks_distance;
use iosonar_trace::Metadata;

use crate::calibrate::{
    CalibrateError, DiskFit, Observed, Parallelism, Quality, SsdFit, Start, Submission,
    calibrate_disk, calibrate_ssd,
};
use crate::validate::{Compared, Fit};

/// A larger share of requests that were late, or had to wait for a place, leaves no verdict: each may be in the wrong place
/// of the distribution, and half of the distance that is poor would be theirs.
pub const MOST_DELAYED: f64 = Quality::POOR / 2.0;

/// A model that was fitted to half of the records.
#[derive(Clone, Debug)]
pub enum Fitted {
    /// A disk.
    Disk(Box<DiskFit>),
    /// What serves several requests at a time.
    Ssd(Box<SsdFit>),
}

/// A model, and how well it predicts.
#[derive(Clone, Debug)]
pub struct ModelCheck {
    /// The model.
    pub fitted: Fitted,
    /// How many reads and writes with a latency there were.
    pub requests: u64,
    /// How they were submitted; `None` where the records do not say, or are no replay's.
    pub submission: Option<Submission>,
    /// The share of the requests that came when another one was complete, if that is known.
    pub at_completions: Option<f64>,
    /// How far the distributions of the device's own halves are apart (KS).
    pub halves_apart: f64,
    /// The share of the requests that is independent of the others, of the half with fewer.
    pub independent: f64,
}

/// Whether the model predicts the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rating {
    /// On the half that it was not fitted to, the distributions are at most [`Quality::POOR`] apart, and the 99 % quantile is
    /// off by at most [`Quality::tail_limit`]; so it is for reads and for writes where there are enough.
    Good,
    /// One of these is not so.
    Poor,
    /// The records do not allow a judgement.
    CannotTell(Unjudged),
}

/// Why there is no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unjudged {
    /// The held-out half has fewer than [`Quality::FEWEST`] requests.
    TooFew {
        /// How many it has.
        held_out: u64,
    },
    /// More than [`MOST_DELAYED`] of the requests were submitted late.
    Late(Submission),
    /// More than [`MOST_DELAYED`] of the requests waited for a place at the device.
    HeldBack(Submission),
    /// Hardly any request was at the device with few others, so requests served together look like requests that wait.
    ParallelismUnknown {
        /// How many requests are served at a time, according to the fit.
        channels: u32,
    },
    /// The model does not fit, but most requests came when another one was complete, so they would have come at other times
    /// at another device.
    ClosedLoop {
        /// The share of them.
        at_completions: f64,
    },
    /// Requests close in time have like latencies, so chance explains the errors of the model.
    Correlated {
        /// To how many independent requests those of the held-out half amount.
        effective: u64,
    },
}

/// Fits a model to the first half of `observed`, and simulates the other half with it. `about` says whether the records
/// are of a replay; `capacity` is the device's in bytes, if it is more than the records show.
///
/// # Errors
/// If the records hold too little, do not fit the profile, or a candidate cannot be simulated; of flash always: what
/// it is fitted to is a whole run.
pub fn check_model(
    observed: &Observed,
    about: &Metadata,
    start: &Start,
    capacity: Option<u64>,
) -> Result<ModelCheck, CalibrateError> {
    let fitted = match start {
        Start::Disk(profile) => Fitted::Disk(Box::new(calibrate_disk(observed, profile)?)),
        Start::Ssd => Fitted::Ssd(Box::new(calibrate_ssd(observed, capacity)?)),
        Start::Flash(_) => return Err(not_halved()),
    };
    let (training, held_out) = fitted.halves();
    let (first, second) = observed.halves();
    let share = |of: &Observed| of.effective() / of.len() as f64;
    Ok(ModelCheck {
        requests: observed.len() as u64,
        submission: (is_replay(about) && observed.has_delays()).then(|| observed.submission()),
        at_completions: observed.at_completions(),
        halves_apart: ks_distance(&training.recorded.histogram, &held_out.recorded.histogram),
        independent: share(&first).min(share(&second)),
        fitted,
    })
}

/// Refuses what cannot be checked on a half, before anything is replayed for it.
///
/// # Errors
/// If it is flash.
pub fn refuse_whole_runs(start: &Start) -> Result<(), CalibrateError> {
    match start {
        Start::Flash(_) => Err(not_halved()),
        Start::Disk(_) | Start::Ssd => Ok(()),
    }
}

fn not_halved() -> CalibrateError {
    CalibrateError::Profile(
        "--profile: flash is fitted to the throughput of a whole run, so half of the run cannot be held out; use \
         'ssd' or a disk profile (or 'iosonar calibrate')"
            .to_owned(),
    )
}

/// Delays in records of the kernel's events are those of its scheduler.
fn is_replay(about: &Metadata) -> bool {
    let has = |key| about.about.contains_key(key);
    has("replayed") || !(has("start event") || has("recorded"))
}

impl Fitted {
    /// On the half that it was fitted to, and on the other.
    fn halves(&self) -> (&Quality, &Quality) {
        match self {
            Self::Disk(fit) => (&fit.training, &fit.held_out),
            Self::Ssd(fit) => (&fit.training, &fit.held_out),
        }
    }

    /// The profile as a file; `records` names what it was fitted to, `provenance` says more, in lines.
    pub fn text(&self, records: &str, provenance: &str) -> String {
        match self {
            Self::Disk(fit) => fit.text(records, provenance),
            Self::Ssd(fit) => fit.text(provenance, &format!("as in {records}")),
        }
    }
}

/// The share of the requests that came when another one was complete ([`Observed::at_completions`]), if records are of a closed
/// loop: of independent arrivals, about a sixth does by chance.
pub fn closed_loop(at_completions: Option<f64>) -> Option<f64> {
    at_completions.filter(|share| *share > 0.5)
}

impl ModelCheck {
    /// On the half that the model was not fitted to.
    pub fn held_out(&self) -> &Quality {
        self.fitted.halves().1
    }

    /// Device and model on that half: all requests, reads, writes.
    pub fn classes(&self) -> [(&'static str, Compared); 3] {
        let of = self.held_out();
        [
            ("all", of.all()),
            ("reads", of.reads.clone()),
            ("writes", of.writes.clone()),
        ]
    }

    /// Whether the model predicts the device.
    pub fn rating(&self) -> Rating {
        let fits = self.classes().map(|(_, of)| Quality::fit_of(&of));
        if fits[0] == Fit::TooFew {
            let held_out = self.held_out().recorded.count();
            return Rating::CannotTell(Unjudged::TooFew { held_out });
        }
        match self.submission {
            Some(of) if of.late > MOST_DELAYED => Rating::CannotTell(Unjudged::Late(of)),
            Some(of) if of.held_back > MOST_DELAYED => Rating::CannotTell(Unjudged::HeldBack(of)),
            _ => self.rating_of_fit(&fits),
        }
    }

    /// The same of requests that were submitted in time.
    fn rating_of_fit(&self, fits: &[Fit]) -> Rating {
        match &self.fitted {
            _ if self.poor().is_some() => match closed_loop(self.at_completions) {
                Some(at_completions) => Rating::CannotTell(Unjudged::ClosedLoop { at_completions }),
                None => Rating::Poor,
            },
            Fitted::Ssd(fit) if fit.parallelism() == Parallelism::Unknown => {
                let channels = fit.service.channels;
                Rating::CannotTell(Unjudged::ParallelismUnknown { channels })
            }
            _ if fits.contains(&Fit::Poor) => Rating::CannotTell(Unjudged::Correlated {
                effective: self.effective() as u64,
            }),
            Fitted::Ssd(_) | Fitted::Disk(_) => Rating::Good,
        }
    }

    /// The first class that the model does not fit, which chance does not explain.
    pub fn poor(&self) -> Option<(&'static str, Compared)> {
        let mut classes = self.classes().into_iter();
        classes.find(|(_, of)| Quality::is_poor_beyond_chance(of, self.independent))
    }

    /// Whether the device's own halves differ by more than chance.
    pub fn has_changed(&self) -> bool {
        self.halves_apart > Quality::POOR.max(Quality::chance(self.effective()))
    }

    /// To how many independent requests those of the held-out half amount.
    fn effective(&self) -> f64 {
        self.independent * self.held_out().recorded.count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_of_recorded_kernel_events_are_no_replayers() {
        let about = |keys: &[&str]| Metadata {
            about: keys
                .iter()
                .map(|&k| (k.to_owned(), "x".to_owned()))
                .collect(),
            ..Metadata::default()
        };
        assert!(!is_replay(&about(&["start event"])));
        // A replay of such a recording keeps what that said of itself.
        assert!(is_replay(&about(&["start event", "replayed"])));
        assert!(is_replay(&about(&[])));
    }
}
