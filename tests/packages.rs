//! The packages that a registry would have: nothing is missing in them, and a program outside of this workspace, which names
//! them by their versions, compiles and runs.

mod scratch;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use scratch::{Scratch, err, out, packages};
use serde_json::Value;

/// All packages but what the fuzz targets share, which uses files beside it.
const WORKSPACE: [&str; 3] = ["--workspace", "--exclude", "iosonar-fuzz-texts"];

/// Programs outside of the workspace: each prints numbers, with a name before each.
const PROGRAMS: [(&str, &str); 4] = [
    ("trace", include_str!("strangers/trace.rs")),
    ("laws", include_str!("strangers/laws.rs")),
    ("node", include_str!("strangers/node.rs")),
    ("models", include_str!("strangers/models.rs")),
];

const MANIFEST: &str = r#"
[package]
name = "strangers"
version = "0.1.0"
edition = "2024"

[dependencies]
iosonar = { version = "VERSION", default-features = false, features = ["sim"] }
iosonar-sim-core = "VERSION"
iosonar-trace = "VERSION"
rand = { version = "0.10", default-features = false }
rand_distr = { version = "0.6", default-features = false }
serde = "1"

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
    if !packages::are_here() {
        return None;
    }
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
    let Some(packages) = unpacked(&scratch, &WORKSPACE) else {
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

/// What a program elsewhere prints: values by their names.
fn printed(folder: &Path, program: &str) -> BTreeMap<String, f64> {
    let run = Command::new(folder.join("target/debug").join(program))
        .current_dir(folder)
        .output()
        .unwrap();
    assert!(run.status.success(), "{program}: {}", err(&run));
    let text = out(&run);
    let pairs = text.lines().map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.to_owned(), value.parse().unwrap())
    });
    pairs.collect()
}

#[test]
fn programs_elsewhere_compile_with_the_packages_and_run() {
    let scratch = Scratch::new();
    if unpacked(&scratch, &WORKSPACE).is_none() {
        return;
    }
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
    fs::create_dir_all(scratch.path("src/bin")).unwrap();
    scratch.file(".cargo/config.toml", CONFIGURATION);
    let version = env!("CARGO_PKG_VERSION");
    scratch.file("Cargo.toml", MANIFEST.replace("VERSION", version));
    for (name, text) in PROGRAMS {
        scratch.file(&format!("src/bin/{name}.rs"), text);
    }
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
    let Some(build) = cargo(&["build", "--offline", "--target-dir", &target], &folder) else {
        return;
    };
    assert!(build.status.success(), "{}", err(&build));
    let lock = fs::read_to_string(scratch.path("Cargo.lock")).unwrap();
    for name in ["iosonar", "iosonar-sim-core", "iosonar-trace"] {
        let from_registry =
            format!("name = \"{name}\"\nversion = \"{version}\"\nsource = \"registry+");
        assert!(lock.contains(&from_registry), "{name}: {lock}");
    }

    let trace = printed(&folder, "trace");
    assert_eq!(trace["requests"], 10_000.0);
    // D/M/1 at a utilisation of 0.5: 5 ms / (1 - x), where x = exp(-2 (1 - x)). The standard error is about 0.1 ms.
    let mean = trace["mean_ms"];
    assert!((mean - 6.274).abs() < 0.4, "{mean}");

    // M/G/1 at a utilisation of 0.5 and a service of 10 ms: 10 ms (1 + c^2) / 2 by Pollaczek and Khinchine.
    let laws = printed(&folder, "laws");
    for (law, variation) in [("gamma", 0.5), ("function", 1.0 / 3.0), ("own", 0.25)] {
        let exact = 10.0 * f64::midpoint(1.0, variation);
        let (wait, stderr) = (laws[law], laws[&format!("{law} stderr")]);
        assert!(
            (wait - exact).abs() < 4.0 * stderr,
            "{law}: {wait} ± {stderr}, {exact}"
        );
        assert!(stderr < 0.1 * exact, "{law}: {stderr}");
    }
    // Of a normal law with a mean of 3 and a deviation of 2, 10 000 values.
    let normal = laws["normal"];
    assert!((normal - 3.0).abs() < 4.0 * 0.02, "{normal}");

    // Every second one of Poisson arrivals at 1.6 / ms, and a service of 1 ms: E2/M/1 with 1 / (1 - x), where
    // x = (1.6 / (1.6 + 1 - x))^2.
    let node = printed(&folder, "node");
    let x = (0..1000).fold(0.5_f64, |x, _| (1.6 / (2.6 - x)).powi(2));
    let (mean, stderr) = (node["response_ms"], node["response_ms stderr"]);
    let exact = 1.0 / (1.0 - x);
    assert!(
        (mean - exact).abs() < 4.0 * stderr,
        "{mean} ± {stderr}, {exact}"
    );
    assert!(stderr < 0.1 * exact, "{stderr}");

    // M/D/1 at a utilisation of 0.5 and a service of 1 ms.
    let models = printed(&folder, "models");
    let (mean, stderr) = (models["response_ms"], models["response_ms stderr"]);
    assert!((mean - 1.5).abs() < 4.0 * stderr, "{mean} ± {stderr}");
    assert!(stderr < 0.1, "{stderr}");
}
