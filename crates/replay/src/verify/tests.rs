//! Each kind of fault is found, and a good device has none.

use super::*;
use crate::testing::request;

/// Of a replay's first target, of its second, and of another replay.
const RUN: u64 = 77 << TARGET_BITS;
const ON_OTHER_TARGET: u64 = RUN + 1;
const OTHER_RUN: u64 = 78 << TARGET_BITS;

fn verifier(level: Verify) -> Verifier {
    let verification = Verification {
        level,
        ..Verification::default()
    };
    Verifier::new(&verification, RUN, None, false)
}

/// Writes the range and returns what a good device then holds.
fn write(v: &mut Verifier, sector: u64, sectors: u32) -> Vec<u8> {
    let request = request(Op::Write, sector, sectors);
    let mut data = vec![0x5a; sectors as usize * 512];
    let number = v.starts(0, &request, &mut data).unwrap();
    v.ends(number, &request, true, false);
    data
}

fn kinds(v: &mut Verifier, sector: u64, data: &[u8]) -> Vec<(Kind, u64, u64)> {
    let read = request(Op::Read, sector, (data.len() / 512) as u32);
    v.starts(1, &read, &mut []).unwrap();
    let right = v.check_read(1, &read, data);
    let found: Vec<_> = v
        .findings
        .ranges()
        .map(|f| (f.kind, f.sector, f.sectors))
        .collect();
    assert_eq!(right, found.is_empty());
    v.findings = Findings::default();
    found
}

#[test]
fn what_was_written_last_is_right_and_everything_else_is_told_apart() {
    let mut v = verifier(Verify::Reads);
    let old = write(&mut v, 8, 8);
    let elsewhere = write(&mut v, 100, 8);
    let new = write(&mut v, 8, 8);
    assert_eq!(kinds(&mut v, 8, &new), []);
    assert_eq!(kinds(&mut v, 8, &old), [(Kind::Older, 8, 8)]);
    assert_eq!(kinds(&mut v, 8, &elsewhere), [(Kind::Misplaced, 8, 8)]);
    assert_eq!(kinds(&mut v, 8, &[0; 4096]), [(Kind::Zeros, 8, 8)]);
    assert_eq!(kinds(&mut v, 8, &[1; 4096]), [(Kind::Untagged, 8, 8)]);
    let mut torn = new.clone();
    torn[2048..].copy_from_slice(&old[2048..]);
    assert_eq!(kinds(&mut v, 8, &torn), [(Kind::Torn, 12, 4)]);
    let mut damaged = new.clone();
    damaged[512 + 300] ^= 4;
    assert_eq!(kinds(&mut v, 8, &damaged), [(Kind::Damaged, 9, 1)]);
    let mut foreign = new.clone();
    tag::write(&mut foreign, OTHER_RUN, 3, 8);
    assert_eq!(kinds(&mut v, 8, &foreign), [(Kind::Foreign, 8, 8)]);
    tag::write(&mut foreign, ON_OTHER_TARGET, 3, 8);
    assert_eq!(kinds(&mut v, 8, &foreign), [(Kind::OtherTarget, 8, 8)]);
    let mut future = new.clone();
    tag::write(&mut future, RUN, 9, 8);
    assert_eq!(kinds(&mut v, 8, &future), [(Kind::Future, 8, 8)]);
    assert_eq!(kinds(&mut v, 300, &[9; 512]), [], "nobody wrote there");
}

#[test]
fn a_write_in_flight_may_or_may_not_be_seen() {
    let mut v = verifier(Verify::Reads);
    let old = write(&mut v, 8, 8);
    let (read, again) = (request(Op::Read, 8, 8), request(Op::Write, 8, 8));
    v.starts(1, &read, &mut []).unwrap();
    let mut new = vec![0; 4096];
    let number = v.starts(0, &again, &mut new).unwrap();
    v.ends(number, &again, true, false);
    // The read began before the write and ends after it.
    assert!(v.check_read(1, &read, &old));
    assert!(v.check_read(1, &read, &new));
    v.starts(1, &read, &mut []).unwrap();
    assert!(!v.check_read(1, &read, &old), "now it is too old");
}

#[test]
fn of_writes_that_overlap_in_time_either_may_be_last() {
    let mut v = verifier(Verify::Reads);
    let (a, b) = (request(Op::Write, 8, 8), request(Op::Write, 12, 8));
    let (mut first, mut second) = (vec![0; 4096], vec![0; 4096]);
    let one = v.starts(0, &a, &mut first).unwrap();
    let two = v.starts(1, &b, &mut second).unwrap();
    v.ends(two, &b, true, false);
    v.ends(one, &a, true, false);
    let mut both = first.clone();
    assert_eq!(kinds(&mut v, 8, &both), []);
    both[2048..].copy_from_slice(&second[..2048]);
    assert_eq!(kinds(&mut v, 8, &both), []);
}

#[test]
fn after_a_discard_or_a_failed_write_nothing_is_known_until_the_next_write() {
    let mut v = verifier(Verify::Reads);
    write(&mut v, 8, 8);
    let discard = request(Op::Discard, 8, 4);
    let number = v.starts(0, &discard, &mut []).unwrap();
    v.ends(number, &discard, true, false);
    assert_eq!(kinds(&mut v, 8, &[0; 4096]), [(Kind::Zeros, 12, 4)]);
    let failed = request(Op::Write, 12, 4);
    let number = v.starts(0, &failed, &mut [0; 2048]).unwrap();
    v.ends(number, &failed, false, false);
    assert_eq!(kinds(&mut v, 8, &[0; 4096]), []);
    let data = write(&mut v, 8, 8);
    assert_eq!(kinds(&mut v, 8, &data), []);
    assert_eq!(kinds(&mut v, 8, &[0; 512]), [(Kind::Zeros, 8, 1)]);
}

fn durable_of(v: &Verifier, sector: u64) -> u32 {
    let mut durable = 0;
    v.tables
        .entries(sector..sector + 1, |_, e| durable = v.tables.durable(&e));
    durable
}

#[test]
fn a_flush_makes_durable_what_was_complete_when_it_began() {
    let mut v = verifier(Verify::Off);
    let flush = request(Op::Flush, 0, 0);
    write(&mut v, 8, 8);
    let began = v.starts(2, &flush, &mut []).unwrap();
    write(&mut v, 100, 8);
    assert_eq!((durable_of(&v, 8), durable_of(&v, 100)), (0, 0));
    v.ends(began, &flush, true, false);
    assert_eq!((durable_of(&v, 8), durable_of(&v, 100)), (1, 0));
    write(&mut v, 8, 8);
    assert_eq!(durable_of(&v, 8), 1, "the newer one is not flushed");
    let write = request(Op::Write, 8, 8);
    let number = v.starts(0, &write, &mut [0; 4096]).unwrap();
    v.ends(number, &write, true, true);
    assert_eq!(durable_of(&v, 8), number, "force unit access");
}

#[test]
fn a_log_tells_what_the_tables_knew_and_survives_being_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tables");
    let log = TableLog::create(&path, RUN, 1000, false).unwrap();
    let mut v = Verifier::new(&Verification::default(), RUN, Some(log), false);
    let flush = request(Op::Flush, 0, 0);
    write(&mut v, 8, 8);
    let began = v.starts(2, &flush, &mut []).unwrap();
    v.ends(began, &flush, true, false);
    write(&mut v, 8, 4);
    let (tables, _, _, failed) = v.into_parts();
    assert!(failed.is_none());
    let empty = || Tables::new(Bytes::new(1 << 30), std::env::temp_dir());
    let kept = read_log(&path, empty()).unwrap();
    assert_eq!(
        (kept.run, kept.writes, kept.flushes, kept.cut_off),
        (RUN, 2, 1, 0)
    );
    let all = |tables: &Tables| {
        let mut all = Vec::new();
        tables.entries(0..40, |_, entry| all.push((entry, tables.durable(&entry))));
        all
    };
    assert_eq!(all(&kept.tables), all(&tables));
    let whole = std::fs::read(&path).unwrap();
    assert!(kept.is_complete);
    for length in 0..whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        match read_log(&path, empty()) {
            Err(problem) => assert!(length < 64, "{length}: {problem}"),
            Ok(kept) => assert_eq!(kept.cut_off, (length as u64 - 64) % 32),
        }
    }
}

#[test]
fn a_log_that_is_damaged_before_its_end_is_not_taken_for_one_that_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tables");
    let log = TableLog::create(&path, RUN, 1000, true).unwrap();
    let mut v = Verifier::new(&Verification::default(), RUN, Some(log), false);
    for sector in [0, 8, 16] {
        write(&mut v, sector, 8);
    }
    drop(v.into_parts());
    // The beginning and the end of each write, and the end of the log.
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(whole.len(), 64 + 7 * 32);
    let read = |damaged: usize, length: usize| {
        let mut bytes = whole[..length].to_vec();
        bytes[64 + damaged * 32 + 5] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let tables = Tables::new(Bytes::new(1 << 20), std::env::temp_dir());
        read_log(&path, tables).map(|kept| (kept.cut_off, kept.not_read, kept.may_lack_discards()))
    };
    for damaged in 0..6 {
        let problem = read(damaged, whole.len()).unwrap_err();
        let place = format!("byte {}: the record is damaged", 64 + damaged * 32);
        assert!(problem.contains(&place), "{problem}");
        let after = 5 - damaged as u64;
        let not_closed = read(damaged, whole.len() - 32).unwrap();
        assert_eq!(not_closed, (32 + after * 32, after, after > 0));
    }
    assert_eq!(read(6, whole.len()).unwrap(), (32, 0, false));
}

#[test]
fn a_log_that_was_not_synced_and_has_no_end_may_lack_discards() {
    let dir = tempfile::tempdir().unwrap();
    let kept = |op, durable, is_cut_off| {
        let path = dir.path().join(format!("{op:?}-{durable}-{is_cut_off}"));
        let log = TableLog::create(&path, RUN, 1000, durable).unwrap();
        let mut v = Verifier::new(&Verification::default(), RUN, Some(log), false);
        write(&mut v, 8, 8);
        let request = request(op, 8, 8);
        let number = v.starts(1, &request, &mut [0; 4096]).unwrap();
        v.ends(number, &request, true, false);
        assert!(v.into_parts().3.is_none());
        if is_cut_off {
            let whole = std::fs::read(&path).unwrap();
            std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        }
        let empty = Tables::new(Bytes::new(1 << 30), std::env::temp_dir());
        read_log(&path, empty).unwrap()
    };
    for op in [Op::Discard, Op::WriteZeroes] {
        assert!(kept(op, false, true).may_lack_discards());
        assert!(!kept(op, false, false).may_lack_discards());
        assert!(!kept(op, true, true).may_lack_discards());
    }
    assert!(!kept(Op::Write, false, true).may_lack_discards());
    assert_eq!(kept(Op::Discard, true, false).discards, 1);
    assert_eq!(kept(Op::Write, true, false).discards, 0);
}

#[test]
fn a_log_without_a_record_is_not_left_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tables");
    let create = || TableLog::create(&path, RUN, 1000, false);
    drop(create().unwrap());
    assert!(!path.exists());
    // One that came to its end is kept although nothing was written.
    assert!(create().unwrap().finish().is_none());
    assert!(path.exists());
    // That of another is not removed.
    assert!(create().is_err() && path.exists());
}

#[test]
fn tables_spill_and_stay_what_they_were() {
    let spilled = Tables::new(Bytes::new(0), std::env::temp_dir());
    let mut tables = spilled;
    for i in 0..50 {
        let write = request(Op::Write, i * 100_000, 16);
        let number = tables.write_starts(&write).unwrap();
        tables.write_ends(number, &write, true, false);
    }
    for i in 0..50_u64 {
        tables.entries(i * 100_000..i * 100_000 + 16, |_, entry| {
            assert_eq!(u64::from(entry.floor), i + 1);
        });
    }
    assert_eq!(tables.known().len(), 50);
}

/// A target as long as two writes, whose last `cut` sectors cannot be read.
fn cut_target(v: &mut Verifier, cut: u64) -> (tempfile::TempDir, crate::Target) {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("target");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(16 * 512).unwrap();
    let intent = crate::Intent {
        buffered: true,
        ..crate::Intent::default()
    };
    let target = crate::Target::open(&path, &intent, &iosonar_guard::Host::default()).unwrap();
    for sector in [0, 8] {
        let data = write(v, sector, 8);
        file.write_all_at(&data, sector * 512).unwrap();
        if sector == 0 {
            let flush = request(Op::Flush, 0, 0);
            let number = v.starts(2, &flush, &mut []).unwrap();
            v.ends(number, &flush, true, false);
        }
    }
    // Beyond the end of the file a read fails, as it does where a device reports an error.
    file.set_len((16 - cut) * 512).unwrap();
    (folder, target)
}

/// The check of a target after a crash.
fn after_crash(v: &Verifier, target: &crate::Target) -> (Survival, Findings) {
    let expect = Expect {
        only_durable: true,
        all_known: true,
    };
    let mut findings = Findings::default();
    let survival = check_again(target, RUN, &v.tables, expect, &mut findings, |_| true);
    (survival.unwrap(), findings)
}

#[test]
fn what_cannot_be_read_after_a_crash_counts_by_whether_it_was_durable() {
    for (cut, durable, not_durable) in [(0, 0, 0), (8, 0, 8), (16, 8, 8)] {
        let mut v = verifier(Verify::Off);
        let (_folder, target) = cut_target(&mut v, cut);
        let (survival, findings) = after_crash(&v, &target);
        assert_eq!(survival.durable, 8);
        assert_eq!(survival.unreadable_not_durable, not_durable);
        assert_eq!(findings.faults(), durable + not_durable);
    }
}

#[test]
fn sectors_that_were_durable_and_are_zero_are_counted_apart() {
    use std::os::unix::fs::FileExt;
    for (content, durable_zeros) in [(0, 3), (0xa5, 0)] {
        let mut v = verifier(Verify::Off);
        let (folder, target) = cut_target(&mut v, 0);
        let path = folder.path().join("target");
        let file = std::fs::File::options().write(true).open(path).unwrap();
        // The first eight sectors were made durable.
        file.write_all_at(&[content; 5 * 512], 5 * 512).unwrap();
        let (survival, findings) = after_crash(&v, &target);
        assert_eq!(survival.durable_zeros, durable_zeros);
        assert_eq!(findings.faults(), 3 + survival.damaged_not_durable);
    }
}

#[test]
fn what_no_write_put_there_is_damage_whatever_was_guaranteed() {
    use std::os::unix::fs::FileExt;
    // What the second write, which nothing made durable, left behind: what stands there, and what it counts as.
    type Damage = fn(&mut [u8]);
    let cases: [(Damage, [u64; 4]); 8] = [
        (|_| {}, [1, 0, 0, 0]),
        (|data| data.fill(0), [0, 0, 1, 0]),
        (|data| data.fill(0xa5), [0, 0, 0, 1]),
        (|data| data[100] ^= 4, [0, 0, 0, 1]),
        (|data| tag::write(data, RUN, 1, 3), [0, 0, 0, 1]),
        (|data| tag::write(data, RUN, 99, 8), [0, 0, 0, 1]),
        (|data| tag::write(data, OTHER_RUN, 5, 8), [0, 1, 0, 0]),
        (|data| tag::write(data, ON_OTHER_TARGET, 1, 8), [0, 0, 0, 1]),
    ];
    for (number, (damage, [newest, not_guaranteed, never_arrived, damaged])) in
        cases.into_iter().enumerate()
    {
        let mut v = verifier(Verify::Off);
        let (folder, target) = cut_target(&mut v, 0);
        let file = std::fs::File::options()
            .read(true)
            .write(true)
            .open(folder.path().join("target"))
            .unwrap();
        let mut sector = [0; 512];
        file.read_exact_at(&mut sector, 8 * 512).unwrap();
        damage(&mut sector);
        file.write_all_at(&sector, 8 * 512).unwrap();
        let (survival, findings) = after_crash(&v, &target);
        assert_eq!(
            [
                survival.newest - 15,
                survival.not_guaranteed,
                survival.never_arrived,
                survival.damaged_not_durable
            ],
            [newest, not_guaranteed, never_arrived, damaged],
            "case {number}"
        );
        assert_eq!(findings.faults(), damaged, "case {number}");
    }
}

#[test]
fn sectors_that_nothing_is_known_of_are_counted() {
    let mut v = verifier(Verify::Reads);
    let mut data = write(&mut v, 8, 4);
    // Without a tag, as before the replay.
    data.resize(16 * 512, 1);
    let read = request(Op::Read, 8, 16);
    v.starts(1, &read, &mut []).unwrap();
    assert!(v.check_read(1, &read, &data));
    assert_eq!((v.findings.checked, v.findings.unknown), (4, 12));
    // Of half a sector that a write in flight has changed, nothing is known either.
    let again = request(Op::Write, 8, 1);
    v.starts(0, &again, &mut [0; 512]).unwrap();
    v.starts(1, &read, &mut []).unwrap();
    data[300] ^= 4;
    assert!(v.check_read(1, &read, &data));
    assert_eq!((v.findings.checked, v.findings.unknown), (7, 25));
}

#[test]
fn only_writes_that_end_are_complete_writes() {
    let mut v = verifier(Verify::Reads);
    let (flush, read) = (request(Op::Flush, 0, 16), request(Op::Read, 8, 8));
    write(&mut v, 8, 8);
    for (other, done) in [(flush, true), (flush, false), (read, true), (read, false)] {
        let number = v.starts(1, &other, &mut []).unwrap();
        v.ends(number, &other, done, false);
        assert_eq!(v.tables.flush_starts(), 1, "{other:?}");
    }
}

#[test]
fn a_flush_that_failed_makes_nothing_durable_and_leaves_writes_in_flight() {
    let mut v = verifier(Verify::Off);
    write(&mut v, 8, 8);
    let in_flight = request(Op::Write, 16, 8);
    let number = v.starts(0, &in_flight, &mut [0; 4096]).unwrap();
    // The place of a flush means nothing.
    let flush = request(Op::Flush, 8, 16);
    let began = v.starts(1, &flush, &mut []).unwrap();
    v.ends(began, &flush, false, true);
    assert_eq!((durable_of(&v, 8), durable_of(&v, 16)), (0, 0));
    let began = v.starts(1, &flush, &mut []).unwrap();
    v.ends(number, &in_flight, true, false);
    v.ends(began, &flush, true, false);
    assert_eq!((durable_of(&v, 8), durable_of(&v, 16)), (1, 0));
}

#[test]
fn a_log_with_a_flush_that_failed_claims_what_the_next_one_covered_and_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.tables");
    let log = TableLog::create(&path, RUN, 1000, false).unwrap();
    let mut v = Verifier::new(&Verification::default(), RUN, Some(log), false);
    let flush = request(Op::Flush, 0, 0);
    let began = v.starts(2, &flush, &mut []).unwrap();
    v.ends(began, &flush, false, false);
    write(&mut v, 8, 8);
    let began = v.starts(2, &flush, &mut []).unwrap();
    write(&mut v, 16, 8);
    v.ends(began, &flush, true, false);
    assert!(v.into_parts().3.is_none());
    let empty = Tables::new(Bytes::new(1 << 30), std::env::temp_dir());
    let kept = read_log(&path, empty).unwrap();
    assert_eq!((kept.writes, kept.flushes), (2, 1));
    let mut durable = Vec::new();
    for sector in [8, 16] {
        let tables = &kept.tables;
        tables.entries(sector..sector + 1, |_, entry| {
            durable.push(tables.durable(&entry));
        });
    }
    assert_eq!(durable, [1, 0]);
}

#[test]
fn a_short_log_takes_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("discards");
    let mut log = TableLog::create(&path, RUN, 1 << 40, false).unwrap();
    let (number_of, most) = (30, u64::from(u32::MAX));
    for number in 0..number_of {
        let part = request(Op::Discard, number * most, u32::MAX);
        log.started(number as u32 + 1, &part).unwrap();
    }
    assert!(log.finish().is_none());
    let empty = Tables::new(Bytes::new(1 << 30), std::env::temp_dir());
    let kept = read_log(&path, empty).unwrap();
    assert_eq!(kept.discards, number_of);
    // Most chunks where two of them meet have their sectors' entries.
    assert!(kept.tables.sectors() >= number_of * most);
    assert!(kept.tables.places() <= 2 * number_of as usize);
}

/// The ends in a damaged log may be of anything, such as a part of what was discarded.
#[test]
fn an_end_without_a_beginning_changes_its_sectors_only() {
    let mut tables = Tables::new(Bytes::new(1 << 30), std::env::temp_dir());
    let all = request(Op::Write, 0, 1 << 20);
    let number = tables.write_starts(&all).unwrap();
    tables.write_ends(number, &all, true, false);
    for (sector, sectors) in [(3, 5), (2048, 1024), (9 * 1024 - 1, 2050)] {
        let part = request(Op::Write, sector, sectors);
        tables.prepare_end(&part).unwrap();
        tables.write_ends(7, &part, false, false);
    }
    assert_eq!(
        tables.known(),
        [0..3, 8..2048, 3072..9 * 1024 - 1, 11 * 1024 + 1..1 << 20]
    );
}

/// Sectors in memory, in large blocks.
struct InMemory {
    block: u64,
    data: Vec<u8>,
}

impl Contents for InMemory {
    fn block(&self) -> u64 {
        self.block
    }

    fn read(&self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let from = sector as usize * 512;
        data.copy_from_slice(&self.data[from..from + data.len()]);
        Ok(())
    }
}

#[test]
fn blocks_are_read_whole_however_large_they_are() {
    let mut v = verifier(Verify::Final);
    let block = 1024;
    let mut target = InMemory {
        block,
        data: vec![0; 2 * block as usize * 512],
    };
    // Around the boundary of two blocks.
    let written = write(&mut v, block - 2, 4);
    let from = (block as usize - 2) * 512;
    target.data[from..from + written.len()].copy_from_slice(&written);
    let expect = Expect {
        only_durable: false,
        all_known: true,
    };
    let mut findings = Findings::default();
    let survival = check_contents(&target, RUN, &v.tables, expect, &mut findings, |_| true);
    assert_eq!(survival.unwrap().newest, 4);
    assert_eq!((findings.checked, findings.faults()), (4, 0));
}

#[test]
fn sectors_of_a_block_are_checked_once_however_many_pieces_were_written() {
    let mut v = verifier(Verify::Final);
    let mut data = vec![0; 16 * 512];
    for (sector, sectors) in [(1, 2), (4, 3), (9, 1)] {
        let written = write(&mut v, sector, sectors);
        data[sector as usize * 512..][..written.len()].copy_from_slice(&written);
    }
    let expect = Expect {
        only_durable: false,
        all_known: true,
    };
    let mut findings = Findings::default();
    let target = InMemory { block: 16, data };
    let survival = check_contents(&target, RUN, &v.tables, expect, &mut findings, |_| true);
    assert_eq!(survival.unwrap().newest, 6);
    assert_eq!((findings.checked, findings.faults()), (6, 0));
}

#[test]
fn of_what_was_flushed_a_later_version_may_be_lost() {
    let mut v = verifier(Verify::Off);
    let durable = write(&mut v, 0, 4);
    let flush = request(Op::Flush, 0, 0);
    let began = v.starts(2, &flush, &mut []).unwrap();
    v.ends(began, &flush, true, false);
    let mut data = write(&mut v, 0, 4);
    data[..3 * 512].copy_from_slice(&durable[..3 * 512]);
    let target = InMemory { block: 1, data };
    let expect = Expect {
        only_durable: true,
        all_known: true,
    };
    let mut findings = Findings::default();
    let survival = check_contents(&target, RUN, &v.tables, expect, &mut findings, |_| true);
    let survival = survival.unwrap();
    assert_eq!((survival.newest, survival.not_guaranteed), (1, 3));
    assert_eq!((survival.durable, findings.faults()), (4, 0));
}

#[test]
fn a_run_has_an_odd_number_that_no_other_has() {
    let runs: std::collections::HashSet<u64> = (0..64).map(|_| new_run()).collect();
    assert_eq!(runs.len(), 64);
    assert!(runs.iter().all(|run| run % 2 == 1 && *run > 1));
}

#[test]
fn a_run_has_a_number_on_each_of_its_targets() {
    for (run, target, number) in [
        (1, 0, 0x1_0000),
        (1, 5, 0x1_0005),
        (0x12, 0xffff, 0x12_ffff),
    ] {
        assert_eq!(run_on_target(run, target), number);
    }
    for (a, b, is_same) in [
        (0x1_0000, 0x1_ffff, true),
        (0x1_0000, 0x2_0000, false),
        (0x1_ffff, 0x2_0000, false),
    ] {
        assert_eq!(is_of_same_replay(a, b), is_same);
    }
}

#[test]
fn how_much_is_verified_follows_from_the_level() {
    for (level, tags, reads_back, has_final_pass) in [
        (Verify::Off, false, false, false),
        (Verify::Reads, true, false, false),
        (Verify::Final, true, false, true),
        (Verify::Paranoid, true, true, true),
    ] {
        let v = verifier(level);
        assert_eq!(
            (v.reads_back(), v.has_final_pass()),
            (reads_back, has_final_pass)
        );
        let only = Verification {
            level,
            ..Verification::default()
        };
        assert_eq!(only.is_tagging(), tags, "{level:?}");
        for with in [
            Verification {
                tag: true,
                ..only.clone()
            },
            Verification {
                keep_tables: Some("x.tables".into()),
                ..only
            },
        ] {
            assert!(with.is_tagging());
        }
    }
}

#[test]
fn only_checks_look_at_what_was_read() {
    for (level, is_right) in [(Verify::Off, true), (Verify::Reads, false)] {
        let mut v = verifier(level);
        write(&mut v, 8, 8);
        let read = request(Op::Read, 8, 8);
        v.starts(1, &read, &mut []).unwrap();
        assert_eq!(v.check_read(1, &read, &[0; 4096]), is_right);
    }
}

#[test]
fn where_every_write_is_on_the_medium_it_must_survive_at_once() {
    for (write_through, durable) in [(false, 0), (true, 1)] {
        let mut v = Verifier::new(&Verification::default(), RUN, None, write_through);
        write(&mut v, 8, 8);
        assert_eq!(durable_of(&v, 8), durable);
    }
}

#[test]
fn a_block_of_a_target_is_counted_in_sectors() {
    for (bytes, sectors) in [(512, 1), (4096, 8), (65_536, 128), (1, 1)] {
        let target = crate::Target::imaginary(Bytes::new(1 << 20), Bytes::new(bytes));
        assert_eq!(Contents::block(&target), sectors);
        assert!(Contents::read(&target, 0, &mut [0; 512]).is_err());
    }
}

#[test]
fn a_pass_reports_how_far_it_has_come_and_may_be_ended() {
    let mut v = verifier(Verify::Final);
    let mut target = InMemory {
        block: 8,
        data: vec![0; 10_000 * 512],
    };
    // The first range is longer than the longest read of 2048 sectors.
    for (sector, sectors) in [(0, 3000), (4000, 8), (5003, 2)] {
        let written = write(&mut v, sector, sectors);
        let from = sector as usize * 512;
        target.data[from..from + written.len()].copy_from_slice(&written);
    }
    let expect = Expect {
        only_durable: false,
        all_known: true,
    };
    for (calls, checked) in [(4, 3010), (2, 3000), (1, 2048)] {
        let mut seen = Vec::new();
        let mut findings = Findings::default();
        let survival = check_contents(&target, RUN, &v.tables, expect, &mut findings, |at| {
            seen.push((at.done, at.all));
            seen.len() < calls
        });
        let all = [(2048, 3010), (3000, 3010), (3008, 3010), (3010, 3010)];
        assert_eq!(seen, all[..calls]);
        assert_eq!(survival.unwrap().newest, checked);
        assert_eq!((findings.checked, findings.faults()), (checked, 0));
    }
}

/// Contents of which some blocks cannot be read.
struct Broken {
    inner: InMemory,
    bad: std::ops::Range<u64>,
    reads: std::cell::RefCell<Vec<(u64, u64)>>,
}

impl Contents for Broken {
    fn block(&self) -> u64 {
        self.inner.block
    }

    fn read(&self, sector: u64, data: &mut [u8]) -> io::Result<()> {
        let sectors = data.len() as u64 / 512;
        self.reads.borrow_mut().push((sector, sectors));
        match sector < self.bad.end && sector + sectors > self.bad.start {
            true => Err(io::Error::from_raw_os_error(libc::EIO)),
            false => self.inner.read(sector, data),
        }
    }
}

#[test]
fn where_a_read_fails_blocks_are_read_one_by_one() {
    let mut v = verifier(Verify::Final);
    let mut data = vec![0; 64 * 512];
    // From the middle of a block to that of another.
    let written = write(&mut v, 4, 16);
    data[4 * 512..20 * 512].copy_from_slice(&written);
    let target = Broken {
        inner: InMemory { block: 8, data },
        bad: 9..10,
        reads: std::cell::RefCell::default(),
    };
    let expect = Expect {
        only_durable: false,
        all_known: true,
    };
    let mut findings = Findings::default();
    let survival = check_contents(&target, RUN, &v.tables, expect, &mut findings, |_| true);
    let reads = target.reads.take();
    assert_eq!(reads, [(0, 24), (0, 8), (8, 8), (16, 8)]);
    let survival = survival.unwrap();
    assert_eq!((survival.newest, survival.unreadable_not_durable), (8, 8));
    assert_eq!((findings.checked, findings.faults()), (16, 8));
    let found: Vec<_> = findings
        .ranges()
        .map(|f| (f.kind, f.sector, f.sectors))
        .collect();
    assert_eq!(found, [(Kind::Unreadable, 8, 8)]);
}

#[test]
fn a_write_that_the_log_does_not_know_may_be_there_after_a_crash() {
    for (all_known, number, is_right) in [
        (true, 1, true),
        (true, 2, false),
        (false, 2, true),
        (false, 1, true),
    ] {
        let mut v = verifier(Verify::Off);
        let mut data = write(&mut v, 0, 1);
        tag::write(&mut data, RUN, number, 0);
        let target = InMemory { block: 1, data };
        let expect = Expect {
            only_durable: true,
            all_known,
        };
        let mut findings = Findings::default();
        check_contents(&target, RUN, &v.tables, expect, &mut findings, |_| true).unwrap();
        assert_eq!(findings.faults() == 0, is_right, "{all_known} {number}");
    }
}
