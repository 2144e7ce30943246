//! Pages in a real browser, where there is one.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::Scratch;

/// A browser without a window; `None`, and a remark, if there is none here.
fn browser(dir: &Scratch) -> Option<Command> {
    let browsers = ["chromium", "chromium-browser", "google-chrome"];
    let runs = |name: &&str| {
        let version = Command::new(name).arg("--version").output();
        version.is_ok_and(|of| of.status.success())
    };
    let Some(browser) = browsers.into_iter().find(runs) else {
        eprintln!("skipped: there is no browser here");
        return None;
    };
    let mut command = Command::new("timeout");
    command
        .args(["100", browser, "--headless", "--no-sandbox"])
        .args(["--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-sync"])
        .args(["--disable-component-update", "--virtual-time-budget=20000"])
        .arg(format!("--user-data-dir={}", dir.path("browser").display()));
    Some(command)
}

/// What a probe writes down about a page in a window of this width; `None` if there is no browser here.
pub fn probed(dir: &Scratch, page: &str, probe: &str, width: u32) -> Option<serde_json::Value> {
    let mut browser = browser(dir)?;
    // The probe comes before the page's own script.
    let with_probe = page.replacen("<body>", &format!("<body>{probe}"), 1);
    let probed = dir.file("probed.html", with_probe);
    let run = browser
        .arg(format!("--window-size={width},900"))
        .arg("--dump-dom")
        .arg(format!("file://{}", probed.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&run.stdout).into_owned();
    let errors = String::from_utf8_lossy(&run.stderr).into_owned();
    let Some((_, rest)) = dom.split_once("data-result=\"") else {
        panic!("the page did not come to its end: {errors}");
    };
    let result = rest
        .split('"')
        .next()
        .unwrap()
        .replace("&quot;", "\"")
        .replace("&lt;", "<");
    Some(serde_json::from_str(&result).unwrap())
}

/// How many sheets of A4 a page takes; `None` if there is no browser here.
pub fn sheets(dir: &Scratch, page: &Path) -> Option<usize> {
    let mut browser = browser(dir)?;
    let text = fs::read_to_string(page).unwrap();
    let text = text.replacen("<body>", "<style>@page { size: A4; }</style><body>", 1);
    let (a4, pdf) = (dir.file("a4.html", text), dir.path("page.pdf"));
    let run = browser
        .arg("--no-pdf-header-footer")
        .arg(format!("--print-to-pdf={}", pdf.display()))
        .arg(format!("file://{}", a4.display()))
        .output()
        .unwrap();
    let written = fs::read(&pdf).unwrap_or_else(|error| panic!("{error}: {run:?}"));
    // The browser does not pack the objects that stand for sheets.
    let sheet = b"/Type /Page\n";
    Some(
        written
            .windows(sheet.len())
            .filter(|at| at == sheet)
            .count(),
    )
}
