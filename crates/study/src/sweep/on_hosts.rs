//! Replays on several hosts at once.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iosonar_stats::{Distribution, Labels, Metric, Output};
use iosonar_trace::input::in_order;
use iosonar_trace::{Batch, Metadata, Op, Quantity, Reading, output};
use iosonar_units::with_causes;
use serde_json::{Value, json};

use super::frontend::{Notice, command_line};
use super::here::{Here, replay_spec};
use super::{
    Base, Done, Failure, RECORDS, Run, Runner, SPEC, Settings, SweepError, Task, metrics_in,
};
use crate::elsewhere::hosts::{Ready, Ssh, agreed_start, participants};
use crate::hooks::{HookError, Stop};
use crate::shell::quoted;

/// From the decision to the start: as long as the slowest connection takes, and reading the load there.
const LEAD: Duration = Duration::from_millis(2500);

/// Hosts that replay at once, as they are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsSpec {
    /// The hosts, or pairs such as `host:/dev/sdb`.
    pub hosts: Vec<String>,
    /// The ssh client with its options.
    pub ssh: String,
    /// Whether this program is copied to them.
    pub push: bool,
}

/// Carries replays out on several hosts at once.
pub(super) struct Hosts<'a> {
    here: &'a Here<'a>,
    ssh: Ssh,
    ready: Vec<Ready>,
}

impl<'a> Hosts<'a> {
    /// Finds out about all hosts.
    pub(super) fn new(spec: &HostsSpec, here: &'a Here<'a>) -> Result<Self, SweepError> {
        let ssh = Ssh::new(&spec.ssh);
        let push = spec.push.then_some(here.program.as_path());
        let participants = participants(&spec.hosts)?;
        let ready = thread::scope(|scope| {
            let tasks: Vec<_> = participants
                .iter()
                .map(|participant| scope.spawn(|| ssh.prepare(participant, push)))
                .collect();
            let joined = tasks
                .into_iter()
                .map(|task| task.join().unwrap_or_else(|_| Err("lost".to_owned())));
            joined.collect::<Vec<Result<Ready, String>>>()
        });
        let (mut all, mut wrong) = (Vec::new(), Vec::new());
        for one in ready {
            match one {
                Ok(ready) => all.push(ready),
                Err(problem) => wrong.push(problem),
            }
        }
        let hosts = Self {
            here,
            ssh,
            ready: all,
        };
        if !wrong.is_empty() {
            // What was brought to the others is removed with it.
            drop(hosts);
            return Err(SweepError::Elsewhere(format!(
                "--hosts: {}",
                wrong.join("; ")
            )));
        }
        for ready in &hosts.ready {
            here.frontend.notice(Notice::HostReady(ready));
        }
        Ok(hosts)
    }

    /// Simulations need no hosts, and hooks act on this machine.
    pub(super) fn check(destroy: &[PathBuf], runs: &[Run]) -> Result<(), SweepError> {
        if let Some(run) = runs.iter().find(|run| run.base != Base::Replay) {
            return Err(SweepError::Elsewhere(format!(
                "--hosts needs a replay, and {} is a simulation: use --on slurm instead",
                run.path.display()
            )));
        }
        let mut hooks = runs.iter().flat_map(|run| &run.common.hooks);
        if let Some(hook) = hooks.find(|hook| hook.is_of_this_machine()) {
            return Err(SweepError::Elsewhere(format!(
                "--hosts: the hook '{}' would act on devices of this machine, not of the hosts",
                hook.name()
            )));
        }
        let is_of_a_host = |path: &&PathBuf| !path.to_string_lossy().contains(":/");
        if let Some(path) = destroy.iter().find(is_of_a_host) {
            return Err(SweepError::Elsewhere(format!(
                "--destroy {0} does not name a host: use --destroy HOST:{0}",
                path.display()
            )));
        }
        Ok(())
    }

    /// What may be destroyed on a host: what is said of it, as `HOST:/dev/x`.
    fn destroyable_on(&self, host: &str) -> Vec<PathBuf> {
        let of_host = |path: &PathBuf| {
            let text = path.to_str()?;
            Some(PathBuf::from(text.strip_prefix(host)?.strip_prefix(':')?))
        };
        self.here.destroy.iter().filter_map(of_host).collect()
    }

    /// The targets of a run on a host.
    fn targets_on(ready: &Ready, of_run: &[String]) -> Vec<String> {
        if ready.participant.targets.is_empty() {
            of_run.to_vec()
        } else {
            ready.participant.targets.clone()
        }
    }

    /// What a host does: the same on its own targets, with the loads that were brought to it.
    fn spec_on(&self, ready: &Ready, task: &Job<'_>) -> Result<String, String> {
        let targets = Self::targets_on(ready, task.targets);
        let destroy = self.destroyable_on(&ready.participant.host);
        let mut spec = replay_spec(task.run, task.run_settings, &targets, &destroy)?;
        for load in &mut spec.load {
            *load = self.ssh.bring(ready, load, task.stop)?.into();
        }
        serde_json::to_string(&spec).map_err(|e| e.to_string())
    }

    fn replay_on(&self, ready: &Ready, task: &Job<'_>) -> Result<(String, PathBuf), String> {
        let host = &ready.participant.host;
        let there = format!("{}/{RECORDS}", ready.folder);
        let spec = self.spec_on(ready, task)?;
        let spec = self.ssh.put(ready, SPEC, &spec, task.stop)?;
        let mut words = [
            &ready.program,
            "replay",
            "--json",
            "--spec",
            &spec,
            "--out",
            &there,
        ]
        .map(str::to_owned)
        .to_vec();
        let begin = task.begin.get_or_init(|| agreed_start(LEAD));
        words.extend(["--at".to_owned(), ready.theirs(*begin).to_string()]);
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        // It ends when we do: our end of its standard input is closed then, however we end.
        let line = format!(
            "exec 3<&0; {} </dev/null & p=$!; (cat <&3; kill -TERM $p) >/dev/null 2>&1 & wait $p",
            words.join(" ")
        );
        let ended = self.ssh.run_held(host, &line, task.stop)?;
        task.say(host, &String::from_utf8_lossy(&ended.errors));
        match ended.status.code() {
            Some(0 | 3) => {}
            Some(255) => {
                return Err(format!(
                    "{host}: stopped, or does not answer: {}",
                    ended.last_words()
                ));
            }
            _ => {
                return Err(format!(
                    "{host}: the replay failed ({}): {}",
                    ended.how(),
                    ended.last_words()
                ));
            }
        }
        let here = task.folder.join(format!("records.{}.ios", file_name(host)));
        self.ssh.fetch(ready, &there, &here, task.stop)?;
        let text = String::from_utf8(ended.output)
            .map_err(|_| format!("{host}: its output is not valid UTF-8"))?;
        Ok((text, here))
    }
}

impl Drop for Hosts<'_> {
    fn drop(&mut self) {
        thread::scope(|scope| {
            for ready in &self.ready {
                scope.spawn(|| self.ssh.clear(ready));
            }
        });
    }
}

/// A run on all hosts.
struct Job<'a> {
    run: &'a Run,
    run_settings: &'a Settings,
    targets: &'a [String],
    loads: Vec<PathBuf>,
    folder: &'a Path,
    stop: &'a Stop,
    begin: std::sync::OnceLock<i64>,
    said: std::sync::Mutex<String>,
}

impl Job<'_> {
    fn say(&self, host: &str, text: &str) {
        let mut said = self
            .said
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for line in text.lines() {
            *said += &format!("{host}: {line}\n");
        }
    }
}

impl Runner for Hosts<'_> {
    fn ask_operator(&self, run: &Run, what: &str, stop: &Stop) -> Result<(), HookError> {
        self.here.ask_operator(run, what, stop)
    }

    fn carry_out(&self, task: &mut Task<'_, '_>) -> Result<Done, Failure> {
        let around = &mut *task.around;
        let spec = replay_spec(task.run, &around.settings, &around.targets, &[])
            .map_err(Failure::Failed)?;
        let job = Job {
            run: task.run,
            run_settings: &around.settings,
            targets: &around.targets,
            loads: spec.load,
            folder: around.folder,
            stop: around.stop,
            begin: std::sync::OnceLock::new(),
            said: std::sync::Mutex::default(),
        };
        // Loads first: bringing them takes as long as it takes, and the start is agreed upon then.
        let brought = thread::scope(|scope| {
            let bring = |ready| {
                job.loads
                    .iter()
                    .try_for_each(|load| self.ssh.bring(ready, load, job.stop).map(|_| ()))
            };
            let tasks: Vec<_> = self
                .ready
                .iter()
                .map(|ready| scope.spawn(move || bring(ready)))
                .collect();
            let joined = tasks
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|_| Err("lost".to_owned())));
            joined.collect::<Result<Vec<()>, String>>()
        });
        brought.map_err(Failure::Failed)?;
        let outcomes = thread::scope(|scope| {
            let tasks: Vec<_> = self
                .ready
                .iter()
                .map(|ready| scope.spawn(|| self.replay_on(ready, &job)))
                .collect();
            let joined = tasks
                .into_iter()
                .map(|t| t.join().unwrap_or_else(|_| Err("lost".to_owned())));
            joined.collect::<Vec<_>>()
        });
        let said = std::mem::take(
            &mut *job
                .said
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner),
        );
        let folder = job.folder;
        around.log.add(&said);
        if around.stop.is_asked() {
            return Err(Failure::Interrupted);
        }
        let (mut whole, mut dead) = (Vec::new(), Vec::new());
        for (ready, outcome) in self.ready.iter().zip(outcomes) {
            match outcome {
                Ok((text, records)) => whole.push((ready, text, records)),
                Err(problem) => dead.push(problem),
            }
        }
        if !dead.is_empty() {
            let rest = if whole.is_empty() {
                String::new()
            } else {
                format!(" (the others continued: {} have records here)", whole.len())
            };
            return Err(Failure::Failed(format!("{}{rest}", dead.join("; "))));
        }
        let result = together(&whole, folder).map_err(Failure::Failed)?;
        Ok(Done {
            result,
            command: command_line(&["sweep", "--hosts", &self.names()]),
        })
    }

    fn targets(&self, run: &Run) -> Vec<String> {
        self.here.targets(run)
    }

    fn is_one_at_a_time(&self) -> bool {
        // All hosts take part in each.
        true
    }
}

impl Hosts<'_> {
    fn names(&self) -> String {
        let names: Vec<&str> = self
            .ready
            .iter()
            .map(|ready| ready.participant.host.as_str())
            .collect();
        names.join(",")
    }
}

/// The records of all hosts as one, and all their figures: together, and each host's with its name.
fn together(whole: &[(&Ready, String, PathBuf)], folder: &Path) -> Result<String, String> {
    let paths: Vec<PathBuf> = whole.iter().map(|(_, _, path)| path.clone()).collect();
    let out = folder.join(RECORDS);
    let mut metadata = Metadata::default();
    let hosts: Vec<Value> = whole
        .iter()
        .map(|(ready, ..)| {
            let host = &ready.participant.host;
            metadata.notices.push(format!(
                "# iosonar {}: replayed on {host}, whose clock was {} ns ahead (± {} ns)",
                env!("CARGO_PKG_VERSION"),
                ready.offset_ns,
                ready.uncertainty_ns
            ));
            json!({ "host": host, "clock_offset_ns": ready.offset_ns, "uncertainty_ns": ready.uncertainty_ns })
        })
        .collect();
    let quantities = [Quantity::Latency, Quantity::Delay, Quantity::ResponseTime];
    // By intended start: that is the time that all hosts share.
    let times = in_order(&paths, &Reading::default(), |reader| {
        let mut writer = output::create(&out, &metadata)?;
        let mut times = vec![[Distribution::default(), Distribution::default()]; quantities.len()];
        let mut batch = Batch::default();
        while reader.next_batch(&mut batch)? > 0 {
            for record in batch.records() {
                let kind = match record.request.op {
                    Op::Read => 0,
                    Op::Write | Op::WriteZeroes => 1,
                    Op::Flush | Op::Discard => continue,
                };
                for (of, quantity) in times.iter_mut().zip(quantities) {
                    if let Some(t) = quantity.of(&record.outcome) {
                        of[kind].push(t);
                    }
                }
            }
            writer.write(&batch)?;
        }
        writer.finish()?;
        Ok(times)
    });
    let times = times.map_err(|e| with_causes(&e))?;
    let mut json = Output::new("sweep --hosts");
    json.set("hosts", json!(hosts));
    for (of, quantity) in times.iter().zip(quantities) {
        let name = quantity.name().replace(' ', "_");
        for (op, times) in [("read", &of[0]), ("write", &of[1])] {
            if times.count() > 0 {
                json.metric(Metric::times(name.clone(), &Labels::of("op", op), times));
            }
        }
    }
    for (ready, text, _) in whole {
        let metrics = metrics_in(text).map_err(|e| {
            format!(
                "{}: its replay printed no result: {e}",
                ready.participant.host
            )
        })?;
        json.metrics(metrics.into_iter().map(|metric| Metric {
            labels: metric.labels.with("host", &ready.participant.host),
            ..metric
        }));
    }
    Ok(json.text())
}

fn file_name(host: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || ".-".contains(c) {
            c
        } else {
            '_'
        }
    };
    host.chars().map(plain).collect()
}
