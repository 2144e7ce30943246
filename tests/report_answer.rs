//! A report begins with its answer, prints on a few sheets, and can be read on a phone.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};

use scratch::browser::{probed, sheets};
use scratch::{Scratch, err, iosonar, out};

/// Records as CSV: 5000 requests in 5 s, on this many devices in turn, with delays and latencies in microseconds.
fn csv(devices: u64, times: impl Fn(u64) -> (Option<u64>, u64)) -> String {
    let mut text = "time_us,sector,sectors,op,device,delay_us,latency_us\n".to_owned();
    for i in 0..5000 {
        let (delay, latency) = times(i);
        let delay = delay.map_or_else(String::new, |delay| delay.to_string());
        let op = if i % 4 == 0 { "W" } else { "R" };
        let (at, sector, device) = (i * 1000, i * 7919 % 5000 * 8, i % devices);
        text += &format!("{at},{sector},8,{op},{device},{delay},{latency}\n");
    }
    text
}

/// A latency without order between 100 and 899 us, times a factor.
fn latency(i: u64, factor: u64) -> u64 {
    let mixed = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    factor * (100 + (mixed >> 40) % 800)
}

fn page(scratch: &Scratch, inputs: &[&str], options: &[&str]) -> String {
    let (page, status) = page_and_status(scratch, inputs, options);
    assert_eq!(status, 0);
    page
}

fn page_and_status(scratch: &Scratch, inputs: &[&str], options: &[&str]) -> (String, i32) {
    let run = iosonar()
        .current_dir(scratch.path("."))
        .arg("report")
        .args(inputs)
        .args(options)
        .args(["-q", "-o", "page.html"])
        .output()
        .unwrap();
    assert_eq!(err(&run), "", "quiet");
    let page = fs::read_to_string(scratch.path("page.html")).unwrap();
    (page, run.status.code().unwrap())
}

/// What stands in a section of a page, without its tags.
fn section(page: &str, id: &str) -> String {
    let (_, rest) = page.split_once(&format!("<h2 id=\"{id}\">")).unwrap();
    let (section, _) = rest.split_once("</section>").unwrap();
    let mut text = String::new();
    for part in section.split('<') {
        text += part.split_once('>').map_or(part, |(_, after)| after);
    }
    text
}

/// Records of a simulation of the fixture's load.
fn simulated(scratch: &Scratch, name: &str, disks: u32) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = scratch.path(name);
    iosonar()
        .arg("sim")
        .arg(root.join("examples/raid5-mysql.toml"))
        .args(["-q", "--set", &format!("array.disks={disks}"), "--trace"])
        .arg(root.join("fixtures/database-server.load.gz"))
        .arg("--records")
        .arg(&out)
        .assert()
        .success();
    out
}

#[test]
fn the_conclusion_says_what_was_measured_and_how_late_a_replay_was() {
    let dir = Scratch::new();
    dir.file("good.csv", csv(1, |i| (Some(10), latency(i, 1))));
    let good = section(&page(&dir, &["good.csv"], &[]), "conclusion");
    assert!(good.contains("5 000 requests in 5 s"), "{good}");
    assert!(good.contains("75.0 % reads and 25.0 % writes"), "{good}");
    // The times are spread evenly between 100 and 899 us.
    assert!(
        good.contains("median of 49") || good.contains("median of 50"),
        "{good}"
    );
    assert!(
        good.contains("Requests were submitted on time: 0 % of the requests"),
        "{good}"
    );
    // No replay submits every request at the very moment: nothing was replayed here.
    dir.file("never.csv", csv(1, |i| (Some(0), latency(i, 1))));
    let never = section(&page(&dir, &["never.csv"], &[]), "conclusion");
    assert!(never.contains("no request was submitted late"), "{never}");
    assert!(!never.contains("kept up"), "{never}");
    dir.file(
        "late.csv",
        csv(1, |i| {
            (Some(if i % 50 == 0 { 150 } else { 0 }), latency(i, 1))
        }),
    );
    let late = section(&page(&dir, &["late.csv"], &[]), "conclusion");
    assert!(
        late.contains("Requests were submitted late: 2.00 % of the requests"),
        "{late}"
    );
    assert!(!late.contains("on time"), "{late}");
    dir.file("over.csv", csv(1, |i| (Some(i * 1000), latency(i, 1))));
    let over = section(&page(&dir, &["over.csv"], &[]), "conclusion");
    assert!(over.contains("Requests were submitted late"), "{over}");
}

#[test]
fn a_simulation_that_does_not_keep_up_is_said_to_be_one() {
    let dir = Scratch::new();
    let scenario = |rate: f64| {
        let toml = format!(
            "replications = 1\nwarmup_requests = 0\n\
             [load]\nrequests = 5000\narrivals = {{ poisson_per_s = {rate} }}\nread_share = 0.7\nsize = '8KiB'\n\
             [array]\nlevel = 'raid5'\ndisks = 4\n[disk]\nprofile = 'seagate-st3500630ns'\n"
        );
        dir.file("s.toml", toml);
        iosonar()
            .current_dir(dir.path("."))
            .args(["sim", "s.toml", "-q", "--unstable", "--records", "r.ios"])
            .assert()
            .success();
        section(&page(&dir, &["r.ios"], &[]), "conclusion")
    };
    let (calm, over) = (scenario(30.0), scenario(600.0));
    assert!(calm.contains("No backlog was left"), "{calm}");
    assert!(
        over.contains("The simulated system did not keep up"),
        "{over}"
    );
}

#[test]
fn assumptions_say_what_an_input_is_and_what_is_not_in_it() {
    let dir = Scratch::new();
    simulated(&dir, "sim.ios", 4);
    let simulation = section(&page(&dir, &["sim.ios"], &["--speed", "2"]), "assumptions");
    assert!(
        simulation.contains("A simulation: RAID 5 of 4 x"),
        "{simulation}"
    );
    assert!(
        simulation.contains("sim.ios (format ios), changed by --speed 2"),
        "{simulation}"
    );
    dir.file("some.csv", csv(1, |i| (None, latency(i, 1))));
    let records = section(&page(&dir, &["some.csv"], &[]), "assumptions");
    assert!(
        records.contains("the file does not show whether"),
        "{records}"
    );
    assert!(records.contains("Not recorded: start delays"), "{records}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let load = root.join("fixtures/database-server.load.gz");
    let load = page(&dir, &[load.to_str().unwrap()], &[]);
    let assumptions = section(&load, "assumptions");
    assert!(
        assumptions.contains("A load: none of its requests"),
        "{assumptions}"
    );
    assert!(load.contains("<h2 id=\"picture-0\">Throughput</h2>"));
}

#[test]
fn four_pictures_are_shown_and_all_others_folded_unless_all_is_wanted() {
    let dir = Scratch::new();
    dir.file("a.csv", csv(3, |i| (Some(0), latency(i, 1))));
    let short = page(&dir, &["a.csv"], &[]);
    let before = short.split("<details").next().unwrap();
    let titles = [
        "Distribution of latency",
        "Sonar diagram",
        "Throughput",
        "Requests in flight",
        "Load of each device",
    ];
    for title in titles {
        assert!(
            before.contains(&format!("<figcaption>{title}: a</figcaption>")),
            "{title}"
        );
    }
    assert_eq!(before.matches("<canvas").count(), titles.len());
    // Each device has a third of the requests.
    assert!(before.contains("1 667 (33.3 %)") && before.contains("1 666 (33.3 %)"));
    let folded = short.matches("<details>").count();
    assert!(folded >= 8 && !short.contains("<details open>"), "{folded}");
    let all = page(&dir, &["a.csv"], &["--all"]);
    assert_eq!(all.matches("<details open>").count(), folded);
    assert_eq!(
        all.matches("<canvas").count(),
        short.matches("<canvas").count()
    );
}

#[test]
fn a_second_input_is_compared_with_the_first_by_their_names() {
    let dir = Scratch::new();
    dir.file("a.csv", csv(1, |i| (Some(0), latency(i, 1))));
    dir.file("b.csv", csv(1, |i| (Some(0), latency(i, 2))));
    // Sections of at least 1024 requests need more of them to be eight.
    let inputs = ["old=a.csv", "new=b.csv"];
    let repeated = ["--repeat", "4"];
    let slower = section(&page(&dir, &inputs, &repeated), "conclusion");
    assert!(
        slower.contains("With 95 % confidence, new is slower than old in latency p50"),
        "{slower}"
    );
    assert!(
        slower.contains("2.0") && !slower.contains("no significant"),
        "{slower}"
    );
    let inputs = ["old=b.csv", "new=a.csv"];
    let faster = section(&page(&dir, &inputs, &repeated), "conclusion");
    assert!(
        faster.contains("new is faster than old in latency p50"),
        "{faster}"
    );
    let inputs = ["old=a.csv", "new=a.csv"];
    let same = section(&page(&dir, &inputs, &repeated), "conclusion");
    assert!(
        same.contains("no significant difference in latency p50"),
        "{same}"
    );
    assert!(!same.contains("confidence"), "{same}");
    let few = section(&page(&dir, &["old=a.csv", "new=b.csv"], &[]), "conclusion");
    assert!(
        few.contains("too few requests for a significant result"),
        "{few}"
    );
}

#[test]
fn targets_are_met_missed_or_unclear_and_without_one_nothing_is() {
    let dir = Scratch::new();
    dir.file("a.csv", csv(1, |i| (Some(0), latency(i, 1))));
    let target = "read p99 < 2ms, write p50 < 200us, p50 < 498us, throughput > 10";
    // Eight sections of 1024 writes, or more, make an interval.
    let options = ["--repeat", "8", "--target", target];
    let (judged, status) = page_and_status(&dir, &["now=a.csv"], &options);
    assert_eq!(status, 3, "one is missed");
    let (conclusion, targets) = (section(&judged, "conclusion"), section(&judged, "targets"));
    assert!(
        conclusion.contains("and meets read p99 &lt; 2 ms ("),
        "{conclusion}"
    );
    assert!(
        conclusion.contains("With 95 % confidence, now misses write p50 &lt; 200 µs ("),
        "{conclusion}"
    );
    for (target, word) in [
        ("read p99 &lt; 2 ms", "meets"),
        ("write p50 &lt; 200 µs", "misses"),
        ("p50 &lt; 498 µs", "unclear"),
    ] {
        let row = targets
            .lines()
            .find(|line| line.starts_with(target))
            .unwrap();
        assert!(row.ends_with(word), "{row}");
    }
    assert!(
        targets.contains("% below") && targets.contains("times the limit"),
        "{targets}"
    );
    // A line in the charts that are about it.
    assert_eq!(
        judged
            .matches("target read p99 &lt; 2 ms: meets</li>")
            .count(),
        3
    );
    // The fastest write takes 100 us, so that the same target is missed beyond doubt by what is ten times as slow.
    dir.file("b.csv", csv(1, |i| (Some(0), latency(i, 10))));
    let (slow, _) = page_and_status(&dir, &["b.csv"], &options);
    assert!(section(&slow, "targets").contains("read p99"));
    assert!(!section(&slow, "conclusion").contains("meets read p99"));
    let plain = page(&dir, &["a.csv"], &[]);
    assert!(
        !plain.contains("id=\"targets\"") && !plain.contains("meets") && !plain.contains("passed")
    );
    // Neither of these is missed for certain.
    for (target, verdict) in [("read p99 < 2ms", "meets"), ("p50 < 498us", "unclear")] {
        let run = iosonar()
            .current_dir(dir.path("."))
            .args(["report", "a.csv", "--repeat", "8", "--target", target])
            .args(["-o", "page.html", "-q"])
            .output()
            .unwrap();
        let (printed, notes) = (out(&run), err(&run));
        assert_eq!((run.status.code(), &*notes), (Some(0), ""));
        assert!(
            printed.contains(verdict) && !printed.contains("misses"),
            "{printed}"
        );
    }
    let wrong = iosonar()
        .args(["report", "a.csv", "--target", "p999 < 20ms"])
        .assert();
    let message = String::from_utf8(wrong.code(2).get_output().stderr.clone()).unwrap();
    assert!(message.contains("write p99.9"), "{message}");
}

#[test]
fn names_are_the_same_for_report_compare_and_plot_and_a_path_is_a_path() {
    let dir = Scratch::new();
    dir.file("a.csv", csv(1, |i| (Some(0), latency(i, 1))));
    dir.file("disks=8.csv", csv(1, |i| (Some(0), latency(i, 2))));
    let run = |arguments: &[&str]| {
        let mut command = iosonar();
        command.current_dir(dir.path(".")).args(arguments);
        command.output().unwrap()
    };
    let compared = run(&["compare", "the old one=a.csv", "disks=8.csv"]);
    let compared = String::from_utf8(compared.stdout).unwrap();
    assert!(compared.contains("the old one to disks=8:"), "{compared}");
    let data = run(&[
        "plot",
        "cdf",
        "old=a.csv",
        "new=disks=8.csv",
        "--data",
        "-",
        "-q",
    ]);
    let data = String::from_utf8(data.stdout).unwrap();
    assert!(data.contains("old") && data.contains("new"), "{data}");
    let twice = run(&["report", "x=a.csv", "x=disks=8.csv"]);
    let message = String::from_utf8(twice.stderr).unwrap();
    assert_eq!(twice.status.code(), Some(2));
    assert!(
        message.contains("x=disks=8.csv: another input has this name"),
        "{message}"
    );
}

#[test]
fn one_input_and_two_are_printed_on_at_most_six_sheets() {
    let dir = Scratch::new();
    simulated(&dir, "four.ios", 4);
    simulated(&dir, "eight.ios", 8);
    page(&dir, &["four.ios"], &[]);
    let Some(of_one) = sheets(&dir, &dir.path("page.html")) else {
        return;
    };
    page(&dir, &["four.ios", "eight.ios"], &[]);
    let of_two = sheets(&dir, &dir.path("page.html")).unwrap();
    assert!((2..=6).contains(&of_one), "{of_one}");
    assert!((2..=6).contains(&of_two), "{of_two}");
    page(&dir, &["four.ios"], &["--all"]);
    let all = sheets(&dir, &dir.path("page.html")).unwrap();
    assert!(all > 6, "{all}");
}

/// Measures what a phone shows: how wide the page is, and the smallest letters.
const PHONE: &str = r#"<script>
addEventListener("load", () => {
  const wait = () => document.documentElement.dataset.ready ? probe() : setTimeout(wait, 20);
  const probe = () => {
    for (const of of document.querySelectorAll("details")) of.open = true;
    const leaves = [...document.querySelectorAll("main *")].filter((of) => of.childElementCount === 0 && of.textContent.trim());
    const shown = leaves.filter((of) => !of.closest("noscript, .unseen"));
    document.body.dataset.result = JSON.stringify({
      window: innerWidth,
      page: document.documentElement.scrollWidth,
      smallest: Math.min(...shown.map((of) => parseFloat(getComputedStyle(of).fontSize))),
      narrowest: Math.min(...[...document.querySelectorAll("canvas")].map((of) => of.clientWidth)),
    });
  };
  wait();
});
</script>"#;

#[test]
fn on_a_phone_nothing_is_wider_than_the_screen_nor_too_small_to_read() {
    let dir = Scratch::new();
    simulated(&dir, "four.ios", 4);
    dir.file("b.csv", csv(3, |i| (Some(5), latency(i, 2))));
    let page = page(
        &dir,
        &["a rather long name of an input=four.ios", "b.csv"],
        &[],
    );
    let Some(seen) = probed(&dir, &page, PHONE, 390) else {
        return;
    };
    let of = |name: &str| seen[name].as_f64().unwrap();
    assert!(of("page") <= of("window"), "{seen}");
    assert!(of("window") <= 500.0, "{seen}");
    assert!(of("smallest") >= 12.0, "{seen}");
    assert!(of("narrowest") >= 280.0, "{seen}");
}
