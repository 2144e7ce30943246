//! The pages of the commands about iosonar itself.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "bench",
        brief: &["target", "json"],
        examples: &[
            Example {
                what: "Measure everything except replays, for a script",
                lines: &["iosonar bench all --json"],
            },
            Example {
                what: "Measure the simulator",
                lines: &["iosonar bench sim"],
            },
            Example {
                what: "Measure replays on a device",
                lines: &["iosonar bench replay --target /dev/sdX"],
            },
        ],
    },
    Page {
        command: "doctor",
        brief: &["json"],
        examples: &[Example {
            what: "Check this machine",
            lines: &["iosonar doctor"],
        }],
    },
    Page {
        command: "explain",
        brief: &[],
        examples: &[
            Example {
                what: "Explain a warning",
                lines: &["iosonar explain W031"],
            },
            Example {
                what: "List all warnings and errors",
                lines: &["iosonar explain"],
            },
        ],
    },
    Page {
        command: "completions",
        brief: &[],
        examples: &[Example {
            what: "Install completions for bash",
            lines: &[
                "iosonar completions bash > \\",
                "~/.local/share/bash-completion/completions/iosonar",
            ],
        }],
    },
    Page {
        command: "man",
        brief: &[],
        examples: &[Example {
            what: "Install the manual pages for yourself",
            lines: &["iosonar man ~/.local/share/man/man1"],
        }],
    },
];
