//! What pictures of simulations show.

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
