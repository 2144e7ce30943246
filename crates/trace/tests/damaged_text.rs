//! Text with damage in the middle, or cut off at the end: never fewer rows, or other values, in silence.

use std::fs;

use iosonar_trace::{Batch, ReadOptions, Remark, TraceError, input};

/// The number of rows and the remarks of a file called `name` with this content.
fn read(name: &str, content: &[u8], lenient: bool) -> Result<(usize, Vec<Remark>), TraceError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    let options = ReadOptions {
        lenient,
        ..ReadOptions::default()
    };
    let mut reader = input::open_with(&path, &options)?;
    let (mut batch, mut rows) = (Batch::default(), 0);
    while reader.next_batch(&mut batch)? > 0 {
        rows += batch.len();
    }
    Ok((rows, reader.metadata().remarks.clone()))
}

fn complaint(name: &str, content: &[u8]) -> String {
    let error = read(name, content, false);
    let error = error.expect_err(name).to_string();
    error[error.find(name).expect("the file is named")..].to_owned()
}

/// A load of 800 requests as the peer writes it.
fn load() -> String {
    let mut text = "start ; sector; length ; op ;  replay_delay ; replay_duration\n".to_owned();
    for i in 0..800_u32 {
        text += &format!(
            "{:4}.{:09} ; {:10} ;   8 ; R ;   0.000000000 ;   0.004950000\n",
            i / 100,
            i % 100 * 10_000_000,
            i * 8
        );
    }
    text
}

#[test]
fn a_hole_of_zero_bytes_is_an_error_wherever_it_begins() {
    let load = load();
    // Over a whole row, so that the hole begins and ends everywhere within one.
    for shift in 0..70 {
        let mut hole = load.clone().into_bytes();
        let from = hole.len() / 2 + shift;
        hole[from..from + 4096].fill(0);
        let error = complaint("hole.load", &hole);
        assert!(error.contains("--lenient"), "{shift}: {error}");
        let (rows, remarks) = read("hole.load", &hole, true).unwrap();
        // 4096 bytes are parts of 58 to 61 rows of 69 bytes; the damaged line is one row that is skipped.
        assert!((735..745).contains(&rows), "{shift}: {rows} rows");
        assert_eq!(remarks.iter().map(|r| r.count).sum::<u64>(), 1, "{shift}");
    }
}

#[test]
fn rows_with_another_separator_in_the_middle_are_an_error() {
    let load = load();
    let commas: String = load
        .lines()
        .enumerate()
        .map(|(i, line)| match i {
            200..700 => line.replace(';', ",") + "\n",
            _ => line.to_owned() + "\n",
        })
        .collect();
    let error = complaint("commas.load", commas.as_bytes());
    assert!(
        error.starts_with("commas.load:201:") && error.contains("field 'start'"),
        "{error}"
    );
    assert!(error.contains("--lenient"), "{error}");
    let (rows, remarks) = read("commas.load", commas.as_bytes(), true).unwrap();
    assert_eq!((rows, remarks[0].count), (300, 500));
}

#[test]
fn only_comments_messages_and_whole_headers_may_stand_between_rows() {
    let row = "0.5 ; 8 ; 8 ; R ; 0.1 ; 0.2\n";
    let header = "start ; sector; length ; op ;  replay_delay ; replay_duration\n";
    for between in [
        "\n",
        "# a comment\n",
        "INFO: something of the peer\n",
        "WARNING: something else\n",
        header,
        // Two traces one behind the other, each with its licence.
        &format!("Copyright; all rights\nas is\n\n{header}"),
    ] {
        let text = format!("{row}{between}{row}");
        let (rows, _) = read("x.load", text.as_bytes(), false).unwrap();
        assert_eq!(rows, 2, "{between:?}");
    }
    for between in [
        "garbage\n",
        "0.5 8 8 R\n",
        "0.5 , 8 , 8 , R\n",
        "; 8 ; 8 ; R\n",
        "8 ; R\n",
        "\0\0\0\0\n",
        "\0# no comment\n",
        "\u{fffd}\u{fffd}\n",
        "R ; 0.1 ; 0.2\n",
    ] {
        for text in [
            format!("{row}{between}{row}"),
            format!("{row}{between}"),
            format!("{header}{between}{row}"),
        ] {
            let error = complaint("x.load", text.as_bytes());
            assert!(error.starts_with("x.load:2:"), "{text:?}: {error}");
            let (_, remarks) = read("x.load", text.as_bytes(), true).unwrap();
            assert_eq!(remarks.len(), 1, "{text:?}");
        }
    }
}

#[test]
fn the_summary_of_the_peer_may_stand_behind_a_rule_and_rows_may_not() {
    let row = "0.5 ; 8 ; 8 ; R ; 0.1 ; 0.2\n";
    let header = "orig_start ; sector; length ; op ;  replay_delay; replay_duration\n";
    let rule = "--------------------------------------\n";
    let summary = format!(
        "{rule}=======================================\n\nmeta_ops=0, total meta_delay=0.0, avg=0.0\n\
         # completed requests          :      3\nconflict_mode                 :      2\n\
         blkreplay on x ended at Sun Nov 22 06:31:26 2026\n\nINFO: dry_run=1\n"
    );
    let above = format!("Copyright: the author\n\nINFO: dry_run=1\n{rule}{header}");
    let whole = format!("{above}{row}{row}{summary}");
    // What was in flight when the peer had read its input.
    let late = format!("{above}{row}{rule}{row}{row}{summary}");
    assert_eq!(read("x.replay", late.as_bytes(), false).unwrap().0, 3);
    for lenient in [false, true] {
        let (rows, _) = read("x.replay", whole.as_bytes(), lenient).unwrap();
        assert_eq!(rows, 2);
        let twice = format!("{whole}{whole}");
        let (rows, _) = read("x.replay", twice.as_bytes(), lenient).unwrap();
        assert_eq!(rows, 4);
        // All that is between the rows is skipped, and no row.
        let without_header = format!("{whole}{row}{row}");
        match read("x.replay", without_header.as_bytes(), lenient) {
            Ok((rows, _)) => assert!(lenient && rows == 4),
            Err(error) => assert!(
                !lenient && error.to_string().contains("x.replay:9:"),
                "{error}"
            ),
        }
    }
    // The rule must not hide text that was there before it.
    let error = complaint("x.replay", format!("{header}{row}text\n{rule}").as_bytes());
    assert!(error.starts_with("x.replay:3:"), "{error}");
}

#[test]
fn notices_may_stand_above_the_rows_and_damaged_rows_may_not() {
    let row = "0.5 ; 8 ; 8 ; R ; 0.1 ; 0.2\n";
    for above in [
        "2012 and later, the author; all rights\n",
        "any text, a, b, c, d\n",
        "1. of May\n",
    ] {
        let (rows, _) = read("x.load", format!("{above}{row}").as_bytes(), false).unwrap();
        assert_eq!(rows, 1, "{above:?}");
    }
    for above in ["0.5 , 8 , 8 , R , 0.1 , 0.2\n", "\0\0\0\n"] {
        let error = complaint("x.load", format!("{above}{row}").as_bytes());
        assert!(error.starts_with("x.load:1:"), "{above:?}: {error}");
    }
}

#[test]
fn a_load_is_never_read_with_values_that_its_cut_last_row_does_not_have() {
    let load = load();
    let whole = load.trim_end();
    let last = whole.rfind('\n').unwrap() + 1;
    for cut in last + 1..whole.len() {
        let error = complaint("cut.load", &load.as_bytes()[..cut]);
        assert!(error.starts_with("cut.load:801"), "{cut}: {error}");
    }
    // Nine decimals of the last column: nothing can be missing but the line end.
    assert_eq!(read("whole.load", whole.as_bytes(), false).unwrap().0, 800);
    let cut = &load.as_bytes()[..whole.len() - 4];
    let error = complaint("cut.load", cut);
    assert!(
        error.contains("field 'end of line' is '0.00495', expected a newline"),
        "{error}"
    );
    let (rows, remarks) = read("cut.load", cut, true).unwrap();
    assert_eq!((rows, remarks[0].count), (800, 1));
    assert!(remarks[0].what.contains("without a newline"));
}

/// A trace of three rows in each text format: the first lines, then the rows.
const TEXTS: [(&str, &str, &str); 14] = [
    (
        "x.csv",
        "time_ns,sector,sectors,op,latency_ns\n",
        "#,8,8,read,495000\n",
    ),
    (
        "x.jsonl",
        "",
        "{\"time_ns\":#,\"sector\":8,\"sectors\":8,\"op\":\"read\"}\n",
    ),
    (
        "fio.log",
        "fio version 3 iolog\n",
        "# target write 4096 8192\n",
    ),
    ("x.spc", "", "0,8,4096,R,#.000495\n"),
    (
        "msr.csv",
        "",
        "12816637200306100#,usr,0,Read,7014609920,24576,41286\n",
    ),
    ("ali.csv", "", "419,W,46792167424,4096,157780800005904#\n"),
    ("ten.csv", "", "153878399#,6160448,8,0,1283\n"),
    (
        "systor.csv",
        "Timestamp,Response,IOType,LUN,Offset,Size\n",
        "145677500#.001,0.000237,R,3,1095680,4096\n",
    ),
    (
        "fiu.blkparse",
        "",
        "1000#000 4892 syslogd 904265560 8 W 6 0 531e779d6deb2dc\n",
    ),
    ("disksim.ascii", "", "10#.000 0 15 24 1\n"),
    ("mqsim.trace", "", "10#000 0 15 24 1\n"),
    ("diskmon.log", "", "#\t0.45#\t0.002\t0\tRead\t1234\t88\n"),
    (
        "blkparse.txt",
        "",
        "8,0  3  1#  0.00950775#  697  Q  W 223490 + 88 [fio]\n",
    ),
    (
        "biosnoop.txt",
        "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n",
        "0.00#000 fio 697 sda W 8 4096 1.495\n",
    ),
];

fn numbered(row: &str) -> [String; 3] {
    ["1", "2", "3"].map(|n| row.replace('#', n))
}

#[test]
fn zero_bytes_between_rows_are_an_error_in_every_text_format() {
    for (name, above, row) in TEXTS {
        let rows = numbered(row);
        let whole = format!("{above}{}", rows.concat());
        assert_eq!(read(name, whole.as_bytes(), false).unwrap().0, 3, "{name}");
        let second = above.len() + rows[0].len();
        for (from, to) in [
            (second, second + rows[1].len() - 1),
            (second, second + 3),
            (second - 4, second + 4),
        ] {
            let mut hole = whole.clone().into_bytes();
            hole[from..to].fill(0);
            let error = complaint(name, &hole);
            assert!(error.contains("--lenient"), "{name} {from}: {error}");
            assert!(error.starts_with(&format!("{name}:")), "{error}");
            let (_, remarks) = read(name, &hole, true).unwrap();
            assert!(!remarks.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_cut_last_row_is_an_error_in_every_text_format() {
    for (name, above, row) in TEXTS {
        let whole = format!("{above}{}", numbered(row).concat());
        let last = whole.trim_end().rfind('\n').unwrap() + 1;
        // A row that ends in a bracket is whole.
        let ends_itself = whole.ends_with(['}', ']', '\n']) && row.trim_end().ends_with(['}', ']']);
        for cut in last + 1..whole.len() - usize::from(ends_itself) {
            let read = read(name, &whole.as_bytes()[..cut], false);
            assert!(read.is_err(), "{name}: {:?} is taken", &whole[last..cut]);
        }
    }
}

#[test]
fn a_quote_that_nothing_closes_is_an_error() {
    let csv = "time_ns,sector,sectors,op,name\n0,8,8,read,a\n1,8,8,read,\"b\n2,8,8,read,c\n3,8,8,read,d\n";
    let error = complaint("x.csv", csv.as_bytes());
    assert!(
        error.starts_with("x.csv:3: a quoted field") && error.contains("--lenient"),
        "{error}"
    );
    let (rows, remarks) = read("x.csv", csv.as_bytes(), true).unwrap();
    assert_eq!((rows, remarks[0].count), (1, 1));
    let closed =
        "time_ns,sector,sectors,op,name\n0,8,8,read,\"a\"\n1,8,8,read,\"b, \"\"c\"\"\n\"\n";
    assert_eq!(read("x.csv", closed.as_bytes(), false).unwrap().0, 2);
    // A quote within a field that is not quoted is text.
    let inch = "time_ns,sector,sectors,op,name\n0,8,8,read,5.25\"\n1,8,8,read,b\n";
    assert_eq!(read("x.csv", inch.as_bytes(), false).unwrap().0, 2);
}

#[test]
fn a_quote_that_nothing_closes_does_not_take_the_whole_file() {
    let mut csv = "time_ns,sector,sectors,op,name\n0,8,8,read,a\n1,8,8,read,\"b\n".to_owned();
    csv.extend((2..150_000).map(|i| format!("{i},8,8,read,c\n")));
    assert!(csv.len() > 2 << 20);
    for lenient in [false, true] {
        let error = read("x.csv", csv.as_bytes(), lenient).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("x.csv:3: a quoted field") && error.contains("within 1048576 bytes"),
            "{error}"
        );
    }
    // Long, but closed; and many of them, which are no longer together.
    let field = format!("\"{}\"", "b, \"\"c\"\"\n".repeat(60_000));
    let long = format!("time_ns,sector,sectors,op,name\n0,8,8,read,{field}\n1,8,8,read,{field}\n");
    assert_eq!(read("x.csv", long.as_bytes(), false).unwrap().0, 2);
}

#[test]
fn half_a_row_of_blkparse_is_an_error_whatever_is_in_it() {
    let row = "8,0  3  1  0.009507758  697  Q  W 223490 + 88 [kworker/0:1]\n";
    for damaged in [
        "W 223490 + 88 [kworker/0:1]\n",
        "kworker/0:1]\n",
        "Q  W 223490 + 88 [a: b]\n",
        "CPU: 8,0\n",
        "Reads 8,0: 3\n",
    ] {
        let text = format!("{row}{damaged}{row}");
        let error = complaint("blkparse.txt", text.as_bytes());
        assert!(
            error.starts_with("blkparse.txt:2:") && error.contains("--lenient"),
            "{error}"
        );
        let (rows, remarks) = read("blkparse.txt", text.as_bytes(), true).unwrap();
        assert_eq!((rows, remarks[0].count), (2, 1), "{damaged}");
    }
}

#[test]
fn the_summary_of_blkparse_is_skipped() {
    let rows = "8,0  3  1  0.009507758  697  Q  W 223490 + 88 [fio]\n\
                8,0  3  2  0.009607758  0  C  W 223490 + 88 [0]\n";
    let summary = "CPU0 (sda):\n Reads Queued:         963,     3852KiB\t Writes Queued:           0,        0KiB\n \
         Read Dispatches:      963,     3852KiB\t Write Dispatches:        0,        0KiB\n Reads Requeued:         \
         0\t\t Writes Requeued:         0\n Reads Completed:      963,     3852KiB\t Writes Completed:        0,    \
             0KiB\n Read Merges:            0,        0KiB\t Write Merges:            0,        0KiB\n Read depth:   \
                   1        \t Write depth:             0\n PC Reads Queued:        0,        0KiB\t PC Writes \
         Queued:        0,        0KiB\n PC Read Disp.:          4,        0KiB\t PC Write Disp.:          0,        \
         0KiB\n PC Reads Req.:          0\t\t PC Writes Req.:         0\n PC Reads Compl.:        4\t\t PC Writes \
         Compl.:        0\n IO unplugs:           963        \t Timer unplugs:           0\n\nCPU1 (sda):\nTotal \
         (sda):\n\nThroughput (R/W): 11,165KiB/s / 0KiB/s\nEvents (sda): 6,741 entries\nSkips: 0 forward (0 -   0.0%)\n\
         Input file sda.blktrace.0 added\n";
    let text = format!("Input file sda.blktrace.0 added\n{rows}{summary}");
    let (rows, remarks) = read("blkparse.txt", text.as_bytes(), false).unwrap();
    assert_eq!((rows, remarks.len()), (1, 0), "{remarks:?}");
}

#[test]
fn lost_events_are_reported() {
    let line = |time: &str| {
        format!("fio-697 [003] d..1 {time}: block_rq_issue: 8,0 R 4096 () 53758080 + 8 [fio]\n")
    };
    let text = format!(
        "# tracer: nop\n{}CPU:3 [LOST 4031 EVENTS]\n{}",
        line("1.5"),
        line("2.5")
    );
    let (_, remarks) = read("trace.txt", text.as_bytes(), false).unwrap();
    assert!(
        remarks
            .iter()
            .any(|r| r.what == "gaps in the recording: events were lost (buffers too small)"),
        "{remarks:?}"
    );
}

#[test]
fn two_events_in_one_line_are_an_error() {
    let issue = |t, sector| {
        format!(" f-1 [000] ..... 1.0{t}0: block_rq_issue: 8,0 R 4096 () {sector} + 8 [f]")
    };
    let complete = |t, sector| {
        format!(" x-0 [000] ..... 1.0{t}0: block_rq_complete: 8,0 R () {sector} + 8 be,0,4 [0]")
    };
    let events = [issue(1, 8), complete(2, 8), issue(3, 16), complete(4, 16)];
    let whole = format!("{}\n", events.join("\n"));
    assert_eq!(read("t.txt", whole.as_bytes(), false).unwrap(), (2, vec![]));
    for joined in [0, 1, 2] {
        // The first event of the joined line is whole, or cut in its length.
        for cut in 0..=40 {
            let mut lines = events.to_vec();
            let first = lines[joined].clone();
            lines[joined] = format!("{}{}", &first[..first.len() - cut], lines[joined + 1]);
            lines.remove(joined + 1);
            let text = format!("{}\n", lines.join("\n"));
            let error = complaint("t.txt", text.as_bytes());
            assert!(
                error.starts_with(&format!("t.txt:{}:", joined + 1)) && error.contains("--lenient"),
                "{cut}: {error}"
            );
        }
    }
    let row = |time: &str, action: &str, name: &str| {
        format!("8,0  3  1  {time}  697  {action}  W 223490 + 88 [{name}]")
    };
    for (first, second) in [
        (row("0.1", "Q", "f"), row("0.2", "C", "0")),
        (row("0.1", "C", "0"), row("0.2", "Q", "f")),
    ] {
        let text = format!("{first}\n{second}\n{first}  {second}\n");
        let error = complaint("blkparse.txt", text.as_bytes());
        assert!(error.starts_with("blkparse.txt:3:"), "{error}");
    }
    let header = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n";
    let row = "0.1 a b 1 sda R 8 4096 0.5";
    let text = format!("{header}{row}\n{row} {row}\n");
    let error = complaint("biosnoop.txt", text.as_bytes());
    assert!(
        error.starts_with("biosnoop.txt:3:") && error.contains("--lenient"),
        "{error}"
    );
    let (rows, remarks) = read("biosnoop.txt", text.as_bytes(), true).unwrap();
    assert_eq!((rows, remarks[0].count), (1, 1));
}

#[test]
fn the_cut_name_of_an_event_is_an_error() {
    let event =
        |t: u32| format!(" f-1 [000] ..... {t}.5: block_rq_issue: 8,0 R 4096 () {t} + 8 [f]\n");
    for cut in [
        " f-1 [000] ..... 1.7:",
        " f-1 [000] ..... 1.7: b",
        " f-1 [000] ..... 1.7: block_rq_iss",
        " f-1 [000] ..... 1.7: block_rq_issue",
        " f-1 [000]  1.7: block:block_rq_comp",
    ] {
        let text = format!("{}{cut}\n{}", event(1), event(2));
        let error = complaint("t.txt", text.as_bytes());
        assert!(error.starts_with("t.txt:2:"), "{error}");
        let (_, remarks) = read("t.txt", text.as_bytes(), true).unwrap();
        let skipped = remarks.iter().find(|r| r.what.contains("skipped"));
        assert_eq!(skipped.unwrap().count, 1, "{cut}");
    }
    // Other events, and the functions of another tracer, may stand in between.
    for other in [
        " f-1 [000] ..... 1.7: block_plug: [f]",
        " f-1 [000] ..... 1.7: blk_mq_submit_bio <-submit_bio",
        " f-1 [000] ..... 1.7: tracing_mark_write: block_rq_iss",
    ] {
        let text = format!("{}{other}\n{}", event(1), event(2));
        assert!(read("t.txt", text.as_bytes(), false).is_ok(), "{other}");
    }
}
