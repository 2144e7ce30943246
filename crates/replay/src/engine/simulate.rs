//! A model of a device completes requests, in real time.

use std::collections::{HashMap, VecDeque};
use std::io;

use iosonar_units::{Nanos, Sector, Sectors};

use super::access::{AccessKind, Done, Engine, IoAccess};
use crate::os::thread;
use crate::pacing;

/// A device that is computed: a model of its times, and, if it likes, of its contents and faults.
///
/// Times are those of the monotonic clock. The calls come in the order of their times.
pub trait SimulatedDevice: Send {
    /// Takes a request of `sectors` at `sector` that is submitted `now`. `id` names it until it is
    /// complete.
    fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, sectors: Sectors, now: Nanos);

    /// When the next request will be complete, as far as is known now; `None` if none is in service.
    fn next_completion(&self) -> Option<Nanos>;

    /// Ends the request that is complete next, at or before `now`; `None` without
    /// one.
    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)>;

    /// Transfers the data of a request that completes: reads fill `data`, writes take it. The
    /// bytes moved, or a negative `errno`.
    fn data(&mut self, id: u32, kind: AccessKind, sector: Sector, data: &mut [u8]) -> i32 {
        let _ = (id, sector);
        match kind {
            AccessKind::Flush => 0,
            _ => data.len() as i32,
        }
    }
}

/// A device that takes the same time for everything, however much it is asked at once.
#[derive(Clone, Debug)]
pub struct ConstantLatency {
    latency: Nanos,
    in_service: VecDeque<(u32, Nanos)>,
}

impl ConstantLatency {
    /// A device that takes `latency`.
    pub fn new(latency: Nanos) -> Self {
        Self {
            latency,
            in_service: VecDeque::new(),
        }
    }
}

impl SimulatedDevice for ConstantLatency {
    fn submit(&mut self, id: u32, _: AccessKind, _: Sector, _: Sectors, now: Nanos) {
        self.in_service.push_back((id, now + self.latency));
    }

    fn next_completion(&self) -> Option<Nanos> {
        self.in_service.front().map(|(_, at)| *at)
    }

    fn complete(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        let is_due = self.in_service.front().is_some_and(|(_, at)| *at <= now);
        is_due.then(|| self.in_service.pop_front()).flatten()
    }
}

/// The engine around simulated devices, one for each target.
pub(crate) struct Simulated {
    devices: Vec<Box<dyn SimulatedDevice>>,
    accesses: HashMap<u32, IoAccess>,
    prepared: Vec<u32>,
}

impl Simulated {
    pub(crate) fn new(devices: Vec<Box<dyn SimulatedDevice>>) -> Self {
        Self {
            devices,
            accesses: HashMap::new(),
            prepared: Vec::new(),
        }
    }

    fn next(&self) -> Option<Nanos> {
        self.devices
            .iter()
            .filter_map(|d| d.next_completion())
            .min()
    }
}

fn place(access: &IoAccess) -> (Sector, Sectors) {
    (
        Sector::new(access.offset / 512),
        Sectors::new((access.length / 512) as u32),
    )
}

impl Engine for Simulated {
    fn name(&self) -> &'static str {
        "simulate"
    }

    fn prepare(&mut self, slot: u32, access: IoAccess) -> io::Result<()> {
        self.accesses.insert(slot, access);
        self.prepared.push(slot);
        Ok(())
    }

    fn submit(&mut self) -> io::Result<()> {
        let now = pacing::monotonic();
        for slot in self.prepared.drain(..) {
            let Some(access) = self.accesses.get(&slot) else {
                continue;
            };
            let (sector, sectors) = place(access);
            let device = &mut self.devices[access.target as usize];
            device.submit(slot, access.kind, sector, sectors, now);
        }
        Ok(())
    }

    fn reap(&mut self, done: &mut Vec<Done>) {
        let now = pacing::monotonic();
        for device in &mut self.devices {
            while let Some((slot, at)) = device.complete(now) {
                let Some(mut access) = self.accesses.remove(&slot) else {
                    continue;
                };
                let bytes = match access.kind {
                    AccessKind::Read | AccessKind::Write { .. } => access.length as usize,
                    // There is no memory behind them.
                    _ => 0,
                };
                let sector = place(&access).0;
                let data = &mut access.buffer[..bytes];
                let result = device.data(slot, access.kind, sector, data);
                done.push(Done::of(slot, result, at, access.buffer));
            }
        }
    }

    fn wait(&mut self, timeout: Nanos) -> io::Result<()> {
        let now = pacing::monotonic();
        let end = now + timeout;
        let until = self.next().map_or(end, |next| next.min(end));
        thread::sleep(until.saturating_sub(now).into());
        Ok(())
    }
}
