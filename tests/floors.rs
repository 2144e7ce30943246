//! Which crate may use which: those on the floors below its own, as `docs/src/architecture.md` has them.

use std::fs;
use std::path::Path;

/// The floors, the lowest first; a crate uses only those above it in this list.
const FLOORS: [&[&str]; 7] = [
    &["manual", "units", "linux", "analytic", "serve"],
    &["stats", "trace", "plot", "guard", "device"],
    &["sim-core", "analysis", "replay", "recorder", "arrow"],
    &[
        "disk-model",
        "ssd-model",
        "raid",
        "workload",
        "report",
        "hosts",
    ],
    &["scenario"],
    &["study", "bench"],
    &["cli"],
];

fn floor_of(name: &str) -> usize {
    FLOORS
        .iter()
        .position(|floor| floor.contains(&name))
        .unwrap_or_else(|| {
            panic!("'{name}' is on no floor: give it one, here and in architecture.md")
        })
}

#[test]
fn each_crate_uses_only_those_on_floors_below_its_own() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let mut seen = 0;
    for folder in fs::read_dir(crates).unwrap() {
        let folder = folder.unwrap();
        let name = folder.file_name().into_string().unwrap();
        let manifest = fs::read_to_string(folder.path().join("Cargo.toml")).unwrap();
        let (_, rest) = manifest.split_once("[dependencies]").unwrap();
        let dependencies = rest.split("\n[").next().unwrap();
        let own = floor_of(&name);
        for line in dependencies.lines() {
            let Some(used) = line.strip_prefix("iosonar-") else {
                continue;
            };
            let used = used.split(['.', ' ']).next().unwrap();
            let floor = floor_of(used);
            assert!(
                floor < own,
                "{name} on floor {own} uses {used} on floor {floor}"
            );
            seen += 1;
        }
    }
    assert!(seen > 50, "the dependencies are written in another way");
}

#[test]
fn the_architecture_names_every_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("docs/src/architecture.md")).unwrap();
    for name in FLOORS.concat() {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}
