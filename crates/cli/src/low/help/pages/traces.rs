//! The pages of the commands for traces.

use super::{Example, Page};

pub(super) const PAGES: &[Page] = &[
    Page {
        command: "convert",
        brief: &[
            "out", "paste", "split", "from", "until", "ops", "sort", "to",
        ],
        examples: &[
            Example {
                what: "Compress a blktrace recording",
                lines: &["iosonar convert sda.blktrace.0 -o web.ios"],
            },
            Example {
                what: "Extract ten minutes of reads",
                lines: &[
                    "iosonar convert web.ios --from 1h --duration 10min --ops read \\",
                    "-o part.load.gz",
                ],
            },
            Example {
                what: "Merge two traces by time",
                lines: &["iosonar convert a.ios b.ios -o both.ios"],
            },
        ],
    },
    Page {
        command: "info",
        brief: &["format", "lenient", "json"],
        examples: &[Example {
            what: "Summarise a trace",
            lines: &["iosonar info web.load.gz"],
        }],
    },
    Page {
        command: "analyze",
        brief: &["merge", "window", "by", "csv", "from", "until", "json"],
        examples: &[
            Example {
                what: "Measure a trace, with a breakdown by operation",
                lines: &["iosonar analyze web.load.gz --by op"],
            },
            Example {
                what: "Write time series and distributions as CSV",
                lines: &["iosonar analyze web.load.gz --csv tables"],
            },
        ],
    },
    Page {
        command: "formats",
        brief: &["json"],
        examples: &[Example {
            what: "List the formats",
            lines: &["iosonar formats"],
        }],
    },
];
