//! What the figures were measured on.

use std::fs;
use std::num::NonZero;
use std::thread::available_parallelism;

/// The machine that figures were measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineFacts {
    /// The model of its processor, where the kernel names it.
    pub processor: Option<String>,
    /// The number of processors that this process may use.
    pub processors: usize,
    /// The version of the kernel, where it is known.
    pub kernel: Option<String>,
    /// The average number of processes that were running in the last minute: how busy the machine was.
    pub load: Option<String>,
}

impl MachineFacts {
    /// This machine.
    pub fn here() -> Self {
        let first_line = |path: &str| {
            let text = fs::read_to_string(path).ok()?;
            text.lines().next().map(str::to_owned)
        };
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let load = first_line("/proc/loadavg");
        Self {
            processor: model(&cpus),
            processors: available_parallelism().map_or(1, NonZero::get),
            kernel: first_line("/proc/sys/kernel/osrelease"),
            load: load.and_then(|line| line.split(' ').next().map(str::to_owned)),
        }
    }
}

/// The model that `/proc/cpuinfo` names.
fn model(cpus: &str) -> Option<String> {
    let line = cpus.lines().find(|line| line.starts_with("model name"))?;
    let (_, name) = line.split_once(':')?;
    Some(name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::model;

    #[test]
    fn the_model_is_what_stands_behind_the_colon() {
        let cpus = "processor\t: 0\nmodel name\t: Xeon(R) @ 2.5: GHz\nflags\t\t: fpu\n";
        assert_eq!(model(cpus).as_deref(), Some("Xeon(R) @ 2.5: GHz"));
        assert_eq!(model("processor\t: 0\n"), None);
    }
}
