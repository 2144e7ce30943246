//! The driver's CPU: bios get places in the ring, descriptors are made, and what has come back is completed.

use iosonar_units::Nanos;

use super::{BlockQueue, BlockQueueEvent, BlockStorage, Descriptor, DriverTask};
use crate::ssd::Ssd;
use crate::stages::Stage;

impl<S: BlockStorage> Ssd<BlockQueue, S> {
    /// Bios get places in the ring as long as there are some.
    pub(super) fn fill_ring(&mut self, now: Nanos) {
        while self.host.reserved - self.host.freed < u64::from(self.host.p.ring)
            && let Some(command) = self.host.waiting.pop_front()
        {
            let number = self.host.reserved;
            self.host.reserved += 1;
            *self.host.place(number) = Descriptor {
                command,
                ..Descriptor::default()
            };
            self.commands[command].place = number;
            self.ask_driver(DriverTask::Submit(command), now);
        }
    }

    pub(super) fn interrupt(&mut self, returned: u32, now: Nanos) {
        let ring = &mut self.host;
        let handler = ring.times.interrupt;
        ring.returned += ring.returns[returned].len() as u32;
        if u64::from(ring.returned) == ring.block_size() {
            self.dispatch(handler, now);
        }
        if handler == Nanos::ZERO {
            self.handled(returned, now);
        } else {
            self.schedule_host(now + handler, BlockQueueEvent::Handled { returned });
        }
    }

    pub(super) fn handled(&mut self, returned: u32, now: Nanos) {
        let ring = &mut self.host;
        for i in 0..ring.returns[returned].len() {
            let number = ring.returns[returned][i];
            ring.place(number).returned = true;
        }
        ring.returns.release(returned);
        // In the order of the ring, whatever the order of their return.
        while self.host.handed_back < self.host.chosen {
            let place = self.host.place(self.host.handed_back);
            if !std::mem::take(&mut place.returned) {
                break;
            }
            let command = place.command;
            self.host.handed_back += 1;
            self.commands[command].stages.pass(Stage::Return, now);
            self.ask_driver(DriverTask::Complete(command), now);
        }
    }

    fn ask_driver(&mut self, task: DriverTask, now: Nanos) {
        if let Some(task) = self.host.driver.arrive(task, now) {
            self.start_driver(task, now);
        }
    }

    fn start_driver(&mut self, task: DriverTask, now: Nanos) {
        let time = match task {
            DriverTask::Submit(_) => self.host.times.submit,
            DriverTask::Complete(_) => self.host.times.complete,
        };
        self.schedule_host(now + time, BlockQueueEvent::Driver(task));
    }

    pub(super) fn driver_done(&mut self, task: DriverTask, now: Nanos) {
        if let Some(next) = self.host.driver.depart(now) {
            self.start_driver(next, now);
        }
        match task {
            DriverTask::Submit(command) => {
                let number = self.commands[command].place;
                debug_assert_eq!(number, self.host.made, "descriptors are made in order");
                self.host.made += 1;
                self.host.check();
                self.dispatch_if_free(now);
            }
            DriverTask::Complete(command) => {
                self.host.freed += 1;
                self.fill_ring(now);
                self.command_complete(command, now);
            }
        }
    }
}
