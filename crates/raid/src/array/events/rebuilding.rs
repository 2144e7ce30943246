//! The rebuild of lost disks, stripe by stripe.

use iosonar_device::Device;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::{Event, EventSimulation, Phase};
use crate::Planner;
use crate::array::in_flight::Owner;
use crate::array::{CompletionSink, RebuildProgress};

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    pub(super) fn begin_rebuild(&mut self) {
        let Some(rebuild) = &mut self.array.rebuild else {
            return;
        };
        let all = self.array.planner.stripes_to_rebuild();
        rebuild.most = rebuild.most.min(all);
        self.measurement.summary.rebuild = Some(RebuildProgress {
            of: all,
            ..RebuildProgress::default()
        });
        self.calendar.schedule(Nanos::ZERO, Event::Rebuild);
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
        let plan = &mut self.in_flight[slot].plan;
        plan.clear();
        self.array.planner.plan_rebuild(stripe, plan);
        self.prepare(slot);
        self.issue_stages(slot, now);
    }

    pub(super) fn end_rebuild_step(&mut self, stripe: u64, began: Nanos, now: Nanos) {
        let stripes = stripe + 1;
        self.array.planner.rebuilt(stripes);
        // A step that is in progress when the load is complete does not count.
        if self.phase == Phase::Complete {
            return;
        }
        let progress = &mut self.measurement.summary.rebuild;
        if let (Some(progress), Some(rebuild)) = (progress, &self.array.rebuild) {
            progress.stripes = stripes;
            progress.elapsed = now;
            if stripes < rebuild.most {
                let next = now.max(began.saturating_add(rebuild.distance));
                self.calendar.schedule(next, Event::Rebuild);
            }
        }
    }
}
