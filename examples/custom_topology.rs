//! "Chained declustering": every block is on several disks in a row, and read from the one with the shortest queue.
//! `cargo run --release --example custom_topology -- sim examples/own/level.toml`

use iosonar::device::{Access, Observable};
use iosonar::raid::{ArrayShape, Planner, RequestPlan, levels::access_of};
use iosonar::scenario::Registry;
use iosonar::{trace::Request, units::Sectors};

struct Chained(Options, ArrayShape);

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    copies: u64,
}

impl Planner for Chained {
    fn plan<D: Observable>(&mut self, request: &Request, devices: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        let (Self(Options { copies }, array), disks) = (&self, self.1.disks as u64);
        for piece in array.pieces(request) {
            // Copy j of unit k is on disk k + j, in a part of its own of this disk.
            let disk = |copy: u64| ((piece.unit + copy) % disks) as usize;
            let stripe = |copy: u64| copy * (array.stripes() / *copies) + piece.unit / disks;
            let jobs = |copy: &u64| devices[disk(*copy)].occupancy().jobs();
            let shortest = (0..*copies).min_by_key(jobs);
            let is_needed = |copy: &u64| access == Access::Write || Some(*copy) == shortest;
            for copy in (0..*copies).filter(is_needed) {
                let sector = array.disk_sector(stripe(copy), piece.offset);
                plan.add(disk(copy), sector, Sectors::new(piece.sectors));
            }
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.1.disks
    }

    fn data_sectors(&self) -> u64 {
        let Self(Options { copies }, array) = self;
        array.stripes() / copies * array.disks as u64 * u64::from(array.stripe_unit.get())
    }
}

pub(crate) fn registry() -> Registry {
    Registry::new().with_level("chained", |options: &Options, shape| match options.copies {
        0 => Err("copies is 0, expected at least 1".into()),
        n if n > shape.array.disks as u64 => Err(format!("{n} copies need as many disks").into()),
        _ => Ok(Chained(*options, shape.array)),
    })
}

fn main() -> std::process::ExitCode {
    registry().install();
    iosonar::command_line()
}
