//! Simulated arrays: requests per second.

use std::path::Path;

use iosonar_scenario::{Method, Overrides, Prepared};

use crate::BenchError;
use crate::figure::{Figure, Group, Note};

struct Case {
    name: &'static str,
    load: &'static str,
    array: &'static str,
    disk: &'static str,
}

const CASES: [Case; 6] = [
    Case {
        name: "RAID 01 reads of 4 blocks (figure 4)",
        load: "arrivals = { poisson_per_s = 10.0 }\nsize = { blocks = 4 }",
        array: "level = 'raid01'\ndisks = 4",
        disk: "",
    },
    Case {
        name: "RAID 5 reads, 5 blocks on average (figure 9)",
        load: "arrivals = { poisson_per_s = 10.0 }\nsize = { geometric_mean_blocks = 5.0 }",
        array: "level = 'raid5'\ndisks = 4",
        disk: "",
    },
    Case {
        name: "RAID 5 writes, 4 blocks on average (figure 9)",
        load: "arrivals = { poisson_per_s = 20.0 }\nsize = { geometric_mean_blocks = 4.0 }\n\
               read_share = 0.0",
        array: "level = 'raid5'\ndisks = 4",
        disk: "",
    },
    Case {
        name: "RAID 01 reads of 4 blocks, RPO (figure 7)",
        load: "arrivals = { poisson_per_s = 60.0 }\nsize = { blocks = 4 }",
        array: "level = 'raid01'\ndisks = 4",
        disk: "scheduler = 'rpo'",
    },
    Case {
        name: "one positional disk, FCFS",
        load: "arrivals = { poisson_per_s = 45.0 }\nsize = { blocks = 1 }",
        array: "level = 'raid0'\ndisks = 1",
        disk: "model = 'positional'",
    },
    Case {
        name: "one positional disk, SPTF among 32",
        load: "closed = { outstanding = 33 }\nsize = { blocks = 1 }",
        array: "level = 'raid0'\ndisks = 1",
        disk: "model = 'positional'\nscheduler = 'sptf'\nqueue_depth = 32",
    },
];

/// One run that several threads share.
const LARGE: Case = Case {
    name: "RAID 5 reads on 16 disks, one run on 2 threads",
    load: "arrivals = { poisson_per_s = 60.0 }\nsize = { geometric_mean_blocks = 8.0 }",
    array: "level = 'raid5'\ndisks = 16",
    disk: "",
};

/// Millions of requests per second, the best of three runs.
fn speed(
    case: &Case,
    method: Method,
    replications: u32,
    threads: usize,
) -> Result<f64, BenchError> {
    let Case {
        load, array, disk, ..
    } = case;
    let text = format!(
        "replications = {replications}\n[load]\nrequests = 200000\n{load}\n[array]\n{array}\n\
         [disk]\nprofile = 'seagate-st3500630ns'\n{disk}\n"
    );
    let path = Path::new("bench.toml");
    let simulation = Prepared::from_toml(&text, path, &Overrides::default())?.with_method(method);
    let mut best: f64 = 0.0;
    for _ in 0..3 {
        let result = simulation.run(threads, None)?;
        best = best.max(result.requests as f64 / result.elapsed.as_secs_f64() / 1e6);
    }
    Ok(best)
}

pub(crate) fn measure() -> Result<Vec<Figure>, BenchError> {
    const UNIT: &str = "M requests/s";
    let mut figures = Vec::new();
    for case in &CASES {
        let events = speed(case, Method::Events, 1, 1)?;
        figures.push(Figure::new(Group::Arrays, case.name, UNIT, events).with(Note::WithEvents));
        let fastest = speed(case, Method::Fastest, 1, 1)?;
        // Where there is no shorter way, both are the same but for noise.
        if fastest > 1.2 * events {
            figures
                .push(Figure::new(Group::Arrays, case.name, UNIT, fastest).with(Note::ByRecursion));
        }
    }
    let case = &CASES[2];
    let (one, two) = (
        speed(case, Method::Fastest, 8, 1)?,
        speed(case, Method::Fastest, 8, 2)?,
    );
    let note = Note::OfOneThread(two / one);
    let name = "RAID 5 writes, 8 replications on 2 threads";
    figures.push(Figure::new(Group::Arrays, name, UNIT, two).with(note));
    let (one, two) = (
        speed(&LARGE, Method::Fastest, 1, 1)?,
        speed(&LARGE, Method::Fastest, 1, 2)?,
    );
    let note = Note::OfOneThread(two / one);
    figures.push(Figure::new(Group::Arrays, LARGE.name, UNIT, two).with(note));
    Ok(figures)
}
