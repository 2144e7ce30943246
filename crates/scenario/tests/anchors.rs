//! The simulations against reference numbers that were computed independently: closed forms and
//! quadrature (standard error 0), and another event simulation. Each row names its line in the
//! collection of reference numbers.
//!
//! A row agrees if our mean is within 3 combined standard errors, ours from ten replications.
//! With so many rows a perfect simulator fails a few: at most 2 % (rounded up) may, none beyond 5,
//! and the sum of squared deviations must be what chance gives. The seeds are 1, 2, ... in the order of
//! the rows, fixed beforehand: with one seed all rows would share their arrivals, and err together.

use std::path::Path;

use iosonar_scenario::{Overrides, Simulation, SimulationResult};

const FCFS: &str = "fcfs";
const RPO: &str = "rpo";

struct Row {
    line: u32,
    array: String,
    op: &'static str,
    per_s: f64,
    size: String,
    scheduler: &'static str,
    /// More lines of `[load]`.
    load: &'static str,
    /// More lines of `[disk]`.
    disk: &'static str,
    mean_ms: f64,
    stderr: f64,
}

impl Row {
    /// At each arrival a geometric number of requests, three on average.
    fn in_batches(self) -> Self {
        Self {
            load: "batch = { geometric_mean = 3.0 }",
            ..self
        }
    }

    /// Another choice for the disks.
    fn with_disk(self, disk: &'static str) -> Self {
        Self { disk, ..self }
    }
}

#[allow(clippy::too_many_arguments)]
fn row(
    line: u32,
    array: String,
    op: &'static str,
    per_s: f64,
    size: String,
    scheduler: &'static str,
    mean_ms: f64,
    stderr: f64,
) -> Row {
    Row {
        line,
        array,
        op,
        per_s,
        size,
        scheduler,
        load: "",
        disk: "",
        mean_ms,
        stderr,
    }
}

fn raid0(disks: u32) -> String {
    format!("level = 'raid0'\ndisks = {disks}")
}

fn raid01(disks: u32, mirror_read: &str) -> String {
    format!("level = 'raid01'\ndisks = {disks}\nmirror_read = '{mirror_read}'")
}

fn raid5(disks: u32, write_start: &str) -> String {
    format!("level = 'raid5'\ndisks = {disks}\nwrite_start = '{write_start}'")
}

fn raid5_with(disks: u32, options: &str) -> String {
    format!("level = 'raid5'\ndisks = {disks}\n{options}")
}

fn blocks(n: u32) -> String {
    format!("{{ blocks = {n} }}")
}

fn geometric(mean: f64) -> String {
    format!("{{ geometric_mean_blocks = {mean:?} }}")
}

fn simulate(row: &Row, seed: usize, arrivals: &str, requests: u32) -> SimulationResult {
    let read_share = f64::from(u8::from(row.op == "read"));
    let text = format!(
        "seed = {seed}\nreplications = 10\nwarmup_requests = {}\n\
         [load]\nrequests = {requests}\narrivals = {{ {arrivals} = {:?} }}\nsize = {}\nread_share = {read_share:?}\n{}\n\
         [array]\n{}\n[disk]\nprofile = 'seagate-st3500630ns'\nscheduler = '{}'\n{}\n",
        requests / 10,
        row.per_s,
        row.size,
        row.load,
        row.array,
        row.scheduler,
        row.disk
    );
    Simulation::from_toml(&text, Path::new("row.toml"), &Overrides::default())
        .unwrap()
        .run(2, None)
        .unwrap()
}

/// How many combined standard errors we are off.
fn deviation(row: &Row, result: &SimulationResult) -> f64 {
    let ours = result.mean_ms;
    (ours.mean - row.mean_ms) / ours.stderr.hypot(row.stderr)
}

fn assert_agreement(rows: &[Row], arrivals: &str, requests: u32) {
    let deviations: Vec<f64> = rows
        .iter()
        .zip(1..)
        .map(|(row, seed)| {
            let result = simulate(row, seed, arrivals, requests);
            let off = deviation(row, &result);
            println!(
                "line {}: {:.4} ({:.4}) against {:.4} ({:.4}): {off:+.2}",
                row.line, result.mean_ms.mean, result.mean_ms.stderr, row.mean_ms, row.stderr
            );
            off
        })
        .collect();
    let beyond = |limit: f64| deviations.iter().filter(|d| d.abs() > limit).count();
    let allowed = (rows.len() as f64 * 0.02).ceil() as usize;
    assert!(
        beyond(3.0) <= allowed,
        "{} rows beyond 3 standard errors",
        beyond(3.0)
    );
    assert_eq!(beyond(5.0), 0, "rows beyond 5 standard errors");
    // The square of a t variable of nine degrees of freedom has mean 9/7 and variance 5.3; 3.3 of
    // the sum's standard deviations are the 99.9 % range.
    let n = rows.len() as f64;
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let limit = n * 9.0 / 7.0 + 3.3 * (5.3 * n).sqrt();
    assert!(squares < limit, "sum of squares {squares} over {limit}");
}

/// One disk under Poisson arrivals is an M/G/1 queue.
#[test]
fn pollaczek_khinchine_holds_at_every_load() {
    let row = |line, op, per_s, mean| row(line, raid0(1), op, per_s, blocks(1), FCFS, mean, 0.0);
    let rows = [
        row(325, "read", 6.447_212_969_447_2, 16.439_514_346),
        row(330, "read", 19.341_638_908_341_6, 19.093_618_036),
        row(335, "read", 32.236_064_847_236, 23.871_004_678),
        row(344, "read", 45.130_490_786_130_4, 35.018_240_174),
        row(353, "read", 58.024_916_725_024_81, 90.754_417_658),
        row(0, "write", 6.199_511_414_941_148, 17.095_553_816),
        row(0, "write", 18.598_534_244_823_443, 19.853_412_171),
        row(0, "write", 30.997_557_074_705_737, 24.817_557_211),
        row(0, "write", 43.396_579_904_588_03, 36.400_562_305),
        row(0, "write", 55.795_602_734_470_33, 94.315_587_773),
    ];
    assert_agreement(&rows, "poisson_per_s", 100_000);
}

/// A request every ten seconds: no queueing, only forks, joins and the positioning table.
#[test]
fn without_queueing_requests_take_what_the_joins_say() {
    let read = |b, mean| {
        row(
            0,
            raid5(4, "after-parity"),
            "read",
            0.1,
            blocks(b),
            FCFS,
            mean,
            0.0,
        )
    };
    let write = |n, b, mean, stderr| {
        row(
            0,
            raid5(n, "array-first"),
            "write",
            0.1,
            blocks(b),
            FCFS,
            mean,
            stderr,
        )
    };
    let rows = [
        read(1, 15.5106),
        read(3, 19.2031),
        read(4, 25.5398),
        read(5, 31.974),
        read(7, 38.8541),
        read(8, 42.1213),
        read(10, 50.8327),
        write(4, 1, 28.391_53, 0.0025),
        write(4, 2, 35.456_67, 0.0038),
        write(4, 3, 20.746_84, 0.0),
        write(4, 4, 45.583_88, 0.0036),
        write(4, 5, 39.939_62, 0.0046),
        write(4, 6, 38.781_15, 0.0),
        write(5, 2, 37.924_97, 0.0033),
        write(6, 1, 28.391_53, 0.0025),
        write(6, 3, 38.732_33, 0.0032),
        write(6, 6, 45.574_70, 0.0036),
        write(6, 8, 43.917_84, 0.0037),
    ];
    assert_agreement(&rows, "constant_per_s", 50_000);
}

/// The paper's figures 8 to 10 and neighbours of them, by another event simulation.
#[rustfmt::skip]
#[test]
fn the_arrays_of_the_paper_respond_as_another_simulator_says() {
    let rows = [
        row(1090, raid5(4, "after-parity"), "read", 10.0, blocks(1), FCFS, 15.84867, 0.00359),
        row(1097, raid5(4, "after-parity"), "read", 10.0, blocks(3), FCFS, 20.73706, 0.00743),
        row(1104, raid5(4, "after-parity"), "read", 10.0, blocks(4), FCFS, 28.30536, 0.01787),
        row(1111, raid5(4, "after-parity"), "read", 10.0, blocks(5), FCFS, 35.87051, 0.00870),
        row(1118, raid5(4, "after-parity"), "read", 10.0, blocks(6), FCFS, 39.82877, 0.01752),
        row(1125, raid5(4, "after-parity"), "read", 10.0, blocks(8), FCFS, 52.09266, 0.02981),
        row(1132, raid5(4, "after-parity"), "read", 10.0, blocks(10), FCFS, 67.09431, 0.03904),
        row(1139, raid5(4, "array-first"), "write", 10.0, blocks(1), FCFS, 35.82655, 0.02881),
        row(1154, raid5(4, "array-first"), "write", 10.0, blocks(2), FCFS, 38.44118, 0.00527),
        row(1167, raid5(4, "array-first"), "write", 10.0, blocks(3), FCFS, 22.77302, 0.01006),
        row(1178, raid5(4, "array-first"), "write", 10.0, blocks(4), FCFS, 67.48178, 0.03508),
        row(1193, raid5(4, "array-first"), "write", 10.0, blocks(5), FCFS, 56.48034, 0.04591),
        row(1208, raid5(4, "array-first"), "write", 10.0, blocks(6), FCFS, 48.10040, 0.02029),
        row(1219, raid5(4, "array-first"), "write", 10.0, blocks(9), FCFS, 83.04071, 0.10630),
        row(1230, raid5(4, "array-first"), "write", 20.0, geometric(4.0), FCFS, 83.55046, 0.19149),
        row(1249, raid5(4, "after-parity"), "write", 10.0, blocks(1), FCFS, 33.48832, 0.01460),
        row(1264, raid5(4, "after-parity"), "write", 10.0, blocks(2), FCFS, 39.10348, 0.01590),
        row(1277, raid5(4, "after-parity"), "write", 10.0, blocks(3), FCFS, 22.78332, 0.00759),
        row(1288, raid5(4, "after-parity"), "write", 10.0, blocks(4), FCFS, 62.07439, 0.04915),
        row(1303, raid5(4, "after-parity"), "write", 10.0, blocks(5), FCFS, 56.83526, 0.03747),
        row(1318, raid5(4, "after-parity"), "write", 10.0, blocks(6), FCFS, 48.08215, 0.03952),
        row(1329, raid5(4, "after-parity"), "write", 10.0, blocks(9), FCFS, 82.84083, 0.10094),
        row(1340, raid5(4, "after-parity"), "write", 20.0, geometric(4.0), FCFS, 76.61925, 0.13090),
        row(1359, raid5(4, "after-parity"), "read", 10.0, geometric(5.0), FCFS, 35.90693, 0.01749),
        row(1898, raid5(4, "after-parity"), "read", 2.0, blocks(3), FCFS, 19.47913, 0.00368),
        row(1905, raid5(4, "array-first"), "write", 2.0, blocks(1), FCFS, 29.67750, 0.00819),
        row(1920, raid5(4, "array-first"), "write", 2.0, blocks(2), FCFS, 35.98717, 0.00640),
        row(1933, raid5(4, "array-first"), "write", 2.0, blocks(5), FCFS, 43.02577, 0.00873),
        row(1955, raid5(4, "after-parity"), "read", 20.0, blocks(3), FCFS, 22.79934, 0.01148),
        row(1962, raid5(6, "after-parity"), "read", 10.0, blocks(1), FCFS, 15.73210, 0.00357),
        row(1969, raid5(6, "array-first"), "write", 10.0, blocks(1), FCFS, 35.24907, 0.01736),
        row(1986, raid5(6, "after-parity"), "write", 10.0, blocks(1), FCFS, 31.66923, 0.01112),
        row(2003, raid5(6, "after-parity"), "read", 10.0, blocks(5), FCFS, 22.28450, 0.00797),
        row(2010, raid5(6, "array-first"), "write", 10.0, blocks(5), FCFS, 23.88021, 0.00642),
        row(2023, raid5(6, "after-parity"), "write", 10.0, blocks(5), FCFS, 23.86608, 0.00856),
        row(2043, raid0(4), "read", 10.0, blocks(4), FCFS, 21.84256, 0.00580),
        row(2057, raid0(4), "read", 30.0, blocks(4), FCFS, 28.97025, 0.04359),
        row(2085, raid0(4), "read", 20.0, blocks(1), FCFS, 16.21564, 0.00678),
        row(2092, raid0(4), "read", 20.0, blocks(2), FCFS, 20.05017, 0.00953),
        row(2099, raid0(1), "read", 50.0, blocks(1), RPO, 27.71592, 0.01330),
        row(2106, raid0(1), "read", 100.0, blocks(1), RPO, 75.10074, 0.18536),
    ];
    assert_agreement(&rows, "poisson_per_s", 50_000);
}

/// The paper's figures 4 to 7 and neighbours of them, and the other ways to read a mirror.
#[rustfmt::skip]
#[test]
fn mirrors_of_stripes_respond_as_another_simulator_says() {
    let rows = [
        row(999, raid01(4, "halves"), "read", 10.0, blocks(1), FCFS, 15.85060, 0.00437),
        row(1006, raid01(4, "halves"), "read", 10.0, blocks(2), FCFS, 18.75555, 0.00491),
        row(1013, raid01(4, "halves"), "read", 10.0, blocks(4), FCFS, 21.83467, 0.00622),
        row(1020, raid01(4, "halves"), "read", 10.0, blocks(8), FCFS, 45.79299, 0.02464),
        row(1027, raid01(4, "halves"), "write", 10.0, blocks(1), FCFS, 19.52522, 0.00461),
        row(1034, raid01(4, "halves"), "write", 10.0, blocks(2), FCFS, 22.76921, 0.00931),
        row(1041, raid01(4, "halves"), "write", 10.0, blocks(4), FCFS, 48.09798, 0.02828),
        row(1048, raid01(4, "halves"), "read", 10.0, geometric(4.0), FCFS, 28.65069, 0.01919),
        row(1055, raid01(4, "halves"), "write", 10.0, geometric(2.0), FCFS, 28.40474, 0.02245),
        row(1062, raid01(4, "halves"), "read", 10.0, blocks(4), FCFS, 92.92931, 0.36970).in_batches(),
        row(1069, raid01(4, "halves"), "read", 10.0 / 3.0, blocks(4), FCFS, 61.91108, 0.08743).in_batches(),
        row(1076, raid01(4, "halves"), "read", 60.0, blocks(4), FCFS, 164.54309, 1.02893),
        row(1083, raid01(4, "halves"), "read", 60.0, blocks(4), RPO, 39.57770, 0.03572),
        row(1366, raid01(4, "round-robin"), "read", 10.0, blocks(2), FCFS, 18.91717, 0.00811),
        row(1373, raid01(4, "round-robin"), "read", 10.0, blocks(4), FCFS, 21.83995, 0.00443),
        row(1380, raid01(4, "round-robin"), "read", 10.0, geometric(4.0), FCFS, 28.66099, 0.02292),
        row(1387, raid01(4, "alternating-rows"), "read", 10.0, blocks(2), FCFS, 18.76823, 0.00367),
        row(1394, raid01(4, "alternating-rows"), "read", 10.0, blocks(4), FCFS, 21.84219, 0.00500),
        row(1401, raid01(4, "alternating-rows"), "read", 10.0, geometric(4.0), FCFS, 28.60666, 0.02335),
        row(1408, raid01(4, "random-per-block"), "read", 10.0, blocks(2), FCFS, 18.93250, 0.00599),
        row(1415, raid01(4, "random-per-block"), "read", 10.0, blocks(4), FCFS, 32.38594, 0.01700),
        row(1422, raid01(4, "random-per-block"), "read", 10.0, geometric(4.0), FCFS, 34.30099, 0.03168),
        row(1891, raid01(4, "halves"), "read", 2.0, blocks(4), FCFS, 20.30300, 0.00358),
        row(1948, raid01(4, "halves"), "read", 20.0, blocks(4), FCFS, 24.57001, 0.01470),
        row(2036, raid01(6, "halves"), "read", 10.0, blocks(6), FCFS, 22.89126, 0.00693),
    ];
    assert_agreement(&rows, "poisson_per_s", 50_000);
}

/// Where the paper leaves a choice, each of the others.
#[rustfmt::skip]
#[test]
fn every_other_choice_responds_as_another_simulator_says() {
    let rows = [
        row(1443, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, blocks(2), FCFS, 18.97345, 0.00508),
        row(1450, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, blocks(3), FCFS, 20.73200, 0.00634),
        row(1457, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, blocks(4), FCFS, 31.24314, 0.01053),
        row(1464, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, blocks(5), FCFS, 37.04138, 0.01743),
        row(1471, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, blocks(8), FCFS, 54.91257, 0.03036),
        row(1478, raid5_with(4, "read_layout = 'restart'"), "read", 10.0, geometric(5.0), FCFS, 36.48340, 0.03248),
        row(1485, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, blocks(2), FCFS, 18.94625, 0.00481),
        row(1492, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, blocks(3), FCFS, 22.40661, 0.00813),
        row(1499, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, blocks(4), FCFS, 29.33662, 0.01475),
        row(1506, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, blocks(5), FCFS, 36.53334, 0.01887),
        row(1513, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, blocks(8), FCFS, 53.11672, 0.04152),
        row(1520, raid5_with(4, "read_layout = 'wrap'"), "read", 10.0, geometric(5.0), FCFS, 36.52444, 0.03396),
        row(1527, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, blocks(2), FCFS, 18.93277, 0.00445),
        row(1534, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, blocks(3), FCFS, 20.73696, 0.00408),
        row(1541, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, blocks(4), FCFS, 21.84538, 0.00602),
        row(1548, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, blocks(5), FCFS, 34.69320, 0.01267),
        row(1555, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, blocks(8), FCFS, 45.82380, 0.02321),
        row(1562, raid5_with(4, "placement = 'addressed'\nlayout = 'left-symmetric'"), "read", 10.0, geometric(5.0), FCFS, 34.54633, 0.03244),
        row(1569, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, blocks(2), FCFS, 18.96801, 0.00638),
        row(1576, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, blocks(3), FCFS, 20.73173, 0.00487),
        row(1583, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, blocks(4), FCFS, 28.27121, 0.01045),
        row(1590, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, blocks(5), FCFS, 35.51779, 0.00424),
        row(1597, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, blocks(8), FCFS, 52.01770, 0.02565),
        row(1604, raid5_with(4, "placement = 'addressed'\nlayout = 'left-asymmetric'"), "read", 10.0, geometric(5.0), FCFS, 35.68963, 0.04114),
        row(1611, raid5_with(4, "write_start = 'random'"), "write", 10.0, blocks(1), FCFS, 33.63904, 0.01596),
        row(1626, raid5_with(4, "write_start = 'random'"), "write", 10.0, blocks(2), FCFS, 39.10989, 0.00991),
        row(1639, raid5_with(4, "write_start = 'random'"), "write", 10.0, blocks(4), FCFS, 62.50293, 0.03753),
        row(1654, raid5_with(4, "write_start = 'random'"), "write", 10.0, blocks(5), FCFS, 56.89178, 0.04305),
        row(1699, raid5_with(4, "write_start = 'array-first'\npreread_seek = 'write'"), "write", 10.0, blocks(1), FCFS, 36.90180, 0.02727),
        row(1714, raid5_with(4, "write_start = 'array-first'\njoin = 'disk-first'"), "write", 10.0, blocks(1), FCFS, 39.25940, 0.02522),
        row(1729, raid5_with(4, "write_start = 'array-first'\npreread_seek = 'write'"), "write", 10.0, blocks(2), FCFS, 39.15238, 0.01268),
        row(1742, raid5_with(4, "write_start = 'array-first'\njoin = 'disk-first'"), "write", 10.0, blocks(2), FCFS, 38.47152, 0.01086),
        row(1755, raid5_with(4, "write_start = 'array-first'\npreread_seek = 'write'"), "write", 10.0, blocks(4), FCFS, 68.83288, 0.05414),
        row(1770, raid5_with(4, "write_start = 'array-first'\njoin = 'disk-first'"), "write", 10.0, blocks(4), FCFS, 75.76929, 0.07601),
        row(1785, raid5_with(4, "write_start = 'array-first'\npreread_seek = 'write'"), "write", 10.0, blocks(5), FCFS, 57.37386, 0.03080),
        row(1800, raid5_with(4, "write_start = 'array-first'\njoin = 'disk-first'"), "write", 10.0, blocks(5), FCFS, 56.53610, 0.03289),
        row(1815, raid5_with(4, "write_start = 'random'"), "write", 20.0, geometric(4.0), FCFS, 76.83501, 0.12559),
        row(1853, raid5_with(4, "write_start = 'array-first'\npreread_seek = 'write'"), "write", 20.0, geometric(4.0), FCFS, 85.01930, 0.32702),
        row(1872, raid5_with(4, "write_start = 'array-first'\njoin = 'disk-first'"), "write", 20.0, geometric(4.0), FCFS, 93.64361, 0.33920),
        row(1429, raid01(4, "halves"), "read", 60.0, blocks(4), RPO, 46.12342, 0.07681).with_disk("rpo_count = 'excluding'"),
        row(1436, raid01(4, "halves"), "read", 60.0, blocks(4), RPO, 39.52896, 0.03526).with_disk("rpo_most = 32"),
    ];
    assert_agreement(&rows, "poisson_per_s", 50_000);
}

/// Exact to 2e-3 relative (an embedded Markov chain on a grid).
#[test]
fn rpo_on_one_disk_responds_as_the_embedded_chain_says() {
    let row = |op, per_s, mean: f64| row(0, raid0(1), op, per_s, blocks(1), RPO, mean, 2e-3 * mean);
    let rows = [
        row("read", 30.0, 21.0502),
        row("read", 50.0, 27.7397),
        row("read", 100.0, 75.3823),
        row("write", 30.0, 22.2199),
        row("write", 50.0, 29.7988),
        row("write", 100.0, 87.5770),
    ];
    assert_agreement(&rows, "poisson_per_s", 50_000);
}
