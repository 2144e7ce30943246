//! What a sweep makes of its runs: tables while it is under way, charts and a page at the end.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use iosonar_analysis::objective::Objective;
use iosonar_plot::{Chart, Format, Scaled, Theme, render};
use iosonar_report::curves::{Series, Spot, Style};
use iosonar_report::in_page;
use iosonar_report::study::{Link, Panel, StudyTable, chart_of_study, page_of};
use iosonar_trace::output::WholeFile;
use iosonar_trace::{TraceError, apart, tables};

use super::{CHARTS, ChartFile, PointRow, RunRow, Source, Study, SweepError, value_of};

/// What was made of the runs of a tree.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The tables as a JSON object; `None` if there is no run.
    pub json: Option<String>,
    /// Runs whose results are damaged, so that they are in no table.
    pub damaged: Vec<PathBuf>,
    /// Charts of the experiment that cannot be drawn.
    pub undrawn: Vec<Undrawn>,
}

/// A chart that names something that no run has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undrawn {
    /// Whether it is a parameter, or else a metric.
    pub is_parameter: bool,
    /// What it names.
    pub name: String,
    /// The available values.
    pub there: Vec<String>,
}

/// The tables of a tree, kept up to date.
#[derive(Debug)]
pub struct Tables<'a> {
    source: &'a Source,
    study: Study,
    charts: Vec<ChartFile>,
    is_read: bool,
    /// The runs that are meant now, where that is known: others may lie in the tree since the experiment was another.
    meant: Option<HashSet<PathBuf>>,
    written: Instant,
    /// How long the last writing took: it is done so seldom that it takes hardly any of the time.
    took: Duration,
}

impl<'a> Tables<'a> {
    /// With what is in the tree; while a sweep is under way that is read when the first run has ended.
    ///
    /// # Errors
    /// If the tree cannot be read.
    pub fn new(source: &'a Source, is_read: bool) -> Result<Self, SweepError> {
        let (charts, _) = source.extras();
        let mut tables = Self {
            source,
            study: Study::default(),
            charts,
            is_read: false,
            meant: source.meant(),
            written: Instant::now(),
            took: Duration::ZERO,
        };
        if is_read {
            tables.read_again()?;
        }
        Ok(tables)
    }

    /// Whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.study.runs.is_empty()
    }

    /// How many runs there are.
    pub fn len(&self) -> usize {
        self.study.runs.len()
    }

    pub(super) fn read_again(&mut self) -> Result<(), SweepError> {
        self.study = Study::read(&self.source.root)?;
        self.is_read = true;
        if let Some(meant) = &self.meant {
            self.study.keep(meant);
        }
        Ok(())
    }

    /// Takes in a run that has just ended.
    pub(super) fn put(&mut self, row: RunRow) -> Result<(), SweepError> {
        const OFTEN: Duration = Duration::from_secs(1);
        const SHARE: u32 = 50;
        if !self.is_read {
            self.read_again()?;
        }
        self.study.put(row);
        if self.written.elapsed() > OFTEN.max(self.took * SHARE) {
            let begin = Instant::now();
            self.write("runs.csv", &self.study.runs_csv())?;
            self.took = begin.elapsed();
            self.written = Instant::now();
        }
        Ok(())
    }

    /// Writes the tables of points and runs in the format that names with this ending have (`parquet`), with a number beside
    /// each parameter that has a unit.
    ///
    /// # Errors
    /// If the format is not in this build, or a table cannot be written.
    pub fn write_as(&self, ending: &str) -> Result<(), TraceError> {
        if self.is_empty() {
            return Ok(());
        }
        let tool = || format!("iosonar {}", env!("CARGO_PKG_VERSION"));
        for (name, table) in [
            ("points", self.study.points_table()),
            ("runs", self.study.runs_table()),
        ] {
            let table = self.study.with_numbers(table).with("tool", tool());
            let path = self.source.root.join(format!("{name}.{ending}"));
            tables::write(&path, &table)?;
        }
        Ok(())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), SweepError> {
        let path = self.source.root.join(name);
        WholeFile::write_all(&path, text.as_bytes()).map_err(SweepError::io(&path, "write"))
    }

    /// Writes everything derived from the runs, with pictures of this size. The tree itself is the only state.
    ///
    /// # Errors
    /// If the tree cannot be read, or an output cannot be drawn or written.
    pub fn finish(&mut self, pictures: Scaled) -> Result<Written, SweepError> {
        self.read_again()?;
        let mut written = Written {
            damaged: self.study.damaged.clone(),
            ..Written::default()
        };
        if self.is_empty() {
            return Ok(written);
        }
        self.write("runs.csv", &self.study.runs_csv())?;
        self.write("runs.jsonl", &self.study.runs_json_lines())?;
        self.write("points.csv", &self.study.points_csv())?;
        let json = self.study.json().to_string();
        self.write("results.json", &format!("{json}\n"))?;
        written.json = Some(json);
        let (charts, undrawn) = self.charts();
        written.undrawn = undrawn;
        let folder = self.source.root.join(CHARTS);
        if !charts.is_empty() {
            std::fs::create_dir_all(&folder)
                .map_err(SweepError::io(&folder, "create the folder"))?;
        }
        for chart in &charts {
            let path = folder.join(format!("{}.png", chart.name));
            let picture = render(&[chart], Format::Png, pictures, Theme::Light)?;
            WholeFile::write_all(&path, &picture)
                .map_err(SweepError::io(&path, "write the picture"))?;
        }
        self.write_page_of(&charts, &self.source.root.join("report.html"), None, &[])?;
        Ok(written)
    }

    /// Writes the page only, which begins with the points that meet the targets; what of it could not be drawn.
    ///
    /// # Errors
    /// If it cannot be drawn or written.
    pub fn write_page(
        &self,
        out: &Path,
        title: Option<&str>,
        targets: &[Objective],
    ) -> Result<Vec<Undrawn>, SweepError> {
        let (charts, undrawn) = self.charts();
        self.write_page_of(&charts, out, title, targets)?;
        Ok(undrawn)
    }

    fn write_page_of(
        &self,
        charts: &[Chart],
        out: &Path,
        title: Option<&str>,
        targets: &[Objective],
    ) -> Result<(), SweepError> {
        // Links of a page beside the tree's tables need no more than their names.
        let root = &self.source.root;
        let is_inside = apart::would_be_same(&root.join("x"), &out.with_file_name("x"));
        let base = if is_inside {
            String::new()
        } else {
            let root = root.canonicalize();
            format!(
                "{}/",
                root.map_err(SweepError::io(&self.source.root, "find"))?
                    .display()
            )
        };
        let page = self.text(charts, title, targets, Some(&base))?;
        WholeFile::write_all(out, page.as_bytes()).map_err(SweepError::io(out, "write the page"))
    }

    /// The page as a server has it, from which there is no way to the tree's files.
    ///
    /// # Errors
    /// If it cannot be drawn.
    pub fn page_apart(&self) -> Result<String, SweepError> {
        self.text(&self.charts().0, None, &[], None)
    }

    fn text(
        &self,
        charts: &[Chart],
        title: Option<&str>,
        targets: &[Objective],
        base: Option<&str>,
    ) -> Result<String, SweepError> {
        let pictures = charts.iter().map(in_page).collect::<Result<Vec<_>, _>>()?;
        let name = title.map_or_else(|| self.source.name(), str::to_owned);
        let table = StudyTable {
            targets: targets.to_vec(),
            ..self.study_table()
        };
        Ok(page_of(&name, &table, &pictures, base))
    }

    /// The charts that the experiment asks for, or the usual ones; and those of them that cannot be drawn.
    fn charts(&self) -> (Vec<Chart>, Vec<Undrawn>) {
        let (parameters, metrics) = (self.study.parameters(), self.study.metrics());
        let points = self.study.points();
        if !self.charts.is_empty() {
            let (mut charts, mut undrawn) = (Vec::new(), Vec::new());
            for wanted in &self.charts {
                let unknown = |name: &str, names: &[&str], is_parameter: bool| {
                    (!names.contains(&name)).then(|| Undrawn {
                        is_parameter,
                        name: name.to_owned(),
                        there: names.iter().map(|&name| name.to_owned()).collect(),
                    })
                };
                let by = wanted.by.as_ref();
                let problem = unknown(&wanted.metric, &metrics, false)
                    .or_else(|| unknown(&wanted.against, &parameters, true))
                    .or_else(|| by.and_then(|by| unknown(by, &parameters, true)));
                // What is done is worth its other charts.
                match problem {
                    Some(problem) => undrawn.push(problem),
                    None => charts.push(self.chart(wanted, &points)),
                }
            }
            return (charts, undrawn);
        }
        // The x axis has the parameter with the most values; of equals the first.
        let numeric = parameters
            .iter()
            .rev()
            .filter(|name| is_numeric(&points, name));
        let Some(against) = numeric.max_by_key(|name| distinct(&points, name)) else {
            return Default::default();
        };
        let usual = [
            "response_time_mean_ms",
            "response_time_p99_ms",
            "read_latency_mean_ms",
            "read_latency_p99_ms",
            "write_latency_p99_ms",
            "throughput_per_s",
            "utilisation_mean",
        ];
        let there = usual.iter().filter(|name| metrics.contains(name));
        let charts = there.map(|metric| {
            let chart = ChartFile {
                metric: (*metric).to_owned(),
                against: (*against).to_owned(),
                by: None,
            };
            self.chart(&chart, &points)
        });
        (charts.collect(), Vec::new())
    }

    fn chart(&self, wanted: &ChartFile, points: &[PointRow]) -> Chart {
        let metrics = self.study.metrics();
        let at = metrics
            .iter()
            .position(|name| *name == wanted.metric)
            .unwrap_or(0);
        let mut series: Vec<Series> = Vec::new();
        let numeric = is_numeric(points, &wanted.against);
        // Where the values are no numbers they stand side by side in their order.
        let mut names: Vec<String> = Vec::new();
        for point in points {
            let here = value_of(&point.parameters, &wanted.against).unwrap_or_default();
            if here.is_empty() {
                continue;
            }
            let x = if numeric {
                iosonar_units::magnitude(here).map_or(f64::NAN, |(x, _)| x)
            } else if let Some(at) = names.iter().position(|n| *n == here) {
                at as f64 + 1.0
            } else {
                names.push(here.to_owned());
                names.len() as f64
            };
            let of = |name: &str, value: &str| format!("{name} = {value}");
            // The parameter that distinguishes lines first, and then what else differs.
            let is_by = |name: &str| wanted.by.as_deref() == Some(name);
            let others = point
                .parameters
                .iter()
                .filter(|(name, _)| *name != wanted.against);
            let (by, rest): (Vec<_>, Vec<_>) = others.partition(|(name, _)| is_by(name));
            let others: Vec<String> = by
                .into_iter()
                .chain(rest)
                .map(|(name, value)| of(name, value))
                .collect();
            let label = others.join(", ");
            let (mean, half_width) = point.metrics[at];
            let spot = Spot::of_mean(x, mean, half_width);
            match series.iter_mut().find(|s| s.label == label) {
                Some(known) => known.points.push(spot),
                None => series.push(Series {
                    label,
                    turn: series.len(),
                    style: Style::Estimates,
                    points: vec![spot],
                }),
            }
        }
        chart_of_study(&Panel {
            study: self.source.name(),
            metric: wanted.metric.clone(),
            against: wanted.against.clone(),
            by: wanted.by.clone(),
            names,
            not_steady: points.iter().filter(|p| !p.not_steady.is_empty()).count(),
            series,
        })
    }

    /// The points with their most informative figures, and links to the runs.
    fn study_table(&self) -> StudyTable {
        let metrics = self.study.metrics();
        let parameters = self.study.parameters();
        let root = &self.source.root;
        let values_of = |of: &[(String, String)]| -> Vec<String> {
            let value = |name: &&str| value_of(of, name).unwrap_or_default().to_owned();
            parameters.iter().map(value).collect()
        };
        let rows = self.study.points().into_iter().map(|point| {
            (
                values_of(&point.parameters),
                point.n,
                point.metrics.clone(),
                links(root, &point.path),
            )
        });
        let failed = self.study.runs.iter().filter_map(|run| {
            let why = run.failed.clone()?;
            Some((run.path.display().to_string(), why))
        });
        let incomplete = self.study.runs.iter().filter(|run| run.failed.is_some());
        let incomplete = incomplete.map(|run| values_of(&run.parameters));
        let not_steady = self.study.points().into_iter();
        let not_steady = not_steady.filter(|point| !point.not_steady.is_empty());
        let not_steady = not_steady.map(|point| {
            let values = values_of(&point.parameters);
            (values, point.why_not_steady().join(" "))
        });
        StudyTable {
            not_steady: not_steady.collect(),
            rows: rows.collect(),
            failed: failed.collect(),
            failed_points: incomplete.collect(),
            targets: Vec::new(),
            parameters: parameters.iter().map(|&name| name.to_owned()).collect(),
            metrics: metrics.iter().map(|&name| name.to_owned()).collect(),
        }
    }
}

/// The pages of a point's runs, or its folder.
fn links(root: &Path, path: &Path) -> Vec<Link> {
    let page = |folder: &Path| -> Option<PathBuf> {
        let page = folder.join("report.html");
        root.join(&page).is_file().then_some(page)
    };
    let mut links = Vec::new();
    let mut folders = vec![path.to_owned()];
    if let Ok(entries) = std::fs::read_dir(root.join(path)) {
        let mut below: Vec<PathBuf> = entries
            .flatten()
            .map(|e| path.join(e.file_name()))
            .collect();
        below.sort();
        folders.extend(below);
    }
    for folder in folders {
        if let Some(page) = page(&folder) {
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            links.push(Link {
                text: if folder == path {
                    "page".to_owned()
                } else {
                    name
                },
                to: page.display().to_string(),
            });
        }
    }
    if links.is_empty() {
        links.push(Link {
            text: "folder".to_owned(),
            to: format!("{}/", path.display()),
        });
    }
    links
}

/// How many values a parameter has.
fn distinct(points: &[PointRow], name: &str) -> usize {
    let values = points.iter().flat_map(|point| &point.parameters);
    let values: BTreeSet<&str> = values
        .filter(|(n, _)| n == name)
        .map(|(_, value)| value.as_str())
        .collect();
    values.len()
}

/// Whether all points that have the parameter have numbers, which differ.
fn is_numeric(points: &[PointRow], name: &str) -> bool {
    let values = points
        .iter()
        .flat_map(|point| &point.parameters)
        .filter(|(n, _)| n == name);
    let number = |value: &str| iosonar_units::magnitude(value).map(|(x, _)| x);
    let numbers: Option<Vec<f64>> = values.map(|(_, value)| number(value)).collect();
    numbers.is_some_and(|numbers| numbers.iter().any(|x| *x != numbers[0]))
}
