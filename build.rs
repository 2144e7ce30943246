//! Records how the binary is built, for `iosonar --version`: the target, the features, and the commit.
//!
//! The commit is recorded in optimised builds only: the binary and all tests of this package would be linked again after
//! each commit otherwise. It is that of the environment (`IOSONAR_COMMIT`, for packagers who build from an archive), of
//! the file that `cargo publish` leaves in a package, or of git, in this order; builds without any of them succeed.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=IOSONAR_COMMIT");
    let of = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=IOSONAR_TARGET={}", of("TARGET"));
    println!("cargo::rustc-env=IOSONAR_PROFILE={}", of("PROFILE"));
    println!("cargo::rustc-env=IOSONAR_FEATURES={}", features());
    if let Some(commit) = given().or_else(|| (of("PROFILE") == "release").then(found).flatten()) {
        println!("cargo::rustc-env=IOSONAR_COMMIT={commit}");
    }
}

/// The features of the package, as they are written in its manifest.
fn features() -> String {
    let names = env::vars().filter_map(|(name, _)| {
        let feature = name.strip_prefix("CARGO_FEATURE_")?;
        (feature != "DEFAULT").then(|| feature.to_lowercase().replace('_', "-"))
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.join(",")
}

fn given() -> Option<String> {
    env::var("IOSONAR_COMMIT")
        .ok()
        .filter(|commit| !commit.is_empty())
}

fn found() -> Option<String> {
    packaged().or_else(checked_out)
}

/// From `.cargo_vcs_info.json`, `{"git": {"sha1": "..."}}`.
fn packaged() -> Option<String> {
    let text = fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let value = text.split("\"sha1\"").nth(1)?;
    value.split('"').nth(1).map(str::to_owned)
}

/// Of the checked-out repository, if this package is its root: not of one that contains this package's source.
fn checked_out() -> Option<String> {
    let root = git(&["rev-parse", "--show-toplevel"])?;
    if fs::canonicalize(root).ok()? != fs::canonicalize(".").ok()? {
        return None;
    }
    // What a commit changes: the branch, or HEAD itself.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    for name in [
        Some("HEAD".to_owned()),
        branch,
        Some("packed-refs".to_owned()),
    ]
    .into_iter()
    .flatten()
    {
        let path = git(&["rev-parse", "--git-path", &name])?;
        // A path that is absent would have the script run in every build.
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
