//! The pages of the commands that draw and compare.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "compare",
        brief: &["paired", "target", "plot", "json"],
        examples: &[
            Example {
                what: "Compare a replay with the original, and draw both",
                lines: &["iosonar compare original=web.ios replayed.ios --plot charts"],
            },
            Example {
                what: "Compare two simulations of the same requests",
                lines: &["iosonar compare now.load next.load --paired"],
            },
        ],
    },
    Page {
        command: "plot",
        brief: &["list", "out", "terminal", "data", "size", "target", "merge"],
        examples: &[
            Example {
                what: "Draw the sonar diagram of a replay",
                lines: &["iosonar plot sonar replayed.ios -o sonar.png"],
            },
            Example {
                what: "Compare distributions in the terminal",
                lines: &["iosonar plot cdf now=a.ios next=b.ios --terminal"],
            },
            Example {
                what: "Draw all charts into a folder",
                lines: &["iosonar plot all replayed.ios -o charts"],
            },
            Example {
                what: "List the charts",
                lines: &["iosonar plot --list"],
            },
        ],
    },
    Page {
        command: "report",
        brief: &["out", "title", "all", "target", "merge", "open", "quiet"],
        examples: &[
            Example {
                what: "Write a page about a replay",
                lines: &["iosonar report replayed.ios -o page.html"],
            },
            Example {
                what: "Compare a replay with a simulation, and check a target",
                lines: &[
                    "iosonar report replayed.ios simulated=next.load \\",
                    "--target 'read p99 < 20ms'",
                ],
            },
        ],
    },
    Page {
        command: "serve",
        brief: &["address", "control", "title", "target", "open"],
        examples: &[
            Example {
                what: "Watch a replay that writes its records to run.ios",
                lines: &["iosonar serve run.ios"],
            },
            Example {
                what: "Watch a sweep from another machine",
                lines: &["iosonar serve --address 0.0.0.0:8080 study/"],
            },
        ],
    },
];
