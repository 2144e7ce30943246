//! The packages that each crate brings, as `cargo tree` lists them: few for the crates that are used alone, and none that
//! only a command line needs for the others.

mod scratch;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use scratch::packages;

/// Packages that only a command line needs.
const OF_A_COMMAND_LINE: [&str; 5] = [
    "anyhow",
    "clap",
    "clap_complete",
    "indicatif",
    "iosonar-cli",
];
/// The page with the table of crates.
const PAGE: &str = "docs/src/versions.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The packages that are compiled for a package of the workspace on this platform, its own included, each as
/// `name vVERSION`. `None`, with a message, if cargo cannot know them.
fn tree(package: &str, arguments: &[&str]) -> Option<BTreeSet<String>> {
    if !packages::are_here() {
        return None;
    }
    let mut command = Command::new(env!("CARGO"));
    command
        .current_dir(root())
        .args(["tree", "--offline", "--edges", "normal,build"])
        .args(["--prefix", "none", "--package", package])
        .args(arguments);
    let run = command.output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{package} {arguments:?}: {errors}");
    let name_and_version = |line: &str| line.splitn(3, ' ').take(2).collect::<Vec<_>>().join(" ");
    let packages: BTreeSet<String> = text.lines().map(name_and_version).collect();
    assert!(has(&packages, package), "{package}: {text}");
    Some(packages)
}

fn has(packages: &BTreeSet<String>, name: &str) -> bool {
    packages
        .iter()
        .any(|package| package.split(' ').next() == Some(name))
}

/// The names of the crates' packages, sorted.
fn crates() -> Vec<String> {
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let name = |folder: fs::DirEntry| format!("iosonar-{}", folder.file_name().display());
    let mut names: Vec<String> = folders.map(|folder| name(folder.unwrap())).collect();
    names.sort();
    names
}

/// Packages of an asynchronous runtime, which are nowhere near a measurement.
const OF_A_SERVER: [&str; 4] = ["tokio", "hyper", "mio", "iosonar-serve"];
/// The crates that may have them.
const WITH_A_SERVER: [&str; 2] = ["iosonar-serve", "iosonar-cli"];

/// Licences that ask for no more than to be named; others would be a decision.
const LICENCES: [&str; 11] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "Unlicense",
    "Zlib",
    "BSL-1.0",
    "Unicode-3.0",
    "bzip2-1.0.6",
];

/// Whether a licence, as a manifest has it, leaves the choice of one of those.
fn is_free(expression: &str) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], "");
    let mut parts = expression.split(" AND ");
    parts.all(|part| {
        let mut choices = part.split(" OR ").map(str::trim);
        choices.any(|of| LICENCES.contains(&of))
    })
}

#[test]
fn every_package_has_a_free_licence_and_comes_from_the_registry_as_it_was_reviewed() {
    assert!(is_free("(MIT OR GPL-2.0) AND Unicode-3.0") && is_free("MIT/Apache-2.0"));
    assert!(!is_free("GPL-3.0") && !is_free("MIT AND GPL-3.0") && !is_free(""));
    if !packages::are_here() {
        return;
    }
    let run = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{errors}");
    let metadata: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let (mut problems, mut foreign) = (Vec::new(), 0);
    for package in packages {
        let name = format!("{} {}", package["name"], package["version"]);
        // Those of the workspace have no source.
        let Some(source) = package["source"].as_str() else {
            continue;
        };
        foreign += 1;
        if source != "registry+https://github.com/rust-lang/crates.io-index" {
            problems.push(format!("{name} comes from {source}"));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_free(licence) {
            problems.push(format!("{name} has the licence {licence:?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
    assert!(foreign > 100, "{foreign}");
    // What is built is what was reviewed: the lock file has the hash of each.
    let lock = fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let sources = lock.matches("\nsource = ").count();
    assert!(sources >= foreign, "{sources} of {foreign}");
    assert_eq!(lock.matches("\nchecksum = ").count(), sources);
}

#[test]
fn no_crate_of_the_data_path_has_an_asynchronous_runtime() {
    for name in crates() {
        let Some(packages) = tree(&name, &["--all-features"]) else {
            return;
        };
        let found: Vec<&str> = OF_A_SERVER
            .into_iter()
            .filter(|of| has(&packages, of))
            .collect();
        let is_server = WITH_A_SERVER.contains(&name.as_str());
        // The list is of packages that there are.
        let wanted = match name.as_str() {
            "iosonar-serve" => OF_A_SERVER.len(),
            _ if is_server => found.len(),
            _ => 0,
        };
        assert_eq!(found.len(), wanted, "{name} depends on {found:?}");
    }
}

#[test]
fn the_crates_that_are_used_alone_bring_few_packages() {
    for (package, most) in [
        ("iosonar-units", 1),
        ("iosonar-sim-core", 10),
        ("iosonar-trace", 15),
    ] {
        let Some(packages) = tree(package, &[]) else {
            return;
        };
        let count = packages.len();
        assert!(count <= most, "{package}: {count} of {most}: {packages:#?}");
    }
}

#[test]
fn only_the_command_line_brings_what_a_command_line_needs() {
    let Some(packages) = tree("iosonar-cli", &[]) else {
        return;
    };
    for name in OF_A_COMMAND_LINE {
        assert!(has(&packages, name), "iosonar-cli does without {name} now");
    }
    let crates = crates();
    let without_features: [&[&str]; 8] = [
        &[],
        &["--features", "trace"],
        &["--features", "analysis"],
        &["--features", "plot"],
        &["--features", "replay"],
        &["--features", "sim"],
        &["--features", "theory"],
        &["--features", "study"],
    ];
    let facade = without_features
        .map(|features| ("iosonar", [&["--no-default-features"], features].concat()));
    let alone = crates
        .iter()
        .filter(|name| *name != "iosonar-cli")
        .map(|name| (name.as_str(), Vec::new()));
    for (package, arguments) in facade.into_iter().chain(alone) {
        let packages = tree(package, &arguments).unwrap();
        for name in OF_A_COMMAND_LINE {
            assert!(
                !has(&packages, name),
                "{package} {arguments:?} brings {name}"
            );
        }
    }
}

#[test]
fn the_page_lists_the_number_of_packages_of_each_crate() {
    let path = root().join(PAGE);
    let old = fs::read_to_string(&path).unwrap();
    let mut new = String::new();
    let mut missing: BTreeSet<String> = crates().into_iter().collect();
    for line in old.lines() {
        let cells: Vec<&str> = line.split('|').collect();
        match cells.as_slice() {
            ["", name, count, rest @ ..] if name.starts_with(" `iosonar") => {
                let written = name.trim().trim_matches('`');
                // The façade with some of its features: `iosonar --features sim`.
                let mut words = written.split(' ');
                let package = words.next().unwrap();
                let mut arguments: Vec<&str> = words.collect();
                if package == "iosonar" && !arguments.is_empty() {
                    arguments.insert(0, "--no-default-features");
                }
                let Some(packages) = tree(package, &arguments) else {
                    return;
                };
                missing.remove(package);
                new += &format!("|{name}| {} |{}\n", packages.len(), rest.join("|"));
                assert!(count.trim().parse::<usize>().is_ok(), "{line}");
            }
            _ => new += &format!("{line}\n"),
        }
    }
    assert!(missing.is_empty(), "{PAGE} has no row for {missing:?}");
    if std::env::var_os("UPDATE_MANUAL").is_some() {
        fs::write(&path, new).unwrap();
    } else {
        assert!(
            old == new,
            "{PAGE} is out of date: UPDATE_MANUAL=1 cargo test --test dependencies updates it"
        );
    }
}

#[test]
fn the_page_names_the_oldest_compiler() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("rust-version = \"").unwrap();
    let version = rest.split('"').next().unwrap();
    let page = fs::read_to_string(root().join(PAGE)).unwrap();
    assert!(page.contains(&format!("Rust {version}")), "Rust {version}");
}
