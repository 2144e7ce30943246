//! A scenario that was checked: what it can be, and what may still be changed of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use iosonar_trace::Requests;
use iosonar_units::{Bytes, Nanos, counted};

use crate::result::Unserved;
use crate::{
    ArrayModel, Devices, DiskModel, LoadModel, Offered, Outputs, REQUESTS_PER_USER, ScenarioError,
    SimulationResult, Stability, Watch,
};

/// How many requests at the beginning of each run are not measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmup {
    /// This number.
    Requests(u64),
    /// As many as a run of its own says, by MSER-5.
    Auto,
}

/// How a simulation is computed. The result is the same, bit for bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Without events where that is exact.
    #[default]
    Fastest,
    /// Event by event.
    Events,
}

/// Several arrays that do not influence each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fleet {
    /// Each has a load of its own, by the same laws.
    Alike,
    /// Each serves the requests of one device of a trace.
    OfTrace,
}

/// Something that the scenario does not say and the results depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// The positional model needs a geometry, and the profile of this name has none: all sectors of a cylinder are on
    /// one surface, there are no skews, and zones follow from the transfer times.
    Geometry {
        /// The profile.
        profile: String,
    },
}

/// Why a simulation has no result that does not depend on how long it runs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoSteadyState {
    /// A station gets more work than it can do.
    #[error("unstable: the offered load of {} is {:.3} times its capacity", .0.station, .0.lower)]
    Unstable(Offered),
    /// Requests were never served.
    #[error(
        "deadlock: {} never served: {}",
        counted(.0.requests, ["request was", "requests were"]),
        .0.why
    )]
    Deadlock(Unserved),
}

/// A scenario after every value has been checked and every default filled in: it can be analysed and simulated.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) seed: u64,
    /// At least 1.
    pub(crate) replications: u32,
    /// How many such arrays there are, at least 1; of several there is one replication.
    pub(crate) arrays: u32,
    pub(crate) precision: Option<f64>,
    pub(crate) warmup: Warmup,
    pub(crate) load: LoadModel,
    pub(crate) array: ArrayModel,
    /// The files of its devices' profiles.
    pub(crate) profiles: Vec<PathBuf>,
    pub(crate) split: bool,
    pub(crate) method: Method,
    /// What runs may take before the first request, all that run at once together.
    pub(crate) memory: Bytes,
    pub(crate) give_up: Vec<GiveUp>,
    pub(crate) stop: Arc<AtomicBool>,
}

/// When a run is not worth finishing: more than `most` of these requests took longer than `above`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GiveUp {
    /// Which requests count.
    pub requests: Requests,
    /// The response time from which on they do.
    pub above: Nanos,
    /// How many of them may.
    pub most: u64,
}

impl Prepared {
    /// Where all randomness comes from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many independent runs there are.
    pub fn replications(&self) -> u32 {
        self.replications
    }

    /// How many such arrays there are.
    pub fn arrays(&self) -> u32 {
        self.arrays
    }

    /// How many independent runs there are: replications of one array, or one of each.
    pub(crate) fn runs(&self) -> u32 {
        self.replications.max(self.arrays)
    }

    /// What the arrays have in common, if there are several.
    pub fn fleet(&self) -> Option<Fleet> {
        let is_of_trace = matches!(self.load, LoadModel::Trace { .. });
        (self.arrays > 1).then_some(if is_of_trace {
            Fleet::OfTrace
        } else {
            Fleet::Alike
        })
    }

    /// If given, runs end as soon as the mean is known this precisely: half the width of its 95 % interval as a share
    /// of it.
    pub fn precision(&self) -> Option<f64> {
        self.precision
    }

    /// How many requests at the beginning of each run are not measured.
    pub fn warmup(&self) -> Warmup {
        self.warmup
    }

    /// What drives it.
    pub fn load(&self) -> &LoadModel {
        &self.load
    }

    /// The files that it is read from besides its own: the recording of its load, those that its laws draw from, and the
    /// profiles of its devices.
    pub fn inputs(&self) -> Vec<&Path> {
        let service = match &self.array.devices {
            Devices::Servers(servers) => servers.service.trace(),
            Devices::Disks(_) | Devices::Ssds(_) | Devices::Registered(_) => None,
        };
        let profiles = self.profiles.iter().map(PathBuf::as_path);
        let recordings = self.load.traces().into_iter().chain(service);
        recordings.chain(profiles).collect()
    }

    /// What is driven.
    pub fn array(&self) -> &ArrayModel {
        &self.array
    }

    /// With this many independent runs, at least one.
    #[must_use]
    pub fn with_replications(self, replications: u32) -> Self {
        let replications = replications.max(1);
        Self {
            replications,
            ..self
        }
    }

    /// With runs until the mean is known this [precisely](Self::precision).
    #[must_use]
    pub fn with_precision(self, precision: Option<f64>) -> Self {
        Self { precision, ..self }
    }

    /// With another warm-up.
    #[must_use]
    pub fn with_warmup(self, warmup: Warmup) -> Self {
        Self { warmup, ..self }
    }

    /// With, or without, a record of what response times are made of.
    #[must_use]
    pub fn with_split(self, split: bool) -> Self {
        Self { split, ..self }
    }

    /// Computed in this way.
    #[must_use]
    pub fn with_method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// With another arrival rate of all classes together, each with its share; a closed loop and a trace stay as
    /// they are.
    #[must_use]
    pub fn at_rate(mut self, per_s: f64) -> Self {
        if let (Some(now), LoadModel::Synthetic { classes, .. }) =
            (self.load.requests_per_s(), &mut self.load)
        {
            for class in classes {
                class.arrivals = class.arrivals.scaled(per_s / now);
            }
        }
        self
    }

    /// With runs that end with [`ScenarioError::GivenUp`] as soon as one of these limits is exceeded.
    #[must_use]
    pub fn with_give_up(self, give_up: Vec<GiveUp>) -> Self {
        Self { give_up, ..self }
    }

    /// A watch on runs that ends them when [`Overrides::stop`](crate::Overrides::stop) is set.
    pub fn watch(&self) -> Watch {
        Watch {
            stop: Arc::clone(&self.stop),
            ..Watch::default()
        }
    }

    /// With as many runs and requests as a confidence interval needs: some replications, and of a closed loop some
    /// requests of each user. The first of each starts in an empty system, and is not measured.
    #[must_use]
    pub fn long_enough(mut self) -> Self {
        self.replications = self.replications.max(5);
        if let LoadModel::Closed {
            outstanding,
            requests,
            ..
        } = &mut self.load
        {
            let users = u64::from(*outstanding);
            *requests = (*requests).max(REQUESTS_PER_USER * users);
            if let Warmup::Requests(n) = &mut self.warmup {
                *n = (*n).max(users);
            }
        }
        self
    }

    /// All requests of all runs, those of warm-ups included; `None` where that is not known in advance.
    pub fn requests_of_all_runs(&self) -> Option<u64> {
        match (self.load.requests(), self.warmup) {
            (Some(requests), Warmup::Requests(warmup)) => {
                Some((requests + warmup).saturating_mul(u64::from(self.runs())))
            }
            _ => None,
        }
    }

    /// How long all runs will take on one thread, by a short one; `None` of a trace, or if that run fails.
    pub fn estimate_duration(&self) -> Option<Duration> {
        /// As many take no time worth mentioning.
        const PILOT: u64 = 2_000;
        let requests = self.load.requests()?;
        let warmup = match self.warmup {
            Warmup::Requests(n) => n,
            Warmup::Auto => 0,
        };
        let all = (requests + warmup) as f64 * f64::from(self.runs());
        let pilot = PILOT.min(requests);
        let mut short = self.clone().with_warmup(Warmup::Requests(0));
        (short.replications, short.arrays) = (1, 1);
        short.load.set_requests(pilot);
        let begin = Instant::now();
        short.run(1, None).ok()?;
        Some(begin.elapsed().mul_f64(all / pilot as f64))
    }

    /// The busiest station where it is not certain that it keeps up.
    ///
    /// # Errors
    /// If it does not.
    pub fn check_stability(&self) -> Result<Option<Offered>, NoSteadyState> {
        match self.busiest() {
            Some((offered, Stability::Unstable)) => Err(NoSteadyState::Unstable(offered)),
            Some((offered, Stability::Doubtful)) => Ok(Some(offered)),
            Some((_, Stability::Stable)) | None => Ok(None),
        }
    }

    /// Runs all replications, if their result does not depend on how long they are.
    ///
    /// # Errors
    /// As [`run_watched`](Self::run_watched).
    pub fn run_steady(
        &self,
        threads: usize,
        outputs: Outputs<'_>,
        watch: &Watch,
    ) -> Result<Result<SimulationResult, NoSteadyState>, ScenarioError> {
        if let Err(unstable) = self.check_stability() {
            return Ok(Err(unstable));
        }
        Ok(self.run_watched(threads, outputs, watch)?.if_served())
    }

    /// What is assumed where the scenario does not say it.
    pub fn assumptions(&self) -> Vec<Assumption> {
        let Devices::Disks(disks) = &self.array.devices else {
            return Vec::new();
        };
        if !matches!(disks.model, DiskModel::Positional(_)) {
            return Vec::new();
        }
        let mut assumptions = Vec::new();
        for profile in disks.kinds().filter(|profile| profile.geometry.is_assumed) {
            let assumption = Assumption::Geometry {
                profile: profile.name.clone(),
            };
            if !assumptions.contains(&assumption) {
                assumptions.push(assumption);
            }
        }
        assumptions
    }
}

impl SimulationResult {
    /// The result, if all requests were served.
    ///
    /// # Errors
    /// If some never were.
    pub fn if_served(self) -> Result<Self, NoSteadyState> {
        match self.unserved {
            Some(unserved) => Err(NoSteadyState::Deadlock(unserved)),
            None => Ok(self),
        }
    }
}
