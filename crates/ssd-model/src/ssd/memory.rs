//! Storage of channels that serve units first come, first served: DRAM, or a device whose times were measured.

use iosonar_device::Access;
use iosonar_sim_core::Stream;
use iosonar_units::Nanos;

use super::data::{CommandStorage, Step};
use super::{Host, Ssd, SsdReport, Storage, Task};
use crate::parameters::{AccessTimes, BIO_SECTORS, MemoryParameters};
use crate::servers::Servers;
use crate::stages::Stage;

/// Channels, on which units of the largest size lie in turn.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    times: AccessTimes,
    channels: Vec<Servers<u32>>,
    span: u64,
    services: Stream,
}

impl Memory {
    pub(super) fn new(p: &MemoryParameters, services: Stream) -> Self {
        let (channels, span) = match p.times {
            AccessTimes::Dram { .. } => (vec![Servers::new(1); p.channels as usize], BIO_SECTORS),
            // Measurements do not show which channel a command used: all share one queue. And whole commands were
            // measured: their number of sectors is not known.
            AccessTimes::Measured { .. } => (vec![Servers::new(p.channels)], 1 << 44),
        };
        Self {
            times: p.times.clone(),
            channels,
            span,
            services,
        }
    }

    fn time(&mut self, access: Access, sectors: u32) -> Nanos {
        let is_read = access == Access::Read;
        match &self.times {
            AccessTimes::Dram { read, .. } if is_read => *read,
            AccessTimes::Dram { write, .. } => *write,
            AccessTimes::Measured { read, write } => {
                let service = if is_read { read } else { write };
                service.draw(&mut self.services, sectors)
            }
        }
    }
}

/// The access of a unit to a channel is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct AccessDone {
    channel: u32,
    unit: u32,
}

impl Storage for Memory {
    type Event = AccessDone;
    type Number = u32;

    fn serve<H: Host<Self>>(ssd: &mut Ssd<H, Self>, command: u32, now: Nanos) {
        ssd.cut_into_units(command, now);
    }

    fn write<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        ssd.ask_memory(unit, now);
    }

    fn handle<H: Host<Self>>(ssd: &mut Ssd<H, Self>, event: AccessDone, now: Nanos) {
        let AccessDone { channel, unit } = event;
        if let Some(next) = ssd.storage.channels[channel as usize].depart(now) {
            ssd.start_access(channel, next, now);
        }
        let state = &mut ssd.units[unit];
        state.stages.pass(Stage::Die, now);
        match state.step {
            Step::Reading => ssd.ask_data_engine(Task::Forward(unit), now),
            _ => ssd.unit_done(unit, now),
        }
    }

    fn measure_from(&mut self, now: Nanos) {
        for channel in &mut self.channels {
            channel.busy.measure_from(now);
        }
    }

    fn report_until(&self, now: Nanos, report: &mut SsdReport) {
        for (i, channel) in self.channels.iter().enumerate() {
            let name = match self.times {
                AccessTimes::Dram { .. } => format!("channel/{i}"),
                AccessTimes::Measured { .. } => "channels".to_owned(),
            };
            report.add_servers(name, channel, now);
        }
    }
}

impl CommandStorage for Memory {
    fn span(&self) -> u64 {
        self.span
    }

    fn read<H: Host<Self>>(ssd: &mut Ssd<H, Self>, unit: u32, now: Nanos) {
        ssd.ask_memory(unit, now);
    }
}

impl<H: Host<Memory>> Ssd<H, Memory> {
    fn ask_memory(&mut self, unit: u32, now: Nanos) {
        let Memory { channels, span, .. } = &mut self.storage;
        let channel = (self.units[unit].sector / *span % channels.len() as u64) as u32;
        if let Some(unit) = channels[channel as usize].arrive(unit, now) {
            self.start_access(channel, unit, now);
        }
    }

    fn start_access(&mut self, channel: u32, unit: u32, now: Nanos) {
        let access = self.access(unit);
        let state = &mut self.units[unit];
        state.stages.pass(Stage::ChannelWait, now);
        let time = self.storage.time(access, state.sectors);
        self.schedule_storage(now + time, AccessDone { channel, unit });
    }
}
