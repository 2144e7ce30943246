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
fn every_equation_converts() {
    let mut converted = 0;
    let mut wrong = Vec::new();
    for entry in fs::read_dir(project().join("docs/src")).expect("the manual") {
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
