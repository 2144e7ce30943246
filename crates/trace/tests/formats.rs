//! Every format: what its fixture says, what damage to it does, and how it is recognised.

mod common;

use std::path::{Path, PathBuf};

use arbitrary::Unstructured;
use common::{all_of, shown};
use iosonar_trace::{Format, Metadata, ReadOptions, StartEvent, TraceError, formats, input};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fixtures/traces")
        .join(name)
}

fn read_with(name: &str, options: &ReadOptions) -> Result<(Vec<String>, Metadata), TraceError> {
    let mut reader = input::open_with(&fixture(name), options)?;
    let records = all_of(&mut *reader)?;
    let metadata = reader.metadata().clone();
    Ok((
        records.iter().map(|r| shown(r, &metadata)).collect(),
        metadata,
    ))
}

fn read(name: &str) -> Vec<String> {
    read_with(name, &ReadOptions::default()).unwrap().0
}

#[test]
fn public_data_sets_are_read() {
    assert_eq!(
        read("msr.csv"),
        [
            "0 13700410+48 read usr_0 0 4128600",
            "1332052600 2573128+16 write usr_0 0 196300",
            "2332061600 4758672+8 read web_1 0 183500",
        ]
    );
    assert_eq!(
        read("spc.spc"),
        [
            "551706000 20941264+16 write 0",
            "554041000 20939840+16 write 0",
            "1250720000 3436288+31 read 1",
        ]
    );
    assert_eq!(
        read("fiu.txt"),
        [
            "89967404301236 904265560+8 write 6,0",
            "89967404409000 110008344+16 write 8,0",
            "89967412000000 283193184+8 read 6,0"
        ]
    );
    let (rows, metadata) = read_with("systor.csv", &ReadOptions::default()).unwrap();
    assert_eq!(
        rows,
        [
            "0 1755976801+256 read 0 0 806000"
                .replace("1755976801", &(899_056_122_368_u64 / 512).to_string()),
            "24000 8+1 write 2 0 120000".to_owned(),
            "166924000 16+2 read 2".to_owned(),
        ]
    );
    assert_eq!(
        metadata.remarks[0].count, 1,
        "a row without a type is told of"
    );
    assert_eq!(metadata.origin_ns, Some(1_456_095_145_133_076_000));
    assert_eq!(
        read("alibaba.csv"),
        [
            "0 17173304+32 write 419",
            "46000 115449856+704 read 725",
            "133000 0+1 read 419"
        ]
    );
    let (rows, metadata) = read_with("tencent.csv", &ReadOptions::default()).unwrap();
    assert_eq!(
        rows,
        [
            "0 12910952+128 read 1063",
            "0 6338688+8 write 1627",
            "1000000000 1904106+384 read 1063"
        ]
    );
    assert_eq!(metadata.origin_ns, Some(1_538_323_200_000_000_000));
}

#[test]
fn wall_clocks_are_kept() {
    let (_, metadata) = read_with("msr.csv", &ReadOptions::default()).unwrap();
    // 128166372003061629 * 100 ns after 1601: 22 February 2007, 17:00:00.3 UTC.
    assert_eq!(metadata.origin_ns, Some(1_172_163_600_306_162_900));
}

#[test]
fn traces_of_simulators_are_read() {
    assert_eq!(
        read("disksim.ascii"),
        [
            "0 2000+8 read 0",
            "1250000 4000+16 write 0",
            "10000001 8+2 read 1"
        ]
    );
    assert_eq!(
        read("mqsim.trace"),
        [
            "938513000 264719034+16 write 4",
            "938828000 197570570+16 read 3",
            "938944000 93230992+32 write 4"
        ]
    );
    // Starts are laid end to end; the think time is a column.
    assert_eq!(
        read("disksim-validation.trace"),
        [
            "0 4583176+4 read 0 663000 think 45422000",
            "46085000 564347+2 write 0 14095370 think 13876270",
            "74056640 8+16 read 0 1000000 think 0",
            "75056640 100+1 write 0 5500 think 1000",
        ]
    );
}

#[test]
fn logs_of_tools_are_read() {
    assert_eq!(
        read("diskmon.log"),
        [
            "25813000 12345678+8 write 0 0 91550",
            "30000000 64+16 read 0 0 1000000",
            "1500000000 0+1 read 1 0 0"
        ]
    );
    // Starts are completions less latencies; the earliest is time zero.
    assert_eq!(
        read("biosnoop.txt"),
        [
            "0 13092560+8 write xvda1 0 740000",
            "304000 13092432+8 read xvda1 0 610000",
            "1205000 8+1 read nvme0n1 0 1000000",
        ]
    );
    assert_eq!(
        read("v3.fio"),
        [
            "10000 8+16 read /dev/sda",
            "150000 0+1 write /dev/sda",
            "2000000 2048+8 discard /dev/sdb",
            "2500000 0+0 flush /dev/sda",
        ]
    );
    assert_eq!(
        read("v2.fio"),
        [
            "0 8+16 read /dev/sda",
            "150000 0+1 write /dev/sda",
            "150000 0+0 flush /dev/sda",
            "1150000 1+1 read /dev/sda",
        ]
    );
}

#[test]
fn events_of_the_kernel_become_requests() {
    let (rows, metadata) = read_with("blkparse.txt", &ReadOptions::default()).unwrap();
    assert_eq!(
        rows,
        [
            // Two bios, merged, complete together.
            "0 223490+8 write sync 8,0 0 9507758",
            "3533 223498+8 write sync 8,0 0 9504225",
            // An empty write with a flush is a flush; nothing is lost.
            "100000 0+0 flush sync 8,0 0 9900000",
            // A split request is complete when its last part is; here that failed.
            "11000000 1000+16 read 8,0 0 2000000 Error(5)",
            "13500000 0+2048 discard sync 8,16",
            "14000000 5000+8 read 8,0",
        ]
    );
    assert_eq!(metadata.about["start event"], "queue (Q)");
    assert_eq!(metadata.remarks.len(), 1, "{:?}", metadata.remarks);
    assert_eq!(metadata.remarks[0].count, 2, "two have no completion");
    // From the issue on there is one request of both.
    let of_issue = ReadOptions {
        start_event: StartEvent::Issue,
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("blkparse.txt", &of_issue).unwrap().0[0],
        "7000 223490+16 write sync 8,0 0 9500758"
    );
    // Merged into the request that was allocated.
    let of_get = ReadOptions {
        start_event: StartEvent::Get,
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("blkparse.txt", &of_get).unwrap().0[0],
        "1829 223490+16 write sync 8,0 0 9505929"
    );
    let at_issue = ReadOptions {
        start_at_issue: true,
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("blkparse.txt", &at_issue).unwrap().0[1],
        "3533 223498+8 write sync 8,0 3467 9500758"
    );
    assert_eq!(
        read("tracefs.txt"),
        [
            "0 53758080+8 read sync 252,2 0 250000",
            "100000 0+0 flush 252,2 0 200000",
            "900000 64+1 write sync 252,2 0 1000000 Error(5)",
        ]
    );
    assert_eq!(
        read("perf-script.txt"),
        ["0 7322849+16 read 254,16 0 4154000"]
    );
    assert_eq!(read("trace-cmd.txt"), ["0 192+256 write sync 7,0 0 100000"]);
}

#[test]
fn completions_find_the_requests_that_they_are_of() {
    // What is issued again is one request; with -t a flush tells its duration.
    assert_eq!(
        read("requeued.txt"),
        [
            "0 100+8 write 8,0 0 900000",
            "200000 0+0 flush sync 8,0 0 500000"
        ]
    );
    // A completion is of the very same range before one that it merely lies in.
    assert_eq!(
        read("overlapping.txt"),
        [
            "0 0+16 read 8,0 0 3000000",
            "1000000 8+8 read 8,0 0 1000000"
        ]
    );
    let again = ReadOptions {
        start_event: StartEvent::Issue,
        ..ReadOptions::default()
    };
    let rows = read_with("requeued.txt", &again).unwrap().0;
    assert_eq!(rows[1], "300000 100+8 write 8,0 0 600000");
    assert_eq!(rows.len(), 2);
    let at_issue = ReadOptions {
        start_at_issue: true,
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("requeued.txt", &at_issue).unwrap().0,
        [
            "0 100+8 write 8,0 300000 600000",
            "200000 0+0 flush sync 8,0 50000 450000"
        ]
    );
}

#[test]
fn columns_of_other_names_are_mapped() {
    let options = ReadOptions {
        columns: [
            ("time_ms", "when [ms]"),
            ("offset_bytes", "offset"),
            ("length_bytes", "bytes"),
            ("device", "who"),
        ]
        .map(|(ours, theirs)| (ours.to_owned(), theirs.to_owned()))
        .to_vec(),
        ..ReadOptions::default()
    };
    assert_eq!(
        read_with("foreign.csv", &options).unwrap().0,
        ["1500000 8+16 read a;b", "2000000 0+1 write c"]
    );
    let error = read_with(
        "foreign.csv",
        &ReadOptions {
            columns: vec![("time_s".into(), "nosuch".into())],
            ..options
        },
    );
    assert!(error.unwrap_err().to_string().contains("nosuch"));
}

#[test]
fn json_lines_are_read() {
    assert_eq!(
        read("ours.jsonl"),
        [
            "1500 8+16 write sync sda 10 250000",
            "2000000000 8+1 read sda Error(5)"
        ]
    );
}

/// A set of two processors' files, in the byte order and version asked for.
fn blktrace_file(events: &[(u64, u32, u64, u32, u16)], big: bool, version: u8) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |value: u64, width: usize| {
        let all = value.to_le_bytes();
        let mut part = all[..width].to_vec();
        if big {
            part.reverse();
        }
        bytes.extend(part);
    };
    for (i, (time, action, sector, length, error)) in events.iter().enumerate() {
        put(0x6561_7400 | u64::from(version), 4);
        put(i as u64, 4);
        put(*time, 8);
        put(*sector, 8);
        put(u64::from(*length), 4);
        if version == 7 {
            put(u64::from(*action), 4);
            put(42, 4);
        } else {
            put(42, 4);
            put(u64::from(*action), 8);
        }
        put(8 << 20 | 1, 4);
        put(1, 4);
        put(u64::from(*error), 2);
        put(3, 2);
        if version == 8 {
            put(0, 8);
            put(0, 4);
        }
        put(0x61_62_63, 3);
    }
    bytes
}

const READ: u32 = 1 << 16;
const WRITE: u32 = 2 << 16;
const FLUSH: u32 = 4 << 16;

#[test]
fn binary_recordings_are_read_in_either_byte_order_and_version() {
    let first = [
        (1_000, 1 | READ, 800, 4096, 0),
        (9_000, 8 | READ, 800, 4096, 0),
        (9_500, 8 | WRITE, 64, 512, 0xfffb),
    ];
    let second = [
        (2_000, 1 | WRITE | FLUSH, 64, 512, 0),
        (3_000, 1 | WRITE | FLUSH, 0, 0, 0),
        (9_900, 8 | WRITE | FLUSH, 0, 0, 0),
    ];
    for (big, version) in [(false, 7), (true, 7), (false, 8), (true, 8)] {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("sda.blktrace.0"), blktrace_file(&first, big, version)).unwrap();
        std::fs::write(path("sda.blktrace.1"), blktrace_file(&second, big, version)).unwrap();
        // A folder, a prefix, one of the files: the same set.
        for name in ["", "sda", "sda.blktrace.1"] {
            let mut reader = input::open(&path(name)).unwrap();
            let records = all_of(&mut *reader).unwrap();
            let shown: Vec<String> = records
                .iter()
                .map(|r| shown(r, reader.metadata()))
                .collect();
            assert_eq!(
                shown,
                [
                    "0 800+8 read 8,1 0 8000",
                    "1000 64+1 write fua 8,1 0 7500 Error(5)",
                    "2000 0+0 flush 8,1 0 6900",
                ],
                "{big} {version} {name}"
            );
        }
        // Damage in the middle costs what is damaged, whatever the distance to the next record.
        let mut hurt = blktrace_file(&first, big, version);
        hurt.remove(70);
        std::fs::write(path("hurt.blktrace.0"), &hurt).unwrap();
        let lenient = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let mut reader = input::open_with(&path("hurt.blktrace.0"), &lenient).unwrap();
        all_of(&mut *reader).unwrap();
        let lost = reader
            .metadata()
            .remarks
            .iter()
            .filter(|r| r.what.contains("skipped"));
        assert_eq!(
            lost.map(|r| r.count).sum::<u64>(),
            1,
            "{:?}",
            reader.metadata().remarks
        );
        // A record that is cut off is an error that says where; what is whole can be had.
        let mut cut = blktrace_file(&first, big, version);
        cut.truncate(cut.len() - 5);
        std::fs::write(path("cut.blktrace.0"), &cut).unwrap();
        let cut = path("cut.blktrace.0");
        let strict = input::open(&cut).and_then(|mut r| all_of(&mut *r));
        let message = strict.unwrap_err().to_string();
        assert!(
            message.contains("cut.blktrace.0: byte ") && message.contains("--lenient"),
            "{message}"
        );
        let lenient = ReadOptions {
            lenient: true,
            ..ReadOptions::default()
        };
        let mut reader = input::open_with(&cut, &lenient).unwrap();
        assert_eq!(all_of(&mut *reader).unwrap().len(), 1);
    }
}

#[test]
fn formats_are_recognised_by_content_under_any_name() {
    for (name, format) in [
        ("msr.csv", "msr"),
        ("spc.spc", "spc"),
        ("fiu.txt", "fiu"),
        ("systor.csv", "systor"),
        ("alibaba.csv", "alibaba"),
        ("tencent.csv", "tencent"),
        ("disksim.ascii", "disksim"),
        ("mqsim.trace", "mqsim"),
        ("diskmon.log", "diskmon"),
        ("disksim-validation.trace", "disksim-validation"),
        ("biosnoop.txt", "biosnoop"),
        ("v3.fio", "fio"),
        ("v2.fio", "fio"),
        ("blkparse.txt", "blkparse"),
        ("tracefs.txt", "tracepoints"),
        ("perf-script.txt", "tracepoints"),
        ("trace-cmd.txt", "tracepoints"),
        ("ours.jsonl", "jsonl"),
    ] {
        let content = std::fs::read(fixture(name)).unwrap();
        let fits: Vec<&str> = formats::ALL
            .iter()
            .filter(|f| f.recognises(&content))
            .map(|f| f.name())
            .collect();
        assert_eq!(fits.first(), Some(&format), "{name}: {fits:?}");
    }
}

#[test]
fn ranges_of_bytes_are_whole_sectors_or_widened_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    std::fs::write(&path, "1,R,100,1000,5000000000000000\n").unwrap();
    let message = input::open(&path)
        .and_then(|mut r| all_of(&mut *r))
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("x.csv:1:5: field 'offset' is '100'") && message.contains("--round out"),
        "{message}"
    );
    let round = ReadOptions {
        round_out: true,
        ..ReadOptions::default()
    };
    let mut reader = input::open_with(&path, &round).unwrap();
    let records = all_of(&mut *reader).unwrap();
    assert_eq!(shown(&records[0], reader.metadata()), "0 0+3 read 1");
    assert_eq!(reader.metadata().remarks[0].count, 1);
}

#[test]
fn devices_can_be_chosen() {
    let of = |device: &str| {
        let options = ReadOptions {
            devices: vec![device.to_owned()],
            ..ReadOptions::default()
        };
        read_with("alibaba.csv", &options)
    };
    assert_eq!(of("419").unwrap().0.len(), 2);
    let message = of("7").unwrap_err().to_string();
    assert!(message.contains("419, 725"), "{message}");
}

/// Damages `content` as the bytes of `plan` say.
fn damaged(content: &[u8], plan: &mut Unstructured<'_>) -> arbitrary::Result<Vec<u8>> {
    let mut bytes = content.to_vec();
    for _ in 0..plan.int_in_range(1..=4)? {
        if bytes.is_empty() {
            break;
        }
        let at = plan.choose_index(bytes.len())?;
        match plan.int_in_range(0..=5)? {
            0 => bytes[at] = plan.arbitrary()?,
            1 => bytes.truncate(at),
            2 => drop(bytes.remove(at)),
            3 => bytes.insert(at, *plan.choose(b"0123456789.,;-+ \n\tRWe\"{}[]()\xff\0")?),
            4 => {
                let to = at + plan.choose_index(bytes.len() - at)?;
                let part = bytes[at..to].to_vec();
                bytes.splice(at..at, part);
            }
            _ => {
                let digits = b"18446744073709551616";
                bytes.splice(at..at, digits.iter().copied());
            }
        }
    }
    Ok(bytes)
}

/// Whatever happens to a file, a reader ends: with records, or with an error that names the file.
#[test]
fn damage_never_panics_in_any_format() {
    let mut files: Vec<Vec<u8>> = std::fs::read_dir(fixture(""))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap())
        .collect();
    files.push(blktrace_file(
        &[(1, 1 | READ, 8, 512, 0), (9, 8 | READ, 8, 512, 0)],
        false,
        7,
    ));
    files.push(common::ios_bytes(500));
    files.sort();
    // A sequence of its own: the same every time.
    let mut state = 1_u64;
    let mut seed = vec![0; 256];
    for round in 0..6_000 {
        for byte in &mut seed {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            *byte = (state >> 33) as u8;
        }
        let content = &files[round % files.len()];
        let Ok(bytes) = damaged(content, &mut Unstructured::new(&seed)) else {
            continue;
        };
        for options in [
            ReadOptions::default(),
            ReadOptions {
                lenient: true,
                round_out: true,
                ..ReadOptions::default()
            },
        ] {
            let name = Path::new("damaged.bin");
            let input = Box::new(std::io::Cursor::new(bytes.clone()));
            let outcome = input::read_from(input, name, &options).and_then(|mut r| all_of(&mut *r));
            if let Err(error) = outcome {
                assert!(error.to_string().contains("damaged.bin"), "{error}");
            }
        }
    }
}

/// The same, with each format forced upon bytes of any kind.
#[test]
fn arbitrary_bytes_never_panic_in_any_format() {
    let mut state = 7_u64;
    for round in 0..3_000 {
        let bytes: Vec<u8> = (0..round % 300)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                let byte = (state >> 33) as u8;
                // Half of the time what numbers and rows are made of.
                if round % 2 == 0 {
                    byte
                } else {
                    b"0123456789 ,;.\nRWQDC+[]:"[usize::from(byte) % 24]
                }
            })
            .collect();
        for format in formats::ALL {
            let options = ReadOptions {
                format: Some(format.name().to_owned()),
                lenient: round % 3 == 0,
                ..ReadOptions::default()
            };
            let input = Box::new(std::io::Cursor::new(bytes.clone()));
            let _ =
                input::read_from(input, Path::new("x"), &options).and_then(|mut r| all_of(&mut *r));
        }
    }
}

#[test]
fn formats_say_what_they_hold() {
    let named = |holds: fn(&dyn Format) -> bool| {
        let formats = formats::all().into_iter().filter(|format| holds(*format));
        formats.map(Format::name).collect::<Vec<_>>()
    };
    assert_eq!(named(|format| format.maps_columns()), ["csv", "jsonl"]);
    let written = named(|format| format.loses().is_some());
    for name in ["ios", "blkreplay", "csv", "jsonl", "fio"] {
        assert!(written.contains(&name), "{name}");
    }
    assert!(named(|format| format.loses() == Some("")).is_empty());
    let without = named(|format| format.loses().is_some() && !format.holds_devices());
    assert_eq!(without, ["blkreplay"]);
}

#[test]
fn the_event_that_begins_requests_is_remembered() {
    for (start_event, name) in [
        (StartEvent::Queue, "queue (Q)"),
        (StartEvent::Get, "get (G)"),
        (StartEvent::Insert, "insert (I)"),
        (StartEvent::Issue, "issue (D)"),
    ] {
        let options = ReadOptions {
            start_event,
            ..ReadOptions::default()
        };
        let (_, metadata) = read_with("requeued.txt", &options).unwrap();
        assert_eq!(metadata.about["start event"], name);
    }
}

#[test]
fn a_log_of_fio_of_another_version_is_refused() {
    let row = "\n1 x read 0 512\n";
    for (version, is_read) in [("3", true), ("1", false), ("4", false), ("33", false)] {
        let text = format!("fio version {version} iolog{row}");
        let text = Box::new(std::io::Cursor::new(text));
        let read = input::read_from(text, Path::new("x"), &ReadOptions::default())
            .and_then(|mut reader| all_of(&mut *reader));
        assert_eq!(read.is_ok(), is_read, "{version}");
    }
}

#[test]
fn keys_of_json_lines_are_mapped() {
    let options = ReadOptions {
        columns: vec![("time_us".to_owned(), "when".to_owned())],
        ..ReadOptions::default()
    };
    // What has no meaning here is passed over, as is an absent value.
    let text = r#"{"when":2,"sector":8,"sectors":1,"op":"read","host":"h","latency_ns":null}"#;
    let text = Box::new(std::io::Cursor::new(format!("{text}\n")));
    let mut reader = input::read_from(text, Path::new("x"), &options).unwrap();
    let rows = all_of(&mut *reader).unwrap();
    let lines: Vec<String> = rows.iter().map(|r| shown(r, reader.metadata())).collect();
    assert_eq!(lines, ["2000 8+1 read"]);
}
