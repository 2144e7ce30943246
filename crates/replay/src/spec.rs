//! What a replay does, as data: filled from a command line, varied by a sweep, kept beside its records, and read again
//! on another machine.

use std::path::PathBuf;

use iosonar_trace::Reading;
use iosonar_trace::transform::{CHANGE_NAMES, ChangeError, changes_of};
use iosonar_units::{Nanos, one_or_many};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{FileSize, Intent, Options, TargetName, Writes, ZoneOptions};

/// The loads, the targets, and how the loads are replayed on them. Its keys, all on one level, are named as the options
/// of `iosonar replay`; a key that is missing has its default.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReplaySpec {
    /// The loads; several are dealt to the targets in turn.
    #[serde(deserialize_with = "one_or_many")]
    pub load: Vec<PathBuf>,
    /// How they are read and changed.
    #[serde(flatten)]
    pub reading: Reading,
    /// The block devices or files to replay on.
    #[serde(deserialize_with = "one_or_many")]
    pub target: Vec<PathBuf>,
    /// The targets by the devices of the load, instead of `target`: pairs of the device's name and the target.
    pub map: Vec<(String, PathBuf)>,
    /// Only the first of the targets are used.
    pub max_targets: Option<u32>,
    /// How much later in its load each further target begins.
    pub delta: Option<Nanos>,
    /// The targets whose contents may be lost.
    #[serde(deserialize_with = "one_or_many")]
    pub destroy: Vec<PathBuf>,
    /// The targets are files that do not exist yet, and are made with this size.
    pub create: Option<FileSize>,
    /// Whether the page cache is used: results are fake then.
    pub no_direct: bool,
    /// The targets' I/O scheduler during the replay.
    pub scheduler: Option<String>,
    /// Whether the kernel may merge requests.
    pub merges: Merges,
    /// How requests are submitted, waited for, limited and checked.
    #[serde(flatten)]
    pub options: Options,
    /// What answers if nothing real does ([`EngineKind::Simulate`](crate::EngineKind::Simulate)).
    #[serde(flatten)]
    pub answer: Answer,
    /// How the records are kept.
    #[serde(flatten)]
    pub records: RecordKeeping,
}

/// Whether the kernel may merge requests that are submitted together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Merges {
    /// It may.
    #[default]
    Allow,
    /// It must not: the queue is set so during the replay.
    Forbid,
}

/// What answers instead of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Answer {
    /// How long every request takes; 100 us if `None`.
    pub latency: Option<Nanos>,
    /// The profile of a disk that answers instead, by name or as a file.
    pub model: Option<String>,
    /// Where its randomness comes from; 1 if `None`.
    pub seed: Option<u64>,
}

/// How the records of a replay are kept, wherever they go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordKeeping {
    /// They are synced to their medium once per second.
    pub durable: bool,
    /// The start of the window in their times; as in the load if `None`.
    pub out_from: Option<Nanos>,
    /// The replay's account of itself is written beside them.
    pub self_check: bool,
}

/// What is wrong with a key of a spec.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is no such key.
    #[error("unknown key '{key}'{}", hint(.similar.as_deref()))]
    Unknown {
        /// The key.
        key: String,
        /// One that it may have been meant for.
        similar: Option<String>,
    },
    /// The value of a key is not of its type.
    #[error("'{key}' is {value}: {problem}")]
    Value {
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A change of the load.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Keys that do not go together, or a number out of its range.
    #[error("{0}")]
    Rule(String),
}

fn hint(similar: Option<&str>) -> String {
    similar.map_or(String::new(), |key| format!(" (did you mean '{key}'?)"))
}

impl ReplaySpec {
    /// From keys and their values; later ones replace earlier ones, except changes of the load, which are done in their
    /// order. A list stands for several changes of the same kind.
    ///
    /// # Errors
    /// What is wrong with which key.
    pub fn from_keys<'a>(
        keys: impl IntoIterator<Item = (&'a str, Value)>,
    ) -> Result<Self, SpecError> {
        let known = match serde_json::to_value(Self::default()) {
            Ok(Value::Object(known)) => known,
            other => unreachable!("a spec must be an object (got {other:?})"),
        };
        let mut given = Map::new();
        let mut changes: Vec<(String, String)> = Vec::new();
        for (key, value) in keys {
            // As words of a command line are spelled.
            let key = key.replace('-', "_");
            if CHANGE_NAMES.contains(&key.as_str()) {
                match value {
                    Value::Array(values) => {
                        changes.extend(values.iter().map(|value| (key.clone(), text(value))));
                    }
                    value => changes.push((key, text(&value))),
                }
                continue;
            }
            if !known.contains_key(&key) {
                let similar = known.keys().map(String::as_str).chain(CHANGE_NAMES);
                let similar = similar
                    .map(|name| (strsim::jaro_winkler(name, &key), name))
                    .filter(|(likeness, _)| *likeness > 0.8)
                    .max_by(|a, b| a.0.total_cmp(&b.0));
                let similar = similar.map(|(_, name)| name.to_owned());
                return Err(SpecError::Unknown { key, similar });
            }
            // Alone, so that it is known which key an error is about.
            let alone: Map<_, _> = [(key.clone(), value.clone())].into_iter().collect();
            if let Err(error) = serde_json::from_value::<Self>(alone.into()) {
                let plain = iosonar_units::plain_complaint(&error.to_string());
                // The value is named already.
                let expected = plain.starts_with("is ").then(|| plain.find("expected "));
                let problem = plain[expected.flatten().unwrap_or(0)..].to_owned();
                return Err(SpecError::Value {
                    key,
                    value: value.to_string(),
                    problem,
                });
            }
            given.insert(key, value);
        }
        let mut spec: Self = serde_json::from_value(given.into())
            .map_err(|error| SpecError::Rule(iosonar_units::plain_complaint(&error.to_string())))?;
        spec.reading.changes = changes_of(&changes)?;
        spec.check()?;
        Ok(spec)
    }

    /// From the text of a JSON object, as [`serde_json::to_string`] writes it.
    ///
    /// # Errors
    /// If it is not one, or what is wrong with which key.
    pub fn from_json(text: &str) -> Result<Self, SpecError> {
        let rule = |error: serde_json::Error| {
            SpecError::Rule(iosonar_units::plain_complaint(&error.to_string()))
        };
        let mut keys: Map<String, Value> = serde_json::from_str(text).map_err(rule)?;
        let changes = keys
            .remove("changes")
            .unwrap_or_else(|| Value::Array(Vec::new()));
        let mut spec = Self::from_keys(keys.iter().map(|(key, value)| (&**key, value.clone())))?;
        let changes: Map<_, _> = [("changes".to_owned(), changes)].into_iter().collect();
        let read: Reading = serde_json::from_value(changes.into()).map_err(rule)?;
        spec.reading.changes.extend(read.changes);
        Ok(spec)
    }

    /// What may be done to the targets.
    pub fn intent(&self) -> Intent {
        Intent {
            write: self.options.writes == Writes::Do && self.options.engine.is_real(),
            destroy: self.destroy.clone(),
            buffered: self.no_direct,
            target_name: TargetName::default(),
            only_existing: false,
        }
    }

    /// Whether the records are to survive a loss of power.
    pub fn is_durable(&self) -> bool {
        self.records.durable || self.options.verification.durable_tables
    }

    /// Refuses what does not go together, and numbers out of their ranges.
    ///
    /// # Errors
    /// [`SpecError::Rule`], which names the keys.
    pub fn check(&self) -> Result<(), SpecError> {
        let options = &self.options;
        for (key, number, most) in [
            ("in_flight", Some(options.in_flight), 16_384),
            ("in_flight_total", options.in_flight_total, 32_768),
            ("bottleneck", options.bottleneck, 1 << 20),
        ] {
            if let Some(number) = number.filter(|n| !(1..=most).contains(n)) {
                return Err(SpecError::Rule(format!(
                    "'{key}' is {number}, expected 1 to {most}"
                )));
            }
        }
        let rules = [
            (!self.load.is_empty(), "'load' is missing"),
            (
                self.max_targets != Some(0),
                "'max_targets' must be at least 1",
            ),
            (
                self.map.is_empty() || self.target.is_empty(),
                "'map' and 'target' cannot be combined",
            ),
            (
                self.map.is_empty() || self.reading.options.devices.is_empty(),
                "'map' and 'device' cannot be combined",
            ),
            (
                options.zones == ZoneOptions::default() || options.writes == Writes::Do,
                "'zone_append' and 'reset_zones' need 'write'",
            ),
            (
                !options.verification.durable_tables || options.verification.keep_tables.is_some(),
                "'durable_tables' needs 'keep_tables'",
            ),
        ];
        match rules.iter().find(|(holds, _)| !holds) {
            Some((_, problem)) => Err(SpecError::Rule((*problem).to_owned())),
            None => Ok(()),
        }
    }
}

/// A value as a user would type it.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Beyond, Conflicts, Data, EngineKind, Processors, Strong, ThreadPriority};
    use iosonar_trace::transform::Change;

    fn spec(keys: &[(&str, Value)]) -> Result<ReplaySpec, SpecError> {
        ReplaySpec::from_keys(keys.iter().map(|(key, value)| (*key, value.clone())))
    }

    fn every_kind_of_key() -> Vec<(&'static str, Value)> {
        vec![
            ("load", json!("a.load")),
            ("target", json!(["/dev/a", "/dev/b"])),
            ("from", json!("88s")),
            ("speed", json!(2.5)),
            ("ops", json!("read")),
            ("duration", json!("3s")),
            ("device", json!("sda")),
            ("columns", json!("time_s=T,offset_bytes=O")),
            ("start_at", json!("issue")),
            ("in_flight", json!(64)),
            ("max_dropped", json!(2.5)),
            ("max_runtime", json!(30)),
            ("start_grace", json!("20ms")),
            ("create", json!("512MiB")),
            ("engine", json!("io-uring")),
            ("priority", json!("nice")),
            ("cpu", json!("0,2-3")),
            ("conflicts", json!("with-ordering")),
            ("strong", json!(2)),
            ("data", json!("random:50")),
            ("wrap", json!(true)),
            ("write", json!(true)),
            ("zone_append", json!(true)),
            ("verify", json!("final")),
            ("keep_tables", json!("log")),
            ("merges", json!("forbid")),
            ("latency", json!("5ms")),
        ]
    }

    #[test]
    fn keys_are_those_of_the_command_line() {
        let spec = spec(&every_kind_of_key()).unwrap();
        let options = &spec.options;
        assert_eq!(spec.load, [PathBuf::from("a.load")]);
        assert_eq!(spec.target.len(), 2);
        assert_eq!(
            spec.reading.changes[0],
            Change::Select {
                from: Nanos::from_secs(88),
                until: Nanos::from_secs(91),
            }
        );
        assert!(matches!(
            spec.reading.changes[1..],
            [Change::Speed(_), Change::Ops(_)]
        ));
        assert_eq!(spec.reading.options.columns.len(), 2);
        assert!(spec.reading.options.start_at_issue);
        assert_eq!((options.in_flight, options.max_dropped), (64, 0.025));
        assert_eq!(options.max_runtime, Some(Nanos::from_secs(30)));
        assert_eq!(spec.create.unwrap().bytes().get(), 512 << 20);
        assert_eq!(options.engine, EngineKind::IoUring);
        assert_eq!(options.pacing.priority, ThreadPriority::Nice);
        assert_eq!(options.pacing.cpus, Processors(vec![0, 2, 3]));
        assert_eq!(
            (options.conflicts, options.strong),
            (Conflicts::Order, Strong::Every)
        );
        assert_eq!(
            options.data,
            Data::Random {
                compressible_percent: 50
            }
        );
        assert_eq!(
            (options.fit.beyond, options.writes),
            (Beyond::Wrap, Writes::Do)
        );
        assert_eq!(
            (spec.merges, spec.answer.latency),
            (Merges::Forbid, Some(Nanos::from_millis(5)))
        );
    }

    #[test]
    fn a_spec_that_is_written_is_read_as_the_same() {
        for keys in [every_kind_of_key(), vec![("load", json!(["x"]))]] {
            let spec = spec(&keys).unwrap();
            let text = serde_json::to_string(&spec).unwrap();
            let again = ReplaySpec::from_json(&text).unwrap();
            assert_eq!(serde_json::to_string(&again).unwrap(), text);
            assert_eq!(again.options, spec.options);
            assert_eq!(again.reading.changes, spec.reading.changes);
        }
    }

    #[test]
    fn an_error_names_its_key() {
        for (keys, problem) in [
            (
                json!({ "in_flite": 3 }),
                "unknown key 'in_flite' (did you mean 'in_flight'?)",
            ),
            (json!({ "in_flight": "many" }), "'in_flight' is \"many\""),
            (
                json!({ "in_flight": 0 }),
                "'in_flight' is 0, expected 1 to 16384",
            ),
            (json!({ "max_runtime": "x" }), "is not a time such as 60s"),
            (
                json!({ "priority": "none" }),
                "'priority' is \"none\": expected one of",
            ),
            (json!({ "max_dropped": 101 }), "expected 0 to 100 percent"),
            (json!({ "wrap": true, "clip": true }), "cannot be combined"),
            (
                json!({ "write": true, "skip_writes": true }),
                "cannot be combined",
            ),
            (json!({ "durable_tables": true }), "needs 'keep_tables'"),
            (json!({ "reset_zones": true }), "need 'write'"),
            (json!({ "speed": "fast" }), "'speed' is 'fast'"),
            (json!({ "load": [] }), "'load' is missing"),
        ] {
            let mut object = json!({ "load": "x" });
            let Value::Object(keys) = keys else {
                unreachable!()
            };
            object.as_object_mut().unwrap().extend(keys);
            let error = ReplaySpec::from_json(&object.to_string())
                .unwrap_err()
                .to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn an_intent_is_what_the_options_allow() {
        for (key, write, buffered) in [
            ("write", true, false),
            ("skip_writes", false, false),
            ("no_direct", false, true),
        ] {
            let spec = spec(&[
                ("load", json!("x")),
                ("destroy", json!("/dev/a")),
                (key, json!(true)),
            ]);
            let intent = spec.unwrap().intent();
            assert_eq!((intent.write, intent.buffered), (write, buffered), "{key}");
            assert_eq!(intent.destroy, [PathBuf::from("/dev/a")]);
        }
    }

    #[test]
    fn records_or_the_log_of_writes_may_be_durable() {
        let log = ("keep_tables", json!("log"));
        for (keys, is_durable) in [
            (vec![], false),
            (vec![log.clone()], false),
            (vec![("durable", json!(true))], true),
            (vec![log, ("durable_tables", json!(true))], true),
        ] {
            let keys: Vec<_> = [("load", json!("x"))].into_iter().chain(keys).collect();
            assert_eq!(spec(&keys).unwrap().is_durable(), is_durable, "{keys:?}");
        }
    }
}
