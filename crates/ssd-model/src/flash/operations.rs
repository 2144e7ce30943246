//! An operation on its way through die and channel, phase by phase.
//!
//! ```text
//! read     command ──► die reads ──► data cross the channel
//! program  data cross the channel ──► die writes
//! copy     die reads ──► data cross, unless copied inside ──► die writes
//! erase    command ──► die erases
//! ```

use std::iter;

use iosonar_units::Nanos;

use super::server::{Kind, Operation, Phase};
use super::{Flash, FlashEvent, FlashHost};
use crate::stages::Stage;

impl Flash {
    /// Takes the next thing to do, if the server is free.
    pub(super) fn start(&mut self, server: u32, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        if state.current.is_some() {
            self.suspend(server, host);
            return;
        }
        let Some(operation) = state.next(&self.p, self.page_time) else {
            return;
        };
        state.busy.change(1, host.now());
        self.begin(server, operation, host);
    }

    /// Queues a read, or begins with it at once.
    pub(super) fn start_read(&mut self, server: u32, read: Operation, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        if state.is_idle() && (self.p.reads_first || state.writes.is_empty()) {
            state.busy.change(1, host.now());
            self.begin(server, read, host);
        } else {
            state.reads.push_back(read);
            self.start(server, host);
        }
    }

    fn begin(&mut self, server: u32, operation: Operation, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        if self.p.multi_plane > 1 {
            state.take_mates(&operation, &self.p);
        }
        self.counts.begin(operation.kind, state.mates.len() as u64);
        let refreshes = iter::once(&operation).chain(&state.mates);
        self.counts.refreshed += refreshes.filter(|of| of.refreshes).count() as u64;
        let kind = operation.kind;
        state.current = Some(operation);
        state.passed(None, Stage::ChannelWait, host);
        match kind {
            // These come with their data.
            Kind::Program | Kind::Copy { read: false, .. } => {
                self.ask_for_channel(server, Phase::Data, host);
            }
            _ if self.p.command > Nanos::ZERO => {
                self.ask_for_channel(server, Phase::Command, host);
            }
            _ => self.obey(server, host),
        }
    }

    /// The die has its command.
    fn obey(&mut self, server: u32, host: &mut impl FlashHost) {
        let operation = self.servers[server as usize].operation();
        let (phase, time) = match operation.kind {
            Kind::Erase => (Phase::Write, self.p.erase),
            Kind::Copy { .. } => (Phase::Read, self.page_time[0]),
            _ => (Phase::Read, operation.time),
        };
        self.in_die(server, phase, time, host);
    }

    fn in_die(&mut self, server: u32, phase: Phase, time: Nanos, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        state.phase = phase;
        state.until = host.now() + time;
        let generation = state.generation;
        host.schedule(state.until, FlashEvent::Die { server, generation });
        if phase == Phase::Write {
            self.suspend(server, host);
        }
    }

    fn ask_for_channel(&mut self, server: u32, phase: Phase, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        state.phase = phase;
        let copies_inside = self.p.copyback && matches!(state.operation().kind, Kind::Copy { .. });
        if copies_inside && phase == Phase::Data {
            self.phase_over(server, host);
            return;
        }
        let channel = state.channel;
        if let Some(server) = self.channels[channel as usize].arrive(server, host.now()) {
            self.cross_channel(server, host);
        }
    }

    fn cross_channel(&mut self, server: u32, host: &mut impl FlashHost) {
        let state = &self.servers[server as usize];
        state.passed(Some(state.phase), Stage::ChannelWait, host);
        let (operation, mates) = (state.operation(), &state.mates);
        let mut time = Nanos::ZERO;
        if state.phase == Phase::Data {
            let mut bytes = f64::from(operation.bytes);
            if operation.kind == Kind::Program {
                bytes += mates.iter().map(|mate| f64::from(mate.bytes)).sum::<f64>();
            }
            time = Nanos::nearest(bytes * self.p.channel_ns_per_byte);
        }
        if state.phase == Phase::Command
            || matches!(operation.kind, Kind::Program | Kind::Copy { .. })
        {
            time += self.p.command;
            for _ in mates {
                time += self.p.multi_plane_command;
            }
        }
        host.schedule(host.now() + time, FlashEvent::Channel { server });
    }

    pub(crate) fn handle(&mut self, event: FlashEvent, host: &mut impl FlashHost) {
        let (server, stage) = match event {
            FlashEvent::Die { server, generation } => {
                if self.servers[server as usize].generation != generation {
                    return;
                }
                (server, Stage::Die)
            }
            FlashEvent::Channel { server } => {
                let channel = self.servers[server as usize].channel;
                if let Some(next) = self.channels[channel as usize].depart(host.now()) {
                    self.cross_channel(next, host);
                }
                (server, Stage::Channel)
            }
        };
        let state = &self.servers[server as usize];
        state.passed(Some(state.phase), stage, host);
        self.phase_over(server, host);
    }

    fn phase_over(&mut self, server: u32, host: &mut impl FlashHost) {
        let state = &self.servers[server as usize];
        let operation = state.operation();
        match (state.phase, operation.kind) {
            (Phase::Command, _) => self.obey(server, host),
            (Phase::Read, _) => self.ask_for_channel(server, Phase::Data, host),
            (Phase::Data, Kind::Program) => {
                let time = operation.time;
                self.in_die(server, Phase::Write, time, host);
            }
            (Phase::Data, Kind::Copy { program: true, .. }) => {
                let time = self.page_time[1];
                self.in_die(server, Phase::Write, time, host);
            }
            (Phase::Data, Kind::Read) if !state.mates.is_empty() => self.next_plane(server, host),
            (Phase::Data | Phase::Write, _) => self.finish(server, host),
        }
    }

    /// The data of one plane have crossed the channel; those of the next one that was read with it follow.
    fn next_plane(&mut self, server: u32, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        let owner = state.operation().owner;
        state.current = Some(state.mates.remove(0));
        self.ask_for_channel(server, Phase::Data, host);
        if let Some(owner) = owner {
            host.done(owner);
        }
    }

    fn finish(&mut self, server: u32, host: &mut impl FlashHost) {
        let state = &mut self.servers[server as usize];
        let Operation { kind, owner, .. } = *state.operation();
        state.current = None;
        if matches!(kind, Kind::Copy { .. } | Kind::Erase) {
            state.end_of_step(kind);
        }
        if !state.mates.is_empty() {
            for owner in state.mates.drain(..).filter_map(|mate| mate.owner) {
                host.done(owner);
            }
        }
        match state.suspended.take() {
            // What was suspended goes on when no other read waits.
            Some((resumed, left)) if state.reads.is_empty() => {
                std::mem::swap(&mut state.mates, &mut state.suspended_mates);
                state.current = Some(resumed);
                self.in_die(server, Phase::Write, left, host);
            }
            suspended => {
                state.suspended = suspended;
                match state.next(&self.p, self.page_time) {
                    Some(next) => self.begin(server, next, host),
                    None => state.busy.change(-1, host.now()),
                }
            }
        }
        if let Some(owner) = owner {
            host.done(owner);
        }
    }

    /// Reads that wait while the die programs or erases go first.
    fn suspend(&mut self, server: u32, host: &mut impl FlashHost) {
        let Some(cost) = self.p.suspend.filter(|_| self.p.reads_first) else {
            return;
        };
        let state = &mut self.servers[server as usize];
        if state.reads.is_empty()
            || state.phase != Phase::Write
            || state.suspended.is_some()
            || host.now() + cost >= state.until
        {
            return;
        }
        let Some(operation) = state.current else {
            return;
        };
        let left = state.until - host.now();
        state.generation = state.generation.wrapping_add(1);
        let Some(mut read) = state.reads.pop_front() else {
            return;
        };
        state.suspended = Some((operation, left));
        std::mem::swap(&mut state.mates, &mut state.suspended_mates);
        self.counts.suspensions += 1;
        // What the suspension takes, the read waits for.
        read.time += cost;
        self.begin(server, read, host);
    }
}
