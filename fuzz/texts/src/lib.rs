//! Files and options that people write, and files that a crash may have damaged.
//!
//! A crate of its own, as the readers of traces are fuzzed several times as fast without the crates that these need.

#[cfg(test)]
#[path = "../../../crates/trace/tests/common/corpus.rs"]
mod corpus;
#[path = "../../src/scratch.rs"]
mod scratch;

use std::path::Path;

use iosonar_analysis::objective::Objectives;
use iosonar_disk_model::DiskProfile;
use iosonar_disk_model::disksim::{BusTimes, import};
use iosonar_replay::verify::{Tables, read_log};
use iosonar_report::AnswerPage;
use iosonar_scenario::networked::NetworkedRaid;
use iosonar_scenario::{Overrides, Prepared};
use iosonar_ssd_model::SsdProfile;
use iosonar_study::sweep::{Condition, ExperimentFile};
use iosonar_units::Bytes;

/// Where the file of a text would be: a text must not make the program read other files here.
const PATH: &str = "/nonexistent/fuzz.toml";

/// The scenario that `--set` changes.
const SCENARIO: &str = include_str!("../../../examples/degraded-raid5.toml");

/// Reads a scenario file.
pub fn scenario(text: &str) {
    let _ = Prepared::from_toml(text, Path::new(PATH), &Overrides::default());
}

/// Reads the file of a networked system.
pub fn networked(text: &str) {
    let _ = NetworkedRaid::from_toml(text, Path::new(PATH), &Overrides::default());
}

/// Applies `--set KEY=VALUE` to a scenario, one for each line.
pub fn overrides(text: &str) {
    let set = text.lines().filter_map(|line| line.split_once('='));
    let overrides = Overrides {
        set: set.map(|(k, v)| (k.to_owned(), v.to_owned())).collect(),
        ..Overrides::default()
    };
    let _ = Prepared::from_toml(SCENARIO, Path::new(PATH), &overrides);
}

/// Reads an experiment file.
pub fn experiment(text: &str) {
    let _ = ExperimentFile::parse(text, Path::new(PATH));
}

/// Reads a condition of an experiment, and evaluates it.
pub fn condition(text: &str) {
    if let Ok(condition) = Condition::parse(text) {
        let value = |name: &str| match name {
            "disks" => Some("4"),
            "level" => Some("raid5"),
            "is_on" => Some("true"),
            _ => None,
        };
        let _ = condition.holds(&value);
    }
}

/// Reads targets.
///
/// # Panics
/// If what is read and written is not read as the same targets.
pub fn target(text: &str) {
    if let Ok(targets) = text.parse::<Objectives>() {
        let written = targets.to_string();
        assert_eq!(written.parse(), Ok(targets), "{written}");
    }
}

/// Reads the profile of a disk.
pub fn disk_profile(text: &str) {
    let _ = DiskProfile::parse(text, PATH);
}

/// Reads the profile of an SSD.
pub fn ssd_profile(text: &str) {
    let _ = SsdProfile::parse(text, PATH, &toml::Table::new());
}

/// Reads a drive of DiskSim.
///
/// # Panics
/// If the folder for temporary files cannot be written.
pub fn disksim_parameters(text: &str) {
    let path = scratch::file(text.as_bytes());
    let renamed = path.with_extension("diskspecs");
    std::fs::rename(path, &renamed).expect("the file was written there");
    let _ = import(std::slice::from_ref(&renamed), None, BusTimes::default());
    std::fs::remove_file(renamed).expect("the file is there");
}

#[cfg(fuzzing)]
pub use iosonar_recorder::fuzzed::{read_formats as kernel_formats, read_page as kernel_page};

/// Reads the log of a verified replay: the bytes as they are, or, if the first one is odd, a log that they describe, as
/// arbitrary bytes hardly ever have the right checksums.
///
/// # Panics
/// If the folder for temporary files cannot be written.
pub fn verification_log(bytes: &[u8]) {
    let log = match bytes.split_first() {
        Some((&mode, records)) if mode % 2 == 1 => described_log(mode, records),
        _ => bytes.to_vec(),
    };
    let path = scratch::file(&log);
    // The first piece of the tables is in memory.
    let tables = Tables::new(Bytes::new(64 << 20), std::env::temp_dir());
    let _ = read_log(path, tables);
    std::fs::remove_file(path).expect("the file is there");
}

/// A log (`crates/replay/src/verify/log.rs`) whose header is as the bits of `mode` say, with a record of every six bytes: what
/// it is, operation, bits, number, sector, sectors. What is left at the end is there as it is.
fn described_log(mode: u8, records: &[u8]) -> Vec<u8> {
    let sectors: u64 = [256, 256, 1 << 22, u64::MAX][usize::from(mode >> 2 & 3)];
    let mut log = b"iosonarV".to_vec();
    log.extend(1_u32.to_le_bytes());
    log.extend([mode >> 1 & 1, 0, 0, 0]);
    log.extend(7_u64.to_le_bytes());
    log.extend(sectors.to_le_bytes());
    log.resize(60, 0);
    log.extend(crc32fast::hash(&log).to_le_bytes());
    let records = records.chunks_exact(6);
    let left = records.remainder();
    for of in records {
        // Large bytes stand for large numbers.
        let number = |byte: u8| match byte {
            250.. => u64::MAX - u64::from(255 - byte),
            240.. => 1024 << (byte - 240),
            _ => u64::from(byte),
        };
        let mut record = vec![of[0] % 5, of[1] % 6, of[2], 0];
        record.extend((number(of[5]) as u32).to_le_bytes());
        record.extend((number(of[3]) as u32).to_le_bytes());
        record.extend([0; 4]);
        record.extend(number(of[4]).to_le_bytes());
        record.extend([0; 4]);
        record.extend(crc32fast::hash(&record).to_le_bytes());
        log.extend(record);
    }
    log.extend(left);
    log
}

/// Writes a page about hostile names.
///
/// # Panics
/// If a name becomes markup.
pub fn page(text: &str) {
    let page = |text: &str| {
        let page = AnswerPage {
            title: text.to_owned(),
            answer: vec![text.to_owned()],
            header: vec![text.to_owned()],
            rows: vec![vec![text.to_owned()]],
            notes: vec![text.to_owned()],
            ..AnswerPage::default()
        };
        page.text()
    };
    let signs = |page: &str| ['<', '>', '"'].map(|sign| page.matches(sign).count());
    assert_eq!(signs(&page(text)), signs(&page("x")));
}

#[cfg(test)]
mod tests {
    use super::*;

    // One test, as all inputs that must be files have the same name in a process.
    #[test]
    fn what_fuzzing_has_found_does_no_harm() {
        let read_all = |target: &str, read: fn(&str)| {
            for text in corpus::inputs(target) {
                read(&String::from_utf8_lossy(&text));
            }
        };
        read_all("condition", condition);
        read_all("disk_profile", disk_profile);
        read_all("disksim_parameters", disksim_parameters);
        read_all("experiment", experiment);
        read_all("networked", networked);
        read_all("overrides", overrides);
        read_all("page", page);
        read_all("scenario", scenario);
        read_all("ssd_profile", ssd_profile);
        read_all("target", target);
        for log in corpus::inputs("verification_log") {
            verification_log(&log);
        }
    }

    /// An input that no test reads may fail again unnoticed.
    #[test]
    fn each_corpus_is_read_by_a_test() {
        const TESTS: &str = concat!(
            include_str!("lib.rs"),
            include_str!("../../../crates/arrow/tests/fuzzed.rs"),
            include_str!("../../../crates/recorder/src/fuzzed.rs"),
            include_str!("../../../crates/trace/tests/fuzzed.rs"),
        );
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus");
        let files = std::fs::read_dir(folder).unwrap();
        let names = files.map(|file| file.unwrap().path().with_extension(""));
        let unread: Vec<_> = names
            .filter(|path| !TESTS.contains(&format!("{:?}", path.file_name().unwrap())))
            .collect();
        assert!(unread.is_empty(), "{unread:?}");
    }

    /// Else the fuzzer would only see headers refused.
    #[test]
    fn a_described_log_is_read_to_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        // A write of 8 sectors at 16, which ends; the end; a byte of a record.
        let records = [1, 1, 0, 1, 16, 8, 2, 1, 3, 1, 16, 8, 3, 1, 0, 0, 0, 0, 9];
        std::fs::write(&path, described_log(1, &records)).unwrap();
        let tables = Tables::new(Bytes::new(1 << 20), folder.path().to_owned());
        let log = read_log(&path, tables).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!((log.writes, log.cut_off), (1, 1));
        assert!(log.is_complete && !log.is_durable);
    }
}
