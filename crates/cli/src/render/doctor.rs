//! What was found out about a machine, in words and as JSON.

use std::path::PathBuf;

use iosonar_recorder::Tracing;
use iosonar_replay::{DeviceAccess, Machine, Standing, Subject};
use iosonar_report::grouped;
use iosonar_stats::Output;
use serde_json::json;

use super::style::Tone;

/// What was found out.
pub(crate) struct Findings {
    /// How many requests were simulated, or why none.
    pub(crate) simulation: Result<u64, String>,
    /// The size of a picture in bytes, or why drawing it failed.
    pub(crate) charts: Result<usize, String>,
    pub(crate) machine: Machine,
    pub(crate) tracing: Tracing,
}

/// A line of the report.
struct Check {
    name: &'static str,
    standing: Standing,
    found: String,
    purpose: &'static str,
    remedy: &'static str,
}

impl Findings {
    /// Whether simulation and charts work, which need nothing but a processor.
    pub(crate) fn is_usable(&self) -> bool {
        self.simulation.is_ok() && self.charts.is_ok()
    }

    fn checks(&self) -> Vec<Check> {
        let works = |is_good: bool| {
            if is_good {
                Standing::Good
            } else {
                Standing::Missing
            }
        };
        let bug = "report this as a bug, with the output of 'iosonar --version'";
        let mut checks = vec![
            Check {
                name: "simulation",
                standing: works(self.simulation.is_ok()),
                found: match &self.simulation {
                    Ok(requests) => format!("{} requests simulated", grouped(*requests)),
                    Err(error) => error.clone(),
                },
                purpose: "sim, plan, choose, sweep and demo",
                remedy: bug,
            },
            Check {
                name: "charts",
                standing: works(self.charts.is_ok()),
                found: match &self.charts {
                    Ok(bytes) => format!("a PNG of {} bytes drawn", grouped(*bytes as u64)),
                    Err(error) => error.clone(),
                },
                purpose: "plot, report and all other charts",
                remedy: bug,
            },
        ];
        checks.extend(
            self.machine
                .checks()
                .map(|(of, standing)| self.machine_check(of, standing)),
        );
        checks.push(self.tracing_check());
        checks
    }

    fn machine_check(&self, of: Subject, standing: Standing) -> Check {
        let named = Subject::ALL.into_iter().find(|(subject, _)| *subject == of);
        let (purpose, remedy) = match of {
            Subject::Devices if self.machine.devices.is_empty() => (
                about(of).0,
                "attach a device, or allow it in the container's device rules",
            ),
            Subject::Devices if is_in_use(&self.machine.devices) => (
                about(of).0,
                "attach a disk, or replay on a file (--target FILE --create SIZE)",
            ),
            // Who is root already is kept from a device by something else.
            Subject::Devices if self.machine.is_root => (
                about(of).0,
                "'iosonar targets' prints the reason for each device",
            ),
            _ => about(of),
        };
        Check {
            name: named.map_or("", |(_, name)| name),
            standing,
            found: found(&self.machine, of),
            purpose,
            remedy,
        }
    }

    fn tracing_check(&self) -> Check {
        let (found, remedy) = match &self.tracing {
            Tracing::Available(place) => (format!("block tracepoints in {}", place.display()), ""),
            Tracing::Barred(place) => (
                format!("no permission to use {}", place.display()),
                "record as root",
            ),
            Tracing::Absent => (
                "not mounted, or not in this kernel".to_owned(),
                "run as root: mount -t tracefs nodev /sys/kernel/tracing",
            ),
            Tracing::NoBlockEvents(place) => (
                format!("no block tracepoints in {}", place.display()),
                "use a kernel with CONFIG_BLK_DEV_IO_TRACE",
            ),
        };
        let is_available = matches!(self.tracing, Tracing::Available(_));
        Check {
            name: "tracing",
            standing: if is_available {
                Standing::Good
            } else {
                Standing::Missing
            },
            found,
            purpose: "record",
            remedy,
        }
    }
}

/// What a subject is for, and how to get it.
fn about(of: Subject) -> (&'static str, &'static str) {
    match of {
        Subject::Ring => (
            "replays at high rates; without it, threads submit the requests",
            "use Linux 5.19+, kernel.io_uring_disabled=0, ulimit -l unlimited",
        ),
        Subject::LockedMemory => (
            "registered buffers, which save processor time in replays",
            "raise the limit (ulimit -l unlimited), or grant CAP_IPC_LOCK",
        ),
        Subject::Root => (
            "record, and replay on any block device",
            "run as root, or join the devices' group (usually 'disk')",
        ),
        Subject::Devices => (
            "replay, record and prepare; replays on files work without it",
            "run as root, or join the group 'disk'; 'iosonar targets' prints reasons",
        ),
        Subject::Priority => (
            "exact start times while other programs run",
            "run as root, grant CAP_SYS_NICE, or raise the limit (ulimit -r 1)",
        ),
        Subject::TimerSlack => (
            "exact wake-up times of sleeping threads",
            "allow prctl(PR_SET_TIMERSLACK) in the container's seccomp profile",
        ),
        Subject::Processors => (
            "replays, which pace, read and record in parallel; parallel sweeps",
            "give the machine or container at least 2 processors",
        ),
        Subject::Governor => (
            "short and steady start delays",
            "run as root: cpupower frequency-set -g performance",
        ),
        Subject::FreeSpace => (
            "records, scratch files and charts in the current folder",
            "free 1 GiB, or work in another folder",
        ),
    }
}

/// The fact behind a check.
fn found(machine: &Machine, of: Subject) -> String {
    match of {
        Subject::Ring => match &machine.ring {
            Err(error) => format!("not available: {error}"),
            Ok(ring) if !ring.lacking.is_empty() => format!("without {}", ring.lacking.join(", ")),
            Ok(ring) => match &ring.unregistered {
                Some(error) => format!("available, but buffers cannot be registered: {error}"),
                None => "all operations, registered buffers".to_owned(),
            },
        },
        Subject::LockedMemory => match (machine.locks_freely, machine.lockable) {
            (true, _) => "unlimited (CAP_IPC_LOCK)".to_owned(),
            (_, None) => "unlimited".to_owned(),
            (_, Some(limit)) => format!("at most {limit}"),
        },
        Subject::Root => match machine.is_root {
            true => "yes".to_owned(),
            false => "no".to_owned(),
        },
        Subject::Devices => devices(&machine.devices),
        Subject::Priority => {
            let limit = match machine.real_time_priority {
                Some(limit) => limit.to_string(),
                None => "unlimited".to_owned(),
            };
            format!("{} (ulimit -r: {limit})", machine.priority.name())
        }
        Subject::TimerSlack => match machine.timer_slack {
            Some(slack) => slack.to_string(),
            None => "unknown".to_owned(),
        },
        Subject::Processors => machine.processors.to_string(),
        Subject::Governor => match &machine.governor {
            Some(governor) => governor.clone(),
            None => "not reported by the kernel (usual in virtual machines)".to_owned(),
        },
        Subject::FreeSpace => match machine.free_space {
            Some(free) => format!("{free} free"),
            None => "unknown".to_owned(),
        },
    }
}

/// Whether there are devices, and all are in use.
fn is_in_use(all: &[(PathBuf, DeviceAccess)]) -> bool {
    !all.is_empty() && all.iter().all(|(_, of)| *of == DeviceAccess::InUse)
}

/// How many block devices can be read, and which cannot where that is some of them.
fn devices(all: &[(PathBuf, DeviceAccess)]) -> String {
    const MOST_NAMED: usize = 4;
    let of = |access| {
        let of = all.iter().filter(move |(_, of)| *of == access);
        of.map(|(path, _)| path.display().to_string())
    };
    let named = |others: Vec<String>| {
        let named = others[..others.len().min(MOST_NAMED)].join(", ");
        match others.len().saturating_sub(MOST_NAMED) {
            0 => named,
            more => format!("{named} and {more} more"),
        }
    };
    let in_use: Vec<String> = of(DeviceAccess::InUse).collect();
    if is_in_use(all) {
        return format!("no unused device; in use: {}", named(in_use));
    }
    let readable = of(DeviceAccess::Readable).count();
    let text = format!("{readable} of {} can be read", all.len());
    if readable == 0 || readable == all.len() {
        return text;
    }
    let in_use = in_use.into_iter().map(|path| format!("{path} (in use)"));
    let others = of(DeviceAccess::Denied).chain(in_use).collect();
    format!("{text}, but not {}", named(others))
}

fn word(standing: Standing) -> &'static str {
    match standing {
        Standing::Good => "good",
        Standing::Limited => "limited",
        Standing::Missing => "missing",
    }
}

pub(crate) fn to_text(findings: &Findings) -> String {
    let checks = findings.checks();
    let mut text = String::new();
    for check in &checks {
        let name = match check.name {
            "io_uring" => check.name.to_owned(),
            name => name.replace('_', " "),
        };
        let tone = match check.standing {
            Standing::Good => Tone::Good,
            Standing::Limited => Tone::Doubtful,
            Standing::Missing => Tone::Bad,
        };
        let standing = format!("{:<8}", word(check.standing));
        text += &format!("{} {name:<14} {}\n", tone.of(&standing), check.found);
        text += &format!("         for {}\n", check.purpose);
        if check.standing != Standing::Good {
            text += &format!("         fix: {}\n", check.remedy);
        }
    }
    let amiss = checks
        .iter()
        .filter(|check| check.standing != Standing::Good)
        .count();
    let rest = match amiss {
        0 => "all checks passed".to_owned(),
        amiss => format!("{amiss} of {} checks found limitations", checks.len()),
    };
    text + &match findings.is_usable() {
        true => format!("\nSimulation and charts work; {rest}.\n"),
        false => format!("\nSimulation or charts do not work; {rest}.\n"),
    }
}

pub(crate) fn to_json(findings: &Findings) -> String {
    let mut output = Output::new("doctor");
    output.set("usable", json!(findings.is_usable()));
    for check in findings.checks() {
        let is_good = check.standing == Standing::Good;
        output.append(
            "checks",
            json!({
                "name": check.name,
                "state": word(check.standing),
                "found": check.found,
                "for": check.purpose,
                "to_get_it": (!is_good).then_some(check.remedy),
            }),
        );
    }
    output.text()
}

#[cfg(test)]
mod tests {
    use iosonar_replay::{RingFacts, ThreadPriority};

    use super::*;

    fn poor() -> Findings {
        Findings {
            simulation: Ok(1000),
            charts: Ok(9000),
            machine: Machine {
                ring: Ok(RingFacts {
                    lacking: vec!["IORING_OP_URING_CMD"],
                    unregistered: None,
                }),
                is_root: false,
                locks_freely: false,
                lockable: Some("64KiB".parse().unwrap()),
                priority: ThreadPriority::Slice,
                real_time_priority: Some(0),
                timer_slack: None,
                processors: 1,
                governor: Some("powersave".to_owned()),
                devices: Vec::new(),
                free_space: Some("1MiB".parse().unwrap()),
            },
            tracing: Tracing::Absent,
        }
    }

    #[test]
    fn whatever_is_missing_is_named_with_what_to_do() {
        let text = to_text(&poor());
        for expected in [
            "limited  io_uring",
            "IORING_OP_URING_CMD",
            "limited  priority       slice (ulimit -r: 0)",
            "ulimit -r 1",
            "missing  block devices  0 of 0 can be read",
            "missing  tracing",
            "mount -t tracefs",
            "Simulation and charts work; 10 of 12 checks found limitations.",
        ] {
            assert!(text.contains(expected), "{expected}:\n{text}");
        }
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
    }

    #[test]
    fn devices_that_cannot_be_read_are_named_if_others_can() {
        let of = |readable: usize, others: usize| {
            let access = |i| match i < readable {
                true => DeviceAccess::Readable,
                false => DeviceAccess::Denied,
            };
            let device = |i| (PathBuf::from(format!("/dev/d{i}")), access(i));
            devices(&(0..readable + others).map(device).collect::<Vec<_>>())
        };
        assert_eq!(of(0, 3), "0 of 3 can be read");
        assert_eq!(of(3, 0), "3 of 3 can be read");
        assert_eq!(of(9, 1), "9 of 10 can be read, but not /dev/d9");
        assert_eq!(
            of(1, 6),
            "1 of 7 can be read, but not /dev/d1, /dev/d2, /dev/d3, /dev/d4 and 2 more"
        );
    }

    #[test]
    fn a_machine_with_a_mounted_disk_only_has_no_unused_device() {
        let mut findings = poor();
        findings.machine.is_root = true;
        findings.machine.devices = vec![("/dev/vda".into(), DeviceAccess::InUse)];
        let text = to_text(&findings);
        let expected = "limited  block devices  no unused device; in use: /dev/vda\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("fix: attach a disk, or replay on a file"));
        assert!(text.lines().all(|line| line.chars().count() <= 80));
        let other = ("/dev/vdb".into(), DeviceAccess::Readable);
        findings.machine.devices.push(other);
        let found = devices(&findings.machine.devices);
        assert_eq!(found, "1 of 2 can be read, but not /dev/vda (in use)");
    }

    #[test]
    fn root_is_not_asked_to_run_as_root() {
        let mut findings = poor();
        assert!(to_text(&findings).contains("join the devices' group"));
        findings.machine.is_root = true;
        let text = to_text(&findings);
        assert!(!text.contains("join the devices' group"), "{text}");
        assert!(text.contains("fix: attach a device"), "{text}");
    }

    #[test]
    fn a_machine_on_which_nothing_can_be_drawn_is_not_usable() {
        let findings = Findings {
            charts: Err("no font".to_owned()),
            ..poor()
        };
        assert!(poor().is_usable() && !findings.is_usable());
        let text = to_text(&findings);
        assert!(text.contains("missing  charts         no font"), "{text}");
        assert!(
            text.ends_with(
                "Simulation or charts do not work; 11 of 12 checks found limitations.\n"
            )
        );
    }

    #[test]
    fn programs_get_a_state_and_a_remedy_for_what_is_not_good() {
        let json: serde_json::Value = serde_json::from_str(&to_json(&poor())).unwrap();
        assert_eq!(json["usable"], true);
        let checks = json["checks"].as_array().unwrap();
        assert_eq!(checks.len(), 12);
        for check in checks {
            assert_eq!(
                check["state"] == "good",
                check["to_get_it"].is_null(),
                "{check}"
            );
        }
    }
}
