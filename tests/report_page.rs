//! `report` from the outside, and its page in a real browser.

mod scratch;

use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command as Iosonar;
use scratch::browser::probed;
use scratch::{Scratch, err, iosonar};

/// Records of a simulation of the fixture's load.
fn records(scratch: &Scratch) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = scratch.path("simulated.ios");
    iosonar()
        .arg("sim")
        .arg(root.join("examples/raid5-mysql.toml"))
        .args(["-q", "--trace"])
        .arg(root.join("fixtures/database-server.load.gz"))
        .arg("--records")
        .arg(&out)
        .assert()
        .success();
    out
}

fn folder(scratch: &Scratch) -> PathBuf {
    scratch.path("x").parent().unwrap().to_owned()
}

fn page_of(command: &mut Iosonar, out: &Path) -> String {
    page_with_status(command, out, 0)
}

fn page_with_status(command: &mut Iosonar, out: &Path, status: i32) -> String {
    let run = command.arg("-o").arg(out).arg("-q").output().unwrap();
    assert_eq!(run.status.code(), Some(status), "{}", err(&run));
    fs::read_to_string(out).unwrap()
}

#[test]
fn a_report_is_one_file_that_is_the_same_every_time() {
    let dir = Scratch::new();
    let records = records(&dir);
    let of = |name: &str| page_of(iosonar().arg("report").arg(&records), &dir.path(name));
    let (one, two) = (of("one.html"), of("two.html"));
    assert!(one == two);
    assert!(one.len() < 5_000_000, "{}", one.len());
    assert!(one.contains("<h1>simulated</h1>"));
    assert!(one.contains("No backlog was left"));
    assert!(one.contains("25 700"));
}

#[test]
fn a_folder_is_reported_with_all_records_in_it_and_what_is_none_is_told() {
    let dir = Scratch::new();
    let records = records(&dir);
    fs::copy(&records, dir.path("again.ios")).unwrap();
    fs::write(dir.path("other.csv"), "mark,series,x_from\n").unwrap();
    let out = dir.path("page.html");
    let run = iosonar()
        .arg("report")
        .arg(folder(&dir))
        .arg("-o")
        .arg(&out)
        .assert()
        .success();
    let told = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(
        told.contains("left out") && told.contains("other.csv"),
        "{told}"
    );
    let page = fs::read_to_string(out).unwrap();
    assert!(page.contains("<h1>again, simulated</h1>"));
}

#[test]
fn a_report_of_nothing_or_onto_its_input_is_refused() {
    let dir = Scratch::new();
    iosonar().arg("report").arg(folder(&dir)).assert().code(2);
    let records = records(&dir);
    let disguised = dir.path("records.html");
    fs::copy(&records, &disguised).unwrap();
    let refused = iosonar()
        .arg("report")
        .arg(&disguised)
        .arg("-o")
        .arg(&disguised)
        .assert()
        .code(2);
    let told = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(told.contains("would overwrite its own input"), "{told}");
    assert_eq!(fs::read(&disguised).unwrap(), fs::read(&records).unwrap());
}

/// Does what a user would do, and writes down what came of it.
const PROBE: &str = r#"<script>
const failures = [];
window.addEventListener("error", (e) => failures.push(e.message));
window.addEventListener("unhandledrejection", (e) => failures.push(String(e.reason)));
const say = (result) => { document.body.dataset.result = JSON.stringify(result); };
const wait = (ready, then) => ready() ? then() : setTimeout(() => wait(ready, then), 20);
addEventListener("load", () => wait(() => document.documentElement.dataset.ready, () => {
  const { views } = window.iosonar, result = { failures };
  const view = views.find((v) => v.chart.name === "sonar");
  const draw = () => { for (const v of views) { v.isSeen = true; v.draw(); } };
  draw();
  const inked = (v) => {
    const { width, height } = v.canvas, data = v.canvas.getContext("2d").getImageData(0, 0, width, height).data;
    let blue = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 2] > data[i] + 60) blue++;
    return blue;
  };
  result.charts = views.length;
  result.blank = views.filter((v) => v.canvas.width === 0).length;
  result.ink = inked(view);
  result.requests = performance.getEntriesByType("resource").length;
  result.cells = view.chart.marks[0].x0.length;
  result.whole = view.x;
  const box = view.canvas.getBoundingClientRect();
  const at = (type, x, y) => view.canvas.dispatchEvent(new PointerEvent(type, {
    clientX: box.left + x * box.width, clientY: box.top + y * box.height, button: 0, pointerId: 1, bubbles: true }));
  view.canvas.setPointerCapture = () => {};
  at("pointerdown", 0.4, 0.5);
  at("pointermove", 0.6, 0.5);
  at("pointerup", 0.6, 0.5);
  draw();
  result.dragged = view.x;
  result.inkZoomed = inked(view);
  result.together = views.filter((v) => v.chart.x.time).every((v) => v.x[0] === view.x[0] && v.x[1] === view.x[1]);
  at("pointermove", 0.5, 0.5);
  result.said = view.output.textContent;
  const press = (key) => view.canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  press("+");
  result.closer = view.x;
  press("0");
  result.back = view.x;
  const before = document.documentElement.dataset.theme;
  document.getElementById("theme").click();
  result.themes = [before, document.documentElement.dataset.theme];
  result.labels = [...document.querySelectorAll("canvas")].every((c) => c.getAttribute("aria-label") && c.tabIndex === 0);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
  const isFine = (v) => v.labels.length > 2 && v.labels.every((a, i) => a.left >= 0 && a.top >= 0
    && a.right <= v.canvas.clientWidth && a.bottom <= v.canvas.clientHeight && v.labels.slice(i + 1).every((b) => apart(a, b)));
  result.cluttered = views.filter((v) => !isFine(v)).map((v) => v.chart.name + ": " + v.labels.map((l) => l.words).join(" "));
  say(result);
}));
</script>"#;

/// Puts lines with short pieces on the first chart, and counts in how many places each is seen.
const LINES_PROBE: &str = r#"<script>
addEventListener("load", () => {
  const wait = () => document.documentElement.dataset.ready ? probe() : setTimeout(wait, 20);
  const probe = () => {
    const view = window.iosonar.views.find((v) => v.chart.x.time), [from, to] = view.x, [low, high] = view.y;
    const y = view.chart.y.log ? Math.sqrt(low * high) : (low + high) / 2, places = [];
    for (const width of [0, 0.0005, 0.003, 0.009, 0.02]) for (const shape of ["both", "one"]) {
      const of = (turn, colour, at) => {
        const x = [], ys = [];
        for (let i = 0; i < 14; i++) {
          const begin = from + (to - from) * (0.02 + 0.06 * i + at);
          x.push(begin, begin + width * (to - from));
          ys.push(y, null);
        }
        return { kind: "line", name: colour, colour, steps: true, dash: turn ? [12, 12, 12] : null,
          dot: turn ? 2.5 : 4, together: true, x, y: ys };
      };
      view.chart.marks = [of(0, "read", 0), of(1, "write", shape === "both" ? 0 : 0.03)];
      view.isSeen = true;
      view.draw();
      const { width: w, height: h } = view.canvas, data = view.canvas.getContext("2d").getImageData(0, 0, w, h).data;
      for (const is of [(r, b) => b > r + 60, (r, b) => r > b + 60]) {
        let count = 0, before = false;
        for (let i = 0; i < w; i++) {
          let here = false;
          for (let j = 0; j < h; j++) here ||= is(data[4 * (j * w + i)], data[4 * (j * w + i) + 2]);
          if (here && !before) count++;
          before = here;
        }
        places.push(count);
      }
    }
    document.body.dataset.result = JSON.stringify(places);
  };
  wait();
});
</script>"#;

#[test]
fn in_a_browser_lines_that_may_coincide_are_all_seen_however_short_their_pieces_are() {
    let dir = Scratch::new();
    let records = records(&dir);
    let page = page_of(
        iosonar().arg("report").arg(&records),
        &dir.path("page.html"),
    );
    let Some(places) = probed(&dir, &page, LINES_PROBE, 1300) else {
        return;
    };
    let places: Vec<u64> = serde_json::from_value(places).unwrap();
    assert_eq!(places.len(), 20);
    for (i, seen) in places.iter().enumerate() {
        // Wide pieces that coincide share their dashes.
        let least = if i >= 16 { 6 } else { 14 };
        assert!(*seen >= least, "{i}: {places:?}");
    }
}

/// Writes down which words stand on the distribution, before and after a part without them is shown.
const CALLOUTS_PROBE: &str = r#"<script>
addEventListener("load", () => {
  const wait = () => document.documentElement.dataset.ready ? probe() : setTimeout(wait, 20);
  const probe = () => {
    const view = window.iosonar.views.find((v) => v.chart.name === "cdf"), result = {}, drawn = [];
    const write = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
      drawn.push({ words, x, y, how: `${this.textAlign} ${this.textBaseline}` });
      write.call(this, words, x, y);
    };
    const draw = () => { view.isSeen = true; view.draw(); return view.written; };
    const apart = (a, b) => a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
    const all = draw();
    result.words = all.map((of) => of.words);
    result.inPlace = all.every(({ words, area: [left, top] }) =>
      drawn.some((of) => of.words === words && of.x === left && of.y === top && of.how === "left top"));
    result.apart = all.every((a, i) => all.slice(i + 1).every((b) => apart(a.area, b.area)));
    result.marker = view.chart.marks.filter((of) => of.kind === "line").map((of) => of.marker);
    view.y = [0.6, 0.9];
    result.between = draw().map((of) => of.words);
    document.body.dataset.result = JSON.stringify(result);
  };
  wait();
});
</script>"#;

#[test]
fn in_a_browser_a_distribution_names_its_quantiles_and_targets_as_on_pictures() {
    let dir = Scratch::new();
    let records = records(&dir);
    let page = page_with_status(
        iosonar()
            .args(["report", "--target", "p99 < 1s, p50 < 1ms"])
            .arg(&records),
        &dir.path("page.html"),
        3,
    );
    let Some(result) = probed(&dir, &page, CALLOUTS_PROBE, 1300) else {
        return;
    };
    let words =
        |name: &str| -> Vec<String> { serde_json::from_value(result[name].clone()).unwrap() };
    for word in ["p50", "p99"] {
        assert!(words("words").iter().any(|of| of == word), "{result}");
    }
    let is_target = |of: &String| of.starts_with("p99 < 1 s");
    assert!(words("words").iter().any(is_target), "{result}");
    // A time for each marked point, too.
    assert!(
        words("words").iter().any(|of| of.ends_with(" ms")),
        "{result}"
    );
    assert_eq!(result["apart"], true, "{result}");
    assert_eq!(result["inPlace"], true, "{result}");
    let markers = result["marker"].as_array().unwrap();
    assert!(markers.iter().any(|of| of == "square"), "{result}");
    // Neither p50 nor p99 is between 60 and 90 %; a target is a line through all of it.
    let between = words("between");
    assert!(
        !between.iter().any(|of| of == "p50" || of == "p99"),
        "{result}"
    );
    assert!(between.iter().any(is_target), "{result}");
}

#[test]
fn every_picture_of_a_page_has_a_text_of_its_own() {
    let dir = Scratch::new();
    let records = records(&dir);
    let page = page_of(
        iosonar().args(["report", "--all"]).arg(&records),
        &dir.path("page.html"),
    );
    let between = |text: &str, from: &str, to: &str| {
        let (_, rest) = text
            .split_once(from)
            .unwrap_or_else(|| panic!("no {from}: {text}"));
        rest.split_once(to).unwrap().0.to_owned()
    };
    let mut labels: Vec<String> = Vec::new();
    for figure in page.split("<figure ").skip(1) {
        let (title, label) = (
            between(figure, "<figcaption>", "</figcaption>"),
            between(figure, "role=\"img\" aria-label=\"", "\""),
        );
        // The title, and how to read the chart.
        assert!(label.starts_with(&format!("{title}. ")), "{title}: {label}");
        assert!(label.len() > title.len() + 40, "{label}");
        assert!(!labels.contains(&label), "twice: {label}");
        labels.push(label);
    }
    assert!(labels.len() > 25, "{}", labels.len());
    let pictures = page.matches("<canvas").count()
        + page.matches("<img").count()
        + page.matches("<svg").count();
    assert_eq!(labels.len(), pictures);
}

#[test]
fn in_a_browser_the_page_loads_without_errors_and_zooms() {
    let dir = Scratch::new();
    let records = records(&dir);
    let page = page_of(
        iosonar().args(["report", "--all"]).arg(&records),
        &dir.path("page.html"),
    );
    let Some(result) = probed(&dir, &page, PROBE, 1300) else {
        return;
    };
    let number = |name: &str| {
        result[name]
            .as_f64()
            .unwrap_or_else(|| panic!("{name}: {result}"))
    };
    let range = |name: &str| {
        let end = |i: usize| result[name][i].as_f64().unwrap();
        (end(0), end(1))
    };
    assert_eq!(result["failures"].as_array().unwrap().len(), 0, "{result}");
    assert_eq!(number("requests"), 0.0, "{result}");
    // No label of an axis touches another, and none is clipped.
    assert_eq!(result["cluttered"].as_array().unwrap().len(), 0, "{result}");
    assert!(
        number("charts") > 25.0 && number("blank") == 0.0,
        "{result}"
    );
    assert!(
        number("ink") > 3_000.0 && number("inkZoomed") > 300.0,
        "{result}"
    );
    // More points than a picture shows one by one, nearly each with a cell of its own.
    assert!(number("cells") > 20_000.0, "{result}");
    let (whole, dragged, closer) = (range("whole"), range("dragged"), range("closer"));
    let width = |(from, to): (f64, f64)| to - from;
    let share = width(dragged) / width(whole);
    assert!((0.15..0.3).contains(&share), "{result}");
    assert!(
        (width(closer) / width(dragged) - 0.5).abs() < 1e-6,
        "{result}"
    );
    assert_eq!(range("back"), whole, "{result}");
    assert_eq!(result["together"], true, "{result}");
    assert!(result["said"].as_str().unwrap().contains(" s"), "{result}");
    assert_ne!(result["themes"][0], result["themes"][1]);
    assert_eq!(result["labels"], true);
}
