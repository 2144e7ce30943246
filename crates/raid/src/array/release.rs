//! Services and completions of one instant, in the order of their arrival.

use iosonar_device::Service;
use iosonar_trace::Request;
use iosonar_units::Nanos;

use super::{Completion, CompletionSink, Served};

/// Holds back the services and completions of an instant until it is over, so that their order does not
/// depend on that of the events within it.
#[derive(Debug, Default)]
pub(super) struct Release {
    at: Nanos,
    held: Vec<Completion>,
    services: Vec<HeldService>,
    /// The stage times of all held services, one service after the other.
    stages: Vec<Nanos>,
}

/// A service that waits for the end of its instant.
#[derive(Clone, Debug)]
pub(super) struct HeldService {
    pub(super) request: Request,
    pub(super) service: Service,
    pub(super) device: usize,
    /// Its first stage time among those of all held services, and how many there are.
    pub(super) stages: (usize, usize),
}

impl Release {
    /// Takes a service that ends at `now`.
    pub(super) fn push_service<S: CompletionSink>(
        &mut self,
        served: &Served<'_>,
        now: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.advance(now, sink)?;
        self.services.push(HeldService {
            request: *served.request,
            service: *served.service,
            device: served.device,
            stages: (self.stages.len(), served.stages.len()),
        });
        self.stages.extend_from_slice(served.stages);
        Ok(())
    }

    #[inline]
    pub(super) fn push<S: CompletionSink>(
        &mut self,
        completion: Completion,
        now: Nanos,
        sink: &mut S,
    ) -> Result<(), S::Error> {
        self.advance(now, sink)?;
        self.held.push(completion);
        Ok(())
    }

    /// Releases what is held if its instant is over.
    #[inline]
    fn advance<S: CompletionSink>(&mut self, now: Nanos, sink: &mut S) -> Result<(), S::Error> {
        if self.at != now {
            self.flush(sink)?;
            self.at = now;
        }
        Ok(())
    }

    #[inline]
    pub(super) fn flush<S: CompletionSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        if !self.services.is_empty() {
            self.flush_services(sink)?;
        }
        if self.held.len() > 1 {
            self.held.sort_unstable_by_key(|completion| completion.id.0);
        }
        self.held.drain(..).try_for_each(|c| sink.completed(&c))
    }

    fn flush_services<S: CompletionSink>(&mut self, sink: &mut S) -> Result<(), S::Error> {
        // A device ends two jobs of a request at once only if one of them took no time.
        self.services.sort_by_key(|held| {
            (
                held.service.job.request.0,
                held.device,
                held.service.started,
            )
        });
        for held in &self.services {
            let (first, count) = held.stages;
            sink.served(&Served {
                request: &held.request,
                service: &held.service,
                device: held.device,
                stages: &self.stages[first..first + count],
            })?;
        }
        self.services.clear();
        self.stages.clear();
        Ok(())
    }
}
