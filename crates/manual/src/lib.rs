//! What the manual needs beside `mdBook`: equations without a network, and a check of its links.
//!
//! The pages in `docs/src` are `CommonMark` with LaTeX between `\\(` and `\\)`, or `\\[` and `\\]`. `mdBook` would leave
//! the equations to a script that browsers fetch; [`math`] converts them to `MathML` instead, which browsers draw by
//! themselves. The program of this crate does so as a preprocessor of `mdBook` ([`book`]); `docs/book.toml` names it.
//!
//! [`links`] finds links to pages, headings and pictures that do not exist, and pages that the summary leaves out,
//! without `mdBook`.
//!
//! No other crate depends on this one.

pub mod book;
pub mod links;
pub mod math;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
