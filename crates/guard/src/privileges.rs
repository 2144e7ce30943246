//! What a process that root started may do besides what its files allow.

use std::io;

use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_no_new_privs,
};

/// What reads, writes and renames files whatever their owners and modes are.
const FILES: CapabilitySet = CapabilitySet::DAC_OVERRIDE
    .union(CapabilitySet::DAC_READ_SEARCH)
    .union(CapabilitySet::FOWNER);

/// Gives up all capabilities for good, except for those that concern files: for a program that needs no more of root than to
/// open some. They are those of this thread, and of the threads and programs that it starts from now on.
///
/// # Errors
/// If the system does not let them be given up, as some containers do not.
pub fn keep_those_for_files() -> io::Result<()> {
    let now = capabilities(None)?;
    // Else a program that root executes would get them all again.
    set_no_new_privs(true)?;
    set_capabilities(
        None,
        CapabilitySets {
            effective: now.effective & FILES,
            permitted: now.permitted & FILES,
            inheritable: CapabilitySet::empty(),
        },
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::setpriority_process;
    use std::os::unix::fs::PermissionsExt;

    /// The number after a name in the status of this thread.
    fn status(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let value = status.lines().find_map(|line| line.strip_prefix(name));
        u64::from_str_radix(value.unwrap().trim(), 16).unwrap()
    }

    #[test]
    fn what_concerns_no_files_is_given_up_for_good() {
        let thread = std::thread::spawn(|| {
            let (had, other) = (status("CapPrm:"), !FILES.bits());
            if had & other == 0 {
                return eprintln!(
                    "skipped in part: the user of this test has no capabilities to give up"
                );
            }
            // A file that its owner, who is another user, may not read.
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("of-another");
            std::fs::write(&file, "x").unwrap();
            std::os::unix::fs::chown(&file, Some(12_345), None).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
            keep_those_for_files().unwrap();
            for name in ["CapPrm:", "CapEff:"] {
                assert_eq!(status(name), had & FILES.bits(), "{name}");
            }
            assert_eq!((status("CapInh:"), status("NoNewPrivs:")), (0, 1));
            // A child of root has no more than that.
            let child = std::process::Command::new("grep")
                .args(["CapEff", "/proc/self/status"])
                .output();
            let shown = String::from_utf8(child.unwrap().stdout).unwrap();
            let effective = u64::from_str_radix(shown.trim_start_matches("CapEff:").trim(), 16);
            assert_eq!(effective.unwrap() & other, 0, "{shown}");
            // CAP_SYS_NICE is gone, and does not come back.
            assert!(setpriority_process(None, -5).is_err());
            let all = CapabilitySets {
                effective: CapabilitySet::SYS_NICE,
                permitted: CapabilitySet::SYS_NICE,
                inheritable: CapabilitySet::empty(),
            };
            assert!(set_capabilities(None, all).is_err());
            let still_reads = std::fs::read_to_string(&file).is_ok();
            assert_eq!(still_reads, had & FILES.bits() != 0);
        });
        thread.join().unwrap();
    }
}
