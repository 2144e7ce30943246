//! Random SSDs under random loads: each has the completions, stages and report that were recorded when the test was
//! written. A change of speed must change none of them.
//!
//! `UPDATE_RECORDED=1 cargo test -p iosonar-ssd-model --test recorded` records them anew, after a change of results
//! that is meant.

mod bench;

use std::fmt::Write as _;
use std::path::Path;

use bench::{Load, job, parameters_of};
use iosonar_device::{Access, Job};
use iosonar_sim_core::{Seed, Stream};
use iosonar_ssd_model::{AnySsd, Parameters, SsdProfile};
use iosonar_units::Nanos;

const RECORD: &str = "tests/recorded.txt";
const CASES: u64 = 260;

/// What is built in, and how often it is drawn.
const PROFILES: &[&str] = &[
    "nvme-gen4-tlc",
    "nvme-gen4-tlc",
    "nvme-gen4-tlc",
    "nvme-gen4-tlc",
    "nvme-gen4-tlc",
    "mqsim-default",
    "mqsim-default",
    "block-queue-gen2x4",
    "block-queue-gen2x4",
    "abstract",
    "samsung-970-evo-plus-1tb",
    "intel-optane-p4800x-375gb",
    "aws-gp3-500gib",
];

fn pick<'a, T>(draws: &mut Stream, of: &'a [T]) -> &'a T {
    &of[draws.below(of.len() as u64) as usize]
}

/// The lines of a table, under construction.
struct Lines<'a> {
    draws: &'a mut Stream,
    text: String,
}

impl Lines<'_> {
    fn table(&mut self, name: &str) {
        writeln!(self.text, "[{name}]").unwrap();
    }

    fn set(&mut self, key: &str, value: &str) {
        writeln!(self.text, "{key} = {value}").unwrap();
    }

    /// One of these values, or with this probability that of the profile.
    fn any(&mut self, key: &str, leave: f64, values: &[&str]) {
        if !self.draws.chance(leave) {
            let value = pick(self.draws, values);
            self.set(key, value);
        }
    }
}

/// Times are often equal, so that many events fall on one instant.
fn host(lines: &mut Lines<'_>) {
    let short = ["0.0", "0.1", "0.2", "0.5", "1.0", "0.737", "2.0"];
    lines.table("driver");
    for key in ["submit_us", "complete_us", "interrupt_us", "doorbell_us"] {
        lines.any(key, 0.5, &short);
    }
    lines.table("pcie");
    for key in [
        "descriptor_setup_us",
        "to_host_setup_us",
        "from_host_setup_us",
    ] {
        lines.any(key, 0.5, &short);
    }
    lines.any("data_engines", 0.6, &["1", "2", "5"]);
    lines.any("to_host_mb_per_s", 0.7, &["4096.0", "8192.0", "1000.0"]);
    lines.table("controller");
    for key in ["command_us", "write_command_us", "return_us"] {
        lines.any(key, 0.5, &short);
    }
    lines.any("commands", 0.6, &["1", "2", "4"]);
    lines.any("error_probability", 0.8, &["0.01", "0.3"]);
    lines.table("nvme");
    let queues = 1 + lines.draws.below(5);
    lines.set("queues", &queues.to_string());
    lines.any("depth", 0.3, &["1", "2", "7", "64"]);
    lines.any("assign", 0.4, &["'class'", "'turns'"]);
    lines.any("burst", 0.3, &["1", "2", "8", "31"]);
    if lines.draws.chance(0.3) {
        let weights: Vec<u64> = (0..queues).map(|_| 1 + lines.draws.below(9)).collect();
        lines.set("arbitration", "'weighted'");
        lines.set("weights", &format!("{weights:?}"));
    } else {
        lines.set("arbitration", "'round-robin'");
    }
    lines.any("most_commands", 0.6, &["1", "3", "16", "50"]);
    lines.any("most_transfer", 0.5, &["'4KiB'", "'16KiB'", "'1MiB'"]);
    if lines.draws.chance(0.3) {
        lines.set("notification", "'polling'");
        lines.any("poll_us", 0.3, &["0.0", "1.0", "5.0", "3.3"]);
    } else if lines.draws.chance(0.4) {
        lines.any("coalesce", 0.1, &["2", "4", "8"]);
        lines.any("coalesce_us", 0.1, &["0.0", "2.0", "20.0"]);
    }
    lines.table("block_queue");
    lines.any("ring", 0.3, &["16", "64", "256"]);
    lines.any("dispatch", 0.6, &["'static'", "'dynamic'"]);
    lines.any("block", 0.3, &["1", "4", "7", "16"]);
    let strategies = ["'complete-block'", "'one-by-one'", "'subsets'"];
    lines.any("return", 0.2, &strategies);
    lines.any("subset", 0.3, &["1", "2", "3", "4"]);
    lines.any("descriptor_engine", 0.5, &["true", "false"]);
    lines.any("prefetch", 0.5, &["0", "1", "4"]);
    lines.any("wrap", 0.5, &["true", "false"]);
}

fn flash(lines: &mut Lines<'_>) {
    lines.table("flash");
    lines.any("channels", 0.0, &["1", "2", "3", "4"]);
    lines.any("dies", 0.0, &["1", "2", "3"]);
    let planes = *pick(lines.draws, &[1, 2, 4]);
    lines.set("planes", &planes.to_string());
    lines.any("blocks", 0.0, &["24", "40", "64", "130"]);
    lines.any("pages", 0.0, &["8", "16", "32", "70"]);
    let unit = *pick(lines.draws, &["4KiB", "4KiB", "8KiB", "2KiB"]);
    lines.set("mapping_unit", &format!("'{unit}'"));
    let pages: &[&str] = match unit {
        "2KiB" => &["'2KiB'", "'8KiB'"],
        "4KiB" => &["'4KiB'", "'4KiB'", "'16KiB'", "'12KiB'"],
        _ => &["'8KiB'", "'16KiB'"],
    };
    lines.any("page", 0.0, pages);
    lines.any(
        "read_us",
        0.4,
        &["[50.0]", "[20.0, 40.0]", "[5.0, 7.3, 9.1]"],
    );
    lines.any("program_us", 0.4, &["[200.0]", "[100.0, 300.0]", "[61.7]"]);
    lines.any("erase_us", 0.5, &["1000.0", "400.0", "777.7"]);
    lines.any("channel_mb_per_s", 0.5, &["400.0", "1024.0", "333.3"]);
    lines.any("command_us", 0.4, &["0.0", "0.2", "1.0"]);
    let parallelism = *pick(lines.draws, &["die", "plane"]);
    lines.set("parallelism", &format!("'{parallelism}'"));
    let joined = if parallelism == "die" { planes } else { 1 };
    let joined = *pick(lines.draws, &[1, joined]);
    lines.set("multi_plane", &joined.to_string());
    lines.any("multi_plane_command_us", 0.5, &["0.0", "0.5"]);
    lines.any("scheduling", 0.5, &["'reads-first'", "'fcfs'"]);
    lines.any("suspend_us", 0.4, &["0.0", "5.0", "20.0"]);
    lines.any("copyback", 0.6, &["true", "false"]);
    lines.any("over_provisioning", 0.0, &["0.28", "0.5", "0.9", "0.35"]);
    let policies = ["'greedy'", "'greedy'", "'fifo'", "'cost-benefit'"];
    lines.any("cleaning", 0.0, &policies);
    lines.any("reserve", 0.2, &["2", "3", "4", "0"]);
    lines.any("read_disturb_limit", 0.85, &["70", "200"]);
    // Milliseconds.
    lines.any("retention_h", 0.85, &["3e-6", "1e-5"]);
    lines.any("wear_levelling", 0.7, &["1", "3", "10"]);
    let fillings = ["'none'", "'sequential'", "'steady-state'", "'steady-state'"];
    lines.any("precondition", 0.1, &fillings);
    let unwritten = *pick(lines.draws, &[false, true]);
    lines.set("read_unwritten", &unwritten.to_string());
    let map = unwritten && lines.draws.chance(0.5);
    lines.set("map_unwritten", &map.to_string());
    lines.any("partial_pages", 0.6, &["true", "false"]);
    lines.any("overwrites", 0.7, &["0.5", "1.7"]);
    if lines.draws.chance(0.6) {
        lines.table("cache");
        lines.any(
            "size",
            0.0,
            &["'64KiB'", "'256KiB'", "'1MiB'", "'4MiB'", "'0'"],
        );
        lines.any("destage_above", 0.6, &["0.0", "0.5", "0.3"]);
        lines.any("destage_below", 0.6, &["0.0", "0.2"]);
        lines.any("access_us", 0.5, &["0.0", "0.5", "2.0"]);
        lines.any("mb_per_s", 0.7, &["200.0", "1000.0"]);
        lines.any("row", 0.7, &["'4KiB'", "'8KiB'"]);
        lines.any("volatile", 0.5, &["true", "false"]);
        lines.any("in_flight", 0.7, &["'64KiB'", "'512KiB'"]);
        lines.any("hold_ms", 0.7, &["0.1", "1.0", "50.0"]);
        lines.any("hold_share", 0.7, &["0.1", "0.4"]);
    }
    if lines.draws.chance(0.35) {
        lines.table("mapping_cache");
        lines.any("entries", 0.0, &["1", "7", "64", "500"]);
        lines.any("entries_per_page", 0.0, &["4", "16", "100"]);
        lines.any("read_bytes", 0.0, &["512", "4096"]);
        lines.any("write_back", 0.3, &["true", "false"]);
    } else {
        lines.table("mapping_cache");
        lines.set("entries", "0");
        lines.set("entries_per_page", "1");
        lines.set("read_bytes", "512");
    }
}

fn limits(lines: &mut Lines<'_>) {
    if lines.draws.chance(0.9) {
        return;
    }
    lines.table("limits");
    lines.any("merge", 0.5, &["true", "false"]);
    lines.any("io_size", 0.3, &["'4KiB'", "'16KiB'"]);
    let rates = [
        "{ baseline = 20000.0 }",
        "{ baseline = 5000.0, burst = 100000.0, credits = 500.0 }",
    ];
    lines.any("iops", 0.2, &rates);
    lines.any("write_mb_per_s", 0.5, &["{ baseline = 100.0 }"]);
}

/// The next random SSD that can be; most drawn values go together, some do not.
fn ssd(draws: &mut Stream) -> std::sync::Arc<Parameters> {
    loop {
        let name = *pick(draws, PROFILES);
        let mut lines = Lines {
            draws,
            text: String::new(),
        };
        // Some profiles have a storage of another kind, and no table for this one.
        let own = lines.draws.chance(0.15);
        if !own {
            host(&mut lines);
        }
        if matches!(name, "nvme-gen4-tlc" | "mqsim-default") {
            flash(&mut lines);
        }
        limits(&mut lines);
        let interface = match lines.draws.below(4) {
            0 => "interface = 'block-queue'\n",
            _ => "",
        };
        let text = format!("{interface}{}", lines.text);
        let changes = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        let Ok(profile) = SsdProfile::load(name, ".".as_ref(), &changes) else {
            continue;
        };
        if Parameters::new(&profile).is_ok() {
            return parameters_of(name, &changes);
        }
    }
}

/// A kind of random jobs.
struct Jobs {
    reads: f64,
    discards: f64,
    flushes: f64,
    most_sectors: u64,
    /// Sectors of places and sizes.
    grid: u64,
    /// The share of jobs in the first hundredth of the space.
    hot: f64,
    space: u64,
}

impl Jobs {
    fn new(draws: &mut Stream, capacity: u64) -> Self {
        let rare = |draws: &mut Stream, most: f64| if draws.chance(0.3) { most } else { 0.0 };
        Self {
            reads: *pick(draws, &[0.0, 0.0, 0.5, 0.9, 1.0]),
            discards: rare(draws, 0.05),
            flushes: rare(draws, 0.03),
            most_sectors: *pick(draws, &[8, 8, 8, 16, 64, 300]),
            grid: *pick(draws, &[8, 8, 8, 1]),
            hot: *pick(draws, &[0.0, 0.0, 0.7]),
            space: capacity.min(1 << 22),
        }
    }

    fn draw(&self, draws: &mut Stream, number: u64) -> Job {
        let mut sectors = (1 + draws.below(self.most_sectors)).next_multiple_of(self.grid);
        let space = match draws.chance(self.hot) {
            true => (self.space / 100).max(2 * sectors),
            false => self.space,
        };
        sectors = sectors.min(space);
        let sector = draws.below(space - sectors + 1) / self.grid * self.grid;
        let access = match () {
            () if draws.chance(self.flushes) => Access::Flush,
            () if draws.chance(self.discards) => Access::Discard,
            () if draws.chance(self.reads) => Access::Read,
            () => Access::Write,
        };
        Job {
            class: draws.below(6) as u16,
            ..job(number, access, sector, sectors as u32)
        }
    }
}

/// Two FNV hashes: of all completions with their stages, and of the report.
fn outcome(case: u64) -> String {
    let seed = Seed::new(1_000 + case);
    let mut draws = seed.stream("recorded", "case");
    let p = ssd(&mut draws);
    let jobs = Jobs::new(&mut draws, p.capacity_sectors);
    let threads = *pick(&mut draws, &[1, 2, 8, 32, 64, 200]);
    let requests = 300 + draws.below(1_200);
    let gap = Nanos::new(*pick(&mut draws, &[500, 2_000, 20_000, 200_000]));
    let is_open = draws.chance(0.35);
    let mut load = seed.stream("recorded", "load");
    let mut times = seed.stream("recorded", "arrivals");
    // Many come at once.
    let mut arrivals = || match times.chance(0.3) {
        true => Nanos::ZERO,
        false => Nanos::new(times.below(2 * gap.get()) / 100 * 100),
    };
    let out = Load {
        threads,
        requests,
        warmup: requests / 4,
        job: &mut |number| jobs.draw(&mut load, number),
        arrivals: is_open.then_some(&mut arrivals),
    }
    .run_on(AnySsd::new(&p, &seed, "ssd/0").unwrap());
    let mut completions = Fnv::default();
    for (service, stages) in &out.services {
        completions.add(&format!("{service:?} {stages:?}"));
    }
    let mut report = Fnv::default();
    report.add(&format!(
        "{:?} {:?} {:?}",
        out.report,
        out.stuck.is_some(),
        out.end
    ));
    let done = out.services.len();
    format!("{case} {done} {:016x} {:016x}", completions.0, report.0)
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[test]
fn random_ssds_do_what_they_did_when_they_were_recorded() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let seen: Vec<String> = (0..CASES).map(outcome).collect();
    if std::env::var_os("UPDATE_RECORDED").is_some() {
        std::fs::write(&path, seen.join("\n") + "\n").unwrap();
        return;
    }
    let recorded = std::fs::read_to_string(&path).unwrap();
    let differ = seen.iter().zip(recorded.lines()).filter(|(a, b)| a != b);
    let differ: Vec<_> = differ.collect();
    assert!(differ.is_empty(), "{} cases: {differ:#?}", differ.len());
    assert_eq!(seen.len(), recorded.lines().count());
}
