//! The rebuild of lost disks, stripe by stripe.

use iosonar_device::Device;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::{Event, EventSimulation, Phase};
use crate::Planner;
use crate::array::in_flight::Owner;
use crate::array::{CompletionSink, RebuildProgress};

/// What the rebuild does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rebuilding {
    /// Nothing: it is over, or not wanted.
    Rests,
    /// For the time of its next step.
    Waits,
    /// On a step.
    Works { slot: u32 },
}

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    pub(super) fn begin_rebuild(&mut self) {
        if self.array.rebuild.is_none() {
            return;
        }
        let all = self.array.planner.stripes_to_rebuild();
        if all == 0 {
            assert!(
                !self.array.device_events.is_empty(),
                "something is lost, or will be"
            );
            return;
        }
        self.measurement.summary.rebuild = Some(RebuildProgress {
            of: all,
            ..RebuildProgress::default()
        });
        self.plan_rebuild_step(Nanos::ZERO);
    }

    pub(super) fn plan_rebuild_step(&mut self, at: Nanos) {
        self.rebuilding = Rebuilding::Waits;
        self.agenda.schedule(at, Event::Rebuild);
    }

    /// Begins with the next stripe, unless the load is complete: a rebuild ends with it.
    pub(super) fn rebuild_next(&mut self, now: Nanos) {
        let Some(progress) = self.measurement.summary.rebuild else {
            return;
        };
        if self.phase == Phase::Complete {
            return;
        }
        let (stripe, began) = (progress.stripes, now);
        let slot = self.claim(Owner::Rebuild { stripe, began }, Request::default());
        self.rebuilding = Rebuilding::Works { slot };
        let plan = &mut self.in_flight[slot].plan;
        plan.clear();
        self.array.planner.plan_rebuild(stripe, plan);
        self.prepare(slot);
        self.issue_stages(slot, now);
    }

    pub(super) fn end_rebuild_step(&mut self, stripe: u64, began: Nanos, now: Nanos) {
        let stripes = stripe + 1;
        self.rebuilding = Rebuilding::Rests;
        self.array.planner.rebuilt(stripes);
        // A step that is in progress when the load is complete does not count.
        if self.phase == Phase::Complete {
            return;
        }
        let progress = &mut self.measurement.summary.rebuild;
        if let (Some(progress), Some(rebuild)) = (progress, &self.array.rebuild) {
            progress.stripes = stripes;
            progress.elapsed = now - progress.began;
            if stripes < rebuild.most.min(progress.of) {
                let next = now.max(began.saturating_add(rebuild.distance));
                self.plan_rebuild_step(next);
            }
        }
    }
}
