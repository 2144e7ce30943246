//! The packages that a registry would have: nothing is missing in them, and a program outside of this workspace, which names
//! them by their versions, compiles and runs.

mod scratch;

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scratch::{Scratch, err, out};
use serde_json::Value;

/// What the program outside of the workspace does: a disk serves the requests of a trace in their order.
const PROGRAM: &str = r#"
use iosonar_sim_core::{Calendar, Nanos, Seed};
use iosonar_trace::{Batch, Outcome, Record, TraceError, input, output};

fn main() -> Result<(), TraceError> {
    let mut service = Seed::new(1).stream("disk", "service");
    let (mut calendar, mut free_at) = (Calendar::default(), Nanos::ZERO);
    let mut reader = input::open("load.csv".as_ref())?;
    let mut batch = Batch::default();
    while reader.next_batch(&mut batch)? > 0 {
        for request in batch.requests() {
            free_at = request.start.max(free_at) + service.exponential(Nanos::from_millis(5));
            calendar.schedule(free_at, request);
        }
    }
    let mut writer = output::create("simulated.load.gz".as_ref(), reader.metadata())?;
    batch.clear();
    while let Some((now, request)) = calendar.pop() {
        let outcome = Outcome::done(Nanos::ZERO, now - request.start);
        batch.push(&Record { request, outcome });
    }
    writer.write(&batch)?;
    writer.finish()?;

    let mut reader = input::open("simulated.load.gz".as_ref())?;
    let (mut count, mut sum) = (0, 0.0);
    while reader.next_batch(&mut batch)? > 0 {
        for record in batch.records() {
            count += 1;
            sum += record.outcome.latency.unwrap().as_millis_f64();
        }
    }
    println!("{count} {}", sum / f64::from(count));
    Ok(())
}
"#;

const MANIFEST: &str = r#"
[package]
name = "elsewhere"
version = "0.1.0"
edition = "2024"

[dependencies]
iosonar-sim-core = "VERSION"
iosonar-trace = "VERSION"

[profile.dev]
debug = false
incremental = false

# The folder of this test may lie within another workspace.
[workspace]
"#;

/// All packages come from a folder: there is no index and no network.
const CONFIGURATION: &str = r#"
[source.crates-io]
replace-with = "folder"

[source.folder]
directory = "registry"
"#;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs cargo or tar; `None`, with a message, if it is not here.
fn run(program: &str, arguments: &[&str], folder: &Path) -> Option<Output> {
    let run = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output();
    match run {
        Err(e) if e.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: {program} is not here");
            None
        }
        run => Some(run.unwrap()),
    }
}

fn cargo(arguments: &[&str], folder: &Path) -> Option<Output> {
    run(env!("CARGO"), arguments, folder)
}

/// Packages some of the workspace's packages, and unpacks them into `registry`.
fn unpacked(scratch: &Scratch, which: &[&str]) -> Option<Vec<PathBuf>> {
    let build = scratch.path("build");
    let build_text = build.display().to_string();
    let options = [
        "package",
        "--no-verify",
        "--offline",
        "--allow-dirty",
        "--target-dir",
    ];
    let arguments = [&options[..], &[build_text.as_str()], which].concat();
    let package = cargo(&arguments, root())?;
    assert!(package.status.success(), "{}", err(&package));
    assert!(
        !err(&package).contains("warning: manifest"),
        "{}",
        err(&package)
    );
    let registry = scratch.path("registry");
    fs::create_dir(&registry).unwrap();
    for entry in fs::read_dir(build.join("package")).unwrap() {
        let archive = entry.unwrap().path();
        if archive.extension().is_some_and(|ending| ending == "crate") {
            let tar = run("tar", &["-xzf", &archive.display().to_string()], &registry)?;
            assert!(tar.status.success(), "{}", err(&tar));
        }
    }
    let entries = fs::read_dir(&registry).unwrap();
    Some(entries.map(|entry| entry.unwrap().path()).collect())
}

/// The files that a source includes as text or bytes, below the folder of the source.
fn included(source: &str) -> Vec<&str> {
    let of = |name: &str| {
        let calls: Vec<&str> = source.split(name).skip(1).collect();
        calls.into_iter().filter_map(|call| {
            let call = call.trim_start().strip_prefix('"')?;
            call.split('"').next()
        })
    };
    of("include_str!(").chain(of("include_bytes!(")).collect()
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => files.push(path),
            }
        }
    }
    files
}

#[test]
fn every_package_has_its_licences_its_readme_and_what_its_source_includes() {
    let scratch = Scratch::new();
    let Some(packages) = unpacked(&scratch, &["--workspace"]) else {
        return;
    };
    let crates = fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(packages.len(), crates + 1, "{packages:?}");
    let mut includes = 0;
    for package in packages {
        let name = package.file_name().unwrap().display();
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let file = package.join(licence);
            let is_own = fs::symlink_metadata(&file).is_ok_and(|file| file.is_file());
            assert!(is_own, "{name} has no {licence}");
            let texts = [file, root().join(licence)].map(|file| fs::read(file).unwrap());
            assert!(texts[0] == texts[1], "{name} has another {licence}");
        }
        let manifest = fs::read_to_string(package.join("Cargo.toml")).unwrap();
        for (key, value) in [
            ("license", "\"MIT OR Apache-2.0\""),
            ("readme", "\"README.md\""),
            ("rust-version", "\""),
            ("description", "\""),
            ("repository", "\"https://"),
        ] {
            let line = format!("\n{key} = {value}");
            assert!(manifest.contains(&line), "{name} has no {key}: {manifest}");
        }
        assert!(package.join("README.md").is_file(), "{name} has no README");
        for source in files(&package.join("src")) {
            let text = fs::read_to_string(&source).unwrap();
            for file in included(&text) {
                includes += 1;
                let file = source.parent().unwrap().join(file);
                assert!(file.is_file(), "{name} needs {}", file.display());
                // Not one beside the package.
                let file = file.canonicalize().unwrap();
                let within = file.starts_with(package.canonicalize().unwrap());
                assert!(within, "{name} needs {}", file.display());
            }
        }
    }
    assert!(includes > 50, "includes are written in another way");
}

/// Adds the packages of others that this workspace uses to the registry, as they lie in cargo's own folder.
fn add_others(registry: &Path) -> Option<()> {
    let arguments = ["metadata", "--format-version", "1", "--offline"];
    let platform = ["--filter-platform", env!("IOSONAR_TARGET")];
    let metadata = cargo(&[&arguments[..], &platform].concat(), root())?;
    assert!(metadata.status.success(), "{}", err(&metadata));
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    for package in metadata["packages"].as_array().unwrap() {
        let text = |key: &str| package[key].as_str();
        if text("source").is_none() {
            // One of the workspace.
            continue;
        }
        let from = Path::new(text("manifest_path").unwrap()).parent().unwrap();
        let to = registry.join(format!(
            "{}-{}",
            text("name").unwrap(),
            text("version").unwrap()
        ));
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            symlink(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    Some(())
}

#[test]
fn a_program_elsewhere_compiles_with_the_packages_and_runs() {
    let scratch = Scratch::new();
    let which = [
        "-p",
        "iosonar-sim-core",
        "-p",
        "iosonar-stats",
        "-p",
        "iosonar-trace",
        "-p",
        "iosonar-units",
    ];
    let Some(packages) = unpacked(&scratch, &which) else {
        return;
    };
    assert_eq!(packages.len(), 4, "{packages:?}");
    let registry = scratch.path("registry");
    if add_others(&registry).is_none() {
        return;
    }
    for entry in fs::read_dir(&registry).unwrap() {
        // What cargo asks of a folder of packages: checksums, here of no file.
        let checksums = entry.unwrap().path().join(".cargo-checksum.json");
        let _ = fs::remove_file(&checksums);
        fs::write(checksums, r#"{"files":{}}"#).unwrap();
    }
    fs::create_dir(scratch.path(".cargo")).unwrap();
    fs::create_dir(scratch.path("src")).unwrap();
    scratch.file(".cargo/config.toml", CONFIGURATION);
    let version = env!("CARGO_PKG_VERSION");
    scratch.file("Cargo.toml", MANIFEST.replace("VERSION", version));
    scratch.file("src/main.rs", PROGRAM);
    let requests = (0..10_000_u64).map(|i| format!("{},{},8,read\n", i * 10_000_000, i * 8));
    scratch.file(
        "load.csv",
        format!(
            "time_ns,sector,sectors,op\n{}",
            requests.collect::<String>()
        ),
    );
    let folder = scratch.path("");
    let target = scratch.path("target").display().to_string();
    let Some(run) = cargo(&["run", "--offline", "--target-dir", &target], &folder) else {
        return;
    };
    assert!(run.status.success(), "{}", err(&run));
    let (count, mean) = out(&run)
        .trim()
        .split_once(' ')
        .map(|(count, mean)| (count.to_owned(), mean.to_owned()))
        .unwrap();
    assert_eq!(count, "10000");
    // D/M/1 at a utilisation of 0.5: 5 ms / (1 - x), where x = exp(-2 (1 - x)). The standard error is about 0.1 ms.
    let mean: f64 = mean.parse().unwrap();
    assert!((mean - 6.274).abs() < 0.4, "{mean}");
    let lock = fs::read_to_string(scratch.path("Cargo.lock")).unwrap();
    for name in ["iosonar-sim-core", "iosonar-trace"] {
        let from_registry =
            format!("name = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+");
        assert!(lock.contains(&from_registry), "{name}: {lock}");
    }
}
