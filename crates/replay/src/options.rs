//! What a user can say about a replay.

use std::fs::File;
use std::num::NonZeroU32;
use std::str::FromStr;

use iosonar_units::{Bytes, Nanos, scalar};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::conflicts::{Conflicts, Strong};
use crate::engine::{Durability, RingOptions, best_for};
use crate::note::{EngineNote, Note};
use crate::verify::Verification;
use crate::zones::ZoneOptions;
use crate::{EngineKind, Fit, Pacing};

/// What happens to the requests of a load that would change the target's contents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WriteFlags", try_from = "WriteFlags")]
pub enum Writes {
    /// A load that has any is refused.
    #[default]
    Refuse,
    /// They are left out, and recorded as skipped.
    Skip,
    /// They are done.
    Do,
}

/// The same as it is written: a key for each.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
#[serde(default)]
struct WriteFlags {
    write: bool,
    skip_writes: bool,
}

impl From<Writes> for WriteFlags {
    fn from(writes: Writes) -> Self {
        Self {
            write: writes == Writes::Do,
            skip_writes: writes == Writes::Skip,
        }
    }
}

impl TryFrom<WriteFlags> for Writes {
    type Error = &'static str;

    fn try_from(flags: WriteFlags) -> Result<Self, Self::Error> {
        match (flags.write, flags.skip_writes) {
            (false, false) => Ok(Self::Refuse),
            (false, true) => Ok(Self::Skip),
            (true, false) => Ok(Self::Do),
            (true, true) => Err("'write' and 'skip_writes' cannot be combined"),
        }
    }
}

/// What is written: `random`, `random:50` or `zero`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Random data, no two pages the same, of which this percentage compresses to nothing.
    Random {
        /// 0 to 100.
        compressible_percent: u8,
    },
    /// Zeros, as blkreplay writes them: thin volumes, compression and deduplication fake results then.
    Zero,
}

impl Default for Data {
    fn default() -> Self {
        Self::Random {
            compressible_percent: 0,
        }
    }
}

impl FromStr for Data {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = match text.split_once(':') {
            None if text == "zero" => return Ok(Self::Zero),
            None if text == "random" => Some(0),
            Some(("random", percent)) => percent.parse().ok().filter(|p| *p <= 100),
            _ => None,
        };
        match percent {
            Some(compressible_percent) => Ok(Self::Random {
                compressible_percent,
            }),
            None => Err("expected random, random:PERCENT (0 to 100) or zero".to_owned()),
        }
    }
}

impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Random {
                compressible_percent: percent,
            } => serializer.collect_str(&format_args!("random:{percent}")),
            Self::Zero => serializer.serialize_str("zero"),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        scalar(deserializer)
    }
}

/// How a load is replayed. In files its keys are named as the options of the command line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Options {
    /// What happens to writes.
    #[serde(flatten)]
    pub writes: Writes,
    /// What happens to requests that do not fit the target.
    #[serde(flatten)]
    pub fit: Fit,
    /// The most ordinary requests at a device at once; as many that were pushed back may be there too.
    pub in_flight: u32,
    /// The most requests of both kinds at a device at once.
    pub in_flight_total: Option<u32>,
    /// The most requests of a device that are accepted and not complete, those pushed back included
    /// [default: eight times `in_flight`].
    pub bottleneck: Option<u32>,
    /// The most memory for the requests' data: fewer are in flight if the longest do not fit.
    pub buffer_memory: Bytes,
    /// How requests are submitted.
    pub engine: EngineKind,
    /// How a ring is set up.
    #[serde(flatten)]
    pub ring: RingOptions,
    /// How many threads submit, each for its share of the targets [default: one for each target, and a processor is
    /// left free].
    pub threads: Option<NonZeroU32>,
    /// How the time of a start is waited for.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// Time between the first requests' arrival from the file and time zero, to fill the queues.
    pub start_grace: Nanos,
    /// Time zero, in nanoseconds since 1970 by this machine's clock, instead of `start_grace` from now; one that is
    /// past is now.
    #[serde(rename = "at")]
    pub begin_at: Option<Nanos>,
    /// A replay that lasts longer is ended; what is left is missed.
    pub max_runtime: Option<Nanos>,
    /// Requests that should start before this time of the replay are in no statistic.
    pub warmup: Nanos,
    /// What happens to overlapping requests in flight.
    pub conflicts: Conflicts,
    /// Which overlaps count.
    pub strong: Strong,
    /// The share of requests that may be dropped before the replay is flagged.
    #[serde(with = "percent")]
    pub max_dropped: f64,
    /// What is written.
    pub data: Data,
    /// Whether writes wait for the medium.
    pub sync: Durability,
    /// How zones that must be written in order are written.
    #[serde(flatten)]
    pub zones: ZoneOptions,
    /// What is checked of the target's contents.
    #[serde(flatten)]
    pub verification: Verification,
    /// How many failed requests are tolerated; one more ends the run.
    pub max_errors: u64,
}

impl Options {
    /// The engine for these targets, which `auto` leaves open, and what the user should know of it: why it is not the one that was hoped
    /// for, which options it has no use for.
    pub(crate) fn engine_for(&self, files: &[&File]) -> (EngineKind, Vec<Note>) {
        if self.engine != EngineKind::Auto {
            return (self.engine, Vec::new());
        }
        let (resolved, mut notes) = best_for(files);
        let options = self.unused_by(resolved);
        if !options.is_empty() {
            let engine = resolved;
            notes.push(EngineNote::OptionsUnused { options, engine }.into());
        }
        (resolved, notes)
    }

    /// The options, by their names on the command line, that are not the default and that this engine has no use for.
    fn unused_by(&self, engine: EngineKind) -> Vec<&'static str> {
        let mut unused = self.ring.unused_by(engine);
        if engine == EngineKind::Sync {
            let limits = [
                ("--in-flight", self.in_flight != DEFAULT_IN_FLIGHT),
                ("--in-flight-total", self.in_flight_total.is_some()),
            ];
            let given = limits.into_iter().filter(|(_, is_given)| *is_given);
            unused.extend(given.map(|(name, _)| name));
        }
        unused
    }
}

/// Enough for any device, and enough to reveal a device that falls behind.
pub(crate) const DEFAULT_IN_FLIGHT: u32 = 1024;

impl Default for Options {
    fn default() -> Self {
        Self {
            writes: Writes::Refuse,
            fit: Fit::default(),
            in_flight: DEFAULT_IN_FLIGHT,
            in_flight_total: None,
            bottleneck: None,
            buffer_memory: Bytes::new(1 << 30),
            engine: EngineKind::Auto,
            ring: RingOptions::default(),
            threads: None,
            pacing: Pacing::default(),
            start_grace: Nanos::from_millis(200),
            begin_at: None,
            max_runtime: None,
            warmup: Nanos::ZERO,
            conflicts: Conflicts::default(),
            strong: Strong::default(),
            max_dropped: 0.05,
            data: Data::default(),
            sync: Durability::None,
            zones: ZoneOptions::default(),
            verification: Verification::default(),
            max_errors: 0,
        }
    }
}

/// A share, written in percent.
mod percent {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
    pub(super) fn serialize<S: Serializer>(share: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(share * 100.0)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        match f64::deserialize(deserializer)? {
            percent @ 0.0..=100.0 => Ok(percent / 100.0),
            other => Err(D::Error::custom(format!(
                "{other}, expected 0 to 100 percent"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_written_as_it_is_read() {
        let random = |compressible_percent| {
            Some(Data::Random {
                compressible_percent,
            })
        };
        for (text, data) in [
            ("zero", Some(Data::Zero)),
            ("random", random(0)),
            ("random:0", random(0)),
            ("random:50", random(50)),
            ("random:100", random(100)),
            ("random:101", None),
            ("random:-1", None),
            ("random:", None),
            ("zero:50", None),
            ("zeros", None),
            ("other", None),
            ("", None),
        ] {
            assert_eq!(text.parse::<Data>().ok(), data, "{text}");
            if let Some(data) = data {
                let written = serde_json::to_value(data).unwrap();
                assert_eq!(serde_json::from_value::<Data>(written).unwrap(), data);
            }
        }
    }

    #[test]
    fn an_engine_that_does_one_request_at_a_time_has_no_use_for_limits() {
        let limited = |in_flight, in_flight_total| Options {
            in_flight,
            in_flight_total,
            ..Options::default()
        };
        let (one, total) = ("--in-flight", "--in-flight-total");
        for (options, unused) in [
            (Options::default(), vec![]),
            (limited(64, None), vec![one]),
            (limited(DEFAULT_IN_FLIGHT, Some(64)), vec![total]),
            (limited(64, Some(64)), vec![one, total]),
        ] {
            assert_eq!(options.unused_by(EngineKind::Sync), unused);
            for other in [EngineKind::IoUring, EngineKind::Threads] {
                assert_eq!(options.unused_by(other), [""; 0]);
            }
        }
    }

    #[test]
    fn options_that_the_engine_found_has_no_use_for_are_noted() {
        use crate::RingOptions;
        let file = tempfile::tempfile().unwrap();
        let device = File::open("/dev/null").unwrap();
        let plain = |engine| Options {
            engine,
            ring: RingOptions {
                plain_buffers: true,
                ..RingOptions::default()
            },
            ..Options::default()
        };
        let unused = Note::from(EngineNote::OptionsUnused {
            options: vec!["--engine-opt buffers=plain"],
            engine: EngineKind::Passthrough,
        });
        let found = plain(EngineKind::Auto).engine_for(&[&device]);
        assert_eq!(found, (EngineKind::Passthrough, vec![unused]));
        let found = Options::default().engine_for(&[&device]);
        assert_eq!(found, (EngineKind::Passthrough, Vec::new()));
        let is_of_options =
            |note: &Note| matches!(note, Note::Engine(EngineNote::OptionsUnused { .. }));
        let (_, notes) = Options::default().engine_for(&[&file]);
        assert!(!notes.iter().any(is_of_options), "{notes:?}");
        // One that the user chose has been checked.
        let chosen = plain(EngineKind::Threads).engine_for(&[&file]);
        assert_eq!(chosen, (EngineKind::Threads, Vec::new()));
    }
}
