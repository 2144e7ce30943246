//! Models of devices that answer in real time, for `--engine simulate`.

use std::collections::{HashMap, VecDeque};
use std::path::Path;

use iosonar_device::{Access, Device, Job, RequestId, Station};
use iosonar_disk_model::{DiskLaws, DiskProfile, SampledDisk};
use iosonar_replay::{AccessKind, Answer, ConstantLatency, SimulatedDevice};
use iosonar_scenario::{ProfileOf, System};
use iosonar_sim_core::Seed;
use iosonar_units::{Nanos, Sector, Sectors};

use super::ReplayPlanError;

/// Of every request, without a model.
const LATENCY: Nanos = Nanos::from_micros(100);

/// The device that target `number` asks.
pub(super) fn device(
    answer: &Answer,
    number: usize,
) -> Result<Box<dyn SimulatedDevice>, ReplayPlanError> {
    let Some(name) = &answer.model else {
        return Ok(Box::new(ConstantLatency::new(
            answer.latency.unwrap_or(LATENCY),
        )));
    };
    let profile = disk_profile(name)
        .map_err(|problem| ReplayPlanError::Options(format!("--model: {problem}")))?;
    let component = format!("disk/{number}");
    let seed = Seed::new(answer.seed.unwrap_or(1));
    let disk = SampledDisk::new(&DiskLaws::new(&profile), &seed, &component);
    Ok(Box::new(InRealTime::new(Station::new(disk))))
}

/// The profile of a disk, which may be written as a system of one disk.
fn disk_profile(name: &str) -> Result<DiskProfile, String> {
    let here = Path::new(".");
    let error = match DiskProfile::load(name, here) {
        Ok(profile) => return Ok(profile),
        Err(error) => error,
    };
    let system = System::named(name).ok();
    let profile = match system.as_ref().map(System::profile) {
        Some(None) => {
            return Err(format!(
                "'{name}' is not a single disk, but --engine simulate models single disks only: use the profile of a \
                 disk ('iosonar profiles' lists them), or 'iosonar sim' to simulate the whole"
            ));
        }
        Some(Some(profile)) => profile,
        None => name.to_owned(),
    };
    match ProfileOf::named(&profile, here) {
        Some(ProfileOf::Ssd) => Err(format!(
            "'{name}' is the profile of an SSD, but --engine simulate models disks only: use the profile of a disk \
             ('iosonar profiles' lists them), --latency TIME for a constant latency, or 'iosonar sim' to simulate the \
             SSD"
        )),
        Some(ProfileOf::Disk) => {
            DiskProfile::load(&profile, here).map_err(|error| error.to_string())
        }
        None => Err(error.to_string()),
    }
}

/// A server of the simulator, asked as time goes by.
struct InRealTime<D> {
    server: D,
    /// The instants at which the server is to be asked, the next one last.
    told: Vec<Nanos>,
    /// Completions that were not reported yet.
    done: VecDeque<(u32, Nanos)>,
    names: HashMap<RequestId, u32>,
    requests: u64,
}

impl<D: Device> InRealTime<D> {
    fn new(server: D) -> Self {
        Self {
            server,
            told: Vec::new(),
            done: VecDeque::new(),
            names: HashMap::new(),
            requests: 0,
        }
    }

    /// All services that end until `now`.
    fn advance(&mut self, now: Nanos) {
        while let Some(at) = self.told.pop_if(|at| *at <= now) {
            if let Some(served) = self.server.complete(at, at)
                && let Some(id) = self.names.remove(&served.job.request)
            {
                self.done.push_back((id, at));
            }
            self.told.extend(self.server.start_next(at));
        }
    }
}

impl<D: Device + Send> SimulatedDevice for InRealTime<D> {
    fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, sectors: Sectors, now: Nanos) {
        self.advance(now);
        let access = match kind {
            AccessKind::Read => Access::Read,
            AccessKind::Write { .. } => Access::Write,
            // No medium moves for these.
            AccessKind::Flush | AccessKind::Discard | AccessKind::WriteZeroes => {
                self.done.push_back((id, now));
                return;
            }
        };
        self.requests += 1;
        let request = RequestId(self.requests);
        self.names.insert(request, id);
        let job = Job::new(request, access, sector, sectors);
        self.server.submit(job, now);
        self.told.extend(self.server.start_next(now));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.done
            .front()
            .map(|(_, at)| *at)
            .or(self.told.last().copied())
    }

    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        self.advance(now);
        self.done.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_in_real_time_serves_one_after_the_other_whenever_it_is_asked() {
        let profile = DiskProfile::load("seagate-st3500630ns", Path::new("."));
        let Ok(profile) = profile else {
            // The names of profiles are told by the error.
            panic!("{}", profile.unwrap_err())
        };
        let laws = DiskLaws::new(&profile);
        let disk = || {
            let disk = SampledDisk::new(&laws, &Seed::new(1), "disk/0");
            InRealTime::new(Station::new(disk))
        };
        // Asked often, or only when all is over: the times are the same.
        let run = |step: Nanos| {
            let mut disk = disk();
            let mut ends = Vec::new();
            for id in 0..20 {
                let sector = Sector::new(u64::from(id) * 1000);
                disk.submit(id, AccessKind::Read, sector, Sectors::new(8), Nanos::ZERO);
            }
            let mut now = Nanos::ZERO;
            while ends.len() < 20 {
                now += step;
                while let Some(done) = disk.complete(now) {
                    ends.push(done);
                }
            }
            ends
        };
        let (often, seldom) = (run(Nanos::from_micros(100)), run(Nanos::from_secs(10)));
        assert_eq!(often, seldom);
        assert!(often.is_sorted_by_key(|(_, at)| *at));
        let mean_ms = often[19].1.as_secs_f64() * 1e3 / 20.0;
        assert!((5.0..30.0).contains(&mean_ms), "{mean_ms}");
    }
}
