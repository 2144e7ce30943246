//! `iosonar agent`: replays what a coordinator sends (`iosonar replay --hosts`).

use std::time::Duration;

use iosonar_guard::Host;
use iosonar_hosts::{
    AgentHello, CodedWarning, Ending as HostEnding, Facts, Refusal, Report, Worker, run_agent,
};
use iosonar_replay::{
    Control, Load, ReplaySpec, StopRequest, Summary, Target, advice, replay as replay_on,
};
use iosonar_study::replay::{Dealt, Preparer, Preparing, ReplayPlan};
use iosonar_trace::TraceWriter;
use iosonar_units::{Nanos, with_causes};

use super::replay::{ending, queue_settings};
use crate::beside::{Working, beside};
use crate::exit::{Ending, Usage, is_usage};
use crate::render::messages::{Warning, codes};
use crate::render::replay as render;
use crate::render::replay::notes;
use crate::signals;
use crate::stdout;

/// How long a replay may take to end after the connection has.
const LINGER: Duration = Duration::from_secs(5);

pub(crate) fn run() -> anyhow::Result<Ending> {
    signals::watch()?;
    let mut here = Here {
        host: Host::default(),
        prepared: None,
    };
    let over = || {
        std::thread::sleep(LINGER);
        // A request hangs at its device: the kernel closes the target as soon as it can.
        std::process::exit(1);
    };
    let hello = AgentHello::of_this_machine();
    run_agent(std::io::stdin(), stdout::itself()?, hello, &mut here, over)?;
    Ok(Ending::Done)
}

/// Replays on this machine.
struct Here {
    host: Host,
    prepared: Option<(ReplaySpec, ReplayPlan)>,
}

/// Ends the preparation with the connection, or at a signal.
struct Stoppable<'a>(&'a StopRequest);

impl Preparer for Stoppable<'_> {
    fn see(&self, _: Preparing<'_>) {}

    fn is_stopped(&self) -> bool {
        self.0.is_asked() || signals::count() > 0
    }
}

fn refusal(error: &anyhow::Error) -> Refusal {
    Refusal {
        problem: with_causes(error.as_ref()),
        is_refusal: is_usage(error),
    }
}

impl Here {
    fn open(
        &mut self,
        spec: ReplaySpec,
        load: Load,
        host: &str,
        stop: &StopRequest,
    ) -> anyhow::Result<Facts> {
        let [target] = &spec.target[..] else {
            return Err(Usage("expected exactly one target for this host".to_owned()).into());
        };
        let dealt = Dealt {
            load,
            target: Some(target.clone()),
            host_name: Some(host.to_owned()),
        };
        let plan = ReplayPlan::with(&spec, vec![dealt], None, &self.host, &Stoppable(stop))?;
        let facts = match (&plan.loads[..], &plan.targets[..]) {
            ([load], [target]) => self.facts(load, target, &plan),
            _ => unreachable!("a plan has one load and one target, as dealt"),
        };
        self.prepared = Some((spec, plan));
        Ok(facts)
    }

    fn facts(&self, load: &Load, target: &Target, plan: &ReplayPlan) -> Facts {
        let remark = |of: Warning, text: String| CodedWarning {
            code: of.code().to_owned(),
            text,
        };
        let of_target = target.notes().iter();
        let of_target = of_target.map(|of| remark(codes::of_target(of), notes::of_target(of)));
        let is_real = plan.options.engine.is_real();
        let advice = is_real.then(|| advice(&load.scan, target, &plan.options, &self.host));
        let advice = advice.iter().flatten();
        let advice = advice.map(|of| remark(Warning::TargetAdvice, notes::of_advice(of)));
        Facts {
            size: target.size().get(),
            block: target.block().get(),
            fakes: target.fakes().iter().map(ToString::to_string).collect(),
            remarks: of_target.chain(advice).collect(),
        }
    }

    fn carry_out(
        &mut self,
        begin_at: Nanos,
        records: Box<dyn TraceWriter>,
        control: Control<'_>,
    ) -> anyhow::Result<Report> {
        let Some((spec, mut plan)) = self.prepared.take() else {
            return Err(Usage("the replay was started before it was prepared".to_owned()).into());
        };
        plan.options.begin_at = Some(begin_at);
        // Put back however the replay ends.
        let queues = queue_settings(&plan, &spec, &self.host, false)?;
        let devices = plan.devices()?;
        let watcher = |working: &Working| {
            let mut signals = signals::PassedOn::default();
            while working.goes_on(Duration::from_millis(20)) {
                signals.pass_on(|| control.stop.ask());
            }
        };
        let mut summary = beside(watcher, || {
            let (loads, targets) = (&plan.loads, &plan.targets);
            replay_on(
                loads,
                targets,
                devices,
                &plan.options,
                Some(records),
                control,
            )
        })?;
        queues.note(&mut summary);
        Ok(report(&summary))
    }
}

fn report(summary: &Summary) -> Report {
    let remark = |of| CodedWarning {
        code: codes::of_note(of).code().to_owned(),
        text: notes::of_replay(of),
    };
    Report {
        ending: match ending(summary) {
            Ending::Done => HostEnding::Done,
            Ending::Flagged => HostEnding::Flagged,
            Ending::Interrupted { .. } => HostEnding::Interrupted,
            Ending::Failed => HostEnding::Failed,
        },
        began_at: summary.began_at.map(Nanos::get),
        records: 0,
        verdict: render::summary_verdict(summary),
        remarks: summary.notes.iter().map(remark).collect(),
        json: render::json(summary).into_value(),
    }
}

impl Worker for Here {
    fn prepare(
        &mut self,
        spec: ReplaySpec,
        load: Load,
        host: &str,
        stop: &StopRequest,
    ) -> Result<Facts, Refusal> {
        self.open(spec, load, host, stop).map_err(|e| refusal(&e))
    }

    fn replay(
        &mut self,
        begin_at: Nanos,
        records: Box<dyn TraceWriter>,
        control: Control<'_>,
    ) -> Result<Report, Refusal> {
        let replayed = self.carry_out(begin_at, records, control);
        replayed.map_err(|e| refusal(&e))
    }
}
