//! Preprocessor of `mdBook` for the manual: converts equations to `MathML`.
//!
//! `mdbook build docs` runs it. It answers `supports RENDERER` by its exit status, and otherwise reads a book from
//! standard input.

use std::{
    env,
    io::{self, Read},
    process::ExitCode,
};

use iosonar_manual::book;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    if arguments.next().as_deref() == Some("supports") {
        return match arguments.next().as_deref() {
            Some("html") => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        };
    }
    let mut input = String::new();
    let converted = io::stdin()
        .read_to_string(&mut input)
        .map_err(|error| error.to_string())
        .and_then(|_| book::preprocess(&input).map_err(|error| error.to_string()));
    match converted {
        Ok(book) => {
            println!("{book}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("iosonar-manual: {error}");
            ExitCode::FAILURE
        }
    }
}
