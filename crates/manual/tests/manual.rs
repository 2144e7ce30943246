//! The manual in `docs/src`: its links, and its equations.

use std::{fs, path::Path};

use iosonar_manual::{links, math};

fn project() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn every_link_leads_somewhere_and_every_page_is_listed() {
    let faults = links::faults(project()).expect("the manual");
    let list: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(list.is_empty(), "\n{}", list.join("\n"));
}

#[test]
fn the_glossary_defines_each_term_once_in_alphabetical_order() {
    let page = fs::read_to_string(project().join("docs/src/glossary.md")).expect("the glossary");
    let terms: Vec<String> = page
        .split("\n## ")
        .skip(1)
        .map(|term| {
            let (name, definition) = term.split_once('\n').expect("a definition");
            assert!(!definition.trim().is_empty(), "{name} has no definition");
            name.to_lowercase()
        })
        .collect();
    assert!(terms.len() >= 50, "only {} terms", terms.len());
    for pair in terms.windows(2) {
        assert!(pair[0] < pair[1], "{} stands before {}", pair[0], pair[1]);
    }
}

#[test]
fn every_equation_converts() {
    let mut converted = 0;
    let mut wrong = Vec::new();
    let folders = ["docs/src", "docs/src/tutorials"].map(|folder| project().join(folder));
    let entries = folders
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the manual"));
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|extension| extension == "md") {
            let page = fs::read_to_string(&path).expect("a page is text");
            converted += math::equations(&page);
            if let Err(error) = math::convert(&page) {
                wrong.push(format!("{}: {error}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(converted >= 15, "only {converted} equations were found");
}
