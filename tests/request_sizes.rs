//! Sizes of requests that follow a law, or are those of a recording.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, hash, iosonar, out, sim};

const REQUESTS: u32 = 40_000;

fn scenario(size: &str) -> String {
    format!(
        "seed = 3\n[load]\nrequests = {REQUESTS}\nrate_per_s = 20\nread_share = 0.5\nsize = {size}\n\
         [array]\nlevel = 'raid0'\ndisks = 8\n[disk]\nprofile = 'seagate-st3500630ns'\n"
    )
}

/// The sizes of the reads and of the writes of a simulation, in KiB.
fn sizes(scratch: &Scratch, scenario: &Path) -> [Vec<f64>; 2] {
    let records = scratch.path("records.csv");
    let run = sim(scenario, &["-q", "--records", records.to_str().unwrap()]);
    assert!(run.status.success(), "{}", err(&run));
    let text = std::fs::read_to_string(&records).unwrap();
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let names: Vec<&str> = lines.next().unwrap().split(',').collect();
    let column = |name: &str| names.iter().position(|of| *of == name).unwrap();
    let (sectors, op) = (column("sectors"), column("op"));
    let mut sizes = [Vec::new(), Vec::new()];
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let kib = fields[sectors].parse::<f64>().unwrap() / 2.0;
        sizes[usize::from(fields[op] != "read")].push(kib);
    }
    sizes
}

/// The share of the sizes that are at most `kib`, and its standard error.
fn share(sizes: &[f64], kib: f64) -> (f64, f64) {
    let n = sizes.len() as f64;
    let share = sizes.iter().filter(|size| **size <= kib).count() as f64 / n;
    (share, (share * (1.0 - share) / n).sqrt())
}

#[test]
fn sizes_follow_the_law_rounded_up_to_blocks() {
    let scratch = Scratch::new();
    // Sizes in KiB with the probability of at most that size, from scipy.stats 1.17.1. Rounding does not move multiples of a
    // block.
    for (size, shares) in [
        (
            "{ log_normal = { mean = '64KiB', cv = 1.5 } }",
            [(4.0, 0.022_163), (64.0, 0.706_376), (256.0, 0.965_601)],
        ),
        (
            "{ gamma = { mean = '64KiB', cv = 0.5 } }",
            [(16.0, 0.018_988), (64.0, 0.566_530), (1024.0, 1.0)],
        ),
        (
            "{ weibull = { mean = '64KiB', shape = 0.7 } }",
            [(16.0, 0.360_398), (64.0, 0.692_537), (4096.0, 1.0)],
        ),
        (
            "{ pareto = { mean = '64KiB', shape = 1.5, at_least = '16KiB', at_most = '1MiB' } }",
            // Of sizes from 25.205 KiB on, of which those up to 1 MiB have the mean.
            [(32.0, 0.302_103), (64.0, 0.755_762), (128.0, 0.916_155)],
        ),
        (
            "{ gamma = { mean = '64KiB', cv = 0.5, at_most = '1GiB' } }",
            [(16.0, 0.018_988), (64.0, 0.566_530), (1024.0, 1.0)],
        ),
        (
            "{ gamma = { mean = '64KiB', cv = 0.5, at_least = 1 } }",
            [(16.0, 0.018_988), (64.0, 0.566_530), (1024.0, 1.0)],
        ),
    ] {
        let scenario = scratch.file("s.toml", scenario(size));
        let all = sizes(&scratch, &scenario).concat();
        assert!(
            all.iter().all(|kib| kib % 4.0 == 0.0 && *kib > 0.0),
            "{size}"
        );
        for (kib, exact) in shares {
            let (share, stderr) = share(&all, kib);
            assert!(
                (share - exact).abs() <= 4.0 * stderr + 1e-6,
                "{size}: {share} up to {kib} KiB, {exact}"
            );
        }
        let explained = out(&sim(&scenario, &["--explain"]));
        let line = explained
            .lines()
            .find(|line| line.starts_with("size = "))
            .unwrap();
        let (_, comment) = line.split_once("# ").unwrap();
        let blocks: f64 = comment.split(' ').next().unwrap().parse().unwrap();
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|kib| (kib - mean).powi(2)).sum::<f64>() / n;
        let off = mean - 4.0 * blocks;
        assert!(
            off.abs() <= 4.0 * (variance / n).sqrt(),
            "{size}: {mean}, {line}"
        );
        // It means the same again.
        let again = scratch.file("again.toml", &explained);
        assert_eq!(
            hash(&sim(&again, &[])),
            hash(&sim(&scenario, &[])),
            "{explained}"
        );
    }
}

#[test]
fn sizes_of_a_recording_come_as_often_as_there_of_reads_and_of_writes() {
    let scratch = Scratch::new();
    // Three reads of 4 KiB to one of 64 KiB; writes of 10 KiB, which take three blocks.
    let rows: String = (0..400)
        .map(|i| match i % 8 {
            0 | 2 | 4 => format!("{i} ; 0 ; 8 ; R\n"),
            6 => format!("{i} ; 0 ; 128 ; R\n"),
            _ => format!("{i} ; 0 ; 20 ; W\n"),
        })
        .collect();
    scratch.file("x.load", rows);
    let of_trace = "{ empirical = { trace = 'x.load' } }";
    let each = format!("{{ read = {of_trace}, write = {of_trace} }}");
    let scenario_of_each = scratch.file("each.toml", scenario(&each));
    let [reads, writes] = sizes(&scratch, &scenario_of_each);
    let (small, stderr) = share(&reads, 4.0);
    assert!((small - 0.75).abs() < 4.0 * stderr, "{small}");
    assert!(reads.iter().all(|kib| [4.0, 64.0].contains(kib)));
    assert!(writes.iter().all(|kib| *kib == 12.0));
    // Together each has the sizes of both.
    let together = scratch.file("all.toml", scenario(of_trace));
    let [reads, _] = sizes(&scratch, &together);
    let (small, stderr) = share(&reads, 4.0);
    assert!((small - 0.375).abs() < 4.0 * stderr, "{small}");
    let explained = scratch.file("again.toml", out(&sim(&scenario_of_each, &["--explain"])));
    assert_eq!(
        hash(&sim(&explained, &[])),
        hash(&sim(&scenario_of_each, &[]))
    );

    // The recording is found from the folders of a sweep, and never overwritten.
    let study = scratch.file(
        "study.toml",
        "scenario = 'each.toml'\n[vary]\narray.disks = [8]\n",
    );
    let sweep = iosonar().arg("sweep").arg(study).output().unwrap();
    assert!(sweep.status.success(), "{}", err(&sweep));
    let records = scratch.path("x.load");
    let run = sim(&scenario_of_each, &["--records", records.to_str().unwrap()]);
    assert!(
        !run.status.success() && err(&run).contains("E010"),
        "{}",
        err(&run)
    );
}

#[test]
fn sizes_that_cannot_be_are_refused_with_what_to_write_instead() {
    let scratch = Scratch::new();
    scratch.file("reads.load", "0 ; 0 ; 8 ; R\n1 ; 0 ; 8 ; R\n");
    for (size, complaint) in [
        (
            "{ log_normal = { mean = '64KiB', cv = 0.0 } }",
            "0.01 to 100",
        ),
        (
            "{ pareto = { mean = '64KiB', shape = 1.0 } }",
            "1.05 to 100",
        ),
        (
            "{ gamma = { mean = '64KiB', cv = 1.0, at_least = '1MiB', at_most = '2MiB' } }",
            "for sizes from 1 MiB to 2 MiB, expected a different mean",
        ),
        (
            "{ gamma = { mean = '64KiB', cv = 1.0, at_least = '1MiB', at_most = '4KiB' } }",
            "at_least no greater than at_most",
        ),
        ("{ pareto = { mean = '1GiB', shape = 1.1 } }", "set at_most"),
        // Few requests are so large, but they would have much of the data.
        (
            "{ pareto = { mean = '64KiB', shape = 1.05 } }",
            "of the data lie beyond the limit of",
        ),
        ("{ gamma = { mean = 'big', cv = 1.0 } }", "'big'"),
        ("{ gamma = { mean = '64KiB', shape = 1.0 } }", "shape"),
        (
            "{ read = '4KiB', write = { empirical = { trace = 'reads.load' } } }",
            "no writes with data",
        ),
        ("{ empirical = { trace = 'none.load' } }", "none.load"),
        (
            "{ gamma = { mean = '64KiB', cv = 1.0 }, blocks = 3 }",
            "more than one distribution",
        ),
    ] {
        let scenario = scratch.file("s.toml", scenario(size));
        let run = sim(&scenario, &[]);
        assert!(!run.status.success(), "{size}");
        assert!(err(&run).contains(complaint), "{size}: {}", err(&run));
    }
}
