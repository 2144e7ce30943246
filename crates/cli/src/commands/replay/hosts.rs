//! `iosonar replay --hosts`: a load and targets on other hosts in, records of all and what came of each out.

use std::path::{Path, PathBuf};
use std::time::Duration;

use indicatif::ProgressBar;
use iosonar_guard::Host;
use iosonar_hosts::{
    AgentHello, Ending as HostEnding, Facts, HostsError, HostsOutcome, Loss, Member, Patience,
    Seen, Shell, Start, connect,
};
use iosonar_replay::{RecordKeeping, ReplaySpec, StopRequest, Target, Writes};
use iosonar_report::counted;
use iosonar_study::replay::{Dealt, ReplayPlan, dealt, refuse_on_hosts};
use iosonar_trace::{Metadata, Notice, Reading, TraceWriter, WriteOptions, input, output};
use iosonar_units::{Bytes, one_line};

use super::announce::Shown;
use super::{refuse_without_room, usage};
use crate::beside::{Working, beside};
use crate::exit::{Ending, fail, note, print_beside, print_data_beside, warn};
use crate::live::{self, Feed, Tee};
use crate::low::Replay;
use crate::render::hosts as render;
use crate::render::messages::{self, Warning};
use crate::render::progress::{is_hidden, style};
use crate::signals;

/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(30);

pub(super) fn run(args: &Replay, spec: &ReplaySpec, host: &Host) -> anyhow::Result<Ending> {
    // A file of options may have some that the command line refuses.
    refuse_on_hosts(spec)?;
    let out = args.out.as_deref();
    let dealt = dealt(spec, host, &Shown::new(args.output.quiet))?;
    let first = dealt.first().map(|dealt| dealt.load.clone());
    let Some(first) = first.filter(|_| dealt.iter().all(|dealt| dealt.load.scan.is_known)) else {
        return Err(usage(
            "--hosts reads the load once for each host: give it as a file",
        ));
    };
    let members: Vec<Member> = dealt.iter().map(|of| member(of, spec)).collect();
    let names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    // What is known here of the targets: enough for the names of loads, and the size of the records.
    let targets = dealt
        .iter()
        .map(|_| Target::imaginary(Bytes::new(512), Bytes::new(512)));
    let targets = targets.collect();
    let loads = dealt.into_iter().map(|dealt| dealt.load).collect();
    let plan = ReplayPlan::new(loads, targets, spec.options.clone());
    if let Some(out) = out {
        refuse_without_room(out, &plan)?;
    }
    signals::watch()?;
    let provenance = |facts: &[(AgentHello, Facts)]| -> anyhow::Result<Metadata> {
        let loads = plan.load_names();
        let load = input::open_with(&first.path, &first.reading.options)?;
        Ok(above_records(load.metadata(), &loads, &names, facts, spec))
    };
    let group = Group {
        args,
        spec,
        provenance: &provenance,
        title: plan.load_names(),
        requests: plan.loads.iter().map(|load| load.scan.requests).sum(),
    };
    let outcome = match group.carry_out(members) {
        Err(error) if is_interrupted(&error) => {
            return Ok(Ending::Interrupted {
                signal: signals::last(),
            });
        }
        outcome => outcome?,
    };
    if args.output.json {
        print_data_beside(out, &render::json(&outcome).text())?;
    } else {
        print_beside(out, &render::text(&outcome))?;
    }
    let ending = ending(&outcome);
    if args.output.quiet && ending != Ending::Done {
        fail(None, &render::conclusion(&outcome));
    }
    Ok(ending)
}

fn is_interrupted(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(HostsError::Interrupted))
}

/// What a host is to do: its own target, and nothing that is of this machine or of another host.
fn member(dealt: &Dealt, spec: &ReplaySpec) -> Member {
    let name = dealt.target.as_ref().map(|path| path.display().to_string());
    let name = name.unwrap_or_default();
    let (host, path) = name.split_once(':').unwrap_or((&name, ""));
    let may_be_destroyed = spec.destroy.iter().any(|of| Path::new(&name) == of);
    let target = PathBuf::from(path);
    Member {
        host: host.to_owned(),
        name: name.clone(),
        load: dealt.load.clone(),
        spec: ReplaySpec {
            load: vec![dealt.load.path.clone()],
            reading: Reading::default(),
            destroy: if may_be_destroyed {
                vec![target.clone()]
            } else {
                Vec::new()
            },
            target: vec![target],
            map: Vec::new(),
            max_targets: None,
            delta: None,
            records: RecordKeeping::default(),
            ..spec.clone()
        },
    }
}

/// What is written above the records.
fn above_records(
    load: &Metadata,
    loads: &str,
    names: &[String],
    facts: &[(AgentHello, Facts)],
    spec: &ReplaySpec,
) -> Metadata {
    let mut metadata = load.of_load();
    let tool = format!("iosonar {}", env!("CARGO_PKG_VERSION"));
    let kernels = facts.iter().map(|(hello, _)| hello.kernel.as_str());
    let mut kernels: Vec<&str> = kernels.collect();
    kernels.dedup();
    let hosts: Vec<&str> = facts.iter().map(|(hello, _)| hello.host.as_str()).collect();
    for (name, value) in [
        ("tool", tool.clone()),
        ("replayed", loads.to_owned()),
        ("target", names.join(", ")),
        ("host", hosts.join(", ")),
        ("kernel", kernels.join(", ")),
    ] {
        metadata.about.insert(name.to_owned(), value);
    }
    metadata.devices = names.to_vec();
    let targets = names.join(", ");
    metadata
        .notices
        .push(format!("# {tool}: {loads} replayed on {targets}"));
    if !spec.options.engine.is_real() {
        let fake = Notice::Fake("no target was accessed").to_string();
        metadata.notices.push(fake);
    }
    for (name, (_, facts)) in names.iter().zip(facts) {
        let fakes = facts.fakes.iter().map(|fake| one_line(fake));
        let fakes = fakes.map(|fake| Notice::Fake(&format!("{name}: {fake}")).to_string());
        metadata.notices.extend(fakes);
    }
    metadata
}

/// How the command ends.
fn ending(outcome: &HostsOutcome) -> Ending {
    let of_hosts = outcome.hosts.iter().filter_map(|host| host.report.as_ref());
    let worst = of_hosts.map(|report| report.ending).max();
    let is_lost = outcome.hosts.iter().any(|host| host.loss.is_some());
    match worst.unwrap_or_default() {
        _ if is_lost || outcome.records_error.is_some() => Ending::Failed,
        HostEnding::Failed => Ending::Failed,
        HostEnding::Interrupted if outcome.is_interrupted => Ending::Interrupted {
            signal: signals::last(),
        },
        // It was interrupted there.
        HostEnding::Interrupted => Ending::Failed,
        HostEnding::Flagged => Ending::Flagged,
        HostEnding::Done => Ending::Done,
    }
}

/// What is written above the records of these hosts.
type Provenance<'a> = dyn Fn(&[(AgentHello, Facts)]) -> anyhow::Result<Metadata> + 'a;

/// A replay on several hosts.
struct Group<'a> {
    args: &'a Replay,
    spec: &'a ReplaySpec,
    provenance: &'a Provenance<'a>,
    title: String,
    requests: u64,
}

impl Group<'_> {
    fn carry_out(&self, members: Vec<Member>) -> anyhow::Result<HostsOutcome> {
        let stop = StopRequest::default();
        let watcher = |working: &Working| {
            let mut signals = signals::PassedOn::default();
            while working.goes_on(Duration::from_millis(20)) {
                signals.pass_on(|| stop.ask());
            }
        };
        beside(watcher, || self.replay(members, &stop))
    }

    fn replay(&self, members: Vec<Member>, stop: &StopRequest) -> anyhow::Result<HostsOutcome> {
        let hosts = &self.args.hosts.connection;
        let patience = Patience {
            connect: CONNECT,
            silence: Duration::from_nanos(hosts.host_timeout.get()),
        };
        let named: Vec<(String, u64)> = members
            .iter()
            .map(|member| (member.name.clone(), member.load.scan.requests))
            .collect();
        let shell = Shell::new(&hosts.ssh);
        let connected = connect(members, &shell, &hosts.host_program, patience, stop)?;
        let prepared = connected.prepare(stop)?;
        let facts = prepared.facts().to_vec();
        for ((name, requests), (_, facts)) in named.iter().zip(&facts) {
            self.announce(name, *requests, facts);
        }
        let metadata = (self.provenance)(&facts)?;
        let file = self.args.out.as_deref();
        let writer = file.map(|path| self.writer(path, &metadata)).transpose()?;
        let replay = |records| self.started(prepared, records, stop);
        let file = file.filter(|path| *path != Path::new("-"));
        let live = &self.args.live;
        match file {
            Some(path) => {
                live::during(live, &self.title, live::of_records(path), || replay(writer))?
            }
            None if live.serve.is_some() => {
                let (tee, passing) = Tee::new(&self.title);
                let records = Some(tee.before(writer, &metadata));
                let feed = || Feed::of_passing(passing);
                live::during(live, &self.title, feed, || replay(records))?
            }
            None => replay(writer),
        }
    }

    fn announce(&self, name: &str, requests: u64, facts: &Facts) {
        for remark in &facts.remarks {
            let text = format!("{name}: {}", one_line(&remark.text));
            note(&messages::headed(&remark.code, &text));
        }
        for fake in &facts.fakes {
            warn(Warning::Fake, &format!("FAKE: {name}: {}", one_line(fake)));
        }
        if self.args.output.quiet {
            return;
        }
        let writes = match self.spec.options.writes {
            Writes::Do if !self.spec.options.engine.is_real() => "nothing is read or written",
            Writes::Do => "its writes OVERWRITE data there",
            Writes::Skip => "writes are left out",
            Writes::Refuse => "read-only",
        };
        note(&format!(
            "replaying {} of {} on {name} ({}, blocks of {}); {writes}",
            counted(requests, ["request", "requests"]),
            self.title,
            Bytes::new(facts.size),
            Bytes::new(facts.block)
        ));
    }

    fn writer(&self, path: &Path, metadata: &Metadata) -> anyhow::Result<Box<dyn TraceWriter>> {
        let options = WriteOptions {
            durable: self.spec.is_durable(),
            outlives_reader: true,
            ..WriteOptions::default()
        };
        let mut writer = output::create_with(path, metadata, &options)?;
        // From now on a kill leaves a file that can be read.
        writer.flush()?;
        Ok(writer)
    }

    fn started(
        &self,
        prepared: iosonar_hosts::Prepared,
        records: Option<Box<dyn TraceWriter>>,
        stop: &StopRequest,
    ) -> anyhow::Result<HostsOutcome> {
        let bar = match is_hidden(self.args.output.quiet) {
            true => ProgressBar::hidden(),
            false => ProgressBar::new(self.requests),
        };
        bar.set_style(style("{bar:20} {percent} %, {msg}, {eta} left")?);
        let mut see = |seen: Seen<'_>| match seen {
            Seen::Running { hosts, records } => {
                bar.set_position(records);
                bar.set_message(render::progress(hosts));
            }
            Seen::Lost { name, loss } => bar.suspend(|| lost(name, loss)),
        };
        let outcome = prepared.replay(Start {
            grace: self.spec.options.start_grace,
            zero: self.spec.records.out_from,
            records,
            stop,
            see: &mut see,
        })?;
        bar.finish_and_clear();
        Ok(outcome)
    }
}

/// Says that a host is lost, when it happens.
fn lost(name: &str, loss: &Loss) {
    let loss = one_line(&loss.to_string());
    warn(
        Warning::HostLost,
        &format!("host {name} was lost: {loss}; the other hosts continue"),
    );
}
