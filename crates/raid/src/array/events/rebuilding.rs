//! The rebuild of lost disks, stripe by stripe.

use iosonar_device::Device;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::{Event, REBUILD_IDS, Run};
use crate::Planner;
use crate::array::RebuildProgress;
use crate::array::in_flight::InFlight;

impl<P: Planner, D: Device> Run<P, D> {
    pub(super) fn begin_rebuild(&mut self) {
        let Some(rebuild) = &mut self.array.rebuild else {
            return;
        };
        let all = self.array.planner.stripes_to_rebuild();
        rebuild.most = rebuild.most.min(all);
        self.summary.rebuild = Some(RebuildProgress {
            of: all,
            ..RebuildProgress::default()
        });
        self.calendar.schedule(Nanos::ZERO, Event::Rebuild);
    }

    pub(super) fn rebuild_next(&mut self, now: Nanos) {
        self.rebuild_began = now;
        let slot = self.in_flight.claim(InFlight::default);
        let state = &mut self.in_flight[slot];
        state.id = REBUILD_IDS - self.rebuild_stripe;
        (state.request, state.told) = (Request::default(), false);
        state.plan.clear();
        self.array
            .planner
            .plan_rebuild(self.rebuild_stripe, &mut state.plan);
        self.prepare(slot);
        self.issue_stages(slot, now);
    }

    pub(super) fn end_rebuild_step(&mut self, now: Nanos) {
        self.rebuild_stripe += 1;
        self.array.planner.rebuilt(self.rebuild_stripe);
        // A step that is in progress when the load is complete does not count.
        if self.load_is_complete {
            return;
        }
        if let (Some(progress), Some(rebuild)) = (&mut self.summary.rebuild, &self.array.rebuild) {
            progress.stripes = self.rebuild_stripe;
            progress.elapsed = now;
            if progress.stripes < rebuild.most {
                let next = now.max(self.rebuild_began.saturating_add(rebuild.distance));
                self.calendar.schedule(next, Event::Rebuild);
            }
        }
    }
}
