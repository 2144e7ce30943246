//! Links of the manual and of the READMEs: every one leads somewhere, and every page is in the summary.
//!
//! Headings get the anchors that `mdBook` gives them. A link out of the manual's folder would be dead in the HTML that
//! `mdBook` writes, although the file exists.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt, fs, io,
    ops::Range,
    path::{Component, Path, PathBuf},
};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// The folder of the pages, below the project's.
const FOLDER: &str = "docs/src";

/// Where the crates are, each with its README.
const CRATES: &str = "crates";

/// The list of pages.
const SUMMARY: &str = "docs/src/SUMMARY.md";

/// What is wrong with a link or a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// There is no such page or file.
    NoFile(String),
    /// The page has no such heading.
    NoHeading(String),
    /// The link leads out of the manual, to a file that its HTML does not include.
    OutOfManual(String),
    /// The summary does not list the page.
    NotInSummary,
    /// The summary lists the page again.
    TwiceInSummary(String),
    /// The picture is shown on no page.
    NotShown,
    /// The picture has no text for those who do not see it.
    NoAltText(String),
    /// A page must have one heading of level 1, at its beginning.
    NotOneTitle,
    /// The level of a heading is more than one below that of the one before.
    LevelSkipped(String),
}

/// A problem, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, below the project's folder.
    pub file: String,
    /// The line; 1 for what concerns the file as a whole.
    pub line: usize,
    /// What is wrong.
    pub problem: Problem,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file,
            line,
            problem,
        } = self;
        write!(f, "{file}:{line}: ")?;
        match problem {
            Problem::NoFile(link) => write!(f, "`{link}` does not exist"),
            Problem::NoHeading(link) => write!(f, "no heading matches the anchor of `{link}`"),
            Problem::OutOfManual(link) => {
                write!(
                    f,
                    "`{link}` is outside of {FOLDER}: name the file instead of linking to it"
                )
            }
            Problem::NotInSummary => write!(f, "{SUMMARY} does not list this page"),
            Problem::TwiceInSummary(link) => write!(f, "`{link}` is listed twice"),
            Problem::NotShown => write!(f, "no page shows this picture"),
            Problem::NoAltText(link) => write!(f, "the picture `{link}` has no description"),
            Problem::NotOneTitle => {
                write!(
                    f,
                    "a page must begin with a heading of level 1 and have no other heading of this level"
                )
            }
            Problem::LevelSkipped(heading) => {
                write!(f, "the heading `{heading}` skips a level")
            }
        }
    }
}

/// A link or a picture of a page.
struct Link {
    line: usize,
    target: String,
    picture: bool,
}

/// What is checked of a page.
#[derive(Default)]
struct Page {
    links: Vec<Link>,
    anchors: BTreeSet<String>,
    faults: Vec<(usize, Problem)>,
}

/// The faults of the manual in `docs/src` and of the READMEs of a project.
///
/// # Errors
///
/// If a file cannot be read.
pub fn faults(project: &Path) -> io::Result<Vec<Fault>> {
    let files = files(project)?;
    let mut pages = BTreeMap::new();
    for file in files.iter().filter(|file| has_extension(file, "md")) {
        pages.insert(
            file.clone(),
            Page::read(&fs::read_to_string(project.join(file))?, file == SUMMARY),
        );
    }
    let mut faults: BTreeSet<Fault> = BTreeSet::new();
    let mut reached = BTreeSet::new();
    for (file, page) in &pages {
        let mut add = |line, problem| {
            faults.insert(Fault {
                file: file.clone(),
                line,
                problem,
            });
        };
        let mut listed = BTreeSet::new();
        for (line, problem) in &page.faults {
            add(*line, problem.clone());
        }
        for link in &page.links {
            match resolve(project, &pages, file, &link.target) {
                Ok(Some(target)) => {
                    if file == SUMMARY && !listed.insert(target.clone()) {
                        add(link.line, Problem::TwiceInSummary(link.target.clone()));
                    }
                    // A schema is reached by a link, a picture only where it is shown.
                    if link.picture || file == SUMMARY || has_extension(&target, "json") {
                        reached.insert(target);
                    }
                }
                Ok(None) => {}
                Err(problem) => add(link.line, problem),
            }
        }
    }
    let unreached = files
        .iter()
        .filter(|file| file.starts_with(FOLDER) && *file != SUMMARY && !reached.contains(*file));
    faults.extend(unreached.map(|file| Fault {
        file: file.clone(),
        line: 1,
        problem: if has_extension(file, "md") {
            Problem::NotInSummary
        } else {
            Problem::NotShown
        },
    }));
    Ok(faults.into_iter().collect())
}

/// The README of the project and those of its crates, and all files of the manual, below the project's folder.
fn files(project: &Path) -> io::Result<BTreeSet<String>> {
    let mut files = BTreeSet::from(["README.md".to_owned()]);
    for entry in fs::read_dir(project.join(CRATES))? {
        let name = entry?.file_name();
        let readme = format!("{CRATES}/{}/README.md", name.to_string_lossy());
        if project.join(&readme).exists() {
            files.insert(readme);
        }
    }
    let mut folders = vec![project.join(FOLDER)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(below) = path.strip_prefix(project) {
                files.insert(below.to_string_lossy().into_owned());
            }
        }
    }
    Ok(files)
}

fn has_extension(file: &str, extension: &str) -> bool {
    Path::new(file)
        .extension()
        .is_some_and(|found| found == extension)
}

/// The file that a link leads to, below the project's folder; none for an address on the web.
fn resolve(
    project: &Path,
    pages: &BTreeMap<String, Page>,
    file: &str,
    link: &str,
) -> Result<Option<String>, Problem> {
    if link.contains("://") || link.starts_with("mailto:") {
        return Ok(None);
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() {
        file.to_owned()
    } else {
        let folder = Path::new(file).parent().unwrap_or(Path::new(""));
        without_dots(&folder.join(path)).ok_or_else(|| Problem::NoFile(link.to_owned()))?
    };
    if !project.join(&target).exists() {
        return Err(Problem::NoFile(link.to_owned()));
    }
    if file.starts_with(FOLDER) && !target.starts_with(FOLDER) {
        return Err(Problem::OutOfManual(link.to_owned()));
    }
    let known = |page: &Page| page.anchors.contains(anchor);
    if !anchor.is_empty() && !pages.get(&target).is_some_and(known) {
        return Err(Problem::NoHeading(link.to_owned()));
    }
    Ok(Some(target))
}

/// The path without `.` and `..`; none if it leads out of the project.
fn without_dots(path: &Path) -> Option<String> {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(part) => plain.push(part),
            Component::CurDir => {}
            Component::ParentDir => {
                if !plain.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(plain.to_string_lossy().into_owned())
}

/// The heading or picture that the events belong to.
enum Within {
    Heading(Range<usize>, HeadingLevel, Option<String>, String),
    Picture(usize, String, String),
}

impl Page {
    /// The links, anchors and faults of a page; a summary has headings of level 1 only.
    fn read(text: &str, summary: bool) -> Self {
        let line = |range: &Range<usize>| 1 + text[..range.start].matches('\n').count();
        let mut page = Self::default();
        let mut levels = Vec::new();
        let mut ids = HashMap::new();
        let mut within = None;
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            match event {
                Event::Start(Tag::Heading { level, id, .. }) => {
                    within = Some(Within::Heading(
                        range,
                        level,
                        id.map(Into::into),
                        String::new(),
                    ));
                }
                Event::Start(Tag::Link { dest_url, .. }) => page.links.push(Link {
                    line: line(&range),
                    target: dest_url.into_string(),
                    picture: false,
                }),
                Event::Start(Tag::Image { dest_url, .. }) => {
                    within = Some(Within::Picture(
                        line(&range),
                        dest_url.into_string(),
                        String::new(),
                    ));
                }
                Event::Text(part) | Event::Code(part) => match &mut within {
                    Some(Within::Heading(.., text) | Within::Picture(.., text)) => {
                        text.push_str(&part);
                    }
                    None => {}
                },
                Event::End(TagEnd::Heading(_) | TagEnd::Image) => match within.take() {
                    Some(Within::Heading(range, level, id, text)) => {
                        let line = line(&range);
                        let id = id.unwrap_or_else(|| anchor(&text));
                        page.anchors.insert(unique(id, &mut ids));
                        levels.push((line, level, text));
                    }
                    Some(Within::Picture(line, target, text)) => {
                        if text.trim().is_empty() {
                            page.faults.push((line, Problem::NoAltText(target.clone())));
                        }
                        page.links.push(Link {
                            line,
                            target,
                            picture: true,
                        });
                    }
                    None => {}
                },
                _ => {}
            }
        }
        if !summary {
            page.check_levels(&levels);
        }
        page
    }

    fn check_levels(&mut self, levels: &[(usize, HeadingLevel, String)]) {
        let titles = levels
            .iter()
            .filter(|(_, level, _)| *level == HeadingLevel::H1);
        let first_is_title = levels
            .first()
            .is_some_and(|(line, level, _)| *line == 1 && *level == HeadingLevel::H1);
        if !first_is_title || titles.count() != 1 {
            self.faults.push((1, Problem::NotOneTitle));
        }
        for pair in levels.windows(2) {
            let [(_, above, _), (line, level, text)] = pair else {
                continue;
            };
            if *level as usize > *above as usize + 1 {
                self.faults
                    .push((*line, Problem::LevelSkipped(text.clone())));
            }
        }
    }
}

/// What `mdBook` enables.
fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_DEFINITION_LIST
        | Options::ENABLE_GFM
}

/// The anchor of a heading, as `mdBook` derives it from its text.
fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            '_' | '-' => Some(c),
            c if c.is_alphanumeric() => Some(c),
            c if c.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// The anchor with a number, if a heading before has the same.
fn unique(anchor: String, used: &mut HashMap<String, usize>) -> String {
    let count = used.entry(anchor.clone()).or_default();
    *count += 1;
    match *count {
        1 => anchor,
        count => format!("{anchor}-{}", count - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project of a README, a summary and a page with these contents, and of a picture.
    fn project(summary: &str, page: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a scratch folder");
        for path in ["crates/part", "docs/src/pictures"] {
            fs::create_dir_all(folder.path().join(path)).expect("folders");
        }
        for (name, content) in [
            (
                "README.md",
                "# Tool\n\n[manual](docs/src/page.md#a-heading-of-it)\n",
            ),
            (
                "crates/part/README.md",
                "# Part\n\n[manual](../../docs/src/page.md#twice-1)\n",
            ),
            ("outside.md", "# Outside\n"),
            ("docs/src/SUMMARY.md", summary),
            ("docs/src/page.md", page),
            ("docs/src/pictures/one.png", ""),
        ] {
            fs::write(folder.path().join(name), content).expect("a file");
        }
        folder
    }

    const SUMMARY_PAGE: &str = "# Summary\n\n- [Page](page.md)\n";
    const PAGE: &str = "# Page\n\n![one](pictures/one.png) [web](https://example.org) [up](#a-heading-of-it)\n\n\
                        ## A heading, of `it`\n\n### Twice\n\n### Twice\n\n[second](#twice-1)\n";

    fn problems(summary: &str, page: &str) -> Vec<(usize, Problem)> {
        let folder = project(summary, page);
        let faults = faults(folder.path()).expect("readable files");
        faults
            .into_iter()
            .map(|fault| (fault.line, fault.problem))
            .collect()
    }

    #[test]
    fn a_sound_manual_has_no_faults() {
        assert_eq!(problems(SUMMARY_PAGE, PAGE), []);
    }

    /// Each fault is planted at the end of a sound page.
    #[test]
    fn planted_faults_are_found() {
        let line = PAGE.lines().count() + 2;
        for (planted, expected) in [
            ("[a](gone.md)", Problem::NoFile("gone.md".to_owned())),
            ("[a](#gone)", Problem::NoHeading("#gone".to_owned())),
            (
                "[a](page.md#twice-2)",
                Problem::NoHeading("page.md#twice-2".to_owned()),
            ),
            (
                "[a](../../outside.md)",
                Problem::OutOfManual("../../outside.md".to_owned()),
            ),
            (
                "[a](../../../up.md)",
                Problem::NoFile("../../../up.md".to_owned()),
            ),
            (
                "![a](pictures/two.png)",
                Problem::NoFile("pictures/two.png".to_owned()),
            ),
            (
                "![](pictures/one.png)",
                Problem::NoAltText("pictures/one.png".to_owned()),
            ),
            ("##### Deep", Problem::LevelSkipped("Deep".to_owned())),
        ] {
            let found = problems(SUMMARY_PAGE, &format!("{PAGE}\n{planted}\n"));
            assert_eq!(found, [(line, expected)], "{planted}");
        }
    }

    #[test]
    fn a_link_within_code_is_none() {
        assert_eq!(
            problems(SUMMARY_PAGE, &format!("{PAGE}\n`[a](gone.md)`\n")),
            []
        );
    }

    #[test]
    fn titles_summary_and_pictures_are_checked() {
        let second = problems(SUMMARY_PAGE, &format!("{PAGE}\n# Another\n"));
        assert_eq!(second, [(1, Problem::NotOneTitle)]);
        let hidden = problems(SUMMARY_PAGE, &PAGE.replace("![one](pictures/one.png)", ""));
        assert_eq!(hidden, [(1, Problem::NotShown)]);
        let orphan = problems("# Summary\n", PAGE);
        assert_eq!(orphan, [(1, Problem::NotInSummary)]);
        let twice = problems(&format!("{SUMMARY_PAGE}- [Again](page.md)\n"), PAGE);
        assert_eq!(twice, [(4, Problem::TwiceInSummary("page.md".to_owned()))]);
        let from_readme = problems(SUMMARY_PAGE, "# Page\n\n![one](pictures/one.png)\n");
        let links = [
            "docs/src/page.md#a-heading-of-it",
            "../../docs/src/page.md#twice-1",
        ];
        let expected = links.map(|link| (3, Problem::NoHeading(link.to_owned())));
        assert_eq!(from_readme, expected);
    }
}
