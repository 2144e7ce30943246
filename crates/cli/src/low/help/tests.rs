//! Every command's help, at 80 columns unless a test says otherwise.

use clap::{Arg, Command};

use super::is_brief;
use super::pages::{self, GROUPS, page_of};
use crate::Build;

fn command(columns: usize) -> Command {
    super::command(columns, Build::default())
}

const COLUMNS: usize = 80;
const LINES: usize = 24;
/// Of a line in `--help` before the text of an option.
const INDENT: usize = 10;

/// What an option can do: the first word of its help.
const VERBS: [&str; 103] = [
    "Accept",
    "Add",
    "Advance",
    "Align",
    "Allow",
    "Answer",
    "Apply",
    "Assume",
    "Average",
    "Change",
    "Check",
    "Choose",
    "Compare",
    "Complete",
    "Concatenate",
    "Confirm",
    "Copy",
    "Count",
    "Create",
    "Cut",
    "Display",
    "Distribute",
    "Draw",
    "Drop",
    "Estimate",
    "Exclude",
    "Expand",
    "Expect",
    "Find",
    "Fit",
    "Flag",
    "Generate",
    "Give",
    "Group",
    "Halve",
    "Handle",
    "Import",
    "Include",
    "Judge",
    "Keep",
    "Leave",
    "List",
    "Log",
    "Look",
    "Map",
    "Mark",
    "Measure",
    "Merge",
    "Move",
    "Multiply",
    "Name",
    "Open",
    "Overlay",
    "Parse",
    "Permute",
    "Pipe",
    "Place",
    "Plan",
    "Poll",
    "Prepare",
    "Print",
    "Raise",
    "Rank",
    "Read",
    "Redraw",
    "Repeat",
    "Replace",
    "Replay",
    "Report",
    "Require",
    "Reset",
    "Reverse",
    "Run",
    "Sample",
    "Scale",
    "Schedule",
    "Search",
    "Seed",
    "Select",
    "Serve",
    "Set",
    "Show",
    "Simulate",
    "Sort",
    "Space",
    "Spin",
    "Split",
    "Spread",
    "Start",
    "Stay",
    "Stop",
    "Submit",
    "Sweep",
    "Sync",
    "Tag",
    "Try",
    "Use",
    "Verify",
    "Visit",
    "Wait",
    "Widen",
    "Wrap",
    "Write",
];

/// What reads like a translation.
const DIALECT: [&str; 25] = [
    "tell",
    "tells",
    "told",
    "so many",
    "so much",
    "is none",
    "are none",
    "nobody",
    "somebody",
    "whoever",
    "there is to see",
    "all else",
    "hand over",
    "handed over",
    "handing over",
    "upwards",
    "becomes of",
    "become of",
    "like this",
    "borne",
    "endured",
    "takes the place",
    "as the papers",
    "in the mean",
    "what is wanted",
];

fn all() -> Vec<(String, Command)> {
    fn collect(below: &Command, path: &str, into: &mut Vec<(String, Command)>) {
        into.push((path.to_owned(), below.clone()));
        for next in below
            .get_subcommands()
            .filter(|c| !c.is_hide_set() && c.get_name() != "help")
        {
            let path = format!("{path} {}", next.get_name());
            collect(next, path.trim_start(), into);
        }
    }
    let mut root = command(COLUMNS);
    root.build();
    let mut commands = Vec::new();
    collect(&root, "", &mut commands);
    commands
}

fn options(of: &Command) -> impl Iterator<Item = &Arg> {
    of.get_arguments()
        .filter(|arg| !arg.is_positional() && !arg.is_hide_set())
}

#[track_caller]
fn nothing_in(amiss: &[String]) {
    assert!(amiss.is_empty(), "\n{}", amiss.join("\n"));
}

/// Where the first word of an option's help is no verb.
fn first_word_amiss(help: &str) -> Option<&str> {
    let first = help.split(' ').next().unwrap_or_default();
    (!VERBS.contains(&first.trim_end_matches(','))).then_some(first)
}

fn dialect_in(text: &str) -> Option<&'static str> {
    let words = text
        .to_lowercase()
        .replace(|c: char| !c.is_alphanumeric(), " ");
    let words = format!(
        " {} ",
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    );
    DIALECT
        .into_iter()
        .find(|phrase| words.contains(&format!(" {phrase} ")))
}

#[test]
fn the_short_help_of_every_command_fits_a_screen() {
    let mut amiss = Vec::new();
    for (path, mut of) in all() {
        let text = of.render_help().to_string();
        let lines = text.trim_end().lines().count();
        if lines > LINES {
            amiss.push(format!("iosonar {path} -h has {lines} lines:\n{text}"));
        }
    }
    nothing_in(&amiss);
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let mut amiss = Vec::new();
    for columns in [60, COLUMNS, 100] {
        let mut root = command(columns);
        root.build();
        for (path, _) in all() {
            let mut of = root.clone();
            for name in path.split_whitespace() {
                of = of.find_subcommand(name).unwrap().clone();
            }
            let mut texts = vec![of.render_long_help().to_string()];
            if columns >= COLUMNS {
                texts.push(of.render_help().to_string());
            }
            for line in texts.iter().flat_map(|text| text.lines()) {
                // Examples are broken by hand, for 80 columns; usage is not broken at all.
                if columns < COLUMNS && (line.contains("iosonar ") || line.starts_with("      ")) {
                    continue;
                }
                if line.chars().count() > columns {
                    amiss.push(format!("iosonar {path}, {columns} columns: {line}"));
                }
            }
        }
    }
    nothing_in(&amiss);
}

#[test]
fn an_argument_in_the_short_help_takes_one_line() {
    let mut amiss = Vec::new();
    for (path, mut of) in all() {
        let text = of.render_help().to_string();
        // An option begins with its short name, or six columns further where it has none.
        let goes_on = |line: &&str| line.starts_with(&" ".repeat(7));
        amiss.extend(
            text.lines()
                .filter(goes_on)
                .map(|line| format!("iosonar {path} -h: {line}")),
        );
    }
    nothing_in(&amiss);
}

#[test]
fn every_option_has_a_heading_and_a_sentence_of_one_line_that_begins_with_a_verb() {
    let mut amiss = Vec::new();
    for (path, of) in all() {
        for option in options(&of).filter(|option| option.get_id() != "version") {
            let name = format!("iosonar {path} --{}", option.get_long().unwrap_or_default());
            if option.get_help_heading().is_none() {
                amiss.push(format!("{name} has no heading"));
            }
            let help = option
                .get_help()
                .unwrap_or_else(|| panic!("{name} has no help"))
                .to_string();
            let fits = help.chars().count() <= COLUMNS - INDENT;
            if !fits || first_word_amiss(&help).is_some() || help.ends_with('.') {
                amiss.push(format!("{name}: {help}"));
            }
        }
    }
    nothing_in(&amiss);
}

#[test]
fn a_noun_at_the_beginning_is_found() {
    assert_eq!(first_word_amiss("How many runs at once"), Some("How"));
    assert_eq!(first_word_amiss("The size of a block"), Some("The"));
    assert_eq!(first_word_amiss("draw a chart"), Some("draw"));
    assert_eq!(first_word_amiss("Draw a chart"), None);
}

#[test]
fn no_help_has_words_of_the_dialect() {
    let mut amiss = Vec::new();
    for (path, mut of) in all() {
        for text in [of.render_help(), of.render_long_help()] {
            let found = dialect_in(&text.to_string());
            amiss.extend(found.map(|phrase| format!("iosonar {path}: {phrase}")));
        }
    }
    nothing_in(&amiss);
}

#[test]
fn the_dialect_is_found_across_lines_and_beside_punctuation() {
    assert_eq!(
        dialect_in("Use at most so\n    many of the targets"),
        Some("so many")
    );
    assert_eq!(dialect_in("(--list tells)"), Some("tells"));
    assert_eq!(dialect_in("an intelligent teller"), None);
}

#[test]
fn every_command_is_in_one_group() {
    let mut listed: Vec<&str> = GROUPS
        .iter()
        .flat_map(|group| group.commands)
        .copied()
        .collect();
    listed.sort_unstable();
    let root = command(COLUMNS);
    let mut present: Vec<&str> = root
        .get_subcommands()
        .filter(|c| !c.is_hide_set())
        .map(Command::get_name)
        .collect();
    present.sort_unstable();
    assert_eq!(listed, present);
    let text = command(COLUMNS).render_long_help().to_string();
    for of in root.get_subcommands().filter(|c| !c.is_hide_set()) {
        let about = of.get_about().unwrap().to_string();
        let line = text.lines().find(|line| {
            line.trim_start()
                .starts_with(&format!("{} ", of.get_name()))
        });
        assert!(
            line.is_some_and(|line| line.ends_with(&about)),
            "{}: {about}",
            of.get_name()
        );
    }
}

#[test]
fn what_the_short_help_is_to_show_exists_and_is_shown() {
    let commands = all();
    for page in pages::all() {
        let found = commands.iter().find(|(path, _)| path == page.command);
        let (_, of) = found.unwrap_or_else(|| panic!("no command {}", page.command));
        for id in page.brief {
            let option = options(of).find(|option| option.get_id() == id);
            let option = option.unwrap_or_else(|| panic!("{} has no option {id}", page.command));
            assert!(is_brief(option, page.brief) && !option.is_hide_short_help_set());
        }
    }
}

/// A command line as a shell splits it: quotes, and lines that go on.
fn words(lines: &[&str]) -> Vec<String> {
    let text = lines
        .iter()
        .map(|line| line.trim_end_matches('\\'))
        .collect::<Vec<_>>()
        .join(" ");
    let mut words = Vec::new();
    for (place, part) in text.split('\'').enumerate() {
        if place % 2 == 1 {
            words.push(part.to_owned());
        } else {
            let unredirected = part.split('>').next().unwrap_or_default();
            words.extend(unredirected.split_whitespace().map(str::to_owned));
        }
    }
    words
}

#[test]
fn every_command_has_examples_and_they_are_accepted() {
    for (path, _) in all().into_iter().filter(|(path, _)| !path.is_empty()) {
        let page = page_of(&path);
        let page = page.unwrap_or_else(|| panic!("{path} has no page"));
        assert!(!page.examples.is_empty(), "{path}");
        for example in page.examples {
            let words = words(example.lines);
            let typed = words.join(" ");
            assert!(typed.starts_with(&format!("iosonar {path}")), "{typed}");
            let parsed = command(COLUMNS).try_get_matches_from(&words);
            assert!(parsed.is_ok(), "{typed}: {}", parsed.unwrap_err());
            let what = example.what.split(' ').next().unwrap_or_default();
            assert!(what.starts_with(char::is_uppercase), "{}", example.what);
        }
    }
}

/// A profile that is missing, or ambiguous since another was added, is found only when the example is run.
#[test]
fn examples_name_profiles_that_exist() {
    let mut named = 0;
    for (path, _) in all() {
        let Some(page) = page_of(&path) else { continue };
        for example in page.examples {
            let words = words(example.lines);
            for (i, word) in words.iter().enumerate() {
                let before = i.checked_sub(1).map_or("", |before| &words[before]);
                let is_option = ["--profile", "--model"].contains(&before) && word != "ssd";
                let is_named = ["profiles", "validate"].contains(&before) && !word.starts_with('-');
                let is_system = word.contains(':') && word.contains('x') && path == "choose";
                let is_file = std::path::Path::new(word).extension().is_some();
                if (is_option || is_named || is_system) && !is_file {
                    let parsed = iosonar_scenario::System::named(word);
                    assert!(parsed.is_ok(), "{}: {}", example.what, parsed.unwrap_err());
                    named += 1;
                }
            }
        }
    }
    assert!(named >= 4, "{named}");
}

#[test]
fn the_names_of_fio_and_blkreplay_mean_the_same() {
    let pairs = [
        (
            "replay x --target a --iodepth 7",
            "replay x --target a --in-flight 7",
        ),
        (
            "replay x --filename a --runtime 9s",
            "replay x --target a --max-runtime 9s",
        ),
        (
            "replay x --replay_redirect a --ramp_time 1s",
            "replay x --target a --warmup 1s",
        ),
        (
            "replay x --target a --no-o-direct --speedup 2",
            "replay x --target a --no-direct --speed 2",
        ),
        (
            "replay x --target a --replay-start 5 --replay-duration 9",
            "replay x --target a --from 5 --duration 9",
        ),
        (
            "replay x --target a --ioengine sync --hipri",
            "replay x --target a --engine sync --iopoll",
        ),
        (
            "replay x --target a --sqthread_poll --cpus_allowed 1",
            "replay x --target a --sqpoll --cpu 1",
        ),
        (
            "replay x --target a --loops 3",
            "replay x --target a --repeat 3",
        ),
        (
            "replay x --target a -o y --replay-out 3s",
            "replay x --target a -o y --out-from 3s",
        ),
        (
            "generate poisson -o x --rate_iops 9 --bs 8KiB --randseed 3",
            "generate poisson -o x --rate 9 --block 8KiB --seed 3",
        ),
        (
            "generate poisson --output x --number_ios 5",
            "generate poisson --out x --requests 5",
        ),
        ("sim a --randseed 4", "sim a --seed 4"),
    ];
    for (theirs, ours) in pairs {
        let parsed = |words: &str| {
            let words = std::iter::once("iosonar").chain(words.split(' '));
            let parsed = <super::Arguments as clap::Parser>::try_parse_from(words);
            format!(
                "{:?}",
                parsed.unwrap_or_else(|e| panic!("{theirs}: {e}")).command
            )
        };
        assert_eq!(parsed(theirs), parsed(ours));
    }
}
