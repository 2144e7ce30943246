//! The load: arrivals that follow on each other, or, in a closed loop, on completions.

use iosonar_device::Device;
use iosonar_sim_core::Slab;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::EventSimulation;
use crate::Planner;
use crate::array::{Completion, CompletionSink, RequestSource};

/// The load, as far as it is known.
pub(super) struct Load {
    /// Requests that are still to arrive: the next one, or those of a closed loop whose users think.
    coming: Slab<Request>,
    /// `None` where requests come whatever is completed.
    closed: Option<ClosedLoop>,
}

struct ClosedLoop {
    state: LoopState,
    /// Completions that others may follow on.
    completions: Vec<Completion>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LoopState {
    /// There were only the first requests so far.
    First,
    /// Others followed on completions.
    Turning,
    /// None followed on a completion: users leave.
    Draining,
}

impl Load {
    pub(super) fn new(is_closed: bool) -> Self {
        Self {
            coming: Slab::default(),
            closed: is_closed.then(|| ClosedLoop {
                state: LoopState::First,
                completions: Vec::new(),
            }),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    /// Takes a request whose time has come.
    #[inline]
    pub(super) fn take(&mut self, coming: u32) -> Request {
        self.coming.release(coming);
        self.coming[coming]
    }

    #[inline]
    pub(super) fn has_more(&self, source: &impl RequestSource) -> bool {
        !self.coming.is_empty() || source.waits_for_completions()
    }

    #[inline]
    pub(super) fn completed(&mut self, completion: &Completion) {
        if let Some(closed) = &mut self.closed {
            closed.completions.push(*completion);
        }
    }
}

impl<P: Planner, D: Device, S: CompletionSink> EventSimulation<'_, P, D, S> {
    pub(super) fn begin_load(
        &mut self,
        source: &mut impl RequestSource<Error = S::Error>,
    ) -> Result<(), S::Error> {
        if !self.load.is_closed() {
            return self.plan_next(source, Nanos::ZERO);
        }
        while let Some(request) = source.next_request()? {
            self.plan_arrival(request);
        }
        if !source.waits_for_completions() {
            self.users_leave(Nanos::ZERO);
        }
        Ok(())
    }

    pub(super) fn plan_arrival(&mut self, request: Request) {
        let coming = self.load.coming.insert(request);
        self.agenda.arrive(coming, request.start);
    }

    /// The arrival after the one of `now`, unless requests follow on completions.
    pub(super) fn plan_next(
        &mut self,
        source: &mut impl RequestSource<Error = S::Error>,
        now: Nanos,
    ) -> Result<(), S::Error> {
        if !self.load.is_closed() {
            match source.next_request()? {
                Some(request) => self.plan_arrival(request),
                None => self.end_of_load(true, now),
            }
        }
        Ok(())
    }

    /// The requests of a closed loop that follow on those that were completed just now.
    pub(super) fn follow_on(
        &mut self,
        source: &mut impl RequestSource<Error = S::Error>,
        now: Nanos,
    ) -> Result<(), S::Error> {
        let mut loses_users = false;
        while let Some(closed) = &mut self.load.closed
            && let Some(completion) = closed.completions.pop()
        {
            if let Some(request) = source.after(&completion, now)? {
                if closed.state == LoopState::First {
                    closed.state = LoopState::Turning;
                }
                self.plan_arrival(request);
            } else {
                loses_users = true;
            }
        }
        if loses_users {
            self.users_leave(now);
        }
        Ok(())
    }

    /// From now on a closed loop has fewer users than it should have: its load ends.
    fn users_leave(&mut self, now: Nanos) {
        if let Some(closed) = &mut self.load.closed {
            let before = std::mem::replace(&mut closed.state, LoopState::Draining);
            if before != LoopState::Draining {
                self.end_of_load(before == LoopState::Turning, now);
            }
        }
    }

    fn end_of_load(&mut self, lasted: bool, now: Nanos) {
        let devices = &mut self.array.devices;
        self.measurement.end_of_load(devices, lasted, now);
    }
}
