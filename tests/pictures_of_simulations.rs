//! What pictures of simulations show, and how many pixels they have.

mod scratch;

use std::path::Path;

use scratch::{Scratch, err, iosonar};

const SCENARIO: &str = "\
seed = 3
replications = 5
[load]
requests = 2_000
arrivals = { poisson_per_s = 20.0 }
size = { blocks = 2 }
[array]
level = 'raid10'
disks = 4
[disk]
profile = 'seagate-st3500630ns'
";

/// Runs a command in a folder; its status and its errors.
fn run(folder: &Path, words: &[&str]) -> (i32, String) {
    let run = iosonar().current_dir(folder).args(words).output().unwrap();
    (run.status.code().unwrap(), err(&run))
}

/// The words of an SVG, element by element.
fn words(svg: &Path) -> Vec<String> {
    let svg = std::fs::read_to_string(svg).unwrap();
    let texts = svg.split("<text ").skip(1).map(|rest| {
        let (_, rest) = rest.split_once('>').unwrap();
        let (text, _) = rest.split_once("</text>").unwrap();
        text.trim().replace("&lt;", "<")
    });
    texts.collect()
}

fn count(words: &[String], of: &str) -> usize {
    words.iter().filter(|text| text.contains(of)).count()
}

/// Width and height, as the header of a PNG has them.
fn pixels(png: &Path) -> [u32; 2] {
    let bytes = std::fs::read(png).unwrap();
    assert_eq!(&bytes[1..4], b"PNG", "{}", png.display());
    [16, 20].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()))
}

#[test]
fn a_distribution_marks_its_quantiles_and_each_target_once() {
    let scratch = Scratch::new();
    scratch.file("four.toml", SCENARIO);
    scratch.file("six.toml", SCENARIO.replace("disks = 4", "disks = 6"));
    let folder = scratch.path("");
    for (target, verdict, code) in [("p99 < 200ms", "meets", 0), ("p99 < 10ms", "misses", 3)] {
        let one = ["sim", "four.toml", "--cdf", "one.svg", "--target", target];
        assert_eq!(run(&folder, &one).0, code);
        let said = words(&folder.join("one.svg"));
        let sentence = format!("target {target}: {verdict}").replace("ms", " ms");
        assert_eq!(count(&said, &sentence), 1, "{said:?}");
        assert_eq!(count(&said, "target"), 2, "the line, its verdict: {said:?}");
        for guide in ["p50", "p99"] {
            assert!(said.iter().any(|text| text == guide), "{said:?}");
        }
    }
    let two = [
        "sim",
        "four.toml",
        "six.toml",
        "--cdf",
        "two.svg",
        "--target",
        "p99 < 200ms, mean < 5ms",
    ];
    assert_eq!(run(&folder, &two).0, 3);
    let said = words(&folder.join("two.svg"));
    assert_eq!(
        count(&said, "target p99 < 200 ms: four meets, six meets"),
        1,
        "{said:?}"
    );
    assert_eq!(count(&said, "p99 < 200 ms"), 2, "{said:?}");
    assert_eq!(count(&said, "four misses, six misses"), 1, "{said:?}");
    // Quantiles in the table, which the legend does not repeat.
    assert_eq!(count(&said, "mean"), 3, "{said:?}");
}

#[test]
fn varied_and_theoretical_distributions_mark_their_quantiles_too() {
    let scratch = Scratch::new();
    scratch.file("four.toml", SCENARIO);
    let folder = scratch.path("");
    let vary = [
        "sim",
        "four.toml",
        "--vary",
        "array.disks=4,6",
        "--cdf",
        "vary.svg",
        "--target",
        "p99 < 200ms, p50 < 2ms, p90 < 10s",
    ];
    run(&folder, &vary);
    let said = words(&folder.join("vary.svg"));
    assert_eq!(
        count(&said, "target p99 < 200 ms: met at 2 of 2 points"),
        1,
        "{said:?}"
    );
    assert_eq!(
        count(&said, "target p50 < 2 ms: met at 0 of 2 points"),
        1,
        "{said:?}"
    );
    assert!(said.iter().any(|text| text == "p50"), "{said:?}");
    // More than ten times all times: it would leave no room for the curves.
    assert_eq!(count(&said, "p90"), 0, "{said:?}");
    let model = ["model", "four.toml", "--with-sim", "--cdf", "model.svg"];
    let (code, problem) = run(&folder, &model);
    assert_eq!(code, 0, "{problem}");
    let said = words(&folder.join("model.svg"));
    assert!(said.iter().any(|text| text == "p99"), "{said:?}");
    assert!(
        said.iter().any(|text| text == "p99.9"),
        "no table: {said:?}"
    );
}

#[test]
fn a_scale_multiplies_the_pixels_of_every_picture() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SCENARIO);
    let folder = scratch.path("");
    let records = ["sim", "s.toml", "--records", "a.ios"];
    assert_eq!(run(&folder, &records).0, 0);
    std::fs::copy(folder.join("a.ios"), folder.join("b.ios")).unwrap();
    let panels = "array.disks=4,6";
    let commands: [(&[&str], &str); 8] = [
        (&["plot", "cdf", "a.ios", "-o", "x.png"], "x.png"),
        (&["plot", "sonar", "a.ios", "b.ios", "-o", "x.png"], "x.png"),
        (&["sim", "s.toml", "--cdf", "x.png"], "x.png"),
        (&["sim", "s.toml", "--plot=."], "s.png"),
        (
            &["sim", "s.toml", "--vary", panels, "--curve", "x.png"],
            "x.png",
        ),
        (
            &["model", "s.toml", "--with-sim", "--cdf", "x.png"],
            "x.png",
        ),
        (
            &[
                "plan",
                "s.toml",
                "--target",
                "mean < 1s",
                "--curve",
                "x.png",
            ],
            "x.png",
        ),
        (&["compare", "a.ios", "b.ios", "--plot", "."], "sonar.png"),
    ];
    for (command, picture) in commands {
        let picture = folder.join(picture);
        let of = |more: &[&str]| {
            let _ = std::fs::remove_file(&picture);
            let (_, problem) = run(&folder, &[command, more].concat());
            assert!(picture.exists(), "{command:?} {more:?}: {problem}");
            pixels(&picture)
        };
        let usual = of(&[]);
        assert_eq!(of(&["--scale", "1"]), usual, "{command:?}");
        assert_eq!(
            of(&["--scale", "2"]),
            usual.map(|side| 2 * side),
            "{command:?}"
        );
    }
}

#[test]
fn a_scale_without_pixels_or_out_of_range_is_refused() {
    let scratch = Scratch::new();
    scratch.file("s.toml", SCENARIO);
    let folder = scratch.path("");
    assert_eq!(run(&folder, &["sim", "s.toml", "--records", "a.ios"]).0, 0);
    let plot = ["plot", "cdf", "a.ios", "-o"];
    let cases: [(&[&str], i32, &str); 7] = [
        (
            &["x.svg", "--scale", "2"],
            2,
            "x.svg: --scale cannot be used with SVG",
        ),
        (
            &["x.png", "--scale", "0"],
            2,
            "expected a whole number from 1 to 4",
        ),
        (
            &["x.png", "--scale", "5"],
            2,
            "expected a whole number from 1 to 4",
        ),
        (
            &["x.png", "--scale", "1.5"],
            2,
            "expected a whole number from 1 to 4",
        ),
        (&["x.png", "--scale", "1"], 0, ""),
        (&["x.svg"], 0, ""),
        (
            &["x.png", "--size", "8000x8000", "--scale", "4"],
            1,
            "32000 x 32000 pixels are too many",
        ),
    ];
    for (more, code, words) in cases {
        let (status, problem) = run(&folder, &[&plot[..], more].concat());
        assert_eq!(status, code, "{more:?}: {problem}");
        assert!(problem.contains(words), "{more:?}: {problem}");
    }
    let all = ["plot", "all", "a.ios", "--pictures", "svg", "--scale", "2"];
    let (status, problem) = run(&folder, &all);
    assert_eq!(status, 2, "{problem}");
    assert!(
        problem.contains("--pictures svg: --scale cannot be used with SVG"),
        "{problem}"
    );
    let cdf = ["sim", "s.toml", "--cdf", "x.svg", "--scale", "3"];
    assert_eq!(run(&folder, &cdf).0, 2);
}
