//! A device and an array level of one's own, which a scenario names.

use iosonar::device::{Job, Mechanism, Observable, Pace, ServiceTime, Waiting};
use iosonar::raid::{ArrayShape, Planner, RequestPlan, levels::access_of};
use iosonar::scenario::{Overrides, Prepared, Registry};
use iosonar::{trace::Request, units::Nanos, units::Sectors};

const SCENARIO: &str = r#"
replications = 20
warmup_requests = 500

[load]
requests = 5000
rate_per_s = 500.0
size = "4KiB"

[array]
level = "spare"
disks = 2
stripe_unit = "4KiB"
options = { used = 1 }

[device]
model = "metronome"
capacity = "1GiB"
options = { service_us = 1000 }
"#;

/// Every request takes the same time.
struct Metronome(Beat);

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Beat {
    service_us: u64,
}

impl Mechanism for Metronome {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn serve(&mut self, _: &Waiting<()>, _: Nanos, _: usize) -> ServiceTime {
        ServiceTime {
            positioning: Nanos::from_micros(self.0.service_us),
            transfer: Nanos::ZERO,
            pace: Pace(0.0),
        }
    }
}

/// One disk does all the work, and the other waits.
struct Spare(Used, ArrayShape);

#[derive(Clone, Copy, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Used {
    used: usize,
}

impl Planner for Spare {
    fn plan<D: Observable>(&mut self, request: &Request, _: &[D], plan: &mut RequestPlan) {
        let Some(access) = access_of(request.op) else {
            return;
        };
        for piece in self.1.pieces(request) {
            let sector = self.1.disk_sector(piece.unit, piece.offset);
            plan.add(self.0.used, sector, Sectors::new(piece.sectors));
        }
        plan.direct(access, 0);
    }

    fn disks(&self) -> usize {
        self.1.disks
    }

    fn data_sectors(&self) -> u64 {
        self.1.stripes() * u64::from(self.1.stripe_unit.get())
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let registry = Registry::new()
        .with_mechanism("metronome", |options: &Beat, _| Ok(Metronome(*options)))
        .with_level("spare", |options: &Used, shape| {
            Ok(Spare(*options, shape.array))
        });
    let overrides = Overrides {
        registry,
        ..Overrides::default()
    };
    let result =
        Prepared::from_toml(SCENARIO, "stranger.toml".as_ref(), &overrides)?.run(1, None)?;
    let mean = &result.mean_ms;
    println!(
        "response_ms {}\nresponse_ms stderr {}",
        mean.mean, mean.stderr
    );
    Ok(())
}
