//! The language of everything that a user or a reader of the code sees: plain technical English.
//!
//! The texts are taken from the sources themselves: clap's help, error texts, all other string literals, the pages of
//! the manual, documentation and comments. [`dialect`] lists the phrases that must not occur, each with what to write
//! in its place.
//!
//! To read all of them in one file:
//!
//! ```sh
//! TEXTS=texts.tsv cargo test --test words -- --ignored write_all_texts
//! ```

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

#[path = "words/dialect.rs"]
mod dialect;
#[path = "words/page.rs"]
mod page;
#[path = "words/source.rs"]
mod source;

/// What a text is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The text of an error.
    Error,
    /// The help of an option or a command.
    Help,
    /// Any other string literal.
    String,
    /// What a failed assertion prints.
    Invariant,
    /// A paragraph of a README, the manual or the change log.
    Page,
    /// Documentation of the code.
    Documentation,
    /// A comment in the code.
    Comment,
}

impl Kind {
    fn is_comment(self) -> bool {
        matches!(self, Self::Help | Self::Documentation | Self::Comment)
    }
}

/// A text, and where it is.
#[derive(Debug)]
struct Text {
    path: String,
    line: usize,
    kind: Kind,
    content: String,
}

impl Text {
    /// Whether it has words for a reader: a key, a unit or a format without words has not.
    fn is_prose(&self) -> bool {
        let words = dialect::words(&self.content);
        words.len() > 1 && words.iter().any(|word| word.len() > 2) && self.content.contains(' ')
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}\t{:?}\t{}",
            self.path,
            self.line,
            self.kind,
            self.content
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
        )
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below `folder` whose names end with `extension`, sorted.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder can be read")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            found.push(path);
        }
    }
    found
}

/// Every text of the project, in the order of the files.
fn all_texts() -> Vec<Text> {
    let read = |path: &Path| fs::read_to_string(path).expect("a source file is text");
    let name = |path: &Path| {
        path.strip_prefix(root())
            .expect("below the root")
            .display()
            .to_string()
    };
    let mut texts = Vec::new();
    let mut pages = vec![root().join("README.md"), root().join("CHANGELOG.md")];
    pages.extend(files(&root().join("docs/src"), "md"));
    let mut crates: Vec<PathBuf> = fs::read_dir(root().join("crates"))
        .expect("the crates")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    crates.sort();
    let readmes = crates.iter().map(|folder| folder.join("README.md"));
    pages.extend(readmes.filter(|readme| readme.exists()));
    for path in pages {
        texts.extend(page::texts(&name(&path), &read(&path)));
    }
    let mut folders = vec![root().join("src")];
    folders.extend(crates.iter().map(|folder| folder.join("src")));
    for path in folders.iter().flat_map(|folder| files(folder, "rs")) {
        let only_tests = path.file_stem().is_some_and(|stem| stem == "tests")
            || path.components().any(|part| part.as_os_str() == "tests");
        if !only_tests {
            texts.extend(source::texts(&name(&path), &read(&path)));
        }
    }
    texts.retain(Text::is_prose);
    texts
}

#[test]
fn no_text_uses_a_phrase_of_the_dialect() {
    let found: Vec<String> = all_texts()
        .iter()
        .flat_map(|text| {
            dialect::found_in(&text.content)
                .into_iter()
                .map(move |phrase| {
                    format!(
                        "{}:{}: \"{}\": write {}\n    {}",
                        text.path, text.line, phrase.words, phrase.instead, text.content
                    )
                })
        })
        .collect();
    assert!(
        found.is_empty(),
        "{} phrases to reword:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_phrase_is_found_with_its_line_and_not_in_code_or_tests() {
    let source = "/// Tells all.\n#[error(\"x is\\n     none\")]\nfn a() { say(\"it was `told`\"); }\n\n// 'a' \"so many\"\n\
                  #[cfg(test)]\nmod tests {\n    // nobody }\n    fn b() { say(\"so much {\"); }\n}\nfn c() { x.expect(r#\"nobody's turn\"#) }\n";
    let found: Vec<(usize, Kind, &str)> = source::texts("x.rs", source)
        .iter()
        .flat_map(|text| {
            dialect::found_in(&text.content)
                .into_iter()
                .map(|phrase| (text.line, text.kind, phrase.words))
        })
        .collect();
    let expected = [
        (1, Kind::Documentation, "told|tell|tells|telling"),
        (2, Kind::Error, "is|are|was none"),
        (5, Kind::Comment, "so many|much|few"),
        (11, Kind::Invariant, "nobody|somebody|anybody|whoever"),
    ];
    assert_eq!(found, expected);

    let page = "# Loads\n\nThe device was told\nso. `nobody` waits.\n\n```text\nso many\n```\n| x | handed over |\n";
    let found: Vec<(usize, &str)> = page::texts("x.md", page)
        .iter()
        .flat_map(|text| {
            dialect::found_in(&text.content)
                .into_iter()
                .map(|phrase| (text.line, phrase.words))
        })
        .collect();
    assert_eq!(
        found,
        [
            (3, "told|tell|tells|telling"),
            (9, "hand|hands|handed|handing over")
        ]
    );
}

#[test]
#[ignore = "writes the list of all texts for a review, to the file named by TEXTS"]
fn write_all_texts() {
    let path = std::env::var("TEXTS").expect("TEXTS names the file to write");
    let texts: String = all_texts().iter().map(|text| format!("{text}\n")).collect();
    fs::write(path, texts).expect("the list can be written");
}
