//! The commands of the README and the manual, with the output that the pages show.
//!
//! A command in a block marked `console` is run in a folder that has the project's `examples` and `fixtures`, and the page's
//! own files, such as a block marked `toml,file=array.toml`; standard output and standard error together must be the lines
//! below it. `[..]` in a line and `...` alone on one replace what
//! differs from run to run, and a line `? 3` below the command is an exit status other than 0. Blocks marked `sh` are
//! for commands that need a device, a network or minutes: of these only the options are checked.
//!
//! If an output has changed on purpose, this writes it to the pages, for a review:
//!
//! ```sh
//! TRYCMD=overwrite cargo test --test readme
//! ```

use std::{
    env, fs,
    os::unix::fs::symlink,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
};

/// How the lines of a block of commands begin in a page.
const BLOCK: &str = "```console";

/// What marks a block as the content of a file, in its first line.
const FILE: &str = ",file=";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README and the pages of the manual, with their contents.
fn pages() -> Vec<(PathBuf, String)> {
    let mut paths = vec![root().join("README.md")];
    for folder in ["docs/src", "docs/src/tutorials"] {
        let manual = fs::read_dir(root().join(folder)).expect("the manual");
        paths.extend(
            manual
                .map(|entry| entry.expect("an entry").path())
                .filter(|path| path.extension().is_some_and(|extension| extension == "md")),
        );
    }
    paths.sort();
    let read = |path: PathBuf| {
        let content = fs::read_to_string(&path).expect("a page is text");
        (path, content)
    };
    paths.into_iter().map(read).collect()
}

/// The lines of the page's blocks of commands, with their numbers.
fn console_lines(page: &str) -> Vec<(usize, &str)> {
    let mut inside = false;
    let mut lines = Vec::new();
    for (number, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            inside = line == BLOCK;
        } else if inside {
            lines.push((number + 1, line));
        }
    }
    lines
}

/// The files that the page asks its reader to write: their names and contents.
fn files(page: &str) -> Vec<(&str, String)> {
    let mut files: Vec<(&str, String)> = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            let name = line.split_once(FILE).map(|(_, name)| name);
            inside = name.is_some();
            files.extend(name.map(|name| (name, String::new())));
        } else if let Some((_, content)) = files.last_mut().filter(|_| inside) {
            content.push_str(line);
            content.push('\n');
        }
    }
    files
}

/// The program's commands in the page's other blocks, with the numbers of their first lines.
///
/// Of a line of the shell this is the part before a comment, a pipe or a redirection.
fn other_commands(page: &str) -> Vec<(usize, String)> {
    let mut commands: Vec<(usize, String)> = Vec::new();
    let mut fence = None;
    let mut goes_on = false;
    for (number, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            fence = fence.is_none().then_some(line);
            continue;
        }
        // A manifest has a line that begins with the name, too.
        let inside = fence.is_some_and(|fence| fence != BLOCK && fence != "```toml");
        let first = [" # ", " | ", " > "]
            .iter()
            .filter_map(|end| line.find(end))
            .min();
        let (command, more) = match line.trim_end().strip_suffix('\\') {
            Some(part) => (part, true),
            None => (&line[..first.unwrap_or(line.len())], false),
        };
        match commands.last_mut() {
            Some((_, begun)) if goes_on => begun.push_str(command),
            _ if inside && command.starts_with("iosonar ") => {
                commands.push((number + 1, command.to_owned()));
            }
            _ => continue,
        }
        goes_on = more;
    }
    commands
}

/// Runs the commands of a page in a folder of its own.
fn run(page: &Path) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    for name in ["examples", "fixtures"] {
        symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    let content = fs::read_to_string(page).expect("a page is text");
    for (name, content) in files(&content) {
        fs::write(folder.path().join(name), content).expect("a file of the page");
    }
    // The runner has no setting for it. No other test of this file depends on the current folder.
    env::set_current_dir(folder.path()).expect("the scratch folder");
    let cases = trycmd::TestCases::new();
    cases
        .register_bin("iosonar", Path::new(env!("CARGO_BIN_EXE_iosonar")))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "80")
        .env("LINES", "32")
        .case(page);
    cases.run();
}

#[test]
fn every_command_prints_what_its_page_shows() {
    let failed: Vec<PathBuf> = pages()
        .into_iter()
        .filter(|(_, content)| !console_lines(content).is_empty())
        .filter(|(path, _)| catch_unwind(AssertUnwindSafe(|| run(path))).is_err())
        .map(|(path, _)| path)
        .collect();
    env::set_current_dir(root()).expect("the project's folder");
    assert!(
        failed.is_empty(),
        "the output of commands differs from what these pages show: {failed:?}"
    );
}

/// The runner passes over programs that it does not know, blocks with another mark, and pages without blocks.
#[test]
fn no_command_of_a_page_is_passed_over() {
    let mut with_commands = 0;
    for (path, content) in pages() {
        let lines = console_lines(&content);
        for (number, line) in &lines {
            let place = format!("{}:{number}", path.display());
            let Some(command) = line.strip_prefix("$ ") else {
                continue;
            };
            assert!(
                command.starts_with("iosonar "),
                "{place}: a console block runs iosonar only (got `{command}`): use a block marked sh"
            );
        }
        let shown = content
            .lines()
            .filter(|line| line.starts_with("$ iosonar "))
            .count();
        let run = lines
            .iter()
            .filter(|(_, line)| line.starts_with("$ "))
            .count();
        assert_eq!(
            shown,
            run,
            "{}: commands with a prompt belong in blocks marked console",
            path.display()
        );
        with_commands += usize::from(run > 0);
    }
    assert!(
        with_commands >= 2,
        "only {with_commands} pages have commands"
    );
    let readme = fs::read_to_string(root().join("README.md")).expect("the README");
    let commands = console_lines(&readme)
        .iter()
        .filter(|(_, line)| line.starts_with("$ "))
        .count();
    assert!(commands >= 3, "the README shows {commands} commands");
}

#[test]
fn every_other_command_of_a_page_has_options_that_exist() {
    let program = Path::new(env!("CARGO_BIN_EXE_iosonar"));
    let folder = program.parent().expect("a folder").display();
    let path = env::var("PATH").unwrap_or_default();
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (page, content) in pages() {
        for (number, command) in other_commands(&content) {
            // Options before `--help` are checked, and nothing is done.
            let shown = Command::new("sh")
                .args(["-c", &format!("{command} --help")])
                .env("PATH", format!("{folder}:{path}"))
                .current_dir(root())
                .output()
                .expect("a shell");
            checked += 1;
            if !shown.status.success() {
                let error = String::from_utf8_lossy(&shown.stderr);
                let error = error.lines().next().unwrap_or_default().to_owned();
                wrong.push(format!(
                    "{}:{number}: {command}\n    {error}",
                    page.display()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked >= 40, "only {checked} commands were found");
}

#[test]
fn a_command_of_the_shell_ends_at_its_comment_and_goes_on_after_a_backslash() {
    let page = "iosonar a\n```sh\niosonar sim x.toml   # why\niosonar plan y \\\n    --most 3\niosonar: an error\n\
                iosonar info - > z\n```\n```console\n$ iosonar info\niosonar b\n```\n```text\niosonar c\n```\n";
    let found = other_commands(page);
    let expected = [
        (3, "iosonar sim x.toml  "),
        (4, "iosonar plan y     --most 3"),
        (7, "iosonar info -"),
        (14, "iosonar c"),
    ];
    let expected = expected.map(|(line, command)| (line, command.to_owned()));
    assert_eq!(found, expected);
}

#[test]
fn a_file_of_a_page_is_the_block_that_names_it() {
    let page = "```toml\na = 1\n```\n```toml,file=b.toml\n[b]\nc = 2\n```\nnothing\n```python,file=d.py\n```\n";
    let expected = [("b.toml", "[b]\nc = 2\n"), ("d.py", "")];
    assert_eq!(
        files(page),
        expected.map(|(name, text)| (name, text.to_owned()))
    );
}
