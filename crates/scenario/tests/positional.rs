//! The positional disk against the sampled one: without skews and head switches, under uniformly random
//! requests, both have the same mean service time.

use std::path::{Path, PathBuf};

use iosonar_scenario::{Overrides, Prepared, SimulationResult};

/// The paper's drive with these times for head switches and skews, in a folder of its own.
fn drive(name: &str, switch_ms: f64) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("iosonar-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let profile = format!(
        "description = 'x'\ncylinders = 60801\nrevolution_ms = 8.33\ncapacity_sectors = 976773168\n\
         [transfer]\noutermost_ms_per_sector = 0.005976\ninnermost_ms_per_sector = 0.012064\n\
         [seek.read]\ntrack_to_track_ms = 0.8\nfull_stroke_ms = 17.0\n\
         [seek.write]\ntrack_to_track_ms = 1.0\nfull_stroke_ms = 18.0\n\
         [geometry]\nsurfaces = 16\nhead_switch_ms = {switch_ms:?}\n\
         cylinder_switch_ms = {switch_ms:?}\ntrack_skew_ms = {switch_ms:?}\n\
         cylinder_skew_ms = {switch_ms:?}\n"
    );
    std::fs::write(dir.join("drive.toml"), profile).unwrap();
    dir
}

fn run(dir: &Path, arrivals: &str, disk: &str, seed: u32) -> SimulationResult {
    let text = format!(
        "seed = {seed}\nreplications = 20\nwarmup_requests = 5000\n[load]\nrequests = 100000\n\
         arrivals = {{ {arrivals} }}\nsize = {{ blocks = 1 }}\n[array]\nlevel = 'raid0'\ndisks = 1\n\
         [disk]\nprofile = 'drive.toml'\n{disk}\n"
    );
    let path = dir.join("x.toml");
    let simulation = Prepared::from_toml(&text, &path, &Overrides::default()).unwrap();
    simulation.run(2, None).unwrap()
}

#[test]
fn both_models_have_the_same_service_and_the_arm_makes_the_queue_longer() {
    let dir = drive("positional", 0.0);
    let positional = "model = 'positional'";
    // Without queueing: mean 15.510578 ms within 0.1 %; the variance is that of transfers at the target
    // of the seek, 18.772068 + 0.449 ms^2.
    let alone = run(&dir, "constant_per_s = 1.0", positional, 1);
    let ratio = alone.mean_ms.mean / 15.510_578;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
    let variance = alone.sd_ms.mean.powi(2);
    assert!(
        (variance / (18.772_068 + 0.449) - 1.0).abs() < 5e-3,
        "{variance}"
    );
    // At utilisation 0.7 successive seeks are not independent: 35.186 (0.012), sampled 35.018 ms.
    let rate = "poisson_per_s = 45.1304907861304";
    let loaded = run(&dir, rate, positional, 2);
    let off = (loaded.mean_ms.mean - 35.186) / loaded.mean_ms.stderr.hypot(0.012);
    assert!(
        off.abs() < 3.0,
        "{:?}: {off} standard errors",
        loaded.mean_ms
    );
    let sampled = run(&dir, rate, "", 3);
    let off = (sampled.mean_ms.mean - 35.018_240) / sampled.mean_ms.stderr;
    assert!(
        off.abs() < 3.5,
        "{:?}: {off} standard errors",
        sampled.mean_ms
    );
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn with_real_skews_a_quarter_of_the_blocks_crosses_a_track() {
    let dir = drive("skews", 0.8);
    let alone = run(&dir, "constant_per_s = 1.0", "model = 'positional'", 1);
    // 256 of 1042 sectors on average: a quarter of the blocks waits 0.8 ms more, once.
    let excess = alone.mean_ms.mean - 15.510_578;
    assert!((0.18..0.24).contains(&excess), "{excess}");
    std::fs::remove_dir_all(&dir).unwrap();
}

#[test]
fn schedulers_rank_as_they_should_in_an_array_too() {
    let dir = drive("schedulers", 0.8);
    let of = |scheduler: &str| {
        let disk = format!("model = 'positional'\nscheduler = '{scheduler}'\nqueue_depth = 32");
        run(&dir, "poisson_per_s = 60.0", &disk, 1).mean_ms.mean
    };
    let (fcfs, sstf, look, c_look, sptf) =
        (of("fcfs"), of("sstf"), of("look"), of("c-look"), of("sptf"));
    assert!(
        sptf < sstf && sstf < fcfs && look < fcfs && c_look < fcfs,
        "{fcfs} {sstf} {look} {c_look} {sptf}"
    );
    std::fs::remove_dir_all(&dir).unwrap();
}
