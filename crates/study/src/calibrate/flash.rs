//! The flash of an SSD, from a long write run: write cache, time of a program, spare room.
//!
//! Throughput says only what these do together, so candidates are simulated with the recorded requests at several times
//! their pace, which keeps them busy, and measured as the recording was ([`pace`]); each parameter is then changed by what
//! its own figure is off (indirect inference; Gouriéroux, Monfort and Renault 1993).

use iosonar_ssd_model::{CacheProfile, SsdProfile};
use iosonar_trace::Op;
use iosonar_units::Nanos;

use super::again::Again;
use super::figure::{Figure, Found, Missing, Parameter, provenance as provenance_of};
use super::hits::median;
use super::observed::Served;
use super::pace::{self, Pace, pace};
use super::{CalibrateError, Observed};

/// What was found of an SSD's flash.
#[derive(Clone, Debug)]
pub struct FlashFit {
    /// The profile.
    pub profile: SsdProfile,
    /// The write cache, in bytes.
    pub cache_bytes: Figure,
    /// The sustained rate, in bytes per second; the time of a program follows from it.
    pub sustained: Found,
    /// The time of a program, in microseconds. Where it is not known, nothing is: the profile is the one before.
    pub program: Figure,
    /// What is programmed before the first cleaning, in bytes; the over-provisioning follows from it.
    pub spare_bytes: Figure,
    /// The recording, measured.
    pub recorded: Pace,
    /// The profile, measured in the same way; none if it shows no rate.
    pub simulated: Option<Pace>,
    /// Bytes per second in equal parts of the recorded run: recorded, and simulated at the recorded times.
    pub rates: Vec<(f64, f64)>,
}

/// A program is changed by at most this factor at a time.
const MOST_CHANGE: f64 = 4.0;
/// Figures that are this near are the same.
const NEAR: f64 = 0.003;
/// A sustained rate that stays further off is not explained by programs.
const EXPLAINED: f64 = 0.03;
/// The parts in which throughput is compared.
const PARTS: usize = 20;

/// The requests of a run, to be simulated.
struct Run<'a> {
    observed: &'a Observed,
    again: Again,
}

/// Fits write cache, program time and over-provisioning of `start`; its geometry and its other times are taken as they
/// are, and what it holds for the host.
///
/// # Errors
/// If the records are no long write run, the profile has no flash, or a candidate cannot be simulated.
pub fn calibrate_flash(
    observed: &Observed,
    start: &SsdProfile,
) -> Result<FlashFit, CalibrateError> {
    let capacity = capacity_for(observed, start)?;
    let recorded = pace(&pace::recorded(observed.served()), capacity).ok_or_else(|| {
        CalibrateError::Records(format!(
            "{} writes are too few to derive a rate: expected a few thousand that keep the device busy",
            observed.len()
        ))
    })?;
    let run = Run::new(observed)?;
    let mut profile = start.clone();
    set_cache(&mut profile, recorded.burst_bytes);
    set_spare(
        &mut profile,
        capacity,
        recorded.cliff_bytes.map(|b| b / capacity),
    );
    let mut simulated = run.measured(&profile, capacity)?;
    for _ in 0..8 {
        // What shows no rate says nothing of what is off.
        let Some(seen) = &simulated else { break };
        if !improve(&mut profile, capacity, &recorded, seen) {
            break;
        }
        simulated = run.measured(&profile, capacity)?;
    }
    let found = is_busy(observed.served(), start, &recorded)
        && simulated
            .as_ref()
            .is_some_and(|s| (s.sustained / recorded.sustained - 1.0).abs() <= EXPLAINED);
    if !found {
        profile = start.clone();
        simulated = run.measured(&profile, capacity)?;
    }
    let known = |figure: Figure| if found { figure } else { Err(Missing::NotBusy) };
    let around = |value: f64| Found {
        value,
        low: value * (1.0 - recorded.error),
        high: value * (1.0 + recorded.error),
        requests: recorded.writes,
    };
    Ok(FlashFit {
        rates: run.rates(&profile)?,
        cache_bytes: known(cache_figure(&profile, &recorded)),
        sustained: around(recorded.sustained),
        program: known(Ok(around(program_us(&profile)))),
        spare_bytes: known(spare_figure(&profile, capacity, &recorded)),
        profile,
        recorded,
        simulated,
    })
}

/// The bytes that a profile with flash has for a write run.
fn capacity_for(observed: &Observed, start: &SsdProfile) -> Result<f64, CalibrateError> {
    let writes = observed.count(Op::Write);
    if writes < observed.len() as u64 * 19 / 20 {
        return Err(CalibrateError::Records(format!(
            "{writes} of {} requests are writes, expected at least 95 %: record a run that only writes, such as \
             that of a load from 'iosonar generate' with --read-share 0",
            observed.len()
        )));
    }
    let capacity = logical_bytes(start).ok_or_else(|| {
        CalibrateError::Profile(format!("the profile '{}' has no flash to fit", start.name))
    })?;
    if start
        .flash
        .as_ref()
        .is_none_or(|flash| flash.program_us.is_none())
    {
        return Err(CalibrateError::Profile(format!(
            "the profile '{}' has no 'flash.program_us': expected an initial value such as [660.0]",
            start.name
        )));
    }
    if observed.end() as f64 * 512.0 > capacity {
        return Err(CalibrateError::Records(format!(
            "the records extend to sector {}, but the profile '{}' has only {:.0}: set its geometry to that of the \
             device",
            observed.end(),
            start.name,
            capacity / 512.0
        )));
    }
    Ok(capacity)
}

/// What one program takes, in microseconds, on average over the pages of a block.
fn program_us(profile: &SsdProfile) -> f64 {
    let programs = profile.flash.as_ref().and_then(|f| f.program_us.as_ref());
    programs.map_or(0.0, |us| us.iter().sum::<f64>() / us.len().max(1) as f64)
}

/// Whether flash can have been busy: with a request for each die on average, or with a cache that became full, so that
/// what came later waited.
fn is_busy(served: &[Served], profile: &SsdProfile, recorded: &Pace) -> bool {
    let latency = |s: &Served| (s.done - s.came).as_secs_f64();
    let (Some(first), Some(end)) = (served.first(), served.iter().map(|s| s.done).max()) else {
        return false;
    };
    let all_s = (end - first.came).as_secs_f64();
    let outstanding = served.iter().map(latency).sum::<f64>() / all_s;
    let flash = profile.flash.as_ref();
    let dies = flash.map_or(1.0, |f| f64::from(f.channels) * f64::from(f.dies));
    if outstanding >= dies {
        return true;
    }
    let mut bytes = 0.0;
    let half = recorded.burst_bytes.unwrap_or(0.0) / 2.0;
    let early = served.iter().take_while(|s| {
        bytes += f64::from(s.sectors) * 512.0;
        bytes <= half
    });
    let (early, late) = served.split_at(early.count());
    let middle = |some: &[Served]| median(some.iter().map(latency).collect());
    !early.is_empty() && !late.is_empty() && 2.0 * middle(early) < middle(late)
}

/// What the host sees of a profile's flash, in bytes: whole pages of each plane.
fn logical_bytes(profile: &SsdProfile) -> Option<f64> {
    let flash = profile.flash.as_ref()?;
    let pages = f64::from(flash.blocks) * f64::from(flash.pages);
    let held = (pages / (1.0 + flash.over_provisioning)).floor();
    Some(unit_bytes(profile)? / f64::from(flash.pages) * held)
}

/// A block of each plane, in bytes.
fn unit_bytes(profile: &SsdProfile) -> Option<f64> {
    let flash = profile.flash.as_ref()?;
    let page: iosonar_units::Bytes = flash.page.parse().ok()?;
    let planes = f64::from(flash.channels) * f64::from(flash.dies) * f64::from(flash.planes);
    Some(planes * f64::from(flash.pages) * page.get() as f64)
}

/// A cache of this size to begin with. One that was not seen is left out, unless parts of flash pages wait in it.
fn set_cache(profile: &mut SsdProfile, burst: Option<f64>) {
    let whole = profile.flash.as_ref().is_none_or(|flash| {
        let unit = flash.mapping_unit.as_ref();
        unit.is_none_or(|unit| *unit == flash.page)
    });
    match (burst, &mut profile.cache) {
        (Some(bytes), Some(cache)) => cache.size = size_of(bytes),
        (Some(bytes), none) => {
            *none = Some(CacheProfile {
                size: size_of(bytes),
                destage_above: 0.0,
                destage_below: 0.0,
                access_us: 0.0,
                mb_per_s: None,
                row: None,
                volatile: false,
                in_flight: None,
                hold_ms: 0.0,
                hold_share: 0.5,
            });
        }
        (None, cache) if whole => *cache = None,
        (None, _) => {}
    }
}

/// In sectors of 4 KiB.
fn size_of(bytes: f64) -> String {
    format!("{}KiB", ((bytes / 4096.0).round() as u64).max(1) * 4)
}

/// Sets the spare room to this share of the capacity; what the host sees stays the same.
fn set_spare(profile: &mut SsdProfile, capacity: f64, share: Option<f64>) {
    let (Some(share), Some(unit)) = (share, unit_bytes(profile)) else {
        return;
    };
    let Some(flash) = &mut profile.flash else {
        return;
    };
    // The reserve is not written before cleaning begins; nor are the blocks that are being filled.
    let kept = f64::from(flash.reserve) + 2.0;
    let blocks = (capacity * (1.0 + share.max(0.001)) / unit).ceil();
    flash.blocks = blocks.max(capacity / unit + kept + 1.0) as u32;
    // Half a page of each plane more, so that none is lost by rounding.
    let held = capacity + 0.5 * unit / f64::from(flash.pages);
    flash.over_provisioning = f64::from(flash.blocks) * unit / held - 1.0;
}

/// Changes what is off, and says whether anything was.
fn improve(profile: &mut SsdProfile, capacity: f64, recorded: &Pace, simulated: &Pace) -> bool {
    let mut changed = false;
    let slower = simulated.sustained / recorded.sustained;
    if let Some(programs) = profile
        .flash
        .as_mut()
        .and_then(|flash| flash.program_us.as_mut())
        && (slower - 1.0).abs() > NEAR
    {
        let factor = slower.clamp(1.0 / MOST_CHANGE, MOST_CHANGE);
        programs.iter_mut().for_each(|us| *us *= factor);
        changed = true;
    }
    if let (Some(wanted), Some(burst), Some(cache)) = (
        recorded.burst_bytes,
        simulated.burst_bytes,
        &mut profile.cache,
    ) {
        let off = wanted - burst;
        let now = cache
            .size
            .parse::<iosonar_units::Bytes>()
            .map_or(0.0, |b| b.get() as f64);
        if off.abs() > NEAR * wanted {
            cache.size = size_of((now + off).max(4096.0));
            changed = true;
        }
    }
    if let (Some(wanted), Some(cliff)) = (recorded.cliff_bytes, simulated.cliff_bytes) {
        let off = (wanted - cliff) / capacity;
        let unit = unit_bytes(profile).unwrap_or(f64::INFINITY) / capacity;
        if off.abs() > (NEAR * wanted / capacity).max(0.5 * unit) {
            let now = profile
                .flash
                .as_ref()
                .map_or(0.0, |flash| flash.over_provisioning);
            set_spare(profile, capacity, Some(now + off));
            changed = true;
        }
    } else if recorded.cliff_bytes.is_some() {
        // The whole run went into its spare room.
        let now = profile
            .flash
            .as_ref()
            .map_or(0.0, |flash| flash.over_provisioning);
        set_spare(profile, capacity, Some(now * 0.8));
        changed = true;
    }
    changed
}

fn cache_figure(profile: &SsdProfile, recorded: &Pace) -> Figure {
    let burst = recorded.burst_bytes.ok_or(Missing::NoChange)?;
    let size = profile
        .cache
        .as_ref()
        .and_then(|cache| cache.size.parse::<iosonar_units::Bytes>().ok());
    let value = size.map_or(burst, |bytes| bytes.get() as f64);
    // The line of the sustained rate is drawn back from the middle of its part.
    let error = recorded.error * recorded.bytes.min(value * 10.0);
    Ok(Found {
        value,
        low: (value - error).max(0.0),
        high: value + error,
        requests: recorded.writes,
    })
}

fn spare_figure(profile: &SsdProfile, capacity: f64, recorded: &Pace) -> Figure {
    let cliff = recorded.cliff_bytes.ok_or(Missing::NoChange)?;
    let share = profile
        .flash
        .as_ref()
        .map_or(0.0, |flash| flash.over_provisioning);
    let error = (0.003 * cliff).max(0.5 * unit_bytes(profile).unwrap_or(0.0));
    Ok(Found {
        value: share * capacity,
        low: share * capacity - error,
        high: share * capacity + error,
        requests: recorded.writes,
    })
}

impl<'a> Run<'a> {
    fn new(observed: &'a Observed) -> Result<Self, CalibrateError> {
        let again = Again::new()?;
        for (name, hurry) in [("busy.ios", 3), ("recorded.ios", 1)] {
            let hurried = observed.load().map(|mut record| {
                record.request.start = Nanos::new(record.request.start.get() / hurry);
                record
            });
            again.add_load(name, hurried)?;
        }
        Ok(Self { observed, again })
    }

    /// The completions of a profile.
    fn completions(
        &self,
        profile: &SsdProfile,
        load: &str,
    ) -> Result<Vec<(f64, f64)>, CalibrateError> {
        let device = "[ssd]\nprofile = \"profile.toml\"";
        let ends = self
            .again
            .simulate(load, &text_of(profile), device, |record| {
                let latency = record.outcome.latency.unwrap_or_default();
                let end = record.request.start + record.outcome.delay.unwrap_or_default() + latency;
                (end.as_secs_f64(), record.request.sectors.get())
            })?;
        Ok(pace::completions(ends.into_iter()))
    }

    fn measured(
        &self,
        profile: &SsdProfile,
        capacity: f64,
    ) -> Result<Option<Pace>, CalibrateError> {
        let run = self.completions(profile, "busy.ios")?;
        Ok(pace(&run, capacity).filter(|pace| pace.sustained > 0.0))
    }

    /// Rates over the recorded time.
    fn rates(&self, profile: &SsdProfile) -> Result<Vec<(f64, f64)>, CalibrateError> {
        let recorded = pace::recorded(self.observed.served());
        let simulated = self.completions(profile, "recorded.ios")?;
        let part_s = recorded.last().map_or(0.0, |last| last.0) / PARTS as f64;
        let of = |run: &[(f64, f64)], part: usize| {
            let at = |n: usize| pace::bytes_at(run, n as f64 * part_s);
            (at(part + 1) - at(part)) / part_s
        };
        let parts = 0..PARTS;
        Ok(parts
            .map(|part| (of(&recorded, part), of(&simulated, part)))
            .collect())
    }
}

/// A profile as a file.
fn text_of(profile: &SsdProfile) -> String {
    toml::to_string(profile).expect("a profile consists of tables and values")
}

impl FlashFit {
    /// What was fitted, by its key in the profile.
    pub fn parameters(&self) -> Vec<Parameter> {
        let capacity = logical_bytes(&self.profile).unwrap_or(1.0);
        let relative = |found: Found, scale: f64, value: f64| Found {
            value,
            low: value + (found.low - found.value) * scale,
            high: value + (found.high - found.value) * scale,
            requests: found.requests,
        };
        let spare = |found: Found| relative(found, 1.0 / capacity, found.value / capacity);
        vec![
            Parameter {
                key: "cache.size",
                figure: self.cache_bytes,
            },
            Parameter {
                key: "flash.program_us",
                figure: self.program,
            },
            Parameter {
                key: "flash.over_provisioning",
                figure: self.spare_bytes.map(spare),
            },
        ]
    }

    /// The profile as a file; `records` names the recording, `provenance` says more, in lines.
    pub fn text(&self, records: &str, provenance: &str) -> String {
        let profile = SsdProfile {
            provenance: Some(provenance_of(records, &self.parameters())),
            ..self.profile.clone()
        };
        let comments: String = provenance
            .lines()
            .map(|line| format!("# {line}\n"))
            .collect();
        comments + &text_of(&profile)
    }

    /// The largest difference of the rates over time, as a share of the recorded one; where nothing was recorded, of the
    /// mean.
    pub fn off(&self) -> f64 {
        largest_off(&self.rates)
    }

    /// What one program takes, in microseconds, on average over the pages of a block.
    pub fn program_us(&self) -> f64 {
        program_us(&self.profile)
    }
}

fn largest_off(rates: &[(f64, f64)]) -> f64 {
    let mean = rates.iter().map(|r| r.0).sum::<f64>() / rates.len().max(1) as f64;
    let off = |&(recorded, simulated): &(f64, f64)| {
        let of = if recorded > 0.0 { recorded } else { mean };
        if of > 0.0 {
            (simulated - recorded).abs() / of
        } else {
            0.0
        }
    };
    rates.iter().map(off).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_without_writes_is_compared_with_the_mean() {
        assert_eq!(largest_off(&[(2.0, 2.0), (0.0, 0.0)]), 0.0);
        assert_eq!(largest_off(&[(2.0, 2.0), (0.0, 0.5)]), 0.5);
        assert_eq!(largest_off(&[(0.0, 0.0)]), 0.0);
        assert_eq!(largest_off(&[]), 0.0);
    }
}
