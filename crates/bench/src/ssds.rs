//! Simulated SSDs: requests per second, pages per second, time to begin.

use std::path::Path;
use std::time::Instant;

use iosonar_scenario::{Overrides, Prepared};

use crate::BenchError;
use crate::figure::{Figure, Group, Note};

/// A small set of pages to draw from, so that the load is that of the model.
const FLASH: &str = "profile = 'nvme-gen4-tlc'\n[ssd.flash]\npage = '4KiB'\nmapping_unit = '4KiB'\npages = 1024\nreserve = 2\n";

struct Case {
    name: &'static str,
    read_share: f64,
    outstanding: u32,
    ssd: String,
}

fn simulation(case: &Case, requests: u64) -> Result<Prepared, BenchError> {
    let text = format!(
        "[load]\nrequests = {requests}\nclosed = {{ outstanding = {} }}\nsize = {{ blocks = 1 }}\n\
         read_share = {:?}\n[ssd]\n{}\n",
        case.outstanding, case.read_share, case.ssd
    );
    Ok(Prepared::from_toml(
        &text,
        Path::new("bench.toml"),
        &Overrides::default(),
    )?)
}

pub(crate) fn measure() -> Result<Vec<Figure>, BenchError> {
    // 64 GB in 128 planes.
    let gc = |over: f64| {
        format!(
            "{FLASH}blocks = {}\nprecondition = 'steady-state'\nover_provisioning = {over:?}\n",
            (122.0 * (1.0 + over)).ceil() as u32
        )
    };
    let cases = [
        Case {
            name: "block queue, DRAM back end",
            read_share: 0.5,
            outstanding: 64,
            ssd: "profile = 'block-queue-gen2x4'".to_owned(),
        },
        Case {
            name: "NVMe, reads of TLC flash",
            read_share: 1.0,
            outstanding: 64,
            ssd: "profile = 'nvme-gen4-tlc'".to_owned(),
        },
        Case {
            name: "writes with greedy cleaning, 64 GB, 28 % spare",
            read_share: 0.0,
            outstanding: 256,
            ssd: gc(0.28),
        },
        Case {
            name: "writes with greedy cleaning, 64 GB, 7 % spare",
            read_share: 0.0,
            outstanding: 256,
            ssd: gc(0.07),
        },
    ];
    let mut figures = Vec::new();
    // First: what a process has freed it does not get back untouched.
    for (name, precondition) in [
        ("512 GB, setting up empty flash", "none"),
        ("512 GB, setting up the steady state", "steady-state"),
    ] {
        let case = Case {
            name,
            read_share: 1.0,
            outstanding: 1,
            ssd: format!("{FLASH}blocks = 1280\nprecondition = '{precondition}'\n"),
        };
        let simulation = simulation(&case, 1)?;
        let mut least = f64::INFINITY;
        for _ in 0..3 {
            let begin = Instant::now();
            simulation.run(1, None)?;
            least = least.min(begin.elapsed().as_secs_f64() * 1e3);
        }
        figures.push(Figure::new(Group::Ssds, name, "ms", least));
    }
    for case in &cases {
        figures.push(fastest(case)?);
    }
    Ok(figures)
}

/// The fastest of three runs.
fn fastest(case: &Case) -> Result<Figure, BenchError> {
    let simulation = simulation(case, 1_000_000)?;
    let mut best: Option<Figure> = None;
    for _ in 0..3 {
        let result = simulation.run(1, None)?;
        let seconds = result.elapsed.as_secs_f64();
        let flash = result.ssd.as_ref().map(|ssd| &ssd.flash);
        let cleaning = flash.filter(|flash| flash.write_amplification().is_finite());
        let speed = result.requests as f64 / seconds / 1e6;
        if best.as_ref().is_none_or(|fastest| speed > fastest.value) {
            best = Some(Figure {
                note: cleaning.map(|flash| Note::Cleaning {
                    millions_of_pages_per_s: flash.operations() as f64 / seconds / 1e6,
                    write_amplification: flash.write_amplification(),
                }),
                ..Figure::new(Group::Ssds, case.name, "M requests/s", speed)
            });
        }
    }
    Ok(best.expect("three runs have a fastest"))
}
