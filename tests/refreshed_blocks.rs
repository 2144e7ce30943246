//! Blocks count as refreshed when they are, not when that is planned.

mod scratch;

use scratch::{Scratch, err, out, sim};
use serde_json::Value;

#[test]
fn no_more_blocks_are_refreshed_than_erased() {
    let scratch = Scratch::new();
    // All 21 full blocks are due each millisecond, in which a die copies and erases hardly one.
    let file = scratch.file(
        "a.toml",
        "[load]\nrequests = 500\narrivals = { poisson_per_s = 2000.0 }\nsize = { blocks = 1 }\n[ssd]\n\
         profile = \"nvme-gen4-tlc\"\n[ssd.flash]\nretention_h = 3e-7\nchannels = 1\ndies = 1\nplanes = 1\nblocks = 32\n\
         pages = 16\nover_provisioning = 0.52\n",
    );
    let printed = sim(&file, &["--json"]);
    assert!(printed.status.success(), "{}", err(&printed));
    let json: Value = serde_json::from_str(&out(&printed)).unwrap();
    let value = |name: &str, kind: Option<&str>| {
        let mut metrics = json["metrics"].as_array().unwrap().iter();
        let metric = metrics.find(|m| m["name"] == name && m["labels"]["kind"].as_str() == kind);
        metric.map_or(0.0, |metric| metric["value"].as_f64().unwrap())
    };
    let refreshed = value("refreshed_blocks", None);
    let erased = value("flash_operations", Some("erase"));
    assert!(
        refreshed > 0.0 && refreshed <= erased,
        "{refreshed} refreshed, {erased} erased"
    );
}
