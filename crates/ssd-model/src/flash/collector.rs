//! From the translation layer to the queues of a server.

use super::Owner;
use super::server::{Cleaning, Kind, Operation, Server};
use crate::FlashParameters;
use crate::ftl::{Medium, Writer};

/// Makes operations of a server of what the translation layer of one of its planes does.
pub(super) struct Collector<'a> {
    pub(super) p: &'a FlashParameters,
    pub(super) plane: u32,
    pub(super) server: &'a mut Server,
    pub(super) ready: &'a mut [u32],
    pub(super) cleaning: Cleaning,
    /// Who waits for the page that is programmed.
    pub(super) owner: Option<Owner>,
    /// How much of the data crosses the channel.
    pub(super) bytes: u32,
}

impl Medium for Collector<'_> {
    fn program(&mut self, last_slot: u32, writer: Writer) {
        if writer == Writer::Cleaner {
            self.cleaning.programs += 1;
            // After the erase they can only go back.
            self.cleaning.in_place |= self.cleaning.erase;
            return;
        }
        let shape = &self.p.plane;
        let block = last_slot / shape.slots_per_block;
        let page = last_slot % shape.slots_per_block / shape.slots_per_page;
        let operation = Operation {
            kind: Kind::Program,
            owner: self.owner,
            time: self.p.program[page as usize % self.p.program.len()],
            bytes: self.bytes,
            needs: self.ready[block as usize],
            plane: self.plane,
            page,
            refreshes: false,
            order: self.server.operations,
        };
        self.server.operations += 1;
        self.server.writes.push_back(operation);
    }

    fn clean(&mut self, _: u32, refreshes: bool) {
        self.cleaning = Cleaning {
            plane: self.plane,
            refreshes,
            ..Cleaning::default()
        };
    }

    fn read(&mut self, _: u32, pages: u32) {
        self.cleaning.reads += 1;
        self.cleaning.pages += pages;
    }

    fn erase(&mut self, block: u32) {
        self.cleaning.erase = true;
        // What is programmed into it waits for the end of the whole cleaning.
        self.ready[block as usize] = self.server.issued + 1;
    }

    fn cleaned(&mut self) {
        self.server.issued += 1;
        self.server.cleanings.push_back(self.cleaning);
        let shape = &self.p.plane;
        self.server
            .pace(shape.slots_per_block / shape.slots_per_page);
    }
}
