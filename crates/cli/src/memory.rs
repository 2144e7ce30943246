//! A watch on the memory of this process: it ends with an error before the machine has none left.
//!
//! Queues of an overloaded system and the mapping tables of SSDs grow with the requests, so what a simulation will need is
//! not known before.

use std::path::Path;
use std::time::Duration;
use std::{fs, process, thread};

use iosonar_trace::output::abandon_all;
use iosonar_units::Bytes;

use crate::exit;
use crate::render::messages::Error;
use crate::render::{full_screen, progress};

/// How often to look. Memory that is new is filled with up to some gigabytes per second.
const EVERY: Duration = Duration::from_millis(20);

/// Ends the program, with an error, once it takes more memory than `most`, or 90 % of what is free now.
pub(crate) fn guard(most: Option<Bytes>) {
    let Some(now) = resident() else {
        return;
    };
    let free = || Some(now + free(Path::new("/"))? / 10 * 9);
    let Some(limit) = most.map(Bytes::get).or_else(free) else {
        return;
    };
    // Without a thread the system ends the program, as it does others.
    let _ = thread::Builder::new()
        .name("memory".to_owned())
        .spawn(move || {
            while resident().is_none_or(|held| held <= limit) {
                thread::sleep(EVERY);
            }
            end(limit, most.is_some());
        });
}

/// Ends the program, and leaves no file half-written.
fn end(limit: u64, is_given: bool) -> ! {
    let _abandoned = abandon_all();
    full_screen::restore();
    progress::clear();
    exit::fail(Some(Error::OutOfMemory), &problem(limit, is_given));
    process::exit(i32::from(exit::FAILED))
}

fn problem(limit: u64, is_given: bool) -> String {
    let limit = Bytes::new(limit);
    let of_what = match is_given {
        true => format!("the {limit} of --memory"),
        false => format!("{limit}, 90 % of the memory that was free"),
    };
    format!(
        "the simulation needs more than {of_what}: simulate fewer requests, a load that the system can serve, or smaller \
         SSDs; use fewer --threads; or allow more with --memory"
    )
}

/// The memory of this process, in bytes.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * page_bytes())
}

fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// The memory that is free, in bytes: of the machine, and of the control groups (version 2) in which this process is. What a
/// group holds of files can be freed. `root` holds `proc` and `sys`.
fn free(root: &Path) -> Option<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).ok();
    let info = read("proc/meminfo")?;
    let line = info
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let mut free = kib * 1024;
    let groups = read("proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    for group in own.iter().flat_map(|own| Path::new(own).ancestors()) {
        let of_group = |file: &str| {
            let path = Path::new("sys/fs/cgroup").join(group).join(file);
            read(path.to_str()?)
        };
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let held = of_group("memory.current").as_deref().and_then(number);
        let (stat, of_files) = (of_group("memory.stat"), ["active_file ", "inactive_file "]);
        let lines = stat.iter().flat_map(|text| text.lines());
        let files = lines.filter_map(|line| {
            let mut values = of_files.iter().filter_map(|name| line.strip_prefix(name));
            number(values.next()?)
        });
        let held = held.map(|held| held.saturating_sub(files.sum()));
        // A group without a limit says "max".
        for limit in ["memory.max", "memory.high"] {
            let most = of_group(limit).as_deref().and_then(number);
            if let (Some(most), Some(held)) = (most, held) {
                free = free.min(most.saturating_sub(held));
            }
        }
    }
    Some(free)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_free_as_far_as_the_machine_and_every_group_has_some() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let free = || free(root.path()).map(|bytes| bytes / 1024);
        assert_eq!(free(), None);
        write(
            "proc/meminfo",
            "MemTotal:  9000 kB\nMemAvailable:    8000 kB\n",
        );
        assert_eq!(free(), Some(8000));
        write("proc/self/cgroup", "1:cpu:/other\n0::/user/run\n");
        write("sys/fs/cgroup/user/run/memory.max", "max\n");
        write("sys/fs/cgroup/user/run/memory.current", "1024\n");
        assert_eq!(free(), Some(8000), "the group has no limit");
        write("sys/fs/cgroup/user/memory.max", "4096000\n");
        write("sys/fs/cgroup/user/memory.current", "1024000\n");
        assert_eq!(free(), Some(3000), "that around it has");
        write("sys/fs/cgroup/user/run/memory.max", "2048\n");
        assert_eq!(free(), Some(1));
        write("sys/fs/cgroup/user/run/memory.current", "4096\n");
        assert_eq!(free(), Some(0), "it holds more than it may");
        let stat = "anon 1000\nactive_file 1024\nactive_anon 9999\ninactive_file 2048\n";
        write("sys/fs/cgroup/user/run/memory.stat", stat);
        assert_eq!(free(), Some(1), "but for what it read of files");
        write("sys/fs/cgroup/user/run/memory.max", "max\n");
        write("sys/fs/cgroup/user/memory.high", "1536000\n");
        assert_eq!(free(), Some(500), "from here on it is slowed down");
    }
}
