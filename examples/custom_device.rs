//! A memory that pauses now and then, as a device that scenario files can name, in a program with all commands of iosonar:
//! `cargo run --release --example custom_device -- sim examples/own/device.toml`

use iosonar::device::{Job, Mechanism, Pace, ServiceTime, Waiting};
use iosonar::{scenario::Registry, sim_core::Stream, units::Nanos};

struct Flash(Options, Stream);

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    pause_share: f64,
}

impl Mechanism for Flash {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn serve(&mut self, waiting: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        let is_pausing = self.1.chance(self.0.pause_share);
        let pace = Pace(100.0); // nanoseconds per sector
        ServiceTime {
            positioning: Nanos::from_micros(if is_pausing { 3_000 } else { 80 }),
            transfer: pace.time(waiting.job.sectors),
            pace,
        }
    }
}

pub(crate) fn registry() -> Registry {
    Registry::new().with_mechanism("flash", |options: &Options, place| {
        Ok(Flash(*options, place.stream("pause")))
    })
}

fn main() -> std::process::ExitCode {
    registry().install();
    iosonar::command_line()
}
