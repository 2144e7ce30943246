//! What people write before they have read the manual: it works, or the answer names the file, the key, the value, and
//! what to write instead, in the words of the file and not in those of the program.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, hash, iosonar, out, sim};

const SCENARIO: &str = "seed = 1
[load]
requests = 500
arrivals = { poisson_per_s = 20.0 }
size = { blocks = 2 }
read_share = 0.7
[array]
level = 'raid5'
disks = 5
stripe_unit = '64KiB'
[disk]
profile = 'seagate-st3500630ns'
";

/// Words that mean something to a programmer only.
const WORDS_OF_THE_PROGRAM: &[&str] = &[
    "usize",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "i32",
    "i64",
    "f32",
    "f64",
    "floating point",
    "invalid type",
    "invalid value:",
    "unknown variant",
    "unknown field",
    "missing field",
    "struct",
    "enum",
    "wanted",
    "panicked",
    "serde",
];

fn assert_plain(message: &str) {
    for word in WORDS_OF_THE_PROGRAM {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let found = message.match_indices(word).any(|(at, _)| {
            let (before, after) = (&message[..at], &message[at + word.len()..]);
            !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
        });
        assert!(!found, "'{word}': {message}");
    }
}

/// The scenario with another line in place of the one that begins like this.
fn with(scratch: &Scratch, begin: &str, line: &str) -> std::path::PathBuf {
    let lines = SCENARIO
        .lines()
        .map(|old| match !begin.is_empty() && old.starts_with(begin) {
            true => line,
            false => old,
        });
    let text: Vec<&str> = lines.collect();
    assert!(begin.is_empty() || SCENARIO.contains(begin), "{begin}");
    scratch.file("s.toml", text.join("\n") + "\n")
}

/// Begin of the line that is replaced, by what, what the answer names.
type Case = (&'static str, &'static str, &'static [&'static str]);

const REFUSED: &[Case] = &[
    // Those of which people were seen to write them.
    (
        "size",
        "size = 2",
        &["s.toml:5", "'load.size' is 2", "{ blocks = 2 }", "\"8KiB\""],
    ),
    (
        "read_share",
        "read_share = 70",
        &["s.toml:6", "'load.read_share' is 70", "0.7", "\"70%\""],
    ),
    (
        "disks",
        "disks = 5.0",
        &["s.toml:9", "'array.disks' is 5.0", "write 5"],
    ),
    (
        "requests",
        "requests = 1e5",
        &["s.toml:3", "'load.requests'", "write 100000"],
    ),
    (
        "seed",
        "seed = -1",
        &["s.toml:1", "'seed' is -1", "a whole number of at least 0"],
    ),
    (
        "profile",
        "profile = 'nvme-gen4-tlc'",
        &["s.toml", "'disk.profile'", "use [ssd]"],
    ),
    (
        "level",
        "level = 'RAID 10'",
        &["s.toml:8", "'array.level' is \"RAID 10\"", "\"raid10\"?"],
    ),
    (
        "level",
        "level = 'raid7'",
        &["s.toml:8", "'array.level' is \"raid7\"", "\"raid6\""],
    ),
    (
        "[array]",
        "[raid]",
        &["s.toml:7", "'raid'", "write [array]"],
    ),
    (
        "stripe_unit",
        "stripe_unit = '64KB'",
        &["s.toml:10", "'array.stripe_unit' is '64KB'", "\"64KiB\""],
    ),
    (
        "read_share",
        "read_ratio = 0.7",
        &["s.toml:6", "'load.read_ratio'", "write read_share = 0.7"],
    ),
    (
        "read_share",
        "rwmixread = 70",
        &["s.toml:6", "'load.rwmixread'", "read_share = \"70%\""],
    ),
    (
        "arrivals",
        "iodepth = 32",
        &[
            "s.toml:4",
            "'load.iodepth'",
            "closed = { outstanding = 32 }",
        ],
    ),
    (
        "size",
        "bs = '8k'",
        &["s.toml:5", "'load.bs'", "size = \"8KiB\""],
    ),
    // Others like them.
    (
        "size",
        "bs = '8k,64k'",
        &["size = { read = \"8KiB\", write = \"64KiB\" }"],
    ),
    (
        "size",
        "size = 8192",
        &["'load.size' is 8192", "\"8192\"", "{ blocks = 8192 }"],
    ),
    (
        "size",
        "size = 'large'",
        &["'load.size' is 'large'", "a size such as \"128KiB\""],
    ),
    (
        "size",
        "size = '8KB'",
        &["'load.size' is '8KB'", "a whole number of sectors"],
    ),
    (
        "size",
        "size = { read = '8KiB' }",
        &["'load.size'", "'read' but no 'write'", "write = \"64KiB\""],
    ),
    (
        "size",
        "size = { blocks = 1, bytes = '4KiB' }",
        &["'load.size'", "more than one distribution"],
    ),
    (
        "size",
        "size = { kib = 8 }",
        &["'load.size.kib'", "'bytes'"],
    ),
    (
        "size",
        "size = { blocks = 2.0 }",
        &["'load.size.blocks'", "write 2"],
    ),
    (
        "read_share",
        "read_share = 'most'",
        &["'load.read_share'", "0.7 or \"70%\""],
    ),
    (
        "read_share",
        "rwmixwrite = 30",
        &["'load.rwmixwrite'", "read_share = \"70%\""],
    ),
    (
        "read_share",
        "write_share = 0.3",
        &["'load.write_share'", "read_share = \"70%\""],
    ),
    (
        "arrivals",
        "arrivals = 20",
        &["'load.arrivals' is 20", "rate_per_s = 75.0"],
    ),
    (
        "arrivals",
        "arrivals = 'closed'",
        &[
            "is \"closed\"",
            "log_normal",
            "; write closed = { outstanding = 8 }",
        ],
    ),
    (
        "size",
        "closed = { outstanding = 8 }\nsize = '8KiB'",
        &["combines 'closed' with 'arrivals'", "--set KEY="],
    ),
    (
        "arrivals",
        "arrivals = 'poisson'",
        &["is \"poisson\"", "; write rate_per_s = 75.0"],
    ),
    (
        "arrivals",
        "arrivals = 'alnoe'",
        &["did you mean \"alone\"?"],
    ),
    (
        "arrivals",
        "arrivals = { poisson = 20 }",
        &["'load.arrivals.poisson'", "'poisson_per_s'"],
    ),
    (
        "arrivals",
        "arrivals = { poisson_per_s = '20' }",
        &["'load.arrivals", "is \"20\"", "write 20.0"],
    ),
    (
        "arrivals",
        "iops = 100",
        &["'load.iops'", "write rate_per_s = 100"],
    ),
    (
        "arrivals",
        "rate = '100'",
        &["'load.rate' is \"100\"", "write 100.0"],
    ),
    (
        "arrivals",
        "rate = 0",
        &["'load.rate_per_s' is 0.0", "requests per second"],
    ),
    (
        "disks",
        "disks = '5'",
        &["'array.disks' is \"5\"", "write 5"],
    ),
    (
        "disks",
        "ndisks = 5",
        &["'array.ndisks'", "write disks = 5"],
    ),
    ("disks", "", &["'array.disks' is missing"]),
    (
        "stripe_unit",
        "stripe_unit = 65536",
        &["'array.stripe_unit' is 65536", "\"128KiB\""],
    ),
    (
        "stripe_unit",
        "chunk = '64KiB'",
        &["'array.chunk'", "write stripe_unit = \"64KiB\""],
    ),
    ("[disk]", "[hdd]", &["'hdd'", "write [disk]"]),
    (
        "profile",
        "rpm = 7200",
        &["'disk.rpm'", "[disk.from_data_sheet]"],
    ),
    (
        "profile",
        "profile = 7200",
        &["'disk.profile' is 7200", "a quoted string"],
    ),
    (
        "seed",
        "seed = 'random'",
        &["'seed' is \"random\"", "a whole number"],
    ),
    (
        "seed",
        "replication = 2",
        &["'replication'", "did you mean 'replications'?"],
    ),
];

#[test]
fn plausible_mistakes_are_answered_with_what_to_write() {
    let scratch = Scratch::new();
    for (begin, line, named) in REFUSED {
        let run = sim(&with(&scratch, begin, line), &[]);
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{line}: {message}");
        assert!(message.contains("s.toml"), "{line}: {message}");
        for named in *named {
            assert!(message.contains(named), "{line}: {named}: {message}");
        }
        assert_plain(&message);
    }
}

#[test]
fn values_of_the_command_line_are_answered_alike() {
    let scratch = Scratch::new();
    let scenario = with(&scratch, "", "");
    let path = scenario.to_str().unwrap();
    let data = scratch.file("my.load", "0 ; 0 ; 8 ; R\n0.001 ; 8 ; 8 ; W\n");
    let load = data.to_str().unwrap();
    for (arguments, named) in [
        (
            &["sim", path, "--set", "array.disks=5.0"][..],
            &["--set", "'array.disks' is 5.0", "write 5"][..],
        ),
        (
            &["sim", path, "--set", "load.requests=1e5"],
            &["'load.requests'", "write 100000"],
        ),
        (
            &["sim", path, "--set", "load.bs=8k"],
            &["'load.bs'", "size = \"8KiB\""],
        ),
        (
            &["sim", path, "--set", "array.level=RAID 10"],
            &["'array.level'", "\"raid10\""],
        ),
        (
            &["sim", path, "--vary", "array.disks=4..12 by 2"],
            &["4..64 step 4"],
        ),
        (
            &["sim", path, "--vary", "load.read_share=0.1..0.9"],
            &["step"],
        ),
        (
            &["sim", path, "--vary", "array.stripe_unit=4KiB..64KiB"],
            &["log N"],
        ),
        (
            &["sim", path, "--vary", "array.disks=4,,8"],
            &["empty value"],
        ),
        (
            &["sim", path, "--vary", "array.disks=4.5"],
            &["--vary", "'array.disks' is 4.5", "a whole number"],
        ),
        (
            &["sim", load],
            &["my.load", "is a trace", "sim SCENARIO --trace"],
        ),
        (
            &["plan", load, "--target", "p99 < 20ms"],
            &["my.load", "is a trace"],
        ),
        (&["plan", path, "--target", "p999 < 20ms"], &["write p99.9"]),
        (
            &["plan", path, "--target", "latency p99<2ms"],
            &["write \"p99 < 2 ms\""],
        ),
        (&["plan", path, "--target", "p99 < 20"], &["has no unit"]),
    ] {
        let run = iosonar().args(arguments).output().unwrap();
        let message = err(&run);
        // Of clap's messages lines may be broken.
        let flat = message.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(run.status.code(), Some(2), "{arguments:?}: {message}");
        for named in named {
            assert!(flat.contains(named), "{arguments:?}: {named}: {message}");
        }
        assert_plain(&message);
    }
}

#[test]
fn profiles_and_experiments_are_answered_alike() {
    let scratch = Scratch::new();
    scratch.file(
        "drive.toml",
        "description = 'mine'\nrpm = 7200\ncylinders = 1000\n",
    );
    let run = sim(&with(&scratch, "profile", "profile = 'drive.toml'"), &[]);
    let message = err(&run);
    assert_eq!(run.status.code(), Some(2), "{message}");
    for named in [
        "drive.toml",
        "rpm = 7200",
        "this key belongs in [from_data_sheet]",
    ] {
        assert!(message.contains(named), "{message}");
    }
    assert_plain(&message);

    let text = "scenario = 's.toml'\nreplications = 2.0\n[vary]\narray.disks = '4..12 by 2'\n";
    for (text, named) in [
        (text, "write 2"),
        (&text.replace("2.0", "2"), "4..64 step 4"),
    ] {
        let experiment = scratch.file("study.toml", text);
        let run = iosonar()
            .args(["sweep", "--dry-run"])
            .arg(&experiment)
            .output()
            .unwrap();
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{message}");
        assert!(
            message.contains("study.toml") && message.contains(named),
            "{message}"
        );
        assert_plain(&message);
    }
}

#[test]
fn changes_of_an_ssd_are_answered_alike() {
    let scratch = Scratch::new();
    let ssd =
        "[load]\nrequests = 100\nrate = 1000\nsize = '8KiB'\n[ssd]\nprofile = 'nvme-gen4-tlc'\n";
    let run = sim(&scratch.file("s.toml", ssd), &[]);
    assert!(run.status.success(), "{}", err(&run));
    for (line, named) in [
        ("[ssd.nvme]\nqueus = 3\n", "did you mean 'queues'?"),
        (
            "[ssd.nvme]\nqueues = 3.0\n",
            "'ssd.nvme.queues' is 3.0, expected a whole number of at least 0: write 3",
        ),
        (
            "description = 3\n",
            "'ssd.description' is 3, expected a quoted string",
        ),
    ] {
        let run = sim(&scratch.file("s.toml", format!("{ssd}{line}")), &[]);
        let message = err(&run);
        assert_eq!(run.status.code(), Some(2), "{line}: {message}");
        assert!(
            message.contains("s.toml") && message.contains(named),
            "{line}: {message}"
        );
        assert_plain(&message);
    }
}

fn hash_with(scratch: &Scratch, begin: &str, line: &str) -> String {
    let run = sim(&with(scratch, begin, line), &[]);
    assert!(run.status.success(), "{line}: {}", err(&run));
    hash(&run)
}

#[test]
fn short_forms_mean_what_the_long_ones_do() {
    let scratch = Scratch::new();
    let as_it_is = hash_with(&scratch, "", "");
    for (begin, line) in [
        ("arrivals", "rate = 20"),
        ("arrivals", "rate_per_s = 20.0"),
        ("read_share", "read_share = '70%'"),
        ("arrivals", "arrivals = { poisson_per_s = 20 }"),
    ] {
        assert_eq!(hash_with(&scratch, begin, line), as_it_is, "{line}");
    }
    // With random places blocks are stripe units, of 64 KiB here.
    let random = "stripe_unit = '64KiB'\nplacement = 'random'";
    let scenario = with(&scratch, "stripe_unit", random);
    for size in [
        "\"128KiB\"",
        "{ bytes = 131072 }",
        "{ read = \"128KiB\", write = { blocks = 2 } }",
    ] {
        let run = sim(&scenario, &["--set", &format!("load.size={size}")]);
        assert!(run.status.success(), "{}", err(&run));
        assert_eq!(hash(&run), as_it_is, "{size}");
    }
    let run = sim(&scenario, &["--set", "load.size=\"8KiB\""]);
    assert!(err(&run).contains("a multiple of 64 KiB"), "{}", err(&run));
    // With addresses a block has any size.
    let blocks = "size = { geometric_mean_blocks = 3.0 }\nblock = '4KiB'";
    let scenario = with(&scratch, "size", blocks);
    let addressed = sim(&scenario, &["--set", "array.placement=addressed"]);
    let bytes = with(
        &scratch,
        "size",
        "size = { geometric_mean_bytes = '12KiB' }",
    );
    assert_eq!(hash(&sim(&bytes, &[])), hash(&addressed));
    // `--explain` means the same again.
    let sizes = "size = { read = '8KiB', write = { table = [{ bytes = '16KiB', share = '50%' }, { bytes = '64KiB', share = 0.5 }] } }";
    let scenario = with(&scratch, "size", sizes);
    let explained = scratch.file("explained.toml", out(&sim(&scenario, &["--explain"])));
    assert_eq!(hash(&sim(&explained, &[])), hash(&sim(&scenario, &[])));
}

/// The lengths in sectors of the requests of a load, of reads and of writes.
fn lengths(load: &Path) -> [Vec<u32>; 2] {
    let text = std::fs::read_to_string(load).unwrap();
    let mut lengths = [Vec::new(), Vec::new()];
    for row in text.lines() {
        let fields: Vec<&str> = row.split(';').map(str::trim).collect();
        if let [_, _, sectors, op, ..] = fields[..]
            && let Ok(sectors) = sectors.parse()
        {
            lengths[usize::from(op == "W")].push(sectors);
        }
    }
    lengths
}

#[test]
fn the_example_reads_small_and_writes_large() {
    let scratch = Scratch::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/sas-15k-raid.toml");
    let load = scratch.path("sas.load");
    let to_load = ["--replications", "1", "--load-out", load.to_str().unwrap()];
    let run = sim(&example, &to_load);
    assert!(run.status.success(), "{}", err(&run));
    let [reads, writes] = lengths(&load);
    assert!(reads.iter().all(|sectors| *sectors == 16), "{reads:?}");
    assert!(writes.iter().all(|sectors| *sectors == 128), "{writes:?}");
    // Binomial: three standard deviations.
    let n = (reads.len() + writes.len()) as f64;
    let share = reads.len() as f64 / n;
    assert!(
        n >= 10_000.0 && (share - 0.7).abs() < 3.0 * (0.21 / n).sqrt(),
        "{share}"
    );
    // A read is shorter than a write, which must read before.
    let other = |size: &str| {
        let run = sim(
            &example,
            &["--json", "--set", size, "--set", "load.requests=2000"],
        );
        assert!(run.status.success(), "{}", err(&run));
        out(&run)
    };
    assert_ne!(other("load.read_share=1.0"), other("load.read_share=0.0"));
}

#[test]
fn ranges_are_simulated_value_by_value() {
    let scratch = Scratch::new();
    let scenario = with(&scratch, "requests", "requests = 50");
    let csv = scratch.path("vary.csv");
    let curve = scratch.path("vary.svg");
    let units = "array.stripe_unit=16KiB..1MiB log 4";
    let run = sim(
        &scenario,
        &[
            "--vary",
            units,
            "--vary",
            "array.disks=4..6",
            "--csv",
            csv.to_str().unwrap(),
            "--curve",
            curve.to_str().unwrap(),
        ],
    );
    assert!(run.status.success(), "{}", err(&run));
    let text = std::fs::read_to_string(&csv).unwrap();
    let column = |n: usize| {
        text.lines()
            .skip(1)
            .map(move |row| row.split(',').nth(n).unwrap())
    };
    let units: Vec<&str> = column(1).collect();
    assert_eq!(units, ["16KiB", "64KiB", "256KiB", "1MiB"].repeat(3));
    // Beside sizes stands their number of bytes.
    let disks: Vec<&str> = column(3).collect();
    assert_eq!(disks.join(""), "444455556666");
    // The axis counts in sizes, and curves are in the order of their numbers.
    let svg = std::fs::read_to_string(&curve).unwrap();
    assert!(svg.contains("KiB"), "no size on the axis");
    assert!(
        svg.contains("mean response time"),
        "what curves show by default"
    );
    let places: Vec<_> = (4..=6).map(|n| svg.find(&format!("disks = {n}"))).collect();
    assert!(places.is_sorted() && places[0].is_some(), "{places:?}");
}
