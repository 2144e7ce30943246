//! Devices that fail or slow down in the middle of a run.
//!
//! ```text
//!  well ──► silent: answers nothing ──► lost: the planner does without it, or what needs it fails
//!           (its jobs stay there)       (its jobs come back as lost)
//! ```
//!
//! A lost read breaks the plan that it belongs to: nothing more of it is issued, and when the rest has come back, the
//! request is planned again. A lost write is in the redundancy of the others.

use iosonar_device::{Access, Device};
use iosonar_sim_core::EventPriority;
use iosonar_units::Nanos;

use super::rebuilding::Rebuilding;
use super::{Event, EventSimulation, Phase};
use crate::array::in_flight::{InFlight, Owner, Whereabouts};
use crate::array::{CompletionSink, DeviceEvent, DeviceEventKind, RebuildProgress};
use crate::{Planner, StageKind};

/// How long a device that is lost takes to say so: a request that fails takes time, or a closed loop would stand still.
const REFUSAL: Nanos = Nanos::from_micros(10);

/// What is over makes room for what happens in the same nanosecond.
const ENDS_FIRST: EventPriority = EventPriority(64);

/// How a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Well,
    /// It answers nothing, and the array has not noticed.
    Silent,
    /// The array does without it, if it `tolerates` that.
    Lost {
        tolerates: bool,
    },
}

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    /// Whether anything is to happen to devices: only then it is known where sub-requests are.
    #[inline]
    pub(super) fn tracks(&self) -> bool {
        !self.array.device_events.is_empty()
    }

    #[inline]
    pub(super) fn is_out(&self, disk: usize) -> bool {
        self.tracks() && self.conditions[disk] != Condition::Well
    }

    pub(super) fn plan_device_events(&mut self) {
        if self.tracks() {
            self.conditions = vec![Condition::Well; self.array.devices.len()];
            self.measurement.frozen = vec![None; self.array.devices.len()];
        }
        self.measurement.summary.device_events.planned = self.array.device_events.len() as u64;
        for (number, event) in self.array.device_events.iter().enumerate() {
            let number = number as u32;
            self.agenda.schedule(event.at, Event::Happens { number });
        }
    }

    pub(super) fn happen(&mut self, number: u32, now: Nanos) {
        // The cache is still written then, but the run is over.
        if self.phase == Phase::Complete {
            return;
        }
        let DeviceEvent { device, kind, .. } = self.array.device_events[number as usize];
        let is_before = !self.measurement.window.is_open() && !self.measurement.window.is_over();
        let counts = &mut self.measurement.summary.device_events;
        counts.happened += 1;
        counts.before_window += u64::from(is_before);
        let lasts = match kind {
            DeviceEventKind::Failure { noticed } => {
                self.measurement
                    .freeze(device, &mut self.array.devices[device], now);
                self.conditions[device] = Condition::Silent;
                noticed
            }
            DeviceEventKind::Slowness { factor, lasts } => {
                self.slow_down(device, factor);
                lasts
            }
        };
        let end = now.saturating_add(lasts);
        self.agenda
            .schedule_with(end, ENDS_FIRST, Event::IsOver { number });
    }

    /// A failure is noticed, or a device is as fast again as it was.
    pub(super) fn is_over(&mut self, number: u32, now: Nanos) {
        let DeviceEvent { device, kind, .. } = self.array.device_events[number as usize];
        match kind {
            DeviceEventKind::Failure { .. } => self.notice(device, now),
            DeviceEventKind::Slowness { .. } => self.slow_down(device, 1.0),
        }
    }

    fn slow_down(&mut self, device: usize, factor: f64) {
        let can = self.array.devices[device].slow_down(factor);
        assert!(can, "only devices that can be slowed down are");
    }

    fn notice(&mut self, disk: usize, now: Nanos) {
        let tolerates = self.array.planner.fail(disk);
        self.conditions[disk] = Condition::Lost { tolerates };
        for (slot, state) in self.in_flight.entries() {
            for (sub, place) in state.parts.iter().enumerate() {
                if *place == Whereabouts::AtDevice && state.plan.sub_requests()[sub].disk == disk {
                    let sub = sub as u32;
                    self.agenda.schedule(now, Event::Lost { slot, sub });
                }
            }
        }
        if tolerates && self.phase != Phase::Complete {
            self.rebuild_again(now);
        }
    }

    /// What is lost is rebuilt from the first stripe on.
    fn rebuild_again(&mut self, now: Nanos) {
        if self.array.rebuild.is_none() {
            return;
        }
        self.measurement.summary.rebuild = Some(RebuildProgress {
            of: self.array.planner.stripes_to_rebuild(),
            began: now,
            ..RebuildProgress::default()
        });
        match self.rebuilding {
            Rebuilding::Rests => self.plan_rebuild_step(now),
            Rebuilding::Waits => {}
            // What it writes was planned before.
            Rebuilding::Works { slot } => self.in_flight[slot].broken = true,
        }
    }

    /// A sub-request is on its way to a device. Returns whether it is still wanted.
    #[inline]
    pub(super) fn sets_out(&mut self, slot: u32, sub: u32) -> bool {
        let state = &mut self.in_flight[slot];
        if state.broken {
            return false;
        }
        state.pending += 1;
        state.parts[sub as usize] = Whereabouts::OnTheWay;
        true
    }

    /// A sub-request comes to a device. Returns whether that is there.
    #[inline]
    pub(super) fn reaches(&mut self, slot: u32, sub: u32, now: Nanos) -> bool {
        let state = &mut self.in_flight[slot];
        let disk = state.plan.sub_requests()[sub as usize].disk;
        if let Condition::Lost { .. } = self.conditions[disk] {
            self.agenda
                .schedule(now.saturating_add(REFUSAL), Event::Lost { slot, sub });
            return false;
        }
        state.parts[sub as usize] = Whereabouts::AtDevice;
        true
    }

    /// A sub-request is lost with its device.
    pub(super) fn lose(&mut self, slot: u32, sub: u32, now: Nanos) -> Result<(), S::Error> {
        let state = &mut self.in_flight[slot];
        let disk = state.plan.sub_requests()[sub as usize].disk;
        let part = state.part(sub as usize);
        let kind = state.plan.stages()[part.stage].kind;
        state.is_lost |= self.conditions[disk] == Condition::Lost { tolerates: false };
        state.failed |= state.is_lost;
        state.broken |= part.preread || kind == StageKind::Direct(Access::Read);
        self.part_is_done(slot, sub, now, None)
    }

    /// Something that a plan waited for has come. Returns whether the plan is broken, so that this is all.
    #[inline]
    pub(super) fn comes_back(&mut self, slot: u32, now: Nanos) -> Result<bool, S::Error> {
        let state = &mut self.in_flight[slot];
        state.pending -= 1;
        if !state.broken {
            return Ok(false);
        }
        if state.pending == 0 {
            self.plan_again(slot, now)?;
        }
        Ok(true)
    }

    fn plan_again(&mut self, slot: u32, now: Nanos) -> Result<(), S::Error> {
        let InFlight { owner, failed, .. } = self.in_flight[slot];
        match owner {
            Owner::Rebuild { .. } => {
                self.in_flight.release(slot);
                self.rebuilding = Rebuilding::Rests;
                if !failed {
                    self.plan_rebuild_step(now);
                }
                Ok(())
            }
            Owner::Request(_) | Owner::CachedWrite(_) if failed => self.complete(slot, now),
            Owner::Request(_) | Owner::CachedWrite(_) => {
                self.measurement.summary.device_events.reissued += 1;
                self.issue_to_disks(slot, now)
            }
        }
    }
}
