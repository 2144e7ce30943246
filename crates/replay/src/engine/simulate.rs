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

#[cfg(test)]
mod tests {
    use iosonar_linux::memory::Buffer;

    use super::*;

    fn access(kind: AccessKind, target: u32, offset: u64, length: u64) -> IoAccess {
        IoAccess {
            kind,
            target,
            offset,
            buffer: Buffer::new(8192).unwrap(),
            region: 0,
            length,
        }
    }

    #[test]
    fn a_constant_latency_passes_before_each_completion_in_order() {
        let us = Nanos::from_micros;
        let mut device = ConstantLatency::new(us(100));
        assert_eq!(device.next_completion(), None);
        assert_eq!(device.complete(Nanos::SECOND), None);
        for (id, at) in [(7, 10), (3, 10), (5, 60)] {
            let (sector, sectors) = (Sector::new(0), Sectors::new(8));
            device.submit(id, AccessKind::Read, sector, sectors, us(at));
        }
        assert_eq!(device.next_completion(), Some(us(110)));
        assert_eq!(device.complete(us(110) - Nanos::new(1)), None);
        assert_eq!(device.complete(us(110)), Some((7, us(110))));
        assert_eq!(device.complete(us(115)), Some((3, us(110))));
        assert_eq!(device.complete(us(115)), None);
        assert_eq!(device.next_completion(), Some(us(160)));
        assert_eq!(device.complete(Nanos::SECOND), Some((5, us(160))));
        assert_eq!(device.next_completion(), None);
    }

    #[test]
    fn all_data_of_a_device_that_only_computes_times_are_moved() {
        let mut device = ConstantLatency::new(Nanos::ZERO);
        let durable = false;
        for (kind, moved) in [
            (AccessKind::Read, 24),
            (AccessKind::Write { durable }, 24),
            (AccessKind::Flush, 0),
        ] {
            let data = &mut [0; 24];
            assert_eq!(
                device.data(1, kind, Sector::new(0), data),
                moved,
                "{kind:?}"
            );
        }
    }

    /// What a device was asked: it completes everything at once, the last first, and moves no more than 100 bytes.
    #[derive(Default)]
    struct Recorder {
        submitted: Vec<(u32, AccessKind, u64, u32)>,
        asked: Vec<(u32, u64, usize)>,
        in_service: Vec<(u32, Nanos)>,
    }

    impl SimulatedDevice for std::sync::Arc<std::sync::Mutex<Recorder>> {
        fn submit(&mut self, id: u32, kind: AccessKind, sector: Sector, n: Sectors, now: Nanos) {
            let mut of = self.lock().unwrap();
            of.submitted.push((id, kind, sector.get(), n.get()));
            of.in_service.push((id, now));
        }

        fn next_completion(&self) -> Option<Nanos> {
            self.lock().unwrap().in_service.last().map(|(_, at)| *at)
        }

        fn complete(&mut self, _: Nanos) -> Option<(u32, Nanos)> {
            self.lock().unwrap().in_service.pop()
        }

        fn data(&mut self, id: u32, kind: AccessKind, sector: Sector, data: &mut [u8]) -> i32 {
            self.lock()
                .unwrap()
                .asked
                .push((id, sector.get(), data.len()));
            match kind {
                AccessKind::Read => {
                    data.fill(id as u8);
                    data.len().min(100) as i32
                }
                _ => -5,
            }
        }
    }

    #[test]
    fn each_access_goes_to_its_device_once_it_is_submitted() {
        let devices = [0, 1].map(|_| std::sync::Arc::<std::sync::Mutex<Recorder>>::default());
        let boxed = devices.each_ref().map(|device| {
            let device: Box<dyn SimulatedDevice> = Box::new(std::sync::Arc::clone(device));
            device
        });
        let mut engine = Simulated::new(boxed.into());
        assert_eq!(engine.name(), "simulate");
        let write = AccessKind::Write { durable: true };
        let accesses = [
            (1, access(AccessKind::Read, 0, 512 * 7, 1024)),
            (2, access(write, 1, 512 * 9, 512)),
            (3, access(AccessKind::Flush, 0, 0, 0)),
            (4, access(AccessKind::Discard, 0, 512 * 100, 1 << 20)),
        ];
        for (slot, access) in accesses {
            engine.prepare(slot, access).unwrap();
        }
        let mut done = Vec::new();
        engine.reap(&mut done);
        assert!(done.is_empty(), "nothing begins before it is submitted");
        engine.submit().unwrap();
        engine.submit().unwrap();
        engine.reap(&mut done);
        let results: Vec<_> = done.iter().map(|done| (done.slot, done.result)).collect();
        assert_eq!(results, [(4, -5), (3, -5), (1, 100), (2, -5)]);
        assert!(done[2].buffer[..1024].iter().all(|byte| *byte == 1));
        let [first, second] = devices.map(|device| std::mem::take(&mut *device.lock().unwrap()));
        assert_eq!(
            first.submitted,
            [
                (1, AccessKind::Read, 7, 2),
                (3, AccessKind::Flush, 0, 0),
                (4, AccessKind::Discard, 100, 2048)
            ]
        );
        assert_eq!(second.submitted, [(2, write, 9, 1)]);
        // Discards and flushes move no data.
        assert_eq!(first.asked, [(4, 100, 0), (3, 0, 0), (1, 7, 1024)]);
        assert_eq!(second.asked, [(2, 9, 512)]);
        done.clear();
        engine.reap(&mut done);
        assert!(done.is_empty(), "each is done once");
    }

    #[test]
    fn the_engine_waits_for_the_first_completion_of_all_devices_or_its_time_limit() {
        let ms = Nanos::from_millis;
        let device =
            |latency| -> Box<dyn SimulatedDevice> { Box::new(ConstantLatency::new(latency)) };
        let mut engine = Simulated::new(vec![device(Nanos::from_secs(1000)), device(ms(5))]);
        let waited = |engine: &mut Simulated, most: Nanos| {
            let began = pacing::monotonic();
            engine.wait(most).unwrap();
            pacing::monotonic().saturating_sub(began)
        };
        assert_eq!(engine.next(), None);
        assert!(waited(&mut engine, ms(3)) >= ms(3));
        for (slot, target) in [(1, 0), (2, 1)] {
            let read = access(AccessKind::Read, target, 0, 512);
            engine.prepare(slot, read).unwrap();
        }
        engine.submit().unwrap();
        let next = engine.next().unwrap();
        // It would take a thousand seconds for the other one.
        engine.wait(Nanos::from_secs(500)).unwrap();
        assert!(pacing::monotonic() >= next);
        let mut done = Vec::new();
        engine.reap(&mut done);
        assert_eq!(done.iter().map(|done| done.slot).collect::<Vec<_>>(), [2]);
        assert_eq!(done[0].at, next);
    }
}
