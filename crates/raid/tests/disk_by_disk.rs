//! Arrays whose disks are simulated by themselves, on any number of threads, against the simulation event by event.

use std::collections::VecDeque;

use iosonar_device::{Job, Mechanism, Pace, ServiceTime, Station, Waiting};
use iosonar_raid::rules::{Rules, TransferMemory};
use iosonar_raid::{
    Array, ArrayShape, Completion, CompletionSink, Controller, Placement, RequestSource,
    RunSummary, Served, Striped,
};
use iosonar_sim_core::{Seed, Stream};
use iosonar_trace::{Op, Request};
use iosonar_units::{Nanos, Sector, Sectors};

const DISKS: usize = 5;
const UNIT: u32 = 8;
/// Several blocks of the largest size.
const REQUESTS: u64 = 9_000;

/// A disk whose services last 0 to 9 ns, so that nearly everything happens together with something else.
struct Quick {
    times: Stream,
    /// Whether it serves the lowest address first, and faster where more wait.
    chooses: bool,
}

impl Mechanism for Quick {
    type Place = ();

    fn place(&self, _: &Job) {}

    fn next(&mut self, waiting: &VecDeque<Waiting<()>>, _: Nanos) -> usize {
        let lowest = waiting.iter().enumerate().min_by_key(|(_, w)| w.job.sector);
        lowest.filter(|_| self.chooses).map_or(0, |(i, _)| i)
    }

    fn serves_in_order(&self) -> bool {
        !self.chooses
    }

    fn serve(&mut self, _: &Waiting<()>, _: Nanos, waiting: usize) -> ServiceTime {
        let hurry = if self.chooses { waiting as u64 } else { 1 };
        ServiceTime {
            positioning: Nanos::new(self.times.below(6) / hurry),
            transfer: Nanos::new(self.times.below(5)),
            pace: Pace(1.0),
        }
    }
}

/// Requests of which many come at once; it fails at one, if that is asked for.
struct Load {
    left: u64,
    now: Nanos,
    draws: Stream,
    fails_at: Option<u64>,
}

impl RequestSource for Load {
    type Error = &'static str;

    fn next_request(&mut self) -> Result<Option<Request>, &'static str> {
        if self.fails_at == Some(self.left) {
            return Err("the source fails");
        }
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        self.now += Nanos::new(self.draws.below(3) * self.draws.below(9));
        let op = match self.draws.below(20) {
            0 => Op::Flush,
            1..8 => Op::Write,
            _ => Op::Read,
        };
        Ok(Some(Request {
            start: self.now,
            sector: Sector::new(self.draws.below(10_000)),
            sectors: Sectors::new(1 + self.draws.below(30) as u32),
            op,
            ..Request::default()
        }))
    }
}

/// All that a sink is given, in its order; it fails at a number of completions, if that is asked for.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    takes_services: bool,
    left: Option<u64>,
}

impl CompletionSink for Log {
    type Error = &'static str;

    fn completed(&mut self, completion: &Completion) -> Result<(), &'static str> {
        self.lines.push(format!("{completion:?}"));
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(1).ok_or("the sink fails")?;
        }
        Ok(())
    }

    fn takes_services(&self) -> bool {
        self.takes_services
    }

    fn served(&mut self, served: &Served<'_>) -> Result<(), &'static str> {
        // A job's word for itself is the array's own affair.
        let job = Job {
            tag: 0,
            ..served.service.job
        };
        let ended = served.service.ended();
        let (request, device) = (served.request, served.device);
        self.lines
            .push(format!("{job:?} {device} {ended} of {request:?}"));
        Ok(())
    }
}

#[derive(Clone, Copy)]
struct Case {
    chooses: bool,
    warmup: u64,
    splits: bool,
    takes_services: bool,
    one_at_a_time: bool,
    /// Whether requests are cut and put together again, and all jobs of a write have one pace.
    coalesces: bool,
    fails_at: Option<u64>,
    sink_fails_at: Option<u64>,
}

/// On this many threads; on none, with events.
fn run(case: Case, threads: usize) -> (Result<RunSummary, &'static str>, Vec<String>) {
    let seed = Seed::new(5);
    let shape = ArrayShape {
        disks: DISKS,
        stripe_unit: Sectors::new(UNIT),
        disk_sectors: 1 << 20,
        placement: Placement::Addressed,
    };
    let disk = |i: usize| {
        Station::new(Quick {
            times: seed.stream(&format!("disk/{i}"), "service"),
            chooses: case.chooses,
        })
    };
    let disks = (0..DISKS).map(disk).collect();
    let level = Striped::new(shape, &seed).unwrap();
    let transfer = match case.coalesces {
        true => TransferMemory::OnePerRequest,
        false => TransferMemory::LastAccess,
    };
    let rules = Rules {
        coalesce: case.coalesces,
        transfer,
        ..Rules::default()
    };
    let controller = Controller {
        one_at_a_time: case.one_at_a_time,
        ..Controller::default()
    };
    let array = Array::new(level, disks, rules).with_controller(controller);
    let mut array = array.with_warmup(case.warmup);
    if case.splits {
        array = array.with_split();
    }
    assert!(array.needs_no_events());
    let mut load = Load {
        left: REQUESTS,
        now: Nanos::ZERO,
        draws: seed.stream("load", "all"),
        fails_at: case.fails_at,
    };
    let mut log = Log {
        takes_services: case.takes_services,
        left: case.sink_fails_at,
        ..Log::default()
    };
    let summary = match threads {
        0 => array.run(&mut load, &mut log),
        1 => array.run_without_events(&mut load, &mut log),
        _ => array.run_without_events_on(threads, &mut load, &mut log),
    };
    (summary, log.lines)
}

const PLAIN: Case = Case {
    chooses: false,
    warmup: 0,
    splits: false,
    takes_services: false,
    one_at_a_time: false,
    coalesces: false,
    fails_at: None,
    sink_fails_at: None,
};

const CASES: [Case; 7] = [
    PLAIN,
    Case {
        warmup: 5_000,
        splits: true,
        takes_services: true,
        ..PLAIN
    },
    Case {
        chooses: true,
        warmup: 4_999,
        splits: true,
        takes_services: true,
        ..PLAIN
    },
    Case {
        chooses: true,
        warmup: REQUESTS - 1,
        ..PLAIN
    },
    Case {
        warmup: 100,
        splits: true,
        coalesces: true,
        ..PLAIN
    },
    Case {
        warmup: 6_000,
        takes_services: true,
        coalesces: true,
        ..PLAIN
    },
    Case {
        warmup: 1_000,
        splits: true,
        takes_services: true,
        one_at_a_time: true,
        ..PLAIN
    },
];

#[test]
fn each_disk_by_itself_is_the_same_as_events_on_any_number_of_threads() {
    for case in CASES {
        let (expected, log) = run(case, 0);
        let expected = expected.unwrap();
        assert!(log.len() as u64 >= REQUESTS);
        for threads in [1, 3] {
            let (summary, lines) = run(case, threads);
            let differs = lines.iter().zip(&log).find(|(one, other)| one != other);
            assert_eq!(differs, None, "on {threads} threads");
            assert_eq!(lines.len(), log.len());
            assert_eq!(summary.unwrap(), expected, "on {threads} threads");
        }
    }
}

#[test]
fn a_run_ends_with_the_error_of_its_source_or_its_sink() {
    for threads in [1, 2, 4] {
        let source = Case {
            fails_at: Some(REQUESTS / 3),
            ..CASES[1]
        };
        let (summary, lines) = run(source, threads);
        assert_eq!(summary.unwrap_err(), "the source fails");
        let (_, with_events) = run(source, 0);
        assert_eq!(lines, with_events, "what was complete by then");
        let sink = Case {
            sink_fails_at: Some(REQUESTS / 2),
            ..CASES[0]
        };
        let (summary, lines) = run(sink, threads);
        assert_eq!(summary.unwrap_err(), "the sink fails");
        assert_eq!(lines.len() as u64, REQUESTS / 2 + 1);
    }
}
