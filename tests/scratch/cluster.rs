//! A Slurm cluster of this machine, if there is one.

use std::process::Command;

pub fn has_cluster() -> bool {
    let sinfo = Command::new("sinfo")
        .args(["--noheader", "--format=%T"])
        .output();
    sinfo.is_ok_and(|o| o.status.success() && String::from_utf8_lossy(&o.stdout).contains("idle"))
}
