//! Pages of the manual that come from the code: every command with its options, every chart, and every format.
//!
//! `UPDATE_MANUAL=1 cargo test -p iosonar-cli the_manual` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;

use clap::{Arg, Command};
use iosonar_report::CATALOGUE;
use iosonar_trace::formats::ALL;

use super::pages::GROUPS;
use super::{OUTPUT, command};
use crate::Build;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src");

/// The first lines of the page of options.
const OPTIONS: &str = "# Commands and options\n\n\
    This page lists every command with its arguments and options. It is generated from the program. `iosonar COMMAND --help`\n\
    also has examples and explains many options in more detail. [Install](install.md#help) lists the names from fio and\n\
    blkreplay that are also accepted. Options that several commands share are [at the end](#options-of-several-commands).\n\n\
    TIME is a number with a unit: `60s`, `1.5ms`, `20us`, `250ns`, `2min`, `1h`. A number without a unit is in seconds.\n\
    SIZE is in bytes: `4096`, `128KiB`, `1MB`. In sizes, the unit `s` stands for sectors of 512 B: `8s` is 4096 bytes.\n";

/// The heading of the options that several commands have.
const SHARED: &str = "Options of several commands";

/// The first lines of the page of charts.
const CHARTS: &str = "# List of charts\n\
    \n\
    This page lists the charts that `iosonar plot CHART` draws, as `iosonar plot --list` prints them.\n\
    [Draw charts and pages](pictures.md) shows how to draw them, and the [gallery](gallery.md) shows what to look \
    for.\n";

/// Options below one heading: the heading, and rows of a table.
type Block = (String, String);
/// The commands that have just these options.
type Owners = BTreeMap<Block, Vec<String>>;

/// Shorter blocks are repeated for each command.
const LONG: usize = 3;

/// Text in a cell of a table.
fn escaped(text: &str) -> String {
    let text = text.trim().replace('\n', " ");
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if "|<>*_`[]\\".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// Code in a cell of a table.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// The names of an option and its values: `-o`, `--out <OUT>`.
fn names(arg: &Arg) -> String {
    // As clap prints it, without the short name.
    let long = arg.to_string();
    let short = arg.get_short().map(|short| code(&format!("-{short}")));
    let short = short.filter(|_| arg.get_long().is_some());
    match short {
        Some(short) => format!("{short}, {}", code(&long)),
        None => code(&long),
    }
}

/// What an option does, with its default and its values.
fn meaning(arg: &Arg) -> String {
    let mut text = escaped(&arg.get_help().map(ToString::to_string).unwrap_or_default());
    let defaults = arg.get_default_values();
    let takes_value = arg.get_action().takes_values();
    if takes_value && !defaults.is_empty() && !arg.is_hide_default_value_set() {
        let defaults = defaults.iter().map(|value| code(&value.to_string_lossy()));
        let _ = write!(
            text,
            "; default {}",
            defaults.collect::<Vec<_>>().join(", ")
        );
    }
    let values = arg.get_possible_values();
    let shown = values.iter().filter(|value| !value.is_hide_set());
    let shown: Vec<String> = shown.map(|value| code(value.get_name())).collect();
    if takes_value && !shown.is_empty() && !arg.is_hide_possible_values_set() {
        let _ = write!(text, "; one of {}", shown.join(", "));
    }
    text
}

/// The options of a command: headings with rows of a table, in the order of its help.
fn blocks(command: &Command) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for arg in command.get_arguments() {
        let is_everywhere =
            arg.is_global_set() || matches!(arg.get_id().as_str(), "help" | "version");
        if arg.is_hide_set() || is_everywhere {
            continue;
        }
        let heading = match arg.is_positional() {
            true => "Arguments",
            false => arg.get_help_heading().unwrap_or(OUTPUT),
        };
        let row = format!("| {} | {} |\n", names(arg), meaning(arg));
        match blocks.iter_mut().find(|(known, _)| known == heading) {
            Some((_, rows)) => rows.push_str(&row),
            None => blocks.push((heading.to_owned(), row)),
        }
    }
    blocks
}

/// Every command below `command`, each after its full name, which begins with the program's name.
fn walk(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
    found.push((path.to_owned(), command.clone()));
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        walk(below, &format!("{path} {}", below.get_name()), found);
    }
}

/// The blocks that several commands share, each with these commands.
fn shared(commands: &[(String, Command)]) -> Owners {
    let mut owners = Owners::new();
    for (path, command) in commands {
        for block in blocks(command) {
            owners.entry(block).or_default().push(path.clone());
        }
    }
    owners.retain(|(_, rows), paths| paths.len() > 1 && rows.lines().count() >= LONG);
    owners
}

/// The headings of shared blocks. If several blocks share a heading, the rarer ones also name their commands.
fn titles(owners: &Owners) -> BTreeMap<&Block, String> {
    let mut most: BTreeMap<&str, usize> = BTreeMap::new();
    for ((heading, _), paths) in owners {
        let most = most.entry(heading).or_default();
        *most = paths.len().max(*most);
    }
    let mut titles = BTreeMap::new();
    let mut taken = Vec::new();
    for (block, paths) in owners {
        let (heading, _) = block;
        let is_first = paths.len() == most[heading.as_str()] && !taken.contains(&heading);
        if is_first {
            taken.push(heading);
        }
        let names = paths.iter().filter_map(|path| path.split_once(' '));
        let names: Vec<&str> = names.map(|(_, name)| name).collect();
        let names = match names.as_slice() {
            [first, _, _, _, ..] => format!("{first} and other commands"),
            few => few.join(", "),
        };
        let title = match is_first {
            true => heading.clone(),
            false => format!("{heading}: {names}"),
        };
        titles.insert(block, title);
    }
    titles
}

/// The anchor that `mdBook` gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

fn table(rows: &str) -> String {
    format!("| option | meaning |\n|---|---|\n{rows}")
}

/// The section of a command.
fn section(path: &str, command: &Command, titles: &BTreeMap<&Block, String>) -> String {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut text = format!("\n### {path}\n\n{}.\n", escaped(&about));
    let mut elsewhere = Vec::new();
    for block in blocks(command) {
        match titles.get(&block) {
            Some(title) => elsewhere.push(format!("[{title}](#{})", anchor(title))),
            None => {
                let _ = write!(text, "\n**{}**\n\n{}", block.0, table(&block.1));
            }
        }
    }
    if !elsewhere.is_empty() {
        let _ = writeln!(text, "\nAlso: {}.", elsewhere.join("; "));
    }
    text
}

/// The page of commands and options.
fn options() -> String {
    let mut all = command(80, Build::default()).disable_help_subcommand(true);
    all.build();
    let mut commands = Vec::new();
    for group in &GROUPS {
        for name in group.commands {
            let below = all.find_subcommand(name).expect("a command of a group");
            walk(below, &format!("iosonar {name}"), &mut commands);
        }
    }
    let owners = shared(&commands);
    let titles = titles(&owners);
    let everywhere = all.get_arguments().filter(|arg| arg.is_global_set());
    let rows: String = everywhere
        .map(|arg| format!("| {} | {} |\n", names(arg), meaning(arg)))
        .collect();
    let mut text = format!(
        "{OPTIONS}\nEvery command has `-h`, `--help` and these options:\n\n{}",
        table(&rows)
    );
    for group in &GROUPS {
        let _ = write!(text, "\n## {}\n", group.heading);
        for (path, command) in &commands {
            let name = path.split(' ').nth(1).unwrap_or_default();
            if group.commands.contains(&name) {
                text.push_str(&section(path, command, &titles));
            }
        }
    }
    let _ = write!(text, "\n## {SHARED}\n");
    for (block, paths) in &owners {
        let paths: Vec<String> = paths.iter().map(|path| code(path)).collect();
        let _ = write!(
            text,
            "\n### {}\n\nCommands with these options: {}.\n\n{}",
            titles[block],
            paths.join(", "),
            table(&block.1)
        );
    }
    text
}

/// The page of charts.
fn charts() -> String {
    let mut text = CHARTS.to_owned();
    let mut group = None;
    for entry in CATALOGUE {
        if group != Some(entry.group) {
            let heading = entry.group.name();
            let _ = write!(
                text,
                "\n## {heading}\n\n| chart | shows | in graph.sh |\n|---|---|---|\n"
            );
            group = Some(entry.group);
        }
        let peer = if entry.peer.is_empty() {
            String::new()
        } else {
            code(entry.peer)
        };
        let _ = writeln!(
            text,
            "| {} | {} | {peer} |",
            code(entry.name),
            escaped(entry.about)
        );
    }
    text
}

/// The table of formats.
fn formats() -> String {
    let mut text =
        "| format | endings | what it is | lost when written |\n|---|---|---|---|\n".to_owned();
    for format in ALL {
        let endings = format.extensions().iter().map(|e| code(&format!(".{e}")));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            code(format.name()),
            endings.collect::<Vec<_>>().join(", "),
            escaped(format.description()),
            format.loses().map_or("not written".to_owned(), escaped)
        );
    }
    text
}

fn is_up_to_date(page: &str, new: &str) {
    let path = format!("{FOLDER}/{page}");
    if std::env::var_os("UPDATE_MANUAL").is_some() {
        return fs::write(&path, new).expect("the page can be written");
    }
    let old = fs::read_to_string(&path).expect("the page is there");
    assert!(
        old == new,
        "docs/src/{page} differs from the code: UPDATE_MANUAL=1 cargo test -p iosonar-cli the_manual writes it anew"
    );
}

#[test]
fn the_manual_lists_every_command_and_option() {
    let page = options();
    assert!(page.contains("\n### iosonar generate poisson\n"), "{page}");
    assert!(page.contains("| `-o`, `--out <OUT>` |"), "{page}");
    let mut headings: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
    let all = headings.len();
    headings.sort_unstable();
    headings.dedup();
    assert_eq!(headings.len(), all, "two headings of the page are equal");
    is_up_to_date("options.md", &page);
}

#[test]
fn the_manual_lists_every_chart() {
    let page = charts();
    assert_eq!(
        page.lines().filter(|line| line.starts_with("| `")).count(),
        CATALOGUE.len()
    );
    is_up_to_date("charts.md", &page);
}

#[test]
fn the_manual_lists_every_format() {
    let table = formats();
    assert_eq!(table.lines().count(), ALL.len() + 2);
    assert!(table.contains("| `ios` | `.ios` |"), "{table}");
    let page = fs::read_to_string(format!("{FOLDER}/formats.md")).expect("the page is there");
    let (begin, end) = ("<!-- formats -->\n", "<!-- end of formats -->");
    let (before, rest) = page.split_once(begin).expect("the begin mark");
    let (_, after) = rest.split_once(end).expect("the end mark");
    is_up_to_date(
        "formats.md",
        &format!("{before}{begin}\n{table}\n{end}{after}"),
    );
}

#[test]
fn what_has_a_meaning_in_a_page_is_escaped_in_a_cell() {
    assert_eq!(escaped("a | <b> *c*\nd_e"), "a \\| \\<b\\> \\*c\\* d\\_e");
    assert_eq!(code("a|b"), "`a\\|b`");
    assert_eq!(
        anchor("Changing the load (in the order given)"),
        "changing-the-load-in-the-order-given"
    );
}
